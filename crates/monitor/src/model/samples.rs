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

/// What one host has for a row.
pub struct HostSample<'s> {
    /// Its place among the hosts; 0 is the host whose top contributors are kept.
    pub place: usize,
    /// The query of the readings.
    pub query: &'s Query,
    /// The readings; paths of other hosts than the first begin with the host.
    pub readings: &'s [Reading],
    /// They were computed from those of all hosts, so no path of the query means them.
    pub is_computed: bool,
    /// Why one of its series has no value when no reading is for it.
    pub gap: NoValue,
}

impl HostSample<'_> {
    /// The identity of a reading, if a wildcard path requested it.
    fn identity_of(&self, reading: &Reading) -> Option<SeriesIdentity> {
        let is_wild = self.query.path(reading.handle).contains(['*', '?']);
        Some((self.place, reading.object, reading.counter, reading.identity.filter(|_| is_wild)?))
    }
}

impl Monitor {
    /// Takes the sample that a query has just collected. A reading of an unknown path becomes a new series; a
    /// series without a reading has ended.
    pub fn take(&mut self, time: FileTime, query: &Query, readings: &[Reading]) {
        let gap = NoValue::NoInstance;
        self.take_hosts(time, &[HostSample { place: 0, query, readings, is_computed: false, gap }]);
    }

    /// Takes a row of several hosts.
    pub fn take_hosts(&mut self, time: FileTime, hosts: &[HostSample<'_>]) {
        match hosts.iter().find(|host| host.place == 0 && !host.is_computed) {
            Some(first) => self.top.take(Some(first.query), first.readings),
            None => self.top.take(None, &[]),
        }
        let mut seen = vec![false; self.series.len()];
        let mut unknown = Vec::new();
        let mut renamed = false;
        for host in hosts {
            for reading in host.readings.iter().filter(|reading| !Top::is_watched(host.query, reading)) {
                let identity = host.identity_of(reading);
                let known = identity.as_ref().and_then(|identity| self.index.identities.get(identity));
                let Some(position) = known.copied() else {
                    unknown.push((identity, host, reading));
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
        }
        if renamed {
            self.index = SeriesIndex::of(&self.series);
        }
        for (identity, host, reading) in unknown {
            self.take_unknown(time, host, reading, identity, &mut seen);
        }
        for (series, _) in self.series.iter_mut().zip(&seen).filter(|(_, seen)| !**seen) {
            // One that has ended stays so, however its host answers.
            let is_own = |host: &&HostSample<'_>| {
                series.ended.is_none() && (host.place, host.is_computed) == (series.place, series.is_computed)
            };
            let why = hosts.iter().find(is_own).map_or(NoValue::NoInstance, |host| host.gap);
            series.miss(why, time);
        }
        self.note_crossings(time);
        self.push_time(time);
        self.drop_ended();
    }

    /// Takes a reading of a new instance, or of one that has only a name.
    fn take_unknown(
        &mut self,
        time: FileTime,
        host: &HostSample<'_>,
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
            let mut series = Series::new(reading, host.query, self.next_colour);
            (series.place, series.is_computed) = (host.place, host.is_computed);
            if host.is_computed {
                series.asked.clone_from(&series.path);
            }
            self.series.push(series);
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
            series.identity = Some(identity.3);
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
