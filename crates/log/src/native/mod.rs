//! The native log, `.tally`: raw values of whole objects in a fraction of a byte each. A crash costs only the
//! row that is being written, a damaged byte its row or chunk.
//!
//! `docs/formats/log.md` draws the bytes. In short: each record has a length and a checksum. The counters of
//! an object are written twice in a log. A chunk holds some rows: each number of each column is a series, and
//! columns that do not change are left out. A chunk is a key: it needs no earlier chunk, so a reader can
//! begin there. While a log is recorded, the rows of its newest chunk are written one by one.
//!
//! | module | holds |
//! |---|---|
//! | `frame` | records, and finding them behind damage |
//! | `schema` | objects, counters, instances |
//! | `series`, `bits`, `fields`, `status` | numbers as bits and bytes |
//! | `cells`, `table`, `write`, `output` | writing |
//! | `tail` | writing each row at once, and a chunk in place of its rows |
//! | `rows`, `snapshots` | writing rows of columns, and whole objects |
//! | `state`, `read`, `tail_read` | reading |
//! | `columns`, `column_rows` | reading by column |
//! | `index` | going to a time |
//! | `contents`, `contents_write`, `contents_read`, `statistics` | what a long log says of itself |
//! | `seal` | writing a log once more, complete |

mod bits;
mod cells;
#[cfg_attr(not(feature = "parquet"), allow(dead_code, reason = "only a lake takes columns"))]
mod column_rows;
#[cfg_attr(not(feature = "parquet"), allow(dead_code, reason = "only a lake takes columns"))]
mod columns;
mod contents;
mod contents_read;
#[cfg(test)]
#[allow(clippy::arithmetic_side_effects, reason = "small numbers of a test")]
mod contents_tests;
mod contents_write;
mod fields;
mod frame;
mod index;
mod output;
mod read;
mod rows;
mod schema;
mod seal;
mod series;
mod snapshots;
mod state;
mod statistics;
mod status;
mod table;
mod tail;
mod tail_read;
mod write;

#[cfg(feature = "parquet")]
pub(crate) use column_rows::{ColumnRows, EvenRows};
pub use output::{Output, WriteOptions};
pub use read::{NativeReader, Window};
pub use rows::NativeSink;
pub use schema::{Counter, Definition};
pub use seal::seal;
pub use snapshots::{Chosen, SnapshotWriter};
pub use write::{InstanceId, NativeWriter, RowTime, TableId};

/// The bytes that the names in the paths of all columns may have at the start, and more for each byte read.
const NAME_BYTES: (u64, u64) = (1 << 28, 32);

/// The first bytes of every native log. The first byte is in no text, and the line ends show whether a copy
/// changed them.
pub(crate) const MAGIC: [u8; 8] = *b"\x89TALLY\r\n";

/// The first 16 bytes of a log of version 2.
pub(crate) const HEAD: [u8; 16] = *b"\x89TALLY\r\n\x02\0\0\0\0\0\0\0";

/// The version of logs that this program writes; it reads this one and those before it.
pub(crate) const FORMAT_VERSION: u64 = 2;

/// Rows of a chunk at most.
pub(crate) const MOST_ROWS: usize = 4096;

/// Columns at a time at most.
pub(crate) const MOST_COLUMNS: usize = 1 << 20;

/// Changing numbers of a chunk at most.
pub(crate) const MOST_NUMBERS: usize = 1 << 27;

/// Whether bytes are the beginning of a native log.
pub(crate) fn detect(head: &[u8]) -> bool {
    head.starts_with(&MAGIC) || index::is_damaged_head(head)
}
