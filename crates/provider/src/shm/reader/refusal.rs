//! Files that are not read, and why.

use std::fmt;
use std::io;
use std::path::PathBuf;

use rustix::io::Errno;

use super::MAX_MEMORY;
use crate::shm::bytes::FormatError;
use crate::shm::directory::MAX_FILES;

/// A file that is not read, and why.
#[derive(Debug)]
pub struct Refusal {
    /// The file or directory.
    pub path: PathBuf,
    /// Why.
    pub reason: RefusalReason,
}

/// Why a file is not read.
#[derive(Debug)]
#[non_exhaustive]
pub enum RefusalReason {
    /// It could not be opened or read.
    Io(io::Error),
    /// It is a link, a folder, a device or the like.
    NotAFile,
    /// Others than its owner can write it.
    Writable,
    /// The directory belongs to another user than root and this one, or other users can replace files in it.
    UnsafeDirectory,
    /// Its process has ended, or never was.
    Dead {
        /// Number of the process.
        pid: u32,
    },
    /// Its owner is not the user of the process that it names.
    WrongOwner {
        /// Number of the process.
        pid: u32,
        /// Owner of the file.
        owner: u32,
    },
    /// It does not follow the format.
    Format(FormatError),
    /// It became shorter.
    Truncated,
    /// All publications together are too large, or there are too many files.
    TooMany,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.reason)
    }
}

impl fmt::Display for RefusalReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RefusalReason::Io(error) => error.fmt(f),
            RefusalReason::NotAFile => f.write_str("a plain file needed, found something else"),
            RefusalReason::Writable => f.write_str("others than its owner can write it"),
            RefusalReason::UnsafeDirectory => {
                f.write_str("it is not of root or this user, or others can replace what is in it")
            }
            RefusalReason::Dead { pid } => write!(f, "its process {pid} has ended"),
            RefusalReason::WrongOwner { pid, owner } => {
                write!(f, "it belongs to user {owner}, who has no process {pid}")
            }
            RefusalReason::Format(error) => error.fmt(f),
            RefusalReason::Truncated => f.write_str("it became shorter while it was read"),
            RefusalReason::TooMany => write!(f, "at most {MAX_FILES} files and {MAX_MEMORY} bytes are read"),
        }
    }
}

impl From<FormatError> for RefusalReason {
    fn from(error: FormatError) -> RefusalReason {
        RefusalReason::Format(error)
    }
}

impl From<Errno> for RefusalReason {
    fn from(errno: Errno) -> RefusalReason {
        RefusalReason::Io(errno.into())
    }
}
