//! The numbers of one counter, added one by one or part by part.

use tallymon_core::counter::average;
use tallymon_core::flow::{NoValue, Sample, Value};
use tallymon_core::time::FileTime;

use super::part::Part;
use super::{ColumnStats, PERCENTILES, Summary};
use crate::quantile::{Quantiles, Ranges};
use crate::reader::Column;

/// The numbers of a column so far.
pub(super) struct Accumulator {
    pub(super) column: Column,
    quantiles: Quantiles,
    /// The parts that ended, and the one that goes on.
    whole: Part,
    now: Part,
}

impl Accumulator {
    pub(super) fn new(column: &Column, exact_values: usize) -> Accumulator {
        Accumulator {
            column: column.clone(),
            quantiles: Quantiles::new(exact_values),
            whole: Part::new(),
            now: Part::new(),
        }
    }

    /// The next samples come from another log, perhaps from after a restart of the machine.
    pub(super) fn begin_log(&mut self) {
        self.whole.unbroken = self.whole.first_sample.or(self.now.first_sample).is_none();
        self.now.unbroken = true;
    }

    pub(super) fn add(
        &mut self,
        time: FileTime,
        cell: &Result<Sample, NoValue>,
        value: &Result<Value, NoValue>,
    ) {
        if let Some(number) = self.now.add(time, cell, value) {
            self.quantiles.add(number);
        }
    }

    /// The next sample is the first one of another part of the log.
    pub(super) fn end_part(&mut self) {
        self.whole.join(&self.now);
        self.now = Part::new();
    }

    /// Adds the numbers of a whole part; returns the sample from which the next record goes on.
    pub(super) fn add_part(&mut self, part: &Part, ranges: &Ranges) -> Option<Sample> {
        self.end_part();
        self.whole.join(part);
        self.quantiles.add_ranges(ranges);
        part.older()
    }

    pub(super) fn finish(mut self) -> ColumnStats {
        self.end_part();
        let whole = &self.whole;
        let summary = match self.quantiles.at(PERCENTILES.map(|hundredths| f64::from(hundredths) / 100.0)) {
            None => Err(whole.reason.unwrap_or(NoValue::FirstSample)),
            Some(percentiles) => Ok(Summary {
                count: whole.count,
                last: whole.last,
                minimum: whole.minimum,
                maximum: whole.maximum,
                mean: whole.mean,
                average: self.average(),
                deviation: (whole.squares / whole.count as f64).max(0.0).sqrt(),
                percentiles,
                approximate: self.quantiles.is_approximate(),
                slope: (whole.squares_time > 0.0).then(|| whole.products / whole.squares_time),
            }),
        };
        ColumnStats {
            missing: whole.missing,
            path: self.column.path,
            parts: self.column.parts,
            counter_type: self.column.counter_type,
            summary,
        }
    }

    fn average(&self) -> Option<f64> {
        let (first, last) = self.whole.first_sample.zip(self.whole.last_sample)?;
        if !self.whole.unbroken || !self.column.counter_type.needs_two_samples() {
            return None;
        }
        average(&first, &last).ok()?.as_f64()
    }
}
