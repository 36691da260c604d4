//! Finds idle processes, of which not even `stat` has to be read.
//!
//! `stat` is more than half of the cost of an idle process, and others can change only three things in it:
//!
//! * The priority. Asking the scheduler for it costs a tenth.
//! * The parent. It stays as long as its id is listed, and it has neither exited nor become a zombie.
//! * The state. An idle process can only become runnable. The kernel counts the threads that run or wait for
//!   a CPU in `/proc/loadavg`: when the processes that were read account for all of them, no other process is
//!   runnable.
//!
//! When one of the first two differs, that process is read again from its files; when another process is
//! runnable, all are. On a busy machine that would happen nearly always, so after two such samples nothing is
//! skipped until a sample has found all runnable processes. A process that goes to sleep before the count can
//! hide an unread runnable one, until the next sample or until that one has run.
//!
//! Some changes are seen only when `stat` is read all the same, after
//! [`RECHECK_AFTER`](super::row::RECHECK_AFTER) at the latest: a priority lent to a process that sleeps with
//! a lock others wait for; a version 1 control group that is frozen, which needs no run; and a process that
//! is runnable but not counted, because its group has used up its CPU quota.

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

/// After so many samples in a row with an unread runnable process, nothing is skipped.
const MISSES: u32 = 2;

/// Decides which processes are skipped, and finds those that have to be read after all.
#[derive(Debug, Default)]
pub(super) struct IdleFilter {
    /// `/proc/loadavg`; `None` where it is not the kernel's own, or cannot be used.
    load: Option<ReusableFile>,
    /// How many samples in a row did not account for all runnable threads.
    misses: u32,
    /// The ids of processes that have exited or are zombies.
    gone: Vec<u32>,
    /// The ids of skipped processes that have to be read after all, sorted.
    reread: Vec<u32>,
}

impl IdleFilter {
    /// For the processes in `folder`, whose CPU clocks may show whether they have run.
    pub(super) fn new(folder: &NumberFolder, clocks_show_runs: bool) -> IdleFilter {
        const LOAD: &str = "loadavg";
        let device =
            |path: &str| rustix::fs::statat(folder, path, AtFlags::EMPTY_PATH).map(|stat| stat.st_dev);
        // A container may have a file of its own, written by a program that counts other threads.
        let is_kernels = clocks_show_runs && device(LOAD).is_ok_and(|own| device("") == Ok(own));
        let load = is_kernels.then(|| ReusableFile::pinned(folder, Path::new(LOAD)).ok()).flatten();
        IdleFilter { load, ..IdleFilter::default() }
    }

    /// Begins a sample, and returns whether `stat` of idle processes may be skipped.
    pub(super) fn begin(&mut self, wants: &ProcessNeeds) -> bool {
        self.gone.clear();
        self.load.is_some() && needs_stat(wants) && self.misses < MISSES
    }

    /// Notes that a process has exited.
    pub(super) fn note_exit(&mut self, pid: u32) {
        self.gone.push(pid);
    }

    /// Ends a sample in which `pids` were listed: reads the processes that cannot be skipped.
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
            // A thread that waits for a CPU still does; one that only ran for a moment while the others were
            // read does not.
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

    /// Finds skipped processes whose priority or parent has changed.
    fn find_changed(&mut self, rows: &[ProcessRow], pids: &[u32], wants: &ProcessNeeds) {
        let zombies = rows.iter().filter(|row| row.is_zombie()).map(|row| row.pid);
        self.gone.extend(zombies);
        self.gone.sort_unstable();
        let mut parent = None;
        let mut has_its_parent = |row: &ProcessRow| {
            let Ok(stat) = row.values.stat else { return true };
            // Many processes in a row have the same parent.
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

    /// Whether no more threads of the machine run or wait for a CPU than the `seen` ones.
    fn all_runnable_seen(&mut self, seen: u64, buffer: &mut Buffer) -> bool {
        let Some(load) = &mut self.load else { return false };
        let Some(load) = load.read(buffer).ok().and_then(|bytes| LoadAvg::parse(bytes).ok()) else {
            self.load = None;
            return false;
        };
        // This thread is running, so a kernel that counts none does not count.
        load.running > 0 && load.running <= seen
    }

    /// Uses this file as `/proc/loadavg`.
    #[cfg(test)]
    pub(super) fn set_load_file(&mut self, load: ReusableFile) {
        self.load = Some(load);
    }
}

/// Whether the parent still exists. A parent outside of this pid namespace has id 0, and keeps it.
fn is_parent_alive(parent: u64, pids: &[u32], gone: &[u32]) -> bool {
    let Ok(parent) = u32::try_from(parent) else { return false };
    parent == 0 || (pids.binary_search(&parent).is_ok() && gone.binary_search(&parent).is_err())
}

/// Whether something is needed that only `stat` has.
fn needs_stat(wants: &ProcessNeeds) -> bool {
    wants.stat || wants.threads.is_some_and(|threads| threads.stat)
}

impl ProcessRow {
    /// How many of its threads were seen running or runnable.
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

    /// Whether the scheduler reports the priorities that `stat` had.
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
                // The main thread is the process itself.
                is_checked |= thread.tid == self.pid;
            }
        }
        is_checked || self.values.stat.is_ok_and(|stat| has(self.pid, stat.priority))
    }
}
