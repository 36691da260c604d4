//! The arguments of `tally log`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use tallymon::record::session::Limit;

use crate::arguments::parse::{file_to_write, interval};
use crate::arguments::{NamesBy, Replacing};

#[derive(Debug, Args)]
pub(crate) struct Log {
    #[command(subcommand)]
    pub(crate) action: LogAction,
}

#[derive(Debug, Subcommand)]
pub(crate) enum LogAction {
    /// Start recording: a new session, or one that was stopped.
    Start(Start),
    /// Stop sessions, and complete their logs.
    Stop {
        /// Names of sessions.
        #[arg(required = true, value_name = "NAME")]
        names: Vec<String>,
    },
    /// List the sessions.
    List {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Show the settings of a session, what it does, and its logs.
    Show {
        /// Name of the session.
        name: String,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Change a session; one that is recording continues in a new log.
    Update(Start),
    /// Delete sessions that are not recording; their logs stay.
    Delete {
        /// Names of sessions.
        #[arg(required = true, value_name = "NAME")]
        names: Vec<String>,
    },
    /// Create a session from an exported file, or from a data collector set of Windows (XML).
    Import {
        /// The file.
        file: PathBuf,
        /// Another name for it.
        #[arg(long, value_name = "NAME")]
        name: Option<String>,
    },
    /// Write the settings of a session to a file, or to standard output.
    Export {
        /// Name of the session.
        name: String,
        /// The file.
        file: Option<PathBuf>,
        #[command(flatten)]
        replacing: Replacing,
    },
    /// Copy what a session has recorded so far into one log, which no ring removes.
    Snapshot {
        /// Name of the session.
        name: String,
        /// The log to write; beside the others by default. The extension of its name chooses the format.
        #[arg(long, short, value_name = "FILE", value_parser = file_to_write())]
        output: Option<PathBuf>,
        /// Copy the last part only, such as 10m.
        #[arg(long, value_parser = interval, value_name = "TIME")]
        last: Option<Duration>,
        #[command(flatten)]
        replacing: Replacing,
    },
    /// Record a session in this process, until stopped. 'start' runs this.
    Run {
        /// Name of the session.
        name: String,
        /// Leave the terminal.
        #[arg(long, hide = true)]
        detached: bool,
    },
    /// Windows: the service that records the sessions which start with the machine.
    #[command(hide = cfg!(not(windows)))]
    Service {
        #[command(subcommand)]
        action: ServiceCommand,
    },
}

#[derive(Debug, Clone, Copy, Subcommand)]
pub(crate) enum ServiceCommand {
    /// Install the service.
    Install,
    /// Stop and remove the service; sessions and their logs stay.
    Uninstall,
    /// Start the service, and with it the sessions that start with the machine.
    Start,
    /// Stop the service and its sessions, and complete their logs.
    Stop,
    /// Show what the service does, and how its sessions are.
    Status {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Be the service. The service manager of Windows runs this.
    #[command(hide = true)]
    Run,
}

#[derive(Debug, Args)]
pub(crate) struct Start {
    /// Name of the session; the names of its logs begin with it.
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) options: SessionOptions,
}

/// Settings of a session.
#[derive(Debug, Default, Args)]
pub(crate) struct SessionOptions {
    /// A counter path; wildcards follow instances as they come and go. Repeat it for more counters.
    #[arg(long, short, value_name = "PATH")]
    pub(crate) counter: Vec<String>,
    /// Record all objects that are not costly, with all counters and instances.
    #[arg(long, conflicts_with = "counter")]
    pub(crate) all_objects: bool,
    /// Names of processes: number (name#1; in a log it stays while the process lives) or pid (name_1234, with
    /// the process id).
    #[arg(long, value_enum, value_name = "HOW")]
    pub(crate) instances: Option<NamesBy>,
    /// Time between two records, 15 s by default.
    #[arg(long, short, value_parser = interval, value_name = "TIME")]
    pub(crate) interval: Option<Duration>,
    /// Sync the log to the disk this often, 10 s by default: what a power failure can cost.
    #[arg(long, value_parser = interval, value_name = "TIME")]
    pub(crate) sync: Option<Duration>,
    /// Folder of the logs; for a lake also s3://BUCKET/FOLDER, with the credentials of the environment.
    #[arg(long, short, value_name = "FOLDER", value_parser = file_to_write())]
    pub(crate) output: Option<PathBuf>,
    /// Format of the logs: tally (the native log, by default), blg, csv, tsv, json, sqlite or parquet; or
    /// lake: each log is put into the lake of the folder when it is complete, after an hour unless
    /// --rotate-time or --rotate-size says otherwise. With otlp the samples are sent, and no logs are written.
    #[arg(long, short, value_name = "FORMAT")]
    pub(crate) format: Option<String>,
    /// Send each sample to this receiver of OTLP over HTTP, such as http://localhost:4318, beside writing the
    /// logs. The recorder obeys the variables of OpenTelemetry, which may name the receiver of -f otlp too.
    #[arg(long, value_name = "URL")]
    pub(crate) otlp: Option<String>,
    /// Send no samples any more.
    #[arg(long, conflicts_with = "otlp")]
    pub(crate) no_otlp: bool,
    /// The most bytes of all logs together, such as 500M: the recording ends there, or a ring removes its
    /// oldest log. For a lake in object storage, the most that waits on this disk while the server is away.
    #[arg(long, value_parser = size, value_name = "SIZE")]
    pub(crate) max_size: Option<u64>,
    /// Begin a new log when one has this size, such as 50M.
    #[arg(long, value_parser = size, value_name = "SIZE")]
    pub(crate) rotate_size: Option<u64>,
    /// Begin a new log after this time, such as 10m.
    #[arg(long, value_parser = interval, value_name = "TIME")]
    pub(crate) rotate_time: Option<Duration>,
    /// Keep this many logs, as a ring: the oldest is removed.
    #[arg(long, value_name = "N")]
    pub(crate) segments: Option<u32>,
    /// End after this many records.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) samples: Option<u64>,
    /// Begin at this time, such as '2026-11-21 09:30' (local) or 2026-11-21T08:30:00Z.
    #[arg(long, value_name = "TIME")]
    pub(crate) begin: Option<String>,
    /// End at this time.
    #[arg(long, value_name = "TIME")]
    pub(crate) end: Option<String>,
    /// End after this time.
    #[arg(long, value_parser = interval, value_name = "TIME")]
    pub(crate) duration: Option<Duration>,
    /// Also start with the machine: by a unit of systemd, or by the service on Windows.
    #[arg(long)]
    pub(crate) at_boot: bool,
    /// A limit, such as '\Memory\Available MBytes < 200'. Repeat it for more. A session with nothing but
    /// limits records nothing.
    #[arg(long, value_name = "LIMIT", value_parser = limit)]
    pub(crate) alert: Vec<Limit>,
    /// An alert begins and ends when values have been on a side of the limit for this time; at once by
    /// default.
    #[arg(long = "for", value_parser = interval, value_name = "TIME")]
    pub(crate) alert_after: Option<Duration>,
    /// At an alert write an event; 'tally events' shows it.
    #[arg(long)]
    pub(crate) event: bool,
    /// When an alert begins start another session, which must exist.
    #[arg(long, value_name = "SESSION")]
    pub(crate) start: Option<String>,
    /// When an alert begins or ends run this command line; $TALLY_ALERT… say which alert.
    #[arg(long, value_name = "COMMAND")]
    pub(crate) run: Option<String>,
    /// When an alert begins or ends post JSON to this address; @FILE reads the address from a private file.
    #[arg(long, value_name = "URL")]
    pub(crate) webhook: Option<String>,
    /// A private file with the bearer token that authorizes the post.
    #[arg(long, value_name = "FILE")]
    pub(crate) webhook_token: Option<PathBuf>,
    /// When an alert begins or ends send a message to syslog: to /dev/log, or to this socket.
    #[arg(long, value_name = "SOCKET", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "/dev/log")]
    pub(crate) syslog: Option<PathBuf>,
    /// When an alert begins or ends send a message with fields to systemd's journal, or to this socket of
    /// one.
    #[arg(long, value_name = "SOCKET", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "/run/systemd/journal/socket")]
    pub(crate) journal: Option<PathBuf>,
}

/// A limit such as `PATH > 90`.
fn limit(text: &str) -> Result<Limit, String> {
    Limit::parse(text).map_err(|fault| fault.to_string())
}

/// A number of bytes such as `500M`, `1.5G`, `65536`.
pub(crate) fn size(text: &str) -> Result<u64, String> {
    let wrong = || format!("{text:?} is not a size; write it as 65536, 500K, 50M or 1G");
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let unit = match text.get(digits.len()..).unwrap_or_default().to_ascii_uppercase().as_str() {
        "" | "B" => 1.0,
        "K" | "KB" | "KIB" => 1024.0,
        "M" | "MB" | "MIB" => 1024.0 * 1024.0,
        "G" | "GB" | "GIB" => 1024.0 * 1024.0 * 1024.0,
        _ => return Err(wrong()),
    };
    let bytes = digits.parse::<f64>().map_err(|_| wrong())? * unit;
    // Up to 2^53 every whole number is a double.
    if (1.0..=9.0e15).contains(&bytes) { Ok(bytes as u64) } else { Err(wrong()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        for (text, bytes) in [("65536", 65536), ("500k", 512_000), ("1.5M", 1_572_864), ("2GB", 2 << 30)] {
            assert_eq!(size(text), Ok(bytes), "{text}");
        }
        for text in ["", "M", "-1", "0", "1T", "1e300G", "nan"] {
            assert!(size(text).is_err(), "{text}");
        }
    }
}
