//! Writes the pages of all commands and of all errors with `TALLYMON_BLESS=1`, and compares them: they are
//! what the program prints.

use std::fmt::Write as _;
use std::path::Path;

use clap::Command;
use tallymon::library::event::{Event, KINDS};
use tallymon_testkit::translations;

use super::shown;
use crate::command_line::Arguments;
use crate::messages::TEXTS;

/// The help of a command, and of its actions, each below a heading. The options of every command are in the
/// help of `tally`.
fn write(command: &Command, name: &str, level: usize, text: &mut String) {
    let mut own = command.clone().term_width(90).disable_help_subcommand(true);
    if level > 1 {
        own = own.mut_args(|argument| match argument.is_global_set() {
            true => argument.hide(true),
            false => argument,
        });
    }
    let help = own.render_long_help().to_string();
    let lines: Vec<&str> = help.lines().map(str::trim_end).collect();
    let heading = "#".repeat(level.max(2));
    // Writing into a text cannot fail.
    let _ = write!(text, "\n{heading} `{name}`\n\n```text\n{}\n```\n", lines.join("\n").trim_end());
    for action in shown(command).filter(|_| level > 1) {
        write(action, &format!("{name} {}", action.get_name()), level.saturating_add(1), text);
    }
}

#[test]
fn the_page_of_commands_is_that_of_their_help() {
    let mut root = Arguments::whole_command().term_width(90);
    root.build();
    let mut text = "# Commands

What `--help` prints for every command; the options of all commands are in the help of `tally` only. `tally
man` makes manual pages of the same words, and `tally completions` the completion of shells. This page is made
from the program.
"
    .to_string();
    write(&root, "tally", 1, &mut text);
    for command in shown(&root) {
        write(command, &format!("tally {}", command.get_name()), 2, &mut text);
    }
    is_kept("commands.md", &text);
}

/// Compares a page of the reference with the kept one, or keeps it.
fn is_kept(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference").join(name);
    if std::env::var_os("TALLYMON_BLESS").is_some_and(|value| value == "1") {
        std::fs::write(&path, text).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(kept == text, "{} is not up to date; TALLYMON_BLESS=1 writes it", path.display());
}

/// A text in a cell of a table. Places of values are an ellipsis.
fn cell(text: &str) -> String {
    let mut places = text.replace("{}", "…");
    for nth in 0..9 {
        places = places.replace(&format!("{{{nth}}}"), "…");
    }
    places.replace('\\', "\\\\").replace('|', "\\|").replace('<', "\\<").replace('*', "\\*")
}

/// The exit codes, as the source of [`crate::exit::Kind`] explains them.
fn exit_codes() -> Vec<(u8, String)> {
    let source = include_str!("../../exit.rs");
    let (_, kinds) = source.split_once("pub(crate) enum Kind {").unwrap();
    let (kinds, _) = kinds.split_once("\n}").unwrap();
    let mut codes = Vec::new();
    let mut meaning = String::new();
    for line in kinds.lines().map(str::trim) {
        match (line.strip_prefix("///"), line.rsplit_once(" = ")) {
            (Some(words), _) => meaning.push_str(words),
            (None, Some((_, code))) => {
                codes.push((code.trim_end_matches(',').parse().unwrap(), meaning.trim().to_string()));
                meaning.clear();
            }
            _ => {}
        }
    }
    codes
}

#[test]
fn the_page_of_errors_has_every_exit_code_event_and_message() {
    let mut text = "# Exit codes, events and messages

This page is made from the program. A message on standard error begins with `tally:` and ends the command, or, with
`warning`, does not; on a terminal it is in the language of the user, and here it is in all four, so that a page
found with the words of one language leads to those of another. `…` is a name, a number or a path. What the
operating system says about a file stands behind its path, in its own words.

## Exit codes

`tally check` has those of Monitoring Plugins, `tally prof run` that of the program that it runs.

| code | when |
|---|---|
"
    .to_string();
    let codes = exit_codes();
    assert!(codes.iter().map(|(code, _)| *code).eq(0..=8), "{codes:?}");
    for (code, meaning) in codes {
        let before = if code == 0 { "The command did what was asked. " } else { "" };
        // Writing into a text cannot fail, here and below.
        let _ = writeln!(text, "| {code} | {before}{} |", cell(&meaning));
    }
    text.push_str(
        "
## Events

`tally events` prints them. Ids below a source of Microsoft are NT's.

| source | id | level | words |
|---|---|---|---|
",
    );
    for kind in KINDS {
        let values = kind.fields.iter().map(|field| format!("({field})")).collect();
        let event = Event { kind, values, detail: String::new() };
        let (source, level) = (kind.source.name(), kind.level.word());
        let _ = writeln!(text, "| {source} | {} | {level} | {} |", kind.id, cell(&event.to_string()));
    }
    text.push_str(
        "
## Messages

| English | Korean | Japanese | Russian |
|---|---|---|---|
",
    );
    let mut messages = translations(TEXTS);
    messages
        .sort_by_key(|[english, ..]| english.trim_start_matches("{}").trim_start_matches([':', ' ', ';']));
    for [english, korean, japanese, russian] in messages {
        let [english, korean, japanese, russian] = [english, korean, japanese, russian].map(cell);
        let _ = writeln!(text, "| {english} | {korean} | {japanese} | {russian} |");
    }
    is_kept("errors.md", &text);
}
