//! Marks at the time axis where something is wrong, and the text of the finding that the chart shows.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use tallymon::core::time::FileTime;

use crate::screens::finding_text::{severity, texts};
use crate::term::chart::Chart;
use crate::term::text::{put, rule, wrap};
use crate::workspace::state::Workspace;

/// One part of so many of the body is for the text of a finding, at most.
const TEXT_SHARE: u16 = 3;

/// Rows that the marks need below the chart: none while there is nothing to mark.
pub(crate) fn rows(workspace: &Workspace) -> u16 {
    u16::from(!workspace.findings.found.list().is_empty())
}

/// The times that a column of the chart stands for.
fn times(workspace: &Workspace, chart: &Chart, column: u16) -> Option<(FileTime, FileTime)> {
    let monitor = &workspace.monitor;
    let (rows, slots) = (monitor.rows(), monitor.window.points());
    let from = chart.slot(column, slots);
    let behind = chart.slot(column.saturating_add(1), slots);
    // A stretch may have no rows at one end: the chart fills up from the left, or sweeps.
    let time = |slot| monitor.window.row_at(&rows, slot).and_then(|row| monitor.time(row));
    let first = time(from)?;
    let last = time(behind.saturating_sub(1).max(from)).filter(|last| *last >= first).unwrap_or(first);
    Some((first, last))
}

/// Draws the marks: a letter where a severity begins, then a line as long as it lasts.
pub(crate) fn draw(workspace: &Workspace, buffer: &mut Buffer, area: Rect) {
    let (words, theme) = (workspace.words, workspace.theme);
    let chart = Chart::new(area, theme.glyphs);
    let mut before = None;
    for column in 0..area.width {
        let worst = times(workspace, &chart, column)
            .and_then(|(from, to)| workspace.findings.found.worst_between(from, to));
        if let Some(worst) = worst {
            let (letter, _, style) = severity(worst, words, theme);
            let sign = if before == Some(worst) { theme.either("━", "=") } else { letter };
            put(buffer, area.x.saturating_add(column), area.y, 1, sign, style);
        }
        before = worst;
    }
}

/// The finding at a column of the row of marks.
pub(crate) fn finding_at(workspace: &Workspace, area: Rect, column: u16) -> Option<usize> {
    let chart = Chart::new(area, workspace.theme.glyphs);
    let (from, to) = times(workspace, &chart, column.saturating_sub(area.x))?;
    workspace.findings.found.at(from, to)
}

/// Draws the text of the finding that the chart shows; returns the area below.
pub(crate) fn draw_text(workspace: &Workspace, buffer: &mut Buffer, area: Rect) -> Rect {
    let Some(found) = &workspace.findings.shown else { return area };
    let most = usize::from(area.height / TEXT_SHARE);
    let columns = area.width.saturating_sub(2);
    let lines = texts(workspace, found)
        .into_iter()
        .flat_map(|(text, style)| wrap(&text, columns).into_iter().map(move |line| (line, style)));
    let mut y = area.y;
    for (line, style) in lines.take(most.saturating_sub(1)) {
        put(buffer, area.x.saturating_add(1), y, columns, &line, style);
        y = y.saturating_add(1);
    }
    if most > 0 {
        rule(buffer, area, y, workspace.theme.either("─", "-"), workspace.theme.dim());
        y = y.saturating_add(1);
    }
    Rect { y, height: area.bottom().saturating_sub(y), ..area }
}
