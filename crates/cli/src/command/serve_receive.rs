//! `tally serve --statsd` and `--otlp`: what programs send becomes objects.

use std::io::Write;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use clap::Args;
use tallymon_receive::{Address, Options, ReceiveError, Receivers};

use super::nsclient::Allowed;
use crate::arguments::parse::interval;
use crate::border;
use crate::exit::{Failure, Kind};
use crate::words::say;

/// Options of receivers.
#[derive(Debug, Args)]
pub(crate) struct Receiving {
    /// Receive StatsD and DogStatsD here: what programs send becomes objects, which every reader of this
    /// machine has. An address with a port, such as 127.0.0.1:8125, or a Unix socket, such as
    /// unix:/run/statsd.sock. Repeat for several.
    #[arg(long, value_name = "ADDRESS", conflicts_with_all = NOT_WITH)]
    pub(crate) statsd: Vec<Address>,
    /// Receive metrics of OpenTelemetry here: OTLP over HTTP, as Protocol Buffers or JSON. An address with a
    /// port, such as 127.0.0.1:4318. Repeat for several.
    #[arg(long, value_name = "ADDRESS:PORT", conflicts_with_all = NOT_WITH)]
    pub(crate) otlp: Vec<SocketAddr>,
    /// Take a gauge with a sign as a number, as DogStatsD sends it. Without this it changes the gauge, as in
    /// StatsD.
    #[arg(long, requires = "statsd")]
    signed_gauges: bool,
    /// Permissions of Unix sockets, as for chmod.
    #[arg(long, value_name = "MODE", requires = "statsd", default_value = "600", value_parser = mode)]
    socket_mode: u32,
    /// How long a series stays after the last message, such as 5m.
    #[arg(long, value_name = "TIME", requires = "receivers", default_value = "5m", value_parser = interval)]
    keep: Duration,
}

/// What serves something else.
const NOT_WITH: [&str; 15] = [
    "stdio",
    "tls",
    "nsclient",
    "samba",
    "logs",
    "live",
    "open",
    "port",
    "listen",
    "uploads",
    "metrics",
    "token_file",
    "allow_control",
    "password_file",
    "client_authority",
];

fn mode(text: &str) -> Result<u32, &'static str> {
    let mode = u32::from_str_radix(text, 8).ok().filter(|mode| *mode <= 0o777);
    mode.ok_or("three digits from 0 to 7 are expected, such as 660")
}

impl Receiving {
    pub(crate) fn is_wanted(&self) -> bool {
        !self.statsd.is_empty() || !self.otlp.is_empty()
    }
}

/// Receives until `stop` is set.
pub(crate) fn run(wanted: &Receiving, allowed: &[Allowed], stop: &Arc<AtomicBool>) -> Result<(), Failure> {
    let allowed = allowed.to_vec();
    let options = Options {
        statsd: wanted.statsd.clone(),
        otlp: wanted.otlp.clone(),
        signed_gauges: wanted.signed_gauges,
        socket_mode: wanted.socket_mode,
        keep: wanted.keep,
        ..Options::default()
    };
    let options = if allowed.is_empty() {
        options
    } else {
        let allows = move |address| allowed.iter().any(|one: &Allowed| one.has(address));
        Options { allows: Some(Box::new(allows)), ..options }
    };
    let failed = |error: ReceiveError| {
        let kind = if matches!(error, ReceiveError::Exposed(_)) { Kind::Usage } else { Kind::Other };
        Failure::new(kind, error)
    };
    let receivers = Receivers::bind(options).map_err(failed)?;
    let mut out = border::stdout();
    for (kind, address) in receivers.addresses() {
        match (*kind, address) {
            ("otlp", address) => writeln!(out, "http://{address}/v1/metrics")?,
            (kind, Address::Internet(address)) => writeln!(out, "{kind}://{address}")?,
            (_, address) => writeln!(out, "{address}")?,
        }
    }
    out.flush()?;
    drop(out);
    say("what arrives is listed by 'tally list'; \\Tallymon Receiver(*)\\* counts it; Ctrl-C ends");
    receivers.run(stop).map_err(failed)
}
