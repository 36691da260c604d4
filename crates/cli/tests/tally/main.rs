//! The command `tally` as a user meets it: every test runs the binary that was built.
#![forbid(unsafe_code)]
// A test that cannot go on fails, and this whole program is tests.
#![allow(clippy::unwrap_used)]

mod alerts;
mod analyze;
mod browse;
mod complete;
mod cuts;
mod dashboard;
mod documents;
mod dotnet;
mod dotnet_attach;
mod dotnet_shapes;
mod environment;
mod export;
mod files;
mod forms;
mod full;
mod hostile;
mod hostile_machine;
mod imported;
mod killed;
#[cfg(feature = "parquet")]
mod lake;
mod languages;
mod log_times;
mod logman;
mod logs;
mod man;
mod metric_names;
mod mutants;
mod nagios;
mod names;
mod nsclient;
mod options;
mod overwrite;
mod paths;
mod processes;
mod prof;
mod push;
mod receive;
mod record;
mod reports;
mod rights;
#[cfg(feature = "s3")]
mod s3;
mod screens;
mod sends;
mod serve;
mod serve_tls;
mod special_files;
mod stat;
mod support;
mod syslog;
mod tables;
mod terminal;
mod watch;
mod webhook;
mod windows;
