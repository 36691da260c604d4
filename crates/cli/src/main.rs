//! The command `tally`: performance counters of this machine, on the command line.
//!
//! Data goes to standard output, messages go to standard error. Every error message says what failed, which
//! part, where, and what to do. Each kind of failure has its own exit code; see [`exit`].
#![forbid(unsafe_code)]

#[cfg_attr(target_os = "linux", path = "activation/linux.rs")]
#[cfg_attr(not(target_os = "linux"), path = "activation/other.rs")]
mod activation;
mod arguments;
mod border;
mod command;
mod command_line;
#[cfg(test)]
mod documents_tests;
mod exit;
mod fleet;
mod help;
mod host_answer;
mod hosts;
mod language;
mod log_hosts;
mod messages;
mod missing_values;
#[cfg_attr(unix, path = "open_files/unix.rs")]
#[cfg_attr(not(unix), path = "open_files/other.rs")]
mod open_files;
mod output;
mod path_message;
mod paths;
mod progress;
mod question;
#[cfg_attr(unix, path = "readers/unix.rs")]
#[cfg_attr(not(unix), path = "readers/other.rs")]
mod readers;
mod recording;
mod recording_hosts;
mod requests;
mod session;
#[cfg_attr(unix, path = "stack/unix.rs")]
#[cfg_attr(not(unix), path = "stack/other.rs")]
mod stack;
mod stop;
mod usual_counters;
mod windows;
mod words;

use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

use clap::CommandFactory;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use tallymon::core::title::nearest;

use arguments::{CompatCommand, Mon};
use command_line::{Arguments, Command};
use exit::Failure;
use windows::Program;
use words::visible;

fn main() -> ExitCode {
    border::guard_panics();
    stack::with_room(run_line)
}

/// Runs the command line.
fn run_line() -> ExitCode {
    let mut line = std::env::args_os();
    let result = match line.next().as_deref().and_then(Program::called) {
        Some(program) => {
            program.run(&line.map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>())
        }
        None => match Arguments::parse_line() {
            Ok(arguments) => run(&arguments),
            Err(error) => return usage(with_advice(error)),
        },
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            if let Some(message) = &failure.message {
                words::say(message);
            }
            failure.code()
        }
    }
}

/// Prints the help that was asked for, or what is wrong with the arguments.
fn usage(mut error: clap::Error) -> ExitCode {
    if !error.use_stderr() {
        error.exit();
    }
    // The message repeats arguments, and they may come from file names.
    let words: Vec<(ContextKind, ContextValue)> = error
        .context()
        .filter_map(|(kind, value)| match value {
            ContextValue::String(text) => Some((kind, ContextValue::String(visible(text).into_owned()))),
            ContextValue::Strings(texts) => {
                let texts = texts.iter().map(|text| visible(text).into_owned()).collect();
                Some((kind, ContextValue::Strings(texts)))
            }
            ContextValue::StyledStrs(texts) => {
                let texts = texts.iter().map(|text| visible(&text.to_string()).into_owned().into()).collect();
                Some((kind, ContextValue::StyledStrs(texts)))
            }
            // Our own words, such as the usage.
            _ => None,
        })
        .collect();
    for (kind, value) in words {
        error.insert(kind, value);
    }
    // Whoever reads standard error may be gone.
    let _ = write!(border::stderr(), "{}", messages::in_language(error.render().to_string()));
    if std::env::args_os().nth(1).is_some_and(|word| word == "check") {
        return command::check::unknown("the arguments are wrong; 'tally check --help' lists them").code();
    }
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(1))
}

/// Adds what the user probably meant: the command that a typing error resembles, or the languages of
/// `--lang`.
fn with_advice(mut error: clap::Error) -> clap::Error {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => text.as_str(),
        _ => "",
    };
    let advice = match error.kind() {
        ErrorKind::InvalidSubcommand if error.get(ContextKind::SuggestedSubcommand).is_none() => {
            let root = Arguments::command();
            let names = command_of_line(&root).get_subcommands().map(clap::Command::get_name);
            let near = nearest(text(ContextKind::InvalidSubcommand), names, 1);
            near.first().map(|name| format!("did you mean '{name}'?"))
        }
        // Where counters are not the arguments themselves.
        ErrorKind::UnknownArgument if text(ContextKind::InvalidArg).starts_with('\\') => {
            let root = Arguments::command();
            let mut options = command_of_line(&root).get_arguments();
            let takes_counters = options.any(|option| option.get_long() == Some("counter"));
            takes_counters
                .then(|| format!("counters are named with -c: -c '{}'", text(ContextKind::InvalidArg)))
        }
        ErrorKind::InvalidValue if text(ContextKind::InvalidArg).starts_with("--lang") => {
            Some("languages: en, ko, ja, ru, or a Windows code such as 012".to_owned())
        }
        _ => None,
    };
    if let Some(advice) = advice {
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![advice.into()]));
    }
    error
}

/// The command that the words of the command line name, as far as they are right.
fn command_of_line(root: &clap::Command) -> &clap::Command {
    let words = std::env::args_os().skip(1);
    words.fold(root, |command, word| {
        word.to_str().and_then(|word| command.find_subcommand(word)).unwrap_or(command)
    })
}

fn run(arguments: &Arguments) -> Result<(), Failure> {
    let common = &arguments.common;
    command_line::allow(common, arguments.command.as_ref())?;
    match &arguments.command {
        Some(Command::Mon(mon)) => command::mon::run(common, mon),
        Some(Command::Serve(serve)) => command::serve::run(common, serve),
        Some(Command::Report(report)) => command::report_file::run(common, report),
        Some(Command::Get(get)) => command::get::run(common, get),
        Some(Command::Dashboard(dashboard)) => command::dashboard::run(common, dashboard),
        Some(Command::Push(push)) => command::push::run(common, push),
        Some(Command::Check(check)) => command::check::run(common, check),
        Some(Command::Watch(watch)) => command::watch::run(common, watch),
        Some(Command::Stat(stat)) => command::stat::run(common, stat),
        Some(Command::Top(top)) => command::top::run(common, top),
        Some(Command::List(list)) => command::list::run(common, list),
        Some(Command::Find(find)) => command::find::run(common, find),
        Some(Command::Browse(browse)) => command::browse::run(common, browse),
        Some(Command::Explain(explain)) => command::explain::run(common, explain),
        Some(Command::Dump(dump)) => command::dump::run(common, dump),
        Some(Command::Relog(relog)) => command::relog::run(common, relog),
        #[cfg(feature = "parquet")]
        Some(Command::Lake(lake)) => command::lake::run(common, lake),
        Some(Command::Info(info)) => command::info::run(common, info),
        Some(Command::Stats(stats)) => command::stats::run(common, stats),
        Some(Command::Compare(compare)) => command::compare::run(common, compare),
        Some(Command::Analyze(analyze)) => command::analyze::run(common, analyze),
        Some(Command::Why(why)) => command::analyze::why(common, why),
        Some(Command::Log(log)) => command::log::run(common, log),
        Some(Command::Prof(prof)) => command::prof::run(prof),
        Some(Command::Doctor(doctor)) => command::doctor::run(common, doctor),
        Some(Command::Remote(remote)) => command::remote::run(common, remote),
        Some(Command::Events(events)) => command::events::run(common, events),
        Some(Command::Provider(provider)) => command::provider::run(provider),
        Some(Command::Completions(shell)) => command::complete::script(shell),
        Some(Command::Complete(line)) => command::complete::answer(common, line),
        Some(Command::Man(page)) => command::man::run(page),
        Some(Command::Lodctr(words)) => windows::lodctr::lodctr(&words.words),
        Some(Command::Unlodctr(words)) => windows::lodctr::unlodctr(&words.words),
        Some(Command::Compat(compat)) => match &compat.command {
            CompatCommand::Install(folder) => windows::install::install(folder.dir.as_deref()),
            CompatCommand::Remove(folder) => windows::install::remove(folder.dir.as_deref()),
            CompatCommand::Program(words) => windows::run(words),
        },
        // A saved data block never changes, so the monitor has nothing to show over time.
        None if common.file.is_none() && io::stdout().is_terminal() && io::stdin().is_terminal() => {
            command::mon::run(common, &Mon::default())
        }
        None => command::report::run(common),
    }
}
