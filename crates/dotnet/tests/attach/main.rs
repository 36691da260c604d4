//! Attaches to programs of real runtimes: .NET Core 3.1, .NET 8, 9 and 10, which know nothing of it.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that fails is to panic")]

#[path = "../../../clr/tests/dotnet/bundle.rs"]
#[allow(dead_code, reason = "shared with the profiler's tests")]
mod bundle;
mod containers;
mod counters;
mod ends;
mod hosts;
mod incidents;
mod meters;
mod port;
mod requests;
#[path = "../../../clr/tests/dotnet/runtimes.rs"]
#[allow(dead_code, reason = "shared with the profiler's tests")]
mod runtimes;
