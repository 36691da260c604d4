//! Logs in other formats, parts of them, and what differs between two.

use std::io::{BufReader, Read, Write};
use std::path::Path;

use serde_json::{Value, json};
use tallymon::log::{Format, ReadOptions, relog::Options, relog::relog};
use tallymon_testkit::{Scratch, attack};

use crate::answers::log;
use crate::client::{Running, head};

/// 2026-03-01T00:00:00Z in milliseconds; a row every 15 s.
const BEGIN: f64 = 1_772_323_200_000.0;

fn is_ready(hosts: &Value) -> bool {
    hosts.as_array().unwrap().iter().all(|host| host["state"] == "ready")
}

/// A file that the server sends in pieces, and what the browser would call it.
fn download(server: &Running, parameters: &str) -> (Vec<u8>, String) {
    let mut stream = server.connect();
    write!(stream, "{}\r\n", server.head("GET", &format!("/api/v1/convert?{parameters}"))).unwrap();
    let mut reader = BufReader::new(stream);
    let (status, headers) = head(&mut reader);
    let mut rest = Vec::new();
    reader.read_to_end(&mut rest).unwrap();
    assert_eq!(status, 200, "{parameters}: {}", String::from_utf8_lossy(&rest));
    let header = |name: &str| headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
    assert_eq!(header("transfer-encoding").as_deref(), Some("chunked"));
    assert!(header("content-security-policy").unwrap().contains("sandbox"));
    let (mut body, mut left) = (Vec::new(), rest.as_slice());
    loop {
        let end = left.windows(2).position(|two| two == b"\r\n").unwrap();
        let length = usize::from_str_radix(std::str::from_utf8(&left[..end]).unwrap(), 16).unwrap();
        if length == 0 {
            break;
        }
        body.extend_from_slice(&left[end + 2..end + 2 + length]);
        left = &left[end + 4 + length..];
    }
    (body, header("content-disposition").unwrap())
}

#[test]
fn a_log_is_converted_as_relog_does() {
    let scratch = Scratch::new();
    let path = log(&scratch);
    let server = Running::start(false, std::slice::from_ref(&path));
    server.wait("/api/v1/hosts", is_ready);
    for (format, extension, begin) in [
        (Format::Blg, "blg", b"".as_slice()),
        (Format::Csv, "csv", b"\"(PDH-CSV 4.0)"),
        (Format::Tsv, "tsv", b"\"(PDH-TSV 4.0)"),
        (Format::Tally, "tally", b""),
    ] {
        let name = format.info().name;
        let (bytes, called) = download(&server, &format!("host=log1&format={name}"));
        assert_eq!(
            called,
            format!("attachment; filename=\"day.{}\"", format.info().extension),
            "{extension}"
        );
        assert!(bytes.starts_with(begin), "{name}");
        // The same bytes as the command writes, where these do not depend on the time or on chance.
        if matches!(format, Format::Csv | Format::Tsv | Format::Blg) {
            let same = scratch.join(format!("same.{extension}"));
            let options = Options { format, strip_path: true, ..Options::default() };
            relog(std::slice::from_ref(&path), &same, &options).unwrap();
            assert!(std::fs::read(&same).unwrap() == bytes, "{name}");
        }
        let kept = scratch.join(format!("kept.{extension}"));
        std::fs::write(&kept, bytes).unwrap();
        assert_eq!(records(&kept), 8_640, "{name}");
    }
    // A part: one counter, ten minutes, every second record.
    let (from, to) = (BEGIN + 5_000.0 * 15e3, BEGIN + 5_040.0 * 15e3);
    let part = "path=%5CProcess(sh)%5C%25%20Processor%20Time&every=2";
    let (bytes, _) = download(&server, &format!("host=log1&format=csv&from={from}&to={to}&{part}"));
    let text = String::from_utf8(bytes).unwrap();
    assert_eq!(text.lines().count(), 22, "{text}");
    assert!(text.lines().all(|line| line.split(',').count() == 2), "{text}");
}

fn records(path: &Path) -> u64 {
    let log = tallymon::Log::open(path, &ReadOptions::default()).unwrap();
    log.summary().records
}

#[test]
fn what_differs_most_between_two_logs_is_first() {
    let scratch = Scratch::new();
    let first = log(&scratch);
    // The same day, one process busier, another gone, a month later.
    let text = std::fs::read_to_string(&first).unwrap();
    let mut lines = text.lines();
    let mut later = lines.next().unwrap().replace("(sh)", "(new)").replace("WEB01", "WEB02");
    for line in lines.take(4_000) {
        let mut cells: Vec<String> = line.split(',').map(str::to_string).collect();
        cells[0] = cells[0].replace("03/0", "04/0");
        cells[2] = "\"50\"".into();
        later.push_str(&format!("\r\n{}", cells.join(",")));
    }
    let second = scratch.join("later.csv");
    std::fs::write(&second, later).unwrap();
    let third = scratch.join("short.csv");
    let short: Vec<&str> = text.lines().take(11).collect();
    std::fs::write(&third, short.join("\r\n")).unwrap();
    let server = Running::start(false, &[first, second, third.clone()]);
    server.wait("/api/v1/hosts", is_ready);
    let found = server.get("/api/v1/compare?first=log1&second=log2");
    let paths: Vec<_> =
        found["differences"].as_array().unwrap().iter().map(|one| one["path"].as_str().unwrap()).collect();
    assert_eq!(paths, [r"\Process(<b>a&b)\% Processor Time", r"\System\Processes"]);
    let one = &found["differences"][0];
    for (value, expected) in
        [(&one["first"]["mean"], 4.5), (&one["second"]["mean"], 50.0), (&one["absolute"], 45.5)]
    {
        assert!((value.as_f64().unwrap() - expected).abs() < 1e-9, "{one}");
    }
    assert_eq!(found["onlyFirst"], json!([r"\Process(sh)\% Processor Time"]));
    assert_eq!(found["onlySecond"], json!([r"\Process(new)\% Processor Time"]));
    // By their starts only what the shorter log covers is compared.
    assert_eq!(
        (&found["sides"][0]["records"], &found["sides"][1]["records"]),
        (&4_000.into(), &4_000.into())
    );
    // Beside a log of 10 rows only their time is compared.
    let text = std::fs::read_to_string(&third).unwrap();
    assert_eq!(text.lines().count(), 11);
    let found = server.get("/api/v1/compare?first=log1&second=log2&beside=log3");
    for side in 0..2 {
        assert_eq!(found["sides"][side]["records"], 10, "{found}");
    }
    // By an event of each: the fifth row of one, and the third of the other.
    let first = |log: usize| found["sides"][log]["first"].as_f64().unwrap();
    let (one, other) = (first(0) + 60_000.0, first(1) + 30_000.0);
    let target = format!("/api/v1/compare?first=log1&second=log2&align=event&at={one}&at={other}");
    let by_event = server.get(&target);
    assert_eq!(by_event["sides"][0]["first"].as_f64(), Some(first(0) + 30_000.0), "{by_event}");
    assert_eq!(by_event["sides"][1]["first"].as_f64(), Some(first(1)), "{by_event}");
    for target in [format!("align=event&at={one}"), "align=event&at=x".into(), "align=event&at=0&at=0".into()]
    {
        let target = format!("/api/v1/compare?first=log1&second=log2&{target}");
        assert_eq!(server.send(&format!("{}\r\n", server.head("GET", &target))).status, 400, "{target}");
    }
    // The path is known in each log.
    for host in ["log1", "log2"] {
        let target = format!(
            "/api/v1/query?host={host}&points=4&path=%5CProcess(%3Cb%3Ea%26b)%5C%25%20Processor%20Time"
        );
        assert_eq!(server.get(&target)["series"].as_array().unwrap().len(), 1);
    }
    let reply = server
        .send(&format!("{}\r\n", server.head("GET", "/api/v1/compare?first=log1&second=log2&align=clock")));
    assert!(
        reply.status == 400 && reply.text().contains("day.csv and later.csv have no time in common"),
        "{}",
        reply.text()
    );
    assert_eq!(server.get("/api/v1/compare?first=log1&second=log2&top=1")["all"], 2);
}

#[test]
fn attack_with_conversions() {
    let scratch = Scratch::new();
    let text = std::fs::read_to_string(log(&scratch)).unwrap();
    let server = Running::start(true, &[]);
    // A name that would be another header, or another folder.
    let name = "..%2F..%2Fx%22%0D%0ASet-Cookie%3A%20a%3Db%0D%0A%3Cb%3E.csv";
    let upload = server.head("POST", &format!("/api/v1/logs?name={name}"));
    assert_eq!(server.send(&format!("{upload}Content-Length: {}\r\n\r\n{text}", text.len())).status, 200);
    server.wait("/api/v1/hosts", is_ready);
    let (_, called) = download(&server, "host=log1&format=csv");
    assert_eq!(called, "attachment; filename=\"x___Set-Cookie__a_b___b_.csv\"");
    let status = |target: &str| server.send(&format!("{}\r\n", server.head("GET", target))).status;
    for (parameters, expected) in [
        ("host=log1&format=exe", 400),
        ("host=log1&format=..%2Fcsv", 400),
        ("host=log1&format=pcp", 400),
        ("host=live&format=csv", 400),
        ("host=%2Fetc%2Fpasswd&format=csv", 404),
        ("host=log1&format=csv&path=%5CNone%5CSuch", 400),
        ("host=log1&format=csv&path=nonsense", 404),
        ("host=log1&format=csv&from=9&to=1", 400),
        ("format=csv", 400),
    ] {
        assert_eq!(status(&format!("/api/v1/convert?{parameters}")), expected, "{parameters}");
    }
    assert_eq!(status("/api/v1/compare?first=log1&second=live"), 400);
    // Clients that take nothing hold the room of their files; others are answered. Then there is room again.
    let mut held = Vec::new();
    for _ in 0..6 {
        let mut stream = server.connect();
        write!(stream, "{}\r\n", server.head("GET", "/api/v1/convert?host=log1&format=csv")).unwrap();
        held.push(stream);
    }
    server.get("/api/v1/hosts");
    drop(held);
    let begin = std::time::Instant::now();
    while status("/api/v1/convert?host=log1&format=csv") != 200 {
        assert!(begin.elapsed() < crate::client::PATIENCE, "the room is not given back");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    attack(
        "pages",
        "convert a log with a name like a header, into unknown formats, and take none of the files",
        "names are reduced to letters; each file counts as an upload and is removed when its client is gone",
    );
}
