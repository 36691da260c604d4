//! Prometheus itself scrapes two samples of every counter type, and its answer to the type's query is the
//! value that the formula gives.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant, SystemTime};

use serde_json::Value as Json;
use tallymon_core::counter::{CounterType, Formula, TYPES, compute};
use tallymon_core::flow::{Cell, Column, NoValue, Row, Sample, Sink, Value};
use tallymon_core::path::{CounterPath, InstancePath, Part};
use tallymon_core::time::{FileTime, Frequency};
use tallymon_export::metric::metrics;
use tallymon_export::metric_family;
use tallymon_export::openmetrics::{Exposition, TextFormat};
use tallymon_export::profile::Profile;
use tallymon_export::promql::query;
use tallymon_export::remote_write::RemoteWrite;
use tallymon_export::series::families;
use tallymon_testkit::{Scratch, peer, skip};

/// Longer than Prometheus takes on a loaded machine; a test that waits so long fails.
const PATIENCE: Duration = Duration::from_secs(120);
/// Time between the two samples.
const SECONDS: u64 = 60;
const FREQUENCY: u64 = 1_000_000;
/// Prometheus 2.42 asks for protobuf only with this option.
const NATIVE: &str = "--enable-feature=native-histograms";

/// The types with a number, each as a counter of its own.
fn types() -> Vec<CounterType> {
    let shown = |kind: &CounterType| !metrics(*kind).is_empty() && !kind.is_text();
    TYPES.iter().map(|info| info.value).filter(shown).collect()
}

fn name(counter_type: CounterType) -> String {
    format!("nt_o_c{}_x", types().iter().position(|known| *known == counter_type).unwrap())
}

fn column(counter_type: CounterType) -> Column {
    let counter = name(counter_type).strip_prefix("nt_o_").unwrap().replace('_', " ");
    let parts = CounterPath {
        machine: None,
        object: Part::Name("O".into()),
        instance: None,
        counter: Part::Name(counter),
    };
    Column {
        path: String::new(),
        parts: Some(parts),
        counter_type,
        scale: 0,
        time_base: Frequency(0),
        group: 0,
        wild: false,
        live: None,
    }
}

/// A sample whose clock shows `seconds`: of a second, 0.3 were busy.
fn sample(counter_type: CounterType, seconds: u64, time: FileTime) -> Sample {
    let formula = Formula::of(counter_type).unwrap();
    let units = counter_type.time_base() == tallymon_core::counter::TimeBase::Time100ns;
    let ticks = if units { 10_000_000 } else { FREQUENCY };
    let (first, second) = match formula {
        Formula::Double => ((seconds as f64 / 7.0).to_bits(), 0),
        Formula::Raw | Formula::Fraction => (seconds + 3, 1000),
        Formula::Delta | Formula::Rate => (seconds * 1234, seconds * ticks),
        Formula::AverageTime | Formula::AverageBulk => (seconds * 5_000_000, seconds * 40),
        Formula::Elapsed => (17 * ticks, seconds * ticks),
        Formula::BaseShare if counter_type == CounterType::PERF_SAMPLE_FRACTION => {
            (seconds * 3, seconds * 10)
        }
        _ => (seconds * ticks * 3 / 10, seconds * ticks),
    };
    let frequency = Frequency(ticks.try_into().unwrap());
    Sample { counter_type, first, second, frequency, multi_count: 4, time }
}

fn row(seconds: u64, time: FileTime) -> Vec<Cell> {
    let cell = |kind: CounterType| {
        let sample = sample(kind, seconds, time);
        let value = match Formula::of(kind).unwrap() {
            Formula::Raw | Formula::Double => compute(None, &sample),
            _ => Err(NoValue::FirstSample),
        };
        Cell { value, sample: Some(sample), stale: false, partial: None, error: None }
    };
    types().into_iter().map(cell).collect()
}

fn exposition(seconds: u64, time: FileTime) -> Vec<u8> {
    let columns: Vec<Column> = types().into_iter().map(column).collect();
    let mut out = Vec::new();
    let mut sink = Exposition::new(&mut out, TextFormat::OpenMetrics, "here").with_times(true);
    sink.columns(&columns).unwrap();
    sink.row(&Row { time, local_minutes: 0, cells: &row(seconds, time) }).unwrap();
    sink.finish().unwrap();
    out
}

fn messages(seconds: u64, time: FileTime) -> Vec<u8> {
    let columns: Vec<Column> = types().into_iter().map(column).collect();
    let families = families(&columns, "here", Profile::Nt);
    metric_family::exposition(&families, &Row { time, local_minutes: 0, cells: &row(seconds, time) }, true)
}

/// Answers the first scrape with the first body, and the others with the second. Counts the scrapes that accept
/// its type.
fn serve(kind: &'static str, bodies: [Vec<u8>; 2]) -> (SocketAddr, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (at, count) = (listener.local_addr().unwrap(), Arc::new(AtomicUsize::new(0)));
    let scrapes = Arc::clone(&count);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let (mut line, mut is_accepted) = (String::new(), false);
            while reader.read_line(&mut line).unwrap_or(0) > 2 {
                let name = kind.split(';').next().unwrap();
                is_accepted |= line.to_ascii_lowercase().starts_with("accept:") && line.contains(name);
                line.clear();
            }
            if !is_accepted {
                continue;
            }
            let body = &bodies[scrapes.fetch_add(1, Ordering::SeqCst).min(1)];
            let length = body.len();
            let _ = write!(
                stream,
                "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\
                 Connection: close\r\n\r\n"
            );
            let _ = stream.write_all(body);
        }
    });
    (at, count)
}

struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The number that Prometheus answers, if it has one.
fn ask(at: SocketAddr, query: &str, time: f64) -> Option<f64> {
    let encoded: String = query.bytes().map(|byte| format!("%{byte:02X}")).collect();
    let mut stream = TcpStream::connect(at).ok()?;
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    write!(stream, "GET /api/v1/query?query={encoded}&time={time} HTTP/1.0\r\n\r\n").ok()?;
    let mut reply = String::new();
    stream.read_to_string(&mut reply).ok()?;
    let (_, body) = reply.split_once("\r\n\r\n")?;
    let answer: Json = serde_json::from_str(body).ok()?;
    answer["data"]["result"][0]["value"][1].as_str()?.parse().ok()
}

/// Prometheus with a configuration, until it is dropped.
fn start(program: &Path, folder: &Path, config: &str, option: Option<&str>) -> (Running, SocketAddr) {
    let file = folder.join("prometheus.yml");
    std::fs::write(&file, config).unwrap();
    // A port that was free a moment ago.
    let at = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let child = Command::new(program)
        .arg(format!("--config.file={}", file.display()))
        .arg(format!("--storage.tsdb.path={}", folder.join("data").display()))
        .arg(format!("--web.listen-address={at}"))
        .arg("--web.enable-remote-write-receiver")
        .args(option)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    (Running(child.unwrap()), at)
}

/// The values that Prometheus has of every type, beside those of the formulas.
fn compare(at: SocketAddr, now: u64) {
    let (before, after) = (file_time(now - SECONDS), file_time(now));
    let mut off = Vec::new();
    for kind in types() {
        let (older, newer) = (sample(kind, 1000, before), sample(kind, 1000 + SECONDS, after));
        let expected = match compute(Some(&older), &newer).unwrap() {
            // The engine knows no interval of ours.
            Value::Integer(whole) if Formula::of(kind) == Some(Formula::Delta) => {
                whole as f64 / SECONDS as f64
            }
            Value::Integer(whole) => whole as f64,
            Value::Number(number) => number,
            other => panic!("{other:?}"),
        };
        let query = query(kind, &name(kind), "", "2m").unwrap();
        let found = ask(at, &query, now as f64);
        if found.is_none_or(|found| (found - expected).abs() > 1e-9 * expected.abs().max(1.0)) {
            off.push(format!("{kind}: {query} is {found:?}, not {expected}"));
        }
    }
    assert!(off.is_empty(), "{off:#?}");
}

fn now() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs()
}

fn file_time(seconds: u64) -> FileTime {
    FileTime::from_unix_nanoseconds(i128::from(seconds) * 1_000_000_000).unwrap()
}

/// Sends a request of remote write; its status, 0 while Prometheus starts.
fn write(at: SocketAddr, body: &[u8]) -> u16 {
    let body = snap::raw::Encoder::new().compress_vec(body).unwrap();
    let Ok(mut stream) = TcpStream::connect(at) else { return 0 };
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let length = body.len();
    let head = format!(
        "POST /api/v1/write HTTP/1.0\r\nHost: {at}\r\nContent-Encoding: snappy\r\n\
         Content-Length: {length}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(&body).unwrap();
    let mut reply = String::new();
    let _ = stream.read_to_string(&mut reply);
    reply.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0)
}

#[test]
fn remote_write_gives_the_same_values_and_ends_series() {
    let Some(program) = peer("prometheus") else { return };
    let folder = Scratch::new();
    let (_running, at) = start(&program, &folder, "global: {}\n", None);
    let now = now();
    let columns: Vec<Column> = types().into_iter().map(column).collect();
    let families = families(&columns, "here", Profile::Nt);
    let mut writer = RemoteWrite::new("tally", "here");
    let mut request = |seconds: u64, time: FileTime, cells: &[Cell]| {
        let (body, samples) = writer.request(&families, &Row { time, local_minutes: 0, cells });
        assert!(samples as usize > types().len(), "{seconds}");
        body
    };
    let before = file_time(now - SECONDS);
    let first = request(1000, before, &row(1000, before));
    let begin = Instant::now();
    // Prometheus answers 503 while it reads its files.
    while write(at, &first) != 204 {
        assert!(begin.elapsed() < PATIENCE, "Prometheus does not take a request");
        std::thread::sleep(Duration::from_millis(50));
    }
    let after = file_time(now);
    let mut cells = row(1000 + SECONDS, after);
    assert_eq!(write(at, &request(1000 + SECONDS, after, &cells)), 204);
    compare(at, now);
    // A series that ends is gone at once, and not only after five minutes.
    let gauge = types().iter().position(|kind| *kind == CounterType::PERF_COUNTER_RAWCOUNT).unwrap();
    let name = name(CounterType::PERF_COUNTER_RAWCOUNT);
    let labelled = format!("{name}{{job='tally',instance='here'}}");
    assert!(ask(at, &labelled, now as f64).is_some());
    cells[gauge] = Cell::missing(NoValue::NoInstance);
    assert_eq!(write(at, &request(0, file_time(now + 1), &cells)), 204);
    assert_eq!(ask(at, &labelled, now as f64 + 1.0), None);
}

/// Series in another order have not ended; those that are missing have, once.
#[test]
fn remote_write_ends_only_series_that_are_gone() {
    let kind = CounterType::PERF_COUNTER_RAWCOUNT;
    let columns = |counters: &mut dyn Iterator<Item = usize>| -> Vec<Column> {
        let of = |nth: usize| {
            let mut column = column(kind);
            column.parts.as_mut().unwrap().counter = Part::Name(format!("N {nth}"));
            column
        };
        counters.map(of).collect()
    };
    let mut writer = RemoteWrite::new("tally", "here");
    let mut samples = |counters: &mut dyn Iterator<Item = usize>| {
        let columns = columns(counters);
        let time = file_time(now());
        let one = Cell { sample: Some(sample(kind, 1, time)), ..row(1, time)[0].clone() };
        let cells = vec![Cell { value: Ok(Value::Integer(1)), ..one }; columns.len()];
        let families = families(&columns, "here", Profile::Nt);
        writer.request(&families, &Row { time, local_minutes: 0, cells: &cells }).1
    };
    assert_eq!(samples(&mut (0..200)), 200);
    assert_eq!(samples(&mut (0..200).rev()), 200);
    assert_eq!(samples(&mut (0..200).filter(|nth| nth % 2 == 0)), 100 + 100);
    assert_eq!(samples(&mut (0..200).filter(|nth| nth % 2 == 0)), 100);
    assert_eq!(samples(&mut (50..250)), 200 + 25);
    assert_eq!(samples(&mut std::iter::empty()), 200);
    assert_eq!(samples(&mut std::iter::empty()), 0);
}

/// VictoriaMetrics of a later Debian, which `cargo xtask engines` fetches.
fn victoria_metrics(folder: &Path) -> Option<(Running, SocketAddr)> {
    let Some(engines) = std::env::var_os("TALLYMON_ENGINES") else {
        skip("VictoriaMetrics is not here: 'cargo xtask engines' fetches it");
        return None;
    };
    let at = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let child = Command::new(Path::new(&engines).join("usr/bin/victoria-metrics"))
        .arg(format!("-storageDataPath={}", folder.join("data").display()))
        .arg(format!("-httpListenAddr={at}"))
        // What was written a moment ago is asked for.
        .arg("-search.latencyOffset=0s")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    Some((Running(child.unwrap()), at))
}

#[test]
fn victoria_metrics_has_the_values_of_every_counter_type() {
    let folder = Scratch::new();
    let Some((_running, at)) = victoria_metrics(&folder) else { return };
    let now = now();
    let columns: Vec<Column> = types().into_iter().map(column).collect();
    let families = families(&columns, "here", Profile::Nt);
    let mut writer = RemoteWrite::new("tally", "here");
    for (seconds, time) in [(1000, file_time(now - SECONDS)), (1000 + SECONDS, file_time(now))] {
        let cells = row(seconds, time);
        let (body, _) = writer.request(&families, &Row { time, local_minutes: 0, cells: &cells });
        let begin = Instant::now();
        while write(at, &body) != 204 {
            assert!(begin.elapsed() < PATIENCE, "VictoriaMetrics does not take a request");
            std::thread::sleep(Duration::from_millis(50));
        }
    }
    // Rows are searched once they have left its buffers.
    let mut stream = TcpStream::connect(at).unwrap();
    stream.write_all(b"GET /internal/force_flush HTTP/1.0\r\n\r\n").unwrap();
    stream.read_to_string(&mut String::new()).unwrap();
    compare(at, now);
}

/// Prometheus, after it has scraped two bodies of a type.
fn scraping(
    kind: &'static str,
    bodies: [Vec<u8>; 2],
    option: Option<&str>,
) -> Option<(Running, SocketAddr, Scratch)> {
    let program = peer("prometheus")?;
    let (target, scrapes) = serve(kind, bodies);
    let folder = Scratch::new();
    let config = format!(
        "global:\n  scrape_interval: 1s\nscrape_configs:\n- job_name: tally\n  static_configs:\n  - targets: \
         ['{target}']\n"
    );
    let (running, at) = start(&program, &folder, &config, option);
    let begin = Instant::now();
    // The second scrape is stored when the third begins.
    while scrapes.load(Ordering::SeqCst) < 3 {
        assert!(begin.elapsed() < PATIENCE, "Prometheus does not scrape {kind}");
        std::thread::sleep(Duration::from_millis(50));
    }
    Some((running, at, folder))
}

/// Prometheus' values of two expositions are those of the formulas.
fn compare_scraped(kind: &'static str, exposition: fn(u64, FileTime) -> Vec<u8>, option: Option<&str>) {
    let now = now();
    // The clock of the counters has run for 1000 seconds.
    let first = exposition(1000, file_time(now - SECONDS));
    let bodies = [first, exposition(1000 + SECONDS, file_time(now))];
    let Some((_running, at, _folder)) = scraping(kind, bodies, option) else { return };
    compare(at, now);
}

#[test]
fn queries_of_prometheus_give_the_values_of_every_counter_type() {
    compare_scraped(TextFormat::OpenMetrics.content_type(), exposition, None);
}

#[test]
fn queries_of_prometheus_give_the_values_that_it_scraped_as_protobuf() {
    compare_scraped(metric_family::CONTENT_TYPE, messages, Some(NATIVE));
}

#[test]
fn labels_and_texts_of_protobuf_are_exact() {
    let (now, kind) = (now(), CounterType::PERF_COUNTER_TEXT);
    let hostile = "k)l\\m \"ä\"\n\u{202e}";
    let mut column = Column { counter_type: kind, ..column(CounterType::PERF_COUNTER_RAWCOUNT) };
    let parts = column.parts.as_mut().unwrap();
    (parts.instance, parts.counter) = (Some(InstancePath::new(None, hostile, 0)), Part::Name("T".into()));
    let text = Cell {
        value: Ok(Value::Text(hostile.into())),
        sample: Some(sample(CounterType::PERF_COUNTER_RAWCOUNT, 1, file_time(now))),
        ..Cell::missing(NoValue::FirstSample)
    };
    let families = families(&[column], "here", Profile::Nt);
    let row = Row { time: file_time(now), local_minutes: 0, cells: &[text] };
    let body = metric_family::exposition(&families, &row, false);
    let bodies = [body.clone(), body];
    let Some((_running, at, _folder)) = scraping(metric_family::CONTENT_TYPE, bodies, Some(NATIVE)) else {
        return;
    };
    let quoted = Json::from(hostile);
    let query = format!("nt_o_t_info{{name={quoted},value={quoted}}}");
    let later = now as f64 + 3600.0;
    let found = ask(at, &format!("last_over_time({query}[2h])"), later);
    assert_eq!(found, Some(1.0), "{query}");
}
