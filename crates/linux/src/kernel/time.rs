//! The clocks that values and blocks carry, and the name of this machine.

use std::sync::OnceLock;

use tallymon_provider::{FileTime, Frequency, PerfTime};

use super::clock::{Moment, since_boot};

/// All clocks at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Clocks {
    /// CLOCK_BOOTTIME in 100 ns units: it includes sleep, like NT's performance counter.
    pub perf_time: PerfTime,
    /// 10 MHz.
    pub perf_freq: Frequency,
    /// UTC that never steps: the wall clock at the first call in this process, plus the boot time passed
    /// since.
    pub steady: FileTime,
    /// UTC as the wall clock shows it.
    pub civil: FileTime,
}

/// Reads all clocks.
pub fn clocks() -> Clocks {
    let now = Moment::now();
    let since_boot = now.since_boot / 100;
    Clocks {
        perf_time: PerfTime(i64::try_from(since_boot).unwrap_or(i64::MAX)),
        perf_freq: FREQUENCY,
        steady: FileTime(boot_time().0.saturating_add(since_boot)),
        civil: FileTime(now.file_time()),
    }
}

/// Reads the steady clock.
pub(crate) fn steady() -> FileTime {
    FileTime(boot_time().0.saturating_add(since_boot() / 100))
}

/// Ticks per second of all clocks in a block.
pub(crate) const FREQUENCY: Frequency = Frequency(10_000_000);

/// When the boot time clock was 0, on the steady clock. It is fixed while this process lives, so start times
/// of processes do not change when the clock is set.
pub(crate) fn boot_time() -> FileTime {
    static BOOT_TIME: OnceLock<FileTime> = OnceLock::new();
    *BOOT_TIME.get_or_init(|| {
        let now = Moment::now();
        FileTime(now.file_time().saturating_sub(now.since_boot / 100))
    })
}

/// The name of this machine as NT would show it: without the domain.
pub fn host_name() -> String {
    let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
    name.split('.').next().unwrap_or_default().to_string()
}
