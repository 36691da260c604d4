//! Undo: restores the choices from before the last change.
//!
//! The choices before and after every event are compared, so that no change has to be noted where it is made.

use crate::model::History;
use crate::workspace::state::{Choices, Step, View, Workspace};
use crate::workspace::top::watch;

/// The most steps that can be undone.
const MOST_STEPS: usize = 64;

impl Step {
    fn bytes(&self) -> usize {
        let cleared = self.cleared.as_ref().map_or(0, History::bytes);
        self.removed.iter().fold(cleared, |sum, (_, series)| sum.saturating_add(series.bytes()))
    }
}

impl Choices {
    pub(crate) fn of(workspace: &Workspace) -> Choices {
        let series = workspace.monitor.series();
        Choices {
            window: workspace.monitor.window.clone(),
            view: workspace.view,
            filter: workspace.filter.clone(),
            ticks: workspace.monitor.ticks.clone(),
            picture: workspace.monitor.picture.clone(),
            paths: workspace.paths.clone(),
            looks: series.iter().map(|series| (series.path.clone(), series.look())).collect(),
        }
    }

    /// Whether the workspace shows other series than these choices.
    pub(crate) fn has_other_lines(&self, workspace: &Workspace) -> bool {
        let shown = workspace.monitor.series().iter().map(|series| &series.path);
        self.paths != workspace.paths || !shown.eq(self.looks.iter().map(|(path, _)| path))
    }

    /// Whether there is a difference to undo. Moving in time is none, zooming is one.
    fn differ(&self, other: &Choices) -> bool {
        self.window.points() != other.window.points()
            || self.window.sweep != other.window.sweep
            || self.view != other.view
            || self.filter != other.filter
            || self.ticks != other.ticks
            || self.picture != other.picture
            || self.paths != other.paths
            || self.looks != other.looks
    }
}

impl Workspace {
    /// The choices before an event, for [`Workspace::end_event`].
    pub(crate) fn begin_event(&self) -> (Choices, usize) {
        (Choices::of(self), self.steps.len())
    }

    /// Reads the columns that an event made necessary, and notes what it changed, for undo.
    pub(crate) fn end_event(&mut self, (before, steps): (Choices, usize)) {
        if self.source_changed {
            self.follow_cursor();
            return;
        }
        let others = before.has_other_lines(self);
        if self.replay.is_some() {
            if others {
                self.load_log();
            }
            self.follow_cursor();
        }
        if others {
            self.compare_again();
        }
        // Undo itself cannot be undone.
        if self.steps.len() >= steps {
            self.note(before);
        }
    }

    /// Notes what was changed.
    pub(crate) fn note(&mut self, before: Choices) {
        let removed = self.monitor.take_removed();
        let cleared = self.monitor.take_cleared();
        if cleared.is_none() && !before.differ(&Choices::of(self)) {
            return;
        }
        self.steps.push_back(Step { before, removed, cleared, at: self.monitor.next() });
        self.forget_steps();
    }

    /// Drops the oldest steps when they are too many. Removed series keep their values: with the shown ones
    /// they may use an eighth more than the memory budget.
    pub(crate) fn forget_steps(&mut self) {
        let (shown, budget) = self.monitor.memory();
        let most = budget.saturating_add(budget / 8).saturating_sub(shown);
        while self.steps.len() > MOST_STEPS || self.steps.iter().map(Step::bytes).sum::<usize>() > most {
            self.steps.pop_front();
        }
    }

    /// Undoes the last change.
    pub(crate) fn undo(&mut self) {
        let Some(Step { before, removed, cleared, at }) = self.steps.pop_back() else { return };
        self.view = if before.view == View::Table { View::Graph } else { before.view };
        self.monitor.window = before.window;
        self.filter = before.filter;
        self.monitor.picture = before.picture;
        if let Some(history) = cleared {
            self.put_back(history);
        }
        for (position, series) in removed {
            let path = series.path.clone();
            self.monitor.restore(series, at, position);
            if self.replay.is_some() {
                // Other rows may be in memory now.
                self.monitor.unread_path(&path);
            }
        }
        for path in &before.paths {
            if !self.paths.contains(path) {
                self.add(path);
            }
        }
        let added: Vec<String> =
            self.paths.iter().filter(|path| !before.paths.contains(path)).cloned().collect();
        for path in added {
            self.remove_path(&path);
        }
        for (path, look) in before.looks {
            self.monitor.apply_style(&path, look);
        }
        self.tick(before.ticks);
    }
    /// Puts back a cleared history, and watches its counters again.
    fn put_back(&mut self, history: History) {
        let watched = self.monitor.top.counters();
        self.monitor.put_back(history);
        for (object, counter) in self.monitor.top.counters() {
            if !watched.contains(&(object, counter)) {
                watch(&mut self.query, object, counter);
            }
        }
    }
}
