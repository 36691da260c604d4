//! What is wrong in the history or in the log: looked for on a thread, and shown in the chart.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use tallymon::analyze::{Cause, Finding, RuleSet, analyze_while};
use tallymon::core::path::CounterPath;
use tallymon::core::time::FileTime;
use tallymon::human::of_path;
use tallymon::log::{ReadOptions, Selection};

use crate::model::causes;
use crate::model::findings::{Copied, Findings, longest};
use crate::words::Word;
use crate::workspace::findings_state::Running;
use crate::workspace::state::{View, Workspace};
use crate::workspace::time::units;

/// The history that is needed: what a minute shows is no rule yet.
const LEAST_SECONDS: u64 = 60;
const LEAST_ROWS: usize = 30;
/// The shortest time between two looks at the history.
const PAUSE: Duration = Duration::from_secs(30);
/// Looking takes at most one part of so many of the time: 2 % of a processor.
const SHARE: u32 = 50;
/// One part of so many of the memory budget is copied for the thread.
const MEMORY_SHARE: usize = 8;
/// The counters of a finding that are charted.
const MOST_CHARTED: usize = 3;

impl Workspace {
    /// Looks through the log once it is read, and through the history again and again, if it is time to.
    pub(crate) fn begin_findings(&mut self) {
        if self.findings.is_running() || self.is_opening() || self.is_reading() {
            return;
        }
        let begun = if self.replay.is_some() { self.look_through_log() } else { self.look_through_history() };
        match begun {
            Ok(Some(running)) => {
                self.findings.running = Some(running);
                self.findings.begun = Some(Instant::now());
            }
            Ok(None) => {}
            Err(error) => self.findings.failed = Some(error.to_string()),
        }
    }

    fn look_through_log(&self) -> std::io::Result<Option<Running>> {
        let Some(replay) = self.replay.as_ref().filter(|_| self.findings.begun.is_none()) else {
            return Ok(None);
        };
        let files: Vec<PathBuf> = match replay.log.parts() {
            [] => vec![replay.log.path().to_path_buf()],
            parts => parts.iter().map(|part| part.path().to_path_buf()).collect(),
        };
        let options = ReadOptions { bytes_read: Default::default(), ..self.options.reading.clone() };
        let look = move |wanted: &dyn Fn() -> bool| {
            let rules = RuleSet::built_in().map_err(|error| error.to_string())?;
            let found = analyze_while(&files, rules, &Selection::default(), &options, wanted);
            Ok(Findings::of(found.map_err(|error| error.to_string())?))
        };
        Running::begin(look).map(Some)
    }

    fn look_through_history(&self) -> std::io::Result<Option<Running>> {
        let is_early = self.findings.begun.is_some_and(|begun| begun.elapsed() < self.findings.pause);
        if is_early || !self.has_history_for_findings() {
            return Ok(None);
        }
        let rows = self.monitor.rows();
        let newest = rows.end.checked_sub(1).and_then(|row| self.monitor.time(row)).unwrap_or_default();
        let bias = self.local_time(newest).bias;
        let bytes = self.options.budget / MEMORY_SHARE / 2;
        let overview = self.overview.as_ref().map(|state| state.model.rows());
        let copied: Vec<Copied> = std::iter::once(&self.monitor)
            .chain(overview)
            .map(|monitor| Copied::of(monitor, bytes, bias))
            .filter(|copied| copied.rows() >= LEAST_ROWS)
            .collect();
        let look = move |wanted: &dyn Fn() -> bool| {
            let rules = RuleSet::built_in().map_err(|error| error.to_string())?;
            Ok(Findings::of(copied.iter().filter_map(|copied| copied.analysis(rules.clone(), wanted))))
        };
        Running::begin(look).map(Some)
    }

    /// Whether enough is recorded to look for findings.
    pub(crate) fn has_history_for_findings(&self) -> bool {
        let rows = self.monitor.rows();
        let time = |row| self.monitor.time(row);
        let ends = time(rows.start).zip(rows.end.checked_sub(1).and_then(time));
        let lasts = ends.map_or(0, |(from, to)| to.0.saturating_sub(from.0));
        rows.count() >= LEAST_ROWS && lasts >= units(LEAST_SECONDS)
    }

    /// Takes the findings if they arrive within a time; whether they did.
    pub(crate) fn findings_come(&mut self, patience: Duration) -> bool {
        let Some(answer) = self.findings.running.as_ref().and_then(|running| running.answer.wait(patience))
        else {
            return false;
        };
        let (found, took) = answer.unwrap_or_else(|words| (Err(words.to_string()), Duration::ZERO));
        let state = &mut self.findings;
        (state.running, state.has_looked) = (None, true);
        state.pause = PAUSE.max(took.saturating_mul(SHARE));
        match found {
            Ok(found) => (state.found, state.failed) = (found, None),
            Err(why) => state.failed = Some(why),
        }
        true
    }

    /// Shows a finding in the chart: its time, its counters, and its text.
    pub(crate) fn show_finding(&mut self, found: &Finding) {
        // A view without a time axis cannot show it.
        if matches!(self.view, View::Bars | View::Report | View::Table | View::Overview | View::Hosts) {
            self.view = View::Graph;
        }
        for instance in found.instances.iter().take(MOST_CHARTED).rev() {
            let path = self.without_own_host(&instance.path);
            self.choose = Some(path.clone());
            match self.monitor.series().iter().any(|series| series.path == path) {
                true => self.choose_path(&path),
                false => self.add(&path),
            }
        }
        self.choose_what_was_added();
        self.findings.shown = Some(found.clone());
        let Some(range) = longest(found) else { return };
        // Half of its length before and behind it, to see what is unlike it.
        let aside = (range.to.0.saturating_sub(range.from.0) / 2).max(units(15));
        let from = FileTime(range.from.0.saturating_sub(aside));
        let to = FileTime(range.to.0.saturating_add(aside));
        if self.replay.is_some() {
            return self.show_range_of_log(from, to);
        }
        let rows = self.monitor.rows();
        let oldest = self.monitor.time(rows.start).unwrap_or_default();
        if range.to < oldest {
            self.message = Some(self.words.get(Word::NotInMemory).to_string());
        } else if let (Some(first), Some(last)) = (self.monitor.row_at(from), self.monitor.row_at(to)) {
            self.monitor.window.show(&rows, first, last);
        }
    }

    fn choose_path(&mut self, path: &str) {
        self.choose = None;
        self.monitor.select_path(path);
    }

    /// A path of a log as the chart writes it: only hosts after the first have their names in it.
    fn without_own_host(&self, path: &str) -> String {
        let parsed = CounterPath::parse(path).ok().map(|parsed| parsed.path);
        match parsed.filter(|_| self.host_of(path) == 0) {
            Some(parsed) => CounterPath { machine: None, ..parsed }.to_string(),
            None => path.to_string(),
        }
    }

    /// Who caused a finding: its causes, else the top contributors of the history in the middle of it.
    pub(crate) fn causes_of(&self, found: &Finding) -> Vec<(String, String)> {
        if !found.causes.is_empty() || self.replay.is_some() {
            let causes = found.causes.iter().take(MOST_CHARTED);
            let said = |cause: &Cause| of_path(cause.during, &cause.path, cause.counter_type);
            return causes.map(|cause| (cause.instance.clone(), said(cause))).collect();
        }
        let middle = longest(found).map(|range| FileTime(range.from.0 / 2 + range.to.0 / 2));
        let Some(row) = middle.and_then(|time| self.monitor.row_at(time)) else { return Vec::new() };
        let groups = self.monitor.top.at(self.monitor.next(), row);
        let path = found.instances.first().map(|first| first.path.as_str());
        let about = self.monitor.series().iter().find(|series| Some(series.path.as_str()) == path);
        let about = about.map(|series| (series.object, series.counter));
        let nearest = groups.iter().min_by_key(|group| causes::rank(about, (group.object, group.counter)));
        let Some(group) = nearest else { return Vec::new() };
        let largest = group.instances.iter().take(MOST_CHARTED);
        let counter = self.query.names().english(group.counter);
        largest.map(|one| (one.name.clone(), of_path(one.value, &counter, group.counter_type))).collect()
    }
}
