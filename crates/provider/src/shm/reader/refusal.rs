//! Files that are not read, and why.

use std::fmt;
use std::io;
use std::path::PathBuf;

use super::room::{MAX_OTHERS, MAX_OWN, MAX_USER, is_own};
use super::{MAX_FILES_OF_OTHERS, MAX_FILES_OF_USER, MAX_NAMES};
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
    /// There is not so much room left for files of this user.
    TooLarge {
        /// Bytes that the file would take.
        bytes: usize,
        /// Owner of the file.
        user: u32,
    },
    /// A user has more files than are read.
    TooMany {
        /// The user.
        user: u32,
        /// How many of the user's files are not read.
        left_out: usize,
    },
    /// The directory has more names than are looked at.
    TooManyNames,
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
            RefusalReason::TooLarge { bytes, user } if is_own(*user) => {
                write!(f, "it has {bytes} bytes, and files of root and this user may have {MAX_OWN} together")
            }
            RefusalReason::TooLarge { bytes, user } => write!(
                f,
                "it has {bytes} bytes; files of another user, here {user}, may have {MAX_USER} together, and \
                 those of all other users {MAX_OTHERS}"
            ),
            RefusalReason::TooMany { user, left_out } => {
                let most = if is_own(*user) { MAX_FILES } else { MAX_FILES_OF_USER };
                write!(
                    f,
                    "{left_out} files of user {user} are not read: at most {most} of the user, and \
                     {MAX_FILES_OF_OTHERS} of all other users"
                )
            }
            RefusalReason::TooManyNames => write!(f, "it has more than {MAX_NAMES} names; remove some"),
        }
    }
}

impl RefusalReason {
    /// Whether the same file will be refused again for as long as it does not change.
    pub(super) const fn is_final(&self) -> bool {
        matches!(
            self,
            RefusalReason::NotAFile
                | RefusalReason::Writable
                | RefusalReason::Dead { .. }
                | RefusalReason::Format(_)
                | RefusalReason::Truncated
        )
    }
}

impl From<FormatError> for RefusalReason {
    fn from(error: FormatError) -> RefusalReason {
        RefusalReason::Format(error)
    }
}

impl From<io::Error> for RefusalReason {
    fn from(error: io::Error) -> RefusalReason {
        RefusalReason::Io(error)
    }
}
