//! Interrupts, soft interrupts and events of memory: from a program in the kernel for who stays, from files for others.
//!
//! The numbers of both are the same, but for interrupts that were given back since the start: the kernel's sums have
//! them, the file has lost them. So that nobody sees a jump when the program takes over, what it has more or less than
//! the file at that moment is left out from then on.

use tallymon_provider::{FileTime, Finding, FindingState, TierChoice};

use crate::kernel::bpf::processors::Processors;
use crate::kernel::proc::interrupts::Interrupts;
use crate::kernel::proc::vmstat::VmStat;
use crate::kernel::time::steady;
use crate::sources::lazy_backend::LazyBackend;

/// What the kernel counts for each processor, as far as a program reads it.
#[derive(Debug)]
pub(crate) struct Counts {
    /// `None` for another machine than this one.
    program: Option<LazyBackend<Processors>>,
    /// The request that the program has run for, and when.
    run: (u64, FileTime),
    /// The last request that was a look.
    looked: u64,
    /// By how much the file is before the program on each processor; `None` while they were not compared.
    lead: Option<Vec<(u32, u32)>>,
}

impl Counts {
    pub(crate) fn new(choice: TierChoice, is_machine: bool) -> Counts {
        let program = is_machine.then(|| LazyBackend::new(choice, Processors::open));
        Counts { program, run: (0, FileTime(0)), looked: 0, lead: None }
    }

    /// Reads everything by the program, once a request; when that was. `None` where the files are to be read.
    pub(crate) fn look(&mut self, request: u64) -> Option<FileTime> {
        let program = self.program.as_mut()?;
        if self.looked != request {
            self.looked = request;
            let now = steady();
            match program.begin_sample().map(|processors| processors.run()) {
                Some(Ok(())) => self.run = (request, now),
                Some(Err(refusal)) => program.give_up(refusal),
                None => {}
            }
        }
        let (run, at) = self.run;
        (run == request && program.get().is_some()).then_some(at)
    }

    /// Interrupts as of the last look, as the file goes on; `None` where the program does not tell.
    pub(crate) fn interrupts(&mut self) -> Option<Interrupts> {
        let mut found = self.program.as_mut()?.get()?.interrupts()?;
        for (total, number) in found.totals.iter_mut().zip(&found.cpus) {
            let lead = self.lead.iter().flatten().find(|(known, _)| known == number);
            *total = total.wrapping_add(lead.map_or(0, |(_, lead)| *lead));
        }
        Some(found)
    }

    /// Whether the file was compared with the program.
    pub(crate) fn is_lined_up(&self) -> bool {
        self.lead.is_some()
    }

    /// Compares the program with the file, which was read after the last look.
    pub(crate) fn line_up(&mut self, file: &Interrupts) {
        let Some(before) = self.interrupts() else { return };
        let Some(program) = &mut self.program else { return };
        if let Some(Err(refusal)) = program.get().map(|processors| processors.run()) {
            return program.give_up(refusal);
        }
        let Some(after) = self.interrupts() else { return };
        let columns = before.cpus.iter().zip(before.totals.iter().zip(&after.totals));
        let lead = |(number, (before, after)): (&u32, (&u32, &u32))| {
            let (_, file) = file.cpus.iter().zip(&file.totals).find(|(known, _)| *known == number)?;
            let lead = file.wrapping_sub(*before);
            // What lies between both runs is the same count.
            let is_same = lead <= after.wrapping_sub(*before);
            Some((*number, if is_same { 0 } else { lead }))
        };
        self.lead = Some(columns.filter_map(lead).collect());
    }

    /// Soft interrupts as of the last look.
    pub(crate) fn softirqs(&mut self) -> Option<Vec<(u32, u32)>> {
        Some(self.program.as_mut()?.get()?.softirqs())
    }

    /// Events of memory as of the last look.
    pub(crate) fn events(&mut self) -> Option<VmStat> {
        self.program.as_mut()?.get()?.events()
    }

    /// Which tier is in use and why, for a user who wonders.
    pub(crate) fn finding(&mut self) -> Finding {
        const FILES: &str = "T0: /proc/interrupts, /proc/softirqs and /proc/vmstat";
        let subject = "counts of processors".to_string();
        if let Some(program) = &mut self.program {
            program.finish();
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
            let mut detail = "tier T2: a program in the kernel that goes through all processors".to_string();
            if let Some(why) = processors.why_no_interrupts() {
                detail.push_str(&format!("; interrupts are read from their file: {why}"));
            }
            if !processors.has_events() {
                detail.push_str("; this kernel counts no events of memory");
            }
            detail
        });
        Finding { subject, state: FindingState::Good, detail, remedy: String::new() }
    }
}
