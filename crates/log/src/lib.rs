//! Reads the performance logs of Windows on any system, and writes them.
//!
//! Open a log by its path or from bytes. You get its columns (counter paths with type, scale and time base)
//! and its records one after another: the time in UTC, and the raw sample of every column or the reason why
//! there is none. [`relog()`] converts logs as `relog.exe` does, [`info()`] describes a log.
//!
//! The crate does not print and has no clock; only [`stats()`] starts threads. Memory is bounded by the
//! columns and a few records, not by the length of the log. Damaged logs are read up to and after the damage,
//! and every fault is reported with its byte. No input makes the crate panic.
//!
//! ```
//! use tallymon_log::{Cooker, ReadOptions, read_bytes};
//!
//! let text = concat!(
//!     "\"(PDH-CSV 4.0) (UTC)(0)\",\"\\\\vm\\Memory\\Available Bytes\"\r\n",
//!     "\"11/26/2016 13:46:30.874\",\"4096\"\r\n",
//! );
//! let mut log = read_bytes(text.as_bytes(), &ReadOptions::default())?;
//! assert_eq!(log.about().columns[0].path, r"\\vm\Memory\Available Bytes");
//! let record = log.next_record()?.expect("there is one");
//! let values = Cooker::default().cook(&record);
//! assert_eq!(values[0].as_ref().unwrap().as_f64(), Some(4096.0));
//! # Ok::<(), tallymon_log::LogError>(())
//! ```
//!
//! | module | holds |
//! |---|---|
//! | [`format`](mod@format) | the table of formats |
//! | [`open`](mod@open) | detection of formats by content, and a reader for any of them |
//! | [`reader`] | the interface of all readers: [`LogReader`], [`Column`], [`Record`], [`Cooker`] |
//! | [`blg`] | Windows' binary logs, read and written |
//! | [`native`] | the native log, `.tally`, read and written |
//! | [`csv`] | PDH-CSV and PDH-TSV, read and written |
//! | [`json`] | JSON lines, read and written |
//! | [`exposition`] | lines of metrics as text |
//! | `import` | logs of other collectors, such as sysstat |
//! | `sqlite` | SQLite databases in Windows' schema, read and written; with the feature `sqlite` |
//! | `parquet` | Parquet files; with the feature `parquet` |
//! | `lake` | folders of Parquet files that are tables of Delta Lake; with the feature `parquet` |
//! | [`names`] | tables of names in other languages, and logs translated with them |
//! | [`zone`] | local times of logs and UTC |
//! | [`clock`] | times by the clock of a log |
//! | [`select`] | selects counters and records |
//! | [`relog`](mod@relog) | converts logs, also parts of them, into other formats |
//! | [`info`](mod@info) | hosts, counters, range, gaps, bad values of a log |
//! | [`stats`](mod@stats) | statistics of every counter |
//! | [`compare`](mod@compare) | compares two logs |
//! | [`new_file`] | files that appear whole, and what may overwrite a file |
//! | [`quantile`] | percentiles in bounded memory |
//! | [`error`] | errors and damage |
//!
//! Every writer of a format is a [`Sink`](tallymon_core::flow::Sink): it receives rows of samples and values.
#![forbid(unsafe_code)]
#![warn(clippy::indexing_slicing, clippy::arithmetic_side_effects)]
#![warn(clippy::print_stdout, clippy::print_stderr)]

pub mod blg;
pub mod clock;
mod column_copy;
mod column_list;
pub mod compare;
mod compressed;
pub mod csv;
pub mod error;
pub mod exposition;
mod file;
pub mod format;
mod import;
pub mod info;
pub mod json;
pub mod names;
pub mod native;
pub mod new_file;
mod numbers;
pub mod open;
mod options;
mod processes;
pub mod quantile;
pub mod reader;
pub mod relog;
mod restarts;
pub mod select;
pub mod stats;
#[cfg(any(feature = "compressed", feature = "s3"))]
mod temporary;
mod utf16;
mod wanted;
pub mod zone;

#[cfg(feature = "parquet")]
pub mod lake;
#[cfg(feature = "parquet")]
pub mod parquet;
#[cfg(feature = "sqlite")]
pub mod sqlite;

pub use clock::{LogClock, LogTime, Moment, TimeRange};
pub use compare::{Comparison, compare};
#[doc(hidden)]
pub use compressed::unpacked_length;
pub use error::{Damage, LogError, LogErrorKind, Notes};
pub use file::{is_address, open_regular};
pub use format::{FORMATS, Format, FormatInfo, HEAD};
pub use import::open_pcp;
pub use info::{Info, info};
pub use numbers::NumberCooker;
pub use open::{open, read_bytes};
pub use options::{BytesRead, ReadOptions, UsedCounters};
pub use processes::{ProcessNames, with_process_id};
pub use reader::{
    About, Column, Contents, ContentsPart, Cooker, LogPlace, LogReader, PartStatistics, Record,
    RecordPosition, Records, ScannedRecord,
};
pub use relog::{Report, relog, relog_into, relog_to};
pub use select::Selection;
pub use stats::{Stats, stats};
pub use wanted::Wanted;
