//! The numbers of one counter, added one by one.

use tallymon_core::counter::average;
use tallymon_core::flow::{NoValue, Sample, Value};
use tallymon_core::time::{FileTime, UNITS_PER_SECOND};

use super::{ColumnStats, PERCENTILES, Summary};
use crate::quantile::Quantiles;
use crate::reader::Column;

/// The numbers of a column so far.
pub(super) struct Accumulator {
    pub(super) column: Column,
    quantiles: Quantiles,
    count: u64,
    missing: u64,
    reason: NoValue,
    last: f64,
    minimum: f64,
    maximum: f64,
    mean: f64,
    /// Sum of the squares of the distances from the mean.
    squares: f64,
    /// The same for the times, in hours since the first value, and of both together.
    start: Option<FileTime>,
    mean_time: f64,
    squares_time: f64,
    products: f64,
    first_sample: Option<Sample>,
    last_sample: Option<Sample>,
    /// The counter was not reset between the first and the last sample.
    unbroken: bool,
}

impl Accumulator {
    pub(super) fn new(column: &Column, exact_values: usize) -> Accumulator {
        Accumulator {
            column: column.clone(),
            quantiles: Quantiles::new(exact_values),
            count: 0,
            missing: 0,
            reason: NoValue::FirstSample,
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
            unbroken: true,
        }
    }

    /// The next samples come from another log, perhaps from after a restart of the machine.
    pub(super) fn begin_log(&mut self) {
        self.unbroken = self.first_sample.is_none();
    }

    pub(super) fn add(
        &mut self,
        time: FileTime,
        cell: &Result<Sample, NoValue>,
        value: &Result<Value, NoValue>,
    ) {
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
            Ok(number) => self.number(time, number),
            // The instance does not exist, or its first sample primes a rate.
            Err(NoValue::NoInstance | NoValue::FirstSample) => {}
            Err(reason) => {
                self.reason = reason;
                self.missing = self.missing.saturating_add(1);
                let backwards =
                    [NoValue::NegativeValue, NoValue::NegativeDenominator, NoValue::NegativeTimebase];
                self.unbroken &= !backwards.contains(&reason);
            }
        }
    }

    fn number(&mut self, time: FileTime, number: f64) {
        self.quantiles.add(number);
        self.count = self.count.saturating_add(1);
        self.last = number;
        self.minimum = self.minimum.min(number);
        self.maximum = self.maximum.max(number);
        let start = *self.start.get_or_insert(time);
        let units = i128::from(time.0).saturating_sub(i128::from(start.0));
        // A short number is converted by one instruction.
        let units = i64::try_from(units).map_or(units as f64, |units| units as f64);
        let hours = units / UNITS_PER_SECOND as f64 / 3600.0;
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

    pub(super) fn finish(mut self) -> ColumnStats {
        let summary = match self.quantiles.at(PERCENTILES.map(|hundredths| f64::from(hundredths) / 100.0)) {
            None => Err(self.reason),
            Some(percentiles) => Ok(Summary {
                count: self.count,
                last: self.last,
                minimum: self.minimum,
                maximum: self.maximum,
                mean: self.mean,
                average: self.average(),
                deviation: (self.squares / self.count as f64).max(0.0).sqrt(),
                percentiles,
                approximate: self.quantiles.is_approximate(),
                slope: (self.squares_time > 0.0).then(|| self.products / self.squares_time),
            }),
        };
        ColumnStats {
            path: self.column.path,
            parts: self.column.parts,
            counter_type: self.column.counter_type,
            summary,
            missing: self.missing,
        }
    }

    fn average(&self) -> Option<f64> {
        let (first, last) = self.first_sample.zip(self.last_sample)?;
        if !self.unbroken || !self.column.counter_type.needs_two_samples() {
            return None;
        }
        average(&first, &last).ok()?.as_f64()
    }
}
