//! Data sources: this machine, or logs.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tallymon::log::relog::{Options, relog};
use tallymon::log::{Format, LogError, LogErrorKind, ReadOptions};
use tallymon::{Log, LogSource, Query};

use crate::clock;
use crate::handles::{self, Handle, Object};
use crate::log_sets::{self, Database};
use crate::machine;
use crate::memory::{Buf, Letter, Out, Str};
use crate::status::{self, Done, Status};
use crate::text::room;

pub(crate) const TYPE_UNDEFINED: u32 = 0;
pub(crate) const TYPE_CSV: u32 = 1;
pub(crate) const TYPE_TSV: u32 = 2;
pub(crate) const TYPE_SQL: u32 = 7;
pub(crate) const TYPE_BINARY: u32 = 8;

/// A data source of a program; the object behind a handle of `PdhBindInputDataSource`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum DataSource {
    Machine,
    Log(Arc<LogFile>),
}

/// The file of a log that is read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct LogFile {
    path: PathBuf,
    /// The program named it as a database.
    is_database: bool,
    /// The log set to read, if it is a database and the program named one.
    log_set: Option<String>,
    /// The logs that the program named, if those are several: `path` is a temporary log of all of them then,
    /// which is removed after its last use.
    merged: Vec<PathBuf>,
}

/// Where the samples of a query come from.
pub(crate) enum Origin {
    Live(Box<Query>),
    /// The file is kept, since it may be a temporary one that its last user removes.
    Log(Box<LogSource>, Arc<LogFile>),
}

/// How a program names a data source: by a name, or by the handle of a bound one.
pub(crate) trait SourceParameter {
    fn source(self) -> Result<DataSource, Status>;
}

impl<L: Letter> SourceParameter for Str<L> {
    /// NULL and an empty name are this machine.
    fn source(self) -> Result<DataSource, Status> {
        Ok(self.get().filter(|name| !name.is_empty()).map_or(DataSource::Machine, DataSource::file))
    }
}

impl SourceParameter for Handle {
    /// 0 is this machine.
    fn source(self) -> Result<DataSource, Status> {
        if self == 0 {
            return Ok(DataSource::Machine);
        }
        let source = handles::get::<DataSource>(self).ok_or(status::INVALID_HANDLE)?;
        Ok(source.as_ref().clone())
    }
}

impl LogFile {
    fn open(&self) -> Result<Log, Status> {
        Log::open(&self.path, &self.options()).map_err(|error| self.failure(&error))
    }

    /// The status of a log that cannot be used.
    fn failure(&self, error: &LogError) -> Status {
        let format = || Some(tallymon::log::open(&self.path, &self.options()).ok()?.about().format);
        match &error.kind {
            // Its format is known, so it has no counters that could be read.
            LogErrorKind::Unusable(_) => match format() {
                Some(Format::Sqlite) => status::NO_COUNTERS,
                Some(Format::Blg) => status::BINARY_LOG_CORRUPT,
                _ if self.is_database => status::INVALID_SQLDB,
                _ => status::of_log(error),
            },
            LogErrorKind::Request(_) => status::of_log(error),
            _ if self.is_database => log_sets::of_database(error),
            _ => status::of_log(error),
        }
    }

    /// The file; the joined one of several logs.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// How it is read.
    pub(crate) fn options(&self) -> ReadOptions {
        ReadOptions { log_set: self.log_set.clone(), ..ReadOptions::default() }
    }
}

impl Drop for LogFile {
    fn drop(&mut self) {
        if !self.merged.is_empty() {
            // A file that stays in the folder for such files does no harm.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// `PDH_TIME_INFO`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct TimeInfo {
    pub(crate) start: i64,
    pub(crate) end: i64,
    samples: u32,
}

impl Object for DataSource {}

/// Names that are tried for the file of a merged log.
const MOST_NAMES: u32 = 100;

fn exists(error: &LogError) -> bool {
    matches!(&error.kind, LogErrorKind::Io(error) if error.kind() == std::io::ErrorKind::AlreadyExists)
}

impl DataSource {
    /// A log.
    pub(crate) fn file(name: String) -> DataSource {
        let file = match Database::of_name(&name) {
            Some(Database { file, log_set }) => {
                LogFile { path: file, is_database: true, log_set, merged: Vec::new() }
            }
            None => LogFile { path: name.into(), is_database: false, log_set: None, merged: Vec::new() },
        };
        DataSource::Log(Arc::new(file))
    }

    /// Several logs as one: their records in the order of time.
    fn files(names: &[String]) -> Result<DataSource, Status> {
        // A database cannot be joined: it has several logs in it already.
        if names.iter().any(|name| Database::of_name(name).is_some()) {
            return Err(status::INVALID_DATASOURCE);
        }
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let merged: Vec<PathBuf> = names.iter().map(PathBuf::from).collect();
        let options = Options { format: Format::Tally, ..Options::default() };
        for attempt in 1.. {
            let number = NUMBER.fetch_add(1, Ordering::Relaxed);
            let name = format!("tallymon-{}-{number}.tally", std::process::id());
            let path = std::env::temp_dir().join(name);
            match relog(&merged, &path, &options) {
                Ok(_) => {
                    let file = LogFile { path, is_database: false, log_set: None, merged };
                    return Ok(DataSource::Log(Arc::new(file)));
                }
                // A name that another process has taken there.
                Err(error) if exists(&error) && attempt < MOST_NAMES => {}
                Err(error) => return Err(status::of_log(&error)),
            }
        }
        Err(status::LOG_FILE_CREATE_ERROR)
    }

    /// Bytes of all its files together; for a database the number of its records.
    ///
    /// # Errors
    ///
    /// `PDH_INVALID_HANDLE` for this machine, `PDH_LOG_FILE_OPEN_ERROR` for a missing file.
    pub(crate) fn size(&self) -> Result<u64, Status> {
        let DataSource::Log(file) = self else { return Err(status::INVALID_HANDLE) };
        if self.database().is_some() {
            return Ok(file.open()?.summary().records);
        }
        let files = if file.merged.is_empty() { std::slice::from_ref(&file.path) } else { &file.merged };
        files.iter().try_fold(0u64, |sum, file| {
            let known = std::fs::metadata(file).map_err(|_| status::LOG_FILE_OPEN_ERROR)?;
            Ok(sum.saturating_add(known.len()))
        })
    }

    /// The file of a log; `None` for this machine.
    pub(crate) fn path(&self) -> Option<&Path> {
        match self {
            DataSource::Machine => None,
            DataSource::Log(file) => Some(&file.path),
        }
    }

    /// The database, if it is one.
    pub(crate) fn database(&self) -> Option<Database> {
        let DataSource::Log(file) = self else { return None };
        let reader = tallymon::log::open(&file.path, &file.options()).ok()?;
        let is_database = reader.about().format == Format::Sqlite;
        is_database.then(|| Database { file: file.path.clone(), log_set: file.log_set.clone() })
    }

    /// A query over it.
    pub(crate) fn open(&self) -> Result<Origin, Status> {
        match self {
            DataSource::Machine => Ok(Origin::Live(Box::new(machine::query()?))),
            DataSource::Log(file) => Ok(Origin::Log(Box::new(file.open()?.source()), Arc::clone(file))),
        }
    }

    /// A query with the names of all its counters, to choose from.
    pub(crate) fn catalogue(&self) -> Result<Query, Status> {
        let DataSource::Log(file) = self else { return machine::query() };
        let query = Query::new(Box::new(file.open()?.source()), machine::language());
        query.map_err(|error| status::of_source(&error))
    }

    /// The contents of a log; `None` for this machine.
    pub(crate) fn contents(&self) -> Result<Option<Log>, Status> {
        match self {
            DataSource::Machine => Ok(None),
            DataSource::Log(file) => file.open().map(Some),
        }
    }
}

/// Binds log files: a list of names that an empty name ends. NULL and an empty list mean this machine.
pub(crate) fn bind<L: Letter>(source: Out<Handle>, names: Str<L>) -> Done {
    if source.is_null() {
        return Err(status::INVALID_ARGUMENT);
    }
    let names = names.get_list();
    let bound = match &names[..] {
        [] => DataSource::Machine,
        [name] => DataSource::file(name.clone()),
        several => DataSource::files(several)?,
    };
    // An unreadable file is an error now, as on NT.
    bound.open()?;
    let handle = handles::insert(Arc::new(bound));
    source.set(handle.ok_or(status::MEMORY_ALLOCATION_FAILURE)?);
    Ok(())
}

/// The record of a log at a local time, or the last one before it, as it is in the file:
/// `PDH_RAW_LOG_RECORD`.
pub(crate) fn raw_record(log: Handle, time: u64, record: Buf<u8>, bytes: Out<u32>) -> Done {
    /// Bytes before those of the record, and the least that the structure has.
    const HEAD: usize = 12;
    const LEAST: usize = 16;
    let room = room(record, bytes)?;
    let source = handles::get::<DataSource>(log).ok_or(status::INVALID_HANDLE)?;
    let DataSource::Log(file) = source.as_ref() else { return Err(status::DATA_SOURCE_IS_REAL_TIME) };
    let failed = |error: tallymon::log::LogError| status::of_log(&error);
    let mut reader = tallymon::log::open(&file.path, &file.options()).map_err(failed)?;
    let (mut is_found, mut raw) = (false, Vec::new());
    while let Some(found) = reader.next_record().map_err(failed)? {
        if clock::add_minutes(found.time, found.local_minutes).0 > time {
            break;
        }
        is_found = true;
        raw.clear();
        // A database has its records in tables, and a native log in columns: there are no bytes of one
        // record.
        raw.extend_from_slice(reader.raw_record().ok_or(status::NOT_IMPLEMENTED)?);
    }
    if !is_found {
        return Err(status::ENTRY_NOT_IN_LOG_FILE);
    }
    let small = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    let needed = small(raw.len().saturating_add(HEAD).max(LEAST));
    bytes.set(needed);
    if room < needed {
        return Err(status::MORE_DATA);
    }
    record.write(0, &[needed, type_number(reader.about().format), small(raw.len())]);
    record.write(HEAD, &raw);
    Ok(())
}

/// NT's number of a log format.
pub(crate) const fn type_number(format: Format) -> u32 {
    match format {
        Format::Csv => TYPE_CSV,
        Format::Tsv => TYPE_TSV,
        Format::Sqlite => TYPE_SQL,
        _ => TYPE_BINARY,
    }
}

/// The default source of queries without a data source: the registry, and nothing else.
pub(crate) const fn set_default(source: u32) -> Done {
    const REGISTRY: u32 = 1;
    const LOG_FILE: u32 = 2;
    const WBEM: u32 = 4;
    match source {
        REGISTRY => Ok(()),
        LOG_FILE | WBEM => Err(status::CANNOT_SET_DEFAULT),
        _ => Err(status::INVALID_ARGUMENT),
    }
}

/// First and last time of a log, and its number of records.
pub(crate) fn time_range(
    source: impl SourceParameter,
    entries: Out<u32>,
    info: Buf<TimeInfo>,
    bytes: Out<u32>,
) -> Done {
    let (Some(room), false) = (bytes.get(), entries.is_null() || info.is_null()) else {
        return Err(status::INVALID_ARGUMENT);
    };
    entries.set(0);
    let log = source.source()?.contents()?.ok_or(status::DATA_SOURCE_IS_REAL_TIME)?;
    let contents = log.summary();
    let needed = size_of::<TimeInfo>();
    if usize::try_from(room).is_ok_and(|room| room < needed) {
        bytes.set(u32::try_from(needed).unwrap_or(u32::MAX));
        return Err(status::MORE_DATA);
    }
    let local = |time| clock::add_minutes(time, contents.local_minutes).0.cast_signed();
    let samples = u32::try_from(contents.records).unwrap_or(u32::MAX);
    info.write(0, &[TimeInfo { start: local(contents.first), end: local(contents.last), samples }]);
    entries.set(1);
    bytes.set(u32::try_from(needed).unwrap_or(u32::MAX));
    Ok(())
}
