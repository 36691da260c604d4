//! Quanta: the steps in which raw values grow, which bound the error of a rate.

use tallymon_provider::{CounterSpec, CounterType, TitleIndex};

/// The quantum of times in ticks, in 100 ns units: the kernel shows 100 ticks a second, whatever it counts
/// internally.
pub(crate) const TICK: u64 = 100_000;

/// The quantum of disk times, in 100 ns units: milliseconds.
pub(crate) const MILLISECOND: u64 = 10_000;

/// The quantum of bytes read and written by disks: a sector, whatever the disk.
pub(crate) const SECTOR: u64 = 512;

/// The quantum of a counter: ticks for times, 1 for counts.
pub(crate) fn quantum_of_ticks(counters: &[CounterSpec], position: usize) -> u64 {
    match counters.get(position).map(|counter| counter.counter_type) {
        Some(CounterType::PERF_100NSEC_TIMER | CounterType::PERF_100NSEC_TIMER_INV) => TICK,
        _ => 1,
    }
}

/// The quantum of a counter of Process or Thread: the CPU clock is exact, but the files have user and kernel
/// time in ticks.
pub(crate) fn quantum_of_parts(counters: &[CounterSpec], position: usize) -> u64 {
    /// % User Time and % Privileged Time.
    const PARTS: [TitleIndex; 2] = [TitleIndex(142), TitleIndex(144)];
    let is_part = counters.get(position).is_some_and(|counter| PARTS.contains(&counter.name));
    if is_part { TICK } else { 1 }
}

/// Whether a counter is a share of time; for those, NT shows the mean of CPUs and disks.
pub(crate) fn is_share_of_time(counters: &[CounterSpec], position: usize) -> bool {
    let kind = counters.get(position).map(|counter| counter.counter_type);
    matches!(
        kind,
        Some(
            CounterType::PERF_100NSEC_TIMER
                | CounterType::PERF_100NSEC_TIMER_INV
                | CounterType::PERF_PRECISION_100NS_TIMER
        )
    )
}
