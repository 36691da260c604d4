//! The BPF program that walks over all tasks and writes a record for each.
//!
//! ```text
//! for each task:
//!     skip the tasks before the process that did not fit into the last run
//!     skip the idle task, and tasks outside of our pid namespace
//!     take the next free record; if none is left, store the process and end
//!     copy the requested fields; for the first thread of a process also those of the process
//! ```
//!
//! The requested parts are read from memory, so one program serves all requests. The number of records is in
//! memory too: the verifier follows a number in a register through every round of the loop and gives up, but
//! not one in memory.

use super::assembler::{Assembler, AssemblerError, Compute, Label, Reg, When, Width};
use super::control::{self, Maps, Namespace};
use super::task_fields::{CONTROL, OWN, PerCpuPages, READ, RECORD, TASK, own_number, write_task};
use super::task_layout::{PageShares, TaskLayout, Walk};
use super::task_record;

/// A program that this process runs, and that walks over the tasks itself.
pub(super) fn walking(
    kernel: &TaskLayout,
    walk: &Walk,
    maps: Maps,
    namespace: Option<Namespace>,
    per_cpu_pages: Option<&PerCpuPages>,
) -> Result<Vec<u8>, AssemblerError> {
    let mut code = Assembler::new();
    let [next, begun, full, done] = std::array::from_fn(|_| code.label());
    code.map_value(CONTROL, maps.control, 0);
    code.call(walk.lock);
    // Such a walk always begins with the first task of the machine.
    code.frame(Reg::R1, ITERATOR);
    code.number(Reg::R2, 0);
    code.number(Reg::R3, ALL_THREADS);
    code.call(walk.new);
    code.bind(next);
    code.frame(Reg::R1, ITERATOR);
    code.call(walk.next);
    code.jump_if(When::Equal, Reg::R0, 0, done);
    code.copy(TASK, Reg::R0);
    code.load(Width::B4, Reg::R1, TASK, kernel.offsets.pid);
    code.jump_if(When::Equal, Reg::R1, 0, next);
    code.load(Width::B8, Reg::R1, CONTROL, control::BEGIN);
    code.jump_if(When::Equal, Reg::R1, 0, begun);
    code.load(Width::B4, Reg::R2, TASK, kernel.offsets.tgid);
    code.jump_if_both(When::Differ, Reg::R1, Reg::R2, next);
    code.number(Reg::R1, 0);
    code.store(Width::B8, CONTROL, control::BEGIN, Reg::R1);
    code.bind(begun);
    own_number(&mut code, kernel, namespace, TASK, next);
    code.store_in_frame(OWN, Reg::R0);
    code.load(Width::B8, Reg::R1, CONTROL, control::COUNT);
    code.store_in_frame(KEY, Reg::R1);
    take_record(&mut code, maps.records, full);
    code.load(Width::B8, Reg::R1, CONTROL, control::COUNT);
    code.compute_number(Compute::Add, Reg::R1, 1);
    code.store(Width::B8, CONTROL, control::COUNT, Reg::R1);
    write_task(&mut code, kernel, namespace, per_cpu_pages, next);
    code.jump(next);
    code.bind(full);
    code.load(Width::B4, Reg::R1, TASK, kernel.offsets.tgid);
    code.store(Width::B8, CONTROL, control::UNFINISHED, Reg::R1);
    code.bind(done);
    code.frame(Reg::R1, ITERATOR);
    code.call(walk.destroy);
    code.call(walk.unlock);
    code.number(Reg::R0, 0);
    code.exit();
    code.finish()
}

/// A program that the kernel runs for each task, and that writes into the file being read.
pub(super) fn for_each_task(
    kernel: &TaskLayout,
    maps: Maps,
    namespace: Option<Namespace>,
    per_cpu_pages: Option<&PerCpuPages>,
) -> Result<Vec<u8>, AssemblerError> {
    /// `bpf_seq_write`
    const WRITE: i32 = 127;
    /// The offset of the task in the context.
    const TASK_OF_CONTEXT: u32 = 8;
    let mut code = Assembler::new();
    let [next, write] = std::array::from_fn(|_| code.label());
    code.load(Width::B8, TASK, Reg::R1, TASK_OF_CONTEXT);
    // After the last task there is none.
    code.jump_if(When::Equal, TASK, 0, next);
    code.load(Width::B8, Reg::R1, Reg::R1, 0);
    code.load(Width::B8, Reg::R1, Reg::R1, kernel.offsets.sequence);
    code.store_in_frame(SEQUENCE, Reg::R1);
    own_number(&mut code, kernel, namespace, TASK, next);
    code.store_in_frame(OWN, Reg::R0);
    code.map_value(CONTROL, maps.control, 0);
    code.number(Reg::R1, 0);
    code.store_in_frame(KEY, Reg::R1);
    take_record(&mut code, maps.records, next);
    write_task(&mut code, kernel, namespace, per_cpu_pages, write);
    code.bind(write);
    // There is only one record, which holds the values of another task.
    code.number(Reg::R1, 1);
    code.store(Width::B8, RECORD, task_record::CHANGED.offset(), Reg::R1);
    code.load_from_frame(Reg::R1, SEQUENCE);
    code.copy(Reg::R2, RECORD);
    code.number(Reg::R3, task_record::SIZE.cast_signed());
    code.call_helper(WRITE);
    code.bind(next);
    code.number(Reg::R0, 0);
    code.exit();
    code.finish()
}

/// A program that stores the nesting level of our own pid namespace.
pub(super) fn own_namespace(kernel: &TaskLayout, control: i32) -> Result<Vec<u8>, AssemblerError> {
    let mut code = Assembler::new();
    let end = code.label();
    code.map_value(CONTROL, control, 0);
    code.current_task();
    code.load(Width::B8, Reg::R1, Reg::R0, kernel.offsets.thread_pid);
    code.jump_if(When::Equal, Reg::R1, 0, end);
    code.load(Width::B4, Reg::R2, Reg::R1, kernel.offsets.level);
    code.store(Width::B8, CONTROL, control::COUNT, Reg::R2);
    code.bind(end);
    code.number(Reg::R0, 0);
    code.exit();
    code.finish()
}

/// A program that stores where a per-CPU map says its values are, and where the value of each CPU really is.
///
/// The difference is the same for everything that the kernel keeps per CPU.
pub(super) fn areas(shares: PageShares, control: i32, map: i32) -> Result<Vec<u8>, AssemblerError> {
    let mut code = Assembler::new();
    let end = code.label();
    code.map_value(CONTROL, control, 0);
    // An address that went through memory counts as a number, so arithmetic with it is allowed.
    code.map(Reg::R1, map);
    code.store(Width::B8, CONTROL, control::COUNT, Reg::R1);
    code.load(Width::B8, Reg::R3, CONTROL, control::COUNT);
    code.compute_number(Compute::Add, Reg::R3, shares.of_map.cast_signed());
    code.copy(Reg::R1, CONTROL);
    code.compute_number(Compute::Add, Reg::R1, control::COUNT.cast_signed());
    code.number(Reg::R2, 8);
    code.call_helper(READ);
    code.number(Reg::R1, 0);
    code.store_in_frame(KEY, Reg::R1);
    for processor in 0..control::PROCESSORS {
        code.number(Reg::R3, processor.cast_signed());
        code.per_cpu_element(map, KEY, end);
        let place = control::AREAS.saturating_add(processor.saturating_mul(8));
        code.store(Width::B8, CONTROL, place, Reg::R0);
    }
    code.bind(end);
    code.number(Reg::R0, 0);
    code.exit();
    code.finish()
}

// Frame slots besides those for filling a record, as bytes below the frame pointer.
const ITERATOR: u16 = 24;
const KEY: u16 = 32;
const SEQUENCE: u16 = 48;

/// Iterate over each process and each of its threads.
const ALL_THREADS: i32 = 1;

/// Loads the address of the record whose index is in the frame.
fn take_record(code: &mut Assembler, records: i32, full: Label) {
    code.element(records, KEY, full);
    code.copy(RECORD, Reg::R0);
}
