//! The record with the numbers of counters in a part of a log.

use tallymon_core::counter::CounterType;
use tallymon_core::error::Error;
use tallymon_core::flow::Sample;
use tallymon_core::time::{FileTime, Frequency};

use super::fields::{Fields, PutFields};
use super::status;
use crate::quantile::Ranges;
use crate::stats::CountedPart;
use crate::stats::part::Part;

/// Adds the numbers of a column to the body of a record.
pub(super) fn encode(body: &mut Vec<u8>, (part, ranges): &CountedPart) {
    let flags = [
        part.start.is_some(),
        part.reason.is_some(),
        part.first_sample.is_some() && part.last_sample.is_some(),
        part.goes_on,
        part.unbroken,
    ];
    body.put(flags.iter().rev().fold(0, |all, flag| all << 1 | u64::from(*flag)));
    body.put(part.count);
    body.put(part.missing);
    if let Some(reason) = part.reason {
        body.put(status::code(reason));
    }
    if let Some((first, last)) = part.first_sample.zip(part.last_sample) {
        sample(body, &first);
        sample(body, &last);
    }
    let Some(start) = part.start else { return };
    body.put(start.0);
    let numbers = [part.last, part.minimum, part.maximum, part.mean, part.squares];
    let more = [part.mean_time, part.squares_time, part.products];
    for number in numbers.into_iter().chain(more) {
        body.extend_from_slice(&number.to_bits().to_le_bytes());
    }
    body.put(ranges.zeros);
    for side in [&ranges.negative, &ranges.positive] {
        body.put(side.len() as u64);
        let mut before = 0i64;
        for (exponent, count) in side {
            body.put_signed(i64::from(*exponent).wrapping_sub(before));
            body.put(*count);
            before = i64::from(*exponent);
        }
    }
}

fn sample(body: &mut Vec<u8>, sample: &Sample) {
    body.extend_from_slice(&sample.counter_type.0.to_le_bytes());
    body.put(sample.first);
    body.put(sample.second);
    body.put_signed(sample.frequency.0);
    body.put(u64::from(sample.multi_count));
    body.put(sample.time.0);
}

fn read_sample(fields: &mut Fields<'_>) -> Result<Sample, Error> {
    let bytes = fields.bytes(4, "type of a sample")?;
    let counter_type = CounterType(bytes.first_chunk().copied().map_or(0, u32::from_le_bytes));
    Ok(Sample {
        counter_type,
        first: fields.number("value of a sample")?,
        second: fields.number("base of a sample")?,
        frequency: Frequency(fields.signed("frequency of a sample")?),
        multi_count: fields.small("resources of a sample")?,
        time: FileTime(fields.number("time of a sample")?),
    })
}

/// Reads the numbers of a column, or only how many values it has.
pub(super) fn decode(fields: &mut Fields<'_>, only_counts: bool) -> Result<CountedPart, Error> {
    let place = fields.at();
    let flags = fields.number("flags of statistics")?;
    let mut part = Part::new();
    part.count = fields.number("count of values")?;
    part.missing = fields.number("count of missing values")?;
    if only_counts {
        return Ok((part, Ranges::default()));
    }
    (part.goes_on, part.unbroken) = (flags & 8 != 0, flags & 16 != 0);
    if flags & 2 != 0 {
        part.reason = status::reason(fields.number("reason of a missing value")?);
    }
    if flags & 4 != 0 {
        part.first_sample = Some(read_sample(fields)?);
        part.last_sample = Some(read_sample(fields)?);
    }
    let wrong =
        |what: &'static str, number: u64| Error::value(what, place, "numbers that fit together", number);
    let mut ranges = Ranges::default();
    if flags & 1 == 0 {
        return if part.count == 0 { Ok((part, ranges)) } else { Err(wrong("count of values", part.count)) };
    }
    part.start = Some(FileTime(fields.number("time of statistics")?));
    let mut numbers = [0f64; 8];
    for number in &mut numbers {
        let bytes = fields.bytes(8, "number of statistics")?;
        *number = f64::from_bits(bytes.first_chunk().copied().map_or(0, u64::from_le_bytes));
    }
    let [last, minimum, maximum, mean, squares, mean_time, squares_time, products] = numbers;
    (part.last, part.minimum, part.maximum, part.mean, part.squares) =
        (last, minimum, maximum, mean, squares);
    (part.mean_time, part.squares_time, part.products) = (mean_time, squares_time, products);
    (ranges.minimum, ranges.maximum, ranges.count) = (minimum, maximum, part.count);
    ranges.zeros = fields.number("count of zeros")?;
    let mut count = ranges.zeros;
    for side in [&mut ranges.negative, &mut ranges.positive] {
        let mut before = 0i64;
        for _ in 0..fields.count("ranges of values")? {
            before = before.wrapping_add(fields.signed("range of values")?);
            let exponent =
                i32::try_from(before).map_err(|_| wrong("range of values", before.cast_unsigned()))?;
            let values = fields.number("count of a range")?;
            count = count.saturating_add(values);
            side.insert(exponent, values);
        }
    }
    let is_within = |number: f64| minimum <= number && number <= maximum;
    let is_sound = numbers.iter().all(|number| number.is_finite())
        && is_within(last)
        && is_within(mean)
        && squares >= 0.0
        && squares_time >= 0.0
        && part.count > 0;
    if count != part.count || !is_sound {
        return Err(wrong("count of values", part.count));
    }
    Ok((part, ranges))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_can_not_be_are_refused() {
        let mut ranges = Ranges::default();
        [1.0, 5.0, 3.0].into_iter().for_each(|number| ranges.add(number));
        let (minimum, maximum, start) = (1.0, 5.0, Some(FileTime(9)));
        let right =
            Part { count: 3, last: 3.0, minimum, maximum, mean: 3.0, squares: 8.0, start, ..Part::new() };
        let is_taken = |part: Part| {
            let mut body = Vec::new();
            encode(&mut body, &(part, ranges.clone()));
            decode(&mut Fields::new(&body), false).is_ok()
        };
        assert!(is_taken(right.clone()));
        assert!(!is_taken(Part { count: 4, ..right.clone() }));
        assert!(!is_taken(Part { last: 0.5, ..right.clone() }));
        assert!(!is_taken(Part { mean: 5.5, ..right.clone() }));
        assert!(!is_taken(Part { maximum: 0.5, ..right.clone() }));
        assert!(!is_taken(Part { squares: -1.0, ..right.clone() }));
        assert!(!is_taken(Part { squares_time: -1.0, ..right.clone() }));
        assert!(!is_taken(Part { products: f64::NAN, ..right }));
    }
}
