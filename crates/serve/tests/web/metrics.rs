//! `/metrics`: who may read it, what it answers, and what Prometheus makes of it.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tallymon::Location;
use tallymon_serve::{MetricsAccess, Options, ServeError, Server};
use tallymon_testkit::{Scratch, attack, peer};

use crate::client::{PATIENCE, Reply, Running, options};

const OPEN: &str = "Accept: application/openmetrics-text;version=1.0.0\r\n";

fn serving(access: MetricsAccess) -> Running {
    Running::with(Options { live: Some(Location::Local), metrics: Some(access), ..options() })
}

fn scrape(server: &Running, target: &str, more: &str) -> Reply {
    let at = server.at;
    server.send(&format!("GET {target} HTTP/1.1\r\nHost: {at}\r\nConnection: close\r\n{more}\r\n"))
}

#[test]
fn attack_metrics_without_the_right_to_them() {
    let server = serving(MetricsAccess::Token);
    assert_eq!(scrape(&server, "/metrics", "").status, 401);
    let token = format!("Authorization: Bearer {}\r\n", server.token);
    assert_eq!(scrape(&server, "/metrics?objects=System", &token).status, 200);
    let server = serving(MetricsAccess::Local);
    assert_eq!(scrape(&server, "/metrics?objects=System", "").status, 200);
    // The page and its data still need the token, and other sites get nothing.
    assert_eq!(scrape(&server, "/api/v1/hosts", "").status, 401);
    assert_eq!(scrape(&server, "/metrics", "Origin: http://evil.example\r\n").status, 403);
    assert_eq!(scrape(&server, "/metrics", "Sec-Fetch-Site: cross-site\r\n").status, 403);
    let rebound = server.send("GET /metrics HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n");
    assert_eq!(rebound.status, 421);
    let server = Running::start(true, &[]);
    let token = format!("Authorization: Bearer {}\r\n", server.token);
    assert_eq!(scrape(&server, "/metrics", "").status, 401);
    assert_eq!(scrape(&server, "/metrics", &token).status, 404);
    attack(
        "pages",
        "another program or site reads /metrics",
        "refused, unless every user of this machine may read them; other sites never may",
    );
}

#[test]
fn a_token_that_was_kept_is_used_and_a_weak_one_refused() {
    let token = "0123456789abcdef.-_~";
    let server = Running::with(Options {
        live: Some(Location::Local),
        metrics: Some(MetricsAccess::Token),
        token: Some(token.into()),
        ..options()
    });
    let bearer = format!("Authorization: Bearer {token}\r\n");
    assert_eq!(scrape(&server, "/metrics?objects=System", &bearer).status, 200);
    for weak in ["", "short", "0123456789abcde&token", "0123456789 abcdef"] {
        let refused = Server::bind(Options { token: Some(weak.into()), ..options() });
        assert!(matches!(refused, Err(ServeError::Token)), "{weak}");
    }
}

#[test]
fn the_format_follows_accept_and_the_series_the_selection() {
    let server = serving(MetricsAccess::Local);
    let open = scrape(&server, "/metrics?objects=System,4", OPEN);
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    assert_eq!((open.status, open.header("content-type")), (200, Some(kind)));
    assert!(open.text().ends_with("\n# EOF\n") && open.text().contains("\nnt_memory_available_bytes "));
    assert!(open.text().contains("\nnt_system_processes ") && !open.text().contains("\nnt_processor_"));
    // Its length, then field 1: the name of the first family.
    let accept = "Accept: application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;\
                  encoding=delimited,application/openmetrics-text;version=1.0.0;q=0.8\r\n";
    let messages = scrape(&server, "/metrics?path=%5CMemory%5CAvailable+Bytes", accept);
    let kind = "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited";
    assert_eq!((messages.status, messages.header("content-type")), (200, Some(kind)));
    let name = b"\x0a\x19nt_memory_available_bytes";
    assert!(messages.body.windows(name.len()).any(|window| window == name), "{:?}", messages.body);
    let named = scrape(&server, "/metrics?objects=Memory&names=node_exporter", OPEN);
    assert!(named.text().contains("\nnode_memory_MemAvailable_bytes "), "{}", named.text());
    let few = scrape(&server, "/metrics?objects=Process&top=2", OPEN);
    let times = few.text().lines().filter(|line| line.starts_with("nt_process_thread{")).count();
    assert!((3..=6).contains(&times) && few.text().contains("{name=\"_Other\"}"), "{}", few.text());
    let unknown = scrape(&server, "/metrics?objects=Memory&names=nagios", "");
    assert!(unknown.status == 400 && unknown.text().contains("telegraf"), "{}", unknown.text());
    let text = scrape(&server, "/metrics?path=%5CProcess(*)%5CID+Process", "");
    assert_eq!(text.header("content-type"), Some("text/plain; version=0.0.4; charset=utf-8"));
    // The label is the process that the number is of.
    let own = format!("process_id=\"{0}\"}} {0}\n", std::process::id());
    assert!(text.text().contains(&own), "{}", text.text());
    assert!(text.text().contains("\nnt_process_id_process{name=") && !text.text().contains("# EOF"));
    // Without a selection: everything but what has no bound.
    let all = scrape(&server, "/metrics", "Accept-Encoding: gzip\r\n");
    assert_eq!(all.header("content-encoding"), Some("gzip"));
    let mut usual = String::new();
    flate2::read::GzDecoder::new(all.body.as_slice()).read_to_string(&mut usual).unwrap();
    assert!(usual.contains("\nnt_processor_") && usual.contains("\nnt_logicaldisk_"), "{usual}");
    assert!(!usual.contains("\nnt_process_") && !usual.contains("\nnt_thread_"));
    for (target, status, word) in [
        ("/metrics?objects=No+Such+Object", 404, "No Such Object"),
        ("/metrics?path=%5CMemory%5CAvailable+Bites", 404, "Available Bytes"),
        (&format!("/metrics?{}", "objects=1,2,3,&path=x&".repeat(400)), 400, "parameters"),
        (
            &format!("/metrics?objects={}", (0..300).map(|n| n.to_string() + ",").collect::<String>()),
            400,
            "at most",
        ),
    ] {
        let reply = scrape(&server, target, "");
        assert_eq!(reply.status, status, "{}", reply.text());
        assert!(reply.text().contains(word), "{}", reply.text());
    }
    let token = format!("Authorization: Bearer {}\r\n", server.token);
    assert_eq!(
        server.send(&format!("POST /metrics HTTP/1.1\r\nHost: {}\r\n{token}\r\n", server.at)).status,
        405
    );
}

/// Prometheus with a configuration, until it is dropped.
struct Prometheus {
    child: Child,
    at: SocketAddr,
    _folder: Scratch,
}

impl Prometheus {
    fn start(program: &std::path::Path, server: &Running, option: Option<&str>) -> Prometheus {
        let folder = Scratch::new();
        let config = format!(
            "global:\n  scrape_interval: 1s\nscrape_configs:\n- job_name: tally\n  params:\n    \
             objects: ['System,Memory,Processor']\n  authorization:\n    credentials: {}\n  \
             static_configs:\n  - targets: ['{}']\n",
            server.token, server.at
        );
        let file = folder.join("prometheus.yml");
        std::fs::write(&file, config).unwrap();
        // A port that was free a moment ago.
        let at = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let child = Command::new(program)
            .arg(format!("--config.file={}", file.display()))
            .arg(format!("--storage.tsdb.path={}", folder.join("data").display()))
            .arg(format!("--web.listen-address={at}"))
            .args(option)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        Prometheus { child, at, _folder: folder }
    }

    /// The results of a query; none while Prometheus starts.
    fn query(&self, query: &str) -> Vec<Value> {
        let encoded: String = query.bytes().map(|byte| format!("%{byte:02X}")).collect();
        let Ok(mut stream) = TcpStream::connect(self.at) else { return Vec::new() };
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let head = format!("GET /api/v1/query?query={encoded} HTTP/1.0\r\nHost: {}\r\n\r\n", self.at);
        stream.write_all(head.as_bytes()).unwrap();
        let reply = Reply::read(stream);
        let answer: Value = serde_json::from_slice(&reply.body).unwrap_or_default();
        answer["data"]["result"].as_array().cloned().unwrap_or_default()
    }

    fn wait(&self, query: &str, wanted: impl Fn(&[Value]) -> bool) -> Vec<Value> {
        let begin = Instant::now();
        loop {
            let results = self.query(query);
            if wanted(&results) {
                return results;
            }
            assert!(begin.elapsed() < PATIENCE, "{query}: {results:?}");
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Prometheus scrapes this machine, and has a share and a gauge.
fn scraped(option: Option<&str>) {
    let Some(program) = peer("prometheus") else { return };
    let server = serving(MetricsAccess::Token);
    let prometheus = Prometheus::start(&program, &server, option);
    prometheus.wait("up{job='tally'} == 1", |found| found.len() == 1);
    let number = |value: &Value| value["value"][1].as_str().unwrap().parse::<f64>().unwrap();
    // A share lies between none and all, whatever the machine does meanwhile.
    let idle = "rate(nt_processor_processor_time_idle_seconds_total{name=~'[0-9]+'}[10s])";
    for share in prometheus.wait(idle, |found| !found.is_empty()) {
        assert!((-0.1..=1.1).contains(&number(&share)), "{share}");
    }
    let bytes = prometheus.wait("nt_memory_available_bytes", |found| !found.is_empty());
    assert!(number(&bytes[0]) > 1e6, "{bytes:?}");
}

#[test]
fn prometheus_scrapes_this_machine() {
    scraped(None);
}

#[test]
fn prometheus_scrapes_this_machine_as_protobuf() {
    // Prometheus 2.42 prefers protobuf only with this option, and then before all others.
    scraped(Some("--enable-feature=native-histograms"));
}
