//! The documents are true: their commands run, their links lead somewhere, and the book has every page.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tallymon_testkit::terminal::Terminal;
use tallymon_testkit::{peer, shared};

use crate::support::{Folder, TALLY, clean};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The pages below a folder, as paths from there.
fn pages(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(inner) = folders.pop() {
        for entry in fs::read_dir(folder.join(&inner)).unwrap().flatten() {
            let path = inner.join(entry.file_name());
            if entry.path().is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// The commands of a page: the lines of its console blocks that begin with a prompt.
fn commands(page: &str) -> Vec<&str> {
    let mut is_console = false;
    let mut commands = Vec::new();
    for line in page.lines() {
        match line.strip_prefix("```") {
            Some(kind) => is_console = kind == "console",
            None if is_console => commands.extend(line.strip_prefix("$ ")),
            None => {}
        }
    }
    commands
}

/// A folder with `tally` in its `bin`, in which a reader types commands.
struct Desk {
    folder: Folder,
    path: String,
}

impl Desk {
    fn new() -> Desk {
        let folder = Folder::new();
        fs::create_dir(folder.path().join("bin")).unwrap();
        std::os::unix::fs::symlink(TALLY, folder.path().join("bin/tally")).unwrap();
        let path = format!("{}:{}", folder.file("bin"), std::env::var("PATH").unwrap());
        Desk { folder, path }
    }

    /// Runs a command line; `before` stands before it, to stop it.
    fn run(&self, before: &str, command: &str) -> std::process::Output {
        let mut shell = clean("sh");
        shell.args(["-c", &format!("{before}{command}")]).current_dir(self.folder.path());
        shell.env("PATH", &self.path).env("TALLYMON_ROOT", self.folder.file("state"));
        shell.output().unwrap()
    }
}

/// Every command of a task succeeds, one after the other in one folder, as a reader would type them.
#[test]
fn the_commands_of_the_tasks_run() {
    let Some(log) = shared("logs/PAL_SampleLog.blg") else { return };
    let tasks = root().join("docs/tasks");
    let pages = pages(&tasks);
    assert!(pages.len() >= 5, "{pages:?}");
    for page in pages {
        let text = fs::read_to_string(tasks.join(&page)).unwrap();
        let commands = commands(&text);
        assert!(!commands.is_empty(), "{} has no command", page.display());
        let desk = Desk::new();
        fs::copy(&log, desk.folder.path().join("customer.blg")).unwrap();
        for command in commands {
            let ran = desk.run("", command);
            let err = String::from_utf8_lossy(&ran.stderr);
            assert!(ran.status.success(), "{}: {command}: {}\n{err}", page.display(), ran.status);
        }
    }
}

/// The beginnings of commands that other tests run, and why this one does not.
const ELSEWHERE: [(&str, &str); 8] = [
    ("tally get '\\Processor(*)\\*'", "writes into the folder of a service"),
    ("tally mon", "needs a terminal: see the next test"),
    ("tally browse", "is a dialog"),
    ("tally serve", "opens a browser"),
    ("tally prof", "needs .NET and a program"),
    ("duckdb", "is a program of others"),
    ("cargo run", "builds"),
    ("tally get '\\Behemoth", "needs the program before it"),
];

/// Beginnings of commands that go on until somebody stops them.
const ENDLESS: [&str; 1] = ["tally watch"];

/// What commands end with that do not simply succeed.
const ENDS: [(&str, &[i32]); 3] = [
    // 124 says that the command was still there when it was stopped.
    ("tally watch", &[0, 124]),
    ("tally get '\\Memory\\Write Copies/sec'", &[4]),
    ("tally check", &[0, 1, 2]),
];

/// The commands of the first page succeed, or go on until they are stopped.
#[test]
fn the_commands_of_the_readme_run() {
    let Some(log) = shared("logs/PAL_SampleLog.blg") else { return };
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let desk = Desk::new();
    for name in ["customer.blg", "web.blg", "before.blg", "after.blg", "yesterday.blg"] {
        fs::copy(&log, desk.folder.path().join(name)).unwrap();
    }
    let made = desk.run("", "tally relog web.blg -o db.csv --counter '\\Memory\\*'");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let mut ran = 0;
    for command in commands(&readme) {
        if ELSEWHERE.iter().any(|(beginning, _)| command.starts_with(beginning)) {
            continue;
        }
        let is_endless = ENDLESS.iter().any(|beginning| command.starts_with(beginning));
        let output = desk.run(if is_endless { "timeout --signal=INT 3 " } else { "" }, command);
        let err = String::from_utf8_lossy(&output.stderr);
        let expected = ENDS.iter().find(|(beginning, _)| command.starts_with(beginning));
        let is_expected = |code| expected.map_or(code == 0, |(_, codes)| codes.contains(&code));
        assert!(output.status.code().is_some_and(is_expected), "{command}: {}\n{err}", output.status);
        ran += 1;
    }
    let stopped = desk.run("", "tally log stop blackbox");
    assert!(stopped.status.success(), "{}", String::from_utf8_lossy(&stopped.stderr));
    assert!(ran > 20, "{ran}");
    assert!(ELSEWHERE.iter().all(|(one, _)| commands(&readme).iter().any(|line| line.starts_with(one))));
}

#[test]
fn the_monitor_of_the_readme_opens() {
    let Some(log) = shared("logs/PAL_SampleLog.blg") else { return };
    let Some(terminal) = Terminal::open() else { return };
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let desk = Desk::new();
    for name in ["customer.blg", "web.blg"] {
        fs::copy(&log, desk.folder.path().join(name)).unwrap();
    }
    let made = desk.run("", "tally relog web.blg -o db.csv --counter '\\Memory\\*'");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    terminal.line("unset LANG LC_ALL LC_MESSAGES TALLY_LANG NO_COLOR COLORTERM");
    terminal.line(&format!("cd '{}'; PATH='{}'; echo ready", desk.folder.path().display(), desk.path));
    // Settings are saved by the monitor itself, and other machines have tests of their own.
    let commands = commands(&readme).into_iter().filter(|line| line.starts_with("tally mon"));
    let is_here = |line: &&str| !line.contains("--settings") && !line.contains(" -H ");
    let commands: Vec<&str> = commands.filter(is_here).collect();
    assert_eq!(commands.len(), 3, "{commands:?}");
    for (nth, command) in commands.iter().enumerate() {
        terminal.line(&format!("{}; echo \"ended {nth} with $?\"", command.split("  #").next().unwrap()));
        terminal.wait(command, |screen| screen.contains("? help") && screen.contains("─ Tallymon ─"));
        terminal.key("q");
        terminal.wait("the end", |screen| screen.contains(&format!("ended {nth} with 0")));
    }
}

/// The first page in other languages has the sections, commands, links and pictures of the English one.
#[test]
fn the_readmes_in_other_languages_are_those_of_this_version() {
    let read = |name: &str| fs::read_to_string(root().join(name)).unwrap();
    let english = read("README.md");
    let without_remark = |line: &str| line.split("  #").next().unwrap().trim().to_string();
    let lines = |page: &str| commands(page).into_iter().map(without_remark).collect::<Vec<_>>();
    let starting = |page: &str, begin: &str| page.lines().filter(|line| line.starts_with(begin)).count();
    // A page names the other languages, and not itself.
    let linked = |page: &str| {
        let links = links(page).filter(|link| !link.starts_with("README"));
        links.map(str::to_owned).collect::<std::collections::BTreeSet<_>>()
    };
    for language in ["ko", "ja", "ru"] {
        let name = format!("README.{language}.md");
        let page = read(&name);
        assert_eq!(lines(&page), lines(&english), "{name}");
        assert_eq!(linked(&page), linked(&english), "{name}");
        for begin in ["## ", "```", "!["] {
            assert_eq!(starting(&page, begin), starting(&english, begin), "{name}: lines with {begin:?}");
        }
        assert!(links(&english).any(|link| link == name), "README.md does not link {name}");
    }
}

/// Targets of the links and pictures of a page.
fn links(page: &str) -> impl Iterator<Item = &str> {
    page.match_indices("](").filter_map(|(at, _)| page.get(at + 2..)?.split([')', ' ']).next())
}

#[test]
fn every_link_leads_to_a_file() {
    let root = root();
    let docs = pages(&root.join("docs")).into_iter().map(|page| Path::new("docs").join(page));
    let top =
        ["README.md", "README.ko.md", "README.ja.md", "README.ru.md", "ARCHITECTURE.md", "CONTRIBUTING.md"];
    let top = top.into_iter().chain(["SECURITY.md"]).map(PathBuf::from);
    for page in docs.chain(top).filter(|page| !page.starts_with("docs/api")) {
        let text = fs::read_to_string(root.join(&page)).unwrap();
        let folder = root.join(page.parent().unwrap());
        for link in links(&text).filter(|link| !link.contains("://") && !link.starts_with('#')) {
            let file = link.split('#').next().unwrap();
            // Regular expressions and code have brackets, too.
            if file.ends_with(".md") || file.contains("pictures/") {
                assert!(folder.join(file).is_file(), "{}: no file {link}", page.display());
            }
        }
    }
}

#[test]
fn the_book_has_every_page() {
    let docs = root().join("docs");
    let summary = fs::read_to_string(docs.join("SUMMARY.md")).unwrap();
    let listed: Vec<&str> = links(&summary).collect();
    for page in pages(&docs) {
        let name = page.to_str().unwrap();
        if !page.starts_with("api") && name != "SUMMARY.md" {
            assert!(listed.contains(&name), "SUMMARY.md does not list {name}");
        }
    }
    let Some(mdbook) = peer("mdbook") else { return };
    let folder = Folder::new();
    let built =
        Command::new(mdbook).arg("build").arg(&docs).args(["--dest-dir", &folder.file("book")]).output();
    let built = built.unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    for page in listed {
        let html = page.replace(".md", ".html");
        assert!(folder.path().join("book").join(&html).is_file(), "the book has no {html}");
    }
}
