//! What every screen can do, and what it may ask for.

use std::time::Duration;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use tallymon::SourceInfo;
use tallymon::core::flow::SourceError;
use tallymon::core::title::TitleIndex;
use tallymon::sample::Tick as Sample;

use crate::keys::binding::{Command, Context};
use crate::keys::lookup::command;
use crate::workspace::state::{View, Workspace};

/// A screen: the chart, the table, or a dialog over them.
pub(crate) trait Screen {
    /// Where the screen lies.
    fn layer(&self) -> Layer;

    /// The view that this screen is, where it stands in place of the chart.
    fn view(&self) -> Option<View> {
        None
    }

    /// Takes a key.
    fn key(&mut self, key: KeyEvent, workspace: &mut Workspace) -> Action;

    /// Takes a click, a drag, or a turn of the wheel.
    fn mouse(&mut self, _event: MouseEvent, _workspace: &mut Workspace) -> Action {
        Action::Done
    }

    /// Takes text that was pasted.
    fn paste(&mut self, _text: &str, _workspace: &mut Workspace) -> Action {
        Action::Done
    }

    /// Takes the text that the user typed for a question of this screen.
    fn answer(&mut self, _question: Question, _text: &str, _workspace: &mut Workspace) -> Action {
        Action::Ignored
    }

    /// Shows a new sample, or a log at another time.
    ///
    /// # Errors
    ///
    /// The values of this screen could not be collected.
    fn sample(&mut self, _tick: &Tick<'_>) -> Result<(), SourceError> {
        Ok(())
    }

    /// Whether this screen awaits its first sample.
    fn awaits_sample(&self) -> bool {
        false
    }

    /// Shows the objects that a host has by now.
    fn renew(&mut self, _host: usize, _info: &SourceInfo) {}

    /// Starts to read what is not a counter, such as the list of recording sessions. Called once an interval.
    fn refresh(&mut self) {}

    /// Takes what [`Screen::refresh`] read, if it arrives within a time; whether it arrived.
    fn poll(&mut self, _patience: Duration) -> bool {
        false
    }

    /// Whether [`Screen::poll`] has something to wait for.
    fn is_waiting(&self) -> bool {
        false
    }

    /// Whose keys the footer names while this screen is in front.
    fn footer(&self) -> Option<Context> {
        None
    }

    /// Draws the screen into an area, and notes what lies where, for the mouse.
    fn draw(&mut self, buffer: &mut Buffer, area: Rect, workspace: &mut Workspace);
}

/// Keys of the chart that mean nothing where another view stands in its place: they would change what is not
/// on the screen.
const OF_THE_CHART_ONLY: &[Command] = &[
    Command::Remove,
    Command::Hide,
    Command::NewSet,
    Command::Highlight,
    Command::Colour,
    Command::ScaleUp,
    Command::ScaleDown,
    Command::ScaleFit,
    Command::ScaleFitAll,
    Command::ScaleDefault,
    Command::Threshold,
    Command::Clear,
    Command::Contributors,
    Command::Explain,
    Command::Properties,
    Command::Part,
    Command::Grid,
    Command::CopyPath,
    Command::CopyValues,
    Command::Paste,
    Command::Untick,
];

/// What becomes of a key that a view in place of the chart has no use for: the chart takes it, unless it is
/// one of the chart alone, or one of `more`.
pub(crate) fn beside_the_chart(key: KeyEvent, more: &[Command]) -> Action {
    match command(Context::Chart, key) {
        Some(command) if OF_THE_CHART_ONLY.contains(&command) || more.contains(&command) => Action::Done,
        _ => Action::Ignored,
    }
}

/// Where a screen lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layer {
    /// Between title and footer. Keys that it ignores go to the screen below.
    Body,
    /// Over the whole screen. It takes every key.
    Dialog,
    /// In the last row. It takes every key.
    Line,
}

/// A sample of everything in view has arrived, or a log stands at another time.
pub(crate) struct Tick<'a> {
    /// What was sampled.
    pub(crate) workspace: &'a Workspace,
    /// The sample, for the listeners that it has; `None` for a log.
    pub(crate) sample: Option<&'a Sample>,
}

/// What a screen wants the monitor to do after an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Action {
    /// Nothing more.
    Done,
    /// The event means nothing here: the screen below takes it.
    Ignored,
    /// Close this screen.
    Close,
    /// Open another screen over this one.
    Open(Opens),
    /// Ask for a line of text, with this one to begin with.
    Ask(Question, String),
    /// The text of a question changed.
    Typed(Question, String),
    /// A question is answered: close this screen, and hand the text to the screen below.
    Answered(Question, String),
    /// End the monitor.
    Quit,
    /// Give the terminal back to the shell for a while.
    Suspend,
}

/// A screen that another one can open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Opens {
    Add,
    Alerts,
    Explain,
    /// What is wrong.
    Findings,
    Help,
    /// The details of the chosen process.
    Process,
    /// What to do to the chosen process.
    Act,
    Properties,
    Providers {
        /// Begin at the provider of the chosen counter.
        of_chosen: bool,
    },
    Sessions,
    /// The form of a session that watches the chosen threshold.
    NewAlert,
    Table,
    /// The objects of a host that the table can show.
    Objects {
        /// Position of the host.
        host: usize,
        /// The object that is shown.
        shown: TitleIndex,
    },
}

/// A question that one line of text answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Question {
    Filter,
    /// The index of an object.
    Object,
    GoTo,
    Save,
    Paste,
    Threshold,
    Open,
    Compare,
    SaveAlerts,
}

/// What a key does in a screen that any key closes. Ctrl-C ends the monitor as always.
pub(crate) fn close_or_quit(key: KeyEvent) -> Action {
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    if control && key.code == KeyCode::Char('c') { Action::Quit } else { Action::Close }
}

/// What the mouse does in a screen that a click closes.
pub(crate) fn close_by_click(event: MouseEvent) -> Action {
    if event.kind == MouseEventKind::Down(MouseButton::Left) { Action::Close } else { Action::Done }
}
