//! Finds what the last word of a command line is: a command, an option, or the value of an argument.

use clap::{Arg, Command};

/// The place of a word in a command line.
#[derive(Debug)]
pub(super) struct WordPosition<'c> {
    /// The command whose arguments these are.
    pub(super) command: &'c Command,
    /// The commands above it, without `tally` itself: `log` for `tally log stop`.
    pub(super) above: Vec<&'c str>,
    /// The argument that the word is a value of; `None` if it is a command or an option.
    pub(super) argument: Option<&'c Arg>,
    /// Whether the word may be an option: no `--` stands before it.
    pub(super) may_be_option: bool,
    /// The beginning of the word, without the option in front of it.
    pub(super) typed: &'c str,
    /// `--log=` in front of the word.
    pub(super) joined: Option<String>,
    /// The values before it, each with the id of its argument.
    pub(super) values: Vec<(&'c str, &'c str)>,
}

impl WordPosition<'_> {
    /// The last value of an argument on the line.
    pub(super) fn value(&self, id: &str) -> Option<&str> {
        self.values.iter().rev().find(|(known, _)| *known == id).map(|(_, value)| *value)
    }
}

/// Finds the place of the word behind other words, the first of which is an argument of `tally`.
pub(super) fn find<'c>(root: &'c Command, before: &'c [String], typed: &'c str) -> WordPosition<'c> {
    let mut place = WordPosition {
        command: root,
        above: Vec::new(),
        argument: None,
        may_be_option: true,
        typed,
        joined: None,
        values: Vec::new(),
    };
    // The option whose value comes next, and how many values without an option there were.
    let mut open: Option<&'c Arg> = None;
    let mut positions = 0usize;
    for word in before {
        if let Some(option) = open.take() {
            place.values.push((option.get_id().as_str(), word));
        } else if place.may_be_option && word == "--" {
            place.may_be_option = false;
        } else if place.may_be_option && word.len() > 1 && word.starts_with('-') {
            match option(place.command, word) {
                Some((option, None)) => open = takes_value(option).then_some(option),
                Some((option, Some(value))) => place.values.push((option.get_id().as_str(), value)),
                None => (),
            }
        } else if let Some(next) = subcommand(place.command, word).filter(|_| positions == 0) {
            if place.command.get_name() != root.get_name() {
                place.above.push(place.command.get_name());
            }
            place.command = next;
        } else {
            if let Some(argument) = position(place.command, positions, place.may_be_option) {
                place.values.push((argument.get_id().as_str(), word));
            }
            positions = positions.saturating_add(1);
        }
    }
    if let Some(option) = open {
        place.argument = Some(option);
    } else if let (true, Some((name, value))) = (place.may_be_option, typed.split_once('='))
        && let Some((option, _)) = name.starts_with("--").then(|| option(place.command, name)).flatten()
        && takes_value(option)
    {
        place.argument = Some(option);
        place.joined = Some(format!("{name}="));
        place.typed = value;
    } else if !(place.may_be_option && typed.starts_with('-')) {
        place.argument = position(place.command, positions, place.may_be_option);
    }
    place
}

fn subcommand<'c>(command: &'c Command, word: &str) -> Option<&'c Command> {
    command.get_subcommands().find(|known| known.get_name() == word)
}

fn takes_value(option: &Arg) -> bool {
    option.get_action().takes_values()
}

/// The option that a word names, and the value in the same word.
fn option<'c>(command: &'c Command, word: &'c str) -> Option<(&'c Arg, Option<&'c str>)> {
    if let Some(long) = word.strip_prefix("--") {
        let (name, value) = long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
        let named = |option: &&Arg| option.get_long() == Some(name);
        return command.get_arguments().find(named).map(|option| (option, value));
    }
    // `-i5`, `-1i 5`: the first letter that takes a value takes what is behind it.
    let mut letters = word.get(1..)?.char_indices();
    let mut last = None;
    for (at, letter) in letters.by_ref() {
        let option = command.get_arguments().find(|option| option.get_short() == Some(letter))?;
        let behind = word.get(1usize.saturating_add(at).saturating_add(letter.len_utf8())..);
        if takes_value(option) {
            return Some((option, behind.filter(|value| !value.is_empty())));
        }
        last = Some((option, None));
    }
    last
}

/// The argument without an option at a position. The last one may have many values.
fn position(command: &Command, at: usize, before_dashes: bool) -> Option<&Arg> {
    let mut known = command.get_positionals().filter(|argument| !(before_dashes && argument.is_last_set()));
    let mut many = None;
    for nth in 0..=at {
        let Some(argument) = known.next() else { break };
        let is_many = argument.get_num_args().is_some_and(|count| count.max_values() > 1)
            || matches!(argument.get_action(), clap::ArgAction::Append);
        if is_many {
            many = Some(argument);
        }
        if nth == at {
            return Some(argument);
        }
    }
    many
}
