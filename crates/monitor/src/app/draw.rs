//! The whole screen: title, view, footer, and the dialogs over them.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::app::App;
use crate::keys::binding::Context;
use crate::keys::show;
use crate::log::names;
use crate::model::{HostState, Switch, format};
use crate::screens::chart::is_small;
use crate::screens::finding_text::severity;
use crate::screens::screen::{Layer, Screen};
use crate::term::chart::Glyphs;
use crate::term::text::{cut, put, put_right, rule, width};
use crate::words::Word;
use crate::workspace::state::{View, Workspace};
use crate::workspace::time::units;

/// A terminal with fewer columns has no room for the name of the program.
const LEAST_NAMED: u16 = 30;

impl App {
    pub(super) fn draw_screens(&mut self, buffer: &mut Buffer, area: Rect) {
        if area.height == 0 || area.width == 0 {
            return;
        }
        let App { workspace, chart, screens, hint, .. } = self;
        let small = is_small(area);
        title(workspace, buffer, area, small);
        let banner = u16::from(banner(workspace, buffer, area));
        let footer_at = area.bottom().saturating_sub(1);
        let top = area.top().saturating_add(1).saturating_add(banner);
        let body = Rect { y: top, height: footer_at.saturating_sub(top), ..area };
        workspace.words = workspace.words.grouped(workspace.monitor.picture.parts.has(Switch::DigitGrouping));
        let table = screens.iter_mut().rev().find(|screen| screen.layer() == Layer::Body);
        match table.filter(|table| !small || matches!(table.view(), Some(View::Overview | View::Hosts))) {
            Some(table) => table.draw(buffer, body, workspace),
            None => chart.draw(buffer, body, workspace),
        }
        let front = screens.last().and_then(|screen| screen.footer());
        footer(workspace, front, *hint, buffer, area);
        for screen in screens.iter_mut().filter(|screen| screen.layer() != Layer::Body) {
            screen.draw(buffer, area, workspace);
        }
        if workspace.theme.glyphs == Glyphs::Ascii {
            to_ascii(buffer);
        }
    }
}

/// Replaces signs of our own words by characters that every terminal has. Names stay unchanged.
fn to_ascii(buffer: &mut Buffer) {
    for cell in &mut buffer.content {
        let plain = match cell.symbol() {
            "…" => "~",
            "·" | "•" => ".",
            "—" | "–" => "-",
            "⌫" => "<",
            "←" => "<",
            "→" => ">",
            "↑" => "^",
            "↓" => "v",
            _ => continue,
        };
        cell.set_symbol(plain);
    }
}

fn title(workspace: &Workspace, buffer: &mut Buffer, area: Rect, small: bool) {
    let theme = workspace.theme;
    let y = area.top();
    rule(buffer, area, y, theme.either("─", "-"), theme.dim());
    // Where room is short, the state is more important than the name.
    let name = if area.width < LEAST_NAMED { "" } else { " Tallymon " };
    let mut x = put(buffer, area.left().saturating_add(1), y, area.width, name, theme.bold());
    let mut part = |text: &str, style| {
        let space = area.right().saturating_sub(x).saturating_sub(2);
        // A part is shown whole or left out.
        if width(text) <= space {
            x = put(buffer, x.saturating_add(1), y, space, text, style);
        }
    };
    let window = &workspace.monitor.window;
    // The overview shows one second: that of the cursor.
    let second = (workspace.view == View::Overview).then(|| workspace.overview_time()).flatten();
    let past = second.is_some() && !window.is_frozen() && window.cursor.is_some();
    if let Some(replay) = &workspace.replay {
        let name = names::title(&replay.log);
        part(&format!(" {} ", workspace.words.get(Word::Log)), theme.badge());
        part(&format!(" {name} "), theme.bold());
    } else if past {
        part(&format!(" {} ", workspace.words.get(Word::Back)), theme.badge());
    } else if window.is_frozen() {
        part(&format!(" {} ", workspace.words.get(Word::Frozen)), theme.badge());
    } else if window.is_back() {
        part(&format!(" {} ", workspace.words.get(Word::Back)), theme.badge());
    } else {
        part(&format!(" {} {} ", workspace.words.get(Word::Live), theme.either("▶", ">")), theme.good());
    }
    // That only a part is shown is said also where room is short.
    if let Some(ticked) = workspace.ticked_title(area.width / 4) {
        part(&format!(" {ticked} "), theme.warning());
    }
    let newest = workspace.monitor.next().checked_sub(1).and_then(|row| workspace.monitor.time(row));
    if let Some(time) = second.or(newest.filter(|_| workspace.replay.is_none())) {
        part(&format!(" {} ", workspace.clock(time)), theme.plain());
    }
    if let Some(replay) = &workspace.replay {
        let date = workspace.local_time(replay.log.summary().first).time;
        let records = replay.log.summary().records;
        part(&format!(" {:04}-{:02}-{:02} ", date.year, date.month, date.day), theme.plain());
        part(&format!(" {records} {} ", workspace.words.get(Word::Records)), theme.plain());
    } else {
        part(&format!(" {} ", format::interval(workspace.options.interval)), theme.plain());
    }
    if let Some(compared) = workspace.compared_title() {
        // The shown log is A, the base, as in `tally compare A B`.
        part(&format!(" {} {compared} (B-A) ", theme.either("≈", "~")), theme.warning());
    }
    part(&format!(" {} ", hosts(workspace, area.width / 3)), theme.plain());
    let unseen = workspace.monitor.alerts.unseen();
    if unseen > 0 {
        part(&format!(" {}: {unseen} ", workspace.words.get(Word::Alerts)), theme.bad());
    }
    if let Some(worst) = workspace.findings.found.worst() {
        let count = workspace.findings.found.list().len();
        let (_, _, style) = severity(worst, workspace.words, theme);
        part(&format!(" {}: {count} ", workspace.words.get(Word::Findings)), style);
    }
    if !workspace.filter.is_empty() {
        part(&format!(" /{} ", workspace.filter), theme.warning());
    }
    if !small && workspace.replay.is_none() {
        let rows = workspace.monitor.rows();
        let oldest = workspace.monitor.time(rows.start);
        // It changes only once a minute, to send little to the terminal.
        if let (Some(oldest), Some(newest)) = (oldest, newest) {
            let minutes = newest.0.saturating_sub(oldest.0) / units(60);
            if minutes > 0 {
                let kept =
                    format!(" {} {}:{:02} ", workspace.words.get(Word::Kept), minutes / 60, minutes % 60);
                part(&kept, theme.dim());
            }
        }
    }
    if !small {
        let help = " ? ";
        put_right(buffer, area.left(), y, area.width.saturating_sub(1), help, theme.bold());
    }
}

/// The names of the hosts, or how many there are when the names need more columns than these; for the
/// overview the host that it shows.
fn hosts(workspace: &Workspace, columns: u16) -> String {
    let hosts = workspace.hosts();
    let shown = workspace.overview.as_ref().filter(|_| workspace.view == View::Overview);
    if let Some(host) = shown.and_then(|state| hosts.get(state.host)) {
        return host.clone();
    }
    let names = hosts.join(", ");
    let is_long = workspace.machines().is_some() && width(&names) > columns;
    if is_long { format!("{}: {}", workspace.words.get(Word::AllHosts), hosts.len()) } else { names }
}

/// What is wrong with live machines, and how long one is left alone.
fn silent_machines(workspace: &Workspace) -> Option<(String, String)> {
    let silent = workspace.silent_machines();
    let (name, state) = silent.first()?;
    let words = workspace.words;
    let (text, aside) = match state {
        HostState::Failed { why, retry } => {
            let retry = retry.map(|left| {
                let left = std::time::Duration::from_secs(left.as_secs().saturating_add(1));
                format!(" {} {} ", words.get(Word::Retry), format::interval(left))
            });
            (format!("{name}: {why}"), retry.unwrap_or_default())
        }
        HostState::Late(age) => {
            (format!("{name}: {}", words.get(Word::OldValue)), format!(" {} ", format::age(*age)))
        }
        HostState::Opening | HostState::Live => return None,
    };
    let others = silent.len().saturating_sub(1);
    let more = if others > 0 { format!(" (+{others})") } else { String::new() };
    Some((text + &more, aside))
}

/// Draws the banner: why a source does not answer and when it is tried again, or how late it is; or the notes
/// of a log. Returns whether there is a banner.
fn banner(workspace: &Workspace, buffer: &mut Buffer, area: Rect) -> bool {
    let (text, aside) = match (workspace.late(), &workspace.failure) {
        (Some(late), _) => {
            (workspace.words.get(Word::NoAnswer).to_string(), format!(" {} ", format::age(late)))
        }
        (None, Some(error)) => {
            let left = workspace.countdown.map_or_else(|| workspace.pause(), std::time::Duration::from_secs);
            (error.to_string(), format!(" {} {} ", workspace.words.get(Word::Retry), format::interval(left)))
        }
        (None, None) => match (silent_machines(workspace), workspace.log_notes()) {
            (Some(silent), _) => silent,
            (None, Some(notes)) => (notes, String::new()),
            (None, None) => return false,
        },
    };
    let y = area.top().saturating_add(1);
    let style = workspace.theme.bad().patch(workspace.theme.badge());
    rule(buffer, area, y, " ", style);
    let place = area.width.saturating_sub(width(&aside)).saturating_sub(1);
    let text = format!(" {} {text}", workspace.theme.either("⚠", "!"));
    put(buffer, area.left(), y, place, &cut(&text, place), style);
    put_right(buffer, area.left(), y, area.width, &aside, style);
    true
}

/// What is in progress, a message, or the keys of the screen in front.
fn footer(workspace: &Workspace, front: Option<Context>, hint: bool, buffer: &mut Buffer, area: Rect) {
    let (words, theme) = (workspace.words, workspace.theme);
    let y = area.bottom().saturating_sub(1);
    if y <= area.top() {
        return;
    }
    rule(buffer, area, y, " ", theme.plain());
    let ascii = theme.glyphs == Glyphs::Ascii;
    let progress = workspace.progress();
    let keys = match front {
        Some(keys) => keys,
        None if workspace.replay.is_some() => Context::Log,
        None => Context::Chart,
    };
    let columns = area.width.saturating_sub(1);
    let room = columns.saturating_sub(1);
    let (text, style) = match progress.as_ref().or(workspace.message.as_ref()) {
        Some(message) => (message.clone(), theme.warning()),
        None if hint && workspace.monitor.window.is_live() && workspace.view == View::Graph => {
            (show::hint(words, ascii, room), theme.bold())
        }
        None => (show::footer_in(keys, words, ascii, room), theme.dim()),
    };
    let x = area.left().saturating_add(1);
    put(buffer, x, y, columns, &cut(&text, room), style);
}
