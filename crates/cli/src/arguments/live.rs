//! Arguments of the commands that show values, names and texts of this machine or of a log.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use tallymon_export::check::Range;
use tallymon_export::profile::Profile;
use tallymon_monitor::chart::Glyphs;

use super::parse::{file_to_write, glyphs, interval, profile_names};
use super::reading::{AtTime, NamesBy, Naming, OfLog, Playback, Reading, TimeChoice};
use super::writing::{FormatOptions, Replacing};
use crate::fleet::FleetOptions;

#[derive(Debug, Default, Args)]
pub(crate) struct Mon {
    /// Counter paths to show first, or performance logs (as with --log).
    #[arg(value_name = "PATH|LOG")]
    pub(crate) paths: Vec<String>,
    /// Time between samples, such as 500ms, 2s, 1m or 00:00:05.
    #[arg(long, short, value_parser = interval, value_name = "TIME")]
    pub(crate) interval: Option<Duration>,
    /// Show a performance log of any format instead of live values. Repeat for several logs on one time axis.
    #[arg(long, short, value_name = "FILE", conflicts_with = "file", help_heading = "Reading logs")]
    pub(crate) log: Vec<PathBuf>,
    /// Load counters and view from a settings file saved by the monitor (.tallymon), or from a view that
    /// Windows' Performance Monitor saved (HTML); of a data collector set (XML), the counters.
    #[arg(long, short, value_name = "FILE")]
    pub(crate) settings: Option<PathBuf>,
    /// Begin with the chart. Without counters and settings, the monitor begins with the overview.
    #[arg(long)]
    pub(crate) chart: bool,
    /// Characters to draw charts with: braille, octant or ascii. The default suits the terminal.
    #[arg(long, value_parser = glyphs, value_name = "NAME")]
    pub(crate) glyphs: Option<Glyphs>,
    /// Do not record the top processes of each sample. Spikes are then shown without their cause.
    #[arg(long)]
    pub(crate) no_top: bool,
    /// Memory for history in MiB, 64 by default; the oldest samples are dropped when it is full.
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) memory: Option<u16>,
    #[command(flatten)]
    pub(crate) fleet: FleetOptions,
    #[command(flatten)]
    pub(crate) naming: Naming,
    #[command(flatten)]
    pub(crate) range: TimeChoice,
    #[command(flatten)]
    pub(crate) time: AtTime,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

#[derive(Debug, Args)]
pub(crate) struct Get {
    /// Counter paths. Instance and counter may contain wildcards.
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<String>,
    /// Time between the two samples that a rate needs, such as 500ms, 2s, 1m or 00:00:05.
    #[arg(long, short, default_value = "1s", value_parser = interval, value_name = "TIME")]
    pub(crate) interval: Duration,
    /// Show error bounds of rates and percentages (from read time and counter resolution), and why values are
    /// old.
    #[arg(long, short)]
    pub(crate) verbose: bool,
    /// Print raw values for Prometheus and other engines, in the format OpenMetrics 1.0.
    #[arg(long, conflicts_with_all = ["form", "prometheus"], help_heading = "Output")]
    pub(crate) openmetrics: bool,
    /// Print raw values in Prometheus' text format 0.0.4, as the textfile collector of node_exporter reads
    /// it.
    #[arg(long, conflicts_with = "form", help_heading = "Output")]
    pub(crate) prometheus: bool,
    /// Names of metrics: ours, or those of another collector for the counters that it has.
    #[arg(long, value_parser = profile_names(), default_value = "nt", value_name = "PROFILE")]
    #[arg(help_heading = "Output")]
    pub(crate) metric_names: Profile,
    #[command(flatten)]
    pub(crate) naming: Naming,
    #[command(flatten)]
    pub(crate) of_log: OfLog,
    #[command(flatten)]
    pub(crate) time: AtTime,
    #[command(flatten)]
    pub(crate) fleet: FleetOptions,
    #[command(flatten)]
    pub(crate) format: FormatOptions,
}

#[derive(Debug, Args)]
pub(crate) struct Watch {
    /// Counter paths. Instance and counter may contain wildcards; new instances are added as they appear.
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<String>,
    /// Time between samples, such as 500ms, 2s, 1m or 00:00:05; 1s by default. With --log: the least time
    /// between two records; every record by default.
    #[arg(long, short, value_parser = interval, value_name = "TIME")]
    pub(crate) interval: Option<Duration>,
    /// Stop after this many rows.
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) count: Option<u64>,
    /// Print the N instances with the largest values of the first counter, each in a line of its own.
    #[arg(long, value_name = "N", conflicts_with_all = ["form", "output"], help_heading = "Output")]
    pub(crate) top: Option<NonZeroUsize>,
    /// Print short numbers with units: 23.5 GiB, 460 B/s, 1.2 ms.
    #[arg(long, conflicts_with_all = ["form", "output"], help_heading = "Output")]
    pub(crate) human: bool,
    /// Record into this file instead of printing. Rates of the first row are blank, because they need two
    /// samples. All formats but csv and tsv add columns for instances that appear later.
    #[arg(long, short, value_name = "FILE", value_parser = file_to_write(),
        conflicts_with_all = ["form", "file", "log"], help_heading = "Output")]
    pub(crate) output: Option<PathBuf>,
    /// Format of --output: tally (native), csv, tsv, json, blg, sqlite or parquet. Default: by file name,
    /// else tally.
    #[arg(long, short = 'f', value_name = "FORMAT", requires = "output", help_heading = "Output")]
    pub(crate) log_format: Option<String>,
    #[command(flatten)]
    pub(crate) naming: Naming,
    #[command(flatten)]
    pub(crate) replacing: Replacing,
    #[command(flatten)]
    pub(crate) of_log: OfLog,
    #[command(flatten)]
    pub(crate) range: TimeChoice,
    #[command(flatten)]
    pub(crate) playback: Playback,
    #[command(flatten)]
    pub(crate) fleet: FleetOptions,
    #[command(flatten)]
    pub(crate) format: FormatOptions,
}

#[derive(Debug, Args)]
pub(crate) struct Stat {
    /// The report.
    #[arg(value_enum, value_name = "REPORT")]
    pub(crate) report: StatReport,
    /// Time between two lines, such as 1, 500ms or 1m. Without it: one line of a second. With --log: the
    /// least time between two records; every record by default.
    #[arg(value_parser = interval, value_name = "INTERVAL")]
    pub(crate) interval: Option<Duration>,
    /// Stop after this many lines, and print their mean.
    #[arg(value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) count: Option<u64>,
    /// Print every processor, and the sums of disks.
    #[arg(long, short)]
    pub(crate) all: bool,
    /// How many processes to print; 10 by default.
    #[arg(long, short = 'n', value_name = "N")]
    pub(crate) top: Option<usize>,
    #[command(flatten)]
    pub(crate) of_log: OfLog,
    #[command(flatten)]
    pub(crate) range: TimeChoice,
}

/// A report by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum StatReport {
    /// Processors: user, kernel, interrupts, idle (sar -u).
    Cpu,
    /// Memory: available, used, committed, paging (sar -r).
    Mem,
    /// Disks: transfers, bytes, queue, latency, busy (sar -d).
    Disk,
    /// Network interfaces: packets and bytes in and out (sar -n DEV).
    Net,
    /// The largest processes: processor time, memory, I/O (pidstat).
    Proc,
}

#[derive(Debug, Args)]
pub(crate) struct Top {
    /// Print this many processes once, instead of opening the monitor.
    #[arg(long, short = 'n', value_name = "N")]
    pub(crate) number: Option<usize>,
    /// Print once, also on a terminal.
    #[arg(long, short = '1')]
    pub(crate) once: bool,
    /// Time between two samples, such as 500ms or 2s; 1s by default.
    #[arg(long, short, value_parser = interval, value_name = "TIME")]
    pub(crate) interval: Option<Duration>,
}

#[derive(Debug, Args)]
pub(crate) struct List {
    /// Object to list, by name in any language or by index. Without it, list all objects.
    #[arg(value_name = "OBJECT")]
    pub(crate) object: Option<String>,
    /// List the object's current instances instead of its counters; with =pid, processes as name_1234.
    #[arg(long, requires = "object", value_enum, value_name = "HOW", num_args = 0..=1, require_equals = true,
        default_missing_value = "number")]
    pub(crate) instances: Option<NamesBy>,
    #[command(flatten)]
    pub(crate) of_log: OfLog,
    #[command(flatten)]
    pub(crate) time: AtTime,
    /// Print JSON.
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

impl List {
    /// How processes are named.
    pub(crate) fn naming(&self) -> Naming {
        Naming { by: self.instances.unwrap_or_default() }
    }
}

/// Arguments of `tally browse`.
#[derive(Debug, Args)]
pub(crate) struct Browse {
    /// Counter path to select first.
    #[arg(value_name = "PATH")]
    pub(crate) path: Option<String>,
    /// Close the dialog after the first choice.
    #[arg(long, short = '1')]
    pub(crate) one: bool,
    /// Choose among the counters of a performance log of any format. Repeat for several logs.
    #[arg(long, short, value_name = "FILE", conflicts_with = "file", help_heading = "Reading logs")]
    pub(crate) log: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

#[derive(Debug, Args)]
pub(crate) struct Find {
    /// Words to look for. Each must occur in the object's name, the counter's name or its help text.
    #[arg(required = true, value_name = "TEXT")]
    pub(crate) words: Vec<String>,
    #[command(flatten)]
    pub(crate) of_log: OfLog,
    /// Print JSON.
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Explain {
    /// Counter path to explain.
    #[arg(value_name = "PATH")]
    pub(crate) path: String,
    /// Time between the two samples that a rate needs.
    #[arg(long, short, default_value = "1s", value_parser = interval, value_name = "TIME")]
    pub(crate) interval: Duration,
    #[command(flatten)]
    pub(crate) of_log: OfLog,
    #[command(flatten)]
    pub(crate) time: AtTime,
    /// Print JSON.
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Dump {
    /// A query such as Global, Costly, '238 230' or 'Counter 009', or the file of a saved data block.
    #[arg(default_value = "Global", value_name = "QUERY|FILE")]
    pub(crate) what: String,
    /// Save the raw bytes of the block to this file instead of printing its fields.
    #[arg(long, value_name = "FILE", value_parser = file_to_write())]
    pub(crate) raw: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) replacing: Replacing,
}

#[derive(Debug, Args)]
pub(crate) struct Doctor {
    /// List everything that works, too.
    #[arg(long, short)]
    pub(crate) verbose: bool,
    /// Print JSON.
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
    /// Give this program file the rights (capabilities) that let it read everything, after a question. Needs
    /// root.
    #[arg(long, conflicts_with_all = ["json", "verbose", "revoke"], help_heading = "Rights")]
    pub(crate) grant: bool,
    /// Take the rights of --grant away from this program file.
    #[arg(long, conflicts_with_all = ["json", "verbose"], help_heading = "Rights")]
    pub(crate) revoke: bool,
    /// Give or take rights without asking.
    #[arg(long, short, help_heading = "Rights")]
    pub(crate) yes: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Events {
    /// Show only the last N events.
    #[arg(long, short, value_name = "N")]
    pub(crate) last: Option<usize>,
    /// Show only the events of this service.
    #[arg(long, value_name = "SERVICE")]
    pub(crate) provider: Option<String>,
    /// Keep printing new events until stopped.
    #[arg(long, short)]
    pub(crate) follow: bool,
    /// Print one JSON object per event.
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

/// Arguments of `tally check`.
#[derive(Debug, Args)]
pub(crate) struct Check {
    /// Counter paths. Instance and counter may contain wildcards; the worst value decides.
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<String>,
    /// Range without a warning: 10 (0 to 10), 10: (10 and more), ~:10 (10 and less), 10:20, or @10:20 (a
    /// warning inside of it). Once for all paths, or once for each.
    #[arg(long, short, value_name = "RANGE", allow_hyphen_values = true)]
    pub(crate) warning: Vec<Range>,
    /// Range without an error, written as for --warning.
    #[arg(long, short, value_name = "RANGE", allow_hyphen_values = true)]
    pub(crate) critical: Vec<Range>,
    /// Time between the two samples that a rate needs, when no earlier call left one.
    #[arg(long, short, default_value = "1s", value_parser = interval, value_name = "TIME")]
    pub(crate) interval: Duration,
    /// Take rates since the call before, if that was not longer ago than this. Its samples are kept in a file
    /// of the user.
    #[arg(long, value_parser = interval, value_name = "TIME")]
    pub(crate) since_last: Option<Duration>,
}
