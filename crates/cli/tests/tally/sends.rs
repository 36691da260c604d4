//! Sessions that send their samples: OpenTelemetry's own messages behind an HTTP server of Python take them.

use std::fs;
use std::net::TcpListener;

use serde_json::Value as Json;

use crate::push::{metrics, receiver, time};
use crate::record::until;
use crate::support::{AVAILABLE, Folder, Ran, has, tally, tally_with};

const NAME: &str = "nt_memory_available_bytes";

/// Runs `tally` with the sessions of a folder.
fn session(root: &Folder, arguments: &[&str], variables: &[(&str, &str)]) -> Ran {
    tally_with(arguments, |command| {
        command.env("TALLYMON_ROOT", root.file("state")).env_remove("XDG_STATE_HOME");
        command.envs(variables.iter().copied());
    })
}

fn shown(root: &Folder, name: &str) -> Json {
    session(root, &["log", "show", name, "--json"], &[]).json()
}

fn logs(root: &Folder, folder: &str) -> Vec<String> {
    let entries = fs::read_dir(root.file(folder)).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.map(|entry| entry.file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_session_sends_and_writes_no_log() {
    let Some((_server, address, mut requests)) = receiver(1) else { return };
    let root = Folder::new();
    let folder = root.file("logs");
    let arguments = ["log", "start", "web", "-c", AVAILABLE, "-i", "100ms", "--samples", "3", "-o", &folder];
    // The environment of the recorder names the receiver and its headers.
    let variables =
        [("OTEL_EXPORTER_OTLP_ENDPOINT", address.as_str()), ("OTEL_EXPORTER_OTLP_HEADERS", "api-key=k")];
    let ran = session(&root, &[&arguments[..], &["-f", "otlp"]].concat(), &variables);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    has(&ran.err, &["session \"web\" sends its samples to"]);
    assert!(!ran.err.contains("records into"), "{}", ran.err);
    let taken: Vec<Json> = requests.by_ref().take(3).collect();
    assert_eq!((taken[0]["path"].as_str(), metrics(&taken[0])), (Some("/v1/metrics"), vec![NAME]));
    assert_eq!(taken[0]["headers"]["api-key"], "k");
    let times: Vec<Json> = taken.into_iter().map(time).collect();
    assert!(times.is_sorted_by(|one, other| one.as_str() < other.as_str()), "{times:?}");
    until("the end of the session", || shown(&root, "web")["status"] == "stopped");
    assert_eq!(shown(&root, "web")["records"], 3);
    assert_eq!(logs(&root, "logs"), ["web_otlp"]);
    has(&session(&root, &["log", "show", "web"], &[]).data(), &["sends  each sample to"]);
}

#[test]
fn a_session_that_records_sends_the_same_samples() {
    let Some((_server, address, requests)) = receiver(0) else { return };
    let root = Folder::new();
    let folder = root.file("logs");
    let arguments = ["log", "start", "web", "-c", AVAILABLE, "-i", "100ms", "--samples", "3", "-o", &folder];
    let ran = session(&root, &[&arguments[..], &["--otlp", &address]].concat(), &[]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    has(&ran.err, &["records into", &address]);
    let taken: Vec<Json> = requests.take(3).collect();
    until("the end of the session", || shown(&root, "web")["status"] == "stopped");
    assert_eq!(logs(&root, "logs"), ["web_000001.tally", "web_otlp"]);
    let log = root.file("logs/web_000001.tally");
    let log = fs::read_to_string(json(&root, &log)).unwrap();
    // The metric counts bytes, the counter megabytes.
    let megabytes = |line: &str| -> f64 {
        let row: Json = serde_json::from_str(line).unwrap();
        row["values"][0]["value"].as_f64().unwrap() * f64::from(1 << 20)
    };
    let recorded: Vec<f64> = log.lines().map(megabytes).collect();
    let sent: Vec<f64> = taken.iter().map(value).collect();
    assert_eq!(recorded, sent);
}

/// A log as JSON.
fn json(root: &Folder, log: &str) -> String {
    let output = root.file("log.json");
    let ran = tally(&["relog", log, "-o", &output]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    output
}

/// The number of the first point of a request.
fn value(request: &Json) -> f64 {
    let metric = &request["request"]["resourceMetrics"][0]["scopeMetrics"][0]["metrics"][0];
    metric["gauge"]["dataPoints"][0]["asInt"].as_str().unwrap().parse().unwrap()
}

#[test]
fn samples_wait_for_a_receiver_that_is_away_and_the_next_start_sends_them() {
    let root = Folder::new();
    // A port that nobody listens to any longer.
    let at = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let folder = root.file("logs");
    let nowhere = format!("http://{at}");
    let arguments = ["log", "start", "web", "-c", AVAILABLE, "-i", "50ms", "--samples", "2", "-o", &folder];
    let ran = session(&root, &[&arguments[..], &["-f", "otlp", "--otlp", &nowhere]].concat(), &[]);
    // Only a slow look at a session that begins sees that its receiver is away.
    assert!(ran.code == Some(0) || ran.err.contains(&nowhere), "{}", ran.err);
    until("the end of the session", || shown(&root, "web")["status"] == "stopped");
    let words = shown(&root, "web")["last_error"].to_string();
    has(&words, &["2 samples were not taken and wait in", "web_otlp"]);
    let Some((_server, address, requests)) = receiver(0) else { return };
    let ran = session(&root, &["log", "start", "web", "--samples", "1", "--otlp", &address], &[]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let times: Vec<Json> = requests.take(3).map(time).collect();
    assert!(times.is_sorted_by(|one, other| one.as_str() < other.as_str()), "{times:?}");
}

#[test]
fn what_can_not_be_sent_is_refused() {
    let root = Folder::new();
    let rows: [(&[&str], i32, &str); 5] = [
        (&["--all-objects", "--otlp", "http://localhost:4318"], 2, "nothing to send"),
        (&["-c", AVAILABLE, "-f", "otlp"], 2, "no receiver is named; add --otlp"),
        (&["-c", AVAILABLE, "--otlp", "ftp://collector"], 2, "ftp"),
        (&["-c", AVAILABLE, "-f", "otpl"], 2, "json and otlp"),
        (&["-c", AVAILABLE, "-f", "otlp", "--at-boot"], 2, "name its receiver with --otlp"),
    ];
    for (options, code, words) in rows {
        let ran = session(&root, &[&["log", "start", "web"], options].concat(), &[]);
        assert_eq!(ran.code, Some(code), "{options:?}: {}", ran.err);
        has(&ran.err, &[words]);
    }
    assert_eq!(session(&root, &["log", "list", "--json"], &[]).json(), serde_json::json!([]));
}
