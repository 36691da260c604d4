//! Other users, against the real command.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test that fails is to panic")]

mod names;
mod neighbours;
mod secrets;
mod sessions;
mod support;
