//! Samples of Prometheus: the values and rates of a dump are those that its lines give.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use tallymon_log::{Cooker, Format, ReadOptions, open, read_bytes};
use tallymon_testkit::{Ends, Scratch, peer};

/// Samples of each series by milliseconds, with the labels as in our paths.
fn parse(dump: &str) -> HashMap<(String, String), Vec<(i64, f64)>> {
    let mut series: HashMap<(String, String), Vec<(i64, f64)>> = HashMap::new();
    for line in dump.lines() {
        let (labels, rest) = line.rsplit_once("} ").unwrap();
        let mut name = String::new();
        let mut texts = Vec::new();
        for label in labels.trim_start_matches('{').split("\", ") {
            let (key, text) = label.split_once("=\"").unwrap();
            let text = text.trim_end_matches('"');
            if key == "__name__" { name = text.to_owned() } else { texts.push(format!("{key}={text}")) }
        }
        let (value, time) = rest.split_once(' ').unwrap();
        let sample = (time.parse().unwrap(), value.parse().unwrap());
        series.entry((name, texts.join(","))).or_default().push(sample);
    }
    series
}

#[test]
fn a_dump_has_its_values_and_rates() {
    compare(&Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/import/promtool.txt"));
}

/// A Prometheus that asks itself each second, and what promtool prints of its blocks afterwards.
#[test]
fn a_dump_of_this_machine_has_its_values_and_rates() {
    let (Some(prometheus), Some(promtool)) = (peer("prometheus"), peer("promtool")) else { return };
    let folder = Scratch::new();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let configuration = format!(
        "scrape_configs:\n- job_name: self\n  scrape_interval: 1s\n  static_configs:\n  \
         - targets: [\"127.0.0.1:{port}\"]\n"
    );
    std::fs::write(folder.join("prometheus.yml"), configuration).unwrap();
    let mut server = Command::new(prometheus);
    server.arg("--config.file=prometheus.yml").arg("--storage.tsdb.path=data");
    server.arg(format!("--web.listen-address=127.0.0.1:{port}")).arg("--web.enable-lifecycle");
    server.current_dir(&*folder).stdout(Stdio::null()).stderr(Stdio::null());
    let mut server = Ends(server.spawn().unwrap());
    let ask = |words: &str| {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
        write!(stream, "{words} HTTP/1.0\r\n\r\n").ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        Some(answer)
    };
    // Three samples of itself.
    let counted = "GET /api/v1/query?query=count_over_time(up[1h])";
    let has_three = |answer: String| (3..9).any(|count| answer.contains(&format!("\"{count}\"]")));
    let since = Instant::now();
    while !ask(counted).is_some_and(has_three) {
        assert!(since.elapsed() < Duration::from_secs(120), "Prometheus has no three samples of itself");
        std::thread::sleep(Duration::from_millis(200));
    }
    assert!(ask("POST /-/quit").is_some());
    assert!(server.0.wait().unwrap().success());
    let dump = Command::new(promtool).args(["tsdb", "dump", "data"]).current_dir(&*folder).output().unwrap();
    assert!(dump.status.success(), "{}", String::from_utf8_lossy(&dump.stderr));
    std::fs::write(folder.join("dump.txt"), &dump.stdout).unwrap();
    compare(&folder.join("dump.txt"));
}

/// Compares a dump with what is read of it.
fn compare(path: &Path) {
    let series = parse(&std::fs::read_to_string(path).unwrap());
    let mut log = open(path, &ReadOptions::default()).unwrap();
    assert_eq!(log.about().format, Format::OpenMetrics);
    let mut cooker = Cooker::default();
    let (mut values, mut rates) = (0, 0);
    while let Some(record) = log.next_record().unwrap() {
        let cooked = cooker.cook(&record);
        for (at, column) in log.about().columns.iter().enumerate().filter(|(at, _)| !log.is_stale(*at)) {
            let (Some(Ok(value)), Some(Ok(sample))) = (cooked.get(at), record.cells.get(at)) else {
                continue;
            };
            let (object, rest) = column.path.trim_start_matches('\\').split_once('(').unwrap();
            let (labels, counter) = rest.rsplit_once(")\\").unwrap();
            let samples = &series[&(object.to_owned(), labels.to_owned())];
            let time = i64::try_from(sample.time.unix_nanoseconds() / 1_000_000).unwrap();
            let nth = samples.iter().position(|(known, _)| *known == time).unwrap();
            let ours = value.as_f64().unwrap();
            let expected = if counter == "Value" {
                values += 1;
                samples[nth].1
            } else {
                rates += 1;
                (samples[nth].1 - samples[nth - 1].1) / ((time - samples[nth - 1].0) as f64 / 1000.0)
            };
            assert!(
                (ours - expected).abs() <= 1e-6 * expected.abs().max(1e-3),
                "{}: {ours}, {expected}",
                column.path
            );
        }
    }
    assert_eq!(log.about().notes.damage, []);
    assert!(values > 100 && rates > 100, "{values} values, {rates} rates");
}

#[test]
fn openmetrics_with_and_without_times() {
    let lines = [
        "# TYPE jobs counter",
        r#"jobs_total{a="x\"y"} 10 100.5"#,
        r#"jobs_total{a="x\"y"} 30 110.5 # {id="1"} 1"#,
        "# TYPE heat gauge",
        "heat 1.5 100.5",
        "heat 2.5 110.5",
        "broken{",
        "# EOF",
    ];
    let text = lines.join("\n");
    let mut log = read_bytes(text.as_bytes(), &ReadOptions::default()).unwrap();
    let mut cooker = Cooker::default();
    let mut rows = Vec::new();
    while let Some(record) = log.next_record().unwrap() {
        rows.push(cooker.cook(&record).iter().map(|value| value.as_ref().ok()?.as_f64()).collect::<Vec<_>>());
    }
    assert_eq!(rows, [[None, Some(1.5)], [Some(2.0), Some(2.5)]]);
    let paths: Vec<&str> = log.about().columns.iter().map(|column| column.path.as_str()).collect();
    assert_eq!(paths, [r#"\jobs_total(a=x"y)\Rate/sec"#, r"\heat\Value"]);
    assert_eq!(log.about().notes.damage.len(), 1, "{:?}", log.about().notes);
    let error =
        read_bytes(b"# TYPE heat gauge\nheat 1.5\n", &ReadOptions::default()).err().unwrap().to_string();
    assert!(error.contains("without times"), "{error}");
}

/// A text whose name and first line say nothing is known by its lines.
#[test]
fn samples_without_a_heading_are_known_by_their_content() {
    let text = "# written by a script\nqueue_length{site=\"köln\"} 5 1795444800000\n\
                up 1 1795444800000\nqueue_length{site=\"köln\"} 7 1795444801000\nup 1 1795444801000\n";
    let mut log = read_bytes(text.as_bytes(), &ReadOptions::default()).unwrap();
    let mut records = 0;
    while log.next_record().unwrap().is_some() {
        records += 1;
    }
    assert_eq!((log.about().format, records, log.about().columns.len()), (Format::OpenMetrics, 2, 2));
    // A long one is judged by its first lines; a letter may be cut there.
    let long: String = (0..2000).map(|at| format!("w{{x=\"ä\"}} {at} {}\n", 1_795_444_800 + at)).collect();
    assert_eq!(Format::detect(long.as_bytes()), Some(Format::OpenMetrics));
    for other in
        ["up 1\n", "one 1 two\n", "12:30 1 5\n", "a 1 5\nand more words\n", "", "\n", "# only words\n"]
    {
        assert_eq!(Format::detect(other.as_bytes()), None, "{other:?}");
    }
}
