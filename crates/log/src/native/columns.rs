//! The rows of a chunk by column, as the chunk has them: for writers that keep columns, too. A row that is made
//! of a chunk costs several times what its numbers cost.

use std::io::Read;
use std::ops::Range;

use tallymon_core::counter::CounterType;
use tallymon_core::flow::{NoValue, Sample};
use tallymon_core::time::{FileTime, Frequency};

use super::read::NativeReader;
use super::status;
use super::table::{CLOCKS, STREAMS};
use crate::error::LogError;

/// The clocks of each object in each row of a chunk.
pub(crate) struct ChunkClocks(Vec<[Vec<u64>; CLOCKS]>);

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
        let [first, second, multi, state, time, frequency] = self.numbers.map(|numbers| numbers.at(row));
        if state > status::STALE
            && let Some(reason) = status::reason(state)
        {
            return Err(reason);
        }
        if self.text {
            return Err(NoValue::NotNumeric);
        }
        let clock = self.clock.and_then(|clock| clock.get(row)).copied().unwrap_or(0);
        let taken = self.taken.get(row).copied().unwrap_or(0);
        Ok(Sample {
            counter_type: self.counter_type,
            first,
            second: second.wrapping_add(clock),
            frequency: self.frequency(frequency),
            multi_count: resources(multi),
            time: FileTime(time.wrapping_add(taken)),
        })
    }

    /// Whether its instance does not exist in any row.
    fn is_gone(&self) -> bool {
        let [_, _, _, state, ..] = self.numbers;
        state.same() == Some(status::GONE)
    }

    const fn frequency(&self, number: u64) -> Frequency {
        Frequency(number.wrapping_add(self.time_base).cast_signed())
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
            frequency: self.frequency(frequency.same()?),
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

/// The number of resources, of which a log has the difference from 1.
fn resources(number: u64) -> u32 {
    u32::try_from(number.wrapping_add(1) & u64::from(u32::MAX)).unwrap_or(u32::MAX)
}

impl<R: Read> NativeReader<R> {
    /// The rows of the chunk that were not read yet; reads the next chunk if there are none. `None` at the end.
    ///
    /// # Errors
    ///
    /// The input cannot be read.
    pub(crate) fn chunk_rows(&mut self) -> Result<Option<Range<usize>>, LogError> {
        while self.row >= self.rows {
            if !self.next_chunk()? {
                self.rows = 0;
                return Ok(None);
            }
        }
        Ok(Some(self.row..self.rows))
    }

    /// The time of a row of the chunk, and its minutes for the local time.
    pub(crate) fn row_time(&self, row: usize) -> (FileTime, i32) {
        let minutes = super::series::unzigzag(self.minutes.at(row));
        (FileTime(self.times.at(row)), i32::try_from(minutes).unwrap_or_default())
    }

    /// The clocks of the objects in the chunk.
    pub(crate) fn chunk_clocks(&self) -> ChunkClocks {
        let start = |clock: usize| match clock {
            1..=3 => vec![0; self.rows],
            _ => (0..self.rows).map(|row| self.times.at(row)).collect(),
        };
        // The clocks of an object follow those of the object of the same host before it.
        let mut of_hosts: Vec<[Vec<u64>; CLOCKS]> =
            (0..self.hosts.len()).map(|_| std::array::from_fn(start)).collect();
        let clocks = self.tables.iter().map(|table| {
            let Some(before) = of_hosts.get_mut(table.host) else { return std::array::from_fn(start) };
            table.add_clocks(before);
            before.clone()
        });
        ChunkClocks(clocks.collect())
    }

    /// Gives the columns that the chunk has. The others are not given: their instances do not exist in any of its
    /// rows.
    ///
    /// # Errors
    ///
    /// Those of `each`.
    pub(crate) fn each_column<E>(
        &self,
        clocks: &ChunkClocks,
        mut each: impl FnMut(ColumnRows<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        for (number, (table, clocks)) in self.tables.iter().zip(&clocks.0).enumerate() {
            table.each_column(self.rows, clocks, |cell, column| {
                // An instance that came back has its columns twice; the later ones count.
                let place = self.places.get(column.column).copied().flatten();
                if place == Some((number, cell)) && !column.is_gone() { each(column) } else { Ok(()) }
            })?;
        }
        Ok(())
    }

    /// Goes behind the last row of the chunk.
    pub(crate) fn pass_chunk(&mut self) {
        let passed = self.rows.saturating_sub(self.row);
        if let Some(last) = self.rows.checked_sub(1) {
            self.seek_to(last);
            self.count.newest = Some(FileTime(self.times.at(last)));
        }
        self.row = self.rows;
        self.about.records = self.about.records.saturating_add(passed as u64);
    }
}
