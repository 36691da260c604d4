//! Where counters come from, and how to open it.

use std::io::Read;
use std::path::PathBuf;
use std::time::Duration;

use crate::bridges::with_bridges;
use crate::hosts::{keys, passwords};
use tallymon_core::block::Snapshot;
use tallymon_core::counter::CounterType;
use tallymon_core::flow::{Source, SourceError, SourceErrorKind};
use tallymon_core::request::{Request, RequestKind};
use tallymon_core::title::{Language, Titles};
use tallymon_host::{Host, titles};
use tallymon_log::open_regular;
use tallymon_provider::{Profile, TierChoice};
use tallymon_remote::Address;

/// Where counters come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Location {
    /// This machine, now.
    Local,
    /// This machine, now.
    Machine {
        /// How processes, processors and network protocols are read: files or eBPF.
        tier: TierChoice,
        /// Which objects there are.
        profile: Profile,
    },
    /// A file with one saved data block.
    File(PathBuf),
    /// Another machine.
    Remote {
        /// Its name in counter paths.
        name: String,
        /// Where it is.
        address: Address,
        /// How long a connection, and each answer, may take.
        timeout: Duration,
    },
}

/// Opens a source.
///
/// # Errors
///
/// The file cannot be read or is not a data block; this system has no counters of its own; a host needs a
/// key and there is none. Another machine is reached with the first request only, which fails then, as where
/// nothing logs in.
pub fn open(location: &Location) -> Result<Box<dyn Source>, SourceError> {
    match location {
        Location::Local => Ok(Box::new(with_bridges(Host::open()?))),
        Location::Machine { tier, profile } => Ok(Box::new(with_bridges(Host::open_as(*tier, *profile)?))),
        Location::File(path) => Ok(Box::new(FileSource::open(path.clone())?)),
        Location::Remote { name, address: Address::Tls(address), timeout } => {
            keys::open(address, name, *timeout)
        }
        Location::Remote { name, address, timeout } => {
            tallymon_remote::open(name, address, *timeout, passwords::of(address))
        }
    }
}

/// One saved data block: it answers every request with the objects that it has.
#[derive(Debug, Clone)]
pub struct FileSource {
    snapshot: Snapshot,
}

impl FileSource {
    /// Reads a file.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or is not a data block; the message names the file and the byte.
    pub fn open(path: PathBuf) -> Result<FileSource, SourceError> {
        let mut bytes = Vec::new();
        let read = open_regular(&path).and_then(|mut file| file.read_to_end(&mut bytes));
        read.map_err(|error| {
            let kind = match error.kind() {
                std::io::ErrorKind::NotFound => SourceErrorKind::NotFound,
                std::io::ErrorKind::PermissionDenied => SourceErrorKind::AccessDenied,
                _ => SourceErrorKind::Io,
            };
            SourceError::new(kind, format!("{}: {error}", path.display()))
        })?;
        let snapshot = Snapshot::new(bytes).map_err(|error| {
            let words = format!("{}: not a valid data block: {error}", path.display());
            SourceError::new(SourceErrorKind::BadData, words)
        })?;
        Ok(FileSource { snapshot })
    }
}

impl Source for FileSource {
    fn snapshot(&mut self, request: &Request) -> Result<Snapshot, SourceError> {
        if let RequestKind::Foreign { host, .. } = &request.kind
            && !host.eq_ignore_ascii_case(self.snapshot.system_name())
        {
            let words = format!("the file is from host {:?}, not from {host:?}", self.snapshot.system_name());
            return Err(SourceError::new(SourceErrorKind::NotFound, words));
        }
        Ok(self.snapshot.clone())
    }

    fn titles(&mut self, language: Language) -> Result<Titles, SourceError> {
        // The help texts explain how Linux counts. Only our own blocks have counters of value states.
        let is_ours = self.snapshot.objects().any(|object| {
            object.counters().iter().any(|counter| counter.counter_type == CounterType::VALUE_STATUS)
        });
        if is_ours { titles::titles(language) } else { titles::neutral_titles(language) }
    }

    fn translations(&mut self, language: Language) -> Result<Titles, SourceError> {
        titles::translations(language)
    }

    fn languages(&self) -> Vec<Language> {
        titles::languages()
    }
}
