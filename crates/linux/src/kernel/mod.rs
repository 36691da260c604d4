//! What the kernel says, and the ways to ask it: files, sockets, clocks, and programs that run in it.

pub mod bpf;
#[allow(unsafe_code, reason = "the CPU clock of another process has no safe interface")]
pub mod clock;
pub mod cups;
pub mod netlink;
pub mod number_folder;
#[allow(unsafe_code, reason = "an event counter of a processor has no safe interface")]
pub mod perf;
pub mod proc;
pub mod reusable_file;
pub mod root;
#[allow(unsafe_code, reason = "the policy of another thread has no safe interface")]
pub mod scheduling;
pub mod statvfs;
pub mod time;
