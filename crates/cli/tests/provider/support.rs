//! A folder with registries and files that are installed into them, and the command that does it.

use std::fs;
use std::process::{Command, Output, Stdio};

use tallymon::registry::{Installed, Roots};
use tallymon_testkit::Scratch;

/// A folder with registries in it, which is gone when the test is over.
pub(crate) struct Place(pub(crate) Scratch);

impl Place {
    pub(crate) fn new() -> Place {
        Place(Scratch::in_memory())
    }

    pub(crate) fn file(&self, name: &str, text: impl AsRef<[u8]>) -> String {
        let path = self.0.join(name);
        fs::write(&path, text).unwrap();
        path.display().to_string()
    }

    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tally"));
        command.args(words).env("TALLYMON_ROOT", &self.0).env("LC_ALL", "C").stdin(Stdio::null());
        command
    }

    /// Exit code, standard output, standard error.
    pub(crate) fn run(&self, words: &[&str]) -> (i32, String, String) {
        let Output { status, stdout, stderr } = self.command(words).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (status.code().unwrap(), text(stdout), text(stderr))
    }

    pub(crate) fn ok(&self, words: &[&str]) -> String {
        let (code, out, err) = self.run(words);
        assert_eq!(code, 0, "{words:?}: {err}");
        out
    }

    /// Names of an INI file and of its header for a service with so many counters.
    pub(crate) fn ini(&self, service: &str, counters: u32) -> String {
        let (mut header, mut texts) = (String::new(), String::new());
        for number in 0..=counters {
            header.push_str(&format!("#define SYMBOL{number} {}\n", number * 2));
            texts.push_str(&format!("SYMBOL{number}_009_NAME={service} {number}\n"));
            texts.push_str(&format!("SYMBOL{number}_009_HELP=Help of {service} {number}\n"));
        }
        self.file(&format!("{service}.h"), header);
        let head =
            format!("[info]\ndrivername={service}\nsymbolfile={service}.h\n[languages]\n009=English\n");
        self.file(&format!("{service}.ini"), format!("{head}[objects]\nSYMBOL0_009_NAME=\n[text]\n{texts}"))
    }

    pub(crate) fn installed(&self) -> Installed {
        Installed::read(&Roots::in_folder(&self.0)).unwrap()
    }
}
