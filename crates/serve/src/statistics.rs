//! Statistics of a series over a range of time, from every value and not from what a chart shows.

use serde_json::{Value, json};
use tallymon::core::time::FileTime;

/// The most values that are kept for percentiles.
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
    /// The smallest value that 95 % of the values do not exceed; `None` if there are too many values.
    pub p95: Option<f64>,
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
        if self.values.len() < MOST_KEPT {
            self.values.push(value);
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
            slope,
        })
    }

    /// As JSON; `null` where a number does not exist: no values, or too many for a percentile.
    pub(crate) fn json(&mut self) -> Value {
        let Some(found) = self.figures() else { return json!({ "count": 0 }) };
        json!({
            "count": found.count, "last": found.last, "avg": found.avg, "min": found.min, "max": found.max,
            "sum": found.sum, "stddev": found.stddev, "p95": found.p95, "slope": found.slope,
        })
    }

    /// The smallest value that this share of the values does not exceed.
    fn percentile(&mut self, share: f64) -> Option<f64> {
        if self.count != self.values.len() as u64 {
            return None;
        }
        let rank = (self.values.len() as f64 * share).ceil() as usize;
        let position = rank.saturating_sub(1).min(self.values.len().saturating_sub(1));
        (!self.values.is_empty()).then(|| *self.values.select_nth_unstable_by(position, f64::total_cmp).1)
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

    #[test]
    fn without_values_there_are_no_numbers() {
        assert_eq!(Statistics::default().json(), json!({ "count": 0 }));
        let mut one = Statistics::default();
        one.push(FileTime(1), 3.0);
        assert_eq!((&one.json()["stddev"], &one.json()["slope"]), (&Value::Null, &Value::Null));
    }
}
