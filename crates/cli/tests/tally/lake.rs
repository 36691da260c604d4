//! Lakes as a user meets them: filled by `relog` and by sessions, read by every command, kept in order.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::support::{Folder, has, tally, tally_with};

/// A log of a host, as CSV.
pub(crate) fn log_of(host: &str, rows: u32) -> String {
    let mut text = format!("\"(PDH-CSV 4.0) (UTC)(0)\",\"\\\\{host}\\Memory\\Available Bytes\"\r\n");
    for row in 0..rows {
        text.push_str(&format!("\"11/26/2016 13:{:02}:{:02}.000\",\"{row}\"\r\n", row / 60, row % 60));
    }
    text
}

#[test]
fn folders_of_logs_become_a_lake() {
    let folder = Folder::new();
    let logs = folder.file("logs");
    fs::create_dir_all(Path::new(&logs).join("more")).unwrap();
    for (name, host) in [("a.csv", "a"), ("more/b.csv", "b")] {
        fs::write(Path::new(&logs).join(name), log_of(host, 90)).unwrap();
    }
    fs::write(Path::new(&logs).join("README"), "no log").unwrap();
    let lake = folder.file("x.lake");
    let first = tally(&["relog", &logs, "-o", &lake]);
    assert_eq!(first.code, Some(0), "{}", first.err);
    has(
        &first.err,
        &["2 logs with 180 records put in, 0 were in already", "1 files in the folders are no logs"],
    );
    // A log that came since; a file that is damaged does not keep it out.
    fs::write(Path::new(&logs).join("c.csv"), log_of("c", 90)).unwrap();
    fs::write(Path::new(&logs).join("d.blg"), &fs::read("/proc/self/exe").unwrap()[..100]).unwrap();
    let second = tally(&["relog", &logs, "-o", &lake]);
    has(&second.err, &["1 logs with 90 records put in, 2 were in already, 0 failed"]);
    for arguments in [
        &["stats", &lake][..],
        &["info", &lake, "--columns"],
        &["get", r"\\c\Memory\Available Bytes", "--log", &lake],
        &["relog", &lake],
        &["analyze", &lake],
    ] {
        let ran = tally(arguments);
        assert_eq!(ran.code, Some(0), "{arguments:?} {}", ran.err);
        if arguments[0] != "analyze" {
            assert!(!ran.out.is_empty(), "{arguments:?}");
        }
    }
    has(&tally(&["lake", "compact", &lake]).err, &["3 parts of", "became 1 of"]);
    has(&tally(&["lake", "vacuum", &lake]).err, &["0 files", "3 are too young"]);
    has(&tally(&["stats", &lake]).data(), &["\\\\a\\", "\\\\b\\", "\\\\c\\"]);
    // What is not a lake is left alone.
    has(&tally(&["lake", "compact", &logs]).err, &["_delta_log"]);
    has(&tally(&["relog", &lake, "-f", "lake", "-o", &logs]).err, &["is not a table"]);
    has(&tally(&["relog", &lake, "-f", "lake", "-o", &lake]).err, &["which is read"]);
    has(&tally(&["relog", &lake, "-f", "lake"]).err, &["-o"]);
}

#[test]
fn a_session_fills_a_lake() {
    let folder = Folder::new();
    let (lake, root) = (folder.file("x.lake"), folder.file("root"));
    let run = |arguments: &[&str]| {
        tally_with(arguments, |command| {
            command.env("TALLYMON_ROOT", &root).env("XDG_STATE_HOME", &root).env("XDG_CONFIG_HOME", &root);
        })
    };
    let path = r"\Memory\Available Bytes";
    let start = ["log", "start", "inlake", "-c", path, "-i", "100ms", "-f", "lake", "-o", &lake];
    has(&run(&[&start[..], &["--segments", "3", "--rotate-time", "1s"]].concat()).err, &["--segments"]);
    let started = run(&[&start[..], &["--rotate-time", "1s"]].concat());
    assert_eq!(started.code, Some(0), "{}", started.err);
    let versions = Path::new(&lake).join("_delta_log");
    let count = || fs::read_dir(&versions).map_or(0, Iterator::count);
    let begun = Instant::now();
    while count() < 3 && begun.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(50));
    }
    let stopped = run(&["log", "stop", "inlake"]);
    assert_eq!(stopped.code, Some(0), "{}", stopped.err);
    assert!(count() >= 3, "{}", count());
    // Nothing waits, and what was recorded is one log.
    assert_eq!(fs::read_dir(Path::new(&lake).join("_recordings")).unwrap().count(), 0);
    has(&run(&["stats", &lake]).data(), &["Available Bytes"]);
}
