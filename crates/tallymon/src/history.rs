//! The last samples of one counter, and their statistics.

use std::collections::VecDeque;

use tallymon_core::counter::{self, Format};
use tallymon_core::flow::{NoValue, Sample, Value};

/// The last samples of one counter, or the reasons why there were none, oldest first.
///
/// ```
/// use tallymon::History;
/// use tallymon::core::counter::{CounterType, Format};
/// use tallymon::core::flow::Sample;
/// use tallymon::core::time::{FileTime, Frequency};
///
/// let mut history = History::new(3);
/// for (bytes, second) in [(0, 0), (10, 1), (40, 2), (60, 4)] {
///     history.push(Ok(Sample {
///         counter_type: CounterType::PERF_COUNTER_BULK_COUNT,
///         first: bytes,
///         second,
///         frequency: Frequency(1),
///         multi_count: 1,
///         time: FileTime(second),
///     }));
/// }
/// // The history has dropped the first sample: 30 a second from 1 to 2, then 10 from 2 to 4.
/// let statistics = history.statistics(0, &Format::default()).unwrap();
/// assert_eq!((statistics.minimum, statistics.maximum, statistics.mean), (10.0, 30.0, 20.0));
/// // The average is over the whole time, 50 in 3 seconds; the mean of the intervals differs.
/// assert_eq!(statistics.average, Ok(50.0 / 3.0));
/// ```
#[derive(Debug, Clone)]
pub struct History {
    samples: VecDeque<Result<Sample, NoValue>>,
    most: usize,
}

/// Statistics of some samples, see [`Statistics::of`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Statistics {
    /// Number of values.
    pub count: usize,
    /// The smallest.
    pub minimum: f64,
    /// The largest.
    pub maximum: f64,
    /// The mean.
    pub mean: f64,
    /// The last.
    pub last: f64,
    /// The value from the first sample to the last, which for rates weighs every second the same; or why
    /// there is none.
    pub average: Result<f64, NoValue>,
}

impl History {
    /// A history of at most this many samples, and at least two.
    pub const fn new(most: usize) -> History {
        History { samples: VecDeque::new(), most: if most < 2 { 2 } else { most } }
    }

    /// Adds the newest sample, and drops the oldest if there are too many.
    pub fn push(&mut self, sample: Result<Sample, NoValue>) {
        if self.samples.len() >= self.most {
            self.samples.pop_front();
        }
        self.samples.push_back(sample);
    }

    /// The samples, oldest first.
    pub fn samples(&self) -> impl ExactSizeIterator<Item = &Result<Sample, NoValue>> {
        self.samples.iter()
    }

    /// Statistics of the samples. `default_scale` is that of the counter's definition.
    ///
    /// # Errors
    ///
    /// As [`Statistics::of`].
    pub fn statistics(&self, default_scale: i32, format: &Format) -> Result<Statistics, NoValue> {
        Statistics::of(self.samples.iter().copied(), default_scale, format)
    }
}

impl Statistics {
    /// Statistics of some samples of one counter, given oldest first.
    ///
    /// There is a value between every two neighbours if the type needs two samples, else for every sample.
    /// Values that cannot be computed are left out, not counted as 0.
    ///
    /// # Errors
    ///
    /// There is no value at all: why the last one is missing.
    pub fn of(
        samples: impl IntoIterator<Item = Result<Sample, NoValue>>,
        default_scale: i32,
        format: &Format,
    ) -> Result<Statistics, NoValue> {
        let mut found: Option<Statistics> = None;
        let mut sum = 0.0;
        let mut missing = NoValue::FirstSample;
        let mut older: Option<Sample> = None;
        let mut first: Option<Sample> = None;
        for sample in samples {
            let value = sample.and_then(|sample| number(older.as_ref(), &sample, default_scale, format));
            older = sample.ok();
            first = first.or(older);
            match value {
                Ok(value) => {
                    let so_far = found.get_or_insert(Statistics {
                        count: 0,
                        minimum: value,
                        maximum: value,
                        mean: value,
                        last: value,
                        average: Ok(value),
                    });
                    so_far.count = so_far.count.saturating_add(1);
                    so_far.minimum = so_far.minimum.min(value);
                    so_far.maximum = so_far.maximum.max(value);
                    so_far.last = value;
                    sum += value;
                }
                Err(why) => missing = why,
            }
        }
        let mut statistics = found.ok_or(missing)?;
        statistics.mean = sum / statistics.count as f64;
        statistics.average = match (first, older) {
            (Some(first), Some(last)) => number(Some(&first), &last, default_scale, format),
            _ => Err(missing),
        };
        Ok(statistics)
    }
}

fn number(
    older: Option<&Sample>,
    newer: &Sample,
    default_scale: i32,
    format: &Format,
) -> Result<f64, NoValue> {
    let value = match counter::compute(older, newer) {
        // An average without operations counts as 0, as Windows writes it into logs.
        Err(NoValue::NoOperations) => return Ok(0.0),
        value => value?,
    };
    let shown = counter::apply(value, newer.counter_type, default_scale, format);
    match shown {
        Value::Number(number) => Ok(number),
        other => other.as_f64().ok_or(NoValue::NotNumeric),
    }
}

#[cfg(test)]
mod tests {
    use tallymon_core::counter::CounterType;
    use tallymon_core::time::{FileTime, Frequency};

    use super::*;

    fn sample(counter_type: CounterType, first: u64, second: u64) -> Result<Sample, NoValue> {
        let time = FileTime(0);
        Ok(Sample { counter_type, first, second, frequency: Frequency(1), multi_count: 1, time })
    }

    #[test]
    fn one_sample_is_enough_for_a_raw_count() {
        let raw = |value| sample(CounterType::PERF_COUNTER_RAWCOUNT, value, 0);
        let found = Statistics::of([raw(4), raw(2), raw(9)], 0, &Format::default()).unwrap();
        assert_eq!(
            (found.count, found.minimum, found.maximum, found.mean, found.last),
            (3, 2.0, 9.0, 5.0, 9.0)
        );
        assert_eq!(found.average, Ok(9.0));
    }

    #[test]
    fn leaves_out_missing_values() {
        let bytes = |value, clock| sample(CounterType::PERF_COUNTER_BULK_COUNT, value, clock);
        let gap = Err(NoValue::NoInstance);
        // After the gap the next sample is a first one again; the reset at 5 gives no value either.
        let ring = [bytes(0, 0), bytes(10, 1), gap, bytes(100, 3), bytes(130, 4), bytes(7, 5)];
        let found = Statistics::of(ring, 0, &Format::default()).unwrap();
        assert_eq!((found.count, found.minimum, found.maximum, found.last), (2, 10.0, 30.0, 30.0));
        assert_eq!(found.average, Ok(7.0 / 5.0));
        let none = Statistics::of([gap, bytes(1, 1)], 0, &Format::default());
        assert_eq!(none, Err(NoValue::FirstSample));
        assert_eq!(Statistics::of([bytes(1, 1), gap], 0, &Format::default()), Err(NoValue::NoInstance));
        assert_eq!(Statistics::of([], 0, &Format::default()), Err(NoValue::FirstSample));
    }

    #[test]
    fn drops_the_oldest_samples() {
        let mut history = History::new(0);
        for value in 0..5 {
            history.push(sample(CounterType::PERF_COUNTER_RAWCOUNT, value, 0));
        }
        let kept: Vec<u64> = history.samples().map(|sample| sample.unwrap().first).collect();
        assert_eq!(kept, [3, 4]);
    }
}
