//! Reads the fields of a part of a stream, each checked against the part's end.

use super::TraceError;

/// A position in a part of a stream.
#[derive(Debug, Clone)]
pub(crate) struct Cursor<'a> {
    bytes: &'a [u8],
    /// Where `bytes` begins in the stream.
    at: u64,
}

impl<'a> Cursor<'a> {
    /// The bytes that begin at a position of the stream.
    pub(crate) fn new(bytes: &'a [u8], at: u64) -> Cursor<'a> {
        Cursor { bytes, at }
    }

    /// Bytes that are left.
    pub(crate) fn left(&self) -> usize {
        self.bytes.len()
    }

    /// The bytes that are left.
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.bytes
    }

    /// The position in the stream.
    pub(crate) fn at(&self) -> u64 {
        self.at
    }

    /// The next bytes.
    pub(crate) fn take(&mut self, n: usize, what: &'static str) -> Result<&'a [u8], TraceError> {
        let (taken, rest) =
            self.bytes.split_at_checked(n).ok_or(TraceError::Damaged { what, at: self.at })?;
        self.bytes = rest;
        self.at = self.at.saturating_add(u64::try_from(n).unwrap_or(u64::MAX));
        Ok(taken)
    }

    fn array<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N], TraceError> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N, what)?);
        Ok(array)
    }

    pub(crate) fn byte(&mut self, what: &'static str) -> Result<u8, TraceError> {
        Ok(u8::from_le_bytes(self.array(what)?))
    }

    pub(crate) fn u16(&mut self, what: &'static str) -> Result<u16, TraceError> {
        Ok(u16::from_le_bytes(self.array(what)?))
    }

    pub(crate) fn u32(&mut self, what: &'static str) -> Result<u32, TraceError> {
        Ok(u32::from_le_bytes(self.array(what)?))
    }

    pub(crate) fn u64(&mut self, what: &'static str) -> Result<u64, TraceError> {
        Ok(u64::from_le_bytes(self.array(what)?))
    }

    /// A number of the size of an address in the program: 4 or 8 bytes.
    pub(crate) fn address(&mut self, size: u32, what: &'static str) -> Result<u64, TraceError> {
        if size == 4 { Ok(u64::from(self.u32(what)?)) } else { self.u64(what) }
    }

    /// A number of which each byte has seven bits, the lowest first.
    pub(crate) fn compact(&mut self, what: &'static str) -> Result<u64, TraceError> {
        let at = self.at;
        let mut number = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte(what)?;
            number |= u64::from(byte & 0x7f).checked_shl(shift).unwrap_or(0);
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(TraceError::Damaged { what, at })
    }

    /// The same for numbers that have 32 bits.
    pub(crate) fn compact32(&mut self, what: &'static str) -> Result<u32, TraceError> {
        let at = self.at;
        u32::try_from(self.compact(what)?).map_err(|_| TraceError::Damaged { what, at })
    }

    /// A text of 16-bit units that ends with a zero.
    pub(crate) fn text(&mut self, what: &'static str) -> Result<String, TraceError> {
        let (units, _) = self.bytes.as_chunks::<2>();
        let length = units.iter().position(|unit| *unit == [0, 0]);
        let length = length.ok_or(TraceError::Damaged { what, at: self.at })?;
        let bytes = self.take(length.saturating_mul(2), what)?;
        self.take(2, what)?;
        let (units, _) = bytes.as_chunks::<2>();
        let units = units.iter().map(|unit| u16::from_le_bytes(*unit));
        Ok(char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect())
    }
}
