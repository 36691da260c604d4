//! Alerts: which thresholds were crossed when, by which value, and in which direction.
//!
//! A series is above its threshold or not; each change is a crossing, a gap is no change. Crossings of rows
//! in memory always belong to the current threshold: they are searched again when it changes, and in a log
//! when its values have been read. Older crossings stay until there are too many.

use std::collections::VecDeque;

use tallymon::core::time::FileTime;

/// How many crossings are kept; the oldest are dropped first.
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
    /// The value rose above the threshold; else it fell below it.
    pub rises: bool,
}

/// The crossings, oldest first.
#[derive(Debug, Default)]
pub struct Alerts {
    pub(super) crossings: VecDeque<Crossing>,
    /// How many are new since the list was looked at.
    unseen: usize,
    /// Bytes of their paths.
    path_bytes: usize,
}

impl Alerts {
    /// The crossings, oldest first.
    pub const fn crossings(&self) -> &VecDeque<Crossing> {
        &self.crossings
    }

    /// How many are new since the list was looked at.
    pub const fn unseen(&self) -> usize {
        self.unseen
    }

    /// The list is looked at.
    pub const fn look(&mut self) {
        self.unseen = 0;
    }

    /// Adds crossings of settings.
    pub fn restore(&mut self, crossings: &[Crossing]) {
        self.crossings.extend(crossings.iter().cloned());
        self.put_in_order();
    }

    pub(super) fn clear(&mut self) {
        *self = Alerts::default();
    }

    /// Bytes that they use.
    pub(super) fn bytes(&self) -> usize {
        self.crossings.capacity().saturating_mul(size_of::<Crossing>()).saturating_add(self.path_bytes)
    }

    pub(super) fn push(&mut self, crossing: Crossing) {
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

    pub(super) fn put_in_order(&mut self) {
        self.crossings.make_contiguous().sort_by_key(|crossing| crossing.time);
        let paths = self.crossings.iter().map(|crossing| crossing.path.capacity());
        self.path_bytes = paths.fold(0, usize::saturating_add);
        self.drop_oldest();
    }
}
