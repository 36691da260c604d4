//! Prometheus' text format and OpenMetrics.

use tallymon_push::fetch;

use super::{Speaks, check_http};
use crate::metrics::Metrics;
use crate::settings::{ReadSecret, Settings};

/// The longest answer, in bytes.
const MOST_BYTES: usize = 16 << 20;
/// What can be read.
const ACCEPT: &str =
    "application/openmetrics-text; version=1.0.0; q=0.5, text/plain; version=0.0.4; q=1, */*; q=0.1";

/// Endpoints with metrics as text.
pub(super) struct Exposition;

impl Speaks for Exposition {
    fn check(&self, settings: &Settings) -> Result<(), String> {
        check_http(settings)
    }

    fn read(&self, settings: &Settings, read_secret: ReadSecret) -> Result<Metrics, String> {
        let endpoint = settings.endpoint(read_secret)?;
        let text = fetch(&endpoint, ACCEPT, MOST_BYTES).map_err(|error| error.to_string())?;
        Metrics::of_text(&text)
    }
}
