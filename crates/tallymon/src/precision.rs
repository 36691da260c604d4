//! How exact a value is: counts are read at some time within a window, and grow in steps.

use tallymon_core::block::ReadWindow;
use tallymon_core::counter::{self, CounterType, Denominator, Format};
use tallymon_core::flow::{Sample, Value};
use tallymon_core::time::UNITS_PER_SECOND;

/// How exact two samples of one counter are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Precision {
    /// The window in which the older one was read.
    pub older: ReadWindow,
    /// The window in which the newer one was read.
    pub newer: ReadWindow,
    /// The steps in which the raw value grows.
    pub quantum: u64,
    /// The steps of `_Total`, in which those of all other instances add up.
    pub(crate) total_quantum: u64,
    pub(crate) default_scale: i32,
    pub(crate) format: Format,
}

impl Precision {
    /// The precision for the instance of this name.
    pub(crate) fn of_instance(self, name: Option<&str>) -> Precision {
        match name {
            Some("_Total") => Precision { quantum: self.total_quantum, ..self },
            _ => self,
        }
    }

    /// The largest error of the value of two samples, to either side and in the unit of the value; `None`
    /// for values that are no rate, share or average, and for those that cannot be computed.
    ///
    /// Two things make the error: the time between the reads may be anything that both windows allow, and
    /// the count may have been just before or just after a step.
    pub fn error(&self, older: &Sample, newer: &Sample) -> Option<f64> {
        if !newer.counter_type.needs_two_samples() {
            return None;
        }
        let compute = |first: u64, second: u64| {
            let value = counter::compute(Some(older), &Sample { first, second, ..*newer }).ok()?;
            value.as_f64().filter(|number| number.is_finite())
        };
        let value = compute(newer.first, newer.second)?;
        let slack = self.slack(older, newer);
        let firsts = [newer.first.saturating_sub(self.quantum), newer.first.saturating_add(self.quantum)];
        let seconds = [newer.second.saturating_sub(slack), newer.second.saturating_add(slack)];
        let corners = firsts.iter().flat_map(|first| seconds.map(|second| compute(*first, second)));
        // A corner without a value is one where the count would have gone backwards.
        let error = corners.flatten().map(|corner| (corner - value).abs()).fold(0.0, f64::max);
        Some(scaled(error, newer.counter_type, self))
    }

    /// How far the clock of the samples may differ from the time between the reads, in ticks of that clock;
    /// 0 for a value that is not divided by time.
    fn slack(&self, older: &Sample, newer: &Sample) -> u64 {
        let used = match newer.counter_type.denominator() {
            Denominator::PerfTime | Denominator::Time100ns => newer.time.0.saturating_sub(older.time.0),
            // Such a clock is the middle of its window.
            Denominator::ObjectTime => self.newer.middle().0.saturating_sub(self.older.middle().0),
            _ => return 0,
        };
        let least = self.newer.begin.0.saturating_sub(self.older.end.0);
        let most = self.newer.end.0.saturating_sub(self.older.begin.0);
        let units = used.saturating_sub(least).max(most.saturating_sub(used));
        let frequency = u128::from(newer.frequency.0.max(0).unsigned_abs());
        let ticks = u128::from(units).saturating_mul(frequency).div_ceil(u128::from(UNITS_PER_SECOND));
        u64::try_from(ticks).unwrap_or(u64::MAX)
    }
}

/// The difference of two values, scaled as a value but not limited.
fn scaled(error: f64, counter_type: CounterType, precision: &Precision) -> f64 {
    let format = Format { cap100: false, ..precision.format };
    let value = counter::apply(Value::Number(error), counter_type, precision.default_scale, &format);
    value.as_f64().unwrap_or(error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tallymon_core::time::{FileTime, Frequency};

    fn sample(counter_type: CounterType, first: u64, second: u64) -> Sample {
        let time = FileTime(second);
        Sample { counter_type, first, second, frequency: Frequency(10_000_000), multi_count: 1, time }
    }

    /// The error of a counter that grew by `grown` in a second; each read took `read` units of 100 ns.
    fn error(counter_type: CounterType, grown: u64, read: u64, quantum: u64) -> Option<f64> {
        let window = |begin| ReadWindow { begin: FileTime(begin), end: FileTime(begin + read) };
        let (older, newer) =
            (sample(counter_type, 1_000_000, 0), sample(counter_type, 1_000_000 + grown, 10_000_000));
        let (format, default_scale) = (Format::default(), 0);
        Precision {
            older: window(0),
            newer: window(10_000_000),
            quantum,
            total_quantum: quantum,
            default_scale,
            format,
        }
        .error(&older, &newer)
    }

    fn near(found: Option<f64>, wanted: f64) {
        assert!(
            found.is_some_and(|found| (found - wanted).abs() < wanted * 0.01 + 1e-9),
            "{found:?} {wanted}"
        );
    }

    #[test]
    fn errors_come_from_windows_and_steps() {
        use CounterType as T;
        // 10 ms of a second.
        near(error(T::PERF_100NSEC_TIMER, 5_000_000, 0, 100_000), 1.0);
        near(error(T::PERF_100NSEC_TIMER_INV, 5_000_000, 0, 100_000), 1.0);
        // 1 ms of a second, of a half.
        near(error(T::PERF_100NSEC_TIMER, 5_000_000, 10_000, 0), 0.05);
        near(error(T::PERF_COUNTER_BULK_COUNT, 4096, 0, 512), 512.0);
        near(error(T::PERF_COUNTER_BULK_COUNT, 100_000, 100_000, 0), 1_010.0);
        near(error(T::PERF_COUNTER_BULK_COUNT, 0, 100_000, 0), 0.0);
        assert_eq!(error(T::PERF_COUNTER_LARGE_RAWCOUNT, 1, 1, 1), None);
        assert_eq!(error(T::PERF_ELAPSED_TIME, 1, 1, 1), None);
    }
}
