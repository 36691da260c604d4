//! The counters of Windows, read where every tool of Windows has them from: the values of
//! `HKEY_PERFORMANCE_DATA`.
//!
//! `WindowsSource` passes a request on as the query string that it is, and validates the answer like any
//! foreign block. It runs no provider, computes no value and knows no counter.
//!
//! | module | contents |
//! |---|---|
//! | `clock` | the performance clock |
//! | `key` | the registry's functions |
//! | `source` | requests as values of the performance key |
//! | `services` | what is registered, and what is wrong with it |
#![cfg(windows)]
#![deny(unsafe_code)]
#![warn(clippy::indexing_slicing, clippy::arithmetic_side_effects)]
#![warn(clippy::print_stdout, clippy::print_stderr)]

mod clock;
mod key;
mod services;
mod source;

pub use clock::performance_clock;
pub use services::{Registration, registration, registrations};
pub use source::WindowsSource;
