//! The numbers that both samples make up: the function `rand` that the C standard has as its example.

/// Makes up numbers from 0 to 32767, the same ones in every run.
pub(crate) struct Random(u32);

impl Random {
    pub(crate) const fn new() -> Random {
        Random(1)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(1_103_515_245).wrapping_add(12_345);
        u64::from((self.0 >> 16) & 0x7fff)
    }
}
