//! The program in the kernel that reads all tasks, and whether it is in use.

use tallymon_provider::{FileTime, Finding, FindingState, TierChoice};

use super::needs::ProcessNeeds;
use super::thread::ThreadRecord;
use crate::kernel::bpf::refusal::Refusal;
use crate::kernel::bpf::tasks::{Tasks, Way};
use crate::sources::lazy_backend::LazyBackend;

/// The program, as far as it was tried.
#[derive(Debug)]
pub(super) struct BpfPass {
    /// It takes the kernel tens of milliseconds to check.
    pub(super) program: LazyBackend<Opened>,
    /// The number of the pass at hand.
    pub(super) pass: u64,
    /// What the rows that the last pass filled hold; `None` when it failed.
    pub(super) wants: Option<ProcessNeeds>,
    /// Processes that the program does not see, and when they were looked for.
    pub(super) hidden: Vec<u32>,
    pub(super) looked: Option<FileTime>,
    pub(super) threads: Vec<ThreadRecord>,
}

/// The program, and how it goes over the tasks.
pub(super) type Opened = (Box<Tasks>, Way);

fn open() -> Result<Opened, Refusal> {
    match Tasks::open(Way::Walk) {
        Ok(tasks) => Ok((Box::new(tasks), Way::Walk)),
        // The older way may work where the newer is missing; when it does not either, the first reason counts.
        Err(refusal) => {
            Tasks::open(Way::EachTask).map(|tasks| (Box::new(tasks), Way::EachTask)).map_err(|_| refusal)
        }
    }
}

impl BpfPass {
    pub(super) fn new(choice: TierChoice) -> BpfPass {
        BpfPass {
            program: LazyBackend::new(choice, open),
            pass: 0,
            wants: None,
            hidden: Vec::new(),
            looked: None,
            threads: Vec::new(),
        }
    }

    /// Notes that all processes are about to be looked at.
    pub(super) fn begin_sample(&mut self) {
        self.program.begin_sample();
    }

    /// Makes the program now, if nobody has tried yet; waits for one that is being made.
    pub(super) fn open(&mut self) {
        self.program.finish();
    }

    /// Whether there is a program.
    pub(super) fn is_on(&self) -> bool {
        self.program.works()
    }

    /// Why there is none; `None` when it was not tried or works.
    pub(super) fn refusal(&self) -> Option<&Refusal> {
        self.program.refusal()
    }

    /// From now on the files are read.
    pub(super) fn give_up(&mut self, refusal: Refusal) {
        self.program.give_up(refusal);
    }

    /// Which tier is in use and why, for a user who wonders.
    pub(super) fn finding(&mut self, is_machine: bool, may_read_all: bool) -> Finding {
        let files = if may_read_all {
            "T0: the files of each process, with the right to read those of all users"
        } else {
            "T0: the files of each process, as any user may read them"
        };
        let subject = "collector".to_string();
        if is_machine {
            self.open();
        }
        if let Some((tasks, way)) = self.program.get().filter(|_| is_machine) {
            let way = match way {
                Way::Walk => "that walks over all tasks",
                Way::EachTask => "that the kernel runs for each task",
            };
            let hidden = match self.hidden.len() {
                0 => String::new(),
                count => format!("; {count} processes that it does not see are read from their files"),
            };
            let ends = match tasks.exits_refusal() {
                None => "; processes that end between two looks are counted".to_string(),
                Some(refusal) => format!(
                    "; of processes that end, what they used since the last look is not counted: {}",
                    refusal.reason
                ),
            };
            let detail = format!("tier T2: a program in the kernel {way}{ends}{hidden}");
            return Finding { subject, state: FindingState::Good, detail, remedy: String::new() };
        }
        if let Some(refusal) = self.refusal() {
            let detail = format!("tier {files}; not T2: {}", refusal.reason);
            return Finding { subject, state: FindingState::Limited, detail, remedy: refusal.remedy.clone() };
        }
        Finding { subject, state: FindingState::Good, detail: format!("tier {files}"), remedy: String::new() }
    }
}
