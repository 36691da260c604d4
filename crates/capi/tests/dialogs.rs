//! The dialogs that C programs show, on a real terminal.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a failed assumption of a test is its failure")]

use tallymon_testkit::terminal::Terminal;
use tallymon_testkit::{peer, shared};

mod bench;

use bench::{Bench, SANITIZED, lines};

/// A terminal in whose shell the program is `dialogs`, and the log of Windows `$log`; `None` when something
/// is missing.
fn open(name: &str) -> Option<(Terminal, Bench)> {
    let (gcc, log) = (peer("gcc")?, shared("logs/PowerShell_CounterSamples.blg")?);
    let terminal = Terminal::open()?;
    let bench = Bench::new(name);
    let program = bench.compile(&gcc, &[SANITIZED, &["-Wall", "-Wextra"]].concat(), &["tests/c/dialogs.c"]);
    let folder = bench.0.display();
    terminal.line(&format!("export LD_LIBRARY_PATH='{folder}' TALLYMON_ROOT='{folder}/root' LC_ALL=C.UTF-8"));
    terminal.line(&format!("cd '{folder}'; log='{}'", log.display()));
    terminal.line(&format!("dialogs() {{ '{}' \"$@\"; }}; clear", program.display()));
    terminal.wait("an empty screen", |screen| screen.trim() == "ready>");
    Some((terminal, bench))
}

/// Starts the program and waits for its dialog.
#[track_caller]
fn start(terminal: &Terminal, arguments: &str) -> String {
    terminal.line(&format!("clear; dialogs {arguments}"));
    terminal.wait("the dialog", |screen| screen.contains("Add counters"))
}

/// Searches for some words, and waits until what is found is there.
#[track_caller]
fn search(terminal: &Terminal, words: &str, found: &str) {
    terminal.types(words);
    terminal
        .wait("what was found", |screen| screen.contains(&format!(": {words} ")) && screen.contains(found));
}

/// Leaves the dialog when there is a search in it.
#[track_caller]
fn leave(terminal: &Terminal, words: &str) {
    terminal.key("Escape");
    terminal.wait("an empty search", |screen| !screen.contains(words));
    terminal.key("Escape");
}

/// What the program says at its end.
#[track_caller]
fn said(terminal: &Terminal) -> Vec<String> {
    let is_status = |line: &str| line.starts_with("status 0x");
    let screen = terminal.wait("the status", |screen| screen.lines().any(is_status));
    let lines = screen.lines().filter(|line| !line.starts_with("ready>") && !line.is_empty());
    lines.map(str::to_string).collect()
}

#[test]
fn chooses_counters_of_a_log_by_name_and_by_handle() {
    let Some((terminal, _bench)) = open("dialogs-log") else { return };
    let screen = start(&terminal, r#"browse "$log""#);
    // The machine of the log, and not this one.
    assert!(screen.contains("charlieparker"), "{screen}");
    search(&terminal, "cache faults", "Cache Faults/sec");
    terminal.key("Enter");
    leave(&terminal, ": cache faults ");
    let chosen = r"\Memory\Cache Faults/sec";
    assert_eq!(said(&terminal), [chosen, "status 0x00000000"]);
    // A program that has too little room is told, and gets the same choice again.
    start(&terminal, r#"handle "$log""#);
    search(&terminal, "cache faults", "Cache Faults/sec");
    terminal.key("Enter");
    leave(&terminal, ": cache faults ");
    assert_eq!(said(&terminal), ["more room", "more room", chosen, "status 0x00000000"]);
    // Nothing was chosen.
    start(&terminal, r#"browse "$log""#);
    terminal.key("Escape");
    assert_eq!(said(&terminal), ["status 0x800007D9"]);
}

#[test]
fn choosing_one_counter_of_this_machine_ends_the_dialog() {
    let Some((terminal, _bench)) = open("dialogs-one") else { return };
    let screen = start(&terminal, "one");
    // It begins where the program says.
    assert!(screen.lines().any(|line| line.contains("▸% User Time")), "{screen}");
    terminal.key("Enter");
    let found = said(&terminal);
    assert!(found.first().unwrap().contains(r"\Processor("), "{found:?}");
    assert_eq!(found.last().unwrap(), "status 0x00000000");
    assert_eq!(found.len(), 2, "{found:?}");
    // Or everything that an object has.
    start(&terminal, "object");
    terminal.key("Enter");
    assert_eq!(said(&terminal), [r"\Processor(*)\*", "status 0x00000000"]);
}

#[test]
fn asks_for_a_data_source() {
    let Some((terminal, bench)) = open("dialogs-source") else { return };
    let source = |size: &str, answer: &dyn Fn()| {
        // The question of before is gone before the next one is waited for.
        terminal.line("clear");
        terminal.wait("an empty screen", |screen| screen.trim() == "ready>");
        terminal.line(&format!("dialogs source {size}"));
        terminal.wait("the question", |screen| screen.contains("Ctrl-D cancels):"));
        answer();
        said(&terminal)
    };
    // Nothing is this machine, unless only a log will do.
    let asked = source("100", &|| terminal.key("Enter"));
    assert_eq!(asked.iter().rev().take(2).collect::<Vec<_>>(), ["status 0x00000000", "[]"]);
    let asked = source("100", &|| terminal.key("C-d"));
    assert_eq!(asked.iter().rev().take(2).collect::<Vec<_>>(), ["status 0x800007D9", "[untouched]"]);
    // What is not a log is asked for again; what the user types is seen.
    std::fs::write(bench.0.join("words.txt"), "words\n").unwrap();
    let csv =
        "\"(PDH-CSV 4.0) (UTC)(0)\",\"\\\\a\\System\\Processes\"\r\n\"01/01/2026 00:00:00.000\",\"7\"\r\n";
    std::fs::write(bench.0.join("own.csv"), csv).unwrap();
    let answers = || {
        terminal.key("Enter");
        terminal.line("words.txt");
        terminal.wait("the reason", |screen| screen.contains("words.txt: this is not a log"));
        terminal.line("own.csv");
    };
    let asked = source("-100", &answers);
    assert_eq!(asked.iter().rev().take(2).collect::<Vec<_>>(), ["status 0x00000000", "[own.csv]"]);
    assert!(asked.iter().any(|line| line.ends_with("cancels): own.csv")), "{asked:?}");
    // A name that is too long for the buffer is cut.
    let asked = source("6", &|| terminal.line("own.csv"));
    assert_eq!(asked.iter().rev().take(2).collect::<Vec<_>>(), ["status 0x00000000", "[own.c]"]);
    // Without a terminal nobody can be asked.
    let (Some(setsid), program) = (peer("setsid"), bench.0.join("program")) else { return };
    let output = bench.run(&setsid).arg("--wait").arg(program).args(["source", "100"]).output().unwrap();
    assert_eq!(lines(&output), ["[untouched]", "status 0xC0000BD3"]);
}
