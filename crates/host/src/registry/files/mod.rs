//! The file operations of the registry, as a trait, so that tests can stop a change at each of them.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::Path;

#[cfg_attr(unix, path = "unix.rs")]
#[cfg_attr(not(unix), path = "other.rs")]
mod platform;

pub(crate) use platform::{default_state_folder, default_system_folder, identity};

/// No file of the registry, and none that is installed into it, is longer than this in bytes.
pub(crate) const LONGEST: u64 = 64 << 20;

/// The file operations of the registry. Every method is one step; a crash can happen before it, or in the
/// middle of it.
pub(crate) trait Files {
    /// The bytes of a plain file of at most [`LONGEST`] bytes that others cannot write.
    fn read(&self, path: &Path) -> io::Result<Vec<u8>>;
    /// The names in a folder, in no order; names that are not Unicode are left out.
    fn list(&self, folder: &Path) -> io::Result<Vec<String>>;
    /// The name that a link leads to.
    fn read_link(&self, path: &Path) -> io::Result<String>;
    /// Creates a folder that every user may read, and those above it.
    fn create_folders(&self, path: &Path) -> io::Result<()>;
    /// Creates a new file that every user may read.
    fn create(&self, path: &Path, bytes: &[u8]) -> io::Result<()>;
    /// Writes the bytes of a file to the disk before it returns.
    fn sync(&self, path: &Path) -> io::Result<()>;
    /// Has the names in a folder on the disk before it returns.
    fn sync_folder(&self, path: &Path) -> io::Result<()>;
    /// Creates a link to `target`, a name in the same folder.
    fn link(&self, target: &str, path: &Path) -> io::Result<()>;
    /// Renames a file or link, and replaces the one that has the new name.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Removes a file or a link.
    fn remove_file(&self, path: &Path) -> io::Result<()>;
    /// Removes an empty folder.
    fn remove_folder(&self, path: &Path) -> io::Result<()>;
}

/// The files of the running system.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SystemFiles;

impl Files for SystemFiles {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        read_at_most(tallymon_provider::trust::open_file(path)?)
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(folder)? {
            if let Ok(name) = entry?.file_name().into_string() {
                names.push(name);
            }
        }
        Ok(names)
    }

    fn read_link(&self, path: &Path) -> io::Result<String> {
        platform::read_link(path)
    }

    fn create_folders(&self, path: &Path) -> io::Result<()> {
        platform::create_folders(path)
    }

    fn create(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let mut file = File::options().write(true).create_new(true).open(path)?;
        platform::readable_by_all(&file)?;
        file.write_all(bytes)
    }

    fn sync(&self, path: &Path) -> io::Result<()> {
        platform::sync(path)
    }

    fn sync_folder(&self, path: &Path) -> io::Result<()> {
        platform::sync_folder(path)
    }

    fn link(&self, target: &str, path: &Path) -> io::Result<()> {
        platform::link(target, path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        platform::rename(from, to)
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn remove_folder(&self, path: &Path) -> io::Result<()> {
        fs::remove_dir(path)
    }
}

/// The bytes of a file; an error when there are more than [`LONGEST`], whatever size the system reports, and
/// for what is not a regular file: opening a pipe waits for its writer.
pub(crate) fn read_limited(path: &Path) -> io::Result<Vec<u8>> {
    if !fs::metadata(path)?.is_file() {
        let words = "it is not a regular file; copy its content to a file and name that";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, words));
    }
    read_at_most(File::open(path)?)
}

fn read_at_most(file: File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(LONGEST.saturating_add(1)).read_to_end(&mut bytes)?;
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > LONGEST {
        let words = format!("longer than {LONGEST} bytes, which no such file is");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, words));
    }
    Ok(bytes)
}
