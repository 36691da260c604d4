//! Text in cells: Korean and Japanese letters are two cells wide.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// The width of a text in columns.
pub(crate) fn width(text: &str) -> u16 {
    u16::try_from(text.width()).unwrap_or(u16::MAX)
}

/// Writes as much of a text as fits into some columns; returns the column after it.
pub(crate) fn put(buffer: &mut Buffer, x: u16, y: u16, columns: u16, text: &str, style: Style) -> u16 {
    let area = buffer.area;
    if y < area.top() || y >= area.bottom() || x >= area.right() || columns == 0 {
        return x;
    }
    buffer.set_stringn(x, y, text, usize::from(columns), style).0
}

/// Writes a text aligned to the right; its end is cut where it does not fit.
pub(crate) fn put_right(buffer: &mut Buffer, x: u16, y: u16, columns: u16, text: &str, style: Style) {
    let gap = columns.saturating_sub(width(text));
    put(buffer, x.saturating_add(gap), y, columns.saturating_sub(gap), text, style);
}

/// Cuts a text to some columns, with an ellipsis at its end.
pub(crate) fn cut(text: &str, columns: u16) -> String {
    if width(text) <= columns {
        return text.to_string();
    }
    let mut left = columns.saturating_sub(1);
    let mut short = String::new();
    for letter in text.chars() {
        let taken = u16::try_from(letter.width().unwrap_or(0)).unwrap_or(0);
        let Some(rest) = left.checked_sub(taken) else { break };
        left = rest;
        short.push(letter);
    }
    if columns > 0 {
        short.push('…');
    }
    short
}

/// Counter and instance, with a gap between them, cut to some columns. Many lines differ only in their
/// instances, so the counter is cut first. Names like `worker#12` differ at their ends, so an instance is cut
/// in its middle.
pub(crate) fn cut_pair(counter: &str, gap: &str, instance: &str, columns: u16) -> String {
    let between = width(gap);
    let whole = width(counter).saturating_add(between).saturating_add(width(instance));
    if whole <= columns {
        return format!("{counter}{gap}{instance}");
    }
    // A third stays for the counter, if that is more than a letter or two.
    let least = if columns >= 12 { columns / 3 } else { 0 };
    let least = least.min(width(counter));
    let instance = cut_middle(instance, columns.saturating_sub(least).saturating_sub(between.min(least)));
    let left = columns.saturating_sub(width(&instance)).saturating_sub(between);
    match left {
        0..=2 => instance,
        _ => format!("{}{gap}{instance}", cut(counter, left)),
    }
}

/// Cuts a text to some columns, with an ellipsis in its middle.
pub(crate) fn cut_middle(text: &str, columns: u16) -> String {
    if width(text) <= columns {
        return text.to_string();
    }
    let behind = columns.saturating_sub(1) / 2;
    let (mut end, mut taken) = (text.len(), 0u16);
    for (at, letter) in text.char_indices().rev() {
        taken = taken.saturating_add(u16::try_from(letter.width().unwrap_or(0)).unwrap_or(0));
        if taken > behind {
            break;
        }
        end = at;
    }
    let tail = text.get(end..).unwrap_or_default();
    format!("{}{tail}", cut(text, columns.saturating_sub(width(tail))))
}

/// Wraps a text at spaces into lines of some columns.
pub(crate) fn wrap(text: &str, columns: u16) -> Vec<String> {
    let mut lines = Vec::new();
    for paragraph in text.lines() {
        let mut line = String::new();
        for word in paragraph.split_whitespace() {
            if !line.is_empty() && width(&line).saturating_add(width(word)).saturating_add(1) > columns {
                lines.push(std::mem::take(&mut line));
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
            // Break a word that is longer than a line, as most are in Japanese.
            while width(&line) > columns && columns >= 2 {
                let mut taken = 0u16;
                let mut end = 0;
                for (at, letter) in line.char_indices() {
                    taken = taken.saturating_add(u16::try_from(letter.width().unwrap_or(0)).unwrap_or(0));
                    if taken > columns {
                        break;
                    }
                    end = at.saturating_add(letter.len_utf8());
                }
                let rest = line.split_off(end);
                lines.push(std::mem::replace(&mut line, rest));
            }
        }
        lines.push(line);
    }
    lines
}

/// Fills an area with spaces of the default style.
pub(crate) fn clear(buffer: &mut Buffer, area: Rect) {
    for row in area.rows() {
        for column in row.columns() {
            if let Some(cell) = buffer.cell_mut((column.x, column.y)) {
                cell.reset();
            }
        }
    }
}

/// Fills a row with one character.
pub(crate) fn rule(buffer: &mut Buffer, area: Rect, y: u16, letter: &str, style: Style) {
    for x in area.left()..area.right() {
        put(buffer, x, y, 1, letter, style);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cutting_counts_columns() {
        for (text, columns, expected) in [
            ("abc", 3, "abc"),
            ("abcd", 3, "ab…"),
            ("프로세서", 8, "프로세서"),
            ("프로세서", 6, "프로…"),
            ("프로세서", 5, "프로…"),
            ("abc", 0, ""),
        ] {
            assert_eq!(cut(text, columns), expected);
        }
    }

    #[test]
    fn the_instance_stays_when_a_pair_is_cut() {
        for (columns, expected) in [
            (40, "% Processor Time worker#12"),
            (26, "% Processor Time worker#12"),
            (25, "% Processor Ti… worker#12"),
            (16, "% Pro… worker#12"),
            (13, "% P… work…#12"),
            (9, "worker#12"),
            (7, "wor…#12"),
            (1, "…"),
            (0, ""),
        ] {
            assert_eq!(cut_pair("% Processor Time", " ", "worker#12", columns), expected, "{columns}");
        }
        assert_eq!(cut_pair("프로세서 시간", " ", "데몬#12", 16), "프로세… 데몬#12");
        for columns in 0..30 {
            let cut = cut_pair("프로세서 시간", "  ", "긴이름의프로세스#3", columns);
            assert!(width(&cut) <= columns, "{cut:?} in {columns}");
        }
    }

    #[test]
    fn wrapping_fits() {
        let text = "one two three\n사용 가능한 바이트 メモリの使用率は高い";
        for columns in [2, 5, 8, 40] {
            for line in wrap(text, columns) {
                assert!(width(&line) <= columns, "{line:?} in {columns}");
            }
        }
        assert_eq!(wrap("a b", 40), ["a b"]);
    }
}
