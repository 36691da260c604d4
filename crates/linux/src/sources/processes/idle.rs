//! Processes that have not run, of which not even `stat` is read.
//!
//! `stat` is more than half of what such a process would cost, and of what it says others can change three things only:
//!
//! * The priority. The scheduler is asked for it, which costs a tenth.
//! * The parent. It stays as long as its number is listed, and was neither seen to end nor is a zombie.
//! * The state. Without running a process can only be made ready. The kernel counts the threads that run or wait for a
//!   processor, and says how many in `/proc/loadavg`: when as many were seen among what was read, nobody else is ready.
//!
//! Where one of these is not as it should be, the process is read again by its files, all of them when somebody is ready.
//! On a busy machine that would be nearly always, so that after two such looks nobody rests until a look has found
//! everybody who is ready. Who was ready when it was read and sleeps when they are counted hides one that is ready and
//! was not read: until the next look, or until it has run.
//!
//! Seen at the latest after [`RECHECK_AFTER`](super::files::LOOK_AFTER), when `stat` is read all the same: a priority that is lent
//! to who sleeps with a lock that others want; a control group that is frozen in the way of version 1, which needs no run;
//! and who is ready but not counted, since its group has used up its share of the processors.

use std::mem;
use std::path::Path;

use rustix::fs::AtFlags;

use super::exits::ExitedTotals;
use super::needs::ProcessNeeds;
use super::priority::chosen_priority;
use super::reader::ProcessReader;
use super::row::ProcessRow;
use super::thread::{RUNNING, Thread};
use crate::kernel::number_folder::NumberFolder;
use crate::kernel::proc::loadavg::LoadAvg;
use crate::kernel::reusable_file::{Buffer, ReusableFile};
use crate::kernel::scheduling::scheduling;

/// So many looks may have been in vain before one goes without.
const MISSES: u32 = 2;

/// Who rests, as far as it was found out at the last look.
#[derive(Debug, Default)]
pub(super) struct IdleFilter {
    /// `/proc/loadavg`; `None` where it is not the kernel's own, or is of no use.
    load: Option<ReusableFile>,
    /// How many looks in a row have not found everybody who is ready.
    misses: u32,
    /// The numbers of processes that have ended, or are zombies.
    gone: Vec<u32>,
    /// The numbers of processes that rested and have to be read all the same, in their order.
    reread: Vec<u32>,
}

impl IdleFilter {
    /// For the processes in `folder`, whose clocks may tell whether they have run.
    pub(super) fn new(folder: &NumberFolder, clocks_show_runs: bool) -> IdleFilter {
        const LOAD: &str = "loadavg";
        let device =
            |path: &str| rustix::fs::statat(folder, path, AtFlags::EMPTY_PATH).map(|stat| stat.st_dev);
        // Containers may have one of their own, made by a program that counts other threads.
        let is_kernels = clocks_show_runs && device(LOAD).is_ok_and(|own| device("") == Ok(own));
        let load = is_kernels.then(|| ReusableFile::pinned(folder, Path::new(LOAD)).ok()).flatten();
        IdleFilter { load, ..IdleFilter::default() }
    }

    /// Begins a look, and says whether anybody may rest.
    pub(super) fn begin(&mut self, wants: &ProcessNeeds) -> bool {
        self.gone.clear();
        self.load.is_some() && needs_stat(wants) && self.misses < MISSES
    }

    /// Notes that a process is no more.
    pub(super) fn note_exit(&mut self, pid: u32) {
        self.gone.push(pid);
    }

    /// ExitQueue a look at which `pids` were listed: who can not rest is read.
    pub(super) fn finish(
        &mut self,
        rows: &mut Vec<ProcessRow>,
        pids: &[u32],
        wants: &ProcessNeeds,
        exited: &mut ExitedTotals,
        reader: &mut ProcessReader<'_>,
    ) {
        if !needs_stat(wants) {
            return;
        }
        let seen = rows.iter().map(|row| row.runnable_threads(wants)).fold(0, u64::saturating_add);
        let mut others_are_runnable = !self.all_runnable_seen(seen, reader.buffer);
        let may_skip_stat = mem::take(&mut reader.may_skip_stat);
        if may_skip_stat {
            self.find_changed(rows, pids, wants);
            // Who waits for a processor does so still; who only came by while others were read does not.
            others_are_runnable = others_are_runnable && !self.all_runnable_seen(seen, reader.buffer);
        }
        self.misses = if others_are_runnable { self.misses.saturating_add(1) } else { 0 };
        if !may_skip_stat || (!others_are_runnable && self.reread.is_empty()) {
            return;
        }
        rows.retain_mut(|row| {
            let is_reread = others_are_runnable || self.reread.binary_search(&row.pid).is_ok();
            let stays = !row.idle.skips_stat || !is_reread || row.read(wants, reader).is_ok();
            if !stays {
                exited.add(row, reader.now);
                row.close(reader.descriptors);
            }
            stays
        });
    }

    /// Finds those who rest and whose `stat` says something else by now, but for their states.
    fn find_changed(&mut self, rows: &[ProcessRow], pids: &[u32], wants: &ProcessNeeds) {
        let zombies = rows.iter().filter(|row| row.is_zombie()).map(|row| row.pid);
        self.gone.extend(zombies);
        self.gone.sort_unstable();
        let mut parent = None;
        let mut has_its_parent = |row: &ProcessRow| {
            let Ok(stat) = row.values.stat else { return true };
            // Many in a row have the same.
            if parent != Some(stat.parent) && !is_parent_alive(stat.parent, pids, &self.gone) {
                return false;
            }
            parent = Some(stat.parent);
            true
        };
        let resting = rows.iter().filter(|row| row.idle.skips_stat);
        let reread = resting.filter(|row| !row.has_its_priorities(wants) || !has_its_parent(row));
        self.reread.clear();
        self.reread.extend(reread.map(|row| row.pid));
    }

    /// Whether no more threads of the machine run or wait for a processor than these.
    fn all_runnable_seen(&mut self, seen: u64, buffer: &mut Buffer) -> bool {
        let Some(load) = &mut self.load else { return false };
        let Some(load) = load.read(buffer).ok().and_then(|bytes| LoadAvg::parse(bytes).ok()) else {
            self.load = None;
            return false;
        };
        // This thread runs: who counts none does not count.
        load.running > 0 && load.running <= seen
    }

    /// Takes this for `/proc/loadavg`.
    #[cfg(test)]
    pub(super) fn set_load_file(&mut self, load: ReusableFile) {
        self.load = Some(load);
    }
}

/// Whether a parent is one still. Who has one outside of this pid namespace has number 0 for it, and never another.
fn is_parent_alive(parent: u64, pids: &[u32], gone: &[u32]) -> bool {
    let Ok(parent) = u32::try_from(parent) else { return false };
    parent == 0 || (pids.binary_search(&parent).is_ok() && gone.binary_search(&parent).is_err())
}

/// Whether something is wanted that only `stat` tells.
fn needs_stat(wants: &ProcessNeeds) -> bool {
    wants.stat || wants.threads.is_some_and(|threads| threads.stat)
}

impl ProcessRow {
    /// How many of its threads were seen to run, or to want to.
    fn runnable_threads(&self, wants: &ProcessNeeds) -> u64 {
        if self.idle.skips_stat {
            return 0;
        }
        if wants.threads.is_some_and(|threads| threads.stat) {
            let is_ready = |thread: &&Thread| thread.values.stat.is_ok_and(|stat| stat.state == RUNNING);
            return u64::try_from(self.threads().iter().filter(is_ready).count()).unwrap_or(0);
        }
        u64::from(self.idle.last_stat.is_some_and(|told| told.first.state == RUNNING))
    }

    fn is_zombie(&self) -> bool {
        self.idle.last_stat.is_some_and(|told| matches!(told.first.state, b'Z' | b'X'))
    }

    /// Whether the scheduler says what `stat` has said.
    fn has_its_priorities(&self, wants: &ProcessNeeds) -> bool {
        let has = |id: u32, known: u64| {
            scheduling(id).is_some_and(|now| {
                let realtime = u64::from(now.realtime_priority);
                chosen_priority(u64::from(now.policy), i64::from(now.nice), realtime) == known
            })
        };
        let mut is_checked = !wants.stat;
        if wants.threads.is_some_and(|threads| threads.stat) {
            for thread in self.threads() {
                let Ok(stat) = thread.values.stat else { return false };
                if !has(thread.tid, stat.base_priority) {
                    return false;
                }
                // It is the same thread of the kernel.
                is_checked |= thread.tid == self.pid;
            }
        }
        is_checked || self.values.stat.is_ok_and(|stat| has(self.pid, stat.priority))
    }
}
