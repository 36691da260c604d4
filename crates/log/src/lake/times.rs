//! Days and times as the table has them.

use tallymon_core::time::{FileTime, SystemTime};

const UNITS_OF_MILLISECOND: u64 = 10_000;

/// The day of a time, UTC: the value of the partition.
pub(super) fn day(time: FileTime) -> String {
    let at = time.system_time();
    format!("{:04}-{:02}-{:02}", at.year, at.month, at.day)
}

/// The number of the day of a time.
pub(super) const fn day_number(time: FileTime) -> u64 {
    time.0 / 864_000_000_000
}

/// A bound of statistics, in whole milliseconds: `up` is for the largest time.
pub(super) fn bound(time: FileTime, up: bool) -> String {
    let rounded = if up { time.0.next_multiple_of(UNITS_OF_MILLISECOND) } else { time.0 };
    let at = FileTime(rounded).system_time();
    let SystemTime { year, month, day, hour, minute, second, milliseconds, .. } = at;
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milliseconds:03}Z")
}

/// A time of statistics: `2026-11-24T15:00:00.123456Z`, `+00:00` or nothing in place of the `Z`. What is
/// below a millisecond is cut.
pub(super) fn parse(text: &str) -> Option<FileTime> {
    let text = text.strip_suffix('Z').or_else(|| text.strip_suffix("+00:00")).unwrap_or(text);
    let (date, clock) = text.split_once(['T', ' '])?;
    let (clock, fraction) = clock.split_once('.').unwrap_or((clock, ""));
    let number = |text: Option<&str>| text?.parse::<u16>().ok();
    let mut date = date.split('-');
    let mut clock = clock.split(':');
    let milliseconds: String = fraction.chars().chain("000".chars()).take(3).collect();
    SystemTime {
        year: number(date.next())?,
        month: number(date.next())?,
        day: number(date.next())?,
        day_of_week: 0,
        hour: number(clock.next())?,
        minute: number(clock.next())?,
        second: number(clock.next())?,
        milliseconds: milliseconds.parse().ok()?,
    }
    .file_time()
}

/// Milliseconds since 1970, as the actions have times.
pub(super) fn unix_milliseconds(time: std::time::SystemTime) -> u64 {
    let since = time.duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_never_narrower_than_the_times() {
        let time = parse("2026-11-24T15:00:00.123Z").unwrap();
        let between = FileTime(time.0 + 7);
        assert_eq!(bound(between, false), "2026-11-24T15:00:00.123Z");
        assert_eq!(bound(between, true), "2026-11-24T15:00:00.124Z");
        assert_eq!(bound(time, true), "2026-11-24T15:00:00.123Z");
        assert_eq!(day(between), "2026-11-24");
        for same in ["2026-11-24T15:00:00.123999+00:00", "2026-11-24 15:00:00.123"] {
            assert_eq!(parse(same), Some(time), "{same}");
        }
        for wrong in ["", "T", "2026-11-24", "2026-99-24T15:00:00Z", "2026-11-24T15:00:00.1x"] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }
}
