//! What each key does in the chart and its other views.

use std::time::Duration;

use crossterm::event::{KeyEvent, KeyModifiers};

use crate::keys::binding::{Command, Context};
use crate::keys::lookup::{command, typed};
use crate::model::{Scale, Series, Switch, Ticks};
use crate::save;
use crate::screens::chart::ChartScreen;
use crate::screens::chart::spike::{SpikePanel, Taken};
use crate::screens::screen::{Action, Opens, Question};
use crate::settings::Settings;
use crate::workspace::state::{View, Workspace};

/// Intervals that `<` and `>` choose from, in milliseconds.
const INTERVALS: [u64; 10] = [100, 250, 500, 1_000, 2_000, 5_000, 10_000, 30_000, 60_000, 300_000];

impl ChartScreen {
    /// Takes a key: the open panel comes first, then the keys of a log.
    pub(crate) fn take_key(&mut self, key: KeyEvent, workspace: &mut Workspace) -> Action {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        if let Some(panel) = self.spike.as_mut().filter(|_| !control) {
            match panel.key(key, workspace) {
                Taken::Yes => return Action::Done,
                Taken::Closes => {
                    self.spike = None;
                    return Action::Done;
                }
                Taken::No => {}
            }
        }
        let in_log = workspace.replay.is_some().then_some(Context::Log);
        // Where a provider failed, its state is what the user wants to see.
        let is_at_fault = workspace.monitor.chosen().is_some_and(Series::is_at_fault);
        let fault = is_at_fault.then_some(Context::Fault);
        let contexts = [in_log, fault, Some(Context::Chart)].into_iter().flatten();
        match contexts.filter_map(|context| command(context, key)).next() {
            Some(command) => self.obey(command, key, workspace),
            None => Action::Done,
        }
    }

    fn obey(&mut self, command: Command, key: KeyEvent, workspace: &mut Workspace) -> Action {
        if let Some(action) = asks(command, workspace) {
            return action;
        }
        match command {
            Command::Contributors => self.spike = SpikePanel::open(workspace),
            Command::Cancel if workspace.is_opening() => workspace.opening = None,
            Command::Cancel if workspace.is_reading() => workspace.stop_reading(),
            Command::Cancel => {
                workspace.monitor.window.cursor = None;
                workspace.findings.shown = None;
                self.spike = None;
                workspace.filter.clear();
            }
            Command::Part => toggle_part(workspace, key),
            _ if change_view(command, workspace) || change_time(command, workspace) => {}
            _ => change_counters(command, workspace),
        }
        Action::Done
    }
}

/// Commands that need the app: other screens, questions, the end.
fn asks(command: Command, workspace: &Workspace) -> Option<Action> {
    Some(match command {
        Command::AddCounters => Action::Open(Opens::Add),
        Command::Alerts => Action::Open(Opens::Alerts),
        Command::Explain => Action::Open(Opens::Explain),
        Command::Findings => Action::Open(Opens::Findings),
        Command::Help => Action::Open(Opens::Help),
        Command::Properties => Action::Open(Opens::Properties),
        Command::Providers => Action::Open(Opens::Providers { of_chosen: false }),
        Command::FailedProvider => Action::Open(Opens::Providers { of_chosen: true }),
        Command::Sessions => Action::Open(Opens::Sessions),
        Command::Table => Action::Open(Opens::Table),
        Command::Compare => Action::Ask(Question::Compare, String::new()),
        Command::Filter => Action::Ask(Question::Filter, workspace.filter.clone()),
        Command::GoTo => Action::Ask(Question::GoTo, String::new()),
        Command::Open => Action::Ask(Question::Open, String::new()),
        Command::Paste => Action::Ask(Question::Paste, String::new()),
        Command::Save => Action::Ask(Question::Save, save::file_name(workspace)),
        Command::Threshold => threshold(workspace),
        Command::Suspend => Action::Suspend,
        Command::Quit => Action::Quit,
        _ => return None,
    })
}

/// Commands that change how the counters are shown; `false` for another command.
fn change_view(command: Command, workspace: &mut Workspace) -> bool {
    let picture = &mut workspace.monitor.picture;
    match command {
        Command::Hosts => {
            if workspace.machines().is_some() {
                workspace.view = View::Hosts;
            }
        }
        Command::Overview => show_overview(workspace),
        Command::Graph => workspace.view = View::Graph,
        Command::Area => workspace.view = View::Area,
        Command::Stacked => workspace.view = View::Stacked,
        Command::Bars => workspace.view = View::Bars,
        Command::Report => workspace.view = View::Report,
        Command::Split => workspace.view = View::Split,
        Command::Grid => picture.grid = picture.grid.step(true),
        Command::Highlight => workspace.monitor.highlight = !workspace.monitor.highlight,
        Command::Undo => workspace.undo(),
        Command::ScaleUp => workspace.monitor.step_scale(true),
        Command::ScaleDown => workspace.monitor.step_scale(false),
        Command::ScaleFit => scale(workspace, Scale::Fit),
        Command::ScaleFitAll => {
            workspace.monitor.series_mut().iter_mut().for_each(|series| series.scale = Scale::Fit);
        }
        Command::ScaleDefault => scale(workspace, Scale::Auto),
        _ => return false,
    }
    true
}

/// Shows the overview: among several machines that of the chosen counter.
fn show_overview(workspace: &mut Workspace) {
    if workspace.machines().is_none() {
        workspace.view = View::Overview;
    } else if let Err(error) = workspace.show_overview_of(workspace.chosen_host()) {
        workspace.message = Some(error.to_string());
    }
}

/// Commands that move in time; `false` for another command.
fn change_time(command: Command, workspace: &mut Workspace) -> bool {
    let in_log = workspace.replay.is_some();
    match command {
        // A log cannot be frozen, updated, cleared or swept over.
        Command::Freeze | Command::Update | Command::Clear | Command::Sweep if in_log => {}
        Command::Freeze => freeze(workspace),
        Command::Update => update(workspace),
        Command::Clear => workspace.monitor.clear(),
        Command::Sweep => workspace.monitor.window.sweep = !workspace.monitor.window.sweep,
        Command::Live => workspace.monitor.window.live(),
        Command::Newest if in_log => workspace.end_of_log(),
        Command::Newest => workspace.monitor.window.live(),
        Command::Play => workspace.toggle_play(),
        Command::ScrollBack => scroll(workspace, -1),
        Command::ScrollForward => scroll(workspace, 1),
        Command::Oldest => {
            let rows = workspace.monitor.rows();
            workspace.monitor.window.scroll(&rows, i64::MIN);
            workspace.scroll_in_log(i64::MIN);
        }
        Command::CursorBack | Command::StepBack => move_cursor(workspace, -1),
        Command::CursorForward | Command::StepForward => move_cursor(workspace, 1),
        Command::ZoomIn => zoom(workspace, true),
        Command::ZoomOut => zoom(workspace, false),
        Command::ShorterInterval => interval(workspace, false),
        Command::LongerInterval => interval(workspace, true),
        _ => return false,
    }
    true
}

/// Commands that change what is shown, and those of the clipboard and of files.
fn change_counters(command: Command, workspace: &mut Workspace) {
    match command {
        Command::Previous => workspace.move_selection(-1),
        Command::Next => workspace.move_selection(1),
        Command::Remove => workspace.remove_chosen(),
        Command::NewSet => workspace.remove_all(),
        Command::Fold => {
            workspace.folding.is_off = !workspace.folding.is_off;
            workspace.fold();
        }
        Command::Untick => workspace.tick(Ticks::default()),
        Command::Hide => {
            if let Some(series) = workspace.monitor.chosen_mut() {
                series.hidden = !series.hidden;
            }
        }
        Command::Colour => {
            if let Some(series) = workspace.monitor.chosen_mut() {
                series.colour = series.colour.wrapping_add(1);
            }
        }
        Command::CopyPath => {
            let path = workspace.monitor.chosen().map(|series| series.path.clone());
            workspace.copy(path);
        }
        Command::CopySettings => {
            // Past alerts are no part of the view that somebody else may want.
            let settings = Settings { alerts: Vec::new(), ..workspace.settings() }.to_string();
            workspace.copy(Some(settings));
        }
        Command::CopyValues => workspace.copy_values(),
        Command::CompareBack => workspace.move_compared(-1),
        Command::CompareForward => workspace.move_compared(1),
        Command::BackToNow => workspace.back_to_now(),
        _ => {}
    }
}

/// Asks for the threshold of the chosen counter.
fn threshold(workspace: &Workspace) -> Action {
    let Some(series) = workspace.monitor.chosen() else { return Action::Done };
    let known = series.threshold.map(|threshold| threshold.to_string()).unwrap_or_default();
    Action::Ask(Question::Threshold, known)
}

fn freeze(workspace: &mut Workspace) {
    let rows = workspace.monitor.rows();
    if workspace.monitor.window.is_live() {
        workspace.monitor.window.freeze(&rows);
    } else {
        workspace.monitor.window.live();
    }
}

/// Switches the part of the picture whose number the key is.
fn toggle_part(workspace: &mut Workspace, key: KeyEvent) {
    let digit = typed(key).and_then(|letter| letter.to_digit(10));
    let nth = digit.and_then(|digit| usize::try_from(digit).ok()?.checked_sub(1));
    if let Some((_, switch)) = nth.and_then(|nth| Switch::NAMES.get(nth)) {
        workspace.monitor.picture.parts.toggle(*switch);
    }
}

fn update(workspace: &mut Workspace) {
    let rows = workspace.monitor.rows();
    workspace.monitor.window.update(&rows);
}

/// Fewer rows in view, or more; the one at the cursor stays there.
fn zoom(workspace: &mut Workspace, closer: bool) {
    let rows = workspace.monitor.rows();
    let window = &mut workspace.monitor.window;
    window.zoom(closer);
    if let Some(cursor) = window.cursor.filter(|cursor| !window.rows(&rows).contains(cursor)) {
        window.go_to(&rows, cursor);
    }
}

/// Half a window back or forward.
fn scroll(workspace: &mut Workspace, direction: i64) {
    let rows = workspace.monitor.rows();
    let half = i64::try_from(workspace.monitor.window.points() / 2).unwrap_or(i64::MAX);
    if !workspace.scroll_in_log(half.saturating_mul(direction)) {
        workspace.monitor.window.scroll(&rows, half.saturating_mul(direction));
    }
}

fn move_cursor(workspace: &mut Workspace, by: i64) {
    if workspace.step_in_log(by) {
        return;
    }
    let rows = workspace.monitor.rows();
    workspace.monitor.window.move_cursor(&rows, by);
}

fn scale(workspace: &mut Workspace, scale: Scale) {
    if let Some(series) = workspace.monitor.chosen_mut() {
        series.scale = scale;
    }
}

fn interval(workspace: &mut Workspace, longer: bool) {
    let now = u64::try_from(workspace.options.interval.as_millis()).unwrap_or(u64::MAX);
    let next = if longer {
        INTERVALS.into_iter().find(|interval| *interval > now)
    } else {
        INTERVALS.into_iter().rev().find(|interval| *interval < now)
    };
    if let Some(next) = next {
        workspace.options.interval = Duration::from_millis(next);
    }
}
