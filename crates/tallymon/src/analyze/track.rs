//! The course of a counter over a whole log in bounded memory: one bucket for each stretch of time.

use std::collections::VecDeque;

use tallymon_core::time::{FileTime, UNITS_PER_SECOND};

/// The buckets of a track at most; when time goes on, two become one.
const BUCKETS: usize = 512;
/// The parts between which a growth in an hour is measured, as PAL does by default.
const PARTS: usize = 30;
/// The hours of a course at most: sixty days. Older ones are forgotten.
const MOST_HOURS: usize = 60 * 24;
/// An hour in units of 100 ns.
pub(super) const HOUR: u64 = 3600 * UNITS_PER_SECOND;
/// The memory of all tracks together that decides how many buckets each has.
const MEMORY: usize = 64 << 20;

/// The time axis that all tracks of an analysis share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Axis {
    /// Where the first bucket begins.
    pub start: FileTime,
    /// The width of a bucket in units of 100 ns.
    pub width: u64,
    /// How many buckets are in use.
    pub buckets: usize,
    limit: usize,
}

/// The values of one counter in one stretch of time.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Bucket {
    /// How many values there are.
    pub count: u32,
    /// Their sum.
    pub sum: f64,
    /// The smallest one.
    pub minimum: f32,
    /// The largest one.
    pub maximum: f32,
}

/// The course of one counter. Buckets at the end that have no value are missing.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Track {
    buckets: Vec<Bucket>,
}

/// The values of a counter in each local hour that has some.
#[derive(Debug, Clone, Default)]
pub(super) struct Hours {
    hours: VecDeque<HourOfCourse>,
}

/// One local hour.
#[derive(Debug, Clone, Copy)]
pub(super) struct HourOfCourse {
    /// Hours since 1601, local time.
    pub(super) hour: u64,
    /// The first record in it, UTC.
    pub(super) first: FileTime,
    sum: f64,
    count: u32,
}

impl Hours {
    pub(super) fn add(&mut self, hour: u64, time: FileTime, value: f64) {
        match self.hours.back_mut().filter(|last| last.hour == hour) {
            Some(last) => {
                last.sum += value;
                last.count = last.count.saturating_add(1);
            }
            None => {
                if self.hours.len() >= MOST_HOURS {
                    self.hours.pop_front();
                }
                self.hours.push_back(HourOfCourse { hour, first: time, sum: value, count: 1 });
            }
        }
    }

    /// The hours in the order of their records.
    pub(super) fn iter(&self) -> impl Iterator<Item = &HourOfCourse> {
        self.hours.iter()
    }
}

impl HourOfCourse {
    /// The mean of its values.
    pub(super) fn mean(&self) -> f64 {
        self.sum / f64::from(self.count.max(1))
    }
}

impl Axis {
    /// An axis for tracks of so many counters.
    pub(super) fn new(start: FileTime, columns: usize) -> Axis {
        let fitting = MEMORY / size_of::<Bucket>() / columns.max(1);
        Axis { start, width: UNITS_PER_SECOND, buckets: 0, limit: fitting.clamp(64, BUCKETS) }
    }

    /// The bucket of a time. Times before the start are in the first one.
    pub fn bucket(&self, time: FileTime) -> usize {
        let units = time.0.saturating_sub(self.start.0);
        units.checked_div(self.width).and_then(|bucket| usize::try_from(bucket).ok()).unwrap_or(usize::MAX)
    }

    /// When a bucket begins.
    pub fn time(&self, bucket: usize) -> FileTime {
        FileTime(self.start.0.saturating_add(self.width.saturating_mul(bucket as u64)))
    }

    /// Makes room for a time. Returns how often two buckets have to become one.
    pub(super) fn reach(&mut self, time: FileTime) -> u32 {
        let mut halvings = 0_u32;
        while self.bucket(time) >= self.limit {
            self.width = self.width.saturating_mul(2);
            self.buckets = self.buckets.div_ceil(2);
            halvings = halvings.saturating_add(1);
        }
        self.buckets = self.buckets.max(self.bucket(time).saturating_add(1));
        halvings
    }
}

impl Bucket {
    /// The mean of its values.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / f64::from(self.count))
    }

    pub(super) fn add(&mut self, value: f64) {
        let single = value as f32;
        (self.minimum, self.maximum) = if self.count == 0 {
            (single, single)
        } else {
            (self.minimum.min(single), self.maximum.max(single))
        };
        self.count = self.count.saturating_add(1);
        self.sum += value;
    }

    fn merge(self, other: Bucket) -> Bucket {
        match (self.count, other.count) {
            (_, 0) => self,
            (0, _) => other,
            _ => Bucket {
                count: self.count.saturating_add(other.count),
                sum: self.sum + other.sum,
                minimum: self.minimum.min(other.minimum),
                maximum: self.maximum.max(other.maximum),
            },
        }
    }
}

impl Track {
    /// Adds values to a bucket.
    pub(super) fn merge(&mut self, bucket: usize, values: Bucket) {
        if self.buckets.len() <= bucket {
            self.buckets.resize(bucket.saturating_add(1), Bucket::default());
        }
        if let Some(bucket) = self.buckets.get_mut(bucket) {
            *bucket = bucket.merge(values);
        }
    }

    /// Makes two buckets one.
    pub(super) fn halve(&mut self) {
        let pair = |pair: &[Bucket]| pair.iter().copied().fold(Bucket::default(), Bucket::merge);
        self.buckets = self.buckets.chunks(2).map(pair).collect();
    }

    /// Its buckets.
    pub fn buckets(&self) -> &[Bucket] {
        &self.buckets
    }

    /// The mean of each bucket that has values, with its number.
    pub fn means(&self) -> impl Iterator<Item = (usize, f64)> + '_ {
        self.buckets.iter().enumerate().filter_map(|(at, bucket)| Some((at, bucket.mean()?)))
    }

    /// The mean of the values in the buckets that `chosen` accepts.
    pub fn mean(&self, mut chosen: impl FnMut(usize) -> bool) -> Option<f64> {
        let all = self.buckets.iter().enumerate().filter(|(at, _)| chosen(*at));
        all.map(|(_, bucket)| *bucket).fold(Bucket::default(), Bucket::merge).mean()
    }

    /// How much it grows in an hour: from the mean of the first thirtieth of so many seconds to that of the
    /// last; a log of fewer points has fewer parts. The seconds are as many distances as there are points.
    /// `None` if one of the two has no value.
    pub(super) fn grown_per_hour(&self, axis: Axis, points: usize, seconds: f64) -> Option<f64> {
        let parts = points.min(PARTS);
        let part = |bucket: usize| bucket.saturating_mul(parts) / axis.buckets.max(1);
        let last = parts.checked_sub(1).filter(|last| *last > 0)?;
        let grown = self.mean(|bucket| part(bucket) == last)? - self.mean(|bucket| part(bucket) == 0)?;
        let hours = seconds / 3600.0 * last as f64 / parts as f64;
        Some(grown / hours).filter(|grown| grown.is_finite())
    }

    /// The median of the means of the buckets that `chosen` accepts.
    pub fn median(&self, mut chosen: impl FnMut(usize) -> bool) -> Option<f64> {
        let mut means: Vec<f64> = self.means().filter(|(at, _)| chosen(*at)).map(|(_, mean)| mean).collect();
        super::shape::median(&mut means)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_when_time_goes_on() {
        let start = FileTime(1_000 * UNITS_PER_SECOND);
        let mut axis = Axis::new(start, usize::MAX);
        let mut track = Track::default();
        // 64 buckets of a second at first: 128 values of a second each become two a bucket.
        for second in 0..128_u64 {
            let time = FileTime(start.0 + second * UNITS_PER_SECOND);
            for _ in 0..axis.reach(time) {
                track.halve();
            }
            let mut bucket = Bucket::default();
            bucket.add(second as f64);
            track.merge(axis.bucket(time), bucket);
        }
        assert_eq!((axis.width, axis.buckets), (2 * UNITS_PER_SECOND, 64));
        assert_eq!(track.buckets().len(), 64);
        assert!(track.buckets().iter().all(|bucket| bucket.count == 2));
        assert_eq!(track.means().last(), Some((63, 126.5)));
        assert_eq!((track.buckets()[5].minimum, track.buckets()[5].maximum), (10.0, 11.0));
        assert_eq!(track.mean(|_| true), Some(63.5));
        assert_eq!(track.median(|bucket| bucket < 3), Some(2.5));
        assert_eq!(axis.time(3), FileTime(start.0 + 6 * UNITS_PER_SECOND));
        // A clock that was set back.
        assert_eq!(axis.bucket(FileTime(0)), 0);
    }

    #[test]
    fn the_growth_in_an_hour_is_that_from_the_first_to_the_last_part() {
        let axis = Axis { start: FileTime(0), width: UNITS_PER_SECOND, buckets: 300, limit: 512 };
        let track = |value: &dyn Fn(usize) -> Option<f64>| {
            let mut track = Track::default();
            for second in 0..300 {
                let mut bucket = Bucket::default();
                value(second).into_iter().for_each(|value| bucket.add(value));
                track.merge(second, bucket);
            }
            track.grown_per_hour(axis, 300, 300.0)
        };
        let near = |found: Option<f64>, expected: f64| (found.unwrap() - expected).abs() < 1e-6;
        assert!(near(track(&|at| Some(7.0 + 2.0 * at as f64)), 7200.0));
        assert!(near(track(&|at| Some(1000.0 - at as f64)), -3600.0));
        assert!(near(track(&|_| Some(7.0)), 0.0));
        // What was there for part of the time only is not known.
        assert_eq!(track(&|at| (at >= 10).then_some(7.0)), None);
        assert_eq!(track(&|at| (at < 290).then_some(7.0)), None);
        // Three points are three parts; one is no distance.
        let mut few = Track::default();
        for (at, value) in [1.0, 5.0, 9.0].into_iter().enumerate() {
            let mut bucket = Bucket::default();
            bucket.add(value);
            few.merge(at, bucket);
        }
        let axis = Axis { buckets: 3, ..axis };
        assert!(near(few.grown_per_hour(axis, 3, 3.0), 8.0 * 3600.0 / 2.0));
        assert_eq!(few.grown_per_hour(axis, 1, 3.0), None);
        assert_eq!(few.grown_per_hour(axis, 3, 0.0), None);
    }
}
