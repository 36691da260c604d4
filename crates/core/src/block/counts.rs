//! Counts of what was written into objects: how many values, and how many marks for missing ones.

use super::states::is_partial;
use crate::flow::{Absence, ValueState};

/// Marks are counted by their state byte. The last slot is for [`Absence::Other`], whose byte is large.
const KINDS: usize = 13;

/// How many values were written, and how many of them are marked as absent, by reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WriteCounts {
    /// Objects.
    pub objects: u32,
    /// Instances. The values of an object without instances count as one instance.
    pub instances: u64,
    /// Values, present or absent, including bases.
    pub values: u64,
    /// Number of marks by [`mark`].
    marks: [u64; KINDS],
}

impl WriteCounts {
    /// How often a value was marked as absent for this reason. A value that was marked twice counts twice.
    pub fn absent(&self, why: Absence) -> u64 {
        self.marks.get(mark(ValueState::Absent(why))).copied().unwrap_or(0)
    }

    /// How often a value was marked as absent, for any reason.
    pub fn all_absent(&self) -> u64 {
        Absence::ALL.iter().fold(0, |sum, why| sum.saturating_add(self.absent(*why)))
    }

    /// The difference from an earlier state of these counts.
    #[must_use]
    pub fn since(&self, earlier: &WriteCounts) -> WriteCounts {
        let mut marks = self.marks;
        for (now, before) in marks.iter_mut().zip(earlier.marks) {
            *now = now.saturating_sub(before);
        }
        WriteCounts {
            objects: self.objects.saturating_sub(earlier.objects),
            instances: self.instances.saturating_sub(earlier.instances),
            values: self.values.saturating_sub(earlier.values),
            marks,
        }
    }

    /// Counts one instance with this many counters.
    #[inline]
    pub(super) fn instance(&mut self, counters: usize) {
        self.instances = self.instances.saturating_add(1);
        self.values = self.values.saturating_add(u64::try_from(counters).unwrap_or(u64::MAX));
    }

    /// Adds the counts of another writer.
    pub(super) fn add(&mut self, other: &WriteCounts) {
        self.objects = self.objects.saturating_add(other.objects);
        self.instances = self.instances.saturating_add(other.instances);
        self.values = self.values.saturating_add(other.values);
        for (count, more) in self.marks.iter_mut().zip(other.marks) {
            *count = count.saturating_add(more);
        }
    }

    /// Counts the marks in the status bytes of an instance.
    pub(super) fn add_states(&mut self, states: &[u8]) {
        self.each_mark(states, |count| count.saturating_add(1));
    }

    /// Subtracts the marks in the status bytes of an instance that is about to be rewritten.
    pub(super) fn take_back(&mut self, states: &[u8]) {
        self.each_mark(states, |count| count.saturating_sub(1));
    }

    fn each_mark(&mut self, states: &[u8], change: impl Fn(u64) -> u64) {
        for state in states.iter().filter(|state| **state != 0 && !is_partial(**state)) {
            if let Some(count) = self.marks.get_mut(mark(ValueState::from_byte(*state))) {
                *count = change(*count);
            }
        }
    }

    /// Counts `times` marks of one state.
    #[inline]
    pub(super) fn mark(&mut self, state: ValueState, times: u64) {
        if let Some(count) = self.marks.get_mut(mark(state)) {
            *count = count.saturating_add(times);
        }
    }
}

/// Index in `marks` for a state.
fn mark(state: ValueState) -> usize {
    usize::from(state.to_byte()).min(KINDS.saturating_sub(1))
}
