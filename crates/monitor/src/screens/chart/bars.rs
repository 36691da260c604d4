//! Bars: the newest value of each counter at its scale, and its maximum in view. Performance Monitor calls it
//! histogram.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::model::{Switch, factor, format};
use crate::screens::chart::areas::Areas;
use crate::screens::chart::legend;
use crate::term::chart::Glyphs;
use crate::term::text::{cut, put, put_right, width};
use crate::workspace::state::Workspace;

pub(crate) fn draw(workspace: &Workspace, areas: &mut Areas, buffer: &mut Buffer, area: Rect) {
    let lines: Vec<usize> =
        workspace.lines().into_iter().filter(|line| *line < workspace.monitor.series().len()).collect();
    let theme = workspace.theme;
    let mut bar_rows = area.height;
    if workspace.monitor.picture.parts.has(Switch::ValueBar) {
        bar_rows = bar_rows.saturating_sub(1);
        legend::value_bar(
            workspace,
            buffer,
            Rect { y: area.top().saturating_add(bar_rows), height: 1, ..area },
        );
    }
    let name_columns = lines
        .iter()
        .filter_map(|line| workspace.monitor.series().get(*line))
        .map(|series| width(&name(series)))
        .max()
        .unwrap_or(0)
        .min(area.width / 3);
    let value_columns = 22u16;
    let bar_columns = area.width.saturating_sub(name_columns).saturating_sub(value_columns).saturating_sub(4);
    let rows = usize::from(bar_rows);
    let at = lines.iter().position(|line| *line == workspace.monitor.selected()).unwrap_or(0);
    let top = at.saturating_sub(rows.saturating_sub(1)).min(lines.len().saturating_sub(rows));
    let mut places = Vec::new();
    for (y, line) in (area.top()..area.top().saturating_add(bar_rows)).zip(lines.iter().skip(top)) {
        let Some(series) = workspace.monitor.series().get(*line) else { continue };
        places.push((Rect { y, height: 1, ..area }, *line));
        let chosen = *line == workspace.monitor.selected();
        let style = if chosen { theme.selected() } else { theme.plain() };
        put_right(buffer, area.x, y, name_columns, &cut(&name(series), name_columns), style);
        let statistics = workspace.monitor.statistics(series);
        let power = workspace.monitor.power(series);
        let cells = |number: Option<f64>| {
            let share =
                number.map_or(0.0, |number| workspace.monitor.picture.axis.share(number * factor(power)));
            share.clamp(0.0, 1.0) * f64::from(bar_columns)
        };
        let from = area.x.saturating_add(name_columns).saturating_add(1);
        let shown = match workspace.monitor.window.cursor {
            Some(cursor) => series.at(workspace.monitor.next(), cursor).and_then(Result::ok),
            None => series.last.as_ref().ok().and_then(|value| value.as_f64()),
        };
        let own = theme.line(series).style;
        put(buffer, from, y, bar_columns, &bar(cells(shown), theme.glyphs), own);
        if statistics.maximum.is_some() {
            let x = from.saturating_add(cells(statistics.maximum) as u16);
            put(buffer, x.min(from.saturating_add(bar_columns)), y, 1, theme.either("▏", "|"), theme.dim());
        }
        let (text, value_style) = legend::now(workspace, series);
        let scale = format!("{text} x{}", format::scale(power));
        let x = from.saturating_add(bar_columns).saturating_add(1);
        put_right(buffer, x, y, area.right().saturating_sub(x).saturating_sub(1), &scale, value_style);
    }
    areas.lines = places;
}

/// The name of a bar: instance and counter.
fn name(series: &crate::model::Series) -> String {
    match &series.instance {
        Some(instance) => format!("{instance} {}", series.counter_name),
        None => series.counter_name.clone(),
    }
}

/// A bar of some cells, drawn to an eighth of a cell.
fn bar(cells: f64, glyphs: Glyphs) -> String {
    let eighths = (cells * 8.0).round() as usize;
    match glyphs {
        Glyphs::Ascii => "#".repeat(eighths.saturating_add(4) / 8),
        Glyphs::Braille | Glyphs::Octant => {
            let rest = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"].get(eighths % 8).copied().unwrap_or_default();
            format!("{}{rest}", "█".repeat(eighths / 8))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_have_eighths() {
        assert_eq!(bar(2.5, Glyphs::Braille), "██▌");
        assert_eq!(bar(0.0, Glyphs::Braille), "");
        assert_eq!(bar(2.5, Glyphs::Ascii), "###");
    }
}
