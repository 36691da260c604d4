//! The report: values under their objects. It is also what a tiny terminal shows.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use crate::model::Series;
use crate::screens::chart::areas::Areas;
use crate::screens::chart::legend;
use crate::term::text::{cut, cut_middle, cut_pair, put, put_right, width};
use crate::words::Word;
use crate::workspace::state::Workspace;

/// In fewer columns values have no units, and lines no counters where they have instances.
const LEAST_WITH_UNITS: u16 = 30;

/// Columns of a statistic.
const STATISTIC: u16 = 16;

/// A line of the report.
enum Line {
    Object(String),
    Series(usize),
    Failed(usize),
}

/// Draws the report, as many lines as fit around the chosen one.
pub(crate) fn draw(workspace: &Workspace, areas: &mut Areas, buffer: &mut Buffer, area: Rect) {
    let lines = lines(workspace);
    let rows = usize::from(area.height);
    let at = lines.iter().position(
        |line| matches!(line, Line::Series(at) | Line::Failed(at) if *at == workspace.monitor.selected()),
    );
    let top = at.unwrap_or(0).saturating_sub(rows.saturating_sub(1)).min(lines.len().saturating_sub(rows));
    // Values lie near their names, not at the far side of a wide terminal; reasons have the rest.
    let columns = area.width.min(76);
    let beside = area.x.saturating_add(columns).saturating_add(1);
    let has_statistics = area.right() >= beside.saturating_add(STATISTIC.saturating_mul(3));
    let layout = Layout { area, columns, beside, has_statistics };
    areas.lines.clear();
    for (y, line) in (area.top()..area.bottom()).zip(lines.iter().skip(top)) {
        match line {
            Line::Object(name) => object_line(workspace, &layout, name, buffer, y),
            Line::Series(position) => {
                let Some(series) = workspace.monitor.series().get(*position) else { continue };
                areas.lines.push((Rect { y, height: 1, ..area }, *position));
                let is_chosen = *position == workspace.monitor.selected();
                series_line(workspace, &layout, series, is_chosen, buffer, y);
            }
            Line::Failed(position) => {
                areas.lines.push((Rect { y, height: 1, ..area }, *position));
                let behind = position.saturating_sub(workspace.monitor.series().len());
                let Some(error) = workspace.monitor.failed().get(behind) else { continue };
                let text = format!("! {error}");
                put(buffer, area.x, y, area.width, &cut(&text, area.width), workspace.theme.bad());
            }
        }
    }
}

/// How the columns of the screen are divided.
struct Layout {
    area: Rect,
    /// Columns of names and values.
    columns: u16,
    /// Where reasons and statistics begin.
    beside: u16,
    /// There is room for statistics.
    has_statistics: bool,
}

/// The lines of the report: objects in the order of their first counter, each with its counters.
fn lines(workspace: &Workspace) -> Vec<Line> {
    let mut chosen = workspace.lines();
    let series = workspace.monitor.series();
    let first = |object| series.iter().position(|series| series.object == object);
    chosen.sort_by_key(|line| {
        series.get(*line).map_or((usize::MAX, *line), |own| (first(own.object).unwrap_or(usize::MAX), *line))
    });
    let mut lines = Vec::new();
    let mut object = None;
    for line in chosen {
        match series.get(line) {
            Some(own) => {
                if object != Some(own.object) {
                    object = Some(own.object);
                    lines.push(Line::Object(own.object_name.clone()));
                }
                lines.push(Line::Series(line));
            }
            None => lines.push(Line::Failed(line)),
        }
    }
    lines
}

fn object_line(workspace: &Workspace, layout: &Layout, name: &str, buffer: &mut Buffer, y: u16) {
    let (area, theme) = (layout.area, workspace.theme);
    put(buffer, area.x, y, layout.columns, &cut(name, layout.columns), theme.bold());
    if layout.has_statistics && y == area.top() {
        let heads = [Word::Average, Word::Minimum, Word::Maximum];
        let heads = heads.map(|head| workspace.words.get(head).to_string());
        statistics(buffer, layout.beside, y, &heads, theme.dim());
    }
}

fn series_line(
    workspace: &Workspace,
    layout: &Layout,
    series: &Series,
    is_chosen: bool,
    buffer: &mut Buffer,
    y: u16,
) {
    let (area, columns, beside) = (layout.area, layout.columns, layout.beside);
    let theme = workspace.theme;
    let (mut text, style) = legend::now(workspace, series);
    let unit = series.counter_type.suffix().as_str();
    let is_text = series.counter_type.is_text();
    let room = columns.saturating_sub(4);
    let has_unit = series.last.is_ok() && !unit.is_empty() && unit != "%" && series.ended.is_none();
    if has_unit && columns >= LEAST_WITH_UNITS {
        text = format!("{text} {unit}");
    }
    if width(&text) > room && !is_text {
        text = shorter(workspace, series).unwrap_or(text);
    }
    let text = if is_text { cut(&text, room) } else { cut(&text, room.min(24)) };
    let left = room.saturating_sub(width(&text)).saturating_sub(1);
    let row = if is_chosen { theme.selected() } else { theme.plain() };
    buffer.set_style(Rect { x: area.x, y, width: columns, height: 1 }, row);
    put(buffer, area.x.saturating_add(2), y, left, &name(series, columns, left), row);
    put_right(buffer, area.x, y, columns.saturating_sub(1), &text, style.patch(row));
    let space = area.width.saturating_sub(columns).saturating_sub(2);
    if let Some(reason) = legend::reason(workspace, series).filter(|_| space > 10) {
        put(buffer, beside, y, space, &cut(&reason, space), theme.warning());
    } else if layout.has_statistics && !is_text {
        let known = workspace.monitor.statistics(series);
        let dash = || theme.either("–", "-").to_string();
        let numbers = workspace.words.numbers();
        let texts = [known.average, known.minimum, known.maximum]
            .map(|number| number.map_or_else(dash, |number| numbers.number_of(number, series.counter_type)));
        statistics(buffer, beside, y, &texts, theme.plain());
    }
}

/// Counter and instance, in so many columns.
fn name(series: &Series, columns: u16, left: u16) -> String {
    match (&series.instance, &series.parent) {
        _ if columns < LEAST_WITH_UNITS => {
            cut_middle(series.instance.as_ref().unwrap_or(&series.counter_name), left)
        }
        (Some(instance), Some(parent)) => {
            cut_pair(&series.counter_name, "  ", &format!("{parent}/{instance}"), left)
        }
        (Some(instance), None) => cut_pair(&series.counter_name, "  ", instance, left),
        (None, _) => cut(&series.counter_name, left),
    }
}

/// The number of a line in few letters: one that is cut would be another number.
fn shorter(workspace: &Workspace, series: &Series) -> Option<String> {
    let number = match workspace.monitor.window.cursor {
        Some(cursor) => series.at(workspace.monitor.next(), cursor)?.ok()?,
        None if series.ended.is_some() => return None,
        None => series.last.as_ref().ok()?.as_f64()?,
    };
    Some(format!("{number:.2e}"))
}

/// Average, minimum and maximum, one beside the other.
fn statistics(buffer: &mut Buffer, x: u16, y: u16, texts: &[String; 3], style: Style) {
    for (nth, text) in (0u16..).zip(texts) {
        let x = x.saturating_add(nth.saturating_mul(STATISTIC));
        let room = STATISTIC.saturating_sub(1);
        put_right(buffer, x, y, room, &cut(text, room), style);
    }
}
