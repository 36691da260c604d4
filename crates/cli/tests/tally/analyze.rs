//! `analyze` and `why`: findings as text, JSON and Markdown, exit codes, rules of one's own.

use std::fmt::Write;
use std::fs;

use super::record::until;
use super::support::{AVAILABLE, Folder, has, tally, tally_with};

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
    // When it was so, the chart, and what found it.
    has(
        &markdown,
        &["  - 2026-11-21T12:02:59.000Z to 2026-11-21T12:04:59.000Z, up to 97 %", "  - `▁", "█", "- rule "],
    );
    let course = finding["instances"][0]["course"].as_array().unwrap();
    assert!(course.len() > 100 && course.iter().any(|mean| mean.as_f64() == Some(97.0)), "{course:?}");
    assert_eq!((finding["certainty"].as_f64(), finding["lags_compared"].as_u64()), (Some(1.0), Some(7)));
}

/// A finding with a counter that moves with it, and two instances.
#[test]
fn what_moved_with_it_is_said_with_the_count_that_was_compared() {
    let folder = Folder::new();
    let mut text = String::from(concat!(
        "\"(PDH-CSV 4.0) (UTC)(0)\",\"\\\\box\\Processor(_Total)\\% Processor Time\",",
        "\"\\\\box\\System\\Context Switches/sec\",\"\\\\box\\System\\Processes\",",
        "\"\\\\box\\PhysicalDisk(0 a)\\Avg. Disk sec/Transfer\",\"\\\\box\\PhysicalDisk(0 a)\\Disk Transfers/sec\",",
        "\"\\\\box\\PhysicalDisk(1 b)\\Avg. Disk sec/Transfer\",\"\\\\box\\PhysicalDisk(1 b)\\Disk Transfers/sec\"\r\n"
    ));
    for second in 0..600_u32 {
        let is_busy = second / 100 % 2 == 1;
        let (busy, noise) = (if is_busy { 97 } else { 10 + second % 7 }, second * 31 % 17);
        let slow = if is_busy { "0.3" } else { "0.002" };
        let (minute, rest) = (second / 60, second % 60);
        writeln!(
            text,
            "\"11/21/2026 12:{minute:02}:{rest:02}.000\",\"{busy}\",\"{}\",\"{noise}\",\"{slow}\",\"50\",\"{slow}\",\"50\"\r",
            busy * 100 + noise
        )
        .unwrap();
    }
    let file = folder.write("together.csv", text.as_bytes());
    let json = tally(&["analyze", &file, "--json"]).json();
    let findings = json["findings"].as_array().unwrap();
    let disk = findings.iter().find(|one| one["resource"] == "disk").unwrap();
    assert_eq!(disk["instances"].as_array().unwrap().len(), 2, "{disk:#}");
    // The processor, the switches and the processes; the disks themselves are the same object.
    assert_eq!(disk["courses_compared"], 3, "{disk:#}");
    assert!(!disk["moves_with"].as_array().unwrap().is_empty(), "{disk:#}");
    let sum: u64 = findings.iter().map(|one| one["courses_compared"].as_u64().unwrap()).sum();
    assert_eq!(json["courses_compared"].as_u64(), Some(sum));
    let words = "strongest of 3 counters at 7 lags: of many, some do so by chance";
    let plain = tally(&["analyze", &file]).data();
    // The worst of several instances has its chart too, the others only with --verbose.
    let charts = |text: &str| text.lines().filter(|line| line.contains('▁') && line.contains('█')).count();
    assert_eq!(charts(&plain), findings.len(), "{plain}");
    assert!(charts(&tally(&["analyze", &file, "--verbose"]).data()) > findings.len());
    has(&plain, &[words]);
    has(&tally(&["analyze", &file, "--markdown"]).data(), &[words]);
    let korean = tally(&["analyze", &file, "--lang", "ko"]).data();
    assert!(!korean.contains("strongest"), "{korean}");
}

#[test]
fn findings_are_in_the_language_of_the_user() {
    let folder = Folder::new();
    let log = log(&folder);
    for (language, words) in [
        ("ko", ["1. 경고: 모든 프로세서가 바쁨 (box)", "진단 1개."]),
        ("ja", ["1. 注意: 全プロセッサが忙しい (box)", "所見は一つです。"]),
        ("ru", ["1. внимание: Все процессоры заняты (box)", "Найден один вывод."]),
    ] {
        let plain = tally(&["analyze", &log, "--lang", language]).data();
        has(&plain, &words);
        // Names and conditions stay as they are, and no line of ours stays English.
        has(&plain, &[r"\\box\Processor(_Total)\% Processor Time", "hog", "busy_now > busy"]);
        let markdown = tally(&["analyze", &log, "--markdown", "--lang", language]).data();
        has(&markdown, &[&words[0].replace(" (box)", "")]);
        let report = tally(&["report", &log, "--md", "--lang", language]).data();
        has(&report, &[&words[0].replace(" (box)", "")]);
        for english in ["usually", "of the time", "records of", "busy:", "Look at", "counter |", "Machine"] {
            for text in [&plain, &markdown, &report] {
                assert!(!text.contains(english), "{language}: {english}: {text}");
            }
        }
        // Programs read the same in every language.
        let json = tally(&["analyze", &log, "--json", "--lang", language]).json();
        assert_eq!(json["findings"][0]["title"], "All processors are busy");
    }
    let moment = tally(&["why", "12:04", &log, "--lang", "ko"]).data();
    assert!(!moment.contains("usually") && !moment.contains("Busiest"), "{moment}");
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
        (&["--set", "busy=high"], 2, &["--set \"busy=high\": \"high\" is not a number"]),
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

/// A log of two minutes on a host: a processor at a level with some noise, and a queue.
fn run(folder: &Folder, name: &str, host: &str, level: u32, queue: u32) -> String {
    let mut text = format!(
        "\"(PDH-CSV 4.0) (UTC)(0)\",\"\\\\{host}\\Processor(_Total)\\% Processor Time\",\
         \"\\\\{host}\\System\\Processor Queue Length\",\"\\\\{host}\\System\\Context Switches/sec\"\r\n"
    );
    for second in 0..120_u32 {
        let busy = level + second * 7 % 5;
        let (minute, rest) = (second / 60, second % 60);
        let switches = 1000 + second * 13 % 90;
        writeln!(text, "\"11/21/2026 12:{minute:02}:{rest:02}.000\",\"{busy}\",\"{queue}\",\"{switches}\"\r")
            .unwrap();
    }
    folder.write(name, text.as_bytes())
}

#[test]
fn before_and_after_say_what_became_worse_beyond_its_noise() {
    let folder = Folder::new();
    // The same work on two hosts: their names do not matter.
    let old = run(&folder, "before.csv", "web1", 20, 0);
    let same = run(&folder, "same.csv", "web2", 21, 0);
    let slow = run(&folder, "after.csv", "web2", 60, 0);
    let full = run(&folder, "full.csv", "web2", 95, 40);
    let against = |new: &str, more: &[&str]| tally(&[&["analyze", new, "--against", &old], more].concat());
    let ran = against(&same, &["--fail-on", "note"]);
    assert_eq!(ran.code, Some(0), "{}", ran.out);
    has(&ran.out, &["Of 3 counters that were compared, 0 became worse", "0 findings are new"]);
    let ran = against(&slow, &["--fail-on", "warning"]);
    assert_eq!(ran.code, Some(8), "{}", ran.out);
    has(&ran.out, &["1 became worse", "worse      \\Processor(_Total)\\% Processor Time  22 % -> 62 %"]);
    assert_eq!(against(&slow, &["--fail-on", "critical"]).code, Some(0));
    // The other way round it became better, and nothing fails.
    let better = tally(&["analyze", &old, "--against", &slow, "--fail-on", "note", "--json"]);
    assert_eq!(better.code, Some(0), "{}", better.out);
    let json = better.json();
    assert_eq!((json["changes"][0]["effect"].as_str(), json["compared"].as_u64()), (Some("better"), Some(3)));
    // A finding that the log before does not have.
    let json = against(&full, &["--json"]).json();
    assert_eq!(json["new_findings"][0]["rule"]["id"], "processor-busy", "{json:#}");
    let gone = tally(&["analyze", &old, "--against", &full]).data();
    has(&gone, &["gone: warning: All processors are busy on web2"]);
    let document = against(&full, &["--markdown"]).data();
    has(
        &document,
        &[
            "# Before and after",
            "| Before | before.csv | 2026-11-21T12:00:00.000Z to 2026-11-21T12:01:59.000Z |",
            "3 counters that were compared, 2 became worse",
            "| counter | before | after |",
            "| \\\\Processor\\(\\_Total\\)\\\\% Processor Time | 22 % | 97 % | worse |",
            "- new: warning: All processors are busy on web2",
            "### 1. ",
            "- rule processor-busy",
        ],
    );
    // Counters that are not headlines, and records that are too few, are not judged.
    let short = against(&slow, &["--to", "2026-11-21T12:00:05Z"]).data();
    has(&short, &["Of 0 counters", "3 counters have too few records"]);
}

/// Two logs that were read as one.
#[test]
fn two_logs_that_look_like_before_and_after_are_read_as_one_and_that_is_said() {
    let folder = Folder::new();
    let hint = "the logs were read as one; to compare them: tally analyze ";
    let old = run(&folder, "before.csv", "web1", 20, 0);
    let later = |name: &str, host: &str, hour: &str| {
        let path = run(&folder, name, host, 21, 0);
        let text = fs::read_to_string(&path).unwrap().replace(" 12:0", hour);
        folder.write(name, text.as_bytes())
    };
    let new = later("after.csv", "web1", " 13:0");
    // The order does not matter, the times do.
    for logs in [[&old, &new], [&new, &old]] {
        let ran = tally(&["analyze", logs[0], logs[1]]);
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        has(&ran.err, &[&format!("{hint}{new} --against {old}")]);
        has(&ran.out, &["240 records of 3 counters"]);
    }
    // The next part of one recording, another host, the same time, and three logs.
    let next = later("next.csv", "web1", " 12:2");
    let follows = fs::read_to_string(&next).unwrap().replace("12:20", "12:02").replace("12:21", "12:03");
    let next = folder.write("next.csv", follows.as_bytes());
    let other = later("other.csv", "web2", " 13:0");
    let same = run(&folder, "same.csv", "web1", 30, 0);
    // Counters that nothing looks at.
    let unknown = |name: &str, counter: &str, hour: &str| {
        let mut text = format!("\"(PDH-CSV 4.0) (UTC)(0)\",\"\\\\web1\\{counter}\"\r\n");
        for second in 10..50 {
            writeln!(text, "\"11/21/2026 {hour}:00:{second}.000\",\"1\"\r").unwrap();
        }
        folder.write(name, text.as_bytes())
    };
    let apples = unknown("apples.csv", "Orchard\\Apples", "12");
    let pears = unknown("pears.csv", "Orchard\\Pears", "14");
    for logs in [
        &[&old, &next][..],
        &[&old, &other],
        &[&old, &same],
        &[&old, &next, &new],
        &[&new],
        &[&apples, &pears],
    ] {
        let words: Vec<&str> =
            std::iter::once("analyze").chain(logs.iter().map(|log| log.as_str())).collect();
        let ran = tally(&words);
        assert!(ran.code == Some(0) && !ran.err.contains(hint), "{logs:?}: {}", ran.err);
    }
}

#[test]
fn a_session_is_analyzed_while_it_records() {
    let root = Folder::new();
    let session = |arguments: &[&str]| {
        tally_with(arguments, |command| {
            command.env("TALLYMON_ROOT", root.path());
        })
    };
    has(&session(&["analyze", "--last", "2h"]).words(2), &["no log is named and no session records"]);
    has(&session(&["why", "12:10"]).words(2), &["no log is named and no session records"]);
    let folder = root.file("logs");
    let begin = |name: &str| {
        let ran = session(&["log", "start", name, "-c", AVAILABLE, "-i", "50ms", "-o", &folder]);
        assert_eq!(ran.code, Some(0), "{}", ran.err);
    };
    begin("web");
    let records = || session(&["analyze", "--last", "2h", "--json"]).json()["records"].as_u64().unwrap();
    let first = records();
    // The word says the same, here and for one moment.
    let live = session(&["analyze", "live", "--last", "2h", "--json"]).json();
    assert!(live["records"].as_u64().unwrap() >= first);
    assert!(session(&["why", "-0s", "live", "--json"]).json().is_object());
    assert!(session(&["why", "-0s", "--json"]).json()["to"].is_string());
    until("more records", || records() > first);
    begin("db");
    has(&session(&["analyze"]).words(2), &["several sessions record", "--session"]);
    has(&session(&["why", "-0s"]).words(2), &["several sessions record", "--session"]);
    assert!(session(&["why", "-0s", "--session", "db", "--json"]).json()["to"].is_string());
    let of_one = session(&["analyze", "--session", "db", "--json"]).json();
    assert_eq!(of_one["counters"], 1);
    for name in ["web", "db"] {
        assert_eq!(session(&["log", "stop", name]).code, Some(0));
    }
    // What it left is analyzed by its name.
    assert!(session(&["analyze", "--session", "web", "--json"]).json()["records"].as_u64().unwrap() > first);
    session(&["analyze", "--session", "nobody"]).words(3);
}
