//! The tooltip: path, time and value of the line nearest to the mouse. Where the legend or the times below
//! the chart are switched off, it describes the cursor.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use crate::model::Switch;
use crate::screens::chart::areas::{Areas, Pointer};
use crate::screens::chart::graph::{self, Drawn};
use crate::screens::chart::legend;
use crate::screens::chart::spike::SpikePanel;
use crate::term::chart::Chart;
use crate::term::text::{clear, cut, put, width};
use crate::words::Word;
use crate::workspace::state::{View, Workspace};

/// The widest tooltip.
const WIDEST: u16 = 60;

/// What the tooltip describes, and where.
struct Tip {
    series: usize,
    /// The row; without one the newest value.
    row: Option<u64>,
    at: Position,
}

/// Draws the tooltip, if there is one, over the chart and below dialogs.
pub(crate) fn draw(
    workspace: &Workspace,
    areas: &Areas,
    pointer: &Pointer,
    spike: Option<&SpikePanel>,
    buffer: &mut Buffer,
    body: Rect,
) {
    if !workspace.monitor.picture.parts.has(Switch::ToolTips) {
        return;
    }
    let Some(tip) =
        pointed_at(workspace, areas, pointer, spike).or_else(|| of_cursor(workspace, areas, spike))
    else {
        return;
    };
    let Some(series) = workspace.monitor.series().get(tip.series) else { return };
    let time = match tip.row {
        Some(row) => workspace.monitor.time(row).map(|time| workspace.clock(time)).unwrap_or_default(),
        None => workspace.words.get(Word::Last).to_string(),
    };
    let unit = series.counter_type.suffix().as_str();
    let value = match tip.row.map(|row| series.at(workspace.monitor.next(), row)) {
        None => match &series.last {
            Ok(value) => format!("{} {unit}", workspace.words.numbers().value(value, series.counter_type)),
            Err(why) => legend::reason(workspace, series).unwrap_or_else(|| why.to_string()),
        },
        Some(Some(Ok(number))) => {
            format!("{} {unit}", workspace.words.numbers().number_of(number, series.counter_type))
        }
        Some(Some(Err(why))) => why.to_string(),
        Some(None) => workspace.theme.either("–", "-").to_string(),
    };
    let value = format!("{time}  {}", value.trim_end());
    let wide = width(&series.path).max(width(&value)).saturating_add(2).min(WIDEST).min(body.width);
    let place = beside(tip.at, (wide, 2), body);
    if place.height < 2 || place.width < 8 {
        return;
    }
    clear(buffer, place);
    // The style distinguishes it from the chart without a border.
    buffer.set_style(place, workspace.theme.badge());
    let columns = place.width.saturating_sub(2);
    let x = place.x.saturating_add(1);
    put(buffer, x, place.y, columns, &cut(&series.path, columns), workspace.theme.badge());
    put(buffer, x, place.y.saturating_add(1), columns, &cut(&value, columns), workspace.theme.badge());
}

/// What the mouse points at: a line of the chart, or one of the legend, the bars or the small charts.
fn pointed_at(
    workspace: &Workspace,
    areas: &Areas,
    pointer: &Pointer,
    spike: Option<&SpikePanel>,
) -> Option<Tip> {
    let at = pointer.at?;
    if pointer.dragged.is_some() || spike.is_some_and(|panel| panel.contains(at)) {
        return None;
    }
    if areas.chart.contains(at) {
        let area = areas.chart;
        let row = graph::row_below(workspace, areas.chart, at.x)?;
        let share = f64::from(area.bottom().saturating_sub(1).saturating_sub(at.y))
            / f64::from(area.height.saturating_sub(1).max(1));
        let series = nearest(workspace, row, share)?;
        return Some(Tip { series, row: Some(row), at });
    }
    let (_, line) = areas.lines.iter().find(|(area, _)| area.contains(at))?;
    Some(Tip { series: *line, row: workspace.monitor.window.cursor, at })
}

/// The cursor, where neither legend nor times describe it.
fn of_cursor(workspace: &Workspace, areas: &Areas, spike: Option<&SpikePanel>) -> Option<Tip> {
    let parts = workspace.monitor.picture.parts;
    let row = workspace.monitor.window.cursor.filter(|row| workspace.monitor.view().contains(row))?;
    let is_told = parts.has(Switch::Legend) && parts.has(Switch::TimeLabels);
    if is_told || spike.is_some() || areas.chart.height == 0 {
        return None;
    }
    let (area, window) = (areas.chart, &workspace.monitor.window);
    let chart = Chart::new(Rect { height: 1, ..area }, workspace.theme.glyphs);
    let slot = window.slot(&workspace.monitor.rows(), row);
    let x = area.x.saturating_add(chart.column(slot, window.points()));
    let at = Position { x, y: area.y };
    workspace.monitor.chosen().map(|_| Tip { series: workspace.monitor.selected(), row: Some(row), at })
}

/// The series whose line is nearest to a share of the height at a row.
fn nearest(workspace: &Workspace, row: u64, share: f64) -> Option<usize> {
    let drawn = graph::drawn(workspace);
    let axis = graph::axis_of(workspace, &drawn);
    let mut below = 0.0;
    let mut heights = Vec::new();
    for Drawn { position, series, scale } in &drawn {
        let Some(Ok(value)) = series.at(workspace.monitor.next(), row) else { continue };
        let height = axis.share(value * scale);
        // In a stack each series begins at the sum of those before it.
        below += if workspace.view == View::Stacked { height.max(0.0) } else { 0.0 };
        let height = if workspace.view == View::Stacked { below } else { height };
        heights.push(((height.clamp(0.0, 1.0) - share).abs(), *position));
    }
    heights.into_iter().min_by(|one, other| one.0.total_cmp(&other.0)).map(|(_, position)| position)
}

/// An area of a size beside a point: to the right and below where there is room.
fn beside(at: Position, (wide, high): (u16, u16), body: Rect) -> Rect {
    let right = at.x.saturating_add(2);
    let x = if right.saturating_add(wide) <= body.right() {
        right
    } else {
        at.x.saturating_sub(wide.saturating_add(1)).max(body.x)
    };
    let below = at.y.saturating_add(1);
    let y = if below.saturating_add(high) <= body.bottom() {
        below
    } else {
        at.y.saturating_sub(high).max(body.y)
    };
    Rect { x, y, width: wide, height: high }.intersection(body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tooltip_stays_on_the_screen_and_off_the_pointer() {
        let body = Rect { x: 0, y: 1, width: 80, height: 20 };
        for (x, y) in [(0, 1), (79, 1), (79, 20), (0, 20), (40, 10)] {
            let at = Position { x, y };
            let place = beside(at, (30, 2), body);
            assert_eq!((place.width, place.height), (30, 2), "{at:?}");
            assert!(body.intersection(place) == place && !place.contains(at), "{at:?} {place:?}");
        }
        // Where there is no room beside it, it is below.
        let narrow = Rect { width: 10, ..body };
        assert_eq!(
            beside(Position { x: 3, y: 3 }, (30, 2), narrow),
            Rect { x: 0, y: 4, width: 10, height: 2 }
        );
    }
}
