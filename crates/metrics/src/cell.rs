//! What the handles of `metrics` write to. Handles are used by many threads at once.

use std::sync::{Mutex, MutexGuard, PoisonError};

use metrics::{CounterFn, GaugeFn, HistogramFn, Unit};
use tallymon_provider::shm::{Gauge, Instance, SharedCounter, SharedHistogram};

/// A counter.
pub(crate) struct CounterCell {
    counter: SharedCounter,
    /// Taken while the sum is brought up to a number.
    absolute: Mutex<()>,
    _instance: Instance,
}

impl CounterCell {
    pub(crate) fn new(counter: SharedCounter, instance: Instance) -> CounterCell {
        CounterCell { counter, absolute: Mutex::new(()), _instance: instance }
    }
}

impl CounterFn for CounterCell {
    fn increment(&self, value: u64) {
        self.counter.add(value);
    }

    fn absolute(&self, value: u64) {
        let _guard = locked(&self.absolute);
        // A sum never goes down.
        self.counter.add(value.saturating_sub(self.counter.value()));
    }
}

/// A gauge.
pub(crate) struct GaugeCell {
    gauge: Mutex<Gauge>,
    _instance: Instance,
}

impl GaugeCell {
    pub(crate) fn new(gauge: Gauge, instance: Instance) -> GaugeCell {
        GaugeCell { gauge: Mutex::new(gauge), _instance: instance }
    }

    fn change(&self, change: impl FnOnce(f64) -> f64) {
        let gauge = locked(&self.gauge);
        gauge.set(change(f64::from_bits(gauge.value())).to_bits());
    }
}

impl GaugeFn for GaugeCell {
    fn increment(&self, value: f64) {
        self.change(|now| now + value);
    }

    fn decrement(&self, value: f64) {
        self.change(|now| now - value);
    }

    fn set(&self, value: f64) {
        self.change(|_| value);
    }
}

/// A histogram.
pub(crate) struct HistogramCell {
    histogram: SharedHistogram,
    /// Seconds that a value of 1 means; `None` when values are no times.
    seconds: Option<f64>,
    _instance: Instance,
}

impl HistogramCell {
    pub(crate) fn new(histogram: SharedHistogram, seconds: Option<f64>, instance: Instance) -> HistogramCell {
        HistogramCell { histogram, seconds, _instance: instance }
    }
}

impl HistogramFn for HistogramCell {
    fn record(&self, value: f64) {
        self.record_many(value, 1);
    }

    fn record_many(&self, value: f64, count: usize) {
        let value = match self.seconds {
            // Units of 100 ns. A negative value, or one that is not a number, is not a time.
            Some(seconds) => whole(value * seconds * 1e7),
            None => whole(value),
        };
        self.histogram.record_many(value, u64::try_from(count).unwrap_or(u64::MAX));
    }
}

/// The seconds in one unit of a histogram; `None` when the histogram does not hold times.
pub(crate) fn seconds(name: &str, unit: Option<Unit>) -> Option<f64> {
    match unit {
        Some(Unit::Seconds) => Some(1.0),
        Some(Unit::Milliseconds) => Some(1e-3),
        Some(Unit::Microseconds) => Some(1e-6),
        Some(Unit::Nanoseconds) => Some(1e-9),
        Some(_) => None,
        None => {
            let ends = ["seconds", "duration", "latency", "time"];
            ends.iter().any(|end| name.ends_with(end)).then_some(1.0)
        }
    }
}

/// The nearest whole number; 0 for a negative value and for one that is not a number.
fn whole(value: f64) -> u64 {
    // A cast of a floating-point number truncates, saturates, and turns NaN into 0. Rounding first would call
    // the C library.
    (value + 0.5) as u64
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Every change is whole: the numbers stay right also when a thread panics.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_become_whole_numbers() {
        for (value, wanted) in [(0.4, 0), (0.5, 1), (7.0, 7), (-3.0, 0), (f64::NAN, 0), (1e300, u64::MAX)] {
            assert_eq!(whole(value), wanted, "{value}");
        }
    }

    #[test]
    fn times_are_known_by_unit_or_name() {
        assert_eq!(seconds("checkout", Some(Unit::Milliseconds)), Some(1e-3));
        assert_eq!(seconds("checkout_seconds", None), Some(1.0));
        assert_eq!(seconds("checkout_seconds", Some(Unit::Bytes)), None);
        assert_eq!(seconds("checkout", None), None);
    }
}
