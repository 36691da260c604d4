//! Reads numbers and texts from a published file, and checks each against the end of the file.

use std::fmt;

/// A published file that does not follow its format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FormatError {
    /// The structure or field.
    pub what: &'static str,
    /// Byte offset in the file.
    pub at: usize,
    /// What the format requires.
    pub needed: &'static str,
    /// The number that was there; for a structure that ends too early, the bytes that were left.
    pub found: u64,
}

impl fmt::Display for FormatError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let FormatError { what, at, needed, found } = self;
        write!(f, "{what} at byte {at}: {needed} needed, found {found}")
    }
}

impl std::error::Error for FormatError {}

/// A part of a file that knows its position in the file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Part<'a> {
    bytes: &'a [u8],
    base: usize,
}

impl<'a> Part<'a> {
    pub(crate) const fn new(bytes: &'a [u8], base: usize) -> Part<'a> {
        Part { bytes, base }
    }

    pub(crate) const fn len(self) -> usize {
        self.bytes.len()
    }

    /// The error that the value at an offset in this part is not what the format requires.
    #[cold]
    pub(crate) fn error(
        self,
        at: usize,
        what: &'static str,
        needed: &'static str,
        found: usize,
    ) -> FormatError {
        let found = u64::try_from(found).unwrap_or(u64::MAX);
        FormatError { what, at: self.base.saturating_add(at), needed, found }
    }

    /// `length` bytes at `at`.
    pub(crate) fn part(self, at: usize, length: usize, what: &'static str) -> Result<Part<'a>, FormatError> {
        match at.checked_add(length).and_then(|end| self.bytes.get(at..end)) {
            Some(bytes) => Ok(Part { bytes, base: self.base.saturating_add(at) }),
            None => Err(self.error(at, what, "more bytes", self.bytes.len().saturating_sub(at))),
        }
    }

    /// Everything from `at` on.
    pub(crate) fn after(self, at: usize, what: &'static str) -> Result<Part<'a>, FormatError> {
        self.part(at, self.bytes.len().saturating_sub(at), what)
    }

    fn array<const N: usize>(self, at: usize, what: &'static str) -> Result<[u8; N], FormatError> {
        match self.bytes.get(at..).and_then(|rest| rest.first_chunk::<N>()) {
            Some(array) => Ok(*array),
            None => Err(self.error(at, what, "more bytes", self.bytes.len().saturating_sub(at))),
        }
    }

    pub(crate) fn u16(self, at: usize, what: &'static str) -> Result<u16, FormatError> {
        Ok(u16::from_le_bytes(self.array(at, what)?))
    }

    pub(crate) fn u32(self, at: usize, what: &'static str) -> Result<u32, FormatError> {
        Ok(u32::from_le_bytes(self.array(at, what)?))
    }

    pub(crate) fn u64(self, at: usize, what: &'static str) -> Result<u64, FormatError> {
        Ok(u64::from_le_bytes(self.array(at, what)?))
    }

    /// A number of 32 bits as a length or an offset.
    pub(crate) fn length(self, at: usize, what: &'static str) -> Result<usize, FormatError> {
        Ok(usize::try_from(self.u32(at, what)?).unwrap_or(usize::MAX))
    }

    /// A number of 64 bits as a length or an offset; a number that is not a `usize` would lead outside of any
    /// file.
    pub(crate) fn long(self, at: usize, what: &'static str) -> Result<usize, FormatError> {
        Ok(usize::try_from(self.u64(at, what)?).unwrap_or(usize::MAX))
    }

    /// The whole part as UTF-8.
    pub(crate) fn text(self, what: &'static str) -> Result<&'a str, FormatError> {
        std::str::from_utf8(self.bytes)
            .map_err(|error| self.error(error.valid_up_to(), what, "UTF-8", self.bytes.len()))
    }
}
