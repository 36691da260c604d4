//! `tally man`: manual pages, from the same table as the help.

#[cfg(test)]
mod reference_tests;
mod roff;

use std::io::Write;
use std::time::{Duration, SystemTime};

use clap::{Arg, Command, CommandFactory};
use tallymon::core::time::FileTime;
use tallymon::core::title::nearest;
use tallymon::log::new_file::{Overwrite, write_file};

use self::roff::Page;
use crate::arguments::Man;
use crate::border;
use crate::command_line::Arguments;
use crate::exit::{Failure, Kind};

pub(crate) fn run(wanted: &Man) -> Result<(), Failure> {
    let mut root = Arguments::whole_command().term_width(100);
    root.build();
    if let Some(folder) = &wanted.output {
        let made = std::fs::create_dir_all(folder);
        made.map_err(|error| Failure::file(folder, &error))?;
        let pages = shown(&root).map(|command| (file_name(command), page(&root, Some(command))));
        for (name, text) in std::iter::once(("tally.1".to_string(), page(&root, None))).chain(pages) {
            let file = folder.join(name);
            // The pages of another version are worth nothing.
            let written = write_file(&file, Overwrite::Replace, text.as_bytes());
            written.map_err(|error| Failure::file(&file, &error))?;
        }
        return Ok(());
    }
    let text = match &wanted.command {
        None => page(&root, None),
        Some(name) => {
            let command = shown(&root).find(|command| command.get_name() == name).ok_or_else(|| {
                let near = nearest(name, shown(&root).map(Command::get_name), 1);
                let advice =
                    near.first().map_or_else(String::new, |near| format!("; did you mean {near:?}?"));
                Failure::new(Kind::NotFound, format_args!("there is no command {name:?}{advice}"))
            })?;
            page(&root, Some(command))
        }
    };
    Ok(border::data().write_all(text.as_bytes())?)
}

/// The names of the commands that have a page.
pub(crate) fn names() -> Vec<String> {
    shown(&Arguments::command()).map(|command| command.get_name().to_string()).collect()
}

fn shown(root: &Command) -> impl Iterator<Item = &Command> {
    root.get_subcommands().filter(|command| !command.is_hide_set() && command.get_name() != "help")
}

fn file_name(command: &Command) -> String {
    format!("tally-{}.1", command.get_name())
}

/// The day of the page: of `SOURCE_DATE_EPOCH`, which packages set, else today.
fn day() -> String {
    let seconds = std::env::var("SOURCE_DATE_EPOCH").ok().and_then(|text| text.parse().ok());
    let fixed = seconds.and_then(|seconds| SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(seconds)));
    let since = fixed.unwrap_or_else(SystemTime::now).duration_since(SystemTime::UNIX_EPOCH);
    let nanoseconds = i128::try_from(since.unwrap_or_default().as_nanos()).unwrap_or_default();
    let time = FileTime::from_unix_nanoseconds(nanoseconds).unwrap_or_default();
    let day = time.system_time();
    format!("{:04}-{:02}-{:02}", day.year, day.month, day.day)
}

/// The page of a command, or of `tally` itself.
fn page(root: &Command, command: Option<&Command>) -> String {
    let name = command.map_or_else(|| "tally".to_string(), |command| format!("tally-{}", command.get_name()));
    let of = command.unwrap_or(root);
    let mut page = Page::new(&name, &day(), root.get_version().unwrap_or_default());
    page.section("NAME");
    page.text(&format!("{name} - {}", sentence(&about(of)).to_lowercase_first()));
    page.section("SYNOPSIS");
    synopsis(&mut page, of, &called(command));
    page.section("DESCRIPTION");
    page.text(&full(&about(of)));
    let (examples, notes) = after(of);
    for note in notes.iter().filter(|note| !note.starts_with("Exit codes:")) {
        page.paragraph();
        page.text(note);
    }
    if command.is_none() {
        page.section("COMMANDS");
        for command in shown(root) {
            page.item(&format!("tally {}", command.get_name()));
            page.text(&format!("{} See ", full(&about(command))));
            page.reference(&format!("tally-{}", command.get_name()));
        }
    }
    arguments(&mut page, of);
    for action in of.get_subcommands().filter(|_| command.is_some()) {
        if action.is_hide_set() || action.get_name() == "help" {
            continue;
        }
        page.section(&format!("{} {}", called(command), action.get_name()).to_uppercase());
        synopsis(&mut page, action, &format!("{} {}", called(command), action.get_name()));
        page.paragraph();
        page.text(&full(&about(action)));
        arguments_of(&mut page, action, "");
        if let (Some(examples), _) = after(action) {
            page.paragraph();
            page.text("Examples:");
            page.example(&examples);
        }
    }
    if command.is_some() {
        page.section("GLOBAL OPTIONS");
        for option in root.get_arguments().filter(|option| option.is_global_set()) {
            argument(&mut page, option);
        }
    }
    if let Some(examples) = examples {
        page.section("EXAMPLES");
        page.example(&examples);
    }
    let (_, notes) = after(root);
    if let Some(codes) = notes.iter().find_map(|note| note.strip_prefix("Exit codes:")) {
        page.section("EXIT STATUS");
        for code in codes.trim().trim_end_matches('.').split(", ") {
            if let Some((number, meaning)) = code.trim().split_once(' ') {
                page.item(number);
                page.text(&format!("{meaning}."));
            }
        }
    }
    page.section("SEE ALSO");
    let all = std::iter::once("tally".to_string())
        .chain(shown(root).map(|command| format!("tally-{}", command.get_name())));
    let others: Vec<String> = all.filter(|other| *other != name).collect();
    page.references(&others);
    page.finish()
}

trait Lower {
    fn to_lowercase_first(&self) -> String;
}

impl Lower for str {
    /// The text with a small first letter, unless its first word is a name.
    fn to_lowercase_first(&self) -> String {
        let mut letters = self.chars();
        match letters.next() {
            Some(first) if !self.starts_with("Windows") => first.to_lowercase().chain(letters).collect(),
            _ => self.to_string(),
        }
    }
}

/// What the user types to run a command.
fn called(command: Option<&Command>) -> String {
    command.map_or_else(|| "tally".to_string(), |command| format!("tally {}", command.get_name()))
}

fn about(command: &Command) -> String {
    command.get_long_about().or(command.get_about()).map(ToString::to_string).unwrap_or_default()
}

/// A text with the full stop that the help leaves out.
fn full(text: &str) -> String {
    let is_open = text.ends_with(|last: char| last.is_alphanumeric() || last == ')');
    format!("{text}{}", if is_open { "." } else { "" })
}

/// The first sentence, without its full stop.
fn sentence(text: &str) -> &str {
    text.split_once(". ").map_or(text, |(first, _)| first).trim_end_matches('.')
}

/// The examples at the end of the help, and its other paragraphs, each on one line.
fn after(command: &Command) -> (Option<String>, Vec<String>) {
    let text = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let mut examples = None;
    let mut notes = Vec::new();
    for part in text.split("\n\n").filter(|part| !part.trim().is_empty()) {
        match part.strip_prefix("Examples:\n") {
            Some(lines) => {
                let lines: Vec<&str> = lines.lines().map(str::trim).collect();
                examples = Some(lines.join("\n"));
            }
            None => notes.push(part.lines().map(str::trim).collect::<Vec<_>>().join(" ")),
        }
    }
    (examples, notes)
}

fn synopsis(page: &mut Page, command: &Command, called: &str) {
    let mut parts = vec![roff::bold(called)];
    let local = |argument: &&Arg| !argument.is_hide_set() && !argument.is_global_set();
    if command.get_arguments().filter(local).any(|argument| !argument.is_positional()) {
        parts.push(format!("[{}]", roff::italic("OPTIONS")));
    }
    if command.get_subcommands().any(|command| !command.is_hide_set() && command.get_name() != "help") {
        parts.push(roff::italic("COMMAND"));
    }
    for argument in command.get_positionals() {
        let is_many = argument.get_num_args().is_some_and(|count| count.max_values() > 1);
        let name = format!("{}{}", roff::italic(&value_name(argument)), if is_many { "..." } else { "" });
        let name = if argument.is_last_set() { format!("\\-\\- {name}") } else { name };
        parts.push(if argument.is_required_set() { name } else { format!("[{name}]") });
    }
    page.raw(&parts.join(" "));
}

fn value_name(argument: &Arg) -> String {
    let named = argument.get_value_names().and_then(|names| names.first()).map(|name| name.to_string());
    named.unwrap_or_else(|| argument.get_id().as_str().to_uppercase())
}

/// The arguments of a command: without an option first, then options under their headings.
fn arguments(page: &mut Page, command: &Command) {
    arguments_of(page, command, "OPTIONS");
}

/// As [`arguments`]; without a title they stand below each other, as in a section of another command.
fn arguments_of(page: &mut Page, command: &Command, title: &str) {
    let local: Vec<&Arg> = command
        .get_arguments()
        .filter(|argument| {
            !argument.is_hide_set() && (!argument.is_global_set() || command.get_name() == "tally")
        })
        .collect();
    let positional: Vec<&&Arg> = local.iter().filter(|argument| argument.is_positional()).collect();
    if !positional.is_empty() && !title.is_empty() {
        page.section("ARGUMENTS");
    }
    positional.into_iter().for_each(|one| argument(page, one));
    let options: Vec<&&Arg> = local.iter().filter(|argument| !argument.is_positional()).collect();
    if options.is_empty() {
        return;
    }
    if !title.is_empty() {
        page.section(title);
    }
    let mut headings: Vec<Option<&str>> = Vec::new();
    for option in &options {
        if !headings.contains(&option.get_help_heading()) {
            headings.push(option.get_help_heading());
        }
    }
    for heading in headings {
        if let Some(heading) = heading.filter(|_| !title.is_empty()) {
            page.subsection(heading);
        }
        options
            .iter()
            .filter(|option| option.get_help_heading() == heading)
            .for_each(|one| argument(page, one));
    }
}

fn argument(page: &mut Page, argument: &Arg) {
    let mut head = Vec::new();
    if argument.is_positional() {
        head.push(roff::italic(&value_name(argument)));
    }
    head.extend(argument.get_short().map(|letter| roff::bold(&format!("-{letter}"))));
    head.extend(argument.get_long().map(|name| roff::bold(&format!("--{name}"))));
    let mut head = head.join(", ");
    if !argument.is_positional() && argument.get_action().takes_values() {
        head += &format!(" {}", roff::italic(&value_name(argument)));
    }
    page.raw_item(&head);
    let help = argument.get_long_help().or(argument.get_help()).map(ToString::to_string).unwrap_or_default();
    let mut paragraphs = help.split("\n\n");
    page.text(&full(paragraphs.next().unwrap_or_default()));
    for more in paragraphs {
        page.indented(&full(more));
    }
    let values: Vec<_> =
        argument.get_possible_values().into_iter().filter(|value| !value.is_hide_set()).collect();
    if !values.is_empty() && argument.get_action().takes_values() {
        let names: Vec<&str> = values.iter().map(clap::builder::PossibleValue::get_name).collect();
        page.indented(&format!("Values: {}.", names.join(", ")));
    }
    let defaults: Vec<String> =
        argument.get_default_values().iter().map(|value| value.to_string_lossy().into_owned()).collect();
    if !defaults.is_empty() && !argument.is_hide_default_value_set() && argument.get_action().takes_values() {
        page.indented(&format!("Default: {}.", defaults.join(", ")));
    }
}
