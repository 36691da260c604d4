//! Lakes: a folder of Parquet files that is a table of Delta Lake, for many logs of many machines. It is on a
//! disk, or in object storage: the trait `Store` is what a table needs of either.
//!
//! `_delta_log` has a JSON file for each version of the table, with the parts that it adds and removes. A
//! version appears whole, by linking a complete file to a name that no file may have, so any number of
//! writers work at once (in object storage the server gives a name once): who comes second reads what the
//! first one did, and takes the next number. A part is a Parquet file of the values of one object on one day
//! (UTC); it is complete before a version names it. So a reader sees all parts of a log, or none, at whatever
//! moment a writer is killed.
//!
//! The table asks readers for protocol 1 and writers for protocol 2, which every implementation has. A log is
//! known by a hash of its bytes, in an action `txn`: it is never put in twice, by however many writers.
//!
//! Reading trusts nothing in the table: paths stay inside its folder and follow no links, every size is
//! bounded, and statistics only say when a part is opened. Checkpoints are not read: every version stays,
//! because the table's properties say so.

mod action;
#[cfg(feature = "s3")]
mod bucket;
mod columns;
mod commit;
mod folder;
mod hash;
mod maintain;
mod part;
mod path;
mod put;
mod random;
mod read;
mod sink;
mod store;
mod times;

pub use folder::is_table;
pub use maintain::{Compacted, Vacuumed, compact, vacuum};
pub(crate) use put::put;
pub(crate) use read::{LakeReader, bytes_of};
pub use store::{check_address, has_table};

/// The folder of the versions.
const LOG: &str = "_delta_log";

/// The most parts that a table may have, and the most that one version may say, in bytes.
const MOST_PARTS: usize = 1 << 20;
const MOST_OF_VERSION: u64 = 1 << 24;

/// Values of a row group at most.
const ROWS_OF_A_GROUP: usize = 1 << 17;
