//! Times of logs: by the log's own clock, in UTC, with an offset, or before its end.

use std::fs;

use super::support::{Folder, Ran, has, tally_with};

/// Runs the command on a machine in another zone than that of the log.
fn tally(arguments: &[&str]) -> Ran {
    tally_with(arguments, |command| {
        command.env("TZ", "America/New_York");
    })
}

/// A log of ten seconds from 10:00:00 in Korea, 01:00:00 UTC.
fn log(folder: &Folder) -> String {
    let mut text =
        "\"(PDH-CSV 4.0) (Korea Standard Time)(-540)\",\"\\\\box\\Memory\\Available Bytes\"\n".to_string();
    for second in 0..10 {
        text.push_str(&format!("\"01/31/2026 10:00:0{second}.000\",\"{second}00\"\n"));
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
        ] {
            let ran = tally(&[command, &["--from", from, "--to", to]].concat());
            assert_eq!((ran.code, ran.out.as_str()), (Some(4), ""), "{command:?} {from}: {}", ran.err);
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

#[test]
fn help_says_whose_clock_it_is() {
    for command in ["relog", "stats", "compare", "info", "watch", "get", "explain", "list"] {
        let help = tally(&[command, "--help"]).data();
        let words: Vec<&str> = help.split_whitespace().collect();
        has(&words.join(" "), &["by the log's own clock"]);
    }
    has(&tally(&["compat", "relog", "-?"]).data(), &["by the log's own clock"]);
}
