//! The performance monitor in the terminal.
//!
//! You give a [`Query`](tallymon::Query) with the counters to start with; the user gets NT's chart, with its time line
//! that sweeps, the value bar and the legend, a report, bars, tables of instances, and a dialog to add more.
//!
//! It does not parse command lines, and opens no source on its own: [`Options::open`] does.
//!
//! | module | holds |
//! |---|---|
//! | [`model`] | what is known and chosen, without a screen |
//! | [`chart`] | the chart widget |
//! | [`source`] | a source on a thread of its own |
//! | [`tui`] | the screen and its keys |
//! | [`save`] | the history as a log, the chart as SVG |
//! | [`sessions`] | recording sessions, as they are shown |
//! | [`settings`] | settings files |
//! | [`words`] | words in four languages |
#![forbid(unsafe_code)]
#![warn(clippy::print_stdout, clippy::print_stderr)]
#![allow(clippy::too_many_lines, reason = "3 functions are still too long: tui::{keys, report, table}")]

pub mod chart;
pub mod model;
pub mod save;
pub mod sessions;
pub mod settings;
pub mod source;
pub mod tui;
pub mod words;

pub use source::SourceThread;
pub use tui::{App, Colours, LocalTime, Options, browse, meant_of_log, put_back, run, usual_of_log};
