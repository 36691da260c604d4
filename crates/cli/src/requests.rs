//! Rows as requests to receivers of metrics: what `tally push` and sessions that send have in common.

use std::io;
use std::time::Duration;

use tallymon::core::flow::{Column, Row, Sink};
use tallymon::core::time::FileTime;
use tallymon::{LiveRows, Query};
use tallymon_export::influx;
use tallymon_export::otlp::Otlp;
use tallymon_export::profile::Profile;
use tallymon_export::remote_write::RemoteWrite;
use tallymon_export::series::{Family, families};
use tallymon_export::top::TopInstances;
use tallymon_push::otel::{DEFAULT_ADDRESS, METRICS_PATH, Settings};
use tallymon_push::{Encoding, Endpoint, EndpointError, Item, Protocol, Tls};

use crate::exit::{Failure, Kind};
use crate::words::say;

/// Where samples go, and how.
pub(crate) struct Target {
    pub(crate) endpoint: Endpoint,
    pub(crate) protocol: Protocol,
    pub(crate) encoding: Encoding,
    pub(crate) interval: Duration,
    pub(crate) writer: Writer,
}

/// Writes rows as requests.
pub(crate) enum Writer {
    Otlp(Otlp),
    RemoteWrite(RemoteWrite),
    Influx,
}

/// The metrics of rows.
pub(crate) struct Metrics {
    host: String,
    profile: Profile,
    families: Vec<Family>,
    /// Reduces rows to the largest processes, and the columns of the last one.
    top: Option<(TopInstances, Vec<Column>)>,
}

impl Metrics {
    /// Metrics of a host with the names of a profile; `top` is how many processes are not summed.
    pub(crate) fn new(host: &str, profile: Profile, top: Option<u16>) -> Metrics {
        let top = top.map(|most| (TopInstances::new(usize::from(most)), Vec::new()));
        Metrics { host: host.to_owned(), profile, families: Vec::new(), top }
    }

    pub(crate) fn columns(&mut self, columns: &[Column]) {
        match &mut self.top {
            Some((top, _)) => top.columns(columns),
            None => self.families = families(columns, &self.host, self.profile),
        }
    }

    /// Writes a row.
    pub(crate) fn row<R>(&mut self, row: &Row<'_>, write: impl FnOnce(&[Family], &Row<'_>) -> R) -> R {
        let Some((top, last)) = &mut self.top else { return write(&self.families, row) };
        let (columns, cells) = top.row(row);
        if columns != *last {
            self.families = families(&columns, &self.host, self.profile);
            *last = columns;
        }
        write(&self.families, &Row { cells: &cells, ..*row })
    }
}

/// Makes requests of the samples of a query.
pub(crate) struct Requests {
    rows: LiveRows,
    sink: RequestSink,
    encoding: Encoding,
}

/// A sink whose row becomes a request.
struct RequestSink {
    metrics: Metrics,
    writer: Writer,
    /// The request of the last row, its time in milliseconds since 1970, and how many points it has.
    request: Option<(Vec<u8>, u64, u64)>,
}

impl Requests {
    pub(crate) fn new(metrics: Metrics, writer: Writer, encoding: Encoding) -> Requests {
        let rows = LiveRows::changing(&metrics.host);
        Requests { rows, sink: RequestSink { metrics, writer, request: None }, encoding }
    }

    /// The request of the newest sample of a query, which was taken at `time`; `None` if it has no point.
    pub(crate) fn of_sample(&mut self, query: &Query, time: FileTime) -> io::Result<Option<Item>> {
        self.rows.write(time, 0, query, &mut self.sink)?;
        let request = self.sink.request.take().filter(|(_, _, points)| *points > 0);
        request.map(|(body, time, _)| self.encoding.item(time, body)).transpose()
    }
}

impl Sink for RequestSink {
    type Error = io::Error;

    fn columns(&mut self, columns: &[Column]) -> io::Result<()> {
        self.metrics.columns(columns);
        Ok(())
    }

    fn row(&mut self, row: &Row<'_>) -> io::Result<()> {
        let host = self.metrics.host.clone();
        let writer = &mut self.writer;
        let (body, points) = self.metrics.row(row, |families, row| match writer {
            Writer::Otlp(writer) => writer.request(families, row),
            Writer::RemoteWrite(writer) => writer.request(families, row),
            Writer::Influx => {
                let (lines, count) = influx::lines(families, row, &host);
                (lines.into_bytes(), count)
            }
        });
        let time = u64::try_from(row.time.unix_nanoseconds() / 1_000_000).unwrap_or(0);
        self.request = Some((body, time, points));
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A receiver of OTLP: what the variables of OpenTelemetry say, and `address` and `interval` before them.
/// `options` are those that name a receiver, for the error.
pub(crate) fn otlp(
    address: Option<&str>,
    interval: Option<Duration>,
    host: &str,
    mut tls: Tls,
    options: &str,
) -> Result<Target, Failure> {
    let usage = |error: EndpointError| Failure::new(Kind::Usage, error);
    let settings = Settings::read(|name| std::env::var(name).ok());
    settings.warnings.iter().for_each(say);
    if let Some(name) = &settings.grpc {
        let words = format!(
            "{name}: OTLP over gRPC is not spoken here; set it to http/protobuf, and the receiver's port to that \
             of HTTP, usually 4318"
        );
        // An address of the environment is one for gRPC.
        if address.is_none() && settings.address.is_some() {
            return Err(Failure::new(Kind::Usage, format!("{words}, or add {options}")));
        }
        say(words);
    }
    let (address, usual_path) = match (address, &settings.address) {
        (Some(address), _) => (address, METRICS_PATH),
        (None, Some(address)) => (address.as_str(), "/"),
        (None, None) => {
            let words = format!(
                "no receiver is named; add {options}, or set OTEL_EXPORTER_OTLP_ENDPOINT (OpenTelemetry's \
                 default is {DEFAULT_ADDRESS})"
            );
            return Err(Failure::new(Kind::Usage, words));
        }
    };
    tls.certificate = tls.certificate.or(settings.tls.certificate);
    tls.client = settings.tls.client;
    let mut endpoint = Endpoint::new(address, usual_path, &tls).map_err(usage)?;
    endpoint.set_timeout(settings.timeout);
    for (name, value) in &settings.headers {
        endpoint.add_header(name, value).map_err(usage)?;
    }
    let mut resource = settings.resource;
    for (key, value) in [("service.name", "tallymon"), ("host.name", host)] {
        if !resource.iter().any(|(known, _)| known == key) {
            resource.push((key.to_owned(), value.to_owned()));
        }
    }
    Ok(Target {
        endpoint,
        protocol: Protocol::Otlp,
        encoding: if settings.gzip { Encoding::Gzip } else { Encoding::Identity },
        interval: interval.unwrap_or(settings.interval),
        writer: Writer::Otlp(Otlp::new(resource, settings.temporality)),
    })
}
