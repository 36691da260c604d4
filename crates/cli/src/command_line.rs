//! The command line as a whole: every command with its arguments.

use clap::{Parser, Subcommand};

use crate::arguments::{
    Browse, Check, Common, Compare, Compat, Complete, Completions, Doctor, Dump, Events, Explain, Find, Get,
    Info, List, Man, Mon, Provider, Relog, Stat, Stats, Top, Watch, WindowsWords, examples,
};
use crate::command::analyze::arguments as analyze;
use crate::command::log::arguments as log;
use crate::command::prof::arguments as prof;

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

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Open the monitor: live charts, tables and reports; '?' shows the keys.
    #[command(after_help = examples::MON)]
    Mon(Mon),
    /// Print the values of counters once.
    #[command(after_help = examples::GET)]
    Get(Get),
    /// Compare counters with ranges, as a Monitoring Plugin (Nagios, Icinga).
    #[command(after_help = examples::CHECK)]
    Check(Check),
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
    Analyze(analyze::Analyze),
    /// Say what was unusual at one moment of a performance log, and who was busiest.
    #[command(after_help = examples::WHY)]
    Why(analyze::Why),
    /// Manage background recording sessions: start, stop, list, snapshot.
    #[command(after_help = examples::LOG)]
    Log(log::Log),
    /// Profile .NET programs: exact call counts, times and call trees.
    #[command(after_help = examples::PROF)]
    Prof(prof::Prof),
    /// Report what does not work on this machine, and how to fix it.
    #[command(after_help = examples::DOCTOR)]
    Doctor(Doctor),
    /// Show the event log of counter providers and name changes.
    #[command(after_help = examples::EVENTS)]
    Events(Events),
    /// Install, remove and configure counter providers.
    #[command(after_help = examples::PROVIDER)]
    Provider(Provider),
    /// Print the script that completes commands, counter paths and logs in a shell.
    #[command(after_help = examples::COMPLETIONS)]
    Completions(Completions),
    /// Answer the script of a shell.
    #[command(name = "__complete", hide = true)]
    Complete(Complete),
    /// Print the manual page of a command, or write all pages.
    #[command(after_help = examples::MAN)]
    Man(Man),
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

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }
}
