//! The monitor without a terminal: events and samples go in, a screen comes out.

pub(crate) mod browse;
mod draw;
#[cfg(test)]
mod findings_tests;
#[cfg(test)]
mod reading_tests;
pub(crate) mod run;

use std::time::{Duration, Instant};

use crossterm::event::{Event, KeyEvent, KeyEventKind, MouseEvent};
use ratatui::Frame;
use tallymon::core::flow::SourceError;
use tallymon::core::time::FileTime;
use tallymon::sample::Tick as Sample;
use tallymon::{Log, Query};

use crate::model::Monitor;
use crate::screens::add::dialog::AddDialog;
use crate::screens::alerts::AlertScreen;
use crate::screens::chart::ChartScreen;
use crate::screens::explain::Explanation;
use crate::screens::findings::FindingScreen;
use crate::screens::help::Help;
use crate::screens::hosts::HostsScreen;
use crate::screens::overview::OverviewScreen;
use crate::screens::overview::act::ActScreen;
use crate::screens::overview::details::ProcessScreen;
use crate::screens::prompt::Prompt;
use crate::screens::properties::Properties;
use crate::screens::providers::Providers;
use crate::screens::screen::{Action, Layer, Opens, Question, Screen, Tick};
use crate::screens::sessions::SessionScreen;
use crate::screens::table::{ObjectPicker, TableScreen};
use crate::settings::Settings;
use crate::workspace::options::{LocalTime, Options};
use crate::workspace::state::{View, Workspace};

/// The monitor: takes events, draws screens. [`run`](crate::run) connects it to a terminal.
pub struct App {
    workspace: Workspace,
    chart: ChartScreen,
    /// The screens over the chart; the last one is in front.
    screens: Vec<Box<dyn Screen>>,
    /// The footer names the first keys, until one is pressed.
    hint: bool,
    /// A screen began to wait for an answer.
    has_asked: bool,
    has_quit: bool,
    /// The user wants the shell for a while.
    suspends: bool,
}

impl App {
    /// A monitor over a query without paths; paths of the options that cannot be used are shown with the
    /// reason.
    pub fn new(query: Query, options: Options) -> App {
        let mut app = App {
            workspace: Workspace::new(query, options),
            chart: ChartScreen::default(),
            screens: Vec::new(),
            hint: true,
            has_asked: false,
            has_quit: false,
            suspends: false,
        };
        app.follow_workspace();
        app
    }

    /// Takes a key, a click, a paste.
    pub fn event(&mut self, event: &Event) {
        let before = self.workspace.begin_event();
        let was_waiting = self.awaits_answers();
        self.chart.forget_pointer();
        match event {
            Event::Key(key) if key.kind != KeyEventKind::Release => self.key(*key),
            Event::Mouse(event) => self.mouse(*event),
            Event::Paste(text) => self.paste(text),
            _ => {}
        }
        self.workspace.end_event(before);
        self.follow_workspace();
        self.has_asked |= !was_waiting && self.awaits_answers();
    }

    fn key(&mut self, key: KeyEvent) {
        self.workspace.message = None;
        if self.screens.last().is_none_or(|front| front.layer() == Layer::Body) {
            self.hint = false;
        }
        self.offer(|screen, workspace| screen.key(key, workspace));
    }

    fn mouse(&mut self, event: MouseEvent) {
        self.offer(|screen, workspace| screen.mouse(event, workspace));
    }

    fn paste(&mut self, text: &str) {
        if self.screens.last().is_none_or(|front| front.layer() != Layer::Dialog) {
            self.hint = false;
        }
        self.offer(|screen, workspace| screen.paste(text, workspace));
    }

    /// Offers an event to the screens from the front one on, until one takes it.
    fn offer(&mut self, mut event: impl FnMut(&mut dyn Screen, &mut Workspace) -> Action) {
        for screen in self.screens.iter_mut().rev() {
            let action = event(screen.as_mut(), &mut self.workspace);
            if action != Action::Ignored {
                return self.act(action);
            }
        }
        let action = event(&mut self.chart, &mut self.workspace);
        self.act(action);
    }

    /// Does what a screen asks for.
    fn act(&mut self, action: Action) {
        match action {
            Action::Done | Action::Ignored => {}
            Action::Close => drop(self.screens.pop()),
            Action::Open(screen) => self.open(screen),
            Action::Ask(question, text) => self.screens.push(Box::new(Prompt::new(question, text))),
            Action::Typed(question, text) => {
                // Only a filter shows its effect before Enter.
                if question == Question::Filter {
                    self.answer(question, &text, 1);
                }
            }
            Action::Answered(question, text) => {
                self.screens.pop();
                self.answer(question, &text, 0);
            }
            Action::Quit => self.has_quit = true,
            Action::Suspend => self.suspends = true,
        }
    }

    /// Hands a text to the screen that asked for it, which lies below so many others.
    fn answer(&mut self, question: Question, text: &str, below: usize) {
        for screen in self.screens.iter_mut().rev().skip(below) {
            if screen.answer(question, text, &mut self.workspace) != Action::Ignored {
                return;
            }
        }
        self.chart.answer(question, text, &mut self.workspace);
    }

    fn open(&mut self, screen: Opens) {
        let workspace = &mut self.workspace;
        let opened: Result<Option<Box<dyn Screen>>, SourceError> = match screen {
            Opens::Add => AddDialog::of_chosen(workspace).map(|screen| Some(Box::new(screen) as _)),
            Opens::Alerts => Ok(Some(Box::new(AlertScreen::open(workspace)))),
            Opens::Explain => {
                Ok(Explanation::of_chosen(workspace).map(|screen| Box::new(screen) as Box<dyn Screen>))
            }
            Opens::Findings => Ok(Some(Box::new(FindingScreen::open(workspace)))),
            Opens::Help => Ok(Some(Box::new(Help::default()))),
            Opens::Process => Ok(ProcessScreen::open(workspace).map(|screen| Box::new(screen) as _)),
            Opens::Act => Ok(ActScreen::open(workspace).map(|screen| Box::new(screen) as _)),
            Opens::Properties => Ok(Some(Box::new(Properties::default()))),
            Opens::Providers { of_chosen } => {
                Providers::open(workspace, of_chosen).map(|screen| Some(Box::new(screen) as _))
            }
            Opens::Sessions => {
                Ok(SessionScreen::open(workspace).map(|screen| Box::new(screen) as Box<dyn Screen>))
            }
            Opens::NewAlert => {
                let limit = workspace.chosen_limit();
                let opened = SessionScreen::open_form(workspace, Some(limit));
                Ok(opened.map(|screen| Box::new(screen) as Box<dyn Screen>))
            }
            Opens::Objects { host, shown } => {
                workspace.define_all(host);
                Ok(Some(Box::new(ObjectPicker::open(workspace, host, shown))))
            }
            Opens::Table => TableScreen::open(workspace)
                .map(|table| table.map(|screen| Box::new(screen) as Box<dyn Screen>)),
        };
        match opened {
            Ok(Some(opened)) => {
                if screen == Opens::Table {
                    // A table that is open already is replaced.
                    self.screens.clear();
                    self.workspace.view = View::Table;
                }
                self.screens.push(opened);
                if matches!(screen, Opens::Table | Opens::Providers { .. }) {
                    // Programs may publish objects that nobody has seen yet.
                    self.workspace.renew_info();
                }
            }
            Ok(None) => {}
            Err(error) => self.workspace.message = Some(error.to_string()),
        }
    }

    /// Brings the screens in line with the workspace after anything that may have changed it.
    fn follow_workspace(&mut self) {
        if self.workspace.take_source_changed() {
            self.screens.clear();
            self.chart.source_changed();
        }
        // Nobody looks at the values of a table under another view, so they are no longer collected.
        let view = self.workspace.view;
        self.screens.retain(|screen| screen.layer() != Layer::Body || screen.view() == Some(view));
        if view == View::Hosts && !self.screens.iter().any(|screen| screen.view() == Some(view)) {
            self.workspace.begin_page();
            self.screens.insert(0, Box::new(HostsScreen::default()));
        }
        if view == View::Overview && !self.screens.iter().any(|screen| screen.view() == Some(view)) {
            self.open_overview();
        }
        if self.workspace.take_time_moved() {
            self.workspace.overview_takes(None);
            self.sample_screens(None);
        }
    }

    /// Opens the overview below the dialogs.
    fn open_overview(&mut self) {
        match self.workspace.begin_overview() {
            Ok(()) => self.screens.insert(0, Box::new(OverviewScreen::open(&self.workspace))),
            Err(error) => {
                self.workspace.view = View::Graph;
                self.workspace.message = Some(error.to_string());
            }
        }
    }

    /// Has every open screen show the sample, or the time of the log.
    fn sample_screens(&mut self, sample: Option<&Sample>) {
        let mut failed = None;
        let tick = Tick { workspace: &self.workspace, sample };
        for screen in &mut self.screens {
            if let Err(error) = screen.sample(&tick) {
                failed = Some(error.to_string());
            }
        }
        if failed.is_some() {
            self.workspace.message = failed;
        }
    }

    /// Draws the screen.
    pub fn draw(&mut self, frame: &mut Frame<'_>) {
        let area = frame.area();
        self.draw_screens(frame.buffer_mut(), area);
    }

    /// Whether the user quit.
    pub const fn has_quit(&self) -> bool {
        self.has_quit
    }

    /// The counters and their history.
    pub const fn monitor(&self) -> &Monitor {
        &self.workspace.monitor
    }

    /// How many rows are in view, 10 to 1,000,000; keys double and halve it.
    pub fn set_points(&mut self, points: usize) {
        self.workspace.monitor.window.set_points(points);
    }

    /// Whether new rows overwrite the oldest from left to right; else everything moves to the left.
    pub const fn set_sweep(&mut self, sweep: bool) {
        self.workspace.monitor.window.sweep = sweep;
    }

    /// The log that is shown, if it is one.
    pub fn log(&self) -> Option<&Log> {
        self.workspace.log()
    }

    /// The current choices, as a settings file keeps them.
    pub fn settings(&self) -> Settings {
        self.workspace.settings()
    }

    /// Replaces the current choices with those of settings.
    pub fn apply(&mut self, settings: &Settings) {
        self.workspace.apply(settings);
        self.follow_workspace();
    }

    /// Name of the host of the query.
    pub fn system_name(&self) -> &str {
        self.workspace.system_name()
    }

    /// A time in the local time zone.
    pub fn local_time(&self, time: FileTime) -> LocalTime {
        self.workspace.local_time(time)
    }

    /// Whether the user wants the shell for a while, once.
    pub fn take_suspend(&mut self) -> bool {
        std::mem::take(&mut self.suspends)
    }

    /// Text that the user copied, once.
    pub fn take_clipboard(&mut self) -> Option<String> {
        self.workspace.clipboard.take()
    }

    /// Takes a sample of everything in view, and waits for it.
    pub fn sample(&mut self) {
        self.begin_sample();
        while self.workspace.is_waiting() {
            self.sample_comes(Duration::MAX);
        }
    }

    /// Requests a sample, which [`App::sample_comes`] takes. A request while the last sample has not arrived
    /// yet leaves a gap for this time. A log that plays goes on by a record.
    pub fn begin_sample(&mut self) {
        self.refresh_screens();
        self.workspace.begin_sample();
        self.workspace.begin_findings();
        self.follow_workspace();
    }

    /// Takes requested samples that arrive within a time; whether anything looks different now.
    pub fn sample_comes(&mut self, patience: Duration) -> bool {
        let arrivals = self.workspace.samples_come(patience);
        for sample in &arrivals.samples {
            self.workspace.overview_takes(Some(sample));
            self.sample_screens(Some(sample));
        }
        if arrivals.has_news || !arrivals.samples.is_empty() {
            self.follow_workspace();
        }
        arrivals.has_news
    }

    /// Whether a requested sample has not arrived yet.
    pub fn is_waiting(&self) -> bool {
        self.workspace.is_waiting() || self.screens.iter().any(|screen| screen.awaits_sample())
    }

    fn awaits_answers(&self) -> bool {
        self.screens.iter().any(|screen| screen.awaits_sample() || screen.is_waiting())
    }

    /// Whether a screen began to wait for an answer since the last call.
    pub(crate) const fn begins_to_ask(&mut self) -> bool {
        std::mem::replace(&mut self.has_asked, false)
    }

    /// Takes the answers that screens wait for and that arrive within a time.
    pub(crate) fn answers_come(&mut self, patience: Duration) {
        let begin = Instant::now();
        while self.awaits_answers() {
            let left = patience.saturating_sub(begin.elapsed());
            if left.is_zero() {
                break;
            }
            if self.screens.iter().any(|screen| screen.awaits_sample()) {
                self.sample_comes(left);
            } else {
                for screen in &mut self.screens {
                    screen.poll(left);
                }
            }
        }
    }

    /// How late the requested sample is; `None` while it is not late.
    pub fn late(&self) -> Option<Duration> {
        self.workspace.late()
    }

    /// How long to wait for the next sample: longer and longer while the source fails.
    pub fn pause(&self) -> Duration {
        self.workspace.pause()
    }

    /// Notes how long it is until a failed source is tried again; whether the shown seconds change.
    pub fn count_down(&mut self, left: Duration) -> bool {
        self.workspace.count_down(left)
    }

    /// Whether a file is being opened.
    pub const fn is_opening(&self) -> bool {
        self.workspace.is_opening()
    }

    /// Takes the file that is being opened, if it is there within a time; whether anything looks different
    /// now.
    pub fn file_comes(&mut self, patience: Duration) -> bool {
        let has_news = self.workspace.file_comes(patience);
        self.follow_workspace();
        has_news
    }

    /// Whether values of a log are being read.
    pub fn is_reading(&self) -> bool {
        self.workspace.is_reading()
    }

    /// Whether values began to be read since the last call.
    pub(crate) fn begins_to_read(&mut self) -> bool {
        self.workspace.begins_to_read()
    }

    /// Takes the values of a log that arrive within a time; whether there are enough of them to draw again.
    pub fn rows_come(&mut self, patience: Duration) -> bool {
        let has_news = self.workspace.rows_come(patience);
        self.follow_workspace();
        has_news
    }

    /// Whether a job is running, or something is being read for a screen.
    pub fn has_jobs(&self) -> bool {
        self.workspace.has_jobs()
            || self.workspace.overview_reads()
            || self.workspace.is_renewing()
            || self.screens.iter().any(|screen| screen.is_waiting())
    }

    /// Takes the jobs that end within a time; whether anything looks different now.
    pub fn jobs_end(&mut self, patience: Duration) -> bool {
        let read = self.workspace.overview_rows_come(patience);
        let mut has_news = self.workspace.take_jobs(patience);
        if has_news {
            self.refresh_screens();
        }
        for screen in &mut self.screens {
            has_news |= screen.poll(patience);
        }
        has_news |= read;
        for (host, info) in self.workspace.infos_come(patience) {
            self.screens.iter_mut().for_each(|screen| screen.renew(host, &info));
            has_news = true;
        }
        has_news
    }

    /// Whether the history or the log is looked through for findings.
    pub fn looks_for_findings(&self) -> bool {
        self.workspace.findings.is_running()
    }

    /// Takes the findings if they arrive within a time; whether anything looks different now.
    pub fn findings_come(&mut self, patience: Duration) -> bool {
        self.workspace.findings_come(patience)
    }

    fn refresh_screens(&mut self) {
        for screen in &mut self.screens {
            screen.refresh();
        }
    }
}
