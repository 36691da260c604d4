//! The whole screen: title, view, footer, and what lies over them.

use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::app::{App, Overlay, View};
use crate::log::names;
use crate::model::Switch;
use crate::screens::alerts;
use crate::screens::chart::bars;
use crate::screens::chart::graph;
use crate::screens::chart::report;
use crate::screens::chart::spike;
use crate::screens::chart::split;
use crate::screens::chart::tooltip;
use crate::screens::properties;
use crate::screens::providers;
use crate::screens::sessions;
use crate::term::chart::Glyphs;
use crate::term::frame;
use crate::term::text::{cut, put, put_right, rule, width};
use crate::words::Word;
use crate::workspace::playback;

/// A terminal with fewer columns or rows than these has place for a report only.
pub(crate) const LEAST: (u16, u16) = (60, 15);

/// A terminal with fewer columns has no place for our name.
const LEAST_NAMED: u16 = 30;

pub(crate) fn screen(app: &mut App, frame: &mut Frame<'_>) {
    let area = frame.area();
    let buffer = frame.buffer_mut();
    app.places.chart = Rect::ZERO;
    app.places.lines.clear();
    app.places.slider = Rect::ZERO;
    app.places.spike = Rect::ZERO;
    app.places.makers.clear();
    if area.height == 0 || area.width == 0 {
        return;
    }
    let small = area.width < LEAST.0 || area.height < LEAST.1;
    title(app, buffer, area, small);
    let banner = u16::from(failure(app, buffer, area));
    let footer_at = area.bottom().saturating_sub(1);
    let top = area.top().saturating_add(1).saturating_add(banner);
    let slider = u16::from(app.replay.is_some() && !small);
    let body = Rect { y: top, height: footer_at.saturating_sub(top).saturating_sub(slider), ..area };
    app.words = app.words.grouped(app.monitor.picture.parts.has(Switch::DigitGrouping));
    let body = if small || app.view == View::Table { body } else { graph::heading(app, buffer, body) };
    match app.view {
        _ if small => report::draw(app, buffer, body),
        View::Graph | View::Area | View::Stacked => graph::draw(app, buffer, body),
        View::Bars => bars::draw(app, buffer, body),
        View::Report => report::draw(app, buffer, body),
        View::Split => split::draw(app, buffer, body),
        View::Table => {
            let (words, theme) = (app.words, app.theme);
            if let Some(table) = &mut app.table {
                table.draw(buffer, body, words, theme);
            }
        }
    }
    if app.places.chart.height > 4 {
        spike::draw(app, buffer);
    }
    if !small {
        tooltip::draw(app, buffer, body);
    }
    if slider > 0 {
        playback::slider(app, buffer, Rect { y: body.bottom(), height: 1, ..area });
    }
    footer(app, buffer, area);
    properties::draw(app, buffer, area);
    alerts::draw(app, buffer, area);
    providers::draw(app, buffer, area);
    sessions::draw(app, buffer, area);
    let (words, theme) = (app.words, app.theme);
    match &mut app.overlay {
        Overlay::Add(dialog) => dialog.draw(buffer, area, words, theme),
        Overlay::Help => frame::help(buffer, area, words, theme),
        Overlay::Explain(lines) => frame::explain(buffer, area, words, theme, lines),
        // These have more of the screen, or need more than their own.
        Overlay::None
        | Overlay::Prompt(..)
        | Overlay::Properties(_)
        | Overlay::Alerts(_)
        | Overlay::Providers(_)
        | Overlay::Sessions(_) => {}
    }
    if theme.glyphs == Glyphs::Ascii {
        to_ascii(buffer);
    }
}

/// Signs of our own words in letters that every terminal has. Names stay as they are.
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

fn title(app: &App, buffer: &mut Buffer, area: Rect, small: bool) {
    let theme = app.theme;
    let y = area.top();
    rule(buffer, area, y, theme.either("─", "-"), theme.dim());
    // Where there is hardly any place, the state is what one has to know.
    let name = if area.width < LEAST_NAMED { "" } else { " Tallymon " };
    let mut x = put(buffer, area.left().saturating_add(1), y, area.width, name, theme.bold());
    let mut part = |text: &str, style| {
        let space = area.right().saturating_sub(x).saturating_sub(2);
        // A part is shown whole or not at all.
        if width(text) <= space {
            x = put(buffer, x.saturating_add(1), y, space, text, style);
        }
    };
    let window = &app.monitor.window;
    if let Some(replay) = &app.replay {
        let name = names::title(&replay.log);
        part(&format!(" {} ", app.words.get(Word::Log)), theme.badge());
        part(&format!(" {name} "), theme.bold());
    } else if window.is_frozen() {
        part(&format!(" {} ", app.words.get(Word::Frozen)), theme.badge());
    } else if window.is_back() {
        part(&format!(" {} ", app.words.get(Word::Back)), theme.badge());
    } else {
        part(&format!(" {} {} ", app.words.get(Word::Live), theme.either("▶", ">")), theme.good());
    }
    // Who does not see everything has to know that, also where there is little place.
    if let Some(ticked) = app.ticked_title(area.width / 4) {
        part(&format!(" {ticked} "), theme.warning());
    }
    let newest = app.monitor.next().checked_sub(1).and_then(|row| app.monitor.time(row));
    if let Some(time) = newest.filter(|_| app.replay.is_none()) {
        part(&format!(" {} ", app.clock(time)), theme.plain());
    }
    if let Some(replay) = &app.replay {
        let date = app.local_time(replay.log.summary().first).time;
        let records = replay.log.summary().records;
        part(&format!(" {:04}-{:02}-{:02} ", date.year, date.month, date.day), theme.plain());
        part(&format!(" {records} {} ", app.words.get(Word::Records)), theme.plain());
    } else {
        part(&format!(" {} ", interval(app.options.interval)), theme.plain());
    }
    if let Some(compared) = app.compared_title() {
        part(&format!(" {} {compared} ", theme.either("≈", "~")), theme.warning());
    }
    part(&format!(" {} ", app.hosts().join(", ")), theme.plain());
    let unseen = app.monitor.alerts.unseen();
    if unseen > 0 {
        part(&format!(" {}: {unseen} ", app.words.get(Word::Alerts)), theme.bad());
    }
    if !app.filter.is_empty() {
        part(&format!(" /{} ", app.filter), theme.warning());
    }
    if !small && app.replay.is_none() {
        let rows = app.monitor.rows();
        let oldest = app.monitor.time(rows.start);
        // It changes once a minute only, so as not to send more than there is news.
        if let (Some(oldest), Some(newest)) = (oldest, newest) {
            let minutes = newest.0.saturating_sub(oldest.0) / crate::app::units(60);
            if minutes > 0 {
                let kept = format!(" {} {}:{:02} ", app.words.get(Word::Kept), minutes / 60, minutes % 60);
                part(&kept, theme.dim());
            }
        }
    }
    if !small {
        let help = " ? ";
        put_right(buffer, area.left(), y, area.width.saturating_sub(1), help, theme.bold());
    }
}

/// An interval as it is said: `500 ms`, `1 s`, `1 min`.
pub(crate) fn interval(interval: std::time::Duration) -> String {
    let milliseconds = interval.as_millis();
    if !milliseconds.is_multiple_of(1_000) {
        format!("{milliseconds} ms")
    } else if milliseconds >= 60_000 && milliseconds.is_multiple_of(60_000) {
        format!("{} min", milliseconds / 60_000)
    } else {
        format!("{} s", milliseconds / 1_000)
    }
}

/// A source that does not answer: why, and when it is asked again, or how late it is; what is wrong with a log. Whether
/// there is anything.
fn failure(app: &App, buffer: &mut Buffer, area: Rect) -> bool {
    let (text, aside) = match (app.late(), &app.failure) {
        (Some(late), _) => (app.words.get(Word::NoAnswer).to_string(), format!(" {} s ", late.as_secs())),
        (None, Some(error)) => {
            let left = app.countdown.map_or_else(|| app.pause(), std::time::Duration::from_secs);
            (error.to_string(), format!(" {} {} ", app.words.get(Word::Retry), interval(left)))
        }
        (None, None) => match app.log_notes() {
            Some(notes) => (notes, String::new()),
            None => return false,
        },
    };
    let y = area.top().saturating_add(1);
    let style = app.theme.bad().patch(app.theme.badge());
    rule(buffer, area, y, " ", style);
    let place = area.width.saturating_sub(width(&aside)).saturating_sub(1);
    let text = format!(" {} {text}", app.theme.either("⚠", "!"));
    put(buffer, area.left(), y, place, &cut(&text, place), style);
    put_right(buffer, area.left(), y, area.width, &aside, style);
    true
}

fn footer(app: &App, buffer: &mut Buffer, area: Rect) {
    let theme = app.theme;
    let y = area.bottom().saturating_sub(1);
    if y <= area.top() {
        return;
    }
    rule(buffer, area, y, " ", theme.plain());
    let columns = area.width.saturating_sub(1);
    match &app.overlay {
        Overlay::Prompt(prompt, text) => {
            let word = app.words.get(frame::prompt_word(*prompt));
            let x = put(buffer, area.left(), y, columns, &format!(" {word}: "), theme.bold());
            let left = area.right().saturating_sub(x).saturating_sub(1);
            // The end of a long text is what is being typed.
            let mut shown: &str = text;
            while width(shown) > left.saturating_sub(1) {
                let mut letters = shown.chars();
                letters.next();
                shown = letters.as_str();
            }
            let x = put(buffer, x, y, left, shown, theme.plain());
            put(buffer, x, y, 1, " ", theme.selected());
        }
        _ => {
            let footer_words = app.words.get(Word::Footer).replace('⌫', theme.either("⌫", "BkSp"));
            let progress = app.progress();
            let (text, style) = match progress.as_ref().or(app.message.as_ref()) {
                Some(message) => (message.as_str(), theme.warning()),
                None if app.hint && app.monitor.window.is_live() && app.view == View::Graph => {
                    (app.words.get(Word::Hint), theme.bold())
                }
                None if app.replay.is_some() && app.view != View::Table => {
                    (app.words.get(Word::LogKeys), theme.dim())
                }
                None if app.view == View::Table => (app.words.get(Word::TableKeys), theme.dim()),
                None => (footer_words.as_str(), theme.dim()),
            };
            put(
                buffer,
                area.left().saturating_add(1),
                y,
                columns,
                &cut(text, columns.saturating_sub(1)),
                style,
            );
        }
    }
}
