//! Times as Kerberos writes them: `20261125233000Z`.

use std::time::{SystemTime, UNIX_EPOCH};

/// How far clocks may be apart, in seconds.
pub(super) const SKEW: u32 = 300;

/// The time of this machine.
pub(super) struct Now {
    /// Seconds since 1970.
    pub(super) seconds: u32,
    pub(super) micros: u32,
    pub(super) text: String,
}

pub(super) fn now() -> Now {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let seconds = u32::try_from(since.as_secs()).unwrap_or(u32::MAX);
    let [year, month, day, hour, minute, second] = civil(seconds);
    let text = format!("{year:04}{month:02}{day:02}{hour:02}{minute:02}{second:02}Z");
    Now { seconds, micros: since.subsec_micros(), text }
}

/// A time for people.
pub(super) fn words(seconds: u32) -> String {
    let [year, month, day, hour, minute, second] = civil(seconds);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02} UTC")
}

/// Year, month, day, hour, minute and second.
fn civil(seconds: u32) -> [u32; 6] {
    let (mut days, time) = (seconds / 86_400, seconds % 86_400);
    let mut year = 1970u32;
    let is_leap =
        |year: u32| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    loop {
        let length = 365u32.saturating_add(u32::from(is_leap(year)));
        match days.checked_sub(length) {
            Some(left) => days = left,
            None => break,
        }
        year = year.saturating_add(1);
    }
    let february = 28u32.saturating_add(u32::from(is_leap(year)));
    let mut month = 1u32;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        match days.checked_sub(length) {
            Some(left) => days = left,
            None => break,
        }
        month = month.saturating_add(1);
    }
    [year, month, days.saturating_add(1), time / 3600, time / 60 % 60, time % 60]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_date() {
        // As `date -u -d @SECONDS` prints them.
        for (seconds, expected) in [
            (0, "1970-01-01 00:00:00 UTC"),
            (951_782_399, "2000-02-28 23:59:59 UTC"),
            (951_868_800, "2000-03-01 00:00:00 UTC"),
            (1_798_761_599, "2026-12-31 23:59:59 UTC"),
            (u32::MAX, "2106-02-07 06:28:15 UTC"),
        ] {
            assert_eq!(words(seconds), expected);
        }
    }
}
