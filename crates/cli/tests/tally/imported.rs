//! Every tool on logs of other programs: sysstat, Performance Co-Pilot, atop, collectl, nmon, `vmstat` and
//! its like, `perf stat`, Prometheus.

use std::fs;
use std::path::{Path, PathBuf};

use super::support::{Folder, tally};
use super::terminal::Session;
use tallymon_testkit::terminal::Terminal;

/// The recorded logs. Beside them is what their own programs print of them.
fn logs() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../log/fixtures/import");
    let mut files: Vec<PathBuf> =
        fs::read_dir(folder).unwrap().map(|entry| fs::canonicalize(entry.unwrap().path()).unwrap()).collect();
    files.retain(|path| {
        let name = path.file_name().unwrap().to_str().unwrap();
        let is_printed = name.ends_with(".sadf")
            || name.ends_with(".pmrep")
            || name.starts_with("pcp-") && name.ends_with(".txt");
        !is_printed && !name.ends_with(".meta")
    });
    files.sort();
    assert!(files.len() >= 22, "{files:?}");
    files
}

/// Runs each tool on a log; what is wrong.
fn faults(log: &Path) -> Vec<String> {
    let folder = Folder::new();
    let path = log.to_str().unwrap();
    let (page, copy) = (folder.file("report.html"), folder.file("copy.tally"));
    let mut faults = Vec::new();
    let mut run = |arguments: &[&str]| -> String {
        let ran = tally(arguments);
        if ran.code != Some(0) || ran.err.contains("panicked") {
            faults.push(format!("{arguments:?} ended with {:?}: {}{}", ran.code, ran.err, ran.out));
        }
        ran.out
    };
    let counters = |info: &str| serde_json::from_str::<serde_json::Value>(info).ok()?["counters"].as_u64();
    let info = run(&["info", path]);
    let stats = run(&["stats", path]);
    let findings = run(&["analyze", path, "--json"]);
    let compared = run(&["compare", path, path]);
    run(&["report", path, "-o", &page]);
    run(&["relog", path, "-o", &copy]);
    let copied = run(&["stats", &copy]);
    let empty = [("info", &info), ("stats", &stats), ("compare", &compared), ("stats of the copy", &copied)];
    for (name, out) in empty {
        if out.lines().count() < 2 {
            faults.push(format!("{name} says nothing: {out:?}"));
        }
    }
    match counters(&findings) {
        Some(1..) => {}
        other => faults.push(format!("analyze has {other:?} counters")),
    }
    let length = fs::metadata(&page).map_or(0, |found| found.len());
    if length < 10_000 {
        faults.push(format!("the report has {length} bytes"));
    }
    // The copy has the same counters, each with values.
    let lines = |text: &str| text.lines().count();
    if lines(&copied) != lines(&stats) {
        faults.push(format!("{} lines of statistics, {} of the copy", lines(&stats), lines(&copied)));
    }
    faults.into_iter().map(|fault| format!("{}: {fault}", log.display())).collect()
}

#[test]
fn every_tool_works_on_logs_of_other_programs() {
    let logs = logs();
    let found: Vec<String> = std::thread::scope(|scope| {
        let parts = logs.chunks(logs.len().div_ceil(4));
        let jobs: Vec<_> =
            parts.map(|part| scope.spawn(|| part.iter().flat_map(|log| faults(log)).collect())).collect();
        jobs.into_iter().flat_map(|job| -> Vec<String> { job.join().unwrap() }).collect()
    });
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn the_monitor_opens_logs_of_other_programs() {
    for log in logs() {
        let name = log.file_name().unwrap().to_str().unwrap();
        let Some(terminal) = Terminal::open() else { return };
        let screen = terminal.start_log(log.to_str().unwrap(), name);
        assert!(!screen.contains("panicked"), "{name}:\n{screen}");
        terminal.types("q");
        terminal.is_restored();
    }
}

trait Opens {
    /// Opens a log, and waits until its records are there.
    fn start_log(&self, path: &str, name: &str) -> String;
}

impl Opens for Terminal {
    fn start_log(&self, path: &str, name: &str) -> String {
        self.line("unset LANG LC_ALL LC_MESSAGES TALLY_LANG NO_COLOR COLORTERM; echo before");
        self.line(&format!("'{}' mon '{path}'; echo \"ended with $?\"", super::support::TALLY));
        self.wait(name, |screen| {
            // `─ Tallymon ─ LOG ─ sa21 ─ … ─ 3 records ─`, with what the machine was below it.
            let title = screen.lines().find(|line| line.contains(" LOG ") && line.contains(" records"));
            title.is_some_and(|title| !title.contains(" 0 records")) && screen.lines().count() > 5
        })
    }
}
