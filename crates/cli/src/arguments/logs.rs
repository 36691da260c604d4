//! Arguments of the commands that copy and summarize logs.

use std::num::NonZeroU32;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use tallymon::core::counter::Digits;
use tallymon::core::title::Language;

use super::parse::{digits, language};
use super::reading::{Choice, Naming, Reading, TimeChoice};
use super::writing::Replacing;

#[derive(Debug, Args)]
pub(crate) struct Relog {
    /// Logs of any format: BLG, PDH-CSV, PDH-TSV, SQLite, Parquet, JSON, native, or lakes. Several are joined in
    /// the order of their first records. Into a lake each is put alone, and folders of logs are taken, too.
    #[arg(required = true, value_name = "LOG")]
    pub(crate) inputs: Vec<PathBuf>,
    /// File to write; for a lake its folder, which may have logs in it, or s3://BUCKET/FOLDER. Without it, or
    /// with -, text goes to standard output.
    #[arg(long, short, value_name = "FILE", help_heading = "Output")]
    pub(crate) output: Option<PathBuf>,
    /// Output format: blg, csv, tsv, json, tally (native), sqlite, parquet or lake. Default: by file name,
    /// else csv.
    #[arg(long, short, value_name = "FORMAT", help_heading = "Output")]
    pub(crate) format: Option<String>,
    #[command(flatten)]
    pub(crate) replacing: Replacing,
    #[command(flatten)]
    pub(crate) choice: Choice,
    /// Keep every N-th record.
    #[arg(long, default_value = "1", value_name = "N", help_heading = "Selection")]
    pub(crate) every: NonZeroU32,
    #[command(flatten)]
    pub(crate) naming: Naming,
    /// Write times in UTC instead of the log's local time.
    #[arg(long, help_heading = "Output")]
    pub(crate) utc: bool,
    /// Write the names of objects and counters in this language, such as en. Without it, names stay as they
    /// are, unless --name-table is given.
    #[arg(long, value_name = "LANGUAGE", value_parser = language, help_heading = "Output")]
    pub(crate) language: Option<Language>,
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

#[derive(Debug, Args)]
pub(crate) struct Stats {
    /// Logs of any format. Several are read as one.
    #[arg(required = true, value_name = "LOG")]
    pub(crate) logs: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) choice: Choice,
    #[command(flatten)]
    pub(crate) naming: Naming,
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
    /// Line them up by something that happened in both: the time of it in A, and with a second --event in B.
    /// Without that one it was at the same time. As much before and after it is compared as both logs have.
    #[arg(long, value_name = "TIME", conflicts_with = "align")]
    pub(crate) event: Vec<String>,
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
