//! The state of an object in the reader: its instances, and the numbers of the current chunk.

use std::sync::Arc;

use tallymon_core::counter::CounterType;
use tallymon_core::error::Error;
use tallymon_core::flow::{NoValue, Sample, ValueState};

use super::bits::BitReader;
use super::column_rows::{ColumnRows, CounterOfSample, Numbers, sample};
use super::fields::Fields;
use super::schema::{Definition, Instance};
use super::series::{self, Parameters};
use super::status;
use super::table::{CLOCKS, STATUS, STREAMS, TIME, clock};

/// One number for each row of a chunk.
#[derive(Debug, Clone, Default)]
pub(super) struct Lane {
    last: u64,
    parameters: Parameters,
    pub(super) values: Vec<u64>,
}

impl Lane {
    pub(super) fn decode(&mut self, bits: &mut BitReader<'_>, rows: usize, key: bool) -> Option<()> {
        self.values.clear();
        if key {
            self.parameters = Parameters::default();
            self.last = bits.number()?;
        }
        series::decode(bits, self.last, rows, &mut self.parameters, &mut self.values)?;
        self.last = self.values.last().copied().unwrap_or(self.last);
        Some(())
    }

    /// Takes the number of a single row.
    pub(super) fn set(&mut self, number: u64) {
        self.values.clear();
        self.values.push(number);
        self.last = number;
    }

    pub(super) fn at(&self, row: usize) -> u64 {
        self.values.get(row).copied().unwrap_or(0)
    }
}

/// One kind of number of all columns of an object.
#[derive(Debug, Default)]
struct Stream {
    /// The number of each column in the current row.
    now: Vec<u64>,
    parameters: Vec<Parameters>,
    /// Columns that change in the chunk.
    changed: Vec<usize>,
    /// Their numbers, all rows of a column together.
    values: Vec<u64>,
}

/// What is needed to build a sample from the numbers of a column.
#[derive(Debug, Clone, Copy)]
struct Cell {
    /// Position in the columns of the log.
    column: usize,
    counter_type: CounterType,
    time_base: u64,
    /// The clock that is added to its second number.
    clock: Option<usize>,
    text: bool,
}

/// An instance and where its columns are.
#[derive(Debug)]
pub(super) struct InstanceState {
    pub(super) instance: Instance,
    /// How many equal instances come before it.
    pub(super) nth: usize,
    /// Its first column among those of the object.
    pub(super) cell: usize,
    pub(super) width: usize,
}

/// An object of a host while it is read.
#[derive(Debug)]
pub(super) struct State {
    /// Of its definition.
    pub(super) hash: u64,
    pub(super) definition: Arc<Definition>,
    /// Number of its host.
    pub(super) host: usize,
    cells: Vec<Cell>,
    instances: Vec<InstanceState>,
    /// First cell and number of cells of the instances whose first numbers were not read yet.
    untold: Vec<(usize, usize)>,
    streams: [Stream; STREAMS],
    pub(super) sampled: Lane,
    clocks: [Lane; CLOCKS],
    /// The clocks in the current row.
    pub(super) now: [u64; CLOCKS],
    /// It begins with the next chunk.
    pub(super) new: bool,
}

impl State {
    pub(super) fn new(hash: u64, definition: Arc<Definition>, host: usize) -> State {
        State {
            hash,
            definition,
            host,
            cells: Vec::new(),
            instances: Vec::new(),
            untold: Vec::new(),
            streams: std::array::from_fn(|_| Stream::default()),
            sampled: Lane::default(),
            clocks: std::array::from_fn(|_| Lane::default()),
            now: [0; CLOCKS],
            new: true,
        }
    }

    /// Adds an instance, whose columns are these.
    pub(super) fn add(&mut self, instance: &Instance, nth: usize, columns: &[usize]) {
        let (cell, width) = (self.cells.len(), columns.len());
        self.untold.push((cell, width));
        self.instances.push(InstanceState { instance: instance.clone(), nth, cell, width });
        for (nth, column) in columns.iter().enumerate() {
            let Some(counter) = self.definition.counters.get(instance.counter(nth)) else { continue };
            self.cells.push(Cell {
                column: *column,
                counter_type: counter.counter_type,
                time_base: counter.time_base.0.cast_unsigned(),
                clock: clock(counter.counter_type.denominator()),
                text: counter.counter_type.is_text(),
            });
        }
    }

    /// The columns of an instance: their positions in the object and in the log.
    pub(super) fn columns_of(&self, placed: &InstanceState) -> impl Iterator<Item = (usize, usize)> + Clone {
        let cells = placed.cell..placed.cell.saturating_add(placed.width);
        let columns = self.cells.get(cells.clone()).unwrap_or_default();
        cells.zip(columns.iter().map(|cell| cell.column))
    }

    /// Its instances in the order of their columns.
    pub(super) fn instances(&self) -> &[InstanceState] {
        &self.instances
    }

    /// Number of its columns.
    pub(super) fn cells(&self) -> usize {
        self.cells.len()
    }

    /// Reads the numbers of a chunk. `room` is how many numbers there may be, and becomes fewer; `took` is
    /// told the column of the log and the bits of each series.
    pub(super) fn decode(
        &mut self,
        bits: &mut BitReader<'_>,
        rows: usize,
        key: bool,
        room: &mut usize,
        mut took: impl FnMut(usize, u64),
    ) -> Option<()> {
        let key = std::mem::replace(&mut self.new, false) || key;
        self.sampled.decode(bits, rows, key)?;
        for clock in &mut self.clocks {
            clock.decode(bits, rows, key)?;
        }
        let widest = self.untold.iter().map(|(_, width)| *width).max().unwrap_or(0);
        let mut starts = Vec::new();
        for stream in &mut self.streams {
            stream.now.resize(self.cells.len(), 0);
            for nth in 0..widest {
                starts.clear();
                let having = self.untold.iter().filter(|(_, width)| nth < *width);
                series::decode(bits, 0, having.clone().count(), &mut Parameters::default(), &mut starts)?;
                for ((cell, _), start) in having.zip(&starts) {
                    if let Some(now) = stream.now.get_mut(cell.saturating_add(nth)) {
                        *now = *start;
                    }
                }
            }
            let cells = &self.cells;
            stream.decode(bits, rows, key, room, |cell, bits| {
                if let Some(cell) = cells.get(cell) {
                    took(cell.column, bits);
                }
            })?;
        }
        self.untold.clear();
        Some(())
    }

    /// Reads the numbers of a row of the tail; `whole` if it builds on nothing. `took` is told the column of
    /// the log and the bits of each number.
    pub(super) fn decode_row(
        &mut self,
        fields: &mut Fields<'_>,
        whole: bool,
        mut took: impl FnMut(usize, u64),
    ) -> Result<(), Error> {
        let flags = fields.number("flags of an object")?;
        self.new = false;
        self.untold.clear();
        self.sampled.set(flags & 1);
        for clock in &mut self.clocks {
            let before = if whole { 0 } else { clock.last };
            let step = if flags & 1 == 1 { fields.signed("clock of an object")? } else { 0 };
            clock.set(before.wrapping_add(step.cast_unsigned()));
        }
        for (nth, stream) in self.streams.iter_mut().enumerate() {
            stream.changed.clear();
            stream.values.clear();
            let usual = if nth == STATUS { status::GONE } else { 0 };
            stream.now.resize(self.cells.len(), usual);
        }
        if flags & 2 == 0 {
            return Ok(());
        }
        let cells = &self.cells;
        let mut note = |cell: usize, bytes: usize| {
            if let Some(cell) = cells.get(cell) {
                took(cell.column, (bytes as u64).saturating_mul(8));
            }
        };
        let outside = |at: usize, cell: i64| {
            Error::value("column of a change", at, "a column of the object", cell.cast_unsigned())
        };
        for stream in &mut self.streams {
            let mut next = 0i64;
            for _ in 0..fields.count("changes of a row")? {
                let at = fields.at();
                let cell = next.wrapping_add(fields.signed("column of a change")?);
                let difference = fields.signed("change of a number")?.cast_unsigned();
                let place = usize::try_from(cell).ok().and_then(|cell| stream.now.get_mut(cell));
                let place = place.ok_or_else(|| outside(at, cell))?;
                *place = place.wrapping_add(difference);
                note(usize::try_from(cell).unwrap_or(usize::MAX), fields.at().saturating_sub(at));
                next = cell.wrapping_add(1);
            }
        }
        let mut next = 0i64;
        for _ in 0..fields.count("new columns of a row")? {
            let at = fields.at();
            let cell = next.wrapping_add(fields.number("new column of a row")?.cast_signed());
            let set = fields.number("numbers of a new column")?;
            let position = usize::try_from(cell).unwrap_or(usize::MAX);
            for (nth, stream) in self.streams.iter_mut().enumerate() {
                let bit = 1u64.wrapping_shl(u32::try_from(nth).unwrap_or(0));
                let number = if set & bit == 0 { 0 } else { fields.signed("number of a new column")? };
                let place = stream.now.get_mut(position).ok_or_else(|| outside(at, cell))?;
                *place = number.cast_unsigned();
            }
            note(position, fields.at().saturating_sub(at));
            next = cell.wrapping_add(1);
        }
        Ok(())
    }

    /// Moves to a row of the chunk. `before` are the clocks of the object before this one of the same host.
    pub(super) fn seek_to(&mut self, row: usize, before: &mut [u64; CLOCKS]) {
        for stream in &mut self.streams {
            let rows = stream.values.len().checked_div(stream.changed.len()).unwrap_or(0);
            let values = stream.values.get(row..).unwrap_or_default().iter().step_by(rows.max(1));
            for (cell, value) in stream.changed.iter().zip(values) {
                if let Some(now) = stream.now.get_mut(*cell) {
                    *now = *value;
                }
            }
        }
        if self.sampled.at(row) == 0 {
            return;
        }
        for ((clock, before), now) in self.clocks.iter().zip(before).zip(&mut self.now) {
            *before = before.wrapping_add(clock.at(row));
            *now = *before;
        }
    }

    /// Whether it was sampled in a row of the chunk.
    pub(super) fn is_sampled(&self, row: usize) -> bool {
        self.sampled.at(row) != 0
    }

    /// Writes the values of the current row into their columns of `out`.
    pub(super) fn values(&self, out: &mut [Result<Sample, NoValue>]) {
        let [first, second, multi, state, time, frequency] = &self.streams;
        let numbers = first.now.iter().zip(&second.now).zip(&multi.now).zip(&state.now);
        let numbers = numbers.zip(&time.now).zip(&frequency.now);
        let taken = self.now.get(TIME).copied().unwrap_or(0);
        for (cell, (((((first, second), multi), state), time), frequency)) in self.cells.iter().zip(numbers) {
            let Some(place) = out.get_mut(cell.column) else { continue };
            let counter = CounterOfSample {
                counter_type: cell.counter_type,
                time_base: cell.time_base,
                text: cell.text,
                clock: cell.clock.and_then(|clock| self.now.get(clock)).copied().unwrap_or(0),
                taken,
            };
            *place = sample(&counter, [*first, *second, *multi, *state, *time, *frequency]);
        }
    }

    /// The state of the value of a column in the current row, if it is there.
    pub(super) fn state(&self, cell: usize) -> ValueState {
        match self.number(STATUS, cell) {
            Some(status::STALE) => ValueState::Stale,
            Some(code) => status::partial(code).map_or(ValueState::Present, ValueState::Partial),
            None => ValueState::Present,
        }
    }

    /// The number of the text of a column in the current row.
    pub(super) fn text(&self, cell: usize) -> Option<u64> {
        let there = self.number(STATUS, cell)? <= status::STALE && self.cells.get(cell)?.text;
        self.number(0, cell).filter(|_| there)
    }

    fn number(&self, stream: usize, cell: usize) -> Option<u64> {
        self.streams.get(stream)?.now.get(cell).copied()
    }

    /// The positions in the log of its columns, in order.
    pub(super) fn columns(&self) -> impl Iterator<Item = usize> {
        self.cells.iter().map(|cell| cell.column)
    }
}

impl Stream {
    fn decode(
        &mut self,
        bits: &mut BitReader<'_>,
        rows: usize,
        key: bool,
        room: &mut usize,
        mut took: impl FnMut(usize, u64),
    ) -> Option<()> {
        if key {
            self.parameters.clear();
        }
        self.changed.clear();
        self.values.clear();
        let count = usize::try_from(bits.small()).ok()?;
        if count == 0 {
            return Some(());
        }
        *room = count.checked_mul(rows).and_then(|numbers| room.checked_sub(numbers))?;
        self.parameters.resize(self.now.len(), Parameters::default());
        let mut next = 0usize;
        for _ in 0..count {
            let before = bits.taken();
            let cell = usize::try_from(bits.small()).ok().and_then(|gap| next.checked_add(gap))?;
            let start = *self.now.get(cell)?;
            let parameters = self.parameters.get_mut(cell)?;
            series::decode(bits, start, rows, parameters, &mut self.values)?;
            self.changed.push(cell);
            took(cell, bits.taken().saturating_sub(before));
            next = cell.saturating_add(1);
        }
        Some(())
    }
}

#[cfg_attr(not(feature = "parquet"), allow(dead_code, reason = "only a lake takes columns"))]
impl State {
    /// Adds its clocks in the rows of the chunk to those of the object before it of the same host.
    pub(super) fn add_clocks(&self, before: &mut [Vec<u64>; CLOCKS]) {
        for (clock, before) in self.clocks.iter().zip(before) {
            for ((sum, step), sampled) in before.iter_mut().zip(&clock.values).zip(&self.sampled.values) {
                if *sampled != 0 {
                    *sum = sum.wrapping_add(*step);
                }
            }
        }
    }

    /// Gives its columns in the rows of the chunk, with the position of each. `clocks` are its clocks in
    /// them.
    pub(super) fn each_column<E>(
        &self,
        rows: usize,
        clocks: &[Vec<u64>; CLOCKS],
        mut each: impl FnMut(usize, ColumnRows<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut next = [0usize; STREAMS];
        let taken = clocks.get(TIME).map(Vec::as_slice).unwrap_or_default();
        for (position, cell) in self.cells.iter().enumerate() {
            let mut numbers = [Numbers::Same(0); STREAMS];
            for ((numbers, stream), next) in numbers.iter_mut().zip(&self.streams).zip(&mut next) {
                *numbers = stream.of_chunk(position, rows, next);
            }
            let column = ColumnRows {
                column: cell.column,
                counter_type: cell.counter_type,
                numbers,
                time_base: cell.time_base,
                clock: cell.clock.and_then(|clock| clocks.get(clock)).map(Vec::as_slice),
                taken,
                sampled: &self.sampled.values,
                text: cell.text,
            };
            each(position, column)?;
        }
        Ok(())
    }
}

#[cfg_attr(not(feature = "parquet"), allow(dead_code, reason = "only a lake takes columns"))]
impl Stream {
    /// The numbers of a column in the chunk. `next` is the first column that changes behind those before.
    fn of_chunk(&self, column: usize, rows: usize, next: &mut usize) -> Numbers<'_> {
        if self.changed.get(*next) == Some(&column) {
            let begin = next.saturating_mul(rows);
            *next = next.saturating_add(1);
            if let Some(values) = self.values.get(begin..begin.saturating_add(rows)) {
                return Numbers::Each(values);
            }
        }
        Numbers::Same(self.now.get(column).copied().unwrap_or(0))
    }
}
