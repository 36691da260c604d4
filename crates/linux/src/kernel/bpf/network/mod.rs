//! Reads the counters of network protocols with a BPF program: the numbers of `/proc/net/snmp` and
//! `/proc/net/snmp6`.
//!
//! ```text
//! follow the running task to the network namespace of its process, and to the tables there
//! for each possible CPU:
//!     add its per-CPU tables to the sums
//! copy the tables that are not per CPU
//! ```
//!
//! A network namespace has a per-CPU pointer for each table: it leads to the copy of a CPU after adding that
//! CPU's distance. A per-CPU map of our own gives the distance: the address of its value on that CPU, less
//! the address that the map itself holds.
//!
//! The numbers are sums modulo 2^64, like those that the kernel prints.

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

/// The counters of our network namespace, as of the last run.
#[derive(Debug)]
pub(crate) struct Network {
    kernel: NetworkLayout,
    /// The number of possible CPUs.
    count: u32,
    words: MapMemory,
    program: Program,
    /// They must live as long as the loaded program, which refers to them by number.
    _maps: [Array; 2],
}

impl Network {
    /// Loads the program.
    ///
    /// # Errors
    ///
    /// The kernel is too old, has no type description, or does not allow it.
    pub(crate) fn open() -> Result<Network, Refusal> {
        Network::open_with(NetworkLayout::new)
    }

    /// As [`Network::open`], with a layout from this function.
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

    /// Runs the program.
    ///
    /// # Errors
    ///
    /// The program could not run, or our process has changed its network namespace during the run.
    pub(crate) fn run(&self) -> Result<(), Refusal> {
        self.words.words().iter().for_each(|word| word.store(0, Ordering::Relaxed));
        self.program.run().map_err(|error| syscall_refusal(&error))?;
        match self.word(WHOLE) {
            1 => Ok(()),
            _ => Err(Refusal::of_kernel("the network namespace of this process was not found".to_string())),
        }
    }

    /// The inode number of the network namespace that was read.
    pub(crate) fn namespace(&self) -> u64 {
        self.word(NAMESPACE)
    }

    /// The numbers of a file. A section that this kernel does not count has no member set.
    pub(crate) fn read<File: CountedFile>(&self) -> File {
        let mut file = File::default();
        for (table, counts) in File::TABLES.iter().zip(File::counts(&self.kernel)) {
            let Some(counts) = counts else { continue };
            // A table is per CPU, or there is one.
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

/// A file whose numbers the program can read.
pub(crate) trait CountedFile: Copy + Default + 'static {
    /// Its path.
    const NAME: &'static str;
    /// The kernel tables from which it is printed.
    const TABLES: &'static [Table<Self>];

    /// The layout of these tables in the running kernel.
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

/// The result of comparing a file with the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Comparison {
    /// They agree, and not only on zeros.
    Same,
    /// They agree on zeros only, which could have come from anywhere.
    Empty,
    /// They differ.
    Other,
}

/// Compares a file with the program's numbers from before and after it was read.
pub(crate) fn compare<File: CountedFile>(before: File, file: File, after: File) -> Comparison {
    let mut likeness = Comparison::Empty;
    let [mut before, mut file, mut after] = [before, file, after];
    for table in File::TABLES {
        for (index, member) in table.members {
            match [&mut before, &mut file, &mut after].map(|of| *member(of)) {
                [None, None, None] => {}
                [Some(low), Some(between), Some(high)] => {
                    let is_between = between.wrapping_sub(low) <= high.wrapping_sub(low);
                    // A number that can also decrease may have any value in between.
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
