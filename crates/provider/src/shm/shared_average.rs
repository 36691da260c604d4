//! Averages and histograms that many threads record in without waiting.
//!
//! The values, their number and the buckets are sums of lanes, like a shared counter. They are added one
//! after the other: a reader may see a value without its base while a thread is between the two.

use std::sync::Arc;
use std::time::Duration;

use super::buckets::Buckets;
use super::definition::{CounterDefinition, Storage};
use super::publisher::{Inner, Instance, PublishError};
use super::shared::SharedLanes;

impl Instance {
    /// A writer, one of any number, of an average that was declared as shared.
    ///
    /// # Errors
    ///
    /// There is no such counter, it has no base, or it is not shared.
    pub fn shared_average(&self, name: &str) -> Result<SharedAverage, PublishError> {
        let [value, base] = self.value_and_next(name)?;
        let lanes = value.filter(|value| value.counter_type.takes_base()).and_then(|value| self.sum(value));
        let bases = base.and_then(|base| self.sum(base));
        let (Some(values), Some(bases)) = (lanes, bases) else {
            return Err(Instance::wrong(name, "no shared average"));
        };
        Ok(SharedAverage { values, bases, _inner: Arc::clone(&self.inner) })
    }

    /// A writer, one of any number, of a histogram that is declared as shared.
    ///
    /// # Errors
    ///
    /// There is no such counter, it is no histogram, or it is not shared.
    pub fn shared_histogram(&self, name: &str) -> Result<SharedHistogram, PublishError> {
        let [value, base] = self.value_and_next(name)?;
        let values = value.and_then(|value| self.sum(value));
        let counts = base.and_then(|base| match base.storage {
            Storage::Histogram { buckets, lanes: Some(lanes), .. } => {
                Some((buckets, self.shared_lanes(base.offset, lanes, buckets.n, buckets.lane())?))
            }
            _ => None,
        });
        let (Some(values), Some((buckets, counts))) = (values, counts) else {
            return Err(Instance::wrong(name, "no shared histogram"));
        };
        Ok(SharedHistogram { buckets, values, counts, _inner: Arc::clone(&self.inner) })
    }

    /// A counter and its base, if it has one.
    fn value_and_next(&self, name: &str) -> Result<[Option<&CounterDefinition>; 2], PublishError> {
        let position = self.position(name)?;
        let counters = &self.inner.definition.counters;
        Ok([counters.get(position), counters.get(position.saturating_add(1))])
    }
}

/// A writer of an average or a fraction that many threads record in. No value is lost.
#[derive(Debug, Clone)]
pub struct SharedAverage {
    values: SharedLanes,
    bases: SharedLanes,
    _inner: Arc<Inner>,
}

impl SharedAverage {
    /// One more value.
    #[inline]
    pub fn record(&self, value: u64) {
        self.add(value, 1);
    }

    /// Adds to the value and to its base.
    #[inline]
    pub fn add(&self, value: u64, base: u64) {
        self.values.add(0, value);
        self.bases.add(0, base);
    }

    /// One more attempt, for a `PERF_SAMPLE_FRACTION`: whether it hit.
    #[inline]
    pub fn record_hit(&self, hit: bool) {
        self.record(u64::from(hit));
    }

    /// One more time, for a `PERF_AVERAGE_TIMER`: in units of 100 ns, as the performance clock.
    #[inline]
    pub fn record_time(&self, time: Duration) {
        self.record(u64::try_from(time.as_nanos() / 100).unwrap_or(u64::MAX));
    }
}

/// A writer of a histogram that many threads record in. No value is lost.
#[derive(Debug, Clone)]
pub struct SharedHistogram {
    buckets: Buckets,
    values: SharedLanes,
    counts: SharedLanes,
    _inner: Arc<Inner>,
}

impl SharedHistogram {
    /// One more value.
    #[inline]
    pub fn record(&self, value: u64) {
        self.record_many(value, 1);
    }

    /// The same value so many times.
    #[inline]
    pub fn record_many(&self, value: u64, times: u64) {
        self.values.add(0, value.wrapping_mul(times));
        self.counts.add(self.buckets.of(value), times);
    }

    /// One more time, in units of 100 ns, as the performance clock.
    #[inline]
    pub fn record_time(&self, time: Duration) {
        self.record(u64::try_from(time.as_nanos() / 100).unwrap_or(u64::MAX));
    }

    /// How many values there were. Threads that record meanwhile may or may not be in it.
    pub fn count(&self) -> u64 {
        Buckets::count((0..self.buckets.n).map(|bucket| self.counts.value(bucket)))
    }
}
