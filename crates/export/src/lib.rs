//! Counters for other engines, with what only a counter knows: its type, its base and its unit.
//!
//! | module | contents |
//! |---|---|
//! | [`metric`] | which metrics a counter type becomes, and how its raw sample becomes their numbers |
//! | [`name`] | names of metrics |
//! | [`profile`] | the names of other collectors |
//! | [`series`] | metrics and their series, made from the columns of a row |
//! | [`top`] | the largest processes of a row, and the others as one |
//! | [`openmetrics`] | OpenMetrics 1.0 or Prometheus' text format 0.0.4 |
//! | [`metric_family`] | Prometheus' protobuf format |
//! | [`otlp`], [`remote_write`] | messages of OpenTelemetry and of Prometheus' remote write |
//! | [`influx`], [`statsd`] | lines of InfluxDB and packets of StatsD |
//! | [`protobuf`] | the encoding of messages |
//! | [`percent`] | the encoding of addresses, and of values in variables of OpenTelemetry |
//! | [`promql`] | queries of Prometheus that show what a counter shows |
//! | [`samba`] | the databases from which Samba answers Windows' performance tools |
//! | [`check`] | results of Monitoring Plugins: ranges, states, performance data |
//!
//! It writes bytes and does nothing else: no network, no files.
#![forbid(unsafe_code)]
#![warn(clippy::print_stdout, clippy::print_stderr)]
#![warn(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

pub mod check;
pub mod influx;
pub mod metric;
pub mod metric_family;
pub mod name;
pub mod openmetrics;
pub mod otlp;
pub mod percent;
pub mod profile;
pub mod promql;
pub mod protobuf;
pub mod remote_write;
pub mod samba;
pub mod series;
pub mod statsd;
mod tdb;
pub mod top;
