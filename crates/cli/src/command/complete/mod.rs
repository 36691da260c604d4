//! `tally completions`: scripts that complete command lines in shells, and the hidden command that answers
//! them.
//!
//! A script passes the words of the command line to `tally __complete SHELL` and gets candidates back. All
//! knowledge is in this program: commands and options come from the one table of arguments, names from the
//! counters of this machine or of the log that the line names. So a script never goes out of date.
//!
//! The answer is lines of text. The first one says what follows:
//!
//! | line | meaning |
//! |---|---|
//! | `words` | candidates, each followed by a blank |
//! | `parts` | candidates that continue without a blank, such as `\Processor(` |
//! | `files` | let the shell complete files |
//! | `logs blg csv …` | the same, for files with these extensions |
//!
//! Each candidate is a line: the text, a tab, and its description.

mod bash;
mod fish;
mod line;
mod paths;
mod values;

use std::io::Write;

use clap::CommandFactory;
use tallymon::core::visible::visible;

use crate::arguments::{Common, Complete, Completions, Shell};
use crate::border;
use crate::command_line::Arguments;
use crate::exit::Failure;

impl Shell {
    const fn script(self) -> &'static str {
        match self {
            Shell::Bash => include_str!("scripts/tally.bash"),
            Shell::Zsh => include_str!("scripts/_tally"),
            Shell::Fish => include_str!("scripts/tally.fish"),
            Shell::Powershell => include_str!("scripts/tally.ps1"),
        }
    }
}

/// A text that may complete a word, and what it means.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Candidate {
    text: String,
    about: String,
}

impl Candidate {
    fn new(text: impl Into<String>, about: impl Into<String>) -> Candidate {
        Candidate { text: text.into(), about: about.into() }
    }
}

/// What may stand in the place of a word.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Answer {
    /// Whole words.
    Words(Vec<Candidate>),
    /// Beginnings of words.
    Parts(Vec<Candidate>),
    /// Files with these extensions; any, if there are none.
    Files(Vec<&'static str>),
}

/// Prints the script of a shell.
pub(crate) fn script(wanted: &Completions) -> Result<(), Failure> {
    Ok(border::data().write_all(wanted.shell.script().as_bytes())?)
}

/// Answers a script.
pub(crate) fn answer(common: &Common, wanted: &Complete) -> Result<(), Failure> {
    let mut command = Arguments::command();
    command.build();
    let (words, place) = match wanted.shell {
        Shell::Bash => {
            let typed = wanted.words.first().map(String::as_str).unwrap_or_default();
            let (words, word) = bash::words(typed);
            (words, Some(word))
        }
        Shell::Fish => {
            let mut words = wanted.words.clone();
            if let Some(last) = words.last_mut() {
                *last = fish::plain(last);
            }
            (words, None)
        }
        Shell::Zsh | Shell::Powershell => (wanted.words.clone(), None),
    };
    let Some((typed, before)) = words.split_last() else { return Ok(()) };
    let at = line::find(&command, before, typed);
    let answer = values::answer(common, &at);
    // `--log=x` is one word for most shells.
    let answer = match &at.joined {
        Some(option) if place.is_none() => answer.after(option),
        _ => answer,
    };
    let answer = match place {
        Some(word) => bash::quoted(answer, &word),
        None => answer,
    };
    let mut text = String::new();
    answer.print(&mut text);
    Ok(border::data().write_all(text.as_bytes())?)
}

impl Answer {
    /// The same behind an option such as `--log=`.
    fn after(self, option: &str) -> Answer {
        let join = |all: Vec<Candidate>| {
            all.into_iter().map(|one| Candidate { text: format!("{option}{}", one.text), ..one }).collect()
        };
        match self {
            Answer::Words(all) => Answer::Words(join(all)),
            Answer::Parts(all) => Answer::Parts(join(all)),
            Answer::Files(_) => self,
        }
    }

    fn print(&self, text: &mut String) {
        let (head, all) = match self {
            Answer::Words(all) => ("words".to_string(), all.as_slice()),
            Answer::Parts(all) => ("parts".to_string(), all.as_slice()),
            Answer::Files(extensions) if extensions.is_empty() => ("files".to_string(), &[][..]),
            Answer::Files(extensions) => (format!("logs {}", extensions.join(" ")), &[][..]),
        };
        text.push_str(&head);
        text.push('\n');
        for Candidate { text: word, about } in all {
            // A shell would show such a name on the terminal, or take its line end as the end of the name.
            if visible(word) == word.as_str() && !word.contains('\t') {
                text.push_str(&format!("{word}\t{}\n", visible(about).replace('\t', " ")));
            }
        }
    }
}
