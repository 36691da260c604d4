//! The graph: the chart with its axes, the value bar and the legend.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Style};

use crate::model::{Axis, Series, Switch, factor, format};
use crate::screens::chart::areas::{Areas, Pointer};
use crate::screens::chart::{legend, marks};
use crate::term::chart::Chart;
use crate::term::text::{cut, put, put_right, width};
use crate::words::Word;
use crate::workspace::fold::Fold;
use crate::workspace::state::{View, Workspace};

/// Columns of the vertical axis with its numbers, and without.
const AXIS: (u16, u16) = (5, 1);

pub(crate) fn draw(
    workspace: &Workspace,
    areas: &mut Areas,
    pointer: &Pointer,
    buffer: &mut Buffer,
    area: Rect,
) {
    let lines = u16::try_from(workspace.legend_rows().len()).unwrap_or(u16::MAX).max(1);
    let has = |switch| workspace.monitor.picture.parts.has(switch);
    // Header and lines; the chart keeps at least half.
    let legend_rows = lines.saturating_add(1).min((area.height / 2).saturating_sub(2)).max(2);
    let legend_rows = if has(Switch::Legend) { legend_rows } else { 0 };
    let (times_rows, bar_rows) = (u16::from(has(Switch::TimeLabels)), u16::from(has(Switch::ValueBar)));
    let axis_columns = if has(Switch::ScaleLabels) { AXIS.0 } else { AXIS.1 };
    let mark_rows = marks::rows(workspace);
    let below = legend_rows.saturating_add(mark_rows).saturating_add(times_rows).saturating_add(bar_rows);
    let chart = Rect {
        x: axis_columns,
        y: area.y,
        width: area.width.saturating_sub(axis_columns).saturating_sub(1),
        height: area.height.saturating_sub(below),
    };
    let drawn = drawn(workspace);
    let axis = axis_of(workspace, &drawn);
    draw_axis(workspace, buffer, chart, axis);
    plot(workspace, pointer, buffer, chart, drawn, axis);
    if workspace.monitor.lines() == 0 {
        let text = workspace.words.get(Word::Empty);
        let x = chart.x.saturating_add(chart.width.saturating_sub(width(text)) / 2);
        put(buffer, x, chart.y.saturating_add(chart.height / 2), chart.width, text, workspace.theme.bold());
    }
    let mut axis = Rect { y: chart.bottom(), height: 1, ..chart };
    if mark_rows > 0 {
        marks::draw(workspace, buffer, axis);
        areas.marks = axis;
    }
    axis.y = axis.y.saturating_add(mark_rows);
    if times_rows > 0 {
        times(workspace, buffer, axis);
    }
    let bar = Rect { y: axis.y.saturating_add(times_rows), height: bar_rows, ..area };
    if bar_rows > 0 {
        legend::value_bar(workspace, buffer, bar);
    }
    if legend_rows > 0 {
        legend::draw(
            workspace,
            areas,
            buffer,
            Rect { y: bar.bottom(), height: area.bottom().saturating_sub(bar.bottom()), ..area },
        );
    }
    areas.chart = chart;
}

/// Draws the label of the axis and the title of the chart; returns the area below.
pub(crate) fn heading(workspace: &Workspace, buffer: &mut Buffer, area: Rect) -> Rect {
    let (picture, theme) = (&workspace.monitor.picture, workspace.theme);
    if area.height == 0 || picture.title.is_empty() && picture.label.is_empty() {
        return area;
    }
    let x = put(buffer, area.x, area.y, area.width, &cut(&picture.label, area.width / 3), theme.dim());
    let left = area.right().saturating_sub(x).saturating_sub(1);
    let title = cut(&picture.title, left);
    let middle = area.x.saturating_add(area.width.saturating_sub(width(&title)) / 2);
    put(buffer, middle.max(x.saturating_add(1)), area.y, left, &title, theme.bold());
    Rect { y: area.y.saturating_add(1), height: area.height.saturating_sub(1), ..area }
}

/// Draws the numbers of the axis and the grid.
fn draw_axis(workspace: &Workspace, buffer: &mut Buffer, chart: Rect, axis: Axis) {
    if chart.height == 0 {
        return;
    }
    let (theme, grid) = (workspace.theme, workspace.monitor.picture.grid);
    let left = chart.x.saturating_sub(1);
    for y in chart.top()..chart.bottom() {
        put(buffer, left, y, 1, theme.either("│", "|"), theme.dim());
    }
    if grid.is_vertical() {
        for (_, x) in time_places(workspace, chart) {
            for y in chart.top()..chart.bottom() {
                put(buffer, x, y, 1, theme.either("·", "."), theme.dim());
            }
        }
    }
    let quarters: u16 = if chart.height >= 9 { 4 } else { 2 };
    for quarter in 0..=quarters {
        let last = chart.height.saturating_sub(1);
        let y = chart.y.saturating_add(last.saturating_mul(quarters.saturating_sub(quarter)) / quarters);
        let value = axis.at(f64::from(quarter) / f64::from(quarters));
        if left > 0 {
            put_right(buffer, 0, y, left, &cut(&format::axis(value), left), theme.dim());
        }
        put(buffer, left, y, 1, theme.either("┤", "+"), theme.dim());
        let dots = if grid.is_horizontal() { chart.left()..chart.right() } else { 0..0 };
        for x in dots.step_by(4) {
            put(buffer, x, y, 1, theme.either("·", "."), theme.dim());
        }
    }
}

/// A drawn series with the scale of its values.
pub(crate) struct Drawn<'a> {
    pub(crate) position: usize,
    pub(crate) series: &'a Series,
    pub(crate) scale: f64,
}

/// Whether a series is in the stack, where the view is one: per cent and bytes have no sum, so a stack has
/// the lines with the unit of the chosen one.
pub(crate) fn stacks(workspace: &Workspace, series: &Series) -> bool {
    let chosen = workspace.monitor.chosen().filter(|_| workspace.view == View::Stacked);
    chosen.is_none_or(|chosen| chosen.unit().0 == series.unit().0)
}

/// The drawn series in the order of the legend. In a stack, they share a scale, so that they add up.
pub(crate) fn drawn(workspace: &Workspace) -> Vec<Drawn<'_>> {
    let monitor = &workspace.monitor;
    let mut drawn: Vec<(usize, &Series, i32)> = monitor
        .series()
        .iter()
        .enumerate()
        .filter(|(position, series)| workspace.is_line(*position) && monitor.is_drawn(series))
        .map(|(position, series)| (position, series, monitor.power(series)))
        .collect();
    if workspace.view == View::Stacked {
        let is_sum = |series: &Series| series.instance.as_deref() == Some("_Total");
        let parts: Vec<_> = drawn
            .iter()
            .filter(|(_, series, _)| !is_sum(series))
            .map(|(_, series, _)| series.counter)
            .collect();
        // A sum on top of its parts would count twice.
        drawn.retain(|(_, series, _)| !is_sum(series) || !parts.contains(&series.counter));
        drawn.retain(|(_, series, _)| stacks(workspace, series));
        let least = drawn.iter().map(|(_, _, power)| *power).min();
        for (_, _, power) in &mut drawn {
            *power = least.unwrap_or(*power);
        }
    }
    drawn
        .into_iter()
        .map(|(position, series, power)| Drawn { position, series, scale: factor(power) })
        .collect()
}

/// The ends of the vertical axis; that of a stack goes from 0 to the highest sum.
pub(crate) fn axis_of(workspace: &Workspace, drawn: &[Drawn<'_>]) -> Axis {
    let axis = workspace.monitor.picture.axis;
    if workspace.view != View::Stacked {
        return axis;
    }
    let (next, view) = (workspace.monitor.next(), workspace.monitor.view());
    let length = usize::try_from(view.end.saturating_sub(view.start)).unwrap_or(0);
    let mut sums = vec![0.0; length];
    for one in drawn {
        let (first, values) = one.series.values(next, &view);
        let skip = usize::try_from(first.saturating_sub(view.start)).unwrap_or(usize::MAX);
        for (sum, value) in sums.iter_mut().skip(skip).zip(values) {
            *sum += value.map_or(0.0, |value| (value * one.scale).max(0.0));
        }
    }
    let scale = drawn.first().map_or(1.0, |one| one.scale);
    for fold in stacked_folds(workspace) {
        for (row, sum) in view.clone().zip(&mut sums) {
            *sum += fold.rest_at(workspace, row).map_or(0.0, |value| (value * scale).max(0.0));
        }
    }
    let highest = sums.into_iter().fold(0.0, f64::max);
    // Its quarters are round numbers as well.
    let power = 10f64.powf(highest.max(1.0).log10().floor());
    let steps = [1.0, 1.2, 1.6, 2.0, 2.4, 3.2, 4.0, 6.0, 8.0, 10.0];
    let top = steps.into_iter().map(|step| step * power).find(|top| highest <= *top).unwrap_or(highest);
    Axis::new(0.0, top.max(axis.maximum())).unwrap_or_default()
}

fn plot(
    workspace: &Workspace,
    pointer: &Pointer,
    buffer: &mut Buffer,
    area: Rect,
    mut drawn: Vec<Drawn<'_>>,
    axis: Axis,
) {
    let monitor = &workspace.monitor;
    let mut chart = Chart::new(area, workspace.theme.glyphs);
    let rows = slot_rows(workspace);
    let chosen = monitor.selected();
    let style = |one: &Drawn<'_>| {
        if monitor.highlight && one.position == chosen {
            workspace.theme.highlight()
        } else {
            workspace.theme.line(one.series)
        }
    };
    match workspace.view {
        View::Stacked => {
            let slots = monitor.window.points();
            let mut below = vec![0.0f32; slots];
            for one in &drawn {
                let base = below.clone();
                let heights: Vec<Option<f32>> =
                    heights(workspace, one.series, &rows, |value| axis.share(value * one.scale)).collect();
                for (height, sum) in heights.iter().zip(&mut below) {
                    *sum += height.unwrap_or(0.0).max(0.0);
                }
                let spans = heights.iter().zip(&base).zip(&below);
                let spans = spans.map(|((height, low), high)| height.map(|_| (*low, *high)));
                chart.area(slots, breaks(workspace), spans, style(one));
            }
            // In a stack all lines have one scale.
            let scale = drawn.first().map_or(1.0, |one| one.scale);
            for fold in stacked_folds(workspace) {
                let base = below.clone();
                let heights = rest_heights(workspace, fold, &rows, |value| axis.share(value * scale));
                let heights: Vec<Option<f32>> = heights.collect();
                for (height, sum) in heights.iter().zip(&mut below) {
                    *sum += height.unwrap_or(0.0).max(0.0);
                }
                let spans = heights.iter().zip(&base).zip(&below);
                let spans = spans.map(|((height, low), high)| height.map(|_| (*low, *high)));
                chart.area(slots, breaks(workspace), spans, workspace.theme.rest());
            }
        }
        View::Area => {
            // Draw the largest first, so that every edge is in view.
            let average = |one: &Drawn<'_>| monitor.statistics(one.series).average.unwrap_or(0.0) * one.scale;
            drawn.sort_by(|one, other| average(other).total_cmp(&average(one)));
            for one in &drawn {
                let heights = heights(workspace, one.series, &rows, |value| axis.share(value * one.scale));
                let spans = heights.map(|height| Some((0.0, height?)));
                chart.area(monitor.window.points(), breaks(workspace), spans, style(one));
            }
            rest_lines(workspace, &mut chart, &rows, axis);
        }
        _ => {
            rest_lines(workspace, &mut chart, &rows, axis);
            // Draw the chosen one last, above all others.
            drawn.sort_by_key(|one| one.position == chosen);
            for one in &drawn {
                compared_line(
                    workspace,
                    &mut chart,
                    one.series,
                    |value| axis.share(value * one.scale),
                    style(one),
                );
            }
            for one in &drawn {
                let height = |value| axis.share(value * one.scale);
                line_of(workspace, &mut chart, one.series, &rows, height, style(one));
            }
        }
    }
    chart.render(buffer);
    marks(workspace, buffer, area, &chart, &drawn, axis);
    dragged(workspace, pointer, buffer, area);
}

/// Draws thresholds, the time line and the cursor.
fn marks(
    workspace: &Workspace,
    buffer: &mut Buffer,
    area: Rect,
    chart: &Chart,
    drawn: &[Drawn<'_>],
    axis: Axis,
) {
    let monitor = &workspace.monitor;
    for one in drawn {
        let share = one.series.threshold.map(|threshold| axis.share(threshold * one.scale));
        let Some(share) =
            share.filter(|share| (0.0..=1.0).contains(share) && workspace.view != View::Stacked)
        else {
            continue;
        };
        let from_top = ((1.0 - share) * f64::from(area.height.saturating_sub(1))).round() as u16;
        let style =
            if one.series.is_over() { workspace.theme.bad() } else { workspace.theme.line(one.series).style };
        for x in area.left()..area.right() {
            put(buffer, x, area.y.saturating_add(from_top), 1, workspace.theme.either("╌", "-"), style);
        }
    }
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
        vertical(slot, workspace.theme.either("│", "|"), workspace.theme.time_line());
    }
    if let Some(cursor) = monitor.window.cursor.filter(|cursor| monitor.view().contains(cursor)) {
        vertical(
            monitor.window.slot(&rows, cursor),
            workspace.theme.either("┊", ":"),
            workspace.theme.bold(),
        );
    }
}

/// Marks the range of time that the mouse is dragged over.
fn dragged(workspace: &Workspace, pointer: &Pointer, buffer: &mut Buffer, area: Rect) {
    if let Some((from, to)) = pointer.dragged.filter(|(from, to)| from != to) {
        let (left, right) = (from.min(to), from.max(to));
        let place = Rect { x: left, width: right.saturating_sub(left).saturating_add(1), ..area };
        buffer.set_style(place.intersection(area), workspace.theme.selected());
    }
}

/// Adds a series to a chart: its values at the row of each slot; `height` maps a value to its height.
pub(crate) fn line_of(
    workspace: &Workspace,
    chart: &mut Chart,
    series: &Series,
    rows: &[Option<u64>],
    height: impl Fn(f64) -> f64,
    line: crate::term::chart::LineStyle,
) {
    chart.line(rows.len(), breaks(workspace), heights(workspace, series, rows, height), line);
}

/// The pattern of dots.
const DOTS: usize = 5;

/// Adds the values of a series in the compared log, as dots of its colour.
pub(crate) fn compared_line(
    workspace: &Workspace,
    chart: &mut Chart,
    series: &Series,
    height: impl Fn(f64) -> f64,
    line: crate::term::chart::LineStyle,
) {
    let Some(comparison) = workspace.comparison.as_ref().filter(|known| known.compared.has(&series.path))
    else {
        return;
    };
    let monitor = &workspace.monitor;
    let (rows, slots) = (monitor.rows(), monitor.window.points());
    let times = (0..slots).map(|slot| monitor.window.row_at(&rows, slot).and_then(|row| monitor.time(row)));
    let values = comparison.compared.values(&series.path, times);
    let line = crate::term::chart::LineStyle { pattern: DOTS, thick: false, ..line };
    chart.line(slots, breaks(workspace), values.map(|value| Some(height(value?) as f32)), line);
}

/// The slot of the newest row while the chart sweeps.
fn sweep_slot(workspace: &Workspace) -> Option<usize> {
    let monitor = &workspace.monitor;
    let newest = monitor.view().end.checked_sub(1).filter(|_| monitor.window.is_sweeping())?;
    Some(monitor.window.slot(&monitor.rows(), newest))
}

/// Where the newest and the oldest row meet: lines break there.
fn breaks(workspace: &Workspace) -> Option<usize> {
    sweep_slot(workspace).map(|slot| slot.saturating_add(1))
}

/// The row at a column of the chart.
pub(crate) fn row_below(workspace: &Workspace, area: Rect, column: u16) -> Option<u64> {
    let chart = Chart::new(Rect { height: 1, ..area }, workspace.theme.glyphs);
    let slot = chart.slot(column.saturating_sub(area.x), workspace.monitor.window.points());
    workspace.monitor.window.row_at(&workspace.monitor.rows(), slot)
}

/// The row of each slot of the chart.
pub(crate) fn slot_rows(workspace: &Workspace) -> Vec<Option<u64>> {
    let monitor = &workspace.monitor;
    let (rows, slots) = (monitor.rows(), monitor.window.points());
    let sweep_slot = sweep_slot(workspace);
    // A gap ahead of the time line makes both ends easy to see.
    let ahead = slots / 33 + 1;
    let is_ahead = |slot| sweep_slot.is_some_and(|sweep| slot > sweep && slot <= sweep.saturating_add(ahead));
    (0..slots).map(|slot| monitor.window.row_at(&rows, slot).filter(|_| !is_ahead(slot))).collect()
}

/// The heights of a series at some rows.
fn heights<'a>(
    workspace: &'a Workspace,
    series: &'a Series,
    rows: &'a [Option<u64>],
    height: impl Fn(f64) -> f64 + 'a,
) -> impl Iterator<Item = Option<f32>> + 'a {
    let next = workspace.monitor.next();
    rows.iter().map(move |row| Some(height(series.at(next, (*row)?)?.ok()?) as f32))
}

/// The heights of the sum of what is folded.
fn rest_heights<'a>(
    workspace: &'a Workspace,
    fold: &'a Fold,
    rows: &'a [Option<u64>],
    height: impl Fn(f64) -> f64 + 'a,
) -> impl Iterator<Item = Option<f32>> + 'a {
    rows.iter().map(move |row| Some(height(fold.rest_at(workspace, (*row)?)?) as f32))
}

/// Draws what is folded, each with the scale of its largest instance.
fn rest_lines(workspace: &Workspace, chart: &mut Chart, rows: &[Option<u64>], axis: Axis) {
    for fold in workspace.folds() {
        let scale = fold.first(workspace).map_or(1.0, |series| factor(workspace.monitor.power(series)));
        let heights = rest_heights(workspace, fold, rows, |value| axis.share(value * scale));
        chart.line(rows.len(), breaks(workspace), heights, workspace.theme.rest());
    }
}

/// The folds whose lines are in the stack.
fn stacked_folds(workspace: &Workspace) -> impl Iterator<Item = &Fold> {
    workspace.folds().iter().filter(|fold| fold.first(workspace).is_some_and(|one| stacks(workspace, one)))
}

/// The slots with a time below the chart, and their columns.
fn time_places(workspace: &Workspace, area: Rect) -> impl Iterator<Item = (usize, u16)> + use<> {
    let slots = workspace.monitor.window.points();
    let chart = Chart::new(Rect { height: 1, ..area }, workspace.theme.glyphs);
    let labels = usize::from((area.width / 16).clamp(1, 8));
    (0..labels).map(move |label| {
        let slot = slots.saturating_mul(label) / labels;
        (slot, area.x.saturating_add(chart.column(slot, slots)))
    })
}

/// Draws the times below the chart, each at the column of its row.
fn times(workspace: &Workspace, buffer: &mut Buffer, area: Rect) {
    let monitor = &workspace.monitor;
    let (rows, slots) = (monitor.rows(), monitor.window.points());
    let chart = Chart::new(Rect { height: 1, ..area }, workspace.theme.glyphs);
    let (from, to) = monitor.view_times().unwrap_or_default();
    for (slot, x) in time_places(workspace, area) {
        let Some(time) = monitor.window.row_at(&rows, slot).and_then(|row| monitor.time(row)) else {
            continue;
        };
        let text = workspace.clock_between(time, from, to);
        put(buffer, x, area.y, area.right().saturating_sub(x), &text, workspace.theme.dim());
    }
    if let Some(cursor) = monitor.window.cursor.filter(|cursor| monitor.view().contains(cursor))
        && let Some(time) = monitor.time(cursor)
    {
        // The time at the cursor has seconds, and in a log of several days always its date.
        let (from, to) = workspace.log().map_or((from, to), |log| (log.summary().first, log.summary().last));
        let text = match workspace.clock_between(time, from, to) {
            clock if clock == workspace.clock(time) => format!(" {clock} "),
            date => format!(" {} {} ", date.split(' ').next().unwrap_or_default(), workspace.clock(time)),
        };
        let x = area.x.saturating_add(chart.column(monitor.window.slot(&rows, cursor), slots));
        let x = x.min(area.right().saturating_sub(width(&text)));
        // It may cover another time.
        let style = Style::new().fg(Color::Reset).patch(workspace.theme.badge());
        put(buffer, x, area.y, width(&text), &text, style);
    }
}
