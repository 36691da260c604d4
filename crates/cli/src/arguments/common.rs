//! Options of every command.

use std::path::PathBuf;

use clap::Args;
use tallymon::{NameForm, Profile, TierChoice, environment};

use super::parse::names;

/// Options of every command.
#[derive(Debug, Default, Clone, Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct Common {
    /// Language of names and help texts: en, ko, ja, ru, or a Windows code such as 012.
    #[arg(long, global = true, env = environment::LANG.name, hide_env = true, value_name = "LANGUAGE")]
    pub(crate) lang: Option<String>,
    /// Names of counters in Korean and Japanese: nt (English, as Windows shows them) or translated. Paths may
    /// always have either.
    #[arg(long = "names", global = true, env = NameForm::VARIABLE, hide_env = true, value_parser = names,
        value_name = "FORM")]
    pub(crate) name_form: Option<NameForm>,
    /// Read a data block that 'tally dump --raw' saved, instead of the running system.
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// How to read processes, CPUs and network protocols: t0 (/proc), t2 (eBPF) or auto; see 'tally doctor'.
    #[arg(long, global = true, env = TierChoice::VARIABLE, hide_env = true, value_name = "TIER")]
    pub(crate) tier: Option<TierChoice>,
    /// Which objects to show: linux-honest (those with a source on Linux) or nt-strict (all of NT).
    #[arg(long, global = true, env = Profile::VARIABLE, hide_env = true, value_name = "PROFILE")]
    pub(crate) profile: Option<Profile>,
}
