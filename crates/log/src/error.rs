//! What stops reading or writing a log, and what was wrong with a log that could be read all the same.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Why a log can not be read or written at all.
///
/// A log that is damaged inside is no error: what is whole is read and the rest is listed as [`Damage`].
#[derive(Debug)]
pub struct LogError {
    /// The file, when it is known.
    pub path: Option<PathBuf>,
    /// What is wrong.
    pub kind: LogErrorKind,
}

/// Kinds of [`LogError`].
#[derive(Debug)]
#[non_exhaustive]
pub enum LogErrorKind {
    /// The operating system can not open, read or write the file.
    Io(io::Error),
    /// The content is of no format that is known, in words what was looked for and what was found.
    NotALog(String),
    /// The log is of a known format, but nothing in it can be used, in words why.
    Unusable(String),
    /// What was asked for can not be done, in words why.
    Request(String),
}

impl LogError {
    /// An error of a kind, of a file that is not known here.
    pub const fn new(kind: LogErrorKind) -> LogError {
        LogError { path: None, kind }
    }

    /// The error with the file that it is about. A file that is noted already stays.
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
            LogErrorKind::Request(words) => f.write_str(words),
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

/// One fault of a log that was read in spite of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// Byte of the file where the fault is, or where the structure begins that has it.
    pub byte: u64,
    /// Number of the buffer of a BLG, from 0 for the header.
    pub buffer: Option<u64>,
    /// Number of the data record, from 1: the one that has the fault, or the next one after it.
    pub record: Option<u64>,
    /// Line of a text log, from 1.
    pub line: Option<u64>,
    /// What is wrong, and what became of it.
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

/// The faults found so far, and what else the user should know.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Notes {
    /// The first faults, at most [`Notes::MOST`].
    pub damage: Vec<Damage>,
    /// All faults, those that were not kept included.
    pub damage_count: u64,
    /// Facts that are no faults: a zone that is not known, a caption, a column that came late.
    pub remarks: Vec<String>,
}

impl Notes {
    /// How many faults, and how many remarks, are kept. A log of garbage does not fill the memory with words about it.
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

    /// Adds what is in `other`.
    pub fn extend(&mut self, other: &Notes) {
        let room = Notes::MOST.saturating_sub(self.damage.len());
        self.damage.extend(other.damage.iter().take(room).cloned());
        self.damage_count = self.damage_count.saturating_add(other.damage_count);
        for remark in &other.remarks {
            self.remark(remark.clone());
        }
    }
}
