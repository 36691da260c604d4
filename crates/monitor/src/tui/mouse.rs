//! What the mouse does: choose a line, point at a time, zoom.

use crossterm::event::{MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::Position;

use super::app::{App, Overlay};
use crate::chart::Chart;

pub(super) fn mouse(app: &mut App, event: MouseEvent) {
    if !matches!(app.overlay, Overlay::None) {
        return;
    }
    let place = (event.column, event.row);
    let in_chart = app.places.chart.contains(Position::from(place));
    match event.kind {
        MouseEventKind::Down(MouseButton::Left) => {
            let again = app.places.clicked.replace(place) == Some(place);
            if in_chart {
                point_at(app, event.column);
            } else if let Some((_, line)) = app.places.lines.iter().find(|(row, _)| *row == event.row) {
                let line = *line;
                // The second click on what is chosen already makes it stand out.
                if again && app.monitor.selected() == line {
                    app.monitor.highlight = !app.monitor.highlight;
                }
                app.monitor.select(line);
            }
        }
        MouseEventKind::Drag(MouseButton::Left) if in_chart => point_at(app, event.column),
        MouseEventKind::ScrollUp if in_chart => app.monitor.window.zoom(true),
        MouseEventKind::ScrollDown if in_chart => app.monitor.window.zoom(false),
        MouseEventKind::ScrollUp => app.move_selection(-1),
        MouseEventKind::ScrollDown => app.move_selection(1),
        _ => {}
    }
}

/// Puts the cursor at the time under a column of the chart.
fn point_at(app: &mut App, column: u16) {
    let area = app.places.chart;
    let chart = Chart::new(ratatui::layout::Rect { height: 1, ..area }, app.theme.glyphs);
    let slot = chart.slot(column.saturating_sub(area.x), app.monitor.window.points());
    let rows = app.monitor.rows();
    app.monitor.window.cursor = app.monitor.window.row_at(&rows, slot);
}
