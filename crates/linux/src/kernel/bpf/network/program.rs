//! The program that adds up the tables of a network namespace.

use super::super::assembler::{Assembler, AssemblerError, Compute, Label, Reg, When, Width};
use super::super::per_cpu::{CpuLoop, NUMBER};
use super::layout::{NetworkLayout, TableLayout};

// What the map holds, as words. All are set to 0 by the user.
/// The number of the network namespace.
pub(super) const NAMESPACE: u32 = 0;
/// 1 when the process was in this namespace from the beginning to the end.
pub(super) const WHOLE: u32 = 1;
/// Addresses on their way to become numbers, with which one may count.
const ADDRESS: u32 = 2;
/// How far the values of our map are from what it says, as a number to be added.
const BASE: u32 = 3;

/// The maps of the program, as descriptors, and how many processors there are.
#[derive(Debug, Clone, Copy)]
pub(super) struct Maps {
    /// With a value for each processor.
    pub(super) own: i32,
    pub(super) words: i32,
    pub(super) count: u32,
}

const WORDS: Reg = Reg::R6;
const NETWORK: Reg = Reg::R7;
/// How far what the processor at hand has is from where it is said to be.
const DISTANCE: Reg = Reg::R8;

/// What the frame holds beside the number of the processor, as bytes below its end.
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
    // A process that changes its namespace gives the old one up, with its tables.
    network(&mut code, kernel, end);
    code.jump_if_both(When::Differ, Reg::R1, NETWORK, end);
    code.number(Reg::R1, 1);
    store(&mut code, WHOLE, Reg::R1);
    code.bind(end);
    code.number(Reg::R0, 0);
    code.exit();
    code.finish()
}

/// Puts the address of the network namespace of our process into R1; goes to `none` when it has none any
/// more.
fn network(code: &mut Assembler, kernel: &NetworkLayout, none: Label) {
    code.current_task();
    code.copy(Reg::R1, Reg::R0);
    for offset in [kernel.way.first, kernel.way.namespaces, kernel.way.network] {
        code.load(Width::B8, Reg::R1, Reg::R1, offset);
        code.jump_if(When::Equal, Reg::R1, 0, none);
    }
}

/// Adds the numbers of a table to its words, if there is such a table.
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

/// Makes the address in R1 a number, which it is when it went through memory.
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
