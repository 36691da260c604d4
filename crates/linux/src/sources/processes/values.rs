//! The values of a process, one structure per file, and sums of them.

use tallymon_provider::Absence;

use super::needs::ProcessNeeds;
use super::priority::base_priority;
use super::usage::{IoTotals, Usage, replaced_rate, replaced_size};

use crate::kernel::proc::pid_stat::PidStat;
use crate::kernel::proc::pid_statm::PidStatm;
use crate::kernel::proc::pid_status::PidStatus;
use crate::kernel::proc::{SystemFacts, kib_to_bytes};

/// A value from a file, or why it is absent.
pub(crate) type Available<T> = Result<T, Absence>;

/// All values of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ProcessValues {
    /// CPU time in 100 ns units.
    pub(crate) cpu: Available<u64>,
    pub(crate) stat: Available<StatValues>,
    pub(crate) memory: Available<MemoryValues>,
    pub(crate) io: Available<IoTotals>,
    pub(crate) status: Available<StatusValues>,
    /// Open files.
    pub(crate) handles: Available<u64>,
}

/// From `stat`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct StatValues {
    /// 100 ns units.
    pub(crate) user: u64,
    /// 100 ns units.
    pub(crate) privileged: u64,
    pub(crate) faults: u64,
    pub(crate) threads: u64,
    /// NT's base priority, 0 to 31. Not summed up.
    pub(crate) priority: u64,
    /// Not summed up.
    pub(crate) parent: u64,
}

/// From `statm`, in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct MemoryValues {
    pub(crate) address_space: u64,
    pub(crate) working_set: u64,
    pub(crate) private_working_set: u64,
}

/// From `status`, in bytes; `None` where the running kernel prints no such line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StatusValues {
    pub(crate) address_space_peak: Option<u64>,
    pub(crate) working_set_peak: Option<u64>,
    /// Memory of this process alone, in RAM or in swap.
    pub(crate) private: Option<u64>,
    /// The largest `private` since the table exists: the kernel keeps no peak of it.
    pub(crate) private_peak: Option<u64>,
    /// Page tables and kernel stacks.
    pub(crate) nonpaged: Option<u64>,
}

impl ProcessValues {
    /// The sum of no processes: zero for each needed value.
    pub(crate) fn zero(wants: &ProcessNeeds) -> ProcessValues {
        let wanted = |wanted: bool| if wanted { Ok(()) } else { Err(Absence::NotRequested) };
        ProcessValues {
            cpu: wanted(wants.cpu).map(|()| 0),
            stat: wanted(wants.stat).map(|()| StatValues::default()),
            memory: wanted(wants.statm).map(|()| MemoryValues::default()),
            io: wanted(wants.io).map(|()| IoTotals::default()),
            status: wanted(wants.status).map(|()| StatusValues::NOTHING),
            handles: wanted(wants.handles).map(|()| 0),
        }
    }

    /// No value is known, for this reason.
    pub(crate) fn absent(absence: Absence) -> ProcessValues {
        ProcessValues {
            cpu: Err(absence),
            stat: Err(absence),
            memory: Err(absence),
            io: Err(absence),
            status: Err(absence),
            handles: Err(absence),
        }
    }

    /// A sum is absent as soon as one summand is.
    pub(crate) fn add(&mut self, other: &ProcessValues) {
        fn add<T: Copy>(sum: &mut Available<T>, other: &Available<T>, add: impl Fn(&mut T, T)) {
            match (sum.as_mut(), other) {
                (Ok(sum), Ok(other)) => add(sum, *other),
                (Ok(_), Err(absence)) => *sum = Err(*absence),
                (Err(_), _) => {}
            }
        }
        add(&mut self.cpu, &other.cpu, |sum, more| *sum = sum.wrapping_add(more));
        add(&mut self.stat, &other.stat, StatValues::add);
        add(&mut self.memory, &other.memory, MemoryValues::add);
        add(&mut self.io, &other.io, IoTotals::add);
        add(&mut self.status, &other.status, StatusValues::add);
        add(&mut self.handles, &other.handles, |sum, more| *sum = sum.saturating_add(more));
    }

    /// Replaces one summand by another. Returns false when the sum has to be built again: a value is absent
    /// in one of them and present in the other.
    pub(crate) fn replace(&mut self, before: &ProcessValues, after: &ProcessValues) -> bool {
        fn replace<T: Copy>(
            sum: &mut Available<T>,
            before: &Available<T>,
            after: &Available<T>,
            replaced: impl Fn(T, T, T) -> Option<T>,
        ) -> bool {
            match (*sum, before, after) {
                (Ok(known), Ok(before), Ok(after)) => match replaced(known, *before, *after) {
                    Some(known) => {
                        *sum = Ok(known);
                        true
                    }
                    None => false,
                },
                // Another process makes the sum absent, or the value is not needed.
                (Err(_), Ok(_), Ok(_)) => true,
                (Err(_), Err(before), Err(after)) => before == after,
                _ => false,
            }
        }
        let wrapping = |sum: u64, before: u64, after: u64| Some(replaced_rate(sum, before, after));
        replace(&mut self.cpu, &before.cpu, &after.cpu, wrapping)
            && replace(&mut self.stat, &before.stat, &after.stat, StatValues::replaced)
            && replace(&mut self.memory, &before.memory, &after.memory, MemoryValues::replaced)
            && replace(&mut self.io, &before.io, &after.io, IoTotals::replaced)
            && replace(&mut self.status, &before.status, &after.status, StatusValues::replaced)
            && replace(&mut self.handles, &before.handles, &after.handles, replaced_size)
    }

    /// Adds what exited processes have used.
    pub(crate) fn add_exited(&mut self, exited: &Usage) {
        if let Ok(cpu) = &mut self.cpu {
            *cpu = cpu.wrapping_add(exited.cpu);
        }
        if let Ok(stat) = &mut self.stat {
            stat.user = stat.user.wrapping_add(exited.user);
            stat.privileged = stat.privileged.wrapping_add(exited.privileged);
            stat.faults = stat.faults.wrapping_add(exited.faults);
        }
        if let Ok(io) = &mut self.io {
            io.add(exited.io);
        }
    }
}

impl StatValues {
    pub(crate) fn new(stat: &PidStat<'_>, facts: &SystemFacts) -> StatValues {
        StatValues {
            user: facts.ticks_to_100ns(stat.user_ticks),
            privileged: facts.ticks_to_100ns(stat.system_ticks),
            faults: stat.minor_faults.wrapping_add(stat.major_faults),
            threads: stat.threads,
            priority: base_priority(stat),
            parent: stat.parent,
        }
    }

    pub(super) fn add(&mut self, other: StatValues) {
        self.user = self.user.wrapping_add(other.user);
        self.privileged = self.privileged.wrapping_add(other.privileged);
        self.faults = self.faults.wrapping_add(other.faults);
        self.threads = self.threads.saturating_add(other.threads);
    }

    fn replaced(self, before: StatValues, after: StatValues) -> Option<StatValues> {
        Some(StatValues {
            user: replaced_rate(self.user, before.user, after.user),
            privileged: replaced_rate(self.privileged, before.privileged, after.privileged),
            faults: replaced_rate(self.faults, before.faults, after.faults),
            threads: replaced_size(self.threads, before.threads, after.threads)?,
            ..self
        })
    }
}

impl MemoryValues {
    pub(crate) fn new(statm: PidStatm, facts: &SystemFacts) -> MemoryValues {
        MemoryValues {
            address_space: facts.pages_to_bytes(statm.size),
            working_set: facts.pages_to_bytes(statm.resident),
            private_working_set: facts.pages_to_bytes(statm.anonymous()),
        }
    }

    pub(super) fn add(&mut self, other: MemoryValues) {
        self.address_space = self.address_space.saturating_add(other.address_space);
        self.working_set = self.working_set.saturating_add(other.working_set);
        self.private_working_set = self.private_working_set.saturating_add(other.private_working_set);
    }

    fn replaced(self, before: MemoryValues, after: MemoryValues) -> Option<MemoryValues> {
        Some(MemoryValues {
            address_space: replaced_size(self.address_space, before.address_space, after.address_space)?,
            working_set: replaced_size(self.working_set, before.working_set, after.working_set)?,
            private_working_set: replaced_size(
                self.private_working_set,
                before.private_working_set,
                after.private_working_set,
            )?,
        })
    }
}

/// The kernel stack of a thread: 16 KiB on 64-bit machines, 8 KiB on others, in the usual configurations.
const KERNEL_STACK: u64 = if cfg!(target_pointer_width = "64") { 16 << 10 } else { 8 << 10 };

/// The largest sizes of a process so far, in bytes. The kernel forgets them when the process ends, and does not
/// count the private ones.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Peaks {
    address_space: u64,
    working_set: u64,
    private: u64,
}

impl StatusValues {
    const NOTHING: StatusValues = StatusValues {
        address_space_peak: Some(0),
        working_set_peak: Some(0),
        private: Some(0),
        private_peak: Some(0),
        nonpaged: Some(0),
    };

    /// `peaks` are the largest sizes so far; they are updated.
    pub(crate) fn new(status: &PidStatus, peaks: &mut Peaks) -> StatusValues {
        let stacks = status.threads.map(|threads| threads.saturating_mul(KERNEL_STACK));
        if status.virtual_size.is_none() {
            // A kernel thread or zombie has no memory of its own, and `status` has no lines about it. The peaks
            // of a zombie are those that it had.
            return StatusValues {
                address_space_peak: Some(peaks.address_space),
                working_set_peak: Some(peaks.working_set),
                private_peak: Some(peaks.private),
                nonpaged: stacks,
                ..StatusValues::NOTHING
            };
        }
        let private = status.private().map(kib_to_bytes);
        let address_space_peak = status.virtual_peak.map(kib_to_bytes);
        let working_set_peak = status.resident_peak.map(kib_to_bytes);
        *peaks = Peaks {
            address_space: address_space_peak.unwrap_or(0),
            working_set: working_set_peak.unwrap_or(0),
            private: peaks.private.max(private.unwrap_or(0)),
        };
        StatusValues {
            address_space_peak,
            working_set_peak,
            private,
            private_peak: private.map(|_| peaks.private),
            nonpaged: status
                .page_tables
                .zip(stacks)
                .map(|(tables, stacks)| kib_to_bytes(tables).saturating_add(stacks)),
        }
    }

    pub(super) fn add(&mut self, other: StatusValues) {
        let sum = |one: Option<u64>, other: Option<u64>| Some(one?.saturating_add(other?));
        self.address_space_peak = sum(self.address_space_peak, other.address_space_peak);
        self.working_set_peak = sum(self.working_set_peak, other.working_set_peak);
        self.private = sum(self.private, other.private);
        self.private_peak = sum(self.private_peak, other.private_peak);
        self.nonpaged = sum(self.nonpaged, other.nonpaged);
    }

    fn replaced(self, before: StatusValues, after: StatusValues) -> Option<StatusValues> {
        // If one process lacks a size, the sum lacks it too.
        let size = |sum: Option<u64>, before: Option<u64>, after: Option<u64>| match (sum, before, after) {
            (Some(sum), Some(before), Some(after)) => replaced_size(sum, before, after).map(Some),
            // The same process still lacks it, or another one does.
            (None, None, None) | (None, Some(_), Some(_)) => Some(None),
            _ => None,
        };
        Some(StatusValues {
            address_space_peak: size(
                self.address_space_peak,
                before.address_space_peak,
                after.address_space_peak,
            )?,
            working_set_peak: size(self.working_set_peak, before.working_set_peak, after.working_set_peak)?,
            private: size(self.private, before.private, after.private)?,
            private_peak: size(self.private_peak, before.private_peak, after.private_peak)?,
            nonpaged: size(self.nonpaged, before.nonpaged, after.nonpaged)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replacing_a_summand_equals_a_new_sum() {
        let wants = ProcessNeeds {
            cpu: true,
            stat: true,
            statm: true,
            io: true,
            status: true,
            ..ProcessNeeds::default()
        };
        let values = |number: u64| ProcessValues {
            cpu: Ok(number.wrapping_mul(3)),
            stat: Ok(StatValues {
                user: number,
                privileged: 7,
                faults: number << 60,
                threads: number,
                ..StatValues::default()
            }),
            memory: Ok(MemoryValues {
                address_space: number << 20,
                working_set: number,
                private_working_set: 1,
            }),
            io: Ok(IoTotals {
                read_bytes: u64::MAX - number,
                write_operations: number,
                ..IoTotals::default()
            }),
            status: Ok(StatusValues { private: Some(number), nonpaged: Some(9), ..StatusValues::NOTHING }),
            ..ProcessValues::zero(&wants)
        };
        let sum_of = |numbers: &[u64]| {
            let mut sum = ProcessValues::zero(&wants);
            numbers.iter().for_each(|number| sum.add(&values(*number)));
            sum
        };
        let mut sum = sum_of(&[4, 900, 17]);
        assert!(sum.replace(&values(900), &values(3)) && sum.replace(&values(4), &values(1_000)));
        assert_eq!(sum, sum_of(&[1_000, 3, 17]));
        let denied = ProcessValues { io: Err(Absence::AccessDenied), ..values(17) };
        assert!(!sum.replace(&values(17), &denied), "now its I/O is not known");
        let mut sum = sum_of(&[1, 2]);
        sum.add(&denied);
        assert!(!sum.replace(&denied, &values(17)), "now it is");
        assert!(sum.replace(&denied, &denied) && sum.replace(&values(1), &values(9)));
        let mut expected = sum_of(&[9, 2]);
        expected.add(&denied);
        assert_eq!(sum, expected, "another one is not known");
        let unknown = StatusValues { nonpaged: None, ..StatusValues::NOTHING };
        let unknown = ProcessValues { status: Ok(unknown), ..values(1) };
        assert!(!sum_of(&[1]).replace(&values(1), &unknown));
        let mut sum = sum_of(&[1, 2]);
        sum.add(&unknown);
        assert!(!sum.replace(&unknown, &values(1)), "now all tell");
        assert!(sum.replace(&unknown, &unknown) && sum.replace(&values(2), &values(8)));
        let mut expected = sum_of(&[1, 8]);
        expected.add(&unknown);
        assert_eq!(sum, expected, "another one does not tell");
        let full = MemoryValues { working_set: u64::MAX, ..MemoryValues::default() };
        let mut sum = sum_of(&[1]);
        sum.add(&ProcessValues { memory: Ok(full), ..values(2) });
        assert!(!sum.replace(&values(1), &values(2)), "more than can be counted");
    }

    #[test]
    fn kernel_threads_have_no_memory_and_missing_lines_are_absent() {
        let mut peak = Peaks::default();
        let kernel_thread = PidStatus { threads: Some(1), ..PidStatus::default() };
        let part = StatusValues::new(&kernel_thread, &mut peak);
        assert_eq!(part, StatusValues { nonpaged: Some(KERNEL_STACK), ..StatusValues::NOTHING });
        let old = PidStatus { virtual_size: Some(9), virtual_peak: Some(10), ..kernel_thread };
        let part = StatusValues::new(&old, &mut peak);
        assert_eq!((part.address_space_peak, part.private, part.nonpaged), (Some(10_240), None, None));
        for (private, expected) in [(3, 3), (7, 7), (5, 7)] {
            let status = PidStatus { resident_anon: Some(private), swap: Some(0), ..old };
            let part = StatusValues::new(&status, &mut peak);
            assert_eq!(part.private, Some(private * 1024));
            assert_eq!(part.private_peak, Some(expected * 1024));
        }
        // It has ended, and its parent has not asked for it yet: no peak falls.
        let alive = PidStatus { resident_peak: Some(20), ..old };
        StatusValues::new(&alive, &mut peak);
        let part = StatusValues::new(&kernel_thread, &mut peak);
        assert_eq!((part.address_space_peak, part.working_set_peak), (Some(10_240), Some(20_480)));
        assert_eq!((part.private_peak, part.private), (Some(7_168), Some(0)));
    }
}
