//! What each key does. The help screen lists them for the user.

use std::time::Duration;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use tallymon::core::time::{FileTime, SystemTime};
use tallymon::explain;

use crate::app::{App, Overlay, Prompt, View};
use crate::log::names;
use crate::model::{Scale, Switch, Ticks};
use crate::save;
use crate::screens::add::{AddDialog, Asked};
use crate::screens::alerts;
use crate::screens::properties::{self, Properties};
use crate::screens::providers;
use crate::screens::sessions;
use crate::settings::Settings;
use crate::words::Word;

/// Intervals that `<` and `>` choose from, in milliseconds.
const INTERVALS: [u64; 10] = [100, 250, 500, 1_000, 2_000, 5_000, 10_000, 30_000, 60_000, 300_000];

pub(crate) fn key(app: &mut App, key: KeyEvent) {
    app.message = None;
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    match std::mem::take(&mut app.overlay) {
        Overlay::None => {}
        Overlay::Add(dialog) => return in_dialog(app, dialog, key),
        Overlay::Prompt(prompt, text) => return in_prompt(app, prompt, text, key),
        Overlay::Properties(dialog) => return properties::key(app, dialog, key),
        Overlay::Providers(screen) => return providers::key(app, screen, key),
        Overlay::Alerts(screen) => return alerts::key(app, screen, key),
        Overlay::Sessions(screen) => return sessions::key(app, screen, key),
        // Any key closes them, and Ctrl-C ends the program as always.
        Overlay::Help | Overlay::Explain(_) if control && key.code == KeyCode::Char('c') => {}
        Overlay::Help | Overlay::Explain(_) => return,
    }
    app.hint = false;
    if app.replay.is_some() && in_log(app, key) {
        return;
    }
    if app.view == View::Table && crate::screens::table::keys::key(app, key) {
        return;
    }
    if !control && app.spike_key(key) {
        return;
    }
    match key.code {
        KeyCode::Char('c') if control => app.quit = true,
        // Performance Monitor's own keys, where a terminal can tell them.
        KeyCode::Char('e') if control => app.remove_all(),
        KeyCode::Char('d') if control => app.monitor.clear(),
        KeyCode::Char('f') if control => freeze(app),
        KeyCode::Char('u') if control => update(app),
        KeyCode::Char('g') if control => app.view = View::Graph,
        KeyCode::Char('b') if control => app.view = View::Bars,
        KeyCode::Char('r') if control => app.view = View::Report,
        KeyCode::Char('t') if control => app.back_to_now(),
        KeyCode::Char('l') if control => app.overlay = Overlay::Prompt(Prompt::Open, String::new()),
        KeyCode::Char('q') if control => app.overlay = Overlay::Properties(Properties::default()),
        KeyCode::Char('z') if control => app.undo(),
        KeyCode::Char(_) if control => {}
        KeyCode::Char('q' | 'Q') => app.quit = true,
        KeyCode::Char('a') | KeyCode::Insert => add(app),
        KeyCode::Enter => app.open_spike(),
        KeyCode::Delete => app.remove_chosen(),
        KeyCode::Char(' ') => {
            if let Some(series) = app.monitor.chosen_mut() {
                series.hidden = !series.hidden;
            }
        }
        KeyCode::Char('e') => app.remove_all(),
        KeyCode::Char('j') | KeyCode::Down => app.move_selection(1),
        KeyCode::Char('k') | KeyCode::Up => app.move_selection(-1),
        KeyCode::Char('h') | KeyCode::Left => move_cursor(app, -1),
        KeyCode::Char('l') | KeyCode::Right => move_cursor(app, 1),
        KeyCode::Backspace => app.monitor.highlight = !app.monitor.highlight,
        KeyCode::Char('c') => {
            if let Some(series) = app.monitor.chosen_mut() {
                series.colour = series.colour.wrapping_add(1);
            }
        }
        KeyCode::Char('g') => app.view = View::Graph,
        KeyCode::Char('A') => app.view = View::Area,
        KeyCode::Char('G') => app.view = View::Stacked,
        KeyCode::Char('L') => threshold(app),
        KeyCode::Char('b') => app.view = View::Bars,
        KeyCode::Char('r') => app.view = View::Report,
        KeyCode::Char('v') => app.view = View::Split,
        KeyCode::Char('T') => crate::screens::table::keys::open(app),
        KeyCode::Char('U') => app.tick(Ticks::default()),
        KeyCode::Char('+') => app.monitor.step_scale(true),
        KeyCode::Char('-') => app.monitor.step_scale(false),
        KeyCode::Char('S') => scale(app, Scale::Fit),
        KeyCode::Char('F') => {
            app.monitor.series_mut().iter_mut().for_each(|series| series.scale = Scale::Fit);
        }
        KeyCode::Char('=') => scale(app, Scale::Auto),
        KeyCode::Char('f') => freeze(app),
        KeyCode::Char('u') => update(app),
        KeyCode::Char('d') => app.monitor.clear(),
        KeyCode::Char('t') => app.monitor.window.live(),
        KeyCode::PageUp => scroll(app, -1),
        KeyCode::PageDown => scroll(app, 1),
        KeyCode::Home => {
            let rows = app.monitor.rows();
            app.monitor.window.scroll(&rows, i64::MIN);
        }
        KeyCode::End => app.monitor.window.live(),
        KeyCode::Char(',') => move_cursor(app, -1),
        KeyCode::Char('.') => move_cursor(app, 1),
        KeyCode::Char('[') => zoom(app, true),
        KeyCode::Char(']') => zoom(app, false),
        KeyCode::Char('m') => app.monitor.window.sweep = !app.monitor.window.sweep,
        KeyCode::Char('<') => interval(app, false),
        KeyCode::Char('>') => interval(app, true),
        KeyCode::Char('x') => explain_chosen(app),
        KeyCode::Char('/') => app.overlay = Overlay::Prompt(Prompt::Filter, app.filter.clone()),
        KeyCode::Char(':') => app.overlay = Overlay::Prompt(Prompt::GoTo, String::new()),
        KeyCode::Char('D') => app.open_providers(false),
        KeyCode::Char('E') => app.open_alerts(),
        KeyCode::Char('R') => app.open_sessions(),
        // Where a provider is at fault, it is what one wants to look at.
        KeyCode::Char('p') if app.monitor.chosen().is_some_and(providers::is_at_fault) => {
            app.open_providers(true)
        }
        KeyCode::Char('p') => app.overlay = Overlay::Prompt(Prompt::Paste, String::new()),
        KeyCode::Char('w' | 's') => app.overlay = Overlay::Prompt(Prompt::Save, save::file_name(app)),
        KeyCode::Char('o') => app.overlay = Overlay::Prompt(Prompt::Open, String::new()),
        KeyCode::Char('C') => app.overlay = Overlay::Prompt(Prompt::Compare, String::new()),
        KeyCode::Char('{') => app.move_compared(-1),
        KeyCode::Char('}') => app.move_compared(1),
        KeyCode::Char('y') => {
            let path = app.monitor.chosen().map(|series| series.path.clone());
            app.copy(path);
        }
        KeyCode::Char('Y') => {
            // What happened is no part of the view that somebody else may want.
            let settings = Settings { alerts: Vec::new(), ..app.settings() }.to_string();
            app.copy(Some(settings));
        }
        KeyCode::Char('V') => app.copy_values(),
        KeyCode::Char(digit @ '1'..='6') => switch(app, digit),
        KeyCode::Char('#') => app.monitor.picture.grid = app.monitor.picture.grid.step(true),
        KeyCode::Char('P') => app.overlay = Overlay::Properties(Properties::default()),
        KeyCode::Char('Z') => app.stops = true,
        KeyCode::Char('?') | KeyCode::F(1) => app.overlay = Overlay::Help,
        KeyCode::Esc if app.is_opening() => app.opening = None,
        KeyCode::Esc if app.is_reading() => app.stop_reading(),
        KeyCode::Esc => {
            app.monitor.window.cursor = None;
            app.spike = None;
            app.filter.clear();
        }
        _ => {}
    }
}

/// Lines that were pasted: counter paths, one a line, and comments.
pub(crate) fn paste(app: &mut App, text: &str) {
    match &mut app.overlay {
        Overlay::Add(dialog) => dialog.paste(text),
        Overlay::Prompt(_, typed) => typed.push_str(text.lines().next().unwrap_or_default()),
        Overlay::Properties(dialog) => dialog.paste(text),
        // Keys of these screens are no paths.
        Overlay::Providers(_) | Overlay::Sessions(_) | Overlay::Alerts(_) => {}
        // A file that is dragged onto a terminal is pasted as its name.
        _ => match names::dragged(text) {
            Some(files) => app.open_files(&files),
            None => add_lines(app, text),
        },
    }
}

fn add_lines(app: &mut App, text: &str) {
    app.hint = false;
    for line in text.lines() {
        // A line of the settings that `Y` copies is a path in quotes and a comma.
        let line = line.trim().trim_end_matches(',').trim_matches(['"', '\'']);
        let is_path = line.starts_with(['\\', '/']);
        if is_path {
            app.choose = Some(line.to_string());
            app.add(line);
        }
    }
}

fn add(app: &mut App) {
    let chosen = app.monitor.chosen().map(|series| (series.object, series.counter));
    let (hosts, host) = (app.hosts(), app.chosen_host());
    match app.open_host(host).and_then(|query| AddDialog::open(query, hosts, host, chosen)) {
        Ok(dialog) => app.overlay = Overlay::Add(Box::new(dialog)),
        Err(error) => app.message = Some(error.to_string()),
    }
}

fn in_dialog(app: &mut App, mut dialog: Box<AddDialog>, key: KeyEvent) {
    let asked = dialog.key(key);
    self::asked(app, dialog, asked);
}

/// Does what the dialog asks for, which stays open.
pub(crate) fn asked(app: &mut App, mut dialog: Box<AddDialog>, asked: Asked) {
    match asked {
        Asked::Close => {
            app.hint = false;
            return;
        }
        Asked::Add(path) => {
            app.choose = Some(path.clone());
            app.add(&path);
        }
        Asked::Host(host) => {
            if let Err(error) = app.open_host(host).and_then(|query| dialog.look_at(host, query)) {
                app.message = Some(error.to_string());
            }
        }
        Asked::Nothing => {}
    }
    app.overlay = Overlay::Add(dialog);
}

fn in_prompt(app: &mut App, prompt: Prompt, mut text: String, key: KeyEvent) {
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    match key.code {
        KeyCode::Esc => {
            if prompt == Prompt::Filter {
                set_filter(app, String::new());
            }
            return;
        }
        KeyCode::Char('c') if control => return,
        KeyCode::Char('u') if control => text.clear(),
        KeyCode::Enter => return answer(app, prompt, &text),
        KeyCode::Backspace => {
            text.pop();
        }
        KeyCode::Char(letter) if !control => text.push(letter),
        _ => {}
    }
    if prompt == Prompt::Filter {
        set_filter(app, text.clone());
    }
    app.overlay = Overlay::Prompt(prompt, text);
}

fn answer(app: &mut App, prompt: Prompt, text: &str) {
    match prompt {
        Prompt::Filter => set_filter(app, text.to_string()),
        Prompt::Paste => add_lines(app, text),
        Prompt::Open => app.open_files(&names::files(text)),
        Prompt::Compare => app.compare_with(text.trim()),
        Prompt::SaveAlerts => app.save_alerts(text.trim()),
        Prompt::Threshold => set_threshold(app, text.trim()),
        Prompt::Save => {
            let saved = save::save(app, text);
            app.message = Some(match saved {
                Ok(files) => format!("{}: {}", app.words.get(Word::Saved), files.join(", ")),
                Err(error) => error.to_string(),
            });
        }
        Prompt::GoTo => match time_of_day(app, text) {
            Some(time) => drop(app.go_to_time(time)),
            None => app.message = Some(format!("{text}: {}", app.words.get(Word::NoSuchTime))),
        },
    }
}

/// Asks for the threshold of the chosen counter.
fn threshold(app: &mut App) {
    let Some(series) = app.monitor.chosen() else { return };
    let known = series.threshold.map(|threshold| threshold.to_string()).unwrap_or_default();
    app.overlay = Overlay::Prompt(Prompt::Threshold, known);
}

fn set_threshold(app: &mut App, text: &str) {
    let number = text.replace(',', "").parse::<f64>().ok().filter(|number| number.is_finite());
    if number.is_none() && !text.is_empty() {
        app.message = Some(format!("{text}: {}", app.words.get(Word::NoNumber)));
    } else {
        app.monitor.set_threshold(number);
    }
}

fn set_filter(app: &mut App, text: String) {
    let text = text.to_lowercase();
    if app.view == View::Table {
        if let Some(table) = &mut app.table {
            table.set_filter(text);
        }
        return;
    }
    app.filter = text;
    if !app.passes(app.monitor.selected())
        && let Some(first) = app.lines().first()
    {
        app.monitor.select(*first);
    }
}

/// The last time before the newest that the clock showed this, or the time of a date.
fn time_of_day(app: &App, text: &str) -> Option<FileTime> {
    let (date, clock) = match text.trim().split_once([' ', 'T']) {
        Some((date, clock)) => (Some(date), clock),
        None => (None, text.trim()),
    };
    let mut parts = clock.split(':').map(|part| part.parse::<u16>().ok());
    let (hour, minute) = (parts.next()??, parts.next()??);
    let second = match parts.next() {
        Some(part) => part?,
        None => 0,
    };
    if parts.next().is_some() {
        return None;
    }
    let newest = match &app.replay {
        Some(replay) => replay.log.summary().last,
        None => app.monitor.time(app.monitor.next().checked_sub(1)?)?,
    };
    let local = SystemTime { milliseconds: 0, ..app.local_time(newest).time };
    let mut wanted = SystemTime { hour, minute, second, ..local };
    if let Some(date) = date {
        let mut parts = date.split('-').map(|part| part.parse::<u16>().ok());
        (wanted.year, wanted.month, wanted.day) = (parts.next()??, parts.next()??, parts.next()??);
    }
    let (wanted, now) = (wanted.file_time()?.0, local.file_time()?.0);
    let back = match now.checked_sub(wanted) {
        Some(back) => back,
        None if date.is_some() => 0,
        None => now.saturating_add(crate::app::units(86_400)).saturating_sub(wanted),
    };
    Some(FileTime(newest.0.saturating_sub(back)))
}

/// Keys that mean something else in a log; `true` when it was one.
fn in_log(app: &mut App, key: KeyEvent) -> bool {
    match key.code {
        KeyCode::Char('t') if !key.modifiers.contains(KeyModifiers::CONTROL) => app.toggle_play(),
        // There is nothing to freeze, to update, to forget or to sweep over.
        KeyCode::Char('f' | 'u' | 'd' | 'm') => {}
        KeyCode::Home if app.view != View::Table => {
            let rows = app.monitor.rows();
            app.monitor.window.scroll(&rows, i64::MIN);
            app.scroll_in_log(i64::MIN);
        }
        KeyCode::End if app.view != View::Table => app.end_of_log(),
        _ => return false,
    }
    true
}

fn freeze(app: &mut App) {
    let rows = app.monitor.rows();
    if app.monitor.window.is_live() {
        app.monitor.window.freeze(&rows);
    } else {
        app.monitor.window.live();
    }
}

/// Switches a part of the picture on or off.
fn switch(app: &mut App, digit: char) {
    let nth = digit.to_digit(10).and_then(|digit| usize::try_from(digit).ok()?.checked_sub(1));
    if let Some((_, switch)) = nth.and_then(|nth| Switch::NAMES.get(nth)) {
        app.monitor.picture.parts.toggle(*switch);
    }
}

fn update(app: &mut App) {
    let rows = app.monitor.rows();
    app.monitor.window.update(&rows);
}

/// Fewer rows in view, or more; the one at the cursor stays there.
fn zoom(app: &mut App, closer: bool) {
    let rows = app.monitor.rows();
    let window = &mut app.monitor.window;
    window.zoom(closer);
    if let Some(cursor) = window.cursor.filter(|cursor| !window.rows(&rows).contains(cursor)) {
        window.go_to(&rows, cursor);
    }
}

/// Half a window back or forward.
fn scroll(app: &mut App, direction: i64) {
    let rows = app.monitor.rows();
    let half = i64::try_from(app.monitor.window.points() / 2).unwrap_or(i64::MAX);
    if !app.scroll_in_log(half.saturating_mul(direction)) {
        app.monitor.window.scroll(&rows, half.saturating_mul(direction));
    }
}

fn move_cursor(app: &mut App, by: i64) {
    if app.step_in_log(by) {
        return;
    }
    let rows = app.monitor.rows();
    app.monitor.window.move_cursor(&rows, by);
}

fn scale(app: &mut App, scale: Scale) {
    if let Some(series) = app.monitor.chosen_mut() {
        series.scale = scale;
    }
}

fn interval(app: &mut App, longer: bool) {
    let now = u64::try_from(app.options.interval.as_millis()).unwrap_or(u64::MAX);
    let next = if longer {
        INTERVALS.into_iter().find(|interval| *interval > now)
    } else {
        INTERVALS.into_iter().rev().find(|interval| *interval < now)
    };
    if let Some(next) = next {
        app.options.interval = Duration::from_millis(next);
    }
}

fn explain_chosen(app: &mut App) {
    let Some(series) = app.monitor.chosen() else { return };
    let Some(reading) = app.readings.iter().find(|reading| reading.path == series.path) else { return };
    let query = app.query_of(app.host_of(&series.path));
    let object = query.catalog().object(reading.object);
    let object_help = object.and_then(|object| query.names().help(object.help));
    let explanation = explain(reading, query.names(), object_help);
    let value = match &explanation.value {
        Ok(value) => {
            let text = app.words.numbers().value(value, series.counter_type);
            format!("{text} {}", explanation.unit)
        }
        Err(why) => format!("{} ({})", why, why.pdh_status().name),
    };
    let words = app.words;
    let kind = format!("{}: {}", explanation.counter_type, explanation.meaning);
    app.overlay = Overlay::Explain(vec![
        (String::new(), explanation.path),
        (String::new(), explanation.index_path),
        (words.get(Word::Object).to_string(), explanation.object_help.unwrap_or_default()),
        (words.get(Word::Counter).to_string(), explanation.help.unwrap_or_default()),
        (words.get(Word::Type).to_string(), kind),
        (words.get(Word::Formula).to_string(), explanation.formula.to_string()),
        (String::new(), explanation.numbers.unwrap_or_default()),
        (words.get(Word::Now).to_string(), value),
    ]);
}
