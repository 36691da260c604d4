//! The environment variables of OpenTelemetry that are about metrics over OTLP.
//!
//! <https://opentelemetry.io/docs/specs/otel/protocol/exporter/> and
//! <https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/>. An empty variable is
//! as good as none. A value that cannot be used is ignored with a warning, as the specification says.

use std::path::PathBuf;
use std::time::Duration;

use tallymon_export::otlp::Temporality;
use tallymon_export::percent;

use crate::endpoint::Tls;

/// Where metrics go if nothing says it.
pub const DEFAULT_ADDRESS: &str = "http://localhost:4318/v1/metrics";
/// The path that belongs to metrics.
pub const METRICS_PATH: &str = "/v1/metrics";

/// What the variables say.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The address of metrics with its path; `None` if no variable names one.
    pub address: Option<String>,
    /// The variable that wants gRPC, which is not spoken here: an address of the environment is then one for
    /// gRPC.
    pub grpc: Option<String>,
    /// Headers of every request.
    pub headers: Vec<(String, String)>,
    /// How long a request may take.
    pub timeout: Duration,
    /// Whether requests are compressed by gzip.
    pub gzip: bool,
    /// Certificates of https.
    pub tls: Tls,
    /// Which numbers of counters are exported.
    pub temporality: Temporality,
    /// Time between two exports.
    pub interval: Duration,
    /// Attributes of the resource, `service.name` among them if a variable names it.
    pub resource: Vec<(String, String)>,
    /// Variables that cannot be used, and why.
    pub warnings: Vec<String>,
}

/// Reads variables, and notes what is wrong with them.
struct Reader<G> {
    get: G,
    warnings: Vec<String>,
}

impl Settings {
    /// Reads the variables of a program, which `get` looks up.
    pub fn read(get: impl Fn(&str) -> Option<String>) -> Settings {
        let mut reader = Reader { get, warnings: Vec::new() };
        let address = reader.get("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT").map(|(_, address)| address);
        let base = || {
            let (_, base) = reader.get("OTEL_EXPORTER_OTLP_ENDPOINT")?;
            Some(format!("{}{METRICS_PATH}", base.strip_suffix('/').unwrap_or(&base)))
        };
        let address = address.map(|address| with_root(&address)).or_else(base);
        let mut grpc = None;
        match reader.signal("PROTOCOL") {
            Some((name, protocol)) if protocol == "grpc" => grpc = Some(name),
            Some((name, protocol)) if protocol != "http/protobuf" => {
                reader.warn(&name, &format!("{protocol:?} is not spoken here, http/protobuf is used"));
            }
            _ => {}
        }
        let gzip = match reader.signal("COMPRESSION") {
            Some((_, compression)) if compression == "gzip" => true,
            Some((name, other)) if other != "none" => {
                reader.warn(&name, &format!("{other:?} is neither gzip nor none, none is used"));
                false
            }
            _ => false,
        };
        let headers = reader.signal("HEADERS").map_or_else(Vec::new, |found| reader.pairs(&found));
        let timeout = reader.signal("TIMEOUT");
        let timeout = reader.milliseconds(timeout, Duration::from_secs(10));
        let interval = reader.get("OTEL_METRIC_EXPORT_INTERVAL");
        let interval = reader.milliseconds(interval, Duration::from_secs(60));
        let temporality = match reader.get("OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE") {
            None => Temporality::Cumulative,
            // Values of this kind are read without regard to case.
            Some((name, text)) => match text.to_ascii_lowercase().as_str() {
                "cumulative" => Temporality::Cumulative,
                "delta" => Temporality::Delta,
                "lowmemory" => Temporality::LowMemory,
                _ => {
                    let words = "is none of cumulative, delta and lowmemory, cumulative is used";
                    reader.warn(&name, &format!("{text:?} {words}"));
                    Temporality::Cumulative
                }
            },
        };
        let file = |part: &str| reader.signal(part).map(|(_, file)| PathBuf::from(file));
        let client = file("CLIENT_CERTIFICATE").zip(file("CLIENT_KEY"));
        let tls = Tls { certificate: file("CERTIFICATE"), client };
        let resource = reader.get("OTEL_RESOURCE_ATTRIBUTES");
        let mut resource = resource.map_or_else(Vec::new, |found| reader.pairs(&found));
        if let Some((_, name)) = reader.get("OTEL_SERVICE_NAME") {
            resource.retain(|(key, _)| key != "service.name");
            resource.push(("service.name".to_owned(), name));
        }
        let warnings = reader.warnings;
        Settings { address, grpc, headers, timeout, gzip, tls, temporality, interval, resource, warnings }
    }
}

impl<G: Fn(&str) -> Option<String>> Reader<G> {
    fn get(&self, name: &str) -> Option<(String, String)> {
        let value = (self.get)(name).filter(|value| !value.trim().is_empty())?;
        Some((name.to_owned(), value.trim().to_owned()))
    }

    /// The variable for metrics, else that for all signals.
    fn signal(&self, part: &str) -> Option<(String, String)> {
        let own = self.get(&format!("OTEL_EXPORTER_OTLP_METRICS_{part}"));
        own.or_else(|| self.get(&format!("OTEL_EXPORTER_OTLP_{part}")))
    }

    fn warn(&mut self, name: &str, why: &str) {
        self.warnings.push(format!("{name}: {why}"));
    }

    fn milliseconds(&mut self, found: Option<(String, String)>, usual: Duration) -> Duration {
        let Some((name, text)) = found else { return usual };
        match text.parse() {
            Ok(milliseconds) if milliseconds > 0 => Duration::from_millis(milliseconds),
            _ => {
                let words =
                    format!("{text:?} is not a number of milliseconds, {} is used", usual.as_millis());
                self.warn(&name, &words);
                usual
            }
        }
    }

    /// Pairs `key=value,key=value` with `%` codes; none at all if any of them is broken.
    fn pairs(&mut self, (name, text): &(String, String)) -> Vec<(String, String)> {
        let mut pairs = Vec::new();
        for pair in text.split(',').map(str::trim).filter(|pair| !pair.is_empty()) {
            let parts = pair
                .split_once('=')
                .map(|(key, value)| (percent::decoded(key.trim()), percent::decoded(value.trim())));
            let Some((Some(key), Some(value))) = parts.filter(|(key, _)| key.as_deref() != Some("")) else {
                // The value may be a password.
                let key = pair.split('=').next().unwrap_or_default();
                self.warn(
                    name,
                    &format!("{key:?} has no value in the form key=value, nothing of it is used"),
                );
                return Vec::new();
            };
            pairs.push((key, value));
        }
        pairs
    }
}

/// An address whose path is at least the root: an address of metrics is used as it is.
fn with_root(address: &str) -> String {
    let behind_scheme = address.split_once("://").map_or(address, |(_, rest)| rest);
    if behind_scheme.contains('/') { address.to_owned() } else { format!("{address}/") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> Settings {
        Settings::read(|name| {
            let prefixes = ["OTEL_EXPORTER_OTLP_", "OTEL_"];
            let short = prefixes.iter().find_map(|prefix| name.strip_prefix(prefix))?;
            let found = variables.iter().find(|(known, _)| *known == short);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn the_address_of_metrics_is_used_as_it_is_and_the_base_gets_its_path() {
        for (variables, expected) in [
            (&[][..], None),
            (&[("ENDPOINT", "")], None),
            (&[("ENDPOINT", "http://c:4318")], Some("http://c:4318/v1/metrics")),
            (&[("ENDPOINT", "http://c:4318/")], Some("http://c:4318/v1/metrics")),
            (&[("ENDPOINT", "https://c/otlp")], Some("https://c/otlp/v1/metrics")),
            (&[("METRICS_ENDPOINT", "http://c/x")], Some("http://c/x")),
            (&[("METRICS_ENDPOINT", "http://c")], Some("http://c/")),
            (&[("METRICS_ENDPOINT", "http://m/y"), ("ENDPOINT", "http://c")], Some("http://m/y")),
        ] {
            assert_eq!(read(variables).address.as_deref(), expected, "{variables:?}");
        }
    }

    #[test]
    fn what_can_not_be_used_is_ignored_with_a_warning() {
        let usual = read(&[]);
        assert_eq!((usual.timeout, usual.interval), (Duration::from_secs(10), Duration::from_secs(60)));
        assert!(!usual.gzip && usual.warnings.is_empty() && usual.resource.is_empty());
        let table: [(&str, &str); 7] = [
            ("TIMEOUT", "10s"),
            ("TIMEOUT", "-1"),
            ("COMPRESSION", "zstd"),
            ("PROTOCOL", "http/json"),
            ("METRICS_TEMPORALITY_PREFERENCE", "always"),
            ("HEADERS", "a=1,secret"),
            ("METRIC_EXPORT_INTERVAL", "soon"),
        ];
        for variable in table {
            let settings = read(&[variable]);
            assert_eq!(settings.warnings.len(), 1, "{variable:?}");
            assert!(settings.headers.is_empty() && settings.timeout == usual.timeout, "{variable:?}");
        }
        // Whoever has the address decides what this means.
        let grpc = read(&[("PROTOCOL", "http/protobuf"), ("METRICS_PROTOCOL", "grpc")]);
        assert_eq!(grpc.grpc.as_deref(), Some("OTEL_EXPORTER_OTLP_METRICS_PROTOCOL"));
        assert!(grpc.warnings.is_empty());
        let broken = read(&[("RESOURCE_ATTRIBUTES", "a=%zz")]);
        assert!(broken.resource.is_empty() && broken.warnings.len() == 1);
    }

    #[test]
    fn the_variable_of_metrics_comes_before_that_of_all_signals() {
        let settings = read(&[
            ("HEADERS", "a=0"),
            ("METRICS_HEADERS", "api-key=x%20y, b = c=d ,"),
            ("TIMEOUT", "1"),
            ("METRICS_TIMEOUT", "250"),
            ("COMPRESSION", "none"),
            ("METRICS_COMPRESSION", "gzip"),
            ("METRICS_TEMPORALITY_PREFERENCE", "DELTA"),
            ("RESOURCE_ATTRIBUTES", "service.name=other,deployment.environment=test%2Cone"),
            ("SERVICE_NAME", "shop"),
        ]);
        let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        assert_eq!(settings.headers, [pair("api-key", "x y"), pair("b", "c=d")]);
        assert_eq!((settings.timeout, settings.gzip), (Duration::from_millis(250), true));
        assert_eq!(settings.temporality, Temporality::Delta);
        let resource = [pair("deployment.environment", "test,one"), pair("service.name", "shop")];
        assert_eq!(settings.resource, resource);
        assert!(settings.warnings.is_empty(), "{:?}", settings.warnings);
    }
}
