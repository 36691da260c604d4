//! Bridges to endpoints and servers that are well, away, slow, broken or hostile, and what a request gets.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::indexing_slicing, clippy::arithmetic_side_effects, reason = "a test fails by panicking")]

mod endpoints;
mod jmx;
mod postgresql;
mod servers;
mod support;
mod tls;
mod update;
