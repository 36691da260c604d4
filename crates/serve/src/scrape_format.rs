//! The formats of `/metrics`, and which of them a scraper prefers.

use hyper::header::{ACCEPT, HeaderMap};
use tallymon::core::flow::Row;
use tallymon_export::metric_family;
use tallymon_export::openmetrics::TextFormat;
use tallymon_export::series::Family;

/// A format of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ScrapeFormat {
    /// Lines of text.
    Text(TextFormat),
    /// Delimited messages of Prometheus' own schema.
    Protobuf,
}

impl ScrapeFormat {
    /// The format that a client prefers; of two that it likes as much, the more exact one. A client that
    /// takes anything gets the older text, which everybody reads.
    pub(crate) fn preferred(headers: &HeaderMap) -> ScrapeFormat {
        let (mut protobuf, mut open, mut text) = (0.0, 0.0, 0.0);
        let accepted = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
        for kind in accepted.flat_map(|kinds| kinds.split(',')) {
            let mut parts = kind.split(';').map(str::trim);
            let name = parts.next().unwrap_or_default().to_ascii_lowercase();
            let (mut quality, mut is_version) = (1.0f64, true);
            let (mut is_family, mut is_delimited) = (false, false);
            for (key, value) in parts.filter_map(|part| part.split_once('=')) {
                let value = value.trim().trim_matches('"');
                match key.trim().to_ascii_lowercase().as_str() {
                    "q" => quality = value.parse().unwrap_or(0.0),
                    "version" => is_version = value == "1.0.0",
                    "proto" => is_family = value == "io.prometheus.client.MetricFamily",
                    "encoding" => is_delimited = value == "delimited",
                    _ => {}
                }
            }
            match name.as_str() {
                // Without its parameters the type names no schema.
                "application/vnd.google.protobuf" if is_family && is_delimited => {
                    protobuf = quality.max(protobuf);
                }
                "application/openmetrics-text" if is_version => open = quality.max(open),
                "text/plain" | "text/*" | "*/*" => text = quality.max(text),
                _ => {}
            }
        }
        if protobuf > 0.0 && protobuf >= open && protobuf >= text {
            ScrapeFormat::Protobuf
        } else if open > 0.0 && open >= text {
            ScrapeFormat::Text(TextFormat::OpenMetrics)
        } else {
            ScrapeFormat::Text(TextFormat::Prometheus)
        }
    }

    /// The content type that HTTP names it by.
    pub(crate) const fn content_type(self) -> &'static str {
        match self {
            ScrapeFormat::Text(format) => format.content_type(),
            ScrapeFormat::Protobuf => metric_family::CONTENT_TYPE,
        }
    }

    /// A row as a whole exposition, without its time.
    pub(crate) fn exposition(self, families: &[Family], row: &Row<'_>) -> Vec<u8> {
        match self {
            ScrapeFormat::Text(format) => format.exposition(families, row, false).into_bytes(),
            ScrapeFormat::Protobuf => metric_family::exposition(families, row, false),
        }
    }
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;

    use super::*;

    #[test]
    fn the_format_is_what_the_client_prefers() {
        const OLD: ScrapeFormat = ScrapeFormat::Text(TextFormat::Prometheus);
        const OPEN: ScrapeFormat = ScrapeFormat::Text(TextFormat::OpenMetrics);
        const FAMILY: &str = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily";
        let table = [
            ("", OLD),
            ("*/*", OLD),
            ("application/json", OLD),
            ("application/openmetrics-text", OPEN),
            ("application/openmetrics-text; version=0.0.1", OLD),
            ("application/openmetrics-text;version=1.0.0;q=0", OLD),
            ("application/openmetrics-text;version=1.0.0;q=0.4,text/plain;q=0.5", OLD),
            // Prometheus 2.42; with native histograms; 3.5 with them.
            (
                "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;\
                 q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
                OPEN,
            ),
            (
                &format!(
                    "{FAMILY};encoding=delimited,application/openmetrics-text;version=1.0.0;q=0.8,\
                     application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,\
                     */*;q=0.1"
                ),
                ScrapeFormat::Protobuf,
            ),
            (
                &format!(
                    "{FAMILY};encoding=delimited;q=0.6,application/openmetrics-text;version=1.0.0;\
                     escaping=allow-utf-8;q=0.5,text/plain;version=0.0.4;q=0.2,*/*;q=0.1"
                ),
                ScrapeFormat::Protobuf,
            ),
            (&format!("{FAMILY};encoding=\"delimited\""), ScrapeFormat::Protobuf),
            // Encodings and schemas that we do not write.
            (&format!("{FAMILY};encoding=text"), OLD),
            (FAMILY, OLD),
            ("application/vnd.google.protobuf;encoding=delimited", OLD),
            (&format!("{FAMILY};encoding=delimited;q=0"), OLD),
            (&format!("{FAMILY};encoding=delimited;q=0.3,text/plain;q=0.5"), OLD),
        ];
        for (accept, expected) in table {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT, HeaderValue::from_str(accept).unwrap());
            assert_eq!(ScrapeFormat::preferred(&headers), expected, "{accept}");
        }
    }
}
