//! The command line: commands, arguments, options and their help texts.

use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use tallymon::core::counter::Digits;
use tallymon::log::new_file::Overwrite;
use tallymon::{NameForm, Profile, TierChoice};
use tallymon_monitor::chart::Glyphs;

mod examples;
pub(crate) mod parse;
mod provider;

use parse::{digits, glyphs, interval, names, speed};
pub(crate) use provider::*;

const AFTER_HELP: &str = r"Examples:
  tally get '\Processor(_Total)\% Processor Time'
  tally watch '//./Process(*)/Working Set' --interval 5s --csv > sizes.csv
  tally explain '\PhysicalDisk(*)\% Idle Time'

Without a command, tally opens the monitor on a terminal; in a pipe or a
script it prints one report of the usual counters.

A counter path is \Object(instance)\Counter. Put it in single quotes, because
the shell removes backslashes, or use slashes: '//host/Object(instance)/Counter'.
Names may be English, in any language of --lang, or numbers: '\238(_Total)\6'.

Exit codes: 0 ok, 1 error, 2 usage, 3 not found, 4 no value, 5 access denied,
6 unreachable, 7 damaged file, 8 findings.";

/// Windows performance counters, everywhere.
#[derive(Debug, Parser)]
#[command(name = "tally", version, after_help = AFTER_HELP)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) common: Common,
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

/// Options of every command.
#[derive(Debug, Default, Clone, Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct Common {
    /// Language of names and help texts: en, ko, ja, ru, or a Windows code such as 012.
    #[arg(long, global = true, env = "TALLY_LANG", hide_env = true, value_name = "LANGUAGE")]
    pub(crate) lang: Option<String>,
    /// Names of counters in Korean and Japanese: nt (English, as Windows shows them) or translated. Paths may
    /// always have either.
    #[arg(long = "names", global = true, env = NameForm::VARIABLE, hide_env = true, value_parser = names,
        value_name = "FORM")]
    pub(crate) name_form: Option<NameForm>,
    /// Read a data block that 'tally dump --raw' saved, instead of the running system.
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// How to read processes, CPUs and network protocols: t0 (/proc), t2 (eBPF) or auto; see 'tally doctor'.
    #[arg(long, global = true, env = TierChoice::VARIABLE, hide_env = true, value_name = "TIER")]
    pub(crate) tier: Option<TierChoice>,
    /// Which objects to show: linux-honest (those with a source on Linux) or nt-strict (all of NT).
    #[arg(long, global = true, env = Profile::VARIABLE, hide_env = true, value_name = "PROFILE")]
    pub(crate) profile: Option<Profile>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Open the monitor: live charts, tables and reports; '?' shows the keys.
    #[command(after_help = examples::MON)]
    Mon(Mon),
    /// Print the values of counters once.
    #[command(after_help = examples::GET)]
    Get(Get),
    /// Print or record the values of counters repeatedly, until stopped.
    #[command(after_help = examples::WATCH)]
    Watch(Watch),
    /// Print an everyday report: cpu, mem, disk, net or proc; live or from a log.
    #[command(after_help = examples::STAT)]
    Stat(Stat),
    /// Show the busiest processes: on the whole terminal, or once.
    #[command(after_help = examples::TOP)]
    Top(Top),
    /// List objects, or the counters or instances of one object.
    #[command(after_help = examples::LIST)]
    List(List),
    /// Find counters by words in their names and help texts, in every language.
    #[command(after_help = examples::FIND)]
    Find(Find),
    /// Choose counters in a dialog and print their paths.
    #[command(after_help = examples::BROWSE)]
    Browse(Browse),
    /// Explain a counter: its meaning, its formula, and its current raw values.
    #[command(after_help = examples::EXPLAIN)]
    Explain(Explain),
    /// Print every field of a data block, from a query or from a file.
    #[command(after_help = examples::DUMP)]
    Dump(Dump),
    /// Convert performance logs, or copy a selection of counters and times.
    #[command(after_help = examples::RELOG)]
    Relog(Relog),
    /// Summarize a performance log: format, times, hosts, counters, damage.
    #[command(after_help = examples::INFO)]
    Info(Info),
    /// Print statistics for each counter of performance logs.
    #[command(after_help = examples::STATS)]
    Stats(Stats),
    /// Show which counters differ most between two performance logs.
    #[command(after_help = examples::COMPARE)]
    Compare(Compare),
    /// Say what is wrong in performance logs: what, when, how much, and who caused it.
    #[command(after_help = examples::ANALYZE)]
    Analyze(crate::command::analyze::arguments::Analyze),
    /// Say what was unusual at one moment of a performance log, and who was busiest.
    #[command(after_help = examples::WHY)]
    Why(crate::command::analyze::arguments::Why),
    /// Manage background recording sessions: start, stop, list, snapshot.
    #[command(after_help = examples::LOG)]
    Log(crate::command::log::arguments::Log),
    /// Profile .NET programs: exact call counts, times and call trees.
    #[command(after_help = examples::PROF)]
    Prof(crate::command::prof::arguments::Prof),
    /// Report what does not work on this machine, and how to fix it.
    #[command(after_help = examples::DOCTOR)]
    Doctor(Doctor),
    /// Show the event log of counter providers and name changes.
    #[command(after_help = examples::EVENTS)]
    Events(Events),
    /// Install, remove and configure counter providers.
    #[command(after_help = examples::PROVIDER)]
    Provider(Provider),
    /// Install counter names with the options of Windows' lodctr.
    #[command(after_help = examples::LODCTR)]
    Lodctr(WindowsWords),
    /// Remove counter names with the options of Windows' unlodctr.
    #[command(after_help = examples::UNLODCTR)]
    Unlodctr(WindowsWords),
    /// Run Windows' typeperf, relog, logman, lodctr, unlodctr or perfmon.
    #[command(after_help = examples::COMPAT)]
    Compat(Compat),
}

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
    #[command(flatten)]
    pub(crate) of_log: OfLog,
    #[command(flatten)]
    pub(crate) time: AtTime,
    #[command(flatten)]
    pub(crate) format: FormatOptions,
}

#[derive(Debug, Args)]
pub(crate) struct Stat {
    /// The report.
    #[arg(value_enum, value_name = "REPORT")]
    pub(crate) report: crate::command::stat::Name,
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
    pub(crate) range: LogRange,
}

/// A time range of a log.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Reading logs")]
pub(crate) struct LogRange {
    /// Print records from this time on, such as '2026-11-21 09:30' (local) or 2026-11-21T08:30:00Z.
    #[arg(long, value_name = "TIME", requires = "log")]
    pub(crate) from: Option<String>,
    /// Print records up to this time.
    #[arg(long, value_name = "TIME", requires = "log")]
    pub(crate) to: Option<String>,
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
    /// Record into this file instead of printing. Rates of the first row are blank, because they need two
    /// samples. All formats but csv and tsv add columns for instances that appear later.
    #[arg(long, short, value_name = "FILE", conflicts_with_all = ["form", "file", "log"],
        help_heading = "Output")]
    pub(crate) output: Option<PathBuf>,
    /// Format of --output: tally (native), csv, tsv, blg, sqlite or parquet. Default: by file name, else
    /// tally.
    #[arg(long, short = 'f', value_name = "FORMAT", requires = "output", help_heading = "Output")]
    pub(crate) log_format: Option<String>,
    #[command(flatten)]
    pub(crate) replacing: Replacing,
    #[command(flatten)]
    pub(crate) of_log: OfLog,
    #[command(flatten)]
    pub(crate) range: OverTime,
    #[command(flatten)]
    pub(crate) format: FormatOptions,
}

/// A log to read instead of the running system.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Reading logs")]
pub(crate) struct OfLog {
    /// Read a performance log of any format instead of the running system. Repeat to join several logs.
    #[arg(long, value_name = "FILE", conflicts_with = "file")]
    pub(crate) log: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

/// One time in a log.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Reading logs")]
pub(crate) struct AtTime {
    /// Use the last record at or before this time: '2026-11-21 09:30' by the log's own clock,
    /// 2026-11-21T08:30Z, '2026-11-21 17:30+09:00', or -2h (before the end of the log). Default: the last
    /// record of the log.
    #[arg(long, value_name = "TIME", requires = "log", allow_hyphen_values = true)]
    pub(crate) at: Option<String>,
}

/// A time range of a log, and its playback speed.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Reading logs")]
pub(crate) struct OverTime {
    /// Show records from this time on: '2026-11-21 09:30' by the log's own clock, 2026-11-21T08:30Z,
    /// '2026-11-21 17:30+09:00', or -2h (before the end of the log).
    #[arg(long, value_name = "TIME", requires = "log", allow_hyphen_values = true)]
    pub(crate) from: Option<String>,
    /// Show records up to this time, written as for --from.
    #[arg(long, value_name = "TIME", requires = "log", allow_hyphen_values = true)]
    pub(crate) to: Option<String>,
    /// Playback speed; 1 is real time. Default: print all records at once.
    #[arg(long, value_name = "X", requires = "log", value_parser = speed)]
    pub(crate) speed: Option<f64>,
}

#[derive(Debug, Args)]
pub(crate) struct List {
    /// Object to list, by name in any language or by index. Without it, list all objects.
    #[arg(value_name = "OBJECT")]
    pub(crate) object: Option<String>,
    /// List the object's current instances instead of its counters.
    #[arg(long, requires = "object")]
    pub(crate) instances: bool,
    #[command(flatten)]
    pub(crate) of_log: OfLog,
    #[command(flatten)]
    pub(crate) time: AtTime,
    /// Print JSON.
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
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
    #[arg(long, value_name = "FILE")]
    pub(crate) raw: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) replacing: Replacing,
}

#[derive(Debug, Args)]
pub(crate) struct Relog {
    /// Logs of any format: BLG, PDH-CSV, PDH-TSV, SQLite, native. Several are joined in the order of their
    /// first records.
    #[arg(required = true, value_name = "LOG")]
    pub(crate) inputs: Vec<PathBuf>,
    /// File to write. Without it, text goes to standard output.
    #[arg(long, short, value_name = "FILE", help_heading = "Output")]
    pub(crate) output: Option<PathBuf>,
    /// Output format: blg, csv, tsv, tally (native), sqlite or parquet. Default: by file name, else csv.
    #[arg(long, short, value_name = "FORMAT", help_heading = "Output")]
    pub(crate) format: Option<String>,
    #[command(flatten)]
    pub(crate) replacing: Replacing,
    #[command(flatten)]
    pub(crate) choice: Choice,
    /// Keep every N-th record.
    #[arg(long, default_value = "1", value_name = "N", help_heading = "Selection")]
    pub(crate) every: NonZeroU32,
    /// Write times in UTC instead of the log's local time.
    #[arg(long, help_heading = "Output")]
    pub(crate) utc: bool,
    /// Rename a host. Repeat for several hosts.
    #[arg(long, value_name = "OLD=NEW", help_heading = "Output")]
    pub(crate) rename_host: Vec<String>,
    /// Do not store the first input's file name in a BLG (Windows stores the log's path there).
    #[arg(long, help_heading = "Output")]
    pub(crate) strip_path: bool,
    /// End the lines of a text log with LF; Windows ends them with CR LF.
    #[arg(long, help_heading = "Output")]
    pub(crate) lf: bool,
    /// Significant digits in a text log: 17, or 20 as Windows writes since about 2021.
    #[arg(long, default_value = "17", value_name = "N", value_parser = digits, help_heading = "Output")]
    pub(crate) digits: Digits,
    /// In CSV and TSV, put ' before text that a spreadsheet would run as a formula (it begins with = + - or
    /// @).
    #[arg(long, help_heading = "Output")]
    pub(crate) no_formulas: bool,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

/// What happens to an existing file of the output's name.
#[derive(Debug, Default, Clone, Copy, Args)]
pub(crate) struct Replacing {
    /// Replace the output file if it exists. The old file stays until the new one is complete.
    #[arg(long, help_heading = "Output")]
    pub(crate) force: bool,
}

impl Replacing {
    pub(crate) const fn overwrite(self) -> Overwrite {
        if self.force { Overwrite::Replace } else { Overwrite::Never }
    }
}

/// Selects records of a log by their times.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Selection")]
pub(crate) struct TimeChoice {
    /// Use records from this time on: '2026-11-21 09:30' by the log's own clock, 2026-11-21T08:30Z,
    /// '2026-11-21 17:30+09:00', or -2h (before the end of the log).
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub(crate) from: Option<String>,
    /// Use records up to this time, written as for --from.
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub(crate) to: Option<String>,
}

/// Selects counters and records of a log.
#[derive(Debug, Args)]
#[command(next_help_heading = "Selection")]
pub(crate) struct Choice {
    /// Use only these counters; wildcards are allowed. Repeat for several paths.
    #[arg(long, short, value_name = "PATH")]
    pub(crate) counter: Vec<String>,
    #[command(flatten)]
    pub(crate) range: TimeChoice,
    /// Limit percentages to 100. Windows writes larger ones unchanged.
    #[arg(long)]
    pub(crate) cap: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Stats {
    /// Logs of any format. Several are read as one.
    #[arg(required = true, value_name = "LOG")]
    pub(crate) logs: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) choice: Choice,
    /// Show the counters with the largest value of this statistic first. Default: the order of the log.
    #[arg(long, value_name = "KEY", help_heading = "Output")]
    pub(crate) sort: Option<SortKey>,
    /// Show only the first N counters, after sorting.
    #[arg(long, value_name = "N", help_heading = "Output")]
    pub(crate) top: Option<usize>,
    /// Print JSON.
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

/// The statistic by which `tally stats` sorts counters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SortKey {
    Last,
    Minimum,
    Median,
    Mean,
    Average,
    #[value(name = "95")]
    Percentile95,
    #[value(name = "99")]
    Percentile99,
    Maximum,
    Slope,
}

#[derive(Debug, Args)]
pub(crate) struct Compare {
    /// The first log, the baseline.
    #[arg(value_name = "A")]
    pub(crate) first: PathBuf,
    /// The second log. Differences are B - A.
    #[arg(value_name = "B")]
    pub(crate) second: PathBuf,
    /// Line up the two logs by their starts or by clock time.
    #[arg(long, value_name = "HOW", default_value = "start")]
    pub(crate) align: AlignBy,
    #[command(flatten)]
    pub(crate) choice: Choice,
    /// Show only the N counters that differ most.
    #[arg(long, default_value = "40", value_name = "N", help_heading = "Output")]
    pub(crate) top: usize,
    /// Print JSON.
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

/// How to line up two logs in time.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum AlignBy {
    /// Compare the same time since the start of each log.
    Start,
    /// Compare the same clock time.
    Clock,
}

#[derive(Debug, Args)]
pub(crate) struct Info {
    /// Log to describe, of any format.
    #[arg(value_name = "LOG")]
    pub(crate) log: PathBuf,
    #[command(flatten)]
    pub(crate) range: TimeChoice,
    /// List every column too.
    #[arg(long, help_heading = "Output")]
    pub(crate) columns: bool,
    /// Print JSON.
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

/// What a log may not say about itself: its code page and its time zone.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Reading logs")]
pub(crate) struct Reading {
    /// Code page of a text log, such as windows-1252, shift_jis or 949. It is guessed from the text if this
    /// option is missing, and the guess is reported.
    #[arg(long, value_name = "NAME")]
    pub(crate) code_page: Option<String>,
    /// Time zone of a log that names none: minutes to add to its local time for UTC, such as -540 for Japan.
    #[arg(long, value_name = "MINUTES", allow_negative_numbers = true)]
    pub(crate) bias: Option<i32>,
}

#[derive(Debug, Args)]
pub(crate) struct Doctor {
    /// List everything that works, too.
    #[arg(long, short)]
    pub(crate) verbose: bool,
    /// Print JSON.
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
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

/// How values are printed. Without an option: a table.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct FormatOptions {
    /// Print PDH-CSV, as typeperf writes it.
    #[arg(long, group = "form")]
    csv: bool,
    /// Print PDH-TSV.
    #[arg(long, group = "form")]
    tsv: bool,
    /// Print one JSON object per row.
    #[arg(long, group = "form")]
    json: bool,
    /// Print only the values, one per line; an empty line for a missing value.
    #[arg(long, group = "form")]
    plain: bool,
    /// Limit percentages to 100, as Windows' PDH library does by default.
    #[arg(long)]
    pub(crate) cap: bool,
    /// In CSV and TSV, put ' before text that a spreadsheet would run as a formula (it begins with = + - or
    /// @).
    #[arg(long)]
    pub(crate) no_formulas: bool,
}

/// Output form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Form {
    /// Aligned columns for people.
    Table,
    /// PDH-CSV.
    Csv,
    /// PDH-TSV.
    Tsv,
    /// One JSON object per row.
    Json,
    /// Values only.
    Plain,
}

impl FormatOptions {
    pub(crate) const fn form(&self) -> Form {
        match self {
            FormatOptions { csv: true, .. } => Form::Csv,
            FormatOptions { tsv: true, .. } => Form::Tsv,
            FormatOptions { json: true, .. } => Form::Json,
            FormatOptions { plain: true, .. } => Form::Plain,
            _ => Form::Table,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }
}
