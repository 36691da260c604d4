//! One thread of a process.

use tallymon_provider::{Absence, FileTime};

use super::descriptors::{Descriptors, Kind};
use super::needs::ThreadNeeds;
use super::priority::{base_priority, current_priority};
use super::reader::{Gone, Reader, Trouble};
use super::records::{Split, stat, ticks};
use super::usage::ThreadRates;
use super::values::{Part, StatPart};
use crate::kernel::bpf::task_record::Record;
use crate::kernel::proc::nanoseconds_to_100ns;
use crate::kernel::proc::pid_schedstat::PidSchedstat;
use crate::kernel::proc::pid_stat::PidStat;
use crate::kernel::proc::pid_status::PidStatus;
use crate::kernel::reusable_file::Kept;

/// One thread.
#[derive(Debug)]
pub(crate) struct Thread {
    pub(crate) tid: u32,
    /// When it started, on the steady clock.
    pub(crate) start: FileTime,
    pub(crate) parts: ThreadParts,
    pub(super) rates: ThreadRates,
    /// Ticks since the start of the machine; `None` until `stat` was read.
    pub(super) start_ticks: Option<u64>,
    /// `None` as long as none is read, as by a pass.
    pub(super) files: Option<Box<ThreadFiles>>,
}

/// The files of a thread that stay open.
#[derive(Debug, Default)]
pub(super) struct ThreadFiles {
    pub(super) stat: Option<Kept>,
    pub(super) schedstat: Option<Kept>,
    pub(super) status: Option<Kept>,
}

/// What is known of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ThreadParts {
    /// CPU time in 100 ns units.
    pub(crate) cpu: Part<u64>,
    pub(crate) stat: Part<ThreadStat>,
    /// Context switches.
    pub(crate) switches: Part<u64>,
}

/// From `stat` of a thread.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ThreadStat {
    /// 100 ns units.
    pub(crate) user: u64,
    /// 100 ns units.
    pub(crate) privileged: u64,
    /// NT's, 0 to 31.
    pub(crate) base_priority: u64,
    /// NT's, 0 to 31.
    pub(crate) priority: u64,
    /// The kernel's letter, as [`PidStat::state`].
    pub(crate) state: u8,
    /// The processor it ran on last.
    pub(crate) processor: Option<u64>,
}

/// What `stat` of a process says of it and of its first thread, whose times are not in it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Told {
    pub(super) process: StatPart,
    pub(super) first: ThreadStat,
}

/// A thread as a program in the kernel saw it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Seen {
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

/// The kernel's letter of a thread that runs, or wants to.
pub(super) const RUNNING: u8 = b'R';

impl ThreadStat {
    /// Whether it neither runs nor wants to, and has the priority that was chosen for it.
    pub(super) fn rests(&self) -> bool {
        self.state != RUNNING && self.priority == self.base_priority
    }

    /// All but the times.
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

impl Seen {
    pub(super) fn new(record: Record<'_>) -> Seen {
        Seen {
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
            parts: ThreadParts { cpu: Err(unread), stat: Err(unread), switches: Err(unread) },
            rates: ThreadRates::default(),
            start_ticks: None,
            files: None,
        }
    }

    pub(super) fn take(&mut self, seen: &Seen, wants: ThreadNeeds, reader: &Reader<'_>) {
        let unread = Absence::NotRequested;
        if self.start_ticks.is_none() {
            let ticks = ticks(seen.start, reader.facts);
            self.start_ticks = Some(ticks);
            self.start = reader.facts.time_at(ticks).min(reader.now);
        }
        self.parts.cpu = if wants.cpu {
            self.rates.cpu = self.rates.cpu.max(nanoseconds_to_100ns(seen.run_time));
            Ok(self.rates.cpu)
        } else {
            Err(unread)
        };
        self.parts.stat = if wants.stat {
            let before = Split { user: self.rates.user, system: self.rates.privileged };
            let split = before.step(seen.run_time, seen.user, seen.system);
            self.rates.user = split.user;
            self.rates.privileged = split.system;
            Ok(ThreadStat { user: split.user, privileged: split.system, ..seen.stat })
        } else {
            Err(unread)
        };
        self.parts.switches = if wants.switches {
            self.rates.switches = self.rates.switches.max(seen.switches);
            Ok(self.rates.switches)
        } else {
            Err(unread)
        };
    }

    /// Whether what is known is what is wanted.
    pub(super) fn has(&self, wants: ThreadNeeds) -> bool {
        let ThreadParts { cpu, stat, switches } = &self.parts;
        cpu.is_ok() == wants.cpu && stat.is_ok() == wants.stat && switches.is_ok() == wants.switches
    }

    /// Takes all but the times, and says whether it does not run.
    pub(super) fn set(&mut self, now: ThreadStat) -> bool {
        if let Ok(stat) = &mut self.parts.stat {
            *stat = ThreadStat { user: stat.user, privileged: stat.privileged, ..now };
        }
        now.state != RUNNING
    }

    /// Looks at what others can change, and says whether it is there and does not run.
    pub(super) fn stays(&mut self, pid: u32, wants: ThreadNeeds, reader: &mut Reader<'_>) -> bool {
        !wants.stat || matches!(self.read_stat(pid, true, reader), Ok(Ok(stat)) if self.set(stat))
    }

    /// `first` is the number of the process and of its first thread, with the switches of that thread where they are known.
    pub(super) fn read(
        &mut self,
        first: (u32, Option<u64>),
        wants: ThreadNeeds,
        reader: &mut Reader<'_>,
    ) -> Result<(), Gone> {
        let (pid, known) = first;
        let known = known.filter(|_| self.tid == pid);
        let schedstat = if wants.cpu { self.read_schedstat(pid, reader) } else { Ok(None) };
        let run_time = schedstat.or_else(Trouble::unless_gone)?;
        let went_back = run_time.is_some_and(|time| time < self.rates.cpu);
        let need_stat = wants.stat || self.start_ticks.is_none() || went_back;
        // Without schedstat, the time comes from the ticks.
        let need_stat = need_stat || (wants.cpu && run_time.is_none());
        let stat =
            if need_stat { self.read_stat(pid, wants.stat, reader)? } else { Err(Absence::NotRequested) };
        if self.start_ticks.is_none() {
            // Nothing identifies it, so nothing of it can be shown.
            return Err(Gone);
        }
        self.parts.cpu = if wants.cpu {
            let ticks = || stat.map(|stat| stat.user.wrapping_add(stat.privileged));
            run_time.map_or_else(ticks, Ok).map(|time| {
                self.rates.cpu = self.rates.cpu.max(time);
                self.rates.cpu
            })
        } else {
            Err(Absence::NotRequested)
        };
        self.parts.stat = if wants.stat { stat } else { Err(Absence::NotRequested) };
        self.parts.switches = if wants.switches {
            match self.read_switches(pid, known, reader) {
                Ok(switches) => Ok(switches),
                Err(Trouble::Absent(absence)) => Err(absence),
                Err(Trouble::Gone) => return Err(Gone),
            }
        } else {
            Err(Absence::NotRequested)
        };
        Ok(())
    }

    /// CPU time in 100 ns units, `None` in a kernel without it.
    fn read_schedstat(&mut self, pid: u32, reader: &mut Reader<'_>) -> Result<Option<u64>, Trouble> {
        let kind = Kind::ThreadSchedstat;
        let bytes =
            reader.read_thread(&mut self.files.get_or_insert_default().schedstat, kind, pid, self.tid)?;
        let time = PidSchedstat::parse(bytes).map_err(|_| Trouble::Absent(Absence::ReadFailed))?.run_time;
        // A kernel that does not account prints zeros.
        Ok((time > 0).then(|| nanoseconds_to_100ns(time)))
    }

    fn read_stat(&mut self, pid: u32, keep: bool, reader: &mut Reader<'_>) -> Result<Part<ThreadStat>, Gone> {
        let mut unkept = None;
        let file = if keep { &mut self.files.get_or_insert_default().stat } else { &mut unkept };
        let (facts, now) = (*reader.facts, reader.now);
        let parsed = reader
            .read_thread(file, Kind::ThreadStat, pid, self.tid)
            .and_then(|bytes| PidStat::parse(bytes).map_err(|_| Trouble::Absent(Absence::ReadFailed)));
        let result = match parsed {
            Ok(stat) if self.start_ticks.is_some_and(|ticks| ticks != stat.start_ticks) => Err(Gone),
            Ok(stat) => {
                if self.start_ticks.is_none() {
                    self.start_ticks = Some(stat.start_ticks);
                    self.start = facts.time_at(stat.start_ticks).min(now);
                }
                self.rates.user = self.rates.user.max(facts.ticks_to_100ns(stat.user_ticks));
                self.rates.privileged = self.rates.privileged.max(facts.ticks_to_100ns(stat.system_ticks));
                let ThreadRates { user, privileged, .. } = self.rates;
                Ok(Ok(ThreadStat { user, privileged, ..ThreadStat::new(&stat) }))
            }
            Err(Trouble::Absent(absence)) => Ok(Err(absence)),
            Err(Trouble::Gone) => Err(Gone),
        };
        reader.descriptors.close(&mut unkept, Kind::ThreadStat);
        result
    }

    fn read_switches(
        &mut self,
        pid: u32,
        known: Option<u64>,
        reader: &mut Reader<'_>,
    ) -> Result<u64, Trouble> {
        if let Some(switches) = known {
            self.rates.switches = self.rates.switches.max(switches);
            return Ok(self.rates.switches);
        }
        let bytes = reader.read_thread(
            &mut self.files.get_or_insert_default().status,
            Kind::ThreadStatus,
            pid,
            self.tid,
        )?;
        let status = PidStatus::parse(bytes).map_err(|_| Trouble::Absent(Absence::ReadFailed))?;
        let switches = status.context_switches().ok_or(Trouble::Absent(Absence::NotInThisKernel))?;
        self.rates.switches = self.rates.switches.max(switches);
        Ok(self.rates.switches)
    }

    pub(super) fn close(&mut self, descriptors: &mut Descriptors) {
        Kind::ALL.into_iter().for_each(|kind| self.close_kind(kind, descriptors));
        self.files = None;
    }

    pub(super) fn close_kind(&mut self, kind: Kind, descriptors: &mut Descriptors) {
        let Some(files) = &mut self.files else { return };
        match kind {
            Kind::ThreadStat => descriptors.close(&mut files.stat, kind),
            Kind::ThreadSchedstat => descriptors.close(&mut files.schedstat, kind),
            Kind::ThreadStatus => descriptors.close(&mut files.status, kind),
            Kind::Stat | Kind::Statm | Kind::Io | Kind::Status | Kind::Task => {}
        }
    }
}
