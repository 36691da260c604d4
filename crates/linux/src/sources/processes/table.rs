//! All rows, matched with the existing processes and refreshed once a request.

use std::mem;
use std::path::Path;

use tallymon_provider::{Absence, FileTime, PartialSum, Tier, TierChoice};

use super::bpf_pass::BpfPass;
use super::changes::Changes;
use super::descriptors::DescriptorBudget;
use super::exits::ExitedTotals;
use super::idle::IdleFilter;
use super::needs::ProcessNeeds;
use super::reader::{ProcessReader, Scratch};
use super::row::ProcessRow;
use super::sums::ProcessSum;
use super::usage::{IoTotals, ThreadUsage, Usage};
use super::values::{Available, ProcessValues};
use crate::kernel::bpf::refusal::Refusal;
use crate::kernel::clock::process_clocks_show_runs;
use crate::kernel::number_folder::NumberFolder;
use crate::kernel::proc::SystemFacts;
use crate::kernel::proc::stat::Stat;
use crate::kernel::reusable_file::{Buffer, ReadError, ReusableFile};
use crate::sources::absence::absence;
use crate::sources::monotonic::MonotonicCounter;

/// The table of all processes.
pub(crate) struct ProcessTable {
    pub(super) folder: NumberFolder,
    /// Whether the CPU clocks belong to the processes in `folder`.
    pub(super) has_clocks: bool,
    /// Whether an unchanged CPU clock shows that a process has not run.
    pub(super) clocks_show_runs: bool,
    /// Whether `/proc` shows this user its own processes only (mount option `hidepid`).
    hides_others: bool,
    pub(super) idle_filter: IdleFilter,
    pub(super) bpf: BpfPass,
    pub(super) descriptors: DescriptorBudget,
    pub(super) wants: ProcessNeeds,
    pub(super) pids: Vec<u32>,
    /// Whether `pids` was listed in this request, and how that went.
    pub(super) listed: Option<Result<(), Absence>>,
    /// Whether `rows` were refreshed in this request, and how that went.
    pub(super) refreshed: Option<Result<(), Absence>>,
    /// In the order of their ids.
    pub(super) rows: Vec<ProcessRow>,
    pub(super) changes: Changes,
    /// What exited programs and kernel threads have used.
    pub(super) exited: ExitedTotals,
    pub(super) idle_processors: Vec<IdleProcessor>,
    pub(super) idle_result: Available<()>,
    /// Whether this kernel has reported the number of open files for any process.
    pub(super) has_handle_counts: bool,
    pub(super) scratch: Scratch,
}

/// Process 1 exists in every PID namespace, and everybody may read its `stat`, except where `hidepid` or a
/// security module hides the processes of others.
pub(super) fn hides_others(folder: &NumberFolder) -> bool {
    let denied = |error: &ReadError| error.is_gone() || error.is_denied();
    ReusableFile::pinned(folder, Path::new("1/stat")).is_err_and(|error| denied(&error))
}

/// A CPU as a thread of NT's process Idle.
#[derive(Debug, Default)]
pub(crate) struct IdleProcessor {
    /// The kernel's number of the CPU.
    pub(crate) number: u32,
    /// Idle time in 100 ns units.
    pub(crate) time: u64,
    pub(crate) is_online: bool,
    idle: MonotonicCounter,
    iowait: MonotonicCounter,
}

impl ProcessTable {
    /// The processes in `folder`; `has_clocks` tells that they are those of the running kernel.
    pub(crate) fn new(folder: NumberFolder, has_clocks: bool) -> ProcessTable {
        // Only the kernel's own files report through an open descriptor that their process has ended.
        let is_proc = rustix::fs::fstatfs(&folder).is_ok_and(|fs| fs.f_type == rustix::fs::PROC_SUPER_MAGIC);
        let descriptors =
            if is_proc { DescriptorBudget::of_this_process() } else { DescriptorBudget::of_copies() };
        let clocks_show_runs = has_clocks && process_clocks_show_runs();
        ProcessTable {
            hides_others: has_clocks && hides_others(&folder),
            idle_filter: IdleFilter::new(&folder, clocks_show_runs),
            folder,
            has_clocks,
            clocks_show_runs,
            bpf: BpfPass::new(TierChoice::Only(Tier::T0)),
            descriptors,
            wants: ProcessNeeds::default(),
            pids: Vec::new(),
            listed: None,
            refreshed: None,
            rows: Vec::new(),
            changes: Changes::default(),
            exited: ExitedTotals::default(),
            idle_processors: Vec::new(),
            idle_result: Err(Absence::NotRequested),
            has_handle_counts: false,
            scratch: Scratch::default(),
        }
    }

    /// The same processes, read with the best tier that `choice` allows.
    pub(crate) fn with_tier(self, choice: TierChoice) -> ProcessTable {
        ProcessTable { bpf: BpfPass::new(choice), ..self }
    }

    /// Loads the BPF program and returns why it does not work; `None` when it works or is not allowed.
    pub(crate) fn refusal(&mut self) -> Option<&Refusal> {
        self.bpf.load_now();
        self.bpf.refusal()
    }

    /// Begins a request with these needs.
    pub(crate) fn begin(&mut self, needs: ProcessNeeds) {
        self.listed = None;
        self.refreshed = None;
        self.idle_result = Err(Absence::NotRequested);
        self.wants = needs;
        self.descriptors.begin();
    }

    /// Whether processes are missing from the rows because this user may not see them. Then no sum over all
    /// processes is known.
    pub(crate) fn is_partial(&self) -> bool {
        self.hides_others && !self.bpf.is_active()
    }

    /// What this request needs.
    pub(crate) fn wants(&self) -> &ProcessNeeds {
        &self.wants
    }

    /// How many processes there are.
    pub(crate) fn count(
        &mut self,
        facts: &SystemFacts,
        now: FileTime,
        buffer: &mut Buffer,
    ) -> Result<u64, Absence> {
        if self.is_partial() {
            return Err(Absence::AccessDenied);
        }
        if self.wants == ProcessNeeds::default() && self.refreshed.is_none() {
            // No object needs a value of a process in this request, so they need not be listed.
            return self.folder.count(&mut self.pids).map_err(|error| absence(&error));
        }
        if self.counts_by_bpf() {
            self.refresh(facts, now, buffer)?;
            return Ok(u64::try_from(self.rows.len()).unwrap_or(u64::MAX));
        }
        self.list()
    }

    /// Whether [`ProcessTable::count`] samples all processes, and not only their ids.
    pub(crate) fn counts_by_bpf(&self) -> bool {
        let is_wanted = self.wants != ProcessNeeds::default() || self.refreshed.is_some();
        is_wanted && self.has_clocks && self.bpf.is_active()
    }

    /// How many threads all processes have, without Idle, as sampled in this request; `None` when `stat` was
    /// not needed, could not be read of one of them, or some of them are hidden.
    pub(crate) fn thread_count(&self) -> Option<u64> {
        self.refreshed?.ok()?;
        if self.is_partial() {
            return None;
        }
        self.rows.iter().map(|row| row.values.stat.ok().map(|stat| stat.threads)).sum()
    }

    /// Lists the ids, once a request.
    pub(super) fn list(&mut self) -> Result<u64, Absence> {
        let folder = &mut self.folder;
        let pids = &mut self.pids;
        let listed = *self.listed.get_or_insert_with(|| {
            folder.list(pids).map_err(|error| absence(&error))?;
            if !pids.is_sorted() {
                // Only a directory that is not /proc lists them in another order.
                pids.sort_unstable();
            }
            pids.dedup();
            // At least this process exists, so a /proc without any is not that of the kernel.
            if pids.is_empty() { Err(Absence::ReadFailed) } else { Ok(()) }
        });
        listed.map(|()| u64::try_from(self.pids.len()).unwrap_or(u64::MAX))
    }

    /// Reads what this request needs, once.
    ///
    /// # Errors
    ///
    /// The processes cannot be listed.
    pub(crate) fn refresh(
        &mut self,
        facts: &SystemFacts,
        now: FileTime,
        buffer: &mut Buffer,
    ) -> Result<(), Absence> {
        if let Some(refreshed) = self.refreshed {
            return refreshed;
        }
        self.changes.begin();
        if self.has_clocks && self.starts_bpf_pass() {
            match self.refresh_by_bpf(facts, now, buffer) {
                Ok(()) => {
                    self.refreshed = Some(Ok(()));
                    return Ok(());
                }
                Err(refusal) => {
                    self.changes.forget();
                    self.bpf.disable(refusal);
                }
            }
        }
        let listed = self.list().map(|_| ());
        self.refreshed = Some(listed);
        listed?;
        self.exited.expire(now);
        let mut new = mem::take(&mut self.scratch.new);
        self.match_rows(&mut new);
        let ProcessTable { rows, wants, descriptors, exited, idle_filter, .. } = self;
        let mut reader = ProcessReader {
            folder: &self.folder,
            has_clocks: self.has_clocks,
            clocks_show_runs: self.clocks_show_runs,
            may_skip_stat: idle_filter.begin(wants),
            descriptors,
            buffer,
            scratch: &mut self.scratch,
            has_handle_counts: &mut self.has_handle_counts,
            facts,
            now,
        };
        rows.retain_mut(|row| {
            let stays = row.is_listed && row.read(wants, &mut reader).is_ok();
            if !stays {
                if row.is_listed {
                    // The process has exited, but its id was listed a moment ago and may belong to another
                    // process already.
                    new.push(row.pid);
                }
                idle_filter.note_exit(row.pid);
                exited.add(row, now);
                row.close(reader.descriptors);
            }
            stays
        });
        for pid in &new {
            let mut row = ProcessRow::new(*pid);
            if row.read(wants, &mut reader).is_ok() {
                rows.push(row);
            } else {
                row.close(reader.descriptors);
            }
        }
        if !new.is_empty() {
            rows.sort_by_key(|row| row.pid);
        }
        idle_filter.finish(rows, &self.pids, wants, exited, &mut reader);
        new.clear();
        self.scratch.new = new;
        for kind in self.descriptors.to_close() {
            for row in &mut self.rows {
                row.close_kind(kind, &mut self.descriptors);
            }
        }
        Ok(())
    }

    /// Whether this sample is taken by a BPF pass. From the first pass on, no file of a process stays open.
    fn starts_bpf_pass(&mut self) -> bool {
        let was_on = self.bpf.is_active();
        self.bpf.begin_sample();
        let is_active = self.bpf.is_active();
        if is_active && !was_on {
            for row in &mut self.rows {
                row.close(&mut self.descriptors);
            }
        }
        is_active
    }

    /// Marks the rows whose ids are listed, and collects the ids without a row. Both lists are sorted.
    fn match_rows(&mut self, new: &mut Vec<u32>) {
        new.clear();
        let mut rows = self.rows.iter_mut().peekable();
        for pid in &self.pids {
            while let Some(row) = rows.next_if(|row| row.pid < *pid) {
                row.is_listed = false;
            }
            match rows.next_if(|row| row.pid == *pid) {
                Some(row) => row.is_listed = true,
                None => new.push(*pid),
            }
        }
        rows.for_each(|row| row.is_listed = false);
    }

    /// Takes the idle times of the CPUs, which NT shows as the process Idle.
    pub(crate) fn set_idle(&mut self, stat: Result<&Stat, Absence>, facts: &SystemFacts) {
        // Three seconds back means that a CPU was unplugged; less is the kernel's known jitter.
        let restart = facts.ticks_per_second.saturating_mul(3);
        self.idle_result = stat.map(|_| ());
        let Ok(stat) = stat else { return };
        // A CPU that went offline keeps its time in the sum.
        self.idle_processors.iter_mut().for_each(|processor| processor.is_online = false);
        for (number, cpu) in &stat.cpus {
            let position = self.idle_processors.iter().position(|processor| processor.number == *number);
            let position = position.unwrap_or_else(|| {
                self.idle_processors.push(IdleProcessor { number: *number, ..IdleProcessor::default() });
                self.idle_processors.len().saturating_sub(1)
            });
            if let Some(processor) = self.idle_processors.get_mut(position) {
                let idle = processor.idle.step(cpu.idle, restart);
                let iowait = processor.iowait.step(cpu.iowait.unwrap_or(0), restart);
                processor.time = facts.ticks_to_100ns(idle.wrapping_add(iowait));
                processor.is_online = true;
            }
        }
    }

    /// The CPUs, including those that went offline, or why their idle times are unknown.
    pub(crate) fn idle(&self) -> Available<&[IdleProcessor]> {
        self.idle_result.map(|()| self.idle_processors.as_slice())
    }

    /// The number of the last sample, from 1 on.
    pub(crate) fn sample_number(&self) -> u64 {
        self.changes.sample_number()
    }

    /// The rows that differ from the sample before: their positions among [`ProcessTable::rows`], and their
    /// values before. `None` when rows were added or removed, or anything else may have changed.
    pub(crate) fn changes(&self) -> Option<impl Iterator<Item = (usize, &ProcessValues, &ProcessRow)>> {
        let changed = self.changes.rows()?.iter();
        Some(changed.filter_map(|(position, before)| Some((*position, before, self.rows.get(*position)?))))
    }

    /// The programs and kernel threads, in the order of their ids.
    pub(crate) fn rows(&self) -> &[ProcessRow] {
        &self.rows
    }

    /// The programs, in the order of their ids.
    pub(crate) fn programs(&self) -> impl Iterator<Item = &ProcessRow> {
        self.rows.iter().filter(|row| !row.is_kernel_thread)
    }

    /// The kernel threads, in the order of their ids. In a container there are none.
    pub(crate) fn kernel_threads(&self) -> impl Iterator<Item = &ProcessRow> {
        self.rows.iter().filter(|row| row.is_kernel_thread)
    }

    /// What exited programs have used.
    pub(crate) fn exited_programs(&self) -> &Usage {
        &self.exited.programs
    }

    /// What exited kernel threads have used.
    pub(crate) fn exited_kernel_threads(&self) -> &Usage {
        &self.exited.kernel
    }

    /// What exited threads of all kinds have used.
    pub(crate) fn exited_threads(&self) -> ThreadUsage {
        let mut sum = self.exited.threads;
        self.rows.iter().for_each(|row| sum.add(row.threads.exited()));
        sum
    }

    /// The I/O of all processes, and of those that exited since the table exists; and what the sum lacks.
    ///
    /// # Errors
    ///
    /// The I/O of none of them can be read, it was not requested, or some of them are hidden.
    pub(crate) fn io_totals(&self) -> Result<(IoTotals, Option<PartialSum>), Absence> {
        self.refreshed.unwrap_or(Err(Absence::NotRequested))?;
        if self.is_partial() {
            return Err(Absence::AccessDenied);
        }
        let mut sum = ProcessSum::zero(&self.wants);
        self.rows.iter().for_each(|row| sum.add(row));
        sum.add_exited(&self.exited.programs);
        sum.add_exited(&self.exited.kernel);
        let (values, partial) = sum.values();
        Ok((values.io?, partial.io))
    }
}
