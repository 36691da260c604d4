//! Options that say which logs, counters and records are read, and how.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use tallymon::InstanceNames;
use tallymon::log::ProcessNames;

use super::parse::speed;
use crate::exit::{Failure, Kind};

/// What a log may not say about itself: its code page and its time zone.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Reading logs")]
pub(crate) struct Reading {
    /// Code page of a text log, such as windows-1252, shift_jis or 949. It is guessed from the text if this
    /// option is missing, and the guess is reported.
    #[arg(long, value_name = "NAME")]
    pub(crate) code_page: Option<String>,
    /// Names of the log's system, to show a log of another language with English names: perfc007.dat,
    /// PerfStringBackup.INI, or a backup of 'lodctr /S'. Repeat for several files.
    #[arg(long, value_name = "FILE")]
    pub(crate) name_table: Vec<PathBuf>,
    /// Time zone of a log that names none: minutes to add to its local time for UTC, such as -540 for Japan.
    #[arg(long, value_name = "MINUTES", allow_negative_numbers = true)]
    pub(crate) bias: Option<i32>,
}

/// How processes are named.
#[derive(Debug, Clone, Copy, Default, Args)]
pub(crate) struct Naming {
    /// Names of processes: number (name#1, which becomes name when the first one ends) or pid (name_1234,
    /// with the process id, which stays). Of a log, pid needs its counter ID Process.
    #[arg(long = "instances", value_enum, value_name = "HOW", default_value_t, help_heading = "Selection")]
    pub(crate) by: NamesBy,
}

/// What tells processes of the same name apart.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum NamesBy {
    #[default]
    Number,
    Pid,
}

impl Naming {
    /// The names of live processes.
    pub(crate) const fn live(self) -> InstanceNames {
        match self.by {
            NamesBy::Number => InstanceNames::Number,
            NamesBy::Pid => InstanceNames::ProcessId,
        }
    }

    /// The names of processes in logs.
    pub(crate) const fn of_log(self) -> Option<ProcessNames> {
        match self.by {
            NamesBy::Number => None,
            NamesBy::Pid => Some(ProcessNames::Always),
        }
    }
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
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub(crate) at: Option<String>,
}

/// The playback speed of a log.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Reading logs")]
pub(crate) struct Playback {
    /// Playback speed; 1 is real time. Default: print all records at once.
    #[arg(long, value_name = "X", requires = "log", value_parser = speed)]
    pub(crate) speed: Option<f64>,
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

impl AtTime {
    /// Without a log there is nothing to choose a record from.
    pub(crate) fn needs_log(&self, has_log: bool) -> Result<(), Failure> {
        needs_log("--at", self.at.is_some(), has_log)
    }
}

impl TimeChoice {
    /// Without a log there is nothing to choose records from.
    pub(crate) fn needs_log(&self, has_log: bool) -> Result<(), Failure> {
        needs_log("--from", self.from.is_some(), has_log)?;
        needs_log("--to", self.to.is_some(), has_log)
    }
}

fn needs_log(option: &str, is_given: bool, has_log: bool) -> Result<(), Failure> {
    if is_given && !has_log {
        let words = format!("{option} chooses records of a log; name the log with --log FILE");
        return Err(Failure::new(Kind::Usage, words));
    }
    Ok(())
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
