//! Requests as JSON: <https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding>. Whole numbers of 64
//! bits are texts or numbers; fields that are not known are passed over.

use std::borrow::Cow;

use serde_json::Value;

use super::{
    Attribute, BadRequest, DEEPEST, Data, Exponential, MOST_BUCKETS, Metric, MetricKind, Point, Resource,
    Take, Temporality,
};
use crate::value::Number;

/// Reads a request.
///
/// # Errors
///
/// It is none.
pub(crate) fn read(request: &[u8], take: &mut Take<'_>) -> Result<(), BadRequest> {
    let wrong = |words: &dyn std::fmt::Display| {
        BadRequest(format!("the request is no ExportMetricsServiceRequest as JSON: {words}"))
    };
    let request: Value = serde_json::from_slice(request).map_err(|error| wrong(&error))?;
    if !request.is_object() {
        return Err(wrong(&"an object with resourceMetrics was expected"));
    }
    for resource_metrics in list(&request, "resourceMetrics") {
        let resource = resource_metrics.get("resource");
        let resource = Resource::new(resource.map_or(Ok(Vec::new()), attributes));
        for scope_metrics in list(resource_metrics, "scopeMetrics") {
            let scope = scope_metrics.get("scope").map(|scope| text(scope, "name")).unwrap_or_default();
            for metric in list(scope_metrics, "metrics") {
                read_metric(metric, &resource, &scope, take);
            }
        }
    }
    Ok(())
}

fn list<'v>(value: &'v Value, key: &str) -> impl Iterator<Item = &'v Value> {
    value.get(key).and_then(Value::as_array).into_iter().flatten()
}

fn text<'v>(value: &'v Value, key: &str) -> Cow<'v, str> {
    value.get(key).and_then(Value::as_str).unwrap_or_default().into()
}

/// A whole number that is a text or a number; 0 without one.
fn whole(value: Option<&Value>) -> Result<u64, &'static str> {
    match value {
        None | Some(Value::Null) => Ok(0),
        Some(Value::String(text)) => text.parse().map_err(|_| WRONG),
        Some(value) => value.as_u64().ok_or(WRONG),
    }
}

const WRONG: &str = "a whole number of the point is none, or negative";

fn small(value: Option<&Value>) -> Result<i32, &'static str> {
    let number = value.map_or(Some(0), Value::as_i64);
    number.and_then(|number| i32::try_from(number).ok()).ok_or("a scale or offset is not a number of 32 bits")
}

/// A number with fractions, which can be the text `NaN`, `Infinity` or `-Infinity`.
fn real(value: &Value) -> Option<f64> {
    match value {
        Value::String(text) => match text.as_str() {
            "NaN" => Some(f64::NAN),
            "Infinity" => Some(f64::INFINITY),
            "-Infinity" => Some(f64::NEG_INFINITY),
            text => text.parse().ok(),
        },
        value => value.as_f64(),
    }
}

fn temporality(data: &Value) -> Temporality {
    match data.get("aggregationTemporality") {
        Some(Value::String(name)) if name == "AGGREGATION_TEMPORALITY_DELTA" => Temporality::Delta,
        Some(Value::String(name)) if name == "AGGREGATION_TEMPORALITY_CUMULATIVE" => Temporality::Cumulative,
        Some(number) => Temporality::of(number.as_u64().unwrap_or_default()),
        None => Temporality::Unspecified,
    }
}

fn read_metric(metric: &Value, resource: &Resource, scope: &str, take: &mut Take<'_>) {
    let is_monotonic = |data: &Value| data.get("isMonotonic").and_then(Value::as_bool).unwrap_or_default();
    let kinds = ["gauge", "sum", "histogram", "exponentialHistogram", "summary"];
    let found = kinds.iter().find_map(|kind| Some((*kind, metric.get(kind)?)));
    let Some((kind, data)) = found else { return };
    let kind = match kind {
        "gauge" => MetricKind::Gauge,
        "sum" => MetricKind::Sum { is_monotonic: is_monotonic(data) },
        "histogram" => MetricKind::Histogram,
        "exponentialHistogram" => MetricKind::ExponentialHistogram,
        _ => MetricKind::Summary,
    };
    let head = Metric {
        resource,
        scope,
        name: text(metric, "name"),
        description: text(metric, "description"),
        unit: text(metric, "unit"),
        kind,
        temporality: temporality(data),
    };
    for point in list(data, "dataPoints") {
        take(&head, read_point(point, kind));
    }
}

fn read_point(point: &Value, kind: MetricKind) -> Result<Point, &'static str> {
    let data = match kind {
        MetricKind::Gauge | MetricKind::Sum { .. } => Data { number: number(point)?, ..Data::default() },
        _ => distribution(point)?,
    };
    Ok(Point {
        attributes: attributes(point)?,
        time: whole(point.get("timeUnixNano"))?,
        flags: whole(point.get("flags"))?,
        data,
    })
}

fn number(point: &Value) -> Result<Option<Number>, &'static str> {
    const WRONG: &str = "the number of a point is none";
    match (point.get("asInt"), point.get("asDouble")) {
        (Some(Value::String(text)), _) => {
            text.parse().map(|number| Some(Number::Whole(number))).map_err(|_| WRONG)
        }
        (Some(number), _) => number.as_i64().map(|number| Some(Number::Whole(number))).ok_or(WRONG),
        (None, Some(number)) => real(number).map(|number| Some(Number::Real(number))).ok_or(WRONG),
        (None, None) => Ok(None),
    }
}

fn distribution(point: &Value) -> Result<Data, &'static str> {
    const LONG: &str = "a point has more than 1,024 buckets or quantiles";
    let numbers = |value: &Value, key: &str| {
        let numbers: Result<Vec<u64>, _> =
            list(value, key).take(MOST_BUCKETS.saturating_add(1)).map(|one| whole(Some(one))).collect();
        numbers.and_then(|some| if some.len() > MOST_BUCKETS { Err(LONG) } else { Ok(some) })
    };
    let reals = list(point, "explicitBounds").take(MOST_BUCKETS).map(real).collect::<Option<Vec<f64>>>();
    let side = |key: &str| match point.get(key) {
        Some(side) => Ok((small(side.get("offset"))?, numbers(side, "bucketCounts")?)),
        None => Ok((0, Vec::new())),
    };
    let quantile = |one: &Value| {
        let number = |key| one.get(key).map_or(Some(0.0), real);
        Some((number("quantile")?, number("value")?))
    };
    let quantiles: Option<Vec<_>> =
        list(point, "quantileValues").take(MOST_BUCKETS.saturating_add(1)).map(quantile).collect();
    let quantiles = quantiles.ok_or("a quantile is not a number")?;
    if quantiles.len() > MOST_BUCKETS {
        return Err(LONG);
    }
    Ok(Data {
        number: None,
        count: whole(point.get("count"))?,
        sum: point.get("sum").map(|sum| real(sum).ok_or("the sum of a point is not a number")).transpose()?,
        buckets: numbers(point, "bucketCounts")?,
        bounds: reals.ok_or("a bound is not a number")?,
        exponential: Exponential {
            scale: small(point.get("scale"))?,
            zero_count: whole(point.get("zeroCount"))?,
            zero_threshold: point.get("zeroThreshold").and_then(real).unwrap_or_default(),
            positive: side("positive")?,
            negative: side("negative")?,
        },
        quantiles,
    })
}

fn attributes(value: &Value) -> Result<Vec<Attribute>, &'static str> {
    let mut found = Vec::new();
    for attribute in list(value, "attributes") {
        if found.len() >= super::MOST_ATTRIBUTES {
            return Err("there are more than 64 attributes");
        }
        let mut words = String::new();
        if let Some(value) = attribute.get("value") {
            any_value(value, DEEPEST, &mut words);
        }
        found.push((text(attribute, "key").into_owned(), words));
    }
    Ok(found)
}

/// Writes the value of an attribute as text, as in the other encoding.
fn any_value(value: &Value, deeper: usize, out: &mut String) {
    let Some((kind, value)) = value.as_object().and_then(|object| object.iter().next()) else { return };
    match (kind.as_str(), value) {
        ("stringValue" | "intValue", Value::String(text)) => out.push_str(text),
        ("boolValue" | "intValue", value) => out.push_str(&value.to_string()),
        ("doubleValue", value) => out.push_str(&real(value).unwrap_or(f64::NAN).to_string()),
        ("arrayValue", value) => {
            let Some(deeper) = deeper.checked_sub(1) else { return };
            for (at, value) in list(value, "values").enumerate() {
                out.push_str(if at == 0 { "" } else { ";" });
                any_value(value, deeper, out);
            }
        }
        ("kvlistValue", value) => {
            let Some(deeper) = deeper.checked_sub(1) else { return };
            for (at, pair) in list(value, "values").enumerate() {
                out.push_str(if at == 0 { "" } else { ";" });
                out.push_str(&text(pair, "key"));
                out.push(':');
                pair.get("value").into_iter().for_each(|value| any_value(value, deeper, out));
            }
        }
        // Base64, as it came.
        (_, Value::String(text)) => out.push_str(text),
        _ => {}
    }
}
