//! Files of systems without owners and modes.

use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::path::Path;

/// Whether two names mean one file.
pub fn is_same_file(one: &Path, other: &Path) -> bool {
    same_file::is_same_file(one, other).unwrap_or(false)
}

/// Whether a name leads to an open file; also when that can not be known.
pub fn is_at(file: &File, path: &Path) -> bool {
    let Ok(own) = file.try_clone().and_then(same_file::Handle::from_file) else { return true };
    match same_file::Handle::from_path(path) {
        Ok(found) => found == own,
        // Another program may keep everybody from opening it for a moment, or this one has no handle left.
        Err(error) => error.kind() != io::ErrorKind::NotFound,
    }
}

/// Whether writing goes to a pipe or a terminal, where nothing is replaced.
pub(super) fn is_stream(about: &Metadata) -> bool {
    !about.is_file() && !about.is_dir()
}

/// Folders that everybody may write have other protection.
pub(super) const fn is_shared_folder_of(_file: &Path) -> bool {
    false
}

/// A new file has the rights of its folder.
pub(super) const fn private(options: &mut OpenOptions, _replaces: bool) -> &mut OpenOptions {
    options
}

/// The permissions are those of the folder.
#[expect(clippy::unnecessary_wraps, reason = "it can fail on other systems")]
pub(super) const fn take_over(_file: &File, _old: &Metadata) -> io::Result<()> {
    Ok(())
}
