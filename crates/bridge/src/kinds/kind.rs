//! The kinds of endpoints, and their names.

use serde::Deserialize;

/// What an endpoint speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Prometheus' text format, or OpenMetrics, over HTTP.
    Metrics,
    /// The page of nginx' `stub_status`, over HTTP.
    Nginx,
    /// The page `/metrics` of Performance Co-Pilot's pmproxy, over HTTP.
    Pcp,
    /// The beans of a Java program, by Jolokia's agent, over HTTP.
    Jmx,
    /// `INFO` of Redis and Valkey.
    Redis,
    /// The statistics views of PostgreSQL.
    PostgreSql,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Kind; 6] =
        [Kind::Metrics, Kind::Nginx, Kind::Pcp, Kind::Jmx, Kind::Redis, Kind::PostgreSql];

    /// The word for it in files and options.
    pub const fn word(self) -> &'static str {
        match self {
            Kind::Metrics => "metrics",
            Kind::Nginx => "nginx",
            Kind::Pcp => "pcp",
            Kind::Jmx => "jmx",
            Kind::Redis => "redis",
            Kind::PostgreSql => "postgresql",
        }
    }

    /// The kind that an address tells.
    pub(crate) fn of_address(url: &str) -> Kind {
        match url.split_once("://") {
            Some(("redis" | "rediss", _)) => Kind::Redis,
            Some(("postgresql" | "postgres", _)) => Kind::PostgreSql,
            _ => Kind::Metrics,
        }
    }
}
