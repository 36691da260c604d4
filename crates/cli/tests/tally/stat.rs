//! `tally stat` and `tally top`: reports by name, compared with the kernel's own numbers and with logs.

use super::support::{Folder, has, has_object, tally};
use tallymon_testkit::{shared, skip};

/// The lines of a report as words, without headings.
fn rows(text: &str) -> Vec<Vec<&str>> {
    let lines = text.lines().filter(|line| line.starts_with(|letter: char| letter.is_ascii_digit()));
    lines.filter(|line| line.contains(':')).map(|line| line.split_whitespace().collect()).collect()
}

/// The columns of a report.
fn heading(text: &str) -> Vec<&str> {
    text.lines().find(|line| line.starts_with("TIME")).unwrap().split_whitespace().collect()
}

/// The number under a heading, of the first line.
#[track_caller]
fn number(text: &str, title: &str) -> f64 {
    let at = heading(text).iter().position(|known| *known == title).unwrap();
    rows(text)[0][at].parse().unwrap_or_else(|_| panic!("{title} in\n{text}"))
}

/// Busy and all ticks of all processors, as sar adds them up.
fn ticks() -> (f64, f64) {
    let text = std::fs::read_to_string("/proc/stat").unwrap();
    let numbers: Vec<f64> =
        text.lines().next().unwrap().split_whitespace().filter_map(|word| word.parse().ok()).collect();
    // user nice system idle iowait irq softirq steal; guest times are in user already.
    let all: f64 = numbers.iter().take(8).sum();
    (all - numbers[3] - numbers[4], all)
}

/// How far a report of two seconds is from what the kernel counted in a little more time, and how far its
/// shares are from 100 %.
fn differences() -> (f64, f64) {
    let (busy, all) = ticks();
    let text = tally(&["stat", "cpu", "2", "1"]).data();
    let (busy_then, all_then) = ticks();
    assert_eq!(heading(&text)[..5], ["TIME", "CPU", "%busy", "%user", "%kernel"]);
    assert_eq!(rows(&text).len(), 1, "{text}");
    let shown = number(&text, "%busy");
    let expected = (busy_then - busy) / (all_then - all) * 100.0;
    let sum = number(&text, "%user") + number(&text, "%kernel") + number(&text, "%idle");
    ((shown - expected).abs(), (sum - 100.0).abs())
}

#[test]
fn processors_are_busy_as_the_kernel_counts_them() {
    // Other programs may begin or end while only one of the two looks. When none does, both agree. The kernel
    // counts user and kernel time by ticks, and idle time exactly.
    let mut seen = Vec::new();
    for _ in 0..15 {
        let (busy, sum) = differences();
        seen.push((busy, sum));
        if busy < 5.0 && sum < 3.0 {
            return;
        }
    }
    panic!("never as the kernel counts: {seen:?}");
}

#[test]
fn every_report_is_live() {
    for (name, titles, object) in [
        ("mem", "available cache committed limit %commit pages/s faults/s", "Memory"),
        ("disk", "reads/s writes/s read write queue latency %busy", "PhysicalDisk"),
        ("net", "rxpck/s txpck/s rx tx", "Network Interface"),
        ("proc", "PID %CPU %user %kernel memory I/O threads COMMAND", "Process"),
    ] {
        if !has_object(object) {
            skip(&format!("no {object}"));
            continue;
        }
        let text = tally(&["stat", name, "100ms", "2"]).data();
        let found = heading(&text).join(" ");
        assert!(found.ends_with(titles), "{found}");
        assert!(rows(&text).len() >= 2, "{text}");
        assert_eq!(text.contains("Average:"), name != "proc", "{text}");
    }
    let most = tally(&["stat", "proc", "100ms", "1", "--top", "3"]).data();
    assert!(rows(&most).len() <= 3, "{most}");
}

#[test]
fn a_log_has_the_same_numbers_as_get() {
    let Some(log) = shared("logs/PAL_SampleLog.blg") else { return skip("no sample log") };
    let log = log.to_str().unwrap();
    let ran = tally(&["stat", "cpu", "--log", log]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let text = ran.out;
    // The first of its eleven records has no rates.
    assert_eq!(rows(&text).len(), 10, "{text}");
    let last: f64 = rows(&text)[9][3].parse().unwrap();
    let got = tally(&["get", r"\Processor(_Total)\% User Time", "--log", log, "--plain"]).data();
    let got: f64 = got.split_whitespace().last().unwrap().parse().unwrap();
    assert!((last - got).abs() < 0.06, "{last} and {got}");
    let mean: f64 = rows(&text).iter().map(|row| row[3].parse::<f64>().unwrap()).sum::<f64>() / 10.0;
    let average = text.lines().find(|line| line.starts_with("Average:")).unwrap();
    let average: f64 = average.split_whitespace().nth(3).unwrap().parse().unwrap();
    assert!((mean - average).abs() < 0.11, "{mean} and {average}");
    for (name, word) in [("mem", "MiB"), ("disk", "ms"), ("net", "B/s"), ("proc", "explorer")] {
        has(&tally(&["stat", name, "--log", log]).out, &[word]);
    }
    let some = tally(&["stat", "mem", "--log", log, "1m", "3"]).out;
    assert_eq!(rows(&some).len(), 3, "{some}");
}

#[test]
fn what_a_report_lacks_is_said() {
    let Some(log) = shared("logs/Tx_BasicPerfCounters.blg") else { return skip("no sample log") };
    let log = log.to_str().unwrap();
    let ran = tally(&["stat", "cpu", "--log", log, "--all", "1s", "2"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    has(&ran.err, &["no counter for %user, %kernel"]);
    assert!(rows(&ran.out).len() >= 2, "{}", ran.out);
    let ran = tally(&["stat", "mem", "--log", log]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(3), ""), "{}", ran.err);
    let folder = Folder::new();
    let missing = folder.file("nowhere.blg");
    assert_ne!(tally(&["stat", "cpu", "--log", &missing]).code, Some(0));
    for (arguments, word) in
        [(&["stat", "gpu"][..], "possible values"), (&["stat", "cpu", "x"], "is not a time")]
    {
        let ran = tally(arguments);
        assert_eq!(ran.code, Some(2));
        has(&ran.err, &[word]);
    }
}

#[test]
fn top_prints_once_where_there_is_no_terminal() {
    let text = tally(&["top", "--interval", "100ms", "-n", "4"]).data();
    assert!((1..=4).contains(&rows(&text).len()), "{text}");
    has(&text, &["PID", "%CPU", "COMMAND"]);
    let shown: Vec<f64> = rows(&text).iter().map(|row| row[2].parse().unwrap()).collect();
    assert!(shown.is_sorted_by(|one, other| one >= other), "{text}");
}
