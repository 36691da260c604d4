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

pub mod kernel;

mod objects;
mod sources;
mod system;
#[cfg(test)]
mod test_support;

pub use kernel::time::{Clocks, clocks, host_name};
pub use objects::spec::{Origin, Quality};
pub use system::{OpenError, System};
