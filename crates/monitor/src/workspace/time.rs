//! Local times, times as the user types them, and going to a time.

use tallymon::core::time::{FileTime, SystemTime, UNITS_PER_SECOND};
use tallymon::log::zone::{Zone, add_minutes};

use crate::workspace::options::LocalTime;
use crate::workspace::state::Workspace;

impl Workspace {
    /// The time of day.
    pub(crate) fn clock(&self, time: FileTime) -> String {
        crate::model::format::clock(self.local_time(time).time)
    }

    /// A time in a range: with its date and without seconds, where the range is longer than a day.
    pub(crate) fn clock_between(&self, time: FileTime, from: FileTime, to: FileTime) -> String {
        if to.0.saturating_sub(from.0) < units(86_400) {
            return self.clock(time);
        }
        let local = self.local_time(time).time;
        format!("{:02}-{:02} {:02}:{:02}", local.month, local.day, local.hour, local.minute)
    }

    /// A time by the clock of the log that is shown, else in the local time zone.
    pub(crate) fn local_time(&self, time: FileTime) -> LocalTime {
        let Some(clock) = self.log().map(|log| &log.summary().clock) else {
            return (self.options.local)(time);
        };
        let minutes = clock.minutes(time);
        let (zone, bias) = Zone::default().label(minutes);
        LocalTime { time: add_minutes(time, minutes).system_time(), zone, bias }
    }

    /// Shows a time, if it is in memory or in the log; whether it is.
    pub(crate) fn go_to_time(&mut self, time: FileTime) -> bool {
        if self.jump_in_log(time) {
            return true;
        }
        let rows = self.monitor.rows();
        let Some(row) = self.monitor.row_at(time) else { return false };
        self.monitor.window.go_to(&rows, row);
        self.monitor.time(rows.start).is_some_and(|oldest| time >= oldest)
    }

    /// Shows what the options choose of a log: the range of times, or the time under the cursor.
    pub(crate) fn show_chosen_times(&mut self) {
        if let Some((from, to)) = self.options.range {
            self.show_range_of_log(from, to);
        }
        if let Some(time) = self.options.at {
            self.show_record_at(time);
        }
    }

    /// The time that a text means: with a date, else the last such time of day before the newest row.
    pub(crate) fn time_of_day(&self, text: &str) -> Option<FileTime> {
        let (date, clock) = match text.trim().split_once([' ', 'T']) {
            Some((date, clock)) => (Some(date), clock),
            None => (None, text.trim()),
        };
        let mut parts = clock.split(':').map(|part| part.parse::<u16>().ok());
        let (hour, minute) = (parts.next()??, parts.next()??);
        let second = match parts.next() {
            Some(part) => part?,
            None => 0,
        };
        if parts.next().is_some() {
            return None;
        }
        let newest = match &self.replay {
            Some(replay) => replay.log.summary().last,
            None => self.monitor.time(self.monitor.next().checked_sub(1)?)?,
        };
        let local = SystemTime { milliseconds: 0, ..self.local_time(newest).time };
        let mut wanted = SystemTime { hour, minute, second, ..local };
        if let Some(date) = date {
            let mut parts = date.split('-').map(|part| part.parse::<u16>().ok());
            (wanted.year, wanted.month, wanted.day) = (parts.next()??, parts.next()??, parts.next()??);
        }
        let (wanted, now) = (wanted.file_time()?.0, local.file_time()?.0);
        let back = match now.checked_sub(wanted) {
            Some(back) => back,
            None if date.is_some() => 0,
            None => now.saturating_add(units(86_400)).saturating_sub(wanted),
        };
        Some(FileTime(newest.0.saturating_sub(back)))
    }
}

/// Units of 100 ns in some seconds.
pub(crate) const fn units(seconds: u64) -> u64 {
    seconds.saturating_mul(UNITS_PER_SECOND)
}
