//! A real terminal, run by tmux, whose screen a test can read.
#![allow(clippy::unwrap_used, reason = "a failed assumption of a test is its failure")]

use std::ffi::OsStr;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::peer;

/// A terminal with a shell in it, on a server of its own.
#[derive(Debug)]
pub struct Terminal {
    socket: String,
}

impl Terminal {
    /// A terminal of 80 columns and 40 lines; `None` without tmux.
    pub fn open() -> Option<Terminal> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        peer("tmux")?;
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let terminal = Terminal { socket: format!("tally-test-{}-{number}", std::process::id()) };
        // A prompt that is on no other screen.
        let shell = "PS1='ready> ' exec sh";
        terminal.tmux(&["-f", "/dev/null", "-u", "new-session", "-d", "-x", "80", "-y", "40", shell]);
        terminal.wait("the prompt", |screen| screen.contains("ready>"));
        Some(terminal)
    }

    /// Runs a tmux command and returns what it prints.
    ///
    /// # Panics
    ///
    /// When it fails.
    pub fn tmux(&self, arguments: &[&str]) -> String {
        let mut command = clean("tmux");
        command.env_remove("TMUX").env("LC_ALL", "C.UTF-8").args(["-L", &self.socket]).args(arguments);
        let output = command.output().unwrap();
        let err = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "tmux {arguments:?}: {err}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Types a line into the shell.
    pub fn line(&self, text: &str) {
        self.types(text);
        self.key("Enter");
    }

    /// Types letters as they are.
    pub fn types(&self, text: &str) {
        self.tmux(&["send-keys", "-l", text]);
    }

    /// Types a key with a name: `Enter`, `Escape`, `C-c`.
    pub fn key(&self, name: &str) {
        self.tmux(&["send-keys", name]);
    }

    /// The text on the screen, line by line.
    pub fn screen(&self) -> String {
        self.tmux(&["capture-pane", "-p"])
    }

    /// Waits until the screen is as it should be. Only a broken program needs the whole time.
    ///
    /// # Panics
    ///
    /// When that takes longer than a minute.
    #[track_caller]
    pub fn wait(&self, what: &str, wanted: impl Fn(&str) -> bool) -> String {
        let end = Instant::now() + Duration::from_secs(60);
        loop {
            let screen = self.screen();
            if wanted(&screen) {
                // A screen that is the same a moment later is complete, most of the time.
                thread::sleep(Duration::from_millis(20));
                if self.screen() == screen {
                    return screen;
                }
            }
            assert!(Instant::now() < end, "{what} does not come; the screen is\n{screen}");
            thread::sleep(Duration::from_millis(50));
        }
    }

    /// Waits until all these parts are on the screen: a terminal shows a picture in pieces while it arrives.
    ///
    /// # Panics
    ///
    /// As [`Terminal::wait`].
    #[track_caller]
    pub fn wait_for(&self, parts: &[&str]) -> String {
        self.wait(&format!("{parts:?}"), |screen| parts.iter().all(|part| screen.contains(part)))
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // Without a server there is nothing to end.
        let _ = Command::new("tmux").args(["-L", &self.socket, "kill-server"]).output();
    }
}

/// A program without input and without the user's environment variables that our programs read.
pub fn clean(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    for name in ["LC_ALL", "LC_MESSAGES", "LANG", "TALLY_LANG", "NO_COLOR", "COLUMNS", "TZ"] {
        command.env_remove(name);
    }
    command.stdin(Stdio::null());
    command
}
