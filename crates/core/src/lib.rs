//! The building blocks of Windows performance counters: the bytes of a data block, counter types and their
//! arithmetic, names, paths and queries.
//!
//! From the bytes that a system returned for a performance query, this crate gives typed views of objects,
//! counters and instances, their samples, and values computed from two samples. In the other direction it
//! turns values into bytes.
//!
//! This crate does no I/O, and uses no clock, no operating system and no allocator other than `alloc`. It has
//! no dependencies and no unsafe code. No input makes it panic, or work longer than the input's length
//! justifies.
//!
//! | module | contents |
//! |---|---|
//! | [`block`] | data blocks: [`block::DataBlock`], [`block::BlockWriter`], [`block::Snapshot`] |
//! | [`counter`] | counter types, formulas, display rules |
//! | [`path`] | counter paths such as `\Processor(_Total)\% Processor Time` |
//! | [`request`] | query strings such as `Global` or `230 232` |
//! | [`title`] | name and help tables, language identifiers |
//! | [`time`] | file times, performance time, frequencies |
//! | [`bytes`] | the checked reader of binary input |
//! | [`text`] | UTF-16 and code page text in a block |
//! | [`visible`] | text from outside, made safe to show |
//! | [`flow`] | samples, values and rows, exchanged between sources, queries and sinks |
#![no_std]
#![forbid(unsafe_code)]
#![warn(clippy::indexing_slicing, clippy::arithmetic_side_effects)]
#![warn(clippy::print_stdout, clippy::print_stderr)]

extern crate alloc;

pub mod block;
pub mod bytes;
pub mod counter;
pub mod error;
pub mod flow;
pub mod path;
pub mod request;
pub mod text;
pub mod time;
pub mod title;
pub mod visible;

pub use error::{Error, ErrorKind};
