//! The vocabulary of Windows performance counters: the bytes of a data block, counter types and their arithmetic,
//! names, paths and queries.
//!
//! You give bytes that some system answered to a performance query; you get typed views of objects, counters and
//! instances, the samples in them, and values computed from two samples. Or you give values, and get the bytes.
//!
//! This crate does no input or output and knows no clock, no operating system and no allocator but `alloc`. It has no
//! dependencies and no unsafe code, and no input makes it panic or work longer than the input is long.
//!
//! | module | holds |
//! |---|---|
//! | [`block`] | the data block: reading ([`block::DataBlock`]), writing ([`block::BlockWriter`]), the owned and indexed [`block::Snapshot`] |
//! | [`counter`] | counter types, formulas, display rules |
//! | [`path`] | counter paths such as `\Processor(_Total)\% Processor Time` |
//! | [`request`] | query strings such as `Global` or `230 232` |
//! | [`title`] | name and help tables, language identifiers |
//! | [`time`] | file times, performance time, frequencies |
//! | [`bytes`] | the checked reader of binary input |
//! | [`text`] | UTF-16 and narrow text as it stands in a block |
//! | [`flow`] | samples, values, rows: what moves between sources, queries and sinks |
#![no_std]
#![forbid(unsafe_code)]
#![warn(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

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

pub use error::{Error, ErrorKind};
