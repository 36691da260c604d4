//! Words for people: on standard error, and in lines that fit the terminal.

use std::borrow::Cow;
use std::fmt;
use std::io::{self, IsTerminal, Write};

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Says something on standard error, behind the name of the command.
///
/// Nobody may be there to read it: standard error can be a closed pipe or a full disk. That is no reason to end with
/// another exit code than the one of what is said.
pub(crate) fn say(words: impl fmt::Display) {
    let words = words.to_string();
    let lines: Vec<Cow<'_, str>> = words.split('\n').map(visible).collect();
    let _ = writeln!(io::stderr(), "tally: {}", lines.join("\n"));
}

/// A text as a terminal may show it: a program can name itself with letters that move the cursor or end the line.
pub(crate) fn visible(text: &str) -> Cow<'_, str> {
    if text.contains(char::is_control) {
        Cow::Owned(text.replace(char::is_control, "\u{fffd}"))
    } else {
        Cow::Borrowed(text)
    }
}

/// Lines longer than this are hard to read, however wide the terminal is.
const WIDEST: usize = 100;
/// What people have who do not say otherwise.
const USUAL: usize = 80;
/// A column narrower than this holds no text; lines are rather cut by the terminal.
const NARROWEST: usize = 24;

/// How many columns a line of running text may take on standard output.
pub(crate) fn line_width() -> usize {
    terminal_width().unwrap_or(USUAL).min(WIDEST)
}

/// How many columns the terminal has that standard output is; `None` when it is none.
pub(crate) fn terminal_width() -> Option<usize> {
    if !io::stdout().is_terminal() {
        return None;
    }
    crossterm::terminal::size().ok().map(|(columns, _)| usize::from(columns))
}

/// A text in lines for a column that begins at `indent` and ends at `width`; at least one line.
///
/// Lines break at blanks, and between two wide letters, because Japanese has no blanks.
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

/// A table with titles: every column but the last at its right edge, because these are numbers.
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

/// The parts of a text that stay on one line: words with the blanks behind them, and single wide letters. A mark that
/// must not begin a line, such as a Japanese full stop, belongs to the letter before it, as does the word behind an
/// opening bracket.
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

/// Whether a letter is of a script without blanks between words. Korean has them, so its syllables do not count.
fn ideographic(letter: char) -> bool {
    letter.width() == Some(2) && !('\u{ac00}'..='\u{d7a3}').contains(&letter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_where_they_may() {
        for (text, expected) in [
            ("", &[""][..]),
            ("one", &["one"]),
            ("one two three four five six", &["one two three four five", "six"]),
            ("a-word-that-is-longer-than-the-line and", &["a-word-that-is-longer-than-the-line", "and"]),
            ("이 프로세서가 일한 시간의 비율", &["이 프로세서가 일한", "시간의 비율"]),
            ("システム全体で増える数を、示します。", &["システム全体で増える数", "を、示します。"]),
            // The comma would begin the second line.
            ("システム全体で増えるる数、示します", &["システム全体で増えるる", "数、示します"]),
        ] {
            assert_eq!(wrap(text, 2, 26), expected, "{text}");
        }
    }

    #[test]
    fn a_narrow_terminal_still_gets_text() {
        assert_eq!(wrap("one two", 40, 20), ["one two"]);
    }
}
