//! A terminal that tasks type into and read: tmux, on a socket of its own.

use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How many terminals were started: a server that ends keeps its socket for a moment.
static STARTED: AtomicU32 = AtomicU32::new(0);

/// A program in a terminal. It is killed with it.
pub(crate) struct Terminal {
    socket: String,
}

impl Terminal {
    /// Starts a shell command in a terminal of this size.
    pub(crate) fn start(columns: usize, rows: usize, command: &str) -> Result<Terminal, String> {
        let nth = STARTED.fetch_add(1, Ordering::Relaxed);
        let terminal = Terminal { socket: format!("tallymon-{}-{nth}", std::process::id()) };
        let (columns, rows) = (columns.to_string(), rows.to_string());
        terminal.tmux(&[
            "-f",
            "/dev/null",
            "-u",
            "new-session",
            "-d",
            "-x",
            &columns,
            "-y",
            &rows,
            command,
        ])?;
        // Only with this does tmux keep all colours.
        terminal.tmux(&["set", "-ga", "terminal-features", ",*:RGB"])?;
        Ok(terminal)
    }

    /// Presses a key, by tmux's name of it; other words are typed letter by letter.
    pub(crate) fn press(&self, key: &str) -> Result<(), String> {
        self.tmux(&["send-keys", key]).map(drop)
    }

    /// Types a line of a shell.
    pub(crate) fn type_line(&self, line: &str) -> Result<(), String> {
        self.tmux(&["send-keys", "-l", line])?;
        self.press("Enter")
    }

    /// The text of the screen.
    pub(crate) fn screen(&self) -> Result<String, String> {
        self.tmux(&["capture-pane", "-p"])
    }

    /// The screen with escape sequences for its colours.
    pub(crate) fn coloured_screen(&self) -> Result<String, String> {
        self.tmux(&["capture-pane", "-p", "-e"])
    }

    /// Waits until the screen is as wanted, and returns it.
    pub(crate) fn wait_for(
        &self,
        wanted: &str,
        deadline: Duration,
        is_there: impl Fn(&str) -> bool,
    ) -> Result<String, String> {
        let start = Instant::now();
        loop {
            let screen = self.screen()?;
            if is_there(&screen) {
                return Ok(screen);
            }
            if start.elapsed() > deadline {
                let seconds = deadline.as_secs();
                return Err(format!("after {seconds} s the screen does not show {wanted}:\n{screen}"));
            }
            sleep(Duration::from_millis(100));
        }
    }

    fn tmux(&self, arguments: &[&str]) -> Result<String, String> {
        let mut command = Command::new("tmux");
        command.args(["-L", &self.socket]).args(arguments).env_remove("TMUX").env("LC_ALL", "C.UTF-8");
        let output = command.output().map_err(|error| format!("tmux did not start: {error}"))?;
        if !output.status.success() {
            return Err(format!("tmux {arguments:?}: {}", String::from_utf8_lossy(&output.stderr)));
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // It may have ended with its program.
        let _ = self.tmux(&["kill-server"]);
    }
}
