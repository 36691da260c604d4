//! Reads the rows of a tail, and counts the rows of a log: which are gone, and which were read already when a
//! chunk took the place of rows under the reader.

use std::io::{self, Read};

use tallymon_core::error::Error;
use tallymon_core::time::FileTime;

use super::fields::Fields;
use super::index::{self, ChunkHead};
use super::read::NativeReader;
use crate::error::LogError;

/// The rows of a log so far, by their numbers.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct RowCount {
    /// The number of the last row that was read; `None` when reading began somewhere.
    last: Option<u64>,
    /// The time of the last row that was returned.
    pub(super) newest: Option<FileTime>,
    /// Rows that are whole but build on what is damaged: how many, the time of the last one, and its number.
    left_out: (u64, FileTime, Option<u64>),
    /// Where the tail begins that is being read.
    tail_at: Option<u64>,
    /// The number and the time of its first row.
    tail_first: Option<(u64, u64)>,
    /// The tail to which the reader went back, and the last row that it had then.
    back: Option<(u64, u64)>,
}

impl RowCount {
    /// For a reader at the first row of a log.
    pub(super) fn from_start() -> RowCount {
        RowCount { last: Some(0), ..RowCount::default() }
    }

    /// Notes rows that cannot be read because they build on what is damaged.
    pub(super) fn left_out(&mut self, head: ChunkHead) {
        let (count, _, _) = self.left_out;
        let number = head.number.map(|number| number.saturating_add(head.rows as u64).saturating_sub(1));
        self.left_out = (count.saturating_add(head.rows as u64), FileTime(head.most), number);
    }
}

impl<R: Read> NativeReader<R> {
    /// Reads a row of a tail; `true` if it is new.
    pub(super) fn tail_row(&mut self, body: &[u8], at: u64, unit_at: u64) -> Result<bool, Error> {
        let mut fields = Fields::new(body);
        let head = ChunkHead::decode(&mut fields)?;
        let step = fields.number("step from the row before")?;
        let number = head.number.unwrap_or_default();
        let builds_on = number.checked_sub(step).filter(|_| self.whole);
        if !head.key && (builds_on.is_none() || builds_on != self.count.last) {
            self.whole = false;
            self.count.left_out(head);
            return Ok(false);
        }
        (self.rows, self.row, self.whole) = (0, 0, false);
        self.key_at = head.key.then_some(unit_at);
        let minutes = fields.number("minutes of a row")?;
        self.names(&mut fields, head.key)?;
        self.times.set(head.first);
        self.minutes.set(minutes);
        if !self.scanning {
            let about = &mut self.about;
            for table in &mut self.tables {
                table.decode_row(&mut fields, head.key, |column, bits| about.took(column, bits))?;
            }
        }
        (self.rows, self.whole) = (1, true);
        let (tail_at, tail_first) = match head.key {
            true => (Some(unit_at), Some((number, head.first))),
            false => (self.count.tail_at, self.count.tail_first),
        };
        self.note_part(head);
        self.rows_at = at;
        self.took_rows(head, at);
        (self.count.tail_at, self.count.tail_first) = (tail_at, tail_first);
        Ok(self.row < self.rows)
    }

    /// Counts the rows that were just read, and reports those that are gone before them.
    pub(super) fn took_rows(&mut self, head: ChunkHead, at: u64) {
        let rows = head.rows as u64;
        let tail = self.count.tail_at.take();
        let Some(number) = head.number else {
            // Version 1 did not count.
            self.report_gone(None);
            self.count.last = self.count.last.map(|last| last.saturating_add(rows));
            return;
        };
        if rows > 1
            && let (Some(place), Some(last)) = (tail, self.count.last)
            && self.count.tail_first == Some((number, head.first))
        {
            // A recorder was killed before the chunk took the place of its rows.
            self.count.back = Some((place, self.count.back.map_or(last, |(_, had)| had.max(last))));
        }
        if let Some((_, had)) = self.count.back {
            // Rows that were returned before the reader went back.
            let known = had.saturating_add(1).saturating_sub(number);
            self.row = usize::try_from(known).unwrap_or(usize::MAX).min(self.rows);
        }
        let end = number.saturating_add(rows).saturating_sub(1);
        let is_known = self.count.back.is_some_and(|(_, had)| end <= had);
        if !is_known {
            let first = match self.count.back {
                Some((_, had)) if number <= had => had.saturating_add(1),
                _ => number,
            };
            self.report_gone(Some((first, FileTime(head.first), at)));
            // From here on rows are new.
            self.count.back = None;
        }
        self.count.last = Some(end);
    }

    /// Takes the number of rows that a complete log has.
    pub(super) fn end_of_rows(&mut self, known: &index::Known) {
        let newest = known.keys.iter().map(|key| key.most).max().unwrap_or(0);
        if self.count.last.is_some_and(|last| last < known.rows) {
            self.count.left_out = (0, FileTime(newest), Some(known.rows));
            self.report_gone(None);
            self.count.last = Some(known.rows);
        }
    }

    /// Reports rows that are gone: those before `next`, its number, time and byte, or before the end.
    pub(super) fn report_gone(&mut self, next: Option<(u64, FileTime, u64)>) {
        let (left_out, until, number) = std::mem::take(&mut self.count.left_out);
        let expected = self.count.last.map(|last| last.saturating_add(1));
        let expected = match (expected, self.count.back) {
            (Some(expected), Some((_, had))) => Some(expected.max(had.saturating_add(1))),
            (expected, _) => expected,
        };
        let counted = match (next, expected) {
            (Some((number, ..)), Some(expected)) => number.checked_sub(expected),
            (None, Some(expected)) => {
                number.and_then(|number| number.saturating_add(1).checked_sub(expected))
            }
            _ => None,
        };
        let gone = counted.unwrap_or(0).max(left_out);
        if gone == 0 {
            return;
        }
        let records = if gone == 1 { "1 record is" } else { &format!("{gone} records are") };
        let after = self.count.newest.map(|time| format!(", after {}", time.system_time()));
        let before = match next {
            Some((_, time, _)) => format!(", before {}", time.system_time()),
            None => format!(", up to {}", until.system_time()),
        };
        let words = format!("{records} gone{}{before} (UTC)", after.unwrap_or_default());
        let byte = next.map_or_else(|| self.frames.position(), |(_, _, at)| at);
        self.damage(byte, words);
    }

    /// Follows a jump.
    pub(super) fn jump(&mut self, at: u64) -> io::Result<()> {
        match index::jump_target(self.frames.body()).filter(|target| *target > at) {
            Some(target) => self.frames.skip_to(target),
            None => {
                self.damage(at, "a jump leads back; reading goes on behind it".to_owned());
                Ok(())
            }
        }
    }

    /// Whether the next row or chunk does not continue the tail that is being read.
    pub(super) fn is_moved(&self) -> bool {
        let (Some(_), Some(last)) = (self.count.tail_at, self.count.last) else { return false };
        let mut fields = Fields::new(self.frames.body());
        let Ok(ChunkHead { key, number: Some(number), .. }) = ChunkHead::decode(&mut fields) else {
            return false;
        };
        let step = if key { 1 } else { fields.number("step from the row before").unwrap_or(0) };
        number.checked_sub(step) != Some(last)
    }

    /// Goes back to the beginning of the tail, once: the recorder may have put a chunk in place of its rows
    /// while they were read. Rows that were returned are not returned again.
    pub(super) fn go_back(&mut self) -> Result<bool, LogError> {
        let (Some(place), Some(last), Some(to_byte)) = (self.count.tail_at, self.count.last, self.to_byte)
        else {
            return Ok(false);
        };
        let had = self.count.back.map_or(last, |(_, had)| had.max(last));
        if self.count.back == Some((place, had)) {
            return Ok(false);
        }
        to_byte(self.frames.input(), place)?;
        self.frames.restart(place);
        (self.rows, self.row, self.whole, self.unit_at) = (0, 0, false, None);
        self.count.back = Some((place, had));
        // What comes next is the first row of the tail or of the chunk in its place.
        self.count.tail_at = None;
        Ok(true)
    }
}
