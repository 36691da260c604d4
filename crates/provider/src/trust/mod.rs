//! Whether somebody else could change a file: its owner and mode (on Windows, its access list), and those of
//! every folder above it.
//!
//! A program that runs with the rights of root or of a user must not read its settings from, or load code
//! from, a place where another user can put something else. `su` keeps `XDG_STATE_HOME` and `TALLY_ROOT`,
//! so that root can be led to the folder of a user without noticing.
//!
//! ```
//! # #[cfg(target_os = "linux")] {
//! use std::path::Path;
//! use tallymon_provider::trust;
//!
//! // Everybody can create files in /tmp, but a file of this user there is safe.
//! assert!(trust::check_path(Path::new("/proc/self/exe")).is_ok());
//! assert!(trust::check_path(Path::new("/dev/null")).is_err());
//! # }
//! ```

mod lock;
#[cfg_attr(target_os = "linux", path = "linux.rs")]
#[cfg_attr(windows, path = "windows.rs")]
#[cfg_attr(not(any(target_os = "linux", windows)), path = "elsewhere.rs")]
mod platform;
#[cfg(windows)]
mod program_data;
#[cfg(windows)]
pub(crate) mod security;
mod sha256;

use std::fmt;
use std::io;
use std::path::PathBuf;

pub use lock::{Lock, LockError, lock_within};
#[cfg(windows)]
pub(crate) use platform::SHARED;
#[cfg(target_os = "linux")]
pub use platform::sealed_copy;
pub use platform::{
    check_path, create_file, create_folders, create_secret, has_more_rights_than_its_user, open_file,
    open_to_append, private_folder, replace,
};
#[cfg(windows)]
pub use program_data::program_data;
pub use sha256::Sha256;

/// A file or folder that somebody else could change or replace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Untrusted {
    /// The part of the path: the file, or a folder above it.
    pub part: PathBuf,
    /// Why it is not trusted.
    pub why: Distrust,
}

/// Why a part of a path is not trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Distrust {
    /// It belongs to another user than root and this one.
    Owner {
        /// Number of the user.
        user: u32,
    },
    /// Its group can write it.
    Group {
        /// Number of the group.
        group: u32,
    },
    /// Every user can write it.
    Everybody,
    /// Another account of Windows owns it, or can change it.
    Account {
        /// Whether it is the owner.
        owns: bool,
        /// Its security identifier, `S-1-5-21-…`.
        who: String,
    },
    /// A link, folder, pipe or device stands where a file is needed.
    NotAFile,
    /// It cannot be looked at.
    Io(String),
}

/// Whether files have lists of accounts, and not owner, group and others.
const ON_WINDOWS: bool = cfg!(windows);

impl fmt::Display for Untrusted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let part = self.part.display();
        let remedy = "only root and this user may be able to change it";
        let of_windows =
            "only administrators and this user may be able to change it ('icacls' shows who can)";
        match &self.why {
            Distrust::Owner { user } => write!(f, "{part} belongs to user {user}; {remedy}"),
            Distrust::Group { group } => {
                write!(f, "{part} can be written by group {group}; {remedy} ('chmod g-w')")
            }
            Distrust::Account { owns: true, who } => write!(f, "{part} belongs to {who}; {of_windows}"),
            Distrust::Account { owns: false, who } => {
                write!(f, "{part} can be changed by {who}; {of_windows}")
            }
            Distrust::Everybody if ON_WINDOWS => {
                write!(f, "{part} can be written by every user; {of_windows}")
            }
            Distrust::Everybody => {
                write!(f, "{part} can be written by every user; {remedy} ('chmod o-w')")
            }
            Distrust::NotAFile => {
                write!(f, "{part} is a link, folder, pipe or device; a plain file is needed")
            }
            Distrust::Io(words) => write!(f, "{part}: {words}"),
        }
    }
}

impl std::error::Error for Untrusted {}

impl From<Untrusted> for io::Error {
    fn from(untrusted: Untrusted) -> io::Error {
        io::Error::new(io::ErrorKind::PermissionDenied, untrusted)
    }
}
