//! The only writer of a histogram.

use std::sync::atomic::Ordering;
use std::time::Duration;

use super::buckets::Buckets;
use super::definition::Storage;
use super::handle::Average;
use super::map::Words;
use super::protocol::add;
use super::publisher::{Instance, PublishError};

impl Instance {
    /// The writer of a histogram.
    ///
    /// # Errors
    ///
    /// There is no such counter, it is no histogram, or it has a writer.
    pub fn histogram(&self, name: &str) -> Result<Histogram, PublishError> {
        let position = self.position(name)?;
        // The base follows the average, and the parts that readers compute follow the base.
        let part = self.inner.definition.counters.get(position.saturating_add(2));
        let Some((Storage::Histogram { buckets, lanes: None, .. }, offset)) =
            part.map(|part| (part.storage, part.offset))
        else {
            return Err(Instance::wrong(name, "no histogram of one writer"));
        };
        let words = self.inner.words(offset, buckets.n);
        let words = words.ok_or_else(|| PublishError::NoSuch { name: name.to_string() })?;
        Ok(Histogram { buckets, words, average: self.average(name)? })
    }
}

/// The only writer of a histogram: an average, the number of values, and percentiles.
#[derive(Debug)]
pub struct Histogram {
    buckets: Buckets,
    words: Words,
    average: Average,
}

impl Histogram {
    /// One more value.
    #[inline(always)]
    pub fn record(&mut self, value: u64) {
        self.average.record(value);
        if let Some(word) = self.words.get(self.buckets.of(value)) {
            add(word, 1);
        }
    }

    /// One more time, in units of 100 ns, as the performance clock.
    #[inline(always)]
    pub fn record_time(&mut self, time: Duration) {
        self.record(u64::try_from(time.as_nanos() / 100).unwrap_or(u64::MAX));
    }

    /// How many values there were.
    pub fn count(&self) -> u64 {
        Buckets::count(self.words.iter().map(|word| word.load(Ordering::Relaxed)))
    }
}
