//! Files that appear whole. A new file is written under another name in the folder of its target, and takes
//! the target's name when it is complete. Until then an old file of that name stays as it is, whether the
//! writer fails, is interrupted, or is killed.
//!
//! Everything that writes a file for a user writes it with [`NewFile`]. The exceptions are recordings, which
//! are logs from their first record on: they take their name then, and grow.
//!
//! A replaced file keeps its permissions and, where the system allows it, its owner and group; access lists
//! and extended attributes are those of a new file. A symbolic link stays, and the file behind it is
//! replaced. Other hard links to the old file keep the old contents. Pipes and terminals are written
//! directly.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

#[cfg_attr(unix, path = "unix.rs")]
#[cfg_attr(not(unix), path = "other.rs")]
mod system;

pub use system::{is_at, is_same_file};

/// What a writer may do with a file that exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Overwrite {
    /// It stays, and writing is an error.
    #[default]
    Never,
    /// It is replaced, unless it is read for what is written.
    Replace,
    /// It is replaced, even if it is read for what is written: the new file continues it.
    Continue,
}

/// A file that is being written, see the [module](self). Dropping it removes what was written.
#[derive(Debug)]
pub struct NewFile {
    /// The file that it becomes, behind all symbolic links.
    target: PathBuf,
    /// Where it is written; `None` for a device, which is written directly.
    part: Option<PathBuf>,
    file: File,
    overwrite: Overwrite,
}

/// Files that this process writes, to be removed when it is interrupted.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// The most symbolic links that are followed, as on Linux.
const MOST_LINKS: usize = 40;

/// The most names that are tried for the file that is written.
const MOST_NAMES: u32 = 100;

impl NewFile {
    /// Begins the file that becomes `path`.
    ///
    /// # Errors
    ///
    /// `path` exists and must not be replaced, is a folder or may not be written, or no file can be created
    /// beside it.
    pub fn create(path: &Path, overwrite: Overwrite) -> io::Result<NewFile> {
        NewFile::begin(path, overwrite, false)
    }

    /// Begins a recording, which grows after it has its name. If it replaces nothing, it has its name from
    /// the start; else an old file stays until [`NewFile::keep`], which should follow the first record.
    ///
    /// # Errors
    ///
    /// As [`NewFile::create`].
    pub fn recording(path: &Path, overwrite: Overwrite) -> io::Result<NewFile> {
        NewFile::begin(path, overwrite, true)
    }

    fn begin(path: &Path, overwrite: Overwrite, is_recording: bool) -> io::Result<NewFile> {
        // The system may refuse to follow a link, which must not be followed by hand then.
        if about_existing(path)?.is_some_and(|about| system::is_stream(&about)) {
            let file = OpenOptions::new().write(true).open(path)?;
            return Ok(NewFile { target: path.to_path_buf(), part: None, file, overwrite });
        }
        let target = behind_links(path)?;
        let old = about_existing(&target)?;
        let old = old.map(|about| replaceable(&target, about, overwrite)).transpose()?;
        let (file, part) = if is_recording && old.is_none() {
            (create_new(&target, false)?, target.clone())
        } else {
            create_beside(&target, old.is_some())?
        };
        let new = NewFile { target, part: Some(part), file, overwrite };
        if let Some(old) = old {
            system::take_over(&new.file, &old)?;
        }
        Ok(new)
    }

    /// Where it is written now.
    pub fn path(&self) -> &Path {
        self.part.as_deref().unwrap_or(&self.target)
    }

    /// Whether it is a file, so that a writer can go back in it.
    pub const fn is_file(&self) -> bool {
        self.part.is_some()
    }

    /// Another handle to it, for a writer.
    ///
    /// # Errors
    ///
    /// Those of the operating system.
    pub fn file(&self) -> io::Result<File> {
        self.file.try_clone()
    }

    /// Gives the complete file its name, when its bytes are on the disk.
    ///
    /// # Errors
    ///
    /// The file cannot be synced or renamed, or another one of that name appeared meanwhile and must not be
    /// replaced. What was written is removed.
    pub fn keep(self) -> io::Result<()> {
        if self.is_file() {
            self.file.sync_all()?;
        }
        self.keep_unsynced()
    }

    /// As [`NewFile::keep`], without waiting for the disk: after a loss of power the file may be empty. For
    /// state that matters only as long as the machine runs.
    ///
    /// # Errors
    ///
    /// As [`NewFile::keep`].
    pub fn keep_unsynced(mut self) -> io::Result<()> {
        let Some(part) = &self.part else { return Ok(()) };
        if *part == self.target {
            // A recording that has its name.
        } else if self.overwrite == Overwrite::Never {
            name_new(part, &self.target)?;
        } else {
            system::rename(part, &self.target)?;
        }
        finished(part);
        self.part = None;
        Ok(())
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if let Some(part) = &self.part {
            // The error that is the reason is the one to report; a file that stays shows by its name.
            let _ = fs::remove_file(part);
            finished(part);
        }
    }
}

/// Writes `bytes` into the file `path`.
///
/// # Errors
///
/// As [`NewFile::create`] and [`NewFile::keep`], or the disk is full.
pub fn write_file(path: &Path, overwrite: Overwrite, bytes: &[u8]) -> io::Result<()> {
    let new = NewFile::create(path, overwrite)?;
    (&new.file).write_all(bytes)?;
    new.keep()
}

/// Removes every file that this process is writing, for a handler that ends the process.
pub fn remove_unfinished() {
    let mut unfinished = UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner);
    for part in unfinished.drain(..) {
        // One that cannot be removed shows by its name.
        let _ = fs::remove_file(part);
    }
}

fn finished(part: &Path) {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner).retain(|other| other != part);
}

/// The error for a file that exists and must not be replaced.
fn exists() -> io::Error {
    io::Error::new(io::ErrorKind::AlreadyExists, "the file exists already")
}

fn about_existing(path: &Path) -> io::Result<Option<Metadata>> {
    match fs::metadata(path) {
        Ok(about) => Ok(Some(about)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Where a name leads: a file, or a name where none is yet.
fn behind_links(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_path_buf();
    for _ in 0..MOST_LINKS {
        let Ok(link) = fs::read_link(&path) else { return Ok(path) };
        if system::is_shared_folder_of(&path) {
            let words = "a symbolic link in a folder that everybody may write is not followed";
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, words));
        }
        path = path.parent().map_or_else(|| link.clone(), |folder| folder.join(&link));
    }
    Err(io::Error::other(format!("more than {MOST_LINKS} symbolic links follow each other")))
}

/// Checks that an existing file may be replaced. Renaming asks for no right to write the file itself, so
/// that right is asked for here.
fn replaceable(target: &Path, about: Metadata, overwrite: Overwrite) -> io::Result<Metadata> {
    if about.is_dir() {
        return Err(io::Error::new(io::ErrorKind::IsADirectory, "a folder of that name exists"));
    }
    if !about.is_file() {
        return Err(io::Error::other("a device of that name exists"));
    }
    if overwrite == Overwrite::Never {
        return Err(exists());
    }
    OpenOptions::new().write(true).open(target)?;
    Ok(about)
}

/// Creates the file to write, in the folder of its target.
fn create_beside(target: &Path, replaces: bool) -> io::Result<(File, PathBuf)> {
    // The whole name must fit where the target's name fits.
    let name = target.file_name().ok_or_else(|| io::Error::other("this names no file"))?;
    let name: String = name.to_string_lossy().chars().take(48).collect();
    let mut number = 0u32;
    loop {
        let part = target.with_file_name(format!("{name}.{}-{number}.part", std::process::id()));
        match create_new(&part, replaces) {
            // Left by a killed process with the same number.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && number < MOST_NAMES => {
                number = number.saturating_add(1);
            }
            created => return Ok((created?, part)),
        }
    }
}

/// Creates a file that is removed when this process is interrupted: never one that somebody else has put
/// there, nor one behind a link.
fn create_new(path: &Path, replaces: bool) -> io::Result<File> {
    let mut unfinished = UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner);
    let mut options = OpenOptions::new();
    let created = system::private(&mut options, replaces).read(true).write(true).create_new(true).open(path);
    if created.is_ok() {
        unfinished.push(path.to_path_buf());
    }
    created.map_err(|error| {
        if error.kind() == io::ErrorKind::AlreadyExists {
            return exists();
        }
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let words = format!("no file can be created in the folder {}: {error}", folder.display());
        io::Error::new(error.kind(), words)
    })
}

/// Gives a file a name that no file has. Unlike renaming, a link never replaces a file.
fn name_new(part: &Path, target: &Path) -> io::Result<()> {
    match fs::hard_link(part, target) {
        Ok(()) => fs::remove_file(part),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(exists()),
        // Some file systems have no links.
        Err(_) if fs::symlink_metadata(target).is_ok() => Err(exists()),
        Err(_) => system::rename(part, target),
    }
}

#[cfg(test)]
#[path = "new_file_tests.rs"]
mod tests;
