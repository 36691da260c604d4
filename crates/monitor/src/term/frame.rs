//! Boxes with a border, a title and the keys that work inside.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::term::text::{clear, put, rule, width};
use crate::term::theme::Theme;

/// Draws an empty box over everything except the footer; returns the area inside.
pub(crate) fn screen_frame(buffer: &mut Buffer, area: Rect, title: &str, below: &str, theme: Theme) -> Rect {
    let inside =
        frame_at(buffer, Rect { height: area.height.saturating_sub(1), ..area }, title, below, theme);
    Rect { x: inside.x.saturating_add(1), width: inside.width.saturating_sub(2), ..inside }
}

/// Draws an empty box in the middle; returns the area inside its border.
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

/// Draws an empty box in an area; returns the area inside its border.
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
