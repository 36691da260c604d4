//! The numbers of partial sums, behind the status bytes of a counter block.
//!
//! A status byte of a partial sum is `0x80`, plus 16 times the position of its numbers, plus the byte of its
//! reason. The numbers are two 32-bit ones: how many parts are missing, and how many there are.

use super::encode::put_u32;
use crate::flow::{Absence, PartialSum, ValueState};

/// How many different partial sums an instance may have: the byte of the eighth would be that of
/// [`Absence::Other`].
const MOST_SUMS: u8 = 7;
/// Length of the numbers of as many, in bytes.
pub(super) const LENGTH: usize = 56;
/// Marks the status byte of a partial sum.
const PARTIAL: u8 = 0x80;
/// The reason in the low bits if its own byte does not fit.
const OTHER: u8 = 15;

/// Offset of the numbers of the sum at a position.
fn offset(position: u8) -> usize {
    usize::from(position).saturating_mul(8)
}

/// Whether a status byte is that of a partial sum.
pub(super) const fn is_partial(byte: u8) -> bool {
    byte & PARTIAL != 0 && byte >> 4 != 15
}

/// The partial sum of a status byte. `number` returns the 32-bit number at an offset behind the status bytes.
/// `None` if the byte is another one, or the numbers are not those of a partial sum.
pub(super) fn read(byte: u8, number: impl Fn(usize) -> Option<u32>) -> Option<PartialSum> {
    if !is_partial(byte) {
        return None;
    }
    let at = offset((byte >> 4) & 7);
    let reason = match ValueState::from_byte(byte & 15) {
        ValueState::Absent(reason) => reason,
        _ => Absence::Other,
    };
    PartialSum::new(number(at)?, number(at.saturating_add(4))?, reason)
}

/// Writes the numbers of a partial sum behind the status bytes, and returns its status byte. `None` if there
/// is no space, or other sums have taken it.
pub(super) fn write(sum: PartialSum, numbers: &mut [u8]) -> Option<u8> {
    let reason = ValueState::Absent(sum.reason).to_byte().min(OTHER);
    let mut mine = [0; 8];
    put_u32(&mut mine, 0, sum.missing);
    put_u32(&mut mine, 4, sum.whole);
    for nth in 0..MOST_SUMS {
        let at = offset(nth);
        let known = numbers.get_mut(at..at.checked_add(8)?)?;
        if known == [0; 8] || known == mine {
            known.copy_from_slice(&mine);
            return Some(PARTIAL | nth << 4 | reason);
        }
    }
    None
}
