//! Kernel counters that should never decrease, but sometimes do.

/// A counter that now and then goes back a little, as the idle and iowait times of `/proc/stat` do.
///
/// After a small step back it stays at its highest value. A large step back is a restart, for example of a
/// CPU that was unplugged and plugged in again: it is passed on, and the reader sees the counter go backwards
/// once.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct MonotonicCounter {
    highest: u64,
}

impl MonotonicCounter {
    /// The value to publish for the value read. A step back of `restart` or more is no jitter.
    pub(crate) fn step(&mut self, value: u64, restart: u64) -> u64 {
        if value >= self.highest || self.highest.saturating_sub(value) >= restart {
            self.highest = value;
        }
        self.highest
    }
}

/// Extends a counter that the kernel prints with 32 bits, as the times of `/proc/diskstats`, to 64 bits.
///
/// It has to be read at least once per wrap of 32 bits: 49 days of waiting, less with many concurrent
/// requests.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct WrappingCounter {
    seen: Option<u64>,
    wraps: u64,
}

impl WrappingCounter {
    /// The 64-bit value for the 32-bit value read. A larger number comes from a kernel that prints more bits.
    pub(crate) fn step(&mut self, value: u64) -> u64 {
        const ROUND: u64 = 1 << 32;
        if let Some(seen) = self.seen
            && value < seen
            && seen < ROUND
            // A step from the upper to the lower quarter is a wrap. Anything else is a device that started
            // again.
            && seen > ROUND / 4 * 3
            && value < ROUND / 4
        {
            self.wraps = self.wraps.wrapping_add(ROUND);
        }
        self.seen = Some(value);
        self.wraps.wrapping_add(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_decreases_are_held_and_large_ones_passed_on() {
        let mut rising = MonotonicCounter::default();
        let published: Vec<u64> =
            [100, 130, 128, 131, 20, 25].iter().map(|value| rising.step(*value, 30)).collect();
        assert_eq!(published, [100, 130, 130, 131, 20, 25]);
    }

    #[test]
    fn a_wrap_is_extended_and_a_restart_is_not() {
        let mut wide = WrappingCounter::default();
        let top = u64::from(u32::MAX);
        let published: Vec<u64> = [5, top - 4, 10, 20, 3].iter().map(|value| wide.step(*value)).collect();
        assert_eq!(published, [5, top - 4, top + 11, top + 21, top + 4]);
        // A kernel with 64-bit times needs no extension.
        let mut wide = WrappingCounter::default();
        assert_eq!((wide.step(1 << 40), wide.step(3)), (1 << 40, 3));
    }
}
