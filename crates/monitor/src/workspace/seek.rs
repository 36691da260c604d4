//! Goes to a time of a log: at once when it is in memory, else the log is read from a little before it.

use std::time::{Duration, Instant};

use tallymon::core::time::FileTime;

use crate::log::replay::{Goal, GoalPosition};
use crate::workspace::state::Workspace;

/// How long to wait for reading to reach a time, before reading restarts near it.
pub(crate) const SOON: Duration = Duration::from_millis(300);
/// How many windows to read before the wanted time, at most a tenth of the memory: turning a page back does
/// not read again, and the first picture still appears soon.
const BEFORE: usize = 4;

impl Workspace {
    /// Goes to a time of the log, also to one that is not in memory; `false` without a log.
    pub(crate) fn jump_in_log(&mut self, time: FileTime) -> bool {
        let Some(replay) = &mut self.replay else { return false };
        replay.goal = None;
        replay.drop_staged();
        let rows = self.monitor.rows();
        let in_memory = |row: Option<u64>| row.and_then(|row| self.monitor.time(row)).unwrap_or_default();
        let (oldest, newest) = (in_memory(Some(rows.start)), in_memory(rows.end.checked_sub(1)));
        let comes = replay.loading.as_ref().is_some_and(|loading| loading.filled.is_none());
        // Reading ends when the memory is full.
        let most = self.monitor.most_rows() as u64;
        let reaches =
            replay.from.max(replay.log.summary().first).0.saturating_add(replay.step().saturating_mul(most));
        if time > newest && comes && time.0 <= reaches && time <= replay.log.summary().last {
            replay.goal =
                Some(Goal { time, since: Instant::now(), is_near: false, at: GoalPosition::Cursor });
        } else if time < oldest && replay.from.0 > 0 || time > newest && (replay.is_cut || comes) {
            self.load_near(time, GoalPosition::Cursor);
            return true;
        }
        self.show_time(time);
        true
    }

    /// Reads the log from a little before a time on.
    pub(crate) fn load_near(&mut self, time: FileTime, at: GoalPosition) {
        let most = self.monitor.most_rows();
        let points = self.monitor.window.points();
        let Some(replay) = &mut self.replay else { return };
        let window = points.min(most.saturating_sub(most / 5));
        let before = window.saturating_add(points.saturating_mul(BEFORE).min(most / 10)) as u64;
        let step = replay.step();
        replay.goal = Some(Goal { time, since: Instant::now(), is_near: true, at });
        // Staged rows use memory beside the shown ones: a sixteenth of the rows, in a larger form, is an
        // eighth of the memory.
        let later = before <= (most / 16) as u64;
        self.load_from(FileTime(time.0.saturating_sub(step.saturating_mul(before))), later);
    }

    /// Shows the last record at or before a time of the log, under the cursor.
    pub(crate) fn show_record_at(&mut self, time: FileTime) {
        let Some(replay) = &mut self.replay else { return };
        let last = replay.log.summary().last;
        let (time, at) = if time < last {
            (FileTime(time.0.saturating_add(1)), GoalPosition::Before)
        } else {
            (last, GoalPosition::Cursor)
        };
        self.seek(Goal { time, since: Instant::now(), is_near: false, at });
    }

    /// Shows a time of the log as soon as it has been read.
    fn seek(&mut self, goal: Goal) {
        let Some(replay) = &mut self.replay else { return };
        replay.goal = Some(goal);
        if replay.loading.is_none() {
            self.continue_seek();
        }
    }

    /// Shows the records from a time to a time, which the chart then fills.
    pub(crate) fn show_range_of_log(&mut self, from: FileTime, to: FileTime) {
        let Some(replay) = &mut self.replay else { return };
        let (first, last) = (replay.log.summary().first, replay.log.summary().last);
        let (from, to) = (from.clamp(first, last), to.clamp(first, last));
        let units = to.0.saturating_sub(from.0);
        let points = units.checked_div(replay.step()).unwrap_or(0).saturating_add(1);
        self.monitor.window.set_points(usize::try_from(points).unwrap_or(usize::MAX));
        let at = GoalPosition::EndFrom(from);
        self.seek(Goal { time: to, since: Instant::now(), is_near: false, at });
    }

    /// Moves the window by rows and reads on at the end of the memory. `false` when there is nothing to read.
    pub(crate) fn scroll_in_log(&mut self, by: i64) -> bool {
        let (rows, view) = (self.monitor.rows(), self.monitor.view());
        let Some(replay) = &self.replay else { return false };
        if replay.goal.is_some_and(|goal| goal.is_near) {
            // The rows are being read.
            return true;
        }
        let summary = replay.log.summary();
        let is_at_end = by > 0 && view.end >= rows.end && replay.is_cut;
        let is_at_begin = by < 0 && view.start <= rows.start && replay.from > summary.first;
        let Some((from, to)) = self.monitor.view_times().filter(|_| is_at_end || is_at_begin) else {
            return false;
        };
        let rows_in_view = view.end.saturating_sub(view.start).saturating_sub(1);
        let step = to.0.saturating_sub(from.0).checked_div(rows_in_view).unwrap_or(0).max(1);
        let distance = step.saturating_mul(by.unsigned_abs());
        // A whole window stays in view also at the beginning of the log.
        let least = summary.first.0.saturating_add(to.0.saturating_sub(from.0)).min(summary.last.0);
        let end = if by > 0 { to.0.saturating_add(distance) } else { to.0.saturating_sub(distance) };
        let end = end.clamp(least, summary.last.0);
        self.load_near(FileTime(end), GoalPosition::End);
        true
    }

    /// Goes to the last record.
    pub(crate) fn end_of_log(&mut self) {
        let rows = self.monitor.rows();
        let last =
            self.replay.as_ref().filter(|replay| replay.is_cut).map(|replay| replay.log.summary().last);
        match last {
            Some(last) => drop(self.jump_in_log(last)),
            None => self.monitor.window.go_to(&rows, rows.end.saturating_sub(1)),
        }
    }

    /// Moves the cursor to a row that is not in memory; `false` when it is in memory, or does not exist.
    pub(crate) fn step_in_log(&mut self, by: i64) -> bool {
        let rows = self.monitor.rows();
        let Some((replay, cursor)) = self.replay.as_ref().zip(self.monitor.window.cursor) else {
            return false;
        };
        let is_last = by > 0 && cursor.saturating_add(1) >= rows.end && replay.is_cut;
        let is_first = by < 0 && cursor <= rows.start && replay.from > replay.log.summary().first;
        let Some(time) = self.monitor.time(cursor).filter(|_| is_last || is_first) else { return false };
        if is_last {
            return self.jump_in_log(FileTime(time.0.saturating_add(1)));
        }
        self.load_near(time, GoalPosition::Before);
        true
    }

    /// Goes to the wanted time once it has arrived. If that takes too long, reading restarts near it.
    pub(crate) fn continue_seek(&mut self) {
        let Some(replay) = &self.replay else { return };
        let is_staged = replay.loading.as_ref().is_some_and(|loading| loading.staged.is_some());
        let Some(goal) = replay.goal.filter(|_| !is_staged) else { return };
        let newest = self.monitor.next().checked_sub(1).and_then(|row| self.monitor.time(row));
        if newest.is_some_and(|newest| newest >= goal.time) {
            if let Some(replay) = &mut self.replay {
                replay.goal = None;
            }
            self.show_goal(goal);
            self.follow_cursor();
        } else if !goal.is_near && goal.since.elapsed() >= SOON {
            self.load_near(goal.time, goal.at);
        }
    }

    /// Shows the wanted time when reading has ended; in a log longer than the memory it may not have been
    /// reached.
    pub(crate) fn end_at_goal(&mut self, goal: Goal) {
        let newest = self.monitor.next().checked_sub(1).and_then(|row| self.monitor.time(row));
        let is_cut = self.replay.as_ref().is_some_and(|replay| replay.is_cut);
        if is_cut && !goal.is_near && newest.is_some_and(|newest| newest < goal.time) {
            self.load_near(goal.time, goal.at);
        } else {
            self.show_goal(goal);
        }
    }

    fn show_goal(&mut self, goal: Goal) {
        match goal.at {
            GoalPosition::Cursor => self.show_time(goal.time),
            GoalPosition::Before => {
                let rows = self.monitor.rows();
                if let Some(row) = self.monitor.row_at(goal.time) {
                    self.monitor.window.go_to(&rows, row.saturating_sub(1));
                }
            }
            GoalPosition::End => {
                let rows = self.monitor.rows();
                if let Some(row) = self.monitor.row_at(goal.time) {
                    self.monitor.window.end_at(&rows, row);
                }
            }
            GoalPosition::EndFrom(from) => {
                let rows = self.monitor.rows();
                let is_after = |row: u64| self.monitor.time(row).is_some_and(|time| time > goal.time);
                let last =
                    self.monitor.row_at(goal.time).map(|row| row.saturating_sub(u64::from(is_after(row))));
                if let (Some(first), Some(last)) = (self.monitor.row_at(from), last) {
                    self.monitor.window.show(&rows, first.min(last), last);
                }
            }
        }
    }

    fn show_time(&mut self, time: FileTime) {
        let rows = self.monitor.rows();
        if let Some(row) = self.monitor.row_at(time) {
            self.monitor.window.go_to(&rows, row);
        }
    }
}
