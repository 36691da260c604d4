//! Tests: values in memory have the findings of a log with the same values.

use std::fmt::Write as _;

use tallymon_core::counter::CounterType;
use tallymon_core::flow::{Absence, NoValue};
use tallymon_core::path::CounterPath;
use tallymon_core::time::{FileTime, Frequency, UNITS_PER_SECOND};
use tallymon_log::{Column, ReadOptions, Selection};
use tallymon_testkit::Scratch;

use super::{Analysis, RuleSet, Values, analyze, analyze_values, analyze_while};
use crate::clock::parse_rfc3339;

const PATHS: [&str; 5] = [
    r"\\box\Processor(0)\% Processor Time",
    r"\\box\Processor(_Total)\% Processor Time",
    r"\\box\Process(hog)\% Processor Time",
    r"\\box\Process(calm)\% Processor Time",
    r"\\box\Memory\Available MBytes",
];

/// The value of a column in a second: busy from the 20th to the 30th minute, with a gap in the 25th, and a
/// level of memory that shifts.
fn value(second: usize, column: usize) -> Result<f64, NoValue> {
    let noise = (second * 7_919 % 101) as f64 / 50.0;
    let is_busy = (1_200..1_800).contains(&second);
    if (1_500..1_560).contains(&second) {
        return Err(NoValue::NoData(Absence::ReadFailed));
    }
    Ok(match column {
        0 | 1 if is_busy => 96.0 + noise,
        2 if is_busy => 95.0 + noise,
        4 if second < 2_700 => 9_000.0 + noise,
        4 => 5_000.0 + noise,
        _ => 3.0 + noise,
    })
}

fn columns() -> Vec<Column> {
    let column = |path: &&str| Column {
        path: (*path).to_owned(),
        parts: CounterPath::parse(path).ok().map(|parsed| parsed.path),
        counter_type: CounterType::PERF_DOUBLE_RAW,
        scale: 0,
        time_base: Frequency(0),
        group: 0,
        wild: false,
        live: None,
    };
    PATHS.iter().map(column).collect()
}

fn in_memory(wanted: &dyn Fn() -> bool) -> Option<Analysis> {
    let start = parse_rfc3339("2026-11-21T00:00:00Z").unwrap();
    let time = |second: u64| (FileTime(start.0 + second * UNITS_PER_SECOND), 0);
    let times: Vec<_> = (0..3_600).map(time).collect();
    let values = Values { columns: &columns(), times: &times, value: &value };
    analyze_values(&values, RuleSet::built_in().unwrap(), wanted)
}

fn write(path: &std::path::Path) {
    let mut text = format!("\"(PDH-CSV 4.0) (UTC)(0)\",\"{}\"\r\n", PATHS.join("\",\""));
    for second in 0..3_600 {
        write!(text, "\"11/21/2026 00:{:02}:{:02}.000\"", second / 60, second % 60).unwrap();
        for column in 0..PATHS.len() {
            match value(second, column) {
                Ok(value) => write!(text, ",\"{value}\"").unwrap(),
                Err(_) => text.push_str(",\" \""),
            }
        }
        text.push_str("\r\n");
    }
    std::fs::write(path, text).unwrap();
}

#[test]
fn values_in_memory_have_the_findings_of_their_log() {
    let folder = Scratch::new();
    let log = folder.join("box.csv");
    write(&log);
    let rules = RuleSet::built_in().unwrap();
    let of_log =
        analyze(std::slice::from_ref(&log), rules, &Selection::default(), &ReadOptions::default()).unwrap();
    let of_values = in_memory(&|| true).unwrap();
    let titles: Vec<&str> = of_values.findings.iter().map(|found| found.title.as_str()).collect();
    assert_eq!(titles, ["All processors are busy", "Available MBytes falls and stays there"]);
    assert_eq!(of_values.findings[0].causes[0].instance, "hog");
    // The gap ends the first range.
    assert_eq!(of_values.findings[0].instances[0].ranges.len(), 2);
    assert_eq!(of_values.findings, of_log.findings);
    assert_eq!(of_values.parameters, of_log.parameters);
    let numbers = |of: &Analysis| (of.records, of.first, of.last, of.counters, of.rules_applied, of.axis);
    assert_eq!(numbers(&of_values), numbers(&of_log));
}

#[test]
fn nobody_waits_for_an_analysis_that_is_given_up() {
    let folder = Scratch::new();
    let log = folder.join("box.csv");
    write(&log);
    let asked = std::cell::Cell::new(0);
    let wanted = || {
        asked.set(asked.get() + 1);
        asked.get() < 100
    };
    assert_eq!(in_memory(&wanted), None);
    assert!(asked.get() < 110, "{}", asked.get());
    asked.set(0);
    let rules = RuleSet::built_in().unwrap();
    let (all, options) = (Selection::default(), ReadOptions::default());
    assert_eq!(analyze_while(&[log], rules, &all, &options, wanted).unwrap(), None);
    assert!(asked.get() < 110, "{}", asked.get());
    // No rows at all.
    let values = Values { columns: &columns(), times: &[], value: &value };
    let empty = analyze_values(&values, RuleSet::built_in().unwrap(), || true).unwrap();
    assert!(empty.findings.is_empty() && empty.records == 0);
}
