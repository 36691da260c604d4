//! One thread of a process.

use tallymon_provider::{Absence, FileTime};

use super::descriptors::{DescriptorBudget, FileKind};
use super::needs::ThreadNeeds;
use super::priority::{base_priority, current_priority};
use super::reader::{Exited, FileError, ProcessReader};
use super::records::{CpuSplit, stat, ticks};
use super::usage::ThreadUsage;
use super::values::{Available, StatValues};
use crate::kernel::bpf::task_record::Record;
use crate::kernel::proc::nanoseconds_to_100ns;
use crate::kernel::proc::pid_schedstat::PidSchedstat;
use crate::kernel::proc::pid_stat::PidStat;
use crate::kernel::proc::pid_status::PidStatus;
use crate::kernel::reusable_file::ReusableFile;

/// One thread.
#[derive(Debug)]
pub(crate) struct Thread {
    pub(crate) tid: u32,
    /// When it started, on the steady clock.
    pub(crate) start: FileTime,
    pub(crate) values: ThreadValues,
    pub(super) usage: ThreadUsage,
    /// Ticks since boot; `None` until `stat` was read.
    pub(super) start_ticks: Option<u64>,
    /// `None` while none is open, as with a BPF pass.
    pub(super) files: Option<Box<ThreadFiles>>,
}

/// The open files of a thread.
#[derive(Debug, Default)]
pub(super) struct ThreadFiles {
    pub(super) stat: Option<ReusableFile>,
    pub(super) schedstat: Option<ReusableFile>,
    pub(super) status: Option<ReusableFile>,
}

/// The values of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ThreadValues {
    /// CPU time in 100 ns units.
    pub(crate) cpu: Available<u64>,
    pub(crate) stat: Available<ThreadStat>,
    /// Context switches.
    pub(crate) switches: Available<u64>,
}

/// From `stat` of a thread.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ThreadStat {
    /// 100 ns units.
    pub(crate) user: u64,
    /// 100 ns units.
    pub(crate) privileged: u64,
    /// NT's base priority, 0 to 31.
    pub(crate) base_priority: u64,
    /// NT's current priority, 0 to 31.
    pub(crate) priority: u64,
    /// The kernel's letter, as [`PidStat::state`].
    pub(crate) state: u8,
    /// The CPU on which it ran last.
    pub(crate) processor: Option<u64>,
}

/// What `stat` of a process says about the process and its first thread. The times of that thread are not in
/// it.
#[derive(Debug, Clone, Copy)]
pub(super) struct StatReading {
    pub(super) process: StatValues,
    pub(super) first: ThreadStat,
}

/// A thread as the BPF program saw it.
#[derive(Debug, Clone, Copy)]
pub(super) struct ThreadRecord {
    pub(super) tid: u32,
    /// Nanoseconds of the boot time clock.
    pub(super) start: u64,
    /// Nanoseconds.
    run_time: u64,
    user: u64,
    system: u64,
    switches: u64,
    stat: ThreadStat,
}

/// The kernel's letter for a running or runnable thread.
pub(super) const RUNNING: u8 = b'R';

impl ThreadStat {
    /// Whether it is neither running nor runnable, and has the priority that was set for it.
    pub(super) fn is_idle(&self) -> bool {
        self.state != RUNNING && self.priority == self.base_priority
    }

    /// Everything but the times.
    pub(super) fn new(stat: &PidStat<'_>) -> ThreadStat {
        ThreadStat {
            user: 0,
            privileged: 0,
            base_priority: base_priority(stat),
            priority: current_priority(stat),
            state: stat.state,
            processor: stat.processor,
        }
    }
}

impl ThreadRecord {
    pub(super) fn new(record: Record<'_>) -> ThreadRecord {
        ThreadRecord {
            tid: record.id(),
            start: record.start(),
            run_time: record.run_time(),
            user: record.user(),
            system: record.system(),
            switches: record.voluntary_switches().wrapping_add(record.involuntary_switches()),
            stat: ThreadStat::new(&stat(record)),
        }
    }
}

impl Thread {
    pub(super) fn new(tid: u32) -> Thread {
        let unread = Absence::NotRequested;
        Thread {
            tid,
            start: FileTime(0),
            values: ThreadValues { cpu: Err(unread), stat: Err(unread), switches: Err(unread) },
            usage: ThreadUsage::default(),
            start_ticks: None,
            files: None,
        }
    }

    /// What it had used when it was last read.
    pub(crate) fn usage(&self) -> &ThreadUsage {
        &self.usage
    }

    pub(super) fn take(&mut self, record: &ThreadRecord, wants: ThreadNeeds, reader: &ProcessReader<'_>) {
        let unread = Absence::NotRequested;
        if self.start_ticks.is_none() {
            let ticks = ticks(record.start, reader.facts);
            self.start_ticks = Some(ticks);
            self.start = reader.facts.time_at(ticks).min(reader.now);
        }
        self.values.cpu = if wants.cpu {
            self.usage.cpu = self.usage.cpu.max(nanoseconds_to_100ns(record.run_time));
            Ok(self.usage.cpu)
        } else {
            Err(unread)
        };
        self.values.stat = if wants.stat {
            let before = CpuSplit { user: self.usage.user, system: self.usage.privileged };
            let split = before.step(record.run_time, record.user, record.system);
            self.usage.user = split.user;
            self.usage.privileged = split.system;
            Ok(ThreadStat { user: split.user, privileged: split.system, ..record.stat })
        } else {
            Err(unread)
        };
        self.values.switches = if wants.switches {
            self.usage.switches = self.usage.switches.max(record.switches);
            Ok(self.usage.switches)
        } else {
            Err(unread)
        };
    }

    /// Whether exactly the needed values are known.
    pub(super) fn has(&self, wants: ThreadNeeds) -> bool {
        let ThreadValues { cpu, stat, switches } = &self.values;
        cpu.is_ok() == wants.cpu && stat.is_ok() == wants.stat && switches.is_ok() == wants.switches
    }

    /// Takes everything but the times, and returns whether the thread is not running.
    pub(super) fn set(&mut self, now: ThreadStat) -> bool {
        if let Ok(stat) = &mut self.values.stat {
            *stat = ThreadStat { user: stat.user, privileged: stat.privileged, ..now };
        }
        now.state != RUNNING
    }

    /// Reads what others can change, and returns whether the thread still exists and is not running.
    pub(super) fn refresh_idle(
        &mut self,
        pid: u32,
        wants: ThreadNeeds,
        reader: &mut ProcessReader<'_>,
    ) -> bool {
        !wants.stat || matches!(self.read_stat(pid, true, reader), Ok(Ok(stat)) if self.set(stat))
    }

    /// `first` is the id of the process and its first thread, and the context switches of that thread if they
    /// are known.
    pub(super) fn read(
        &mut self,
        first: (u32, Option<u64>),
        wants: ThreadNeeds,
        reader: &mut ProcessReader<'_>,
    ) -> Result<(), Exited> {
        let (pid, known) = first;
        let known = known.filter(|_| self.tid == pid);
        let schedstat = if wants.cpu { self.read_schedstat(pid, reader) } else { Ok(None) };
        let run_time = schedstat.or_else(FileError::unless_exited)?;
        let went_back = run_time.is_some_and(|time| time < self.usage.cpu);
        let need_stat = wants.stat || self.start_ticks.is_none() || went_back;
        // Without schedstat, the CPU time comes from the ticks.
        let need_stat = need_stat || (wants.cpu && run_time.is_none());
        let stat =
            if need_stat { self.read_stat(pid, wants.stat, reader)? } else { Err(Absence::NotRequested) };
        if self.start_ticks.is_none() {
            // Without a start time nothing identifies it, so it cannot be shown.
            return Err(Exited);
        }
        self.values.cpu = if wants.cpu {
            let ticks = || stat.map(|stat| stat.user.wrapping_add(stat.privileged));
            run_time.map_or_else(ticks, Ok).map(|time| {
                self.usage.cpu = self.usage.cpu.max(time);
                self.usage.cpu
            })
        } else {
            Err(Absence::NotRequested)
        };
        self.values.stat = if wants.stat { stat } else { Err(Absence::NotRequested) };
        self.values.switches = if wants.switches {
            match self.read_switches(pid, known, reader) {
                Ok(switches) => Ok(switches),
                Err(FileError::Absent(absence)) => Err(absence),
                Err(FileError::Exited) => return Err(Exited),
            }
        } else {
            Err(Absence::NotRequested)
        };
        Ok(())
    }

    /// CPU time in 100 ns units; `None` where the kernel does not account it.
    fn read_schedstat(&mut self, pid: u32, reader: &mut ProcessReader<'_>) -> Result<Option<u64>, FileError> {
        let kind = FileKind::ThreadSchedstat;
        let bytes =
            reader.read_thread(&mut self.files.get_or_insert_default().schedstat, kind, pid, self.tid)?;
        let time = PidSchedstat::parse(bytes).map_err(|_| FileError::Absent(Absence::ReadFailed))?.run_time;
        // A kernel without accounting prints zeros.
        Ok((time > 0).then(|| nanoseconds_to_100ns(time)))
    }

    fn read_stat(
        &mut self,
        pid: u32,
        keep: bool,
        reader: &mut ProcessReader<'_>,
    ) -> Result<Available<ThreadStat>, Exited> {
        let mut unkept = None;
        let file = if keep { &mut self.files.get_or_insert_default().stat } else { &mut unkept };
        let (facts, now) = (*reader.facts, reader.now);
        let parsed = reader
            .read_thread(file, FileKind::ThreadStat, pid, self.tid)
            .and_then(|bytes| PidStat::parse(bytes).map_err(|_| FileError::Absent(Absence::ReadFailed)));
        let result = match parsed {
            Ok(stat) if self.start_ticks.is_some_and(|ticks| ticks != stat.start_ticks) => Err(Exited),
            Ok(stat) => {
                if self.start_ticks.is_none() {
                    self.start_ticks = Some(stat.start_ticks);
                    self.start = facts.time_at(stat.start_ticks).min(now);
                }
                self.usage.user = self.usage.user.max(facts.ticks_to_100ns(stat.user_ticks));
                self.usage.privileged = self.usage.privileged.max(facts.ticks_to_100ns(stat.system_ticks));
                let ThreadUsage { user, privileged, .. } = self.usage;
                Ok(Ok(ThreadStat { user, privileged, ..ThreadStat::new(&stat) }))
            }
            Err(FileError::Absent(absence)) => Ok(Err(absence)),
            Err(FileError::Exited) => Err(Exited),
        };
        reader.descriptors.close(&mut unkept, FileKind::ThreadStat);
        result
    }

    fn read_switches(
        &mut self,
        pid: u32,
        known: Option<u64>,
        reader: &mut ProcessReader<'_>,
    ) -> Result<u64, FileError> {
        if let Some(switches) = known {
            self.usage.switches = self.usage.switches.max(switches);
            return Ok(self.usage.switches);
        }
        let bytes = reader.read_thread(
            &mut self.files.get_or_insert_default().status,
            FileKind::ThreadStatus,
            pid,
            self.tid,
        )?;
        let status = PidStatus::parse(bytes).map_err(|_| FileError::Absent(Absence::ReadFailed))?;
        let switches = status.context_switches().ok_or(FileError::Absent(Absence::NotInThisKernel))?;
        self.usage.switches = self.usage.switches.max(switches);
        Ok(self.usage.switches)
    }

    pub(super) fn close(&mut self, descriptors: &mut DescriptorBudget) {
        FileKind::ALL.into_iter().for_each(|kind| self.close_kind(kind, descriptors));
        self.files = None;
    }

    pub(super) fn close_kind(&mut self, kind: FileKind, descriptors: &mut DescriptorBudget) {
        let Some(files) = &mut self.files else { return };
        match kind {
            FileKind::ThreadStat => descriptors.close(&mut files.stat, kind),
            FileKind::ThreadSchedstat => descriptors.close(&mut files.schedstat, kind),
            FileKind::ThreadStatus => descriptors.close(&mut files.status, kind),
            FileKind::Stat | FileKind::Statm | FileKind::Io | FileKind::Status | FileKind::Task => {}
        }
    }
}
