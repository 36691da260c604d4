//! `tally push`: raw values to a receiver of metrics, at an interval.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs, UdpSocket};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use clap::Args;
use tallymon::core::flow::{Column, Row, Sink};
use tallymon::registry::{Roots, Scope};
use tallymon::{LiveRows, Query};
use tallymon_export::profile::Profile;
use tallymon_export::remote_write::RemoteWrite;
use tallymon_export::statsd::Statsd;
use tallymon_provider::trust::check_path;
use tallymon_push::{Encoding, Endpoint, EndpointError, Event, Protocol, Queue, QueueError, Sender, Tls};

use crate::arguments::Common;
use crate::arguments::parse::{interval, profile_names};
use crate::exit::{Failure, Kind};
use crate::missing_values::missing_samples;
use crate::paths;
use crate::requests::{Metrics, Requests, Target, Writer, otlp};
use crate::stop::{Stop, Ticks};
use crate::words::say;

/// Time between two samples where no variable says another.
const INTERVAL: Duration = Duration::from_secs(15);
/// Bytes of a packet that fit through every Ethernet.
const PACKET: usize = 1432;
/// The longest name of a folder for what waits.
const LONGEST_NAME: usize = 200;

#[derive(Debug, Args)]
pub(crate) struct Push {
    /// Counter paths. Instance and counter may contain wildcards; new instances are added as they appear.
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<String>,
    /// Send to a receiver of OTLP over HTTP, such as http://localhost:4318. OTEL_EXPORTER_OTLP_ENDPOINT names
    /// it too, and the other variables of OpenTelemetry are obeyed.
    #[arg(long, value_name = "URL", conflicts_with = "remote_write", help_heading = "Receiver")]
    otlp: Option<String>,
    /// Send to a receiver of Prometheus' remote write 1.0, such as http://localhost:9090/api/v1/write.
    #[arg(long, value_name = "URL", help_heading = "Receiver")]
    remote_write: Option<String>,
    /// Send lines to InfluxDB's write interface of version 1, such as http://localhost:8086/write?db=metrics.
    #[arg(long, value_name = "URL", conflicts_with_all = ["otlp", "remote_write"])]
    #[arg(help_heading = "Receiver")]
    influx: Option<String>,
    /// Send packets of StatsD over UDP. Nobody acknowledges them, so that nothing waits on disk.
    #[arg(long, value_name = "HOST:PORT", conflicts_with_all = ["otlp", "remote_write", "influx"])]
    #[arg(help_heading = "Receiver")]
    statsd: Option<String>,
    /// Add a header to every request. Repeat for several.
    #[arg(long, value_name = "NAME: VALUE", help_heading = "Receiver")]
    header: Vec<String>,
    /// Trust the certificates in this PEM file instead of those of the system.
    #[arg(long, value_name = "FILE", help_heading = "Receiver")]
    certificate: Option<PathBuf>,
    /// Names of metrics: ours, or those of another collector for the counters that it has.
    #[arg(long, value_parser = profile_names(), default_value = "nt", value_name = "PROFILE")]
    metric_names: Profile,
    /// Send the N largest processes or threads of an object, by the first of its counters, and the sum of all
    /// others as the instance _Other.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=10_000))]
    top: Option<u16>,
    /// Time between samples, such as 500ms, 2s, 1m or 00:00:05; 15s by default, for OTLP what
    /// OTEL_METRIC_EXPORT_INTERVAL says, else 60s.
    #[arg(long, short, value_parser = interval, value_name = "TIME")]
    interval: Option<Duration>,
    /// Stop after this many samples.
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,
    /// Folder for samples that the receiver has not taken yet. Default: a folder for each receiver in the
    /// state folder of the user.
    #[arg(long, value_name = "FOLDER", help_heading = "Queue")]
    queue: Option<PathBuf>,
    /// How much may wait, in MiB. Beyond it the oldest samples are dropped.
    #[arg(long, value_name = "MIB", default_value_t = 256, help_heading = "Queue")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    queue_size: u32,
    /// How long to send at the end, before the rest waits for the next start.
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = interval, help_heading = "Queue")]
    wait: Duration,
}

pub(crate) fn run(common: &Common, push: &Push) -> Result<(), Failure> {
    if common.file.is_some() {
        let words =
            "a saved data block does not change; 'tally get --openmetrics --file FILE PATH' exports it";
        return Err(Failure::new(Kind::Usage, words));
    }
    let mut query = paths::query(common)?;
    if let Some(address) = &push.statsd {
        return send_packets(push, address, &mut query);
    }
    let target = target(push, query.system_name())?;
    let (handles, bad_path) = paths::add_good(&mut query, &push.paths)?;
    let folder = folder(push, &target)?;
    // Root's variables may lead into a folder of a user, who could lead on to any other one.
    check_path(&folder).map_err(|untrusted| Failure::new(Kind::AccessDenied, untrusted))?;
    let queue = Queue::open(&folder, u64::from(push.queue_size) << 20).map_err(unusable)?;
    if !queue.is_empty() {
        say(format_args!("{} samples of an earlier run wait and are sent first", queue.len()));
    }
    let stop = Stop::on_signals()?;
    let is_refused = Arc::new(AtomicBool::new(false));
    let refused = Arc::clone(&is_refused);
    let waiting_folder = queue.folder().to_owned();
    let report = move |event: Event| {
        let is_lost = match &event {
            Event::Refused(_) | Event::Dropped(_) => true,
            Event::Partial(partial) => partial.rejected > 0,
            _ => false,
        };
        if is_lost {
            refused.store(true, Ordering::Relaxed);
        }
        say(event);
    };
    let sender = Sender::start(queue, target.endpoint, target.protocol, report)
        .map_err(|error| Failure::new(Kind::Other, format_args!("a thread that sends: {error}")))?;
    let metrics = Metrics::new(query.system_name(), push.metric_names, push.top);
    let mut requests = Requests::new(metrics, target.writer, target.encoding);
    let mut ticks = Ticks::start(target.interval);
    let (mut done, mut trouble) = (0u64, None);
    loop {
        let failed = sample(&mut query, &mut requests, &sender).err();
        if failed.is_some() && failed != trouble {
            failed.iter().for_each(say);
        }
        trouble = failed;
        if done == 0 {
            // Said once: a path that has no value now may have one later, so it is no failure.
            let _ = missing_samples(&query, &handles, true);
        }
        done = done.saturating_add(1);
        if push.count.is_some_and(|count| done >= count) || !stop.wait_until(ticks.next()) {
            break;
        }
        query.add_awaited();
    }
    let left = sender.finish(push.wait);
    if left > 0 {
        let words = format!(
            "{left} samples were not taken and wait in {}; the next 'tally push' to the same \
             receiver sends them",
            waiting_folder.display()
        );
        return Err(Failure::new(Kind::Unreachable, words));
    }
    if is_refused.load(Ordering::Relaxed) {
        return Err(Failure::silent(Kind::Other));
    }
    bad_path.map_or(Ok(()), Err)
}

/// A sink whose row becomes packets of StatsD.
struct Packets {
    metrics: Metrics,
    writer: Statsd,
    socket: UdpSocket,
    /// How many packets the system did not send, and why not.
    lost: Option<(u64, io::Error)>,
}

impl Sink for Packets {
    type Error = io::Error;

    fn columns(&mut self, columns: &[Column]) -> io::Result<()> {
        self.metrics.columns(columns);
        Ok(())
    }

    fn row(&mut self, row: &Row<'_>) -> io::Result<()> {
        let writer = &mut self.writer;
        for packet in self.metrics.row(row, |families, row| writer.packets(families, row)) {
            if let Err(error) = self.socket.send(packet.as_bytes()) {
                let before = self.lost.take().map_or(0, |(count, _)| count);
                self.lost = Some((before.saturating_add(1), error));
            }
        }
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Sends packets of StatsD until stopped.
fn send_packets(push: &Push, address: &str, query: &mut Query) -> Result<(), Failure> {
    let unreachable = |error: io::Error| Failure::new(Kind::Unreachable, format_args!("{address}: {error}"));
    let all: Vec<SocketAddr> = address.to_socket_addrs().map_err(unreachable)?.collect();
    let to = all.first().ok_or_else(|| {
        Failure::new(Kind::Unreachable, format_args!("{address}: this host has no address"))
    })?;
    let from: SocketAddr = match to.ip() {
        IpAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        IpAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
    };
    let socket = UdpSocket::bind(from).map_err(unreachable)?;
    socket.connect(to).map_err(unreachable)?;
    let (handles, bad_path) = paths::add_good(query, &push.paths)?;
    let stop = Stop::on_signals()?;
    let host = query.system_name().to_owned();
    let mut rows = LiveRows::changing(&host);
    let writer = Statsd::new(PACKET);
    let mut sink =
        Packets { metrics: Metrics::new(&host, push.metric_names, push.top), writer, socket, lost: None };
    let mut ticks = Ticks::start(push.interval.unwrap_or(INTERVAL));
    let (mut done, mut is_lost) = (0u64, false);
    loop {
        match query.collect() {
            Ok(time) => rows.write(time, 0, &*query, &mut sink).map_err(unreachable)?,
            Err(error) => say(format_args!("no sample: {error}")),
        }
        let lost = sink.lost.take();
        if let Some((count, error)) = lost.as_ref().filter(|_| !is_lost) {
            say(format_args!("{address}: {count} packets were lost: {error}"));
        }
        is_lost = lost.is_some();
        if done == 0 {
            let _ = missing_samples(query, &handles, true);
        }
        done = done.saturating_add(1);
        if push.count.is_some_and(|count| done >= count) || !stop.wait_until(ticks.next()) {
            return bad_path.map_or(Ok(()), Err);
        }
        query.add_awaited();
    }
}

/// Takes a sample and queues it; the words of a failure are for people.
fn sample(query: &mut Query, requests: &mut Requests, sender: &Sender) -> Result<(), String> {
    let time = query.collect().map_err(|error| format!("no sample: {error}"))?;
    let request = requests.of_sample(query, time);
    let request = request.map_err(|error| format!("a sample cannot be written as a request: {error}"))?;
    request.into_iter().for_each(|item| sender.put(item));
    Ok(())
}

fn target(push: &Push, host: &str) -> Result<Target, Failure> {
    let usage = |error: EndpointError| Failure::new(Kind::Usage, error);
    let tls = Tls { certificate: push.certificate.clone(), client: None };
    let mut target = if let Some(address) = &push.remote_write {
        Target {
            endpoint: Endpoint::new(address, "/api/v1/write", &tls).map_err(usage)?,
            protocol: Protocol::RemoteWrite,
            encoding: Encoding::Snappy,
            interval: push.interval.unwrap_or(INTERVAL),
            writer: Writer::RemoteWrite(RemoteWrite::new("tally", host)),
        }
    } else if let Some(address) = &push.influx {
        if !address.contains("db=") {
            let words = "--influx: the database is missing; add '?db=NAME' to the address";
            return Err(Failure::new(Kind::Usage, words));
        }
        Target {
            endpoint: Endpoint::new(address, "/write", &tls).map_err(usage)?,
            protocol: Protocol::Influx,
            encoding: Encoding::Gzip,
            interval: push.interval.unwrap_or(INTERVAL),
            writer: Writer::Influx,
        }
    } else {
        let options = "--otlp, --remote-write, --influx or --statsd";
        otlp(push.otlp.as_deref(), push.interval, host, tls, options)?
    };
    for header in &push.header {
        let Some((name, value)) = header.split_once(':') else {
            let words = format!("--header {header:?}: write it as 'NAME: VALUE'");
            return Err(Failure::new(Kind::Usage, words));
        };
        target.endpoint.add_header(name.trim(), value.trim()).map_err(usage)?;
    }
    Ok(target)
}

/// The folder for what waits.
fn folder(push: &Push, target: &Target) -> Result<PathBuf, Failure> {
    if let Some(folder) = &push.queue {
        return Ok(folder.clone());
    }
    let roots = Roots::of_environment();
    let state = roots.folder(Scope::User).map(|registry| registry.with_file_name("push")).ok_or_else(|| {
        let words = "there is no home folder for samples that wait; set HOME or XDG_STATE_HOME, or name a \
                     folder with --queue";
        Failure::new(Kind::Other, words)
    })?;
    // Two addresses never share a name.
    let plain = |letter: char| letter.is_ascii_alphanumeric() || ".-".contains(letter);
    let mut name = String::new();
    for letter in target.endpoint.address().chars() {
        if plain(letter) {
            name.push(letter);
        } else {
            name.push_str(&format!("_{:x}_", u32::from(letter)));
        }
    }
    if name.len() > LONGEST_NAME {
        let words = "the address is too long for the name of a folder; name one with --queue";
        return Err(Failure::new(Kind::Usage, words));
    }
    Ok(state.join(name))
}

fn unusable(error: QueueError) -> Failure {
    let kind = match &error {
        QueueError::Io(_, error) if error.kind() == io::ErrorKind::PermissionDenied => Kind::AccessDenied,
        _ => Kind::Other,
    };
    Failure::new(kind, error)
}
