//! Finds the series of a reading: by the identity of its instance, else by its path.

use std::collections::HashMap;

use crate::model::identity::SeriesIdentity;
use crate::model::series::Series;

/// Positions of all series.
#[derive(Debug, Default)]
pub(super) struct SeriesIndex {
    /// Position of each path, in lower case.
    pub(super) paths: HashMap<String, usize>,
    /// Position of each counter of an instance with an identity.
    pub(super) identities: HashMap<SeriesIdentity, usize>,
}

impl SeriesIndex {
    pub(super) fn of(series: &[Series]) -> SeriesIndex {
        let mut index = SeriesIndex::default();
        // Of two series with the same path, the one that has not ended is found.
        let (ended, there): (Vec<_>, Vec<_>) =
            series.iter().enumerate().partition(|(_, series)| series.ended.is_some());
        for (position, series) in ended.into_iter().chain(there) {
            index.paths.insert(series.path.to_lowercase(), position);
            if let Some(identity) = series.full_identity() {
                index.identities.insert(identity, position);
            }
        }
        index
    }

    /// The series of a path.
    pub(super) fn path(&self, path: &str) -> Option<usize> {
        self.paths.get(&path.to_lowercase()).copied()
    }
}
