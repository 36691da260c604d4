//! Top contributors: which instances are watched, and the largest of them at a row.

use tallymon::Query;
use tallymon::core::path::CounterPath;
use tallymon::core::title::TitleIndex;

use crate::model::{PROCESS, Top, TopGroup, causes};
use crate::workspace::state::Workspace;

impl Workspace {
    /// Watches the instances of the charted objects, and the processes.
    pub(crate) fn watch_top(&mut self) {
        if !self.options.top || self.replay.is_some() {
            return;
        }
        let wanted = self.wanted_top();
        for (object, counter) in wanted {
            let is_there = |query: &Query| {
                let object = query.catalog().object(object).filter(|object| object.has_instances);
                object.is_some_and(|object| object.counter(counter).is_some())
            };
            if self.monitor.top.watches(object, counter)
                || !is_there(&self.query)
                || !self.monitor.top.watch(&self.query, object, counter)
            {
                continue;
            }
            watch(&mut self.query, object, counter);
            if let Some(successor) = &mut self.successor {
                watch(successor, object, counter);
            }
        }
    }

    /// The counters whose largest instances explain the chart.
    pub(crate) fn wanted_top(&self) -> Vec<(TitleIndex, TitleIndex)> {
        causes::wanted(self.monitor.series().iter().map(|series| (series, self.monitor.is_drawn(series))))
    }

    /// Stops watching counters that are no longer charted, and lets a new query watch the rest.
    pub(crate) fn keep_watching(&mut self, query: &mut Query) {
        let series = self.monitor.series();
        let charted: Vec<_> = series.iter().map(|series| (series.object, series.counter)).collect();
        self.monitor.top.retain(|object, counter| object == PROCESS || charted.contains(&(object, counter)));
        for (object, counter) in self.monitor.top.counters() {
            watch(query, object, counter);
        }
    }

    /// The groups at the cursor: the charted object first, then the processes behind it.
    pub(crate) fn top_at_cursor(&mut self) -> Vec<TopGroup> {
        let Some(row) = self.monitor.window.cursor else { return Vec::new() };
        if self.machines().is_some() && self.chosen_host() > 0 {
            // They are kept of the first machine only.
            return Vec::new();
        }
        let chosen = self.monitor.chosen().map(|series| (series.object, series.counter));
        let mut groups = match self.top_of_log(row) {
            Some(groups) => groups,
            None => self.monitor.top.at(self.monitor.next(), row),
        };
        groups.sort_by_key(|group| causes::rank(chosen, (group.object, group.counter)));
        groups
    }
    /// The top contributors at a row of a log. They are not kept: the log is read for them now, and the
    /// screen waits.
    pub(crate) fn top_of_log(&mut self, row: u64) -> Option<Vec<TopGroup>> {
        let host = self.chosen_host();
        if let Some((_, known)) =
            self.replay.as_ref()?.top.as_ref().filter(|(known, _)| *known == (row, host))
        {
            return Some(known.clone());
        }
        self.follow_cursor();
        let mut query: Query = self.open_host(host).ok()?;
        let mut top = Top::default();
        for (object, counter) in self.wanted_top() {
            let is_there =
                query.catalog().object(object).is_some_and(|known| known.counter(counter).is_some());
            if is_there && top.watch(&query, object, counter) {
                watch(&mut query, object, counter);
            }
        }
        query.collect().ok()?;
        let mut groups = top.once(&query, &Top::readings(&query));
        let prefix = self.prefix(host);
        for instance in groups.iter_mut().flat_map(|group| &mut group.instances) {
            instance.path.insert_str(0, &prefix);
        }
        if let Some(replay) = &mut self.replay {
            replay.top = Some(((row, host), groups.clone()));
        }
        Some(groups)
    }
}

/// Lets a query collect a watched counter.
pub(crate) fn watch(query: &mut Query, object: TitleIndex, counter: TitleIndex) {
    if let Ok(parsed) = CounterPath::parse(&format!("\\{}(*)\\{}", object.0, counter.0)) {
        // Object and counter exist: that was checked before.
        let _ = query.add_path(&Top::text(object, counter), &parsed.path);
    }
}
