//! The error for bytes or text that do not follow their format.

use core::fmt;

/// Bytes that do not follow their format.
///
/// The message names the structure and field, the byte offset from the start of the buffer, what was needed
/// and what was found, so that a reader can open a hex editor at the right place. The caller adds the file,
/// host or provider that the bytes came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Error {
    /// The structure and field, such as `PERF_OBJECT_TYPE.TotalByteLength`.
    pub what: &'static str,
    /// Byte offset of the field, or of the faulty text, from the start of the input.
    pub at: usize,
    /// What is wrong.
    pub kind: ErrorKind,
}

/// What is wrong at the offset of an [`Error`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The input ends too early: of `needed` bytes at the offset, only `found` exist.
    Truncated {
        /// Number of bytes of the structure or field.
        needed: u64,
        /// Number of bytes left at the offset.
        found: u64,
    },
    /// The format does not allow this number here.
    Value {
        /// What the format allows, in words.
        needed: &'static str,
        /// The number found.
        found: u64,
    },
    /// A length or offset points outside its structure, or back into bytes that were already read.
    Outside {
        /// The length or offset found.
        found: u64,
        /// The smallest allowed value.
        least: u64,
        /// The largest allowed value.
        most: u64,
    },
    /// Text that does not follow its grammar.
    Syntax {
        /// What the grammar expects at the offset, in words.
        needed: &'static str,
    },
}

impl Error {
    /// The input ends too early.
    pub const fn truncated(what: &'static str, at: usize, needed: u64, found: u64) -> Self {
        Error { what, at, kind: ErrorKind::Truncated { needed, found } }
    }

    /// A number that the format does not allow.
    pub const fn value(what: &'static str, at: usize, needed: &'static str, found: u64) -> Self {
        Error { what, at, kind: ErrorKind::Value { needed, found } }
    }

    /// A length or offset that leads outside of its structure.
    pub const fn outside(what: &'static str, at: usize, found: u64, least: u64, most: u64) -> Self {
        Error { what, at, kind: ErrorKind::Outside { found, least, most } }
    }

    pub(crate) const fn syntax(what: &'static str, at: usize, needed: &'static str) -> Self {
        Error { what, at, kind: ErrorKind::Syntax { needed } }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Error { what, at, kind } = self;
        match kind {
            ErrorKind::Truncated { needed, found } => {
                write!(f, "{what} at byte {at}: {needed} bytes needed, {found} left")
            }
            ErrorKind::Value { needed, found } => {
                write!(f, "{what} at byte {at}: {needed} needed, found {found} ({found:#x})")
            }
            ErrorKind::Outside { found, least, most } => {
                write!(f, "{what} at byte {at}: {found} is out of range, {least} to {most} needed")
            }
            ErrorKind::Syntax { needed } => write!(f, "{what} at byte {at}: {needed} needed"),
        }
    }
}

impl core::error::Error for Error {}
