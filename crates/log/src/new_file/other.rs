//! Files of systems without owners and modes.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::path::Path;

/// Whether two names mean one file. Hard links are two files here.
pub fn is_same_file(one: &Path, other: &Path) -> bool {
    fs::canonicalize(one).is_ok_and(|one| fs::canonicalize(other).is_ok_and(|other| one == other))
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
