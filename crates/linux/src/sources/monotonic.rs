//! Counters of the kernel that should only rise, and do not always.

/// A counter that steps back a little now and then, as idle and iowait times of `/proc/stat` do.
///
/// A small step back is held at the highest value seen. A large one is a new start, as when a processor was unplugged
/// and plugged in again: it is passed on, and the reader sees that the counter went backwards once.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct MonotonicCounter {
    highest: u64,
}

impl MonotonicCounter {
    /// The value to publish for one that was read; `restart` is how far back is no jitter any more.
    pub(crate) fn step(&mut self, value: u64, restart: u64) -> u64 {
        if value >= self.highest || self.highest.saturating_sub(value) >= restart {
            self.highest = value;
        }
        self.highest
    }
}

/// A 64-bit counter out of one that the kernel prints with 32 bits, as the times of `/proc/diskstats` are.
///
/// It has to be read at least once in the time that 32 bits take to wrap around: 49 days of waiting, and less with many
/// requests at a time.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct WrappingCounter {
    seen: Option<u64>,
    wraps: u64,
}

impl WrappingCounter {
    /// The 64-bit value for a 32-bit one that was read. A number above 32 bits is from a kernel that has more.
    pub(crate) fn step(&mut self, value: u64) -> u64 {
        const ROUND: u64 = 1 << 32;
        if let Some(seen) = self.seen
            && value < seen
            && seen < ROUND
            // From the upper to the lower quarter: it went around. Anything else is a device that started again.
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
    fn small_steps_back_are_held_and_large_ones_passed_on() {
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
        // A kernel with 64-bit times needs nothing.
        let mut wide = WrappingCounter::default();
        assert_eq!((wide.step(1 << 40), wide.step(3)), (1 << 40, 3));
    }
}
