//! A list with columns and a chosen line, for the screens of providers, sessions and alerts.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use crate::term::text::{cut, put, put_right, width, wrap};
use crate::term::theme::Theme;

/// The least width of the first column: other columns are left out for it.
const LEAST_FIRST: u16 = 14;

/// A column. Columns that do not fit are left out, the last one first; the first column always stays.
pub(crate) struct Column {
    pub(crate) title: &'static str,
    /// The least width, so that the columns do not move while values change.
    pub(crate) least: u16,
    pub(crate) right: bool,
}

/// A text and its style.
pub(crate) type Cell = (String, Style);

/// Draws a list, and below it texts about the chosen line, in half of the area at most; returns the screen
/// row of each line.
pub(crate) fn draw(
    buffer: &mut Buffer,
    area: Rect,
    theme: Theme,
    columns: &[Column],
    rows: &[Vec<Cell>],
    at: usize,
    texts: &[Cell],
) -> Vec<(u16, usize)> {
    let below = height(texts, area.width).min(area.height / 2);
    let above = area.height.saturating_sub(below);
    let places = lines(buffer, Rect { height: above, ..area }, theme, columns, rows, at);
    details(buffer, Rect { y: area.y.saturating_add(above), height: below, ..area }, texts);
    places
}

/// Draws headings and lines around the chosen one; returns the screen row of each line.
fn lines(
    buffer: &mut Buffer,
    area: Rect,
    theme: Theme,
    columns: &[Column],
    rows: &[Vec<Cell>],
    at: usize,
) -> Vec<(u16, usize)> {
    let widths = widths(area.width, columns, rows);
    let mut x = area.x;
    for (column, wide) in columns.iter().zip(&widths) {
        let title = cut(column.title, *wide);
        if column.right {
            put_right(buffer, x, area.y, *wide, &title, theme.dim());
        } else {
            put(buffer, x, area.y, *wide, &title, theme.dim());
        }
        x = x.saturating_add(*wide).saturating_add(1);
    }
    let high = usize::from(area.height.saturating_sub(1));
    let top = at.saturating_add(1).saturating_sub(high);
    let mut places = Vec::new();
    for (y, (number, row)) in (area.y.saturating_add(1)..area.bottom()).zip(rows.iter().enumerate().skip(top))
    {
        places.push((y, number));
        let mut x = area.x;
        for ((column, wide), (text, style)) in columns.iter().zip(&widths).zip(row) {
            let text = cut(text, *wide);
            if column.right {
                put_right(buffer, x, y, *wide, &text, *style);
            } else {
                put(buffer, x, y, *wide, &text, *style);
            }
            x = x.saturating_add(*wide).saturating_add(1);
        }
        if number == at {
            buffer.set_style(Rect { y, height: 1, ..area }, theme.selected());
        }
    }
    places
}

/// Widths of the columns that fit.
fn widths(space: u16, columns: &[Column], rows: &[Vec<Cell>]) -> Vec<u16> {
    let wanted = |(nth, column): (usize, &Column)| {
        let cells = rows.iter().filter_map(|row| row.get(nth)).map(|(text, _)| width(text));
        cells.max().unwrap_or(0).max(width(column.title)).max(column.least)
    };
    let mut widths: Vec<u16> = columns.iter().enumerate().map(wanted).collect();
    let first = widths.first().copied().unwrap_or(0);
    loop {
        let others =
            widths.iter().skip(1).fold(0u16, |sum, wide| sum.saturating_add(*wide).saturating_add(1));
        let left = space.saturating_sub(others);
        if widths.len() <= 1 || left >= LEAST_FIRST.min(first) {
            if let Some(first) = widths.first_mut() {
                *first = (*first).min(left);
            }
            return widths;
        }
        widths.pop();
    }
}

/// Draws texts below a list, wrapped; lines that do not fit are left out.
fn details(buffer: &mut Buffer, area: Rect, texts: &[Cell]) {
    let filled = texts.iter().filter(|(text, _)| !text.is_empty());
    let lines =
        filled.flat_map(|(text, style)| wrap(text, area.width).into_iter().map(move |line| (line, style)));
    for (y, (line, style)) in (area.y..area.bottom()).zip(lines) {
        put(buffer, area.x, y, area.width, &line, *style);
    }
}

/// How many lines texts need below a list of this width.
fn height(texts: &[Cell], columns: u16) -> u16 {
    let lines = texts.iter().filter(|(text, _)| !text.is_empty()).map(|(text, _)| wrap(text, columns).len());
    u16::try_from(lines.sum::<usize>()).unwrap_or(u16::MAX)
}

/// The line in a row of the screen.
pub(crate) fn line_at(places: &[(u16, usize)], row: u16) -> Option<usize> {
    places.iter().find(|(y, _)| *y == row).map(|(_, at)| *at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_that_do_not_fit_are_left_out_from_the_last_one_on() {
        let column = |title, least| Column { title, least, right: false };
        let columns = [column("Name", 0), column("State", 8), column("Errors", 8)];
        let rows = [vec![("a name of 20 letters".to_string(), Style::new())]];
        for (space, expected) in [
            (60, &[20, 8, 8][..]),
            (38, &[20, 8, 8]),
            (37, &[19, 8, 8]),
            (32, &[14, 8, 8]),
            (31, &[20, 8]),
            (23, &[14, 8]),
            (22, &[20]),
            (5, &[5]),
        ] {
            assert_eq!(widths(space, &columns, &rows), expected, "{space}");
        }
    }
}
