//! Interfaces of the kernel: files, netlink, clocks, event counters, BPF programs, and the print server's
//! socket.

pub(crate) mod addresses;
pub(crate) mod bpf;
#[allow(unsafe_code, reason = "the CPU clock of another process has no safe interface")]
pub(crate) mod clock;
pub(crate) mod cups;
pub(crate) mod instance_name;
pub(crate) mod netlink;
pub(crate) mod number_folder;
#[allow(unsafe_code, reason = "an event counter of a processor has no safe interface")]
pub(crate) mod perf;
pub(crate) mod proc;
pub(crate) mod processor_name;
pub(crate) mod reusable_file;
pub(crate) mod root;
#[allow(unsafe_code, reason = "the policy of another thread has no safe interface")]
pub(crate) mod scheduling;
pub(crate) mod statvfs;
pub(crate) mod time;
