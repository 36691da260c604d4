//! Provider libraries as they are used: compiled from C, registered, loaded by `tally-host`, asked.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test that fails is to panic")]

mod experiments;
mod faces;
mod faults;
mod health;
mod hostile;
mod listings;
mod rights;
mod settings;
mod support;
mod touches;
mod unsafe_places;
mod wrapping;
