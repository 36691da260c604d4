//! All processes, read once a request for every object that needs them.
//!
//! There is a row a process, kept from request to request, and a row is its process for good: a process is known by
//! its number and its start time, and a number that was given to another process is a new row. That is noticed when
//! a kept file says that its process has ended, when `stat` has another start time, and when the CPU clock steps back.
//!
//! Only what somebody looks at is read. Number, start time and name are read once; the name and the start time are
//! looked at again whenever `stat` is read, else when [`IDENTITY_CHECK_AFTER`] has passed and the process has used CPU time
//! since: one that has not run can neither have started another program nor be another process. Nor is most else of it
//! read again, see [`files`].
//!
//! What ended processes are known to have used stays in the sums, so that those never step back. What a process uses
//! between the last look at it and its end is only seen where the kernel tells of ends, see [`exits`].

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
mod table;
mod thread;
mod threads;
#[cfg(test)]
pub(crate) mod tiers_tests;
mod usage;
mod values;

pub(crate) use needs::{ProcessNeeds, ThreadNeeds};
pub(crate) use row::ProcessRow;
pub(crate) use table::{IdleProcessor, ProcessTable};
pub(crate) use thread::{Thread, ThreadStat, ThreadValues};
pub(crate) use usage::{IoTotals, ThreadUsage};
pub(crate) use values::{Available, MemoryValues, ProcessValues, StatValues};
