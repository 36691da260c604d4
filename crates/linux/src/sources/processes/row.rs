//! One process: its values, and its open files.

use tallymon_provider::{Absence, FileTime};

use super::descriptors::{DescriptorBudget, FileKind};
use super::needs::ProcessNeeds;
use super::thread::{StatReading, Thread};
use super::threads::Threads;
use super::usage::{IoTotals, Usage};
use super::values::{Peaks, ProcessValues};
use crate::kernel::proc::pid_statm::PidStatm;
use crate::kernel::reusable_file::ReusableFile;

/// How long name and start time stay valid while the process runs, in 100 ns units: 5 s.
pub(super) const IDENTITY_CHECK_AFTER: u64 = 50_000_000;

/// Whether at least `units` of 100 ns have passed.
pub(super) fn has_passed(units: u64, since: FileTime, now: FileTime) -> bool {
    now.0.saturating_sub(since.0) >= units
}

/// How long the values of an idle process stay valid that others rarely change, in 100 ns units: 15 s.
pub(super) const RECHECK_AFTER: u64 = 150_000_000;

/// One process.
#[derive(Debug)]
pub(crate) struct ProcessRow {
    pub(crate) pid: u32,
    /// When it started, on the steady clock.
    pub(crate) start: FileTime,
    /// The name of its program, as an instance name.
    pub(crate) name: String,
    /// Whether it is a kernel thread, which NT shows as a thread of the process System.
    pub(crate) is_kernel_thread: bool,
    pub(crate) values: ProcessValues,
    pub(super) threads: Threads,
    pub(super) usage: Usage,
    pub(super) peaks: Peaks,
    pub(super) comm: Vec<u8>,
    /// `comm` as the last BPF pass read it.
    pub(super) bpf_comm: [u8; 16],
    /// Ticks since boot; `None` until `stat` was read.
    pub(super) start_ticks: Option<u64>,
    /// When name and start time were last checked, and the CPU clock at that time.
    pub(super) checked: FileTime,
    pub(super) checked_clock: Option<u64>,
    /// The CPU clock at the last sample, in nanoseconds.
    pub(super) clock: Option<u64>,
    pub(super) idle: IdleState,
    /// What it had used of `usage.io` when it could be read for the first time after it could not: no sum
    /// counts that.
    pub(super) uncounted_io: IoTotals,
    /// Why `io` could not be read when it was last requested.
    pub(super) io_unread: Option<Absence>,
    /// If `io` could be read again in this sample: why it could not before. A rate lacks what it did until
    /// now.
    pub(super) io_resumed: Option<Absence>,
    /// When reading `io` was last denied.
    pub(super) io_denied: Option<FileTime>,
    /// Whether the process is in the list of the current request.
    pub(super) is_listed: bool,
    /// The number of the last BPF pass that it was in.
    pub(super) pass: u64,
    /// `None` while none is open, as with a BPF pass: short rows are read faster.
    pub(super) files: Option<Box<OpenFiles>>,
}

/// The open files of a process.
#[derive(Debug, Default)]
pub(super) struct OpenFiles {
    pub(super) stat: Option<ReusableFile>,
    pub(super) statm: Option<ReusableFile>,
    pub(super) io: Option<ReusableFile>,
    pub(super) status: Option<ReusableFile>,
}

/// What is remembered of a process while it is idle.
#[derive(Debug, Default)]
pub(super) struct IdleState {
    /// Its CPU clock before its files were last read; the values that last as long as it is idle belong to
    /// this clock.
    pub(super) clock: Option<u64>,
    /// `statm` at the time when `status` was read.
    pub(super) statm: Option<PidStatm>,
    /// What `stat` said then or since.
    pub(super) last_stat: Option<StatReading>,
    /// Whether `stat` was skipped in this sample.
    pub(super) skips_stat: bool,
    /// Context switches of its first thread at the time when `status` was read.
    pub(super) switches: Option<u64>,
    /// When the values that others rarely change were read, or a little earlier.
    pub(super) checked: FileTime,
}

impl IdleState {
    pub(super) fn is_overdue(&self, now: FileTime) -> bool {
        has_passed(RECHECK_AFTER, self.checked, now)
    }

    /// Processes that were first seen together are rechecked at different times, so that no sample costs much
    /// more than others.
    pub(super) fn check(&mut self, pid: u32, is_still: bool, now: FileTime) {
        let ahead = if is_still { 0 } else { RECHECK_AFTER / 16 * u64::from(pid % 16) };
        self.checked = FileTime(now.0.saturating_sub(ahead));
    }
}

impl ProcessRow {
    pub(super) fn new(pid: u32) -> ProcessRow {
        ProcessRow {
            pid,
            start: FileTime(0),
            name: String::new(),
            is_kernel_thread: false,
            values: ProcessValues::zero(&ProcessNeeds::default()),
            threads: Threads::default(),
            usage: Usage::default(),
            peaks: Peaks::default(),
            comm: Vec::new(),
            bpf_comm: [0; 16],
            start_ticks: None,
            checked: FileTime(0),
            checked_clock: None,
            clock: None,
            idle: IdleState::default(),
            uncounted_io: IoTotals::default(),
            io_unread: None,
            io_resumed: None,
            io_denied: None,
            is_listed: true,
            pass: 0,
            files: None,
        }
    }

    /// Its threads, in the order of their ids; empty unless threads are needed.
    pub(crate) fn threads(&self) -> &[Thread] {
        self.threads.rows()
    }

    /// Takes its I/O. What it used while that was unreadable is in no sum: a sum would jump.
    pub(super) fn take_io(&mut self, io: IoTotals) {
        self.io_resumed = self.io_unread.take();
        if self.io_resumed.is_some() {
            self.uncounted_io.add(io.since(self.usage.io));
        }
        self.usage.io = io;
    }

    /// Its I/O as sums count it: what was seen of it.
    pub(super) fn counted_io(&self) -> IoTotals {
        self.usage.io.since(self.uncounted_io)
    }

    /// Closes every file.
    pub(super) fn close(&mut self, descriptors: &mut DescriptorBudget) {
        FileKind::ALL.into_iter().for_each(|kind| self.close_kind(kind, descriptors));
        self.files = None;
    }

    /// Closes the files of one kind.
    pub(super) fn close_kind(&mut self, kind: FileKind, descriptors: &mut DescriptorBudget) {
        let mut none = OpenFiles::default();
        let files = self.files.as_deref_mut().unwrap_or(&mut none);
        match kind {
            FileKind::Stat => descriptors.close(&mut files.stat, kind),
            FileKind::Statm => descriptors.close(&mut files.statm, kind),
            FileKind::Io => descriptors.close(&mut files.io, kind),
            FileKind::Status => descriptors.close(&mut files.status, kind),
            FileKind::Task | FileKind::ThreadStat | FileKind::ThreadSchedstat | FileKind::ThreadStatus => {
                self.threads.close_kind(kind, descriptors);
            }
        }
    }
}
