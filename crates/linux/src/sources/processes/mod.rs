//! The table of all processes, read once a request for every object that needs them.
//!
//! There is one row per process, kept from request to request. A process is identified by its id and its
//! start time; an id that was given to another process gets a new row. The table notices that when an open
//! file reports that its process has ended, when `stat` has another start time, or when the CPU clock goes
//! back.
//!
//! Only what a request needs is read. Id, start time and name are read once; name and start time are checked
//! whenever `stat` is read, else 5 s later if the process has used CPU time since: an idle process can
//! neither have started another program nor be another process. Most of its other values are not read again
//! either, see [`files`].
//!
//! What exited processes have used stays in the sums, so that those never decrease. What a process uses
//! between its last sample and its exit is only known where a BPF program reports exits, see [`exits`].

mod bpf_pass;
mod bpf_refresh;
mod changes;
mod descriptors;
mod exits;
mod files;
mod findings;
mod idle;
#[cfg(test)]
mod idle_tests;
mod needs;
mod priority;
#[cfg(test)]
mod processes_fake_tests;
#[cfg(test)]
mod processes_real_tests;
#[cfg(test)]
mod processes_tests;
mod reader;
mod records;
mod row;
mod sums;
mod table;
mod thread;
mod threads;
#[cfg(test)]
pub(crate) mod tiers_tests;
mod usage;
mod values;

pub(crate) use needs::{ProcessNeeds, ThreadNeeds};
pub(crate) use row::ProcessRow;
pub(crate) use sums::{PartialSums, ProcessSum};
pub(crate) use table::{IdleProcessor, ProcessTable};
pub(crate) use thread::{Thread, ThreadStat, ThreadValues};
pub(crate) use usage::{IoTotals, ThreadUsage};
pub(crate) use values::{Available, MemoryValues, ProcessValues, StatValues};
