//! BPF programs that read all tasks, all per-CPU counters or all protocol counters in one pass: tier T2.
//!
//! A program of some 300 instructions is assembled here for the running kernel, from the kernel's own type
//! description; there is no compiler, no object file, and nothing that depends on the build machine. It walks
//! over all tasks and copies the requested fields into memory shared with this process, in 0.1 µs per
//! process. Printing and parsing the same in `/proc` takes a hundred times as long.
//!
//! | module | holds |
//! |---|---|
//! | [`tasks`] | all tasks, read by one of the programs for tasks |
//! | `task_program`, `task_fields` | the programs for tasks, and their part that fills a record |
//! | `task_layout` | the fields of tasks, and where the running kernel has them |
//! | [`task_record`], `control` | the memory that these programs share with this process |
//! | [`exits`] | a program that reports exited processes |
//! | [`processors`] | a program for per-CPU counters |
//! | `network` | a program for the counters of network protocols |
//! | `per_cpu` | a loop over all CPUs, for both of these |
//! | [`btf`], `types` | the kernel's type description |
//! | [`assembler`] | instructions as bytes |
//! | `sys` | the system calls: the only file here with unsafe code |
//! | [`refusal`] | why the kernel refuses a program |
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
