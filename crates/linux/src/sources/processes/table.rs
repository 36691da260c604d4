//! All rows of processes, matched with the processes that there are, and refreshed once a request.

use std::mem;

use tallymon_provider::{Absence, FileTime, Tier, TierChoice};

use super::bpf_pass::AtOnce;
use super::changes::Changes;
use super::descriptors::Descriptors;
use super::exits::Ended;
use super::idle::Rest;
use super::needs::ProcessNeeds;
use super::reader::{Reader, Scratch};
use super::row::Row;
use super::usage::{IoTotals, Rates, ThreadRates};
use super::values::{Part, Parts};
use crate::kernel::bpf::refusal::Refusal;
use crate::kernel::clock::process_clocks_tell_runs;
use crate::kernel::number_folder::NumberFolder;
use crate::kernel::proc::SystemFacts;
use crate::kernel::proc::stat::Stat;
use crate::kernel::reusable_file::Buffer;
use crate::sources::absence::absence;
use crate::sources::monotonic::Rising;

/// All processes.
pub(crate) struct ProcessTable {
    pub(super) folder: NumberFolder,
    /// Whether the CPU clocks are of the processes in `folder`.
    pub(super) has_clocks: bool,
    /// Whether a process whose CPU clock stands still has not run.
    pub(super) tells_runs: bool,
    pub(super) rest: Rest,
    pub(super) at_once: AtOnce,
    pub(super) descriptors: Descriptors,
    pub(super) wants: ProcessNeeds,
    pub(super) pids: Vec<u32>,
    /// Whether `pids` is of the request at hand.
    pub(super) listed: Option<Result<(), Absence>>,
    /// Whether `rows` are.
    pub(super) refreshed: Option<Result<(), Absence>>,
    /// In the order of their numbers.
    pub(super) rows: Vec<Row>,
    pub(super) changes: Changes,
    /// What ended programs have used, and what ended threads of the kernel have.
    pub(super) ended: Ended,
    pub(super) idle: Vec<IdleProcessor>,
    pub(super) idle_state: Part<()>,
    /// Whether this kernel has told of any process how many files it has open.
    pub(super) tells_handles: bool,
    pub(super) scratch: Scratch,
}

/// A processor, as NT's Idle process has a thread for.
#[derive(Debug, Default)]
pub(crate) struct IdleProcessor {
    /// The kernel's number of it.
    pub(crate) number: u32,
    /// Time without work in 100 ns units.
    pub(crate) time: u64,
    pub(crate) is_online: bool,
    idle: Rising,
    iowait: Rising,
}

impl ProcessTable {
    /// The processes in `folder`; `has_clocks` says that they are those of the running kernel.
    pub(crate) fn new(folder: NumberFolder, has_clocks: bool) -> ProcessTable {
        // Only the kernel's own files tell through an open descriptor that the process has ended.
        let is_proc = rustix::fs::fstatfs(&folder).is_ok_and(|fs| fs.f_type == rustix::fs::PROC_SUPER_MAGIC);
        let descriptors = if is_proc { Descriptors::of_this_process() } else { Descriptors::of_copies() };
        let tells_runs = has_clocks && process_clocks_tell_runs();
        ProcessTable {
            rest: Rest::new(&folder, tells_runs),
            folder,
            has_clocks,
            tells_runs,
            at_once: AtOnce::new(TierChoice::Only(Tier::T0)),
            descriptors,
            wants: ProcessNeeds::default(),
            pids: Vec::new(),
            listed: None,
            refreshed: None,
            rows: Vec::new(),
            changes: Changes::default(),
            ended: Ended::default(),
            idle: Vec::new(),
            idle_state: Err(Absence::NotRequested),
            tells_handles: false,
            scratch: Scratch::default(),
        }
    }

    /// The same processes, read in the best way that is allowed.
    pub(crate) fn with_tier(self, choice: TierChoice) -> ProcessTable {
        ProcessTable { at_once: AtOnce::new(choice), ..self }
    }

    /// Why the best way does not work, which is tried for this; `None` when it does or nobody wants it.
    pub(crate) fn refusal(&mut self) -> Option<&Refusal> {
        self.at_once.open();
        self.at_once.refusal()
    }

    /// Begins a request.
    pub(crate) fn begin(&mut self, needs: ProcessNeeds) {
        self.listed = None;
        self.refreshed = None;
        self.idle_state = Err(Absence::NotRequested);
        self.wants = needs;
        self.descriptors.begin();
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
        if self.wants == ProcessNeeds::default() && self.refreshed.is_none() {
            // Nobody looks at a process in this request, so none need be listed.
            return self.folder.count(&mut self.pids).map_err(|error| absence(&error));
        }
        if self.counts_at_once() {
            self.refresh(facts, now, buffer)?;
            return Ok(u64::try_from(self.rows.len()).unwrap_or(u64::MAX));
        }
        self.list()
    }

    /// Whether [`ProcessTable::count`] is a look at all processes, and not only at their numbers.
    pub(crate) fn counts_at_once(&self) -> bool {
        let is_wanted = self.wants != ProcessNeeds::default() || self.refreshed.is_some();
        is_wanted && self.has_clocks && self.at_once.is_on()
    }

    /// How many threads all processes have, Idle left out, as they were read for this request; `None` when nobody asked
    /// for that or one of them does not tell.
    pub(crate) fn thread_count(&self) -> Option<u64> {
        self.refreshed?.ok()?;
        self.rows.iter().map(|row| row.parts.stat.ok().map(|stat| stat.threads)).sum()
    }

    /// Lists the numbers, once a request.
    pub(super) fn list(&mut self) -> Result<u64, Absence> {
        let folder = &mut self.folder;
        let pids = &mut self.pids;
        let listed = *self.listed.get_or_insert_with(|| {
            folder.list(pids).map_err(|error| absence(&error))?;
            if !pids.is_sorted() {
                // Only a folder that is no /proc lists them in another order.
                pids.sort_unstable();
            }
            pids.dedup();
            Ok(())
        });
        listed.map(|()| u64::try_from(self.pids.len()).unwrap_or(u64::MAX))
    }

    /// Reads what this request needs, once.
    ///
    /// # Errors
    ///
    /// The processes can not be listed.
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
        if self.has_clocks && self.starts_at_once() {
            match self.refresh_at_once(facts, now, buffer) {
                Ok(()) => {
                    self.refreshed = Some(Ok(()));
                    return Ok(());
                }
                Err(refusal) => {
                    self.changes.forget();
                    self.at_once.give_up(refusal);
                }
            }
        }
        let listed = self.list().map(|_| ());
        self.refreshed = Some(listed);
        listed?;
        self.ended.forget(now);
        let mut new = mem::take(&mut self.scratch.new);
        self.match_rows(&mut new);
        let ProcessTable { rows, wants, descriptors, ended, rest, .. } = self;
        let mut reader = Reader {
            folder: &self.folder,
            has_clocks: self.has_clocks,
            tells_runs: self.tells_runs,
            may_rest: rest.begin(wants),
            descriptors,
            buffer,
            scratch: &mut self.scratch,
            tells_handles: &mut self.tells_handles,
            facts,
            now,
        };
        rows.retain_mut(|row| {
            let stays = row.is_listed && row.read(wants, &mut reader).is_ok();
            if !stays {
                if row.is_listed {
                    // It ended, but its number was there a moment ago and may be another process already.
                    new.push(row.pid);
                }
                rest.leave(row.pid);
                ended.add(row, now);
                row.close(reader.descriptors);
            }
            stays
        });
        for pid in &new {
            let mut row = Row::new(*pid);
            if row.read(wants, &mut reader).is_ok() {
                rows.push(row);
            } else {
                row.close(reader.descriptors);
            }
        }
        if !new.is_empty() {
            rows.sort_by_key(|row| row.pid);
        }
        rest.end(rows, &self.pids, wants, ended, &mut reader);
        new.clear();
        self.scratch.new = new;
        for kind in self.descriptors.to_close() {
            for row in &mut self.rows {
                row.close_kind(kind, &mut self.descriptors);
            }
        }
        Ok(())
    }

    /// Whether this look at all processes is by one pass. From the first one on no file of a process is kept open.
    fn starts_at_once(&mut self) -> bool {
        let was_on = self.at_once.is_on();
        self.at_once.begin_look();
        let is_on = self.at_once.is_on();
        if is_on && !was_on {
            for row in &mut self.rows {
                row.close(&mut self.descriptors);
            }
        }
        is_on
    }

    /// Marks the rows whose numbers are listed, and gathers the numbers without a row. Both lists are sorted.
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

    /// Takes the idle times of the processors, of which NT makes a process.
    pub(crate) fn set_idle(&mut self, stat: Result<&Stat, Absence>, facts: &SystemFacts) {
        // Three seconds back is a processor that was unplugged; less is the kernel's known jitter.
        let restart = facts.ticks_per_second.saturating_mul(3);
        self.idle_state = stat.map(|_| ());
        let Ok(stat) = stat else { return };
        // One that went offline keeps its time in the sum.
        self.idle.iter_mut().for_each(|processor| processor.is_online = false);
        for (number, cpu) in &stat.cpus {
            let position = self.idle.iter().position(|processor| processor.number == *number);
            let position = position.unwrap_or_else(|| {
                self.idle.push(IdleProcessor { number: *number, ..IdleProcessor::default() });
                self.idle.len().saturating_sub(1)
            });
            if let Some(processor) = self.idle.get_mut(position) {
                let idle = processor.idle.step(cpu.idle, restart);
                let iowait = processor.iowait.step(cpu.iowait.unwrap_or(0), restart);
                processor.time = facts.ticks_to_100ns(idle.wrapping_add(iowait));
                processor.is_online = true;
            }
        }
    }

    /// The processors, the ones that went offline included, and why nothing is known of them.
    pub(crate) fn idle(&self) -> Part<&[IdleProcessor]> {
        self.idle_state.map(|()| self.idle.as_slice())
    }

    /// The number of the last look at all processes, from 1 on.
    pub(crate) fn look(&self) -> u64 {
        self.changes.look()
    }

    /// The rows that differ from the look before, by their positions among [`ProcessTable::rows`], and what they held. `None` when
    /// rows came, went, or may have changed otherwise.
    pub(crate) fn changes(&self) -> Option<impl Iterator<Item = (usize, &Parts, &Row)>> {
        let changed = self.changes.rows()?.iter();
        Some(changed.filter_map(|(position, before)| Some((*position, before, self.rows.get(*position)?))))
    }

    /// The programs and the threads of the kernel, in the order of their numbers.
    pub(crate) fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// The programs, in the order of their numbers.
    pub(crate) fn programs(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(|row| !row.is_kernel_thread)
    }

    /// The threads of the kernel, in the order of their numbers. In a container there are none.
    pub(crate) fn kernel_threads(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(|row| row.is_kernel_thread)
    }

    /// What programs used that have ended.
    pub(crate) fn ended_programs(&self) -> &Rates {
        &self.ended.programs
    }

    /// What threads of the kernel used that have ended.
    pub(crate) fn ended_kernel_threads(&self) -> &Rates {
        &self.ended.kernel
    }

    /// What threads of all kinds used that have ended.
    pub(crate) fn ended_threads(&self) -> ThreadRates {
        let mut sum = self.ended.threads;
        self.rows.iter().for_each(|row| sum.add(row.threads.ended()));
        sum
    }

    /// The I/O of all processes that are, and of those that were since we look.
    ///
    /// # Errors
    ///
    /// The I/O of one of them may not be read, or could not be.
    pub(crate) fn io_totals(&self) -> Result<IoTotals, Absence> {
        self.refreshed.unwrap_or(Err(Absence::NotRequested))?;
        let mut sum = self.ended.programs.io;
        sum.add(self.ended.kernel.io);
        for row in &self.rows {
            sum.add(row.parts.io?);
        }
        Ok(sum)
    }
}
