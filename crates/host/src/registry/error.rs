//! Errors of the registry and of files to install.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Why the registry could not be read or changed. A change that fails has written nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegistryError {
    /// What kind of failure it is.
    pub kind: RegistryErrorKind,
    /// Everything that is wrong, in the order of the files; at least one.
    pub problems: Vec<Problem>,
}

/// Kinds of failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RegistryErrorKind {
    /// A file that was named does not exist.
    NotFound,
    /// More rights are needed.
    AccessDenied,
    /// A file that was to be installed has mistakes.
    Refused,
    /// The names of the service are there already.
    AlreadyInstalled,
    /// There is no service of that name, or it has no names.
    NotInstalled,
    /// A file of the registry itself is damaged.
    Damaged,
    /// The caller gave arguments that make no sense.
    Usage,
    /// The system failed in another way.
    Io,
    /// The change would have made tables that contradict each other; it was not written.
    Internal,
}

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The file that it is in; empty when it is in none.
    pub path: PathBuf,
    /// The line, from 1; `None` when it is about the whole file.
    pub line: Option<usize>,
    /// What was needed, what was found, and what to do.
    pub words: String,
}

impl Problem {
    /// A problem in a line of a file.
    pub(crate) fn at(path: &Path, line: usize, words: impl Into<String>) -> Problem {
        Problem { path: path.to_path_buf(), line: Some(line), words: words.into() }
    }

    /// A problem of a whole file.
    pub(crate) fn of(path: &Path, words: impl Into<String>) -> Problem {
        Problem { path: path.to_path_buf(), line: None, words: words.into() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.as_os_str().is_empty() {
            write!(f, "{}:", self.path.display())?;
            if let Some(line) = self.line {
                write!(f, "{line}:")?;
            }
            f.write_str(" ")?;
        }
        f.write_str(&self.words)
    }
}

impl RegistryError {
    /// A failure that is in no file.
    pub(crate) fn new(kind: RegistryErrorKind, words: impl Into<String>) -> RegistryError {
        RegistryError { kind, problems: vec![Problem::of(Path::new(""), words)] }
    }

    /// A failure with one problem.
    pub(crate) fn of(kind: RegistryErrorKind, problem: Problem) -> RegistryError {
        RegistryError { kind, problems: vec![problem] }
    }

    /// An error of the system at a file; `what` is the attempted operation.
    pub(crate) fn io(path: &Path, what: &str, error: &io::Error) -> RegistryError {
        let kind = match error.kind() {
            io::ErrorKind::NotFound => RegistryErrorKind::NotFound,
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                RegistryErrorKind::AccessDenied
            }
            _ => RegistryErrorKind::Io,
        };
        RegistryError::of(kind, Problem::of(path, format!("{what}: {error}")))
    }

    /// The code of the failure in Windows' `winerror.h`.
    pub const fn win32_code(&self) -> u32 {
        match self.kind {
            RegistryErrorKind::NotFound => 2,
            RegistryErrorKind::AccessDenied => 5,
            RegistryErrorKind::Refused | RegistryErrorKind::Damaged => 13,
            RegistryErrorKind::AlreadyInstalled => 183,
            RegistryErrorKind::NotInstalled => 1060,
            RegistryErrorKind::Usage => 87,
            RegistryErrorKind::Io => 29,
            RegistryErrorKind::Internal => 1359,
        }
    }
}

impl fmt::Display for RegistryError {
    /// One line a problem.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, problem) in self.problems.iter().enumerate() {
            if position > 0 {
                f.write_str("\n")?;
            }
            problem.fmt(f)?;
        }
        Ok(())
    }
}

impl std::error::Error for RegistryError {}
