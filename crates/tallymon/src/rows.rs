//! Live values as rows: what a query collected, put below columns for any sink.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use tallymon_core::block::Snapshot;
use tallymon_core::counter::Denominator;
use tallymon_core::flow::{Cell, Column, LiveColumn, NoValue, Row, Sink};
use tallymon_core::path::{CounterPath, InstancePath};
use tallymon_core::time::{FileTime, Frequency, UNITS_PER_SECOND};
use tallymon_core::title::TitleIndex;

use crate::matching::{InstanceIdentity, InstanceKey};
use crate::names::Names;
use crate::query::{CounterHandle, CounterValue, Query, Reading};

/// Writes live values as rows.
///
/// ```
/// use tallymon::core::flow::{Column, Row, Sink, SourceError};
/// use tallymon::{LiveRows, Location, Query};
///
/// /// Counts the rows and cells that it receives.
/// #[derive(Default)]
/// struct Counter(usize, usize);
///
/// impl Sink for Counter {
///     type Error = SourceError;
///     fn columns(&mut self, _: &[Column]) -> Result<(), SourceError> {
///         Ok(())
///     }
///     fn row(&mut self, row: &Row<'_>) -> Result<(), SourceError> {
///         (self.0, self.1) = (self.0 + 1, self.1 + row.cells.len());
///         Ok(())
///     }
///     fn finish(&mut self) -> Result<(), SourceError> {
///         Ok(())
///     }
/// }
///
/// let mut query = Query::open(&Location::Local)?;
/// query.add(r"\System\Threads")?;
/// let (mut rows, mut sink) = (LiveRows::fixed(query.system_name()), Counter::default());
/// for _ in 0..3 {
///     let time = query.collect()?;
///     rows.write(time, 0, &query, &mut sink)?;
/// }
/// assert_eq!((sink.0, sink.1), (3, 3));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct LiveRows {
    /// Columns stay those of the first row.
    is_fixed: bool,
    with_errors: bool,
    /// The host of paths that name none.
    host: String,
    columns: Option<Vec<Column>>,
    cells: Vec<Cell>,
    /// The values of the row before, in their order, and the column of each; `None` for values without a
    /// column.
    order: Vec<(ValueId, Option<usize>)>,
    /// Which instance each column is of, where instances have an identity. Only fixed columns need it.
    owners: Vec<ColumnOwner>,
    late: HashSet<String>,
    new_late: Vec<String>,
    replaced: Vec<Replaced>,
}

/// A path that means another instance than in the row before, because the instance ended or its number
/// changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replaced {
    /// The path.
    pub path: String,
    /// The process ids of the instance before and of this one.
    pub processes: Option<(u64, u64)>,
    /// The instance is one of a wildcard.
    pub is_wild: bool,
}

/// The values of one row.
#[derive(Clone, Copy)]
pub enum RowValues<'v> {
    /// What a query collected last.
    Query(&'v Query),
    /// Readings of several queries, with the host in each path if there are several; and the names of the
    /// counters.
    Readings(&'v [Reading], &'v Names),
    /// Readings of several hosts, with the host in each path, and the names of each host: an index above 1847
    /// is another counter on another host.
    Hosts(&'v [HostReadings]),
}

/// What a host among several has.
#[derive(Debug, Clone)]
pub struct HostReadings {
    /// The names of its counters.
    pub names: Names,
    /// Its readings.
    pub readings: Vec<Reading>,
}

/// Which value it is. Most rows have the values of the row before, and then no path is built.
#[derive(Debug)]
struct ValueId {
    handle: CounterHandle,
    counter: TitleIndex,
    instance: Option<InstanceKey>,
    identity: Option<InstanceIdentity>,
    /// Readings of several queries: their paths tell the hosts apart.
    path: Option<String>,
}

/// What a fixed column is of.
#[derive(Debug, PartialEq, Eq, Hash)]
struct ColumnOwner {
    /// Readings of several queries are told apart by the host in their paths.
    host: Option<String>,
    handle: CounterHandle,
    counter: TitleIndex,
    identity: Option<InstanceIdentity>,
}

impl ColumnOwner {
    fn of(values: &RowValues<'_>, reading: &Reading) -> ColumnOwner {
        let host = || reading.path.strip_prefix("\\\\")?.split('\\').next().map(str::to_owned);
        ColumnOwner {
            host: (!matches!(values, RowValues::Query(_))).then(host).flatten(),
            handle: reading.handle,
            counter: reading.counter,
            identity: reading.identity,
        }
    }

    /// Whether both are known and not the same instance.
    fn is_other(&self, other: &ColumnOwner) -> bool {
        self.identity.zip(other.identity).is_some_and(|(one, other)| one != other)
    }
}

impl<'v> From<&'v Query> for RowValues<'v> {
    fn from(query: &'v Query) -> RowValues<'v> {
        RowValues::Query(query)
    }
}

impl<'v> RowValues<'v> {
    fn readings(&self) -> Cow<'v, [Reading]> {
        match self {
            RowValues::Query(query) => query.readings().into(),
            RowValues::Readings(readings, _) => Cow::Borrowed(readings),
            RowValues::Hosts(hosts) => hosts.iter().flat_map(|host| host.readings.iter().cloned()).collect(),
        }
    }

    /// Whether a path means all instances of a pattern. Of a log it does.
    fn is_wild(&self, handle: CounterHandle) -> bool {
        match self {
            RowValues::Query(query) => query.is_wild(handle),
            RowValues::Readings(..) | RowValues::Hosts(_) => true,
        }
    }

    /// The names for each reading, in their order.
    fn names(&self) -> Box<dyn Iterator<Item = &'v Names> + 'v> {
        match self {
            RowValues::Query(query) => Box::new(std::iter::repeat(query.names())),
            RowValues::Readings(_, names) => Box::new(std::iter::repeat(*names)),
            RowValues::Hosts(hosts) => {
                let names = |host: &'v HostReadings| std::iter::repeat_n(&host.names, host.readings.len());
                Box::new(hosts.iter().flat_map(names))
            }
        }
    }

    /// Calls `act` with each value in order, and with its path if that exists already.
    fn for_each(&self, mut act: impl FnMut(Option<&str>, CounterValue<'_>)) {
        match self {
            RowValues::Query(query) => query.for_each(|value| act(None, value)),
            RowValues::Readings(readings, _) => {
                readings.iter().for_each(|reading| act(Some(&reading.path), reading.value()));
            }
            RowValues::Hosts(hosts) => {
                let readings = hosts.iter().flat_map(|host| &host.readings);
                readings.for_each(|reading| act(Some(&reading.path), reading.value()));
            }
        }
    }
}

impl ValueId {
    fn of(values: &RowValues<'_>, reading: &Reading) -> ValueId {
        ValueId {
            handle: reading.handle,
            counter: reading.counter,
            instance: reading.instance.clone(),
            identity: reading.identity,
            path: (!matches!(values, RowValues::Query(_))).then(|| reading.path.clone()),
        }
    }

    fn is_of(&self, path: Option<&str>, value: &CounterValue<'_>) -> bool {
        self.handle == value.handle
            && self.counter == value.definition.name
            && self.instance.as_ref() == value.instance
            && self.identity == value.identity
            && self.path.as_deref() == path
    }
}

impl LiveRows {
    /// Rows whose columns are those of the first row. Instances that appear later have no column, see
    /// [`LiveRows::take_late`]; the cells of an instance that ends are [`NoValue::NoInstance`].
    ///
    /// A column of a wildcard stays with its instance, also when another one gets its name: `name#1` is never
    /// first one process and then another. A column of a path without a wildcard goes on with the next
    /// instance of that name, after one row without a value.
    ///
    /// `host` is the host of paths that name none.
    pub fn fixed(host: &str) -> LiveRows {
        LiveRows {
            is_fixed: true,
            with_errors: false,
            host: host.to_owned(),
            columns: None,
            cells: Vec::new(),
            order: Vec::new(),
            owners: Vec::new(),
            late: HashSet::new(),
            new_late: Vec::new(),
            replaced: Vec::new(),
        }
    }

    /// Rows whose columns follow the values: the sink receives new columns when instances come or go.
    pub fn changing(host: &str) -> LiveRows {
        LiveRows { is_fixed: false, ..LiveRows::fixed(host) }
    }

    /// Computes how far each value may be off, see [`Cell::error`].
    pub const fn with_errors(mut self, with_errors: bool) -> LiveRows {
        self.with_errors = with_errors;
        self
    }

    /// Writes the values of one time into a sink, and their columns before the first row and when they
    /// change.
    ///
    /// # Errors
    ///
    /// Those of the sink.
    pub fn write<'v, S: Sink + ?Sized>(
        &mut self,
        time: FileTime,
        local_minutes: i32,
        values: impl Into<RowValues<'v>>,
        sink: &mut S,
    ) -> Result<(), S::Error> {
        let values = values.into();
        if self.columns.is_none() || !self.fill_in_order(&values) {
            let readings = values.readings();
            self.note_replaced(&values, &readings);
            if self.columns.is_none() || !self.is_fixed {
                let columns = self.columns_of(&values, &readings);
                sink.columns(&columns)?;
                self.columns = Some(columns);
                self.owners = readings.iter().map(|reading| ColumnOwner::of(&values, reading)).collect();
            }
            self.fill_by_path(&values, &readings);
        }
        sink.row(&Row { time, local_minutes, cells: &self.cells })
    }

    /// The paths of instances that appeared after the first row and have no column. Each is returned once.
    pub fn take_late(&mut self) -> Vec<String> {
        std::mem::take(&mut self.new_late)
    }

    /// The paths that mean another instance since the row before.
    pub fn take_replaced(&mut self) -> Vec<Replaced> {
        std::mem::take(&mut self.replaced)
    }

    /// Fills the cells if the values are those of the row before, in the same order.
    fn fill_in_order(&mut self, values: &RowValues<'_>) -> bool {
        let LiveRows { cells, order, with_errors, .. } = self;
        for cell in cells.iter_mut() {
            *cell = Cell::missing(NoValue::NoInstance);
        }
        let (mut ids, mut is_same) = (order.iter(), true);
        values.for_each(|path, value| match ids.next().filter(|(id, _)| is_same && id.is_of(path, &value)) {
            Some((_, column)) => {
                if let Some(cell) = column.and_then(|column| cells.get_mut(column)) {
                    *cell = cell_of(value, *with_errors);
                }
            }
            None => is_same = false,
        });
        is_same && ids.next().is_none()
    }

    fn fill_by_path(&mut self, values: &RowValues<'_>, readings: &[Reading]) {
        let columns = self.columns.as_deref().unwrap_or_default();
        let mut of_instance: HashMap<&ColumnOwner, Vec<usize>> = HashMap::new();
        for (at, owner) in self.owners.iter().enumerate().rev() {
            if owner.identity.is_some() {
                of_instance.entry(owner).or_default().push(at);
            }
        }
        // A path that was added twice has two columns, and two values in every row.
        let mut by_path: HashMap<&str, Vec<usize>> = HashMap::new();
        for (at, column) in columns.iter().enumerate().rev() {
            by_path.entry(&column.path).or_default().push(at);
        }
        self.cells.clear();
        self.cells.resize(columns.len(), Cell::missing(NoValue::NoInstance));
        self.order.clear();
        let (mut claimed, mut is_replaced) = (Vec::new(), false);
        for reading in readings {
            let path = full_path(&self.host, &reading.path);
            let owner = ColumnOwner::of(values, reading);
            let own =
                owner.identity.is_some().then(|| of_instance.get_mut(&owner).and_then(Vec::pop)).flatten();
            let by_name = || by_path.get_mut(path.as_ref()).and_then(Vec::pop);
            let column = match own.or_else(by_name) {
                Some(at) if self.owners.get(at).is_some_and(|known| known.is_other(&owner)) => {
                    // The name is that of another instance now.
                    if !values.is_wild(reading.handle) {
                        claimed.push((at, owner));
                        is_replaced = true;
                    }
                    None
                }
                Some(at) => {
                    claimed.push((at, owner));
                    Some(at)
                }
                None => None,
            };
            match column.and_then(|column| self.cells.get_mut(column)) {
                Some(cell) => *cell = cell_of(reading.value(), self.with_errors),
                None => {
                    let is_late = values.is_wild(reading.handle) || reading.identity.is_none();
                    if is_late && !self.late.contains(path.as_ref()) {
                        self.late.insert(path.clone().into_owned());
                        self.new_late.push(path.into_owned());
                    }
                }
            }
            self.order.push((ValueId::of(values, reading), column));
        }
        for (at, owner) in claimed.into_iter().filter(|(_, owner)| owner.identity.is_some()) {
            if let Some(known) = self.owners.get_mut(at) {
                *known = owner;
            }
        }
        if is_replaced {
            // The next row fills the columns that are blank in this one.
            self.order.clear();
        }
    }

    /// Notes which paths mean another instance than before.
    fn note_replaced(&mut self, values: &RowValues<'_>, readings: &[Reading]) {
        let before: HashMap<_, InstanceIdentity> = self
            .order
            .iter()
            .filter_map(|(id, _)| Some(((id.handle, id.counter, &id.instance, &id.path), id.identity?)))
            .collect();
        for reading in readings {
            let Some(now) = reading.identity else { continue };
            let id = ValueId::of(values, reading);
            let known = before.get(&(id.handle, id.counter, &id.instance, &id.path));
            if let Some(then) = known.filter(|then| **then != now) {
                self.replaced.push(Replaced {
                    path: reading.path.clone(),
                    processes: then.process().zip(now.process()),
                    is_wild: values.is_wild(reading.handle),
                });
            }
        }
    }

    fn columns_of(&self, values: &RowValues<'_>, readings: &[Reading]) -> Vec<Column> {
        let snapshot = match values {
            RowValues::Query(query) => query.snapshot(),
            RowValues::Readings(..) | RowValues::Hosts(_) => None,
        };
        let (mut group, mut before) = (0u32, None);
        let column = |(reading, names): (&Reading, &Names)| {
            // The values of one counter of one path belong together.
            let this = (reading.handle, reading.counter);
            if before.replace(this).is_some_and(|before| before != this) {
                group = group.saturating_add(1);
            }
            let path = full_path(&self.host, &reading.path).into_owned();
            let instance = reading.instance.as_ref();
            let parts = CounterPath::parse(&path).ok().map(|parsed| match instance {
                // The name itself may look like the rest of a path.
                Some(key) => CounterPath {
                    instance: Some(InstancePath::new(key.parent.as_deref(), &key.name, key.number)),
                    ..parsed.path
                },
                None => parsed.path,
            });
            Column {
                path,
                parts,
                counter_type: reading.definition.counter_type,
                scale: reading.definition.default_scale,
                time_base: time_base(snapshot, reading),
                group,
                wild: instance.is_some(),
                live: Some(LiveColumn {
                    object: reading.object,
                    counter: reading.counter,
                    instance: instance.map(InstanceKey::to_string),
                    process: reading.identity.and_then(InstanceIdentity::process),
                    local_path: local_path(reading, names),
                }),
            }
        };
        readings.iter().zip(values.names()).map(column).collect()
    }
}

fn cell_of(value: CounterValue<'_>, with_errors: bool) -> Cell {
    if !with_errors || value.cell.value.is_err() {
        return value.cell;
    }
    let has_error = value.precision.is_some() && value.definition.counter_type.needs_two_samples();
    let error = value.error().or(has_error.then_some(f64::INFINITY));
    Cell { error, ..value.cell }
}

/// Ticks per second of the clock of a counter.
fn time_base(snapshot: Option<&Snapshot>, reading: &Reading) -> Frequency {
    let known = match reading.definition.counter_type.denominator() {
        Denominator::PerfTime | Denominator::BaseAndPerfFrequency => {
            snapshot.map(|snapshot| snapshot.header().perf_freq)
        }
        Denominator::Time100ns => Some(Frequency(UNITS_PER_SECOND.cast_signed())),
        Denominator::ObjectTime => {
            let object = snapshot.and_then(|snapshot| snapshot.object(reading.object));
            object.map(|object| object.header().perf_freq)
        }
        _ => Some(Frequency(0)),
    };
    known.or(reading.cell.sample.map(|sample| sample.frequency)).unwrap_or_default()
}

/// A path with its host. Paths of several hosts have one already.
fn full_path<'p>(host: &str, path: &'p str) -> Cow<'p, str> {
    if path.starts_with("\\\\") { Cow::Borrowed(path) } else { Cow::Owned(format!("\\\\{host}{path}")) }
}

/// The path of a reading for people, with the host if the reading has one.
fn local_path(reading: &Reading, names: &Names) -> String {
    let host = reading.path.strip_prefix("\\\\").and_then(|rest| rest.find('\\'));
    let host = host.map_or(0, |end| end.saturating_add(2));
    let (host, path) = reading.path.split_at_checked(host).unwrap_or_default();
    let reading = Reading { path: path.to_owned(), ..reading.clone() };
    format!("{host}{}", reading.local_path(names))
}
