//! A panic restores the terminal and shows its message.

use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use tallymon::Query;
use tallymon::core::block::Snapshot;
use tallymon::core::flow::{Source, SourceError};
use tallymon::core::request::{Request, RequestKind};
use tallymon::core::title::{Language, Titles};
use tallymon_monitor::Options;
use tallymon_testkit::peer;

use crate::fake::{DEFAULTS, Fake, Script};

/// Set when this program runs in the terminal of the test.
const INSIDE: &str = "TALLYMON_TEST_PANIC";

/// The scripted machine, until its third sample.
struct Bomb(Fake, u32);

impl Source for Bomb {
    fn snapshot(&mut self, request: &Request) -> Result<Snapshot, SourceError> {
        if !matches!(request.kind, RequestKind::Metadata { .. }) {
            self.1 += 1;
            assert!(self.1 < 3, "the bomb of the test");
        }
        self.0.snapshot(request)
    }

    fn titles(&mut self, language: Language) -> Result<Titles, SourceError> {
        self.0.titles(language)
    }
}

#[test]
fn puts_the_terminal_back() {
    if std::env::var_os(INSIDE).is_some() {
        let query = || Query::new(Box::new(Bomb(Fake(Script::default().into()), 0)), Language::ENGLISH);
        let mut options = Options::new(query);
        options.paths = DEFAULTS.iter().map(|path| (*path).to_string()).collect();
        options.interval = Duration::from_millis(300);
        let _ = tallymon_monitor::run(query().unwrap(), options);
        return;
    }
    if peer("tmux").is_none() {
        return;
    }
    let socket = format!("tallymon-panic-{}", std::process::id());
    let tmux = |arguments: &[&str]| {
        let mut command = Command::new("tmux");
        command.env_remove("TMUX").env("LC_ALL", "C.UTF-8").args(["-L", &socket, "-f", "/dev/null"]);
        let output = command.args(arguments).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    tmux(&["-u", "new-session", "-d", "-x", "100", "-y", "40", "PS1='ready> ' exec sh"]);
    let program = std::env::current_exe().unwrap();
    let line = format!(
        "{INSIDE}=1 RUST_BACKTRACE=0 '{}' --exact panic::puts_the_terminal_back --nocapture; echo ended with $?",
        program.display()
    );
    tmux(&["send-keys", "-l", &line]);
    tmux(&["send-keys", "Enter"]);
    let end = Instant::now() + Duration::from_secs(60);
    let mut was_open = false;
    let screen = loop {
        let screen = tmux(&["capture-pane", "-p"]);
        was_open |= screen.contains("─ Tallymon ─");
        if screen.lines().any(|line| line.starts_with("ended with 101")) {
            break screen;
        }
        assert!(Instant::now() < end, "it does not end; the screen is\n{screen}");
        thread::sleep(Duration::from_millis(20));
    };
    let state = tmux(&["display-message", "-p", "#{alternate_on} #{cursor_flag} #{mouse_any_flag}"]);
    tmux(&["kill-server"]);
    assert!(was_open, "the monitor was never seen");
    assert!(screen.contains("the bomb of the test"), "{screen}");
    assert_eq!(state, "0 1 0\n");
}
