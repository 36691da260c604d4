//! What a writer holds of an object between two chunks: its instances, and the numbers of the rows that are not written
//! yet.

use std::collections::HashMap;
use std::sync::Arc;

use tallymon_core::counter::Denominator;
use tallymon_core::flow::{NoValue, Sample};

use super::bits::BitWriter;
use super::schema::{Definition, Instance};
use super::series::{self, Parameters, Scratch};
use super::status;

/// Numbers that each column has, one stream for all columns of an object: the counter, its base or clock, how many
/// resources, whether it is there, when it was taken, ticks per second.
pub(super) const STREAMS: usize = 6;
/// Position of the stream that says whether a value is there.
pub(super) const STATUS: usize = 3;

/// Numbers that each object has in each row: when its values were taken, its three clocks, and from when to when it was
/// read.
pub(super) const CLOCKS: usize = 6;
/// Position of the time of the samples, which the third clock is told from.
pub(super) const TIME: usize = 0;

/// Which clock of its object the second number of a sample is.
pub(super) fn clock(denominator: Denominator) -> Option<usize> {
    match denominator {
        Denominator::PerfTime => Some(1),
        Denominator::Time100ns => Some(2),
        Denominator::ObjectTime => Some(3),
        _ => None,
    }
}

/// One number for each row of a chunk.
#[derive(Debug, Default)]
pub(super) struct Lane {
    /// The number before the chunk.
    pub(super) start: u64,
    pub(super) values: Vec<u64>,
    parameters: Parameters,
}

impl Lane {
    pub(super) fn last(&self) -> u64 {
        self.values.last().copied().unwrap_or(self.start)
    }

    /// Writes the numbers. In a chunk that stands for itself the first one is written in full.
    pub(super) fn encode(&mut self, out: &mut BitWriter, key: bool, scratch: &mut Scratch) {
        let last = self.last();
        if key {
            self.parameters = Parameters::default();
            self.start = self.values.first().copied().unwrap_or(0);
            out.number(self.start);
        }
        series::encode(out, self.start, &self.values, &mut self.parameters, scratch);
        self.start = last;
        self.values.clear();
    }
}

/// One kind of number of all columns of an object.
#[derive(Debug, Default)]
pub(super) struct Stream {
    /// The newest number of each column.
    last: Vec<u64>,
    /// Position in `changed` of a column that changed in this chunk, from 1; 0 for others.
    lane_of: Vec<u32>,
    /// Columns that changed, with the number before the chunk and those of its rows as far as the last change.
    changed: Vec<(usize, Vec<u64>)>,
    /// Lanes that are not in use, for their memory.
    spare: Vec<Vec<u64>>,
    parameters: Vec<Parameters>,
}

impl Stream {
    /// Notes the number of a column in a row.
    #[inline]
    pub(super) fn put(&mut self, cell: usize, row: usize, value: u64) {
        let Some(last) = self.last.get_mut(cell) else { return };
        if *last == value {
            return;
        }
        let before = *last;
        *last = value;
        let Some(lane_of) = self.lane_of.get_mut(cell) else { return };
        if *lane_of == 0 {
            let mut lane = self.spare.pop().unwrap_or_default();
            lane.clear();
            lane.push(before);
            self.changed.push((cell, lane));
            *lane_of = u32::try_from(self.changed.len()).unwrap_or(u32::MAX);
        }
        let position = usize::try_from(*lane_of).unwrap_or(0).wrapping_sub(1);
        let Some((_, lane)) = self.changed.get_mut(position) else { return };
        // Rows without a change repeat the number; the one before the chunk comes first.
        let rows = row.saturating_add(1);
        if lane.len() < rows {
            lane.resize(rows, before);
        }
        lane.push(value);
    }

    /// Sets the number that a new column begins with.
    fn begin(&mut self, cell: usize, value: u64) {
        if let Some(last) = self.last.get_mut(cell) {
            *last = value;
        }
    }

    fn last(&self, cell: usize) -> u64 {
        self.last.get(cell).copied().unwrap_or(0)
    }

    /// The number of a column before the chunk.
    fn start(&self, cell: usize) -> u64 {
        let lane = usize::try_from(self.lane_of.get(cell).copied().unwrap_or(0)).unwrap_or(0);
        let changed = lane.checked_sub(1).and_then(|lane| self.changed.get(lane));
        changed.and_then(|(_, lane)| lane.first()).copied().unwrap_or_else(|| self.last(cell))
    }

    fn grow(&mut self, cells: usize, value: u64) {
        self.last.resize(cells, value);
        self.lane_of.resize(cells, 0);
    }

    /// Writes which columns changed, and their numbers.
    fn encode(&mut self, out: &mut BitWriter, rows: usize, key: bool, scratch: &mut Scratch) {
        if key {
            self.parameters.clear();
        }
        self.changed.sort_unstable_by_key(|(cell, _)| *cell);
        out.small(self.changed.len() as u64);
        if self.changed.is_empty() {
            return;
        }
        self.parameters.resize(self.last.len(), Parameters::default());
        let mut next = 0;
        for (cell, mut lane) in self.changed.drain(..) {
            out.small(cell.saturating_sub(next) as u64);
            next = cell.saturating_add(1);
            let last = lane.last().copied().unwrap_or(0);
            lane.resize(rows.saturating_add(1), last);
            if let (Some((start, values)), Some(parameters)) =
                (lane.split_first(), self.parameters.get_mut(cell))
            {
                series::encode(out, *start, values, parameters, scratch);
            }
            if let Some(lane_of) = self.lane_of.get_mut(cell) {
                *lane_of = 0;
            }
            self.spare.push(lane);
        }
    }
}

/// An instance of a [`Table`].
#[derive(Debug)]
struct Live {
    instance: Arc<Instance>,
    /// Its first column.
    cell: usize,
    width: usize,
}

/// An object of a host while it is written.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) hash: u64,
    pub(super) definition: Definition,
    /// Number of its host.
    pub(super) host: usize,
    /// The clock and the ticks per second of each counter.
    counters: Vec<(Option<usize>, u64)>,
    instances: Vec<Option<Live>>,
    by_instance: HashMap<Arc<Instance>, Vec<usize>>,
    free: Vec<usize>,
    /// Instances in the order of their columns.
    order: Vec<usize>,
    /// How many of `order` the chunks before have.
    told: usize,
    cells: usize,
    streams: [Stream; STREAMS],
    /// The row, counted over all chunks, in which a column had a number last.
    seen: Vec<u64>,
    /// Whether a column had a sample since it began.
    born: Vec<bool>,
    /// Columns from here on began in this chunk.
    fresh: usize,
    /// Whether the object was read, for each row.
    pub(super) sampled: Lane,
    /// Its clocks, each as the difference from the object before it.
    pub(super) clocks: [Lane; CLOCKS],
    /// The clocks of the row that is being written.
    pub(super) now: [Option<u64>; CLOCKS],
    /// The row in which it was sampled last.
    pub(super) sampled_in: u64,
}

impl Table {
    pub(super) fn new(hash: u64, definition: Definition, host: usize) -> Table {
        let counters = definition.counters.iter();
        let counters = counters
            .map(|counter| (clock(counter.counter_type.denominator()), counter.time_base.0.cast_unsigned()))
            .collect();
        Table {
            hash,
            definition,
            host,
            counters,
            instances: Vec::new(),
            by_instance: HashMap::new(),
            free: Vec::new(),
            order: Vec::new(),
            told: 0,
            cells: 0,
            streams: std::array::from_fn(|_| Stream::default()),
            seen: Vec::new(),
            born: Vec::new(),
            fresh: 0,
            sampled: Lane::default(),
            clocks: std::array::from_fn(|_| Lane::default()),
            now: [None; CLOCKS],
            sampled_in: 0,
        }
    }

    /// Columns of all instances that are held.
    pub(super) const fn cells(&self) -> usize {
        self.cells
    }

    /// The `nth` of the instances that are just the same; it is made when there is none.
    pub(super) fn instance(&mut self, instance: Instance, nth: usize) -> usize {
        let known = self.by_instance.get(&instance).and_then(|same| same.get(nth));
        if let Some(known) = known {
            return *known;
        }
        let instance = Arc::new(instance);
        let width = instance.width(&self.definition);
        let live = Live { instance: Arc::clone(&instance), cell: self.cells, width };
        let position = match self.free.pop() {
            Some(position) => position,
            None => {
                self.instances.push(None);
                self.instances.len().saturating_sub(1)
            }
        };
        if let Some(place) = self.instances.get_mut(position) {
            *place = Some(live);
        }
        self.by_instance.entry(instance).or_default().push(position);
        self.order.push(position);
        self.cells = self.cells.saturating_add(width);
        self.grow();
        position
    }

    fn grow(&mut self) {
        for (nth, stream) in self.streams.iter_mut().enumerate() {
            stream.grow(self.cells, if nth == STATUS { status::GONE } else { 0 });
        }
        self.seen.resize(self.cells, 0);
        self.born.resize(self.cells, false);
    }

    /// Notes the value of the `nth` column of an instance. `stamp` counts rows over all chunks, `row` in this one.
    pub(super) fn put(
        &mut self,
        position: usize,
        nth: usize,
        (row, stamp): (usize, u64),
        value: Result<Sample, NoValue>,
        stale: bool,
    ) {
        let Some(Some(live)) = self.instances.get(position) else { return };
        if nth >= live.width {
            return;
        }
        let cell = live.cell.saturating_add(nth);
        if let Some(seen) = self.seen.get_mut(cell) {
            *seen = stamp;
        }
        let code = match &value {
            Ok(_) if stale => status::STALE,
            Ok(_) => status::PRESENT,
            Err(reason) => status::code(*reason),
        };
        if code != status::GONE {
            self.sampled_in = stamp;
        }
        let fresh = cell >= self.fresh;
        let [.., state, _, _] = &mut self.streams;
        if fresh && row == 0 {
            state.begin(cell, code);
        } else {
            state.put(cell, row, code);
        }
        let Ok(sample) = value else { return };
        let (clock, time_base) = self.counters.get(live.instance.counter(nth)).copied().unwrap_or((None, 0));
        let time = *self.now.get_mut(TIME).map_or(&mut 0, |now| now.get_or_insert(sample.time.0));
        let second = match clock.and_then(|clock| self.now.get_mut(clock)) {
            Some(now) => sample.second.wrapping_sub(*now.get_or_insert(sample.second)),
            None => sample.second,
        };
        let numbers = [
            sample.first,
            second,
            u64::from(sample.multi_count).wrapping_sub(1),
            code,
            sample.time.0.wrapping_sub(time),
            sample.frequency.0.cast_unsigned().wrapping_sub(time_base),
        ];
        let born = self.born.get_mut(cell).is_some_and(|born| std::mem::replace(born, true));
        for (nth, (stream, number)) in self.streams.iter_mut().zip(numbers).enumerate() {
            if nth == STATUS {
            } else if fresh && !born {
                stream.begin(cell, number);
            } else {
                stream.put(cell, row, number);
            }
        }
    }

    /// Ends a row in which the object was sampled: what was not seen is gone.
    pub(super) fn end_row(&mut self, row: usize, stamp: u64) {
        let [.., state, _, _] = &mut self.streams;
        for (cell, seen) in self.seen.iter().enumerate() {
            if *seen != stamp && (row > 0 || cell < self.fresh) {
                state.put(cell, row, status::GONE);
            }
        }
    }

    /// Begins a chunk that stands for itself. Instances that are gone are forgotten unless they are to be kept.
    pub(super) fn begin_key(&mut self, keep: bool) {
        let old: [Stream; STREAMS] = std::mem::take(&mut self.streams);
        self.cells = 0;
        self.told = 0;
        let mut order = std::mem::take(&mut self.order);
        let mut sources = Vec::new();
        order.retain(|position| {
            let Some(place) = self.instances.get_mut(*position) else { return false };
            let Some(live) = place else { return false };
            let cells = live.cell..live.cell.saturating_add(live.width);
            let gone = |cell| old.get(STATUS).is_none_or(|state: &Stream| state.last(cell) == status::GONE);
            if !keep && cells.clone().all(gone) {
                if let Some(same) = self.by_instance.get_mut(&live.instance) {
                    same.retain(|other| other != position);
                    if same.is_empty() {
                        self.by_instance.remove(&live.instance);
                    }
                }
                *place = None;
                self.free.push(*position);
                return false;
            }
            live.cell = self.cells;
            self.cells = self.cells.saturating_add(live.width);
            sources.extend(cells);
            true
        });
        self.order = order;
        for (stream, mut old) in self.streams.iter_mut().zip(old) {
            stream.last = sources.iter().map(|cell| old.last(*cell)).collect();
            stream.spare = std::mem::take(&mut old.spare);
        }
        self.seen = sources.iter().map(|cell| self.seen.get(*cell).copied().unwrap_or(0)).collect();
        self.born = vec![true; self.cells];
        self.fresh = self.cells;
        self.grow();
    }

    /// Instances that the chunks before do not have, in the order of their columns.
    pub(super) fn untold(&self) -> impl ExactSizeIterator<Item = &Instance> {
        let order = self.order.get(self.told..).unwrap_or_default();
        let none: &'static Instance = const { &Instance { text: None, columns: None } };
        order.iter().map(move |position| {
            self.instances.get(*position).and_then(Option::as_ref).map_or(none, |live| &*live.instance)
        })
    }

    /// Writes the numbers of the chunk and gets ready for the next one. Returns how many numbers were written.
    pub(super) fn encode(
        &mut self,
        out: &mut BitWriter,
        rows: usize,
        key: bool,
        scratch: &mut Scratch,
    ) -> u64 {
        self.sampled.encode(out, key, scratch);
        for clock in &mut self.clocks {
            clock.encode(out, key, scratch);
        }
        let untold: Vec<(usize, usize)> = self
            .order
            .get(self.told..)
            .unwrap_or_default()
            .iter()
            .filter_map(|position| self.instances.get(*position)?.as_ref())
            .map(|live| (live.cell, live.width))
            .collect();
        let mut numbers = 0u64;
        let mut starts = Vec::new();
        for stream in &mut self.streams {
            // The same counter of all new instances, one counter after the other.
            for nth in 0..untold.iter().map(|(_, width)| *width).max().unwrap_or(0) {
                starts.clear();
                let having = untold.iter().filter(|(_, width)| nth < *width);
                starts.extend(having.map(|(cell, _)| stream.start(cell.saturating_add(nth))));
                series::encode(out, 0, &starts, &mut Parameters::default(), scratch);
            }
            numbers = numbers.saturating_add((stream.changed.len() as u64).saturating_mul(rows as u64));
            stream.encode(out, rows, key, scratch);
        }
        self.told = self.order.len();
        self.fresh = self.cells;
        numbers
    }

    /// Columns that changed since the last chunk.
    pub(super) fn changed(&self) -> usize {
        self.streams.iter().map(|stream| stream.changed.len()).sum()
    }
}
