//! The clock of the profiler: the time stamp counter where it is steady, else the system's monotonic clock.
//!
//! Reading the counter takes a third to a fifth of the time of the system's clock, and every call reads the
//! clock twice. The counter is steady when the processor says so (`constant_tsc`, `nonstop_tsc`) and, on
//! Linux, the kernel itself trusts it as its clock. Its rate is not measured in advance: the file keeps pairs
//! of ticks and nanoseconds, and a reader divides.
//!
//! Unsafe code is here for one instruction, in a file for each processor. It touches no memory.

#[cfg_attr(target_arch = "x86_64", path = "x86_64.rs")]
#[cfg_attr(target_arch = "aarch64", path = "aarch64.rs")]
mod counter;

use crate::layout::{CLOCK_MONOTONIC, CLOCK_TSC};
use crate::settings::ClockChoice;
use crate::system::{counter_is_steady, nanoseconds};
use std::sync::atomic::{AtomicU32, Ordering};

/// The kind of clock in use, `CLOCK_MONOTONIC` until [`choose`] selects one.
static KIND: AtomicU32 = AtomicU32::new(CLOCK_MONOTONIC);

/// Chooses the clock of this process and returns its kind. Called once, before anything is measured.
pub(crate) fn choose(choice: ClockChoice) -> u32 {
    let kind = if choice == ClockChoice::Auto && counter_is_steady() { CLOCK_TSC } else { CLOCK_MONOTONIC };
    KIND.store(kind, Ordering::Relaxed);
    kind
}

/// The current ticks.
#[inline(always)]
pub(crate) fn now() -> u64 {
    if KIND.load(Ordering::Relaxed) == CLOCK_TSC { counter::ticks() } else { nanoseconds() }
}

/// A pair of ticks and nanoseconds read together: the one of three tries that took the fewest ticks.
pub(crate) fn pair() -> (u64, u64) {
    let mut best = (u64::MAX, 0, 0);
    for _ in 0..3 {
        let before = now();
        let nanoseconds = nanoseconds();
        let took = now().saturating_sub(before);
        if took < best.0 {
            best = (took, before.wrapping_add(took / 2), nanoseconds);
        }
    }
    (best.1, best.2)
}

/// So many nanoseconds in ticks, by what passes in a fifth of a millisecond.
pub(crate) fn ticks(nanoseconds: u64) -> u64 {
    const ENOUGH: u64 = 200_000;
    let first = pair();
    let mut last = pair();
    // A clock that does not run ends this too.
    for _ in 0..100_000 {
        if last.1.saturating_sub(first.1) >= ENOUGH {
            break;
        }
        last = pair();
    }
    let (ticks, passed) = (last.0.saturating_sub(first.0), last.1.saturating_sub(first.1).max(1));
    let ticks = u128::from(nanoseconds).saturating_mul(ticks.into()).checked_div(passed.into());
    ticks.and_then(|ticks| u64::try_from(ticks).ok()).unwrap_or(u64::MAX)
}

/// The cost of reading the clock twice, in 1/256 tick: the smallest of some rounds.
pub(crate) fn cost() -> u64 {
    const LOOKS: u64 = 64;
    let round = |_| {
        let start = now();
        for _ in 0..LOOKS {
            std::hint::black_box(now());
        }
        now().saturating_sub(start).saturating_mul(2 * 256) / LOOKS
    };
    (0..16).map(round).min().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_run_forward_together() {
        choose(ClockChoice::Auto);
        let (ticks, nanoseconds) = pair();
        std::thread::sleep(std::time::Duration::from_millis(5));
        let (later_ticks, later_nanoseconds) = pair();
        assert!(later_nanoseconds - nanoseconds >= 5_000_000);
        // From an arm's 24 MHz counter to a processor of 10 GHz.
        let rate = (later_ticks - ticks) as f64 / (later_nanoseconds - nanoseconds) as f64;
        assert!((0.02..10.0).contains(&rate), "{rate} ticks per nanosecond");
        let second = super::ticks(1_000_000_000) as f64;
        assert!((second / (rate * 1e9) - 1.0).abs() < 0.2, "{second} ticks per second");
    }
}
