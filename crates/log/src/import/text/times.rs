//! Dates and times as these programs print them.

use tallymon_core::time::{FileTime, SystemTime, UNITS_PER_SECOND};

use crate::zone::add_minutes;

const DAY: u64 = 86_400 * UNITS_PER_SECOND;

/// `2026-11-22`, `11/22/26` or `11/22/2026` at midnight.
pub(crate) fn date(text: &str) -> Option<FileTime> {
    let parts: Vec<&str> = text.split(['-', '/']).collect();
    let [first, second, third] = parts[..] else { return None };
    let (year, month, day) = if first.len() == 4 { (first, second, third) } else { (third, first, second) };
    let year: u16 = year.parse().ok()?;
    let year = if year < 100 { year.checked_add(2000)? } else { year };
    at(year, month.parse().ok()?, day.parse().ok()?)
}

fn at(year: u16, month: u16, day: u16) -> Option<FileTime> {
    SystemTime { year, month, day, ..SystemTime::default() }.file_time()
}

/// `22-NOV-2026` at midnight.
pub(super) fn date_with_name(text: &str) -> Option<FileTime> {
    const MONTHS: [&str; 12] =
        ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];
    let [day, month, year] = text.split('-').collect::<Vec<_>>()[..] else { return None };
    let month = MONTHS.iter().position(|name| name.eq_ignore_ascii_case(month))?.checked_add(1)?;
    at(year.parse().ok()?, u16::try_from(month).ok()?, day.parse().ok()?)
}

/// `23:09:18`, in 100 ns since midnight.
pub(crate) fn time_of_day(text: &str) -> Option<u64> {
    let [hour, minute, second] = text.split(':').collect::<Vec<_>>()[..] else { return None };
    let (hour, minute, second): (u64, u64, u64) =
        (hour.parse().ok()?, minute.parse().ok()?, second.parse().ok()?);
    if hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let minutes = hour.checked_mul(60)?.checked_add(minute)?;
    minutes.checked_mul(60)?.checked_add(second)?.checked_mul(UNITS_PER_SECOND)
}

/// The time of day with `AM` or `PM`.
pub(super) fn half_day(of_day: u64, half: &str) -> Option<u64> {
    const NOON: u64 = DAY / 2;
    match half {
        "AM" if of_day >= NOON => of_day.checked_sub(NOON),
        "PM" if of_day < NOON => of_day.checked_add(NOON),
        "AM" | "PM" => Some(of_day),
        _ => None,
    }
}

/// Joins a date and a time of day.
pub(crate) const fn join(date: FileTime, of_day: u64) -> FileTime {
    FileTime(date.0.saturating_add(of_day))
}

/// `2026-11-22T23:09:12+0000`, and the minutes from UTC to the local time; or the same without its zone.
pub(super) fn stamp(text: &str) -> Option<(FileTime, Option<i32>)> {
    let (day, rest) = text.split_once(['T', ' '])?;
    let day = date(day)?;
    let (time, zone) = match rest.find(['+', '-', 'Z']) {
        Some(at) => (rest.get(..at)?, rest.get(at..)?),
        None => (rest, ""),
    };
    let mut words = time.split_whitespace();
    let mut of_day = time_of_day(words.next()?)?;
    if let Some(half) = words.next() {
        of_day = half_day(of_day, half)?;
    }
    let minutes = match zone {
        "" => None,
        "Z" => Some(0),
        zone => {
            let digits = zone.get(1..)?.replace(':', "");
            let number: i32 = digits.parse().ok()?;
            let minutes = (number / 100).checked_mul(60)?.checked_add(number % 100)?;
            Some(if zone.starts_with('-') { minutes.checked_neg()? } else { minutes })
        }
    };
    let local = join(day, of_day);
    Some((add_minutes(local, minutes.unwrap_or(0).checked_neg()?), minutes))
}

/// Moves a time that is earlier than the one before to the next day.
pub(super) fn after(before: Option<FileTime>, mut time: FileTime) -> FileTime {
    // Times go back by an hour at the end of summer time; half a day is midnight.
    if let Some(before) = before
        && before.0 > time.0.saturating_add(DAY / 2)
    {
        let days = before.0.saturating_sub(time.0).div_ceil(DAY);
        time = FileTime(time.0.saturating_add(days.saturating_mul(DAY)));
    }
    time
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_and_times() {
        let shown = |time: FileTime| time.system_time().to_string();
        for text in ["2026-11-22", "11/22/26", "11/22/2026"] {
            assert!(shown(date(text).unwrap()).starts_with("2026-11-22"), "{text}");
        }
        assert_eq!(date("22.11.2026"), None);
        assert_eq!(date_with_name("22-NOV-2026"), date("2026-11-22"));
        let noon = |text| half_day(time_of_day(text).unwrap(), "PM").unwrap() / UNITS_PER_SECOND;
        assert_eq!((noon("12:00:01"), noon("01:00:00")), (43_201, 46_800));
        assert_eq!(half_day(time_of_day("12:00:01").unwrap(), "AM"), Some(UNITS_PER_SECOND));
        let (time, minutes) = stamp("2026-11-22T23:09:12+0130").unwrap();
        assert_eq!(
            (minutes, time),
            (Some(90), join(date("2026-11-22").unwrap(), time_of_day("21:39:12").unwrap()))
        );
        assert_eq!(stamp("11/22/2026 11:09:12 PM").unwrap().0, stamp("2026-11-22T23:09:12Z").unwrap().0);
        assert_eq!(time_of_day("24:00:00"), None);
    }
}
