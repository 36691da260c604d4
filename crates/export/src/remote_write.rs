//! Remote write 1.0 of Prometheus: samples as one message, which the sender compresses with snappy.
//!
//! <https://prometheus.io/docs/specs/prw/remote_write_spec/>. Series have the names and labels of a scrape,
//! and `job` and `instance`, which a scrape would add. A series that ends gets a stale marker.

use std::collections::HashSet;

use tallymon_core::flow::Row;

use crate::metric::{Figure, MetricKind};
use crate::protobuf::Message;
use crate::series::{Family, Point, label_name};

/// The value that ends a series: a NaN of its own.
const STALE: u64 = 0x7ff0_0000_0000_0002;

/// How far behind its place a series of the row before is looked for.
const NEAR: usize = 64;

/// Writes rows as requests of remote write.
#[derive(Debug)]
pub struct RemoteWrite {
    job: String,
    instance: String,
    /// The series of the row before, in their order. Most rows have the same ones.
    known: Vec<Known>,
}

/// A series with its encoded labels.
#[derive(Debug)]
struct Known {
    name: String,
    end: &'static str,
    labels: Vec<(&'static str, String)>,
    text: Option<String>,
    encoded: Vec<u8>,
}

impl Known {
    fn is(&self, name: &str, end: &str, labels: &[(&'static str, String)], text: Option<&str>) -> bool {
        self.name == name && self.end == end && self.labels == labels && self.text.as_deref() == text
    }
}

/// The series of the row before, as those of this row are found in it.
struct Before {
    all: Vec<Option<Known>>,
    at: usize,
}

impl Before {
    /// A series, if it is at its place or near it.
    fn take(&mut self, is_it: impl Fn(&Known) -> bool) -> Option<Known> {
        let near = self.all.get_mut(self.at..)?.iter_mut().take(NEAR);
        let (ahead, found) = near.enumerate().find(|(_, known)| known.as_ref().is_some_and(&is_it))?;
        self.at = self.at.saturating_add(ahead).saturating_add(1);
        found.take()
    }
}

impl RemoteWrite {
    /// A writer whose series have these two labels.
    pub fn new(job: &str, instance: &str) -> RemoteWrite {
        RemoteWrite { job: job.to_owned(), instance: instance.to_owned(), known: Vec::new() }
    }

    /// The request with a row, and how many samples it has.
    pub fn request(&mut self, families: &[Family], row: &Row<'_>) -> (Vec<u8>, u64) {
        let milliseconds = row.time.unix_nanoseconds().div_euclid(1_000_000) as u64;
        let mut request = Message::new();
        let mut now: Vec<Known> = Vec::with_capacity(self.known.len());
        let mut before = Before { all: self.known.drain(..).map(Some).collect(), at: 0 };
        for family in families {
            for series in &family.series {
                let Some(point) = family.point(series, row) else { continue };
                let (name, labels) = (&family.name, &series.labels);
                let mut write = |end: &'static str, figure: Figure, text: Option<&str>| {
                    let known = before.take(|known| known.is(name, end, labels, text));
                    let known = known.unwrap_or_else(|| Known {
                        name: name.clone(),
                        end,
                        labels: labels.clone(),
                        text: text.map(str::to_owned),
                        encoded: self.encode(&format!("{name}{end}"), labels, text),
                    });
                    let bits = figure.real().to_bits();
                    request.message(1, |to| sample(to, &known.encoded, bits, milliseconds));
                    now.push(known);
                };
                match point {
                    Point::Gauge(value) => write("", value, None),
                    Point::Counter(value) => write("_total", value, None),
                    Point::Summary { sum, count } => {
                        write("_sum", sum, None);
                        write("_count", count, None);
                    }
                    Point::Info(text) => write("_info", Figure::Whole(1), Some(text)),
                }
            }
        }
        let mut samples = now.len() as u64;
        let left: HashSet<&[u8]> =
            before.all.iter().flatten().map(|known| known.encoded.as_slice()).collect();
        if !left.is_empty() {
            // One that is elsewhere in the row has not ended.
            let there: HashSet<&[u8]> = now.iter().map(|known| known.encoded.as_slice()).collect();
            for labels in left.difference(&there) {
                request.message(1, |to| sample(to, labels, STALE, milliseconds));
                samples = samples.saturating_add(1);
            }
        }
        self.known = now;
        for family in families {
            request.message(3, |to| metadata(to, family));
        }
        (request.into_bytes(), samples)
    }

    /// The labels of a series, sorted by name.
    fn encode(&self, name: &str, labels: &[(&'static str, String)], text: Option<&str>) -> Vec<u8> {
        let mut all = vec![("__name__", name), ("job", &self.job), ("instance", &self.instance)];
        let names: Vec<_> = labels.iter().map(|(key, _)| label_name(key)).collect();
        all.extend(names.iter().map(AsRef::as_ref).zip(labels.iter().map(|(_, value)| value.as_str())));
        all.extend(text.map(|text| ("value", text)));
        all.sort_unstable();
        let mut encoded = Message::new();
        // A label without a value is the same as none.
        for (key, value) in all.into_iter().filter(|(_, value)| !value.is_empty()) {
            encoded.message(1, |to| {
                to.bytes(1, key);
                to.bytes(2, value);
            });
        }
        encoded.into_bytes()
    }
}

fn sample(to: &mut Message, labels: &[u8], value: u64, milliseconds: u64) {
    to.append(labels);
    to.message(2, |sample| {
        sample.fixed64(1, value);
        sample.varint(2, milliseconds);
    });
}

fn metadata(to: &mut Message, family: &Family) {
    let (end, kind) = match family.kind {
        MetricKind::Counter(_) => ("_total", 1),
        MetricKind::Gauge(_) => ("", 2),
        MetricKind::Summary { .. } => ("", 5),
        MetricKind::Info => ("_info", 6),
    };
    to.varint(1, kind);
    to.bytes(2, format!("{}{end}", family.name));
    to.bytes(4, &family.help);
    if !family.unit.is_empty() {
        to.bytes(5, family.unit);
    }
}
