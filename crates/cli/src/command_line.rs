//! The command line as a whole: every command with its arguments.

use std::ffi::OsString;

use clap::error::ErrorKind;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::arguments::{
    Browse, Check, Common, Compare, Compat, Complete, Completions, Doctor, Dump, Events, Explain, Find, Get,
    Info, List, Man, Mon, Provider, Relog, Stat, Stats, Top, Watch, WindowsWords, examples,
    on_use::{self, OnUse},
};
use crate::command::analyze::arguments as analyze;
use crate::command::log::arguments as log;
use crate::command::prof::arguments as prof;
use crate::exit::{Failure, Kind};
use crate::help;

const AFTER_HELP: &str = r"Examples:
  tally get '\Processor(_Total)\% Processor Time'
  tally watch '//./Process(*)/Working Set' --interval 5s --csv > sizes.csv
  tally explain '\PhysicalDisk(*)\% Idle Time'

Without a command, tally opens the monitor on a terminal; in a pipe or a
script it prints one report of the usual counters.

A counter path is \Object(instance)\Counter. Put it in single quotes, because
the shell removes backslashes, or use slashes: '//host/Object(instance)/Counter'.
Names may be English, in any language of --lang, or numbers: '\238(_Total)\6'.

Environment: TALLY_ROOT, TALLY_LANG, TALLY_NAMES, TALLY_TIER, TALLY_PROFILE and
TALLY_HOST; docs/environment.md says what each does.

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

impl Arguments {
    /// The command line with all help texts.
    pub(crate) fn whole_command() -> clap::Command {
        examples::add(Arguments::command())
    }

    /// Parses the command line of this process.
    pub(crate) fn parse_line() -> Result<Arguments, clap::Error> {
        let line: Vec<OsString> = std::env::args_os().collect();
        if let Some(parsed) = Arguments::parse_quickly(&line) {
            return parsed;
        }
        let mut command = Arguments::whole_command();
        let mut matches = command.try_get_matches_from_mut(&line).map_err(|error| match error.kind() {
            // Only who reads the help waits for its words.
            ErrorKind::DisplayHelp | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
                let own = help::translated(Arguments::whole_command, &line);
                let own = own.map(|mut command| command.try_get_matches_from_mut(&line));
                own.and_then(Result::err).unwrap_or(error)
            }
            _ => error,
        })?;
        Arguments::from_arg_matches_mut(&mut matches).map_err(|error| error.format(&mut command))
    }

    /// Parses a command line without building the arguments of the commands that it does not name. `None` if
    /// the whole command line is needed to answer: for a help with examples or in another language, and for
    /// an error, which lists what would be right.
    fn parse_quickly(line: &[OsString]) -> Option<Result<Arguments, clap::Error>> {
        match on_use::deferred(Arguments::command).try_get_matches_from(line) {
            Ok(mut matches) => Arguments::from_arg_matches_mut(&mut matches).ok().map(Ok),
            Err(error) => match error.kind() {
                ErrorKind::DisplayVersion => Some(Err(error)),
                // The help of the command itself has nothing of its subcommands but their first lines.
                ErrorKind::DisplayHelp if line.len() == 2 && !help::is_translated(line) => Some(Err(error)),
                _ => None,
            },
        }
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Open the monitor: live charts, tables and reports; '?' shows the keys.
    #[command(after_help = examples::MON)]
    Mon(OnUse<Mon>),
    /// Show live counters and performance logs in a browser on this machine.
    #[command(after_help = examples::SERVE)]
    Serve(OnUse<crate::command::serve::Serve>),
    /// Write logs as one HTML file: charts, findings and statistics.
    #[command(after_help = examples::REPORT)]
    Report(OnUse<crate::command::report_file::Report>),
    /// Print the values of counters once.
    #[command(after_help = examples::GET)]
    Get(OnUse<Get>),
    /// Compare counters with ranges, as a Monitoring Plugin (Nagios, Icinga).
    #[command(after_help = examples::CHECK)]
    Check(OnUse<Check>),
    /// Send counters to OpenTelemetry, Prometheus and others, until stopped.
    #[command(after_help = examples::PUSH)]
    Push(OnUse<crate::command::push::Push>),
    /// Print a dashboard for Grafana or Perses, with the right query for each counter.
    #[command(after_help = examples::DASHBOARD)]
    Dashboard(OnUse<crate::command::dashboard::Dashboard>),
    /// Print or record the values of counters repeatedly, until stopped.
    #[command(after_help = examples::WATCH)]
    Watch(OnUse<Watch>),
    /// Print an everyday report: cpu, mem, disk, net or proc; live or from a log.
    #[command(after_help = examples::STAT)]
    Stat(OnUse<Stat>),
    /// Show the busiest processes: on the whole terminal, or once.
    #[command(after_help = examples::TOP)]
    Top(OnUse<Top>),
    /// List objects, or the counters or instances of one object.
    #[command(after_help = examples::LIST)]
    List(OnUse<List>),
    /// Find counters by words in their names and help texts, in every language.
    #[command(after_help = examples::FIND)]
    Find(OnUse<Find>),
    /// Choose counters in a dialog and print their paths.
    #[command(after_help = examples::BROWSE)]
    Browse(OnUse<Browse>),
    /// Explain a counter: its meaning, its formula, and its current raw values.
    #[command(after_help = examples::EXPLAIN)]
    Explain(OnUse<Explain>),
    /// Print every field of a data block, from a query or from a file.
    #[command(after_help = examples::DUMP)]
    Dump(OnUse<Dump>),
    /// Convert performance logs, or copy a selection of counters and times.
    #[command(after_help = examples::RELOG)]
    Relog(OnUse<Relog>),
    /// Keep a lake in order: few large parts instead of many, no files that nobody needs.
    #[cfg(feature = "parquet")]
    #[command(after_help = examples::LAKE)]
    Lake(OnUse<crate::command::lake::Lake>),
    /// Summarize a performance log: format, times, hosts, counters, damage.
    #[command(after_help = examples::INFO)]
    Info(OnUse<Info>),
    /// Print statistics for each counter of performance logs.
    #[command(after_help = examples::STATS)]
    Stats(OnUse<Stats>),
    /// Show which counters differ most between two performance logs.
    #[command(after_help = examples::COMPARE)]
    Compare(OnUse<Compare>),
    /// Say what is wrong in performance logs: what, when, how much, and who caused it.
    #[command(after_help = examples::ANALYZE)]
    Analyze(OnUse<analyze::Analyze>),
    /// Say what was unusual at one moment of a performance log, and who was busiest.
    #[command(after_help = examples::WHY)]
    Why(OnUse<analyze::Why>),
    /// Manage background recording sessions: start, stop, list, snapshot.
    #[command(after_help = examples::LOG)]
    Log(OnUse<log::Log>),
    /// Profile .NET programs: exact call counts, times and call trees.
    #[command(after_help = examples::PROF)]
    Prof(OnUse<prof::Prof>),
    /// Report what does not work on this machine, and how to fix it.
    #[command(after_help = examples::DOCTOR)]
    Doctor(OnUse<Doctor>),
    /// Show the event log of counter providers and name changes.
    #[command(after_help = examples::EVENTS)]
    Events(OnUse<Events>),
    /// Pair with other machines that are read over TLS; list and revoke them.
    #[command(after_help = examples::REMOTE)]
    Remote(OnUse<crate::command::remote::Remote>),
    /// Install, remove and configure counter providers.
    #[command(after_help = examples::PROVIDER)]
    Provider(OnUse<Provider>),
    /// Print the script that completes commands, counter paths and logs in a shell.
    #[command(after_help = examples::COMPLETIONS)]
    Completions(OnUse<Completions>),
    /// Answer the script of a shell.
    #[command(name = "__complete", hide = true)]
    Complete(OnUse<Complete>),
    /// Print the manual page of a command, or write all pages.
    #[command(after_help = examples::MAN)]
    Man(OnUse<Man>),
    /// Install counter names with the options of Windows' lodctr.
    #[command(after_help = examples::LODCTR)]
    Lodctr(OnUse<WindowsWords>),
    /// Remove counter names with the options of Windows' unlodctr.
    #[command(after_help = examples::UNLODCTR)]
    Unlodctr(OnUse<WindowsWords>),
    /// Run Windows' typeperf, relog, logman, lodctr, unlodctr or perfmon.
    #[command(after_help = examples::COMPAT)]
    Compat(OnUse<Compat>),
}

/// Refuses `-H` for commands that cannot read another machine.
pub(crate) fn allow(common: &Common, command: Option<&Command>) -> Result<(), Failure> {
    if common.host.is_empty() {
        return Ok(());
    }
    if common.file.is_some() {
        return Err(Failure::new(Kind::Usage, "--host and --file cannot be combined; leave out one of them"));
    }
    let reads_hosts = match command {
        None => true,
        Some(command) => {
            matches!(
                command,
                Command::Get(_)
                    | Command::Watch(_)
                    | Command::List(_)
                    | Command::Find(_)
                    | Command::Mon(_)
                    | Command::Serve(_)
                    | Command::Check(_)
                    | Command::Stat(_)
                    | Command::Top(_)
                    | Command::Explain(_)
                    | Command::Browse(_)
                    | Command::Dump(_)
            ) || matches!(
                command,
                Command::Log(OnUse(log::Log {
                    action: log::LogAction::Start(_) | log::LogAction::Update(_)
                }))
            )
        }
    };
    if reads_hosts {
        return Ok(());
    }
    let words = "this command does not read other machines; get, watch, list, find, mon, serve, check, stat, \
                 top, explain, browse, dump, 'log start' and 'log update' do";
    Err(Failure::new(Kind::Usage, words))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::whole_command().debug_assert();
    }

    /// Arguments that are built when they are needed are the same, and so are their texts.
    #[test]
    fn deferred_commands_have_the_same_help() {
        fn look(command: &clap::Command, line: &mut Vec<String>, lines: &mut Vec<Vec<String>>) {
            for inner in command.get_subcommands() {
                line.push(inner.get_name().to_owned());
                lines.push(line.clone());
                look(inner, line, lines);
                line.pop();
            }
        }
        let help = |command: clap::Command, line: &[String], option: &str| {
            let words = ["tally"].into_iter().chain(line.iter().map(String::as_str)).chain([option]);
            // The programs of Windows take any words.
            let answer = command.try_get_matches_from(words).err();
            let help = answer.map_or_else(String::new, |error| error.to_string());
            // Only the order of the sections differs, so the help of a command comes from the whole line.
            let mut help: Vec<String> = help.lines().map(str::to_owned).collect();
            help.sort();
            help
        };
        let mut lines = vec![Vec::new()];
        look(&Arguments::command(), &mut Vec::new(), &mut lines);
        assert!(lines.len() > 60, "{}", lines.len());
        for line in lines {
            for option in ["--help", "-h", "--no-such-option"] {
                let deferred = help(on_use::deferred(Arguments::command), &line, option);
                assert_eq!(deferred, help(Arguments::command(), &line, option), "{line:?}");
            }
        }
        // What a quick start prints.
        let own = |command: clap::Command| {
            command.try_get_matches_from(["tally", "--help"]).map(drop).unwrap_err().to_string()
        };
        assert_eq!(own(on_use::deferred(Arguments::command)), own(Arguments::whole_command()));
    }

    #[test]
    fn every_command_has_examples() {
        fn look(command: &clap::Command, name: &str) {
            // Commands of three words have theirs in the help of the first two.
            let is_last = name.split(' ').count() > 2;
            for inner in command.get_subcommands().filter(|inner| !is_last && inner.get_name() != "help") {
                look(inner, &format!("{name} {}", inner.get_name()));
            }
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            let examples = help.strip_prefix("Examples:\n").unwrap_or_default();
            // The first line is of this command, and not one that was copied from another.
            assert!(examples.trim_start().starts_with(name), "{name}: {help:?}");
            for line in examples.lines() {
                assert!(line.len() <= 90, "{line}");
            }
        }
        for command in Arguments::whole_command().get_subcommands() {
            if !command.is_hide_set() {
                look(command, &format!("tally {}", command.get_name()));
            }
        }
    }

    /// Each example is a command line that this program takes.
    #[test]
    fn examples_are_taken() {
        fn look(command: &clap::Command, lines: &mut Vec<String>) {
            command.get_subcommands().for_each(|inner| look(inner, lines));
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            let help = help.split("\n\n").next().unwrap_or_default();
            lines.extend(help.lines().filter_map(|line| Some(line.strip_prefix("  ")?.to_owned())));
        }
        let mut lines = Vec::new();
        look(&Arguments::whole_command(), &mut lines);
        assert!(lines.len() > 80, "{}", lines.len());
        for line in lines {
            for part in line.split(" && ").filter(|part| part.starts_with("tally ")) {
                let part = part.split(['>', '|']).next().unwrap_or_default().trim_end();
                let part = part.replace("\"$(tally browse --one)\"", "x");
                let mut words = vec![String::new()];
                let mut quoted = false;
                for letter in part.chars() {
                    match letter {
                        '\'' => quoted = !quoted,
                        ' ' if !quoted => words.push(String::new()),
                        letter => words.last_mut().unwrap().push(letter),
                    }
                }
                if let Err(error) = Arguments::whole_command().try_get_matches_from(&words) {
                    panic!("{line}: {error}");
                }
            }
        }
    }
}
