//! Lakes in object storage, as a user meets them, with a real server.

use std::collections::BTreeSet;
use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use tallymon_testkit::{ObjectStorage, skip};

use crate::lake::log_of;
use crate::support::{Folder, Ran, has, tally_with};

/// Runs the command with variables, and nothing of the environment that tools of AWS know.
fn run(arguments: &[&str], variables: &[(&'static str, String)]) -> Ran {
    tally_with(arguments, |command| {
        for name in ["AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"] {
            command.env_remove(name);
        }
        command.env("HOME", "/nonexistent").envs(variables.iter().map(|(name, value)| (name, value)));
    })
}

/// The columns of a text log, in any order.
fn columns(text: &str) -> BTreeSet<Vec<String>> {
    let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split(',').collect()).collect();
    let column = |at: usize| rows.iter().map(|row| row[at].to_owned()).collect();
    (0..rows[0].len()).map(column).collect()
}

#[test]
fn a_bucket_has_a_lake() {
    let Some(server) = ObjectStorage::start() else { return };
    let variables = server.variables();
    let run = |arguments: &[&str]| run(arguments, &variables);
    let folder = Folder::new();
    let logs = folder.file("logs");
    fs::create_dir_all(&logs).unwrap();
    for host in 0..12 {
        fs::write(Path::new(&logs).join(format!("{host}.csv")), log_of(&format!("h{host}"), 90)).unwrap();
    }
    let lake = "s3://lakes/fleet/x.lake";
    let first = run(&["relog", &logs, "-f", "lake", "-o", lake]);
    assert_eq!(first.code, Some(0), "{}", first.err);
    has(&first.err, &["12 logs with 1080 records put in, 0 were in already, 0 failed"]);
    has(&run(&["relog", &logs, "-f", "lake", "-o", lake]).err, &["12 were in already"]);
    // It has what a lake in a folder has.
    let local = folder.file("y.lake");
    assert_eq!(run(&["relog", &logs, "-o", &local]).code, Some(0));
    let read = |lake: &str| columns(&run(&["relog", lake, "--utc"]).out);
    let all = read(&local);
    assert_eq!(all.len(), 13);
    assert!(read(lake) == all);
    for arguments in [
        &["stats", lake, "-c", r"\Memory\*"][..],
        &["info", lake, "--columns"],
        &["get", r"\\h3\Memory\Available Bytes", "--log", lake],
        &["analyze", lake],
        &["relog", lake, "-f", "lake", "-o", "s3://lakes/copy"],
    ] {
        let ran = run(arguments);
        assert_eq!(ran.code, Some(0), "{arguments:?} {}", ran.err);
    }
    has(&run(&["lake", "compact", lake]).err, &["12 parts of", "became 1 of"]);
    has(&run(&["lake", "vacuum", lake]).err, &["0 files", "12 are too young"]);
    has(&run(&["lake", "vacuum", lake, "--older-than", "10ms"]).err, &["12 files"]);
    assert!(read(lake) == all);
    // What is wrong is said with bucket, key and status.
    let log = Path::new(&logs).join("1.csv");
    let log = log.to_str().unwrap();
    has(
        &run(&["relog", log, "-f", "lake", "-o", "s3://nobody/x"]).err,
        &["s3://nobody/x", "404", "NoSuchBucket"],
    );
    has(&run(&["stats", "s3://lakes/nothing"]).err, &["s3://lakes/nothing", "not a lake"]);
    has(&run(&["relog", lake, "-f", "lake", "-o", "s3://lakes/fleet/x.lake/"]).err, &["which is read"]);
    has(&run(&["relog", log, "-f", "csv", "-o", "s3://lakes/x.csv"]).err, &["-f lake"]);
    has(&super::s3::run(&["stats", lake], &[]).err, &["AWS_ACCESS_KEY_ID"]);
    let mut denied = variables.clone();
    (denied[1].1, denied[2].1) = (server.reader[0].clone(), server.reader[1].clone());
    has(&super::s3::run(&["stats", lake], &denied).data(), &["Available Bytes"]);
    let refused = super::s3::run(&["relog", log, "-f", "lake", "-o", "s3://lakes/new"], &denied).err;
    has(&refused, &["s3://lakes/new", "403", "AccessDenied"]);
    assert!(!refused.contains(&server.reader[1]), "{refused}");
}

/// Delta Lake's own library opens the table where it is, and makes one part of all.
const DELTA: &str = r#"
import json, sys
try:
    from deltalake import DeltaTable
except ImportError as missing:
    print(json.dumps({"missing": str(missing)}))
    sys.exit()
import os
names = ["AWS_ENDPOINT_URL", "AWS_REGION", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"]
options = {name: os.environ[name] for name in names} | {"AWS_ALLOW_HTTP": "true", "conditional_put": "etag"}
table = DeltaTable(sys.argv[1], storage_options=options)
rows = table.to_pyarrow_table().num_rows
removed = table.optimize.compact()["numFilesRemoved"]
print(rows, table.version(), removed, flush=True)
# Threads of its libraries sometimes abort while the interpreter ends.
os._exit(0)
"#;

#[test]
fn other_programs_read_and_write_the_same_bucket() {
    let Some(server) = ObjectStorage::start() else { return };
    let variables = server.variables();
    let folder = Folder::new();
    let logs = folder.file("logs");
    fs::create_dir_all(&logs).unwrap();
    for host in 0..3 {
        fs::write(Path::new(&logs).join(format!("{host}.csv")), log_of(&format!("h{host}"), 60)).unwrap();
    }
    let lake = "s3://lakes/x.lake";
    assert_eq!(run(&["relog", &logs, "-f", "lake", "-o", lake], &variables).code, Some(0));
    let ran = Command::new("python3").args(["-c", DELTA, lake]).envs(variables.clone()).output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    if out.contains("missing") {
        return skip(&out);
    }
    assert_eq!(out.trim(), "180 4 3", "{err}");
    // And we read what it made, and go on.
    let log = folder.file("more.csv");
    fs::write(&log, log_of("more", 60)).unwrap();
    assert_eq!(run(&["relog", &log, "-f", "lake", "-o", lake], &variables).code, Some(0));
    has(&run(&["stats", lake], &variables).data(), &["\\\\h0\\", "\\\\h2\\", "\\\\more\\"]);
}

#[test]
fn a_session_loses_nothing_while_the_server_is_away() {
    // Nobody is there yet.
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let Some(probe) = ObjectStorage::start() else { return };
    drop(probe);
    let folder = Folder::new();
    let root = folder.file("root");
    let away = [
        ("TALLY_ROOT", root.clone()),
        ("AWS_ENDPOINT_URL", format!("http://127.0.0.1:{port}")),
        ("AWS_SHARED_CREDENTIALS_FILE", folder.file("credentials")),
    ];
    let lake = "s3://lakes/session";
    let start =
        ["log", "start", "away", "-c", r"\Memory\Available Bytes", "-i", "100ms", "-f", "lake", "-o", lake];
    let start = [&start[..], &["--rotate-time", "1s", "--max-size", "50M"]].concat();
    has(&run(&start, &away).err, &["AWS_ACCESS_KEY_ID", "credentials"]);
    fs::write(folder.file("credentials"), "[default]\naws_access_key_id=a\naws_secret_access_key=b\n")
        .unwrap();
    let started = run(&start, &away);
    assert_eq!(started.code, Some(0), "{}", started.err);
    has(&started.err, &["s3://lakes/session"]);
    // Its state says what waits, and why.
    let begun = Instant::now();
    let shown = loop {
        let shown = run(&["log", "show", "away"], &away).out;
        if shown.contains("logs wait in") || begun.elapsed() > Duration::from_secs(120) {
            break shown;
        }
        std::thread::sleep(Duration::from_millis(200));
    };
    has(&shown, &["s3://lakes/session", "no connection", "logs wait in"]);
    // The server comes, and the key that is in the file by then is used.
    let Some(server) = ObjectStorage::on(port) else { return };
    let [id, secret] = &server.writer;
    let profile = format!("[default]\naws_access_key_id={id}\naws_secret_access_key={secret}\n");
    fs::write(folder.file("credentials"), profile).unwrap();
    let stopped = run(&["log", "stop", "away"], &away);
    assert_eq!(stopped.code, Some(0), "{}", stopped.err);
    let json = run(&["log", "show", "away", "--json"], &away).out;
    let records =
        json.split("\"records\":").nth(1).unwrap().trim().split([',', '}', '\n']).next().unwrap().to_owned();
    let info = run(&["info", lake], &away);
    assert!(info.out.contains(&records), "{records} records: {} {}", info.out, info.err);
    let waiting = Path::new(&root).join("logs/away/_recordings");
    assert_eq!(fs::read_dir(&waiting).map_or(0, Iterator::count), 0, "{}", waiting.display());
}
