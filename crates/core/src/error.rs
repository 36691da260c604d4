//! What is wrong with some bytes, and where.

use core::fmt;

/// Bytes that are not what their format says.
///
/// The message names the structure and field, the byte offset from the start of the buffer, what was needed and what
/// was there, so that a reader can open a hex editor at the right place. The file, host or provider that the bytes
/// came from is added by whoever knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Error {
    /// The structure and field, such as `PERF_OBJECT_TYPE.TotalByteLength`.
    pub what: &'static str,
    /// Byte offset of that field (or of the text that is wrong) from the start of the input.
    pub at: usize,
    /// What is wrong with it.
    pub kind: ErrorKind,
}

/// What is wrong at the place that an [`Error`] names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The input ends too early: `needed` bytes from the offset on, `found` are there.
    Truncated {
        /// Bytes that the structure or field takes.
        needed: u64,
        /// Bytes that are left at the offset.
        found: u64,
    },
    /// A number has a value that the format does not allow here.
    Value {
        /// What the format allows, in words.
        needed: &'static str,
        /// The number that is there.
        found: u64,
    },
    /// A length or offset leads outside of the structure that contains it, or back into what was read already.
    Outside {
        /// The length or offset that is there.
        found: u64,
        /// The smallest allowed value.
        least: u64,
        /// The largest allowed value.
        most: u64,
    },
    /// Text that does not follow its grammar.
    Syntax {
        /// What the grammar wants at the offset, in words.
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
                write!(f, "{what} at byte {at}: {found} leads outside, {least} to {most} are possible")
            }
            ErrorKind::Syntax { needed } => write!(f, "{what} at byte {at}: {needed} needed"),
        }
    }
}

impl core::error::Error for Error {}
