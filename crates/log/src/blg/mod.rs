//! Windows' binary performance logs (BLG): read and written.
//!
//! ```text
//! file      buffer 0 | buffer 1 | ...           each of the same size, 64 KiB
//! buffer 0  72-byte header, one system event with zone, clock and pointer size, 0xFF to the end
//! buffer n  72-byte header, events padded to 8 bytes, 0xFF to the end
//! event     72-byte header (size, kind, local time, provider, log, part, parts), body
//! ```
//!
//! | kind | body |
//! |---|---|
//! | 0x20 | the counter list: what the sub-records of each data record are, in the same order |
//! | 0x22 | a data record; longer ones than 8000 bytes are cut into parts |
//! | 0x24 | names of objects and counters, only in logs of whole objects |
//! | 0x23 | a catalogue at the end, only in logs of whole objects |
//!
//! | file | holds |
//! |---|---|
//! | `container` | buffers and events, and how to go on behind damage |
//! | `pages` | the order of buffers; which are missing or doubled |
//! | `records` | what stands in the events: [`Entry`], [`RawCounter`] |
//! | `parts` | the parts of a long record |
//! | `catalogue` | what logs of whole objects have besides: [`Catalogue`] and names |
//! | `read` | [`BlgReader`]: one event after the other |
//! | `columns` | which column a counter is |
//! | `decode` | samples out of a record |
//! | `write` | [`BlgWriter`]: writes records, in counter mode |
//! | `sink` | [`BlgSink`]: writes rows |
//!
//! The whole description is `docs/formats/blg.md`.

mod catalogue;
mod columns;
mod container;
mod decode;
mod pages;
mod parts;
mod read;
pub(crate) mod records;
mod sink;
mod write;

pub use catalogue::{Catalogue, CatalogueObject};
pub(crate) use container::detect;
pub use container::{FileHeader, PROVIDER};
pub use read::BlgReader;
pub use records::{Data, Entry, Item, RawCounter, SubRecord, SubRecords, flags, no_value, parse_list};
pub use sink::BlgSink;
pub use write::{BlgWriter, WriteOptions};

/// `length` rounded up to a multiple of 8.
const fn align8(length: usize) -> usize {
    length.saturating_add(7) & !7
}
