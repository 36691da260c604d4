//! The columns of a process, each in as few bytes as it needs.

use crate::model::overview::process_row::ProcessRow;
use crate::model::packed::{Packed, PutPacked, folded, unfolded};

/// Pages of memory: sizes of processes are multiples of them.
const PAGE: i64 = 4_096;

/// Bits of the first byte of a process in a second: which columns follow.
pub(super) mod bits {
    pub(in crate::model::overview::past) const PROCESSOR: u8 = 1;
    pub(in crate::model::overview::past) const MEMORY: u8 = 1 << 1;
    pub(in crate::model::overview::past) const BYTES: u8 = 1 << 2;
    pub(in crate::model::overview::past) const THREADS: u8 = 1 << 3;
    /// Another name, or another parent.
    pub(in crate::model::overview::past) const NAME: u8 = 1 << 4;
    /// A process that was not there: all columns follow.
    pub(in crate::model::overview::past) const NEW: u8 = 1 << 5;
    /// It is there, but was not kept for this second.
    pub(in crate::model::overview::past) const LEFT_OUT: u8 = 1 << 6;
    pub(in crate::model::overview::past) const GONE: u8 = 1 << 7;
    pub(in crate::model::overview::past) const ALL: u8 = PROCESSOR | MEMORY | BYTES | THREADS | NAME | NEW;
}

/// The columns of a process that are numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(in crate::model::overview) struct Numbers {
    pub(in crate::model::overview) processor: Option<f32>,
    pub(in crate::model::overview) memory: Option<f64>,
    pub(in crate::model::overview) bytes: Option<f32>,
    pub(in crate::model::overview) threads: Option<f32>,
}

impl Numbers {
    pub(super) const fn of(row: &ProcessRow) -> Numbers {
        let ProcessRow { processor, memory, bytes, threads, .. } = *row;
        Numbers { processor, memory, bytes, threads }
    }

    /// The columns that are others in another second. Numbers are compared by their bits: what comes back is
    /// what was there.
    pub(super) fn changed(&self, later: &Numbers) -> u8 {
        let small = |one: Option<f32>, other: Option<f32>| one.map(f32::to_bits) != other.map(f32::to_bits);
        let flag = |is_set: bool, bit: u8| if is_set { bit } else { 0 };
        flag(small(self.processor, later.processor), bits::PROCESSOR)
            | flag(self.memory.map(f64::to_bits) != later.memory.map(f64::to_bits), bits::MEMORY)
            | flag(small(self.bytes, later.bytes), bits::BYTES)
            | flag(small(self.threads, later.threads), bits::THREADS)
    }

    pub(super) fn write(&self, before: &Numbers, head: u8, out: &mut Vec<u8>) {
        if head & bits::PROCESSOR != 0 {
            put_small(self.processor, out);
        }
        if head & bits::MEMORY != 0 {
            put_size(before.memory, self.memory, out);
        }
        if head & bits::BYTES != 0 {
            put_small(self.bytes, out);
        }
        if head & bits::THREADS != 0 {
            put_small(self.threads, out);
        }
    }

    pub(super) fn read(&mut self, head: u8, part: &mut Packed<'_>) -> Option<()> {
        if head & bits::PROCESSOR != 0 {
            self.processor = small(part)?;
        }
        if head & bits::MEMORY != 0 {
            self.memory = size(self.memory, part)?;
        }
        if head & bits::BYTES != 0 {
            self.bytes = small(part)?;
        }
        if head & bits::THREADS != 0 {
            self.threads = small(part)?;
        }
        Some(())
    }
}

/// A number whose last bits are often 0.
fn put_small(number: Option<f32>, out: &mut Vec<u8>) {
    out.put(number.map_or(0, |number| u64::from(number.to_bits().reverse_bits()).saturating_add(1)));
}

fn small(part: &mut Packed<'_>) -> Option<Option<f32>> {
    let Some(bits) = part.number()?.checked_sub(1) else { return Some(None) };
    Some(Some(f32::from_bits(u32::try_from(bits).ok()?.reverse_bits())))
}

/// A number of bytes as an integer, if it is one.
fn whole(number: Option<f64>) -> Option<i64> {
    let number = number?;
    let whole = number as i64;
    let fits = whole.unsigned_abs() < 1 << 53 && (whole as f64).to_bits() == number.to_bits();
    fits.then_some(whole)
}

/// How a size is written: the two lowest bits of its first number.
const SIZE_PAGES: u64 = 1;
const SIZE_BYTES: u64 = 2;
const SIZE_OTHER: u64 = 3;

/// A size: the difference in pages, or in bytes, or all bits of a number that is no integer.
fn put_size(before: Option<f64>, now: Option<f64>, out: &mut Vec<u8>) {
    let Some(number) = now else { return out.put(0) };
    let Some(integer) = whole(now) else {
        out.put(SIZE_OTHER);
        return out.put(number.to_bits().reverse_bits());
    };
    let difference = integer.wrapping_sub(whole(before).unwrap_or(0));
    let pages = difference.checked_div(PAGE).filter(|pages| pages.wrapping_mul(PAGE) == difference);
    let (number, form) = pages.map_or((difference, SIZE_BYTES), |pages| (pages, SIZE_PAGES));
    out.put(folded(number.cast_unsigned()) << 2 | form);
}

fn size(before: Option<f64>, part: &mut Packed<'_>) -> Option<Option<f64>> {
    let number = part.number()?;
    let difference = unfolded(number >> 2).cast_signed();
    let difference = match number & 3 {
        SIZE_PAGES => difference.wrapping_mul(PAGE),
        SIZE_BYTES => difference,
        SIZE_OTHER => return Some(Some(f64::from_bits(part.number()?.reverse_bits()))),
        _ => return Some(None),
    };
    Some(Some(whole(before).unwrap_or(0).wrapping_add(difference) as f64))
}

/// The numbers from which the next process is told, in both directions.
#[derive(Debug, Default)]
pub(super) struct Last {
    pub(super) id: u64,
    pub(super) start: u64,
    pub(super) parent: u64,
}

/// An id that may be missing, as the difference to the last one.
pub(super) fn put_id(id: Option<u32>, last: &mut u64, out: &mut Vec<u8>) {
    let Some(id) = id.map(u64::from) else { return out.put(0) };
    out.put(folded(id.wrapping_sub(*last)).saturating_add(1));
    *last = id;
}

pub(super) fn id(last: &mut u64, part: &mut Packed<'_>) -> Option<Option<u32>> {
    let Some(difference) = part.number()?.checked_sub(1) else { return Some(None) };
    *last = last.wrapping_add(unfolded(difference));
    Some(Some(u32::try_from(*last).ok()?))
}
