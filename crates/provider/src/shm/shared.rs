//! Counters that many threads add to.
//!
//! The value is the sum of lanes, which are on cache lines of their own. Where the system has restartable
//! sequences, each processor has a lane, and adding is one unlocked instruction in it; a thread that is
//! interrupted in the middle, about once in a million, adds with a lock in one of the other lanes. Without
//! such sequences the threads take the lanes in turn, and with more processors than lanes the processors
//! share them; both add with a lock.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use super::definition::{CounterDefinition, Storage};
use super::layout::MAX_LANES;
use super::map::Lanes;
use super::publisher::{Inner, Instance, PublishError};
use super::rseq::Area;

/// The number of lanes in addition to those of the processors.
const LANES_OF_NOBODY: u32 = 2;

impl Instance {
    /// A writer, one of any number, of a number that is declared as shared.
    ///
    /// # Errors
    ///
    /// There is no such counter, or it is not shared.
    pub fn shared(&self, name: &str) -> Result<SharedCounter, PublishError> {
        let position = self.position(name)?;
        let counter = self.inner.definition.counters.get(position);
        let lanes = counter.filter(|counter| !counter.counter_type.takes_base());
        let lanes = lanes.and_then(|counter| self.sum(counter));
        let lanes = lanes.ok_or_else(|| Instance::wrong(name, "not declared as shared"))?;
        Ok(SharedCounter { lanes, _inner: Arc::clone(&self.inner) })
    }

    /// The lanes of a sum; `None` when the counter is not a sum.
    pub(super) fn sum(&self, counter: &CounterDefinition) -> Option<SharedLanes> {
        let Storage::Sum { lanes, lane_stride } = counter.storage else { return None };
        self.shared_lanes(counter.offset, lanes, 1, lane_stride)
    }

    /// Lanes of `width` words; `None` when they are not inside of the file.
    pub(super) fn shared_lanes(
        &self,
        offset: usize,
        lanes: u32,
        width: usize,
        stride: usize,
    ) -> Option<SharedLanes> {
        let area = Area::registered();
        let own = processors().filter(|n| area.is_some() && *n < lanes);
        let lanes = self.inner.lanes(offset, lanes, width, stride, own.unwrap_or(0))?;
        Some(SharedLanes { lanes, own: area.filter(|_| own.is_some()), area })
    }
}

/// A writer of a number that many threads add to. No addition is lost.
#[derive(Debug, Clone)]
pub struct SharedCounter {
    lanes: SharedLanes,
    _inner: Arc<Inner>,
}

impl SharedCounter {
    /// Adds a number.
    #[inline]
    pub fn add(&self, n: u64) {
        self.lanes.add(0, n);
    }

    /// Adds one.
    #[inline]
    pub fn increment(&self) {
        self.add(1);
    }

    /// The sum now. Threads that add meanwhile may or may not be in it.
    pub fn value(&self) -> u64 {
        self.lanes.value(0)
    }
}

/// Words that many threads add to, each in a lane of its own as far as possible.
#[derive(Debug, Clone)]
pub(super) struct SharedLanes {
    lanes: Lanes,
    /// The area, if processors have lanes of their own.
    own: Option<Area>,
    area: Option<Area>,
}

impl SharedLanes {
    /// Adds to a word; a word that does not exist has no effect.
    #[inline]
    pub(super) fn add(&self, word: usize, n: u64) {
        if let Some(area) = self.own
            && self.lanes.add_here(area, word, n)
        {
            return;
        }
        self.add_locked(word, n);
    }

    /// The sum of a word in all lanes.
    pub(super) fn value(&self, word: usize) -> u64 {
        let lanes = (0..self.lanes.len()).filter_map(|lane| self.lanes.get(lane, word));
        lanes.map(|word| word.load(Ordering::Relaxed)).fold(0, u64::wrapping_add)
    }

    /// Adds in a lane that belongs to no processor.
    #[inline]
    fn add_locked(&self, word: usize, n: u64) {
        let own = usize::try_from(self.lanes.processors()).unwrap_or(usize::MAX);
        let others = self.lanes.len().saturating_sub(own);
        let place = match self.area {
            // There are more processors than lanes: some share one.
            Some(area) if self.own.is_none() => spread(area.processor()),
            _ => PLACE.with(|place| *place),
        };
        let lane = own.saturating_add(part_of(place, others));
        if let Some(word) = self.lanes.get(lane, word) {
            word.fetch_add(n, Ordering::Relaxed);
        }
    }
}

/// How many lanes a shared counter needs for each processor to have one, as far as so many are possible.
pub(super) fn lanes_of_this_machine() -> u32 {
    let threads = || std::thread::available_parallelism().map_or(1, |n| u32::try_from(n.get()).unwrap_or(1));
    processors().unwrap_or_else(threads).saturating_add(LANES_OF_NOBODY).min(MAX_LANES)
}

/// One more than the highest number that a processor can ever have here; `None` when the system does not say.
fn processors() -> Option<u32> {
    static PROCESSORS: OnceLock<Option<u32>> = OnceLock::new();
    *PROCESSORS.get_or_init(|| {
        let text = std::fs::read_to_string("/sys/devices/system/cpu/possible").ok()?;
        highest(&text)?.checked_add(1)
    })
}

/// The highest number of a list such as `0-3,8-11`.
fn highest(list: &str) -> Option<u32> {
    list.trim().split([',', '-']).map(|number| number.parse().ok()).max()?
}

static NEXT: AtomicU32 = AtomicU32::new(0);

thread_local! {
    /// Where this thread is among all, as a part of 2^32.
    static PLACE: u32 = spread(NEXT.fetch_add(1, Ordering::Relaxed));
}

/// Spreads numbers that follow each other evenly over 2^32: multiples of the golden ratio.
const fn spread(number: u32) -> u32 {
    number.wrapping_mul(0x9e37_79b9)
}

/// The same share of `n` as `place` is of 2^32: a remainder would cost a division.
fn part_of(place: u32, n: usize) -> usize {
    let n = u32::try_from(n).unwrap_or(u32::MAX);
    let part = u64::from(place).wrapping_mul(u64::from(n)) >> 32;
    usize::try_from(part).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_processors() {
        for (list, highest_number) in
            [("0\n", Some(0)), ("0-1\n", Some(1)), ("0-3,8-11,16", Some(16)), ("", None)]
        {
            assert_eq!(highest(list), highest_number, "{list:?}");
        }
    }

    #[test]
    fn places_are_spread_over_all_lanes() {
        for n in [1usize, 2, 3, 7, 64] {
            let mut hits = vec![0u32; n];
            (0..10_000).for_each(|number| hits[part_of(spread(number), n)] += 1);
            let even = 10_000 / u32::try_from(n).unwrap();
            assert!(hits.iter().all(|hit| hit.abs_diff(even) <= even / 4 + 2), "{n}: {hits:?}");
        }
    }
}
