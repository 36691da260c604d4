//! Requests of OTLP: <https://opentelemetry.io/docs/specs/otlp/>, and
//! `opentelemetry/proto/metrics/v1/metrics.proto`.
//!
//! Both encodings are read point by point, so that a request takes no more memory than its bytes (as JSON,
//! its parsed form).

pub(crate) mod json;
pub(crate) mod protobuf;

use std::borrow::Cow;
use std::fmt;

use crate::store::{Described, SeriesId, Store, Update};
use crate::value::{Change, Number, Shape, TimeUnit};

/// The longest name of a metric, in bytes.
const LONGEST_NAME: usize = 200;
/// The most attributes of a point, a scope or a resource, and the most bytes of their texts.
const MOST_ATTRIBUTES: usize = 64;
const LONGEST_ATTRIBUTES: usize = 4_000;
/// The most attributes of a point, and the most bytes of them: they are the name of an instance.
const MOST_LABELS: usize = 32;
const LONGEST_LABELS: usize = 1_000;
/// The most buckets or quantiles of a point.
pub(crate) const MOST_BUCKETS: usize = 1_024;
/// How deep values of attributes are nested.
pub(crate) const DEEPEST: usize = 4;
/// The flag of a point without a value: its series has ended.
const NO_RECORDED_VALUE: u64 = 1;

/// What tells processes of a service apart.
const INSTANCE_ID: &str = "service.instance.id";

/// A name and its text.
pub(crate) type Attribute = (String, String);

/// What sends.
#[derive(Debug, Default, Clone)]
pub(crate) struct Resource {
    /// In alphabetical order.
    attributes: Vec<Attribute>,
    /// Why its metrics cannot be taken.
    fault: Option<&'static str>,
}

impl Resource {
    pub(crate) fn new(attributes: Result<Vec<Attribute>, &'static str>) -> Resource {
        match attributes.and_then(|some| limited(some, MOST_ATTRIBUTES, LONGEST_ATTRIBUTES)) {
            Ok(attributes) => Resource { attributes, fault: None },
            Err(why) => Resource { attributes: Vec::new(), fault: Some(why) },
        }
    }

    fn get(&self, key: &str) -> Option<&str> {
        let found = self.attributes.iter().find(|(name, _)| name == key);
        found.map(|(_, text)| text.as_str()).filter(|text| !text.is_empty())
    }
}

/// Attributes in alphabetical order, unless there are too many.
fn limited(mut some: Vec<Attribute>, most: usize, longest: usize) -> Result<Vec<Attribute>, &'static str> {
    let lengths = some.iter().map(|(name, text)| name.len().saturating_add(text.len()));
    if some.len() > most || lengths.fold(0usize, usize::saturating_add) > longest {
        return Err(
            "a point has more than 32 attributes or 1,000 bytes of them, or its resource more than 64 or \
                    4,000 bytes",
        );
    }
    some.sort();
    some.dedup();
    Ok(some)
}

/// What a sum or histogram counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Temporality {
    #[default]
    Unspecified,
    /// Since the point before.
    Delta,
    /// Since its start.
    Cumulative,
}

impl Temporality {
    pub(crate) fn of(number: u64) -> Temporality {
        match number {
            1 => Temporality::Delta,
            2 => Temporality::Cumulative,
            _ => Temporality::Unspecified,
        }
    }
}

/// The kind of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MetricKind {
    Gauge,
    Sum { is_monotonic: bool },
    Histogram,
    ExponentialHistogram,
    Summary,
}

/// A metric, to which points follow.
#[derive(Debug)]
pub(crate) struct Metric<'a> {
    pub(crate) resource: &'a Resource,
    /// The name and version of the library that has it.
    pub(crate) scope: &'a str,
    pub(crate) name: Cow<'a, str>,
    pub(crate) description: Cow<'a, str>,
    pub(crate) unit: Cow<'a, str>,
    pub(crate) kind: MetricKind,
    pub(crate) temporality: Temporality,
}

/// A point.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Point {
    pub(crate) attributes: Vec<Attribute>,
    pub(crate) time: u64,
    pub(crate) flags: u64,
    pub(crate) data: Data,
}

/// The numbers of a point.
#[derive(Debug, PartialEq, Default)]
pub(crate) struct Data {
    /// Of a gauge or sum.
    pub(crate) number: Option<Number>,
    pub(crate) count: u64,
    pub(crate) sum: Option<f64>,
    /// Of a histogram: how many values each bucket has, and the bounds between them.
    pub(crate) buckets: Vec<u64>,
    pub(crate) bounds: Vec<f64>,
    pub(crate) exponential: Exponential,
    /// Of a summary: quantiles and their values.
    pub(crate) quantiles: Vec<(f64, f64)>,
}

impl Data {
    /// The buckets of a histogram with their bounds.
    fn buckets(&self) -> Result<Vec<(f64, f64, u64)>, &'static str> {
        if self.buckets.is_empty() {
            return Ok(Vec::new());
        }
        let is_ordered = self.bounds.iter().zip(self.bounds.iter().skip(1)).all(|(one, next)| one < next);
        let is_finite = self.bounds.iter().all(|bound| bound.is_finite());
        let all = self.buckets.iter().fold(0u64, |all, count| all.saturating_add(*count));
        let is_whole = self.buckets.len() == self.bounds.len().saturating_add(1);
        if !is_whole || !is_ordered || !is_finite || all != self.count {
            return Err("the buckets of a histogram do not fit its bounds or its count");
        }
        let lows = std::iter::once(f64::NEG_INFINITY).chain(self.bounds.iter().copied());
        let highs = self.bounds.iter().copied().chain(std::iter::once(f64::INFINITY));
        Ok(lows.zip(highs).zip(&self.buckets).map(|((low, high), count)| (low, high, *count)).collect())
    }
}

/// Buckets whose bounds are powers of a base, which is 2 to the power of 2^-scale.
#[derive(Debug, PartialEq, Default)]
pub(crate) struct Exponential {
    pub(crate) scale: i32,
    pub(crate) zero_count: u64,
    pub(crate) zero_threshold: f64,
    /// The number of the first bucket, and how many values each one has.
    pub(crate) positive: (i32, Vec<u64>),
    pub(crate) negative: (i32, Vec<u64>),
}

impl Exponential {
    /// The values between powers of two: their lower and upper bound and their number. Its own buckets are
    /// that wide, or narrower by a whole number of them, unless the scale is negative: so the numbers are
    /// exact, and the bounds stay when a sender chooses another scale.
    fn buckets(&self) -> Result<Vec<(f64, f64, u64)>, &'static str> {
        let mut found: Vec<(f64, f64, u64)> = Vec::new();
        let mut push = |low: f64, high: f64, count: u64| match found.last_mut() {
            Some(last) if last.0 == low && last.1 == high => last.2 = last.2.saturating_add(count),
            _ => found.push((low, high, count)),
        };
        // A value is in bucket i if it is above base^i and not above base^(i+1); of the negative ones, its
        // size.
        for (number, count) in numbered(&self.negative).filter(|(_, count)| *count > 0) {
            push(-self.power(number, true)?, -self.power(number, false)?, count);
        }
        if self.zero_count > 0 {
            push(-self.zero_threshold, self.zero_threshold, self.zero_count);
        }
        for (number, count) in numbered(&self.positive).filter(|(_, count)| *count > 0) {
            push(self.power(number, false)?, self.power(number, true)?, count);
        }
        Ok(found)
    }

    /// The power of two at the end of a bucket that is farther from 0, or nearer to it.
    fn power(&self, number: i64, is_upper: bool) -> Result<f64, &'static str> {
        const FAR: &str = "a bucket of an exponential histogram is beyond the numbers that there are";
        let exponent = match u32::try_from(self.scale) {
            // So many buckets are a power of two.
            Ok(scale) if scale <= 20 => number >> scale,
            Ok(_) => return Err("the scale of an exponential histogram is above 20"),
            Err(_) => {
                let wide = 1i64.checked_shl(self.scale.unsigned_abs()).filter(|wide| *wide <= 1 << 12);
                let wide = wide.ok_or("the scale of an exponential histogram is below -12")?;
                let first = number.checked_mul(wide).ok_or(FAR)?;
                if is_upper { first.saturating_add(wide).saturating_sub(1) } else { first }
            }
        };
        let exponent = if is_upper { exponent.saturating_add(1) } else { exponent };
        let power = i32::try_from(exponent).map_err(|_| FAR)?;
        let power = 2f64.powi(power);
        if power.is_finite() { Ok(power) } else { Err(FAR) }
    }
}

/// Buckets with their numbers.
fn numbered((offset, counts): &(i32, Vec<u64>)) -> impl Iterator<Item = (i64, u64)> + '_ {
    (i64::from(*offset)..).zip(counts.iter().copied())
}

/// Takes points; those that cannot be read have a reason.
pub(crate) type Take<'t> = dyn FnMut(&Metric<'_>, Result<Point, &'static str>) + 't;

/// Why a request is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BadRequest(pub(crate) String);

impl fmt::Display for BadRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// How many points of a request were taken, how many were not, and why the first of these was not.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Outcome {
    pub(crate) taken: u64,
    pub(crate) left_out: u64,
    pub(crate) why: Option<String>,
}

impl Outcome {
    fn leave_out(&mut self, metric: &str, why: &str) {
        self.left_out = self.left_out.saturating_add(1);
        let name: String = metric.chars().take(LONGEST_NAME).collect();
        self.why.get_or_insert_with(|| format!("{name:?}: {why}"));
    }
}

/// Reads a request into the store.
///
/// # Errors
///
/// It is no request; what came before the fault was taken.
pub(crate) fn receive(
    request: &[u8],
    is_json: bool,
    store: &mut Store,
    receiver: usize,
) -> Result<Outcome, BadRequest> {
    let mut outcome = Outcome::default();
    let mut take = |metric: &Metric<'_>, point: Result<Point, &'static str>| match point
        .and_then(|point| add(metric, point, store, receiver))
    {
        Ok(()) => outcome.taken = outcome.taken.saturating_add(1),
        Err(why) => outcome.leave_out(&metric.name, why),
    };
    if is_json {
        json::read(request, &mut take)?
    } else {
        protobuf::read(request, &mut take)?
    }
    Ok(outcome)
}

/// A series of a metric, to which numbers are added.
struct Place<'a> {
    metric: &'a Metric<'a>,
    object: String,
    /// The attributes, in order.
    attributes: Vec<Attribute>,
    time: u64,
    receiver: usize,
}

/// An object beside the one of the metric, and what its instances are besides the attributes.
struct Part<'a> {
    /// The end of its name.
    end: &'a str,
    label: &'a str,
    text: String,
}

impl Place<'_> {
    /// The object, the instance, and what tells the series apart.
    fn series(&self, store: &Store, part: Option<Part<'_>>) -> (String, String, SeriesId) {
        let resource = self.metric.resource;
        let (mut object, mut labels) = (self.object.clone(), self.attributes.clone());
        if let Some(Part { end, label, text }) = part {
            object.push_str(end);
            labels.push((label.to_owned(), text));
        }
        // Two processes of one service may have the same attributes; if they say who they are, it is shown.
        if let Some(id) = resource.get(INSTANCE_ID) {
            labels.push((INSTANCE_ID.to_owned(), id.to_owned()));
        }
        let identity = store.identity(&(&resource.attributes, self.metric.scope, &self.metric.name, &labels));
        let labels: Vec<String> = labels.iter().map(|(name, text)| format!("{name}={text}")).collect();
        (object, labels.join(","), identity)
    }

    fn change(
        &self,
        store: &mut Store,
        shape: Shape,
        part: Option<Part<'_>>,
        change: Change<'_>,
    ) -> Result<(), &'static str> {
        let metric = self.metric;
        let (object, instance, identity) = self.series(store, part);
        let help = match metric.description.trim() {
            "" => format!("{} as programs send it by OTLP.", metric.name),
            words => words.to_owned(),
        };
        let unit = if metric.unit == "1" { "" } else { &metric.unit };
        let described = Described { object: &object, shape, help: &help, unit };
        let (time, receiver) = (self.time, self.receiver);
        store.update(&described, &Update { identity, instance: &instance, change, time, receiver })
    }

    /// Adds how many values there are between two bounds.
    fn bucket(
        &self,
        store: &mut Store,
        (low, high, count): (f64, f64, u64),
        is_delta: bool,
    ) -> Result<(), &'static str> {
        let words = |bound: f64| match bound {
            f64::INFINITY => "+Inf".to_owned(),
            f64::NEG_INFINITY => "-Inf".to_owned(),
            // There is no negative zero to read.
            bound => (bound + 0.0).to_string(),
        };
        let text = if low == high { words(high) } else { format!("{}..{}", words(low), words(high)) };
        let number = Number::Whole(i64::try_from(count).unwrap_or(i64::MAX));
        let change = if is_delta { Change::Add(number) } else { Change::Set(number) };
        self.change(store, Shape::Bucket, Some(Part { end: " buckets", label: "bucket", text }), change)
    }

    /// Adds a number; both kinds of temporality become a sum since a start.
    fn number(&self, store: &mut Store, number: Option<Number>) -> Result<(), &'static str> {
        let metric = self.metric;
        let number = number.ok_or("a point has no number")?;
        if !number.real().is_finite() {
            return Err("a number is infinite or none");
        }
        let counter = TimeUnit::of_ucum(&metric.unit).map_or(Shape::Count, Shape::Time);
        let (shape, change) = match (metric.kind, metric.temporality) {
            (MetricKind::Sum { .. }, Temporality::Unspecified) => {
                return Err("a sum does not say whether it is delta or cumulative");
            }
            (MetricKind::Sum { is_monotonic: true }, Temporality::Delta) if number.real() < 0.0 => {
                return Err("a monotonic sum is negative");
            }
            (MetricKind::Sum { is_monotonic: true }, Temporality::Delta) => (counter, Change::Add(number)),
            (MetricKind::Sum { is_monotonic: true }, _) => (counter, Change::Set(number)),
            (MetricKind::Sum { .. }, Temporality::Delta) => (Shape::Gauge, Change::MoveGauge(number.real())),
            _ => (Shape::Gauge, Change::SetGauge(number.real())),
        };
        self.change(store, shape, None, change)
    }
}

fn add(metric: &Metric<'_>, point: Point, store: &mut Store, receiver: usize) -> Result<(), &'static str> {
    if let Some(why) = metric.resource.fault {
        return Err(why);
    }
    if metric.name.is_empty() || metric.name.len() > LONGEST_NAME {
        return Err("a metric has no name, or one of more than 200 bytes");
    }
    let attributes = limited(point.attributes, MOST_LABELS, LONGEST_LABELS)?;
    let service = metric.resource.get("service.name").unwrap_or("otlp");
    let place = Place {
        metric,
        object: format!("{service} {}", metric.name),
        attributes,
        time: point.time,
        receiver,
    };
    if point.flags & NO_RECORDED_VALUE != 0 {
        let (object, _, identity) = place.series(store, None);
        store.end(&object, identity);
        return Ok(());
    }
    let data = point.data;
    if matches!(metric.kind, MetricKind::Gauge | MetricKind::Sum { .. }) {
        return place.number(store, data.number);
    }
    if data.sum.is_some_and(|sum| !sum.is_finite()) {
        return Err("the sum of a histogram is infinite or none");
    }
    let is_delta = match (metric.kind, metric.temporality) {
        (MetricKind::Summary, _) | (_, Temporality::Cumulative) => false,
        (_, Temporality::Delta) => true,
        (_, Temporality::Unspecified) => {
            return Err("a histogram does not say whether it is delta or cumulative");
        }
    };
    let buckets = match metric.kind {
        MetricKind::ExponentialHistogram => data.exponential.buckets()?,
        _ => data.buckets()?,
    };
    let shape = Shape::Observations(TimeUnit::of_ucum(&metric.unit));
    let change = Change::Observe { count: data.count, sum: data.sum, is_delta };
    place.change(store, shape, None, change)?;
    for bucket in buckets {
        place.bucket(store, bucket, is_delta)?;
    }
    for (quantile, value) in data.quantiles.iter().filter(|(_, value)| !value.is_nan()) {
        let part = Part { end: " quantiles", label: "quantile", text: quantile.to_string() };
        place.change(store, Shape::Quantile, Some(part), Change::SetGauge(*value))?;
    }
    Ok(())
}

#[cfg(test)]
#[path = "otlp_tests.rs"]
mod tests;
