//! JSON lines: one row is one object, as `tally get --json` and `watch --json` print it and `relog` writes
//! it.
//!
//! ```text
//! {"time":"2026-01-31T20:00:00.000Z","host":"vm","values":[{"path":"\\System\\Threads", …}, …]}
//! ```
//!
//! `docs/formats/json.md` has all keys. A line says everything about itself, so lines may be cut out,
//! filtered and put behind each other. The reader takes the values from the raw numbers where a line has
//! them, else the value.

mod line;
mod read;
mod write;

pub(crate) use read::JsonReader;
pub use write::{JsonSink, json_value};

/// The longest line that is read: twice that of the most columns.
const LONGEST_LINE: u64 = 1 << 26;

/// The most columns, and the most values of a line, as for other text logs.
const MOST_COLUMNS: usize = 1 << 17;

/// Whether the first bytes are those of a row. The keys of a row may be in any order.
pub(crate) fn detect(head: &[u8]) -> bool {
    let head = head.get(..head.len().min(4096)).unwrap_or_default();
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start();
    let has = |key: &[u8]| head.windows(key.len()).any(|part| part == key);
    head.starts_with(b"{") && has(b"\"time\"") && has(b"\"values\"")
}
