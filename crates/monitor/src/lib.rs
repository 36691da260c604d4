//! The performance monitor in the terminal.
//!
//! You give a [`Query`](tallymon::Query) with the counters to start with; the user gets NT's chart, with its
//! time line that sweeps, the value bar and the legend, a report, bars, tables of instances, and a dialog to
//! add more.
//!
//! It does not parse command lines, and opens no source on its own: [`Options::open`] does.
//!
//! | module | holds |
//! |---|---|
//! | [`model`] | series, their history and statistics, without a screen |
//! | [`chart`] | the chart widget |
//! | `keys` | the table of key bindings |
//! | `term` | the terminal, and what is drawn in it |
//! | `log` | log files, opened and read on threads |
//! | `workspace` | what the user works on |
//! | `screens` | the chart, the table and the dialogs |
//! | `app` | events and samples go in, a screen comes out |
//! | [`save`] | the history as a log, the chart as SVG |
//! | [`sessions`] | recording sessions, as they are shown |
//! | [`settings`] | settings files |
//! | [`words`] | words in four languages |
#![forbid(unsafe_code)]
#![warn(clippy::print_stdout, clippy::print_stderr)]

mod app;
mod keys;
mod log;
pub mod model;
pub mod save;
mod screens;
pub mod sessions;
pub mod settings;
mod term;
pub mod words;
mod workspace;

pub use app::App;
pub use app::browse::browse;
pub use app::run::run;
pub use log::counters::{meant_of_log, usual_of_all_hosts, usual_of_log};
pub use term::chart;
pub use term::pages::{Pages, Waited};
pub use term::terminal::put_back;
pub use term::theme::Colours;
pub use workspace::options::{LiveHost, LocalTime, Opening, Options};
