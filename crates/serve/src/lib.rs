//! Performance Monitor in a browser: the server of the page, and the report that is one file.
//!
//! [`Server::bind`] opens a port, for other machines over TLS; [`Server::address`] is what the user opens.
//! The page and its data come from one program: nothing is requested from anywhere else. Only recording
//! sessions, providers, processes and the interval can be changed, and only if the caller allows it.
//! `docs/web.md` describes it, `docs/security.md` who may ask.
//!
//! | module | does |
//! |---|---|
//! | `connection`, `gate`, `login` | limits of connections; token, host and origin of requests; the password |
//! | `route`, `parameters`, `http` | which address does what; its parameters; its answer |
//! | `hub`, `machines`, `live`, `live_state` | what can be looked at: live machines with their history |
//! | `log_host`, `one_file` | and logs; those of a session are read as one |
//! | `chart`, `decimate`, `statistics` | rows of a range, few enough to draw; statistics of all of them |
//! | `crossings` | where values cross their thresholds, in all of a log or of the history |
//! | `describe`, `stream` | texts and the overview; new rows as they come |
//! | `process_list` | the processes of an overview: sorted, filtered, with who runs them; what is done to one |
//! | `upload`, `uploads` | logs from the page; where they are kept, and how many bytes |
//! | `findings` | what `tally analyze` finds, as marks on the time axis |
//! | `sessions`, `providers`, `events` | recording sessions, health of providers, the event log |
//! | `profiles` | profiles of .NET programs, and the page that shows them |
//! | `metrics`, `scrape_format` | raw values for Prometheus; the formats of the answer |
//! | `convert` | logs in other formats, and what differs between two |
//! | `page` | the page, which `page/build.mjs` makes |
//! | `report`, `pack` | the page with its data in it, or a picture; columns in few bytes |
#![forbid(unsafe_code)]
#![warn(clippy::print_stdout, clippy::print_stderr)]

mod arrival;
mod chart;
mod connection;
mod convert;
mod crossings;
mod decimate;
mod describe;
mod events;
mod findings;
mod gate;
mod host_queries;
mod http;
mod hub;
mod live;
mod live_state;
mod log_host;
mod login;
mod machines;
mod metrics;
mod one_file;
mod pack;
mod page;
mod parameters;
mod process_list;
mod profiles;
mod providers;
mod report;
mod room;
mod route;
mod scrape_format;
mod server;
mod sessions;
mod settings;
mod statistics;
mod stream;
mod upload;
mod uploads;

pub use metrics::MetricsAccess;
pub use profiles::ProfileAccess;
pub use report::{Busiest, Busy, Figures, Line, Logs, Report, ReportError, ReportOptions, report};
pub use server::{Options, Secure, ServeError, Server};
pub use sessions::SessionAccess;
