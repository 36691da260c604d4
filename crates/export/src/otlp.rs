//! OTLP: metrics of OpenTelemetry as one request of `application/x-protobuf`.
//!
//! <https://opentelemetry.io/docs/specs/otlp/> and `opentelemetry/proto/metrics/v1/metrics.proto` 1.x. A
//! gauge is a Gauge, a counter a monotonic Sum, a summary a Histogram with one bucket, a text a Gauge of 1
//! with the attribute `value`. Names are those of the other formats; the unit stands beside them, in UCUM.
//!
//! Nobody knows since when a counter counts: a provider may have started at any time. So a series starts with
//! its first point, whose start is its own time; OpenTelemetry takes such a point as the unknown beginning.
//! A number that went backwards starts a new series in the same way.

use std::collections::HashMap;

use tallymon_core::flow::Row;
use tallymon_core::time::FileTime;

use crate::metric::Figure;
use crate::profile::NUMBERS;
use crate::protobuf::{Field, Message, fields};
use crate::series::{Family, Point};

/// Which numbers of counters are exported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Temporality {
    /// Numbers since the start of the series.
    #[default]
    Cumulative,
    /// Differences from the export before.
    Delta,
    /// Sums as numbers since the start, histograms as differences: what costs a program the least memory.
    LowMemory,
}

/// Writes rows as requests of OTLP.
#[derive(Debug)]
pub struct Otlp {
    resource: Vec<(String, String)>,
    temporality: Temporality,
    known: HashMap<String, Known>,
    exports: u64,
}

/// What the receiver knows of a series.
#[derive(Debug, Clone, Copy)]
struct Known {
    start: u64,
    time: u64,
    sum: Figure,
    count: Figure,
    /// The number of the last export that had it.
    export: u64,
}

/// What a receiver did not take, though it took the request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartialSuccess {
    /// How many points were rejected; 0 for a warning.
    pub rejected: u64,
    /// Why.
    pub message: String,
}

/// The times and numbers of a point.
struct Span {
    start: u64,
    sum: Figure,
    count: Figure,
}

impl Otlp {
    /// A writer of requests with these attributes of the resource, such as `service.name`.
    pub fn new(resource: Vec<(String, String)>, temporality: Temporality) -> Otlp {
        Otlp { resource, temporality, known: HashMap::new(), exports: 0 }
    }

    /// The request with a row, and how many points it has.
    pub fn request(&mut self, families: &[Family], row: &Row<'_>) -> (Vec<u8>, u64) {
        self.exports = self.exports.saturating_add(1);
        let time = unix_nanoseconds(row.time);
        let mut metrics = Message::new();
        metrics.message(1, |scope| {
            scope.bytes(1, "tallymon");
            scope.bytes(2, env!("CARGO_PKG_VERSION"));
        });
        let mut points = 0u64;
        for family in families {
            let mut data = Message::new();
            let mut count = 0u64;
            let mut last = None;
            for series in &family.series {
                let Some(point) = family.point(series, row) else { continue };
                let labels = &series.labels;
                let is_written = match point {
                    Point::Gauge(figure) => {
                        data.message(1, |to| number_point(to, labels, None, (None, time), figure));
                        true
                    }
                    Point::Info(text) => {
                        let one = Figure::Whole(1);
                        data.message(1, |to| number_point(to, labels, Some(text), (None, time), one));
                        true
                    }
                    Point::Counter(sum) => {
                        let span = self.span(family, labels, time, (sum, None));
                        if let Some(span) = &span {
                            let times = (Some(span.start), time);
                            data.message(1, |to| number_point(to, labels, None, times, span.sum));
                        }
                        span.is_some()
                    }
                    Point::Summary { sum, count } => {
                        let span = self.span(family, labels, time, (sum, Some(count)));
                        if let Some(span) = &span {
                            data.message(1, |to| histogram_point(to, labels, span, time));
                        }
                        span.is_some()
                    }
                };
                last = Some(point);
                count = count.saturating_add(u64::from(is_written));
            }
            let Some(point) = last.filter(|_| count > 0) else { continue };
            points = points.saturating_add(count);
            metrics.message(2, |metric| self.metric(metric, family, point, data));
        }
        let export = self.exports;
        self.known.retain(|_, known| known.export == export);
        let mut request = Message::new();
        request.message(1, |to| {
            to.message(1, |resource| {
                for (key, value) in &self.resource {
                    attribute(resource, 1, key, value);
                }
            });
            to.bytes(2, metrics.into_bytes());
        });
        (request.into_bytes(), points)
    }

    fn metric(&self, metric: &mut Message, family: &Family, point: Point<'_>, mut data: Message) {
        let is_info = matches!(point, Point::Info(_));
        match family.semantic {
            Some(semantic) => metric.bytes(1, semantic.name),
            None => metric.bytes(1, format!("{}{}", family.name, if is_info { "_info" } else { "" })),
        }
        metric.bytes(2, &family.help);
        let unit = match (family.semantic, family.unit) {
            (Some(semantic), _) => semantic.unit,
            (None, "seconds") => "s",
            (None, "bytes") => "By",
            (None, "ratio") => "1",
            (None, _) => "",
        };
        if !unit.is_empty() {
            metric.bytes(3, unit);
        }
        let temporality = |is_delta| if is_delta { 1 } else { 2 };
        match point {
            // A sum that is not monotonic.
            Point::Gauge(_) if family.semantic.is_some_and(|semantic| semantic.is_up_down) => {
                data.varint(2, temporality(false));
                metric.bytes(7, data.into_bytes());
            }
            Point::Gauge(_) | Point::Info(_) => metric.bytes(5, data.into_bytes()),
            Point::Counter(_) => {
                data.varint(2, temporality(self.is_delta(false)));
                data.varint(3, 1);
                metric.bytes(7, data.into_bytes());
            }
            Point::Summary { .. } => {
                data.varint(2, temporality(self.is_delta(true)));
                metric.bytes(9, data.into_bytes());
            }
        }
    }

    const fn is_delta(&self, is_histogram: bool) -> bool {
        match self.temporality {
            Temporality::Cumulative => false,
            Temporality::Delta => true,
            Temporality::LowMemory => is_histogram,
        }
    }

    /// The start and the numbers of a point; `None` for the first one of differences.
    fn span(
        &mut self,
        family: &Family,
        labels: &[(&'static str, String)],
        time: u64,
        (sum, count): (Figure, Option<Figure>),
    ) -> Option<Span> {
        let mut key = family.name.clone();
        for (name, value) in labels {
            // No name has a character of this kind.
            key.extend(["\0", name, "\0", value]);
        }
        let (is_histogram, count) = (count.is_some(), count.unwrap_or(Figure::Whole(0)));
        let export = self.exports;
        let before = self.known.get(&key).copied();
        // A time that does not advance comes from a clock that was set back.
        let goes_on = |known: &Known| {
            is_at_least(sum, known.sum) && is_at_least(count, known.count) && time > known.time
        };
        let before = before.filter(goes_on);
        let start = before.map_or(time, |known| known.start);
        self.known.insert(key, Known { start, time, sum, count, export });
        if !self.is_delta(is_histogram) {
            return Some(Span { start, sum, count });
        }
        let before = before?;
        Some(Span { start: before.time, sum: less(sum, before.sum), count: less(count, before.count) })
    }
}

/// What the body of an answer says that was not taken; `None` if everything was.
pub fn partial_success(body: &[u8]) -> Option<PartialSuccess> {
    let (_, field) = fields(body).find(|(number, _)| *number == 1)?;
    let Field::Bytes(inner) = field else { return None };
    let mut found = PartialSuccess { rejected: 0, message: String::new() };
    for (number, field) in fields(inner) {
        match (number, field) {
            (1, Field::Varint(rejected)) => found.rejected = rejected,
            (2, Field::Bytes(text)) => found.message = String::from_utf8_lossy(text).into_owned(),
            _ => {}
        }
    }
    (found.rejected > 0 || !found.message.is_empty()).then_some(found)
}

/// What the body of a refusal says: `google.rpc.Status`.
pub fn status_message(body: &[u8]) -> Option<String> {
    fields(body).find_map(|(number, field)| match field {
        Field::Bytes(text) if number == 2 => Some(String::from_utf8_lossy(text).into_owned()),
        _ => None,
    })
}

fn is_at_least(now: Figure, before: Figure) -> bool {
    match (now, before) {
        (Figure::Whole(now), Figure::Whole(before)) => now >= before,
        _ => now.real() >= before.real(),
    }
}

fn less(now: Figure, before: Figure) -> Figure {
    match (now, before) {
        (Figure::Whole(now), Figure::Whole(before)) => Figure::Whole(now.saturating_sub(before)),
        _ => Figure::Real(now.real() - before.real()),
    }
}

fn unix_nanoseconds(time: FileTime) -> u64 {
    u64::try_from(time.unix_nanoseconds()).unwrap_or(0)
}

fn attribute(to: &mut Message, field: u32, key: &str, value: &str) {
    to.message(field, |pair| {
        pair.bytes(1, key);
        pair.message(2, |any| match value.parse() {
            Ok(number) if NUMBERS.contains(&key) => any.varint(3, number),
            _ => any.bytes(1, value),
        });
    });
}

fn number_point(
    to: &mut Message,
    labels: &[(&'static str, String)],
    text: Option<&str>,
    (start, time): (Option<u64>, u64),
    figure: Figure,
) {
    if let Some(start) = start {
        to.fixed64(2, start);
    }
    to.fixed64(3, time);
    match figure {
        Figure::Whole(whole) if i64::try_from(whole).is_ok() => to.fixed64(6, whole),
        other => to.double(4, other.real()),
    }
    let text = text.map(|text| ("value", text));
    for (key, value) in labels.iter().map(|(key, value)| (*key, value.as_str())).chain(text) {
        attribute(to, 7, key, value);
    }
}

fn histogram_point(to: &mut Message, labels: &[(&'static str, String)], span: &Span, time: u64) {
    to.fixed64(2, span.start);
    to.fixed64(3, time);
    let count = match span.count {
        Figure::Whole(whole) => whole,
        Figure::Real(number) => number as u64,
    };
    to.fixed64(4, count);
    to.double(5, span.sum.real());
    // One bucket without bounds has everything.
    to.bytes(6, count.to_le_bytes());
    for (key, value) in labels {
        attribute(to, 9, key, value);
    }
}
