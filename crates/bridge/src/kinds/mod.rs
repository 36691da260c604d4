//! What endpoints speak. A kind reads an endpoint once and says what it has as [`Metrics`], so that names,
//! values and limits are the same for all kinds.
//!
//! | module | does |
//! |---|---|
//! | `exposition` | Prometheus' text format and OpenMetrics |
//! | `nginx` | the page of nginx' `stub_status` |
//! | `pcp` | Performance Co-Pilot, by pmproxy |
//! | `jmx` | the beans of a Java program, by Jolokia |
//! | `redis` | `INFO` of Redis and Valkey |
//! | `postgresql`, `scram` | the statistics views of PostgreSQL, and its authentication |
//! | `kind` | which kinds there are, and their names |
//! | `known` | tables of values that a kind knows, and the counters that they become |
//! | `wire` | a connection of Redis or PostgreSQL, within a time and a length |

mod exposition;
mod jmx;
mod kind;
mod known;
mod nginx;
mod pcp;
mod postgresql;
mod redis;
mod scram;
mod wire;

use crate::metrics::Metrics;
use crate::settings::{ReadSecret, Settings};

pub use kind::Kind;

/// One kind of endpoints.
trait Speaks {
    /// Whether these settings fit it.
    fn check(&self, settings: &Settings) -> Result<(), String>;

    /// Reads the endpoint once, within its timeout.
    fn read(&self, settings: &Settings, read_secret: ReadSecret) -> Result<Metrics, String>;
}

impl Kind {
    const fn speaks(self) -> &'static dyn Speaks {
        match self {
            Kind::Metrics => &exposition::Exposition,
            Kind::Nginx => &nginx::Nginx,
            Kind::Pcp => &pcp::Pcp,
            Kind::Jmx => &jmx::Jmx,
            Kind::Redis => &redis::Redis,
            Kind::PostgreSql => &postgresql::PostgreSql,
        }
    }

    /// The path of an address over HTTP that has none.
    pub(crate) const fn usual_path(self) -> &'static str {
        match self {
            Kind::Jmx => jmx::USUAL_PATH,
            _ => "/metrics",
        }
    }

    /// Whether these settings fit it.
    pub(crate) fn check(self, settings: &Settings) -> Result<(), String> {
        self.speaks().check(settings)
    }

    /// Reads an endpoint once.
    pub(crate) fn read(self, settings: &Settings, read_secret: ReadSecret) -> Result<Metrics, String> {
        self.speaks().read(settings, read_secret)
    }
}

/// Whether settings fit a kind that speaks HTTP.
fn check_http(settings: &Settings) -> Result<(), String> {
    match &settings.password {
        Some(_) => {
            Err("password: HTTP takes headers from a file, such as 'Authorization: Basic …'".to_owned())
        }
        None => Ok(()),
    }
}

/// Whether settings fit a kind with a protocol of its own, whose address begins with one of these schemes.
fn check_own(settings: &Settings, schemes: &[&str]) -> Result<(), String> {
    if settings.headers.is_some() {
        let kind = settings.kind().word();
        return Err(format!("headers: a bridge of the kind {kind} does not speak HTTP"));
    }
    let scheme = settings.url.split_once("://").map(|(scheme, _)| scheme);
    if scheme.is_none_or(|scheme| !schemes.contains(&scheme)) {
        return Err(format!("an address of this kind begins with {}://", schemes.first().unwrap_or(&"")));
    }
    Ok(())
}

/// What a server of a kind says that was recorded: for fuzzing. Only kinds with a protocol of their own have
/// it.
pub(crate) fn read_recorded(kind: Kind, answers: &[u8]) -> Option<Result<Metrics, String>> {
    match kind {
        Kind::Redis => Some(redis::read_recorded(answers)),
        Kind::PostgreSql => Some(postgresql::read_recorded(answers)),
        Kind::Metrics | Kind::Nginx | Kind::Pcp | Kind::Jmx => None,
    }
}
