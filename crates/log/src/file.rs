//! Opens regular files only: opening a pipe waits for its writer, and reading a terminal for a person.

use std::fs::{File, FileType, Metadata};
use std::io::{self, Read, Seek};
use std::path::Path;

use crate::error::{LogError, LogErrorKind};
use crate::format::HEAD;
/// What addresses of object storage begin with.
const SCHEME: &str = "s3://";

/// Whether a path is not a path, but the address of a lake in object storage: `s3://bucket/folder`.
pub fn is_address(path: &Path) -> bool {
    path.to_str().is_some_and(|path| path.starts_with(SCHEME))
}

/// Opens a file to read it.
///
/// # Errors
///
/// Those of the operating system, and a path that is not a regular file. The file is looked at before it is
/// opened, because opening alone may wait or do something: a pipe waits, a tape rewinds.
pub fn open_regular(path: &Path) -> io::Result<File> {
    check(&std::fs::metadata(path)?)?;
    let file = File::open(path)?;
    // Another file may have taken its place in between.
    check(&file.metadata()?)?;
    Ok(file)
}

/// Opens the file of a log. A log is a regular file, because most work reads it twice.
pub(crate) fn log_file(path: &Path) -> Result<File, LogError> {
    open_regular(path).map_err(|error| match error.kind() {
        io::ErrorKind::InvalidInput => LogError::new(LogErrorKind::NotALog(error.to_string())),
        _ => error.into(),
    })
}

/// The first bytes of a file, which is at its begin afterwards.
pub(crate) fn head_of(file: &mut File) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    file.by_ref().take(HEAD as u64).read_to_end(&mut head)?;
    file.rewind()?;
    Ok(head)
}

fn check(found: &Metadata) -> io::Result<()> {
    match other_kind(found.file_type()) {
        None => Ok(()),
        Some(kind) => {
            let words = format!("it is {kind}, not a regular file; copy its content to a file and name that");
            Err(io::Error::new(io::ErrorKind::InvalidInput, words))
        }
    }
}

/// What a file is that is not a regular one.
fn other_kind(found: FileType) -> Option<&'static str> {
    if found.is_file() {
        return None;
    }
    if found.is_dir() {
        return Some("a directory");
    }
    Some(special_kind(found))
}

#[cfg(unix)]
fn special_kind(found: FileType) -> &'static str {
    use std::os::unix::fs::FileTypeExt;

    if found.is_fifo() {
        "a pipe"
    } else if found.is_socket() {
        "a socket"
    } else {
        "a device"
    }
}

#[cfg(not(unix))]
fn special_kind(_: FileType) -> &'static str {
    "a device"
}
