//! What those used that are no more, so that sums over all processes never step back.
//!
//! A process that ended is added with what it was seen to have used last. Where a program in the kernel tells of ends,
//! the rest is added when it does, and also what processes used that began and ended between two looks. The kernel may
//! tell before a look misses the process, or up to some seconds after it; either waits here for the other.

use std::collections::HashMap;

use tallymon_provider::FileTime;

use super::records::{Split, ticks};
use super::row::Row;
use super::usage::{IoTotals, Rates, ThreadRates};
use crate::kernel::bpf::exits::ExitRecord;
use crate::kernel::proc::{SystemFacts, nanoseconds_to_100ns};

/// How long a process that is no more is remembered for the kernel to tell of it: 10 s, in 100 ns units.
const REMEMBERED: u64 = 100_000_000;
/// So many are remembered at most; the others count as they were seen last.
const MOST: usize = 1 << 16;
/// The kernel's flag of its own threads.
const KERNEL_THREAD: u32 = 0x0020_0000;

/// A process for good: its number, and its start in ticks since the start of the machine.
type Identity = (u32, u64);

/// What those used that are no more.
#[derive(Debug, Default)]
pub(super) struct Ended {
    pub(super) programs: Rates,
    pub(super) kernel: Rates,
    pub(super) threads: ThreadRates,
    /// Processes that ended and that a look still has to miss.
    told: HashMap<Identity, ExitRecord>,
    /// Processes that were missed, and when, with what they are counted.
    missed: HashMap<Identity, (FileTime, Rates)>,
}

impl Ended {
    /// Adds a process that a look has missed.
    pub(super) fn add(&mut self, row: &Row, now: FileTime) {
        self.threads.add(&row.threads.rates());
        let mut rates = row.rates;
        if let Some(start) = row.start_ticks {
            let identity = (row.pid, start);
            if let Some(end) = self.told.remove(&identity) {
                rates = finally(rates, &end);
                self.add_threads(&row.rates, &rates);
            } else if self.missed.len() < MOST {
                self.missed.insert(identity, (now, rates));
            }
        }
        self.of(row.is_kernel_thread).add(&rates);
    }

    /// Adds what the kernel tells. `is_known` says whether a process is in the rows.
    pub(super) fn tell(
        &mut self,
        end: &ExitRecord,
        facts: &SystemFacts,
        is_known: impl FnOnce(Identity) -> bool,
    ) {
        let identity = (end.pid, ticks(end.start, facts));
        if is_known(identity) {
            if self.told.len() < MOST {
                self.told.insert(identity, *end);
            }
            return;
        }
        // One that was never seen is counted as a whole.
        let (_, before) = self.missed.remove(&identity).unwrap_or_default();
        let after = finally(before, end);
        self.of(end.flags & KERNEL_THREAD != 0).add_difference(&before, &after);
        self.add_threads(&before, &after);
    }

    /// Forgets those that the kernel did not tell of.
    pub(super) fn forget(&mut self, now: FileTime) {
        self.missed.retain(|_, (when, _)| now.0.saturating_sub(when.0) < REMEMBERED);
    }

    fn of(&mut self, is_kernel_thread: bool) -> &mut Rates {
        if is_kernel_thread { &mut self.kernel } else { &mut self.programs }
    }

    fn add_threads(&mut self, before: &Rates, after: &Rates) {
        self.threads.cpu = self.threads.cpu.wrapping_add(after.cpu.wrapping_sub(before.cpu));
        self.threads.user = self.threads.user.wrapping_add(after.user.wrapping_sub(before.user));
        let privileged = after.privileged.wrapping_sub(before.privileged);
        self.threads.privileged = self.threads.privileged.wrapping_add(privileged);
    }
}

/// What a process has used in the end, of which this was known; nothing is less than that.
fn finally(known: Rates, end: &ExitRecord) -> Rates {
    let split = Split { user: known.user, system: known.privileged };
    let split = split.step(end.run_time, end.user, end.system);
    Rates {
        cpu: known.cpu.max(nanoseconds_to_100ns(end.run_time)),
        user: split.user,
        privileged: split.system,
        faults: known.faults.max(end.faults),
        io: IoTotals {
            read_operations: known.io.read_operations.max(end.reads),
            write_operations: known.io.write_operations.max(end.writes),
            read_bytes: known.io.read_bytes.max(end.read_bytes),
            write_bytes: known.io.write_bytes.max(end.written_bytes),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FACTS: SystemFacts =
        SystemFacts { page_size: 4096, ticks_per_second: 100, boot_time: FileTime(0), cpu_count: 1 };

    fn row(pid: u32, cpu: u64) -> Row {
        let mut row = Row::new(pid);
        row.start_ticks = Some(5);
        row.rates = Rates { cpu, faults: 1, ..Rates::default() };
        row
    }

    fn end(pid: u32, run_time: u64) -> ExitRecord {
        ExitRecord { pid, start: 50_000_000, run_time, faults: 3, reads: 2, ..ExitRecord::default() }
    }

    #[test]
    fn whoever_tells_first_each_process_counts_once_and_as_a_whole() {
        let now = FileTime(1_000_000_000);
        let mut ended = Ended::default();
        // Missed, then told.
        ended.add(&row(7, 30), now);
        assert_eq!((ended.programs.cpu, ended.programs.faults), (30, 1));
        ended.tell(&end(7, 5_000), &FACTS, |_| false);
        assert_eq!((ended.programs.cpu, ended.programs.faults), (50, 3));
        // Told, then missed.
        ended.tell(&end(8, 9_000), &FACTS, |identity| identity == (8, 5));
        assert_eq!(ended.programs.cpu, 50);
        ended.add(&row(8, 30), now);
        assert_eq!((ended.programs.cpu, ended.programs.io.read_operations), (140, 4));
        // Never seen.
        ended.tell(&end(9, 1_000), &FACTS, |_| false);
        assert_eq!((ended.programs.cpu, ended.programs.faults), (150, 9));
        // Of the kernel, and with less than was seen.
        ended.add(&Row { is_kernel_thread: true, ..row(10, 30) }, now);
        ended.tell(&ExitRecord { flags: KERNEL_THREAD, ..end(10, 1_000) }, &FACTS, |_| false);
        assert_eq!((ended.programs.cpu, ended.kernel.cpu), (150, 30));
        assert!(ended.told.is_empty() && ended.missed.is_empty());
    }

    #[test]
    fn nobody_is_remembered_for_ever() {
        let mut ended = Ended::default();
        ended.add(&row(7, 30), FileTime(0));
        ended.forget(FileTime(REMEMBERED - 1));
        assert_eq!(ended.missed.len(), 1);
        ended.forget(FileTime(REMEMBERED));
        assert!(ended.missed.is_empty());
    }
}
