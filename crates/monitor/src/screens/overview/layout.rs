//! Where the panes of the overview lie.

use ratatui::layout::Rect;

use crate::model::overview::Pane;

/// How much room there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Room {
    /// A line for each pane, and the processes below.
    Lines,
    /// Panes with short histories.
    Middle,
    /// Panes with everything.
    Wide,
}

impl Room {
    pub(super) const fn of(area: Rect) -> Room {
        match (area.width, area.height) {
            (..=59, _) | (_, ..=13) => Room::Lines,
            (..=119, _) | (_, ..=29) => Room::Middle,
            _ => Room::Wide,
        }
    }
}

/// How many items a pane has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) processors: usize,
    pub(super) disks: usize,
    pub(super) interfaces: usize,
}

/// The areas of the panes that are shown.
pub(super) fn areas(area: Rect, shown: &[Pane], counts: Counts) -> Vec<(Pane, Rect)> {
    match Room::of(area) {
        Room::Lines => lines(area, shown),
        room => panes(area, shown, counts, room),
    }
}

/// A line for each pane; the processes have the rest.
fn lines(area: Rect, shown: &[Pane]) -> Vec<(Pane, Rect)> {
    let mut y = area.y;
    let mut areas = Vec::new();
    for pane in shown {
        let left = area.bottom().saturating_sub(y);
        let height = if *pane == Pane::Processes { left } else { left.min(1) };
        areas.push((*pane, Rect { y, height, ..area }));
        y = y.saturating_add(height);
    }
    areas
}

fn panes(area: Rect, shown: &[Pane], counts: Counts, room: Room) -> Vec<(Pane, Rect)> {
    let has = |pane| shown.contains(&pane);
    let mut areas = Vec::new();
    let mut rest = area;
    if has(Pane::Processors) {
        let wanted = 1u16.saturating_add(processor_rows(counts.processors, area.width, room)).saturating_add(
            match room {
                Room::Wide => GRAPH_ROWS,
                _ => 0,
            },
        );
        areas.push((Pane::Processors, take(&mut rest, wanted)));
    }
    let memory = if has(Pane::Memory) { 3 } else { 0 };
    let most = if room == Room::Wide { 6 } else { 3 };
    // The heading, the items, and the line of idle ones.
    let list = |pane: Pane, count: usize| -> u16 {
        let rows = u16::try_from(count).unwrap_or(most).clamp(1, most).saturating_add(2);
        if has(pane) { rows } else { 0 }
    };
    let pressure = match (has(Pane::Pressure), room) {
        (false, _) => 0,
        (true, Room::Wide) => 4,
        (true, _) => 2,
    };
    let disks = list(Pane::Disks, counts.disks);
    let network = list(Pane::Network, counts.interfaces);
    let (left, right) = (memory + disks, network + pressure);
    let height = left.max(right);
    if height > 0 {
        let both = take(&mut rest, height.min(area.height.saturating_mul(2) / 3));
        let half = if left == 0 || right == 0 { both.width } else { both.width / 2 };
        let mut one = Rect { width: if left == 0 { 0 } else { half.saturating_sub(1) }, ..both };
        let mut other = match left {
            0 => both,
            _ => Rect { x: both.x.saturating_add(half), width: both.width.saturating_sub(half), ..both },
        };
        if left > 0 && right == 0 {
            one = both;
        }
        for (pane, rows) in [(Pane::Memory, memory), (Pane::Disks, disks)] {
            // The last pane of a column has the rest.
            let rows = if pane == Pane::Disks && rows > 0 { one.height } else { rows };
            if rows > 0 {
                areas.push((pane, take(&mut one, rows)));
            }
        }
        for (pane, rows) in [(Pane::Network, network), (Pane::Pressure, pressure)] {
            let rows =
                if pane == Pane::Network && rows > 0 { other.height.saturating_sub(pressure) } else { rows };
            if rows > 0 {
                areas.push((pane, take(&mut other, rows)));
            }
        }
    }
    if has(Pane::Processes) {
        areas.push((Pane::Processes, rest));
    }
    areas
}

/// Rows of the picture of all processors.
const GRAPH_ROWS: u16 = 4;
/// The narrowest cell of a processor.
const CELL: u16 = 20;
/// Rows of processors at most; more of them become one letter each.
const MOST_PROCESSOR_ROWS: u16 = 8;

/// How many processors stand in a row, and how wide each is; `None` when there are too many for that.
pub(super) fn processor_cells(count: usize, columns: u16, rows: u16) -> Option<(u16, u16)> {
    let across = (columns / CELL).max(1);
    let count = u16::try_from(count).ok()?;
    let needed = count.div_ceil(across);
    if needed > rows {
        return None;
    }
    let across = count.div_ceil(needed.max(1)).max(1);
    Some((across, columns.checked_div(across)?))
}

fn processor_rows(count: usize, columns: u16, room: Room) -> u16 {
    let most = if room == Room::Wide { MOST_PROCESSOR_ROWS } else { 3 };
    match processor_cells(count, columns, most) {
        Some((across, _)) => u16::try_from(count).unwrap_or(1).div_ceil(across.max(1)).max(1),
        None => {
            let rows = u16::try_from(count.div_ceil(usize::from(columns.max(1)))).unwrap_or(1);
            rows.clamp(1, MOST_PROCESSOR_ROWS)
        }
    }
}

/// Takes rows from the top of an area.
fn take(area: &mut Rect, rows: u16) -> Rect {
    let rows = rows.min(area.height);
    let taken = Rect { height: rows, ..*area };
    area.y = area.y.saturating_add(rows);
    area.height = area.height.saturating_sub(rows);
    taken
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panes_fill_the_area_without_overlap() {
        let all: Vec<Pane> = Pane::NAMES.iter().map(|(_, pane)| *pane).collect();
        for (width, height) in [(200, 48), (80, 22), (40, 10), (120, 30), (60, 14), (20, 4), (1, 1)] {
            let area = Rect::new(0, 1, width, height);
            for processors in [1, 2, 8, 64, 512] {
                for skip in 0..6 {
                    let counts = Counts { processors, disks: 3, interfaces: 20 };
                    let panes = areas(area, &all[skip..], counts);
                    for (nth, (pane, one)) in panes.iter().enumerate() {
                        assert_eq!(one.intersection(area), *one, "{pane:?} is outside");
                        for (other_pane, other) in panes.iter().skip(nth + 1) {
                            assert!(one.intersection(*other).is_empty(), "{pane:?} {other_pane:?}");
                        }
                    }
                    if height >= 22 {
                        let rows = panes.iter().find(|(pane, _)| *pane == Pane::Processes);
                        assert!(rows.is_some_and(|(_, area)| area.height >= 5), "{width}x{height} {skip}");
                    }
                }
            }
        }
    }

    #[test]
    fn processors_share_rows() {
        assert_eq!(processor_cells(2, 80, 3), Some((2, 40)));
        assert_eq!(processor_cells(8, 80, 3), Some((4, 20)));
        assert_eq!(processor_cells(16, 80, 3), None);
        assert_eq!(processor_cells(16, 200, 8), Some((8, 25)));
    }
}
