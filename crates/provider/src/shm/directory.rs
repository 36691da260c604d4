//! The folders of published files.

use std::io;
use std::path::PathBuf;

use super::system::prepare;

pub use super::system::directories;

/// The end of a published file's name. An unfinished file has another name.
pub(crate) const SUFFIX: &str = ".pub";

/// The most files that are looked at in a directory.
pub(crate) const MAX_FILES: usize = 4096;

/// The first of the directories that can be written; creates it if needed.
///
/// # Errors
///
/// None can be written; the error is the last one.
pub(crate) fn writable() -> io::Result<PathBuf> {
    let mut last = io::Error::from(io::ErrorKind::NotFound);
    for directory in directories() {
        match prepare(&directory) {
            Ok(()) => return Ok(directory),
            Err(error) => last = error,
        }
    }
    Err(last)
}
