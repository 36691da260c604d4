//! Prometheus' protobuf format: one row as delimited messages of `io.prometheus.client.MetricFamily`.
//!
//! <https://github.com/prometheus/client_model/blob/master/io/prometheus/client/metrics.proto>. Each message
//! has its length before it. Names are those of the text format 0.0.4 (a counter ends with `_total`), because
//! a scraper takes them as they stand. A summary has its sum and count, and neither quantiles nor buckets:
//! NT's counters have none.

use tallymon_core::flow::Row;

use crate::metric::{Figure, MetricKind};
use crate::protobuf::Message;
use crate::series::{Family, Point, label_name};

/// The content type that HTTP names the format by.
pub const CONTENT_TYPE: &str =
    "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited";

/// `MetricType` of the schema.
const COUNTER: u64 = 0;
const GAUGE: u64 = 1;
const SUMMARY: u64 = 2;

/// A row as a whole exposition; `with_times` writes the time of the row into each metric.
pub fn exposition(families: &[Family], row: &Row<'_>, with_times: bool) -> Vec<u8> {
    let time = with_times.then(|| row.time.unix_nanoseconds().div_euclid(1_000_000));
    let time = time.and_then(|milliseconds| i64::try_from(milliseconds).ok());
    let mut all = Message::new();
    for family in families {
        let mut metrics = Message::new();
        let mut is_empty = true;
        for series in &family.series {
            if let Some(point) = family.point(series, row) {
                metrics.message(4, |metric| write_point(metric, &series.labels, point, time));
                is_empty = false;
            }
        }
        if !is_empty {
            let mut message = head(family);
            message.append(&metrics.into_bytes());
            all.delimited(&message.into_bytes());
        }
    }
    all.into_bytes()
}

/// Name, help, type and unit of a family.
fn head(family: &Family) -> Message {
    let (end, kind) = match family.kind {
        MetricKind::Gauge(_) => ("", GAUGE),
        MetricKind::Counter(_) => ("_total", COUNTER),
        MetricKind::Summary { .. } => ("", SUMMARY),
        MetricKind::Info => ("_info", GAUGE),
    };
    let mut message = Message::new();
    message.bytes(1, format!("{}{end}", family.name));
    message.bytes(2, &family.help);
    message.varint(3, kind);
    if !family.unit.is_empty() {
        message.bytes(5, family.unit);
    }
    message
}

fn write_point(
    metric: &mut Message,
    labels: &[(&'static str, String)],
    point: Point<'_>,
    milliseconds: Option<i64>,
) {
    let text = match point {
        Point::Info(text) => Some(("value", text)),
        _ => None,
    };
    for (name, value) in labels.iter().map(|(name, value)| (*name, value.as_str())).chain(text) {
        metric.message(1, |label| {
            label.bytes(1, label_name(name).as_bytes());
            label.bytes(2, value);
        });
    }
    match point {
        Point::Gauge(figure) => metric.message(2, |gauge| gauge.double(1, figure.real())),
        Point::Info(_) => metric.message(2, |gauge| gauge.double(1, 1.0)),
        Point::Counter(figure) => metric.message(3, |counter| counter.double(1, figure.real())),
        Point::Summary { sum, count } => metric.message(4, |summary| {
            summary.varint(1, whole(count));
            summary.double(2, sum.real());
        }),
    }
    if let Some(milliseconds) = milliseconds {
        // An int64 below 0 has the bits of its two's complement.
        metric.varint(6, milliseconds.cast_unsigned());
    }
}

/// A count, which the schema has as a whole number.
fn whole(count: Figure) -> u64 {
    match count {
        Figure::Whole(whole) => whole,
        // Saturates, and has 0 for what is not a number.
        Figure::Real(number) => number as u64,
    }
}
