//! Programs that we did not write send, and what they sent is published.
#![cfg(any(target_os = "linux", windows))]
#![allow(clippy::unwrap_used, reason = "a test that fails is to panic")]

#[cfg(target_os = "linux")]
mod attacks;
mod otlp;
mod statsd;
mod support;
