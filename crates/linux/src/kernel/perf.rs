//! Event counters of a CPU: hardware events, and a few of the kernel.
//!
//! This file has unsafe code: no safe interface opens such a counter. Events are counted while the descriptor
//! is open, so it is opened only when an object needs it.

use std::os::fd::{FromRawFd, OwnedFd};

use rustix::io::Errno;

/// The event to count: its kind and number, as in the kernel's `linux/perf_event.h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Event {
    /// `PERF_TYPE_HARDWARE` is 0, `PERF_TYPE_SOFTWARE` is 1.
    pub kind: u32,
    /// The number of the event within its kind.
    pub config: u64,
}

/// An open counter of one event on one CPU.
#[derive(Debug)]
pub(crate) struct PerfCounter {
    file: OwnedFd,
}

/// `struct perf_event_attr` of its first version, in 8-byte words: type and size, config, period, sample
/// type, read format, flags, wakeup and breakpoint type, breakpoint address.
#[repr(C)]
struct Attributes {
    kind: u32,
    size: u32,
    config: u64,
    period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup: u32,
    breakpoint_type: u32,
    breakpoint_address: u64,
}

/// The size of the first version, which every kernel accepts.
const SIZE: u32 = 64;
const _: () = assert!(size_of::<Attributes>() == 64);

/// The result also contains how long the event was enabled and how long it was counted.
const TIMES: u64 = 3;

impl PerfCounter {
    /// Begins to count an event of all programs on a CPU.
    ///
    /// # Errors
    ///
    /// The CPU or the kernel does not have the event (ENOENT, EOPNOTSUPP), or counting is not allowed
    /// (EACCES, EPERM): it needs CAP_PERFMON, or a `kernel.perf_event_paranoid` of 0 or less.
    pub(crate) fn open(event: Event, processor: u32) -> Result<PerfCounter, Errno> {
        let attributes = Attributes {
            kind: event.kind,
            size: SIZE,
            config: event.config,
            period: 0,
            sample_type: 0,
            read_format: TIMES,
            flags: 0,
            wakeup: 0,
            breakpoint_type: 0,
            breakpoint_address: 0,
        };
        let processor = i32::try_from(processor).map_err(|_| Errno::INVAL)?;
        const CLOSE_ON_EXEC: libc::c_ulong = 8;
        // SAFETY: the kernel reads `size` bytes at the pointer, which are those of `attributes`, and keeps no
        // pointer to them.
        let result = unsafe {
            libc::syscall(libc::SYS_perf_event_open, &raw const attributes, -1, processor, -1, CLOSE_ON_EXEC)
        };
        match i32::try_from(result) {
            // SAFETY: the kernel has just opened this descriptor for us, and nobody else owns it.
            Ok(file) if file >= 0 => Ok(PerfCounter { file: unsafe { OwnedFd::from_raw_fd(file) } }),
            _ => Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::INVAL)),
        }
    }

    /// How often the event happened since the counter was opened. A CPU with too few hardware counters
    /// alternates between events; the count is then scaled by time.
    ///
    /// count * time enabled / time counted
    ///
    /// # Errors
    ///
    /// The CPU is gone.
    pub(crate) fn read(&self) -> Result<u64, Errno> {
        let mut bytes = [0_u8; 24];
        let length = crate::kernel::reusable_file::retry(|| rustix::io::read(&self.file, &mut bytes))?;
        // The counter of an offline CPU reads as an empty file.
        if length != bytes.len() {
            return Err(Errno::NODEV);
        }
        let (words, _) = bytes.as_chunks::<8>();
        #[allow(clippy::host_endian_bytes, reason = "the kernel answers in the order of the machine")]
        let mut words = words.iter().map(|word| u64::from_ne_bytes(*word));
        let mut next = || words.next().unwrap_or(0);
        Ok(scaled(next(), next(), next()))
    }
}

fn scaled(count: u64, wanted: u64, counted: u64) -> u64 {
    let all = u128::from(count).saturating_mul(u128::from(wanted)).checked_div(u128::from(counted));
    u64::try_from(all.unwrap_or(0)).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_scaled_when_events_alternate() {
        assert_eq!(scaled(10, 100, 100), 10);
        assert_eq!(scaled(10, 100, 25), 40);
        assert_eq!(scaled(10, 100, 0), 0, "it was never counted");
        assert_eq!(scaled(u64::MAX, 3, 1), u64::MAX);
    }

    /// Page faults, which the kernel counts itself on every machine.
    #[test]
    fn faults_of_the_running_kernel() {
        let counters: Result<Vec<PerfCounter>, Errno> = (0..std::thread::available_parallelism()
            .map_or(1, usize::from))
            .map(|cpu| PerfCounter::open(Event { kind: 1, config: 2 }, u32::try_from(cpu).unwrap()))
            .collect();
        let counters = match counters {
            Ok(counters) => counters,
            Err(error) => {
                return tallymon_testkit::skip(&format!(
                    "events of all programs may not be counted here ({error})"
                ));
            }
        };
        let sum = || counters.iter().map(|counter| counter.read().unwrap()).sum::<u64>();
        let before = sum();
        // The memory of this process may be mapped already, or use huge pages; a starting program has neither
        // problem.
        for _ in 0..5 {
            assert!(std::process::Command::new("true").status().unwrap().success());
        }
        assert!(sum() - before >= 100, "{} {before}", sum());
        assert_eq!(PerfCounter::open(Event { kind: 1, config: 999 }, 0).unwrap_err(), Errno::NOENT);
        assert!(PerfCounter::open(Event { kind: 1, config: 2 }, u32::MAX).is_err());
    }
}
