//! Metrics and their series, made from the columns of a row: what all formats share.
//!
//! Each column becomes the metrics of its type ([`crate::metric`]), or what the names of another collector
//! have for it ([`crate::profile`]). Its instance is the label `name`, written
//! as in a path, and another host than the own one is the label `host`. (The label `instance` belongs to
//! Prometheus, which writes the address of the target there.) `_Total` is left out where instances stand
//! beside it: the engine can add them itself, and would count them twice. Counters without a sample have no
//! point, and so do values older than the row: a series that ends says that better than one that stands
//! still.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::mem::discriminant;

use tallymon_core::flow::{Cell, Column, Row, Value};
use tallymon_core::path::{InstanceIndex, InstancePath, Part};

use crate::metric::{Figure, Metric, MetricKind, metrics};
use crate::name::{MetricName, metric_name};
use crate::profile::{InstanceLabels, Profile, Semantic};

/// One metric and its series.
#[derive(Debug)]
pub struct Family {
    /// Its name, with its unit and without `_total` of a counter.
    pub name: String,
    /// What it is to the engine. Its series may take their numbers in other ways of the same kind.
    pub kind: MetricKind,
    /// The end of its name that its type gives it.
    pub suffix: &'static str,
    /// How OpenTelemetry's own conventions name it, if they do.
    pub semantic: Option<Semantic>,
    /// Measurement and field of InfluxDB, where several metrics are fields of one line.
    pub field: Option<(String, String)>,
    /// Its unit: seconds, bytes or ratio; empty for none.
    pub unit: &'static str,
    /// What it is, in one line: the counter, its meaning, its type.
    pub help: String,
    /// Its series.
    pub series: Vec<Series>,
}

/// One series of a metric.
#[derive(Debug)]
pub struct Series {
    /// The labels, in their order. OpenTelemetry's own have points in their names ([`label_name`]).
    pub labels: Vec<(&'static str, String)>,
    /// The cell of its value in a row.
    cell: usize,
    kind: MetricKind,
    factor: u64,
}

/// The value of a series in a row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Point<'r> {
    /// A number that goes up and down.
    Gauge(Figure),
    /// A number that only grows.
    Counter(Figure),
    /// A sum, and the number of its parts.
    Summary {
        /// The sum.
        sum: Figure,
        /// The number of parts.
        count: Figure,
    },
    /// A text.
    Info(&'r str),
}

/// Object and counter of a column.
type CounterOf<'c> = (&'c Part, &'c Part);

impl Family {
    /// The value of one of its series in a row of the same columns.
    pub fn point<'r>(&self, series: &Series, row: &Row<'r>) -> Option<Point<'r>> {
        let cell: &'r Cell = row.cells.get(series.cell).filter(|cell| !cell.stale)?;
        let scaled = |figure: Figure| figure.times(series.factor);
        Some(match series.kind {
            MetricKind::Gauge(number) => Point::Gauge(scaled(number.of(cell)?)),
            MetricKind::Counter(number) => Point::Counter(scaled(number.of(cell)?)),
            // One without the other means nothing.
            MetricKind::Summary { sum, count } => {
                Point::Summary { sum: scaled(sum.of(cell)?), count: count.of(cell)? }
            }
            MetricKind::Info => match &cell.value {
                Ok(Value::Text(text)) => Point::Info(text),
                _ => return None,
            },
        })
    }
}

impl Series {
    /// The position of its column.
    pub const fn column(&self) -> usize {
        self.cell
    }

    /// The value of a label, if the series has it.
    pub fn label(&self, name: &str) -> Option<&str> {
        self.labels.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_str())
    }
}

/// The name of a label where names have no points: `disk_io_direction` for `disk.io.direction`.
pub fn label_name(name: &str) -> Cow<'_, str> {
    if name.contains('.') { Cow::Owned(name.replace('.', "_")) } else { Cow::Borrowed(name) }
}

/// The metrics of columns, in their order, with the names of a profile. `host` is the own host, whose series
/// have no label `host`.
pub fn families(columns: &[Column], host: &str, profile: Profile) -> Vec<Family> {
    let mut made =
        Families { split: split(columns), exact: exact(columns), host, profile, ..Families::default() };
    for (cell, column) in columns.iter().enumerate() {
        made.add(cell, column);
    }
    made.families
}

/// The counters that have an instance beside the total.
fn split(columns: &[Column]) -> HashSet<CounterOf<'_>> {
    let has_parts =
        |column: &&Column| column.parts.as_ref().is_some_and(|parts| !is_total(parts.instance.as_ref()));
    columns.iter().filter(has_parts).filter_map(|column| counter_of(column)).collect()
}

/// Names of counters in base units: what counts the same in larger units is left out beside them.
fn exact(columns: &[Column]) -> HashMap<String, CounterOf<'_>> {
    let named = columns.iter().filter_map(|column| {
        let counter = counter_of(column)?;
        let name = named(column, counter);
        (name.factor == 1).then_some((name.name, counter))
    });
    named.collect()
}

#[derive(Default)]
struct Families<'c> {
    families: Vec<Family>,
    split: HashSet<CounterOf<'c>>,
    exact: HashMap<String, CounterOf<'c>>,
    host: &'c str,
    profile: Profile,
    /// The position of each family that a profile names. Several counters may be its series.
    named: HashMap<String, usize>,
    /// The position of each family, and which counter has taken its name.
    taken: HashMap<String, (usize, CounterOf<'c>)>,
    known: HashSet<(usize, Vec<(&'static str, String)>)>,
    /// The name of the counter of the column before; instances follow each other.
    last: Option<(CounterOf<'c>, MetricName)>,
}

impl<'c> Families<'c> {
    fn add(&mut self, cell: usize, column: &'c Column) {
        let Some((counter, parts)) = counter_of(column).zip(column.parts.as_ref()) else { return };
        if is_total(parts.instance.as_ref()) && self.split.contains(&counter) {
            return;
        }
        let base = match &self.last {
            Some((last, name)) if *last == counter => name.clone(),
            _ => named(column, counter),
        };
        self.last = Some((counter, base.clone()));
        if self.add_named(cell, column, counter) {
            return;
        }
        if base.factor != 1 && self.exact.get(&base.name).is_some_and(|of| of.0 == counter.0) {
            return;
        }
        for metric in metrics(column.counter_type) {
            let Some(position) = self.position(cell, column, counter, &base, metric) else { continue };
            let labels = labels(column, self.host, InstanceLabels::NT);
            let factor = if metric.unit.is_empty() { base.factor } else { 1 };
            self.push(position, Series { labels, cell, kind: metric.kind, factor });
        }
    }

    /// Adds the series that the profile has for a counter; whether there are any.
    fn add_named(&mut self, cell: usize, column: &Column, counter: CounterOf<'_>) -> bool {
        let (Part::Name(object), Part::Name(name)) = counter else { return false };
        let mut targets = self.profile.targets(object, name, column.counter_type);
        // A number of another kind keeps its own name rather than be lost.
        targets.retain(|target| {
            let family = self.named.get(&target.name).and_then(|position| self.families.get(*position));
            family.is_none_or(|family| discriminant(&family.kind) == discriminant(&target.kind))
        });
        let instances = self.profile.instance_labels(object);
        for target in &targets {
            let position = self.named.get(&target.name).copied().unwrap_or_else(|| {
                let position = self.families.len();
                self.families.push(Family {
                    name: target.name.clone(),
                    kind: target.kind,
                    suffix: "",
                    semantic: target.semantic,
                    field: target.field.clone(),
                    unit: target.unit,
                    help: help(column, target.meaning),
                    series: Vec::new(),
                });
                self.named.insert(target.name.clone(), position);
                position
            });
            let mut labels = labels(column, self.host, instances);
            labels.extend(target.labels.iter().map(|(name, value)| (*name, value.clone())));
            self.push(position, Series { labels, cell, kind: target.kind, factor: target.factor });
        }
        !targets.is_empty()
    }

    /// Adds a series, unless one with its labels is there.
    fn push(&mut self, position: usize, series: Series) {
        if self.known.insert((position, series.labels.clone()))
            && let Some(family) = self.families.get_mut(position)
        {
            family.series.push(series);
        }
    }

    /// The family of a metric of a counter, which is made when it is new; `None` where its name is taken by
    /// a counter in base units.
    fn position(
        &mut self,
        cell: usize,
        column: &Column,
        counter: CounterOf<'c>,
        base: &MetricName,
        metric: &'static Metric,
    ) -> Option<usize> {
        let mut name = format!("{}{}", base.name, metric.suffix);
        let mut position = self.taken.get(&name).copied();
        if position.is_some_and(|(_, of)| of != counter) {
            if base.factor != 1 {
                return None;
            }
            let index = column.live.as_ref().map_or(cell, |live| live.counter.0 as usize);
            name = format!("{}_{index}{}", base.name, metric.suffix);
            position = self.taken.get(&name).copied();
        }
        if let Some((position, _)) = position {
            return Some(position);
        }
        let is_bytes = base.is_bytes && name.ends_with("_bytes");
        let unit = if metric.unit.is_empty() && is_bytes { "bytes" } else { metric.unit };
        let help = help(column, metric.meaning);
        let position = self.families.len();
        self.taken.insert(name.clone(), (position, counter));
        let Metric { kind, suffix, .. } = *metric;
        let series = Vec::new();
        self.families.push(Family { name, kind, suffix, semantic: None, field: None, unit, help, series });
        Some(position)
    }
}

fn counter_of(column: &Column) -> Option<CounterOf<'_>> {
    column.parts.as_ref().map(|parts| (&parts.object, &parts.counter))
}

fn named(column: &Column, counter: CounterOf<'_>) -> MetricName {
    let indexes = column.live.as_ref().map_or((0, 0), |live| (live.object.0, live.counter.0));
    metric_name(&part(counter.0), &part(counter.1), indexes)
}

fn part(part: &Part) -> String {
    match part {
        Part::Name(name) => name.clone(),
        Part::Index(index) => index.to_string(),
    }
}

/// Whether an instance is the sum of others: `_Total`, and `0,_Total` of a node's processors.
fn is_total(instance: Option<&InstancePath>) -> bool {
    instance.is_some_and(|instance| {
        let name = instance.text();
        name.rsplit([',', '/']).next().is_some_and(|last| last.eq_ignore_ascii_case("_Total"))
    })
}

fn labels(column: &Column, host: &str, instances: InstanceLabels) -> Vec<(&'static str, String)> {
    let Some(parts) = &column.parts else { return Vec::new() };
    let mut labels = Vec::new();
    if let Some(machine) = parts.machine.as_ref().filter(|machine| !machine.eq_ignore_ascii_case(host)) {
        labels.push(("host", machine.clone()));
    }
    if let Some(instance) = &parts.instance {
        let number = match instance.index() {
            InstanceIndex::At(number) if number > 0 => number,
            _ => 0,
        };
        // A number behind # goes to another process when one of the same name ends.
        let process = column.live.as_ref().and_then(|live| live.process);
        labels.extend(instances.of(instance.text(), number, process));
    }
    labels
}

/// What a metric is, in one line: the counter, its meaning, its type.
fn help(column: &Column, meaning: &str) -> String {
    let (object, counter) = counter_of(column).map_or_else(Default::default, |of| (part(of.0), part(of.1)));
    let instance =
        if column.parts.as_ref().is_some_and(|parts| parts.instance.is_some()) { "(*)" } else { "" };
    format!("\\{object}{instance}\\{counter}: {meaning} ({})", column.counter_type)
}
