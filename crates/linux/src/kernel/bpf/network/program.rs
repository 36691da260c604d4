//! The program that adds up the tables of a network namespace.

use super::super::assembler::{Assembler, AssemblerError, Compute, Label, Reg, When, Width};
use super::super::per_cpu::{CpuLoop, NUMBER};
use super::layout::{NetworkLayout, TableLayout};

// The words of the map. All are set to 0 before a run.
/// The inode number of the network namespace.
pub(super) const NAMESPACE: u32 = 0;
/// 1 when the process stayed in this namespace from the beginning to the end.
pub(super) const WHOLE: u32 = 1;
/// Addresses pass through this word to become numbers, with which arithmetic is allowed.
const ADDRESS: u32 = 2;
/// The number to add to the address of a map value to get the distance of its CPU.
const BASE: u32 = 3;

/// The maps of the program, by their descriptors, and the number of CPUs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Maps {
    /// A per-CPU map.
    pub(super) own: i32,
    pub(super) words: i32,
    pub(super) count: u32,
}

const WORDS: Reg = Reg::R6;
const NETWORK: Reg = Reg::R7;
/// The distance of the current CPU's memory.
const DISTANCE: Reg = Reg::R8;

/// A frame slot besides the number of the CPU, as bytes below the frame pointer.
const OWN_KEY: u16 = 24;

pub(super) fn program(kernel: &NetworkLayout, each: &CpuLoop, maps: Maps) -> Result<Vec<u8>, AssemblerError> {
    let mut code = Assembler::new();
    let end = code.label();
    code.map_value(WORDS, maps.words, 0);
    code.number(Reg::R1, 0);
    code.store_in_frame(OWN_KEY, Reg::R1);
    network(&mut code, kernel, end);
    code.copy(NETWORK, Reg::R1);
    code.load(Width::B4, Reg::R1, NETWORK, kernel.way.inode);
    store(&mut code, NAMESPACE, Reg::R1);
    code.map(Reg::R1, maps.own);
    as_number(&mut code);
    code.compute_number(Compute::Add, Reg::R1, kernel.of_map.cast_signed());
    code.number(Reg::R2, kernel.number.0.cast_signed());
    code.call(each.cast);
    code.load(Width::B8, Reg::R1, Reg::R0, 0);
    code.compute_number(Compute::Multiply, Reg::R1, -1);
    store(&mut code, BASE, Reg::R1);
    each.write(&mut code, maps.count, |code, _, done| {
        code.load_from_frame(Reg::R3, NUMBER);
        code.per_cpu_element(maps.own, OWN_KEY, done);
        code.copy(Reg::R1, Reg::R0);
        as_number(code);
        load(code, Reg::R2, BASE);
        code.compute(Compute::Add, Reg::R1, Reg::R2);
        code.copy(DISTANCE, Reg::R1);
        for counts in kernel.tables().filter(|counts| counts.is_of_each) {
            add(code, each, counts, true);
        }
    });
    for counts in kernel.tables().filter(|counts| !counts.is_of_each) {
        add(&mut code, each, counts, false);
    }
    // A process that changes its namespace releases the old one, with its tables.
    network(&mut code, kernel, end);
    code.jump_if_both(When::Differ, Reg::R1, NETWORK, end);
    code.number(Reg::R1, 1);
    store(&mut code, WHOLE, Reg::R1);
    code.bind(end);
    code.number(Reg::R0, 0);
    code.exit();
    code.finish()
}

/// Loads the address of our process's network namespace into R1; jumps to `none` if it has none any more.
fn network(code: &mut Assembler, kernel: &NetworkLayout, none: Label) {
    code.current_task();
    code.copy(Reg::R1, Reg::R0);
    for offset in [kernel.way.first, kernel.way.namespaces, kernel.way.network] {
        code.load(Width::B8, Reg::R1, Reg::R1, offset);
        code.jump_if(When::Equal, Reg::R1, 0, none);
    }
}

/// Adds the numbers of a table to its words, if the table exists.
fn add(code: &mut Assembler, each: &CpuLoop, counts: &TableLayout, is_of_each: bool) {
    let none = code.label();
    code.load(Width::B8, Reg::R1, NETWORK, counts.at);
    as_number(code);
    code.jump_if(When::Equal, Reg::R1, 0, none);
    if is_of_each {
        code.compute(Compute::Add, Reg::R1, DISTANCE);
    }
    code.number(Reg::R2, counts.of.0.cast_signed());
    code.call(each.cast);
    let mut word = counts.word;
    load(code, Reg::R1, word);
    code.compute_number(Compute::Add, Reg::R1, 1);
    store(code, word, Reg::R1);
    for place in &counts.places {
        word = word.saturating_add(1);
        if let Some(place) = place {
            code.load(place.width, Reg::R1, Reg::R0, place.offset);
            load(code, Reg::R2, word);
            code.compute(Compute::Add, Reg::R1, Reg::R2);
            store(code, word, Reg::R1);
        }
    }
    code.bind(none);
}

/// Turns the address in R1 into a number, by storing and loading it.
fn as_number(code: &mut Assembler) {
    store(code, ADDRESS, Reg::R1);
    load(code, Reg::R1, ADDRESS);
}

fn load(code: &mut Assembler, to: Reg, word: u32) {
    code.load(Width::B8, to, WORDS, word.saturating_mul(8));
}

fn store(code: &mut Assembler, word: u32, from: Reg) {
    code.store(Width::B8, WORDS, word.saturating_mul(8), from);
}
