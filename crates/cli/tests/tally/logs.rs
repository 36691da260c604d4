//! Performance logs: `relog` and `info`.

use std::fs;

use super::support::{Folder, has, tally};
use tallymon_testkit::shared;

/// A sample log, as an argument.
fn sample(name: &str) -> Option<String> {
    shared(&format!("logs/{name}")).map(|path| path.to_str().unwrap().to_string())
}

#[test]
fn a_log_becomes_the_text_that_windows_makes_of_it() {
    let Some(log) = sample("PowerShell_CounterSamples.blg") else { return };
    for format in ["csv", "tsv"] {
        let twin = fs::read(sample(&format!("PowerShell_CounterSamples.{format}")).unwrap()).unwrap();
        // The twins have lost their carriage returns on the way here.
        let ran = tally(&["relog", &log, "--format", format, "--lf"]);
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        assert!(ran.out.as_bytes() == twin, "{format} differs");
        let with_returns = tally(&["relog", &log, "--format", format]).out;
        assert_eq!(with_returns.replace("\r\n", "\n"), ran.out);
        assert_eq!(with_returns.matches("\r\n").count(), 26);
    }
}

#[test]
fn counters_times_and_hosts_are_chosen() {
    let Some(log) = sample("PowerShell_CounterSamples.blg") else { return };
    let folder = Folder::new();
    let out = folder.file("cut.csv");
    let ran = tally(&[
        "relog",
        &log,
        "--output",
        &out,
        "--counter",
        r"\Processor(*)\*",
        "--counter",
        r"\Nothing\Here",
        "--from",
        "2016-11-26T21:46:40Z",
        "--to",
        "2016-11-26T21:47:00Z",
        "--rename-host",
        "charlieparker=web01",
    ]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert_eq!(ran.out, "", "a file was asked for");
    has(&ran.err, &["in   ", "25 records", "out  ", "not in the logs", r"\Nothing\Here"]);
    let text = fs::read_to_string(&out).unwrap();
    let header = text.lines().next().unwrap();
    assert!(header.contains(r"\\web01\processor("), "{header}");
    assert!(!header.contains("charlieparker") && !header.contains("memory"), "{header}");
    assert!((3..10).contains(&text.lines().count()), "{text}");
}

#[test]
fn a_log_written_here_is_read_here() {
    let Some(log) = sample("Tx_BasicPerfCounters.blg") else { return };
    let folder = Folder::new();
    let (copy, one, two) = (folder.file("copy.blg"), folder.file("one.csv"), folder.file("two.csv"));
    for (from, to) in [(&log, &copy), (&log, &one), (&copy, &two)] {
        let ran = tally(&["relog", from, "--output", to]);
        assert_eq!(ran.code, Some(0), "{}", ran.err);
    }
    assert!(fs::read(&one).unwrap() == fs::read(&two).unwrap(), "the copy has the same values");
}

#[test]
fn info_says_what_is_in_a_log() {
    let Some(log) = sample("PAL_SampleLog.blg") else { return };
    let out = tally(&["info", &log]).data();
    has(
        &out,
        &[
            "ZACH-PC: 1832 columns",
            "records  11, usually 60.000 s apart",
            "Process: 28 counters, 57 instances",
        ],
    );
    let json = tally(&["info", &log, "--json", "--columns"]).json();
    assert_eq!((json["format"].as_str(), json["records"].as_u64()), (Some("blg"), Some(11)));
    assert_eq!(json["columns"].as_array().unwrap().len(), 1832);
}

#[test]
fn damage_is_named_and_what_is_whole_is_kept() {
    let Some(log) = sample("Tx_BasicPerfCounters.blg") else { return };
    let folder = Folder::new();
    let bytes = fs::read(&log).unwrap();
    // Not at the end of a buffer, where everything that is there would be whole.
    let cut = folder.write("cut.blg", &bytes[..bytes.len() / 2 + 1000]);
    let ran = tally(&["info", &cut]);
    assert_eq!(ran.code, Some(7), "{}", ran.err);
    has(&ran.out, &["damaged", "byte"]);
    let out = folder.file("kept.csv");
    let ran = tally(&["relog", &cut, "--output", &out]);
    assert_eq!(ran.code, Some(7), "{}", ran.err);
    has(&ran.err, &["damaged", "byte"]);
    assert!(fs::read_to_string(&out).unwrap().lines().count() > 200, "half of 601 records");
}

#[test]
fn what_is_no_log_is_refused() {
    let folder = Folder::new();
    let file = folder.write("x.blg", b"no log at all");
    has(&tally(&["info", &file]).words(7), &[&file]);
    has(&tally(&["relog", &file, "--output", &folder.file("y.csv")]).words(7), &[&file]);
    assert!(!folder.path().join("y.csv").exists(), "nothing half-written");
    has(&tally(&["info", &folder.file("none.blg")]).words(3), &["none.blg"]);
    has(&tally(&["relog", &file, "--from", "yesterday"]).words(2), &["yesterday", "2026-11-21"]);
    has(&tally(&["relog", &file, "--format", "xls"]).words(2), &["xls", "blg, csv, tsv"]);
    has(&tally(&["relog", &file, "--rename-host", "a"]).words(2), &["OLD=NEW"]);
    has(&tally(&["relog", &file, "--counter", r"\("]).words(2), &["^"]);
}
