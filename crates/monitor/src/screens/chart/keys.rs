//! What each key does in the chart and its other views.

use std::time::Duration;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

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
    /// Takes a key: keys of a log come first, then those of the open panel.
    pub(crate) fn take_key(&mut self, key: KeyEvent, workspace: &mut Workspace) -> Action {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        if workspace.replay.is_some() && in_log(workspace, key) {
            return Action::Done;
        }
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
        self.command(key, control, workspace)
    }

    fn command(&mut self, key: KeyEvent, control: bool, workspace: &mut Workspace) -> Action {
        match key.code {
            KeyCode::Char('c') if control => return Action::Quit,
            // Performance Monitor's own keys, where a terminal can tell them.
            KeyCode::Char('e') if control => workspace.remove_all(),
            KeyCode::Char('d') if control => workspace.monitor.clear(),
            KeyCode::Char('f') if control => freeze(workspace),
            KeyCode::Char('u') if control => update(workspace),
            KeyCode::Char('g') if control => workspace.view = View::Graph,
            KeyCode::Char('b') if control => workspace.view = View::Bars,
            KeyCode::Char('r') if control => workspace.view = View::Report,
            KeyCode::Char('t') if control => workspace.back_to_now(),
            KeyCode::Char('l') if control => return Action::Ask(Question::Open, String::new()),
            KeyCode::Char('q') if control => return Action::Open(Opens::Properties),
            KeyCode::Char('z') if control => workspace.undo(),
            KeyCode::Char(_) if control => {}
            KeyCode::Char('q' | 'Q') => return Action::Quit,
            KeyCode::Char('a') | KeyCode::Insert => return Action::Open(Opens::Add),
            KeyCode::Enter => self.spike = SpikePanel::open(workspace),
            KeyCode::Delete => workspace.remove_chosen(),
            KeyCode::Char(' ') => {
                if let Some(series) = workspace.monitor.chosen_mut() {
                    series.hidden = !series.hidden;
                }
            }
            KeyCode::Char('e') => workspace.remove_all(),
            KeyCode::Char('j') | KeyCode::Down => workspace.move_selection(1),
            KeyCode::Char('k') | KeyCode::Up => workspace.move_selection(-1),
            KeyCode::Char('h') | KeyCode::Left => move_cursor(workspace, -1),
            KeyCode::Char('l') | KeyCode::Right => move_cursor(workspace, 1),
            KeyCode::Backspace => workspace.monitor.highlight = !workspace.monitor.highlight,
            KeyCode::Char('c') => {
                if let Some(series) = workspace.monitor.chosen_mut() {
                    series.colour = series.colour.wrapping_add(1);
                }
            }
            KeyCode::Char('g') => workspace.view = View::Graph,
            KeyCode::Char('A') => workspace.view = View::Area,
            KeyCode::Char('G') => workspace.view = View::Stacked,
            KeyCode::Char('L') => return threshold(workspace),
            KeyCode::Char('b') => workspace.view = View::Bars,
            KeyCode::Char('r') => workspace.view = View::Report,
            KeyCode::Char('v') => workspace.view = View::Split,
            KeyCode::Char('T') => return Action::Open(Opens::Table),
            KeyCode::Char('U') => workspace.tick(Ticks::default()),
            KeyCode::Char('+') => workspace.monitor.step_scale(true),
            KeyCode::Char('-') => workspace.monitor.step_scale(false),
            KeyCode::Char('S') => scale(workspace, Scale::Fit),
            KeyCode::Char('F') => {
                workspace.monitor.series_mut().iter_mut().for_each(|series| series.scale = Scale::Fit);
            }
            KeyCode::Char('=') => scale(workspace, Scale::Auto),
            KeyCode::Char('f') => freeze(workspace),
            KeyCode::Char('u') => update(workspace),
            KeyCode::Char('d') => workspace.monitor.clear(),
            KeyCode::Char('t') => workspace.monitor.window.live(),
            KeyCode::PageUp => scroll(workspace, -1),
            KeyCode::PageDown => scroll(workspace, 1),
            KeyCode::Home => {
                let rows = workspace.monitor.rows();
                workspace.monitor.window.scroll(&rows, i64::MIN);
            }
            KeyCode::End => workspace.monitor.window.live(),
            KeyCode::Char(',') => move_cursor(workspace, -1),
            KeyCode::Char('.') => move_cursor(workspace, 1),
            KeyCode::Char('[') => zoom(workspace, true),
            KeyCode::Char(']') => zoom(workspace, false),
            KeyCode::Char('m') => workspace.monitor.window.sweep = !workspace.monitor.window.sweep,
            KeyCode::Char('<') => interval(workspace, false),
            KeyCode::Char('>') => interval(workspace, true),
            KeyCode::Char('x') => return Action::Open(Opens::Explain),
            KeyCode::Char('/') => return Action::Ask(Question::Filter, workspace.filter.clone()),
            KeyCode::Char(':') => return Action::Ask(Question::GoTo, String::new()),
            KeyCode::Char('D') => return Action::Open(Opens::Providers { of_chosen: false }),
            KeyCode::Char('E') => return Action::Open(Opens::Alerts),
            KeyCode::Char('R') => return Action::Open(Opens::Sessions),
            // Where a provider is at fault, it is what one wants to look at.
            KeyCode::Char('p') if workspace.monitor.chosen().is_some_and(Series::is_at_fault) => {
                return Action::Open(Opens::Providers { of_chosen: true });
            }
            KeyCode::Char('p') => return Action::Ask(Question::Paste, String::new()),
            KeyCode::Char('w' | 's') => return Action::Ask(Question::Save, save::file_name(workspace)),
            KeyCode::Char('o') => return Action::Ask(Question::Open, String::new()),
            KeyCode::Char('C') => return Action::Ask(Question::Compare, String::new()),
            KeyCode::Char('{') => workspace.move_compared(-1),
            KeyCode::Char('}') => workspace.move_compared(1),
            KeyCode::Char('y') => {
                let path = workspace.monitor.chosen().map(|series| series.path.clone());
                workspace.copy(path);
            }
            KeyCode::Char('Y') => {
                // What happened is no part of the view that somebody else may want.
                let settings = Settings { alerts: Vec::new(), ..workspace.settings() }.to_string();
                workspace.copy(Some(settings));
            }
            KeyCode::Char('V') => workspace.copy_values(),
            KeyCode::Char(digit @ '1'..='6') => switch(workspace, digit),
            KeyCode::Char('#') => workspace.monitor.picture.grid = workspace.monitor.picture.grid.step(true),
            KeyCode::Char('P') => return Action::Open(Opens::Properties),
            KeyCode::Char('Z') => return Action::Suspend,
            KeyCode::Char('?') | KeyCode::F(1) => return Action::Open(Opens::Help),
            KeyCode::Esc if workspace.is_opening() => workspace.opening = None,
            KeyCode::Esc if workspace.is_reading() => workspace.stop_reading(),
            KeyCode::Esc => {
                workspace.monitor.window.cursor = None;
                self.spike = None;
                workspace.filter.clear();
            }
            _ => {}
        }
        Action::Done
    }
}

/// Asks for the threshold of the chosen counter.
fn threshold(workspace: &Workspace) -> Action {
    let Some(series) = workspace.monitor.chosen() else { return Action::Done };
    let known = series.threshold.map(|threshold| threshold.to_string()).unwrap_or_default();
    Action::Ask(Question::Threshold, known)
}

/// Keys that mean something else in a log; `true` when it was one.
fn in_log(workspace: &mut Workspace, key: KeyEvent) -> bool {
    match key.code {
        KeyCode::Char('t') if !key.modifiers.contains(KeyModifiers::CONTROL) => workspace.toggle_play(),
        // There is nothing to freeze, to update, to forget or to sweep over.
        KeyCode::Char('f' | 'u' | 'd' | 'm') => {}
        KeyCode::Home if workspace.view != View::Table => {
            let rows = workspace.monitor.rows();
            workspace.monitor.window.scroll(&rows, i64::MIN);
            workspace.scroll_in_log(i64::MIN);
        }
        KeyCode::End if workspace.view != View::Table => workspace.end_of_log(),
        _ => return false,
    }
    true
}

fn freeze(workspace: &mut Workspace) {
    let rows = workspace.monitor.rows();
    if workspace.monitor.window.is_live() {
        workspace.monitor.window.freeze(&rows);
    } else {
        workspace.monitor.window.live();
    }
}

/// Switches a part of the picture on or off.
fn switch(workspace: &mut Workspace, digit: char) {
    let nth = digit.to_digit(10).and_then(|digit| usize::try_from(digit).ok()?.checked_sub(1));
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
