//! The monitor without a terminal: events and samples go in, a screen comes out.

pub(crate) mod browse;
pub(crate) mod draw;
mod keys;
mod mouse;

use std::collections::VecDeque;
use std::time::Duration;

use crossterm::event::{Event, KeyEventKind};
use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use tallymon::core::flow::SourceError;
use tallymon::core::time::{FileTime, UNITS_PER_SECOND};
use tallymon::{Log, Query, Reading};

use crate::log::opening::Opening;
use crate::model::Monitor;
use crate::screens::add::AddDialog;
use crate::screens::alerts::AlertScreen;
use crate::screens::properties::Properties;
use crate::screens::providers::Providers;
use crate::screens::sessions::SessionScreen;
use crate::screens::table::Table;
use crate::settings::Settings;
use crate::source::Pending;
use crate::term::theme::Theme;
use crate::words::{Word, Words};
use crate::workspace::compare::Comparison;
use crate::workspace::jobs::Deed;
use crate::workspace::open::Aside;
use crate::workspace::options::{LocalTime, Options};
use crate::workspace::playback::Replay;
use crate::workspace::undo::{Choices, Step};

/// What a user sees and does. The terminal around it is [`crate::run`].
pub struct App {
    pub(crate) query: Query,
    /// A query without the counters that were removed; it takes the place of `query` after its second sample.
    pub(crate) successor: Option<Query>,
    /// The sample that was asked for and is not there yet.
    pub(crate) pending: Option<Pending>,
    /// The paths of the query as they were written.
    pub(crate) paths: Vec<String>,
    pub(crate) options: Options,
    pub(crate) monitor: Monitor,
    pub(crate) view: View,
    pub(crate) words: Words,
    pub(crate) theme: Theme,
    pub(crate) overlay: Overlay,
    pub(crate) table: Option<Table>,
    /// The last readings, to be explained.
    pub(crate) readings: Vec<Reading>,
    /// One line for the user, until the next key.
    pub(crate) message: Option<String>,
    pub(crate) failure: Option<SourceError>,
    /// Samples that failed one behind the other.
    pub(crate) failures: u32,
    /// Whole seconds until the next try of a source that failed.
    pub(crate) countdown: Option<u64>,
    /// What a line has to contain to be shown, in small letters.
    pub(crate) filter: String,
    /// The log that is shown instead of samples.
    pub(crate) replay: Option<Replay>,
    /// The log that is laid over what is shown.
    pub(crate) comparison: Option<Comparison>,
    /// The file that is being opened.
    pub(crate) opening: Option<Opening>,
    /// What happens now, while a log is shown that was opened here.
    pub(crate) aside: Option<Aside>,
    /// Another source is shown than before the event that is handled.
    pub(crate) has_changed: bool,
    /// The chosen line of the panel that says who made a value, when it is open.
    pub(crate) spike: Option<usize>,
    /// The path to choose once its series is there.
    pub(crate) choose: Option<String>,
    /// The first screen says how to go on.
    pub(crate) hint: bool,
    pub(crate) places: Places,
    /// What can be undone, newest last.
    pub(crate) steps: VecDeque<Step>,
    /// What is being done.
    pub(crate) deeds: Vec<Deed>,
    /// Text for the clipboard of the terminal.
    pub(crate) clipboard: Option<String>,
    pub(crate) quit: bool,
    /// The user wants the shell back for a while.
    pub(crate) stops: bool,
}

/// How the counters are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum View {
    #[default]
    Graph,
    Area,
    Stacked,
    Bars,
    Report,
    Split,
    Table,
}

/// The views as settings name them. The table is of one moment.
const VIEWS: [(&str, View); 6] = [
    ("graph", View::Graph),
    ("area", View::Area),
    ("stacked", View::Stacked),
    ("bars", View::Bars),
    ("report", View::Report),
    ("split", View::Split),
];

/// The shortest time between samples.
const SHORTEST: Duration = Duration::from_millis(100);

/// What lies over the view.
#[derive(Default)]
pub(crate) enum Overlay {
    #[default]
    None,
    Add(Box<AddDialog>),
    Help,
    Explain(Vec<(String, String)>),
    Prompt(Prompt, String),
    Properties(Properties),
    Alerts(AlertScreen),
    Providers(Box<Providers>),
    Sessions(Box<SessionScreen>),
}

/// A question with one line as its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Prompt {
    Filter,
    GoTo,
    Save,
    Paste,
    Threshold,
    Open,
    Compare,
    SaveAlerts,
}

/// Where things stood on the last screen, for the mouse.
#[derive(Debug, Clone, Default)]
pub(crate) struct Places {
    pub(crate) chart: Rect,
    /// Each line of the legend with its place.
    pub(crate) lines: Vec<(Rect, usize)>,
    /// The time slider of a log.
    pub(crate) slider: Rect,
    /// The panel that says who made a value, and each instance in it with its row.
    pub(crate) spike: Rect,
    pub(crate) makers: Vec<(u16, usize)>,
    /// Where the mouse is, as long as nothing else happens.
    pub(crate) pointer: Option<Position>,
    /// A click before, to tell a double click.
    pub(crate) clicked: Option<(u16, u16)>,
    /// Columns between which the mouse is dragged now.
    pub(crate) dragged: Option<(u16, u16)>,
}

impl App {
    /// A monitor over a query without paths yet; those of the options that can not be used are shown as such.
    pub fn new(query: Query, mut options: Options) -> App {
        let paths = std::mem::take(&mut options.paths);
        let mut app = App {
            replay: options.log.take().map(Replay::new),
            words: Words::of(query.names().preferred()),
            theme: Theme::new(options.colours, options.glyphs),
            monitor: Monitor::new(options.budget),
            query,
            successor: None,
            pending: None,
            paths: Vec::new(),
            options,
            view: View::default(),
            overlay: Overlay::None,
            table: None,
            readings: Vec::new(),
            message: None,
            failure: None,
            failures: 0,
            countdown: None,
            filter: String::new(),
            comparison: None,
            opening: None,
            aside: None,
            has_changed: false,
            spike: None,
            choose: None,
            hint: true,
            places: Places::default(),
            steps: VecDeque::new(),
            deeds: Vec::new(),
            clipboard: None,
            quit: false,
            stops: false,
        };
        if let Err(error) = app.reopen_others() {
            app.message = Some(error.to_string());
        }
        if let Some(settings) = app.options.settings.take() {
            app.apply(&settings);
        }
        for path in &paths {
            app.add(path);
        }
        app.watch_top();
        app.load_log();
        app
    }

    /// Takes a key, a click, a paste.
    pub fn event(&mut self, event: &Event) {
        let undoes = self.steps.len();
        let before = Choices::of(self);
        self.places.pointer = None;
        match event {
            Event::Key(key) if key.kind != KeyEventKind::Release => keys::key(self, *key),
            Event::Mouse(event) => mouse::mouse(self, *event),
            Event::Paste(text) => keys::paste(self, text),
            _ => {}
        }
        if std::mem::take(&mut self.has_changed) {
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
        // Undoing is no change that can be undone.
        if self.steps.len() >= undoes {
            self.note(before);
        }
    }

    /// Draws the screen.
    pub fn draw(&mut self, frame: &mut Frame<'_>) {
        draw::screen(self, frame);
    }

    /// Whether the user has had enough.
    pub fn has_quit(&self) -> bool {
        self.quit
    }

    /// What is known and chosen.
    pub const fn monitor(&self) -> &Monitor {
        &self.monitor
    }

    /// How many rows are in view, 10 to 1,000,000; keys double and halve it.
    pub fn set_points(&mut self, points: usize) {
        self.monitor.window.set_points(points);
    }

    /// Whether new rows overwrite the oldest from left to right; else everything moves to the left.
    pub const fn set_sweep(&mut self, sweep: bool) {
        self.monitor.window.sweep = sweep;
    }

    /// The log that is shown, if it is one.
    pub fn log(&self) -> Option<&Log> {
        self.replay.as_ref().map(|replay| &replay.log)
    }

    /// What is chosen now.
    pub fn settings(&self) -> Settings {
        let view = VIEWS.iter().find(|(_, view)| *view == self.view).map(|(name, _)| (*name).to_string());
        let series = self.monitor.series();
        Settings {
            counters: self.paths.clone(),
            view,
            interval: Some(self.options.interval),
            points: Some(self.monitor.window.points()),
            sweep: Some(self.monitor.window.sweep),
            picture: Some(self.monitor.picture.clone()),
            looks: series.iter().map(|series| (series.path.clone(), series.look())).collect(),
            alerts: self.monitor.alerts.crossings().iter().cloned().collect(),
        }
    }

    /// Shows what settings say instead of what is shown now.
    pub fn apply(&mut self, settings: &Settings) {
        self.remove_all();
        let view = VIEWS.iter().find(|(name, _)| settings.view.as_deref() == Some(name));
        self.view = view.map_or(View::Graph, |(_, view)| *view);
        self.options.interval = settings.interval.unwrap_or(self.options.interval).max(SHORTEST);
        if self.replay.is_none() {
            self.monitor.window.set_points(settings.points.unwrap_or(self.monitor.window.points()));
            self.monitor.window.sweep = settings.sweep.unwrap_or(self.monitor.window.sweep);
        }
        if let Some(picture) = &settings.picture {
            self.monitor.picture = picture.clone();
        }
        self.monitor.alerts.restore(&settings.alerts);
        for (path, look) in &settings.looks {
            self.monitor.wear(path, *look);
        }
        for path in &settings.counters {
            self.add(path);
        }
        self.load_log();
    }

    /// Name of the host that the counters are of.
    pub fn system_name(&self) -> &str {
        self.query.system_name()
    }

    /// A time on the clock on the wall.
    pub fn local_time(&self, time: FileTime) -> LocalTime {
        (self.options.local)(time)
    }

    /// Whether the user wants the shell back for a while, once.
    pub fn take_stop(&mut self) -> bool {
        std::mem::take(&mut self.stops)
    }

    /// Text that the user copied, once.
    pub fn take_clipboard(&mut self) -> Option<String> {
        self.clipboard.take()
    }

    /// Adds a path, or shows why it can not be used.
    pub(crate) fn add(&mut self, path: &str) {
        if self.paths.iter().any(|known| known == path) {
            self.monitor.expect(path);
            self.choose = Some(path.to_string());
            return;
        }
        match self.query_for(path).add(path) {
            Ok(_) => {
                let is_own = self.host_of(path) == 0;
                if let Some(successor) = self.successor.as_mut().filter(|_| is_own) {
                    // What one query of the source took, the other takes as well.
                    let _ = successor.add(path);
                }
                self.paths.push(path.to_string());
                self.monitor.expect(path);
            }
            Err(error) => {
                // Its line may be far below what fits on the screen.
                self.message = Some(error.to_string());
                self.monitor.fail(error);
            }
        }
    }

    /// Adds a path, and chooses its line when it is there.
    pub(crate) fn add_and_choose(&mut self, path: &str) {
        self.message = Some(format!("{} {path}", self.words.get(Word::Added)));
        self.choose = Some(path.to_string());
        self.add(path);
    }

    /// Removes the chosen line, and its counter from the query when nothing else needs it.
    pub(crate) fn remove_chosen(&mut self) {
        let Some(path) = self.monitor.remove_chosen() else { return };
        self.paths.retain(|known| *known != path);
        self.successor = self.reopened();
    }

    /// Removes all that a path asked for.
    pub(crate) fn remove_path(&mut self, path: &str) {
        self.monitor.remove_asked(path);
        self.paths.retain(|known| known != path);
        self.successor = self.reopened();
    }

    /// A new counter set.
    pub(crate) fn remove_all(&mut self) {
        self.paths.clear();
        self.monitor.remove_all();
        self.successor = None;
        match self.reopened() {
            Some(query) => self.query = query,
            None => self.message = Some(self.words.get(Word::NothingFound).to_string()),
        }
    }

    /// A query with the paths of now. `None` when the source can not be opened again: then the old query goes on.
    pub(crate) fn reopened(&mut self) -> Option<Query> {
        let mut query = (self.options.open)().ok()?;
        self.keep_watching(&mut query);
        self.reopen_others().ok()?;
        for path in self.paths.iter().filter(|path| self.host_of(path) == 0) {
            query.add(path).ok()?;
        }
        Some(query)
    }

    /// The time of day.
    pub(crate) fn clock(&self, time: FileTime) -> String {
        crate::model::format::clock(self.local_time(time).time)
    }

    /// A time beside others as far apart as these: over a day it has its date, and no seconds.
    pub(crate) fn clock_between(&self, time: FileTime, from: FileTime, to: FileTime) -> String {
        if to.0.saturating_sub(from.0) < units(86_400) {
            return self.clock(time);
        }
        let local = self.local_time(time).time;
        format!("{:02}-{:02} {:02}:{:02}", local.month, local.day, local.hour, local.minute)
    }

    /// Whether a line of the legend passes the filter, and is of what is ticked.
    pub(crate) fn passes(&self, position: usize) -> bool {
        if self.monitor.series().get(position).is_some_and(|series| !self.monitor.ticks.pass_series(series)) {
            return false;
        }
        if self.filter.is_empty() {
            return true;
        }
        let text = match self.monitor.series().get(position) {
            Some(series) => format!("{} {} {}", series.path, series.object_name, series.counter_name),
            None => {
                let behind = position.saturating_sub(self.monitor.series().len());
                self.monitor.failed().get(behind).map(|error| error.path.clone()).unwrap_or_default()
            }
        };
        let text = text.to_lowercase();
        self.filter.split_whitespace().all(|word| text.contains(word))
    }

    /// The lines of the legend that pass the filter.
    pub(crate) fn lines(&self) -> Vec<usize> {
        (0..self.monitor.lines()).filter(|position| self.passes(*position)).collect()
    }

    /// Chooses the line so many lines further in what the filter lets pass.
    pub(crate) fn move_selection(&mut self, by: isize) {
        let lines = self.lines();
        let at = lines.iter().position(|line| *line == self.monitor.selected()).unwrap_or(0);
        let at = at.saturating_add_signed(by).min(lines.len().saturating_sub(1));
        if let Some(line) = lines.get(at) {
            self.monitor.select(*line);
        }
    }

    pub(crate) fn choose_what_was_added(&mut self) {
        let Some(path) = &self.choose else { return };
        let found = self.monitor.series().iter().rposition(|series| series.asked == *path);
        if let Some(position) = found {
            self.monitor.select(position);
            self.choose = None;
        }
    }
}

/// The clock of this machine.
pub(crate) fn now() -> FileTime {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let nanoseconds = i128::try_from(since.as_nanos()).unwrap_or_default();
    FileTime::from_unix_nanoseconds(nanoseconds).unwrap_or_default()
}

/// Units of a time of day.
pub(crate) const fn units(seconds: u64) -> u64 {
    seconds.saturating_mul(UNITS_PER_SECOND)
}
