//! A sink that writes one row as text for Prometheus and whoever reads its formats.
//!
//! Each counter becomes the metrics of its type ([`crate::metric`]); its instance is the label `name`,
//! written as in a path, and another host than the sink's is the label `host`. (The label `instance` belongs
//! to Prometheus, which writes the address of the target there.) `_Total` is left out where instances stand
//! beside it: the engine can add them itself, and would count them twice. Counters without a sample are left
//! out, and so are values older than the row: a series that ends says that better than one that stands still.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::io::{self, Write};

use tallymon_core::flow::{Cell, Column, Row, Sink, Value};
use tallymon_core::path::{InstanceIndex, Part};
use tallymon_core::time::FileTime;

use crate::metric::{Figure, Metric, MetricKind, Number, metrics, unix_seconds};
use crate::name::{MetricName, metric_name};

/// The two text formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TextFormat {
    /// OpenMetrics 1.0: <https://github.com/OpenObservability/OpenMetrics>.
    OpenMetrics,
    /// Prometheus' text format 0.0.4, which also the textfile collector of node_exporter reads:
    /// <https://prometheus.io/docs/instrumenting/exposition_formats>.
    Prometheus,
}

/// Writes one row as an exposition.
#[derive(Debug)]
pub struct Exposition<W> {
    out: W,
    format: TextFormat,
    host: String,
    with_times: bool,
    families: Vec<Family>,
    is_written: bool,
}

/// The series of one metric.
#[derive(Debug)]
struct Family {
    name: String,
    metric: &'static Metric,
    factor: u64,
    unit: &'static str,
    help: String,
    /// The labels of each series, and the cell of its value.
    series: Vec<(String, usize)>,
}

/// Object and counter of a column.
type CounterOf<'c> = (&'c Part, &'c Part);

impl TextFormat {
    /// The content type that HTTP names it by.
    pub const fn content_type(self) -> &'static str {
        match self {
            TextFormat::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            TextFormat::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
        }
    }
}

impl<W: Write> Exposition<W> {
    /// An exposition of the counters of `host`; series of other hosts have a label.
    pub fn new(out: W, format: TextFormat, host: &str) -> Exposition<W> {
        let host = host.to_owned();
        Exposition { out, format, host, with_times: false, families: Vec::new(), is_written: false }
    }

    /// Writes the time of the row behind each number, for values of a log.
    pub const fn with_times(mut self, with_times: bool) -> Exposition<W> {
        self.with_times = with_times;
        self
    }

    fn write_family(&self, text: &mut String, family: &Family, row: &Row<'_>) {
        let time = if self.with_times { self.time(row.time) } else { String::new() };
        let mut lines = String::new();
        for (labels, cell) in &family.series {
            if let Some(cell) = row.cells.get(*cell).filter(|cell| !cell.stale) {
                self.write_series(&mut lines, family, labels, cell, &time);
            }
        }
        if lines.is_empty() {
            return;
        }
        let (name, kind) = self.head(family);
        // Writing into a string can not fail.
        let _ =
            writeln!(text, "# HELP {name} {}", escaped(&family.help, self.format == TextFormat::OpenMetrics));
        let _ = writeln!(text, "# TYPE {name} {kind}");
        if !family.unit.is_empty() && self.format == TextFormat::OpenMetrics {
            let _ = writeln!(text, "# UNIT {name} {}", family.unit);
        }
        text.push_str(&lines);
    }

    /// The name and the kind at the head of a family, which the two formats have for different things.
    fn head(&self, family: &Family) -> (String, &'static str) {
        let is_open = self.format == TextFormat::OpenMetrics;
        match family.metric.kind {
            MetricKind::Gauge(_) => (family.name.clone(), "gauge"),
            MetricKind::Counter(_) if is_open => (family.name.clone(), "counter"),
            MetricKind::Counter(_) => (format!("{}_total", family.name), "counter"),
            MetricKind::Summary { .. } => (family.name.clone(), "summary"),
            MetricKind::Info if is_open => (family.name.clone(), "info"),
            MetricKind::Info => (format!("{}_info", family.name), "gauge"),
        }
    }

    fn write_series(&self, out: &mut String, family: &Family, labels: &str, cell: &Cell, time: &str) {
        let Family { name, metric, factor, .. } = family;
        let mut line = |end: &str, labels: &str, number: Option<String>| {
            let Some(number) = number else { return };
            let braces = if labels.is_empty() { String::new() } else { format!("{{{labels}}}") };
            let _ = writeln!(out, "{name}{end}{braces} {number}{time}");
        };
        let number = |number: Number| Some(written(number.of(cell)?, *factor));
        match metric.kind {
            MetricKind::Gauge(value) => line("", labels, number(value)),
            MetricKind::Counter(value) => line("_total", labels, number(value)),
            MetricKind::Summary { sum, count } => {
                // One without the other means nothing.
                if let (Some(sum), Some(count)) = (number(sum), count.of(cell)) {
                    line("_sum", labels, Some(sum));
                    line("_count", labels, Some(written(count, 1)));
                }
            }
            MetricKind::Info => {
                if let Ok(Value::Text(text)) = &cell.value {
                    let comma = if labels.is_empty() { "" } else { "," };
                    let labels = format!("{labels}{comma}value=\"{}\"", escaped(text, true));
                    line("_info", &labels, Some("1".to_owned()));
                }
            }
        }
    }

    /// A time as it stands behind a number.
    fn time(&self, time: FileTime) -> String {
        match self.format {
            TextFormat::OpenMetrics => format!(" {}", unix_seconds(time)),
            TextFormat::Prometheus => format!(" {}", time.unix_nanoseconds().div_euclid(1_000_000)),
        }
    }
}

impl<W: Write> Sink for Exposition<W> {
    type Error = io::Error;

    fn columns(&mut self, columns: &[Column]) -> io::Result<()> {
        self.families = families(columns, &self.host);
        Ok(())
    }

    fn row(&mut self, row: &Row<'_>) -> io::Result<()> {
        if self.is_written {
            let words =
                "the text formats of Prometheus hold one time; write each row into an exposition of its own";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, words));
        }
        self.is_written = true;
        let mut text = String::new();
        for family in &self.families {
            self.write_family(&mut text, family, row);
        }
        self.out.write_all(text.as_bytes())
    }

    fn finish(&mut self) -> io::Result<()> {
        if self.format == TextFormat::OpenMetrics {
            self.out.write_all(b"# EOF\n")?;
        }
        self.out.flush()
    }
}

/// The metrics of columns, in their order.
fn families(columns: &[Column], host: &str) -> Vec<Family> {
    let has_parts =
        |column: &&Column| column.parts.as_ref().is_some_and(|parts| !is_total(parts.instance.as_ref()));
    // The counters that have an instance beside the total.
    let split: HashSet<CounterOf<'_>> =
        columns.iter().filter(has_parts).filter_map(|column| counter_of(column)).collect();
    // Names of counters in base units: what counts the same in larger units is left out beside them.
    let exact: HashMap<String, CounterOf<'_>> = columns
        .iter()
        .filter_map(|column| {
            let counter = counter_of(column)?;
            let name = named(column, counter);
            (name.factor == 1).then_some((name.name, counter))
        })
        .collect();
    let mut families: Vec<Family> = Vec::new();
    // The position of each family, and which counter has taken its name.
    let mut taken: HashMap<String, (usize, CounterOf<'_>)> = HashMap::new();
    let mut known: HashSet<(usize, String)> = HashSet::new();
    for (cell, column) in columns.iter().enumerate() {
        let Some((counter, parts)) = counter_of(column).zip(column.parts.as_ref()) else { continue };
        if is_total(parts.instance.as_ref()) && split.contains(&counter) {
            continue;
        }
        let base = named(column, counter);
        if base.factor != 1 && exact.get(&base.name).is_some_and(|of| of.0 == counter.0) {
            continue;
        }
        for metric in metrics(column.counter_type) {
            let mut name = format!("{}{}", base.name, metric.suffix);
            let mut position = taken.get(&name).copied();
            if position.is_some_and(|(_, of)| of != counter) {
                if base.factor != 1 {
                    continue;
                }
                let index = column.live.as_ref().map_or(cell, |live| live.counter.0 as usize);
                name = format!("{}_{index}{}", base.name, metric.suffix);
                position = taken.get(&name).copied();
            }
            let position = position.map_or_else(
                || {
                    let is_bytes = base.is_bytes && name.ends_with("_bytes");
                    let unit = if metric.unit.is_empty() && is_bytes { "bytes" } else { metric.unit };
                    let help = help(column, metric);
                    let factor = if metric.unit.is_empty() { base.factor } else { 1 };
                    families.push(Family {
                        name: name.clone(),
                        metric,
                        factor,
                        unit,
                        help,
                        series: Vec::new(),
                    });
                    taken.insert(name.clone(), (families.len().saturating_sub(1), counter));
                    families.len().saturating_sub(1)
                },
                |(position, _)| position,
            );
            let labels = labels(column, host);
            if known.insert((position, labels.clone()))
                && let Some(family) = families.get_mut(position)
            {
                family.series.push((labels, cell));
            }
        }
    }
    families
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
fn is_total(instance: Option<&tallymon_core::path::InstancePath>) -> bool {
    instance.is_some_and(|instance| {
        let name = instance.text();
        name.rsplit([',', '/']).next().is_some_and(|last| last.eq_ignore_ascii_case("_Total"))
    })
}

fn labels(column: &Column, host: &str) -> String {
    let Some(parts) = &column.parts else { return String::new() };
    let mut labels = Vec::new();
    if let Some(machine) = parts.machine.as_ref().filter(|machine| !machine.eq_ignore_ascii_case(host)) {
        labels.push(format!("host=\"{}\"", escaped(machine, true)));
    }
    if let Some(instance) = &parts.instance {
        let number = match instance.index() {
            InstanceIndex::At(number) if number > 0 => format!("#{number}"),
            _ => String::new(),
        };
        labels.push(format!("name=\"{}{number}\"", escaped(instance.text(), true)));
    }
    labels.join(",")
}

/// What a metric is, in one line: the counter, its meaning, its type.
fn help(column: &Column, metric: &Metric) -> String {
    let (object, counter) = counter_of(column).map_or_else(Default::default, |of| (part(of.0), part(of.1)));
    let instance =
        if column.parts.as_ref().is_some_and(|parts| parts.instance.is_some()) { "(*)" } else { "" };
    format!("\\{object}{instance}\\{counter}: {} ({})", metric.meaning, column.counter_type)
}

/// A number as both formats write it.
fn written(figure: Figure, factor: u64) -> String {
    match figure {
        Figure::Whole(whole) => match whole.checked_mul(factor) {
            Some(product) => product.to_string(),
            None => (whole as f64 * factor as f64).to_string(),
        },
        Figure::Real(number) if number.is_nan() => "NaN".to_owned(),
        Figure::Real(number) if number.is_infinite() => if number > 0.0 { "+Inf" } else { "-Inf" }.to_owned(),
        Figure::Real(number) => (number * factor as f64).to_string(),
    }
}

/// A text without the characters that end it. Text behind `# HELP` has no quotation marks to escape in the
/// format 0.0.4.
fn escaped(text: &str, with_quotes: bool) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '"' if with_quotes => out.push_str("\\\""),
            // Some readers take it for the end of a line.
            '\r' => out.push(' '),
            letter => out.push(letter),
        }
    }
    out
}
