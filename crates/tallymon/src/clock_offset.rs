//! How far the clock of another machine is ahead of this one.
//!
//! A data block carries the time of its host. It was read between the question and the answer, so half of the
//! round trip bounds the error of the difference: no protocol of its own is needed, over any connection.

use std::fmt;
use std::time::{Duration, Instant};

use tallymon_core::block::Snapshot;
use tallymon_core::time::{FileTime, UNITS_PER_SECOND};

/// How long a measurement is better than a less exact newer one: clocks drift.
const LASTS: Duration = Duration::from_secs(60);

/// How far the times of a block may differ: Windows counts milliseconds in one of them.
const SAME: u64 = UNITS_PER_SECOND / 10;

/// How far a clock is ahead of this machine's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockOffset {
    /// Units of 100 ns; negative if it is behind.
    ahead: i64,
    /// The largest error, to either side, in units of 100 ns.
    error: u64,
    measured: Instant,
}

impl ClockOffset {
    /// The difference of a clock that showed `shown` at some time between `asked` and `answered` of this
    /// machine's clock.
    pub fn measure(asked: FileTime, answered: FileTime, shown: FileTime) -> ClockOffset {
        let trip = answered.0.saturating_sub(asked.0);
        let middle = asked.0.saturating_add(trip / 2);
        let ahead = i64::try_from(i128::from(shown.0).saturating_sub(i128::from(middle)));
        let ahead = ahead.unwrap_or(if shown.0 > middle { i64::MAX } else { i64::MIN });
        ClockOffset { ahead, error: trip.div_ceil(2), measured: Instant::now() }
    }

    /// The difference of the clock of the host of a data block. `None` if the block has no time, or two that
    /// contradict each other.
    pub fn of_block(asked: FileTime, answered: FileTime, block: &Snapshot) -> Option<ClockOffset> {
        let header = block.header();
        let shown = header.perf_time_100ns;
        let also = header.system_time.file_time();
        // Some servers count `perf_time_100ns` from another epoch; then the calendar date is right.
        let shown = match also {
            Some(date) if date.0.abs_diff(shown.0) > SAME => date,
            Some(_) => shown,
            None => return None,
        };
        (shown.0 > 0).then(|| ClockOffset::measure(asked, answered, shown))
    }

    /// The better of a known difference and a newer one.
    #[must_use]
    pub fn or_newer(self, newer: ClockOffset) -> ClockOffset {
        let is_fresh = newer.measured.saturating_duration_since(self.measured) < LASTS;
        // If the offsets disagree, the clock was set: take the newer one.
        let agrees = self.ahead.abs_diff(newer.ahead) <= self.error.saturating_add(newer.error);
        if is_fresh && agrees && self.error <= newer.error { self } else { newer }
    }

    /// How far it is ahead, in seconds; negative if it is behind.
    pub fn seconds(self) -> f64 {
        self.ahead as f64 / UNITS_PER_SECOND as f64
    }

    /// The largest error, in seconds.
    pub fn error_seconds(self) -> f64 {
        self.error as f64 / UNITS_PER_SECOND as f64
    }

    /// Whether the clocks differ by more than the round trip explains.
    pub const fn is_certain(self) -> bool {
        self.ahead.unsigned_abs() > self.error
    }
}

impl fmt::Display for ClockOffset {
    /// `+2.45 s`, `-3 ms`; `±4 ms` if the round trip explains the difference.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (sign, seconds) = match (self.is_certain(), self.ahead < 0) {
            (false, _) => ("±", self.error_seconds()),
            (true, true) => ("-", self.seconds().abs()),
            (true, false) => ("+", self.seconds()),
        };
        match seconds {
            ..0.001 => write!(f, "{sign}{:.1} ms", seconds * 1e3),
            ..1.0 => write!(f, "{sign}{:.0} ms", seconds * 1e3),
            ..120.0 => write!(f, "{sign}{seconds:.2} s"),
            ..7_200.0 => write!(f, "{sign}{:.0} min", seconds / 60.0),
            _ => write!(f, "{sign}{:.0} h", seconds / 3_600.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = UNITS_PER_SECOND;

    #[test]
    fn offsets_in_words() {
        let base = 134_000_000 * SECOND;
        for (trip, ahead, words, is_certain) in [
            (SECOND / 250, 0, "±2 ms", false),
            (SECOND / 10_000, 0, "±0.1 ms", false),
            (SECOND / 250, (SECOND / 500).cast_signed(), "±2 ms", false),
            (SECOND / 250, (SECOND / 100).cast_signed(), "+10 ms", true),
            (SECOND / 250, -(2 * SECOND + SECOND / 2).cast_signed(), "-2.50 s", true),
            (0, (SECOND * 600).cast_signed(), "+10 min", true),
            (SECOND, -(SECOND * 86_400).cast_signed(), "-24 h", true),
        ] {
            let middle = base + trip / 2;
            let shown = FileTime(middle.saturating_add_signed(ahead));
            let offset = ClockOffset::measure(FileTime(base), FileTime(base + trip), shown);
            assert_eq!((offset.to_string().as_str(), offset.is_certain()), (words, is_certain));
        }
        // Nothing overflows, whatever a host says, and with a clock that was set back between the two.
        for shown in [0, u64::MAX] {
            let offset = ClockOffset::measure(FileTime(10), FileTime(5), FileTime(shown));
            assert!(offset.seconds().is_finite(), "{offset}");
        }
    }

    #[test]
    fn the_most_exact_measurement_stays() {
        let (asked, shown) = (FileTime(100 * SECOND), FileTime(101 * SECOND));
        let at = |trip: u64| ClockOffset::measure(asked, FileTime(asked.0 + trip), shown);
        let (exact, rough) = (at(SECOND / 1_000), at(SECOND / 10));
        assert_eq!(exact.or_newer(rough), exact);
        assert_eq!(rough.or_newer(exact), exact);
        // The clock there was set.
        let set = ClockOffset::measure(asked, FileTime(asked.0 + SECOND), FileTime(shown.0 + 3_600 * SECOND));
        assert_eq!(exact.or_newer(set), set);
    }
}
