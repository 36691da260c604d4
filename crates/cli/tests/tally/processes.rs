//! Names of processes: a line stays with its process, however its name is numbered.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::support::{Folder, TALLY, clean, has, has_object, signal, start, tally};
use tallymon_testkit::skip;

/// Processes of one name that no other process has.
struct Sleepers {
    program: String,
    name: String,
    running: Vec<Child>,
}

impl Sleepers {
    /// Some of them, in the order in which the kernel lists them; `None` with a reported skip.
    fn start(folder: &Folder, count: usize) -> Option<Sleepers> {
        if !has_object("Process") {
            skip("no Process");
            return None;
        }
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let next = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("n{}x{next}z", std::process::id());
        let program = folder.file(&name);
        // A copy could be busy: another test that starts a program has it open for a moment.
        let sleep = ["/bin/sleep", "/usr/bin/sleep"]
            .into_iter()
            .find(|file| fs::metadata(file).is_ok() && std::os::unix::fs::symlink(file, &program).is_ok());
        if sleep.is_none() {
            skip("no sleep");
            return None;
        }
        let mut sleepers = Sleepers { program, name, running: Vec::new() };
        for _ in 0..count {
            sleepers.more();
        }
        // Process ids may begin again at any time; the names are numbered in the order of the ids.
        sleepers.running.sort_by_key(Child::id);
        Some(sleepers)
    }

    /// One more; its id.
    fn more(&mut self) -> u32 {
        let child = Command::new(&self.program).arg("1000").spawn().unwrap();
        let id = child.id();
        let comm = format!("/proc/{id}/comm");
        wait("the program", || fs::read_to_string(&comm).is_ok_and(|text| text.trim() == self.name));
        self.running.push(child);
        id
    }

    /// Ends the first one; its id.
    fn end_first(&mut self) -> u32 {
        let mut child = self.running.remove(0);
        child.kill().unwrap();
        child.wait().unwrap();
        child.id()
    }

    fn ids(&self) -> Vec<u32> {
        self.running.iter().map(Child::id).collect()
    }
}

impl Drop for Sleepers {
    fn drop(&mut self) {
        for child in &mut self.running {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

#[track_caller]
fn wait(what: &str, mut is: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is() {
        assert!(begin.elapsed() < Duration::from_secs(60), "waited for {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// The columns of a text log, without their quotes and blanks.
fn columns(text: &str) -> Vec<Vec<String>> {
    let rows: Vec<Vec<String>> = text
        .lines()
        .map(|line| line.trim_matches('"').split("\",\"").map(|cell| cell.trim().to_string()).collect())
        .collect();
    let width = rows.first().map_or(0, Vec::len);
    (1..width).map(|at| rows.iter().filter_map(|row| row.get(at).cloned()).collect()).collect()
}

fn rows_of(file: &str) -> usize {
    fs::read_to_string(file).map_or(0, |text| text.lines().count().saturating_sub(1))
}

/// Records while the first of three processes ends and a fourth begins, until `said` was said; the log, and
/// what was said.
fn recorded(
    folder: &Folder,
    sleepers: &mut Sleepers,
    path: &str,
    (said, more): (&str, &[&str]),
) -> (String, String) {
    let file = folder.file("rows.csv");
    let mut watch = start(&[&["watch", path, "-i", "20ms", "-o", &file], more].concat());
    let (heard, mut words) = (Arc::new(Mutex::new(String::new())), watch.stderr.take().unwrap());
    let hears = Arc::clone(&heard);
    let reader = std::thread::spawn(move || {
        let mut bytes = [0; 4096];
        while let Ok(count @ 1..) = words.read(&mut bytes) {
            hears.lock().unwrap().push_str(&String::from_utf8_lossy(&bytes[..count]));
        }
    });
    wait("the first rows", || rows_of(&file) >= 2);
    sleepers.end_first();
    let then = rows_of(&file);
    wait("rows without the first process", || rows_of(&file) >= then + 3);
    sleepers.more();
    let then = rows_of(&file);
    wait("rows with the new process", || rows_of(&file) >= then + 3 && heard.lock().unwrap().contains(said));
    signal(&watch, "INT");
    reader.join().unwrap();
    let err = heard.lock().unwrap().clone();
    assert_eq!(watch.wait().unwrap().code(), Some(0), "{err}");
    (fs::read_to_string(file).unwrap(), err)
}

/// What is said of an instance without a column.
const LATE: &str = "came too late for a column";

/// The different values of a column, without blanks, in their order.
fn different(column: &[String]) -> Vec<&str> {
    let mut seen: Vec<&str> =
        column.iter().skip(1).map(String::as_str).filter(|cell| !cell.is_empty()).collect();
    seen.dedup();
    seen
}

#[test]
fn a_column_of_a_wildcard_stays_with_its_process() {
    let folder = Folder::new();
    let Some(mut sleepers) = Sleepers::start(&folder, 3) else { return };
    let ids: Vec<String> = sleepers.ids().iter().map(ToString::to_string).collect();
    let path = format!(r"\Process({}*)\ID Process", sleepers.name);
    let (text, err) = recorded(&folder, &mut sleepers, &path, (LATE, &[]));
    let columns = columns(&text);
    assert_eq!(columns.len(), 3, "{text}");
    for (column, id) in columns.iter().zip(&ids) {
        assert_eq!(different(column), [id], "{text}");
    }
    // The line of the process that ended is blank, the others go on to the end.
    assert_eq!(
        columns.iter().map(|column| column.last().unwrap().is_empty()).collect::<Vec<_>>(),
        [true, false, false]
    );
    has(&err, &[LATE]);
}

#[test]
fn a_path_without_a_wildcard_says_when_it_means_another_process() {
    let folder = Folder::new();
    let Some(mut sleepers) = Sleepers::start(&folder, 3) else { return };
    let ids: Vec<String> = sleepers.ids().iter().map(ToString::to_string).collect();
    let path = format!(r"\Process({})\ID Process", sleepers.name);
    let (text, err) = recorded(&folder, &mut sleepers, &path, ("another process from here on", &[]));
    let columns = columns(&text);
    assert_eq!(different(&columns[0]), [&ids[0], &ids[1]], "{text}");
    let second = columns[0].iter().position(|cell| *cell == ids[1]).unwrap();
    assert_eq!(columns[0][second - 1], "", "a blank parts the two: {text}");
    has(&err, &[&format!("{path}: another process from here on ({}, before {})", ids[1], ids[0])]);
}

#[test]
fn names_with_process_ids_stay() {
    let folder = Folder::new();
    let Some(mut sleepers) = Sleepers::start(&folder, 3) else { return };
    let (ids, name) = (sleepers.ids(), sleepers.name.clone());
    let path = format!(r"\Process({name}*)\ID Process");
    let (text, _) = recorded(&folder, &mut sleepers, &path, (LATE, &["--instances", "pid"]));
    for (column, id) in columns(&text).iter().zip(&ids) {
        assert!(column[0].ends_with(&format!(r"\Process({name}_{id})\ID Process")), "{text}");
        assert_eq!(different(column), [id.to_string()], "{text}");
    }
    // The same names everywhere, and they are accepted back.
    let one = format!(r"\Process({name}_{})\ID Process", ids[1]);
    assert_eq!(tally(&["get", &one, "--plain", "--instances", "pid"]).data().trim(), ids[1].to_string());
    has(&tally(&["list", "Process", "--instances=pid"]).data(), &[&format!(r"\Process({name}_{})", ids[1])]);
    let by_number = tally(&["get", &one, "--plain"]);
    assert_eq!((by_number.code, by_number.out.trim()), (Some(3), ""), "{}", by_number.err);
    has(&by_number.err, &["no such instance"]);
    let threads = format!(r"\Thread({name}_{}/*)\ID Process", ids[1]);
    let threads = tally(&["get", &threads, "--plain", "--instances", "pid"]).data();
    assert_eq!(threads.trim(), ids[1].to_string());
    // A native log and a session too.
    let log = folder.file("native.tally");
    let recording = tally(&["watch", &path, "-o", &log, "-i", "20ms", "-c", "2", "--instances", "pid"]);
    assert_eq!(recording.code, Some(0), "{}", recording.err);
    has(&tally(&["get", r"\Process(*)\ID Process", "--log", &log]).data(), &[&one]);
    let state = folder.file("state");
    let session = |words: &[&str]| {
        let output = clean(TALLY).env("TALLY_ROOT", &state).args(words).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let logs = folder.file("logs");
    let counter = ["-c", &path, "-i", "20ms", "--samples", "2", "--instances", "pid", "-o", &logs];
    let (code, err) = session(&[&["log", "start", "naps"], &counter[..]].concat());
    assert_eq!(code, Some(0), "{err}");
    let recorded = || {
        let file = fs::read_dir(&logs).ok()?.filter_map(Result::ok).next()?.path();
        let ran = tally(&["get", r"\Process(*)\ID Process", "--log", file.to_str()?]);
        (ran.code == Some(0)).then_some(ran.out)
    };
    wait("the log of the session", || recorded().is_some());
    has(&recorded().unwrap(), &[&one]);
    wait("the end of the session", || session(&["log", "delete", "naps"]).0 == Some(0));
}

/// A program that holds what is written to it.
struct Holder(Child);

impl Holder {
    fn start(program: &Path) -> Holder {
        let mut command = Command::new(program);
        command.args(["-c", "1000000000"]).stdin(Stdio::piped()).stdout(Stdio::null());
        Holder(command.spawn().unwrap())
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A process with much memory ends, and its name becomes that of another one with little. The peak of a
/// process never falls, so no line may.
#[test]
fn a_peak_never_falls_within_a_line() {
    const LARGE: usize = 24 << 20;
    let folder = Folder::new();
    let name = format!("pk{}", std::process::id());
    let Some(tail) = tallymon_testkit::peer("tail").filter(|_| has_object("Process")) else { return };
    std::os::unix::fs::symlink(tail, folder.file(&name)).unwrap();
    let mut holders = [(); 2].map(|()| Holder::start(&folder.path().join(&name)));
    // The one with the lower id has the name without a number.
    holders.sort_by_key(|holder| holder.0.id());
    let [mut large, small] = holders;
    large.0.stdin.as_mut().unwrap().write_all(&vec![1; LARGE]).unwrap();
    let paths = ["", "*"].map(|more| format!(r"\Process({name}{more})\Working Set Peak"));
    let mut watch = start(&["watch", &paths[0], &paths[1], "-i", "20ms", "--csv"]);
    let mut lines = BufReader::new(watch.stdout.take().unwrap()).lines();
    let (mut text, mut large) = (lines.next().unwrap().unwrap() + "\n", Some(large));
    wait("the name to become that of the other process", || {
        text += &(lines.next().unwrap().unwrap() + "\n");
        let of_name = columns(&text)[0].last().and_then(|cell| cell.parse::<usize>().ok());
        match of_name {
            Some(peak) if peak >= LARGE => {
                large = None;
                false
            }
            Some(peak) => large.is_none() && peak > 0,
            None => false,
        }
    });
    signal(&watch, "INT");
    watch.wait().unwrap();
    drop(small);
    let columns = columns(&text);
    assert_eq!(columns.len(), 3, "{text}");
    for column in &columns {
        let peaks: Vec<Option<usize>> = column.iter().skip(1).map(|cell| cell.parse().ok()).collect();
        for (row, both) in peaks.windows(2).enumerate() {
            // A blank ends a line.
            let [Some(before), Some(after)] = both else { continue };
            assert!(before <= after, "row {row}: {text}");
        }
    }
    let has_blank = |column: &[String]| column.iter().any(String::is_empty);
    assert!(has_blank(&columns[0]), "the line of {name} ends: {text}");
}

#[test]
fn json_says_which_process_a_value_is_of() {
    let folder = Folder::new();
    let Some(mut sleepers) = Sleepers::start(&folder, 2) else { return };
    let ids = sleepers.ids();
    let path = format!(r"\Process({})\ID Process", sleepers.name);
    let mut watch = start(&["watch", &path, "-i", "20ms", "--json"]);
    let mut lines = BufReader::new(watch.stdout.take().unwrap()).lines();
    let mut process = || {
        let line: serde_json::Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
        let value = &line["values"][0];
        assert_eq!(value["process"], value["value"], "{line}");
        value["process"].as_u64()
    };
    assert_eq!(process(), Some(u64::from(ids[0])));
    sleepers.end_first();
    wait("the next process", || process() == Some(u64::from(ids[1])));
    signal(&watch, "INT");
    let mut err = String::new();
    watch.stderr.take().unwrap().read_to_string(&mut err).unwrap();
    watch.wait().unwrap();
    has(&err, &[&format!("another process from here on ({}, before {})", ids[1], ids[0])]);
}

/// A log as Windows writes it: three processes `app`; the second one ends, so that the third one becomes
/// `app#1`, and a new one becomes `app#2`.
fn log_of_windows(folder: &Folder) -> String {
    let names = ["app", "app#1", "app#2", "_Total"];
    let mut text = r#""(PDH-CSV 4.0) (UTC)(0)""#.to_string();
    for name in names {
        for counter in ["ID Process", "Working Set Peak"] {
            text += &format!(r#","\\w\Process({name})\{counter}""#);
        }
    }
    let alive: [&[u32]; 6] =
        [&[100, 200, 300], &[100, 200, 300], &[100, 300], &[100, 300], &[100, 300, 400], &[300, 400]];
    for (second, alive) in alive.iter().enumerate() {
        text += &format!("\n\"01/31/2026 10:00:0{second}.000\"");
        for place in 0..3 {
            text += &match alive.get(place) {
                // The peaks of a process never fall.
                Some(id) => format!(",\"{id}\",\"{}\"", 1_000_000 / id + second as u32),
                None => ",\" \",\" \"".to_string(),
            };
        }
        text += ",\"0\",\"20000\"";
    }
    let file = folder.file("windows.csv");
    fs::write(&file, text + "\n").unwrap();
    file
}

#[test]
fn a_log_of_windows_has_a_line_for_each_process() {
    let folder = Folder::new();
    let log = log_of_windows(&folder);
    // By number, a copy equals the log; by id, each process has its own column.
    assert_eq!(tally(&["relog", &log, "--lf"]).out, fs::read_to_string(&log).unwrap());
    let text = tally(&["relog", &log, "--lf", "--instances", "pid"]).out;
    let columns = columns(&text);
    let ids: Vec<Vec<&str>> = columns
        .iter()
        .filter(|column| column[0].ends_with("ID Process"))
        .map(|column| different(column))
        .collect();
    assert_eq!(ids, [["100"], ["200"], ["300"], ["400"], ["0"]], "{text}");
    for column in columns.iter().filter(|column| column[0].ends_with("Working Set Peak")) {
        let peaks: Vec<u32> = different(column).iter().map(|cell| cell.parse().unwrap()).collect();
        assert!(peaks.is_sorted(), "a peak fell: {column:?}");
    }
    let of_300 = columns.iter().find(|column| column[0] == r"\\w\Process(app_300)\Working Set Peak").unwrap();
    assert_eq!(of_300[1..], ["3333", "3334", "3335", "3336", "3337", "3338"]);

    // Statistics never mix two processes: a name that is taken over gives a new line.
    let json = tally(&["stats", &log, "--json"]).json();
    let line = |path: &str| {
        let lines = json["counters"].as_array().or_else(|| json["columns"].as_array()).unwrap();
        lines
            .iter()
            .find(|line| line["path"] == path)
            .unwrap_or_else(|| panic!("no {path} in {json}"))
            .clone()
    };
    for (name, id) in [("app", 100), ("app#1", 200), ("app#2", 300), ("app_400", 400)] {
        let line = line(&format!(r"\\w\Process({name})\ID Process"));
        assert_eq!(
            (line["minimum"].as_f64(), line["maximum"].as_f64()),
            (Some(f64::from(id)), Some(f64::from(id)))
        );
    }
    let got = tally(&[
        "get",
        r"\Process(app_300)\Working Set Peak",
        "--log",
        &log,
        "--instances",
        "pid",
        "--plain",
    ]);
    assert_eq!(got.data().trim(), "3338");
    let watched =
        tally(&["watch", r"\Process(app*)\ID Process", "--log", &log, "--instances", "pid", "--csv"]).data();
    has(&watched, &["(app_100)", "(app_200)", "(app_300)"]);
}

#[test]
fn a_log_without_process_ids_says_so() {
    let folder = Folder::new();
    let log = log_of_windows(&folder);
    let bare = folder.file("bare.csv");
    let copied = tally(&["relog", &log, "-c", r"\Process(*)\Working Set Peak", "-o", &bare]);
    assert_eq!(copied.code, Some(0), "{}", copied.err);
    let stats = tally(&["stats", &bare]);
    assert_eq!(stats.code, Some(0));
    has(&stats.err, &["names such as name#1 may be those of several processes", "ID Process"]);
    has(
        &tally(&["relog", &bare, "--instances", "pid"]).err,
        &["4 instances of processes keep their names", "ID Process"],
    );
}

/// Who runs what is text: logs that can hold texts give it back for the second that is asked for.
#[test]
fn texts_of_processes_come_back_from_a_log() {
    let folder = Folder::new();
    let Some(sleepers) = Sleepers::start(&folder, 1) else { return };
    let details = [r"\Process Details(*)\User", r"\Process Details(*)\Command Line"];
    let files = ["x.tally", "x.jsonl", "x.csv"].map(|name| folder.file(name));
    for file in &files {
        let ran = tally(&["watch", details[0], details[1], "-i", "100ms", "-c", "2", "-o", file]);
        assert!(matches!(ran.code, Some(0 | 3)), "{file}: {}", ran.err);
    }
    let program = sleepers.program.clone();
    let paths = ["Command Line", "User"].map(|name| format!(r"\Process Details({})\{name}", sleepers.name));
    drop(sleepers);
    for file in &files {
        let command = tally(&["get", "--log", file, &paths[0]]);
        assert!(command.out.contains(&program), "{file}: {} {}", command.out, command.err);
        let json = tally(&["get", "--log", file, &paths[1], "--json"]);
        let row: serde_json::Value = serde_json::from_str(json.out.lines().next().unwrap()).unwrap();
        let user = row["values"][0]["value"].as_str().unwrap_or_default();
        assert!(!user.is_empty(), "{file}: {}", json.out);
    }
    // A binary log of Windows has no texts: the copy says which counters it leaves out.
    // Neither has a lake.
    let remark = "text counters have no values in this format; csv, tsv, json and tally keep them";
    for (name, format) in [("x.blg", "blg"), ("lake", "lake")] {
        let copied = tally(&["relog", &files[0], "-f", format, "-o", &folder.file(name)]);
        assert!(copied.err.contains(remark), "{format}: {:?} {}", copied.code, copied.err);
    }
}
