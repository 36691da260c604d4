//! The clocks of the machine and of its processes.
//!
//! This file has unsafe code: the kernel's number for the CPU clock of another process is not accepted by any
//! safe interface, so one call goes through the C library.

use rustix::time::{ClockId, Timespec};
use tallymon_core::time::UNIX_EPOCH;

/// The same moment on the two clocks that a sample needs, which are read some 30 ns apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Moment {
    /// Nanoseconds since boot, including sleep (CLOCK_BOOTTIME): never steps, never goes back.
    pub since_boot: u64,
    /// Nanoseconds since 1970-01-01 00:00 UTC (CLOCK_REALTIME): steps when the clock is set.
    pub civil: u64,
}

impl Moment {
    /// The present moment.
    pub(crate) fn now() -> Moment {
        Moment {
            since_boot: since_boot(),
            civil: nanoseconds(rustix::time::clock_gettime(ClockId::Realtime)),
        }
    }

    /// The wall clock time as NT counts it: 100 ns units since 1601-01-01 00:00 UTC.
    ///
    /// file time = civil / 100 + 116 444 736 000 000 000
    pub(crate) fn file_time(self) -> u64 {
        (self.civil / 100).saturating_add(UNIX_EPOCH.0)
    }
}

/// [`Moment::since_boot`] alone.
pub(crate) fn since_boot() -> u64 {
    nanoseconds(rustix::time::clock_gettime(ClockId::Boottime))
}

/// The CPU time that the process `pid` has used, all its threads together, in nanoseconds.
///
/// This costs a tenth of reading `/proc/PID/stat` (0.37 µs) and is exact to the nanosecond, but does not
/// separate user and kernel time. `None` when there is no such process, when `pid` is a thread other than the
/// first of its process, and for 0 (which the kernel would take for the caller itself).
pub fn process_cpu_time(pid: u32) -> Option<u64> {
    let pid = libc::pid_t::try_from(pid).ok().filter(|pid| *pid > 0)?;
    let clock = (!pid << 3) | CPU_CLOCK_OF_SCHEDULER;
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: clock_gettime writes one timespec through the pointer and nothing else: the pointer is to a
    // live, aligned, exclusively borrowed timespec. Any clock number is allowed, one that names no clock
    // makes the call fail.
    let result = unsafe { libc::clock_gettime(clock, &raw mut time) };
    if result != 0 {
        return None;
    }
    let seconds = u64::try_from(time.tv_sec).ok()?;
    let rest = u64::try_from(time.tv_nsec).ok()?;
    seconds.checked_mul(1_000_000_000)?.checked_add(rest)
}

/// Whether the CPU clocks of processes are finer than a system call, so that an unchanged clock shows that
/// its process has not run.
///
/// They are on every machine with a cycle counter. Elsewhere the scheduler counts its own ticks, and work
/// between two ticks may never show.
pub(crate) fn process_clocks_show_runs() -> bool {
    let own = std::process::id();
    let mut last = process_cpu_time(own);
    // A tick may fall between two of these readings, but hardly between all of them.
    (0..4).all(|_| {
        let before = std::mem::replace(&mut last, process_cpu_time(own));
        before.is_some() && before < last
    })
}

/// CPUCLOCK_SCHED of the kernel: the time that the scheduler accounts, to the nanosecond.
const CPU_CLOCK_OF_SCHEDULER: libc::clockid_t = 2;

/// A kernel time in nanoseconds: 0 for negative times, the largest number beyond 584 years.
fn nanoseconds(time: Timespec) -> u64 {
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let rest = u64::try_from(time.tv_nsec).unwrap_or(0);
    seconds.saturating_mul(1_000_000_000).saturating_add(rest)
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

    use super::*;

    #[test]
    fn clocks_agree_with_those_of_the_standard_library() {
        let before = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos();
        let first = Moment::now();
        std::thread::sleep(Duration::from_millis(5));
        let second = Moment::now();
        let after = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos();
        assert!(before <= u128::from(first.civil) && u128::from(second.civil) <= after);
        assert!(second.since_boot - first.since_boot >= 5_000_000);
    }

    #[test]
    fn file_time_counts_from_1601() {
        // 2000-01-01 00:00 UTC.
        let moment = Moment { since_boot: 0, civil: 946_684_800_000_000_000 };
        assert_eq!(moment.file_time(), 125_911_584_000_000_000);
    }

    #[test]
    fn process_clocks_of_this_machine_show_runs() {
        assert!(process_clocks_show_runs());
    }

    #[test]
    fn cpu_time_of_processes() {
        let own = std::process::id();
        let before = process_cpu_time(own).unwrap();
        let start = Instant::now();
        let mut rounds = 0_u64;
        while process_cpu_time(own).unwrap() < before + 20_000_000 {
            rounds += 1;
            assert!(start.elapsed() < Duration::from_secs(60), "{rounds} rounds without 20 ms of CPU time");
        }
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let child_time = process_cpu_time(child.id());
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(child_time.is_some_and(|time| time < 10_000_000_000));
        assert_eq!(process_cpu_time(child.id()), None);
        assert_eq!(process_cpu_time(0), None);
        assert_eq!(process_cpu_time(u32::MAX), None);
    }
}
