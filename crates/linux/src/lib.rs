//! The NT performance objects of a Linux machine, read from `/proc`, `/sys` and netlink.
//!
//! You ask a [`System`] for objects; it reads the kernel files that the asked counters need, each at most once a
//! request, and writes data blocks. It knows nothing of names, requests or who asks.
//!
//! | module | holds |
//! |---|---|
//! | [`proc`] | one pure parser a kernel file |
//! | `objects` | one object a file: its table of counters and how they are filled |
//! | `expression` | where a value comes from, in one line that is also shown to people |
//! | `sources`, `texts` | the kernel files, kept open, read when an object needs them |
//! | `counts`, `network_counts`, `made` | a faster way than some of these files, and when it is made |
//! | [`bpf`] | programs in the kernel that read all tasks, and all processors, at once |
//! | [`kept`], [`netlink`], [`pids`], [`statvfs`], [`clock`], [`scheduling`], [`perf`] | the ways in which the kernel is asked |
//!
//! A value that the kernel does not give is marked as absent with the reason. It is never made up and never a zero.
#![warn(clippy::print_stdout, clippy::print_stderr)]
#![allow(clippy::too_many_lines, reason = "1 function is still too long: bpf::kernel")]

pub mod bpf;
#[allow(unsafe_code, reason = "the CPU clock of another process has no safe interface")]
pub mod clock;
pub mod cups;
pub mod kept;
pub mod netlink;
#[allow(unsafe_code, reason = "an event counter of a processor has no safe interface")]
pub mod perf;
pub mod pids;
pub mod proc;
pub mod root;
#[allow(unsafe_code, reason = "the policy of another thread has no safe interface")]
pub mod scheduling;
pub mod statvfs;

mod counts;
mod expression;
mod made;
mod meter;
mod network_counts;
mod objects;
mod optional;
mod rising;
mod sources;
mod system;
mod texts;

pub use objects::spec::{Origin, Quality};
pub use system::{Clocks, OpenError, System, clocks, host_name};
