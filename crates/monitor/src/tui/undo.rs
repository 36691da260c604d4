//! Ctrl-Z: what the user chose is as it was before the last change.
//!
//! Nothing has to be noted where something is changed: the choices before and after every event are compared.

use super::app::{App, View};
use crate::model::{Look, Series, Window};

/// The most steps that can be undone.
const MOST_STEPS: usize = 64;

/// What the user chose.
#[derive(Debug, Clone)]
pub(super) struct Choices {
    window: Window,
    view: View,
    filter: String,
    paths: Vec<String>,
    looks: Vec<(String, Look)>,
}

/// What was chosen before a change, and the series that it took away, with their positions and when.
#[derive(Debug)]
pub(super) struct Step {
    before: Choices,
    removed: Vec<(usize, Series)>,
    at: u64,
}

impl Choices {
    pub(super) fn of(app: &App) -> Choices {
        let series = app.monitor.series();
        Choices {
            window: app.monitor.window.clone(),
            view: app.view,
            filter: app.filter.clone(),
            paths: app.paths.clone(),
            looks: series.iter().map(|series| (series.path.clone(), series.look())).collect(),
        }
    }

    /// The paths of the query.
    pub(super) fn paths(&self) -> &[String] {
        &self.paths
    }

    /// Moving in time is no change that one would undo, zooming is.
    fn differ(&self, other: &Choices) -> bool {
        self.window.points() != other.window.points()
            || self.window.sweep != other.window.sweep
            || self.view != other.view
            || self.filter != other.filter
            || self.paths != other.paths
            || self.looks != other.looks
    }
}

impl App {
    /// Notes what an event changed.
    pub(super) fn note(&mut self, before: Choices) {
        let removed = self.monitor.take_removed();
        if !before.differ(&Choices::of(self)) {
            return;
        }
        self.steps.push_back(Step { before, removed, at: self.monitor.next() });
        // What was removed still has its values, and they must not add up.
        let bytes = |step: &Step| step.removed.iter().map(|(_, series)| series.bytes()).sum::<usize>();
        while self.steps.len() > MOST_STEPS
            || self.steps.iter().map(bytes).sum::<usize>() > self.options.budget / 8
        {
            self.steps.pop_front();
        }
    }

    /// Makes the last change undone.
    pub(super) fn undo(&mut self) {
        let Some(Step { before, removed, at }) = self.steps.pop_back() else { return };
        self.view = if before.view == View::Table { View::Graph } else { before.view };
        self.monitor.window = before.window;
        self.filter = before.filter;
        for (position, series) in removed {
            self.monitor.restore(series, at, position);
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
            self.monitor.wear(&path, look);
        }
    }
}
