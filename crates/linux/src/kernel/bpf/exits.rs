//! Reports what exited processes have used, by a BPF program that runs when the kernel releases a process.
//!
//! ```text
//! word   0               1       2 ...
//!      | pid, flags    | start | what its threads have used |
//! ```
//!
//! The records are in a ring buffer. When it is full, further records are lost; their processes count as last
//! sampled.

use std::sync::atomic::Ordering;

use super::assembler::{Assembler, AssemblerError, Reg, When, Width};
use super::refusal::{Refusal, assembler_refusal, load_refusal, syscall_refusal};
use super::sys::{Link, MapMemory, Program, ProgramKind, RingBuffer, RingMemory};
use super::task_layout::{Structure, TaskLayout};
use super::task_record::{self, Slot};

/// A process that has exited, with all its threads.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ExitRecord {
    /// Its id in the initial pid namespace.
    pub pid: u32,
    /// The kernel's flags (`PF_KTHREAD` and others).
    pub flags: u32,
    /// When it started, in nanoseconds of the boot time clock.
    pub start: u64,
    /// CPU time as the scheduler accounts it, in nanoseconds.
    pub run_time: u64,
    /// User time in nanoseconds, before scaling.
    pub user: u64,
    /// Kernel time in nanoseconds, before scaling.
    pub system: u64,
    /// Page faults.
    pub faults: u64,
    /// Bytes read by system calls.
    pub read_bytes: u64,
    /// Bytes written by system calls.
    pub written_bytes: u64,
    /// System calls that read.
    pub reads: u64,
    /// System calls that write.
    pub writes: u64,
}

/// The fields of the structure shared by all threads (`signal_struct`), from word 2 on.
const USED: [Slot; 9] = [
    task_record::ENDED_RUN_TIME,
    task_record::ENDED_USER,
    task_record::ENDED_SYSTEM,
    task_record::ENDED_MINOR,
    task_record::ENDED_MAJOR,
    task_record::ENDED_READ_BYTES,
    task_record::ENDED_WRITTEN_BYTES,
    task_record::ENDED_READS,
    task_record::ENDED_WRITES,
];
const WORDS: usize = 11;
/// Bytes of a record.
const SIZE: i32 = 88;
/// Room for 5,000 records.
const QUEUE: u32 = 1 << 19;

/// The ring buffer of exit records, and the program that fills it.
#[derive(Debug)]
pub(super) struct ExitQueue {
    position: MapMemory,
    written: RingMemory,
    queue: RingBuffer,
    _program: Program,
    _link: Link,
}

impl ExitQueue {
    /// Loads the program and starts it.
    pub(super) fn open(kernel: &TaskLayout) -> Result<ExitQueue, Refusal> {
        ExitQueue::open_with(kernel, QUEUE)
    }

    /// As [`ExitQueue::open`], with a ring buffer of `size` bytes.
    fn open_with(kernel: &TaskLayout, size: u32) -> Result<ExitQueue, Refusal> {
        let place = kernel.end.ok_or_else(|| Refusal {
            reason: "this kernel has no tracepoint for exiting processes".to_string(),
            remedy: String::new(),
        })?;
        let queue = RingBuffer::new(size).map_err(|error| syscall_refusal(&error))?;
        let position = queue.read_position().map_err(|error| syscall_refusal(&error))?;
        let written = queue.written().map_err(|error| syscall_refusal(&error))?;
        let code = program(kernel, queue.number()).map_err(assembler_refusal)?;
        let program = Program::load(ProgramKind::Tracepoint(place), &code).map_err(load_refusal)?;
        let link = program.attach().map_err(|error| syscall_refusal(&error))?;
        Ok(ExitQueue { position, written, queue, _program: program, _link: link })
    }

    /// Takes the records that arrived since the last call.
    pub(super) fn take(&self, mut each: impl FnMut(ExitRecord)) {
        let Some(position) = self.position.words().first() else { return };
        let mut at = position.load(Ordering::Relaxed);
        let end = self.written.position().unwrap_or(at);
        while at < end {
            let Some(length) = self.length_at(at) else { break };
            if let Some(length) = length.taken
                && length >= WORDS
                && let Some(found) = self.record_at(at)
            {
                each(found);
            }
            at = at.saturating_add(length.next);
        }
        position.store(at, Ordering::Release);
    }

    /// The length of the record at a position; `None` while it is being written.
    fn length_at(&self, at: u64) -> Option<Length> {
        const BUSY: u64 = 1 << 31;
        const DISCARDED: u64 = 1 << 30;
        let header = self.word(at, 0)?;
        let bytes = header & (DISCARDED - 1);
        let next = bytes.saturating_add(8).next_multiple_of(8);
        let taken = (header & DISCARDED == 0).then(|| usize::try_from(bytes / 8).unwrap_or(0));
        (header & BUSY == 0).then_some(Length { taken, next })
    }

    fn record_at(&self, at: u64) -> Option<ExitRecord> {
        let word = |number: usize| self.word(at, number.saturating_add(1));
        let identity = word(0)?;
        Some(ExitRecord {
            pid: u32::try_from(identity & 0xffff_ffff).ok()?,
            flags: u32::try_from(identity >> 32).ok()?,
            start: word(1)?,
            run_time: word(2)?,
            user: word(3)?,
            system: word(4)?,
            faults: word(5)?.wrapping_add(word(6)?),
            read_bytes: word(7)?,
            written_bytes: word(8)?,
            reads: word(9)?,
            writes: word(10)?,
        })
    }

    /// A word of the record at a position; records wrap around at the end of the buffer.
    fn word(&self, at: u64, number: usize) -> Option<u64> {
        let word = usize::try_from(at / 8).ok()?.checked_add(number)?;
        self.written.load(word.checked_rem(self.queue.words())?)
    }
}

/// The length of a record in the queue.
struct Length {
    /// Its words; `None` when the record was discarded.
    taken: Option<usize>,
    /// Bytes to the next record.
    next: u64,
}

/// The program: when the kernel releases the first thread of a process, which is the last to be released, it
/// writes what all threads have used.
fn program(kernel: &TaskLayout, queue: i32) -> Result<Vec<u8>, AssemblerError> {
    /// `bpf_ringbuf_reserve`
    const RESERVE: i32 = 131;
    /// `bpf_ringbuf_submit`
    const SUBMIT: i32 = 132;
    /// Do not wake a reader: nobody waits.
    const NO_WAKE_UP: i32 = 1;
    const TASK: Reg = Reg::R6;
    const SIGNAL: Reg = Reg::R7;
    let mut code = Assembler::new();
    let end = code.label();
    code.load(Width::B8, TASK, Reg::R1, 0);
    code.load(Width::B4, Reg::R1, TASK, kernel.offsets.pid);
    code.load(Width::B4, Reg::R2, TASK, kernel.offsets.tgid);
    code.jump_if_both(When::Differ, Reg::R1, Reg::R2, end);
    code.load(Width::B8, SIGNAL, TASK, kernel.offsets.signal);
    code.jump_if(When::Equal, SIGNAL, 0, end);
    code.map(Reg::R1, queue);
    code.number(Reg::R2, SIZE);
    code.number(Reg::R3, 0);
    code.call_helper(RESERVE);
    code.jump_if(When::Equal, Reg::R0, 0, end);
    let mut copy = |base: Structure, from: Reg, slot: Slot, to: u32, width: Width| {
        let found = kernel.fields.iter().find(|field| field.base == base && field.slot == slot);
        match found {
            Some(field) => code.load(field.width, Reg::R1, from, field.offset),
            // A kernel may be built without I/O accounting.
            None => code.number(Reg::R1, 0),
        }
        code.store(width, Reg::R0, to, Reg::R1);
    };
    copy(Structure::Task, TASK, task_record::PID, 0, Width::B4);
    copy(Structure::Task, TASK, task_record::FLAGS, 4, Width::B4);
    copy(Structure::Task, TASK, task_record::START, 8, Width::B8);
    for (slot, word) in USED.into_iter().zip(2_u32..) {
        copy(Structure::Signal, SIGNAL, slot, word.saturating_mul(8), Width::B8);
    }
    code.copy(Reg::R1, Reg::R0);
    code.number(Reg::R2, NO_WAKE_UP);
    code.call_helper(SUBMIT);
    code.bind(end);
    code.number(Reg::R0, 0);
    code.exit();
    code.finish()
}

#[cfg(test)]
mod tests {
    use std::process::Command;
    use std::time::{Duration, Instant};

    use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

    use super::super::types::with_kernel_types;
    use super::*;
    use crate::kernel::clock::process_cpu_time;

    #[test]
    fn a_record_that_wraps_around_the_buffer_is_complete() {
        // The buffer size is no multiple of the record size.
        let size = u32::try_from(rustix::param::page_size()).unwrap();
        let ends =
            match with_kernel_types(TaskLayout::new).and_then(|kernel| ExitQueue::open_with(&kernel, size)) {
                Ok(ends) => ends,
                Err(refusal) => {
                    refusal.skip_test();
                    return;
                }
            };
        let begin = Instant::now();
        let mut children = 0;
        while children < 60 || ends.written.position().unwrap() < u64::from(size) * 3 {
            assert!(begin.elapsed() < Duration::from_secs(120), "the kernel has told of {children}");
            let mut child = Command::new("true").spawn().unwrap();
            waitid(WaitId::Pid(Pid::from_child(&child)), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT)
                .unwrap();
            let (number, clock) = (child.id(), process_cpu_time(child.id()).unwrap());
            child.wait().unwrap();
            let wait = Instant::now();
            let mut found = None;
            while found.is_none() && wait.elapsed() < Duration::from_secs(1) {
                ends.take(|end| found = found.or((end.pid == number).then_some(end)));
                std::thread::sleep(Duration::from_micros(200));
            }
            // Other exits may have filled the buffer.
            let Some(end) = found else { continue };
            children += 1;
            assert_eq!(end.run_time, clock);
            assert!(end.start > 0 && end.faults > 0, "{end:?}");
        }
    }
}
