//! Arguments of the commands for shells and manuals.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::parse::file_to_write;

/// Shells with a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Shell {
    Bash,
    Zsh,
    Fish,
    Powershell,
}

#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// The shell.
    #[arg(value_enum, value_name = "SHELL")]
    pub(crate) shell: Shell,
}

#[derive(Debug, Args)]
pub(crate) struct Complete {
    /// The shell.
    #[arg(value_enum, value_name = "SHELL")]
    pub(crate) shell: Shell,
    /// The words of the line up to the cursor; for bash the line.
    #[arg(value_name = "WORD", last = true)]
    pub(crate) words: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Man {
    /// Command to describe. Default: tally itself.
    #[arg(value_name = "COMMAND", conflicts_with = "output")]
    pub(crate) command: Option<String>,
    /// Write the pages of all commands into this folder, as tally-COMMAND.1.
    #[arg(long, short, value_name = "FOLDER", value_parser = file_to_write(), help_heading = "Output")]
    pub(crate) output: Option<PathBuf>,
}
