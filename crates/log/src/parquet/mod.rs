//! Parquet files: one row is one value, for DuckDB, pandas, Spark and the like.
//!
//! Such a table has room for new instances at any time, and its columns of names cost nearly nothing, because
//! a row group is sorted by counter and names are stored once. An instance that does not exist at a time has
//! no row; a value that cannot be computed is NULL, and `missing` has the reason.
//!
//! | column | type | is |
//! |---|---|---|
//! | `time` | timestamp, microseconds, UTC | when the sample was taken |
//! | `host`, `object`, `instance`, `counter` | text | the parts of the path; `host` and `instance` may be NULL |
//! | `path` | text | the whole path |
//! | `type` | text | the counter type by its name in `winperf.h`, or its number |
//! | `value` | double | the computed value |
//! | `first`, `second` | 64-bit integer | the raw value, and what it is divided by, as signed numbers |
//! | `frequency` | 64-bit integer | ticks per second of `second` |
//! | `multi_count` | 32-bit integer | how many resources were added up |
//! | `missing` | text | why there is no value |
//!
//! The footer has the zone of the log's local times, as the keys `ZONE_KEY` and `BIAS_KEY`.
//!
//! The reader takes files with these columns, also when another program wrote them again, as long as it used
//! no compression but Snappy and zstd. It has a decoder of its own: the `parquet` crate reserves up to 2 GiB
//! on the word of one page header, and this decoder holds one row group of at most `MOST_ROWS` values.

mod buffer;
mod bytes;
mod chunk;
mod decode;
mod footer;
mod group;
mod numbers;
mod page_head;
mod pages;
mod read;
mod runs;
mod table;
mod write;

pub(crate) use buffer::{ColumnBuffer, GroupBuffer, OneValue};
pub(crate) use chunk::Packer;
pub(crate) use group::{Groups, Rows};
pub(crate) use read::{MOST_COLUMNS, ParquetReader};
pub(crate) use table::{Names, Shape, TableWriter, into_io, microseconds};
pub use write::ParquetSink;

/// The first and last bytes of a file.
pub(crate) const MAGIC: &[u8] = b"PAR1";

/// The largest row group that is read, in rows: about 180 MB of memory. We write 2^18 rows, pandas 2^20.
pub(crate) const MOST_ROWS: usize = 1 << 21;

/// The key of the name of the zone.
const ZONE_KEY: &str = "tallymon.zone";

/// The key of the minutes to add to local time to get UTC.
const BIAS_KEY: &str = "tallymon.bias";
