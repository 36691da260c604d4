//! Performance counters: from any source, by path, as values.
//!
//! You give counter paths; you get values, or for each one the reason why there is none. Names are accepted in every
//! language that the source has, and by index; wildcards are followed as instances come and go; an instance is matched
//! with itself between two samples, not with whoever has its place now.
//!
//! ```no_run
//! use std::{thread, time::Duration};
//! use tallymon::{Location, Query};
//!
//! let mut query = Query::open(&Location::Local)?;
//! query.add(r"\Processor(*)\% Processor Time")?;
//! query.collect()?;
//! thread::sleep(Duration::from_secs(1));
//! query.collect()?;
//! for reading in query.readings() {
//!     match &reading.cell.value {
//!         Ok(value) => println!("{}: {value:?}", reading.path),
//!         Err(why) => println!("{}: {why}", reading.path),
//!     }
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! It does not draw, does not parse command lines and opens no connections on its own.
#![forbid(unsafe_code)]

mod catalog;
mod explain;
mod exports;
mod history;
mod location;
mod log_source;
mod matching;
mod names;
mod path_error;
mod precision;
mod query;
pub mod record;
mod rows;
mod timer;

pub use catalog::{Catalog, CatalogObject};
pub use explain::{Explanation, explain};
pub use exports::{core, log};
pub use history::{History, Statistics};
pub use location::{FileSource, Location, open};
pub use log_source::{Log, LogReading, LogSource, LogSummary, Overlap};
pub use matching::{InstanceIdentity, InstanceKey, Matching};
pub use names::Names;
pub use path_error::{PathError, PathPart, PathProblem, nearest_words};
pub use precision::Precision;
pub use query::{CounterHandle, CounterValue, Expand, Query, Reading};
pub use record::Recorder;
pub use rows::{LiveRows, RowValues};
pub use timer::Timer;

pub use tallymon_host::{
    Host, LibraryCounts, LibraryOptions, LibraryStatus, LibraryTrial, events, registry, try_library,
};
pub use tallymon_provider::library;
#[cfg(target_os = "linux")]
pub use tallymon_provider::shm;
pub use tallymon_provider::{Finding, FindingState, Health, Profile, Tier, TierChoice};
