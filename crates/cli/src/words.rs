//! Messages on standard error, and text that is wrapped or aligned for the terminal.

use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::path::Path;

pub(crate) use tallymon::core::visible::visible;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::{border, messages};

/// The widest column. A longer name or text has a longer line, and makes no other line longer: names of other
/// machines can have any length.
pub(crate) const WIDEST_COLUMN: usize = 250;

/// Prints a message on standard error, after the name of the command.
///
/// Write errors are ignored: standard error may be a closed pipe or a full disk, and the exit code must still
/// be that of the message.
pub(crate) fn say(words: impl fmt::Display) {
    note(format_args!("tally: {}", messages::in_language(words.to_string())));
}

/// Prints a message on standard error as it is, for the programs of Windows.
///
/// A line end may come from a name. So that it cannot begin a line that looks like a message of ours, each
/// further line is indented.
pub(crate) fn note(words: impl fmt::Display) {
    let _ = writeln!(border::stderr(), "{}", indented(&words.to_string()));
}

fn indented(words: &str) -> String {
    let mut text = String::with_capacity(words.len());
    for (at, line) in words.split('\n').enumerate() {
        if at > 0 {
            text.push('\n');
            if !line.is_empty() && !line.starts_with(' ') {
                text.push_str("  ");
            }
        }
        text.push_str(&visible(line));
    }
    text
}

/// A path of a file, as [`visible`].
pub(crate) fn shown(path: &Path) -> String {
    visible(&path.to_string_lossy()).into_owned()
}

/// The longest line of running text. Longer lines are hard to read, even if the terminal is wider.
const WIDEST: usize = 100;
/// The width where standard output is not a terminal.
const USUAL: usize = 80;
/// The narrowest column for text. On a narrower terminal lines run past its edge.
const NARROWEST: usize = 24;

/// The width of running text on standard output, in columns.
pub(crate) fn line_width() -> usize {
    terminal_width().unwrap_or(USUAL).min(WIDEST)
}

/// The width of the terminal; `None` if standard output is not a terminal.
pub(crate) fn terminal_width() -> Option<usize> {
    if !io::stdout().is_terminal() {
        return None;
    }
    crossterm::terminal::size().ok().map(|(columns, _)| usize::from(columns))
}

/// The height of the terminal; `None` if standard output is not a terminal.
pub(crate) fn terminal_height() -> Option<usize> {
    if !io::stdout().is_terminal() {
        return None;
    }
    crossterm::terminal::size().ok().map(|(_, rows)| usize::from(rows))
}

/// Wraps a text for a column that begins at `indent` and ends at `width`. Returns at least one line.
///
/// Lines break at blanks and between two wide letters, because Japanese has no blanks.
pub(crate) fn wrap(text: &str, indent: usize, width: usize) -> Vec<String> {
    let room = width.saturating_sub(indent).max(NARROWEST);
    let mut lines = Vec::new();
    let mut line = String::new();
    for piece in pieces(text) {
        if !line.is_empty() && line.width() + piece.trim_end().width() > room {
            lines.push(line.trim_end().to_string());
            line.clear();
        }
        line.push_str(piece);
    }
    lines.push(line.trim_end().to_string());
    lines
}

/// Prints a table with titles. All columns but the last hold numbers, so they are aligned to the right.
pub(crate) fn table<const N: usize>(
    out: &mut impl Write,
    titles: [&str; N],
    rows: &[[String; N]],
) -> io::Result<()> {
    let mut widths = titles.map(UnicodeWidthStr::width);
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.width());
        }
    }
    let mut line = |cells: [&str; N]| {
        let mut text = String::new();
        for (at, (cell, width)) in cells.iter().zip(widths).enumerate() {
            if at + 1 < N {
                text.extend(std::iter::repeat_n(' ', width.saturating_sub(cell.width())));
            }
            text.push_str(cell);
            text.push_str("  ");
        }
        writeln!(out, "{}", text.trim_end())
    };
    line(titles)?;
    rows.iter().try_for_each(|row| line(row.each_ref().map(String::as_str)))
}

/// Splits a text where a line may break: after words with their blanks, and between wide letters. No line
/// begins with a mark such as a Japanese full stop, and no line ends with an opening bracket.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let mut before: Option<char> = None;
        let end = rest
            .char_indices()
            .find(|(_, letter)| before.replace(*letter).is_some_and(|before| breaks(before, *letter)))
            .map_or(rest.len(), |(at, _)| at);
        let (piece, behind) = rest.split_at_checked(end)?;
        rest = behind;
        (!piece.is_empty()).then_some(piece)
    })
}

/// Whether a line may end between two letters.
fn breaks(before: char, after: char) -> bool {
    if after.is_whitespace() {
        return false;
    }
    before.is_whitespace()
        || (ideographic(before)
            && ideographic(after)
            && !"、。，．・：；！？）」』】ー々ぁぃぅぇぉっゃゅょァィゥェォッャュョ".contains(after)
            && !"（「『【".contains(before))
}

/// Whether a letter is of a script without blanks between words. Korean has them, so its syllables do not
/// count.
fn ideographic(letter: char) -> bool {
    letter.width() == Some(2) && !('\u{ac00}'..='\u{d7a3}').contains(&letter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wraps_at_blanks_and_between_wide_letters() {
        for (text, expected) in [
            ("", &[""][..]),
            ("one", &["one"]),
            ("one two three four five six", &["one two three four five", "six"]),
            ("a-word-that-is-longer-than-the-line and", &["a-word-that-is-longer-than-the-line", "and"]),
            ("이 프로세서가 일한 시간의 비율", &["이 프로세서가 일한", "시간의 비율"]),
            ("システム全体で増える数を、示します。", &["システム全体で増える数", "を、示します。"]),
            // A break before the comma is not allowed.
            ("システム全体で増えるる数、示します", &["システム全体で増えるる", "数、示します"]),
        ] {
            assert_eq!(wrap(text, 2, 26), expected, "{text}");
        }
    }

    #[test]
    fn a_line_end_in_a_name_begins_no_message() {
        for (words, expected) in [
            ("one\n  two", "one\n  two"),
            ("no log x\ntally: all is well", "no log x\n  tally: all is well"),
            ("x\u{1b}[2J\r\n\n", "x\u{fffd}[2J\u{fffd}\n\n"),
        ] {
            assert_eq!(indented(words), expected);
        }
    }

    #[test]
    fn keeps_the_narrowest_column_on_a_narrow_terminal() {
        assert_eq!(wrap("one two", 40, 20), ["one two"]);
    }
}
