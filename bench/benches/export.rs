//! What feeding an engine costs: processor time of a scrape and of a push of 10,000 counters, beside
//! node_exporter and PCP's pmproxy for the metrics that they have.
//!
//! `cargo xtask bench export`; one more word selects a part: `scrape`, `push`, `peers`, `lake`. Nothing leaves
//! this machine: the receiver of the pushes is here, and takes everything.

#[path = "export/lake.rs"]
mod lake;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tallymon_bench::Parts;
use tallymon_bench::running::{Group, Running, free_port, get, wait_for};
use tallymon_provider::CounterType;
use tallymon_provider::shm::{CounterSet, Instance, NewInstance, Publisher};

const INSTANCES: u32 = 2_500;
const COUNTERS: usize = 4;
const SCRAPES: u32 = 40;
const PUSHES: u32 = 20;

fn main() {
    let Some(parts) = Parts::wanted(&["scrape", "push", "peers", "lake"]) else { return };
    let folder = std::env::temp_dir().join(format!("tallymon-bench-export-{}", std::process::id()));
    if parts.has("lake") {
        lake::run(&folder.join("lake"));
    }
    if !["scrape", "push", "peers"].iter().any(|part| parts.has(part)) {
        let _ = std::fs::remove_dir_all(&folder);
        return;
    }
    let _published = publish(&folder);
    println!("{:44}{:>10}{:>12}{:>12}{:>12}", "processor time", "samples", "bytes", "ms each", "µs/sample");
    if parts.has("scrape") {
        scrape_ours(&folder);
    }
    if parts.has("peers") {
        scrape_peers();
    }
    if parts.has("push") {
        for (name, option, path) in
            [("push, OTLP", "--otlp", ""), ("push, remote write", "--remote-write", "/api/v1/write")]
        {
            push(&folder, name, option, path);
        }
    }
    let _ = std::fs::remove_dir_all(&folder);
}

/// 10,000 counters: half of them totals, half of them gauges.
fn publish(folder: &Path) -> (Publisher, Vec<Instance>) {
    let set = (0..COUNTERS).fold(CounterSet::new("Bench").instances_about(INSTANCES), |set, nth| {
        let kind = [CounterType::PERF_COUNTER_BULK_COUNT, CounterType::PERF_COUNTER_LARGE_RAWCOUNT][nth % 2];
        set.counter(format!("Counter {nth}"), kind)
    });
    let publisher = Publisher::start_in(&folder.join("pub"), "bench", &[set]).expect("it can be published");
    let instances = (0..INSTANCES)
        .map(|nth| {
            let name = format!("worker-{nth}");
            let new = NewInstance { name: &name, ..NewInstance::default() };
            publisher.instance("Bench", &new).expect("there is room")
        })
        .collect();
    (publisher, instances)
}

fn tally(folder: &Path) -> Command {
    let mut command = Command::new(tallymon_bench::built("tally"));
    command.env("TALLY_ROOT", folder);
    command.stderr(Stdio::null());
    command
}

/// An answer of a server: its body. Only the time of the server is measured, and PCP's speaks HTTP/1.1 only.
/// Scrapes a server several times, and prints what that costs it.
fn scrape(name: &str, server: &Running, address: &str, target: &str) {
    let body = get(address, target);
    let samples = body.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty()).count();
    let before = server.cpu();
    for _ in 0..SCRAPES {
        get(address, target);
    }
    line(name, samples, body.len(), (server.cpu() - before) / SCRAPES);
}

fn line(name: &str, samples: usize, bytes: usize, each: Duration) {
    let of_one = each.as_secs_f64() * 1e6 / samples.max(1) as f64;
    println!("{name:44}{samples:>10}{bytes:>12}{:>12.2}{of_one:>12.3}", each.as_secs_f64() * 1e3);
}

fn scrape_ours(folder: &Path) {
    let port = free_port();
    let address = format!("127.0.0.1:{port}");
    let server = Running::start(
        tally(folder)
            .args(["serve", "--live", "--metrics=local", "--port", &port.to_string()])
            .stdout(Stdio::null()),
    );
    wait_for(port);
    // What it does without anybody: the overview of this machine, each second.
    let (begin, before) = (Instant::now(), server.cpu());
    std::thread::sleep(Duration::from_secs(5));
    let idle = (server.cpu() - before).div_f64(begin.elapsed().as_secs_f64());
    println!(
        "{:44}{:>10}{:>12}{:>12.2}",
        "tally serve without a scrape, a second",
        "",
        "",
        idle.as_secs_f64() * 1e3
    );
    scrape("scrape of 10,000 published counters", &server, &address, "/metrics?objects=Bench");
    scrape("scrape of this machine's cheap objects", &server, &address, "/metrics");
    scrape("scrape of this machine's processes", &server, &address, "/metrics?objects=Process");
}

fn scrape_peers() {
    let exporter = "/usr/bin/prometheus-node-exporter";
    if Path::new(exporter).exists() {
        let port = free_port();
        let listen = format!("--web.listen-address=127.0.0.1:{port}");
        let server =
            Running::start(Command::new(exporter).arg(listen).stdout(Stdio::null()).stderr(Stdio::null()));
        let address = format!("127.0.0.1:{port}");
        wait_for(port);
        scrape("node_exporter, all that it has", &server, &address, "/metrics");
    } else {
        println!("node_exporter is not installed (prometheus-node-exporter)");
    }
    pcp();
}

/// PCP's pmproxy and pmcd, if they run: their processor time together.
fn pcp() {
    let address = "127.0.0.1:44322";
    let programs: Vec<u32> =
        ["pmproxy", "pmcd", "pmdalinux", "pmdaproc"].iter().filter_map(|name| pid(name)).collect();
    if TcpStream::connect(address).is_err() || programs.len() < 2 {
        println!("pmproxy and pmcd do not run (Debian's pcp)");
        return;
    }
    let programs = Group::of(programs);
    // Processes are shown to users who log in only.
    let target = "/metrics?names=kernel,mem,disk,network";
    let body = get(address, target);
    let samples = body.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty()).count();
    let before = programs.cpu();
    for _ in 0..SCRAPES {
        get(address, target);
    }
    line(
        "pmproxy and pmcd: kernel, mem, disk, network",
        samples,
        body.len(),
        (programs.cpu() - before) / SCRAPES,
    );
}

/// The process with a name.
fn pid(name: &str) -> Option<u32> {
    std::fs::read_dir("/proc").ok()?.flatten().find_map(|entry| {
        let pid = entry.file_name().to_str()?.parse().ok()?;
        let known = std::fs::read_to_string(entry.path().join("comm")).ok()?;
        (known.trim_end() == name).then_some(pid)
    })
}

/// A push of 10,000 counters each second, to a receiver that takes everything.
fn push(folder: &Path, name: &str, option: &str, path: &str) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = listener.local_addr().expect("it has an address");
    let (bytes, requests) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let counted = (Arc::clone(&bytes), Arc::clone(&requests));
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let (bytes, requests) = (Arc::clone(&counted.0), Arc::clone(&counted.1));
            std::thread::spawn(move || receive(&stream, &bytes, &requests));
        }
    });
    let url = format!("http://{address}{path}");
    let sender = Running::start(
        tally(folder)
            .args(["push", r"\Bench(*)\*", option, &url, "-i", "500ms", "--queue"])
            .arg(folder.join("queue"))
            .stdout(Stdio::null()),
    );
    let until = |wanted: u64| {
        let begin = Instant::now();
        while requests.load(Ordering::Relaxed) < wanted {
            assert!(begin.elapsed() < Duration::from_secs(120), "{name}: nothing is sent");
            std::thread::sleep(Duration::from_millis(5));
        }
    };
    until(2);
    let (begun, before) = (requests.load(Ordering::Relaxed), sender.cpu());
    let bytes_before = bytes.load(Ordering::Relaxed);
    until(begun + u64::from(PUSHES));
    let pushes = u32::try_from(requests.load(Ordering::Relaxed) - begun).unwrap_or(PUSHES);
    let sent = (bytes.load(Ordering::Relaxed) - bytes_before) / u64::from(pushes);
    line(
        name,
        INSTANCES as usize * COUNTERS,
        usize::try_from(sent).unwrap_or(0),
        (sender.cpu() - before) / pushes,
    );
}

/// Takes requests of one connection.
fn receive(stream: &TcpStream, bytes: &AtomicU64, requests: &AtomicU64) {
    let mut reader = BufReader::new(stream);
    loop {
        let mut length = 0;
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).unwrap_or(0) == 0 {
                return;
            }
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap_or(0);
            }
            if line.trim().is_empty() {
                break;
            }
        }
        let mut body = vec![0; length];
        if reader.read_exact(&mut body).is_err() {
            return;
        }
        bytes.fetch_add(length as u64, Ordering::Relaxed);
        requests.fetch_add(1, Ordering::Relaxed);
        let mut writer = stream;
        if writer.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").is_err() {
            return;
        }
    }
}
