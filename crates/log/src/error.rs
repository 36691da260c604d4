//! Errors, which stop reading or writing a log, and damage, which does not.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Why a log cannot be read or written.
///
/// Damage inside a log is not an error: the reader skips it and lists it as [`Damage`].
#[derive(Debug)]
pub struct LogError {
    /// The file, if it is known.
    pub path: Option<PathBuf>,
    /// What is wrong.
    pub kind: LogErrorKind,
}

/// Kinds of [`LogError`].
#[derive(Debug)]
#[non_exhaustive]
pub enum LogErrorKind {
    /// The operating system cannot open, read or write the file.
    Io(io::Error),
    /// The file is not a log: what was expected and what was found.
    NotALog(String),
    /// The format is known, but nothing in the log can be used, and why.
    Unusable(String),
    /// The request cannot be fulfilled, and why.
    Request(String),
    /// The range that was asked for has no records; the words name the range of the log.
    NoRecords(String),
    /// The file to write is this one, which is read for it.
    OutputIsInput(PathBuf),
}

impl LogError {
    /// An error without a file.
    pub const fn new(kind: LogErrorKind) -> LogError {
        LogError { path: None, kind }
    }

    /// The same error with its file. A file that the error has already stays.
    pub fn in_file(self, path: &Path) -> LogError {
        LogError { path: self.path.or_else(|| Some(path.to_path_buf())), kind: self.kind }
    }
}

impl From<io::Error> for LogError {
    fn from(error: io::Error) -> LogError {
        LogError::new(LogErrorKind::Io(error))
    }
}

impl fmt::Display for LogError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(path) = &self.path {
            write!(f, "{}: ", path.display())?;
        }
        match &self.kind {
            LogErrorKind::Io(error) => error.fmt(f),
            LogErrorKind::NotALog(words) => write!(f, "not a performance log: {words}"),
            LogErrorKind::Unusable(words) => write!(f, "nothing in the log can be used: {words}"),
            LogErrorKind::Request(words) | LogErrorKind::NoRecords(words) => f.write_str(words),
            LogErrorKind::OutputIsInput(input) => {
                write!(f, "this is the file {}, which is read; write another file", input.display())
            }
        }
    }
}

impl std::error::Error for LogError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.kind {
            LogErrorKind::Io(error) => Some(error),
            _ => None,
        }
    }
}

/// One fault inside a log. The reader continued behind it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// The byte of the fault in the file, or of the structure that contains the fault.
    pub byte: u64,
    /// Number of the buffer of a BLG, from 0 for the header.
    pub buffer: Option<u64>,
    /// Number of the data record with the fault, from 1, or of the next record after it.
    pub record: Option<u64>,
    /// Line of a text log, from 1.
    pub line: Option<u64>,
    /// What is wrong, and what the reader did.
    pub what: String,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, number) in [("buffer", self.buffer), ("line", self.line), ("record", self.record)] {
            if let Some(number) = number {
                write!(f, "{name} {number}, ")?;
            }
        }
        write!(f, "byte {}: {}", self.byte, self.what)
    }
}

/// Faults and remarks about a log.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Notes {
    /// The first faults, at most [`Notes::MOST`].
    pub damage: Vec<Damage>,
    /// The number of all faults, also of those that are not in the list.
    pub damage_count: u64,
    /// Facts that are not faults: an unknown time zone, a caption, a late column.
    pub remarks: Vec<String>,
}

impl Notes {
    /// The largest number of faults, and of remarks, in the lists, so that a garbage log does not fill the
    /// memory.
    pub const MOST: usize = 1000;

    pub(crate) fn damage(&mut self, damage: Damage) {
        self.damage_count = self.damage_count.saturating_add(1);
        if self.damage.len() < Notes::MOST {
            self.damage.push(damage);
        }
    }

    pub(crate) fn remark(&mut self, words: impl Into<String>) {
        let words = words.into();
        if self.remarks.len() < Notes::MOST && !self.remarks.contains(&words) {
            self.remarks.push(words);
        }
    }

    /// Adds the faults and remarks of `other`.
    pub fn extend(&mut self, other: &Notes) {
        let room = Notes::MOST.saturating_sub(self.damage.len());
        self.damage.extend(other.damage.iter().take(room).cloned());
        self.damage_count = self.damage_count.saturating_add(other.damage_count);
        for remark in &other.remarks {
            self.remark(remark.clone());
        }
    }
}
