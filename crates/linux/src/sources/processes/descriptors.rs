//! How many files of processes and threads are kept open, and which are closed when there are too many.
//!
//! One sweep reads a file of every process, so what was used least recently is never a single file but a whole kind:
//! the files of a counter that nobody looks at any more. They are closed all at once, at the end of a request in which
//! others found no place. Beyond the budget a file is opened, read and closed again, which is slower and nothing else.

use std::os::fd::AsFd;
use std::path::Path;

use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};

use crate::kernel::reusable_file::{Buffer, ReadError, ReusableFile};

/// Descriptors that are left to the rest of the program besides its half of the limit.
const RESERVE: u64 = 64;

/// Kinds of files that are kept open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileKind {
    Stat,
    Statm,
    Io,
    Status,
    Task,
    ThreadStat,
    ThreadSchedstat,
    ThreadStatus,
}

impl FileKind {
    pub(crate) const ALL: [FileKind; 8] = [
        FileKind::Stat,
        FileKind::Statm,
        FileKind::Io,
        FileKind::Status,
        FileKind::Task,
        FileKind::ThreadStat,
        FileKind::ThreadSchedstat,
        FileKind::ThreadStatus,
    ];

    /// The name of the file in the folder of its process or thread.
    pub(crate) const fn file_name(self) -> &'static str {
        match self {
            FileKind::Stat | FileKind::ThreadStat => "stat",
            FileKind::Statm => "statm",
            FileKind::Io => "io",
            FileKind::Status | FileKind::ThreadStatus => "status",
            FileKind::Task => "task",
            FileKind::ThreadSchedstat => "schedstat",
        }
    }
}

/// The descriptors that are kept, by kind.
#[derive(Debug)]
pub(crate) struct DescriptorBudget {
    /// Whether the files are the kernel's own, which tell that their process has ended; no others are kept.
    is_proc: bool,
    budget: usize,
    kinds: [KindUse; FileKind::ALL.len()],
    request: u64,
    /// Whether a file found no place in the request at hand.
    shortage: bool,
}

#[derive(Debug, Clone, Copy, Default)]
struct KindUse {
    open: usize,
    /// The request that used a file of this kind last.
    request: u64,
}

impl DescriptorBudget {
    /// At most `budget` kept descriptors of the kernel's own files.
    pub(crate) fn new(budget: usize) -> DescriptorBudget {
        DescriptorBudget { is_proc: true, budget, kinds: Default::default(), request: 0, shortage: false }
    }

    /// For files that only look like those of a process: none is kept.
    pub(crate) fn of_copies() -> DescriptorBudget {
        DescriptorBudget { is_proc: false, ..DescriptorBudget::new(0) }
    }

    /// Half of what this process may have open, less a reserve: the rest is the caller's.
    pub(crate) fn of_this_process() -> DescriptorBudget {
        let budget = (DescriptorBudget::limit() / 2).saturating_sub(RESERVE);
        DescriptorBudget::new(usize::try_from(budget).unwrap_or(usize::MAX))
    }

    /// How many descriptors this process may have open, at most a million.
    pub(crate) fn limit() -> u64 {
        const ENOUGH: u64 = 1 << 20;
        getrlimit(Resource::Nofile).current.unwrap_or(ENOUGH).min(ENOUGH)
    }

    pub(crate) fn is_proc(&self) -> bool {
        self.is_proc
    }

    pub(crate) fn budget(&self) -> usize {
        self.budget
    }

    /// How many are open now.
    pub(crate) fn open(&self) -> usize {
        self.kinds.iter().map(|kind| kind.open).sum()
    }

    /// Begins a request.
    pub(crate) fn begin(&mut self) {
        self.request = self.request.wrapping_add(1);
        self.shortage = false;
    }

    /// Whether one more file of this kind may be kept; if so, it counts as open from now on.
    pub(crate) fn take(&mut self, kind: FileKind) -> bool {
        let fits = self.open() < self.budget;
        self.shortage |= !fits;
        if let Some(kind) = self.kinds.get_mut(kind as usize).filter(|_| fits) {
            kind.open = kind.open.saturating_add(1);
        }
        fits
    }

    /// A kept file of this kind was closed.
    pub(crate) fn closed(&mut self, kind: FileKind) {
        if let Some(kind) = self.kinds.get_mut(kind as usize) {
            kind.open = kind.open.saturating_sub(1);
        }
    }

    /// A file of this kind was read, kept or not.
    pub(crate) fn used(&mut self, kind: FileKind) {
        if let Some(kind) = self.kinds.get_mut(kind as usize) {
            kind.request = self.request;
        }
    }

    /// Opening failed: when this was for want of descriptors, much fewer are kept from now on.
    pub(crate) fn failed(&mut self, error: &ReadError) {
        if [Errno::MFILE, Errno::NFILE].iter().any(|errno| errno.raw_os_error() == error.errno()) {
            self.budget = self.open() / 2;
            self.shortage = true;
        }
    }

    /// The kinds whose files the owner has to close now.
    pub(crate) fn to_close(&self) -> Vec<FileKind> {
        if self.open() > self.budget {
            // The whole process had none left.
            return FileKind::ALL.to_vec();
        }
        if !self.shortage {
            return Vec::new();
        }
        let open = FileKind::ALL.iter().zip(&self.kinds).filter(|(_, kind)| kind.open > 0);
        let unused = open.filter(|(_, kind)| kind.request != self.request);
        unused.min_by_key(|(_, kind)| kind.request).map(|(kind, _)| *kind).into_iter().collect()
    }

    /// Reads a file of a process or thread: the kept one, else a new one that is kept if there is a place.
    ///
    /// `path` makes the path relative to `folder`.
    pub(crate) fn read<'b>(
        &mut self,
        kept: &mut Option<ReusableFile>,
        kind: FileKind,
        folder: impl AsFd,
        path: impl FnOnce() -> String,
        buffer: &'b mut Buffer,
    ) -> Result<&'b [u8], ReadError> {
        self.used(kind);
        if let Some(file) = kept {
            let result = file.read(buffer);
            if result.is_err() {
                *kept = None;
                self.closed(kind);
            }
            return result;
        }
        let mut file =
            ReusableFile::pinned(folder, Path::new(&path())).inspect_err(|error| self.failed(error))?;
        let bytes = file.read(buffer)?;
        if self.take(kind) {
            *kept = Some(file);
        }
        Ok(bytes)
    }

    /// Closes a kept file, if it is open.
    pub(crate) fn close<T>(&mut self, kept: &mut Option<T>, kind: FileKind) {
        if kept.take().is_some() {
            self.closed(kind);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kind_that_was_not_used_longest_makes_room() {
        let mut descriptors = DescriptorBudget::new(3);
        descriptors.begin();
        descriptors.used(FileKind::Io);
        assert!(descriptors.take(FileKind::Io));
        descriptors.begin();
        descriptors.used(FileKind::Status);
        assert!(descriptors.take(FileKind::Status));
        assert_eq!(descriptors.to_close(), [], "nothing was short");
        descriptors.begin();
        descriptors.used(FileKind::Statm);
        assert!(descriptors.take(FileKind::Statm) && !descriptors.take(FileKind::Statm));
        assert_eq!((descriptors.open(), descriptors.to_close()), (3, vec![FileKind::Io]));
        descriptors.closed(FileKind::Io);
        assert!(descriptors.take(FileKind::Statm));
        // All in use: nothing is closed, or every request would open everything again.
        descriptors.used(FileKind::Status);
        assert!(!descriptors.take(FileKind::Statm));
        assert_eq!(descriptors.to_close(), []);
    }

    #[test]
    fn half_of_the_limit_is_the_callers() {
        let budget = u64::try_from(DescriptorBudget::of_this_process().budget()).unwrap();
        assert!(budget <= DescriptorBudget::limit() / 2);
    }

    #[test]
    fn a_process_without_descriptors_left_closes_all() {
        let mut descriptors = DescriptorBudget::new(8);
        for _ in 0..4 {
            assert!(descriptors.take(FileKind::Stat));
        }
        descriptors.failed(&ReadError::new(
            Path::new("1/stat"),
            crate::kernel::reusable_file::Step::Open,
            Errno::MFILE,
        ));
        assert_eq!((descriptors.budget(), descriptors.to_close()), (2, FileKind::ALL.to_vec()));
    }
}
