//! The live table on a real terminal: one of tmux, whose screen can be read.

use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::support::{Folder, TALLY, clean, has};
use tallymon_testkit::peer;

/// A terminal with a shell in it, on a server of its own.
struct Terminal {
    socket: String,
}

impl Terminal {
    /// A terminal of 80 columns and 40 lines; `None` without tmux.
    fn open() -> Option<Terminal> {
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

    fn tmux(&self, arguments: &[&str]) -> String {
        let mut command = clean("tmux");
        command.env_remove("TMUX").env("LC_ALL", "C.UTF-8").args(["-L", &self.socket]).args(arguments);
        let output = command.output().unwrap();
        let err = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "tmux {arguments:?}: {err}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Types a line into the shell.
    fn line(&self, text: &str) {
        self.tmux(&["send-keys", "-l", text]);
        self.key("Enter");
    }

    fn key(&self, name: &str) {
        self.tmux(&["send-keys", name]);
    }

    fn screen(&self) -> String {
        self.tmux(&["capture-pane", "-p"])
    }

    /// Waits until the screen is as it should be. Only a broken program needs the whole time.
    #[track_caller]
    fn wait(&self, what: &str, wanted: impl Fn(&str) -> bool) -> String {
        let end = Instant::now() + Duration::from_secs(30);
        loop {
            let screen = self.screen();
            if wanted(&screen) {
                return screen;
            }
            assert!(Instant::now() < end, "{what} does not come; the screen is\n{screen}");
            thread::sleep(Duration::from_millis(50));
        }
    }

    /// Starts the live table and waits for its second sample, which has rates.
    #[track_caller]
    fn start(&self, prefix: &str, title: &str) -> String {
        // The language and style of the test are the only ones.
        self.line("unset LANG LC_ALL LC_MESSAGES TALLY_LANG NO_COLOR; echo before");
        self.line(&format!("{prefix} '{TALLY}'; echo \"ended with $?\""));
        self.wait("the live table", |screen| {
            let rate = screen.lines().find(|line| line.contains(title));
            rate.is_some_and(|line| line.contains(|c: char| c.is_ascii_digit()))
        })
    }

    /// Asserts that the shell has its terminal back: its screen, its cursor, echo and lines.
    #[track_caller]
    fn is_restored(&self) {
        let screen = self.wait("the end", |screen| screen.contains("ended with 0"));
        has(&screen, &["before", "ready> "]);
        assert!(!screen.contains("q quits"), "{screen}");
        assert_eq!(self.tmux(&["display-message", "-p", "#{alternate_on} #{cursor_flag}"]), "0 1\n");
        self.line(
            "stty -a | tr ' ' '\\n' | grep -x -e '-*echo;*' -e '-*icanon;*' -e '-*opost;*'; echo state",
        );
        let screen = self.wait("the state", |screen| screen.contains("\nstate"));
        for flag in ["echo", "icanon", "opost"] {
            assert!(
                screen.lines().any(|line| line.trim_end_matches(';') == flag),
                "{flag} is off:\n{screen}"
            );
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // Without a server there is nothing to end.
        let _ = Command::new("tmux").args(["-L", &self.socket, "kill-server"]).output();
    }
}

/// The line of a screen that begins with a label.
#[track_caller]
fn row<'s>(screen: &'s str, label: &str) -> &'s str {
    screen
        .lines()
        .find(|line| line.trim_start().starts_with(label))
        .unwrap_or_else(|| panic!("no {label} in\n{screen}"))
}

#[test]
fn the_live_table_shows_changing_values() {
    let Some(terminal) = Terminal::open() else { return };
    let screen = terminal.start("", "Context Switches/sec");
    assert!(screen.starts_with("Tallymon - "), "{screen}");
    for label in
        ["Processor", "% Processor Time  _Total", "System", "Processes", "Memory", "Available MBytes"]
    {
        row(&screen, label);
    }
    // Values and units end in their columns.
    assert!(row(&screen, "% Processor Time").ends_with(" %"), "{screen}");
    // Without a second sample there is no rate; from then on it changes with every one.
    let up_time = row(&screen, "System Up Time").to_string();
    terminal.wait("another value", |screen| row(screen, "System Up Time") != up_time);
    terminal.key("q");
    terminal.is_restored();
}

#[test]
fn the_live_table_follows_the_window() {
    let Some(terminal) = Terminal::open() else { return };
    terminal.start("", "Context Switches/sec");
    terminal.tmux(&["resize-window", "-x", "46", "-y", "8"]);
    let screen = terminal.wait("the small table", |screen| {
        screen.lines().all(|line| line.chars().count() <= 46) && screen.contains("q quits")
    });
    // The title is still there: nothing scrolled; and the last line says that there is more.
    assert!(screen.starts_with("Tallymon - "), "{screen}");
    assert!(row(&screen, "% User Time").ends_with(" %"), "{screen}");
    has(screen.lines().last().unwrap(), &["more lines"]);
    terminal.tmux(&["resize-window", "-x", "120", "-y", "50"]);
    let screen = terminal.wait("the large table", |screen| screen.contains("Available MBytes"));
    assert!(row(&screen, "% User Time").ends_with(" %"), "{screen}");
    // Smaller than anything makes sense for, and back.
    terminal.tmux(&["resize-window", "-x", "3", "-y", "1"]);
    terminal.wait("a letter", |screen| !screen.trim().is_empty());
    terminal.tmux(&["resize-window", "-x", "80", "-y", "40"]);
    terminal.wait("the table", |screen| screen.contains("Available MBytes"));
    terminal.key("Escape");
    terminal.is_restored();
}

#[test]
fn ctrl_c_puts_the_terminal_back() {
    let Some(terminal) = Terminal::open() else { return };
    terminal.start("", "Context Switches/sec");
    terminal.key("C-c");
    terminal.is_restored();
}

#[test]
fn a_signal_puts_the_terminal_back() {
    let Some(terminal) = Terminal::open() else { return };
    let folder = Folder::new();
    let file = folder.file("id");
    // The shell writes its number and then becomes the command.
    terminal.start(&format!("sh -c 'echo $$ >\"{file}\"; exec \"$0\"'"), "Context Switches/sec");
    let id = std::fs::read_to_string(file).unwrap();
    assert!(Command::new("kill").args(["-TERM", id.trim()]).status().unwrap().success());
    terminal.is_restored();
}

#[test]
fn the_live_table_speaks_korean() {
    let Some(terminal) = Terminal::open() else { return };
    let screen = terminal.start("TALLY_LANG=ko", "컨텍스트 전환/초");
    has(&screen, &["프로세서", "메모리"]);
    // Wide letters do not move the values: every line with a unit is as wide as every other.
    let widths: Vec<usize> = screen
        .lines()
        .filter(|line| line.ends_with(" %"))
        .map(unicode_width::UnicodeWidthStr::width)
        .collect();
    assert!(widths.len() >= 3 && widths.windows(2).all(|pair| pair[0] == pair[1]), "{widths:?}\n{screen}");
    terminal.key("q");
    terminal.is_restored();
}

#[test]
fn a_narrow_terminal_has_lists_and_texts_that_fit() {
    let Some(terminal) = Terminal::open() else { return };
    terminal.tmux(&["resize-window", "-x", "60", "-y", "200"]);
    for command in [
        "list Processor",
        "explain '\\Processor(_Total)\\% Processor Time' -i 20ms",
        "doctor",
        "find 프로세서",
    ] {
        terminal.line(&format!("clear; '{TALLY}' {command}; echo \"ended with $?\""));
        // Joined lines are those that the terminal had to break.
        terminal.wait("the end", |screen| screen.contains("\nended with 0"));
        let joined = terminal.tmux(&["capture-pane", "-p", "-J"]);
        let output = joined
            .lines()
            .skip_while(|line| line.contains("clear;"))
            .take_while(|line| !line.starts_with("ended"));
        let lines: Vec<&str> = output.map(str::trim_end).collect();
        assert!(lines.len() > 3, "{joined}");
        for line in lines {
            let width = unicode_width::UnicodeWidthStr::width(line);
            assert!(width <= 60, "{width} columns in {command}: {line}");
        }
    }
}

#[test]
fn no_color_has_no_bold() {
    let Some(terminal) = Terminal::open() else { return };
    for (prefix, bold) in [("NO_COLOR=1", false), ("", true)] {
        terminal.start(prefix, "Context Switches/sec");
        let painted = terminal.tmux(&["capture-pane", "-p", "-e"]);
        assert_eq!(painted.contains("\u{1b}[1m"), bold, "{painted:?}");
        terminal.key("q");
        terminal.is_restored();
        terminal.line("clear");
        terminal.wait("an empty screen", |screen| !screen.contains("ended with"));
    }
}
