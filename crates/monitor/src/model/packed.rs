//! Numbers in as few bytes as they need: seven bits a byte, the lowest first. The histories in memory are
//! made of them.

/// Writes numbers.
pub(super) trait PutPacked {
    /// A number, the shorter the smaller.
    fn put(&mut self, number: u64);

    /// A difference, the shorter the nearer to 0.
    fn put_signed(&mut self, difference: u64) {
        self.put(folded(difference));
    }
}

impl PutPacked for Vec<u8> {
    fn put(&mut self, mut number: u64) {
        while number > 0x7f {
            self.push(u8::try_from(number & 0x7f).unwrap_or(0) | 0x80);
            number >>= 7;
        }
        self.push(u8::try_from(number).unwrap_or(0));
    }
}

/// A difference in which small negative numbers are small too.
pub(super) const fn folded(difference: u64) -> u64 {
    let signed = difference.cast_signed();
    ((signed << 1) ^ (signed >> 63)).cast_unsigned()
}

/// What [`folded`] made of a difference.
pub(super) const fn unfolded(number: u64) -> u64 {
    (number >> 1) ^ (number & 1).wrapping_neg()
}

/// Reads them back.
#[derive(Debug, Clone, Copy)]
pub(super) struct Packed<'b>(&'b [u8]);

impl<'b> Packed<'b> {
    /// Reads from the beginning of some bytes.
    pub(super) const fn new(bytes: &'b [u8]) -> Packed<'b> {
        Packed(bytes)
    }

    /// Whether nothing follows.
    pub(super) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The next byte.
    pub(super) fn byte(&mut self) -> Option<u8> {
        let (byte, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*byte)
    }

    /// Some bytes.
    pub(super) fn bytes(&mut self, length: usize) -> Option<&'b [u8]> {
        let (bytes, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(bytes)
    }

    /// A number.
    pub(super) fn number(&mut self) -> Option<u64> {
        let (mut number, mut shift) = (0u64, 0u32);
        loop {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f).checked_shl(shift)?;
            if byte & 0x80 == 0 {
                return Some(number);
            }
            shift = shift.saturating_add(7);
        }
    }

    /// A difference.
    pub(super) fn signed(&mut self) -> Option<u64> {
        self.number().map(unfolded)
    }
}
