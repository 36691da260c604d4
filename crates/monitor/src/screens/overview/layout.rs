//! Where the panes of the overview lie.

use ratatui::layout::Rect;

use crate::model::overview::Pane;
use crate::screens::overview::sensors::rows_of;

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
    pub(super) file_systems: usize,
    pub(super) sensors: usize,
    pub(super) interfaces: usize,
    pub(super) containers: usize,
    pub(super) graphics: usize,
}

/// The areas of the panes that are shown.
pub(super) fn areas(area: Rect, shown: &[Pane], counts: Counts) -> Vec<(Pane, Rect)> {
    let room = Room::of(area);
    // A machine without sensors has no pane for them, and so on. In few lines the hottest is beside the
    // processors.
    let has = |count: usize| count > 0 && (room != Room::Lines || area.height >= SENSOR_LINES);
    let mut shown = shown.to_vec();
    shown.retain(|pane| match pane {
        Pane::Sensors => has(counts.sensors),
        Pane::Containers => has(counts.containers),
        Pane::Graphics => has(counts.graphics),
        _ => true,
    });
    // The processes have the rest, below the others.
    shown.sort_by_key(|pane| *pane == Pane::Processes);
    match room {
        Room::Lines => lines(area, &shown),
        room => panes(area, &shown, counts, room),
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
    // The heading, the items, and the line of idle ones.
    let list = |count: usize, most: u16| -> u16 {
        u16::try_from(count).unwrap_or(most).clamp(1, most).saturating_add(2)
    };
    let most = if room == Room::Wide { 6 } else { 3 };
    let wanted = |pane: Pane| match pane {
        Pane::Memory => 3,
        Pane::Disks => list(counts.disks, most),
        Pane::Space if room == Room::Wide => list(counts.file_systems, most),
        // Without a line for those that are not shown.
        Pane::Space => list(counts.file_systems, 2).saturating_sub(1),
        // Each has a second line in a wide screen: counts and addresses.
        Pane::Network if room == Room::Wide => list(counts.interfaces.saturating_mul(2), most),
        Pane::Network => list(counts.interfaces, most),
        Pane::Pressure if room == Room::Wide => 4,
        Pane::Pressure => 2,
        Pane::Sensors => u16::try_from(rows_of(counts.sensors, room)).unwrap_or(0).saturating_add(1),
        Pane::Containers => list(counts.containers, most).saturating_sub(1),
        Pane::Graphics => list(counts.graphics, 2).saturating_sub(1),
        Pane::Processors | Pane::Processes => 0,
    };
    let column = |panes: &[Pane]| -> Vec<(Pane, u16)> {
        panes.iter().copied().filter(|pane| has(*pane)).map(|pane| (pane, wanted(pane))).collect()
    };
    let mut left = column(&[Pane::Memory, Pane::Disks, Pane::Space, Pane::Graphics]);
    let mut right = column(&[Pane::Network, Pane::Pressure, Pane::Sensors]);
    let sum = |column: &[(Pane, u16)]| column.iter().map(|(_, rows)| *rows).sum::<u16>();
    // Containers stand where there is more room.
    let shorter = if sum(&left) < sum(&right) { &mut left } else { &mut right };
    shorter.extend(column(&[Pane::Containers]));
    let height = sum(&left).max(sum(&right)).min(area.height.saturating_mul(2) / 3);
    let least = if has(Pane::Processes) { LEAST_PROCESSES } else { 0 };
    let height = height.min(rest.height.saturating_sub(least));
    let both = take(&mut rest, height);
    let half = if left.is_empty() || right.is_empty() { both.width } else { both.width / 2 };
    let gap = u16::from(!left.is_empty() && !right.is_empty());
    let one = Rect { width: half.saturating_sub(gap), ..both };
    let other = if left.is_empty() {
        both
    } else {
        Rect { x: both.x.saturating_add(half), width: both.width.saturating_sub(half), ..both }
    };
    stack(one, left, &mut areas);
    stack(other, right, &mut areas);
    if has(Pane::Processes) {
        areas.push((Pane::Processes, rest));
    }
    areas
}

/// Stacks panes in a column. Where it is too low, the highest ones shrink; the last one has the rest.
fn stack(mut area: Rect, mut column: Vec<(Pane, u16)>, areas: &mut Vec<(Pane, Rect)>) {
    while column.iter().map(|(_, rows)| *rows).sum::<u16>() > area.height {
        let Some((_, rows)) = column.iter_mut().max_by_key(|(_, rows)| *rows) else { break };
        if *rows <= LEAST_PANE {
            break;
        }
        *rows = rows.saturating_sub(1);
    }
    let last = column.len().saturating_sub(1);
    for (nth, (pane, rows)) in column.into_iter().enumerate() {
        let rows = if nth == last { area.height } else { rows };
        areas.push((pane, take(&mut area, rows)));
    }
}

/// The heading and a row.
const LEAST_PANE: u16 = 2;
/// The rows that processes keep.
const LEAST_PROCESSES: u16 = 6;
/// From this height on sensors have a line where each pane is one.
const SENSOR_LINES: u16 = 12;
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
                for skip in 0..10 {
                    let sensors = if skip % 2 == 0 { 12 } else { 0 };
                    let counts = Counts {
                        processors,
                        disks: 3,
                        file_systems: 9,
                        sensors,
                        interfaces: 20,
                        containers: sensors,
                        graphics: skip % 3,
                    };
                    let panes = areas(area, &all[skip..], counts);
                    for (nth, (pane, one)) in panes.iter().enumerate() {
                        assert_eq!(one.intersection(area), *one, "{pane:?} is outside");
                        for (other_pane, other) in panes.iter().skip(nth + 1) {
                            assert!(one.intersection(*other).is_empty(), "{pane:?} {other_pane:?}");
                        }
                    }
                    if height >= 22 && all[skip..].contains(&Pane::Processes) {
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
