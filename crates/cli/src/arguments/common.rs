//! Options of every command.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use tallymon::{InstanceNames, NameForm, Profile, TierChoice, environment};

use super::parse::{interval, names};

/// Options of every command.
#[derive(Debug, Default, Clone, Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct Common {
    /// How processes are named; an option of single commands.
    #[arg(skip)]
    pub(crate) instances: InstanceNames,
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
    /// Read another machine: an address such as ssh://web1, tls://web1 or rrp://win1, a name or a group of
    /// the table of hosts, or @FILE with a table. Repeat for several.
    #[arg(long, short = 'H', global = true, value_name = "HOST")]
    pub(crate) host: Vec<String>,
    /// How long another machine may take for a connection, and for each answer; 10s by default.
    #[arg(long, global = true, value_parser = interval, value_name = "TIME")]
    pub(crate) timeout: Option<Duration>,
    /// How to read processes, CPUs and network protocols: t0 (/proc), t2 (eBPF) or auto; see 'tally doctor'.
    #[arg(long, global = true, env = TierChoice::VARIABLE, hide_env = true, value_name = "TIER")]
    pub(crate) tier: Option<TierChoice>,
    /// Which objects to show: linux-honest (those with a source on Linux) or nt-strict (all of NT).
    #[arg(long, global = true, env = Profile::VARIABLE, hide_env = true, value_name = "PROFILE")]
    pub(crate) profile: Option<Profile>,
}

impl Common {
    /// Whether values are of this machine, now, whose setup the user can change.
    pub(crate) const fn is_of_this_machine(&self) -> bool {
        self.file.is_none() && self.host.is_empty()
    }
}
