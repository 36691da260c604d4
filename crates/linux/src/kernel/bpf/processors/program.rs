//! The program that reads all CPUs, and the one that finds their per-CPU variables.

use std::sync::atomic::Ordering;

use super::super::assembler::{Assembler, AssemblerError, Compute, FieldOffset, Label, Reg, When, Width};
use super::super::per_cpu::{CpuLoop, NUMBER};
use super::super::refusal::{Refusal, assembler_refusal, load_refusal, syscall_refusal};
use super::super::sys::{MapMemory, Program, ProgramKind};
use super::layout::{CountsLayout, Variable};

// The words of a row of the map.
pub(super) const INTERRUPTS: u32 = 0;
pub(super) const CLOCK: u32 = 1;
pub(super) const SOFTIRQS: u32 = 2;
pub(super) const EVENTS: u32 = 3;
pub(super) const WORDS: usize = 11;
/// Bytes of a row.
pub(super) const SIZE: u32 = 88;

/// The maps of the program, by their descriptors, and the number of CPUs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Maps {
    /// A per-CPU map.
    pub(super) own: i32,
    pub(super) rows: i32,
    pub(super) count: u32,
}

const AREA: Reg = Reg::R6;
const ROW: Reg = Reg::R7;
const SUM: Reg = Reg::R8;
const QUEUE: Reg = Reg::R9;

/// A frame slot besides the number of the CPU, as bytes below the frame pointer.
const OWN_KEY: u16 = 24;

/// The distance from the value of our map to the first per-CPU variable, which is the same on all CPUs.
pub(super) fn start(kernel: &CountsLayout, maps: Maps, rows: &MapMemory) -> Result<u64, Refusal> {
    let way = &kernel.way;
    let mut code = Assembler::new();
    let end = code.label();
    code.number(Reg::R1, 0);
    code.store_in_frame(NUMBER, Reg::R1);
    code.store_in_frame(OWN_KEY, Reg::R1);
    row(&mut code, maps, end);
    code.current_task();
    code.load(Width::B8, Reg::R1, Reg::R0, way.queue_of_kind);
    code.jump_if(When::Equal, Reg::R1, 0, end);
    code.load(Width::B8, QUEUE, Reg::R1, way.queue);
    code.jump_if(When::Equal, QUEUE, 0, end);
    code.load(Width::B4, Reg::R3, QUEUE, way.processor);
    value(&mut code, maps, end);
    store(&mut code, 0, QUEUE);
    store(&mut code, 1, AREA);
    code.bind(end);
    code.number(Reg::R0, 0);
    code.exit();
    let code = code.finish().map_err(assembler_refusal)?;
    Program::load(ProgramKind::Syscall, &code)
        .map_err(load_refusal)?
        .run()
        .map_err(|error| syscall_refusal(&error))?;
    // Remove kernel addresses from the map as soon as they were used.
    let take = |word: usize| rows.words().get(word).map_or(0, |word| word.swap(0, Ordering::Relaxed));
    let (queue, area) = (take(0), take(1));
    if queue == 0 || area == 0 {
        return Err(Refusal::of_kernel("the per-CPU variables were not found".to_string()));
    }
    Ok(queue.wrapping_sub(u64::from(way.place)).wrapping_sub(area))
}

pub(super) fn program(
    kernel: &CountsLayout,
    each: &CpuLoop,
    maps: Maps,
    start: u64,
) -> Result<Vec<u8>, AssemblerError> {
    let mut code = Assembler::new();
    code.number(Reg::R1, 0);
    code.store_in_frame(OWN_KEY, Reg::R1);
    let to = |code: &mut Assembler, variable: Variable| {
        code.copy(Reg::R1, AREA);
        code.wide_number(Reg::R2, start.wrapping_add(u64::from(variable.place)));
        code.compute(Compute::Add, Reg::R1, Reg::R2);
        code.number(Reg::R2, variable.of.0.cast_signed());
        code.call(each.cast);
    };
    each.write(&mut code, maps.count, |code, next, done| {
        row(code, maps, done);
        code.load_from_frame(Reg::R3, NUMBER);
        value(code, maps, done);
        // An address that went through memory counts as a number, so arithmetic with it is allowed.
        store(code, INTERRUPTS, AREA);
        code.load(Width::B8, AREA, ROW, 0);
        to(code, kernel.counts);
        code.number(SUM, 0);
        add(code, &kernel.softirqs);
        store(code, SOFTIRQS, SUM);
        code.load(kernel.interrupts.width, Reg::R1, Reg::R0, kernel.interrupts.offset);
        store(code, INTERRUPTS, Reg::R1);
        // Many machines have far more possible CPUs than real ones; a CPU that was never online has counted
        // nothing.
        code.compute(Compute::Add, SUM, Reg::R1);
        code.jump_if(When::Equal, SUM, 0, next);
        code.load(Width::B8, SUM, ROW, INTERRUPTS.saturating_mul(8));
        if let Ok(own) = &kernel.own {
            let mut clock = own.clock;
            for (variable, places) in &own.variables {
                to(code, *variable);
                add(code, places);
                if let Some(clock) = clock.take() {
                    copy(code, clock, CLOCK);
                }
            }
        }
        store(code, INTERRUPTS, SUM);
        if let Some(events) = &kernel.events {
            to(code, events.variable);
            for (place, word) in events.places.iter().zip(EVENTS..) {
                if let Some(place) = place {
                    copy(code, *place, word);
                }
            }
        }
    });
    code.number(Reg::R0, 0);
    code.exit();
    code.finish()
}

/// Loads the address of the row whose index is in the frame.
fn row(code: &mut Assembler, maps: Maps, none: Label) {
    code.element(maps.rows, NUMBER, none);
    code.copy(ROW, Reg::R0);
}

/// Loads the address of our map value for the CPU in R3; jumps to `none` after the last CPU.
fn value(code: &mut Assembler, maps: Maps, none: Label) {
    code.per_cpu_element(maps.own, OWN_KEY, none);
    code.copy(AREA, Reg::R0);
}

/// Adds fields of the variable at R0 to the sum. Uses R1.
fn add(code: &mut Assembler, places: &[FieldOffset]) {
    for place in places {
        code.load(place.width, Reg::R1, Reg::R0, place.offset);
        code.compute(Compute::Add, SUM, Reg::R1);
    }
}

/// Copies a field of the variable at R0 to a word of the row. Uses R1.
fn copy(code: &mut Assembler, from: FieldOffset, word: u32) {
    code.load(from.width, Reg::R1, Reg::R0, from.offset);
    store(code, word, Reg::R1);
}

fn store(code: &mut Assembler, word: u32, from: Reg) {
    code.store(Width::B8, ROW, word.saturating_mul(8), from);
}
