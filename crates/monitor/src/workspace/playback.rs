//! Plays a log: the cursor moves through it, and screens that show one moment follow.

use tallymon::core::time::FileTime;

use crate::workspace::state::Workspace;

impl Workspace {
    /// Moves the cursor to the next record while the log plays; at the end it stops.
    pub(crate) fn play(&mut self) {
        let Some(replay) = &mut self.replay else { return };
        let last = self.monitor.rows().end.checked_sub(1);
        if !replay.plays {
            return;
        }
        if replay.goal.is_some() {
            // The next records are still being read.
            return;
        }
        if self.monitor.window.cursor >= last {
            if !self.step_in_log(1)
                && let Some(replay) = &mut self.replay
            {
                replay.plays = replay.loading.is_some();
            }
            return;
        }
        let rows = self.monitor.rows();
        self.monitor.window.move_cursor(&rows, 1);
        self.follow_cursor();
    }

    /// Starts to play, from the beginning when it is at the end, or stops.
    pub(crate) fn toggle_play(&mut self) {
        let rows = self.monitor.rows();
        let Some(replay) = &mut self.replay else { return };
        replay.plays = !replay.plays;
        let window = &mut self.monitor.window;
        let is_at_end = window.cursor >= rows.end.checked_sub(1) && !replay.is_cut;
        if replay.plays && (window.cursor.is_none() || is_at_end) {
            window.cursor = Some(window.rows(&rows).start);
        }
    }

    /// Sets the log to the time at the cursor, for screens that show one moment.
    pub(crate) fn follow_cursor(&mut self) {
        let Some(replay) = &self.replay else { return };
        let row = self.monitor.window.cursor.or_else(|| self.monitor.view().end.checked_sub(1));
        if let Some(time) = row.and_then(|row| self.monitor.time(row)) {
            replay.log.set_time(time);
        }
        self.time_moved = true;
    }

    /// Goes to the time at `at` of `of` equal steps through the log.
    pub(crate) fn slide_to(&mut self, at: u64, of: u64) {
        let Some(replay) = &self.replay else { return };
        let summary = replay.log.summary();
        let span = summary.last.0.saturating_sub(summary.first.0);
        let of = of.max(1);
        let time = FileTime(summary.first.0.saturating_add(span / of * at.min(of)));
        self.jump_in_log(time);
    }
}
