//! `o`: a settings file or a log, opened while the monitor runs, and the way back to what happens now.

use std::path::PathBuf;
use std::time::Duration;

use tallymon::core::flow::SourceError;
use tallymon::core::path::CounterPath;
use tallymon::core::title::Language;
use tallymon::{Log, Query};

use crate::app::{App, Overlay, View};
use crate::log::opening::{Opened, Opening};
use crate::model::Monitor;
use crate::source::SourceThread;
use crate::words::Word;
use crate::workspace::options::Open;
use crate::workspace::playback::Replay;
use crate::workspace::undo::Choices;

/// How many counters a log is opened with when it has none of those that were asked for.
const MOST_OF_LOG: usize = 8;

/// How many hosts of several logs are shown at first.
const MOST_HOSTS: usize = 8;

/// What happens now, kept while a log is shown: nothing is sampled meanwhile.
pub(crate) struct Aside {
    query: Query,
    paths: Vec<String>,
    monitor: Monitor,
    open: Open,
    source: Option<SourceThread>,
    view: View,
}

impl App {
    /// Begins to open what a file is by its content: a log of any format, or settings. Several are logs that become one.
    pub(crate) fn open_files(&mut self, files: &[PathBuf]) {
        match Opening::begin(files, &self.options.reading) {
            Ok(opening) => self.opening = Some(opening),
            Err(error) => self.message = Some(error.to_string()),
        }
    }

    /// Whether a file is being opened.
    pub const fn is_opening(&self) -> bool {
        self.opening.is_some()
    }

    /// Takes the file that is being opened, if it is there within a time; whether anything looks different now.
    pub fn file_comes(&mut self, patience: Duration) -> bool {
        let Some(opening) = &mut self.opening else { return false };
        let Some(opened) = opening.wait(patience) else { return opening.moves() };
        let is_compared = opening.is_compared;
        self.opening = None;
        let before = Choices::of(self);
        match opened {
            Opened::Log(log) if is_compared => self.compare(log),
            Opened::Settings(_) if is_compared => {
                self.message = Some(self.words.get(Word::NoLog).to_string());
            }
            Opened::Log(log) => {
                // What lies over the view is of what was shown before.
                self.overlay = Overlay::None;
                if let Err(error) = self.show_log(log) {
                    self.message = Some(error.to_string());
                }
            }
            Opened::Settings(settings) => self.apply(&settings),
            Opened::Failed(why) => self.message = Some(why),
        }
        if !std::mem::take(&mut self.has_changed) {
            self.note(before);
        }
        self.follow_cursor();
        true
    }

    /// Shows a log with those of the counters of now that it has, else with its usual ones.
    fn show_log(&mut self, log: Log) -> Result<(), SourceError> {
        let language = self.query.names().preferred();
        let mut query = Query::new(Box::new(log.source()), language)?;
        let fits = |path: &&String| query.add(path).is_ok();
        let mut paths: Vec<String> = self.paths.iter().filter(fits).cloned().collect();
        if paths.is_empty() {
            paths = usual_of_log(&log, language, &[])?;
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
    pub(crate) fn back_to_now(&mut self) {
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
        self.comparison = None;
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
///
/// # Errors
///
/// The names of the counters can not be read.
pub fn usual_of_log(log: &Log, language: Language, paths: &[&str]) -> Result<Vec<String>, SourceError> {
    let mut all = Vec::new();
    for host in hosts_of(log) {
        let mut query = Query::new(Box::new(host.source()), language)?;
        let usual = usual_of_host(&mut query, paths);
        all.extend(usual.into_iter().map(|path| path_of(log, &host, &path)));
    }
    Ok(all)
}

/// Paths as they are meant of a log: of several logs, one without a host means all hosts that have it.
///
/// # Errors
///
/// The names of the counters can not be read.
pub fn meant_of_log(log: &Log, language: Language, paths: &[String]) -> Result<Vec<String>, SourceError> {
    let mut all = Vec::new();
    for path in paths {
        let mut found = Vec::new();
        if CounterPath::parse(path).is_ok_and(|parsed| parsed.path.machine.is_none()) {
            for host in hosts_of(log) {
                let mut query = Query::new(Box::new(host.source()), language)?;
                if query.add(path).is_ok() {
                    found.push(path_of(log, &host, path));
                }
            }
        }
        // What nobody has is shown as such.
        if found.is_empty() {
            found.push(path.clone());
        }
        all.append(&mut found);
    }
    Ok(all)
}

/// The hosts that are shown at first: of one log its first one, of several logs all.
fn hosts_of(log: &Log) -> Vec<Log> {
    if log.parts().len() > 1 {
        log.summary().hosts.iter().take(MOST_HOSTS).filter_map(|host| log.of_host(host)).collect()
    } else {
        vec![log.clone()]
    }
}

/// A path of a host of a log; that of the first has no host in it.
fn path_of(log: &Log, host: &Log, path: &str) -> String {
    if host.host() == log.host() { path.to_string() } else { format!("\\\\{}{path}", host.host()) }
}

fn usual_of_host(query: &mut Query, paths: &[&str]) -> Vec<String> {
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
