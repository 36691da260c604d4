//! Samples become rows: which reading belongs to which series.
//!
//! An instance of a wildcard path is matched by its identity, where its object has one: when the first of
//! three instances with one name ends, the other two get lower numbers, and their lines continue under the
//! new names. A path that names one instance always means the instance that has the name now.

use tallymon::core::flow::NoValue;
use tallymon::core::time::FileTime;
use tallymon::{Query, Reading};

use crate::model::identity::SeriesIdentity;
use crate::model::index::SeriesIndex;
use crate::model::monitor::Monitor;
use crate::model::series::Series;
use crate::model::top::Top;

/// The identity of a reading, if a wildcard path requested it.
fn identity_of(query: &Query, reading: &Reading) -> Option<SeriesIdentity> {
    let is_wild = query.path(reading.handle).contains(['*', '?']);
    Some((reading.object, reading.counter, reading.identity.filter(|_| is_wild)?))
}

impl Monitor {
    /// Takes the sample that a query has just collected. A reading of an unknown path becomes a new series; a
    /// series without a reading has ended.
    pub fn take(&mut self, time: FileTime, query: &Query, readings: &[Reading]) {
        self.top.take(Some(query), readings);
        let mut seen = vec![false; self.series.len()];
        let mut unknown = Vec::new();
        let mut renamed = false;
        for reading in readings.iter().filter(|reading| !Top::is_watched(query, reading)) {
            let identity = identity_of(query, reading);
            let known = identity.as_ref().and_then(|identity| self.index.identities.get(identity)).copied();
            let Some(position) = known else {
                unknown.push((identity, reading));
                continue;
            };
            let Some(series) = self.series.get_mut(position) else { continue };
            if series.path != reading.path {
                series.rename(reading);
                renamed = true;
            }
            // The same counter may be requested twice, by name and by wildcard.
            if seen.get_mut(position).is_some_and(|seen| !std::mem::replace(seen, true)) {
                series.take(reading, time);
            }
        }
        if renamed {
            self.index = SeriesIndex::of(&self.series);
        }
        for (identity, reading) in unknown {
            self.take_unknown(time, query, reading, identity, &mut seen);
        }
        for (series, _) in self.series.iter_mut().zip(&seen).filter(|(_, seen)| !**seen) {
            series.miss(NoValue::NoInstance, time);
        }
        self.note_crossings(time);
        self.push_time(time);
        self.drop_ended();
    }

    /// Takes a reading of a new instance, or of one that has only a name.
    fn take_unknown(
        &mut self,
        time: FileTime,
        query: &Query,
        reading: &Reading,
        identity: Option<SeriesIdentity>,
        seen: &mut Vec<bool>,
    ) {
        let key = reading.path.to_lowercase();
        let removed =
            identity.as_ref().is_some_and(|identity| self.removed_identities.contains_key(identity));
        if removed || self.removed.contains(&key) {
            return;
        }
        // The series with this path continues, unless another instance took it over in this sample.
        let known = self.index.paths.get(&key).copied();
        let free = known.filter(|position| identity.is_none() || seen.get(*position) == Some(&false));
        let position = free.unwrap_or_else(|| {
            let position = self.series.len();
            self.series.push(Series::new(reading, query, self.next_colour));
            self.next_colour = self.next_colour.wrapping_add(1);
            self.index.paths.insert(key, position);
            self.apply_expected_style(position);
            position
        });
        if seen.len() <= position {
            seen.resize(position.saturating_add(1), false);
        }
        let (Some(series), Some(seen)) = (self.series.get_mut(position), seen.get_mut(position)) else {
            return;
        };
        if let Some(before) = series.full_identity().filter(|before| identity != Some(*before)) {
            self.index.identities.remove(&before);
        }
        if let Some(identity) = identity {
            series.identity = Some(identity.2);
            self.index.identities.insert(identity, position);
        }
        if !std::mem::replace(seen, true) {
            series.take(reading, time);
        }
    }

    /// No sample could be taken: every series has a gap.
    pub fn miss(&mut self, time: FileTime, why: NoValue) {
        self.top.take(None, &[]);
        for series in &mut self.series {
            series.miss(why, time);
        }
        self.push_time(time);
    }

    /// Must be called after series were removed or changed their positions.
    pub(super) fn reindex(&mut self) {
        self.index = SeriesIndex::of(&self.series);
    }
}
