//! Converts the record of the BPF program into the values that the files of `/proc` have.

use crate::kernel::bpf::task_record::Record;
use crate::kernel::proc::pid_stat::PidStat;
use crate::kernel::proc::pid_status::PidStatus;
use crate::kernel::proc::{SystemFacts, nanoseconds_to_100ns};

/// CPU time in user and kernel mode, in 100 ns units.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct CpuSplit {
    pub(super) user: u64,
    pub(super) system: u64,
}

impl CpuSplit {
    /// Splits the exact time in proportion to the times counted at ticks, all in nanoseconds, as the kernel
    /// does for `stat`: the parts sum up to the exact time, and neither ever decreases.
    ///
    /// system = run time x system / (user + system)
    pub(super) fn step(self, run_time: u64, user: u64, system: u64) -> CpuSplit {
        let run_time = nanoseconds_to_100ns(run_time);
        if run_time <= self.user.saturating_add(self.system) {
            return self;
        }
        let all = u128::from(user).saturating_add(u128::from(system));
        let system = u128::from(run_time).saturating_mul(u128::from(system)).checked_div(all).unwrap_or(0);
        let system = u64::try_from(system).unwrap_or(u64::MAX).clamp(self.system, run_time.max(self.system));
        let user = run_time.saturating_sub(system);
        if user < self.user {
            return CpuSplit { user: self.user, system: run_time.saturating_sub(self.user) };
        }
        CpuSplit { user, system }
    }
}

/// Ticks since boot, as `/proc/PID/stat` shows them.
pub(super) fn ticks(nanoseconds: u64, facts: &SystemFacts) -> u64 {
    const SECOND: u64 = 1_000_000_000;
    // On every machine a tick is a whole number of nanoseconds; a 128-bit division takes 30 ns.
    if SECOND.checked_rem(facts.ticks_per_second) == Some(0) {
        let tick = SECOND.checked_div(facts.ticks_per_second);
        return tick.and_then(|tick| nanoseconds.checked_div(tick)).unwrap_or(0);
    }
    let ticks = u128::from(nanoseconds).saturating_mul(u128::from(facts.ticks_per_second));
    u64::try_from(ticks.checked_div(u128::from(SECOND)).unwrap_or(0)).unwrap_or(u64::MAX)
}

/// The flags, priorities and state of `/proc/PID/stat`.
pub(super) fn stat(record: Record<'_>) -> PidStat<'static> {
    PidStat {
        pid: u64::from(record.id()),
        comm: &[],
        state: record.state(),
        parent: 0,
        flags: u64::from(record.flags()),
        minor_faults: 0,
        major_faults: 0,
        user_ticks: 0,
        system_ticks: 0,
        priority: i64::from(record.priority()).saturating_sub(100),
        nice: i64::from(record.static_priority()).saturating_sub(120),
        threads: 0,
        start_ticks: 0,
        virtual_bytes: 0,
        processor: Some(u64::from(record.processor())),
        realtime_priority: Some(u64::from(record.realtime_priority())),
        policy: Some(u64::from(record.policy())),
        io_delay_ticks: None,
    }
}

/// The memory sizes of `/proc/PID/status`.
pub(super) fn status(record: Record<'_>, facts: &SystemFacts) -> PidStatus {
    let threads = Some(u64::from(record.threads()));
    if !record.has_memory() {
        return PidStatus { threads, ..PidStatus::default() };
    }
    let kib = |pages: u64| Some(facts.pages_to_bytes(pages) / 1024);
    let files = record.file_pages().saturating_add(record.shared_pages());
    let resident = files.saturating_add(record.anonymous_pages());
    PidStatus {
        threads,
        virtual_peak: kib(record.total_pages().max(record.peak_total_pages())),
        virtual_size: kib(record.total_pages()),
        resident_peak: kib(resident.max(record.peak_resident_pages())),
        resident: kib(resident),
        resident_anon: kib(record.anonymous_pages()),
        page_tables: Some(record.page_tables() / 1024),
        swap: kib(record.swap_pages()),
        ..PidStatus::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_is_split_as_the_kernel_does() {
        let mut split = CpuSplit::default();
        for (run_time, user, system, expected) in [
            (0, 0, 0, (0, 0)),
            // No tick has been counted yet: all time is user time.
            (500, 0, 0, (5, 0)),
            (1_000, 0, 4_000_000, (5, 5)),
            (4_000, 4_000_000, 4_000_000, (20, 20)),
            // A clock that lags changes nothing.
            (3_900, 4_000_000, 8_000_000, (20, 20)),
            // Most of it was user time after all, but the kernel's part does not decrease.
            (4_200, 90_000_000, 8_000_000, (22, 20)),
            (4_800, 90_000_000, 900_000_000, (22, 26)),
        ] {
            split = split.step(run_time, user, system);
            assert_eq!((split.user, split.system), expected, "{run_time} {user} {system}");
        }
        let huge = CpuSplit::default().step(u64::MAX, u64::MAX, u64::MAX);
        assert_eq!((huge.user, huge.system), (u64::MAX / 200, u64::MAX / 200));
    }
}
