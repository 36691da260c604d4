//! A folder of state, and the command that uses it.

use std::fs;
use std::os::unix::fs::{PermissionsExt, lchown};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use tallymon_testkit::Scratch;

/// A folder as `TALLYMON_ROOT`.
pub(crate) struct Place(pub(crate) Scratch);

impl Place {
    pub(crate) fn new() -> Place {
        let scratch = Scratch::new();
        fs::set_permissions(&scratch, fs::Permissions::from_mode(0o755)).unwrap();
        Place(scratch)
    }

    /// A place with a service that has one counter.
    pub(crate) fn with_service() -> Place {
        let place = Place::new();
        fs::write(place.0.join("my.h"), "#define OBJECT 0\n#define COUNTER 2\n").unwrap();
        let ini = "[info]\ndrivername=My\nsymbolfile=my.h\n[languages]\n009=English\n[objects]\n\
                   OBJECT_009_NAME=\n[text]\nOBJECT_009_NAME=My Object\nCOUNTER_009_NAME=My Counter\n";
        fs::write(place.0.join("my.ini"), ini).unwrap();
        let (code, _, error) = place.run(&["provider", "add", &place.0.join("my.ini").display().to_string()]);
        assert_eq!(code, 0, "{error}");
        place
    }

    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tally"));
        command.args(words).env("TALLYMON_ROOT", &self.0).env("LC_ALL", "C").stdin(Stdio::null());
        command
    }

    /// Exit code, standard output, standard error.
    pub(crate) fn run(&self, words: &[&str]) -> (i32, String, String) {
        run(self.command(words))
    }

    /// Gives everything in the folder to another user.
    pub(crate) fn give_to(&self, user: u32) {
        give(&self.0, user);
    }
}

pub(crate) fn run(mut command: Command) -> (i32, String, String) {
    let Output { status, stdout, stderr } = command.output().unwrap();
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    (status.code().unwrap_or(-1), text(&stdout), text(&stderr))
}

fn give(path: &Path, user: u32) {
    lchown(path, Some(user), Some(user)).unwrap();
    if fs::symlink_metadata(path).unwrap().is_dir() {
        fs::read_dir(path).unwrap().for_each(|entry| give(&entry.unwrap().path(), user));
    }
}

/// A process that ends with the test.
pub(crate) struct Helper(pub(crate) Child);

impl Drop for Helper {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Waits for something, for as long as a machine may be busy.
pub(crate) fn wait_for(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < Duration::from_secs(60), "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
