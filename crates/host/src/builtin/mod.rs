//! The built-in objects of the system that this program was compiled for, or the registry that has them.

use tallymon_core::time::{FileTime, Frequency, PerfTime};

#[cfg(not(target_os = "linux"))]
mod portable;
#[cfg_attr(target_os = "linux", path = "linux.rs")]
#[cfg_attr(windows, path = "windows.rs")]
#[cfg_attr(not(any(target_os = "linux", windows)), path = "none.rs")]
mod system;

#[cfg(all(test, target_os = "linux"))]
mod reference_tests;

#[cfg(windows)]
pub(crate) use system::published;
pub(crate) use system::{
    clocks, findings, interface_addresses, origin, processes, processor_name, providers, published_indexes,
    system_name, system_source,
};

/// All clocks at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Clocks {
    /// Performance clock; it counts through sleep.
    pub perf_time: PerfTime,
    /// Its ticks per second.
    pub perf_freq: Frequency,
    /// UTC on a clock that does not jump: the civil time at the first reading plus the performance clock
    /// since then.
    pub time_100ns: FileTime,
    /// UTC as the civil clock shows it.
    pub system_time: FileTime,
}
