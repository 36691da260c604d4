//! Reads per-CPU counters with a BPF program: interrupts, soft interrupts and memory events.
//!
//! ```text
//! for each possible CPU:
//!     interrupts: the kernel's sum, and on x86 the counters beside it
//!     timer interrupts, on x86
//!     soft interrupts: the sum over all kinds
//!     memory events: the needed ones
//! ```
//!
//! The counters are per-CPU variables. The kernel's types give the offset of each variable in its section,
//! but not where the section is: programs learn that only where the kernel was built with `KALLSYMS_ALL`. So
//! the program follows a permitted path: from a task to the run queue of its CPU, which is such a variable.
//! The distance between a per-CPU map of our own and these variables is the same on all CPUs. The result is
//! compared with a file before it is used.
//!
//! The kernel's sums of interrupts include released interrupts, which `/proc/interrupts` no longer lists.

mod layout;
mod program;

use std::fs;
use std::sync::atomic::Ordering;

use self::layout::{CountsLayout, WANTED};
use self::program::{CLOCK, EVENTS, INTERRUPTS, Maps, SIZE, SOFTIRQS, WORDS};
use super::btf::{Btf, BtfError};
use super::per_cpu::{CpuLoop, possible_cpus};
use super::refusal::{Refusal, assembler_refusal, load_refusal, syscall_refusal};
use super::sys::{Array, MapMemory, Program, ProgramKind};
use super::types::with_kernel_types;
use crate::kernel::proc::interrupts::Interrupts;
use crate::kernel::proc::softirqs::Softirqs;
use crate::kernel::proc::vmstat::VmStat;

/// The counters of all CPUs, as of the last run.
#[derive(Debug)]
pub(crate) struct Processors {
    kernel: CountsLayout,
    /// The possible CPUs.
    possible: Vec<u32>,
    rows: MapMemory,
    program: Program,
    /// They must live as long as the loaded program, which refers to them by number.
    _maps: [Array; 2],
}

impl Processors {
    /// Loads the program.
    ///
    /// # Errors
    ///
    /// The kernel is too old, has no type description, or does not allow it.
    pub(crate) fn open() -> Result<Processors, Refusal> {
        Processors::open_with(CountsLayout::new)
    }

    /// As [`Processors::open`], with a layout from this function.
    fn open_with(
        look: impl FnOnce(&Btf<'_>) -> Result<CountsLayout, BtfError>,
    ) -> Result<Processors, Refusal> {
        let possible = possible_cpus()?;
        let count = possible.last().map_or(1, |last| last.saturating_add(1));
        let kernel = with_kernel_types(look)?;
        let each = kernel.each.ok_or_else(CpuLoop::refusal)?;
        let (own, map) = (Array::per_cpu(8), Array::new(SIZE, count));
        let own = own.map_err(|error| syscall_refusal(&error))?;
        let map = map.map_err(|error| syscall_refusal(&error))?;
        let length = usize::try_from(u64::from(count).saturating_mul(u64::from(SIZE)));
        let rows = map.map(length.unwrap_or(usize::MAX)).map_err(|error| syscall_refusal(&error))?;
        let maps = Maps { own: own.number(), rows: map.number(), count };
        let start = program::start(&kernel, maps, &rows)?;
        let code = program::program(&kernel, &each, maps, start).map_err(assembler_refusal)?;
        let program = Program::load(ProgramKind::Syscall, &code).map_err(load_refusal)?;
        let processors = Processors { kernel, possible, rows, program, _maps: [own, map] };
        processors.compare()?;
        Ok(processors)
    }

    /// Compares the result with a file that is read between two runs.
    fn compare(&self) -> Result<(), Refusal> {
        const FILE: &str = "/proc/softirqs";
        self.run()?;
        let before = self.softirqs();
        let text =
            fs::read(FILE).map_err(|error| Refusal::of_kernel(format!("{FILE} cannot be read: {error}")))?;
        self.run()?;
        let after = self.softirqs();
        let file = Softirqs::parse(&text).map_err(|error| Refusal::of_kernel(error.to_string()))?;
        let file: Vec<(u32, u32)> = file.cpus.into_iter().zip(file.totals).collect();
        let is_between = |at: usize| {
            let (before, between, after) = (before.get(at)?, file.get(at)?, after.get(at)?);
            let (growth, most) = (between.1.wrapping_sub(before.1), after.1.wrapping_sub(before.1));
            (before.0 == between.0 && growth <= most).then_some(())
        };
        if file.len() == before.len() && (0..file.len()).all(|at| is_between(at).is_some()) {
            return Ok(());
        }
        Err(Refusal::of_kernel(format!("the BPF program disagrees with {FILE}")))
    }

    /// Runs the program.
    ///
    /// # Errors
    ///
    /// The program could not run.
    pub(crate) fn run(&self) -> Result<(), Refusal> {
        self.program.run().map(|_| ()).map_err(|error| syscall_refusal(&error))
    }

    /// Interrupts of each possible CPU, and timer interrupts where the kernel counts them apart; `None` where
    /// it is unknown which counts are interrupts, see [`Processors::why_no_interrupts`].
    pub(crate) fn interrupts(&self) -> Option<Interrupts> {
        let own = self.kernel.own.as_ref().ok()?;
        let column = |word| self.possible.iter().map(|number| low_32(self.word(*number, word))).collect();
        let clock = own.clock.map(|_| column(CLOCK));
        Some(Interrupts { cpus: self.possible.clone(), totals: column(INTERRUPTS), clock })
    }

    /// Why interrupts cannot be read.
    pub(crate) fn why_no_interrupts(&self) -> Option<&str> {
        self.kernel.own.as_ref().err().map(String::as_str)
    }

    /// Soft interrupts of each possible CPU, modulo 2^32.
    pub(crate) fn softirqs(&self) -> Vec<(u32, u32)> {
        self.possible.iter().map(|number| (*number, low_32(self.word(*number, SOFTIRQS)))).collect()
    }

    /// Memory events of all CPUs together, as `/proc/vmstat` counts them; its other numbers are unknown.
    /// `None` where the kernel counts none.
    pub(crate) fn events(&self) -> Option<VmStat> {
        let events = self.kernel.events.as_ref()?;
        let mut stat = VmStat::default();
        for (((_, field), place), word) in WANTED.iter().zip(&events.places).zip(EVENTS..) {
            // A CPU that goes offline hands its counts to another.
            let sum =
                || self.possible.iter().map(|number| self.word(*number, word)).fold(0, u64::wrapping_add);
            *field(&mut stat) = place.is_some().then(sum);
        }
        // The kernel counts sectors of 512 bytes.
        stat.read_kib = stat.read_kib.map(|sectors| sectors / 2);
        Some(stat)
    }

    /// Whether the kernel counts memory events.
    pub(crate) fn has_events(&self) -> bool {
        self.kernel.events.is_some()
    }

    fn word(&self, processor: u32, word: u32) -> u64 {
        let at = usize::try_from(processor).ok().zip(usize::try_from(word).ok());
        let at = at.and_then(|(processor, word)| processor.checked_mul(WORDS)?.checked_add(word));
        let found = at.and_then(|at| self.rows.words().get(at));
        found.map_or(0, |word| word.load(Ordering::Relaxed))
    }
}

/// The lower 32 bits, which is the width that the kernel prints.
fn low_32(number: u64) -> u32 {
    u32::try_from(number & u64::from(u32::MAX)).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod processors_tests;
