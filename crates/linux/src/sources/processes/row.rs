//! One process: what is known of it, and its files that stay open.

use tallymon_provider::FileTime;

use super::descriptors::{Descriptors, Kind};
use super::needs::ProcessNeeds;
use super::thread::{Thread, Told};
use super::threads::Threads;
use super::usage::Rates;
use super::values::Parts;
use crate::kernel::proc::pid_statm::PidStatm;
use crate::kernel::reusable_file::Kept;

/// How long a name and a start time are believed while the process runs, in 100 ns units: 5 s.
pub(super) const CHECK_AFTER: u64 = 50_000_000;

/// Whether so many units of 100 ns have passed.
pub(super) fn has_passed(units: u64, since: FileTime, now: FileTime) -> bool {
    now.0.saturating_sub(since.0) >= units
}

/// How long a process that has not run is believed to be as it was, in what others change rarely, in 100 ns units: 15 s.
pub(super) const LOOK_AFTER: u64 = 150_000_000;

/// One process.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) pid: u32,
    /// When it started, on the steady clock.
    pub(crate) start: FileTime,
    /// The name of its program as an instance name.
    pub(crate) name: String,
    /// Whether it is a thread of the kernel, which NT shows as one of the process System.
    pub(crate) is_kernel_thread: bool,
    pub(crate) parts: Parts,
    pub(super) threads: Threads,
    pub(super) rates: Rates,
    pub(super) private_peak: u64,
    pub(super) comm: Vec<u8>,
    /// The same as the last pass had it.
    pub(super) comm_at_once: [u8; 16],
    /// Ticks since the start of the machine; `None` until `stat` was read.
    pub(super) start_ticks: Option<u64>,
    /// When the name and the start time were looked at last, and what the CPU clock was then.
    pub(super) checked: FileTime,
    pub(super) checked_clock: Option<u64>,
    /// The CPU clock at the last look, in nanoseconds.
    pub(super) clock: Option<u64>,
    pub(super) still: Still,
    /// When `io` was found denied.
    pub(super) io_denied: Option<FileTime>,
    /// Whether the process is in the list of the request at hand.
    pub(super) is_listed: bool,
    /// The number of the last pass that it was in.
    pub(super) pass: u64,
    /// `None` as long as none is read, as by a pass: rows that are short are read faster.
    pub(super) files: Option<Box<Files>>,
}

/// The files of a process that stay open.
#[derive(Debug, Default)]
pub(super) struct Files {
    pub(super) stat: Option<Kept>,
    pub(super) statm: Option<Kept>,
    pub(super) io: Option<Kept>,
    pub(super) status: Option<Kept>,
}

/// What is known of a process as long as it does not run.
#[derive(Debug, Default)]
pub(super) struct Still {
    /// Its CPU clock before the files were read at the last look that needed it: parts that last are of this clock.
    pub(super) clock: Option<u64>,
    /// `statm` when `status` was read.
    pub(super) statm: Option<PidStatm>,
    /// What `stat` said at that look or since.
    pub(super) told: Option<Told>,
    /// Whether not even `stat` was read at this look.
    pub(super) rests: bool,
    /// Context switches of its first thread when `status` was read.
    pub(super) switches: Option<u64>,
    /// When what others can change was looked at, or a little earlier.
    pub(super) checked: FileTime,
}

impl Still {
    pub(super) fn is_overdue(&self, now: FileTime) -> bool {
        has_passed(LOOK_AFTER, self.checked, now)
    }

    /// Processes that are first seen together are due apart, so that no look is much dearer than another.
    pub(super) fn check(&mut self, pid: u32, is_still: bool, now: FileTime) {
        let ahead = if is_still { 0 } else { LOOK_AFTER / 16 * u64::from(pid % 16) };
        self.checked = FileTime(now.0.saturating_sub(ahead));
    }
}

impl Row {
    pub(super) fn new(pid: u32) -> Row {
        Row {
            pid,
            start: FileTime(0),
            name: String::new(),
            is_kernel_thread: false,
            parts: Parts::zero(&ProcessNeeds::default()),
            threads: Threads::default(),
            rates: Rates::default(),
            private_peak: 0,
            comm: Vec::new(),
            comm_at_once: [0; 16],
            start_ticks: None,
            checked: FileTime(0),
            checked_clock: None,
            clock: None,
            still: Still::default(),
            io_denied: None,
            is_listed: true,
            pass: 0,
            files: None,
        }
    }

    /// Its threads, in the order of their numbers; empty unless threads are asked for.
    pub(crate) fn threads(&self) -> &[Thread] {
        self.threads.rows()
    }

    /// Closes every file.
    pub(super) fn close(&mut self, descriptors: &mut Descriptors) {
        Kind::ALL.into_iter().for_each(|kind| self.close_kind(kind, descriptors));
        self.files = None;
    }

    /// Closes the files of one kind.
    pub(super) fn close_kind(&mut self, kind: Kind, descriptors: &mut Descriptors) {
        let mut none = Files::default();
        let files = self.files.as_deref_mut().unwrap_or(&mut none);
        match kind {
            Kind::Stat => descriptors.close(&mut files.stat, kind),
            Kind::Statm => descriptors.close(&mut files.statm, kind),
            Kind::Io => descriptors.close(&mut files.io, kind),
            Kind::Status => descriptors.close(&mut files.status, kind),
            Kind::Task | Kind::ThreadStat | Kind::ThreadSchedstat | Kind::ThreadStatus => {
                self.threads.close_kind(kind, descriptors);
            }
        }
    }
}
