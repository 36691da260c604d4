//! Bridges: metrics of other programs as objects and counters.
//!
//! A bridge reads one endpoint: metrics in Prometheus' text format or OpenMetrics, the status of nginx,
//! `INFO` of Redis, Performance Co-Pilot, the beans of a Java program, or the statistics views of PostgreSQL.
//! When it is added, its endpoint is scraped once, and its metrics get names and indexes in the registry, as
//! those of any service; they stay the same until the bridge is removed. After that, the endpoint is scraped
//! only for a request that names one of its objects, and all requests at one time share one scrape.
//!
//! | module | does |
//! |---|---|
//! | `kinds` | what endpoints speak, a module each |
//! | `metrics` | what an endpoint says, read within limits |
//! | `catalog` | which objects and counters the metrics become |
//! | `settings` | the file of a bridge, and files that declare bridges |
//! | `install` | what is added to a registry |
//! | `scrape` | one scrape at a time for each endpoint |
//! | `values` | writes the values of a scrape |
//! | `provider` | the provider of all bridges |
//!
//! An answer is hostile input: its length, families, series, names and labels have limits, and a sick
//! endpoint costs only its own objects, within the deadline of its bridge.
#![forbid(unsafe_code)]
#![warn(clippy::indexing_slicing, clippy::arithmetic_side_effects)]
#![warn(clippy::print_stdout, clippy::print_stderr)]

mod catalog;
mod install;
mod kinds;
mod metrics;
mod provider;
mod scrape;
mod settings;
mod values;

pub use install::{Inspection, Plan, address_of, forget, inspect};
pub use kinds::Kind;
pub use metrics::Metrics;
pub use provider::Bridges;
pub use settings::{Declared, ReadSecret, Settings, check_name, read_declared, usual_name};

/// Reads bytes as what a server of a kind has said, without one: for fuzzing. Returns how many series there
/// are; `None` for a kind without a protocol of its own.
#[doc(hidden)]
pub fn read_recorded(kind: Kind, answers: &[u8]) -> Option<usize> {
    kinds::read_recorded(kind, answers).map(|metrics| metrics.map_or(0, |metrics| metrics.len()))
}
