//! Manual pages: every command has one, and the formatters have nothing to say about it.

use std::fs;
use std::process::Command;

use tallymon_testkit::peer;

use crate::support::{Folder, has, tally, tally_with};

/// The pages in a folder, by name.
fn pages(folder: &Folder) -> Vec<(String, String)> {
    let written = tally_with(&["man", "--output", &folder.file("man")], |command| {
        command.env("SOURCE_DATE_EPOCH", "1767312000");
    });
    assert_eq!((written.code, written.err.as_str()), (Some(0), ""));
    let files = fs::read_dir(folder.path().join("man")).unwrap().flatten();
    let read = |entry: fs::DirEntry| {
        (entry.file_name().into_string().unwrap(), fs::read_to_string(entry.path()).unwrap())
    };
    let mut pages: Vec<(String, String)> = files.map(read).collect();
    pages.sort();
    pages
}

#[test]
fn every_command_of_the_help_has_a_page() {
    let folder = Folder::new();
    let pages = pages(&folder);
    let help = tally(&["--help"]).data();
    let commands = help.split("Commands:\n").nth(1).unwrap().split("\n\n").next().unwrap();
    let names = commands.lines().filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    let names: Vec<&str> = names.filter(|name| !name.is_empty() && *name != "help").collect();
    assert!(names.len() > 20, "{names:?}");
    for name in &names {
        let file = format!("tally-{name}.1");
        let (_, text) = pages.iter().find(|(known, _)| *known == file).unwrap_or_else(|| panic!("no {file}"));
        has(text, &["2026-01-02", ".SH \"SYNOPSIS\"", ".SH \"EXAMPLES\"", ".SH \"EXIT STATUS\""]);
    }
    assert_eq!(pages.len(), names.len() + 1);
    assert_eq!(
        tally(&["man", "watch"]).data().lines().next().unwrap().split(' ').nth(1),
        Some("\"TALLY\\-WATCH\"")
    );
    has(&tally(&["man", "wacth"]).words(3), &["watch"]);
}

/// The examples that the help of an action shows are in the page of its command.
#[test]
fn actions_have_their_examples() {
    let plain = |text: String| {
        text.replace("\\(aq", "'").replace("\\(dq", "\"").replace("\\-", "-").replace("\\e", "\\")
    };
    for (command, action) in [("log", "start"), ("provider", "list"), ("prof", "run")] {
        let help = tally(&[command, action, "--help"]).data();
        let Some(examples) = help.split("Examples:\n").nth(1) else { panic!("no examples in {help}") };
        let page = plain(tally(&["man", command]).data());
        for example in examples.lines().take_while(|line| !line.is_empty()) {
            has(&page, &[example.trim()]);
        }
    }
}

#[test]
fn formatters_accept_the_pages() {
    let folder = Folder::new();
    let pages = pages(&folder);
    let files: Vec<String> = pages.iter().map(|(name, _)| folder.file(&format!("man/{name}"))).collect();
    if let Some(mandoc) = peer("mandoc") {
        let checked =
            Command::new(mandoc).args(["-T", "lint", "-W", "warning"]).args(&files).output().unwrap();
        assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stdout));
    }
    if let Some(man) = peer("man") {
        for (file, (name, _)) in files.iter().zip(&pages) {
            let mut command = Command::new(&man);
            command
                .args(["--warnings=all", "-E", "UTF-8", "-l", file])
                .env("MANWIDTH", "80")
                .env("LC_ALL", "C.UTF-8");
            let shown = command.output().unwrap();
            assert!(
                shown.status.success() && shown.stderr.is_empty(),
                "{name}: {}",
                String::from_utf8_lossy(&shown.stderr)
            );
            if name == "tally-get.1" {
                // The text of a terminal, without the bold of groff: backslashes and quotes as in the help.
                let text = String::from_utf8(shown.stdout).unwrap();
                has(&text, &[r"tally get '\Processor(_Total)\% Processor Time'", "--interval"]);
            }
        }
    }
}
