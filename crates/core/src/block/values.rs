//! Sets the values of one instance, and the states of values that are stale or absent.

use super::counts::WriteCounts;
use super::encode::{put, put_u32, put_u64};
use super::spec::Slot;
use super::states;
use crate::flow::{Absence, PartialSum, ValueState};

/// The values of one instance, set by the position of their counter in the [`super::ObjectSpec`].
#[derive(Debug)]
pub struct CounterBlockMut<'w> {
    pub(super) definition: &'w mut [u8],
    pub(super) data: &'w mut [u8],
    pub(super) slots: &'w [Slot],
    pub(super) status: Option<(usize, usize)>,
    pub(super) counts: &'w mut WriteCounts,
}

impl CounterBlockMut<'_> {
    /// Sets a number.
    ///
    /// A number that is too large for a 4-byte counter wraps around if only differences of the counter
    /// matter. For any other counter the largest number is stored, and the value is marked as absent (out of
    /// range).
    #[inline]
    pub fn set(&mut self, position: usize, value: u64) {
        let Some(slot) = self.slots.get(position).copied() else {
            return;
        };
        if slot.size == 8 {
            put_u64(self.data, slot.offset, value);
        } else if slot.size == 4 {
            match u32::try_from(value) {
                Ok(value) => put_u32(self.data, slot.offset, value),
                Err(_) if slot.wraps => put_u32(self.data, slot.offset, (value & 0xffff_ffff) as u32),
                Err(_) => {
                    put_u32(self.data, slot.offset, u32::MAX);
                    self.state(position, ValueState::Absent(Absence::OutOfRange));
                }
            }
        }
    }

    /// Sets a 4-byte fraction and the base after it, both shifted right until they fit.
    ///
    /// The shift changes the quotient by at most one part in 2^31. A fraction above 1 stays above 1.
    pub fn set_fraction(&mut self, position: usize, numerator: u64, denominator: u64) {
        let mut shift = 0u32;
        while (numerator >> shift) > u64::from(u32::MAX) || (denominator >> shift) > u64::from(u32::MAX) {
            shift = shift.saturating_add(1);
        }
        self.set(position, numerator >> shift);
        self.set(position.saturating_add(1), denominator >> shift);
    }

    /// Sets a number, or marks the value as absent with the reason.
    #[inline]
    pub fn set_or(&mut self, position: usize, value: Option<u64>, absence: Absence) {
        match value {
            Some(value) => self.set(position, value),
            None => self.state(position, ValueState::Absent(absence)),
        }
    }

    /// Sets a text, truncated to the counter's size and always terminated.
    pub fn set_text(&mut self, position: usize, text: &str) {
        let Some(slot) = self.slots.get(position).copied() else {
            return;
        };
        let units = (slot.size / 2).saturating_sub(1);
        let mut at = slot.offset;
        for unit in text.encode_utf16().take(units) {
            put(self.data, at, &unit.to_le_bytes());
            at = at.saturating_add(2);
        }
    }

    /// Marks a value as stale, as a partial sum, or as absent with a reason. In an object without a status
    /// counter this has no effect, and the value stays.
    ///
    /// Only the values of [`ObjectWriter::sums`] and [`ObjectWriter::single_sums`] have space for the numbers
    /// of partial sums, for up to 7 different ones. Elsewhere a partial sum is marked as absent: it never
    /// passes for a whole one.
    ///
    /// [`ObjectWriter::sums`]: super::ObjectWriter::sums
    /// [`ObjectWriter::single_sums`]: super::ObjectWriter::single_sums
    pub fn state(&mut self, position: usize, state: ValueState) {
        if let ValueState::Partial(sum) = state {
            return self.partial([position], sum);
        }
        if let Some((offset, size)) = self.status
            && position < size
            && let Some(byte) = self.data.get_mut(offset.saturating_add(position))
        {
            *byte = state.to_byte();
            self.counts.mark(state, 1);
        }
    }

    /// Marks several values as sums that lack some of their parts.
    pub fn partial(&mut self, positions: impl IntoIterator<Item = usize>, sum: PartialSum) {
        let Some((offset, size)) = self.status else { return };
        let states = self.data.get_mut(offset..).and_then(|states| states.split_at_mut_checked(size));
        let Some((states, numbers)) = states else { return };
        let Some(partial) = states::write(sum, numbers) else {
            return self.absent(positions, sum.reason);
        };
        for position in positions {
            if let Some(byte) = states.get_mut(position) {
                *byte = partial;
            }
        }
    }

    /// Marks several values as absent.
    pub fn absent(&mut self, positions: impl IntoIterator<Item = usize>, absence: Absence) {
        let Some((offset, size)) = self.status else { return };
        let Some(bytes) = self.data.get_mut(offset..).and_then(|bytes| bytes.get_mut(..size)) else { return };
        let state = ValueState::Absent(absence);
        let mut marked = 0_u64;
        for position in positions {
            if let Some(byte) = bytes.get_mut(position) {
                *byte = state.to_byte();
                marked = marked.saturating_add(1);
            }
        }
        self.counts.mark(state, marked);
    }
}
