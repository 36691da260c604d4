//! The machine that a name in counter paths means. All faces ask here: the C interface, the bindings, and
//! programs in Rust.

use std::cell::OnceCell;
use std::time::Duration;

use tallymon_core::flow::{Source, SourceError, SourceErrorKind};
use tallymon_core::path::CounterPath;
use tallymon_remote::without_password;

use crate::hosts::{HostError, HostTable, KnownHost, unnamed};
use crate::location::{Location, open};

/// The machine that a name means, with or without its two backslashes; `None` is this one: by an empty name,
/// `.`, `localhost` or its own name, whatever the table has. Another one is a host of the table, or an
/// address such as `ssh://web1`.
///
/// # Errors
///
/// There is no such host, the address is wrong, or the table cannot be used, as one that others can change.
pub fn other_machine(name: &str) -> Result<Option<KnownHost>, HostError> {
    find(name, &HostTable::of_environment)
}

fn find(
    name: &str,
    table: &dyn Fn() -> Result<HostTable, HostError>,
) -> Result<Option<KnownHost>, HostError> {
    if name.contains("://") {
        return name.parse().map(|address| Some(unnamed(address))).map_err(HostError::Address);
    }
    let bare = name.trim_start_matches('\\');
    let of_this = [tallymon_host::system_name(), ".".into(), "localhost".into()];
    if bare.is_empty() || of_this.iter().any(|known| known.eq_ignore_ascii_case(bare)) {
        return Ok(None);
    }
    let table = table()?;
    table.named(bare).cloned().map(Some).ok_or_else(|| HostError::Unknown(without_password(bare)))
}

impl Location {
    /// Where the machine is that paths call `name`, as [`other_machine`] finds it. `timeout` is for a
    /// connection to it, and for each of its answers.
    ///
    /// # Errors
    ///
    /// As [`other_machine`].
    pub fn of_host(name: &str, timeout: Duration) -> Result<Location, HostError> {
        Ok(match other_machine(name)? {
            None => Location::Local,
            Some(KnownHost { name, address, .. }) => Location::Remote { name, address, timeout },
        })
    }

    /// Where the machine is that all of these paths name, for a query over it; without a host in any of them
    /// it is this one.
    ///
    /// ```no_run
    /// use tallymon::{Location, Query, remote::USUAL_TIMEOUT};
    ///
    /// let path = r"\\web1\Memory\Available MBytes";
    /// let mut query = Query::open(&Location::of_paths([path], USUAL_TIMEOUT)?)?;
    /// query.add(path)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`other_machine`], or the paths name several machines. A text that is not a path names none here;
    /// the query says what is wrong with it.
    pub fn of_paths<'p>(
        paths: impl IntoIterator<Item = &'p str>,
        timeout: Duration,
    ) -> Result<Location, HostError> {
        Ok(match the_one(paths, &HostTable::of_environment)? {
            None => Location::Local,
            Some(KnownHost { name, address, .. }) => Location::Remote { name, address, timeout },
        })
    }
}

/// The one machine that paths name.
fn the_one<'p>(
    paths: impl IntoIterator<Item = &'p str>,
    table: &dyn Fn() -> Result<HostTable, HostError>,
) -> Result<Option<KnownHost>, HostError> {
    // The table is read once for all of them, and not at all if none needs it.
    let read = OnceCell::new();
    let once = || match read.get() {
        Some(table) => Ok(HostTable::clone(table)),
        None => table().map(|table| read.get_or_init(|| table).clone()),
    };
    let mut all: Vec<Option<KnownHost>> = Vec::new();
    for path in paths {
        // A path that a shell has damaged may have lost the backslashes of a host, or the name of one.
        let parsed = CounterPath::parse(path).ok().filter(|parsed| parsed.repaired.is_none());
        let machine = parsed.and_then(|parsed| parsed.path.machine);
        let host = find(machine.as_deref().unwrap_or_default(), &once)?;
        if !all.contains(&host) {
            all.push(host);
        }
    }
    if all.len() > 1 {
        let name = |host: Option<KnownHost>| host.map_or_else(tallymon_host::system_name, |host| host.name);
        return Err(HostError::Several(all.into_iter().map(name).collect()));
    }
    Ok(all.pop().flatten())
}

/// Opens the machine that paths call `name`, as [`other_machine`] finds it, with the usual deadline.
///
/// # Errors
///
/// As [`other_machine`] and [`open`].
pub fn open_host(name: &str) -> Result<Box<dyn Source>, SourceError> {
    open(&Location::of_host(name, tallymon_remote::USUAL_TIMEOUT)?)
}

impl From<HostError> for SourceError {
    fn from(error: HostError) -> SourceError {
        let kind = match &error {
            HostError::Unknown(_) => SourceErrorKind::NotFound,
            HostError::File(_, io) if io.kind() == std::io::ErrorKind::PermissionDenied => {
                SourceErrorKind::AccessDenied
            }
            HostError::File(..) => SourceErrorKind::Io,
            _ => SourceErrorKind::BadData,
        };
        SourceError::new(kind, error.to_string())
    }
}

#[cfg(test)]
#[path = "other_machine_tests.rs"]
mod tests;
