//! Reads what the kernel counts of the network's protocols: the numbers of `/proc/net/snmp` and
//! `/proc/net/snmp6`.
//!
//! ```text
//! from the task that asks to the network namespace of its process, and to the tables there
//! for each processor that there could be:
//!     add the numbers of its own tables to the sums
//! copy those of the tables that there are once
//! ```
//!
//! A namespace says of each table where the copy of a processor is, but for a distance that is another one
//! for each processor. A map of our own that has a value for each processor tells it: where that is, and
//! where the map says that it is.
//!
//! Numbers are sums modulo 2^64, as those that the kernel prints.

mod layout;
mod program;
mod tables;

use std::sync::atomic::Ordering;

use self::layout::{NetworkLayout, TableLayout};
use self::program::{Maps, NAMESPACE, WHOLE};
use self::tables::{Table, V4, V6};
use super::btf::{Btf, BtfError};
use super::per_cpu::{CpuLoop, possible_cpus};
use super::refusal::{Refusal, assembler_refusal, load_refusal, syscall_refusal};
use super::sys::{Array, MapMemory, Program, ProgramKind};
use super::types::with_kernel_types;
use crate::kernel::proc::snmp::Snmp;
use crate::kernel::proc::snmp6::Snmp6;

/// The counts of our network namespace, as of the last run.
#[derive(Debug)]
pub(crate) struct Network {
    kernel: NetworkLayout,
    /// How many processors there could be.
    count: u32,
    words: MapMemory,
    program: Program,
    /// They must live as long as the program refers to them by their numbers, which is while that is loaded.
    _maps: [Array; 2],
}

impl Network {
    /// Brings the program into the kernel.
    ///
    /// # Errors
    ///
    /// The kernel is too old, describes no types, or does not let us.
    pub(crate) fn open() -> Result<Network, Refusal> {
        Network::open_with(NetworkLayout::new)
    }

    /// As [`Network::open`], with what this finds in the kernel's types.
    fn open_with(look: impl FnOnce(&Btf<'_>) -> Result<NetworkLayout, BtfError>) -> Result<Network, Refusal> {
        let possible = possible_cpus()?;
        let count = u32::try_from(possible.len()).unwrap_or(u32::MAX);
        if possible.last().map(|last| last.saturating_add(1)) != Some(count) {
            return Err(Refusal::of_kernel("the numbers of the processors have gaps".to_string()));
        }
        let kernel = with_kernel_types(look)?;
        let each = kernel.each.ok_or_else(CpuLoop::refusal)?;
        let size = kernel.words.saturating_mul(8);
        let (own, map) = (Array::per_cpu(8), Array::new(size, 1));
        let own = own.map_err(|error| syscall_refusal(&error))?;
        let map = map.map_err(|error| syscall_refusal(&error))?;
        let length = usize::try_from(size).unwrap_or(usize::MAX);
        let words = map.map(length).map_err(|error| syscall_refusal(&error))?;
        let maps = Maps { own: own.number(), words: map.number(), count };
        let code = program::program(&kernel, &each, maps).map_err(assembler_refusal)?;
        let program = Program::load(ProgramKind::Syscall, &code).map_err(load_refusal)?;
        Ok(Network { kernel, count, words, program, _maps: [own, map] })
    }

    /// Reads everything.
    ///
    /// # Errors
    ///
    /// The program could not run, or our process has changed its network namespace meanwhile.
    pub(crate) fn run(&self) -> Result<(), Refusal> {
        self.words.words().iter().for_each(|word| word.store(0, Ordering::Relaxed));
        self.program.run().map_err(|error| syscall_refusal(&error))?;
        match self.word(WHOLE) {
            1 => Ok(()),
            _ => Err(Refusal::of_kernel("the network namespace of this process was not found".to_string())),
        }
    }

    /// The number of the network namespace that was read.
    pub(crate) fn namespace(&self) -> u64 {
        self.word(NAMESPACE)
    }

    /// What a file says; a section that this kernel does not count has no member set.
    pub(crate) fn read<File: CountedFile>(&self) -> File {
        let mut file = File::default();
        for (table, counts) in File::TABLES.iter().zip(File::counts(&self.kernel)) {
            let Some(counts) = counts else { continue };
            // Each processor has its own, or there is one.
            let reads = if counts.is_of_each { u64::from(self.count) } else { 1 };
            if self.word(counts.word) != reads {
                continue;
            }
            let words = counts.word.saturating_add(1)..;
            for (((_, member), place), word) in table.members.iter().zip(&counts.places).zip(words) {
                *member(&mut file) = place.is_some().then(|| self.word(word));
            }
        }
        file
    }

    fn word(&self, word: u32) -> u64 {
        let found = usize::try_from(word).ok().and_then(|at| self.words.words().get(at));
        found.map_or(0, |word| word.load(Ordering::Relaxed))
    }
}

/// A file whose numbers the program reads.
pub(crate) trait CountedFile: Copy + Default + 'static {
    /// What the kernel calls it.
    const NAME: &'static str;
    /// The tables that it is printed from.
    const TABLES: &'static [Table<Self>];

    /// These tables as the running kernel has them.
    fn counts(kernel: &NetworkLayout) -> &[Option<TableLayout>];
}

impl CountedFile for Snmp {
    const NAME: &'static str = "/proc/net/snmp";
    const TABLES: &'static [Table<Snmp>] = &V4;

    fn counts(kernel: &NetworkLayout) -> &[Option<TableLayout>] {
        &kernel.v4
    }
}

impl CountedFile for Snmp6 {
    const NAME: &'static str = "/proc/net/snmp6";
    const TABLES: &'static [Table<Snmp6>] = &V6;

    fn counts(kernel: &NetworkLayout) -> &[Option<TableLayout>] {
        &kernel.v6
    }
}

/// What comparing a file with the program tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Comparison {
    /// They say the same, and not only zeros.
    Same,
    /// They say the same, of tables in which nothing was counted yet: zeros could have come from anywhere.
    Empty,
    /// They do not say the same.
    Other,
}

/// Compares a file with what was read before and after it.
pub(crate) fn compare<File: CountedFile>(before: File, file: File, after: File) -> Comparison {
    let mut likeness = Comparison::Empty;
    let [mut before, mut file, mut after] = [before, file, after];
    for table in File::TABLES {
        for (index, member) in table.members {
            match [&mut before, &mut file, &mut after].map(|of| *member(of)) {
                [None, None, None] => {}
                [Some(low), Some(between), Some(high)] => {
                    let is_between = between.wrapping_sub(low) <= high.wrapping_sub(low);
                    // What goes up and down may be anything in between.
                    if !is_between && !index.goes_down() {
                        return Comparison::Other;
                    }
                    if table.is_of_each && low != 0 {
                        likeness = Comparison::Same;
                    }
                }
                _ => return Comparison::Other,
            }
        }
    }
    likeness
}

#[cfg(test)]
mod network_tests;
