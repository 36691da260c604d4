//! What the mouse does: choose a line, ask who made a value, zoom.

use crossterm::event::{KeyCode, MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::Position;

use crate::app::keys;
use crate::app::{App, Overlay, View};
use crate::screens::alerts;
use crate::screens::properties;
use crate::screens::providers;
use crate::screens::sessions;
use crate::term::chart::Chart;

pub(crate) fn mouse(app: &mut App, event: MouseEvent) {
    let place = (event.column, event.row);
    let is_click = event.kind == MouseEventKind::Down(MouseButton::Left);
    match std::mem::take(&mut app.overlay) {
        Overlay::None => {}
        Overlay::Add(mut dialog) => {
            let asked = dialog.mouse(event);
            return keys::asked(app, dialog, asked);
        }
        Overlay::Properties(dialog) => return properties::mouse(app, dialog, event),
        Overlay::Alerts(screen) => return alerts::mouse(app, screen, event),
        Overlay::Providers(screen) => return providers::mouse(app, screen, event),
        Overlay::Sessions(screen) => return sessions::mouse(app, screen, event),
        Overlay::Help | Overlay::Explain(_) if is_click => return,
        other => {
            app.overlay = other;
            return;
        }
    }
    if app.view == View::Table && app.table.is_some() {
        return in_table(app, event);
    }
    let in_chart = app.places.chart.contains(Position::from(place));
    // What is dragged from the chart may end over the panel.
    if app.places.dragged.is_none() && app.places.spike.contains(Position::from(place)) {
        return in_spike(app, event);
    }
    match event.kind {
        MouseEventKind::Down(MouseButton::Left) => {
            let again = app.places.clicked.replace(place) == Some(place);
            app.places.dragged = in_chart.then_some((event.column, event.column));
            if in_chart {
                app.monitor.window.cursor = app.row_below(event.column);
            } else if app.places.slider.contains(Position::from(place)) {
                app.slide_to(event.column);
            } else if let Some((_, line)) =
                app.places.lines.iter().find(|(area, _)| area.contains(Position::from(place)))
            {
                let line = *line;
                // The second click on what is chosen already makes it stand out.
                if again && app.monitor.selected() == line {
                    app.monitor.highlight = !app.monitor.highlight;
                }
                app.monitor.select(line);
            }
        }
        MouseEventKind::Drag(MouseButton::Left) => {
            let chart = app.places.chart;
            if app.places.dragged.is_none() && app.places.slider.contains(Position::from(place)) {
                app.slide_to(event.column);
            } else if let Some((_, to)) = &mut app.places.dragged {
                *to = event.column.clamp(chart.left(), chart.right().saturating_sub(1).max(chart.left()));
            }
        }
        MouseEventKind::Up(MouseButton::Left) => {
            if let Some((from, to)) = app.places.dragged.take() {
                released(app, from, to);
            }
        }
        MouseEventKind::Moved => app.places.pointer = Some(Position::from(place)),
        MouseEventKind::ScrollUp if in_chart => app.monitor.window.zoom(true),
        MouseEventKind::ScrollDown if in_chart => app.monitor.window.zoom(false),
        MouseEventKind::ScrollUp => app.move_selection(-1),
        MouseEventKind::ScrollDown => app.move_selection(1),
        _ => {}
    }
}

/// The table has its own lines.
fn in_table(app: &mut App, event: MouseEvent) {
    let Some(table) = &mut app.table else { return };
    match event.kind {
        MouseEventKind::Down(MouseButton::Left) => {
            if table.click(Position { x: event.column, y: event.row }) {
                crate::screens::table::keys::chart_chosen(app);
            } else if app.places.slider.contains(Position { x: event.column, y: event.row }) {
                app.slide_to(event.column);
            }
        }
        MouseEventKind::Down(MouseButton::Right) => {
            table.click(Position { x: event.column, y: event.row });
            crate::screens::table::keys::tick_chosen(app);
        }
        MouseEventKind::ScrollUp => table.move_row(-3),
        MouseEventKind::ScrollDown => table.move_row(3),
        _ => {}
    }
}

/// The panel that says who made a value lies over the chart.
fn in_spike(app: &mut App, event: MouseEvent) {
    match event.kind {
        MouseEventKind::Down(MouseButton::Left) => app.click_maker((event.column, event.row)),
        MouseEventKind::ScrollUp => drop(app.spike_key(KeyCode::Up.into())),
        MouseEventKind::ScrollDown => drop(app.spike_key(KeyCode::Down.into())),
        _ => {}
    }
}

/// A click asks who made what is there; a drag shows the time that was dragged over.
fn released(app: &mut App, from: u16, to: u16) {
    if from == to {
        if app.monitor.window.cursor.is_some() {
            app.open_spike();
        }
        return;
    }
    let rows = app.monitor.rows();
    let view = app.monitor.view();
    let newest = view.end.checked_sub(1);
    // Behind the newest row there is nothing yet: the drag ends there.
    let (one, other) = (app.row_below(from).or(newest), app.row_below(to).or(newest));
    if let (Some(one), Some(other)) = (one, other) {
        app.spike = None;
        app.monitor.window.show(&rows, one, other);
    }
}

impl App {
    /// The row at a column of the chart.
    pub(crate) fn row_below(&self, column: u16) -> Option<u64> {
        let area = self.places.chart;
        let chart = Chart::new(ratatui::layout::Rect { height: 1, ..area }, self.theme.glyphs);
        let slot = chart.slot(column.saturating_sub(area.x), self.monitor.window.points());
        self.monitor.window.row_at(&self.monitor.rows(), slot)
    }
}
