//! The state of an object in the writer: its instances, and the numbers of rows that are not written yet.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::sync::Arc;

use tallymon_core::counter::Denominator;
use tallymon_core::flow::{NoValue, Sample, ValueState};

use super::bits::BitWriter;
use super::cells::{Cell, Cells, ChunkRow};
use super::fields::PutFields;
use super::schema::{Definition, Instance};
use super::series::{self, Parameters, Scratch};

/// Numbers that each column has, one stream for all columns of an object: the counter, its base or clock, how
/// many resources, whether it is there, when it was taken, ticks per second.
pub(super) const STREAMS: usize = 6;
/// Position of the stream that says how many resources there are.
const MULTI: usize = 2;
/// Position of the stream that says whether a value is there.
pub(super) const STATUS: usize = 3;
/// Position of the stream of ticks per second.
const FREQUENCY: usize = 5;

/// Numbers that each object has in each row: when its values were taken, its three clocks, and from when to
/// when it was read.
pub(super) const CLOCKS: usize = 6;
/// Position of the time of the samples; the third clock is relative to it.
pub(super) const TIME: usize = 0;

/// The clock of the object that the second number of a sample is relative to.
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
}

impl Lane {
    pub(super) fn last(&self) -> u64 {
        self.values.last().copied().unwrap_or(self.start)
    }

    /// Writes the numbers, the first one in full.
    pub(super) fn encode(&mut self, out: &mut BitWriter, scratch: &mut Scratch) {
        let last = self.last();
        self.start = self.values.first().copied().unwrap_or(0);
        out.number(self.start);
        series::encode(out, self.start, &self.values, &mut Parameters::default(), scratch);
        self.start = last;
        self.values.clear();
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
    cells: Cells,
    /// Whether the object was read, for each row.
    pub(super) sampled: Lane,
    /// Its clocks, each as the difference from the object before it.
    pub(super) clocks: [Lane; CLOCKS],
    /// The clocks of the row that is being written.
    pub(super) now: [Option<u64>; CLOCKS],
    /// The row in which it was sampled last.
    pub(super) sampled_in: u64,
    /// How many of `order` the tail has, and the clocks of the newest row there.
    written: (usize, [u64; CLOCKS]),
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
            cells: Cells::default(),
            sampled: Lane::default(),
            clocks: std::array::from_fn(|_| Lane::default()),
            now: [None; CLOCKS],
            sampled_in: 0,
            written: (0, [0; CLOCKS]),
        }
    }

    /// Columns of all instances that are held.
    pub(super) const fn cells(&self) -> usize {
        self.cells.len()
    }

    /// The `nth` of equal instances; it is added if there is none.
    pub(super) fn instance(&mut self, instance: Instance, nth: usize) -> usize {
        let known = self.by_instance.get(&instance).and_then(|same| same.get(nth));
        if let Some(known) = known {
            return *known;
        }
        let instance = Arc::new(instance);
        let width = instance.width(&self.definition);
        let live = Live { instance: Arc::clone(&instance), cell: self.cells.len(), width };
        for nth in 0..width {
            self.cells.push(Cell::new(self.counter(&instance, nth)));
        }
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
        position
    }

    /// The clock and the ticks per second of the `nth` column of an instance.
    fn counter(&self, instance: &Instance, nth: usize) -> (Option<usize>, u64) {
        self.counters.get(instance.counter(nth)).copied().unwrap_or((None, 0))
    }

    /// Puts the values of adjacent columns of an instance, from the `nth` on.
    #[inline]
    pub(super) fn put<V: Borrow<Result<Sample, NoValue>>>(
        &mut self,
        position: usize,
        from: usize,
        row: ChunkRow,
        values: impl IntoIterator<Item = (V, ValueState)>,
    ) {
        let Some(Some(live)) = self.instances.get(position) else { return };
        let cells = live.cell.saturating_add(from.min(live.width))..live.cell.saturating_add(live.width);
        if self.cells.put(cells, row, &mut self.now, values) {
            self.sampled_in = row.stamp;
        }
    }

    /// Ends a row with samples of the object: instances without values ended.
    pub(super) fn end_row(&mut self, row: ChunkRow) {
        self.cells.end_row(row);
    }

    /// Begins a key. Ended instances are forgotten, unless the options keep them.
    pub(super) fn begin_key(&mut self, keep: bool) {
        self.written = (0, [0; CLOCKS]);
        let mut order = std::mem::take(&mut self.order);
        let mut cells: Vec<Cell> = Vec::new();
        order.retain(|position| {
            let Some(place) = self.instances.get_mut(*position) else { return false };
            let Some(live) = place else { return false };
            let own = live.cell..live.cell.saturating_add(live.width);
            let own = own.filter_map(|cell| self.cells.get(cell));
            if !keep && own.clone().all(Cell::is_gone) {
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
            live.cell = cells.len();
            cells.extend(own);
            true
        });
        self.order = order;
        self.cells.restart(cells);
    }

    /// The instances from the `from`th on, in the order of their columns.
    pub(super) fn instances_from(&self, from: usize) -> impl ExactSizeIterator<Item = &Instance> {
        let order = self.order.get(from..).unwrap_or_default();
        let none: &'static Instance = const { &Instance { text: None, columns: None } };
        order.iter().map(move |position| {
            self.instances.get(*position).and_then(Option::as_ref).map_or(none, |live| &*live.instance)
        })
    }

    /// Writes the numbers of the chunk and gets ready for the next one.
    pub(super) fn encode(&mut self, out: &mut BitWriter, rows: usize, scratch: &mut Scratch) {
        self.sampled.encode(out, scratch);
        for clock in &mut self.clocks {
            clock.encode(out, scratch);
        }
        let lives: Vec<&Live> =
            self.order.iter().filter_map(|position| self.instances.get(*position)?.as_ref()).collect();
        let widest = lives.iter().map(|live| live.width).max().unwrap_or(0);
        let (mut of_cells, mut starts) = (Vec::new(), Vec::new());
        for stream in 0..STREAMS {
            self.cells.starts(stream, &mut of_cells);
            // The same counter of all instances, one counter after the other.
            for nth in 0..widest {
                starts.clear();
                let having = lives.iter().filter(|live| nth < live.width);
                starts.extend(having.map(|live| {
                    let usual = match stream {
                        MULTI => 1,
                        FREQUENCY => self.counter(&live.instance, nth).1,
                        _ => 0,
                    };
                    let cell = live.cell.saturating_add(nth);
                    of_cells.get(cell).copied().unwrap_or(0).wrapping_sub(usual)
                }));
                series::encode(out, 0, &starts, &mut Parameters::default(), scratch);
            }
            self.cells.encode(out, stream, rows, scratch);
        }
        self.cells.end_chunk();
    }

    /// The instances that the tail does not have yet.
    pub(super) fn unwritten(&self) -> impl ExactSizeIterator<Item = &Instance> {
        self.instances_from(self.written.0)
    }

    /// Writes the newest row by its difference from the newest row of the tail; `whole` for the first one.
    pub(super) fn encode_row(&self, out: &mut Vec<u8>, whole: bool) {
        let is_sampled = self.sampled.last() != 0;
        let has_numbers = whole || self.cells.has_unwritten();
        out.put(u64::from(is_sampled) | u64::from(has_numbers) << 1);
        if is_sampled {
            for (clock, before) in self.clocks.iter().zip(self.written.1) {
                out.put_signed(clock.last().wrapping_sub(before).cast_signed());
            }
        }
        if !has_numbers {
            return;
        }
        let lives = self.order.iter().filter_map(|position| self.instances.get(*position)?.as_ref());
        let mut lives = lives.peekable();
        self.cells.encode_row(out, whole, |cell| {
            while lives.next_if(|live| live.cell.saturating_add(live.width) <= cell).is_some() {}
            lives.peek().map_or(0, |live| self.counter(&live.instance, cell.saturating_sub(live.cell)).1)
        });
    }

    /// The newest row is in the tail.
    pub(super) fn row_is_written(&mut self) {
        let mut clocks = self.written.1;
        if self.sampled.last() != 0 {
            clocks.iter_mut().zip(&self.clocks).for_each(|(written, clock)| *written = clock.last());
        }
        self.written = (self.order.len(), clocks);
        self.cells.row_is_written();
    }

    /// Columns that changed since the last chunk.
    pub(super) const fn changed(&self) -> usize {
        self.cells.changed()
    }
}
