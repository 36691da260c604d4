//! Thresholds that were crossed: when, by what, and in which direction.
//!
//! A series is above its threshold or it is not; each change of that is an event. A gap changes nothing. Events of rows that
//! are in memory are those of the threshold of now: it is looked for them again when it is changed, and in a log when its
//! values are there. Older ones stay until there are too many.

use std::collections::VecDeque;

use tallymon::core::time::FileTime;

use super::{Monitor, Series};

/// How many events are kept; the oldest go first.
pub const MOST_CROSSINGS: usize = 1_000;

/// A threshold was crossed.
#[derive(Debug, Clone, PartialEq)]
pub struct Crossing {
    /// The time of the sample.
    pub time: FileTime,
    /// Path of the counter.
    pub path: String,
    /// Its value then.
    pub value: f64,
    /// The threshold.
    pub threshold: f64,
    /// It is above since then; else it is no longer.
    pub rises: bool,
}

/// The events, oldest first.
#[derive(Debug, Default)]
pub struct Alerts {
    crossings: VecDeque<Crossing>,
    /// How many came since somebody looked.
    unseen: usize,
    /// Bytes of their paths.
    path_bytes: usize,
}

impl Alerts {
    /// The events, oldest first.
    pub const fn crossings(&self) -> &VecDeque<Crossing> {
        &self.crossings
    }

    /// How many came since somebody looked.
    pub const fn unseen(&self) -> usize {
        self.unseen
    }

    /// Somebody looks.
    pub const fn look(&mut self) {
        self.unseen = 0;
    }

    /// Has events of before, as settings have them.
    pub fn restore(&mut self, crossings: &[Crossing]) {
        self.crossings.extend(crossings.iter().cloned());
        self.put_in_order();
    }

    pub(super) fn clear(&mut self) {
        *self = Alerts::default();
    }

    /// Bytes that they take.
    pub(super) fn bytes(&self) -> usize {
        self.crossings.capacity().saturating_mul(size_of::<Crossing>()).saturating_add(self.path_bytes)
    }

    fn push(&mut self, crossing: Crossing) {
        self.unseen = self.unseen.saturating_add(1).min(MOST_CROSSINGS);
        self.path_bytes = self.path_bytes.saturating_add(crossing.path.capacity());
        self.crossings.push_back(crossing);
        self.drop_oldest();
    }

    fn drop_oldest(&mut self) {
        while self.crossings.len() > MOST_CROSSINGS
            && let Some(oldest) = self.crossings.pop_front()
        {
            self.path_bytes = self.path_bytes.saturating_sub(oldest.path.capacity());
        }
    }

    fn put_in_order(&mut self) {
        self.crossings.make_contiguous().sort_by_key(|crossing| crossing.time);
        let paths = self.crossings.iter().map(|crossing| crossing.path.capacity());
        self.path_bytes = paths.fold(0, usize::saturating_add);
        self.drop_oldest();
    }
}

impl Series {
    /// Whether a value crosses its threshold, and notes that it did.
    fn cross(&mut self, value: f64, time: FileTime) -> Option<Crossing> {
        let threshold = self.threshold?;
        let rises = value > threshold;
        if std::mem::replace(&mut self.was_over, rises) == rises {
            return None;
        }
        Some(Crossing { time, path: self.path.clone(), value, threshold, rises })
    }
}

impl Monitor {
    /// Notes which series have crossed their thresholds with the sample that was just taken.
    pub(super) fn note_crossings(&mut self, time: FileTime) {
        for series in &mut self.series {
            let fresh = series.last.as_ref().ok().filter(|_| !series.stale);
            if let Some(value) = fresh.and_then(|value| value.as_f64())
                && let Some(crossing) = series.cross(value, time)
            {
                self.alerts.push(crossing);
            }
        }
    }

    /// Gives the chosen series a threshold, or none.
    pub fn set_threshold(&mut self, threshold: Option<f64>) {
        if let Some(series) = self.series.get_mut(self.selected) {
            series.threshold = threshold;
            self.find_crossings(self.selected);
        }
    }

    /// Looks for the events of all series in the rows that are in memory.
    pub fn find_all_crossings(&mut self) {
        for position in 0..self.series.len() {
            self.find_crossings(position);
        }
    }

    /// Looks for the events of a series in the rows that are in memory.
    pub(super) fn find_crossings(&mut self, position: usize) {
        let rows = self.rows();
        let Some(series) = self.series.get_mut(position) else { return };
        let in_memory = self.times.front().zip(self.times.back()).map(|(first, last)| *first..=*last);
        let crossings = &mut self.alerts.crossings;
        crossings.retain(|crossing| {
            crossing.path != series.path
                || !in_memory.as_ref().is_some_and(|times| times.contains(&crossing.time))
        });
        // What was forgotten since has ended as the last event of it says.
        let is_before = |crossing: &&Crossing| {
            crossing.path == series.path
                && in_memory.as_ref().is_some_and(|times| crossing.time < *times.start())
        };
        let before = crossings.iter().rev().find(is_before);
        series.was_over = before.is_some_and(|crossing| crossing.rises);
        let rows = if series.threshold.is_some() { rows } else { rows.start..rows.start };
        let (first, values) = series.values(self.next, &rows);
        let values: Vec<(u64, f64)> =
            (first..).zip(values).filter_map(|(row, value)| Some((row, value.ok()?))).collect();
        for (row, value) in values {
            let nth = usize::try_from(row.saturating_sub(rows.start)).unwrap_or(usize::MAX);
            let Some(time) = self.times.get(nth).copied() else { continue };
            if let Some(crossing) = series.cross(value, time) {
                self.alerts.crossings.push_back(crossing);
            }
        }
        self.alerts.put_in_order();
    }
}
