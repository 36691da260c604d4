//! The server over real connections: what it answers, and what it refuses.

#![allow(clippy::unwrap_used, reason = "a test that fails is to panic")]

mod alerts;
mod answers;
mod attack;
mod browser;
mod client;
mod convert;
mod description;
mod findings;
mod machine;
mod metrics;
mod profiles;
mod session_logs;
