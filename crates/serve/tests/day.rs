//! A day of the server in some minutes: as many samples as a day has, with people who come and go.
//!
//! One test, in a program of its own: memory and descriptors belong to the whole process.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test that fails is to panic")]

#[allow(dead_code, reason = "other tests use the rest of the client")]
#[path = "web/client.rs"]
mod client;

use std::fs;
use std::io::Write;
use std::time::Duration;

use client::{Running, options, stream};
use tallymon::Location;
use tallymon_serve::Options;
use tallymon_testkit::{Scratch, attack, attack_count, shared};

const HOUR: u64 = 3_600;
/// What the history keeps of a row, and what an allocator keeps of requests.
const ROW: u64 = 200;
const SLACK: u64 = 16 << 20;

/// Open descriptors and anonymous resident bytes of this process.
fn taken() -> (usize, u64) {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("RssAnon")).unwrap();
    let kilobytes: u64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    (fs::read_dir("/proc/self/fd").unwrap().count(), kilobytes << 10)
}

/// Pages, charts, streams that are left, an upload that is removed, and half a request.
fn visit(server: &Running) {
    let path = "path=%5CProcessor(*)%5C%25%20Processor%20Time";
    for _ in 0..10 {
        assert_eq!(server.send(&format!("{}\r\n", server.head("GET", "/"))).status, 200);
        server.get(&format!("/api/v1/query?{path}&points=500"));
        assert!(!stream(server, &format!("/api/v1/stream?{path}"), "", 2).is_empty());
        let log = "\"(PDH-CSV 4.0) (UTC)(0)\",\"\\\\h\\o\\c\"\r\n\"03/01/2026 00:00:00.000\",\"1\"\r\n";
        let head = server.head("POST", "/api/v1/logs?name=x.csv");
        let sent = server.send(&format!("{head}Content-Length: {}\r\n\r\n{log}", log.len()));
        assert_eq!(sent.status, 200, "{}", sent.text());
        let host: serde_json::Value = serde_json::from_slice(&sent.body).unwrap();
        let host = host["id"].as_str().unwrap_or_else(|| panic!("{host}"));
        let removed =
            server.send(&format!("{}\r\n", server.head("DELETE", &format!("/api/v1/logs?id={host}"))));
        assert!(matches!(removed.status, 200 | 204), "{} {}", removed.status, removed.text());
        let _ = server.connect().write_all(b"GET / HTTP/1.1\r\nHost: ");
    }
}

#[test]
fn attack_a_day_of_the_server() {
    let Some(block) = shared("blocks/s00_obj238.bin") else { return };
    let scratch = Scratch::new();
    let copy = scratch.join("block.bin");
    fs::copy(block, &copy).unwrap();
    let interval = Duration::from_micros(100);
    let server = Running::with(Options { live: Some(Location::File(copy)), interval, ..options() });
    let next = |enough: u64| {
        let hosts = server.wait("/api/v1/hosts", |hosts| hosts[0]["next"].as_u64() >= Some(enough));
        hosts[0]["next"].as_u64().unwrap()
    };
    visit(&server);
    let mut rows = next(HOUR);
    visit(&server);
    let (files, first) = taken();
    let hours = attack_count(2, 24) as u64;
    for _ in 1..hours {
        let before = rows;
        rows = next(rows + HOUR);
        visit(&server);
        assert!(rows >= before + HOUR);
        // The server closes what a client has left as soon as it has seen that.
        let begin = std::time::Instant::now();
        while taken().0 > files {
            assert!(begin.elapsed() < client::PATIENCE, "{} descriptors, {files} after an hour", taken().0);
        }
        let most = first + SLACK + rows * ROW;
        assert!(taken().1 <= most, "{} bytes after {rows} rows, {first} after an hour", taken().1);
    }
    println!("{rows} rows, {files} descriptors, {first} bytes after an hour, {} at the end", taken().1);
    attack(
        "pages",
        "a day of samples, with pages, charts, streams and uploads that come and go",
        "descriptors stay as they were after an hour; memory has the history and no more",
    );
}
