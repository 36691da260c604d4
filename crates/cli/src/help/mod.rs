//! The help in the language of the user: each text of the command line, looked up by its English words.
//!
//! Names of commands, options and values are the same in every language.

use std::collections::HashMap;
use std::ffi::OsString;

use clap::builder::Styles;
use clap::{Arg, Command};
use tallymon::core::title::Language;

use crate::language;
use crate::words::{line_width, wrap};

/// Blocks of four lines: English, Korean, Japanese, Russian. An English text is a paragraph of a help without
/// its last full stop.
const TEXTS: &str = include_str!("texts.txt");

/// The column where the help of an option begins.
const INDENT: usize = 10;

/// The text for an English one; `None` where there is none.
type LookUp<'l> = &'l dyn Fn(&str) -> Option<&'static str>;

/// The command line with its help in the language that these arguments and the environment choose; `None` for
/// English and for languages without a translation.
pub(crate) fn translated(command: fn() -> Command, arguments: &[OsString]) -> Option<Command> {
    let texts = texts(column(language::of_arguments(arguments))?);
    Some(translate(command(), &|english| texts.get(english).copied()))
}

/// Whether the help of these arguments has a translation.
pub(crate) fn is_translated(arguments: &[OsString]) -> bool {
    column(language::of_arguments(arguments)).is_some()
}

/// The line of a block that has a language.
fn column(language: Language) -> Option<usize> {
    match language {
        Language::KOREAN => Some(1),
        Language::JAPANESE => Some(2),
        Language::RUSSIAN => Some(3),
        _ => None,
    }
}

fn texts(column: usize) -> HashMap<&'static str, &'static str> {
    let blocks = TEXTS.split("\n\n").map(|block| block.lines().collect::<Vec<_>>());
    blocks.filter_map(|lines| Some((*lines.first()?, *lines.get(column)?))).collect()
}

fn translate(mut command: Command, look_up: LookUp<'_>) -> Command {
    // Options of every command and the help's own are there from now on.
    command.build();
    whole(command, look_up)
}

fn whole(command: Command, look_up: LookUp<'_>) -> Command {
    let style = Styles::default();
    let style = style.get_usage();
    let usage = word("Usage", look_up);
    let template = format!(
        "{{before-help}}{{about-with-newline}}\n{style}{usage}:{style:#} {{usage}}\n\n\
         {{all-args}}{{after-help}}"
    );
    let about = command.get_about().map(|text| text_of(&text.to_string(), look_up));
    let long = command.get_long_about().map(|text| paragraphs(&text.to_string(), 0, look_up));
    let after = command.get_after_help().map(|text| ending(&text.to_string(), look_up));
    let mut command = command
        .help_template(template)
        .subcommand_help_heading(word("Commands", look_up))
        .mut_args(|argument| argument_of(argument, look_up))
        .mut_subcommands(|inner| whole(inner, look_up));
    if let Some(about) = about {
        command = command.about(about);
    }
    if let Some(long) = long {
        command = command.long_about(long);
    }
    if let Some(after) = after {
        command = command.after_help(after);
    }
    command
}

/// An argument with its help and its heading. clap writes its defaults and values in English, so they become
/// part of the help.
fn argument_of(argument: Arg, look_up: LookUp<'_>) -> Arg {
    let usual = if argument.is_positional() { "Arguments" } else { "Options" };
    let heading = argument.get_help_heading().map_or_else(|| Some(word(usual, look_up)), look_up);
    let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
    let long = argument.get_long_help().map(ToString::to_string);
    let takes_values = argument.get_action().takes_values();
    let shows_default = takes_values && !argument.is_hide_default_value_set();
    let shows_values = takes_values && !argument.is_hide_possible_values_set();
    let defaults: Vec<String> = argument
        .get_default_values()
        .iter()
        .filter(|_| shows_default)
        .map(|value| value.to_string_lossy().into_owned())
        .collect();
    let values: Vec<(String, Option<String>)> = argument
        .get_possible_values()
        .iter()
        .filter(|value| shows_values && !value.is_hide_set())
        .map(|value| (value.get_name().to_owned(), value.get_help().map(ToString::to_string)))
        .collect();
    let mut notes = String::new();
    if !defaults.is_empty() {
        notes += &format!(" [{}: {}]", word("default", look_up), defaults.join(", "));
    }
    let names: Vec<&str> = values.iter().map(|(name, _)| name.as_str()).collect();
    let mut short = text_of(&help, look_up) + &notes;
    if !names.is_empty() {
        short += &format!(" [{}: {}]", word("possible values", look_up), names.join(", "));
    }
    let explained = values.iter().any(|(_, help)| help.is_some());
    let mut argument = argument.hide_default_value(true).hide_possible_values(true);
    if let Some(heading) = heading {
        argument = argument.help_heading(heading);
    }
    // Below a heading of its own clap would sort them by their names.
    if let Some(place) = argument.get_index() {
        argument = argument.display_order(place);
    }
    if long.is_some() || explained {
        let mut text = paragraphs(long.as_deref().unwrap_or(&help), INDENT, look_up);
        text += &notes;
        if !names.is_empty() {
            text += &format!("\n\n{}:", word("possible values", look_up));
            for (name, help) in &values {
                let help = help.as_deref().map(|help| format!(": {}", text_of(help, look_up)));
                text += &format!("\n- {name}{}", help.unwrap_or_default());
            }
        }
        argument = argument.long_help(text);
    }
    argument.help(wrapped(&short, INDENT)).next_line_help(true)
}

/// The examples and the other paragraphs at the end of a help.
fn ending(text: &str, look_up: LookUp<'_>) -> String {
    let part = |part: &str| match part.strip_prefix("Examples:\n") {
        Some(lines) => format!("{}:\n{lines}", word("Examples", look_up)),
        None => wrapped(&text_of(part, look_up), 0),
    };
    text.split("\n\n").map(part).collect::<Vec<_>>().join("\n\n")
}

fn paragraphs(text: &str, indent: usize, look_up: LookUp<'_>) -> String {
    let parts = text.split("\n\n").map(|part| wrapped(&text_of(part, look_up), indent));
    parts.collect::<Vec<_>>().join("\n\n")
}

/// One paragraph in the language.
fn text_of(text: &str, look_up: LookUp<'_>) -> String {
    let key = text.lines().map(str::trim).collect::<Vec<_>>().join(" ");
    let key = key.strip_suffix('.').unwrap_or(&key);
    if key.is_empty() {
        return String::new();
    }
    look_up(key).map_or_else(|| text.to_owned(), str::to_owned)
}

/// A word of the help itself.
fn word(english: &'static str, look_up: LookUp<'_>) -> &'static str {
    look_up(english).unwrap_or(english)
}

/// Lines that fit the terminal: clap breaks them at blanks only, which Japanese does not have.
fn wrapped(text: &str, indent: usize) -> String {
    wrap(text, indent, line_width()).join("\n")
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::collections::BTreeSet;

    use super::*;
    use crate::command_line::Arguments;

    /// The English texts that the help of all commands has.
    fn english() -> BTreeSet<String> {
        let seen = RefCell::new(BTreeSet::new());
        translate(Arguments::whole_command(), &|text| {
            seen.borrow_mut().insert(text.to_owned());
            None
        });
        seen.into_inner()
    }

    #[test]
    fn every_text_has_a_translation_and_every_translation_a_text() {
        let wanted = english();
        assert!(wanted.len() > 300, "{}", wanted.len());
        let known: BTreeSet<String> = TEXTS
            .split("\n\n")
            .map(|block| {
                let lines: Vec<&str> = block.lines().collect();
                assert_eq!(lines.len(), 4, "English, Korean, Japanese, Russian: {block}");
                for line in &lines {
                    assert!(!line.trim().is_empty() && !line.ends_with('.'), "{line}");
                }
                lines.first().copied().unwrap_or_default().to_owned()
            })
            .collect();
        let missing: Vec<&String> = wanted.difference(&known).collect();
        assert!(missing.is_empty(), "add to texts.txt:\n{missing:#?}");
        let unused: Vec<&String> = known.difference(&wanted).collect();
        assert!(unused.is_empty(), "no help has these any more:\n{unused:#?}");
    }

    /// What a user copies from a text has to be the same in every language.
    #[test]
    fn translations_keep_what_is_typed() {
        let typed = |text: &str| -> BTreeSet<String> {
            let words = text.split(|letter: char| letter.is_whitespace() || "(),;。、".contains(letter));
            let words = words.map(|word| word.trim_matches(['\'', '.', ':', '"']));
            let is_typed =
                |word: &&str| word.starts_with("--") || word.contains("://") || word.contains('\\');
            words.filter(is_typed).map(str::to_owned).collect()
        };
        for block in TEXTS.split("\n\n") {
            let (english, others) = block.split_once('\n').unwrap();
            for other in others.lines() {
                for word in typed(english) {
                    assert!(other.contains(&word), "{word} of {english:?} is not in {other:?}");
                }
            }
        }
    }

    /// Every name, value and usage line of a command and of those below it.
    fn names(command: &Command, lines: &mut Vec<String>) {
        lines.push(format!("{} {:?}", command.get_name(), command.get_all_aliases().collect::<Vec<_>>()));
        for argument in command.get_arguments() {
            let values: Vec<String> =
                argument.get_possible_values().iter().map(|value| value.get_name().to_owned()).collect();
            lines.push(format!(
                "{} {:?} {:?} {:?} {:?} {:?}",
                argument.get_id(),
                argument.get_short(),
                argument.get_long(),
                argument.get_value_names(),
                argument.get_default_values(),
                values
            ));
        }
        lines.push(command.clone().render_usage().to_string());
        command.get_subcommands().for_each(|inner| names(inner, lines));
    }

    #[test]
    fn names_are_the_same_in_every_language() {
        let mut plain = Arguments::whole_command();
        plain.build();
        let mut expected = Vec::new();
        names(&plain, &mut expected);
        assert!(expected.len() > 400, "{}", expected.len());
        for column in 1..=3 {
            let texts = texts(column);
            let command = translate(Arguments::whole_command(), &|english| texts.get(english).copied());
            let mut found = Vec::new();
            names(&command, &mut found);
            assert_eq!(found, expected);
        }
    }
}
