//! Interrupts, soft interrupts and memory events: from a BPF program in the long run, from files at first.
//!
//! Both give the same numbers, except for interrupts that were released since boot: the kernel's sums contain
//! them, the file does not. To avoid a jump when the program takes over, their difference at that moment is
//! subtracted from then on.

use tallymon_provider::{FileTime, Finding, FindingState, TierChoice};

use crate::kernel::bpf::processors::Processors;
use crate::kernel::proc::interrupts::Interrupts;
use crate::kernel::proc::vmstat::VmStat;
use crate::kernel::time::steady;
use crate::sources::lazy_backend::LazyBackend;

/// The BPF program that reads the per-CPU counters.
#[derive(Debug)]
pub(crate) struct ProcessorCounts {
    /// `None` for another machine than this one.
    program: Option<LazyBackend<Processors>>,
    /// The last request that the program ran for, and when.
    run: (u64, FileTime),
    /// The last request.
    last_request: u64,
    /// How much the file is ahead of the program on each CPU; `None` before they were compared.
    lead: Option<Vec<(u32, u32)>>,
}

impl ProcessorCounts {
    pub(crate) fn new(choice: TierChoice, is_machine: bool) -> ProcessorCounts {
        let program = is_machine.then(|| LazyBackend::new(choice, Processors::open));
        ProcessorCounts { program, run: (0, FileTime(0)), last_request: 0, lead: None }
    }

    /// Runs the program once a request, and returns when. `None` where the files have to be read.
    pub(crate) fn run_once(&mut self, request: u64) -> Option<FileTime> {
        let program = self.program.as_mut()?;
        if self.last_request != request {
            self.last_request = request;
            let now = steady();
            match program.begin_sample().map(|processors| processors.run()) {
                Some(Ok(())) => self.run = (request, now),
                Some(Err(refusal)) => program.disable(refusal),
                None => {}
            }
        }
        let (run, at) = self.run;
        (run == request && program.get().is_some()).then_some(at)
    }

    /// Interrupts of the last run, continuing the counts of the file; `None` where the program cannot read
    /// them.
    pub(crate) fn interrupts(&mut self) -> Option<Interrupts> {
        let mut found = self.program.as_mut()?.get()?.interrupts()?;
        for (total, number) in found.totals.iter_mut().zip(&found.cpus) {
            let lead = self.lead.iter().flatten().find(|(known, _)| known == number);
            *total = total.wrapping_add(lead.map_or(0, |(_, lead)| *lead));
        }
        Some(found)
    }

    /// Whether the file was compared with the program.
    pub(crate) fn is_aligned(&self) -> bool {
        self.lead.is_some()
    }

    /// Compares the program with the file, which was read after the last run.
    pub(crate) fn align(&mut self, file: &Interrupts) {
        let Some(before) = self.interrupts() else { return };
        let Some(program) = &mut self.program else { return };
        if let Some(Err(refusal)) = program.get().map(|processors| processors.run()) {
            return program.disable(refusal);
        }
        let Some(after) = self.interrupts() else { return };
        let columns = before.cpus.iter().zip(before.totals.iter().zip(&after.totals));
        let lead = |(number, (before, after)): (&u32, (&u32, &u32))| {
            let (_, file) = file.cpus.iter().zip(&file.totals).find(|(known, _)| *known == number)?;
            let lead = file.wrapping_sub(*before);
            // A difference within the growth between both runs is the same count.
            let is_same = lead <= after.wrapping_sub(*before);
            Some((*number, if is_same { 0 } else { lead }))
        };
        self.lead = Some(columns.filter_map(lead).collect());
    }

    /// Soft interrupts of the last run.
    pub(crate) fn softirqs(&mut self) -> Option<Vec<(u32, u32)>> {
        Some(self.program.as_mut()?.get()?.softirqs())
    }

    /// Memory events of the last run.
    pub(crate) fn events(&mut self) -> Option<VmStat> {
        self.program.as_mut()?.get()?.events()
    }

    /// Which tier is in use, and why.
    pub(crate) fn finding(&mut self) -> Finding {
        const FILES: &str = "T0: /proc/interrupts, /proc/softirqs and /proc/vmstat";
        let subject = "counts of processors".to_string();
        if let Some(program) = &mut self.program {
            program.load_now();
            if let Some(refusal) = program.refusal() {
                let detail = format!("tier {FILES}; not T2: {}", refusal.reason);
                return Finding {
                    subject,
                    state: FindingState::Limited,
                    detail,
                    remedy: refusal.remedy.clone(),
                };
            }
        }
        let processors = self.program.as_mut().and_then(LazyBackend::get);
        let detail = processors.map_or(format!("tier {FILES}"), |processors| {
            let mut detail = "tier T2: a BPF program that reads all CPUs".to_string();
            if let Some(why) = processors.why_no_interrupts() {
                detail.push_str(&format!("; interrupts are read from their file: {why}"));
            }
            if !processors.has_events() {
                detail.push_str("; this kernel counts no memory events");
            }
            detail
        });
        Finding { subject, state: FindingState::Good, detail, remedy: String::new() }
    }
}
