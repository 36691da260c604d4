//! Fills the rows of all processes from one pass of the BPF program.
//!
//! The values are those of the files, with these improvements: times are in nanoseconds where `stat` has
//! ticks, nobody's I/O is denied, and all values are read within a tenth of a millisecond. Memory sizes
//! include the page counts that Linux keeps per CPU until they are large; the files include them since Linux
//! 6.16. Before Linux 6.6, and with 64 CPUs or more, they are left out here.
//!
//! A kernel may hide some processes from BPF programs and still show them in `/proc`. Those are searched for
//! now and then, and read from their files.

use std::mem;

use tallymon_provider::{Absence, FileTime};

use super::changes::Changes;
use super::exits::ExitedTotals;
use super::needs::ProcessNeeds;
use super::reader::ProcessReader;
use super::records::{CpuSplit, stat, status, ticks};
use super::row::{IDENTITY_CHECK_AFTER, ProcessRow, has_passed};
use super::table::ProcessTable;
use super::thread::ThreadRecord;
use super::usage::IoTotals;
use super::values::{MemoryValues, StatValues, StatusValues};
use crate::kernel::bpf::refusal::Refusal;
use crate::kernel::bpf::task_record::{Record, TaskParts};
use crate::kernel::clock::process_cpu_time;
use crate::kernel::proc::pid_stat::PidStat;
use crate::kernel::proc::pid_statm::PidStatm;
use crate::kernel::proc::pid_status::PidStatus;
use crate::kernel::proc::{SystemFacts, nanoseconds_to_100ns};
use crate::kernel::reusable_file::Buffer;

/// The task fields that these needs require.
fn task_parts(wants: &ProcessNeeds) -> TaskParts {
    let threads = wants.threads.unwrap_or_default();
    [
        (wants.cpu || threads.cpu, TaskParts::CPU),
        (wants.stat || threads.stat, TaskParts::STAT),
        (wants.statm, TaskParts::MEMORY),
        (wants.status, TaskParts::STATUS),
        (wants.io, TaskParts::IO),
        (wants.handles, TaskParts::HANDLES),
        (threads.switches, TaskParts::SWITCHES),
    ]
    .into_iter()
    .filter(|(wanted, _)| *wanted)
    .fold(TaskParts::default(), |sum, (_, asked)| sum | asked)
}

impl ProcessTable {
    /// Fills the rows by one pass of the BPF program.
    ///
    /// # Errors
    ///
    /// The program failed. Some rows may have been filled; the caller has to read the files instead.
    pub(super) fn refresh_by_bpf(
        &mut self,
        facts: &SystemFacts,
        now: FileTime,
        buffer: &mut Buffer,
    ) -> Result<(), Refusal> {
        let Some((tasks, _)) = self.bpf.program.get() else { return Ok(()) };
        self.bpf.pass = self.bpf.pass.wrapping_add(1);
        let number = self.bpf.pass;
        let mut new_rows = Vec::new();
        let wants = self.wants;
        let (rows, exited) = (&self.rows, &mut self.exited);
        let is_known = |(pid, start)| {
            let row = rows.binary_search_by_key(&pid, |row| row.pid).ok().and_then(|row| rows.get(row));
            row.is_some_and(|row| row.start_ticks == Some(start))
        };
        // Take exit records before the pass: a task that the kernel has released is not in the pass any more.
        tasks.take_exits(|end| exited.add_record(&end, facts, is_known));
        exited.expire(now);
        let keeps = self.bpf.wants.take() == Some(wants);
        if keeps {
            self.changes.track();
        }
        let mut pass = Pass {
            wants,
            missing: tasks.missing(),
            rows: &mut self.rows,
            new_rows: &mut new_rows,
            exited: &mut self.exited,
            threads: mem::take(&mut self.bpf.threads),
            reader: ProcessReader {
                folder: &self.folder,
                has_clocks: self.has_clocks,
                clocks_show_runs: self.clocks_show_runs,
                may_skip_stat: false,
                descriptors: &mut self.descriptors,
                buffer,
                scratch: &mut self.scratch,
                has_handle_counts: &mut self.has_handle_counts,
                facts,
                now,
            },
            number,
            keeps,
            changes: &mut self.changes,
            found: 0,
            next: 0,
            open: None,
        };
        let result = tasks.read(task_parts(&wants), |record| pass.take(record));
        pass.finish();
        self.bpf.threads = mem::take(&mut pass.threads);
        let found = pass.found;
        result?;
        self.bpf.wants = Some(wants);
        self.insert(new_rows);
        let found = self.read_hidden(facts, now, buffer).saturating_add(found);
        let ProcessTable { rows, exited, descriptors, changes, .. } = self;
        if found == rows.len() {
            return Ok(());
        }
        changes.forget();
        rows.retain_mut(|row| {
            let is_there = row.pass == number;
            if !is_there {
                exited.add(row, now);
                row.close(descriptors);
            }
            is_there
        });
        Ok(())
    }

    fn insert(&mut self, new_rows: Vec<ProcessRow>) {
        if !new_rows.is_empty() {
            self.changes.forget();
            self.rows.extend(new_rows);
            self.rows.sort_by_key(|row| row.pid);
        }
    }

    /// Reads the processes that are in `/proc` but were not in the pass, and returns how many there are.
    fn read_hidden(&mut self, facts: &SystemFacts, now: FileTime, buffer: &mut Buffer) -> usize {
        let pass = self.bpf.pass;
        let hidden_checked = self.bpf.hidden_checked;
        let is_due =
            hidden_checked.is_none_or(|hidden_checked| has_passed(IDENTITY_CHECK_AFTER, hidden_checked, now));
        let mut hidden = mem::take(&mut self.bpf.hidden);
        if is_due {
            self.bpf.hidden_checked = Some(now);
            if self.folder.list(&mut self.pids).is_ok() {
                let is_seen = |pid: &u32| {
                    let row = self.rows.binary_search_by_key(pid, |row| row.pid).ok();
                    row.and_then(|row| self.rows.get(row)).is_some_and(|row| row.pass == pass)
                };
                hidden.clear();
                hidden.extend(self.pids.iter().copied().filter(|pid| !is_seen(pid)));
            }
        }
        let mut new_rows = Vec::new();
        let wants = self.wants;
        let mut reader = ProcessReader {
            folder: &self.folder,
            has_clocks: self.has_clocks,
            clocks_show_runs: self.clocks_show_runs,
            may_skip_stat: false,
            descriptors: &mut self.descriptors,
            buffer,
            scratch: &mut self.scratch,
            has_handle_counts: &mut self.has_handle_counts,
            facts,
            now,
        };
        let (rows, changes) = (&mut self.rows, &mut self.changes);
        hidden.retain(|pid| {
            let position = rows.binary_search_by_key(pid, |row| row.pid).ok();
            if let Some((position, row)) = position.and_then(|at| Some((at, rows.get_mut(at)?))) {
                let (name, before) = (row.name.clone(), row.values);
                // The pass saw it, so its files are not needed any more.
                let stays = row.pass != pass && row.read(&wants, &mut reader).is_ok();
                if stays {
                    row.pass = pass;
                }
                if row.name == name {
                    changes.row(position, before);
                } else {
                    changes.forget();
                }
                return stays;
            }
            let mut row = ProcessRow::new(*pid);
            // A process that started after the pass will be in the next one.
            let stays = row.read(&wants, &mut reader).is_ok() && row.start < now;
            if stays {
                row.pass = pass;
                new_rows.push(row);
            } else {
                row.close(reader.descriptors);
            }
            stays
        });
        let count = hidden.len();
        self.bpf.hidden = hidden;
        self.insert(new_rows);
        count
    }
}

/// The state of a pass over the records.
struct Pass<'a> {
    wants: ProcessNeeds,
    missing: TaskParts,
    rows: &'a mut Vec<ProcessRow>,
    new_rows: &'a mut Vec<ProcessRow>,
    exited: &'a mut ExitedTotals,
    reader: ProcessReader<'a>,
    number: u64,
    /// Whether the rows of the last pass hold the values that this one needs.
    keeps: bool,
    changes: &'a mut Changes,
    /// How many processes the pass has returned so far.
    found: usize,
    /// The row after the last one filled: processes arrive nearly in the order of their ids.
    next: usize,
    open: Option<OpenProcess>,
    /// The threads of the process that is being summed up.
    threads: Vec<ThreadRecord>,
}

/// The process whose threads are being summed up.
struct OpenProcess {
    group: u32,
    id: u32,
    start_ticks: u64,
    comm: [u8; 16],
    stat: PidStat<'static>,
    is_running: bool,
    /// Nanoseconds.
    run_time: u64,
    user: u64,
    system: u64,
    faults: u64,
    io: IoTotals,
    memory: PidStatm,
    status: PidStatus,
    handles: Option<u64>,
}

impl Pass<'_> {
    fn take(&mut self, record: Record<'_>) {
        if record.is_process() {
            self.finish();
            if self.keep(record) {
                return;
            }
            self.open = Some(OpenProcess::new(record, &self.wants, self.reader.facts));
        }
        let Some(open) = self.open.as_mut().filter(|open| open.group == record.global_process()) else {
            return;
        };
        open.add(record, &self.wants);
        if self.wants.threads.is_some() {
            self.threads.push(ThreadRecord::new(record));
        }
    }

    /// Keeps the row of a process as it is when its record has not changed: most processes are idle.
    /// Everything in a row comes from the record, except the file name and the CPU clock of a running
    /// process.
    fn keep(&mut self, record: Record<'_>) -> bool {
        if !self.keeps || !record.is_unchanged() || record.is_running() || record.threads() != 1 {
            return false;
        }
        let last = self.number.wrapping_sub(1);
        let row = self.rows.get_mut(self.next).filter(|row| row.pid == record.id() && row.pass == last);
        let Some(row) = row else { return false };
        row.pass = self.number;
        self.next = self.next.saturating_add(1);
        self.found = self.found.saturating_add(1);
        true
    }

    /// Writes the summed process into its row.
    fn finish(&mut self) {
        let Some(open) = &self.open else { return };
        self.found = self.found.saturating_add(1);
        let is_next = self.rows.get(self.next).is_some_and(|row| row.pid == open.id);
        let found = if is_next {
            Some(self.next)
        } else {
            self.rows.binary_search_by_key(&open.id, |row| row.pid).ok()
        };
        if let Some(row) = found.and_then(|found| self.rows.get_mut(found)) {
            if row.start_ticks.is_some_and(|ticks| ticks != open.start_ticks) {
                // The process id was given to another process.
                self.exited.add(row, self.reader.now);
                row.close(self.reader.descriptors);
                *row = ProcessRow::new(open.id);
                self.changes.forget();
            }
            row.pass = self.number;
            if row.bpf_comm != open.comm {
                self.changes.forget();
            }
            if let Some(found) = found {
                self.changes.row(found, row.values);
                self.next = found.saturating_add(1);
            }
            row.take(open, &self.wants, self.missing, &mut self.threads, &mut self.reader);
        } else {
            let mut row = ProcessRow::new(open.id);
            row.pass = self.number;
            row.take(open, &self.wants, self.missing, &mut self.threads, &mut self.reader);
            self.new_rows.push(row);
        }
        self.threads.clear();
        self.open = None;
    }
}

impl OpenProcess {
    /// Takes the values that only the first thread of a process has.
    fn new(record: Record<'_>, wants: &ProcessNeeds, facts: &SystemFacts) -> OpenProcess {
        let mut open = OpenProcess {
            group: record.global_process(),
            id: record.id(),
            start_ticks: ticks(record.start(), facts),
            comm: record.comm(),
            stat: stat(record),
            is_running: false,
            run_time: 0,
            user: 0,
            system: 0,
            faults: 0,
            io: IoTotals::default(),
            memory: PidStatm::default(),
            status: PidStatus::default(),
            handles: None,
        };
        if wants.cpu || wants.stat {
            open.run_time = record.ended_run_time();
        }
        if wants.stat {
            open.user = record.ended_user();
            open.system = record.ended_system();
            open.faults = record.ended_minor_faults().wrapping_add(record.ended_major_faults());
            open.stat.parent = u64::from(record.parent());
        }
        if wants.stat || wants.status {
            open.stat.threads = u64::from(record.threads());
        }
        if wants.io {
            open.io = IoTotals {
                read_operations: record.ended_reads(),
                write_operations: record.ended_writes(),
                read_bytes: record.ended_read_bytes(),
                write_bytes: record.ended_written_bytes(),
            };
        }
        if wants.statm && record.has_memory() {
            let shared = record.file_pages().saturating_add(record.shared_pages());
            open.memory = PidStatm {
                size: record.total_pages(),
                resident: shared.saturating_add(record.anonymous_pages()),
                shared,
            };
        }
        if wants.status {
            open.status = status(record, facts);
        }
        if wants.handles {
            open.handles = record.open_files();
        }
        open
    }

    /// Adds the values of one thread.
    fn add(&mut self, record: Record<'_>, wants: &ProcessNeeds) {
        self.is_running |= record.is_running();
        if wants.cpu || wants.stat {
            self.run_time = self.run_time.wrapping_add(record.run_time());
        }
        if wants.stat {
            self.user = self.user.wrapping_add(record.user());
            self.system = self.system.wrapping_add(record.system());
            let faults = record.minor_faults().wrapping_add(record.major_faults());
            self.faults = self.faults.wrapping_add(faults);
        }
        if wants.io {
            self.io.add(IoTotals {
                read_operations: record.reads(),
                write_operations: record.writes(),
                read_bytes: record.read_bytes(),
                write_bytes: record.written_bytes(),
            });
        }
    }
}

impl ProcessRow {
    fn take(
        &mut self,
        open: &OpenProcess,
        wants: &ProcessNeeds,
        missing: TaskParts,
        threads: &mut [ThreadRecord],
        reader: &mut ProcessReader<'_>,
    ) {
        self.is_kernel_thread = open.stat.is_kernel_thread();
        if self.start_ticks.is_none() {
            self.start_ticks = Some(open.start_ticks);
            self.start = reader.facts.time_at(open.start_ticks).min(reader.now);
        }
        if self.bpf_comm != open.comm || self.name.is_empty() {
            self.bpf_comm = open.comm;
            let comm = open.comm.split(|byte| *byte == 0).next().unwrap_or_default();
            if self.comm != comm || self.name.is_empty() {
                self.comm.clear();
                self.comm.extend_from_slice(comm);
                self.rename(reader);
            }
        }
        // The kernel accounts running tasks at each tick; the CPU clock includes the time since the last
        // tick.
        let clock =
            if open.is_running && (wants.cpu || wants.stat) { process_cpu_time(self.pid) } else { None };
        let run_time = clock.unwrap_or(0).max(open.run_time);
        let unread = Absence::NotRequested;
        self.values.cpu = if wants.cpu {
            self.usage.cpu = self.usage.cpu.max(nanoseconds_to_100ns(run_time));
            Ok(self.usage.cpu)
        } else {
            Err(unread)
        };
        self.values.stat = if wants.stat {
            let before = CpuSplit { user: self.usage.user, system: self.usage.privileged };
            let split = before.step(run_time, open.user, open.system);
            self.usage.user = split.user;
            self.usage.privileged = split.system;
            self.usage.faults = self.usage.faults.max(open.faults);
            Ok(StatValues {
                user: self.usage.user,
                privileged: self.usage.privileged,
                faults: self.usage.faults,
                ..StatValues::new(&open.stat, reader.facts)
            })
        } else {
            Err(unread)
        };
        self.values.memory =
            if wants.statm { Ok(MemoryValues::new(open.memory, reader.facts)) } else { Err(unread) };
        self.values.status =
            if wants.status { Ok(StatusValues::new(&open.status, &mut self.peaks)) } else { Err(unread) };
        self.values.io = match (wants.io, missing.any(TaskParts::IO)) {
            (false, _) => Err(unread),
            (true, true) => {
                self.io_unread = Some(Absence::NotInThisKernel);
                Err(Absence::NotInThisKernel)
            }
            (true, false) => {
                self.take_io(open.io);
                Ok(open.io)
            }
        };
        self.values.handles = if wants.handles {
            open.handles.map_or_else(|| reader.handles(self.pid).map_err(|_| Absence::ReadFailed), Ok)
        } else {
            Err(unread)
        };
        if let Some(wants) = wants.threads {
            self.threads.take(threads, wants, reader);
        }
    }
}
