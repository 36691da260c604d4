//! The clock of a log, and times by it.

use tallymon_core::time::FileTime;

use crate::error::{LogError, LogErrorKind};
use crate::zone::{Zone, add_minutes};

/// How often a log may change its distance from UTC. Summer time does so twice a year.
const MOST_CHANGES: usize = 1 << 12;

/// A time in a log, as a user writes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LogTime {
    /// A moment, UTC.
    Utc(FileTime),
    /// What the log's own clock shows.
    Local(FileTime),
    /// So long before the last record, in units of 100 ns.
    BeforeEnd(u64),
}

impl From<FileTime> for LogTime {
    fn from(time: FileTime) -> LogTime {
        LogTime::Utc(time)
    }
}

/// Which moment is meant where the clock shows a time twice, in autumn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// The first one, for the beginning of a range.
    First,
    /// The last one, for the end of a range or a time in it.
    Last,
}

/// The clock of one or several logs: which times their records have, and how far local time is from UTC.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LogClock {
    range: Option<(FileTime, FileTime)>,
    /// From which record on local time is how many minutes from UTC.
    pub(crate) changes: Vec<(FileTime, i32)>,
    /// The zone is not known, so local times are taken as UTC, or the zone was guessed.
    zone_unknown: bool,
    /// The zone of the first log that says its zone.
    zone: Zone,
}

impl LogClock {
    /// The clock of records between two times, whose distance from UTC changed at these.
    pub(crate) fn of_changes(range: (FileTime, FileTime), changes: Vec<(FileTime, i32)>) -> LogClock {
        LogClock { range: Some(range), changes, ..LogClock::default() }
    }

    /// Notes a record.
    pub fn note(&mut self, time: FileTime, local_minutes: i32) {
        let (first, last) = self.range.unwrap_or((time, time));
        self.range = Some((first.min(time), last.max(time)));
        let is_new = self.changes.last().is_none_or(|(_, minutes)| *minutes != local_minutes);
        if is_new && self.changes.len() < MOST_CHANGES {
            self.changes.push((time, local_minutes));
        }
    }

    /// Notes the zone of a log.
    pub fn set_zone(&mut self, zone: &Zone) {
        self.zone_unknown |= zone.is_unknown();
        self.take_zone(zone);
    }

    fn take_zone(&mut self, zone: &Zone) {
        if self.zone == Zone::Unknown {
            self.zone = zone.clone();
        }
    }

    /// The name of the log's zone at a time, and minutes to add to local time for UTC, as for [`Zone::label`].
    pub fn zone_label(&self, time: FileTime) -> (String, i32) {
        self.zone.label(self.minutes(time))
    }

    /// From which record on, UTC, local time is how many minutes from UTC; in order.
    pub fn changes(&self) -> &[(FileTime, i32)] {
        &self.changes
    }

    /// Whether no log says its zone, so that local times are taken as UTC or the zone was guessed.
    pub const fn is_zone_unknown(&self) -> bool {
        self.zone_unknown
    }

    /// Adds the records of another log.
    pub fn add(&mut self, other: &LogClock) {
        if let Some((first, last)) = other.range {
            let range = self.range.unwrap_or((first, last));
            self.range = Some((range.0.min(first), range.1.max(last)));
        }
        let room = MOST_CHANGES.saturating_sub(self.changes.len());
        self.changes.extend(other.changes.iter().take(room));
        self.changes.sort_unstable();
        self.changes.dedup_by_key(|(_, minutes)| *minutes);
        self.zone_unknown |= other.zone_unknown;
        self.take_zone(&other.zone);
    }

    /// The times of the oldest and the newest record, UTC; `None` without records.
    pub const fn range(&self) -> Option<(FileTime, FileTime)> {
        self.range
    }

    /// Minutes to add to UTC to get the time on the log's clock at a time.
    pub fn minutes(&self, time: FileTime) -> i32 {
        let behind = self.changes.partition_point(|(begin, _)| *begin <= time);
        let change = self.changes.get(behind.saturating_sub(1));
        change.map_or(0, |(_, minutes)| *minutes)
    }

    /// The moment, UTC, that is meant by a time.
    pub fn moment(&self, time: LogTime, which: Moment) -> FileTime {
        match time {
            LogTime::Utc(time) => time,
            LogTime::BeforeEnd(units) => {
                FileTime(self.range.map_or(0, |(_, last)| last.0.saturating_sub(units)))
            }
            LogTime::Local(local) => self.of_local(local, which),
        }
    }

    fn of_local(&self, local: FileTime, which: Moment) -> FileTime {
        let mut found = None;
        let mut skipped = None;
        for (nth, (begin, minutes)) in self.changes.iter().enumerate() {
            let begin = if nth == 0 { FileTime(0) } else { *begin };
            let next = self.changes.get(nth.saturating_add(1)).map(|(next, _)| *next);
            let time = add_minutes(local, minutes.saturating_neg());
            if time < begin {
                continue;
            }
            if next.is_some_and(|next| time >= next) {
                // The clock went from before this time to after it, or shows it later.
                skipped = next;
                continue;
            }
            if which == Moment::First {
                return time;
            }
            found = Some(time);
        }
        let of_skip = |next: FileTime| match which {
            Moment::First => next,
            Moment::Last => FileTime(next.0.saturating_sub(1)),
        };
        found.or_else(|| skipped.map(of_skip)).unwrap_or(local)
    }

    /// A time on the log's clock with its distance from UTC, such as `2016-11-26T13:46:30.874-08:00`; without
    /// the distance if the log does not say its zone. It can be given back as a time of the log.
    pub fn text(&self, time: FileTime) -> String {
        local_text(time, self.minutes(time), self.zone_unknown)
    }

    /// The range of the records as words: `FIRST to LAST`, and which clock it is by.
    pub fn range_text(&self) -> String {
        match self.range {
            Some((first, last)) => {
                let unknown = if self.zone_unknown { " (its time zone is unknown)" } else { "" };
                format!("{} to {}{unknown}", self.text(first), self.text(last))
            }
            None => "no records at all".to_owned(),
        }
    }

    /// The error for a range without records.
    pub fn no_records(&self, range: TimeRange) -> LogError {
        let side = |name: &str, time: Option<FileTime>| {
            time.map_or(String::new(), |time| format!(" {name} {}", self.text(time)))
        };
        let words = format!(
            "no record{}{}; the log has {}",
            side("from", range.from),
            side("to", range.to),
            self.range_text()
        );
        LogError::new(LogErrorKind::NoRecords(words))
    }
}

/// A time with a distance from UTC in minutes as text; without the distance if it `is_unknown`.
pub fn local_text(time: FileTime, minutes: i32, is_unknown: bool) -> String {
    let local = add_minutes(time, minutes).system_time();
    let milliseconds = local.milliseconds;
    let mut text = format!(
        "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{milliseconds:03}",
        local.year, local.month, local.day, local.hour, local.minute, local.second
    );
    if !is_unknown {
        let sign = if minutes < 0 { '-' } else { '+' };
        let minutes = minutes.unsigned_abs();
        match minutes {
            0 => text.push('Z'),
            _ => text.push_str(&format!("{sign}{:02}:{:02}", minutes / 60, minutes % 60)),
        }
    }
    text
}

/// A range of times, UTC, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TimeRange {
    /// Records at or after this time.
    pub from: Option<FileTime>,
    /// Records at or before this time.
    pub to: Option<FileTime>,
}

impl TimeRange {
    /// Whether a time is in the range.
    pub fn has(&self, time: FileTime) -> bool {
        self.from.is_none_or(|from| time >= from) && self.to.is_none_or(|to| time <= to)
    }

    /// Whether a time between two times may be in the range.
    pub(crate) fn meets(&self, least: FileTime, most: FileTime) -> bool {
        self.from.is_none_or(|from| most >= from) && self.to.is_none_or(|to| least <= to)
    }

    /// Whether the range leaves anything out.
    pub const fn is_limited(&self) -> bool {
        self.from.is_some() || self.to.is_some()
    }
}

#[cfg(test)]
mod tests {
    use tallymon_core::time::SystemTime;

    use super::*;

    fn at(day: u16, hour: u16, minute: u16) -> FileTime {
        SystemTime { year: 2025, month: 10, day, hour, minute, ..SystemTime::default() }.file_time().unwrap()
    }

    #[test]
    fn times_by_the_clock_of_a_log() {
        // Summer time ends at 01:00 UTC on the 26th: 03:00 becomes 02:00.
        let mut clock = LogClock::default();
        for (hour, minutes) in [(0, 120), (1, 60), (2, 60), (3, 60)] {
            clock.note(at(26, hour, 0), minutes);
        }
        for (time, first, last) in [
            (LogTime::Utc(at(26, 0, 30)), at(26, 0, 30), at(26, 0, 30)),
            (LogTime::Local(at(26, 2, 0)), at(26, 0, 0), at(26, 1, 0)),
            (LogTime::Local(at(26, 2, 30)), at(26, 0, 30), at(26, 1, 30)),
            (LogTime::Local(at(26, 3, 0)), at(26, 2, 0), at(26, 2, 0)),
            (LogTime::Local(at(25, 12, 0)), at(25, 10, 0), at(25, 10, 0)),
            (LogTime::BeforeEnd(5400 * 10_000_000), at(26, 1, 30), at(26, 1, 30)),
        ] {
            assert_eq!(clock.moment(time, Moment::First), first, "{time:?}");
            assert_eq!(clock.moment(time, Moment::Last), last, "{time:?}");
        }
        assert_eq!(clock.range_text(), "2025-10-26T02:00:00.000+02:00 to 2025-10-26T04:00:00.000+01:00");
    }

    #[test]
    fn an_hour_that_the_clock_skips() {
        let mut clock = LogClock::default();
        clock.note(at(1, 0, 0), 60);
        clock.note(at(1, 1, 0), 120);
        let skipped = LogTime::Local(at(1, 2, 30));
        assert_eq!(clock.moment(skipped, Moment::First), at(1, 1, 0));
        assert_eq!(clock.moment(skipped, Moment::Last), FileTime(at(1, 1, 0).0 - 1));
    }

    #[test]
    fn a_log_without_a_zone_shows_no_distance() {
        let mut clock = LogClock::default();
        clock.note(at(1, 9, 0), 180);
        clock.set_zone(&Zone::Unknown);
        assert_eq!(clock.text(at(1, 9, 0)), "2025-10-01T12:00:00.000");
        assert_eq!(local_text(at(1, 9, 0), -210, false), "2025-10-01T05:30:00.000-03:30");
        assert_eq!(local_text(at(1, 9, 0), 0, false), "2025-10-01T09:00:00.000Z");
        assert_eq!(LogClock::default().range_text(), "no records at all");
    }
}
