//! What is known of a process or thread, one part a file, and sums of it.

use tallymon_provider::Absence;

use super::needs::ProcessNeeds;
use super::priority::base_priority;
use super::usage::{IoTotals, Rates, replaced_rate, replaced_size};

use crate::kernel::proc::pid_stat::PidStat;
use crate::kernel::proc::pid_statm::PidStatm;
use crate::kernel::proc::pid_status::PidStatus;
use crate::kernel::proc::{SystemFacts, kib_to_bytes};

/// What one file says, or why it says nothing.
pub(crate) type Part<T> = Result<T, Absence>;

/// All that is known of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Parts {
    /// CPU time in 100 ns units.
    pub(crate) cpu: Part<u64>,
    pub(crate) stat: Part<StatPart>,
    pub(crate) memory: Part<MemoryPart>,
    pub(crate) io: Part<IoTotals>,
    pub(crate) status: Part<StatusPart>,
    /// Open files.
    pub(crate) handles: Part<u64>,
}

/// From `stat`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct StatPart {
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
pub(crate) struct MemoryPart {
    pub(crate) address_space: u64,
    pub(crate) working_set: u64,
    pub(crate) private_working_set: u64,
}

/// From `status`, in bytes; `None` is what the running kernel does not print.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StatusPart {
    pub(crate) address_space_peak: Option<u64>,
    pub(crate) working_set_peak: Option<u64>,
    /// Memory that belongs to it alone, in pages or in swap.
    pub(crate) private: Option<u64>,
    /// The most that `private` was since we look: the kernel keeps no peak of it.
    pub(crate) private_peak: Option<u64>,
    /// Page tables and kernel stacks.
    pub(crate) nonpaged: Option<u64>,
}

impl Parts {
    /// No process: zero of everything that is wanted, the ground on which sums are made.
    pub(crate) fn zero(wants: &ProcessNeeds) -> Parts {
        let wanted = |wanted: bool| if wanted { Ok(()) } else { Err(Absence::NotRequested) };
        Parts {
            cpu: wanted(wants.cpu).map(|()| 0),
            stat: wanted(wants.stat).map(|()| StatPart::default()),
            memory: wanted(wants.statm).map(|()| MemoryPart::default()),
            io: wanted(wants.io).map(|()| IoTotals::default()),
            status: wanted(wants.status).map(|()| StatusPart::NOTHING),
            handles: wanted(wants.handles).map(|()| 0),
        }
    }

    /// A sum of which one part is not known is not known.
    pub(crate) fn add(&mut self, other: &Parts) {
        fn add<T: Copy>(sum: &mut Part<T>, other: &Part<T>, add: impl Fn(&mut T, T)) {
            match (sum.as_mut(), other) {
                (Ok(sum), Ok(other)) => add(sum, *other),
                (Ok(_), Err(absence)) => *sum = Err(*absence),
                (Err(_), _) => {}
            }
        }
        add(&mut self.cpu, &other.cpu, |sum, more| *sum = sum.wrapping_add(more));
        add(&mut self.stat, &other.stat, StatPart::add);
        add(&mut self.memory, &other.memory, MemoryPart::add);
        add(&mut self.io, &other.io, IoTotals::add);
        add(&mut self.status, &other.status, StatusPart::add);
        add(&mut self.handles, &other.handles, |sum, more| *sum = sum.saturating_add(more));
    }

    /// Takes one process out of this sum and another in. False when the sum can not be told by that: a part of one of them is not
    /// known, and of the other it is.
    pub(crate) fn replace(&mut self, before: &Parts, after: &Parts) -> bool {
        fn replace<T: Copy>(
            sum: &mut Part<T>,
            before: &Part<T>,
            after: &Part<T>,
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
                // It is another one of which it is not known, or nobody asks for it.
                (Err(_), Ok(_), Ok(_)) => true,
                (Err(_), Err(before), Err(after)) => before == after,
                _ => false,
            }
        }
        let wrapping = |sum: u64, before: u64, after: u64| Some(replaced_rate(sum, before, after));
        replace(&mut self.cpu, &before.cpu, &after.cpu, wrapping)
            && replace(&mut self.stat, &before.stat, &after.stat, StatPart::replaced)
            && replace(&mut self.memory, &before.memory, &after.memory, MemoryPart::replaced)
            && replace(&mut self.io, &before.io, &after.io, IoTotals::replaced)
            && replace(&mut self.status, &before.status, &after.status, StatusPart::replaced)
            && replace(&mut self.handles, &before.handles, &after.handles, replaced_size)
    }

    /// Adds what ended processes have used.
    pub(crate) fn add_ended(&mut self, ended: &Rates) {
        if let Ok(cpu) = &mut self.cpu {
            *cpu = cpu.wrapping_add(ended.cpu);
        }
        if let Ok(stat) = &mut self.stat {
            stat.user = stat.user.wrapping_add(ended.user);
            stat.privileged = stat.privileged.wrapping_add(ended.privileged);
            stat.faults = stat.faults.wrapping_add(ended.faults);
        }
        if let Ok(io) = &mut self.io {
            io.add(ended.io);
        }
    }
}

impl StatPart {
    pub(crate) fn new(stat: &PidStat<'_>, facts: &SystemFacts) -> StatPart {
        StatPart {
            user: facts.ticks_to_100ns(stat.user_ticks),
            privileged: facts.ticks_to_100ns(stat.system_ticks),
            faults: stat.minor_faults.wrapping_add(stat.major_faults),
            threads: stat.threads,
            priority: base_priority(stat),
            parent: stat.parent,
        }
    }

    fn add(&mut self, other: StatPart) {
        self.user = self.user.wrapping_add(other.user);
        self.privileged = self.privileged.wrapping_add(other.privileged);
        self.faults = self.faults.wrapping_add(other.faults);
        self.threads = self.threads.saturating_add(other.threads);
    }

    fn replaced(self, before: StatPart, after: StatPart) -> Option<StatPart> {
        Some(StatPart {
            user: replaced_rate(self.user, before.user, after.user),
            privileged: replaced_rate(self.privileged, before.privileged, after.privileged),
            faults: replaced_rate(self.faults, before.faults, after.faults),
            threads: replaced_size(self.threads, before.threads, after.threads)?,
            ..self
        })
    }
}

impl MemoryPart {
    pub(crate) fn new(statm: PidStatm, facts: &SystemFacts) -> MemoryPart {
        MemoryPart {
            address_space: facts.pages_to_bytes(statm.size),
            working_set: facts.pages_to_bytes(statm.resident),
            private_working_set: facts.pages_to_bytes(statm.anonymous()),
        }
    }

    fn add(&mut self, other: MemoryPart) {
        self.address_space = self.address_space.saturating_add(other.address_space);
        self.working_set = self.working_set.saturating_add(other.working_set);
        self.private_working_set = self.private_working_set.saturating_add(other.private_working_set);
    }

    fn replaced(self, before: MemoryPart, after: MemoryPart) -> Option<MemoryPart> {
        Some(MemoryPart {
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

/// The kernel's own stack of a thread: 16 KiB on 64-bit machines, 8 KiB on others, in the usual configurations.
const KERNEL_STACK: u64 = if cfg!(target_pointer_width = "64") { 16 << 10 } else { 8 << 10 };

impl StatusPart {
    const NOTHING: StatusPart = StatusPart {
        address_space_peak: Some(0),
        working_set_peak: Some(0),
        private: Some(0),
        private_peak: Some(0),
        nonpaged: Some(0),
    };

    /// `peak` is the largest `private` so far, and is brought up to date.
    pub(crate) fn new(status: &PidStatus, peak: &mut u64) -> StatusPart {
        let stacks = status.threads.map(|threads| threads.saturating_mul(KERNEL_STACK));
        if status.virtual_size.is_none() {
            // A kernel thread or zombie has no memory of its own, and no line that says so.
            return StatusPart { nonpaged: stacks, private_peak: Some(*peak), ..StatusPart::NOTHING };
        }
        let private = status.private().map(kib_to_bytes);
        *peak = (*peak).max(private.unwrap_or(0));
        StatusPart {
            address_space_peak: status.virtual_peak.map(kib_to_bytes),
            working_set_peak: status.resident_peak.map(kib_to_bytes),
            private,
            private_peak: private.map(|_| *peak),
            nonpaged: status
                .page_tables
                .zip(stacks)
                .map(|(tables, stacks)| kib_to_bytes(tables).saturating_add(stacks)),
        }
    }

    fn add(&mut self, other: StatusPart) {
        let sum = |one: Option<u64>, other: Option<u64>| Some(one?.saturating_add(other?));
        self.address_space_peak = sum(self.address_space_peak, other.address_space_peak);
        self.working_set_peak = sum(self.working_set_peak, other.working_set_peak);
        self.private = sum(self.private, other.private);
        self.private_peak = sum(self.private_peak, other.private_peak);
        self.nonpaged = sum(self.nonpaged, other.nonpaged);
    }

    fn replaced(self, before: StatusPart, after: StatusPart) -> Option<StatusPart> {
        // A size that one process does not tell is not known of all.
        let size = |sum: Option<u64>, before: Option<u64>, after: Option<u64>| match (sum, before, after) {
            (Some(sum), Some(before), Some(after)) => replaced_size(sum, before, after).map(Some),
            // It still does not tell, or it is another one that does not.
            (None, None, None) | (None, Some(_), Some(_)) => Some(None),
            _ => None,
        };
        Some(StatusPart {
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
    fn a_sum_with_an_unknown_part_is_unknown() {
        let wants = ProcessNeeds { cpu: true, io: true, ..ProcessNeeds::default() };
        let mut sum = Parts::zero(&wants);
        assert_eq!(sum.stat, Err(Absence::NotRequested));
        sum.add(&Parts { cpu: Ok(5), ..Parts::zero(&wants) });
        sum.add(&Parts { cpu: Ok(7), io: Err(Absence::AccessDenied), ..Parts::zero(&wants) });
        sum.add(&Parts { cpu: Ok(1), ..Parts::zero(&wants) });
        assert_eq!((sum.cpu, sum.io), (Ok(13), Err(Absence::AccessDenied)));
        sum.add_ended(&Rates { cpu: 100, ..Rates::default() });
        assert_eq!((sum.cpu, sum.io), (Ok(113), Err(Absence::AccessDenied)));
    }

    #[test]
    fn a_sum_with_another_process_for_one_is_the_sum_of_the_others() {
        let wants = ProcessNeeds {
            cpu: true,
            stat: true,
            statm: true,
            io: true,
            status: true,
            ..ProcessNeeds::default()
        };
        let parts = |number: u64| Parts {
            cpu: Ok(number.wrapping_mul(3)),
            stat: Ok(StatPart {
                user: number,
                privileged: 7,
                faults: number << 60,
                threads: number,
                ..StatPart::default()
            }),
            memory: Ok(MemoryPart {
                address_space: number << 20,
                working_set: number,
                private_working_set: 1,
            }),
            io: Ok(IoTotals {
                read_bytes: u64::MAX - number,
                write_operations: number,
                ..IoTotals::default()
            }),
            status: Ok(StatusPart { private: Some(number), nonpaged: Some(9), ..StatusPart::NOTHING }),
            ..Parts::zero(&wants)
        };
        let sum_of = |numbers: &[u64]| {
            let mut sum = Parts::zero(&wants);
            numbers.iter().for_each(|number| sum.add(&parts(*number)));
            sum
        };
        let mut sum = sum_of(&[4, 900, 17]);
        assert!(sum.replace(&parts(900), &parts(3)) && sum.replace(&parts(4), &parts(1_000)));
        assert_eq!(sum, sum_of(&[1_000, 3, 17]));
        let denied = Parts { io: Err(Absence::AccessDenied), ..parts(17) };
        assert!(!sum.replace(&parts(17), &denied), "now its I/O is not known");
        let mut sum = sum_of(&[1, 2]);
        sum.add(&denied);
        assert!(!sum.replace(&denied, &parts(17)), "now it is");
        assert!(sum.replace(&denied, &denied) && sum.replace(&parts(1), &parts(9)));
        let mut expected = sum_of(&[9, 2]);
        expected.add(&denied);
        assert_eq!(sum, expected, "another one is not known");
        let unknown = StatusPart { nonpaged: None, ..StatusPart::NOTHING };
        let unknown = Parts { status: Ok(unknown), ..parts(1) };
        assert!(!sum_of(&[1]).replace(&parts(1), &unknown));
        let mut sum = sum_of(&[1, 2]);
        sum.add(&unknown);
        assert!(!sum.replace(&unknown, &parts(1)), "now all tell");
        assert!(sum.replace(&unknown, &unknown) && sum.replace(&parts(2), &parts(8)));
        let mut expected = sum_of(&[1, 8]);
        expected.add(&unknown);
        assert_eq!(sum, expected, "another one does not tell");
        let full = MemoryPart { working_set: u64::MAX, ..MemoryPart::default() };
        let mut sum = sum_of(&[1]);
        sum.add(&Parts { memory: Ok(full), ..parts(2) });
        assert!(!sum.replace(&parts(1), &parts(2)), "more than can be counted");
    }

    #[test]
    fn memory_of_kernel_threads_is_nothing_and_missing_lines_are_unknown() {
        let mut peak = 0;
        let kernel_thread = PidStatus { threads: Some(1), ..PidStatus::default() };
        let part = StatusPart::new(&kernel_thread, &mut peak);
        assert_eq!(part, StatusPart { nonpaged: Some(KERNEL_STACK), ..StatusPart::NOTHING });
        let old = PidStatus { virtual_size: Some(9), virtual_peak: Some(10), ..kernel_thread };
        let part = StatusPart::new(&old, &mut peak);
        assert_eq!((part.address_space_peak, part.private, part.nonpaged), (Some(10_240), None, None));
        for (private, expected) in [(3, 3), (7, 7), (5, 7)] {
            let status = PidStatus { resident_anon: Some(private), swap: Some(0), ..old };
            let part = StatusPart::new(&status, &mut peak);
            assert_eq!(part.private, Some(private * 1024));
            assert_eq!(part.private_peak, Some(expected * 1024));
        }
    }
}
