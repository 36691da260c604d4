//! Counters in shared memory: a program publishes them, and any other reads them without a third one in
//! between.
//!
//! ```
//! use tallymon_provider::CounterType;
//! use tallymon_provider::shm::{CounterSet, NewInstance, Publisher};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let directory = std::env::temp_dir().join(format!("tallymon-doc-{}", std::process::id()));
//! let set = CounterSet::new("Behemoth").instances().counter("Meals/sec",
//! CounterType::PERF_COUNTER_BULK_COUNT);
//! # let start = |name, sets: &[CounterSet]| Publisher::start_in(&directory, name, sets);
//! # /*
//! let publisher = Publisher::start("behemoths", &[set])?;
//! # */
//! # let publisher = start("behemoths", &[set])?;
//! let meals = publisher.instance("Behemoth", &NewInstance { name: "Ada", ..Default::default() })?;
//! # let instance = meals;
//! let meals = instance.counter("Meals/sec")?;
//! meals.increment();
//! assert_eq!(meals.value(), 1);
//! # drop(publisher);
//! # std::fs::remove_dir_all(&directory)?;
//! # Ok(())
//! # }
//! ```
//!
//! You declare a set by [`struct@CounterSet`], or by a struct of handles with `#[derive(CounterSet)]`, see
//! [`Declare`]. You pass sets to a [`Publisher`], create [`Instance`]s, and write through handles such as
//! [`Counter`]. A [`Reader`] finds what is published and copies it. Between them is one file per publisher in
//! a run directory, see [`directories`]; `docs/formats/shm.md` describes its format.
//!
//! Publishing needs no registration and no rights, and never waits. It works on Linux and on Windows; the
//! files name their process by its id and start time.

mod buckets;
mod bytes;
mod check;
mod declare;
mod definition;
mod directory;
mod handle;
mod histogram;
mod identity;
mod layout;
mod map;
mod name;
#[cfg_attr(windows, path = "process_windows.rs")]
mod process;
mod protocol;
mod publisher;
mod reader;
#[cfg_attr(
    not(all(
        target_arch = "x86_64",
        target_pointer_width = "64",
        target_os = "linux",
        target_env = "gnu",
        not(miri)
    )),
    path = "rseq_absent.rs"
)]
mod rseq;
#[cfg_attr(miri, path = "segment_heap.rs")]
#[cfg_attr(all(windows, not(miri)), path = "segment_windows.rs")]
mod segment;
mod set;
mod shared;
mod shared_average;
#[cfg_attr(windows, path = "system_windows.rs")]
mod system;
mod writer;

pub use buckets::HistogramShape;
pub use bytes::FormatError;
pub use declare::Declare;
pub use definition::{CounterDefinition, ObjectDefinition, Text as DefinitionText};
pub use directory::directories;
pub use handle::{Average, Counter, Elapsed, Gauge, Group, Numbers, Text};
pub use histogram::Histogram;
pub use name::plain_name;
pub use process::perf_time;
pub use publisher::{Instance, NewInstance, PublishError, Publisher};
pub use reader::{
    InstanceRef, ParentRef, Publication, Published, ReadCost, Reader, Refusal, RefusalReason, is_own,
};
pub use set::{CounterSet, DeclareError};
pub use shared::SharedCounter;
pub use shared_average::{SharedAverage, SharedHistogram};
#[cfg(feature = "derive")]
pub use tallymon_provider_derive::CounterSet;
pub use writer::{KindError, Writer};
