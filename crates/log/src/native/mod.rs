//! The native log, `.tally`: raw values of whole objects in a fraction of a byte each, written so that a crash costs only
//! the last seconds.
//!
//! `docs/formats/log.md` draws the bytes. In short: records with a length and a sum; the counters of an object once;
//! chunks of rows in which each number of each column is a series of its own, and columns that do not change are not
//! there. Every now and then a chunk stands for itself, so that a reader can begin there.
//!
//! | module | holds |
//! |---|---|
//! | `frame` | records, and finding them behind damage |
//! | `schema` | objects, counters, instances |
//! | `series`, `bits`, `fields`, `status` | numbers as bits and bytes |
//! | `cells`, `table`, `write`, `output` | writing |
//! | `rows`, `snapshots` | writing rows of columns, and whole objects |
//! | `state`, `read` | reading |
//! | `index` | going to a time |
//! | `seal` | writing a log once more, complete |

mod bits;
mod cells;
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
mod status;
mod table;
mod write;

pub use output::{Output, WriteOptions};
pub use read::{NativeReader, Window};
pub use rows::NativeSink;
pub use schema::{Counter, Definition};
pub use seal::seal;
pub use snapshots::{Chosen, SnapshotWriter};
pub use write::{InstanceId, NativeWriter, RowTime, TableId};

/// The first bytes of every native log. The first one is in no text, the line ends show a copy that changed them.
pub(crate) const MAGIC: [u8; 8] = *b"\x89TALLY\r\n";

/// The first 16 bytes of a log of version 1.
pub(crate) const HEAD: [u8; 16] = *b"\x89TALLY\r\n\x01\0\0\0\0\0\0\0";

/// Rows of a chunk at most.
pub(crate) const MOST_ROWS: usize = 4096;

/// Columns at a time at most.
pub(crate) const MOST_COLUMNS: usize = 1 << 20;

/// Numbers of a chunk at most, those that do not change not counted.
pub(crate) const MOST_NUMBERS: usize = 1 << 27;

/// Whether some bytes begin like a native log.
pub(crate) fn detect(head: &[u8]) -> bool {
    head.starts_with(&MAGIC)
}
