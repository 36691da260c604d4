//! Limits how many files of processes and threads stay open.
//!
//! One sample reads the same file of every process, so the least recently used thing is never a single file
//! but a whole kind of files: those of a counter that nobody reads any more. They are closed together, at the
//! end of a request in which another file could not be kept open. Beyond the budget a file is opened, read
//! and closed for each sample, which is only slower.

use std::os::fd::AsFd;
use std::path::Path;

use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};

use crate::kernel::reusable_file::{Buffer, ReadError, ReusableFile};

/// Descriptors that are left to the rest of the program, besides its half of the limit.
const RESERVE: u64 = 64;

/// The kinds of files that are kept open.
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

    /// The name of the file in the directory of its process or thread.
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

/// How many files of each kind are open, and how many may be.
#[derive(Debug)]
pub(crate) struct DescriptorBudget {
    /// Whether these are the kernel's own files, whose reads fail when the process has ended. Other files are
    /// never kept open.
    is_proc: bool,
    budget: usize,
    kinds: [KindUse; FileKind::ALL.len()],
    request: u64,
    /// Whether a file could not be kept open in this request.
    shortage: bool,
}

#[derive(Debug, Clone, Copy, Default)]
struct KindUse {
    open: usize,
    /// The last request that read a file of this kind.
    request: u64,
}

impl DescriptorBudget {
    /// At most `budget` open files of the real `/proc`.
    pub(crate) fn new(budget: usize) -> DescriptorBudget {
        DescriptorBudget { is_proc: true, budget, kinds: Default::default(), request: 0, shortage: false }
    }

    /// For files that only look like `/proc`: none is kept open.
    pub(crate) fn of_copies() -> DescriptorBudget {
        DescriptorBudget { is_proc: false, ..DescriptorBudget::new(0) }
    }

    /// Half of the limit of open files of this process, less a reserve; the rest is for the caller.
    pub(crate) fn of_this_process() -> DescriptorBudget {
        let budget = (DescriptorBudget::limit() / 2).saturating_sub(RESERVE);
        DescriptorBudget::new(usize::try_from(budget).unwrap_or(usize::MAX))
    }

    /// The limit of open files of this process, at most a million.
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

    /// How many files are open now.
    pub(crate) fn open(&self) -> usize {
        self.kinds.iter().map(|kind| kind.open).sum()
    }

    /// Begins a request.
    pub(crate) fn begin(&mut self) {
        self.request = self.request.wrapping_add(1);
        self.shortage = false;
    }

    /// Whether one more file of this kind may stay open; if so, it counts as open from now on.
    pub(crate) fn take(&mut self, kind: FileKind) -> bool {
        let fits = self.open() < self.budget;
        self.shortage |= !fits;
        if let Some(kind) = self.kinds.get_mut(kind as usize).filter(|_| fits) {
            kind.open = kind.open.saturating_add(1);
        }
        fits
    }

    /// Notes that an open file of this kind was closed.
    pub(crate) fn closed(&mut self, kind: FileKind) {
        if let Some(kind) = self.kinds.get_mut(kind as usize) {
            kind.open = kind.open.saturating_sub(1);
        }
    }

    /// Notes that a file of this kind was read, kept open or not.
    pub(crate) fn used(&mut self, kind: FileKind) {
        if let Some(kind) = self.kinds.get_mut(kind as usize) {
            kind.request = self.request;
        }
    }

    /// Notes that opening a file failed. If there were no descriptors left, the budget shrinks to half of the
    /// open files.
    pub(crate) fn failed(&mut self, error: &ReadError) {
        if [Errno::MFILE, Errno::NFILE].iter().any(|errno| errno.raw_os_error() == error.errno()) {
            self.budget = self.open() / 2;
            self.shortage = true;
        }
    }

    /// The kinds of files that the owner has to close now.
    pub(crate) fn to_close(&self) -> Vec<FileKind> {
        if self.open() > self.budget {
            // The process ran out of descriptors.
            return FileKind::ALL.to_vec();
        }
        if !self.shortage {
            return Vec::new();
        }
        let open = FileKind::ALL.iter().zip(&self.kinds).filter(|(_, kind)| kind.open > 0);
        let unused = open.filter(|(_, kind)| kind.request != self.request);
        unused.min_by_key(|(_, kind)| kind.request).map(|(kind, _)| *kind).into_iter().collect()
    }

    /// Reads a file of a process or thread: from the open one, else from a new one that stays open if the
    /// budget allows.
    ///
    /// `path` returns the path relative to `folder`.
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

    /// Closes a file if it is open.
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
    fn the_least_recently_used_kind_is_closed() {
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
        // All kinds are in use: closing some would only make every request open them again.
        descriptors.used(FileKind::Status);
        assert!(!descriptors.take(FileKind::Statm));
        assert_eq!(descriptors.to_close(), []);
    }

    #[test]
    fn half_of_the_descriptor_limit_is_left_to_the_caller() {
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
