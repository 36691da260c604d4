//! `analyze` and `why`: findings as text, JSON and Markdown, exit codes, rules of one's own.

use std::fmt::Write;
use std::fs;

use super::support::{Folder, has, tally};

/// A log of ten minutes: busy from the third to the fifth.
fn log(folder: &Folder) -> String {
    let mut text = String::from(concat!(
        "\"(PDH-CSV 4.0) (UTC)(0)\",\"\\\\box\\Processor(_Total)\\% Processor Time\",",
        "\"\\\\box\\Process(hog)\\% Processor Time\",\"\\\\box\\Process(\u{1b}[31m<b>|x)\\% Processor Time\"\r\n"
    ));
    for second in 0..600_u32 {
        let busy = if (180..300).contains(&second) { 97 } else { 10 + second % 7 };
        let (minute, rest) = (second / 60, second % 60);
        let (hog, other) = (busy * 3, busy);
        write!(text, "\"11/21/2026 12:{minute:02}:{rest:02}.000\",\"{busy}\",\"{hog}\",\"{other}\"\r\n")
            .unwrap();
    }
    let file = folder.file("busy.csv");
    fs::write(&file, text).unwrap();
    file
}

#[test]
fn says_what_when_and_who() {
    let folder = Folder::new();
    let log = log(&folder);
    let out = tally(&["analyze", &log]).data();
    has(
        &out,
        &[
            "600 records of 3 counters, 2026-11-21T12:00:00.000Z to 2026-11-21T12:09:59.000Z",
            "One finding.",
            "1. warning: All processors are busy on box",
            "2026-11-21T12:02:59.000Z to 2026-11-21T12:04:59.000Z, up to 97 %",
            "busy: hog  ",
            "rule processor-busy (machine): busy_now > busy",
        ],
    );
    assert!(!out.contains('\u{1b}'), "{out}");
    let json = tally(&["analyze", &log, "--json"]).json();
    let finding = &json["findings"][0];
    assert_eq!(finding["rule"]["id"], "processor-busy");
    assert_eq!(finding["instances"][0]["ranges"][0]["seconds"], 120.0);
    assert_eq!(finding["causes"][0]["instance"], "hog");
    let markdown = tally(&["analyze", &log, "--markdown"]).data();
    has(&markdown, &["## 1. warning: All processors are busy on box", "| counter | worst |", "\\<b\\>\\|x"]);
}

#[test]
fn exit_codes_tell_builds_whether_it_is_bad() {
    let folder = Folder::new();
    let log = log(&folder);
    for (arguments, code) in [
        (&["--fail-on", "warning"][..], 8),
        (&["--fail-on", "critical"], 0),
        (&["--fail-on", "warning", "--set", "busy=99"], 0),
        (&["--fail-on", "note", "--to", "2026-11-21T12:02:00Z"], 0),
    ] {
        let words: Vec<&str> = ["analyze", &log].into_iter().chain(arguments.iter().copied()).collect();
        assert_eq!(tally(&words).code, Some(code), "{arguments:?}");
    }
}

#[test]
fn own_rules_are_used_and_faults_named() {
    let folder = Folder::new();
    let log = log(&folder);
    let rules = folder.file("own.toml");
    let rule = concat!(
        "[parameters]\nlimit = 200\n[[rule]]\nid = \"own\"\ntitle = \"My own rule\"\nseverity = \"critical\"\n",
        "counters = { cpu = '\\Process(*)\\% Processor Time' }\nwhen = \"cpu > limit\"\nmeans = \"It is so.\"\n"
    );
    fs::write(&rules, rule).unwrap();
    let out = tally(&["analyze", &log, "--rules", &rules, "--only-rules"]).data();
    has(&out, &["1. critical: My own rule", "Process(hog)", "rule own ("]);
    for (arguments, code, parts) in [
        (
            &["--rules", &rules, "--set", "limits=1"][..],
            2,
            &["no rule has a parameter \"limits\"", "limit"][..],
        ),
        (&["--set", "busy=high"], 2, &["--set \"busy=high\": \"high\" is no number"]),
        (&["--set", "busy"], 2, &["write it as NAME=VALUE"]),
        (&["--only-rules"], 2, &["--rules"]),
        (&["--rules", "/nowhere.toml"], 7, &["/nowhere.toml"]),
    ] {
        let words: Vec<&str> = ["analyze", &log].into_iter().chain(arguments.iter().copied()).collect();
        has(&tally(&words).words(code), parts);
    }
    fs::write(&rules, rule.replace("cpu > limit", "cpu > ")).unwrap();
    has(&tally(&["analyze", &log, "--rules", &rules]).words(7), &["own.toml", "rule \"own\"", "at byte 6"]);
}

#[test]
fn why_says_one_moment() {
    let folder = Folder::new();
    let log = log(&folder);
    let out = tally(&["why", "12:04", &log]).data();
    has(&out, &["Unlike the rest of the log:", "% Processor Time  97 %", "Busiest (processor):", "hog  "]);
    has(
        &tally(&["why", "12:08", &log]).data(),
        &["None of the 1 counters that were looked at was unlike the rest"],
    );
    assert_eq!(
        tally(&["why", "2026-11-21T12:04:00Z", &log, "--json"]).json()["busiest"][0]["resource"],
        "processor"
    );
    has(&tally(&["why", "2027-01-01", &log]).words(4), &["no record at 2027-01-01"]);
    has(&tally(&["why", "noon", &log]).words(2), &["no time \"noon\""]);
}
