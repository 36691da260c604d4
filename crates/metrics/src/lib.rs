//! Publishes what a program counts with the crate `metrics` as performance counters, by one line in its
//! `main`.
//!
//! ```no_run
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     tallymon_metrics::install("shop")?;
//!
//!     metrics::counter!("orders", "kind" => "book").increment(1);
//!     metrics::gauge!("basket_value").set(19.5);
//!     metrics::histogram!("checkout_seconds").record(0.25);
//!     Ok(())
//! }
//! ```
//!
//! Each metric becomes an object of the program's name and its own, each set of labels an instance of it:
//!
//! ```text
//! \shop orders(kind=book)\Count/sec            a counter; its raw value is the sum
//! \shop basket_value(unlabelled)\Value         a gauge
//! \shop checkout_seconds(unlabelled)\Time      a histogram: the average, in seconds
//! \shop checkout_seconds(unlabelled)\Time (99 %)
//! ```
//!
//! A histogram is one of times if it is described with a unit of time, or if it is not described and its name
//! ends in `seconds`, `duration`, `latency` or `time`: those have seconds by the custom of their crate.
//! Others count whole numbers. Help texts are those of `describe_counter!` and its like, which must come
//! before the first use.
//!
//! `recorder.rs` is the recorder, `cell.rs` what its handles write. Adding through a handle that is kept
//! costs what a shared counter or histogram of `tallymon-provider` costs; gauges take a lock. The macros look
//! their handle up each time, which takes a lock for all metrics: in a hot place keep what they give.
#![forbid(unsafe_code)]
#![warn(clippy::print_stdout, clippy::print_stderr)]
#![cfg(target_os = "linux")]

mod cell;
mod recorder;

pub use recorder::{InstallError, Recorder, install};
