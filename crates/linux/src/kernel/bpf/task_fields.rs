//! The part of the task program that fills the record of one task.
//!
//! ```text
//! write its identity, and whether it is running
//! if it has run since its last record:  write what it has used
//! if it stands for its process:
//!     if any thread may have run since:  write what exited threads have used
//!     write its parent, its memory, and its open files if they may have changed
//! ```
//!
//! Each number is compared with the previous content of the record, so that the record tells whether anything
//! has changed.

use super::assembler::{Assembler, Compute, Label, Reg, When, Width};
use super::control::{self, Namespace};
use super::task_layout::{Cast, PageShares, Structure, TaskLayout};
use super::task_record::{self, Slot, TaskParts};

/// The page counts that Linux keeps per CPU, and the distance of each CPU's memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PerCpuPages {
    pub(super) shares: PageShares,
    pub(super) cast: Cast,
    /// For each CPU, the distance in bytes from the per-CPU pointer to its copy.
    pub(super) distances: Vec<u64>,
}

/// `bpf_probe_read_kernel`: unreadable memory reads as zeros.
pub(super) const READ: i32 = 113;

/// The task.
pub(super) const TASK: Reg = Reg::R6;
/// Its record.
pub(super) const RECORD: Reg = Reg::R7;
/// The control words.
pub(super) const CONTROL: Reg = Reg::R8;
/// Collects the bits in which the record changes.
const CHANGED: Reg = Reg::R9;
/// The requested parts; loaded again for each test, see [`load_parts`].
const PARTS: Reg = Reg::R5;

// Frame slots, as bytes below the frame pointer. The file table reuses the slot of the memory structure,
// which is done by then.
/// The id of the task in our namespace, stored by the caller of [`write_task`].
pub(super) const OWN: u16 = 40;
const SAVED: u16 = 56;
const MEMORY: u16 = 64;
const TABLE: u16 = 64;
const PAGES: [(Slot, u16); 4] = [
    (task_record::FILE_PAGES, 72),
    (task_record::ANON_PAGES, 80),
    (task_record::SWAP_PAGES, 88),
    (task_record::SHARED_PAGES, 96),
];

/// `R0 = the id of the task in our namespace`; jumps to `outside` if it has none there. Uses R1 to R3.
pub(super) fn own_number(
    code: &mut Assembler,
    kernel: &TaskLayout,
    namespace: Option<Namespace>,
    task: Reg,
    outside: Label,
) {
    let offsets = &kernel.offsets;
    let Some(Namespace { level, inode }) = namespace else {
        code.load(Width::B4, Reg::R0, task, offsets.pid);
        return;
    };
    let is_deep = code.label();
    let number = offsets.numbers.saturating_add(level.saturating_mul(offsets.number_size));
    code.load(Width::B8, Reg::R1, task, offsets.thread_pid);
    code.jump_if(When::Equal, Reg::R1, 0, outside);
    code.load(Width::B4, Reg::R2, Reg::R1, offsets.level);
    code.jump_if(When::AtLeast, Reg::R2, level.cast_signed(), is_deep);
    code.jump(outside);
    code.bind(is_deep);
    code.load(Width::B8, Reg::R2, Reg::R1, number.saturating_add(offsets.namespace));
    code.jump_if(When::Equal, Reg::R2, 0, outside);
    code.load(Width::B4, Reg::R2, Reg::R2, offsets.inode);
    code.wide_number(Reg::R3, u64::from(inode));
    code.jump_if_both(When::Differ, Reg::R2, Reg::R3, outside);
    code.load(Width::B4, Reg::R0, Reg::R1, number.saturating_add(offsets.number));
}

/// Writes the record, and whether it has changed; jumps to `next` early unless the task stands for a process.
pub(super) fn write_task(
    code: &mut Assembler,
    kernel: &TaskLayout,
    namespace: Option<Namespace>,
    per_cpu_pages: Option<&PerCpuPages>,
    next: Label,
) {
    let offsets = &kernel.offsets;
    code.number(CHANGED, 0);
    code.load_from_frame(Reg::R1, OWN);
    write(code, task_record::OWN);
    code.load(Width::B8, Reg::R1, TASK, offsets.comm);
    write(code, task_record::COMM);
    code.load(Width::B8, Reg::R1, TASK, offsets.comm.saturating_add(8));
    write(code, task_record::COMM_REST);
    copy_fields(code, kernel, Structure::Task, TASK);
    write_changed(code);
    let idle = code.label();
    unless_it_has_run(code, idle);
    copy_fields(code, kernel, Structure::Usage, TASK);
    code.bind(idle);
    // For a thread this is final; for a process it is written again below.
    write_changed(code);
    code.load(Width::B4, Reg::R1, TASK, offsets.pid);
    code.load(Width::B4, Reg::R2, TASK, offsets.tgid);
    code.jump_if_both(When::Differ, Reg::R1, Reg::R2, next);
    let [others_ran, without] = std::array::from_fn(|_| code.label());
    // A process with one thread: nobody else can have started another one since.
    code.load(Width::B4, Reg::R1, RECORD, task_record::THREADS.offset());
    code.jump_if(When::Differ, Reg::R1, 1, others_ran);
    code.load(Width::B8, Reg::R1, CONTROL, control::IDLE);
    code.jump_if(When::Equal, Reg::R1, 1, without);
    code.bind(others_ran);
    code.number(Reg::R1, 0);
    code.store(Width::B8, CONTROL, control::IDLE, Reg::R1);
    code.load(Width::B8, Reg::R3, TASK, offsets.signal);
    code.jump_if(When::Equal, Reg::R3, 0, without);
    copy_fields(code, kernel, Structure::Signal, Reg::R3);
    code.bind(without);
    write_parent(code, kernel, namespace);
    write_memory(code, kernel, per_cpu_pages);
    write_files(code, kernel);
    write_changed(code);
}

/// Jumps if the task has not run since its record was written, and stores whether that is so.
///
/// The kernel updates the run time before another task runs, and until then marks the task as running. The
/// decision is stored in memory: with a register or the frame, the verifier would follow both outcomes
/// separately from here on.
fn unless_it_has_run(code: &mut Assembler, idle: Label) {
    let ran = code.label();
    code.number(Reg::R1, 0);
    code.store(Width::B8, CONTROL, control::IDLE, Reg::R1);
    code.load(Width::B8, Reg::R1, CONTROL, control::SAME);
    code.jump_if(When::Equal, Reg::R1, 0, ran);
    code.load(Width::B8, Reg::R1, RECORD, task_record::CHANGED.offset());
    code.jump_if(When::Differ, Reg::R1, 0, ran);
    code.load(Width::B4, Reg::R1, RECORD, task_record::ON_CPU.offset());
    code.jump_if(When::Differ, Reg::R1, 0, ran);
    code.number(Reg::R1, 1);
    code.store(Width::B8, CONTROL, control::IDLE, Reg::R1);
    code.jump(idle);
    code.bind(ran);
}

/// Stores R1 in the record, and collects the bits that differ from its previous content. Uses R2.
fn write(code: &mut Assembler, slot: Slot) {
    let width = if matches!(slot, Slot::Whole(_)) { Width::B8 } else { Width::B4 };
    code.load(width, Reg::R2, RECORD, slot.offset());
    code.store(width, RECORD, slot.offset(), Reg::R1);
    code.compute(Compute::Differing, Reg::R2, Reg::R1);
    code.compute(Compute::Or, CHANGED, Reg::R2);
}

fn write_changed(code: &mut Assembler) {
    code.store(Width::B8, RECORD, task_record::CHANGED.offset(), CHANGED);
}

/// Copies the fields of one structure, with one test per group of requested parts; page counts stay in the
/// frame. Uses R1 and R2.
fn copy_fields(code: &mut Assembler, kernel: &TaskLayout, base: Structure, from: Reg) {
    let mut fields = kernel.fields.iter().filter(|field| field.base == base).peekable();
    while let Some(first) = fields.peek() {
        let parts = first.parts;
        let behind = code.label();
        if parts != TaskParts::default() {
            unless_requested(code, parts, behind);
        }
        while let Some(field) = fields.next_if(|field| field.parts == parts) {
            code.load(field.width, Reg::R1, from, field.offset);
            match PAGES.iter().find(|(slot, _)| *slot == field.slot) {
                Some((_, place)) => code.store_in_frame(*place, Reg::R1),
                None => write(code, field.slot),
            }
        }
        code.bind(behind);
    }
}

fn write_parent(code: &mut Assembler, kernel: &TaskLayout, namespace: Option<Namespace>) {
    let offsets = &kernel.offsets;
    let [outside, known, behind] = std::array::from_fn(|_| code.label());
    unless_requested(code, TaskParts::STAT, behind);
    code.load(Width::B8, Reg::R4, TASK, offsets.real_parent);
    code.jump_if(When::Equal, Reg::R4, 0, outside);
    if namespace.is_some() {
        code.load(Width::B8, Reg::R4, Reg::R4, offsets.group_leader);
        code.jump_if(When::Equal, Reg::R4, 0, outside);
        own_number(code, kernel, namespace, Reg::R4, outside);
    } else {
        code.load(Width::B4, Reg::R0, Reg::R4, offsets.tgid);
    }
    code.jump(known);
    code.bind(outside);
    code.number(Reg::R0, 0);
    code.bind(known);
    code.copy(Reg::R1, Reg::R0);
    write(code, task_record::PARENT);
    code.bind(behind);
}

fn write_memory(code: &mut Assembler, kernel: &TaskLayout, per_cpu_pages: Option<&PerCpuPages>) {
    let offsets = &kernel.offsets;
    let [none, behind] = std::array::from_fn(|_| code.label());
    unless_requested(code, TaskParts::MEMORY | TaskParts::STATUS, behind);
    // Kernel threads borrow the memory of others.
    const KERNEL_THREAD: i32 = 0x0020_0000;
    code.load(Width::B4, Reg::R1, RECORD, task_record::FLAGS.offset());
    code.jump_if(When::AnyBit, Reg::R1, KERNEL_THREAD, none);
    code.load(Width::B8, Reg::R3, TASK, offsets.mm);
    code.jump_if(When::Equal, Reg::R3, 0, none);
    copy_fields(code, kernel, Structure::Memory, Reg::R3);
    code.store_in_frame(MEMORY, Reg::R3);
    if let Some(per_cpu_pages) = per_cpu_pages {
        add_per_cpu_pages(code, per_cpu_pages);
    }
    for (slot, place) in PAGES {
        code.load_from_frame(Reg::R1, place);
        write(code, slot);
    }
    code.load_from_frame(Reg::R3, MEMORY);
    // The process may have released it meanwhile, and it may belong to another process by now.
    code.load(Width::B8, Reg::R1, TASK, offsets.mm);
    code.jump_if_both(When::Differ, Reg::R1, Reg::R3, none);
    code.number(Reg::R1, 1);
    write(code, task_record::HAS_MEMORY);
    code.jump(behind);
    code.bind(none);
    code.number(Reg::R1, 0);
    write(code, task_record::HAS_MEMORY);
    code.bind(behind);
}

/// Adds the per-CPU page counts. All kinds together are one block of memory per CPU.
fn add_per_cpu_pages(code: &mut Assembler, per_cpu_pages: &PerCpuPages) {
    let [file, anonymous, swap, shared] = PAGES.map(|(_, place)| place);
    let kinds = [[file, anonymous], [swap, shared]];
    let behind = code.label();
    code.load(Width::B8, Reg::R1, Reg::R3, per_cpu_pages.shares.first);
    code.load(Width::B8, Reg::R2, Reg::R3, per_cpu_pages.shares.second);
    code.store_in_frame(SAVED, Reg::R1);
    // Before Linux 6.6 each kind has a block of its own; those are left out.
    code.compute_number(Compute::Add, Reg::R1, 4);
    code.jump_if_both(When::Differ, Reg::R1, Reg::R2, behind);
    for distance in &per_cpu_pages.distances {
        code.load_from_frame(Reg::R1, SAVED);
        code.wide_number(Reg::R2, *distance);
        code.compute(Compute::Add, Reg::R1, Reg::R2);
        two_numbers(code, per_cpu_pages.cast);
        for ([low, high], offset) in kinds.into_iter().zip([0, 8]) {
            code.load(Width::B8, Reg::R1, Reg::R0, offset);
            code.copy(Reg::R2, Reg::R1);
            code.compute_number(Compute::Left, Reg::R2, 32);
            for (share, place) in [(Reg::R2, low), (Reg::R1, high)] {
                code.compute_number(Compute::RightWithSign, share, 32);
                code.load_from_frame(Reg::R3, place);
                code.compute(Compute::Add, Reg::R3, share);
                code.store_in_frame(place, Reg::R3);
            }
        }
    }
    code.bind(behind);
}

/// `R0 = a readable pointer to the two numbers at the address in R1`. Uses R1 to R5.
fn two_numbers(code: &mut Assembler, cast: Cast) {
    code.number(Reg::R2, cast.two_numbers.0.cast_signed());
    code.call(cast.function);
}

fn write_files(code: &mut Assembler, kernel: &TaskLayout) {
    /// The size of a table, in bytes, that is read word by word.
    const SMALL: u32 = 32;
    let offsets = &kernel.offsets;
    let [none, many, set, behind] = std::array::from_fn(|_| code.label());
    unless_requested(code, TaskParts::HANDLES, behind);
    code.load(Width::B8, Reg::R3, TASK, offsets.files);
    code.jump_if(When::Equal, Reg::R3, 0, none);
    let may_differ = code.label();
    // Only processes that share the table can open and close its files.
    code.load(Width::B8, Reg::R1, CONTROL, control::IDLE);
    code.jump_if(When::Equal, Reg::R1, 0, may_differ);
    code.load(Width::B4, Reg::R1, Reg::R3, offsets.users_of_files);
    code.jump_if(When::Equal, Reg::R1, 1, behind);
    code.bind(may_differ);
    code.load(Width::B8, Reg::R3, Reg::R3, offsets.table);
    code.jump_if(When::Equal, Reg::R3, 0, none);
    code.load(Width::B4, Reg::R2, Reg::R3, offsets.table_size);
    code.compute_number(Compute::Right, Reg::R2, 3);
    code.jump_if(When::AtLeast, Reg::R2, task_record::OPEN_FILES_LIMIT.saturating_add(1).cast_signed(), many);
    code.store_in_frame(SAVED, Reg::R2);
    code.load(Width::B8, Reg::R3, Reg::R3, offsets.open);
    if let Some(cast) = kernel.cast {
        // Most processes have one of the smallest tables, for 64 to 256 files, which needs no call.
        let larger = code.label();
        code.jump_if(When::AtLeast, Reg::R2, SMALL.saturating_add(1).cast_signed(), larger);
        code.store_in_frame(TABLE, Reg::R3);
        for first in (0..SMALL).step_by(16) {
            code.load_from_frame(Reg::R1, TABLE);
            code.compute_number(Compute::Add, Reg::R1, first.cast_signed());
            two_numbers(code, cast);
            // Words beyond the end of the table are not read.
            for (offset, place) in [(0, first), (8, first.saturating_add(8))] {
                let more = code.label();
                code.load_from_frame(Reg::R1, SAVED);
                code.jump_if(When::AtLeast, Reg::R1, place.saturating_add(1).cast_signed(), more);
                code.jump(set);
                code.bind(more);
                code.load(Width::B8, Reg::R1, Reg::R0, offset);
                write(code, Slot::Whole((task_record::OPEN_FILES.offset().saturating_add(place)) / 8));
            }
        }
        code.load_from_frame(Reg::R1, SAVED);
        code.jump(set);
        code.bind(larger);
    }
    // The call does not report what changed.
    code.number(CHANGED, 1);
    code.copy(Reg::R1, RECORD);
    code.compute_number(Compute::Add, Reg::R1, task_record::OPEN_FILES.offset().cast_signed());
    code.call_helper(READ);
    code.load_from_frame(Reg::R1, SAVED);
    code.jump_if(When::Equal, Reg::R0, 0, set);
    code.bind(many);
    // They are counted in another way, which may give another result each time.
    code.number(CHANGED, 1);
    code.number(Reg::R1, -1);
    code.jump(set);
    code.bind(none);
    code.number(Reg::R1, 0);
    code.bind(set);
    write(code, task_record::OPEN_FILES_SIZE);
    code.bind(behind);
}

/// Jumps if none of these parts is requested.
fn unless_requested(code: &mut Assembler, parts: TaskParts, place: Label) {
    let is_requested = code.label();
    load_parts(code);
    code.jump_if(When::AnyBit, PARTS, i32::from(parts.0), is_requested);
    code.jump(place);
    code.bind(is_requested);
}

/// Loads the requested parts.
///
/// The verifier tracks which bits of a register the jumps so far have tested. Keeping the parts in a register
/// would create a separate state for each combination of outcomes, each followed to the end: 0.4 s for these
/// few instructions. A register that is loaded again is forgotten after its jump.
fn load_parts(code: &mut Assembler) {
    code.load(Width::B8, PARTS, CONTROL, control::PARTS);
}
