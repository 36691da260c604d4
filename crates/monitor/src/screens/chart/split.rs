//! Split: a small chart for each counter, scaled to its values.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::model::Switch;
use crate::screens::chart::areas::Areas;
use crate::screens::chart::graph;
use crate::screens::chart::legend;
use crate::term::chart::Chart;
use crate::term::text::{cut, cut_pair, put, put_right, width};
use crate::workspace::state::Workspace;

/// The smallest size of a chart.
const LEAST: (u16, u16) = (36, 6);

pub(crate) fn draw(workspace: &Workspace, areas: &mut Areas, buffer: &mut Buffer, area: Rect) {
    let lines: Vec<usize> = workspace
        .lines()
        .into_iter()
        .filter(|line| {
            workspace.monitor.series().get(*line).is_some_and(|series| workspace.monitor.is_drawn(series))
        })
        .collect();
    let mut area = area;
    if workspace.monitor.picture.parts.has(Switch::ValueBar) {
        area.height = area.height.saturating_sub(1);
        legend::value_bar(workspace, buffer, Rect { y: area.bottom(), height: 1, ..area });
    }
    if lines.is_empty() {
        return;
    }
    let count = u16::try_from(lines.len()).unwrap_or(u16::MAX);
    let most = ((area.width / LEAST.0).max(1), (area.height / LEAST.1).max(1));
    let columns = count.min(most.0).min((f32::from(count)).sqrt().ceil() as u16).max(1);
    let rows = count.div_ceil(columns).min(most.1).max(1);
    let page = usize::from(columns).saturating_mul(usize::from(rows)).max(1);
    let at = lines.iter().position(|line| *line == workspace.monitor.selected()).unwrap_or(0);
    let top = (at / page).saturating_mul(page);
    let (wide, high) = (area.width / columns, area.height / rows);
    let mut places = Vec::new();
    for (place, line) in (0u16..).zip(lines.iter().skip(top).take(page)) {
        let x = area.x.saturating_add((place % columns).saturating_mul(wide));
        let y = area.y.saturating_add((place / columns).saturating_mul(high));
        let place = Rect { x, y, width: wide.saturating_sub(1), height: high };
        places.push((place, *line));
        small(workspace, buffer, place, *line);
    }
    areas.lines = places;
}

fn small(workspace: &Workspace, buffer: &mut Buffer, area: Rect, position: usize) {
    let Some(series) = workspace.monitor.series().get(position) else { return };
    let theme = workspace.theme;
    let (text, style) = legend::now(workspace, series);
    let maximum = workspace.monitor.statistics(series).maximum.unwrap_or(0.0);
    let top = round_up(if series.counter_type.caps_at_100() { 100.0 } else { maximum });
    // The range is beside the value, where no line crosses it.
    let text = format!("{text} / {}", workspace.words.numbers().number(top));
    let left = area.width.saturating_sub(width(&text)).saturating_sub(2);
    let name = match &series.instance {
        Some(instance) => cut_pair(&series.counter_name, " ", instance, left),
        None => cut(&series.counter_name, left),
    };
    let title = if position == workspace.monitor.selected() { theme.selected() } else { theme.bold() };
    put(buffer, area.x, area.y, left, &name, title);
    put_right(buffer, area.x, area.y, area.width, &text, style);
    let plot = Rect { y: area.y.saturating_add(1), height: area.height.saturating_sub(1), ..area };
    for y in plot.top()..plot.bottom() {
        put(buffer, plot.x, y, 1, theme.either("│", "|"), theme.dim());
    }
    let inside = Rect { x: plot.x.saturating_add(1), width: plot.width.saturating_sub(1), ..plot };
    let mut chart = Chart::new(inside, theme.glyphs);
    // A single line needs no pattern.
    let line = crate::term::chart::LineStyle { pattern: 0, ..theme.line(series) };
    graph::compared_line(workspace, &mut chart, series, |value| value / top, line);
    graph::line_of(workspace, &mut chart, series, &graph::slot_rows(workspace), |value| value / top, line);
    chart.render(buffer);
}

/// The next 1, 2 or 5 times a power of ten.
fn round_up(number: f64) -> f64 {
    if number <= 0.0 || !number.is_finite() {
        return 1.0;
    }
    let power = 10f64.powf(number.log10().floor());
    // A number just above a step is a rounding error.
    let share = number / power * 0.999_999;
    power * [1.0, 2.0, 5.0].into_iter().find(|step| share <= *step).unwrap_or(10.0)
}

#[cfg(test)]
mod tests {
    use super::round_up;

    #[test]
    fn tops_are_round() {
        for (number, expected) in [
            (0.0, 1.0),
            (0.3, 0.5),
            (1.0, 1.0),
            (37.0, 50.0),
            (100.0, 100.0),
            (512.0, 1000.0),
            (f64::NAN, 1.0),
        ] {
            assert!((round_up(number) - expected).abs() < 1e-9, "{number}");
        }
    }
}
