//! Publishes the metrics that a program records with the crate `metrics` as performance counters, by one line
//! in its `main`.
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
//! Each metric becomes an object, named after the program and the metric; each set of labels becomes an
//! instance of it:
//!
//! ```text
//! \shop orders(kind=book)\Count/sec            a counter; its raw value is the sum
//! \shop basket_value(unlabelled)\Value         a gauge
//! \shop checkout_seconds(unlabelled)\Time      a histogram: the average, in seconds
//! \shop checkout_seconds(unlabelled)\Time (99 %)
//! ```
//!
//! A histogram holds times if it is described with a unit of time, or if it is not described and its name
//! ends in `seconds`, `duration`, `latency` or `time`: by the custom of that crate, these are in seconds.
//! Other histograms hold whole numbers. Help texts come from `describe_counter!` and the like, which must be
//! called before the first use of the metric.
//!
//! `recorder.rs` is the recorder; `cell.rs` is what its handles write to. Adding through a handle that you
//! keep costs as much as a shared counter or histogram of `tallymon-provider`; gauges take a lock. The macros
//! look up their handle with every call, which takes a lock for all metrics: in a hot path, keep the handle.
#![forbid(unsafe_code)]
#![warn(clippy::print_stdout, clippy::print_stderr)]
#![cfg(any(target_os = "linux", windows))]

mod cell;
mod recorder;

pub use recorder::{InstallError, Recorder, install};
