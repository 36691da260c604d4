//! All values at once, set aside when they are cleared and put back when that is undone.

use std::collections::{HashMap, HashSet, VecDeque};

use tallymon::PathError;
use tallymon::core::flow::{Absence, NoValue};
use tallymon::core::time::FileTime;

use super::take::Who;
use super::{Monitor, Point, Series, Top};

/// What there was before everything was cleared.
#[derive(Debug)]
pub struct History {
    series: Vec<Series>,
    times: VecDeque<FileTime>,
    top: Top,
    failed: Vec<PathError>,
    removed: HashSet<String>,
    removed_who: HashMap<Who, String>,
    /// The row that came next.
    end: u64,
}

impl History {
    /// Bytes that all its values take.
    pub fn bytes(&self) -> usize {
        let times = self.times.capacity().saturating_mul(size_of::<FileTime>());
        self.series
            .iter()
            .fold(times.saturating_add(self.top.bytes()), |sum, series| sum.saturating_add(series.bytes()))
    }
}

impl Monitor {
    /// Takes all values out, for somebody who may put them back.
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
            removed_who: self.removed_who.clone(),
            end: self.next,
        };
        // Of two in one go the first has everything.
        self.cleared.get_or_insert(history);
    }

    /// What was cleared since this was asked last.
    pub fn take_cleared(&mut self) -> Option<History> {
        self.cleared.take()
    }

    /// Puts back what was cleared. Rows that came since then follow it; series that were not there for them have gaps.
    pub fn put_back(&mut self, mut history: History) {
        let since = self.times.len();
        if self.next.checked_sub(history.end) != Some(since as u64) {
            // Rows between the two are forgotten already: the older ones would stand at the wrong times.
            history.times.clear();
            history.top.keep(0);
            history.series.iter_mut().for_each(|series| series.keep(0));
        }
        let mut newer: Vec<Option<Series>> = std::mem::take(&mut self.series).into_iter().map(Some).collect();
        for mut old in history.series {
            let found = newer.iter_mut().find(|new| {
                let is_same =
                    |new: &Series| new.path.eq_ignore_ascii_case(&old.path) && new.who() == old.who();
                new.as_ref().is_some_and(is_same)
            });
            match found.and_then(Option::take) {
                Some(new) => old.go_on_as(new, since),
                None => old.pad(since, Point::gap(NoValue::NoData(Absence::NotRequested))),
            }
            self.series.push(old);
        }
        self.series.extend(newer.into_iter().flatten());
        history.times.append(&mut self.times);
        self.times = history.times;
        history.top.go_on_as(&self.top, since);
        self.top = history.top;
        self.failed.extend(history.failed);
        self.removed.extend(history.removed);
        self.removed_who.extend(history.removed_who);
        self.reindex();
        self.select(self.selected());
        let most = self.most_rows();
        self.keep(most);
    }
}
