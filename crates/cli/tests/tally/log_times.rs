//! Times of logs: by the log's own clock, in UTC, with an offset, or before its end.

use std::fs;

use super::support::{Folder, Ran, TALLY, has, tally_with};
use super::terminal::Session;
use tallymon_testkit::terminal::Terminal;

/// Runs the command on a machine in another zone than that of the log.
fn tally(arguments: &[&str]) -> Ran {
    tally_with(arguments, |command| {
        command.env("TZ", "America/New_York");
    })
}

/// A log of ten seconds from 10:00:00 in Korea, 01:00:00 UTC.
fn log(folder: &Folder) -> String {
    log_of(folder, 10)
}

/// A log of so many seconds.
fn log_of(folder: &Folder, seconds: u32) -> String {
    let mut text =
        r#""(PDH-CSV 4.0) (Korea Standard Time)(-540)","\\box\Memory\Available Bytes""#.to_string() + "\n";
    for second in 0..seconds {
        text.push_str(&format!("\"01/31/2026 10:00:{second:02}.000\",\"{second}00\"\n"));
    }
    let path = folder.file("korea.csv");
    fs::write(&path, text).unwrap();
    path
}

/// 10:00:05 in Korea, in every way to write it.
const FIVE: [&str; 8] = [
    "2026-01-31 10:00:05",
    "2026-01-31T10:00:05",
    "1/31/2026 10:00:05AM",
    "01/31/2026 10:00:05.000",
    "2026-01-31T01:00:05Z",
    "2026-01-30 20:00:05-05:00",
    "1/31/2026 10:00:05+09:00",
    "-4s",
];

const RANGE: &str = "2026-01-31T10:00:00.000+09:00 to 2026-01-31T10:00:09.000+09:00";

#[test]
fn ranges_are_by_the_clock_of_the_log() {
    let folder = Folder::new();
    let log = log(&folder);
    let out = folder.file("out.csv");
    let last = "2026-01-31T10:00:05.000+09:00 to 2026-01-31T10:00:09.000+09:00";
    for from in FIVE {
        let ran = tally(&["relog", &log, "--from", from, "-o", &out]);
        assert_eq!(ran.code, Some(0), "{from}: {}", ran.err);
        has(&ran.err, &["5 records of 1 counters", last]);
        let text = fs::read_to_string(&out).unwrap();
        assert_eq!(text.lines().nth(1), Some("\"01/31/2026 10:00:05.000\",\"500\""), "{from}");
        fs::remove_file(&out).unwrap();

        has(&tally(&["stats", &log, "--from", from]).data(), &[&format!("5 records, {last}")]);
        let analyzed = tally(&["analyze", &log, "--from", from]).data();
        has(&analyzed, &[&format!("5 records of 1 counters, {last}")]);
        let why = tally(&["why", from, &log]).data();
        has(&why, &["2026-01-31T10:00:05.000+09:00 to 2026-01-31T10:00:0"]);
        let stat = tally(&["stat", "mem", "--log", &log, "--from", from]).out;
        has(&stat, &["box  2026-01-31", "\n10:00:05  ", "\n10:00:09  "]);
        assert!(!stat.contains("10:00:04"), "{stat}");
        has(&tally(&["info", &log, "--from", from]).data(), &["records  5", &format!("range  {last}")]);
        has(&tally(&["compare", &log, &log, "--from", from]).data(), &[&format!("5 records, {last}")]);
        let watched = tally(&["watch", r"\Memory\*", "--log", &log, "--from", from, "--csv"]).data();
        assert_eq!(watched.lines().count(), 6, "{watched}");
        has(&watched, &["(-540)", "01/31/2026 10:00:05.000"]);

        let ran = tally(&["compat", "relog", &log, "-b", from, "-f", "CSV", "-o", &out, "-y"]);
        assert_eq!(ran.code, Some(0), "{from}: {}", ran.err);
        has(&ran.out, &["Begin:    1/31/2026 10:00:05", "End:      1/31/2026 10:00:09", "Samples:  5"]);
        fs::remove_file(&out).unwrap();
    }
    let both = tally(&["stats", &log, "--from", FIVE[0], "--to", "2026-01-31 10:00:06"]).data();
    has(&both, &["2 records"]);
}

#[test]
fn a_range_without_records_writes_nothing() {
    let folder = Folder::new();
    let log = log(&folder);
    let out = folder.file("out.csv");
    // In New York or UTC there were records at that time.
    for (from, to) in [
        ("2026-01-31 01:00", "2026-01-31 02:00"),
        ("2026-01-31 11:00", "2026-01-31 12:00"),
        ("2026-01-31T10:00:05Z", "2026-01-31T10:00:09Z"),
        ("2026-01-31 10:00:03.200", "2026-01-31 10:00:03.900"),
        ("-1s", "-5s"),
    ] {
        for command in [
            &["relog", &log, "-o", &out][..],
            &["relog", &log, "-f", "blg", "-o", &out],
            &["stats", &log],
            &["info", &log],
            &["compare", &log, &log],
            &["watch", r"\Memory\*", "--log", &log],
            &["stat", "mem", "--log", &log],
            &["analyze", &log],
        ] {
            let ran = tally(&[command, &["--from", from, "--to", to]].concat());
            assert_eq!((ran.code, ran.out.as_str()), (Some(4), ""), "{command:?} {from}: {}", ran.err);
            has(&ran.err, &["no record", RANGE]);
        }
        if !from.starts_with('-') && !from.ends_with(".200") {
            let ran = tally(&["why", from, &log]);
            assert_eq!((ran.code, ran.out.as_str()), (Some(4), ""), "{}", ran.err);
            has(&ran.err, &["no record", RANGE]);
        }
        let ran = tally(&["compat", "relog", &log, "-b", from, "-e", to, "-o", &out]);
        assert_eq!(ran.code, Some(4), "{}", ran.err);
        has(&ran.err, &["no record", RANGE]);
        assert!(!fs::exists(&out).unwrap() && fs::read_dir(folder.path()).unwrap().count() == 1);
    }
    has(
        &tally(&["relog", &log, "--from", "soon"]).words(2),
        &["no time \"soon\"", "by the log's own clock", "-2h"],
    );
}

#[test]
fn the_record_at_a_time_is_named() {
    let folder = Folder::new();
    let log = log(&folder);
    for (at, used, value) in [
        ("2026-01-31 10:00:05.700", "10:00:05", "500"),
        ("2026-01-31T01:00:05.700Z", "10:00:05", "500"),
        ("-2s", "10:00:07", "700"),
        ("2027-01-01", "10:00:09", "900"),
    ] {
        let ran = tally(&["get", r"\Memory\Available Bytes", "--log", &log, "--at", at, "--plain"]);
        assert_eq!((ran.code, ran.out.trim()), (Some(0), value), "{at}: {}", ran.err);
        has(&ran.err, &[&format!("the record of 2026-01-31T{used}.000+09:00")]);
        for command in [&["explain", r"\Memory\Available Bytes"][..], &["list"]] {
            let ran = tally(&[command, &["--log", &log, "--at", at]].concat());
            assert_eq!(ran.code, Some(0), "{}", ran.err);
            has(&ran.err, &[used]);
        }
    }
    for command in [&["get", r"\Memory\*"][..], &["explain", r"\Memory\Available Bytes"], &["list"]] {
        let ran = tally(&[command, &["--log", &log, "--at", "2026-01-31 09:59"]].concat());
        assert_eq!((ran.code, ran.out.as_str()), (Some(4), ""), "{}", ran.err);
        has(&ran.err, &["no record at or before it", RANGE]);
    }
}

/// A time of day is the last one in the log, by its own clock.
#[test]
fn why_takes_a_time_of_day() {
    let folder = Folder::new();
    let log = log(&folder);
    let moment = |time: &str| tally(&["why", time, &log]);
    has(&moment("10:00:03").data(), &["2026-01-31T10:00:03.000+09:00 to"]);
    has(&moment("01:00").words(4), &["no record at 2026-01-31T01:00:00.000+09:00", RANGE]);
    has(&moment("23:00").words(4), &["no record at 2026-01-30T23:00:00.000+09:00", RANGE]);
    has(&moment("soon").words(2), &["no time \"soon\"", "12:10", "by the log's own clock"]);
}

/// Without a log there are no records to choose.
#[test]
fn times_of_a_log_need_a_log() {
    for command in [
        &["watch", r"\Memory\*", "--from", "-2h"][..],
        &["watch", r"\Memory\*", "--to", "-2h"],
        &["stat", "mem", "--from", "-2h"],
        &["get", r"\Memory\*", "--at", "-2h"],
        &["list", "--at", "-2h"],
        &["explain", r"\Memory\Available Bytes", "--at", "-2h"],
    ] {
        has(&tally(command).words(2), &["chooses records of a log", "--log FILE"]);
    }
}

/// The monitor begins with the range or at the time that is asked for, and shows times by the log's clock.
#[test]
fn the_monitor_begins_with_times_of_the_log() {
    let Some(terminal) = Terminal::open() else { return };
    let folder = Folder::new();
    let log = log_of(&folder, 60);
    let begin = |options: &str| {
        terminal.start_with("TZ=America/New_York", "Available Bytes", &format!("mon '{log}' {options}"))
    };
    begin("--from '2026-01-31 10:00:13' --to -20s");
    let screen = terminal.wait_for(&["Min 1,300", "Max 3,900", "10:00:13"]);
    has(&screen, &["‖ 10:00:00", "10:00:59", "Dur 0:26"]);
    terminal.key("q");
    terminal.is_restored();
    terminal.line("clear");
    begin("--at '2026-01-31 10:00:05.700'");
    terminal.wait_for(&["At\n", " 10:00:05 ", " 500\n"]);
    terminal.key("q");
    terminal.is_restored();
    terminal.line("clear");
    terminal.line(&format!("'{TALLY}' mon '{log}' --from '2027-01-01 00:00'; echo \"ended with $?\""));
    terminal.wait_for(&["no record from ", "ended with 4"]);
}

#[test]
fn help_says_whose_clock_it_is() {
    for command in [
        "relog", "stats", "compare", "info", "watch", "get", "explain", "list", "stat", "why", "analyze",
        "mon",
    ] {
        let help = tally(&[command, "--help"]).data();
        let words: Vec<&str> = help.split_whitespace().collect();
        has(&words.join(" "), &["by the log's own clock"]);
    }
    has(&tally(&["compat", "relog", "-?"]).data(), &["by the log's own clock"]);
}

/// What is printed as text or JSON has the name of the log's zone, as Windows' header has it.
#[test]
fn output_has_the_zone_of_the_log() {
    let folder = Folder::new();
    let log = log(&folder);
    let at = ["--log", &log, r"\Memory\Available Bytes"];
    for command in ["get", "watch"] {
        for (form, words) in [
            ("--csv", r#""(PDH-CSV 4.0) (Korea Standard Time)(-540)","#),
            ("--tsv", "\"(PDH-TSV 4.0) (Korea Standard Time)(-540)\"\t"),
            ("--json", r#""zone":"Korea Standard Time","bias":-540,"#),
        ] {
            let ran = tally(&[&[command][..], &at, &[form]].concat());
            assert!(ran.out.contains(words), "{command} {form}: {}{}", ran.out, ran.err);
        }
    }
}
