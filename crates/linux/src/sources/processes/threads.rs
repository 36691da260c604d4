//! The threads of one process.

use std::path::Path;

use super::descriptors::{DescriptorBudget, FileKind};
use super::needs::ThreadNeeds;
use super::reader::{Exited, FileError, ProcessReader};
use super::records::ticks;
use super::thread::{StatReading, Thread, ThreadRecord};
use super::usage::ThreadUsage;
use crate::kernel::number_folder::NumberFolder;

/// The threads of a process, in the order of their ids.
#[derive(Debug, Default)]
pub(crate) struct Threads {
    rows: Vec<Thread>,
    folder: Option<NumberFolder>,
    exited: ThreadUsage,
    /// The CPU clock of the process before its files were read for these rows.
    clock: Option<u64>,
}

impl Threads {
    pub(crate) fn rows(&self) -> &[Thread] {
        &self.rows
    }

    /// What the threads have used that exited while their process goes on.
    pub(crate) fn exited(&self) -> &ThreadUsage {
        &self.exited
    }

    /// What all threads have used, including those that exited.
    pub(crate) fn usage(&self) -> ThreadUsage {
        let mut sum = self.exited;
        self.rows.iter().for_each(|thread| sum.add(&thread.usage));
        sum
    }

    /// Updates what others can change of idle threads, and returns whether nothing else can have changed; if
    /// not, the caller reads everything. `of` is the process and its CPU clock, `stat_reading` is its `stat`.
    pub(super) fn refresh_idle(
        &mut self,
        of: (u32, Option<u64>),
        stat_reading: Option<&StatReading>,
        is_overdue: bool,
        wants: ThreadNeeds,
        reader: &mut ProcessReader<'_>,
    ) -> bool {
        let (pid, clock) = of;
        // A tracer can reap an exited thread later.
        let count = u64::try_from(self.rows.len()).unwrap_or(u64::MAX);
        let is_whole = stat_reading.map_or(!is_overdue, |stat_reading| stat_reading.process.threads == count);
        if !is_whole || clock.is_none() || self.clock != clock {
            return false;
        }
        if let (Some(stat_reading), [first]) = (stat_reading, self.rows.as_mut_slice())
            && first.tid == pid
        {
            return first.has(wants) && first.set(stat_reading.first);
        }
        self.rows.iter_mut().all(|thread| thread.has(wants) && thread.refresh_idle(pid, wants, reader))
    }

    /// Whether all needed values belong to this CPU clock, and no thread is runnable or has a lent priority.
    pub(super) fn are_idle(&self, clock: Option<u64>, wants: ThreadNeeds) -> bool {
        let rests = |thread: &Thread| {
            thread.has(wants) && thread.values.stat.map_or(!wants.stat, |stat| stat.is_idle())
        };
        self.clock == clock && self.rows.iter().all(rests)
    }

    /// Reads the threads of the process `of`, which comes with its CPU clock. A kernel thread is a process of
    /// one thread and needs no list. `switches` are those of the first thread, if they are known already.
    ///
    /// # Errors
    ///
    /// The process has exited.
    pub(super) fn read(
        &mut self,
        of: (u32, Option<u64>),
        is_kernel_thread: bool,
        switches: Option<u64>,
        wants: ThreadNeeds,
        reader: &mut ProcessReader<'_>,
    ) -> Result<(), Exited> {
        let (pid, clock) = of;
        self.clock = clock;
        let mut tids = std::mem::take(&mut reader.scratch.tids);
        let listed = if is_kernel_thread {
            tids.clear();
            tids.push(pid);
            Ok(())
        } else {
            self.list(pid, &mut tids, reader)
        };
        if listed.is_ok() {
            self.update((pid, switches), &tids, wants, reader);
        }
        reader.scratch.tids = tids;
        match listed {
            // We may not list the directory: the process exists, but its threads stay unknown.
            Err(FileError::Absent(_)) => {
                self.keep_only(&[], reader.descriptors);
                Ok(())
            }
            Err(FileError::Exited) => Err(Exited),
            Ok(()) => Ok(()),
        }
    }

    fn list(
        &mut self,
        pid: u32,
        tids: &mut Vec<u32>,
        reader: &mut ProcessReader<'_>,
    ) -> Result<(), FileError> {
        reader.descriptors.used(FileKind::Task);
        if let Some(folder) = &self.folder {
            let result = folder.list_with(&mut reader.scratch.listing, tids);
            if result.is_ok() && !tids.is_empty() {
                return Ok(());
            }
            // Listing the directory of an exited process fails or returns nothing, and its id may belong to
            // another process by now.
            reader.descriptors.close(&mut self.folder, FileKind::Task);
            return Err(FileError::Exited);
        }
        let path = format!("{pid}/{}", FileKind::Task.file_name());
        let folder = NumberFolder::open_in(reader.folder, Path::new(&path)).map_err(|error| {
            reader.descriptors.failed(&error);
            reader.trouble(pid, &error)
        })?;
        let listed = folder.list_with(&mut reader.scratch.listing, tids);
        listed.map_err(|error| reader.trouble(pid, &error))?;
        if tids.is_empty() {
            return Err(FileError::Exited);
        }
        if reader.descriptors.take(FileKind::Task) {
            self.folder = Some(folder);
        }
        Ok(())
    }

    fn update(
        &mut self,
        first: (u32, Option<u64>),
        tids: &[u32],
        wants: ThreadNeeds,
        reader: &mut ProcessReader<'_>,
    ) {
        if !tids.is_sorted() {
            // Only a directory that is not /proc lists ids in another order.
            let mut sorted = tids.to_vec();
            sorted.sort_unstable();
            return self.update(first, &sorted, wants, reader);
        }
        self.keep_only(tids, reader.descriptors);
        let known = self.rows.len();
        if known < tids.len() {
            self.make_room(tids.len());
            for tid in tids {
                let old = self.rows.get(..known).unwrap_or_default();
                if old.binary_search_by_key(tid, |thread| thread.tid).is_err() {
                    self.rows.push(Thread::new(*tid));
                }
            }
            self.rows.sort_by_key(|thread| thread.tid);
        }
        let exited = &mut self.exited;
        self.rows.retain_mut(|thread| {
            if thread.read(first, wants, reader).is_ok() {
                return true;
            }
            exited.add(&thread.usage);
            thread.close(reader.descriptors);
            // The id may belong to another thread of this process already.
            *thread = Thread::new(thread.tid);
            let is_there = thread.read(first, wants, reader).is_ok();
            if !is_there {
                thread.close(reader.descriptors);
            }
            is_there
        });
    }

    /// Takes the threads of a BPF pass, in any order.
    pub(super) fn take(
        &mut self,
        records: &mut [ThreadRecord],
        wants: ThreadNeeds,
        reader: &mut ProcessReader<'_>,
    ) {
        let facts = reader.facts;
        if !records.is_sorted_by_key(|record| record.tid) {
            records.sort_by_key(|record| record.tid);
        }
        let is_same = |(thread, record): (&Thread, &ThreadRecord)| {
            thread.tid == record.tid && thread.start_ticks == Some(ticks(record.start, facts))
        };
        if self.rows.len() != records.len() || !self.rows.iter().zip(&*records).all(is_same) {
            self.match_rows(records, reader);
        }
        // Now each record has a row.
        for (thread, record) in self.rows.iter_mut().zip(records) {
            thread.take(record, wants, reader);
        }
    }

    /// Makes one row for each record; the records are in the order of their ids.
    fn match_rows(&mut self, records: &[ThreadRecord], reader: &mut ProcessReader<'_>) {
        let facts = reader.facts;
        let exited = &mut self.exited;
        self.rows.retain_mut(|thread| {
            let found = records.binary_search_by_key(&thread.tid, |record| record.tid).ok();
            let start = found.and_then(|found| records.get(found)).map(|record| ticks(record.start, facts));
            let stays = start.is_some() && thread.start_ticks == start;
            if !stays {
                exited.add(&thread.usage);
                thread.close(reader.descriptors);
            }
            stays
        });
        let known = self.rows.len();
        if known < records.len() {
            self.make_room(records.len());
            for record in records {
                let old = self.rows.get(..known).unwrap_or_default();
                if old.binary_search_by_key(&record.tid, |thread| thread.tid).is_err() {
                    self.rows.push(Thread::new(record.tid));
                }
            }
            self.rows.sort_by_key(|thread| thread.tid);
        }
    }

    /// Reserves room for exactly so many rows. Most processes only ever have one thread, and the default room
    /// for four would waste half a megabyte for a thousand processes.
    fn make_room(&mut self, count: usize) {
        if self.rows.is_empty() {
            self.rows.reserve_exact(count);
        }
    }

    /// Removes the threads that are not among `tids`, which are sorted.
    fn keep_only(&mut self, tids: &[u32], descriptors: &mut DescriptorBudget) {
        let exited = &mut self.exited;
        self.rows.retain_mut(|thread| {
            let stays = tids.binary_search(&thread.tid).is_ok();
            if !stays {
                exited.add(&thread.usage);
                thread.close(descriptors);
            }
            stays
        });
    }

    /// How many files are open.
    #[cfg(test)]
    pub(super) fn kept_files(&self) -> usize {
        let files = self.rows.iter().filter_map(|thread| thread.files.as_deref());
        let files = files.flat_map(|files| [&files.stat, &files.schedstat, &files.status]);
        files.filter(|file| file.is_some()).count() + usize::from(self.folder.is_some())
    }

    /// Uses this as the CPU clock at which the rows were read.
    #[cfg(test)]
    pub(super) fn believe(&mut self, clock: Option<u64>) {
        self.clock = clock;
    }

    /// Closes the files of one kind.
    pub(super) fn close_kind(&mut self, kind: FileKind, descriptors: &mut DescriptorBudget) {
        match kind {
            FileKind::Task => descriptors.close(&mut self.folder, kind),
            FileKind::ThreadStat | FileKind::ThreadSchedstat | FileKind::ThreadStatus => {
                self.rows.iter_mut().for_each(|thread| thread.close_kind(kind, descriptors));
            }
            FileKind::Stat | FileKind::Statm | FileKind::Io | FileKind::Status => {}
        }
    }
}
