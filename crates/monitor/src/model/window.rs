//! Which rows of the history are in view, and the slot of each in the chart.
//!
//! Rows are numbered from the start of the program: row 0 is the first sample, and a row keeps its number
//! when older ones are dropped. Each row in view has a slot, from 0 at the left edge.

use std::ops::Range;

/// As many points as a chart of NT has.
pub const DEFAULT_POINTS: usize = 100;
/// The fewest and the most rows in view.
pub const POINTS_RANGE: std::ops::RangeInclusive<usize> = 10..=1_000_000;

/// The part of the history in view.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Window {
    /// How many rows fit into the window.
    points: usize,
    /// New rows overwrite the oldest from left to right, as in NT; else everything moves to the left.
    pub sweep: bool,
    /// What its right end follows.
    end: End,
    /// The row that the user points at.
    pub cursor: Option<u64>,
}

/// The end of the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// It follows the newest row.
    Live,
    /// It stays before this row, the picture as it was.
    Frozen(u64),
    /// It stays before this row, and time goes from left to right.
    Back(u64),
}

impl Default for Window {
    fn default() -> Window {
        Window { points: DEFAULT_POINTS, sweep: true, end: End::Live, cursor: None }
    }
}

impl Window {
    /// How many rows fit into the window.
    pub const fn points(&self) -> usize {
        self.points
    }

    /// Shows this many rows, within [`POINTS_RANGE`].
    pub fn set_points(&mut self, points: usize) {
        self.points = points.clamp(*POINTS_RANGE.start(), *POINTS_RANGE.end());
    }

    /// Shows half as many rows, or twice as many.
    pub fn zoom(&mut self, closer: bool) {
        self.set_points(if closer { self.points / 2 } else { self.points.saturating_mul(2) });
    }

    /// The window follows the newest row.
    pub const fn is_live(&self) -> bool {
        matches!(self.end, End::Live)
    }

    /// The user froze it, so that the picture stays as it was.
    pub const fn is_frozen(&self) -> bool {
        matches!(self.end, End::Frozen(_))
    }

    /// The user went back in time.
    pub const fn is_back(&self) -> bool {
        matches!(self.end, End::Back(_))
    }

    /// Freezes the picture; `rows` are those in the history.
    pub const fn freeze(&mut self, rows: &Range<u64>) {
        self.end = match self.end {
            End::Live => End::Frozen(rows.end),
            end => end,
        };
    }

    /// While frozen: shows the newest row once.
    pub const fn update(&mut self, rows: &Range<u64>) {
        if !self.is_live() {
            self.end = End::Frozen(rows.end);
        }
    }

    /// Follows the newest row again.
    pub const fn live(&mut self) {
        self.end = End::Live;
        self.cursor = None;
    }

    /// Moves the window by rows, negative is back in time; at the newest row it is live again.
    pub fn scroll(&mut self, rows: &Range<u64>, by: i64) {
        // At least one window of rows, or all rows, stays in view.
        let lowest = rows.start.saturating_add(self.points as u64).min(rows.end);
        let end = self.end(rows).saturating_add_signed(by).max(lowest);
        self.end = if end >= rows.end { End::Live } else { End::Back(end) };
    }

    /// Shows a row in the middle, with the cursor on it.
    pub fn go_to(&mut self, rows: &Range<u64>, row: u64) {
        let row = row.clamp(rows.start, rows.end.saturating_sub(1).max(rows.start));
        let half = (self.points / 2) as u64;
        let lowest = rows.start.saturating_add(self.points as u64).min(rows.end);
        self.end = End::Back(row.saturating_add(half).clamp(lowest, rows.end.max(lowest)));
        self.cursor = Some(row);
    }

    /// Shows a row at the right end, and stays there.
    pub fn end_at(&mut self, rows: &Range<u64>, row: u64) {
        let lowest = rows.start.saturating_add(self.points as u64).min(rows.end);
        self.end = End::Back(row.saturating_add(1).clamp(lowest, rows.end.max(lowest)));
    }

    /// Shows these rows, both included, and stays there.
    pub fn show(&mut self, rows: &Range<u64>, one: u64, other: u64) {
        let (first, last) = (one.min(other), one.max(other));
        let count = last.saturating_sub(first).saturating_add(1);
        self.set_points(usize::try_from(count).unwrap_or(usize::MAX));
        let lowest = rows.start.saturating_add(self.points as u64).min(rows.end);
        self.end = End::Back(last.saturating_add(1).clamp(lowest, rows.end.max(lowest)));
        self.cursor = None;
    }

    /// Moves the cursor by rows, and the window with it when it leaves; without a cursor it starts at the
    /// newest row in view.
    pub fn move_cursor(&mut self, rows: &Range<u64>, by: i64) {
        if rows.is_empty() {
            return;
        }
        let view = self.rows(rows);
        let last = view.end.saturating_sub(1);
        let cursor = match self.cursor {
            Some(cursor) => cursor.saturating_add_signed(by),
            None => last.saturating_add_signed(by.saturating_add(1).min(0)),
        };
        let cursor = cursor.clamp(rows.start, rows.end.saturating_sub(1));
        if cursor < view.start {
            let distance = i64::try_from(view.start.saturating_sub(cursor)).unwrap_or(i64::MAX);
            self.scroll(rows, distance.saturating_neg());
        } else if cursor >= view.end {
            let distance = cursor.saturating_sub(last);
            self.scroll(rows, i64::try_from(distance).unwrap_or(i64::MAX));
        }
        self.cursor = Some(cursor);
    }

    /// The rows in view, oldest first, of those in the history.
    pub fn rows(&self, rows: &Range<u64>) -> Range<u64> {
        let end = self.end(rows);
        end.saturating_sub(self.points as u64).max(rows.start).min(end)..end
    }

    /// Whether new rows overwrite the oldest ones now: not while the user looks back.
    pub const fn is_sweeping(&self) -> bool {
        self.sweep && !self.is_back()
    }

    /// The slot of a row in view.
    pub fn slot(&self, rows: &Range<u64>, row: u64) -> usize {
        let points = self.points as u64;
        let slot = if self.is_sweeping() {
            row % points.max(1)
        } else {
            let oldest = self.end(rows).saturating_sub(points);
            let from_left = row.saturating_sub(oldest);
            // A history that does not fill the window yet starts at the left.
            if self.end(rows) < points { row } else { from_left }
        };
        usize::try_from(slot).unwrap_or(usize::MAX)
    }

    /// The row in view at a slot.
    pub fn row_at(&self, rows: &Range<u64>, slot: usize) -> Option<u64> {
        let view = self.rows(rows);
        let points = self.points as u64;
        let slot = slot as u64;
        let row = if self.is_sweeping() {
            let last = view.end.checked_sub(1)?;
            let last_slot = last % points.max(1);
            let back = (last_slot.saturating_add(points)).saturating_sub(slot) % points.max(1);
            last.checked_sub(back)?
        } else if view.end < points {
            slot
        } else {
            view.end.saturating_sub(points).saturating_add(slot)
        };
        (slot < points && view.contains(&row)).then_some(row)
    }

    /// Leaves rows that the history no longer has; a window whose rows are all dropped moves to the oldest
    /// row.
    pub fn forget(&mut self, rows: &Range<u64>) {
        let lowest = rows.start.saturating_add(1).min(rows.end);
        match &mut self.end {
            End::Live => {}
            End::Frozen(end) | End::Back(end) => *end = (*end).clamp(lowest, rows.end.max(lowest)),
        }
        self.cursor = self.cursor.filter(|cursor| rows.contains(cursor));
    }

    fn end(&self, rows: &Range<u64>) -> u64 {
        match self.end {
            End::Live => rows.end,
            End::Frozen(end) | End::Back(end) => end.min(rows.end),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(points: usize, sweep: bool) -> Window {
        let mut window = Window { sweep, ..Window::default() };
        window.set_points(points);
        window
    }

    #[test]
    fn sweeping_overwrites_the_oldest() {
        let window = window(10, true);
        let rows = 0..23;
        assert_eq!(window.rows(&rows), 13..23);
        assert_eq!(window.slot(&rows, 22), 2);
        assert_eq!(window.slot(&rows, 13), 3);
        let shown: Vec<Option<u64>> = (0..10).map(|slot| window.row_at(&rows, slot)).collect();
        assert_eq!(shown, [20, 21, 22, 13, 14, 15, 16, 17, 18, 19].map(Some));
        assert_eq!(window.row_at(&rows, 10), None);
        assert_eq!(window.row_at(&(0..3), 5), None, "nothing there yet");
        assert_eq!(window.row_at(&(0..0), 0), None);
    }

    #[test]
    fn scrolling_moves_to_the_left() {
        let window = window(10, false);
        assert_eq!(window.row_at(&(0..23), 0), Some(13));
        assert_eq!(window.row_at(&(0..23), 9), Some(22));
        assert_eq!(window.row_at(&(0..4), 3), Some(3), "it fills from the left");
        assert_eq!(window.row_at(&(0..4), 4), None);
    }

    #[test]
    fn every_row_in_view_has_its_slot() {
        for sweep in [false, true] {
            for end in [1, 5, 10, 11, 37] {
                let window = window(10, sweep);
                let rows = end.min(3)..end;
                for row in window.rows(&rows) {
                    assert_eq!(window.row_at(&rows, window.slot(&rows, row)), Some(row), "{sweep} {rows:?}");
                }
            }
        }
    }

    #[test]
    fn frozen_stays_and_updates_once() {
        let mut window = window(10, true);
        window.freeze(&(0..20));
        assert!(window.is_frozen());
        assert_eq!(window.rows(&(0..30)), 10..20);
        window.update(&(0..30));
        assert_eq!(window.rows(&(0..40)), 20..30);
        window.live();
        assert_eq!(window.rows(&(0..40)), 30..40);
    }

    #[test]
    fn back_in_time_and_home_again() {
        let mut window = window(10, true);
        window.scroll(&(0..30), -5);
        assert!(window.is_back() && !window.is_sweeping());
        assert_eq!(window.rows(&(0..40)), 15..25, "new rows do not move it");
        window.scroll(&(0..40), -1_000);
        assert_eq!(window.rows(&(0..40)), 0..10, "not beyond the oldest");
        window.scroll(&(0..40), 1_000);
        assert!(window.is_live());
        let mut young = self::window(10, true);
        young.scroll(&(0..3), -1);
        assert!(young.is_live(), "there is nothing to go back to");
    }

    #[test]
    fn the_cursor_takes_the_window_along() {
        let mut window = window(10, true);
        let rows = 0..30;
        window.move_cursor(&rows, -1);
        assert_eq!(window.cursor, Some(29), "it starts at the newest");
        window.move_cursor(&rows, -9);
        assert_eq!((window.cursor, window.is_live()), (Some(20), true));
        window.move_cursor(&rows, -3);
        assert_eq!((window.cursor, window.rows(&rows)), (Some(17), 17..27));
        window.move_cursor(&rows, 12);
        assert_eq!((window.cursor, window.is_live()), (Some(29), true));
        window.go_to(&rows, 12);
        assert_eq!((window.cursor, window.rows(&rows)), (Some(12), 7..17));
        window.go_to(&rows, 99);
        assert_eq!(window.cursor, Some(29));
        window.forget(&(30..30));
        assert_eq!(window.cursor, None);
    }

    #[test]
    fn a_range_of_time_fills_the_window() {
        let mut window = window(100, true);
        window.show(&(0..300), 240, 200);
        assert_eq!((window.rows(&(0..300)), window.is_back()), (200..241, true));
        assert_eq!(window.rows(&(0..900)), 200..241, "it stays");
        window.show(&(0..300), 3, 4);
        assert_eq!(window.rows(&(0..300)), 0..10, "not less than the least");
    }

    #[test]
    fn dropped_rows_leave_the_view() {
        let mut window = window(10, true);
        window.freeze(&(0..20));
        window.forget(&(50..90));
        assert_eq!(window.rows(&(50..90)), 50..51);
    }

    #[test]
    fn zoom_stays_within_its_range() {
        let mut window = window(100, true);
        (0..50).for_each(|_| window.zoom(true));
        assert_eq!(window.points(), 10);
        (0..50).for_each(|_| window.zoom(false));
        assert_eq!(window.points(), 1_000_000);
    }
}
