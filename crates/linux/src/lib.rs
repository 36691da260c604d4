//! The NT performance objects of a Linux machine, read from `/proc`, `/sys` and netlink.
//!
//! You ask a [`System`] for objects; it reads the kernel files that the requested counters need, each at most
//! once a request, and writes data blocks. It does not know the names of counters, nor who reads them.
//!
//! | module | holds | knows |
//! |---|---|---|
//! | `kernel` | files and their parsers, netlink, BPF, clocks, event counters, CUPS | nothing above |
//! | `sources` | tables shared by objects: processes, disks, mounts, control groups | `kernel` |
//! | `objects` | one object a file: its table of counters, and how they are filled | `sources`, `kernel` |
//! | `process` | single processes, for people who look at them | `kernel` |
//! | `system` | the provider: all objects of a profile | everything |
//!
//! A value that the kernel does not give is marked as absent with the reason. It is never invented and never
//! a zero.
#![cfg_attr(not(test), warn(clippy::indexing_slicing, clippy::arithmetic_side_effects))]
#![warn(clippy::print_stdout, clippy::print_stderr)]

mod kernel;
mod objects;
pub mod process;
mod sources;
mod system;
#[cfg(test)]
mod test_support;

pub use kernel::addresses::interface_addresses;
pub use kernel::bpf::refusal::Refusal;
pub use kernel::processor_name::processor_name;
pub use kernel::reusable_file::ReadError;
pub use kernel::root::Root;
pub use kernel::time::{Clocks, clocks, host_name};
pub use objects::spec::{Origin, Quality};
pub use system::{OpenError, System, origin};

/// Parts for the benchmarks and fuzz targets of this workspace; not a stable interface.
#[doc(hidden)]
pub mod internals {
    pub use crate::kernel::bpf::btf::{Btf, Named};
    pub use crate::kernel::bpf::task_record::TaskParts;
    pub use crate::kernel::bpf::tasks::{Tasks, WalkMode};
    pub use crate::kernel::clock::process_cpu_time;
    pub use crate::kernel::cups::{body, ipp};
}
