//! Publishes the spans and events of a program that uses the crate `tracing` as performance counters, by one
//! line in its `main`.
//!
//! ```no_run
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     tallymon_tracing::install("shop")?;
//!
//!     let _span = tracing::info_span!("checkout").entered();
//!     tracing::warn!("the bank is slow");
//!     Ok(())
//! }
//! ```
//!
//! A span becomes a rate and an average timer, an event a rate:
//!
//! ```text
//! \shop Spans(shop::checkout)\Spans/sec              spans that ended
//! \shop Spans(shop::checkout)\Open Spans             spans that began and did not end yet
//! \shop Spans(shop::checkout)\Avg. sec/Span          from their beginning to their end
//! \shop Spans(shop::checkout)\Avg. Busy sec/Span     of that, the time in which they were entered
//! \shop Events(WARN)\Events/sec
//! ```
//!
//! An instance is a place in the source, named by target and span. Fields make no instances, because they can
//! have any number of values. To combine it with other layers, add [`Layer::new`] to your registry instead of
//! calling [`install`].
//!
//! The end of a span locks its place in the source, for as long as it takes to write six numbers.
#![forbid(unsafe_code)]
#![warn(clippy::print_stdout, clippy::print_stderr)]
#![cfg(any(target_os = "linux", windows))]

mod layer;

pub use layer::{InstallError, Layer, install};
