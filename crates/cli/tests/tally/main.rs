//! The command `tally` as a user meets it: every test runs the binary that was built.
#![forbid(unsafe_code)]
// A test that can not go on fails, and this whole program is tests.
#![allow(clippy::unwrap_used)]

mod browse;
mod dotnet;
mod environment;
mod files;
mod forms;
mod full;
mod logman;
mod logs;
mod options;
mod paths;
mod prof;
mod record;
mod screens;
mod support;
mod tables;
mod terminal;
mod watch;
mod windows;
