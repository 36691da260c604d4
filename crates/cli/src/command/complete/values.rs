//! Candidates for a place in the command line.

use std::path::PathBuf;

use clap::{Arg, ValueHint};
use tallymon::log::FORMATS;
use tallymon::record::session::SessionStore;

use super::line::WordPosition;
use super::{Answer, Candidate, paths};
use crate::arguments::Common;

/// What may stand at a place. What cannot be found out is no candidate: a message would spoil the line that
/// the user types.
pub(super) fn answer(common: &Common, place: &WordPosition<'_>) -> Answer {
    let Some(argument) = place.argument else { return named(place) };
    let answer = value(common, place, argument);
    // In front of its arguments a command may have further commands.
    match (answer, place.command.has_subcommands()) {
        (Answer::Words(mut values), true) => {
            if let Answer::Words(names) = named(place) {
                values.extend(names);
            }
            Answer::Words(values)
        }
        (answer, _) => answer,
    }
}

/// Commands, or options if the word begins with a dash.
fn named(place: &WordPosition<'_>) -> Answer {
    let first_sentence = |text: Option<&clap::builder::StyledStr>| {
        let text = text.map(ToString::to_string).unwrap_or_default();
        text.split_once(". ").map_or(text.trim_end_matches('.').to_string(), |(first, _)| first.to_string())
    };
    let mut all: Vec<Candidate> = Vec::new();
    if place.may_be_option && place.typed.starts_with('-') {
        for option in place.command.get_arguments().filter(|option| !option.is_hide_set()) {
            let long = option.get_long().map(|name| format!("--{name}"));
            let short = option.get_short().map(|letter| format!("-{letter}"));
            let about = first_sentence(option.get_help());
            // `-` alone offers the long names; they say more.
            let names = long.into_iter().chain(short.filter(|short| place.typed == *short));
            all.extend(names.map(|name| Candidate::new(name, about.clone())));
        }
    } else {
        let commands = place.command.get_subcommands().filter(|command| !command.is_hide_set());
        all.extend(
            commands.map(|command| Candidate::new(command.get_name(), first_sentence(command.get_about()))),
        );
    }
    Answer::Words(beginning_with(place.typed, all))
}

fn beginning_with(typed: &str, mut all: Vec<Candidate>) -> Vec<Candidate> {
    all.retain(|one| one.text.starts_with(typed));
    all
}

/// Values of an argument, by its type, its name in the help, and its command.
fn value(common: &Common, place: &WordPosition<'_>, argument: &Arg) -> Answer {
    let words = |all: Vec<Candidate>| Answer::Words(beginning_with(place.typed, all));
    let plain = |names: &[&str]| words(names.iter().map(|name| Candidate::new(*name, "")).collect());
    let possible = argument.get_possible_values();
    if !possible.is_empty() {
        let text = |value: &clap::builder::PossibleValue| {
            Candidate::new(value.get_name(), value.get_help().map(ToString::to_string).unwrap_or_default())
        };
        return words(possible.iter().filter(|value| !value.is_hide_set()).map(text).collect());
    }
    let id = argument.get_id().as_str();
    let named = argument.get_value_names().and_then(|names| names.first()).map_or("", |name| name.as_str());
    let is_file = matches!(argument.get_value_hint(), ValueHint::AnyPath);
    match (place.above.first().copied().unwrap_or_default(), place.command.get_name(), id, named) {
        (_, _, _, "LANGUAGE") => plain(&["en", "ko", "ja", "ru"]),
        (_, _, _, "TIER") => plain(&["auto", "t0", "t2"]),
        (_, _, _, "PROFILE") => plain(&["linux-honest", "nt-strict"]),
        (_, _, "name_form", _) => plain(&["nt", "translated"]),
        (_, _, "glyphs", _) => plain(&["braille", "octant", "ascii"]),
        (_, _, _, "FORMAT") => words(FORMATS.iter().map(|format| Candidate::new(format.name, "")).collect()),
        ("log", "import" | "update", "name", _) if argument.get_long().is_some() => plain(&[]),
        ("log", _, "name" | "names", _) => words(sessions()),
        (_, "log", _, _) if is_file && !argument.is_positional() => Answer::Files(Vec::new()),
        (_, "explain" | "get" | "watch" | "mon" | "browse" | "start" | "update", _, "PATH" | "PATH|LOG")
        | (_, "relog" | "stats" | "compare" | "analyze", "counter", _)
            if !is_file =>
        {
            let looks_like_path = place.typed.starts_with(['\\', '/']) || !place.typed.contains(['.', '~']);
            match named == "PATH|LOG" && !looks_like_path {
                true => logs(),
                false => paths::answer(common, place, &logs_of(place)),
            }
        }
        (_, _, _, "OBJECT") => paths::objects(common, place, &logs_of(place)),
        (_, "man", _, _) => {
            words(super::super::man::names().into_iter().map(|name| Candidate::new(name, "")).collect())
        }
        (_, _, _, "LOG") | (_, "compare", "first" | "second", _) => logs(),
        (_, _, "log", _) if is_file => logs(),
        _ if is_file => Answer::Files(Vec::new()),
        _ => plain(&[]),
    }
}

/// The extensions of compressed logs.
const COMPRESSED: [&str; 3] = ["gz", "xz", "zst"];

/// Files of logs, by their extensions.
fn logs() -> Answer {
    let formats = FORMATS.iter().filter(|format| format.reads).map(|format| format.extension);
    Answer::Files(formats.chain(COMPRESSED).collect())
}

/// The logs that a line names: counters are completed from them.
fn logs_of(place: &WordPosition<'_>) -> Vec<PathBuf> {
    let is_log = |id: &str| matches!(id, "log" | "logs" | "inputs" | "first");
    let named = place.values.iter().filter(|(id, _)| is_log(id));
    named.map(|(_, file)| with_home(file)).collect()
}

/// A file as the shell will see it: most shells expand `~` only when they run the line.
fn with_home(file: &str) -> PathBuf {
    let home = file.strip_prefix("~/").zip(std::env::var_os("HOME"));
    home.map_or_else(|| PathBuf::from(file), |(rest, home)| PathBuf::from(home).join(rest))
}

fn sessions() -> Vec<Candidate> {
    let names = SessionStore::of_environment().and_then(|store| store.names()).unwrap_or_default();
    names.into_iter().map(|name| Candidate::new(name, "session")).collect()
}
