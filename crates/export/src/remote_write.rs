//! Remote write 1.0 of Prometheus: samples as one message, which the sender compresses with snappy.
//!
//! <https://prometheus.io/docs/specs/prw/remote_write_spec/>. Series have the names and labels of a scrape,
//! and `job` and `instance`, which a scrape would add. A series that ends gets a stale marker.

use std::collections::{HashMap, HashSet};

use tallymon_core::flow::Row;

use crate::metric::{Figure, MetricKind};
use crate::protobuf::Message;
use crate::series::{Family, Point, label_name};

/// The value that ends a series: a NaN of its own.
const STALE: u64 = 0x7ff0_0000_0000_0002;

/// Writes rows as requests of remote write.
#[derive(Debug)]
pub struct RemoteWrite {
    job: String,
    instance: String,
    /// The series of the row before, as their encoded labels.
    before: HashSet<Vec<u8>>,
    /// Encoded labels by series, which seldom change.
    labels: HashMap<String, Vec<u8>>,
}

impl RemoteWrite {
    /// A writer whose series have these two labels.
    pub fn new(job: &str, instance: &str) -> RemoteWrite {
        let (job, instance) = (job.to_owned(), instance.to_owned());
        RemoteWrite { job, instance, before: HashSet::new(), labels: HashMap::new() }
    }

    /// The request with a row, and how many samples it has.
    pub fn request(&mut self, families: &[Family], row: &Row<'_>) -> (Vec<u8>, u64) {
        let milliseconds = row.time.unix_nanoseconds().div_euclid(1_000_000) as u64;
        let mut request = Message::new();
        let mut now = HashSet::with_capacity(self.before.len());
        let mut samples = 0u64;
        let mut used = HashMap::with_capacity(self.labels.len());
        for family in families {
            for series in &family.series {
                let Some(point) = family.point(series, row) else { continue };
                let mut write = |end: &str, figure: Figure, text: Option<&str>| {
                    let key = key(&family.name, end, &series.labels, text);
                    let labels = match self.labels.remove(&key) {
                        Some(labels) => labels,
                        None => self.encode(&format!("{}{end}", family.name), &series.labels, text),
                    };
                    request.message(1, |to| sample(to, &labels, figure.real().to_bits(), milliseconds));
                    samples = samples.saturating_add(1);
                    now.insert(labels.clone());
                    used.insert(key, labels);
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
        for labels in self.before.iter().filter(|labels| !now.contains(*labels)) {
            request.message(1, |to| sample(to, labels, STALE, milliseconds));
            samples = samples.saturating_add(1);
        }
        (self.before, self.labels) = (now, used);
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

fn key(name: &str, end: &str, labels: &[(&'static str, String)], text: Option<&str>) -> String {
    let mut key = format!("{name}{end}");
    for (name, value) in labels {
        key.extend(["\0", name, "\0", value]);
    }
    key.extend(text.iter().flat_map(|text| ["\0\0", text]));
    key
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
