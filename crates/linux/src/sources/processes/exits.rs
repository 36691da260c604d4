//! What exited processes have used, so that sums over all processes never decrease.
//!
//! An exited process is added with the usage of its last sample. Where a BPF program reports exits, the rest
//! is added when its record arrives, and so is the usage of processes that started and exited between two
//! samples. A record may arrive before a sample misses the process, or up to some seconds later; whichever
//! comes first waits here for the other.

use std::collections::HashMap;

use tallymon_provider::FileTime;

use super::records::{CpuSplit, ticks};
use super::row::ProcessRow;
use super::usage::{IoTotals, ThreadUsage, Usage};
use crate::kernel::bpf::exits::ExitRecord;
use crate::kernel::proc::{SystemFacts, nanoseconds_to_100ns};

/// How long to wait for the exit record of a process that a sample missed: 10 s, in 100 ns units.
const RECORD_WAIT: u64 = 100_000_000;
/// How many processes may wait for their record or their sample. More than that are counted as they were last
/// sampled.
const MAX_WAITING: usize = 1 << 16;
/// The kernel's flag of kernel threads (`PF_KTHREAD`).
const KERNEL_THREAD: u32 = 0x0020_0000;

/// Identifies a process for good: its id, and its start in ticks since boot.
type Identity = (u32, u64);

/// What exited processes have used.
#[derive(Debug, Default)]
pub(super) struct ExitedTotals {
    pub(super) programs: Usage,
    pub(super) kernel: Usage,
    pub(super) threads: ThreadUsage,
    /// Exit records of processes that are still in the rows.
    unmatched_records: HashMap<Identity, ExitRecord>,
    /// Processes that a sample missed: when, and the usage that was added for them.
    /// Also whether its I/O was unreadable.
    awaiting_record: HashMap<Identity, (FileTime, Usage, bool)>,
}

impl ExitedTotals {
    /// Adds a process that is missing from the current sample.
    pub(super) fn add(&mut self, row: &ProcessRow, now: FileTime) {
        self.threads.add(&row.threads.usage());
        let mut usage = row.usage;
        if let Some(start) = row.start_ticks {
            let identity = (row.pid, start);
            if let Some(end) = self.unmatched_records.remove(&identity) {
                usage = final_usage(usage, &end, row.io_unread.is_some());
                self.add_threads(&row.usage, &usage);
            } else if self.awaiting_record.len() < MAX_WAITING {
                self.awaiting_record.insert(identity, (now, usage, row.io_unread.is_some()));
            }
        }
        usage.io = usage.io.since(row.uncounted_io);
        self.totals_mut(row.is_kernel_thread).add(&usage);
    }

    /// Adds an exit record. `is_known` returns whether the process is still in the rows.
    pub(super) fn add_record(
        &mut self,
        end: &ExitRecord,
        facts: &SystemFacts,
        is_known: impl FnOnce(Identity) -> bool,
    ) {
        let identity = (end.pid, ticks(end.start, facts));
        if is_known(identity) {
            if self.unmatched_records.len() < MAX_WAITING {
                self.unmatched_records.insert(identity, *end);
            }
            return;
        }
        // A process that no sample has seen counts from zero.
        let (_, before, io_unread) = self.awaiting_record.remove(&identity).unwrap_or_default();
        let after = final_usage(before, end, io_unread);
        self.totals_mut(end.flags & KERNEL_THREAD != 0).add_difference(&before, &after);
        self.add_threads(&before, &after);
    }

    /// Stops waiting for records that did not arrive in time.
    pub(super) fn expire(&mut self, now: FileTime) {
        self.awaiting_record.retain(|_, (when, ..)| now.0.saturating_sub(when.0) < RECORD_WAIT);
    }

    fn totals_mut(&mut self, is_kernel_thread: bool) -> &mut Usage {
        if is_kernel_thread { &mut self.kernel } else { &mut self.programs }
    }

    fn add_threads(&mut self, before: &Usage, after: &Usage) {
        self.threads.cpu = self.threads.cpu.wrapping_add(after.cpu.wrapping_sub(before.cpu));
        self.threads.user = self.threads.user.wrapping_add(after.user.wrapping_sub(before.user));
        let privileged = after.privileged.wrapping_sub(before.privileged);
        self.threads.privileged = self.threads.privileged.wrapping_add(privileged);
    }
}

/// The final usage of a process: that of its exit record, and never less than `known`. I/O that was
/// unreadable stays uncounted: a sum would jump.
fn final_usage(known: Usage, end: &ExitRecord, io_unread: bool) -> Usage {
    let split = CpuSplit { user: known.user, system: known.privileged };
    let split = split.step(end.run_time, end.user, end.system);
    let io = IoTotals {
        read_operations: known.io.read_operations.max(end.reads),
        write_operations: known.io.write_operations.max(end.writes),
        read_bytes: known.io.read_bytes.max(end.read_bytes),
        write_bytes: known.io.write_bytes.max(end.written_bytes),
    };
    Usage {
        cpu: known.cpu.max(nanoseconds_to_100ns(end.run_time)),
        user: split.user,
        privileged: split.system,
        faults: known.faults.max(end.faults),
        io: if io_unread { known.io } else { io },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FACTS: SystemFacts =
        SystemFacts { page_size: 4096, ticks_per_second: 100, boot_time: FileTime(0), cpu_count: 1 };

    fn row(pid: u32, cpu: u64) -> ProcessRow {
        let mut row = ProcessRow::new(pid);
        row.start_ticks = Some(5);
        row.usage = Usage { cpu, faults: 1, ..Usage::default() };
        row
    }

    fn end(pid: u32, run_time: u64) -> ExitRecord {
        ExitRecord { pid, start: 50_000_000, run_time, faults: 3, reads: 2, ..ExitRecord::default() }
    }

    #[test]
    fn record_or_sample_first_each_process_counts_once_and_fully() {
        let now = FileTime(1_000_000_000);
        let mut exited = ExitedTotals::default();
        // First the sample misses it, then the record arrives.
        exited.add(&row(7, 30), now);
        assert_eq!((exited.programs.cpu, exited.programs.faults), (30, 1));
        exited.add_record(&end(7, 5_000), &FACTS, |_| false);
        assert_eq!((exited.programs.cpu, exited.programs.faults), (50, 3));
        // First the record arrives, then the sample misses it.
        exited.add_record(&end(8, 9_000), &FACTS, |identity| identity == (8, 5));
        assert_eq!(exited.programs.cpu, 50);
        exited.add(&row(8, 30), now);
        assert_eq!((exited.programs.cpu, exited.programs.io.read_operations), (140, 4));
        // No sample has seen it.
        exited.add_record(&end(9, 1_000), &FACTS, |_| false);
        assert_eq!((exited.programs.cpu, exited.programs.faults), (150, 9));
        // A kernel thread, whose record has less than the last sample.
        exited.add(&ProcessRow { is_kernel_thread: true, ..row(10, 30) }, now);
        exited.add_record(&ExitRecord { flags: KERNEL_THREAD, ..end(10, 1_000) }, &FACTS, |_| false);
        assert_eq!((exited.programs.cpu, exited.kernel.cpu), (150, 30));
        assert!(exited.unmatched_records.is_empty() && exited.awaiting_record.is_empty());
    }

    #[test]
    fn waiting_processes_expire() {
        let mut exited = ExitedTotals::default();
        exited.add(&row(7, 30), FileTime(0));
        exited.expire(FileTime(RECORD_WAIT - 1));
        assert_eq!(exited.awaiting_record.len(), 1);
        exited.expire(FileTime(RECORD_WAIT));
        assert!(exited.awaiting_record.is_empty());
    }
}
