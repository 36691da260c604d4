//! Statistics of a series over a range of time, from every value and not from what a chart shows.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use tallymon::core::time::FileTime;

/// The most values that are kept for an exact percentile; of more there is a sketch.
const MOST_KEPT: usize = 20_000;

/// Takes values one by one.
#[derive(Debug, Default)]
pub(crate) struct Statistics {
    count: u64,
    last: f64,
    mean: f64,
    /// Sum of the squares of the distances from the mean.
    squares: f64,
    least: f64,
    most: f64,
    sum: f64,
    /// Seconds since the first value: their mean, squares, and products with the values.
    begin: Option<FileTime>,
    time_mean: f64,
    time_squares: f64,
    products: f64,
    /// The values, as long as there are few enough.
    values: Vec<f64>,
    /// All of them otherwise.
    sketch: Option<Sketch>,
}

/// The numbers of the values of a series.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Figures {
    /// How many values there are.
    pub count: u64,
    /// The last one.
    pub last: f64,
    /// Their mean.
    pub avg: f64,
    /// The smallest one.
    pub min: f64,
    /// The largest one.
    pub max: f64,
    /// Their sum.
    pub sum: f64,
    /// The sample deviation; `None` for one value.
    pub stddev: Option<f64>,
    /// The smallest value that 95 % of the values do not exceed.
    pub p95: Option<f64>,
    /// By which share of it the 95 % value may be wrong, because there were too many values to keep; 0 if it
    /// is exact.
    pub p95_within: f64,
    /// How much the straight line through the values rises in a minute; `None` if all have one time.
    pub slope: Option<f64>,
}

impl Statistics {
    /// Takes a value; NaN is none.
    pub(crate) fn push(&mut self, time: FileTime, value: f64) {
        if value.is_nan() {
            return;
        }
        let begin = *self.begin.get_or_insert(time);
        let seconds = time.0.saturating_sub(begin.0) as f64 / 1e7;
        self.count = self.count.saturating_add(1);
        (self.least, self.most) = match self.count {
            1 => (value, value),
            _ => (self.least.min(value), self.most.max(value)),
        };
        self.last = value;
        self.sum += value;
        let count = self.count as f64;
        // Welford's update: exact also for large values that differ little.
        let (from_mean, time_from_mean) = (value - self.mean, seconds - self.time_mean);
        self.mean += from_mean / count;
        self.time_mean += time_from_mean / count;
        self.squares += from_mean * (value - self.mean);
        self.time_squares += time_from_mean * (seconds - self.time_mean);
        self.products += time_from_mean * (value - self.mean);
        if let Some(sketch) = &mut self.sketch {
            sketch.push(value);
        } else {
            self.values.push(value);
            if self.values.len() > MOST_KEPT {
                let sketch = self.sketch.insert(Sketch::default());
                std::mem::take(&mut self.values).into_iter().for_each(|value| sketch.push(value));
            }
        }
    }

    /// The numbers; `None` if there are no values.
    pub(crate) fn figures(&mut self) -> Option<Figures> {
        if self.count == 0 {
            return None;
        }
        let deviation = (self.count > 1).then(|| (self.squares / self.count.saturating_sub(1) as f64).sqrt());
        let slope = (self.time_squares > 0.0).then(|| self.products / self.time_squares * 60.0);
        Some(Figures {
            count: self.count,
            last: self.last,
            avg: self.mean,
            min: self.least,
            max: self.most,
            sum: self.sum,
            stddev: deviation,
            p95: self.percentile(0.95),
            p95_within: self.sketch.as_ref().map_or(0.0, Sketch::within),
            slope,
        })
    }

    /// As JSON; `null` where a number does not exist.
    pub(crate) fn json(&mut self) -> Value {
        let Some(found) = self.figures() else { return json!({ "count": 0 }) };
        json!({
            "count": found.count, "last": found.last, "avg": found.avg, "min": found.min, "max": found.max,
            "sum": found.sum, "stddev": found.stddev, "p95": found.p95, "p95Within": found.p95_within, "slope": found.slope,
        })
    }

    /// The smallest value that this share of the values does not exceed.
    fn percentile(&mut self, share: f64) -> Option<f64> {
        if let Some(sketch) = &self.sketch {
            // The bounds of what was measured are known exactly.
            return Some(sketch.percentile(share).clamp(self.least, self.most));
        }
        let rank = (self.values.len() as f64 * share).ceil() as usize;
        let position = rank.saturating_sub(1).min(self.values.len().saturating_sub(1));
        (!self.values.is_empty()).then(|| *self.values.select_nth_unstable_by(position, f64::total_cmp).1)
    }
}

/// How finely a sketch begins: its values are right within this share of them.
const FINEST: f64 = 0.001;
/// The most buckets of a sketch; with more, two become one, and its values are right within twice the share.
const MOST_BUCKETS: usize = 16_384;

/// The numbers of values of each size, in buckets of which each is by the same factor larger than the one
/// before: the percentile of any number of values is right within a share of it (DDSketch).
#[derive(Debug)]
struct Sketch {
    /// The factor between two buckets.
    factor: f64,
    /// The numbers of values below zero, of zero, and above it; those of each size by the number of its
    /// bucket.
    below: BTreeMap<i32, u64>,
    zero: u64,
    above: BTreeMap<i32, u64>,
}

impl Default for Sketch {
    fn default() -> Sketch {
        let factor = (1.0 + FINEST) / (1.0 - FINEST);
        Sketch { factor, below: BTreeMap::new(), zero: 0, above: BTreeMap::new() }
    }
}

impl Sketch {
    fn push(&mut self, value: f64) {
        let size = value.abs().clamp(f64::MIN_POSITIVE, f64::MAX);
        let bucket = (size.ln() / self.factor.ln()).ceil() as i32;
        let count = match value {
            value if value > 0.0 => self.above.entry(bucket).or_default(),
            value if value < 0.0 => self.below.entry(bucket).or_default(),
            _ => &mut self.zero,
        };
        *count = count.saturating_add(1);
        if self.below.len().saturating_add(self.above.len()) > MOST_BUCKETS {
            self.halve();
        }
    }

    /// Makes one of two neighbours.
    fn halve(&mut self) {
        self.factor *= self.factor;
        for buckets in [&mut self.below, &mut self.above] {
            for (bucket, count) in std::mem::take(buckets) {
                let known: &mut u64 = buckets.entry(bucket.saturating_add(1).div_euclid(2)).or_default();
                *known = known.saturating_add(count);
            }
        }
    }

    /// By which share of it a value may be wrong.
    fn within(&self) -> f64 {
        (self.factor - 1.0) / (self.factor + 1.0)
    }

    /// The value that this share of the values does not exceed.
    fn percentile(&self, share: f64) -> f64 {
        let value = |bucket: i32| 2.0 * self.factor.powi(bucket) / (self.factor + 1.0);
        let below = self.below.iter().rev().map(|(bucket, count)| (-value(*bucket), *count));
        let above = self.above.iter().map(|(bucket, count)| (value(*bucket), *count));
        let all: Vec<(f64, u64)> = below.chain([(0.0, self.zero)]).chain(above).collect();
        let sum: u64 = all.iter().fold(0, |sum, (_, count)| sum.saturating_add(*count));
        let rank = ((sum as f64 * share).ceil() as u64).max(1);
        let mut seen = 0u64;
        for (value, count) in all {
            seen = seen.saturating_add(count);
            if seen >= rank {
                return value;
            }
        }
        f64::NAN
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statistics_of_a_straight_line() {
        let mut statistics = Statistics::default();
        for second in 0..100u64 {
            statistics.push(FileTime(second * 10_000_000), 5.0 + second as f64);
            statistics.push(FileTime(second * 10_000_000), f64::NAN);
        }
        let found = statistics.json();
        for (name, expected) in [
            ("count", 100.0),
            ("last", 104.0),
            ("avg", 54.5),
            ("min", 5.0),
            ("max", 104.0),
            ("sum", 5450.0),
            ("p95", 99.0),
            ("slope", 60.0),
            // The sample deviation of 1..=100.
            ("stddev", 29.011_491_975_882_016),
        ] {
            let value = found[name].as_f64().unwrap();
            assert!((value - expected).abs() < 1e-9, "{name}: {value}");
        }
    }

    /// More values than are kept: the percentile of a sketch is right within the share that it names.
    #[test]
    fn the_percentile_of_many_values_is_within_its_bound() {
        let mut random = tallymon_testkit::raw::Random::new(11);
        let mut one = || random.below(1 << 40) as f64 / (1u64 << 40) as f64;
        for name in ["uniform", "negative", "mixed", "wide", "same", "zero"] {
            let (mut statistics, mut all) = (Statistics::default(), Vec::new());
            for nth in 0..60_000u64 {
                let value = match name {
                    "uniform" => one() * 100.0,
                    "negative" => -1.0 - one() * 5.0,
                    "mixed" => one() * 10.0 - 9.0,
                    // From the smallest to the largest numbers: more buckets than there may be.
                    "wide" => 10f64.powf(one() * 600.0 - 300.0),
                    "same" => 42.0,
                    _ => 0.0,
                };
                all.push(value);
                statistics.push(FileTime(nth), value);
            }
            all.sort_by(f64::total_cmp);
            let exact = all[(all.len() as f64 * 0.95).ceil() as usize - 1];
            let found = statistics.figures().unwrap();
            let (p95, within) = (found.p95.unwrap(), found.p95_within);
            assert!(
                (p95 - exact).abs() <= exact.abs() * within * 1.000_001,
                "{name}: {p95} {exact} {within}"
            );
            assert!(within < if name == "wide" { 0.2 } else { 0.001_001 }, "{name}: {within}");
            let buckets = statistics.sketch.as_ref().map(|sketch| sketch.above.len() + sketch.below.len());
            assert!(buckets.unwrap() <= MOST_BUCKETS, "{name}");
            assert!((found.min..=found.max).contains(&p95));
        }
        // As long as they are kept, it is exact, and says so.
        let mut few = Statistics::default();
        (0..MOST_KEPT as u64).for_each(|nth| few.push(FileTime(nth), nth as f64));
        assert_eq!(
            (few.json()["p95"].as_f64(), few.json()["p95Within"].as_f64()),
            (Some(18_999.0), Some(0.0))
        );
    }

    #[test]
    fn without_values_there_are_no_numbers() {
        assert_eq!(Statistics::default().json(), json!({ "count": 0 }));
        let mut one = Statistics::default();
        one.push(FileTime(1), 3.0);
        assert_eq!((&one.json()["stddev"], &one.json()["slope"]), (&Value::Null, &Value::Null));
    }
}
