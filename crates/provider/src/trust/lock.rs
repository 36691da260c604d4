//! Locks that other users can neither hold nor see.

use std::fmt;
use std::fs::{File, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use super::open_file;
use super::platform::{open_lock, private_folder};

/// The folder of locks, which only its user can enter.
const PRIVATE: &str = "private";

/// Between two looks at a lock that another process has.
const PAUSE: Duration = Duration::from_millis(5);

/// A lock that other users can neither hold nor see: a file with mode 0600 in a folder with mode 0700. The
/// kernel frees it when the process ends, however that happens.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

/// Why a lock was not taken.
#[derive(Debug)]
#[non_exhaustive]
pub enum LockError {
    /// Another process has it.
    Held {
        /// The lock.
        path: PathBuf,
        /// What its holder wrote into it: its process number, and since when.
        holder: String,
        /// How long it was waited for.
        waited: Duration,
    },
    /// The lock could not be opened.
    Io(PathBuf, io::Error),
}

impl fmt::Display for LockError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LockError::Held { path, holder, waited } => write!(
                f,
                "{}: {holder} holds the lock, and did not free it within {} s; wait for that process, or \
                 end it if it hangs",
                path.display(),
                waited.as_secs()
            ),
            LockError::Io(path, error) => write!(f, "{}: {error}", path.display()),
        }
    }
}

impl std::error::Error for LockError {}

impl Lock {
    /// Takes the lock of this name in a folder, which must exist. Waits no longer than `deadline`.
    ///
    /// # Errors
    ///
    /// Another process has it until then; or others than root and this user can change the folder or the
    /// lock.
    pub fn take(folder: &Path, name: &str, deadline: Duration) -> Result<Lock, LockError> {
        let (path, mut file) = Lock::open(folder, name)?;
        let failed = |error| LockError::Io(path.clone(), error);
        match lock_within(&file, deadline) {
            Ok(()) => {}
            Err(TryLockError::Error(error)) => return Err(failed(error)),
            Err(TryLockError::WouldBlock) => {
                return Err(LockError::Held { holder: holder(&mut file), path, waited: deadline });
            }
        }
        // For the words about the holder, and for people who look into the file; only the lock counts.
        let noted = file.set_len(0).and_then(|()| file.rewind());
        noted.and_then(|()| writeln!(file, "process {}", std::process::id())).map_err(failed)?;
        Ok(Lock { _file: file })
    }

    /// Whether another process has the lock of this name; `None` when this process may not know it.
    pub fn is_held(folder: &Path, name: &str) -> Option<bool> {
        let file = match open_file(&folder.join(PRIVATE).join(name)) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Some(false),
            Err(_) => return None,
        };
        Some(matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
    }

    /// Whether this process may take locks in a folder; creates the lock.
    ///
    /// # Errors
    ///
    /// As [`Lock::take`], except for a lock that is held.
    pub fn may_take(folder: &Path, name: &str) -> Result<(), LockError> {
        Lock::open(folder, name).map(|_| ())
    }

    /// Removes the lock of this name, which nobody may hold.
    pub fn remove(folder: &Path, name: &str) {
        // Most of them are not there.
        let _ = std::fs::remove_file(folder.join(PRIVATE).join(name));
    }

    fn open(folder: &Path, name: &str) -> Result<(PathBuf, File), LockError> {
        let private = folder.join(PRIVATE);
        private_folder(&private).map_err(|error| LockError::Io(private.clone(), error))?;
        let path = private.join(name);
        match open_lock(&path) {
            Ok(file) => Ok((path, file)),
            Err(error) => Err(LockError::Io(path, error)),
        }
    }
}

/// Locks a file, and waits no longer than `deadline` for a process that has locked it.
///
/// # Errors
///
/// [`TryLockError::WouldBlock`] when another process has it until then; or the system's error.
pub fn lock_within(file: &File, deadline: Duration) -> Result<(), TryLockError> {
    let start = Instant::now();
    loop {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) if start.elapsed() < deadline => thread::sleep(PAUSE),
            result => return result,
        }
    }
}

/// What the holder of a lock wrote into it.
fn holder(file: &mut File) -> String {
    let mut text = String::new();
    let read = file.rewind().and_then(|()| file.take(64).read_to_string(&mut text));
    let text: String = text.trim().chars().filter(|letter| !letter.is_control()).collect();
    if read.is_ok() && !text.is_empty() {
        text
    } else {
        "a process that did not write its number".to_string()
    }
}
