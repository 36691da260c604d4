//! The graph: the chart with its axes, the value bar and the legend.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::app::App;
use super::legend;
use super::text::{put, put_right, width};
use crate::chart::Chart;
use crate::model::{CHART_MAXIMUM, Series, factor};
use crate::words::Word;

/// Columns of the vertical axis with its numbers.
const AXIS: u16 = 5;

pub(super) fn draw(app: &mut App, buffer: &mut Buffer, area: Rect) {
    let lines = u16::try_from(app.lines().len()).unwrap_or(u16::MAX).max(1);
    // Header and lines; the chart keeps at least half.
    let legend_rows = lines.saturating_add(1).min((area.height / 2).saturating_sub(2)).max(2);
    let chart_rows = area.height.saturating_sub(legend_rows).saturating_sub(2);
    let chart = Rect {
        x: AXIS,
        width: area.width.saturating_sub(AXIS).saturating_sub(1),
        height: chart_rows,
        ..area
    };
    axis(app, buffer, chart, CHART_MAXIMUM);
    plot(app, buffer, chart);
    if app.monitor.lines() == 0 {
        let text = app.words.get(Word::Empty);
        let x = chart.x.saturating_add(chart.width.saturating_sub(width(text)) / 2);
        put(buffer, x, chart.y.saturating_add(chart.height / 2), chart.width, text, app.theme.bold());
    }
    times(app, buffer, Rect { y: chart.bottom(), height: 1, ..chart });
    legend::value_bar(app, buffer, Rect { y: chart.bottom().saturating_add(1), height: 1, ..area });
    let top = chart.bottom().saturating_add(2);
    legend::draw(app, buffer, Rect { y: top, height: area.bottom().saturating_sub(top), ..area });
    app.places.chart = chart;
}

/// Numbers at the left and dots across at every quarter.
pub(super) fn axis(app: &App, buffer: &mut Buffer, chart: Rect, maximum: f64) {
    if chart.height == 0 {
        return;
    }
    let theme = app.theme;
    let left = chart.x.saturating_sub(1);
    for y in chart.top()..chart.bottom() {
        put(buffer, left, y, 1, theme.either("│", "|"), theme.dim());
    }
    let quarters: u16 = if chart.height >= 9 { 4 } else { 2 };
    for quarter in 0..=quarters {
        let last = chart.height.saturating_sub(1);
        let y = chart.y.saturating_add(last.saturating_mul(quarters.saturating_sub(quarter)) / quarters);
        let value = maximum * f64::from(quarter) / f64::from(quarters);
        put_right(buffer, 0, y, left, &format!("{value:.0}"), theme.dim());
        put(buffer, left, y, 1, theme.either("┤", "+"), theme.dim());
        for x in (chart.left()..chart.right()).step_by(4) {
            put(buffer, x, y, 1, theme.either("·", "."), theme.dim());
        }
    }
}

fn plot(app: &App, buffer: &mut Buffer, area: Rect) {
    let monitor = &app.monitor;
    let mut chart = Chart::new(area, app.theme.glyphs);
    let chosen = monitor.selected();
    let drawn = |position: &usize| app.passes(*position);
    // The chosen one lies above all others.
    let order = (0..monitor.series().len()).filter(|position| *position != chosen).chain([chosen]);
    for position in order.filter(drawn) {
        let Some(series) = monitor.series().get(position).filter(|series| monitor.is_drawn(series)) else {
            continue;
        };
        let highlighted = monitor.highlight && position == chosen;
        let line = if highlighted { app.theme.highlight() } else { app.theme.line(series.colour) };
        let scale = factor(monitor.power(series)) / CHART_MAXIMUM;
        line_of(app, &mut chart, series, scale, line);
    }
    chart.render(buffer);
    let rows = monitor.rows();
    let slots = monitor.window.points();
    let mut vertical = |slot: usize, letter: &str, style| {
        let x = area.x.saturating_add(chart.column(slot, slots));
        for y in area.top()..area.bottom() {
            put(buffer, x, y, 1, letter, style);
        }
    };
    if let Some(newest) = monitor.view().end.checked_sub(1).filter(|_| monitor.window.is_sweeping()) {
        let slot = monitor.window.slot(&rows, newest).saturating_add(1) % slots.max(1);
        vertical(slot, app.theme.either("│", "|"), app.theme.time_line());
    }
    if let Some(cursor) = monitor.window.cursor.filter(|cursor| monitor.view().contains(cursor)) {
        vertical(monitor.window.slot(&rows, cursor), app.theme.either("┊", ":"), app.theme.bold());
    }
}

/// Adds a series to a chart; `scale` makes its values heights.
pub(super) fn line_of(
    app: &App,
    chart: &mut Chart,
    series: &Series,
    scale: f64,
    line: crate::chart::LineStyle,
) {
    let monitor = &app.monitor;
    let (rows, slots, next) = (monitor.rows(), monitor.window.points(), monitor.next());
    let newest = monitor.view().end.checked_sub(1);
    let sweep_slot =
        newest.filter(|_| monitor.window.is_sweeping()).map(|row| monitor.window.slot(&rows, row));
    // What the time line is about to overwrite is gone already, so that both ends are easy to see.
    let ahead = slots / 33 + 1;
    let heights = (0..slots).map(|slot| {
        if let Some(sweep) = sweep_slot
            && slot > sweep
            && slot <= sweep.saturating_add(ahead)
        {
            return None;
        }
        let row = monitor.window.row_at(&rows, slot)?;
        let value = series.at(next, row)?.ok()?;
        Some((value * scale) as f32)
    });
    chart.line(slots, sweep_slot.map(|slot| slot.saturating_add(1)), heights, line);
}

/// Times below the chart, each at the left end of what it is the time of.
fn times(app: &App, buffer: &mut Buffer, area: Rect) {
    let monitor = &app.monitor;
    let (rows, slots) = (monitor.rows(), monitor.window.points());
    let chart = Chart::new(Rect { height: 1, ..area }, app.theme.glyphs);
    let labels = usize::from((area.width / 16).clamp(1, 8));
    for label in 0..labels {
        let slot = slots.saturating_mul(label) / labels;
        let Some(time) = monitor.window.row_at(&rows, slot).and_then(|row| monitor.time(row)) else {
            continue;
        };
        let x = area.x.saturating_add(chart.column(slot, slots));
        put(buffer, x, area.y, area.right().saturating_sub(x), &app.clock(time), app.theme.dim());
    }
    if let Some(cursor) = monitor.window.cursor
        && let Some(time) = monitor.time(cursor)
    {
        let text = format!(" {} ", app.clock(time));
        let x = area.x.saturating_add(chart.column(monitor.window.slot(&rows, cursor), slots));
        let x = x.min(area.right().saturating_sub(width(&text)));
        put(buffer, x, area.y, width(&text), &text, app.theme.badge());
    }
}
