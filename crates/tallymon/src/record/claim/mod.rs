//! The claim of a recorder on its file: no second recorder writes it, and what others do to it is noticed.
//!
//! The claim is a lock that the system frees with the process, so a crash leaves none behind.

use std::fs::{File, OpenOptions, TryLockError};
use std::path::Path;
use std::time::Duration;

use tallymon_log::new_file::{NewFile, Overwrite, is_at};
use tallymon_log::{LogError, LogErrorKind};
use tallymon_provider::trust::lock_within;

#[cfg_attr(target_os = "linux", path = "linux.rs")]
#[cfg_attr(not(target_os = "linux"), path = "other.rs")]
mod system;

/// How often a file is opened again that somebody replaced between opening and locking it.
const TRIES: u32 = 5;
/// How long a claim of another is believed to end by itself. A program that this process starts has the open
/// files of a recorder that has just ended, until its own code runs.
const LINGERING: Duration = Duration::from_millis(500);

/// Opens a file to write it, creates it if needed, and claims it.
pub(super) fn open(path: &Path) -> Result<File, LogError> {
    let in_file = |error: std::io::Error| LogError::from(error).in_file(path);
    for _ in 0..TRIES {
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path);
        let file = file.map_err(in_file)?;
        let is_plain = file.metadata().map_err(in_file)?.is_file();
        match lock_within(&file, LINGERING) {
            Err(TryLockError::WouldBlock) if is_plain => return Err(taken(&file, path)),
            // Devices are for everybody, and some file systems have no locks.
            Ok(()) | Err(_) => {}
        }
        if is_at(&file, path) {
            return Ok(file);
        }
    }
    let words = "others replace it all the time; choose another name".to_owned();
    Err(LogError::new(LogErrorKind::Request(words)).in_file(path))
}

/// Begins a new file, and claims it. One that it replaces must not be claimed.
pub(super) fn begin(path: &Path, overwrite: Overwrite) -> Result<NewFile, LogError> {
    let in_file = |error: std::io::Error| LogError::from(error).in_file(path);
    let is_plain = std::fs::metadata(path).is_ok_and(|about| about.is_file());
    // What cannot be read may still be replaced.
    if is_plain
        && let Ok(old) = File::open(path)
        && matches!(lock_within(&old, LINGERING), Err(TryLockError::WouldBlock))
    {
        return Err(taken(&old, path));
    }
    let new = NewFile::recording(path, overwrite).map_err(in_file)?;
    let file = new.file().map_err(in_file)?;
    match lock_within(&file, LINGERING) {
        Err(TryLockError::WouldBlock) if new.is_file() => Err(taken(&file, path)),
        // Devices are for everybody, and some file systems have no locks.
        Ok(()) | Err(_) => Ok(new),
    }
}

fn taken(file: &File, path: &Path) -> LogError {
    let holder = system::holder(file).map_or_else(String::new, |process| format!(" (process {process})"));
    let words = format!("another recorder{holder} writes this file; stop that one, or choose another name");
    LogError::new(LogErrorKind::Request(words)).in_file(path)
}

/// What others did to a file that should have `length` bytes, if they did something.
pub(super) fn trouble(file: &File, path: &Path, length: u64) -> Option<String> {
    if !is_at(file, path) {
        return Some("the log was deleted, moved or replaced while it was recorded".to_owned());
    }
    let found = file.metadata().ok()?.len();
    match found.cmp(&length) {
        std::cmp::Ordering::Less => {
            Some(format!("the log was cut to {found} of {length} bytes while it was recorded"))
        }
        std::cmp::Ordering::Greater => Some(format!(
            "another program wrote to the log while it was recorded: {found} bytes, not {length}"
        )),
        std::cmp::Ordering::Equal => None,
    }
}

#[cfg(test)]
#[path = "claim_tests.rs"]
mod tests;
