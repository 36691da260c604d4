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

pub(crate) fn draw(workspace: &Workspace, areas: &mut Areas, buffer: &mut Buffer, area: Rect) {
    let theme = workspace.theme;
    let mut chosen = workspace.lines();
    let series = workspace.monitor.series();
    // Objects together, in the order of their first counter.
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
    let rows = usize::from(area.height);
    let at = lines.iter().position(
        |line| matches!(line, Line::Series(at) | Line::Failed(at) if *at == workspace.monitor.selected()),
    );
    let top = at.unwrap_or(0).saturating_sub(rows.saturating_sub(1)).min(lines.len().saturating_sub(rows));
    // Values stand near their names, not at the far side of a wide terminal; reasons have the rest.
    let columns = area.width.min(76);
    // Beside them there may be place for what they were.
    let beside = area.x.saturating_add(columns).saturating_add(1);
    let has_statistics = area.right() >= beside.saturating_add(STATISTIC.saturating_mul(3));
    let mut places = Vec::new();
    for (y, line) in (area.top()..area.bottom()).zip(lines.iter().skip(top)) {
        match line {
            Line::Object(name) => {
                put(buffer, area.x, y, columns, &cut(name, columns), theme.bold());
                if has_statistics && y == area.top() {
                    let heads = [Word::Average, Word::Minimum, Word::Maximum];
                    let heads = heads.map(|head| workspace.words.get(head).to_string());
                    statistics(buffer, beside, y, &heads, theme.dim());
                }
            }
            Line::Series(position) => {
                let Some(own) = series.get(*position) else { continue };
                places.push((Rect { y, height: 1, ..area }, *position));
                let (mut text, style) = legend::now(workspace, own);
                let unit = own.counter_type.suffix().as_str();
                let is_text = own.counter_type.is_text();
                let room = columns.saturating_sub(4);
                let has_unit = own.last.is_ok() && !unit.is_empty() && unit != "%" && own.ended.is_none();
                if has_unit && columns >= LEAST_WITH_UNITS {
                    text = format!("{text} {unit}");
                }
                if width(&text) > room && !is_text {
                    text = shorter(workspace, own).unwrap_or(text);
                }
                let text = if is_text { cut(&text, room) } else { cut(&text, room.min(24)) };
                let left = room.saturating_sub(width(&text)).saturating_sub(1);
                let name = match (&own.instance, &own.parent) {
                    _ if columns < LEAST_WITH_UNITS => {
                        let name = own.instance.as_ref().unwrap_or(&own.counter_name);
                        cut_middle(name, left)
                    }
                    (Some(instance), Some(parent)) => {
                        cut_pair(&own.counter_name, "  ", &format!("{parent}/{instance}"), left)
                    }
                    (Some(instance), None) => cut_pair(&own.counter_name, "  ", instance, left),
                    (None, _) => cut(&own.counter_name, left),
                };
                let row =
                    if *position == workspace.monitor.selected() { theme.selected() } else { theme.plain() };
                buffer.set_style(Rect { x: area.x, y, width: columns, height: 1 }, row);
                put(buffer, area.x.saturating_add(2), y, left, &name, row);
                put_right(buffer, area.x, y, columns.saturating_sub(1), &text, style.patch(row));
                let space = area.width.saturating_sub(columns).saturating_sub(2);
                if let Some(reason) = legend::reason(workspace, own).filter(|_| space > 10) {
                    put(buffer, beside, y, space, &cut(&reason, space), theme.warning());
                } else if has_statistics && !is_text {
                    let known = workspace.monitor.statistics(own);
                    let dash = || theme.either("–", "-").to_string();
                    let texts = [known.average, known.minimum, known.maximum].map(|number| {
                        number.map_or_else(dash, |number| {
                            workspace.words.numbers().number_of(number, own.counter_type)
                        })
                    });
                    statistics(buffer, beside, y, &texts, theme.plain());
                }
            }
            Line::Failed(position) => {
                places.push((Rect { y, height: 1, ..area }, *position));
                let behind = position.saturating_sub(series.len());
                let Some(error) = workspace.monitor.failed().get(behind) else { continue };
                let text = format!("! {error}");
                put(buffer, area.x, y, area.width, &cut(&text, area.width), theme.bad());
            }
        }
    }
    areas.lines = places;
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
