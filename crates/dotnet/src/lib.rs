//! Attaches to .NET programs that run already and were not prepared: their diagnostics port, the event
//! streams that it sends, and counters made of them.
//!
//! Every runtime from .NET Core 3.1 on listens on a socket. You find the programs with [`port::programs`],
//! start a stream of events with [`port::Program::start`], and read it with [`nettrace::Trace`], which reads
//! `.nettrace` files as well.
//!
//! | module | holds |
//! |---|---|
//! | [`nettrace`] | the format of event streams and files: blocks, metadata, events, stacks |
//! | [`events`] | what the events of the runtime say: counters, collections, exceptions, methods |
//! | [`meters`] | what the events of meters say: instruments and their values |
//! | [`requests`] | requests and database commands, and how long they took |
//! | [`samples`] | what the threads of a program ran, with the names of methods |
//! | [`incidents`] | collections, exceptions and waits, with the names of methods |
//! | [`port`] | on Linux: finding programs, the protocol of their sockets |
//! | [`live`] | on Linux: counters of all programs, as a provider |
//!
//! Whatever a program sends is parsed as hostile input: any bytes give events or an error, no number in them
//! decides how much memory is allocated, and every wait has a deadline.
#![forbid(unsafe_code)]
#![warn(clippy::indexing_slicing, clippy::arithmetic_side_effects)]
#![warn(clippy::print_stdout, clippy::print_stderr)]

pub mod events;
pub mod incidents;
#[cfg(target_os = "linux")]
pub mod live;
pub mod meters;
pub mod nettrace;
#[cfg(target_os = "linux")]
pub mod port;
pub mod requests;
pub mod samples;
