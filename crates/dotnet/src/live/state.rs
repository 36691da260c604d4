//! What is known of a program: the values of its counters, and sums over the events since the session began.
//!
//! A runtime sends its counters in sets, a set in each interval. A sum is known at the time of each set. The
//! programs of an object are written for one moment: between two sets a sum is taken to grow evenly.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::meters::Meters;
use crate::events::{self, Counter, GcStart, HeapStats, Meaning};

/// Sets that are kept, so that programs whose intervals are not in step can be written for one moment.
const SETS: usize = 32;
/// Counters of a set that are at most so far apart, in units of 100 ns.
const SET_LENGTH: u64 = 500_000;
/// The most names that are kept of a program; the runtime itself has about fifty.
const MOST_NAMES: usize = 256;
/// The most of a name that is kept.
const MOST_LETTERS: usize = 200;

/// What is known of a program.
#[derive(Debug, Default)]
pub(crate) struct State {
    /// The last values by the names of their counters; of counts that of the last interval, per second.
    values: BTreeMap<String, f64>,
    /// Sums of the counts since the session began, and growing totals, by the names of their counters.
    sums: BTreeMap<String, f64>,
    /// The instruments of its meters, and their values.
    pub(crate) meters: Meters,
    /// The meters whose values are kept.
    pub(crate) wanted: BTreeSet<String>,
    /// The sums at the time of each set, the newest last.
    sets: VecDeque<(u64, BTreeMap<String, f64>)>,
    /// The newest collection that began.
    pub(crate) collection: Option<GcStart>,
    /// The heap after the newest collection.
    pub(crate) heap: Option<HeapStats>,
    /// When the threads were suspended for a collection that still runs.
    paused: Option<u64>,
}

/// Sums that events give, beside those of counters.
pub(crate) const PROMOTED: [&str; 2] = ["promoted from gen 0", "promoted from gen 1"];
pub(crate) const PAUSES: &str = "pauses";

/// Counters that grow as long as a program runs.
const TOTALS: [&str; 2] = ["il-bytes-jitted", "methods-jitted-count"];

impl State {
    /// Adds an event at a time, in units of 100 ns.
    pub(crate) fn add(&mut self, time: u64, event: Meaning) {
        match event {
            Meaning::Counter(counter) => self.add_counter(time, &counter),
            Meaning::Meter(event) => self.meters.add(time, event, &self.wanted),
            Meaning::GcStart(start) => self.collection = Some(start),
            Meaning::HeapStats(stats) => {
                for (name, bytes) in PROMOTED.iter().zip(stats.promoted) {
                    self.grow(name, bytes as f64);
                }
                self.heap = Some(stats);
            }
            // For a collection, and for preparing one in the background.
            Meaning::SuspendBegin(1 | 6) => self.paused = Some(time),
            Meaning::SuspendBegin(_) => self.paused = None,
            Meaning::RestartEnd => {
                if let Some(begin) = self.paused.take() {
                    self.grow(PAUSES, time.saturating_sub(begin) as f64);
                }
            }
            _ => {}
        }
    }

    fn grow(&mut self, name: &str, more: f64) {
        if let Some(sum) = entry(&mut self.sums, name) {
            *sum += more;
        }
    }

    fn add_counter(&mut self, time: u64, counter: &Counter) {
        if !counter.value.is_finite() || counter.name.is_empty() {
            return;
        }
        if self.sets.is_empty() {
            // Counting began one interval earlier.
            let interval = (counter.interval.clamp(0.0, 3600.0) * 1e7) as u64;
            let names = PROMOTED.iter().chain([&PAUSES]);
            self.sums.extend(names.map(|name| (name.to_string(), 0.0)));
            self.sets.push_back((time.saturating_sub(interval), BTreeMap::new()));
        }
        let value = match counter.is_count {
            true if counter.interval > 0.0 => counter.value / counter.interval,
            _ => counter.value,
        };
        if let Some(last) = entry(&mut self.values, &counter.name) {
            *last = value;
        }
        if counter.is_count {
            self.grow(&counter.name, counter.value.max(0.0));
        } else if TOTALS.contains(&counter.name.as_str())
            && let Some(sum) = entry(&mut self.sums, &counter.name)
        {
            *sum = counter.value;
        }
        match self.sets.back_mut() {
            Some((at, set)) if !set.is_empty() && time.saturating_sub(*at) < SET_LENGTH => {
                set.clone_from(&self.sums);
            }
            _ => {
                self.sets.push_back((time, self.sums.clone()));
                if self.sets.len() > SETS {
                    self.sets.pop_front();
                }
            }
        }
    }

    /// When the newest whole set came: the one before the last, of which a part may still be on its way.
    /// `None` before the first.
    pub(crate) fn newest(&self) -> Option<u64> {
        let whole = self.sets.len().checked_sub(2)?;
        self.sets.get(whole).filter(|(_, set)| !set.is_empty()).map(|(time, _)| *time)
    }

    /// The last value of a counter.
    pub(crate) fn value(&self, name: &str) -> Option<f64> {
        self.values.get(name).copied()
    }

    /// The last value of an instrument of the runtime with these tags.
    pub(crate) fn instrument(&self, name: &str, tags: &str) -> Option<f64> {
        self.meters.last(events::SYSTEM_RUNTIME, name, tags)
    }

    /// A sum at a time: what it was at the set before, and its part of the growth until the next one.
    pub(crate) fn sum(&self, name: &str, time: u64) -> Option<f64> {
        let last = *self.sums.get(name)?;
        let of = |set: &BTreeMap<String, f64>| {
            // Before its first set a counter had counted nothing; a total was never 0.
            let first = if TOTALS.contains(&name) { last } else { 0.0 };
            set.get(name).copied().unwrap_or(first)
        };
        let after = self.sets.iter().position(|(at, _)| *at >= time);
        let Some(after) = after else { return self.sets.back().map(|(_, set)| of(set)) };
        let (next_time, next) = self.sets.get(after)?;
        let Some((before_time, before)) = after.checked_sub(1).and_then(|at| self.sets.get(at)) else {
            return Some(of(next));
        };
        let length = next_time.saturating_sub(*before_time).max(1) as f64;
        let part = time.saturating_sub(*before_time) as f64 / length;
        let (from, to) = (of(before), of(next));
        Some(from + (to - from) * part)
    }
}

/// The entry of a name, which is made when there is room.
fn entry<'m>(map: &'m mut BTreeMap<String, f64>, name: &str) -> Option<&'m mut f64> {
    if !map.contains_key(name) {
        if map.len() >= MOST_NAMES || name.len() > MOST_LETTERS {
            return None;
        }
        map.insert(name.to_string(), 0.0);
    }
    map.get_mut(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counter(name: &str, value: f64, is_count: bool) -> Meaning {
        Meaning::Counter(Counter {
            name: name.into(),
            display_name: String::new(),
            value,
            is_count,
            interval: 0.5,
            unit: String::new(),
        })
    }

    #[test]
    fn sums_grow_evenly_between_sets() {
        let mut state = State::default();
        assert_eq!((state.newest(), state.sum("a", 0)), (None, None));
        // Intervals of half a second.
        for (time, count) in [(10_000_000, 4.0), (15_000_000, 6.0), (20_000_000, 0.0)] {
            state.add(time, counter("heap", time as f64, false));
            state.add(time + 100, counter("a", count, true));
        }
        assert_eq!((state.newest(), state.value("heap")), (Some(15_000_000), Some(2e7)));
        let sums = [
            (5_000_000, 0.0),
            (7_500_000, 2.0),
            (10_000_000, 4.0),
            (12_500_000, 7.0),
            (15_000_000, 10.0),
            (18_000_000, 10.0),
            (99_000_000, 10.0),
        ];
        for (time, sum) in sums {
            assert_eq!(state.sum("a", time), Some(sum), "{time}");
        }
        // Counts of the last interval, per second.
        assert_eq!(state.value("a"), Some(0.0));
        assert_eq!(state.sum(PAUSES, 20_000_000), Some(0.0));
        assert_eq!(state.sum("unknown", 20_000_000), None);
    }

    #[test]
    fn pauses_are_those_of_collections() {
        let mut state = State::default();
        for (begin, reason, end) in [(100, 1, 150), (200, 5, 290), (300, 6, 307)] {
            state.add(begin, Meaning::SuspendBegin(reason));
            state.add(end, Meaning::RestartEnd);
        }
        state.add(1000, counter("heap", 1.0, false));
        assert_eq!(state.sum(PAUSES, 1000), Some(0.0), "the sum begins with the first set");
        state.add(1_000_000, Meaning::SuspendBegin(1));
        state.add(1_000_057, Meaning::RestartEnd);
        state.add(2_000_000, counter("heap", 1.0, false));
        assert_eq!(state.sum(PAUSES, 2_000_000), Some(57.0));
    }

    #[test]
    fn hostile_counters_take_little_memory() {
        let mut state = State::default();
        for number in 0..10_000 {
            state.add(number * 10_000_000, counter(&format!("n{number}"), f64::NAN, true));
            state.add(number * 10_000_000, counter(&format!("n{number}"), -1e300, true));
            state.add(0, counter(&"x".repeat(100_000), 1.0, false));
        }
        assert_eq!((state.sums.len(), state.sets.len()), (MOST_NAMES, SETS));
        assert!(state.sums.values().all(|sum| *sum == 0.0));
    }
}
