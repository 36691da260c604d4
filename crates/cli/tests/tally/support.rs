//! Runs the command that was built, as a user would, and looks at what came back.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value as Json;
use tallymon_testkit::Scratch;
pub(crate) use tallymon_testkit::terminal::clean;

/// The command under test.
pub(crate) const TALLY: &str = env!("CARGO_BIN_EXE_tally");

/// A counter without instances whose value needs one sample.
pub(crate) const AVAILABLE: &str = r"\Memory\Available MBytes";

/// A counter with instances whose value needs two.
pub(crate) const PROCESSOR_TIME: &str = r"\Processor(_Total)\% Processor Time";

/// What a run of the command left.
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// Runs the command without any setting of the user's environment.
pub(crate) fn tally(arguments: &[&str]) -> Ran {
    tally_with(arguments, |_| ())
}

/// Runs the command with something changed: its environment, its folder, its output.
pub(crate) fn tally_with(arguments: &[&str], change: impl FnOnce(&mut Command)) -> Ran {
    let mut command = clean(TALLY);
    command.args(arguments);
    change(&mut command);
    ran(command.output().unwrap())
}

/// Starts the command with pipes behind both outputs.
pub(crate) fn start(arguments: &[&str]) -> Child {
    clean(TALLY).args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// What a process that ended left.
pub(crate) fn ran(output: Output) -> Ran {
    Ran {
        code: output.status.code(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

impl Ran {
    /// The data of a run that succeeded and had nothing to say.
    #[track_caller]
    pub(crate) fn data(self) -> String {
        assert_eq!((self.code, self.err.as_str()), (Some(0), ""), "standard output: {}", self.out);
        self.out
    }

    /// The words of a run that failed with a code; no data came with them.
    #[track_caller]
    pub(crate) fn words(self, code: i32) -> String {
        assert_eq!(self.code, Some(code), "standard output: {}\nstandard error: {}", self.out, self.err);
        assert_eq!(self.out, "", "standard error: {}", self.err);
        assert!(!self.err.is_empty(), "no word about the failure");
        self.err
    }

    /// The data as JSON.
    #[track_caller]
    pub(crate) fn json(self) -> Json {
        serde_json::from_str(&self.data()).unwrap()
    }
}

/// Asserts that a text has all of some parts.
#[track_caller]
pub(crate) fn has(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part:?} is not in:\n{text}");
    }
}

/// Whether this machine has an object; not every kernel and container has them all.
pub(crate) fn has_object(name: &str) -> bool {
    let objects = tally(&["list", "--json"]).json();
    let there = objects.as_array().unwrap().iter().any(|object| object["english"] == name);
    if !there {
        tallymon_testkit::skip(&format!("this machine has no object {name}"));
    }
    there
}

/// Sends a signal to a process, as `kill` does.
pub(crate) fn signal(child: &Child, name: &str) {
    let id = child.id().to_string();
    assert!(Command::new("kill").args([&format!("-{name}"), &id]).status().unwrap().success());
}

/// A folder that goes away with the test that made it; everybody may look into it.
pub(crate) struct Folder(Scratch);

impl Folder {
    pub(crate) fn new() -> Folder {
        Folder(Scratch::new())
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// The path of a file in it, as an argument.
    pub(crate) fn file(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_string()
    }

    /// Writes a file in it.
    pub(crate) fn write(&self, name: &str, bytes: &[u8]) -> String {
        let file = self.file(name);
        fs::File::create(&file).unwrap().write_all(bytes).unwrap();
        file
    }
}
