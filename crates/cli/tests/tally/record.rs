//! Recording: `tally watch -o`, `typeperf -o`, and what is left when the recorder is killed.

use std::fs;
use std::process::{Child, Command};
use std::thread;
use std::time::{Duration, Instant};

use crate::support::{AVAILABLE, Folder, PROCESSOR_TIME, Ran, clean, has, signal, start, tally};

/// A run of the command with its name in front of what it says, without the data.
#[track_caller]
fn words_of(ran: Ran) -> String {
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert_eq!(ran.out, "");
    ran.err
}

/// Waits until something is so, for much longer than it takes.
#[track_caller]
pub(crate) fn until(what: &str, mut is: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is() {
        assert!(begin.elapsed() < Duration::from_secs(60), "waiting for: {what}");
        thread::sleep(Duration::from_millis(20));
    }
}

/// Records of a log and its format.
fn records(log: &str) -> (u64, String) {
    let info = tally(&["info", "--json", log]).json();
    (info["records"].as_u64().unwrap(), info["format"].as_str().unwrap().to_string())
}

#[test]
fn every_format_is_recorded() {
    let folder = Folder::new();
    for (name, format) in [("a.tally", "tally"), ("a.blg", "blg"), ("a.sqlite", "sqlite"), ("a", "tally")] {
        let log = folder.file(name);
        let words = words_of(tally(&[
            "watch",
            PROCESSOR_TIME,
            r"\Process(*)\Working Set",
            "-i",
            "50ms",
            "-c",
            "4",
            "-o",
            &log,
        ]));
        has(&words, &[name, "4 records"]);
        assert_eq!(records(&log), (4, format.to_string()), "{name}");
        let info = tally(&["info", "--json", "--columns", &log]).json();
        let columns: Vec<&str> =
            info["columns"].as_array().unwrap().iter().map(|column| column.as_str().unwrap()).collect();
        // What was not asked for is not in it.
        assert!(columns.iter().all(|path| path.contains("% Processor Time") || path.contains("Working Set")));
        assert_eq!(columns.iter().filter(|path| path.contains("Processor(")).count(), 1);
    }
    let parquet = folder.file("a.parquet");
    words_of(tally(&["watch", AVAILABLE, "-i", "50ms", "-c", "2", "-o", &parquet]));
    assert!(fs::read(&parquet).unwrap().starts_with(b"PAR1"));
    let names: Vec<_> =
        fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names.len(), 5, "nothing but the logs is left: {names:?}");
}

#[test]
fn a_text_log_says_what_came_too_late() {
    let folder = Folder::new();
    for (name, has_it) in [("late.csv", false), ("late.tally", true)] {
        let log = folder.file(name);
        let tally = start(&["watch", r"\Process(*)\Working Set", "-i", "50ms", "-o", &log]);
        let begun = || fs::read(&log).is_ok_and(|bytes| !bytes.is_empty());
        until("the first record", begun);
        // Two intervals later the list of columns is there for sure.
        thread::sleep(Duration::from_millis(500));
        // A name that no process of this machine has.
        let late = folder.file("latecomer");
        fs::copy("/bin/sleep", &late).unwrap();
        let mut sleep = Command::new(&late).arg("60").spawn().unwrap();
        thread::sleep(Duration::from_millis(500));
        signal(&tally, "INT");
        let ran = crate::support::ran(tally.wait_with_output().unwrap());
        sleep.kill().unwrap();
        sleep.wait().unwrap();
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        assert_eq!(ran.err.contains("came too late"), !has_it, "{}", ran.err);
        let columns = crate::support::tally(&["info", "--columns", &log]).data();
        assert_eq!(columns.contains("(latecomer)"), has_it, "{columns}");
        fs::remove_file(&late).unwrap();
    }
}

/// Kills a recorder without notice, and gives back how many records its log has then.
fn killed(mut child: Child, log: &str) -> u64 {
    until("the first chunk", || fs::metadata(log).is_ok_and(|file| file.len() > 2000));
    child.kill().unwrap();
    child.wait().unwrap();
    records(log).0
}

#[test]
fn a_killed_recorder_leaves_a_log() {
    let folder = Folder::new();
    let log = folder.file("killed.tally");
    // A chunk has 60 records here, since they come faster than once in ten seconds.
    let child = clean(crate::support::TALLY)
        .args(["watch", r"\Process(*)\*", PROCESSOR_TIME, "-i", "10ms", "-o", &log])
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let kept = killed(child, &log);
    assert!(kept > 0, "the first chunk was written");
    // For another format the recording is there under its own name.
    let blg = folder.file("killed.blg");
    let recording = folder.file("killed.blg.recording.tally");
    let child = clean(crate::support::TALLY)
        .args(["watch", r"\Process(*)\*", "-i", "10ms", "-o", &blg])
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    assert!(killed(child, &recording) > 0);
    assert!(!fs::exists(&blg).unwrap());
    let ran = tally(&["relog", &recording, "-o", &blg]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert_eq!(records(&blg).1, "blg");
}

#[test]
fn typeperf_writes_binary_logs() {
    let folder = Folder::new();
    for (format, name, wanted) in [("BIN", "t.blg", "blg"), ("SQL", "t.sqlite", "sqlite")] {
        let log = folder.file(name);
        let ran = tally(&[
            "compat",
            "typeperf",
            PROCESSOR_TIME,
            "-si",
            "0.05",
            "-sc",
            "3",
            "-f",
            format,
            "-o",
            &log,
        ]);
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        has(&ran.err, &["The command completed successfully."]);
        assert_eq!(records(&log), (3, wanted.to_string()));
    }
    let words = tally(&["compat", "typeperf", PROCESSOR_TIME, "-sc", "1", "-f", "BIN"]).words(2);
    has(&words, &["-o"]);
}
