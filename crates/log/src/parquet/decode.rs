//! Decodes the values of pages: runs of small numbers, and differences.

use super::bytes::{Bad, Input};

/// Small numbers of a fixed width as runs and packed groups of eight; `each` gets the first `count` of them.
pub(super) fn hybrid(
    input: &mut Input<'_>,
    width: u32,
    count: usize,
    mut each: impl FnMut(u32) -> Result<(), Bad>,
) -> Result<(), Bad> {
    if width > 32 {
        return Err(format!("numbers of {width} bits; 32 are the most"));
    }
    let mut left = count;
    while left > 0 {
        let head = input.varint()?;
        let length = usize::try_from(head >> 1).map_err(|_| format!("a run of {}", head >> 1))?;
        if head & 1 == 0 {
            let bytes = input.take(width.div_ceil(8) as usize)?;
            let value = bytes.iter().rev().fold(0u32, |value, byte| value.wrapping_shl(8) | u32::from(*byte));
            let run = length.min(left);
            if run == 0 {
                return Err("a run of no values".to_owned());
            }
            (0..run).try_for_each(|_| each(value))?;
            left = left.saturating_sub(run);
        } else {
            let bytes = length.checked_mul(width as usize).ok_or("too long a run")?;
            // The last group may be cut after the last value.
            let packed = input.take(bytes.min(input.remaining()))?;
            let values = length.saturating_mul(8).min(left);
            if values == 0 {
                return Err("a group of no values".to_owned());
            }
            let mut bits = Bits::new(packed);
            for _ in 0..values {
                each(u32::try_from(bits.take(width)?).unwrap_or(u32::MAX))?;
            }
            left = left.saturating_sub(values);
        }
    }
    Ok(())
}

/// Differences in blocks, each with a least difference and its own widths: `DELTA_BINARY_PACKED`.
pub(super) fn deltas(input: &mut Input<'_>, most: usize) -> Result<Vec<i64>, Bad> {
    let (block, minis, total) = (input.size()?, input.size()?, input.size()?);
    let mut value = input.zigzag()?;
    let of_mini = block.checked_div(minis).unwrap_or(0);
    let is_sound = block <= 1 << 16 && minis <= 512 && of_mini > 0 && of_mini.is_multiple_of(32);
    if !is_sound || total > most {
        return Err(format!(
            "{total} differences in blocks of {block} with {minis} parts; {most} values wanted"
        ));
    }
    let mut values = Vec::with_capacity(total);
    if total > 0 {
        values.push(value);
    }
    while values.len() < total {
        let least = input.zigzag()?;
        for width in input.take(minis)? {
            if values.len() >= total {
                break;
            }
            let width = u32::from(*width);
            if width > 64 {
                return Err(format!("differences of {width} bits; 64 are the most"));
            }
            let bytes = of_mini.saturating_mul(width as usize).div_ceil(8);
            let mut bits = Bits::new(input.take(bytes)?);
            for _ in 0..of_mini.min(total.saturating_sub(values.len())) {
                value = value.wrapping_add(least).wrapping_add(bits.take(width)?.cast_signed());
                values.push(value);
            }
        }
    }
    Ok(values)
}

/// Numbers behind each other, the lowest bit first.
struct Bits<'b> {
    bytes: &'b [u8],
    held: u128,
    count: u32,
}

impl<'b> Bits<'b> {
    const fn new(bytes: &'b [u8]) -> Bits<'b> {
        Bits { bytes, held: 0, count: 0 }
    }

    fn take(&mut self, width: u32) -> Result<u64, Bad> {
        while self.count < width {
            let Some((byte, rest)) = self.bytes.split_first() else {
                return Err("packed numbers end early".to_owned());
            };
            self.held |= u128::from(*byte).wrapping_shl(self.count);
            self.count = self.count.saturating_add(8);
            self.bytes = rest;
        }
        let mask = 1u128.wrapping_shl(width).wrapping_sub(1);
        let value = u64::try_from(self.held & mask).unwrap_or(u64::MAX);
        self.held = self.held.wrapping_shr(width);
        self.count = self.count.saturating_sub(width);
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_the_specification() {
        // Bit-packed 0 to 7 in three bits, from the specification of Parquet.
        let mut seen = Vec::new();
        let bytes = [0b0000_0011, 0b1000_1000, 0b1100_0110, 0b1111_1010];
        hybrid(&mut Input::new(&bytes), 3, 8, |value| {
            seen.push(value);
            Ok(())
        })
        .unwrap();
        assert_eq!(seen, [0, 1, 2, 3, 4, 5, 6, 7]);
        // A run of five times 300 in nine bits.
        let mut run = Vec::new();
        hybrid(&mut Input::new(&[10, 0x2c, 1]), 9, 5, |value| {
            run.push(value);
            Ok(())
        })
        .unwrap();
        assert_eq!(run, [300; 5]);
        // 1, 2, 3, 4, 5: first value 1, least difference 1, differences of no bits.
        let deltas_of_one = [0x80, 1, 4, 5, 2, 2, 0, 0, 0, 0];
        assert_eq!(deltas(&mut Input::new(&deltas_of_one), 5), Ok(vec![1, 2, 3, 4, 5]));
        // 7, 5, 3, 1, 2, 3, 4, 5: least difference -2, differences of two bits, also from the specification.
        let mut other = vec![0x80, 1, 4, 8, 14, 3, 2, 0, 0, 0, 0b1100_0000, 0b0011_1111];
        other.resize(18, 0);
        assert_eq!(deltas(&mut Input::new(&other), 8), Ok(vec![7, 5, 3, 1, 2, 3, 4, 5]));
    }

    #[test]
    fn lies_are_refused() {
        let all = |_| Ok(());
        for (bytes, width) in [(&[0xff_u8; 3][..], 1), (&[0, 1], 1), (&[1], 1), (&[2], 8), (&[3, 1], 33)] {
            assert!(hybrid(&mut Input::new(bytes), width, 10, all).is_err(), "{bytes:?} {width}");
        }
        for bytes in [&[0x80, 1, 4, 9, 0][..], &[0, 0, 1, 0, 0], &[0x80, 1, 4, 3, 0, 0, 65, 0, 0, 0]] {
            assert!(deltas(&mut Input::new(bytes), 8).is_err(), "{bytes:?}");
        }
    }
}
