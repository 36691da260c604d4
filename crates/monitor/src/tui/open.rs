//! `o`: a settings file or a log, opened while the monitor runs, and the way back to what happens now.

use std::path::Path;

use tallymon::core::flow::SourceError;
use tallymon::core::path::CounterPath;
use tallymon::{Log, Query};

use super::app::{App, View};
use super::options::Open;
use super::replay::Replay;
use crate::model::Monitor;
use crate::settings::{EXTENSION, Settings};
use crate::source::SourceThread;

/// How many counters a log is opened with when it has none of those that were asked for.
const MOST_OF_LOG: usize = 8;

/// What happens now, kept while a log is shown: nothing is sampled meanwhile.
pub(super) struct Aside {
    query: Query,
    paths: Vec<String>,
    monitor: Monitor,
    open: Open,
    source: Option<SourceThread>,
    view: View,
}

impl App {
    /// Opens what a file is by its content: a log of any format, or settings.
    pub(super) fn open_file(&mut self, name: &str) {
        let path = Path::new(name);
        let is_settings = path.extension().is_some_and(|end| end.eq_ignore_ascii_case(EXTENSION));
        let settings = Settings::open(path);
        if is_settings {
            match settings {
                Ok(settings) => self.apply(&settings),
                Err(error) => self.message = Some(error),
            }
            return;
        }
        match (Log::open(path, &self.options.reading), settings) {
            (Ok(log), _) => {
                if let Err(error) = self.show_log(log) {
                    self.message = Some(error.to_string());
                }
            }
            // Settings under another name; nearly every text without them is empty settings.
            (Err(_), Ok(settings)) if !settings.counters.is_empty() => self.apply(&settings),
            (Err(error), _) => self.message = Some(error.to_string()),
        }
    }

    /// Shows a log with those of the counters of now that it has, else with its usual ones.
    fn show_log(&mut self, log: Log) -> Result<(), SourceError> {
        let language = self.query.names().preferred();
        let mut query = Query::new(Box::new(log.source()), language)?;
        let fits = |path: &&String| query.add(path).is_ok();
        let mut paths: Vec<String> = self.paths.iter().filter(fits).cloned().collect();
        let mut query = Query::new(Box::new(log.source()), language)?;
        if paths.is_empty() {
            paths = usual_of_log(&mut query, &[]);
        }
        let again = log.clone();
        let open: Open = Box::new(move || Query::new(Box::new(again.source()), language));
        let view = if self.view == View::Table { View::Graph } else { self.view };
        let monitor = Monitor::new(self.options.budget);
        let shown = Aside { query, paths: Vec::new(), monitor, open, source: None, view };
        let before = self.change_to(shown);
        // Of logs that are opened one after the other none is kept: they can be opened again.
        if self.replay.is_none() {
            self.aside = Some(before);
        }
        self.replay = Some(Replay::new(log));
        self.reopen_others()?;
        for path in &paths {
            self.add(path);
        }
        self.load_log();
        Ok(())
    }

    /// Shows what happens now again, with everything that was seen before the log.
    pub(super) fn back_to_now(&mut self) {
        let Some(aside) = self.aside.take() else { return };
        self.change_to(aside);
        self.replay = None;
        // Rates over the time in between would be those of no second: they begin anew.
        if let Some(query) = self.reopened() {
            self.query = query;
        }
    }

    fn change_to(&mut self, other: Aside) -> Aside {
        let before = Aside {
            query: std::mem::replace(&mut self.query, other.query),
            paths: std::mem::replace(&mut self.paths, other.paths),
            monitor: std::mem::replace(&mut self.monitor, other.monitor),
            open: std::mem::replace(&mut self.options.open, other.open),
            source: std::mem::replace(&mut self.options.source, other.source),
            view: std::mem::replace(&mut self.view, other.view),
        };
        (self.successor, self.pending, self.table, self.choose) = (None, None, None, None);
        (self.failure, self.failures, self.countdown, self.spike) = (None, 0, None, None);
        self.readings.clear();
        self.filter.clear();
        // What was changed in the one can not be undone in the other.
        self.steps.clear();
        self.has_changed = true;
        before
    }
}

/// What a log is opened with when nobody says which counters: those of some paths that it has; else the first counters of
/// its first objects.
pub fn usual_of_log(query: &mut Query, paths: &[&str]) -> Vec<String> {
    let has = |query: &mut Query, path: &str| {
        let parsed = CounterPath::parse(path).ok()?.path;
        let object = query.object(path, &parsed.object).ok()?;
        let names = query.names();
        let counters = query.catalog().object(object)?.visible_counters();
        counters.map(|counter| counter.name).find(|name| names.is(*name, &parsed.counter.to_string()))
    };
    let usual: Vec<String> =
        paths.iter().filter(|path| has(query, path).is_some()).map(|path| path.to_string()).collect();
    if !usual.is_empty() {
        return usual;
    }
    let objects = query.catalog().objects().to_vec();
    let mut paths = Vec::new();
    for object in objects.iter().take(MOST_OF_LOG) {
        let Some(counter) = object.visible_counters().next().map(|counter| counter.name) else { continue };
        let names = query.names();
        let (name, counter) = (names.english(object.name), names.english(counter));
        let instance = match object.has_instances {
            false => String::new(),
            true => {
                let keys = query.instances(object.name).unwrap_or_default();
                let total = keys.iter().find(|key| key.name == "_Total").or(keys.first());
                let Some(key) = total else { continue };
                format!("({key})")
            }
        };
        paths.push(format!("\\{name}{instance}\\{counter}"));
    }
    paths
}
