//! The command, and a program `ssh` that plays other machines.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::time::{Duration, Instant};

use tallymon_testkit::Scratch;
use tallymon_testkit::terminal::clean;

pub(crate) const TALLY: &str = env!("CARGO_BIN_EXE_tally");

/// A counter without instances whose value needs one sample.
pub(crate) const AVAILABLE: &str = r"\Memory\Available MBytes";

/// A greeting of version 1, for `printf`.
pub(crate) const GREETING: &str = r"TALLYMON\001\000\001\000";

/// A folder with a program `ssh`, and settings of a user.
pub(crate) struct Net {
    pub(crate) folder: Scratch,
}

/// What a run left.
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Net {
    /// `hosts` are lines of a shell's `case`: a pattern of host names, and what runs for them.
    pub(crate) fn new(hosts: &[(&str, &str)]) -> Net {
        let net = Net { folder: Scratch::new() };
        let mut script = "#!/bin/sh\nwhile [ \"$1\" != -- ]; do shift; done\n".to_string();
        script.push_str("[ \"$3 $4 $5\" = 'tally serve --stdio' ] || exit 99\ncase $2 in\n");
        for (host, action) in hosts {
            script.push_str(&format!("{host}) {action} ;;\n"));
        }
        script.push_str("*) echo \"ssh: Could not resolve hostname $2\" >&2; exit 255 ;;\nesac\n");
        net.program(&script);
        net
    }

    /// Installs a program as `ssh`.
    pub(crate) fn program(&self, script: &str) {
        fs::create_dir_all(self.folder.join("bin")).unwrap();
        let file = self.folder.join("bin/ssh");
        fs::write(&file, script).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    }

    pub(crate) fn file(&self, name: &str, text: &[u8]) -> PathBuf {
        let file = self.folder.join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, text).unwrap();
        file
    }

    /// Runs the command with this net.
    pub(crate) fn tally(&self, arguments: &[&str]) -> Ran {
        self.tally_with(&[], arguments)
    }

    /// Runs the command with this net and these variables.
    pub(crate) fn tally_with(&self, variables: &[(&str, &str)], arguments: &[&str]) -> Ran {
        let path = std::env::var("PATH").unwrap_or_default();
        let bin: &Path = &self.folder.join("bin");
        let mut command = clean(TALLY);
        command.args(arguments);
        command.env("PATH", format!("{}:{path}", bin.display()));
        command.env("TALLY_ROOT", self.folder.join("root"));
        // Tickets of whoever runs the tests are none of their business.
        command.env_remove("KRB5CCNAME").env_remove("KRB5_CONFIG");
        command.envs(variables.iter().copied());
        Ran::of(command.output().unwrap())
    }
}

impl Net {
    /// Reads a sick host beside a healthy one, which this net must have as `healthy`. The value of the
    /// healthy one is there, the code says that not all is, and it takes no longer than the deadline and what
    /// a busy machine adds. Returns what was said.
    #[track_caller]
    pub(crate) fn beside(&self, variables: &[(&str, &str)], sick: &str, seconds: u64) -> String {
        self.beside_with(variables, &[], sick, seconds)
    }

    /// The same, with more words in the command.
    #[track_caller]
    pub(crate) fn beside_with(
        &self,
        variables: &[(&str, &str)],
        more: &[&str],
        sick: &str,
        seconds: u64,
    ) -> String {
        let begin = Instant::now();
        let timeout = format!("{seconds}s");
        let words = ["get", AVAILABLE, "-H", "ssh://healthy", "-H", sick, "--timeout", &timeout];
        let ran = self.tally_with(variables, &[&words[..], more].concat());
        assert_eq!(ran.code, Some(3), "{sick}: {}", ran.err);
        assert_eq!(ran.out.lines().count(), 1, "{sick}: {}", ran.out);
        has(&ran.out, &[r"\\healthy\Memory\Available MBytes"]);
        assert!(begin.elapsed() < Duration::from_secs(seconds + 20), "{sick}: {:?}", begin.elapsed());
        ran.err
    }
}

impl Ran {
    pub(crate) fn of(output: Output) -> Ran {
        Ran {
            code: output.status.code(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// The data of a run that succeeded without a word.
    #[track_caller]
    pub(crate) fn data(self) -> String {
        assert_eq!((self.code, self.err.as_str()), (Some(0), ""), "standard output: {}", self.out);
        self.out
    }
}

/// Asserts that a text has all of some parts.
#[track_caller]
pub(crate) fn has(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part:?} is not in:\n{text}");
    }
}

/// A host that answers as the real one does, about this machine.
pub(crate) fn good() -> String {
    format!("exec {TALLY} serve --stdio")
}
