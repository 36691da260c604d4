//! The numbers of one counter over a part of a log, and over several parts together.
//!
//! A long native log says of each of its parts what these numbers are. So that statistics do not depend on
//! whether the parts are read or taken from there, both ways add up each part alone and join the parts in
//! order.

use tallymon_core::flow::{NoValue, Sample, Value};
use tallymon_core::time::{FileTime, UNITS_PER_SECOND};

/// The numbers of a counter in a part of a log.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Part {
    pub(crate) count: u64,
    pub(crate) missing: u64,
    /// Of the last missing value.
    pub(crate) reason: Option<NoValue>,
    pub(crate) last: f64,
    pub(crate) minimum: f64,
    pub(crate) maximum: f64,
    pub(crate) mean: f64,
    /// Sum of the squares of the distances from the mean.
    pub(crate) squares: f64,
    /// The same for the times, in hours since the first value, and of both together.
    pub(crate) start: Option<FileTime>,
    pub(crate) mean_time: f64,
    pub(crate) squares_time: f64,
    pub(crate) products: f64,
    pub(crate) first_sample: Option<Sample>,
    pub(crate) last_sample: Option<Sample>,
    /// The last record has a sample, so that the next part can go on from it.
    pub(crate) goes_on: bool,
    /// The counter was not reset between the first and the last sample.
    pub(crate) unbroken: bool,
}

impl Part {
    pub(crate) const fn new() -> Part {
        Part {
            count: 0,
            missing: 0,
            reason: None,
            last: 0.0,
            minimum: f64::INFINITY,
            maximum: f64::NEG_INFINITY,
            mean: 0.0,
            squares: 0.0,
            start: None,
            mean_time: 0.0,
            squares_time: 0.0,
            products: 0.0,
            first_sample: None,
            last_sample: None,
            goes_on: false,
            unbroken: true,
        }
    }

    /// The sample from which the next record goes on.
    pub(crate) fn older(&self) -> Option<Sample> {
        self.last_sample.filter(|_| self.goes_on)
    }

    /// Adds the sample of a record and its value. Returns the number that counts, if there is one.
    pub(crate) fn add(
        &mut self,
        time: FileTime,
        cell: &Result<Sample, NoValue>,
        value: &Result<Value, NoValue>,
    ) -> Option<f64> {
        self.goes_on = cell.is_ok();
        if let Ok(sample) = cell {
            self.first_sample = self.first_sample.or(Some(*sample));
            self.last_sample = Some(*sample);
        }
        let number = match value {
            // Windows writes 0 into its logs, so that statistics of these are the same.
            Err(NoValue::NoOperations) => Ok(0.0),
            Ok(value) => value.as_f64().filter(|number| number.is_finite()).ok_or(NoValue::NotNumeric),
            Err(reason) => Err(*reason),
        };
        match number {
            Ok(number) => {
                self.number(time, number);
                return Some(number);
            }
            // The instance does not exist, or its first sample primes a rate.
            Err(NoValue::NoInstance | NoValue::FirstSample) => {}
            Err(reason) => {
                self.reason = Some(reason);
                self.missing = self.missing.saturating_add(1);
                let backwards =
                    [NoValue::NegativeValue, NoValue::NegativeDenominator, NoValue::NegativeTimebase];
                self.unbroken &= !backwards.contains(&reason);
            }
        }
        None
    }

    fn number(&mut self, time: FileTime, number: f64) {
        self.count = self.count.saturating_add(1);
        self.last = number;
        self.minimum = self.minimum.min(number);
        self.maximum = self.maximum.max(number);
        let start = *self.start.get_or_insert(time);
        let hours = hours(start, time);
        // Welford's way keeps its precision where the sum of squares does not.
        let count = self.count as f64;
        let from_mean = number - self.mean;
        let from_mean_time = hours - self.mean_time;
        self.mean += from_mean / count;
        self.mean_time += from_mean_time / count;
        self.squares += from_mean * (number - self.mean);
        self.squares_time += from_mean_time * (hours - self.mean_time);
        self.products += from_mean_time * (number - self.mean);
    }

    /// Joins the part that follows.
    pub(crate) fn join(&mut self, next: &Part) {
        self.missing = self.missing.saturating_add(next.missing);
        self.reason = next.reason.or(self.reason);
        self.first_sample = self.first_sample.or(next.first_sample);
        self.last_sample = next.last_sample.or(self.last_sample);
        self.goes_on = next.goes_on;
        self.unbroken &= next.unbroken;
        let (Some(start), Some(next_start)) = (self.start, next.start) else {
            if let Some(start) = next.start {
                let Part { count, last, minimum, maximum, mean, squares, .. } = *next;
                (self.count, self.last, self.minimum, self.maximum) = (count, last, minimum, maximum);
                (self.mean, self.squares, self.start) = (mean, squares, Some(start));
                let Part { mean_time, squares_time, products, .. } = *next;
                (self.mean_time, self.squares_time, self.products) = (mean_time, squares_time, products);
            }
            return;
        };
        // The way of Chan, Golub and LeVeque.
        let (one, other) = (self.count as f64, next.count as f64);
        let all = one + other;
        let far = next.mean - self.mean;
        let far_time = hours(start, next_start) + next.mean_time - self.mean_time;
        let weight = one * other / all;
        self.mean += far * other / all;
        self.mean_time += far_time * other / all;
        self.squares += next.squares + far * far * weight;
        self.squares_time += next.squares_time + far_time * far_time * weight;
        self.products += next.products + far * far_time * weight;
        self.count = self.count.saturating_add(next.count);
        self.last = next.last;
        self.minimum = self.minimum.min(next.minimum);
        self.maximum = self.maximum.max(next.maximum);
    }
}

fn hours(start: FileTime, time: FileTime) -> f64 {
    let units = i128::from(time.0).saturating_sub(i128::from(start.0));
    // A short number is converted by one instruction.
    let units = i64::try_from(units).map_or(units as f64, |units| units as f64);
    units / UNITS_PER_SECOND as f64 / 3600.0
}

#[cfg(test)]
mod tests {
    use tallymon_core::counter::CounterType;
    use tallymon_core::time::Frequency;

    use super::*;

    #[test]
    fn parts_together_have_the_numbers_of_all() {
        let mut random = tallymon_testkit::raw::Random::new(5);
        let counter_type = CounterType::PERF_COUNTER_LARGE_RAWCOUNT;
        let (mut all, mut joined, mut part) = (Part::new(), Part::new(), Part::new());
        for second in 0..5000u64 {
            let time = FileTime(second.wrapping_mul(10_000_000));
            let first = random.below(1000).wrapping_add(second);
            let cell = match random.below(9) {
                0 => Err(NoValue::NoInstance),
                1 => Err(NoValue::ZeroTimebase),
                _ => Ok(Sample {
                    counter_type,
                    first,
                    second: 0,
                    frequency: Frequency(1),
                    multi_count: 1,
                    time,
                }),
            };
            let value = cell.map(|sample| Value::Integer(sample.first));
            assert_eq!(all.add(time, &cell, &value), part.add(time, &cell, &value));
            if random.below(700) == 0 {
                joined.join(&part);
                part = Part::new();
            }
        }
        joined.join(&part);
        joined.join(&Part { goes_on: all.goes_on, ..Part::new() });
        let near = |one: f64, other: f64| (one - other).abs() <= other.abs() * 1e-12;
        let numbers =
            |part: &Part| [part.mean, part.squares, part.mean_time, part.squares_time, part.products];
        for (one, other) in numbers(&joined).into_iter().zip(numbers(&all)) {
            assert!(near(one, other), "{one} is not {other}");
        }
        let whole = |part: &Part| Part { mean: 0.0, squares: 0.0, mean_time: 0.0, ..part.clone() };
        let whole = |part: &Part| Part { squares_time: 0.0, products: 0.0, ..whole(part) };
        assert_eq!(whole(&joined), whole(&all));
        assert!(all.count > 3000 && all.missing > 300);
    }
}
