//! The columns of an object in the writer: the newest numbers of each, and the changes since the last chunk.
//!
//! Writers put values most of the time, and most values do not change. So the state of a column fits one
//! cache line, five of its six numbers are compared as one, and changes are appended to a list, which is
//! sorted by column only when the chunk is written.

use std::borrow::Borrow;

use tallymon_core::flow::{NoValue, Sample, ValueState};

use super::bits::BitWriter;
use super::fields::PutFields;
use super::series::{self, Parameters, Scratch};
use super::status;
use super::table::{CLOCKS, STATUS, STREAMS, TIME};

/// Position of the stream of the counter itself.
const FIRST: usize = 0;
/// The [`Cell::clock`] of a column whose second number is not a clock.
const NO_CLOCK: u8 = u8::MAX;

/// A column.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
pub(super) struct Cell {
    /// Its newest numbers, in the order of the streams; multi count and frequency as in samples.
    numbers: [u64; STREAMS],
    /// The row of its last number, counted over all chunks.
    seen: u64,
    /// A bit for each stream in which it changed in this chunk.
    changed: u8,
    /// It is new in this chunk and has no sample yet: its first sample is its start.
    begins: bool,
    /// The clock of its object from which its second number is subtracted.
    clock: u8,
}

impl Cell {
    /// A column without values, with the clock of its second number and the frequency of its definition.
    pub(super) fn new((clock, time_base): (Option<usize>, u64)) -> Cell {
        let clock = clock.and_then(|clock| u8::try_from(clock).ok()).unwrap_or(NO_CLOCK);
        let numbers = [0, 0, 1, status::GONE, 0, time_base];
        Cell { numbers, seen: 0, changed: 0, begins: true, clock }
    }

    /// Whether the instance of the column ended.
    pub(super) const fn is_gone(&self) -> bool {
        let [.., state, _, _] = self.numbers;
        state == status::GONE
    }
}

/// A number of a column that differs from the row before.
#[derive(Debug, Clone, Copy, Default)]
struct Change {
    cell: u32,
    row: u32,
    difference: u64,
}

/// The changes of one kind of number of all columns, in the order in which they were put.
#[derive(Debug, Default)]
struct Stream {
    /// Only the first `used` are changes; the others are spare, so that adding a change needs no branch.
    changes: Vec<Change>,
    used: usize,
    /// How many of them the rows of the tail have.
    written: usize,
}

impl Stream {
    /// Makes room for so many changes.
    fn reserve(&mut self, more: usize) {
        let needed = self.used.saturating_add(more);
        if self.changes.len() < needed {
            self.changes.resize(needed.saturating_mul(2), Change::default());
        }
    }

    /// Adds a change if the number is not the same as before. Returns 1 then, else 0.
    #[inline]
    fn note(&mut self, cell: u32, row: u32, difference: u64) -> u8 {
        let changed = u8::from(difference != 0);
        if let Some(room) = self.changes.get_mut(self.used) {
            *room = Change { cell, row, difference };
        }
        self.used = self.used.wrapping_add(usize::from(changed));
        changed
    }
}

/// The current row.
#[derive(Debug, Clone, Copy)]
pub(super) struct ChunkRow {
    /// Its number in the chunk.
    pub(super) number: u32,
    /// Its number over all chunks, from 1.
    pub(super) stamp: u64,
}

/// The columns of an object.
#[derive(Debug, Default)]
pub(super) struct Cells {
    cells: Vec<Cell>,
    streams: [Stream; STREAMS],
    /// Columns from this one on are new in this chunk.
    fresh: usize,
    /// The number of series in the next chunk.
    changed: usize,
    /// The newest row, counted over all chunks, and how many columns have a number in it.
    seen: (u64, usize),
    /// Columns whose numbers were set without a change since the newest row of the tail: their first ones.
    begun: Vec<u32>,
    /// Changes in the order of their columns.
    sorted: Vec<Change>,
    /// The position in `sorted` of the next change of each column.
    places: Vec<u32>,
}

impl Cells {
    pub(super) const fn len(&self) -> usize {
        self.cells.len()
    }

    /// The number of series in the next chunk.
    pub(super) const fn changed(&self) -> usize {
        self.changed
    }

    pub(super) fn get(&self, cell: usize) -> Option<&Cell> {
        self.cells.get(cell)
    }

    pub(super) fn push(&mut self, cell: Cell) {
        self.cells.push(cell);
    }

    /// Restarts with some of the columns. All changes were written.
    pub(super) fn restart(&mut self, cells: Vec<Cell>) {
        self.cells = cells;
        self.cells.iter_mut().for_each(|cell| cell.begins = false);
        self.fresh = self.cells.len();
    }

    /// Puts values of adjacent columns. Returns whether one of their instances exists.
    #[inline]
    pub(super) fn put<V: Borrow<Result<Sample, NoValue>>>(
        &mut self,
        cells: std::ops::Range<usize>,
        row: ChunkRow,
        now: &mut [Option<u64>; CLOCKS],
        values: impl IntoIterator<Item = (V, ValueState)>,
    ) -> bool {
        if self.seen.0 != row.stamp {
            self.seen = (row.stamp, 0);
        }
        let first = cells.start;
        for stream in &mut self.streams {
            stream.reserve(cells.len());
        }
        let mut there = false;
        let places = self.cells.get_mut(cells).unwrap_or_default();
        for ((at, cell), (value, state)) in (first..).zip(places).zip(values) {
            let at = Target { cell: u32::try_from(at).unwrap_or(u32::MAX), row, is_fresh: at >= self.fresh };
            self.seen.1 = self.seen.1.wrapping_add(usize::from(cell.seen != row.stamp));
            cell.seen = row.stamp;
            match value.borrow() {
                Ok(sample) => {
                    there = true;
                    let begun = &mut self.begun;
                    let more = cell.put(&mut self.streams, at, now, sample, state, begun);
                    self.changed = self.changed.wrapping_add(more);
                }
                Err(reason) => {
                    let code = status::code(*reason);
                    there |= code != status::GONE;
                    let more = cell.put_status(&mut self.streams, at, code, &mut self.begun);
                    self.changed = self.changed.wrapping_add(more);
                }
            }
        }
        there
    }

    /// Ends a row with samples of the object: columns without a value ended.
    pub(super) fn end_row(&mut self, row: ChunkRow) {
        if self.seen == (row.stamp, self.cells.len()) {
            return;
        }
        for (at, cell) in self.cells.iter_mut().enumerate() {
            if cell.seen != row.stamp && !cell.is_gone() {
                let at = Target { cell: u32::try_from(at).unwrap_or(u32::MAX), row, is_fresh: false };
                let [.., state, _, _] = &mut self.streams;
                state.reserve(1);
                let more = cell.put_status(&mut self.streams, at, status::GONE, &mut self.begun);
                self.changed = self.changed.wrapping_add(more);
            }
        }
    }

    /// Writes into `starts` the first numbers of all columns in this chunk, for one stream.
    pub(super) fn starts(&self, stream: usize, starts: &mut Vec<u64>) {
        let number = |cell: &Cell| cell.numbers.get(stream).copied().unwrap_or(0);
        starts.clear();
        starts.extend(self.cells.iter().map(number));
        let Some(stream) = self.streams.get(stream) else { return };
        for change in stream.changes.get(..stream.used).unwrap_or_default() {
            if let Some(start) = usize::try_from(change.cell).ok().and_then(|cell| starts.get_mut(cell)) {
                *start = start.wrapping_sub(change.difference);
            }
        }
    }

    /// Writes the changes of one stream, and prepares for the next chunk.
    pub(super) fn encode(&mut self, out: &mut BitWriter, stream: usize, rows: usize, scratch: &mut Scratch) {
        let bit = 1u8.wrapping_shl(u32::try_from(stream).unwrap_or(0));
        let Some(stream) = self.streams.get_mut(stream) else { return };
        stream.written = 0;
        let used = std::mem::take(&mut stream.used);
        let changes = stream.changes.get_mut(..used).unwrap_or_default();
        let sorted = sort(changes, self.cells.len(), &mut self.sorted, &mut self.places);
        let count = sorted.chunk_by(|one, other| one.cell == other.cell).count();
        out.small(count as u64);
        let mut next = 0;
        for changes in sorted.chunk_by(|one, other| one.cell == other.cell) {
            let cell = changes.first().and_then(|change| usize::try_from(change.cell).ok()).unwrap_or(0);
            out.small(cell.saturating_sub(next) as u64);
            next = cell.saturating_add(1);
            let changes = changes.iter().map(|change| (change.row, change.difference.cast_signed()));
            series::encode_changed(out, changes, rows, &mut Parameters::default(), scratch);
            if let Some(cell) = self.cells.get_mut(cell) {
                cell.changed &= !bit;
            }
        }
        self.changed = self.changed.saturating_sub(count);
    }

    /// Whether a number is not yet in the rows of the tail.
    pub(super) fn has_unwritten(&self) -> bool {
        !self.begun.is_empty() || self.streams.iter().any(|stream| stream.written < stream.used)
    }

    /// Writes what the rows of the tail do not have; `whole` for its first row, which builds on nothing.
    /// `time_base` says the usual frequency of a column; it is called with ascending columns.
    pub(super) fn encode_row(&self, out: &mut Vec<u8>, whole: bool, mut time_base: impl FnMut(usize) -> u64) {
        for stream in &self.streams {
            let from = if whole { stream.used } else { stream.written };
            let changes = stream.changes.get(from..stream.used).unwrap_or_default();
            out.put(changes.len() as u64);
            let mut next = 0i64;
            for change in changes {
                out.put_signed(i64::from(change.cell).wrapping_sub(next));
                out.put_signed(change.difference.cast_signed());
                next = i64::from(change.cell).wrapping_add(1);
            }
        }
        let mut begun: Vec<usize> = match whole {
            true => (0..self.cells.len()).collect(),
            false => self.begun.iter().filter_map(|cell| usize::try_from(*cell).ok()).collect(),
        };
        begun.sort_unstable();
        begun.dedup();
        out.put(begun.len() as u64);
        let mut next = 0;
        for at in begun {
            let Some(cell) = self.cells.get(at) else { continue };
            let usual = [0, 0, 1, status::PRESENT, 0, time_base(at)];
            out.put(at.saturating_sub(next) as u64);
            next = at.saturating_add(1);
            let numbers = cell.numbers.iter().zip(usual).map(|(number, usual)| number.wrapping_sub(usual));
            let set = |(nth, number): (u32, u64)| u64::from(number != 0).wrapping_shl(nth);
            out.put((0..).zip(numbers.clone()).map(set).sum());
            numbers.filter(|number| *number != 0).for_each(|number| out.put_signed(number.cast_signed()));
        }
    }

    /// The newest row is in the tail.
    pub(super) fn row_is_written(&mut self) {
        self.begun.clear();
        self.streams.iter_mut().for_each(|stream| stream.written = stream.used);
    }

    /// Ends the chunk after all its streams were written.
    pub(super) fn end_chunk(&mut self) {
        let fresh = self.cells.get_mut(self.fresh..).unwrap_or_default();
        fresh.iter_mut().for_each(|cell| cell.begins = false);
        self.fresh = self.cells.len();
        self.begun.clear();
    }
}

/// The column and row of a number.
#[derive(Debug, Clone, Copy)]
struct Target {
    cell: u32,
    row: ChunkRow,
    /// The column is new in this chunk.
    is_fresh: bool,
}

impl Cell {
    /// Puts a sample. Returns how many more streams now have changes of this column.
    #[inline]
    fn put(
        &mut self,
        streams: &mut [Stream; STREAMS],
        at: Target,
        now: &mut [Option<u64>; CLOCKS],
        sample: &Sample,
        state: ValueState,
        begun: &mut Vec<u32>,
    ) -> usize {
        let time = *now.get_mut(TIME).map_or(&mut 0, |now| now.get_or_insert(sample.time.0));
        let second = match now.get_mut(usize::from(self.clock)) {
            Some(now) => sample.second.wrapping_sub(*now.get_or_insert(sample.second)),
            None => sample.second,
        };
        let numbers = [
            sample.first,
            second,
            u64::from(sample.multi_count),
            status::present(state),
            sample.time.0.wrapping_sub(time),
            sample.frequency.0.cast_unsigned(),
        ];
        let [_, rest @ ..] = &numbers;
        let [_, known @ ..] = &self.numbers;
        let other = rest.iter().zip(known).fold(0, |other, (one, two)| other | (one ^ two));
        let more = if other != 0 || self.begins { self.put_rest(streams, at, &numbers, begun) } else { 0 };
        let [known, ..] = &mut self.numbers;
        let difference = sample.first.wrapping_sub(*known);
        *known = sample.first;
        let [stream, ..] = streams;
        let changed = stream.note(at.cell, at.row.number, difference);
        let new = changed & !self.changed;
        self.changed |= changed;
        more.wrapping_add(usize::from(new & 1))
    }

    /// Puts the numbers of a sample that seldom change, or all numbers of a new column.
    #[cold]
    fn put_rest(
        &mut self,
        streams: &mut [Stream; STREAMS],
        at: Target,
        numbers: &[u64; STREAMS],
        begun: &mut Vec<u32>,
    ) -> usize {
        let [.., state, _, _] = numbers;
        let mut more = self.put_status(streams, at, *state, begun);
        let begins = std::mem::replace(&mut self.begins, false);
        if begins {
            begun.push(at.cell);
        }
        for (nth, ((known, number), stream)) in self.numbers.iter_mut().zip(numbers).zip(streams).enumerate()
        {
            if nth == STATUS || nth == FIRST && !begins {
                continue;
            }
            let difference = number.wrapping_sub(std::mem::replace(known, *number));
            if begins || stream.note(at.cell, at.row.number, difference) == 0 {
                continue;
            }
            let bit = 1u8.wrapping_shl(u32::try_from(nth).unwrap_or(0));
            more = more.wrapping_add(usize::from(self.changed & bit == 0));
            self.changed |= bit;
        }
        more
    }

    /// Puts the status of a value. Returns how many more streams now have changes of this column.
    fn put_status(
        &mut self,
        streams: &mut [Stream; STREAMS],
        at: Target,
        code: u64,
        begun: &mut Vec<u32>,
    ) -> usize {
        let [.., known, _, _] = &mut self.numbers;
        let difference = code.wrapping_sub(std::mem::replace(known, code));
        if difference == 0 {
            return 0;
        }
        if at.is_fresh && at.row.number == 0 {
            begun.push(at.cell);
            return 0;
        }
        let [.., stream, _, _] = streams;
        stream.note(at.cell, at.row.number, difference);
        let bit = const { 1u8 << STATUS };
        let more = usize::from(self.changed & bit == 0);
        self.changed |= bit;
        more
    }
}

/// Sorts the changes by column, and by row in each column.
fn sort<'a>(
    changes: &'a mut [Change],
    cells: usize,
    sorted: &'a mut Vec<Change>,
    places: &mut Vec<u32>,
) -> &'a [Change] {
    if changes.len() < cells.div_ceil(4) {
        changes.sort_by_key(|change| change.cell);
        return changes;
    }
    places.clear();
    places.resize(cells.saturating_add(1), 0);
    for change in changes.iter() {
        let behind = usize::try_from(change.cell).unwrap_or(usize::MAX).saturating_add(1);
        if let Some(place) = places.get_mut(behind) {
            *place = place.wrapping_add(1);
        }
    }
    let mut sum = 0u32;
    for place in places.iter_mut() {
        sum = sum.wrapping_add(*place);
        *place = sum;
    }
    sorted.resize(changes.len(), Change::default());
    for change in changes.iter() {
        let place = places.get_mut(usize::try_from(change.cell).unwrap_or(usize::MAX));
        let Some(place) = place else { continue };
        if let Some(to) = usize::try_from(*place).ok().and_then(|place| sorted.get_mut(place)) {
            *to = *change;
        }
        *place = place.wrapping_add(1);
    }
    sorted
}
