//! Times as Windows counts them, each kind with a type of its own so that they cannot be mixed up.

use alloc::format;
use alloc::string::String;
use core::fmt;

/// A `FILETIME`: 100 ns units since 1601-01-01 00:00 UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct FileTime(pub u64);

/// A reading of the performance clock (`QueryPerformanceCounter`), in ticks of a [`Frequency`] since some
/// start, usually the boot of the machine. The clock counts during sleep.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct PerfTime(pub i64);

/// Ticks per second of a [`PerfTime`]; 0 if the writer of the block did not say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Frequency(pub i64);

/// 100 ns units in a second.
pub const UNITS_PER_SECOND: u64 = 10_000_000;

/// 1970-01-01 00:00 UTC as a [`FileTime`].
pub const UNIX_EPOCH: FileTime = FileTime(116_444_736_000_000_000);

impl FileTime {
    /// The time `nanoseconds` after 1970-01-01 00:00 UTC, or before it if negative. `None` outside the range
    /// of a `FILETIME`.
    pub fn from_unix_nanoseconds(nanoseconds: i128) -> Option<FileTime> {
        let units = nanoseconds.div_euclid(100).checked_add(i128::from(UNIX_EPOCH.0))?;
        u64::try_from(units).ok().map(FileTime)
    }

    /// Nanoseconds since 1970-01-01 00:00 UTC.
    pub fn unix_nanoseconds(self) -> i128 {
        i128::from(self.0).saturating_sub(i128::from(UNIX_EPOCH.0)).saturating_mul(100)
    }

    /// The time in UTC as RFC 3339 has it: with three decimals, or seven if the time is no whole millisecond.
    ///
    /// ```
    /// use tallymon_core::time::FileTime;
    ///
    /// assert_eq!(FileTime(134_143_632_000_000_000).rfc3339(), "2026-01-31T20:00:00.000Z");
    /// assert_eq!(FileTime(134_143_632_000_010_002).rfc3339(), "2026-01-31T20:00:00.0010002Z");
    /// ```
    pub fn rfc3339(self) -> String {
        let SystemTime { year, month, day, hour, minute, second, milliseconds, .. } = self.system_time();
        let date =
            format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milliseconds:03}");
        match self.0 % 10_000 {
            0 => format!("{date}Z"),
            finer => format!("{date}{finer:04}Z"),
        }
    }

    /// The civil date and time in UTC.
    pub fn system_time(self) -> SystemTime {
        let milliseconds = self.0 / 10_000;
        let days = milliseconds / 86_400_000;
        let in_day = milliseconds % 86_400_000;
        // Days count from 1601-01-01, a Monday, and the first day of a 400-year cycle of the calendar.
        let cycle = days / 146_097;
        let mut rest = days % 146_097;
        let century = (rest / 36_524).min(3);
        rest = rest.saturating_sub(century.saturating_mul(36_524));
        let fourth = (rest / 1_461).min(24);
        rest = rest.saturating_sub(fourth.saturating_mul(1_461));
        let one = (rest / 365).min(3);
        rest = rest.saturating_sub(one.saturating_mul(365));
        let year = 1601u64
            .saturating_add(cycle.saturating_mul(400))
            .saturating_add(century.saturating_mul(100))
            .saturating_add(fourth.saturating_mul(4))
            .saturating_add(one);
        let mut month = 1u16;
        for length in month_lengths(year) {
            if rest < length {
                break;
            }
            rest = rest.saturating_sub(length);
            month = month.saturating_add(1);
        }
        let part = |value: u64| u16::try_from(value).unwrap_or(u16::MAX);
        SystemTime {
            year: part(year),
            month,
            day_of_week: part(days.saturating_add(1) % 7),
            day: part(rest.saturating_add(1)),
            hour: part(in_day / 3_600_000),
            minute: part(in_day / 60_000 % 60),
            second: part(in_day / 1_000 % 60),
            milliseconds: part(in_day % 1_000),
        }
    }
}

fn month_lengths(year: u64) -> [u64; 12] {
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    [31, if leap { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
}

/// A `SYSTEMTIME`: a civil date and time with a resolution of one millisecond.
///
/// In a data block it is UTC according to the documentation, but blocks inside logs written by Windows have
/// local time. The file time beside it is always UTC; use that.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct SystemTime {
    /// 1601 to 30827.
    pub year: u16,
    /// 1 to 12.
    pub month: u16,
    /// 0 is Sunday.
    pub day_of_week: u16,
    /// 1 to 31.
    pub day: u16,
    /// 0 to 23.
    pub hour: u16,
    /// 0 to 59.
    pub minute: u16,
    /// 0 to 59.
    pub second: u16,
    /// 0 to 999.
    pub milliseconds: u16,
}

impl SystemTime {
    /// The time of this date. `None` if it is not a date (month 13, 30 February), or is before 1601.
    pub fn file_time(self) -> Option<FileTime> {
        let year = u64::from(self.year);
        let lengths = month_lengths(year);
        let month = usize::from(self.month).checked_sub(1)?;
        let length = *lengths.get(month)?;
        let day = u64::from(self.day).checked_sub(1)?;
        if day >= length || self.hour > 23 || self.minute > 59 || self.second > 59 || self.milliseconds > 999
        {
            return None;
        }
        let years = year.checked_sub(1601)?;
        let leaps = (years / 4).saturating_sub(years / 100).saturating_add(years / 400);
        let days = lengths
            .iter()
            .take(month)
            .fold(years.saturating_mul(365).saturating_add(leaps), |sum, length| sum.saturating_add(*length))
            .saturating_add(day);
        let seconds = days
            .saturating_mul(86_400)
            .saturating_add(u64::from(self.hour).saturating_mul(3_600))
            .saturating_add(u64::from(self.minute).saturating_mul(60))
            .saturating_add(u64::from(self.second));
        let units = seconds
            .saturating_mul(UNITS_PER_SECOND)
            .saturating_add(u64::from(self.milliseconds).saturating_mul(10_000));
        Some(FileTime(units))
    }
}

impl fmt::Display for SystemTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:04}-{:02}-{:02} {:02}:{:02}:{:02}.{:03}",
            self.year, self.month, self.day, self.hour, self.minute, self.second, self.milliseconds
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_times_convert_both_ways() {
        // Dates come from `date -u -d @N`.
        for (unix, text) in [
            (0i128, "1970-01-01 00:00:00.000"),
            (951_782_400, "2000-02-29 00:00:00.000"),
            (951_868_799, "2000-02-29 23:59:59.000"),
            (1_187_106_038, "2007-08-14 15:40:38.000"),
            (4_107_542_400, "2100-03-01 00:00:00.000"),
            (-11_644_473_600, "1601-01-01 00:00:00.000"),
        ] {
            let time = FileTime::from_unix_nanoseconds(unix * 1_000_000_000).expect("in range");
            assert_eq!(alloc::format!("{}", time.system_time()), text);
            assert_eq!(time.system_time().file_time(), Some(time));
            assert_eq!(time.unix_nanoseconds(), unix * 1_000_000_000);
        }
        assert_eq!(UNIX_EPOCH.system_time().day_of_week, 4, "1970-01-01 was a Thursday");
    }

    #[test]
    fn every_day_of_800_years_round_trips() {
        for day in 0..(146_097 * 2) {
            let time = FileTime(day * 86_400 * UNITS_PER_SECOND);
            assert_eq!(time.system_time().file_time(), Some(time), "day {day}");
        }
    }

    #[test]
    fn invalid_dates_have_no_file_time() {
        let date = SystemTime { year: 2025, month: 2, day: 28, ..SystemTime::default() };
        assert!(date.file_time().is_some());
        assert_eq!(SystemTime { day: 29, ..date }.file_time(), None);
        assert_eq!(SystemTime { month: 0, ..date }.file_time(), None);
        assert_eq!(SystemTime { month: 13, ..date }.file_time(), None);
        assert_eq!(SystemTime { hour: 24, ..date }.file_time(), None);
        assert_eq!(SystemTime { year: 1600, ..date }.file_time(), None);
        let _ = FileTime(u64::MAX).system_time();
    }
}
