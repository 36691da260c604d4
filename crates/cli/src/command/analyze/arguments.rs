//! The arguments of `tally analyze` and `tally why`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use tallymon::analyze::Severity;

use crate::arguments::parse::interval;
use crate::arguments::{Choice, Reading};

#[derive(Debug, Args)]
pub(crate) struct Analyze {
    /// Logs of any format. Several are read as one. 'live', or none: the logs of the session that records
    /// now.
    #[arg(value_name = "LOG")]
    pub(crate) logs: Vec<PathBuf>,
    /// Read the logs of this session, also while it records.
    #[arg(long, value_name = "NAME", conflicts_with = "logs")]
    pub(crate) session: Option<String>,
    /// Look at the last part of the logs only, such as 2h.
    #[arg(long, value_parser = interval, value_name = "TIME", conflicts_with_all = ["from", "to"])]
    pub(crate) last: Option<Duration>,
    /// Compare with a log from before: say what became worse or better beyond its own noise, and which
    /// findings are new. Repeat it if that has several files.
    #[arg(long, value_name = "LOG")]
    pub(crate) against: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) choice: Choice,
    #[command(flatten)]
    pub(crate) rules: RuleChoice,
    /// Show only the first N findings.
    #[arg(long, value_name = "N", default_value_t = 20, help_heading = "Output")]
    pub(crate) top: usize,
    /// Show the course of each finding's counter, its other instances, and rules that were not used.
    #[arg(long, short, help_heading = "Output")]
    pub(crate) verbose: bool,
    /// Print JSON.
    #[arg(long, help_heading = "Output", conflicts_with = "markdown")]
    pub(crate) json: bool,
    /// Print Markdown.
    #[arg(long, help_heading = "Output")]
    pub(crate) markdown: bool,
    /// End with exit code 8 if there is a finding of this severity or above. With --against: a new finding,
    /// or a counter that became worse (warning) or different (note).
    #[arg(long, value_name = "SEVERITY", help_heading = "Output")]
    pub(crate) fail_on: Option<Least>,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

#[derive(Debug, Args)]
pub(crate) struct Why {
    /// The moment: 12:10, the last such time of day in the log; '2026-11-21 09:30' by the log's own clock,
    /// 2026-11-21T08:30Z, '2026-11-21 17:30+09:00', or -2h (before the end of the log).
    #[arg(value_name = "TIME", allow_hyphen_values = true)]
    pub(crate) time: String,
    /// Logs of any format. Several are read as one. 'live', or none: the logs of the session that records
    /// now.
    #[arg(value_name = "LOG")]
    pub(crate) logs: Vec<PathBuf>,
    /// Read the logs of this session, also while it records.
    #[arg(long, value_name = "NAME", conflicts_with = "logs")]
    pub(crate) session: Option<String>,
    /// Print JSON.
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

/// Which rules are used.
#[derive(Debug, Args)]
#[command(next_help_heading = "Rules")]
pub(crate) struct RuleChoice {
    /// Use the rules of a file too: TOML, or a threshold file of PAL (.xml); or of all such files in a
    /// folder.
    #[arg(long, value_name = "FILE|FOLDER")]
    pub(crate) rules: Vec<PathBuf>,
    /// Use only the rules of --rules, not those that come with tally.
    #[arg(long, requires = "rules")]
    pub(crate) only_rules: bool,
    /// Give a parameter of the rules a value, such as memory_mb=16384 or busy=95.
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) set: Vec<String>,
}

/// The least severity of `--fail-on`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Least {
    Note,
    Warning,
    Critical,
}

impl Least {
    pub(crate) const fn severity(self) -> Severity {
        match self {
            Least::Note => Severity::Note,
            Least::Warning => Severity::Warning,
            Least::Critical => Severity::Critical,
        }
    }
}
