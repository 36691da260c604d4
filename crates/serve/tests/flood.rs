//! Ten thousand connections at once, and an upload of a gigabyte that is really sent.
//!
//! In a program of its own: memory, descriptors and their limit belong to the whole process.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test that fails is to panic")]

#[allow(dead_code, reason = "other tests use the rest of the client")]
#[path = "web/client.rs"]
mod client;

use std::collections::BTreeSet;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Instant;

use client::{PATIENCE, Reply, Running, options};
use rustix::process::{Resource, getrlimit, setrlimit};
use tallymon_serve::Options;
use tallymon_testkit::{attack, attack_count, skip};

/// One at a time: both measure the process.
static ALONE: Mutex<()> = Mutex::new(());
/// What the server, the client and an allocator may take, whatever is sent.
const SLACK: u64 = 64 << 20;
/// Descriptors of the test besides those connections.
const OTHERS: u64 = 300;
/// What the server holds of them at a time.
const HELD: usize = 200;

/// A number of kilobytes from `/proc/self/status`, in bytes.
fn of_status(name: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with(name)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() << 10
}

/// The folders of uploads that are there.
fn folders() -> BTreeSet<PathBuf> {
    let all = fs::read_dir(std::env::temp_dir()).unwrap().filter_map(Result::ok);
    let is_ours = |name: &std::ffi::OsStr| name.to_string_lossy().starts_with("tallymon-uploads-");
    all.filter(|one| is_ours(&one.file_name())).map(|one| one.path()).collect()
}

/// Whether the server has closed a connection.
fn is_closed(stream: &mut TcpStream) -> bool {
    match stream.read(&mut [0; 512]) {
        Ok(0) => true,
        Err(error) => error.kind() != std::io::ErrorKind::WouldBlock,
        Ok(_) => false,
    }
}

#[test]
fn attack_with_ten_thousand_connections_at_once() {
    let _alone = ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let count = attack_count(660, 10_000);
    let limit = getrlimit(Resource::Nofile);
    let needed = count as u64 + HELD as u64 + OTHERS;
    let current = limit.maximum.map_or(needed, |most| most.min(needed)).max(limit.current.unwrap_or(0));
    if current < needed
        || setrlimit(Resource::Nofile, rustix::process::Rlimit { current: Some(current), ..limit }).is_err()
    {
        return skip(&format!("{needed} descriptors are needed, and {current} are allowed"));
    }
    let server = Running::start(false, &[]);
    // Each is held by the client until the end, whether or not the server has closed it.
    let mut open = Vec::with_capacity(count);
    for _ in 0..count {
        let mut stream = server.connect();
        let _ = stream.write_all(b"GET / HTTP/1.1\r\nHost: ");
        stream.set_nonblocking(true).unwrap();
        open.push(stream);
    }
    // Who has the token is answered while all of them are there: half a request is not waited for for long.
    let begin = Instant::now();
    let mut tries = 0;
    loop {
        tries += 1;
        let mut stream = server.connect();
        let _ = stream.write_all(format!("{}\r\n", server.head("GET", "/api/v1/hosts")).as_bytes());
        if Reply::read(stream).status == 200 {
            break;
        }
        assert!(begin.elapsed() < PATIENCE, "not answered in {tries} tries");
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    println!("{count} connections, answered after {:?} and {tries} tries", begin.elapsed());
    let held = open.iter_mut().filter_map(|stream| (!is_closed(stream)).then_some(())).count();
    assert!(held <= HELD, "{held} are held");
    assert_eq!(open.len(), count);
    drop(open);
    attack(
        "pages",
        "hold 10,000 connections at once, with half a request on each, and never close one",
        "200 are held, and each for 15 s; who has the token is answered then, while all others are still there",
    );
}

#[test]
fn attack_with_a_gigabyte_that_is_really_sent() {
    let _alone = ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    // The limit of `tally serve`, of which the short form has a part.
    let limit = (attack_count(16, 1024) as u64) << 20;
    let before = folders();
    let server = Running::with(Options { uploads: limit, ..options() });
    let own: Vec<PathBuf> = folders().difference(&before).cloned().collect();
    let files = || own.iter().flat_map(|folder| fs::read_dir(folder).into_iter().flatten()).count();
    assert!(!own.is_empty() && files() == 0, "{own:?}");
    // The peak is counted from here on.
    fs::write("/proc/self/clear_refs", "5").unwrap();
    let resident = of_status("VmRSS");
    let piece = format!("10000\r\n{}\r\n", "x".repeat(65_536));
    for with_length in [false, true] {
        let mut stream = server.connect();
        let head = server.head("POST", "/api/v1/logs?name=x.csv");
        let mut sent = 0u64;
        if with_length {
            // One that fits by its length, and ends before it has sent it.
            write!(stream, "{head}Content-Length: {limit}\r\n\r\n").unwrap();
            let part = vec![b'x'; 1 << 20];
            while sent < limit / 2 && stream.write_all(&part).is_ok() {
                sent += 1 << 20;
            }
            // All of the room was free again, or it would have been refused at once.
            assert!(sent >= limit / 2, "{sent} bytes were taken");
            drop(stream);
        } else {
            write!(stream, "{head}Transfer-Encoding: chunked\r\n\r\n").unwrap();
            // A sixteenth more than there is room for.
            while sent < limit + limit / 16 && stream.write_all(piece.as_bytes()).is_ok() {
                sent += 65_536;
            }
            let reply = Reply::read(stream);
            assert!(matches!(reply.status, 413 | 0), "{}", reply.text());
            assert!(sent >= limit, "{sent} bytes were taken");
        }
        // What came is gone, and its room is free again.
        let begin = Instant::now();
        while files() > 0 {
            assert!(begin.elapsed() < PATIENCE, "{} files are left", files());
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
    }
    let peak = of_status("VmHWM");
    assert!(peak <= resident + SLACK, "{peak} bytes at the peak, {resident} before");
    println!("{limit} bytes were sent; {resident} bytes resident before, {peak} at the peak");
    // Somebody else's log is taken.
    let text = "\"(PDH-CSV 4.0) (UTC)(0)\",\"\\\\h\\o\\c\"\r\n\"03/01/2026 00:00:00.000\",\"1\"\r\n";
    let head = server.head("POST", "/api/v1/logs?name=y.csv");
    let reply = server.send(&format!("{head}Content-Length: {}\r\n\r\n{text}", text.len()));
    assert_eq!((reply.status, files()), (200, 1), "{}", reply.text());
    drop(server);
    assert!(own.iter().all(|folder| !folder.exists()), "{own:?}");
    attack(
        "pages",
        "send an upload of 1 GB in pieces without a length, all of it; and half of one that says its length",
        "refused at the limit; memory has 64 MiB more at the most; the file is removed, the room is free again, \
         and the folder is gone at the end",
    );
}
