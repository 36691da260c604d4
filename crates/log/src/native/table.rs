//! The state of an object in the writer: its instances, and the numbers of rows that are not written yet.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::sync::Arc;

use tallymon_core::counter::Denominator;
use tallymon_core::flow::{NoValue, Sample};

use super::bits::BitWriter;
use super::cells::{Cell, Cells, ChunkRow};
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
    parameters: Parameters,
}

impl Lane {
    pub(super) fn last(&self) -> u64 {
        self.values.last().copied().unwrap_or(self.start)
    }

    /// Writes the numbers. In a key the first one is written in full.
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
    /// How many of `order` earlier chunks have.
    told: usize,
    cells: Cells,
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
            cells: Cells::default(),
            sampled: Lane::default(),
            clocks: std::array::from_fn(|_| Lane::default()),
            now: [None; CLOCKS],
            sampled_in: 0,
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
        values: impl IntoIterator<Item = (V, bool)>,
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
        self.told = 0;
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

    /// Instances that are new in this chunk, in the order of their columns.
    pub(super) fn untold(&self) -> impl ExactSizeIterator<Item = &Instance> {
        let order = self.order.get(self.told..).unwrap_or_default();
        let none: &'static Instance = const { &Instance { text: None, columns: None } };
        order.iter().map(move |position| {
            self.instances.get(*position).and_then(Option::as_ref).map_or(none, |live| &*live.instance)
        })
    }

    /// Writes the numbers of the chunk and gets ready for the next one. Returns how many numbers were
    /// written.
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
        let untold: Vec<&Live> = self
            .order
            .get(self.told..)
            .unwrap_or_default()
            .iter()
            .filter_map(|position| self.instances.get(*position)?.as_ref())
            .collect();
        let first = untold.first().map_or(self.cells.len(), |live| live.cell);
        let widest = untold.iter().map(|live| live.width).max().unwrap_or(0);
        let mut numbers = 0u64;
        let (mut of_cells, mut starts) = (Vec::new(), Vec::new());
        for stream in 0..STREAMS {
            self.cells.starts(stream, first, &mut of_cells);
            // The same counter of all new instances, one counter after the other.
            for nth in 0..widest {
                starts.clear();
                let having = untold.iter().filter(|live| nth < live.width);
                starts.extend(having.map(|live| {
                    let cell = live.cell.saturating_sub(first).saturating_add(nth);
                    let usual = match stream {
                        MULTI => 1,
                        FREQUENCY => self.counter(&live.instance, nth).1,
                        _ => 0,
                    };
                    of_cells.get(cell).copied().unwrap_or(0).wrapping_sub(usual)
                }));
                series::encode(out, 0, &starts, &mut Parameters::default(), scratch);
            }
            let changed = self.cells.encode(out, stream, rows, key, scratch);
            numbers = numbers.saturating_add((changed as u64).saturating_mul(rows as u64));
        }
        self.cells.end_chunk();
        self.told = self.order.len();
        numbers
    }

    /// Columns that changed since the last chunk.
    pub(super) const fn changed(&self) -> usize {
        self.cells.changed()
    }
}
