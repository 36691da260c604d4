//! Clears all values, and puts them back when that is undone.

use tallymon::core::flow::{Absence, NoValue};

use crate::model::history::History;
use crate::model::monitor::Monitor;
use crate::model::point::Point;
use crate::model::series::Series;

impl Monitor {
    /// Takes all values out and keeps them for undo.
    pub(super) fn set_aside(&mut self) {
        if self.times.is_empty() && self.series.is_empty() && self.failed.is_empty() {
            return;
        }
        let series = self.series.iter_mut().map(Series::take_values).collect();
        let history = History {
            series,
            times: std::mem::take(&mut self.times),
            top: self.top.take_rows(),
            failed: self.failed.clone(),
            removed: self.removed.clone(),
            removed_identities: self.removed_identities.clone(),
            end: self.next,
        };
        // Of two calls in one event the first one has all values.
        self.cleared.get_or_insert(history);
    }

    /// The history cleared since the last call.
    pub fn take_cleared(&mut self) -> Option<History> {
        self.cleared.take()
    }

    /// Puts a cleared history back. Newer rows follow it; series that did not exist for them have gaps.
    pub fn put_back(&mut self, mut history: History) {
        let since = self.times.len();
        if self.next.checked_sub(history.end) != Some(since as u64) {
            // Rows between the two were dropped already: the older ones would be shown at wrong times.
            history.times.clear();
            history.top.keep(0);
            history.series.iter_mut().for_each(|series| series.keep(0));
        }
        let mut newer: Vec<Option<Series>> = std::mem::take(&mut self.series).into_iter().map(Some).collect();
        for mut old in history.series {
            let found = newer.iter_mut().find(|new| {
                let is_same = |new: &Series| {
                    new.path.eq_ignore_ascii_case(&old.path) && new.full_identity() == old.full_identity()
                };
                new.as_ref().is_some_and(is_same)
            });
            match found.and_then(Option::take) {
                Some(new) => old.continue_as(new, since),
                None => old.pad(since, Point::gap(NoValue::NoData(Absence::NotRequested))),
            }
            self.series.push(old);
        }
        self.series.extend(newer.into_iter().flatten());
        history.times.append(&mut self.times);
        self.times = history.times;
        history.top.continue_as(&self.top, since);
        self.top = history.top;
        self.failed.extend(history.failed);
        self.removed.extend(history.removed);
        self.removed_identities.extend(history.removed_identities);
        self.reindex();
        self.select(self.selected());
        let most = self.most_rows();
        self.keep(most);
    }
}
