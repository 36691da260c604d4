//! Performance counters: from any source, by path, as values.
//!
//! You give counter paths; you get a value for each, or the reason why there is none. Names may be in any
//! language of the source, or indexes. Wildcards follow instances as they come and go. An instance is
//! matched with itself between two samples, even when another instance has its name or position by then.
//!
//! | module or type | does |
//! |---|---|
//! | [`Query`] | values of counter paths over one source |
//! | [`Sampler`] | one snapshot a tick for many queries, on a thread of its own |
//! | [`Log`] | a performance log as a source |
//! | [`hosts`] | other machines: the table of their names, addresses and groups |
//! | [`fleet`] | one value of a counter over many hosts |
//! | [`mod@record`] | recordings and recording sessions |
//! | [`mod@analyze`] | findings: what is wrong in logs, when, and who caused it |
//! | [`registry`] | which providers are installed, and their names |
//! | [`clock`] | the clock and time zone of this machine |
//! | [`translation`] | findings, and messages of a program, in other languages |
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
//! It does not print, draw or parse command lines. It opens connections only to hosts that the caller names.
#![forbid(unsafe_code)]
#![warn(clippy::print_stdout, clippy::print_stderr)]

pub mod analyze;
#[cfg_attr(not(feature = "bridges"), path = "bridges_absent.rs")]
mod bridges;
mod catalog;
pub mod clock;
mod clock_offset;
pub mod events;
mod explain;
mod exports;
pub mod fleet;
mod history;
pub mod hosts;
pub mod human;
mod location;
mod log_source;
mod matching;
mod name_tables;
mod names;
mod other_machine;
mod path_error;
mod pause;
mod precision;
pub mod private_file;
mod query;
pub mod record;
mod rows;
pub mod sample;
mod search;
mod source_info;
mod timer;
mod toml_fault;
pub mod translation;

pub use bridges::with_bridges;
pub use catalog::{Catalog, CatalogObject};
pub use clock_offset::ClockOffset;
pub use explain::{Explanation, explain};
pub use exports::{core, log};
pub use history::{History, Statistics};
pub use location::{FileSource, Location, open};
pub use log_source::{Log, LogReading, LogRow, LogSource, LogSummary, Overlap};
pub use matching::{InstanceIdentity, InstanceKey, Matching};
pub use name_tables::show_names_in;
pub use names::{InstanceNames, Locale, NameForm, Names};
pub use other_machine::{open_host, other_machine};
pub use path_error::{PathError, PathPart, PathProblem, nearest_words};
pub use pause::Pause;
pub use precision::Precision;
pub use query::{CounterHandle, CounterValue, Expand, Query, Reading};
pub use record::Recorder;
pub use rows::{HostReadings, LiveRows, Replaced, RowValues};
pub use sample::Sampler;
pub use search::{SearchHit, search};
pub use source_info::{Definitions, SourceInfo};
pub use timer::{Ticks, Timer};
pub use toml_fault::toml_fault;

#[cfg(any(target_os = "linux", windows))]
pub use tallymon_host::perfmon;
pub use tallymon_host::{
    Host, LibraryCounts, LibraryOptions, LibraryStatus, LibraryTrial, registry, try_library,
};
pub use tallymon_provider::environment;
pub use tallymon_provider::library;
pub use tallymon_provider::process;
#[cfg(any(target_os = "linux", windows))]
pub use tallymon_provider::shm;
pub use tallymon_remote as remote;

pub use tallymon_provider::{Finding, FindingState, Health, Profile, Tier, TierChoice};
