//! The NT performance objects of a Linux machine, read from `/proc`, `/sys` and netlink.

#[allow(
    unsafe_code,
    reason = "the CPU clock of another process has no safe interface"
)]
pub mod clock;
pub mod kept;
pub mod netlink;
pub mod pids;
pub mod proc;
pub mod root;
pub mod statvfs;
