//! Sums over processes, some of which may be unreadable.
//!
//! A sum lacks what could not be read, and says so. It never jumps when a process becomes readable or
//! unreadable: an unreadable process counts with what it had used when it was last read, and one that becomes
//! readable counts from there on. So a rate lacks the processes that were unreadable in its interval, and
//! nothing else; the sum that ends such an interval still counts as partial.

use tallymon_provider::PartialSum;

use super::needs::ProcessNeeds;
use super::row::ProcessRow;
use super::usage::Usage;
use super::values::{Available, MemoryValues, ProcessValues, StatValues, StatusValues};
use crate::sources::missing::Missing;

/// The sum of processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ProcessSum {
    values: ProcessValues,
    processes: u32,
    cpu: Missing,
    stat: Missing,
    memory: Missing,
    io: Missing,
    status: Missing,
    handles: Missing,
}

/// Which values of a [`ProcessSum`] lack processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PartialSums {
    pub(crate) cpu: Option<PartialSum>,
    pub(crate) stat: Option<PartialSum>,
    pub(crate) memory: Option<PartialSum>,
    pub(crate) io: Option<PartialSum>,
    pub(crate) status: Option<PartialSum>,
    pub(crate) handles: Option<PartialSum>,
}

fn gather<T: Copy>(
    sum: &mut Available<T>,
    one: Available<T>,
    missing: &mut Missing,
    add: impl Fn(&mut T, T),
) {
    match (sum.as_mut(), one) {
        (Ok(sum), Ok(one)) => add(sum, one),
        (Ok(_), Err(absence)) => missing.note(absence),
        (Err(_), _) => {}
    }
}

impl ProcessSum {
    /// The sum of no processes: zero for each needed value.
    pub(crate) fn zero(wants: &ProcessNeeds) -> ProcessSum {
        let none = Missing::default();
        let values = ProcessValues::zero(wants);
        ProcessSum {
            values,
            processes: 0,
            cpu: none,
            stat: none,
            memory: none,
            io: none,
            status: none,
            handles: none,
        }
    }

    /// Adds a process.
    pub(crate) fn add(&mut self, row: &ProcessRow) {
        self.processes = self.processes.saturating_add(1);
        let (sum, one) = (&mut self.values, &row.values);
        gather(&mut sum.cpu, one.cpu, &mut self.cpu, |sum, more| *sum = sum.wrapping_add(more));
        gather(&mut sum.stat, one.stat, &mut self.stat, StatValues::add);
        gather(&mut sum.memory, one.memory, &mut self.memory, MemoryValues::add);
        gather(&mut sum.status, one.status, &mut self.status, StatusValues::add);
        gather(&mut sum.handles, one.handles, &mut self.handles, |sum, more| *sum = sum.saturating_add(more));
        if let Ok(io) = &mut sum.io {
            io.add(row.counted_io());
            if let Some(absence) = one.io.err().or(row.io_resumed) {
                self.io.note(absence);
            }
        }
    }

    /// Adds another sum.
    pub(crate) fn merge(&mut self, other: &ProcessSum) {
        self.add_values(&other.values);
        self.processes = self.processes.saturating_add(other.processes);
        self.cpu.merge(other.cpu);
        self.stat.merge(other.stat);
        self.memory.merge(other.memory);
        self.io.merge(other.io);
        self.status.merge(other.status);
        self.handles.merge(other.handles);
    }

    /// Adds values that are no process and must not be missing: the sum is absent as soon as one of them is.
    pub(crate) fn add_values(&mut self, values: &ProcessValues) {
        self.values.add(values);
    }

    /// Replaces the values of one process by others. Returns false when the sum has to be built again: a
    /// value is absent in one of them and present in the other.
    pub(crate) fn replace(&mut self, before: &ProcessValues, after: &ProcessValues) -> bool {
        self.values.replace(before, after)
    }

    /// Adds what exited processes have used.
    pub(crate) fn add_exited(&mut self, exited: &Usage) {
        self.values.add_exited(exited);
    }

    /// How many processes it has, with unreadable ones.
    pub(crate) const fn processes(&self) -> u32 {
        self.processes
    }

    /// The values, and what they lack. A value that all processes lack is absent.
    pub(crate) fn values(&self) -> (ProcessValues, PartialSums) {
        let (mut values, whole) = (self.values, self.processes);
        let partial = PartialSums {
            cpu: self.cpu.mark(&mut values.cpu, whole),
            stat: self.stat.mark(&mut values.stat, whole),
            memory: self.memory.mark(&mut values.memory, whole),
            io: self.io.mark(&mut values.io, whole),
            status: self.status.mark(&mut values.status, whole),
            handles: self.handles.mark(&mut values.handles, whole),
        };
        (values, partial)
    }
}

#[cfg(test)]
mod tests {
    use tallymon_provider::Absence;

    use super::super::usage::IoTotals;
    use super::*;

    #[test]
    fn a_sum_lacks_what_is_not_readable_and_is_absent_if_nothing_is() {
        let wants = ProcessNeeds { cpu: true, io: true, ..ProcessNeeds::default() };
        let row = |cpu, io: Available<u64>| {
            let mut row = ProcessRow::new(1);
            let io = io.map(|read_bytes| IoTotals { read_bytes, ..IoTotals::default() });
            row.values = ProcessValues { cpu: Ok(cpu), io, ..ProcessValues::zero(&wants) };
            if let Ok(io) = io {
                row.take_io(io);
            }
            row
        };
        let denied = Err(Absence::AccessDenied);
        let mut sum = ProcessSum::zero(&wants);
        sum.add(&row(7, denied));
        assert_eq!(sum.values().0.io.map(|io| io.read_bytes), denied, "all are refused");
        sum.add(&row(5, Ok(40)));
        sum.add(&row(1, Ok(2)));
        sum.add_exited(&Usage { cpu: 100, ..Usage::default() });
        let (values, partial) = sum.values();
        assert_eq!((values.cpu, values.io.map(|io| io.read_bytes)), (Ok(113), Ok(42)));
        assert_eq!((partial.cpu, partial.io), (None, PartialSum::new(1, 3, Absence::AccessDenied)));
        assert_eq!((values.stat, partial.stat), (Err(Absence::NotRequested), None));
        let mut both = sum;
        both.merge(&sum);
        assert_eq!(both.values().1.io, PartialSum::new(2, 6, Absence::AccessDenied));
        both.add_values(&ProcessValues::absent(Absence::AccessDenied));
        assert_eq!(both.values().0.cpu, denied, "how many are hidden is not known");
    }
}
