//! What lies over a view: help, an explanation.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::app::Prompt;
use crate::term::text::{clear, cut, put, rule, width, wrap};
use crate::term::theme::Theme;
use crate::words::{Word, Words};

/// Every key with what it does.
const KEYS: &[(&str, Word)] = &[
    ("a Ins", Word::KeysAdd),
    ("Del Space e", Word::KeysRemove),
    ("\u{2191} \u{2193} j k", Word::KeysSelect),
    ("\u{2190} \u{2192} h l", Word::KeysCursor),
    ("\u{232b} c", Word::KeysHighlight),
    ("g A G b r v T", Word::KeysViews),
    ("+ - S F = L", Word::KeysScale),
    ("f u d", Word::KeysFreeze),
    ("PgUp PgDn Home t", Word::KeysTime),
    ("[ ] :", Word::KeysZoom),
    (", . t", Word::KeysPlay),
    ("Enter click", Word::KeysSpike),
    ("< > m", Word::KeysInterval),
    ("x /", Word::KeysExplain),
    ("P Ctrl-Q 1..6 #", Word::KeysProperties),
    ("y Y V p", Word::KeysCopy),
    ("w o Ctrl-L Ctrl-T", Word::KeysSave),
    ("C { }", Word::KeysCompare),
    ("Ctrl-Z drag", Word::KeysUndo),
    ("\u{2190}\u{2192} i H n N Space U", Word::KeysTable),
    ("D p R E", Word::KeysScreens),
    ("q Ctrl-C Z", Word::KeysQuit),
];

pub(crate) const fn prompt_word(prompt: Prompt) -> Word {
    match prompt {
        Prompt::Filter => Word::Filter,
        Prompt::GoTo => Word::GoTo,
        Prompt::Save => Word::SaveAs,
        Prompt::Paste => Word::Paste,
        Prompt::Open => Word::OpenFile,
        Prompt::Threshold => Word::Threshold,
        Prompt::Compare => Word::CompareWith,
        Prompt::SaveAlerts => Word::SaveList,
    }
}

pub(crate) fn help(buffer: &mut Buffer, area: Rect, words: Words, theme: Theme) {
    let rows = u16::try_from(KEYS.len()).unwrap_or(0).saturating_add(2);
    let inside =
        frame(buffer, area, (74, rows), words.get(Word::HelpTitle), words.get(Word::CloseKeys), theme);
    for (y, (keys, word)) in (inside.top()..inside.bottom()).zip(KEYS) {
        let keys = if theme.either("", "a").is_empty() { (*keys).to_string() } else { plain(keys) };
        put(buffer, inside.x.saturating_add(1), y, 18, &keys, theme.bold());
        let x = inside.x.saturating_add(20);
        let left = inside.right().saturating_sub(x);
        put(buffer, x, y, left, &cut(words.get(*word), left), theme.plain());
    }
}

/// Titles and texts, one below the other.
pub(crate) fn explain(
    buffer: &mut Buffer,
    area: Rect,
    words: Words,
    theme: Theme,
    lines: &[(String, String)],
) {
    let columns = area.width.saturating_sub(6).min(100);
    let mut shown: Vec<(String, String)> = Vec::new();
    for (title, text) in lines.iter().filter(|(_, text)| !text.is_empty()) {
        for (number, line) in wrap(text, columns.saturating_sub(14)).into_iter().enumerate() {
            shown.push((if number == 0 { title.clone() } else { String::new() }, line));
        }
    }
    let rows = u16::try_from(shown.len()).unwrap_or(u16::MAX).saturating_add(2);
    let title = words.get(Word::ExplainTitle);
    let inside =
        frame(buffer, area, (columns.saturating_add(2), rows), title, words.get(Word::CloseKeys), theme);
    for (y, (title, text)) in (inside.top()..inside.bottom()).zip(&shown) {
        put(buffer, inside.x.saturating_add(1), y, 12, &cut(title, 12), theme.dim());
        let x = inside.x.saturating_add(14);
        put(buffer, x, y, inside.right().saturating_sub(x), text, theme.plain());
    }
}

/// An empty box over everything but the last line, which has what there is to say; returns the place inside.
pub(crate) fn screen_frame(buffer: &mut Buffer, area: Rect, title: &str, below: &str, theme: Theme) -> Rect {
    let inside =
        frame_at(buffer, Rect { height: area.height.saturating_sub(1), ..area }, title, below, theme);
    Rect { x: inside.x.saturating_add(1), width: inside.width.saturating_sub(2), ..inside }
}

/// An empty box in the middle; returns the place inside of its border.
pub(crate) fn frame(
    buffer: &mut Buffer,
    area: Rect,
    (columns, rows): (u16, u16),
    title: &str,
    below: &str,
    theme: Theme,
) -> Rect {
    let (columns, rows) = (columns.min(area.width), rows.min(area.height));
    let place = Rect {
        x: area.x.saturating_add(area.width.saturating_sub(columns) / 2),
        y: area.y.saturating_add(area.height.saturating_sub(rows) / 2),
        width: columns,
        height: rows,
    };
    frame_at(buffer, place, title, below, theme)
}

/// An empty box at a place; returns the place inside of its border.
pub(crate) fn frame_at(buffer: &mut Buffer, place: Rect, title: &str, below: &str, theme: Theme) -> Rect {
    let (columns, rows) = (place.width, place.height);
    clear(buffer, place);
    let last = place.bottom().saturating_sub(1);
    let across = theme.either("─", "-");
    rule(buffer, place, place.y, across, theme.dim());
    rule(buffer, place, last, across, theme.dim());
    let right = place.right().saturating_sub(1);
    for y in place.top()..place.bottom() {
        let side = theme.either("│", "|");
        let (one, other) = match y {
            y if y == place.y => (theme.either("┌", "+"), theme.either("┐", "+")),
            y if y == last => (theme.either("└", "+"), theme.either("┘", "+")),
            _ => (side, side),
        };
        put(buffer, place.x, y, 1, one, theme.dim());
        put(buffer, right, y, 1, other, theme.dim());
    }
    let room = columns.saturating_sub(4);
    put(buffer, place.x.saturating_add(2), place.y, room, &format!(" {title} "), theme.bold());
    let below = format!(" {below} ");
    let x = right.saturating_sub(width(&below)).saturating_sub(1).max(place.x.saturating_add(2));
    put(buffer, x, last, room, &below, theme.dim());
    Rect {
        x: place.x.saturating_add(1),
        y: place.y.saturating_add(1),
        width: columns.saturating_sub(2),
        height: rows.saturating_sub(2),
    }
}

/// Names instead of signs, for terminals without them.
fn plain(keys: &str) -> String {
    let signs = [("\u{2191} \u{2193}", "Up Dn"), ("\u{2190} \u{2192}", "Lt Rt"), ("\u{232b}", "BkSp")];
    signs.iter().fold(keys.to_string(), |keys, (sign, name)| keys.replace(sign, name))
}
