//! A column in the rows of a chunk: its numbers as the chunk has them.

use std::ops::Range;

use tallymon_core::counter::CounterType;
use tallymon_core::flow::{NoValue, Sample};
use tallymon_core::time::{FileTime, Frequency};

use super::status;
use super::table::STREAMS;

/// One kind of number of a column in all rows of a chunk.
#[derive(Debug, Clone, Copy)]
pub(super) enum Numbers<'c> {
    /// It does not change.
    Same(u64),
    /// It changes.
    Each(&'c [u64]),
}

impl Numbers<'_> {
    /// The number in a row.
    #[inline]
    fn at(&self, row: usize) -> u64 {
        match self {
            Numbers::Same(number) => *number,
            Numbers::Each(numbers) => numbers.get(row).copied().unwrap_or_default(),
        }
    }

    /// The number of all rows, if it does not change.
    const fn same(&self) -> Option<u64> {
        match self {
            Numbers::Same(number) => Some(*number),
            Numbers::Each(_) => None,
        }
    }
}

/// A column in the rows of a chunk.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ColumnRows<'c> {
    /// Its position in the log.
    pub(crate) column: usize,
    pub(crate) counter_type: CounterType,
    pub(super) numbers: [Numbers<'c>; STREAMS],
    pub(super) time_base: u64,
    /// The clock that is added to its second number.
    pub(super) clock: Option<&'c [u64]>,
    /// When the samples were taken.
    pub(super) taken: &'c [u64],
    /// Whether the object was sampled, by row.
    pub(super) sampled: &'c [u64],
    pub(super) text: bool,
}

/// Rows that all have a sample, in which only the raw numbers change.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EvenRows<'c> {
    first: Numbers<'c>,
    second: Numbers<'c>,
    clock: Option<&'c [u64]>,
    pub(crate) frequency: Frequency,
    pub(crate) multi_count: u32,
}

impl<'c> ColumnRows<'c> {
    /// The sample of a row, or why there is none.
    pub(crate) fn at(&self, row: usize) -> Result<Sample, NoValue> {
        if self.sampled.get(row).is_none_or(|sampled| *sampled == 0) {
            return Err(NoValue::NoInstance);
        }
        let counter = CounterOfSample {
            counter_type: self.counter_type,
            time_base: self.time_base,
            text: self.text,
            clock: self.clock.and_then(|clock| clock.get(row)).copied().unwrap_or(0),
            taken: self.taken.get(row).copied().unwrap_or(0),
        };
        sample(&counter, self.numbers.map(|numbers| numbers.at(row)))
    }

    /// Whether its instance does not exist in any row.
    pub(super) fn is_gone(&self) -> bool {
        let [_, _, _, state, ..] = self.numbers;
        state.same() == Some(status::GONE)
    }

    /// The numbers of some rows, if each of them has a sample and only the raw numbers change.
    pub(crate) fn even(&self, rows: &Range<usize>) -> Option<EvenRows<'c>> {
        let [first, second, multi, state, _, frequency] = self.numbers;
        let is_sampled = self.sampled.get(rows.clone())?.iter().all(|sampled| *sampled != 0);
        if self.text || !is_sampled || state.same()? > status::STALE {
            return None;
        }
        let slice = |numbers: Numbers<'c>| match numbers {
            Numbers::Same(number) => Some(Numbers::Same(number)),
            Numbers::Each(numbers) => numbers.get(rows.clone()).map(Numbers::Each),
        };
        Some(EvenRows {
            first: slice(first)?,
            second: slice(second)?,
            clock: match self.clock {
                Some(clock) => Some(clock.get(rows.clone())?),
                None => None,
            },
            frequency: ticks(frequency.same()?, self.time_base),
            multi_count: resources(multi.same()?),
        })
    }
}

impl EvenRows<'_> {
    /// Adds the raw numbers of the rows to others.
    pub(crate) fn add_to(&self, rows: usize, first: &mut Vec<u64>, second: &mut Vec<u64>) {
        match self.first {
            Numbers::Same(number) => first.resize(first.len().saturating_add(rows), number),
            Numbers::Each(numbers) => first.extend_from_slice(numbers),
        }
        match (self.second, self.clock) {
            (Numbers::Same(number), None) => second.resize(second.len().saturating_add(rows), number),
            (Numbers::Each(numbers), None) => second.extend_from_slice(numbers),
            (Numbers::Same(number), Some(clock)) => {
                second.extend(clock.iter().map(|clock| clock.wrapping_add(number)));
            }
            (Numbers::Each(numbers), Some(clock)) => {
                second.extend(clock.iter().zip(numbers).map(|(clock, number)| clock.wrapping_add(*number)));
            }
        }
    }
}

/// What a sample needs beside the numbers of its column.
#[derive(Debug, Clone, Copy)]
pub(super) struct CounterOfSample {
    pub(super) counter_type: CounterType,
    pub(super) time_base: u64,
    pub(super) text: bool,
    /// The clock that is added to its second number; 0 for none.
    pub(super) clock: u64,
    /// When it was taken.
    pub(super) taken: u64,
}

/// The sample of a column from its numbers in a row, or why there is none.
#[inline]
pub(super) fn sample(counter: &CounterOfSample, numbers: [u64; STREAMS]) -> Result<Sample, NoValue> {
    let [first, second, multi, state, time, frequency] = numbers;
    if state > status::STALE
        && let Some(reason) = status::reason(state)
    {
        return Err(reason);
    }
    if counter.text {
        return Err(NoValue::NotNumeric);
    }
    Ok(Sample {
        counter_type: counter.counter_type,
        first,
        second: second.wrapping_add(counter.clock),
        frequency: ticks(frequency, counter.time_base),
        multi_count: resources(multi),
        time: FileTime(time.wrapping_add(counter.taken)),
    })
}

/// The ticks per second, of which a log has the difference from those of the definition.
const fn ticks(number: u64, time_base: u64) -> Frequency {
    Frequency(number.wrapping_add(time_base).cast_signed())
}

/// The number of resources, of which a log has the difference from 1.
fn resources(number: u64) -> u32 {
    u32::try_from(number.wrapping_add(1) & u64::from(u32::MAX)).unwrap_or(u32::MAX)
}
