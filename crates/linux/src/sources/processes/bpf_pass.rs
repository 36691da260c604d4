//! The BPF program that reads all tasks in one pass, and whether it is in use.

use tallymon_provider::{FileTime, Finding, FindingState, TierChoice};

use super::needs::ProcessNeeds;
use super::thread::ThreadRecord;
use crate::kernel::bpf::refusal::Refusal;
use crate::kernel::bpf::tasks::{Tasks, WalkMode};
use crate::sources::lazy_backend::LazyBackend;

/// The BPF program and what the last pass read.
#[derive(Debug)]
pub(super) struct BpfPass {
    /// Loaded in the background: the kernel takes tens of milliseconds to verify it.
    pub(super) program: LazyBackend<Opened>,
    /// The number of the current pass.
    pub(super) pass: u64,
    /// The values that the last pass read for each row; `None` when it failed.
    pub(super) wants: Option<ProcessNeeds>,
    /// Processes that the program does not see, and when they were last searched for.
    pub(super) hidden: Vec<u32>,
    pub(super) hidden_checked: Option<FileTime>,
    pub(super) threads: Vec<ThreadRecord>,
}

/// The loaded program, and how it walks over the tasks.
pub(super) type Opened = (Box<Tasks>, WalkMode);

fn open() -> Result<Opened, Refusal> {
    match Tasks::open(WalkMode::Walk) {
        Ok(tasks) => Ok((Box::new(tasks), WalkMode::Walk)),
        // The older way may work where the newer one is missing. When both fail, report the first reason.
        Err(refusal) => Tasks::open(WalkMode::EachTask)
            .map(|tasks| (Box::new(tasks), WalkMode::EachTask))
            .map_err(|_| refusal),
    }
}

impl BpfPass {
    pub(super) fn new(choice: TierChoice) -> BpfPass {
        BpfPass {
            program: LazyBackend::new(choice, open),
            pass: 0,
            wants: None,
            hidden: Vec::new(),
            hidden_checked: None,
            threads: Vec::new(),
        }
    }

    /// Notes that a sample of all processes begins, and loads the program when it is time.
    pub(super) fn begin_sample(&mut self) {
        self.program.begin_sample();
    }

    /// Loads the program now, unless that was tried before; waits for a load in the background.
    pub(super) fn load_now(&mut self) {
        self.program.load_now();
    }

    /// Whether the program is loaded and works.
    pub(super) fn is_active(&self) -> bool {
        self.program.is_ready()
    }

    /// Why the program is not used; `None` when it works or was not tried.
    pub(super) fn refusal(&self) -> Option<&Refusal> {
        self.program.refusal()
    }

    /// Stops using the program: from now on the files are read.
    pub(super) fn disable(&mut self, refusal: Refusal) {
        self.program.disable(refusal);
    }

    /// Which tier is in use, and why, for the report of findings.
    pub(super) fn finding(&mut self, is_machine: bool, may_read_all: bool) -> Finding {
        let files = if may_read_all {
            "T0: the files of each process, with the right to read those of all users"
        } else {
            "T0: the files of each process, as any user may read them"
        };
        let subject = "collector".to_string();
        if is_machine {
            self.load_now();
        }
        if let Some((tasks, way)) = self.program.get().filter(|_| is_machine) {
            let way = match way {
                WalkMode::Walk => "that walks over all tasks",
                WalkMode::EachTask => "that the kernel runs for each task",
            };
            let hidden = match self.hidden.len() {
                0 => String::new(),
                count => format!("; {count} processes hidden from it are read from their files"),
            };
            let ends = match tasks.exits_refusal() {
                None => "; processes that exit between two samples are counted".to_string(),
                Some(refusal) => format!(
                    "; what exiting processes use after their last sample is not counted: {}",
                    refusal.reason
                ),
            };
            let detail = format!("tier T2: a BPF program {way}{ends}{hidden}");
            return Finding { subject, state: FindingState::Good, detail, remedy: String::new() };
        }
        if let Some(refusal) = self.refusal() {
            let detail = format!("tier {files}; not T2: {}", refusal.reason);
            return Finding { subject, state: FindingState::Limited, detail, remedy: refusal.remedy.clone() };
        }
        Finding { subject, state: FindingState::Good, detail: format!("tier {files}"), remedy: String::new() }
    }
}
