//! Requests as Protocol Buffers. The numbers of fields are those of `metrics.proto`, `common.proto` and
//! `resource.proto`.

use std::borrow::Cow;

use tallymon_export::protobuf::{BadField, Field, checked_fields, packed_fixed64, packed_varint};

use super::{
    Attribute, BadRequest, DEEPEST, Data, MOST_BUCKETS, Metric, MetricKind, Point, Resource, Take,
    Temporality,
};
use crate::value::Number;

impl From<BadField> for BadRequest {
    fn from(error: BadField) -> BadRequest {
        BadRequest(format!("the request is no ExportMetricsServiceRequest: {error}"))
    }
}

type Read<T> = Result<T, BadField>;

/// Reads a request.
///
/// # Errors
///
/// It is none.
pub(crate) fn read(request: &[u8], take: &mut Take<'_>) -> Result<(), BadRequest> {
    for resource_metrics in messages(request, 1) {
        let resource_metrics = resource_metrics?;
        let resource = match messages(resource_metrics, 1).last().transpose()? {
            Some(resource) => Resource::new(attributes(resource, 1)?),
            None => Resource::default(),
        };
        for scope_metrics in messages(resource_metrics, 2) {
            let scope_metrics = scope_metrics?;
            let scope = messages(scope_metrics, 1).last().transpose()?;
            let scope = scope.map(|scope| text(scope, 1)).transpose()?.unwrap_or_default();
            for metric in messages(scope_metrics, 2) {
                read_metric(metric?, &resource, &scope, take)?;
            }
        }
    }
    Ok(())
}

/// The messages in a field of a message.
fn messages(bytes: &[u8], number: u64) -> impl Iterator<Item = Read<&[u8]>> {
    checked_fields(bytes).filter_map(move |field| match field {
        Ok((found, Field::Bytes(message))) if found == number => Some(Ok(message)),
        Ok(_) => None,
        Err(error) => Some(Err(error)),
    })
}

/// The text of a field; empty without one.
fn text(bytes: &[u8], number: u64) -> Read<Cow<'_, str>> {
    Ok(messages(bytes, number).last().transpose()?.map(String::from_utf8_lossy).unwrap_or_default())
}

/// The last whole number of a field; 0 without one.
fn varint(bytes: &[u8], number: u64) -> Read<u64> {
    let mut last = 0;
    for field in checked_fields(bytes) {
        if let (found, Field::Varint(value)) = field? {
            last = if found == number { value } else { last };
        }
    }
    Ok(last)
}

fn read_metric(bytes: &[u8], resource: &Resource, scope: &str, take: &mut Take<'_>) -> Read<()> {
    let mut data = None;
    for field in checked_fields(bytes) {
        if let (number @ (5 | 7 | 9 | 10 | 11), Field::Bytes(message)) = field? {
            data = Some((number, message));
        }
    }
    // A metric of a kind that is not known has no points for us.
    let Some((number, data)) = data else { return Ok(()) };
    let kind = match number {
        5 => MetricKind::Gauge,
        7 => MetricKind::Sum { is_monotonic: varint(data, 3)? != 0 },
        9 => MetricKind::Histogram,
        10 => MetricKind::ExponentialHistogram,
        _ => MetricKind::Summary,
    };
    let metric = Metric {
        resource,
        scope,
        name: text(bytes, 1)?,
        description: text(bytes, 2)?,
        unit: text(bytes, 3)?,
        kind,
        temporality: Temporality::of(varint(data, 2)?),
    };
    for point in messages(data, 1) {
        let point = match kind {
            MetricKind::Gauge | MetricKind::Sum { .. } => number_point(point?)?,
            MetricKind::Histogram => histogram_point(point?)?,
            MetricKind::ExponentialHistogram => exponential_point(point?)?,
            MetricKind::Summary => summary_point(point?)?,
        };
        take(&metric, point);
    }
    Ok(())
}

/// A point, or why it cannot be taken.
type Taken = Result<Point, &'static str>;

fn number_point(bytes: &[u8]) -> Read<Taken> {
    let mut point = Point::default();
    for field in checked_fields(bytes) {
        match field? {
            (3, Field::Fixed64(time)) => point.time = time,
            (4, Field::Fixed64(number)) => point.data.number = Some(Number::Real(f64::from_bits(number))),
            (6, Field::Fixed64(number)) => point.data.number = Some(Number::Whole(number.cast_signed())),
            (8, Field::Varint(flags)) => point.flags = flags,
            _ => {}
        }
    }
    with_attributes(point, bytes, 7)
}

fn histogram_point(bytes: &[u8]) -> Read<Taken> {
    let mut point = Point::default();
    let mut is_long = false;
    let data = &mut point.data;
    for field in checked_fields(bytes) {
        match field? {
            (3, Field::Fixed64(time)) => point.time = time,
            (4, Field::Fixed64(count)) => data.count = count,
            (5, Field::Fixed64(sum)) => data.sum = Some(f64::from_bits(sum)),
            (6, field) => is_long |= !extend(&mut data.buckets, packed_fixed64(field)),
            (7, field) => {
                let numbers = packed_fixed64(field).map(|numbers| numbers.map(f64::from_bits));
                is_long |= !extend(&mut data.bounds, numbers);
            }
            (10, Field::Varint(flags)) => point.flags = flags,
            _ => {}
        }
    }
    if is_long { Ok(Err(LONG)) } else { with_attributes(point, bytes, 9) }
}

fn exponential_point(bytes: &[u8]) -> Read<Taken> {
    let mut point = Point::default();
    let Point { data: Data { count, sum, exponential, .. }, time, flags, .. } = &mut point;
    let mut is_long = false;
    for field in checked_fields(bytes) {
        match field? {
            (3, Field::Fixed64(number)) => *time = number,
            (4, Field::Fixed64(number)) => *count = number,
            (5, Field::Fixed64(number)) => *sum = Some(f64::from_bits(number)),
            (6, Field::Varint(number)) => exponential.scale = zigzag(number),
            (7, Field::Fixed64(number)) => exponential.zero_count = number,
            (8, Field::Bytes(buckets)) => is_long |= !read_buckets(buckets, &mut exponential.positive)?,
            (9, Field::Bytes(buckets)) => is_long |= !read_buckets(buckets, &mut exponential.negative)?,
            (10, Field::Varint(number)) => *flags = number,
            (14, Field::Fixed64(number)) => exponential.zero_threshold = f64::from_bits(number),
            _ => {}
        }
    }
    if is_long { Ok(Err(LONG)) } else { with_attributes(point, bytes, 1) }
}

/// Reads the buckets of an exponential histogram; `false` if there are too many.
fn read_buckets(bytes: &[u8], (offset, counts): &mut (i32, Vec<u64>)) -> Read<bool> {
    let mut is_short = true;
    for field in checked_fields(bytes) {
        match field? {
            (1, Field::Varint(number)) => *offset = zigzag(number),
            (2, field) => is_short &= extend(counts, packed_varint(field)),
            _ => {}
        }
    }
    Ok(is_short)
}

fn summary_point(bytes: &[u8]) -> Read<Taken> {
    let mut point = Point::default();
    let data = &mut point.data;
    for field in checked_fields(bytes) {
        match field? {
            (3, Field::Fixed64(time)) => point.time = time,
            (4, Field::Fixed64(count)) => data.count = count,
            (5, Field::Fixed64(sum)) => data.sum = Some(f64::from_bits(sum)),
            (6, Field::Bytes(quantile)) => {
                if data.quantiles.len() >= MOST_BUCKETS {
                    return Ok(Err(LONG));
                }
                let mut found = (0.0, 0.0);
                for field in checked_fields(quantile) {
                    match field? {
                        (1, Field::Fixed64(number)) => found.0 = f64::from_bits(number),
                        (2, Field::Fixed64(number)) => found.1 = f64::from_bits(number),
                        _ => {}
                    }
                }
                data.quantiles.push(found);
            }
            (8, Field::Varint(flags)) => point.flags = flags,
            _ => {}
        }
    }
    with_attributes(point, bytes, 7)
}

const LONG: &str = "a point has more than 1,024 buckets or quantiles, or they are no numbers";

/// Adds numbers; `false` if they are none or too many.
fn extend<T>(all: &mut Vec<T>, numbers: Option<impl Iterator<Item = T>>) -> bool {
    let Some(mut numbers) = numbers else { return false };
    let room = MOST_BUCKETS.saturating_sub(all.len());
    all.extend(numbers.by_ref().take(room));
    numbers.next().is_none()
}

fn zigzag(number: u64) -> i32 {
    // A number of 32 bits; others are cut, as all readers do.
    let number = number as u32;
    ((number >> 1) ^ 0u32.wrapping_sub(number & 1)).cast_signed()
}

fn with_attributes(point: Point, bytes: &[u8], number: u64) -> Read<Taken> {
    Ok(attributes(bytes, number)?.map(|attributes| Point { attributes, ..point }))
}

/// The attributes in a field of a message.
fn attributes(bytes: &[u8], number: u64) -> Read<Result<Vec<Attribute>, &'static str>> {
    let mut found = Vec::new();
    let mut length = 0usize;
    for attribute in messages(bytes, number) {
        let attribute = attribute?;
        length = length.saturating_add(attribute.len());
        if found.len() >= super::MOST_ATTRIBUTES || length > 2 * super::LONGEST_ATTRIBUTES {
            return Ok(Err("there are more than 64 attributes, or more than 4,000 bytes of them"));
        }
        let key = text(attribute, 1)?.into_owned();
        let mut words = String::new();
        for value in messages(attribute, 2) {
            words.clear();
            any_value(value?, DEEPEST, &mut words)?;
        }
        found.push((key, words));
    }
    Ok(Ok(found))
}

/// Writes the value of an attribute as text.
fn any_value(bytes: &[u8], deeper: usize, out: &mut String) -> Read<()> {
    for field in checked_fields(bytes) {
        match field? {
            (1, Field::Bytes(text)) => out.push_str(&String::from_utf8_lossy(text)),
            (2, Field::Varint(number)) => out.push_str(if number == 0 { "false" } else { "true" }),
            (3, Field::Varint(number)) => out.push_str(&number.cast_signed().to_string()),
            (4, Field::Fixed64(number)) => out.push_str(&f64::from_bits(number).to_string()),
            (5, Field::Bytes(values)) => {
                let Some(deeper) = deeper.checked_sub(1) else { continue };
                for (at, value) in messages(values, 1).enumerate() {
                    out.push_str(if at == 0 { "" } else { ";" });
                    any_value(value?, deeper, out)?;
                }
            }
            (6, Field::Bytes(pairs)) => {
                let Some(deeper) = deeper.checked_sub(1) else { continue };
                for (at, pair) in messages(pairs, 1).enumerate() {
                    let pair = pair?;
                    out.push_str(if at == 0 { "" } else { ";" });
                    out.push_str(&text(pair, 1)?);
                    out.push(':');
                    if let Some(value) = messages(pair, 2).last() {
                        any_value(value?, deeper, out)?;
                    }
                }
            }
            (7, Field::Bytes(bytes)) => bytes.iter().for_each(|byte| out.push_str(&format!("{byte:02x}"))),
            _ => {}
        }
    }
    Ok(())
}
