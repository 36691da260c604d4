//! Samples become rows: which reading belongs to which series.
//!
//! An instance of "all instances" is known by who it is, where its object tells that: when the first of three equal names
//! ends, the other two get lower numbers, and their lines go on under their new names. A path that names one instance
//! means whoever has the name.

use std::collections::HashMap;

use tallymon::core::flow::NoValue;
use tallymon::core::time::FileTime;
use tallymon::core::title::TitleIndex;
use tallymon::{InstanceIdentity, Query, Reading};

use super::{Monitor, Series, Top};

/// A counter of somebody, whatever number its name has.
pub(super) type Who = (TitleIndex, TitleIndex, InstanceIdentity);

/// How to find the series of a reading.
#[derive(Debug, Default)]
pub(super) struct Index {
    /// Position of each path, in small letters.
    paths: HashMap<String, usize>,
    /// Position of each counter of somebody.
    who: HashMap<Who, usize>,
}

impl Index {
    fn of(series: &[Series]) -> Index {
        let mut index = Index::default();
        // Of two with the same name the one that is still there is meant.
        let (ended, there): (Vec<_>, Vec<_>) =
            series.iter().enumerate().partition(|(_, series)| series.ended.is_some());
        for (position, series) in ended.into_iter().chain(there) {
            index.paths.insert(series.path.to_lowercase(), position);
            if let Some(who) = series.who() {
                index.who.insert(who, position);
            }
        }
        index
    }

    /// The series of a path.
    pub(super) fn path(&self, path: &str) -> Option<usize> {
        self.paths.get(&path.to_lowercase()).copied()
    }
}

/// Who a reading is of, if the path that asked for it means everybody.
fn who(query: &Query, reading: &Reading) -> Option<Who> {
    let is_wild = query.path(reading.handle).contains(['*', '?']);
    Some((reading.object, reading.counter, reading.identity.filter(|_| is_wild)?))
}

impl Monitor {
    /// Takes the sample that a query has just collected. Readings of a path that is not known yet become a new series; a
    /// series without a reading has ended.
    pub fn take(&mut self, time: FileTime, query: &Query, readings: &[Reading]) {
        self.top.take(Some(query), readings);
        let mut seen = vec![false; self.series.len()];
        let mut unknown = Vec::new();
        let mut renamed = false;
        for reading in readings.iter().filter(|reading| !Top::is_watched(query, reading)) {
            let who = who(query, reading);
            let known = who.as_ref().and_then(|who| self.index.who.get(who)).copied();
            let Some(position) = known else {
                unknown.push((who, reading));
                continue;
            };
            let Some(series) = self.series.get_mut(position) else { continue };
            if series.path != reading.path {
                series.rename(reading);
                renamed = true;
            }
            // The same counter may be asked for twice, by name and by wildcard.
            if seen.get_mut(position).is_some_and(|seen| !std::mem::replace(seen, true)) {
                series.take(reading, time);
            }
        }
        if renamed {
            self.index = Index::of(&self.series);
        }
        for (who, reading) in unknown {
            self.take_unknown(time, query, reading, who, &mut seen);
        }
        for (series, _) in self.series.iter_mut().zip(&seen).filter(|(_, seen)| !**seen) {
            series.miss(NoValue::NoInstance, time);
        }
        self.note_crossings(time);
        self.push_time(time);
        self.drop_ended();
    }

    /// Takes a reading of somebody who was not there before, or who is known by name only.
    fn take_unknown(
        &mut self,
        time: FileTime,
        query: &Query,
        reading: &Reading,
        who: Option<Who>,
        seen: &mut Vec<bool>,
    ) {
        let key = reading.path.to_lowercase();
        let removed = who.as_ref().is_some_and(|who| self.removed_who.contains_key(who));
        if removed || self.removed.contains(&key) {
            return;
        }
        // The line of a name goes on, unless another one took it over just now.
        let known = self.index.paths.get(&key).copied();
        let free = known.filter(|position| who.is_none() || seen.get(*position) == Some(&false));
        let position = free.unwrap_or_else(|| {
            let position = self.series.len();
            self.series.push(Series::new(reading, query, self.next_colour));
            self.next_colour = self.next_colour.wrapping_add(1);
            self.index.paths.insert(key, position);
            self.dress(position);
            position
        });
        if seen.len() <= position {
            seen.resize(position.saturating_add(1), false);
        }
        let (Some(series), Some(seen)) = (self.series.get_mut(position), seen.get_mut(position)) else {
            return;
        };
        if let Some(before) = series.who().filter(|before| who != Some(*before)) {
            self.index.who.remove(&before);
        }
        if let Some(who) = who {
            series.identity = Some(who.2);
            self.index.who.insert(who, position);
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

    /// Has to be called when series were removed or changed places.
    pub(super) fn reindex(&mut self) {
        self.index = Index::of(&self.series);
    }
}
