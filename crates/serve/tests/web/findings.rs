//! Findings as marks: those of a log are what `tally analyze` finds, those of a live machine are of its
//! history.

use std::path::PathBuf;

use serde_json::Value;
use tallymon::analyze::{RuleSet, analyze};
use tallymon::log::{ReadOptions, Selection};
use tallymon_testkit::Scratch;

use crate::client::Running;

/// Two hosts, of which the first is busy from the 200th second to the 500th.
fn busy(scratch: &Scratch) -> PathBuf {
    let head =
        ["WEB", "DB"].map(|host| format!(r#","\\{host}\Processor(_Total)\% Processor Time""#)).concat();
    let row = |nth: u32| {
        let load = if (200..500).contains(&nth) { 98 + nth % 2 } else { 8 + nth % 5 };
        format!("\r\n\"03/01/2026 00:{:02}:{:02}.000\",\"{load}\",\"{}\"", nth / 60, nth % 60, 7 + nth % 4)
    };
    let file = scratch.join("busy.csv");
    let rows: String = (0..600).map(row).collect();
    std::fs::write(&file, format!("\"(PDH-CSV 4.0) (UTC)(0)\"{head}{rows}\r\n")).unwrap();
    file
}

fn titles(answer: &Value) -> Vec<&str> {
    answer["findings"].as_array().unwrap().iter().map(|one| one["title"].as_str().unwrap()).collect()
}

#[test]
fn findings_of_a_log_are_those_of_its_analysis_and_of_one_host_only_its_own() {
    let scratch = Scratch::new();
    let log = busy(&scratch);
    let expected = analyze(
        std::slice::from_ref(&log),
        RuleSet::built_in().unwrap(),
        &Selection::default(),
        &ReadOptions::default(),
    );
    let expected = expected.unwrap().findings;
    let server = Running::start(false, &[log]);
    server.wait("/api/v1/hosts", |hosts| hosts[0]["state"] == "ready");
    let all = server.get("/api/v1/findings?host=log1");
    assert_eq!(titles(&all), expected.iter().map(|one| one.title.as_str()).collect::<Vec<_>>());
    assert!(!expected.is_empty());
    // What found it, how sure that is, and among how many those were found that moved with it.
    for (one, expected) in all["findings"].as_array().unwrap().iter().zip(&expected) {
        assert_eq!(one["found_by"], expected.found_by());
        assert_eq!(one["certainty"], expected.certainty);
        assert_eq!((&one["compared"], &one["lags"]), (&expected.compared.into(), &7.into()));
        assert_eq!(one["moves_with"].as_array().unwrap().len(), expected.together.len());
    }
    let range = &all["findings"][0]["instances"][0]["ranges"][0];
    // 2026-03-01T00:03:20Z and 00:08:20Z, or one of the records beside them.
    let near = |value: &Value, seconds: f64| {
        (value.as_f64().unwrap() / 1e3 - 1_772_323_200.0 - seconds).abs() < 20.0
    };
    assert!(near(&range["from"], 200.0) && near(&range["to"], 500.0), "{range}");
    let (web, other) =
        (server.get("/api/v1/findings?host=log1/WEB"), server.get("/api/v1/findings?host=log1/DB"));
    assert_eq!(titles(&web), titles(&all));
    assert_eq!(titles(&other), Vec::<&str>::new());
}

#[test]
fn findings_of_a_live_machine_come_from_its_history() {
    let server = Running::start(true, &[]);
    server.wait("/api/v1/hosts", |hosts| hosts[0]["last"].as_f64() > hosts[0]["first"].as_f64());
    let found = server.get("/api/v1/findings");
    assert!(found["findings"].is_array() && found["more"].is_u64(), "{found}");
    // Nothing of the files with the history stays.
    let again = server.get("/api/v1/findings?host=live");
    assert_eq!(again, found);
}
