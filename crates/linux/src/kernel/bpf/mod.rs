//! BPF programs that read all tasks, all per-CPU counters or all protocol counters in one pass: tier T2.
//!
//! A program of some 300 instructions is assembled here for the running kernel, from the kernel's own type
//! description; there is no compiler, no object file, and nothing that depends on the build machine. It walks
//! over all tasks and copies the requested fields into memory shared with this process, in 0.1 µs per
//! process. Printing and parsing the same in `/proc` takes a hundred times as long.
//!
//! | module | holds |
//! |---|---|
//! | [`btf`] | the kernel's description of its types |
//! | [`assembler`] | instructions as bytes |
//! | `each_processor` | going through all processors |
//! | [`exits`] | processes as they end |
//! | `fill` | how the program for tasks fills the record of one |
//! | `kernel` | which fields of tasks are read, and where they are |
//! | `network` | what the network's protocols count, by a program of its own |
//! | [`processors`] | what each processor counts, by a program of its own |
//! | `program` | the program for tasks |
//! | [`task_record`] | what that writes |
//! | `sys` | the system calls: the only file here with unsafe code |
//! | [`tasks`] | all tasks |
//!
//! If anything fails, the kernel files of [`crate::kernel::proc`] give the same counters.

pub(crate) mod assembler;
#[cfg(test)]
mod bpf_tests;
pub(crate) mod btf;
mod control;
pub(crate) mod exits;
pub(crate) mod network;
mod per_cpu;
pub(crate) mod processors;
pub(crate) mod refusal;
#[allow(unsafe_code, reason = "bpf(2) takes addresses as numbers, and its maps are shared memory")]
mod sys;
mod task_fields;
mod task_layout;
mod task_program;
pub(crate) mod task_record;
pub(crate) mod tasks;
mod types;
