//! Systems whose files have no owner and mode in this sense: what the system lets a user read is believed.

use std::fs::File;
use std::io;
use std::path::Path;

use super::Untrusted;

/// Whether this process has rights that its user has not: there are no rights of program files here.
pub fn has_more_rights_than_its_user() -> bool {
    false
}

/// Nothing to check.
///
/// # Errors
///
/// None.
pub fn check_path(_path: &Path) -> Result<(), Untrusted> {
    Ok(())
}

/// Opens a file for reading.
///
/// # Errors
///
/// As [`File::open`].
pub fn open_file(path: &Path) -> io::Result<File> {
    File::open(path)
}

/// Creates a folder and those above it.
///
/// # Errors
///
/// They cannot be created.
pub fn create_folders(path: &Path) -> io::Result<()> {
    std::fs::create_dir_all(path)
}

/// Creates a new file for writing.
///
/// # Errors
///
/// It cannot be created, or something of that name is there.
pub fn create_file(path: &Path) -> io::Result<File> {
    File::options().write(true).create_new(true).open(path)
}

/// Opens a file for appending, or creates it.
///
/// # Errors
///
/// It cannot be opened.
pub fn open_to_append(path: &Path) -> io::Result<File> {
    File::options().append(true).create(true).open(path)
}

/// Creates a new file for writing; access is inherited.
///
/// # Errors
///
/// It cannot be created, or something of that name is there.
pub fn create_secret(path: &Path) -> io::Result<File> {
    create_file(path)
}

/// Creates a folder unless it is there; access is inherited.
///
/// # Errors
///
/// It cannot be created.
pub fn private_folder(path: &Path) -> io::Result<()> {
    match std::fs::create_dir(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

/// Opens the file of a lock, or creates it.
pub(super) fn open_lock(path: &Path) -> io::Result<File> {
    File::options().read(true).write(true).create(true).truncate(false).open(path)
}

/// Renames a file, in place of one that may be there.
///
/// # Errors
///
/// As [`std::fs::rename`].
pub fn replace(from: &Path, to: &Path) -> io::Result<()> {
    std::fs::rename(from, to)
}
