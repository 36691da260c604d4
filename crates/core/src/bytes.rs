//! The one checked way to read bytes of an input; all parsers are built on it.

use crate::error::Error;

/// Byte order of the numbers in an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ByteOrder {
    /// Least significant byte first.
    #[default]
    Little,
    /// Most significant byte first.
    Big,
}

/// A part of an input that knows its offset in the whole input, for error messages.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bytes<'a> {
    data: &'a [u8],
    base: usize,
    order: ByteOrder,
}

impl<'a> Bytes<'a> {
    pub(crate) const fn new(data: &'a [u8], order: ByteOrder) -> Self {
        Bytes { data, base: 0, order }
    }

    pub(crate) const fn data(self) -> &'a [u8] {
        self.data
    }

    pub(crate) const fn len(self) -> usize {
        self.data.len()
    }

    pub(crate) const fn order(self) -> ByteOrder {
        self.order
    }

    /// Offset of this part in the whole input.
    pub(crate) const fn base(self) -> usize {
        self.base
    }

    /// The part of `length` bytes at offset `at`.
    #[inline]
    pub(crate) fn slice(self, at: usize, length: usize, what: &'static str) -> Result<Bytes<'a>, Error> {
        let part = at.checked_add(length).and_then(|end| self.data.get(at..end));
        match part {
            Some(data) => Ok(Bytes { data, base: self.base.saturating_add(at), order: self.order }),
            None => Err(self.truncated(at, length, what)),
        }
    }

    #[cold]
    fn truncated(self, at: usize, length: usize, what: &'static str) -> Error {
        let left = self.data.len().saturating_sub(at);
        Error::truncated(what, self.base.saturating_add(at), length as u64, left as u64)
    }

    #[inline]
    fn array<const N: usize>(self, at: usize, what: &'static str) -> Result<[u8; N], Error> {
        match self.data.get(at..).and_then(|rest| rest.first_chunk::<N>()) {
            Some(array) => Ok(*array),
            None => Err(self.truncated(at, N, what)),
        }
    }

    #[inline]
    pub(crate) fn u16(self, at: usize, what: &'static str) -> Result<u16, Error> {
        let bytes = self.array(at, what)?;
        Ok(match self.order {
            ByteOrder::Little => u16::from_le_bytes(bytes),
            ByteOrder::Big => u16::from_be_bytes(bytes),
        })
    }

    #[inline]
    pub(crate) fn u32(self, at: usize, what: &'static str) -> Result<u32, Error> {
        let bytes = self.array(at, what)?;
        Ok(match self.order {
            ByteOrder::Little => u32::from_le_bytes(bytes),
            ByteOrder::Big => u32::from_be_bytes(bytes),
        })
    }

    #[inline]
    pub(crate) fn u64(self, at: usize, what: &'static str) -> Result<u64, Error> {
        let bytes = self.array(at, what)?;
        Ok(match self.order {
            ByteOrder::Little => u64::from_le_bytes(bytes),
            ByteOrder::Big => u64::from_be_bytes(bytes),
        })
    }

    #[inline]
    pub(crate) fn i32(self, at: usize, what: &'static str) -> Result<i32, Error> {
        Ok(self.u32(at, what)?.cast_signed())
    }

    #[inline]
    pub(crate) fn i64(self, at: usize, what: &'static str) -> Result<i64, Error> {
        Ok(self.u64(at, what)?.cast_signed())
    }

    /// A 32-bit length or offset as a `usize`.
    #[inline]
    pub(crate) fn length(self, at: usize, what: &'static str) -> Result<usize, Error> {
        // If `usize` has fewer than 32 bits, no input is that long, so the saturated length fails.
        Ok(usize::try_from(self.u32(at, what)?).unwrap_or(usize::MAX))
    }
}
