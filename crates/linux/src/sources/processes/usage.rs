//! What processes and threads have used: totals that only grow, and sums of them.

use crate::kernel::proc::pid_io::PidIo;

/// The I/O of one process, or of all.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct IoTotals {
    pub(crate) read_operations: u64,
    pub(crate) write_operations: u64,
    pub(crate) read_bytes: u64,
    pub(crate) write_bytes: u64,
}

/// What a process has used, as of the last sample.
///
/// The table keeps it after the process has exited, so that sums over all processes never decrease.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Usage {
    pub(crate) cpu: u64,
    pub(crate) user: u64,
    pub(crate) privileged: u64,
    pub(crate) faults: u64,
    pub(crate) io: IoTotals,
}

/// What a thread has used, as of the last sample.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ThreadUsage {
    pub(crate) cpu: u64,
    pub(crate) user: u64,
    pub(crate) privileged: u64,
    pub(crate) switches: u64,
}

impl ThreadUsage {
    pub(crate) fn add(&mut self, other: &ThreadUsage) {
        self.cpu = self.cpu.wrapping_add(other.cpu);
        self.user = self.user.wrapping_add(other.user);
        self.privileged = self.privileged.wrapping_add(other.privileged);
        self.switches = self.switches.wrapping_add(other.switches);
    }
}

impl Usage {
    pub(crate) fn add(&mut self, other: &Usage) {
        self.cpu = self.cpu.wrapping_add(other.cpu);
        self.user = self.user.wrapping_add(other.user);
        self.privileged = self.privileged.wrapping_add(other.privileged);
        self.faults = self.faults.wrapping_add(other.faults);
        self.io.add(other.io);
    }

    /// Adds what the same process used between two samples.
    pub(crate) fn add_difference(&mut self, before: &Usage, after: &Usage) {
        let difference = |before: u64, after: u64| after.wrapping_sub(before);
        let io = after.io.since(before.io);
        self.add(&Usage {
            cpu: difference(before.cpu, after.cpu),
            user: difference(before.user, after.user),
            privileged: difference(before.privileged, after.privileged),
            faults: difference(before.faults, after.faults),
            io,
        });
    }
}

impl IoTotals {
    pub(crate) fn new(io: PidIo) -> IoTotals {
        IoTotals {
            read_operations: io.reads,
            write_operations: io.writes,
            read_bytes: io.read_bytes,
            write_bytes: io.written_bytes,
        }
    }

    pub(crate) fn add(&mut self, other: IoTotals) {
        self.read_operations = self.read_operations.wrapping_add(other.read_operations);
        self.write_operations = self.write_operations.wrapping_add(other.write_operations);
        self.read_bytes = self.read_bytes.wrapping_add(other.read_bytes);
        self.write_bytes = self.write_bytes.wrapping_add(other.write_bytes);
    }

    /// The difference from an earlier state.
    pub(super) fn since(self, before: IoTotals) -> IoTotals {
        IoTotals {
            read_operations: self.read_operations.wrapping_sub(before.read_operations),
            write_operations: self.write_operations.wrapping_sub(before.write_operations),
            read_bytes: self.read_bytes.wrapping_sub(before.read_bytes),
            write_bytes: self.write_bytes.wrapping_sub(before.write_bytes),
        }
    }

    pub(super) fn replaced(self, before: IoTotals, after: IoTotals) -> Option<IoTotals> {
        Some(IoTotals {
            read_operations: replaced_rate(
                self.read_operations,
                before.read_operations,
                after.read_operations,
            ),
            write_operations: replaced_rate(
                self.write_operations,
                before.write_operations,
                after.write_operations,
            ),
            read_bytes: replaced_rate(self.read_bytes, before.read_bytes, after.read_bytes),
            write_bytes: replaced_rate(self.write_bytes, before.write_bytes, after.write_bytes),
        })
    }
}

/// A wrapping sum with one summand replaced by another.
pub(super) fn replaced_rate(sum: u64, before: u64, after: u64) -> u64 {
    sum.wrapping_sub(before).wrapping_add(after)
}

/// A saturating sum with one summand replaced by another; `None` when the sum has saturated.
pub(super) fn replaced_size(sum: u64, before: u64, after: u64) -> Option<u64> {
    if sum == u64::MAX { None } else { sum.checked_sub(before)?.checked_add(after) }
}
