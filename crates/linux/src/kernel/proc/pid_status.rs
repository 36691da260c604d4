//! `/proc/PID/status` and `/proc/PID/task/TID/status`: a process or thread as `Key: value` lines.
//!
//! Only the keys that no cheaper file has are read. Sizes are in KiB, which the file calls `kB`.

use super::error::ParseError;
use super::scan::lines;

const FILE: &str = "/proc/PID/status";

/// The content of `/proc/PID/status`.
///
/// Kernel threads and zombies have no memory and no `Vm` or `Rss` lines; those fields are `None` then.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PidStatus {
    /// `Tgid`: the process id, also for a thread.
    pub process: Option<u64>,
    /// `Uid`: the first of its numbers, the real user.
    pub user: Option<u64>,
    /// `Threads`: threads of the process.
    pub threads: Option<u64>,
    /// `VmPeak`: the largest address space so far, in KiB, since kernel 2.6.15.
    pub virtual_peak: Option<u64>,
    /// `VmSize`: address space, in KiB.
    pub virtual_size: Option<u64>,
    /// `VmHWM`: the largest resident size so far, in KiB, since kernel 2.6.15.
    pub resident_peak: Option<u64>,
    /// `VmRSS`: memory in RAM, in KiB.
    pub resident: Option<u64>,
    /// `RssAnon`: the anonymous part of it, in KiB, since kernel 4.5.
    pub resident_anon: Option<u64>,
    /// `RssFile`: the file part of it, in KiB, since kernel 4.5.
    pub resident_file: Option<u64>,
    /// `RssShmem`: the shared memory part of it, in KiB, since kernel 4.5.
    pub resident_shared: Option<u64>,
    /// `VmData`: address space of private data, reserved but unused parts included, in KiB.
    pub data: Option<u64>,
    /// `VmPTE`: page tables, in KiB, since kernel 2.6.10.
    pub page_tables: Option<u64>,
    /// `VmSwap`: memory in swap areas, without shared memory, in KiB, since kernel 2.6.34.
    pub swap: Option<u64>,
    /// `voluntary_ctxt_switches`: how often this thread gave up its CPU to wait, since kernel 2.6.23.
    ///
    /// For a process this is the first thread alone.
    pub voluntary_switches: Option<u64>,
    /// `nonvoluntary_ctxt_switches`: how often this thread was preempted, since kernel 2.6.23.
    pub involuntary_switches: Option<u64>,
}

impl PidStatus {
    /// Parses the whole file; other keys are skipped.
    ///
    /// # Errors
    ///
    /// A known key without a number.
    pub(crate) fn parse(bytes: &[u8]) -> Result<PidStatus, ParseError> {
        let mut status = PidStatus::default();
        for line in lines(FILE, bytes) {
            let Some((key, mut fields)) = line.key_and_fields() else {
                continue;
            };
            let (slot, column) = match key {
                b"Tgid" => (&mut status.process, "Tgid"),
                b"Uid" => (&mut status.user, "Uid"),
                b"Threads" => (&mut status.threads, "Threads"),
                b"VmPeak" => (&mut status.virtual_peak, "VmPeak"),
                b"VmSize" => (&mut status.virtual_size, "VmSize"),
                b"VmHWM" => (&mut status.resident_peak, "VmHWM"),
                b"VmRSS" => (&mut status.resident, "VmRSS"),
                b"RssAnon" => (&mut status.resident_anon, "RssAnon"),
                b"RssFile" => (&mut status.resident_file, "RssFile"),
                b"RssShmem" => (&mut status.resident_shared, "RssShmem"),
                b"VmData" => (&mut status.data, "VmData"),
                b"VmPTE" => (&mut status.page_tables, "VmPTE"),
                b"VmSwap" => (&mut status.swap, "VmSwap"),
                b"voluntary_ctxt_switches" => (&mut status.voluntary_switches, "voluntary_ctxt_switches"),
                b"nonvoluntary_ctxt_switches" => {
                    (&mut status.involuntary_switches, "nonvoluntary_ctxt_switches")
                }
                _ => continue,
            };
            *slot = Some(fields.number(column)?);
        }
        Ok(status)
    }

    /// `voluntary + nonvoluntary`: all context switches of this thread; wraps as a counter does.
    pub(crate) fn context_switches(&self) -> Option<u64> {
        Some(self.voluntary_switches?.wrapping_add(self.involuntary_switches?))
    }

    /// `RssAnon + VmSwap` in KiB, the closest to NT's private bytes.
    ///
    /// `None` when the kernel does not print `RssAnon`; without a `VmSwap` line nothing is in swap areas.
    pub(crate) fn private(&self) -> Option<u64> {
        Some(self.resident_anon?.saturating_add(self.swap.unwrap_or(0)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{check_damage, fixture};
    use super::*;

    #[test]
    fn current_kernel() {
        let status = PidStatus::parse(&fixture("6.18/pid/status")).unwrap();
        let expected = PidStatus {
            process: status.process,
            user: Some(0),
            threads: Some(1),
            virtual_peak: Some(2920),
            virtual_size: Some(2920),
            resident_peak: Some(1784),
            resident: Some(1784),
            resident_anon: Some(108),
            resident_file: Some(1676),
            resident_shared: Some(0),
            data: Some(224),
            page_tables: Some(40),
            swap: Some(0),
            voluntary_switches: Some(1),
            involuntary_switches: Some(0),
        };
        assert_eq!(status, expected);
        assert!(status.process.is_some());
        assert_eq!((status.context_switches(), status.private()), (Some(1), Some(108)));
    }

    #[test]
    fn kernel_thread_has_no_memory() {
        let status = PidStatus::parse(&fixture("6.18/kthread/status")).unwrap();
        assert_eq!((status.process, status.threads), (Some(2), Some(1)));
        assert_eq!((status.resident, status.swap, status.private()), (None, None, None));
    }

    #[test]
    fn kernel_without_swap_and_anonymous_lines() {
        let status = PidStatus::parse(&fixture("2.6.32/pid/status")).unwrap();
        assert_eq!((status.swap, status.resident_anon, status.private()), (None, None, None));
        assert_eq!((status.resident_peak, status.resident), (Some(1_240), Some(1_204)));
        assert_eq!(status.context_switches(), Some(40_121 + 77));
    }

    #[test]
    fn a_line_feed_in_a_name_forges_no_line() {
        // The kernel escapes the name here, so that no program can forge a key.
        let bytes = fixture("6.18/pid-escaped/status");
        assert!(bytes.starts_with(b"Name:\ta\\\\b\\nc)d\n"));
        assert_eq!(PidStatus::parse(&bytes).unwrap().threads, Some(1));
    }

    #[test]
    fn errors() {
        for (text, message) in [
            (
                "Name:\ta\nVmRSS:\t kB\n",
                "/proc/PID/status line 2: VmRSS: needed a decimal number below 2^64, found \"kB\"",
            ),
            ("Uid:", "/proc/PID/status line 1: Uid: needed a decimal number below 2^64, found nothing"),
        ] {
            assert_eq!(PidStatus::parse(text.as_bytes()).unwrap_err().to_string(), message);
        }
        assert_eq!(PidStatus::parse(b""), Ok(PidStatus::default()));
    }

    #[test]
    fn damaged_files_do_not_panic() {
        for name in ["6.18/pid/status", "6.18/kthread/status", "2.6.32/pid/status"] {
            check_damage(name, PidStatus::parse);
        }
    }
}
