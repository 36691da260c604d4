//! Writes the page of all commands with `TALLYMON_BLESS=1`, and compares it: it is what `--help` prints.

use std::fmt::Write as _;
use std::path::Path;

use clap::Command;

use super::shown;
use crate::command_line::Arguments;

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
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/commands.md");
    if std::env::var_os("TALLYMON_BLESS").is_some_and(|value| value == "1") {
        std::fs::write(&path, &text).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(kept == text, "{} is not up to date; TALLYMON_BLESS=1 writes it", path.display());
}
