//! The performance clock, which the blocks of the registry are stamped with.
#![allow(unsafe_code, reason = "calls the clock of the system")]

use tallymon_core::time::{Frequency, PerfTime};
use windows_sys::Win32::System::Performance::{QueryPerformanceCounter, QueryPerformanceFrequency};

/// The performance clock now, and its ticks per second.
pub fn performance_clock() -> (PerfTime, Frequency) {
    let (mut ticks, mut frequency) = (0i64, 0i64);
    // SAFETY: the number has a place.
    unsafe { QueryPerformanceCounter(&raw mut ticks) };
    // SAFETY: as above.
    unsafe { QueryPerformanceFrequency(&raw mut frequency) };
    (PerfTime(ticks), Frequency(frequency))
}
