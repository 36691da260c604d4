//! Output of `perf stat -I`: every count with what is read, recorded and fresh.
// A test that cannot go on fails, and this whole program is tests.
#![allow(clippy::unwrap_used)]

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use tallymon_core::time::FileTime;
use tallymon_log::{Cooker, Format, ReadOptions, open};
use tallymon_testkit::{Scratch, peer};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/import").join(name)
}

/// The times, and the values by path.
fn read(path: &Path) -> Vec<(FileTime, HashMap<String, f64>)> {
    let mut log = open(path, &ReadOptions::default()).unwrap();
    assert_eq!(log.about().format, Format::Perf);
    let mut cooker = Cooker::default();
    let mut rows = Vec::new();
    while let Some(record) = log.next_record().unwrap() {
        let values = cooker.cook(&record);
        let paths = log.about().columns.iter().map(|column| column.path.clone());
        let named = paths.zip(values).filter_map(|(path, value)| Some((path, value.ok()?.as_f64()?)));
        rows.push((record.time, named.collect()));
    }
    assert_eq!(log.about().notes.damage, []);
    rows
}

/// Compares the count of each line, divided by its interval, with what is read; how many there were. `places`
/// is how many fields are between the time and the count.
fn compare(path: &Path, separator: char, places: usize) -> usize {
    let rows = read(path);
    let text = std::fs::read_to_string(path).unwrap();
    let (mut compared, mut nth, mut before, mut now) = (0, 0, 0.0, String::new());
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let fields: Vec<&str> = line.trim().split(separator).collect();
        if fields[0] != now {
            before = now.parse().unwrap_or(0.0);
            fields[0].clone_into(&mut now);
            nth += 1;
        }
        let seconds: f64 = now.parse().unwrap();
        let (time, values) = &rows[nth];
        let since = (time.0 - rows[0].0.0) as f64 / 1e7;
        assert!((since - seconds).abs() < 1e-6, "{line}: {since}");
        let (count, unit, event) = (fields[1 + places], fields[2 + places], fields[3 + places]);
        let object = if places == 0 { "perf stat".to_owned() } else { format!("perf stat({})", fields[1]) };
        let path = format!(r"\{object}\{event}");
        let Ok(count) = count.parse::<f64>() else {
            assert!(count.starts_with('<') && !values.contains_key(&path), "{line}");
            continue;
        };
        // Milliseconds of a clock are percent of the time.
        let expected = count / (seconds - before) * if unit == "msec" { 0.1 } else { 1.0 };
        let ours = *values.get(&path).unwrap_or_else(|| panic!("{line}: {path} is missing"));
        // Both ends of the interval are rounded to 100 ns.
        let rounding = 1e-5 + 2e-7 / (seconds - before);
        assert!((ours - expected).abs() <= rounding * expected.max(1.0), "{path} is {ours}, not {expected}");
        compared += 1;
    }
    assert_eq!(nth + 1, rows.len());
    compared
}

#[test]
fn recorded_outputs_have_the_values_that_are_printed() {
    for (name, separator, places, least) in
        [("perf.csv", ',', 0, 15), ("perf-processors.csv", ';', 1, 12), ("perf-sockets.csv", '|', 2, 5)]
    {
        let compared = compare(&fixture(name), separator, places);
        assert!(compared > least, "{name}: only {compared} values");
    }
}

#[test]
fn an_output_of_this_machine_has_the_values_that_are_printed() {
    let Some(perf) = peer("perf") else { return };
    let folder = Scratch::new();
    let path = folder.join("perf");
    let mut command = Command::new(perf);
    command.args(["stat", "-e", "task-clock,context-switches,page-faults", "-I", "100", "-x,", "-o"]);
    command
        .arg(&path)
        .args(["sh", "-c", "for n in 1 2 3; do sleep 0.1; ls / > /dev/null; done"])
        .env("LC_ALL", "C");
    let out = command.output().unwrap();
    let words = String::from_utf8_lossy(&out.stderr);
    if !out.status.success() {
        return tallymon_testkit::skip(&format!("perf may not count here: {words}"));
    }
    assert!(compare(&path, ',', 0) >= 6);
}

#[test]
fn what_can_not_be_read_is_named() {
    let folder = Scratch::new();
    let path = folder.join("perf");
    let whole = std::fs::read_to_string(fixture("perf.csv")).unwrap();
    // A line without its event, and words where a count should be.
    for bad in ["     1.2,5,,", "     1.2,many,,cycles,1,100.00,,"] {
        let lines: Vec<&str> = whole.lines().collect();
        let text = format!("{}\n{bad}\n{}\n", lines[..4].join("\n"), lines[4..].join("\n"));
        std::fs::write(&path, text).unwrap();
        let mut log = open(&path, &ReadOptions::default()).unwrap();
        while log.next_record().unwrap().is_some() {}
        let damage = &log.about().notes.damage;
        assert_eq!(damage.len(), 1, "{damage:?}");
        assert_eq!(damage[0].line, Some(5));
        assert!(damage[0].what.starts_with("a line needs a time, a count, a unit and an event"));
    }
    // The report for people has no separators: it is not a log.
    std::fs::write(&path, "# started on Tue Nov 24 15:38:53 2026\n\n 0.5 1,083.21 msec cpu-clock\n").unwrap();
    assert!(open(&path, &ReadOptions::default()).is_err());
    // Without a date.
    std::fs::write(&path, "# started on Tue\n\n0.5,1,,cycles,1,100.00,,\n").unwrap();
    let error = open(&path, &ReadOptions::default()).err().unwrap().to_string();
    assert!(error.contains("is not when `perf stat -o FILE` began"), "{error}");
}
