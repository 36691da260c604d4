//! Writes and reads bits, the lowest bit of a byte first.

/// Collects bits.
#[derive(Debug, Clone, Default)]
pub(super) struct BitWriter {
    bytes: Vec<u8>,
    /// Bits that do not fill a word yet, the oldest is the lowest; fewer than 64.
    word: u64,
    held: u32,
}

impl BitWriter {
    /// Adds the lowest `count` bits of `bits`, 64 at most. The bits above them have to be 0.
    #[inline]
    pub(super) fn bits(&mut self, bits: u64, count: u32) {
        self.word |= bits.wrapping_shl(self.held);
        let total = self.held.saturating_add(count);
        if total < 64 {
            self.held = total;
            return;
        }
        self.bytes.extend_from_slice(&self.word.to_le_bytes());
        self.held = total.wrapping_sub(64);
        // The bits that did not fit; none if the word was filled exactly.
        let used = count.wrapping_sub(self.held);
        self.word = bits.checked_shr(used).unwrap_or(0);
    }

    /// Adds one bit.
    #[inline]
    pub(super) fn bit(&mut self, bit: bool) {
        self.bits(u64::from(bit), 1);
    }

    /// Adds a number with its significant bits, after their count in 7 bits: short for small and large
    /// numbers.
    pub(super) fn number(&mut self, number: u64) {
        let length = u64::BITS.saturating_sub(number.leading_zeros());
        self.bits(u64::from(length), 7);
        self.bits(number, length);
    }

    /// Adds a number that is usually small, in Elias' gamma code of the number plus 1: twice its bit count,
    /// less one. `u64::MAX` cannot be written.
    #[inline]
    pub(super) fn small(&mut self, number: u64) {
        let number = number.saturating_add(1);
        let length = u64::BITS.saturating_sub(number.leading_zeros()).saturating_sub(1);
        self.bits(1u64.wrapping_shl(length), length.saturating_add(1));
        self.bits(number & !1u64.wrapping_shl(length), length);
    }

    /// Moves the bits into `out`, in whole bytes, and starts again.
    pub(super) fn drain_into(&mut self, out: &mut Vec<u8>) {
        out.append(&mut self.bytes);
        let rest = usize::try_from(self.held.div_ceil(8)).unwrap_or(0);
        out.extend(self.word.to_le_bytes().iter().take(rest));
        (self.word, self.held) = (0, 0);
    }
}

/// Reads bits. After the end it reads zeros, and [`BitReader::is_spent`] is true.
#[derive(Debug, Clone)]
pub(super) struct BitReader<'a> {
    bytes: &'a [u8],
    /// The next bit.
    at: usize,
}

impl<'a> BitReader<'a> {
    pub(super) const fn new(bytes: &'a [u8]) -> BitReader<'a> {
        BitReader { bytes, at: 0 }
    }

    /// Bits that were taken.
    pub(super) const fn taken(&self) -> u64 {
        self.at as u64
    }

    /// At least 56 of the next bits, as far as there are any.
    #[inline]
    fn peek(&self) -> u64 {
        let byte = self.at >> 3;
        let rest = self.bytes.get(byte..).unwrap_or_default();
        let word = match rest.first_chunk::<8>() {
            Some(chunk) => u64::from_le_bytes(*chunk),
            None => {
                let mut word = [0; 8];
                word.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
                u64::from_le_bytes(word)
            }
        };
        word >> (self.at & 7)
    }

    #[inline]
    fn skip(&mut self, count: u32) {
        self.at = self.at.saturating_add(usize::try_from(count).unwrap_or(usize::MAX));
    }

    /// The next `count` bits, 64 at most.
    #[inline]
    pub(super) fn bits(&mut self, count: u32) -> u64 {
        if count <= 56 {
            let bits = self.peek() & 1u64.wrapping_shl(count).wrapping_sub(1);
            self.skip(count);
            return bits;
        }
        let low = self.bits(32);
        let high = self.bits(count.wrapping_sub(32));
        low | high.wrapping_shl(32)
    }

    /// The next bit.
    #[inline]
    pub(super) fn bit(&mut self) -> bool {
        self.bits(1) == 1
    }

    /// Reads the zeros before the next 1, and the 1. After `most` zeros it stops and reads nothing else.
    #[inline]
    pub(super) fn zeros(&mut self, most: u32) -> u32 {
        let zeros = self.peek().trailing_zeros().min(most);
        self.skip(zeros.saturating_add(u32::from(zeros < most)));
        zeros
    }

    /// Reads a number of [`BitWriter::number`]; `None` if its length is impossible.
    pub(super) fn number(&mut self) -> Option<u64> {
        let length = u32::try_from(self.bits(7)).ok().filter(|length| *length <= 64)?;
        Some(self.bits(length))
    }

    /// Reads a number of [`BitWriter::small`].
    #[inline]
    pub(super) fn small(&mut self) -> u64 {
        let mut length = self.zeros(48);
        if length == 48 {
            length = length.saturating_add(self.zeros(16));
        }
        (self.bits(length) | 1u64.wrapping_shl(length)).wrapping_sub(1)
    }

    /// Whether more bits were read than there are.
    pub(super) fn is_spent(&self) -> bool {
        self.at.div_ceil(8) > self.bytes.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_of_every_width_are_read_back_at_every_offset() {
        let mut writer = BitWriter::default();
        let value =
            |width: u32, n: u64| n.wrapping_mul(0x9e37_79b9_7f4a_7c15).checked_shr(64 - width).unwrap_or(0);
        for width in 0..=64u32 {
            for n in 0..9 {
                writer.bits(value(width, n), width);
                writer.number(value(width, n));
                writer.small(value(width.min(63), n));
                writer.bit(n % 3 == 0);
            }
        }
        let mut bytes = Vec::new();
        writer.drain_into(&mut bytes);
        let mut reader = BitReader::new(&bytes);
        for width in 0..=64u32 {
            for n in 0..9 {
                assert_eq!(reader.bits(width), value(width, n), "{width} {n}");
                assert_eq!(reader.number(), Some(value(width, n)), "{width} {n}");
                assert_eq!(reader.small(), value(width.min(63), n), "{width} {n}");
                assert_eq!(reader.bit(), n % 3 == 0);
            }
        }
        assert!(!reader.is_spent());
        assert_eq!(reader.bits(64), 0);
        assert!(reader.is_spent());
    }
}
