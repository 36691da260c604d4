//! The documents are true: their commands run, their links lead somewhere, and the book has every page.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

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
        let folder = Folder::new();
        fs::create_dir(folder.path().join("bin")).unwrap();
        std::os::unix::fs::symlink(TALLY, folder.path().join("bin/tally")).unwrap();
        fs::copy(&log, folder.path().join("customer.blg")).unwrap();
        let path = format!("{}:{}", folder.file("bin"), std::env::var("PATH").unwrap());
        for command in commands {
            let mut shell = clean("sh");
            shell.args(["-c", command]).current_dir(folder.path());
            shell.env("PATH", &path).env("TALLYMON_ROOT", folder.file("state"));
            let ran = shell.output().unwrap();
            let err = String::from_utf8_lossy(&ran.stderr);
            assert!(ran.status.success(), "{}: {command}: {}\n{err}", page.display(), ran.status);
        }
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
    let top = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md"].map(PathBuf::from);
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
