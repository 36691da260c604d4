//! The clock and the time zone of this machine: the only place where Windows' file times meet the calendar
//! library.

use std::time::SystemTime as StdTime;

use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use tallymon_core::time::{FileTime, SystemTime, UNITS_PER_SECOND};
use tallymon_log::LogTime;
use tallymon_log::zone::{Zone, add_minutes};

/// The civil time now.
pub fn now() -> FileTime {
    let since = StdTime::now().duration_since(StdTime::UNIX_EPOCH).unwrap_or_default();
    let nanoseconds = i128::try_from(since.as_nanos()).unwrap_or_default();
    FileTime::from_unix_nanoseconds(nanoseconds).unwrap_or_default()
}

/// A time as text in UTC to the millisecond, such as `2026-11-21T08:30:00.000Z`.
///
/// ```
/// use tallymon::clock::{parse_rfc3339, rfc3339};
///
/// let time = parse_rfc3339("2026-11-21T09:30:00.5+01:00").unwrap();
/// assert_eq!(rfc3339(time), "2026-11-21T08:30:00.500Z");
/// ```
pub fn rfc3339(time: FileTime) -> String {
    FileTime(time.0 / 10_000 * 10_000).rfc3339()
}

/// The time of a text with a date, a time and an offset from UTC; `None` for any other text.
pub fn parse_rfc3339(text: &str) -> Option<FileTime> {
    FileTime::from_unix_nanoseconds(text.parse::<Timestamp>().ok()?.as_nanosecond())
}

/// A time in a log from a text: with an offset from UTC (`2026-11-21T08:30Z`, `2026-11-21 09:30+09:00`),
/// without one by the log's own clock, also as Windows writes it (`M/d/yyyy h:mm:ss[AM|PM]`), or a time
/// before the end of the log (`-2h`, `-90m`, `-00:10:00`). A date alone is its first moment. `None` for any
/// other text.
///
/// ```
/// use tallymon::clock::{parse_log_time, parse_rfc3339};
/// use tallymon::log::LogTime;
///
/// let noon = parse_rfc3339("2016-11-26T12:00:00Z").unwrap();
/// assert_eq!(parse_log_time("2016-11-26 12:00"), Some(LogTime::Local(noon)));
/// assert_eq!(parse_log_time("11/26/2016 12:00:00PM"), Some(LogTime::Local(noon)));
/// assert_eq!(parse_log_time("2016-11-26 21:00+09:00"), Some(LogTime::Utc(noon)));
/// assert_eq!(parse_log_time("11/26/2016 04:00:00-08:00"), Some(LogTime::Utc(noon)));
/// assert_eq!(parse_log_time("-2h"), Some(LogTime::BeforeEnd(72_000_000_000)));
/// assert_eq!(parse_log_time("yesterday"), None);
/// ```
pub fn parse_log_time(text: &str) -> Option<LogTime> {
    let text = text.trim();
    if let Some(before) = text.strip_prefix('-') {
        return Some(LogTime::BeforeEnd((parse_seconds(before)? * UNITS_PER_SECOND as f64) as u64));
    }
    if let Some(local) = civil_time(text) {
        return local_units(&local).map(LogTime::Local);
    }
    parse_rfc3339(text).or_else(|| with_offset(text)).map(LogTime::Utc)
}

/// The time of a text that ends with an offset from UTC.
fn with_offset(text: &str) -> Option<FileTime> {
    let (local, minutes) = match text.strip_suffix(['Z', 'z']) {
        Some(local) => (local, 0),
        None => {
            let at = text.rfind(['+', '-'])?;
            let (local, offset) = text.split_at_checked(at)?;
            let digits: String = offset.chars().skip(1).filter(|letter| *letter != ':').collect();
            let number = digits.parse::<i32>().ok().filter(|_| matches!(digits.len(), 2 | 4))?;
            let minutes = if digits.len() == 2 { number * 60 } else { number / 100 * 60 + number % 100 };
            (local, if offset.starts_with('-') { -minutes } else { minutes })
        }
    };
    let local = local_units(&civil_time(local.trim_end())?)?;
    (minutes.abs() < 24 * 60).then(|| add_minutes(local, -minutes))
}

/// Seconds of a text such as `500ms`, `5s`, `1.5`, `2m`, `1h`, `3d`, or `[[hh:]mm:]ss`; `None` for any other.
pub fn parse_seconds(text: &str) -> Option<f64> {
    if text.contains(':') {
        let parts: Vec<&str> = text.split(':').collect();
        let whole = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit()).then(|| part.parse().ok())?;
        let numbers = parts.iter().map(|part| whole(part)).collect::<Option<Vec<u32>>>()?;
        return (parts.len() <= 3)
            .then(|| numbers.iter().fold(0.0, |sum, part| sum * 60.0 + f64::from(*part)));
    }
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let number = digits.parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0)?;
    let unit = match text.get(digits.len()..).unwrap_or_default() {
        "ms" => 0.001,
        "" | "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        "d" => 86_400.0,
        _ => return None,
    };
    Some(number * unit)
}

/// A time zone with its rules.
#[derive(Debug, Clone)]
pub struct LocalZone(TimeZone);

/// A time on the wall clock of a zone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalTime {
    /// Local date and time.
    pub time: SystemTime,
    /// Name of the zone at this time, such as `CET`.
    pub zone: String,
    /// Minutes to add to UTC to get local time.
    pub minutes: i32,
}

impl LocalZone {
    /// The zone of this machine. Reading its rules opens files, so keep it.
    pub fn system() -> LocalZone {
        LocalZone(TimeZone::system())
    }

    /// UTC.
    pub const fn utc() -> LocalZone {
        LocalZone(TimeZone::UTC)
    }

    /// Minutes to add to UTC to get local time at a time.
    pub fn minutes(&self, time: FileTime) -> i32 {
        self.0.to_offset(timestamp(time)).seconds() / 60
    }

    /// The same moment as a `FILETIME` that shows local time, as Windows' `FileTimeToLocalFileTime` makes it.
    pub fn local(&self, time: FileTime) -> FileTime {
        add_minutes(time, self.minutes(time))
    }

    /// Local date, time and zone name at a time.
    pub fn at(&self, time: FileTime) -> LocalTime {
        let info = self.0.to_offset_info(timestamp(time));
        let minutes = info.offset().seconds() / 60;
        let zone = info.abbreviation().to_string();
        LocalTime { time: add_minutes(time, minutes).system_time(), zone, minutes }
    }

    /// The zone as a log says it that begins at a time.
    pub fn of_log(&self, time: FileTime) -> Zone {
        let LocalTime { zone, minutes, .. } = self.at(time);
        Zone::Fixed { name: zone, bias: minutes.saturating_neg() }
    }

    /// The time of a text: with an offset from UTC, or local in this zone, also as Windows writes it
    /// (`M/d/yyyy h:mm:ss[AM|PM]`). A date alone is its first moment. `None` for any other text.
    ///
    /// ```
    /// use tallymon::clock::{LocalZone, parse_rfc3339};
    ///
    /// let utc = LocalZone::utc();
    /// let wanted = parse_rfc3339("2016-01-02T13:02:03Z");
    /// assert_eq!(utc.parse("2016-01-02 13:02:03"), wanted);
    /// assert_eq!(utc.parse("1/2/2016 1:02:03PM"), wanted);
    /// assert_eq!(utc.parse("tomorrow"), None);
    /// ```
    pub fn parse(&self, text: &str) -> Option<FileTime> {
        let timestamp = text.parse::<Timestamp>().ok().or_else(|| {
            let local = civil_time(text)?;
            Some(local.to_zoned(self.0.clone()).ok()?.timestamp())
        })?;
        FileTime::from_unix_nanoseconds(timestamp.as_nanosecond())
    }
}

/// A date, or a date and a time, without an offset.
fn civil_time(text: &str) -> Option<DateTime> {
    // The calendar library accepts an offset, and ignores it.
    let (date, time) = text.split_once([' ', 'T', 't']).unwrap_or((text, ""));
    let has_offset = time.contains(['Z', 'z', '+', '-', '[']);
    (!has_offset && !date.is_empty()).then(|| text.parse().ok().or_else(|| windows_time(text)))?
}

fn windows_time(text: &str) -> Option<DateTime> {
    ["%m/%d/%Y %H:%M:%S%.f", "%m/%d/%Y %I:%M:%S%p", "%m/%d/%Y %I:%M:%S %p", "%m/%d/%Y %H:%M"]
        .iter()
        .find_map(|format| DateTime::strptime(format, text).ok())
        .or_else(|| Some(Date::strptime("%m/%d/%Y", text).ok()?.to_datetime(jiff::civil::Time::midnight())))
}

/// A local time in units of 100 ns, as logs count it.
fn local_units(local: &DateTime) -> Option<FileTime> {
    let utc = local.to_zoned(TimeZone::UTC).ok()?.timestamp();
    FileTime::from_unix_nanoseconds(utc.as_nanosecond())
}

/// A time as the calendar library has it; 1970 for a time outside of its range.
fn timestamp(time: FileTime) -> Timestamp {
    Timestamp::from_nanosecond(time.unix_nanoseconds()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_times_that_windows_writes() {
        for (text, wanted) in [
            ("11/26/2016 13:46:30", Some("2016-11-26T13:46:30")),
            ("1/2/2016 1:02:03PM", Some("2016-01-02T13:02:03")),
            ("1/2/2016 12:00:00 am", Some("2016-01-02T00:00:00")),
            ("13/13/2016 1:02:03", None),
            ("tomorrow", None),
        ] {
            assert_eq!(windows_time(text).map(|time| time.to_string()).as_deref(), wanted, "{text}");
        }
    }

    #[test]
    fn local_times_follow_the_zone() {
        let Ok(zone) = TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3") else { panic!("a zone by rules") };
        let zone = LocalZone(zone);
        for (utc, local, name, minutes) in [
            ("2026-01-15T12:00:00Z", "2026-01-15T13:00:00.000Z", "CET", 60),
            ("2026-07-15T12:00:00Z", "2026-07-15T14:00:00.000Z", "CEST", 120),
        ] {
            let time = parse_rfc3339(utc).unwrap();
            let at = zone.at(time);
            assert_eq!((at.zone.as_str(), at.minutes, zone.minutes(time)), (name, minutes, minutes));
            assert_eq!(rfc3339(zone.local(time)), local);
            assert_eq!(at.time.file_time(), Some(zone.local(time)));
            assert_eq!(zone.of_log(time), Zone::Fixed { name: name.to_string(), bias: -minutes });
            assert_eq!(zone.parse(local.trim_end_matches('Z')), Some(time));
        }
    }
}
