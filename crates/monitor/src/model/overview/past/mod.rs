//! The processes of the past seconds, packed: of a second only what changed since the second before.
//!
//! Most processes of a machine sleep, and cost nothing while they do. Of those that work a second stores the
//! columns that changed. When more change than the memory allows for an hour, the largest are kept, and those
//! that are left out are counted, never shown with old numbers. Seconds are packed in chunks, each of which
//! is read without the ones before it, so that the oldest can be dropped.

mod columns;
#[cfg(test)]
mod past_tests;
mod read;
mod write;

use std::collections::VecDeque;

use tallymon::core::time::FileTime;

use crate::model::overview::past::read::Reader;
use crate::model::overview::past::write::{SLOT_BYTES, Writer};
use crate::model::overview::process_row::ProcessRow;

pub(super) use columns::Numbers;

/// Seconds of a chunk.
const CHUNK: usize = 120;
/// Chunks of an hour, and the one that is being filled.
const HOUR: usize = 31;
/// More bytes than a changed process takes, and than a new one takes, in nearly every case.
const CHANGE_BYTES: usize = 10;
const NEW_BYTES: usize = 28;
/// The past, oldest second first.
#[derive(Debug, Default)]
pub(super) struct Past {
    chunks: VecDeque<Chunk>,
    writer: Writer,
    /// Bytes of all chunks but the newest.
    sealed: usize,
    budget: usize,
    /// Bytes that the newest chunk may still take up to now; below 0 after a second that took too many.
    credit: i64,
    /// Bytes that each of its seconds adds to that.
    allowance: i64,
}

#[derive(Debug, Default)]
struct Chunk {
    bytes: Vec<u8>,
    seconds: Vec<Second>,
}

#[derive(Debug)]
struct Second {
    time: FileTime,
    /// Where its bytes end.
    end: u32,
    /// Processes that were not kept.
    left_out: u32,
}

impl Past {
    /// A past in at most so many bytes; the newest chunk is kept whatever it takes.
    pub(super) fn new(budget: usize) -> Past {
        Past { budget, ..Past::default() }
    }

    /// Adds a second.
    pub(super) fn push(&mut self, time: FileTime, rows: &[ProcessRow]) {
        let of_chunk = self.budget.saturating_sub(self.budget / 8) / HOUR;
        let is_full =
            |chunk: &Chunk| chunk.seconds.len() >= CHUNK || chunk.bytes.len() > of_chunk.saturating_mul(2);
        let is_first = self.chunks.back().is_none_or(is_full);
        if is_first {
            self.begin();
            self.credit = signed(of_chunk / 2);
        } else {
            self.credit = self.credit.saturating_add(self.allowance);
        }
        // Half of what is left at a time, so that busy seconds keep about the same number.
        let each = if is_first { NEW_BYTES } else { 2 * CHANGE_BYTES };
        let most = usize::try_from(self.credit).unwrap_or(0).checked_div(each).unwrap_or(0);
        let Some(chunk) = self.chunks.back_mut() else { return };
        let before = chunk.bytes.len();
        let left_out = self.writer.write(rows, most, &mut chunk.bytes);
        let taken = chunk.bytes.len().saturating_sub(before);
        chunk.seconds.push(Second {
            time,
            end: u32::try_from(chunk.bytes.len()).unwrap_or(u32::MAX),
            left_out: u32::try_from(left_out).unwrap_or(u32::MAX),
        });
        if is_first {
            // What the first second left is for the others; a burst may take that of a dozen of them.
            self.allowance = signed(of_chunk.saturating_sub(taken) / CHUNK);
            self.credit = self.allowance.saturating_mul(12);
        } else {
            self.credit = self.credit.saturating_sub(signed(taken));
        }
        while self.bytes() > self.budget && self.chunks.len() > 1 {
            let Some(chunk) = self.chunks.pop_front() else { break };
            self.sealed = self.sealed.saturating_sub(chunk.size());
        }
    }

    /// Begins a chunk, and gives back what the one before does not need.
    fn begin(&mut self) {
        if let Some(chunk) = self.chunks.back_mut() {
            chunk.bytes.shrink_to_fit();
            chunk.seconds.shrink_to_fit();
            self.sealed = self.sealed.saturating_add(chunk.size());
        }
        self.chunks.push_back(Chunk::default());
        self.writer = Writer::default();
    }

    /// Bytes that it takes.
    pub(super) fn bytes(&self) -> usize {
        let newest = self.chunks.back().map_or(0, Chunk::size);
        let tables = self.writer.slots.capacity().saturating_mul(SLOT_BYTES);
        self.sealed.saturating_add(newest).saturating_add(tables)
    }

    /// Where a time is.
    fn find(&self, time: FileTime) -> Option<(&Chunk, usize)> {
        // Newest first: a clock that was set back has a time twice.
        self.chunks.iter().rev().find_map(|chunk| {
            let nth = chunk.seconds.iter().rposition(|second| second.time == time)?;
            Some((chunk, nth))
        })
    }

    /// The processes of a time.
    pub(super) fn at(&self, time: FileTime) -> Option<Vec<ProcessRow>> {
        let (chunk, nth) = self.find(time)?;
        let mut reader = Reader::default();
        chunk.parts().take(nth.saturating_add(1)).try_for_each(|(_, part)| reader.read(part))?;
        Some(reader.rows())
    }

    /// How many processes of a time were not kept.
    pub(super) fn left_out(&self, time: FileTime) -> usize {
        let second = self.find(time).and_then(|(chunk, nth)| chunk.seconds.get(nth));
        second.map_or(0, |second| usize::try_from(second.left_out).unwrap_or(usize::MAX))
    }

    /// A number of one process in the newest `most` seconds up to a time, oldest first; NaN where it was not
    /// kept.
    pub(super) fn of(
        &self,
        who: (u32, u64),
        until: FileTime,
        most: usize,
        number: impl Fn(&Numbers) -> f32,
    ) -> Vec<f32> {
        let seconds = self.chunks.iter().flat_map(|chunk| &chunk.seconds);
        let count = seconds.filter(|second| second.time <= until).count();
        let mut skip = count.saturating_sub(most);
        let mut numbers = Vec::new();
        for chunk in &self.chunks {
            let here = chunk.seconds.iter().filter(|second| second.time <= until).count();
            if let Some(left) = skip.checked_sub(here) {
                skip = left;
                continue;
            }
            let mut reader = Reader::default();
            for (second, part) in chunk.parts() {
                if reader.read(part).is_none() || second.time > until {
                    continue;
                }
                match skip.checked_sub(1) {
                    Some(left) => skip = left,
                    None => numbers.push(reader.find(who).map_or(f32::NAN, &number)),
                }
            }
        }
        numbers
    }
}

fn signed(bytes: usize) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

impl Chunk {
    fn size(&self) -> usize {
        let seconds = self.seconds.capacity().saturating_mul(size_of::<Second>());
        self.bytes.capacity().saturating_add(seconds).saturating_add(size_of::<Chunk>())
    }

    /// Its seconds, each with its bytes.
    fn parts(&self) -> impl Iterator<Item = (&Second, &[u8])> {
        let mut begin = 0usize;
        self.seconds.iter().map_while(move |second| {
            let end = usize::try_from(second.end).ok()?;
            let part = self.bytes.get(begin..end)?;
            begin = end;
            Some((second, part))
        })
    }
}
