//! The table of key bindings as a reader sees it: lines of the help screen, and footers.

use crossterm::event::KeyCode;

use crate::keys::binding::{Context, Group, Key, KeyBinding, Task};
use crate::keys::footers::{FOOTERS, Footer, HINT};
use crate::keys::table::{bindings, groups};
use crate::keys::tour::{Line, Page};
use crate::term::text::width;
use crate::words::Words;

/// The lines of the help screen that have some words: keys, and what they do, below the heading of their
/// task, which has no keys.
pub(crate) fn help_lines(words: Words, ascii: bool, wanted: &str) -> Vec<(String, String)> {
    let wanted = wanted.to_lowercase();
    let has = |text: &str| wanted.split_whitespace().all(|word| text.to_lowercase().contains(word));
    let mut lines = Vec::new();
    for (task, heading) in Task::HEADINGS {
        let own = groups().filter(|group| group.in_help && group.task == task);
        let own = own.filter(|group| {
            // The words that the line has no room for are searched too.
            let labels = group.bindings.iter().map(|binding| words.pick(&binding.label));
            let (keys, text) = help_line(group, words, ascii);
            let whole: Vec<&str> =
                labels.chain([keys.as_str(), text.as_str(), words.pick(&heading)]).collect();
            has(&whole.join(" "))
        });
        let own: Vec<_> = own.map(|group| help_line(group, words, ascii)).collect();
        if !own.is_empty() {
            lines.push((String::new(), words.pick(&heading).to_string()));
            lines.extend(own);
        }
    }
    lines
}

fn help_line(group: &Group, words: Words, ascii: bool) -> (String, String) {
    // The first key of each binding, then the second ones.
    let most = group.bindings.iter().map(|binding| binding.keys.len()).max().unwrap_or(0);
    let nth = |nth: usize| group.bindings.iter().filter_map(move |binding| binding.keys.get(nth).copied());
    let keys = joined((0..most).flat_map(nth), " ", ascii);
    let mut texts: Vec<&str> = Vec::new();
    for binding in group.bindings.iter().filter(|binding| !binding.keys.is_empty()) {
        let text = words.pick(binding.brief.as_ref().unwrap_or(&binding.label));
        if texts.last() != Some(&text) {
            texts.push(text);
        }
    }
    // Texts that are lists themselves need another separator.
    let is_list = |text: &&str| text.contains(", ") || text.contains('、');
    let comma = if words.pick(&[", ", ", ", "、", ", "]) == "、" { "、" } else { ", " };
    let text = texts.join(if texts.iter().any(is_list) { "; " } else { comma });
    (keys, text)
}

/// The title and the lines of a page of the tour: keys, and what they are for.
pub(crate) fn tour_page(page: &Page, words: Words, ascii: bool) -> (&'static str, Vec<(String, String)>) {
    let keys_of = |line: &Line| {
        let first = line.commands.iter().filter_map(|command| {
            let is_here = |binding: &&KeyBinding| {
                binding.command == *command && binding.contexts.contains(&line.context)
            };
            bindings().find(is_here)?.all_keys().next()
        });
        joined(first, " ", ascii)
    };
    let lines = page.lines.iter().map(|line| (keys_of(line), words.pick(&line.label).to_string()));
    (words.pick(&page.title), lines.collect())
}

/// The footer of a screen; nothing where it has none.
pub(crate) fn footer(context: Context, words: Words, ascii: bool) -> String {
    footer_in(context, words, ascii, u16::MAX)
}

/// As [`footer`], for so many columns: the keys of help and quit stand last, and stay in view.
pub(crate) fn footer_in(context: Context, words: Words, ascii: bool, room: u16) -> String {
    let footer = FOOTERS.iter().find(|footer| footer.context == context);
    footer.map(|footer| footer_text(footer, words, ascii, room)).unwrap_or_default()
}

/// The first keys, until one was pressed.
pub(crate) fn hint(words: Words, ascii: bool, room: u16) -> String {
    footer_text(&HINT, words, ascii, room)
}

fn footer_text(footer: &Footer, words: Words, ascii: bool, room: u16) -> String {
    let entries = footer.entries.iter().map(|(commands, label)| {
        let known = commands.iter().filter_map(|command| {
            let of_command = || bindings().filter(|binding| binding.command == *command);
            let here = of_command().find(|binding| binding.contexts.contains(&footer.context));
            here.or_else(|| of_command().next())
        });
        let keys = known.filter_map(|binding| binding.keys.first().copied());
        let keys = joined(keys, if commands.len() > 2 { "/" } else { " " }, ascii);
        format!("{keys} {}", words.pick(label)).trim_end().to_string()
    });
    let mut entries: Vec<String> = entries.collect();
    let mut text = entries.join(footer.between);
    while width(&text) > room
        && let Some(place) = entries.len().checked_sub(3)
    {
        entries.remove(place);
        text = entries.join(footer.between);
    }
    text
}

/// Names of keys, one behind the other; arrows need no space between them.
fn joined(keys: impl Iterator<Item = Key>, between: &str, ascii: bool) -> String {
    let is_arrow = |name: &str| ["↑", "↓", "←", "→"].contains(&name);
    let mut text = String::new();
    let mut last = String::new();
    for key in keys {
        let name = name(key, ascii);
        if !(text.is_empty() || is_arrow(&last) && is_arrow(&name)) {
            text.push_str(between);
        }
        text.push_str(&name);
        last = name;
    }
    text
}

/// What a key is called.
pub(super) fn name(key: Key, ascii: bool) -> String {
    let either = |sign: &str, plain: &str| if ascii { plain.to_string() } else { sign.to_string() };
    match key {
        Key::Char(' ') => "Space".to_string(),
        Key::Char(letter) => letter.to_string(),
        Key::Control(letter) => format!("Ctrl-{}", letter.to_ascii_uppercase()),
        Key::Digits => "1..6".to_string(),
        Key::Panes => "1..0".to_string(),
        Key::Click => "click".to_string(),
        Key::Drag => "drag".to_string(),
        Key::Code(code) => match code {
            KeyCode::Up => either("↑", "Up"),
            KeyCode::Down => either("↓", "Dn"),
            KeyCode::Left => either("←", "Lt"),
            KeyCode::Right => either("→", "Rt"),
            KeyCode::Backspace => either("⌫", "BkSp"),
            KeyCode::PageUp => "PgUp".to_string(),
            KeyCode::PageDown => "PgDn".to_string(),
            KeyCode::Delete => "Del".to_string(),
            KeyCode::Insert => "Ins".to_string(),
            KeyCode::BackTab => "Shift-Tab".to_string(),
            other => format!("{other}"),
        },
    }
}
