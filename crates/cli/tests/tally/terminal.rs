//! The monitor on a real terminal: one of tmux, whose screen can be read.

use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use super::support::{Folder, TALLY, has, tally};
use tallymon_testkit::shared;
use tallymon_testkit::terminal::Terminal;

/// What the tests do with the monitor in a terminal.
pub(crate) trait Session {
    /// Starts the monitor and waits for its second sample, which has rates.
    fn start(&self, prefix: &str, title: &str) -> String;

    /// The same with arguments.
    fn start_with(&self, prefix: &str, title: &str, arguments: &str) -> String;

    /// Asserts that the shell has its terminal back: its screen, its cursor, echo and lines.
    fn is_restored(&self);
}

impl Session for Terminal {
    #[track_caller]
    fn start(&self, prefix: &str, title: &str) -> String {
        self.start_with(prefix, title, "mon --chart")
    }

    #[track_caller]
    fn start_with(&self, prefix: &str, title: &str, arguments: &str) -> String {
        // The language and style of the test are the only ones.
        self.line("unset LANG LC_ALL LC_MESSAGES TALLY_LANG NO_COLOR COLORTERM; echo before");
        self.line(&format!("{prefix} '{TALLY}' {arguments}; echo \"ended with $?\""));
        self.wait("the monitor", |screen| {
            let rate = screen.lines().find(|line| line.contains(title));
            let value = rate.and_then(|line| line.split_whitespace().last());
            value.is_some_and(|value| value.contains(|c: char| c.is_ascii_digit() || c == '%'))
        })
    }

    #[track_caller]
    fn is_restored(&self) {
        let screen = self.wait("the end", |screen| screen.contains("ended with 0"));
        has(&screen, &["before", "ready> "]);
        assert!(!screen.contains("Tallymon"), "{screen}");
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

/// The line of a screen that begins with a label.
#[track_caller]
fn row<'s>(screen: &'s str, label: &str) -> &'s str {
    screen
        .lines()
        .find(|line| line.trim_start().starts_with(label))
        .unwrap_or_else(|| panic!("no {label} in\n{screen}"))
}

/// A counter that every machine has, whose value is a rate.
const RATE: &str = "Disk Bytes/sec";
/// What the monitor of the other tests starts with.
pub(crate) const SWITCHES: &str =
    r"mon '\System\Context Switches/sec' '\Processor(_Total)\% Processor Time' -i 100ms";

#[test]
fn the_monitor_shows_changing_values() {
    let Some(terminal) = Terminal::open() else { return };
    let screen = terminal.start("", "✓ ");
    assert!(screen.starts_with("─ Tallymon ─ "), "{screen}");
    has(&screen, &["% Processor Time", "Available MBytes", "Last", "Avg", "? help"]);
    if super::support::has_object("PhysicalDisk") {
        has(&screen, &[RATE]);
    }
    // The clock and the time line go on.
    let title = screen.lines().next().unwrap().to_string();
    terminal.wait("another time", |screen| screen.lines().next() != Some(title.as_str()));
    terminal.key("q");
    terminal.is_restored();
}

/// The word before another word on a screen.
fn before<'s>(screen: &'s str, word: &str) -> Option<&'s str> {
    let words: Vec<&str> = screen.split_whitespace().collect();
    words.iter().position(|found| *found == word).and_then(|at| words.get(at.checked_sub(1)?)).copied()
}

/// The memory of the machine, in GiB.
fn total_memory() -> f64 {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap();
    let kib = before(text.lines().next().unwrap(), "kB").unwrap().parse::<f64>().unwrap();
    kib / 1_048_576.0
}

#[test]
fn the_first_page_is_an_overview_of_this_machine() {
    let Some(terminal) = Terminal::open() else { return };
    terminal.tmux(&["resize-window", "-x", "200", "-y", "50"]);
    terminal.line("unset LANG LC_ALL LC_MESSAGES TALLY_LANG NO_COLOR COLORTERM; echo before");
    terminal.line(&format!("'{TALLY}'; echo \"ended with $?\""));
    let before_it = total_memory();
    // The second sample has rates.
    let screen = terminal.wait("rates", |screen| screen.contains("CPU %") && screen.contains("switches "));
    has(
        &screen,
        &[
            "1 Processors",
            "2 Memory",
            "3 Disks",
            "4 File systems",
            "5 Network",
            "6 Pressure",
            "8 Processes",
            "PID",
        ],
    );
    // What the kernel says in its own words, to a tenth; the host of a virtual machine may change it
    // meanwhile.
    let later = total_memory();
    let (_, of) = screen.split_once(" of ").unwrap();
    let shown: f64 = of.split_whitespace().next().unwrap().parse().unwrap();
    let possible = before_it.min(later) - 0.1..=before_it.max(later) + 0.1;
    assert!(possible.contains(&shown), "{shown} GiB of {possible:?}");
    let (_, used) = screen.split_once("used ").unwrap();
    assert!(!used.starts_with("0 B"), "{screen}");
    let alive = std::fs::read_dir("/proc").unwrap().flatten();
    let alive = alive.filter(|entry| entry.file_name().to_string_lossy().parse::<u32>().is_ok()).count();
    let shown: usize = before(&screen, "processes").unwrap().parse().unwrap();
    assert!(shown.abs_diff(alive) < alive / 2 + 20, "{shown} of {alive} processes");
    // The chart and back.
    terminal.key("g");
    terminal.wait("the chart", |screen| screen.contains("% Processor Time"));
    terminal.key("o");
    terminal.wait("the overview", |screen| screen.contains("8 Processes"));
    terminal.key("q");
    terminal.is_restored();
}

#[test]
fn several_logs_are_one_picture() {
    let Some(terminal) = Terminal::open() else { return };
    let Some(log) = shared("logs/PowerShell_CounterSamples.blg") else { return };
    let folder = Folder::new();
    let time = "2016-11-26T21:46:59Z";
    let cut = |name: &str, arguments: &[&str]| {
        let file = folder.file(name);
        let log = log.to_str().unwrap();
        assert_eq!(tally(&[&["relog", log, "--output", &file], arguments].concat()).code, Some(0));
        file
    };
    let one = cut("one.tally", &["--to", time]);
    let other = cut("other.csv", &["--from", time, "--rename-host", "charlieparker=web01"]);
    // Logs and a counter path, in any order.
    let words = format!(r"mon '{other}' '\Processor(_Total)\% Processor Time' '{one}'");
    let screen = terminal.start_with("", "web01", &words);
    has(&screen, &["LOG", "one.tally, other.csv", "25 records", " charlieparker ended 13:47:00"]);
    terminal.key("q");
    terminal.is_restored();
}

#[test]
fn a_session_from_adding_a_counter_to_saving_it() {
    let Some(terminal) = Terminal::open() else { return };
    let folder = Folder::new();
    terminal.start_with("", "Context Switches/sec", SWITCHES);
    // A search finds it in any language.
    terminal.types("a");
    terminal.wait("the dialog", |screen| screen.contains("Add counters"));
    terminal.types("사용 가능한 바이트");
    terminal.wait("what was found", |screen| screen.contains(r"\Memory\Available Bytes"));
    terminal.key("Enter");
    terminal.wait("the mark", |screen| screen.contains("added"));
    terminal.key("Escape");
    terminal.wait("an empty search", |screen| !screen.contains("사용"));
    terminal.key("Escape");
    let added = terminal.wait("the new line", |screen| {
        screen.lines().any(|line| line.starts_with('▶') && line.contains("Available Bytes"))
    });
    assert!(!added.contains("Add counters"), "{added}");
    // Another line is chosen, and then it stands out: its dots are bold.
    terminal.key("Up");
    assert!(!has_bold_dots(&terminal.tmux(&["capture-pane", "-p", "-e"])));
    terminal.key("BSpace");
    let end = Instant::now() + Duration::from_secs(60);
    while !has_bold_dots(&terminal.tmux(&["capture-pane", "-p", "-e"])) {
        assert!(Instant::now() < end, "nothing is highlighted");
        thread::sleep(Duration::from_millis(50));
    }
    terminal.types("f");
    terminal.wait("the badge", |screen| screen.contains("FROZEN"));
    terminal.types("f");
    terminal.wait("live again", |screen| screen.contains("live"));
    // Enough rows for something to scroll back to: a window has 10 after zooming in.
    terminal.types("[[[[");
    terminal.wait("the past", |screen| {
        let is_past = screen.contains("PAST");
        if !is_past {
            terminal.key("PPage");
        }
        is_past
    });
    terminal.key("Left");
    terminal.wait("the cursor", |screen| screen.contains("At\n"));
    terminal.types("t");
    terminal.wait("live again", |screen| screen.contains("live"));
    terminal.types("w");
    terminal.wait("the question", |screen| screen.contains("save as"));
    terminal.key("C-u");
    terminal.types(&folder.file("seen.csv"));
    terminal.key("Enter");
    terminal.wait("the answer", |screen| screen.contains("saved: "));
    terminal.types("w");
    terminal.wait("the question", |screen| screen.contains("save as"));
    terminal.key("C-u");
    terminal.types(&folder.file("mine.tallymon"));
    terminal.key("Enter");
    terminal.wait("the answer", |screen| screen.contains("saved: ") && screen.contains("mine.tallymon"));
    // Back in the shell for a while: it has its terminal, and the monitor goes on where it was.
    terminal.types("Z");
    terminal.wait("the shell", |screen| screen.contains("ready> ") && !screen.contains("Tallymon"));
    terminal.line("fg; echo \"ended with $?\"");
    terminal.wait("the monitor", |screen| screen.contains("─ Tallymon ─ live"));
    terminal.key("q");
    terminal.is_restored();
    // The settings open again, with all three counters and the short interval; the log in the same view.
    terminal.line("clear");
    terminal.line(&format!("'{TALLY}' mon --settings '{}'", folder.file("mine.tallymon")));
    terminal.wait("the counters", |screen| screen.contains("Available Bytes") && screen.contains(" 100 ms "));
    terminal.key("q");
    // What is typed before the screen goes away is the monitor's.
    terminal.wait("the shell", |screen| !screen.contains("Tallymon"));
    terminal.line("clear");
    terminal.line(&format!("'{TALLY}' mon --log '{}'", folder.file("seen.csv")));
    terminal.wait("the log", |screen| screen.contains("─ LOG ─ ") && screen.contains("seen.csv"));
    terminal.key("Enter");
    terminal.wait("the cursor", |screen| screen.contains("top contributors at "));
    terminal.key("q");
    terminal.wait("the shell", |screen| !screen.contains("Tallymon"));
    // What was saved is a log that the other commands read.
    let info = super::support::tally(&["info", "--json", &folder.file("seen.csv")]).json();
    assert_eq!(info["hosts"][0]["columns"], 3, "{info}");
    let csv = std::fs::read_to_string(folder.file("seen.csv")).unwrap();
    has(&csv, &["(PDH-CSV 4.0)", r"\System\Context Switches/sec", r"\Memory\Available Bytes"]);
    assert!(csv.lines().count() > 10, "{csv}");
}

/// Whether any braille letter of a painted screen is bold.
fn has_bold_dots(painted: &str) -> bool {
    let mut bold = false;
    painted.split("\u{1b}[").skip(1).filter_map(|part| part.split_once('m')).any(|(codes, text)| {
        for code in codes.split(';') {
            bold = code == "1" || bold && !matches!(code, "0" | "22" | "");
        }
        bold && text.contains(|letter: char| ('\u{2801}'..='\u{28ff}').contains(&letter))
    })
}

#[test]
fn a_log_and_properties_in_a_session() {
    let Some(terminal) = Terminal::open() else { return };
    let folder = Folder::new();
    // A log by its content: its name says nothing.
    let log = folder.file("recorded");
    super::support::tally(&[
        "watch",
        r"\System\Context Switches/sec",
        "-c",
        "20",
        "-i",
        "20ms",
        "-f",
        "csv",
        "-o",
        &log,
    ]);
    terminal.start_with("", "Context Switches/sec", SWITCHES);
    terminal.types("O");
    terminal.wait("the question", |screen| screen.contains("open logs or settings:"));
    terminal.types(&log);
    terminal.key("Enter");
    let screen = terminal.wait("the log", |screen| screen.contains("─ LOG ─ recorded ─ "));
    assert!(!screen.contains("live"), "{screen}");
    terminal.types(",");
    terminal.wait("the cursor", |screen| screen.contains("At\n"));
    // Back to what happens now, which goes on with all counters of before.
    terminal.key("C-t");
    let now = terminal.wait_for(&["─ live ▶ ─", "Context Switches/sec", "% Processor Time"]);
    let title = now.lines().next().unwrap().to_string();
    terminal.wait("another time", |screen| screen.lines().next() != Some(title.as_str()));
    // Properties: a title of the chart, typed while its samples go on.
    terminal.types("P");
    terminal.wait("the dialog", |screen| screen.contains("Properties"));
    terminal.types("Busy mornings");
    terminal.key("Enter");
    terminal.wait("the title behind the dialog", |screen| screen.matches("Busy mornings").count() == 2);
    terminal.key("Escape");
    terminal.wait("no dialog", |screen| !screen.contains("Properties") && screen.contains("Busy mornings"));
    // What is not a log says so and changes nothing.
    terminal.types("O");
    terminal.types("/dev/null");
    terminal.key("Enter");
    terminal.wait_for(&["/dev/null: ", "─ live ▶ ─", "Busy mornings"]);
    terminal.key("q");
    terminal.is_restored();
}

#[test]
fn the_monitor_follows_the_window() {
    let Some(terminal) = Terminal::open() else { return };
    terminal.start_with("", "Context Switches/sec", SWITCHES);
    terminal.tmux(&["resize-window", "-x", "46", "-y", "8"]);
    // No place for a chart: the report.
    let screen = terminal.wait("the report", |screen| {
        screen.lines().all(|line| line.chars().count() <= 46)
            && screen.lines().any(|line| line.trim_end() == "System")
    });
    assert!(screen.starts_with("─ Tallymon ─ "), "{screen}");
    row(&screen, "Context Switches/sec");
    terminal.tmux(&["resize-window", "-x", "120", "-y", "50"]);
    terminal.wait("the chart", |screen| screen.contains(" 100┤") && screen.lines().count() == 50);
    // Smaller than anything makes sense for, and back.
    terminal.tmux(&["resize-window", "-x", "3", "-y", "1"]);
    thread::sleep(Duration::from_millis(300));
    terminal.tmux(&["resize-window", "-x", "80", "-y", "40"]);
    terminal.wait("the chart", |screen| screen.contains(" 100┤") && screen.contains("Context Switches"));
    terminal.key("q");
    terminal.is_restored();
}

#[test]
fn memory_is_stated_in_mebibytes() {
    for (amount, fault) in [("0", "1..=65535"), ("much", "invalid digit")] {
        has(&super::support::tally(&["mon", "--memory", amount]).words(2), &["--memory", fault]);
    }
    let Some(terminal) = Terminal::open() else { return };
    terminal.start_with("", "Context Switches/sec", &format!("{SWITCHES} --memory 1"));
    terminal.key("q");
    terminal.is_restored();
}

#[test]
fn ctrl_c_puts_the_terminal_back() {
    let Some(terminal) = Terminal::open() else { return };
    terminal.start_with("", "Context Switches/sec", SWITCHES);
    terminal.key("C-c");
    terminal.is_restored();
}

#[test]
fn a_signal_puts_the_terminal_back() {
    let Some(terminal) = Terminal::open() else { return };
    let folder = Folder::new();
    let file = folder.file("id");
    // The shell writes its number and then becomes the command.
    let prefix = format!("sh -c 'echo $$ >\"{file}\"; exec \"$0\" mon -i 30s'");
    terminal.line("unset LANG LC_ALL LC_MESSAGES TALLY_LANG; echo before");
    terminal.line(&format!("{prefix} '{TALLY}'; echo \"ended with $?\""));
    terminal.wait("the monitor", |screen| screen.contains("30 s"));
    let id = std::fs::read_to_string(file).unwrap();
    assert!(Command::new("kill").args(["-TERM", id.trim()]).status().unwrap().success());
    terminal.is_restored();
}

#[test]
fn a_terminal_that_is_gone_ends_the_monitor() {
    let Some(terminal) = Terminal::open() else { return };
    let folder = Folder::new();
    let file = folder.file("id");
    let prefix = format!("sh -c 'echo $$ >\"{file}\"; exec \"$0\" mon -i 30s'");
    terminal.line(&format!("{prefix} '{TALLY}'"));
    terminal.wait("the monitor", |screen| screen.contains("30 s"));
    let process = format!("/proc/{}", std::fs::read_to_string(file).unwrap().trim());
    drop(terminal);
    // Reading keys of such a terminal never returns: the monitor once burned a processor for ever.
    let end = Instant::now() + Duration::from_secs(60);
    while std::path::Path::new(&process).exists() {
        assert!(Instant::now() < end, "the monitor is still there");
        thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_settings_file_needs_no_option_and_one_that_is_none_is_refused_in_words() {
    let Some(terminal) = Terminal::open() else { return };
    let folder = Folder::new();
    std::fs::write(folder.file("mine.tallymon"), "counters = ['\\System\\Context Switches/sec']\n").unwrap();
    std::fs::copy(folder.file("mine.tallymon"), folder.file("mine.toml")).unwrap();
    for name in ["mine.tallymon", "mine.toml"] {
        terminal.line("clear");
        terminal.line(&format!("'{TALLY}' mon '{}' -i 100ms", folder.file(name)));
        terminal.wait("the counter", |screen| {
            screen.contains("─ Tallymon ─") && screen.contains("Context Switches/sec")
        });
        terminal.key("q");
        terminal.wait("the shell", |screen| !screen.contains("Tallymon"));
    }
    std::fs::write(folder.file("empty.tallymon"), "{}").unwrap();
    for option in ["", "--settings "] {
        terminal.line("clear");
        terminal.line(&format!("'{TALLY}' mon {option}'{}'", folder.file("empty.tallymon")));
        terminal.wait("the words", |screen| screen.contains("TOML"));
    }
    std::fs::write(folder.file("broken.tallymon"), "counters = [\n").unwrap();
    terminal.line("clear");
    terminal.line(&format!("cd '{}'; '{TALLY}' mon broken.tallymon", folder.path().display()));
    terminal.wait("where and why", |screen| {
        screen.contains("broken.tallymon: line 1, column 13: unclosed array") && screen.contains("correct")
    });
}

#[test]
fn a_path_that_does_not_exist_is_shown_with_what_does() {
    let Some(terminal) = Terminal::open() else { return };
    let arguments = r"mon '\Memory\Availabel MBytes' '\System\Context Switches/sec' -i 100ms";
    let screen = terminal.start_with("", "Context Switches/sec", arguments);
    has(&screen, &["Availabel MBytes", "did you mean"]);
    terminal.key("q");
    terminal.is_restored();
}

#[test]
fn the_monitor_speaks_korean() {
    let Some(terminal) = Terminal::open() else { return };
    let screen = terminal.start_with("TALLY_LANG=ko TALLY_NAMES=translated", "컨텍스트 전환/초", SWITCHES);
    has(&screen, &["프로세서", "시스템", "카운터"]);
    // Wide letters do not move the values: every line of the legend ends in the same column.
    let widths: Vec<usize> = screen
        .lines()
        .filter(|line| line.starts_with(['▶', '✓']))
        .map(unicode_width::UnicodeWidthStr::width)
        .collect();
    assert!(widths.len() == 2 && widths.windows(2).all(|pair| pair[0] == pair[1]), "{widths:?}\n{screen}");
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
fn no_color_has_no_colours() {
    let Some(terminal) = Terminal::open() else { return };
    for (prefix, wanted) in [("NO_COLOR=1", false), ("", true)] {
        terminal.start_with(prefix, "Context Switches/sec", SWITCHES);
        let painted = terminal.tmux(&["capture-pane", "-p", "-e"]);
        let codes = painted.split("\u{1b}[").skip(1).filter_map(|rest| rest.split_once('m'));
        let is_colour = |code: &str| matches!(code.parse(), Ok(30..=38 | 90..=97));
        let coloured = codes.flat_map(|(codes, _)| codes.split(';')).any(is_colour);
        assert_eq!(coloured, wanted, "{painted:?}");
        terminal.key("q");
        terminal.is_restored();
        terminal.line("clear");
        terminal.wait("an empty screen", |screen| !screen.contains("ended with"));
    }
}

#[test]
fn chosen_counters_are_printed() {
    let Some(terminal) = Terminal::open() else { return };
    terminal.line("unset LANG LC_ALL LC_MESSAGES TALLY_LANG NO_COLOR COLORTERM; echo before");
    // The dialog is on the screen while the output goes into a variable.
    terminal.line(&format!(r"chosen=$('{TALLY}' browse '\System\Processes'); echo ended with $?"));
    terminal.wait_for(&["Add counters", r"\System\Processes"]);
    terminal.key("Enter");
    terminal.types("available bytes");
    // All of it: before its end the same counter is found, and two Escapes that are read in one piece are
    // one.
    terminal.wait("what was searched", |screen| {
        screen.contains(": available bytes ") && screen.contains(r"\Memory\Available Bytes")
    });
    terminal.key("Enter");
    // The first one clears the search.
    terminal.key("Escape");
    terminal.wait("an empty search", |screen| !screen.contains("available bytes"));
    terminal.key("Escape");
    terminal.is_restored();
    terminal.line(r#"echo "$chosen" | tr '\n' '+'"#);
    terminal.wait("the paths", |screen| screen.contains(r"\System\Processes+\Memory\Available Bytes+"));
    // Without a choice it says so by its code; with one of --one it ends at once.
    terminal.line(&format!("'{TALLY}' browse; echo chose $?"));
    terminal.wait("the dialog", |screen| screen.contains("Add counters"));
    terminal.key("Escape");
    // The line that was typed is seen again as soon as the dialog's screen is gone, and what is typed from
    // then on is the shell's: it was lost once, because the terminal was still in raw mode.
    terminal.wait("the end", |screen| screen.contains("chose ") && !screen.contains("chose 0"));
    terminal.line(&format!(r"'{TALLY}' browse --one '\System\Threads'; echo one $?"));
    terminal.wait("the dialog", |screen| screen.contains("Add counters"));
    terminal.key("Enter");
    terminal.wait("the end", |screen| screen.contains("\\System\\Threads\none 0"));
}

/// The same of a log: only what it has is there to be chosen, and its path is one of the log.
#[test]
fn counters_of_a_log_are_chosen() {
    let Some(log) = shared("logs/PowerShell_CounterSamples.blg") else { return };
    let Some(terminal) = Terminal::open() else { return };
    terminal.line("unset LANG LC_ALL LC_MESSAGES TALLY_LANG NO_COLOR COLORTERM; echo before");
    terminal.line(&format!("chosen=$('{TALLY}' browse --log '{}'); echo ended with $?", log.display()));
    terminal.wait("the dialog", |screen| screen.contains("Add counters"));
    terminal.types("context switches");
    terminal.wait("a search for what it does not have", |screen| screen.contains(": context switches "));
    let screen = terminal.screen();
    assert!(!screen.contains("Switches/sec"), "{screen}");
    terminal.key("Escape");
    terminal.wait("an empty search", |screen| !screen.contains("context switches"));
    terminal.types("cache faults");
    terminal.wait("what it has", |screen| {
        screen.contains(": cache faults ") && screen.contains("Cache Faults/sec")
    });
    terminal.key("Enter");
    terminal.key("Escape");
    terminal.wait("an empty search", |screen| !screen.contains(": cache faults "));
    terminal.key("Escape");
    terminal.is_restored();
    terminal.line(r#"echo "$chosen""#);
    terminal.wait("the path", |screen| screen.lines().any(|line| line == r"\Memory\Cache Faults/sec"));
}

#[test]
fn prof_top_draws_on_the_full_screen_and_restores_it() {
    let Some(terminal) = Terminal::open() else { return };
    let folder = Folder::new();
    let file = folder.write("x.prof", &super::prof::empty_profile());
    terminal.line("echo before");
    terminal.line(&format!("'{TALLY}' prof top '{file}' --interval 100ms; echo \"ended with $?\""));
    let screen = terminal.wait("a page", |screen| screen.contains("CALLS/S"));
    assert!(screen.starts_with("process ") && !screen.contains("before"), "{screen}");
    // The shell stops it and continues it, and it draws again.
    terminal.key("C-z");
    terminal.wait("the shell", |screen| screen.contains("before") && screen.contains("ready> "));
    terminal.line("fg; echo \"ended with $?\"");
    terminal.wait("another page", |screen| screen.starts_with("process "));
    terminal.key("q");
    terminal.is_restored();
}
