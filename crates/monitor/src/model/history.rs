//! A cleared history, kept for undo.

use std::collections::{HashMap, HashSet, VecDeque};

use tallymon::PathError;
use tallymon::core::time::FileTime;

use crate::model::identity::SeriesIdentity;
use crate::model::series::Series;
use crate::model::top::Top;

/// Everything that was in memory before it was cleared.
#[derive(Debug)]
pub struct History {
    pub(super) series: Vec<Series>,
    pub(super) times: VecDeque<FileTime>,
    pub(super) top: Top,
    pub(super) failed: Vec<PathError>,
    pub(super) removed: HashSet<String>,
    pub(super) removed_identities: HashMap<SeriesIdentity, String>,
    /// Number of the row after the last one.
    pub(super) end: u64,
}

impl History {
    /// Bytes that its values use.
    pub fn bytes(&self) -> usize {
        let times = self.times.capacity().saturating_mul(size_of::<FileTime>());
        self.series
            .iter()
            .fold(times.saturating_add(self.top.bytes()), |sum, series| sum.saturating_add(series.bytes()))
    }
}
