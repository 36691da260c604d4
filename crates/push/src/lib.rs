//! Sends exports of counters to receivers of metrics: over HTTP or HTTPS, through a queue on disk.
//!
//! A [`Sender`] has a [`Queue`] and an [`Endpoint`]. What is [put](Sender::put) into it is on disk at once,
//! is sent in its order, and is tried again until the receiver takes or refuses it. So a receiver that is
//! away for an hour loses nothing, and neither does this program when it is killed.
//!
//! | module | does |
//! |---|---|
//! | `endpoint` | where to send: an address with its headers and limits |
//! | `client` | one request and its answer, within a deadline |
//! | `queue` | what waits, on disk, within a limit |
//! | `sender` | the thread that sends, and when it tries again |
//! | `once` | one request without a queue, with a few tries |
//! | `fetch` | the other way round: one GET and its whole answer |
//! | `connection` | several requests over one connection |
//! | `s3` | object storage with the interface of Amazon S3, as a feature |
//! | `otel` | the environment variables of OpenTelemetry |
//!
//! What a request contains is the matter of `tallymon-export`.
#![forbid(unsafe_code)]
#![warn(clippy::print_stdout, clippy::print_stderr)]
#![warn(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

mod client;
#[cfg(feature = "s3")]
mod connection;
mod endpoint;
mod fetch;
mod once;
pub mod otel;
mod queue;
#[cfg(feature = "s3")]
pub mod s3;
mod sender;

pub use client::{Answer, SendError};
pub use endpoint::{Endpoint, EndpointError, Tls, shown_address};
pub use fetch::{FetchError, fetch};
pub use once::{Undelivered, deliver};
pub use queue::{Dropped, Encoding, Item, Queue, QueueError};
pub use sender::{Event, Protocol, Sender};
