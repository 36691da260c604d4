//! The time slider of a log: the part in view, and the cursor.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use tallymon::core::time::FileTime;

use crate::term::text::{put, put_right, width};
use crate::workspace::state::Workspace;

/// Draws the whole log as a line from its first to its last time; returns the area of the line.
pub(crate) fn draw(workspace: &Workspace, buffer: &mut Buffer, area: Rect) -> Rect {
    let Some(replay) = &workspace.replay else { return Rect::ZERO };
    let theme = workspace.theme;
    let summary = replay.log.summary();
    let clock = |time| workspace.clock_between(time, summary.first, summary.last);
    let (first, last) = (clock(summary.first), clock(summary.last));
    let state = if replay.plays { theme.either("▶", ">") } else { theme.either("‖", "=") };
    let x = put(buffer, area.x, area.y, area.width, &format!(" {state} {first} "), theme.plain());
    let behind = format!(" {last} ");
    put_right(buffer, area.x, area.y, area.width, &behind, theme.plain());
    let line = Rect { x, width: area.right().saturating_sub(x).saturating_sub(width(&behind)), ..area };
    let span = summary.last.0.saturating_sub(summary.first.0).max(1) as f64;
    let column = |time: FileTime| {
        let share = time.0.saturating_sub(summary.first.0) as f64 / span;
        line.x.saturating_add((share.min(1.0) * f64::from(line.width.saturating_sub(1))).round() as u16)
    };
    for x in line.left()..line.right() {
        put(buffer, x, line.y, 1, theme.either("─", "-"), theme.dim());
    }
    if let Some((from, to)) = workspace.monitor.view_times() {
        for x in column(from)..=column(to) {
            put(buffer, x, line.y, 1, theme.either("━", "="), theme.good());
        }
    }
    if let Some(time) = workspace.monitor.window.cursor.and_then(|row| workspace.monitor.time(row)) {
        put(buffer, column(time), line.y, 1, theme.either("●", "O"), theme.bold());
    }
    line
}

/// Goes to the time at a column of the slider.
pub(crate) fn go_to(workspace: &mut Workspace, slider: Rect, column: u16) {
    let last = slider.width.saturating_sub(1);
    workspace.slide_to(u64::from(column.saturating_sub(slider.x)), u64::from(last));
}
