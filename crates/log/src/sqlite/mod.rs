//! Logs in SQLite databases, in the schema that Windows uses for logs in SQL databases.
//!
//! Raw values are stored beside the computed one. `CounterData`, `CounterDetails` and `DisplayToID` have the
//! columns of Windows. Three things are ours, and a reader that does not know them loses nothing else. The
//! key
//! of `CounterData` begins with the record, so that a log is read in the order in which it was written. The
//! table `CounterStatus` has the reason for each missing value: Windows has no column for it, and writes 0
//! for the first sample of a rate. Here `CounterValue` is NULL then; an average without operations is 0, as
//! in Windows. The table `EmptyRecords` has the times of records in which no counter has a value.
//!
//! Times are UTC to the millisecond. A database may hold several log sets; they are read one after another.

mod bounds;
mod read;
mod sets;
mod write;

pub(crate) use read::SqliteReader;
pub use sets::{LogSet, add_log_set, create_tables, has_tables, log_sets, set_run_id};
pub use write::{SetOptions, SqliteSink};

/// An error of the SQLite library, as an unusable log.
fn failed(what: &str, error: &rusqlite::Error) -> crate::error::LogError {
    let words = format!("{what}: {error}");
    crate::error::LogError::new(crate::error::LogErrorKind::Unusable(words))
}
