//! What can be written on the command line.

use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use tallymon::core::counter::Digits;
use tallymon::{Profile, TierChoice};
use tallymon_monitor::chart::Glyphs;

mod provider;

pub(crate) use provider::*;

const AFTER_HELP: &str = "\
Examples:
  tally get '\\Processor(_Total)\\% Processor Time'
  tally watch '//./Process(*)/Working Set' --interval 5s --csv > sizes.csv
  tally explain '\\PhysicalDisk(*)\\% Idle Time'

Paths contain backslashes: put them in single quotes, or write them with slashes as in '//host/Object(instance)/Counter'.
A path names objects and counters in English, in any other language of 'tally list --lang', or by index as in '\\238(_Total)\\6'.

Exit codes: 0 ok, 1 error, 2 usage, 3 not found, 4 no value, 5 access denied, 6 unreachable, 7 damaged file.";

/// Windows performance counters, everywhere.
///
/// Without a command: the monitor on a terminal, one report of the default counters elsewhere.
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
pub(crate) struct Common {
    /// Language of names and help texts: en, ko, ja, ru, or a code such as 012.
    #[arg(long, global = true, env = "TALLY_LANG", hide_env = true, value_name = "LANGUAGE")]
    pub(crate) lang: Option<String>,
    /// Read this saved data block instead of the running system.
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// How processes and counts of processors and protocols are read: t0, t2 or auto; `tally doctor` says which works.
    #[arg(long, global = true, env = TierChoice::VARIABLE, hide_env = true, value_name = "TIER")]
    pub(crate) tier: Option<TierChoice>,
    /// Which objects there are: linux-honest (those with a source), or nt-strict (all of NT).
    #[arg(long, global = true, env = Profile::VARIABLE, hide_env = true, value_name = "PROFILE")]
    pub(crate) profile: Option<Profile>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Watch counters as charts, reports and tables on the terminal; '?' shows the keys.
    Mon(Mon),
    /// Print the values of some counters once.
    Get(Get),
    /// Print the values of some counters again and again, until stopped.
    Watch(Watch),
    /// List objects, or the counters of an object, or its instances.
    List(List),
    /// Find counters by words in their names and help texts, in every language.
    Find(Find),
    /// Choose counters in a dialog, which prints their paths.
    Browse(Browse),
    /// Say what a counter means, how it is computed, and from which numbers now.
    Explain(Explain),
    /// Print a data block field by field: of a query, or of a file.
    Dump(Dump),
    /// Copy performance logs: choose counters and times, and write another format.
    Relog(Relog),
    /// Say what is in a performance log.
    Info(Info),
    /// Print the statistics of the counters of performance logs: range, mean, percentiles, slope.
    Stats(Stats),
    /// Say which counters of two performance logs differ most.
    Compare(Compare),
    /// Record counters in sessions: start, stop, keep what just happened.
    Log(crate::command::log::arguments::Log),
    /// Profile the functions of .NET programs: exact calls and times, and who called whom.
    Prof(crate::command::prof::arguments::Prof),
    /// Say what works on this machine, what does not, and how to get it.
    Doctor(Doctor),
    /// Show what was reported of provider libraries, and of names that were installed.
    Events(Events),
    /// Install and remove names of counters, and say who provides them.
    Provider(Provider),
    /// Install and remove names with the options of Windows' lodctr: FILE.ini, /S:, /R:, /R, /T:, /E:, /D:, /Q, /Q:, /M:.
    Lodctr(WindowsWords),
    /// Remove names with the options of Windows' unlodctr: SERVICE, /M:, /G:, /P:.
    Unlodctr(WindowsWords),
    /// Run as typeperf, relog, logman, lodctr, unlodctr or perfmon of Windows, or install these names as links.
    Compat(Compat),
}

#[derive(Debug, Default, Args)]
pub(crate) struct Mon {
    /// Counter paths to start with, more can be added while it runs; and performance logs, see --log.
    #[arg(value_name = "PATH|LOG")]
    pub(crate) paths: Vec<String>,
    /// Time between samples, such as 500ms, 2s, 1m or 00:00:05.
    #[arg(long, short, value_parser = interval, value_name = "TIME")]
    pub(crate) interval: Option<Duration>,
    /// Show a performance log of any format instead of what happens now; several of them, one option each, on one time axis.
    #[arg(long, short, value_name = "FILE", conflicts_with = "file")]
    pub(crate) log: Vec<PathBuf>,
    /// Start with the counters and the view of a settings file, as the monitor saves them (.tallymon).
    #[arg(long, short, value_name = "FILE")]
    pub(crate) settings: Option<PathBuf>,
    /// Letters of the chart, if the guess is wrong: braille, octant or ascii.
    #[arg(long, value_parser = glyphs, value_name = "NAME")]
    pub(crate) glyphs: Option<Glyphs>,
    /// Do not read all processes with each sample to say who made a spike.
    #[arg(long)]
    pub(crate) no_top: bool,
    /// Memory for what was seen, in MiB, 64 if not given; the oldest is forgotten when it is full.
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) memory: Option<u16>,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

#[derive(Debug, Args)]
pub(crate) struct Get {
    /// Counter paths; wildcards are allowed in instance and counter.
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<String>,
    /// Time between the two samples that rates need, such as 500ms, 2s, 1m or 00:00:05.
    #[arg(long, short, default_value = "1s", value_parser = interval, value_name = "TIME")]
    pub(crate) interval: Duration,
    /// Say how far rates and shares may be off, by the time that reading took and the steps in which the system counts, or
    /// why that is unknown, and why values are old.
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
pub(crate) struct Watch {
    /// Counter paths; wildcards are allowed in instance and counter, new instances are followed.
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<String>,
    /// Time between samples, such as 500ms, 2s, 1m or 00:00:05; 1s when it is not given. Of a log every record is shown without
    /// it, and records that are at least so far apart with it.
    #[arg(long, short, value_parser = interval, value_name = "TIME")]
    pub(crate) interval: Option<Duration>,
    /// Stop after this many rows.
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) count: Option<u64>,
    /// Record into a log instead of printing. The first row is the first sample, so its rates are blank. All formats but csv and
    /// tsv also have the counters of instances that appear later.
    #[arg(long, short, value_name = "FILE", conflicts_with_all = ["form", "file", "log"])]
    pub(crate) output: Option<PathBuf>,
    /// Format of the log: tally (the native log), csv, tsv, blg, sqlite or parquet; by default what the name of the file ends
    /// with, else tally.
    #[arg(long, short = 'f', value_name = "FORMAT", requires = "output")]
    pub(crate) log_format: Option<String>,
    #[command(flatten)]
    pub(crate) of_log: OfLog,
    #[command(flatten)]
    pub(crate) range: OverTime,
    #[command(flatten)]
    pub(crate) format: FormatOptions,
}

/// A log that is asked instead of the machine.
#[derive(Debug, Default, Args)]
pub(crate) struct OfLog {
    /// Ask a performance log of any format instead of the running system; several of them, one option each, as one log.
    #[arg(long, value_name = "FILE", conflicts_with = "file")]
    pub(crate) log: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

/// A time of a log.
#[derive(Debug, Default, Args)]
pub(crate) struct AtTime {
    /// The last record of the log at or before this time, such as '2026-11-21 09:30' (local) or 2026-11-21T08:30:00Z; the
    /// last of all without it.
    #[arg(long, value_name = "TIME", requires = "log")]
    pub(crate) at: Option<String>,
}

/// A range of a log, and how it is shown.
#[derive(Debug, Default, Args)]
pub(crate) struct OverTime {
    /// Show records of the log from this time on.
    #[arg(long, value_name = "TIME", requires = "log")]
    pub(crate) from: Option<String>,
    /// Show records of the log up to this time.
    #[arg(long, value_name = "TIME", requires = "log")]
    pub(crate) to: Option<String>,
    /// Show the records so many times as fast as they were taken, 1 being as they were; all at once without it.
    #[arg(long, value_name = "X", requires = "log", value_parser = speed)]
    pub(crate) speed: Option<f64>,
}

#[derive(Debug, Args)]
pub(crate) struct List {
    /// An object, by name in any language or by index; without it the objects are listed.
    #[arg(value_name = "OBJECT")]
    pub(crate) object: Option<String>,
    /// List the instances that exist now.
    #[arg(long, requires = "object")]
    pub(crate) instances: bool,
    #[command(flatten)]
    pub(crate) of_log: OfLog,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Arguments of `tally browse`.
#[derive(Debug, Args)]
pub(crate) struct Browse {
    /// Counter path to begin at.
    #[arg(value_name = "PATH")]
    pub(crate) path: Option<String>,
    /// Close the dialog with the first choice.
    #[arg(long, short = '1')]
    pub(crate) one: bool,
    /// Choose among the counters of a performance log of any format; of several, one option each.
    #[arg(long, short, value_name = "FILE", conflicts_with = "file")]
    pub(crate) log: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

#[derive(Debug, Args)]
pub(crate) struct Find {
    /// Words that must all occur in the name of the object, the name of the counter, or its help text.
    #[arg(required = true, value_name = "TEXT")]
    pub(crate) words: Vec<String>,
    #[command(flatten)]
    pub(crate) of_log: OfLog,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Explain {
    /// A counter path.
    #[arg(value_name = "PATH")]
    pub(crate) path: String,
    /// Time between the two samples that rates need.
    #[arg(long, short, default_value = "1s", value_parser = interval, value_name = "TIME")]
    pub(crate) interval: Duration,
    #[command(flatten)]
    pub(crate) of_log: OfLog,
    #[command(flatten)]
    pub(crate) time: AtTime,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Dump {
    /// A query such as Global, Costly, '238 230' or 'Counter 009', or a file with a saved data block.
    #[arg(default_value = "Global", value_name = "QUERY|FILE")]
    pub(crate) what: String,
    /// Save the bytes of the block to this file instead of printing its fields.
    #[arg(long, value_name = "FILE")]
    pub(crate) raw: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Relog {
    /// Logs of any format: BLG, PDH-CSV, PDH-TSV, SQLite, native. They are put behind each other by their first records.
    #[arg(required = true, value_name = "LOG")]
    pub(crate) inputs: Vec<PathBuf>,
    /// The log to write; text goes to standard output without it.
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// blg, csv, tsv, tally (the native log), sqlite or parquet; by default what the name of the output ends with, else csv.
    #[arg(long, short, value_name = "FORMAT")]
    pub(crate) format: Option<String>,
    #[command(flatten)]
    pub(crate) choice: Choice,
    /// Keep every N-th record.
    #[arg(long, default_value = "1", value_name = "N")]
    pub(crate) every: NonZeroU32,
    /// Write times in UTC instead of the local time of the log.
    #[arg(long)]
    pub(crate) utc: bool,
    /// Replace the name of a host. It can be given several times.
    #[arg(long, value_name = "OLD=NEW")]
    pub(crate) rename_host: Vec<String>,
    /// Leave the name of the first input out of a BLG, which has it where Windows writes its own path.
    #[arg(long)]
    pub(crate) strip_path: bool,
    /// End the lines of a text log with a line feed alone; Windows ends them with carriage return and line feed.
    #[arg(long)]
    pub(crate) lf: bool,
    /// Significant digits in a text log: 17, or 20 as Windows has written since about 2021.
    #[arg(long, default_value = "17", value_name = "N", value_parser = digits)]
    pub(crate) digits: Digits,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

/// Which counters and records of a log are meant.
#[derive(Debug, Args)]
pub(crate) struct Choice {
    /// Keep these counters only; wildcards are allowed. It can be given several times.
    #[arg(long, short, value_name = "PATH")]
    pub(crate) counter: Vec<String>,
    /// Keep records from this time on, such as '2026-11-21 09:30' (local) or 2026-11-21T08:30:00Z.
    #[arg(long, value_name = "TIME")]
    pub(crate) from: Option<String>,
    /// Keep records up to this time.
    #[arg(long, value_name = "TIME")]
    pub(crate) to: Option<String>,
    /// Take percentages above 100 as 100. Windows writes them as they are.
    #[arg(long)]
    pub(crate) cap: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Stats {
    /// Logs of any format, one after another.
    #[arg(required = true, value_name = "LOG")]
    pub(crate) logs: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) choice: Choice,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

#[derive(Debug, Args)]
pub(crate) struct Compare {
    /// The log to compare with.
    #[arg(value_name = "A")]
    pub(crate) first: PathBuf,
    /// The log that may be different.
    #[arg(value_name = "B")]
    pub(crate) second: PathBuf,
    /// What belongs together: the beginnings of both logs, or the same time of the clock.
    #[arg(long, value_name = "HOW", default_value = "start")]
    pub(crate) align: AlignBy,
    #[command(flatten)]
    pub(crate) choice: Choice,
    /// Show so many counters, the largest differences first.
    #[arg(long, default_value = "40", value_name = "N")]
    pub(crate) top: usize,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

/// How the times of two logs belong together.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum AlignBy {
    /// By their starts.
    Start,
    /// By the clock.
    Clock,
}

#[derive(Debug, Args)]
pub(crate) struct Info {
    /// A log of any format.
    #[arg(value_name = "LOG")]
    pub(crate) log: PathBuf,
    /// Name every column too.
    #[arg(long)]
    pub(crate) columns: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

/// How to read a log that does not say everything about itself.
#[derive(Debug, Default, Args)]
pub(crate) struct Reading {
    /// Code page of a text log, such as windows-1252, shift_jis or euc-kr.
    #[arg(long, value_name = "NAME")]
    pub(crate) code_page: Option<String>,
    /// Minutes to add to local time to get UTC, for a log that does not say.
    #[arg(long, value_name = "MINUTES", allow_negative_numbers = true)]
    pub(crate) bias: Option<i32>,
}

#[derive(Debug, Args)]
pub(crate) struct Doctor {
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Events {
    /// Show the last of them only.
    #[arg(long, short, value_name = "N")]
    pub(crate) last: Option<usize>,
    /// Show those of one service.
    #[arg(long, value_name = "SERVICE")]
    pub(crate) provider: Option<String>,
    /// Go on with those to come, until stopped.
    #[arg(long, short)]
    pub(crate) follow: bool,
    /// Print JSON, one event a line.
    #[arg(long)]
    pub(crate) json: bool,
}

/// How values are printed.
#[derive(Debug, Args)]
pub(crate) struct FormatOptions {
    /// PDH-CSV, as typeperf writes it.
    #[arg(long, group = "form")]
    csv: bool,
    /// PDH-TSV.
    #[arg(long, group = "form")]
    tsv: bool,
    /// JSON, one object a row.
    #[arg(long, group = "form")]
    json: bool,
    /// Only the value, one a line; a missing one is an empty line.
    #[arg(long, group = "form")]
    plain: bool,
    /// Show percentages above 100 as 100, as the Performance Data Helper does by default.
    #[arg(long)]
    pub(crate) cap: bool,
}

/// The form of an output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Form {
    /// For people.
    Table,
    /// PDH-CSV.
    Csv,
    /// PDH-TSV.
    Tsv,
    /// One JSON object a row.
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

/// The longest interval: more than a year between two samples is a mistake.
const LONGEST: Duration = Duration::from_secs(366 * 86_400);
/// The shortest interval: clocks of the kernel tick 100 times a second.
const SHORTEST: Duration = Duration::from_millis(10);

/// Letters of the chart by their name.
fn glyphs(text: &str) -> Result<Glyphs, String> {
    Glyphs::from_name(text).ok_or_else(|| {
        let names: Vec<&str> = Glyphs::NAMES.iter().map(|(name, _)| *name).collect();
        format!("needed one of {}", names.join(", "))
    })
}

/// How fast a log is shown.
fn speed(text: &str) -> Result<f64, String> {
    let number = text.trim_end_matches(['x', 'X']).parse::<f64>().ok();
    number
        .filter(|number| (0.001..=1e6).contains(number))
        .ok_or_else(|| "needed 0.001 to 1000000".to_string())
}

/// The significant digits of a text log.
fn digits(text: &str) -> Result<Digits, String> {
    match text {
        "17" => Ok(Digits::Seventeen),
        "20" => Ok(Digits::Twenty),
        _ => Err("17 or 20 is needed".to_string()),
    }
}

/// A time such as `500ms`, `5s`, `1.5s`, `2m`, `1h`, `5`, or `[[hh:]mm:]ss`.
pub(crate) fn interval(text: &str) -> Result<Duration, String> {
    let wrong = || format!("{text:?} is no time; write it as 500ms, 5s, 2m, 1h or hh:mm:ss");
    let seconds = if text.contains(':') {
        let parts: Vec<&str> = text.split(':').collect();
        if parts.len() > 3 {
            return Err(wrong());
        }
        let mut seconds = 0.0;
        for part in parts {
            let number: u32 = part.parse().map_err(|_| wrong())?;
            seconds = seconds * 60.0 + f64::from(number);
        }
        seconds
    } else {
        let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
        let number: f64 = digits.parse().map_err(|_| wrong())?;
        let unit = match text.get(digits.len()..).unwrap_or_default() {
            "ms" => 0.001,
            "" | "s" => 1.0,
            "m" | "min" => 60.0,
            "h" => 3600.0,
            _ => return Err(wrong()),
        };
        number * unit
    };
    let duration = Duration::try_from_secs_f64(seconds).map_err(|_| wrong())?;
    if (SHORTEST..=LONGEST).contains(&duration) {
        Ok(duration)
    } else {
        Err(format!("{text:?} is out of range: 10ms to 366 days"))
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

    #[test]
    fn times() {
        for (text, milliseconds) in [
            ("500ms", 500),
            ("5s", 5_000),
            ("5", 5_000),
            ("1.5s", 1_500),
            ("2m", 120_000),
            ("1h", 3_600_000),
            ("00:00:05", 5_000),
            ("01:30", 90_000),
        ] {
            assert_eq!(interval(text), Ok(Duration::from_millis(milliseconds)), "{text}");
        }
        for text in ["", "s", "-1s", "1x", "1:2:3:4", "1:x", "nan", "inf", "0", "1ms", "9e9s"] {
            assert!(interval(text).is_err(), "{text}");
        }
    }
}
