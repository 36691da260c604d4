//! Opens a settings file or a log while the monitor runs, and leads back to live samples.

use std::path::PathBuf;
use std::time::Duration;

use tallymon::core::flow::SourceError;
use tallymon::{Log, Query};

use crate::log::counters::usual_of_log;
use crate::log::opening::{Opened, Opening};
use crate::log::replay::Replay;
use crate::model::Monitor;
use crate::words::Word;
use crate::workspace::findings_state::FindingsState;
use crate::workspace::options::Open;
use crate::workspace::state::{Choices, Live, View, Workspace};

impl Workspace {
    /// Starts to open a file by its content: a log of any format, or settings. Several files are logs shown
    /// as one.
    pub(crate) fn open_files(&mut self, files: &[PathBuf]) {
        match Opening::begin(files, &self.options.reading) {
            Ok(opening) => self.opening = Some(opening),
            Err(error) => self.message = Some(error.to_string()),
        }
    }

    /// Whether a file is being opened.
    pub(crate) const fn is_opening(&self) -> bool {
        self.opening.is_some()
    }

    /// Takes the file that is being opened, if it is there within a time; whether anything looks different
    /// now.
    pub(crate) fn file_comes(&mut self, patience: Duration) -> bool {
        let Some(opening) = &mut self.opening else { return false };
        let Some(opened) = opening.wait(patience) else { return opening.has_progressed() };
        let is_compared = opening.is_compared;
        self.opening = None;
        let before = Choices::of(self);
        match opened {
            Opened::Log(log) if is_compared => self.compare(log),
            Opened::Settings(_) if is_compared => {
                self.message = Some(self.words.get(Word::NotALog).to_string());
            }
            Opened::Log(log) => {
                // The open screens show the previous source.
                self.source_changed = true;
                if let Err(error) = self.show_log(log) {
                    self.message = Some(error.to_string());
                }
            }
            Opened::Settings(settings) => self.apply(&settings),
            Opened::Failed(why) => self.message = Some(why),
        }
        if !self.source_changed {
            self.note(before);
        }
        self.follow_cursor();
        true
    }

    /// Shows a log with the current counters that it has, else with its usual ones.
    fn show_log(&mut self, log: Log) -> Result<(), SourceError> {
        let language = self.query.names().locale();
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
        let shown = Live { query, paths: Vec::new(), monitor, open, sampling: None, view, overview: None };
        let before = self.change_to(shown);
        // Earlier logs are not kept: they can be opened again.
        if self.replay.is_none() {
            self.live = Some(before);
        }
        self.replay = Some(Replay::new(log));
        self.reopen_others()?;
        for path in &paths {
            self.add(path);
        }
        self.load_log();
        Ok(())
    }

    /// Shows live samples again, with the history from before the log.
    pub(crate) fn back_to_now(&mut self) {
        let Some(aside) = self.live.take() else { return };
        self.change_to(aside);
        self.replay = None;
        if let Some(sampling) = &mut self.sampling {
            sampling.listen_again();
        }
        // Rates over the time of the log would be meaningless: they begin again.
        if let Some(machines) = &mut self.machines {
            machines.begin_again();
        }
        if let Some(query) = self.reopened() {
            self.query = query;
        }
        self.listen_again_for_overview();
    }

    fn change_to(&mut self, other: Live) -> Live {
        let before = Live {
            query: std::mem::replace(&mut self.query, other.query),
            paths: std::mem::replace(&mut self.paths, other.paths),
            monitor: std::mem::replace(&mut self.monitor, other.monitor),
            open: std::mem::replace(&mut self.options.open, other.open),
            sampling: std::mem::replace(&mut self.sampling, other.sampling),
            view: std::mem::replace(&mut self.view, other.view),
            overview: std::mem::replace(&mut self.overview, other.overview),
        };
        (self.successor, self.choose) = (None, None);
        (self.failure, self.failures, self.countdown) = (None, 0, None);
        self.comparison = None;
        self.findings = FindingsState::default();
        self.readings.clear();
        self.filter.clear();
        // Changes of one source cannot be undone in the other.
        self.steps.clear();
        self.source_changed = true;
        before
    }
}
