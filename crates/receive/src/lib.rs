//! Receivers: what programs send as StatsD or OTLP becomes objects and counters.
//!
//! A receiver listens, keeps a number for each series, and publishes it in shared memory, as any program
//! publishes its counters. So every reader on this machine has the objects, and none of them needs to listen.
//!
//! | module | does |
//! |---|---|
//! | `statsd` | reads packets of StatsD and DogStatsD |
//! | `otlp` | reads requests of OTLP: Protocol Buffers and JSON |
//! | `datagrams` | listens for packets |
//! | `http` | listens for requests |
//! | `store` | the series: their limits, their end, and their publishing |
//! | `value` | what a series has, and the counters that show it |
//! | `distribution` | sizes of values within an interval |
//! | `counts` | what the receivers themselves count |
//!
//! Everything that arrives is hostile input: lengths, names, series and the memory of each have limits.
#![forbid(unsafe_code)]
#![warn(clippy::indexing_slicing, clippy::arithmetic_side_effects)]
#![warn(clippy::print_stdout, clippy::print_stderr)]

mod counts;
mod datagrams;
mod distribution;
mod http;
mod otlp;
mod receiver;
mod statsd;
mod store;
mod value;

pub use receiver::{Address, Allows, Options, ReceiveError, Receivers};

/// Reads bytes as a packet of StatsD into a store that publishes nothing: for fuzzing. Returns how many
/// values were taken.
#[doc(hidden)]
pub fn read_statsd(packet: &[u8]) -> u64 {
    statsd::receive(packet, &mut unpublished(), statsd::Signs::Change, 0, &mut |_| ())
}

/// As [`read_statsd`], for a request of OTLP. Returns how many points were taken; 0 for what is no request.
#[doc(hidden)]
pub fn read_otlp(request: &[u8], is_json: bool) -> u64 {
    let outcome = otlp::receive(request, is_json, &mut unpublished(), 0);
    outcome.map_or(0, |outcome| outcome.taken)
}

fn unpublished() -> store::Store {
    store::Store::new(None, std::time::Duration::MAX, std::time::Duration::MAX)
}
