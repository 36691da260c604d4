//! Reads files in the directory of a process or thread, and classifies their errors.

use std::mem;
use std::os::fd::AsFd;
use std::path::Path;

use rustix::fs::AtFlags;
use tallymon_provider::{Absence, FileTime};

use super::descriptors::{DescriptorBudget, FileKind};
use crate::kernel::number_folder::NumberFolder;
use crate::kernel::proc::SystemFacts;
use crate::kernel::reusable_file::{Buffer, ReadError, ReusableFile, Step};

/// Everything that reading a process needs.
pub(super) struct ProcessReader<'a> {
    pub(super) folder: &'a NumberFolder,
    pub(super) has_clocks: bool,
    /// Whether an unchanged CPU clock shows that a process has not run.
    pub(super) clocks_show_runs: bool,
    /// Whether `stat` of an idle process may be skipped, see [`super::idle`].
    pub(super) may_skip_stat: bool,
    pub(super) descriptors: &'a mut DescriptorBudget,
    pub(super) buffer: &'a mut Buffer,
    pub(super) scratch: &'a mut Scratch,
    pub(super) has_handle_counts: &'a mut bool,
    pub(super) facts: &'a SystemFacts,
    pub(super) now: FileTime,
}

/// The process or thread has exited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Exited;

/// Why a file of a process could not be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileError {
    Exited,
    Absent(Absence),
}

impl FileError {
    /// `None`, unless the process has exited.
    pub(super) fn unless_exited<T>(self) -> Result<Option<T>, Exited> {
        if self == FileError::Exited { Err(Exited) } else { Ok(None) }
    }
}

/// Buffers that are used again and again.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    pub(super) listing: Vec<u8>,
    pub(super) tids: Vec<u32>,
    pub(super) new: Vec<u32>,
}

impl ProcessReader<'_> {
    /// Reads a file of a process.
    pub(super) fn read(
        &mut self,
        kept: &mut Option<ReusableFile>,
        kind: FileKind,
        pid: u32,
    ) -> Result<&[u8], FileError> {
        let path = || format!("{pid}/{}", kind.file_name());
        let read = self.descriptors.read(kept, kind, self.folder, path, self.buffer);
        read.map_err(|error| trouble(self.folder, &format!("{pid}"), &error))
    }

    /// Reads a file of a thread.
    pub(super) fn read_thread(
        &mut self,
        kept: &mut Option<ReusableFile>,
        kind: FileKind,
        pid: u32,
        tid: u32,
    ) -> Result<&[u8], FileError> {
        let path = || format!("{pid}/task/{tid}/{}", kind.file_name());
        let read = self.descriptors.read(kept, kind, self.folder, path, self.buffer);
        read.map_err(|error| trouble(self.folder, &format!("{pid}/task/{tid}"), &error))
    }

    /// What an error of a file of a process means.
    pub(super) fn trouble(&self, pid: u32, error: &ReadError) -> FileError {
        trouble(self.folder, &format!("{pid}"), error)
    }

    /// How many files a process has open: the size of its directory where the kernel reports it, else by
    /// counting.
    pub(super) fn handles(&mut self, pid: u32) -> Result<u64, FileError> {
        // In other file systems than /proc, the size of a directory means something else.
        if self.descriptors.is_proc() {
            if let Some(count) = self.folder.open_files(pid) {
                *self.has_handle_counts = true;
                return Ok(count);
            }
            if *self.has_handle_counts {
                let path = format!("{pid}/fd");
                let stat = rustix::fs::statat(self.folder, path.as_str(), AtFlags::empty());
                return stat.map(|_| 0).map_err(|_| FileError::Exited);
            }
        }
        let path = format!("{pid}/fd");
        let mut numbers = mem::take(&mut self.scratch.tids);
        let listed = NumberFolder::open_in(self.folder, Path::new(&path))
            .and_then(|folder| folder.list_with(&mut self.scratch.listing, &mut numbers));
        let count = u64::try_from(numbers.len()).unwrap_or(u64::MAX);
        self.scratch.tids = numbers;
        listed.map(|_| count).map_err(|error| self.trouble(pid, &error))
    }
}

/// What an error of a file in the directory of a process or thread means.
fn trouble(folder: &NumberFolder, of: &str, error: &ReadError) -> FileError {
    if error.is_denied() {
        return FileError::Absent(Absence::AccessDenied);
    }
    if !error.is_gone() {
        return FileError::Absent(Absence::ReadFailed);
    }
    // This kernel may not have the file; a process that still exists has `stat`.
    let is_alive = error.step() == Step::Open
        && rustix::fs::statat(folder.as_fd(), format!("{of}/stat"), AtFlags::empty()).is_ok();
    if is_alive { FileError::Absent(Absence::NotInThisKernel) } else { FileError::Exited }
}
