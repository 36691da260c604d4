//! Reads a process from its files, which stay open.
//!
//! Of a process that has not run since it was read, only what others can change is read again. It has not run
//! when its CPU clock is exactly, to the nanosecond, what it was before its files were read: the clock counts
//! all threads, including those that exited. Reading the clock costs 0.5 µs, reading the files 40 µs.
//!
//! | value | is read again |
//! |---|---|
//! | `stat`: state, parent, priorities, times, faults | as described in [`super::idle`], and after 15 s |
//! | `statm`: sizes | always, for kernel threads never |
//! | `status`: private bytes, peaks, page tables | when `statm` has changed, and after 15 s |
//! | open files | after 15 s |
//! | `io` | never |
//! | list of threads | when `stat` has another count; without `stat` after 15 s |
//! | `stat` of a thread | with that of the process; it is the same for a single thread |
//! | `schedstat` and context switches of a thread | never |
//! | name and start time | with `stat`, else as described in [`super`] |
//!
//! * Others can wake a process, adopt it or change its nice value: `stat`. They can take its memory, by
//!   reclaim or by truncating a file that it maps, and bring it back from swap: `statm`.
//! * The memory values of `status` change with `statm`, with exceptions: a process that shares the memory
//!   (`vfork`) may have allocated and freed some, others may reset a peak, and page tables are freed for huge
//!   pages. Files are opened and closed only by system calls of the process itself, unless it shares its
//!   table (`CLONE_FILES`). Hence the 15 s.
//! * I/O is charged to the thread that requests it, also with io_uring, and to the parent when it waits for a
//!   child. A thread has to run to use CPU time, to switch, to start a thread and to exit; its tracer may
//!   reap it later, which is why threads are counted.
//!
//! A value that could not be read, or was not needed at the last read, is read as if the process had run.
//!
//! The clock lags in one case: the scheduler accounts at ticks, 1 to 10 ms apart (1 s on a tickless CPU), and
//! when it switches a thread out. So a process is read in full when its `stat` says that a thread is running.
//! For a thread whose own `stat` is not read, work before its first tick shows up in the next sample, as its
//! CPU time does. If the clock misses a run, for example when a hypervisor stole all of its time, the context
//! switches in `status` differ after 15 s. Where clocks are too coarse, everything is always read, see
//! [`process_clocks_show_runs`].
//!
//! [`process_clocks_show_runs`]: crate::kernel::clock::process_clocks_show_runs

use std::path::Path;

use tallymon_provider::{Absence, FileTime};

use super::descriptors::FileKind;
use super::needs::ProcessNeeds;
use super::reader::{Exited, FileError, ProcessReader};
use super::row::{IDENTITY_CHECK_AFTER, ProcessRow, has_passed};
use super::thread::{RUNNING, StatReading, ThreadStat};
use super::usage::{IoTotals, Usage};
use super::values::{Available, MemoryValues, StatValues, StatusValues};
use crate::kernel::clock::process_cpu_time;
use crate::kernel::instance_name::instance_name;
use crate::kernel::proc::nanoseconds_to_100ns;
use crate::kernel::proc::pid_cmdline::{image_name, is_cut};
use crate::kernel::proc::pid_io::PidIo;
use crate::kernel::proc::pid_stat::PidStat;
use crate::kernel::proc::pid_statm::PidStatm;
use crate::kernel::proc::pid_status::PidStatus;
use crate::kernel::reusable_file::ReusableFile;

impl ProcessRow {
    /// Reads what is needed.
    ///
    /// # Errors
    ///
    /// The process has exited, or nothing of it can be read.
    pub(super) fn read(
        &mut self,
        wants: &ProcessNeeds,
        reader: &mut ProcessReader<'_>,
    ) -> Result<(), Exited> {
        let not_requested = Absence::NotRequested;
        let is_due = has_passed(IDENTITY_CHECK_AFTER, self.checked, reader.now);
        let asks_clock =
            reader.has_clocks && (wants.cpu || wants.any_lasting() || is_due || reader.may_skip_stat);
        let clock = if asks_clock { process_cpu_time(self.pid) } else { None };
        let went_back = asks_clock && clock < self.clock;
        let may_be_other = is_due && (clock.is_none() || clock != self.checked_clock);
        let needs_ticks = wants.cpu && clock.is_none();
        let needs_stat = needs_ticks || went_back || may_be_other || self.start_ticks.is_none();
        self.idle.skips_stat =
            !needs_stat && reader.may_skip_stat && self.can_skip_stat(clock, wants, reader.now);
        let needs_stat = needs_stat || (wants.stat && !self.idle.skips_stat);
        if asks_clock {
            self.clock = clock;
        }
        if is_due || needs_stat {
            self.checked = reader.now;
            self.checked_clock = clock;
        }
        let known = self.idle.last_stat.take().filter(|_| self.idle.skips_stat).ok_or(not_requested);
        let stat = if needs_stat { self.read_stat(wants.stat, reader)? } else { known };
        if self.start_ticks.is_none() {
            // Without a start time nothing identifies it, so it cannot be shown.
            return Err(Exited);
        }
        self.idle.last_stat = stat.ok();
        self.values.stat =
            if wants.stat { stat.map(|stat_reading| stat_reading.process) } else { Err(not_requested) };
        self.values.cpu = if wants.cpu {
            let ticks = || {
                stat.map(|stat_reading| {
                    stat_reading.process.user.wrapping_add(stat_reading.process.privileged)
                })
            };
            clock.map(nanoseconds_to_100ns).map_or_else(ticks, Ok).map(|time| {
                self.usage.cpu = self.usage.cpu.max(time);
                self.usage.cpu
            })
        } else {
            Err(not_requested)
        };
        self.read_lasting_values(clock, needs_stat.then_some(stat), wants, reader)
    }

    /// Whether only its memory sizes have to be read, as far as that is known before the other processes are
    /// read.
    fn can_skip_stat(&self, clock: Option<u64>, wants: &ProcessNeeds, now: FileTime) -> bool {
        let tells = self.idle.last_stat.is_some_and(|stat_reading| stat_reading.first.is_idle());
        (clock.is_some() && clock == self.idle.clock && !self.idle.is_overdue(now))
            && (tells || !wants.stat)
            && wants.threads.is_none_or(|wants| self.threads.are_idle(clock, wants))
    }

    /// Reads the values that do not change while a process is idle, unless it has been idle. `clock` was read
    /// before any file; `stat_reading` is the result of `stat` if that was read.
    fn read_lasting_values(
        &mut self,
        clock: Option<u64>,
        stat_reading: Option<Available<StatReading>>,
        wants: &ProcessNeeds,
        reader: &mut ProcessReader<'_>,
    ) -> Result<(), Exited> {
        let clock = clock.filter(|_| reader.clocks_show_runs);
        let may_run = stat_reading.is_some_and(|stat_reading| {
            stat_reading.map_or(true, |stat_reading| stat_reading.first.state == RUNNING)
        });
        let is_overdue = self.idle.is_overdue(reader.now);
        let mut is_still = clock.is_some() && clock == self.idle.clock && !may_run;
        if is_still
            && !self.idle.skips_stat
            && let Some(wants) = wants.threads
        {
            let stat_reading = stat_reading.and_then(Result::ok);
            is_still = self.threads.refresh_idle(
                (self.pid, clock),
                stat_reading.as_ref(),
                is_overdue,
                wants,
                reader,
            );
        }
        self.idle.clock = clock;
        // The memory sizes show whether `status` can have changed.
        let reads_statm = wants.statm || (wants.status && is_still);
        let statm = match self.idle.statm {
            // Kernel threads have no memory of their own.
            Some(statm) if is_still && self.is_kernel_thread && reads_statm => Ok(statm),
            _ => part(reads_statm, || self.read_statm(reader))?,
        };
        let facts = reader.facts;
        let memory = statm.map(|statm| MemoryValues::new(statm, facts));
        self.values.memory = if wants.statm { memory } else { Err(Absence::NotRequested) };
        let holds = is_still && !is_overdue && statm.is_ok() && statm.ok() == self.idle.statm;
        self.idle.statm = statm.ok();
        let mut switches = None;
        let before = self.values.status;
        let read = || self.read_status(&mut switches, reader);
        self.values.status = unless(holds, before, wants.status, read)?;
        if switches.is_some() {
            // The scheduler's own count, in case the CPU clock has missed a run.
            is_still &= switches == self.idle.switches;
            self.idle.switches = switches;
        }
        if is_overdue || !is_still {
            self.idle.check(self.pid, is_still, reader.now);
        }
        self.io_resumed = None;
        self.values.io = unless(is_still, self.values.io, wants.io, || self.read_io(reader))?;
        let holds = is_still && !is_overdue;
        self.values.handles = unless(holds, self.values.handles, wants.handles, || reader.handles(self.pid))?;
        if let Some(wants) = wants.threads.filter(|_| !is_still) {
            self.threads.read((self.pid, clock), self.is_kernel_thread, switches, wants, reader)?;
        }
        Ok(())
    }

    fn read_stat(
        &mut self,
        keep: bool,
        reader: &mut ProcessReader<'_>,
    ) -> Result<Available<StatReading>, Exited> {
        let mut unkept = None;
        let (facts, now) = (*reader.facts, reader.now);
        let is_kept = keep || self.files.as_ref().is_some_and(|files| files.stat.is_some());
        let file = if is_kept { &mut self.files.get_or_insert_default().stat } else { &mut unkept };
        let read = reader.read(file, FileKind::Stat, self.pid);
        let parsed = read.and_then(|bytes| {
            let stat = PidStat::parse(bytes).map_err(|_| FileError::Absent(Absence::ReadFailed))?;
            if self.start_ticks.is_some_and(|ticks| ticks != stat.start_ticks) {
                return Err(FileError::Exited);
            }
            let is_renamed = self.start_ticks.is_none() || self.comm != stat.comm;
            if is_renamed {
                self.comm.clear();
                self.comm.extend_from_slice(stat.comm);
            }
            if self.start_ticks.is_none() {
                self.start_ticks = Some(stat.start_ticks);
                // The process may have started after this request began.
                self.start = facts.time_at(stat.start_ticks).min(now);
            }
            self.is_kernel_thread = stat.is_kernel_thread();
            let (part, first) = (StatValues::new(&stat, &facts), ThreadStat::new(&stat));
            // The kernel splits its exact time by the ticks that it saw, so one of the two parts may
            // decrease.
            self.usage.user = self.usage.user.max(part.user);
            self.usage.privileged = self.usage.privileged.max(part.privileged);
            self.usage.faults = self.usage.faults.max(part.faults);
            Ok((is_renamed, part, first))
        });
        reader.descriptors.close(&mut unkept, FileKind::Stat);
        match parsed {
            Ok((is_renamed, part, first)) => {
                if is_renamed {
                    self.rename(reader);
                }
                let Usage { user, privileged, faults, .. } = self.usage;
                Ok(Ok(StatReading { process: StatValues { user, privileged, faults, ..part }, first }))
            }
            Err(FileError::Absent(absence)) => Ok(Err(absence)),
            Err(FileError::Exited) => Err(Exited),
        }
    }

    /// Derives the instance name from `comm`, and from the arguments when the kernel has cut `comm`.
    pub(super) fn rename(&mut self, reader: &mut ProcessReader<'_>) {
        let pid = self.pid;
        let mut cmdline: &[u8] = &[];
        if is_cut(&self.comm) && !self.is_kernel_thread {
            let file = ReusableFile::pinned(reader.folder, Path::new(&format!("{pid}/cmdline")));
            cmdline = file.and_then(|mut file| file.read(reader.buffer)).unwrap_or_default();
        }
        self.name = instance_name(image_name(&self.comm, cmdline));
        if self.name.is_empty() {
            self.name = pid.to_string();
        }
    }

    fn read_statm(&mut self, reader: &mut ProcessReader<'_>) -> Result<PidStatm, FileError> {
        let bytes = reader.read(&mut self.files.get_or_insert_default().statm, FileKind::Statm, self.pid)?;
        PidStatm::parse(bytes).map_err(|_| FileError::Absent(Absence::ReadFailed))
    }

    fn read_io(&mut self, reader: &mut ProcessReader<'_>) -> Result<IoTotals, FileError> {
        let denied = FileError::Absent(Absence::AccessDenied);
        // Trying again is expensive and rarely helps: the rights of the process would have to change.
        if self.io_denied.is_some_and(|since| !has_passed(IDENTITY_CHECK_AFTER, since, reader.now)) {
            return Err(denied);
        }
        let now = reader.now;
        let read = reader.read(&mut self.files.get_or_insert_default().io, FileKind::Io, self.pid);
        self.io_denied = (read == Err(denied)).then_some(now);
        let failed = FileError::Absent(Absence::ReadFailed);
        match read.and_then(|bytes| PidIo::parse(bytes).map_err(|_| failed)) {
            Ok(io) => {
                self.take_io(IoTotals::new(io));
                Ok(self.usage.io)
            }
            Err(error) => {
                if let FileError::Absent(why) = error {
                    self.io_unread = Some(why);
                }
                Err(error)
            }
        }
    }

    /// Sets `switches` to the context switches of the first thread, which are in the same file.
    fn read_status(
        &mut self,
        switches: &mut Option<u64>,
        reader: &mut ProcessReader<'_>,
    ) -> Result<StatusValues, FileError> {
        let bytes =
            reader.read(&mut self.files.get_or_insert_default().status, FileKind::Status, self.pid)?;
        let status = PidStatus::parse(bytes).map_err(|_| FileError::Absent(Absence::ReadFailed))?;
        *switches = status.context_switches();
        Ok(StatusValues::new(&status, &mut self.peaks))
    }
}

/// Reads a value if it is needed. An exited process ends the whole read.
fn part<T>(is_wanted: bool, read: impl FnOnce() -> Result<T, FileError>) -> Result<Available<T>, Exited> {
    if !is_wanted {
        return Ok(Err(Absence::NotRequested));
    }
    match read() {
        Ok(value) => Ok(Ok(value)),
        Err(FileError::Absent(absence)) => Ok(Err(absence)),
        Err(FileError::Exited) => Err(Exited),
    }
}

/// The value from before if it is needed and still valid, else as [`part`].
fn unless<T>(
    holds: bool,
    before: Available<T>,
    is_wanted: bool,
    read: impl FnOnce() -> Result<T, FileError>,
) -> Result<Available<T>, Exited> {
    if holds && is_wanted && before.is_ok() { Ok(before) } else { part(is_wanted, read) }
}
