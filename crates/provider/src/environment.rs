//! The environment variables that change what Tallymon does: all of them, in one table.
//!
//! All names begin with `TALLY_`. Older names stay readable, see [`Variable::old`]. Variables of the system, such
//! as `LANG`, `XDG_STATE_HOME` and `NO_COLOR`, keep their usual meaning and are not in the table.

use std::ffi::OsString;

/// One variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Variable {
    /// Its name.
    pub name: &'static str,
    /// Its older name, which is read when the first one is missing.
    pub old: Option<&'static str>,
    /// What it does, for the manual.
    pub what: &'static str,
}

/// The folder for everything: registry, sessions, logs, events and published counters.
pub const ROOT: Variable = Variable {
    name: "TALLY_ROOT",
    old: Some("TALLYMON_ROOT"),
    what: "folder for the registry, sessions, logs, events, published counters and the table of hosts, instead of the system's folders",
};

/// How processes are read.
pub const TIER: Variable = Variable {
    name: "TALLY_TIER",
    old: Some("TALLYMON_TIER"),
    what: "how to read processes, CPUs and network protocols: `t0`, `t2` or `auto`, as `--tier`",
};

/// Which objects are shown.
pub const PROFILE: Variable = Variable {
    name: "TALLY_PROFILE",
    old: Some("TALLYMON_PROFILE"),
    what: "which objects to show: `linux-honest` or `nt-strict`, as `--profile`",
};

/// The program that loads libraries.
pub const HOST: Variable = Variable {
    name: "TALLY_HOST",
    old: Some("TALLYMON_HOST"),
    what: "the program `tally-host`, which loads libraries of providers",
};

/// The language of names and help texts.
pub const LANG: Variable =
    Variable { name: "TALLY_LANG", old: None, what: "language of names and help texts, as `--lang`" };

/// Names in Korean and Japanese.
pub const NAMES: Variable = Variable {
    name: "TALLY_NAMES",
    old: None,
    what: "names of counters in Korean and Japanese: `nt` or `translated`, as `--names`",
};

/// All variables, in the order of the manual.
pub const VARIABLES: [Variable; 6] = [ROOT, LANG, NAMES, TIER, PROFILE, HOST];

impl Variable {
    /// Its value, or that of its older name; `None` when both are missing or empty.
    pub fn value(&self) -> Option<OsString> {
        let value = |name| std::env::var_os(name).filter(|value| !value.is_empty());
        value(self.name).or_else(|| value(self.old?))
    }
}
