//! The kernel's text files, each parsed by a pure function from bytes to a structure.
//!
//! A parser takes the bytes of a whole file and returns its content in the file's own units; [`SystemFacts`]
//! converts those units into NT's. Nothing here opens a file, reads a clock or keeps state between two calls.
//!
//! Columns and keys are found by name wherever the file has names. A value that the kernel does not print is
//! `None`; a malformed one is a [`ParseError`] with file, line and column.

use tallymon_core::time::FileTime;

pub(crate) mod cifs_stats;
mod columns;
pub(crate) mod cpuidle;
pub(crate) mod cpuinfo;
pub(crate) mod diskstats;
pub(crate) mod drm_fdinfo;
pub(crate) mod error;
pub(crate) mod flat;
pub(crate) mod interrupts;
pub(crate) mod loadavg;
pub(crate) mod meminfo;
pub(crate) mod mountinfo;
pub(crate) mod mountstats;
pub(crate) mod pid_cmdline;
pub(crate) mod pid_io;
pub(crate) mod pid_schedstat;
pub(crate) mod pid_stat;
pub(crate) mod pid_statm;
pub(crate) mod pid_status;
pub(crate) mod scan;
pub(crate) mod snmp;
pub(crate) mod snmp6;
pub(crate) mod softirqs;
pub(crate) mod stat;
pub(crate) mod swaps;
pub(crate) mod sysvipc;
pub(crate) mod tdb;
pub(crate) mod vmstat;

#[cfg(test)]
pub(crate) mod fixture;
#[cfg(test)]
mod fixture_tests;

pub(crate) use error::ParseError;

/// Constants of the running machine, on which the units of the files depend.
///
/// Passed as a value, so that a test can use another machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SystemFacts {
    /// Bytes per page of memory, 4096 on most machines.
    pub page_size: u64,
    /// Ticks per second of the times in `/proc` (`USER_HZ`, `sysconf(_SC_CLK_TCK)`), 100 on nearly every
    /// machine.
    pub ticks_per_second: u64,
    /// The time at which the boot time clock was 0; it moves when the clock is set.
    pub boot_time: FileTime,
    /// CPUs that can be online, at least 1.
    pub cpu_count: u32,
}

impl SystemFacts {
    /// `ticks x 10^7 / ticks_per_second`: 100 ns units; 0 when the tick rate is 0.
    ///
    /// Wraps above 2^64 units (58 000 years), as a counter does.
    pub(crate) fn ticks_to_100ns(&self, ticks: u64) -> u64 {
        let units = u128::from(ticks).saturating_mul(u128::from(tallymon_core::time::UNITS_PER_SECOND));
        low_64(units.checked_div(u128::from(self.ticks_per_second)).unwrap_or(0))
    }

    /// `pages x page_size`: bytes, at most 2^64 - 1.
    pub(crate) fn pages_to_bytes(&self, pages: u64) -> u64 {
        pages.saturating_mul(self.page_size)
    }

    /// `boot_time + ticks`: the time so many ticks after boot, at most the last file time.
    pub(crate) fn time_at(&self, ticks_since_boot: u64) -> FileTime {
        FileTime(self.boot_time.0.saturating_add(self.ticks_to_100ns(ticks_since_boot)))
    }
}

/// `kib x 1024`: bytes, at most 2^64 - 1. What the kernel prints as `kB` is 1024 bytes.
pub(crate) fn kib_to_bytes(kib: u64) -> u64 {
    kib.saturating_mul(1024)
}

/// `microseconds x 10`: 100 ns units; wraps as a counter does.
pub(crate) fn microseconds_to_100ns(microseconds: u64) -> u64 {
    microseconds.wrapping_mul(10)
}

/// `nanoseconds / 100`: 100 ns units, rounded down.
pub(crate) fn nanoseconds_to_100ns(nanoseconds: u64) -> u64 {
    nanoseconds / 100
}

/// The lowest 64 bits: a counter that is too large wraps.
fn low_64(number: u128) -> u64 {
    u64::try_from(number & u128::from(u64::MAX)).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units() {
        let facts = SystemFacts {
            page_size: 4096,
            ticks_per_second: 100,
            boot_time: FileTime(132_000_000_000_000_000),
            cpu_count: 2,
        };
        assert_eq!(facts.ticks_to_100ns(3), 300_000);
        assert_eq!(facts.pages_to_bytes(2), 8192);
        assert_eq!(facts.pages_to_bytes(u64::MAX), u64::MAX);
        assert_eq!(facts.time_at(100), FileTime(132_000_000_010_000_000));
        assert_eq!(facts.time_at(u64::MAX / 100_000), FileTime(u64::MAX));
        let odd = SystemFacts { ticks_per_second: 1024, ..facts };
        assert_eq!(odd.ticks_to_100ns(1024), 10_000_000);
        let none = SystemFacts { ticks_per_second: 0, ..facts };
        assert_eq!(none.ticks_to_100ns(5), 0);
        assert_eq!(kib_to_bytes(3), 3072);
        assert_eq!(microseconds_to_100ns(7), 70);
        assert_eq!(nanoseconds_to_100ns(199), 1);
    }
}
