//! Reads numbers and parts out of bytes from outside, each access checked. All parsers of binary formats use
//! it.
//!
//! ```
//! use tallymon_core::bytes::Bytes;
//!
//! let bytes = Bytes::little(&[7, 0, 0, 0, 1]);
//! assert_eq!(bytes.u32(0, "length")?, 7);
//! let error = bytes.u32(2, "count").unwrap_err();
//! assert_eq!(error.to_string(), "count at byte 2: 4 bytes needed, 3 left");
//! # Ok::<(), tallymon_core::Error>(())
//! ```

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

/// A part of an input that knows its offset in the whole input, so that errors can name it.
#[derive(Debug, Clone, Copy)]
pub struct Bytes<'a> {
    data: &'a [u8],
    base: usize,
    order: ByteOrder,
}

impl<'a> Bytes<'a> {
    /// A whole input, whose numbers have this byte order.
    #[inline]
    pub const fn new(data: &'a [u8], order: ByteOrder) -> Self {
        Bytes { data, base: 0, order }
    }

    /// A whole input with little-endian numbers.
    #[inline]
    pub const fn little(data: &'a [u8]) -> Self {
        Bytes::new(data, ByteOrder::Little)
    }

    /// The bytes.
    #[inline]
    pub const fn data(self) -> &'a [u8] {
        self.data
    }

    /// How many bytes there are.
    #[inline]
    pub const fn len(self) -> usize {
        self.data.len()
    }

    /// Whether there are none.
    #[inline]
    pub const fn is_empty(self) -> bool {
        self.data.is_empty()
    }

    /// The byte order of its numbers.
    pub const fn order(self) -> ByteOrder {
        self.order
    }

    /// Offset of the first byte in the whole input.
    pub const fn base(self) -> usize {
        self.base
    }

    /// The part of `length` bytes at `at`.
    ///
    /// # Errors
    ///
    /// The input ends before that; `what` is the structure and field for the message.
    #[inline]
    pub fn slice(self, at: usize, length: usize, what: &'static str) -> Result<Bytes<'a>, Error> {
        let part = at.checked_add(length).and_then(|end| self.data.get(at..end));
        match part {
            Some(data) => Ok(Bytes { data, base: self.base.saturating_add(at), order: self.order }),
            None => Err(self.truncated(at, length, what)),
        }
    }

    /// The part from `at` to the end.
    ///
    /// # Errors
    ///
    /// The input ends before that; `what` is the structure and field for the message.
    #[inline]
    pub fn rest(self, at: usize, what: &'static str) -> Result<Bytes<'a>, Error> {
        self.slice(at, self.data.len().saturating_sub(at), what)
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

    /// Reads an unsigned number of 16 bits at `at`.
    ///
    /// # Errors
    ///
    /// The input ends before that; `what` is the structure and field for the message.
    #[inline]
    pub fn u16(self, at: usize, what: &'static str) -> Result<u16, Error> {
        let bytes = self.array(at, what)?;
        Ok(match self.order {
            ByteOrder::Little => u16::from_le_bytes(bytes),
            ByteOrder::Big => u16::from_be_bytes(bytes),
        })
    }

    /// Reads an unsigned number of 32 bits at `at`.
    ///
    /// # Errors
    ///
    /// The input ends before that; `what` is the structure and field for the message.
    #[inline]
    pub fn u32(self, at: usize, what: &'static str) -> Result<u32, Error> {
        let bytes = self.array(at, what)?;
        Ok(match self.order {
            ByteOrder::Little => u32::from_le_bytes(bytes),
            ByteOrder::Big => u32::from_be_bytes(bytes),
        })
    }

    /// Reads an unsigned number of 64 bits at `at`.
    ///
    /// # Errors
    ///
    /// The input ends before that; `what` is the structure and field for the message.
    #[inline]
    pub fn u64(self, at: usize, what: &'static str) -> Result<u64, Error> {
        let bytes = self.array(at, what)?;
        Ok(match self.order {
            ByteOrder::Little => u64::from_le_bytes(bytes),
            ByteOrder::Big => u64::from_be_bytes(bytes),
        })
    }

    /// Reads a signed number of 32 bits at `at`.
    ///
    /// # Errors
    ///
    /// The input ends before that; `what` is the structure and field for the message.
    #[inline]
    pub fn i32(self, at: usize, what: &'static str) -> Result<i32, Error> {
        Ok(self.u32(at, what)?.cast_signed())
    }

    /// Reads a signed number of 64 bits at `at`.
    ///
    /// # Errors
    ///
    /// The input ends before that; `what` is the structure and field for the message.
    #[inline]
    pub fn i64(self, at: usize, what: &'static str) -> Result<i64, Error> {
        Ok(self.u64(at, what)?.cast_signed())
    }

    /// Reads a 32-bit length or offset at `at`.
    ///
    /// # Errors
    ///
    /// The input ends before that; `what` is the structure and field for the message.
    #[inline]
    pub fn length(self, at: usize, what: &'static str) -> Result<usize, Error> {
        // On targets whose `usize` is smaller than 32 bits no input is that long, so the saturated length
        // fails.
        Ok(usize::try_from(self.u32(at, what)?).unwrap_or(usize::MAX))
    }
}
