//! OTLP, as OpenTelemetry's SDK for Python sends it.

use std::io::{Read, Write};
use std::net::TcpStream;

use crate::support::{Running, python};

/// A program with every instrument, as users write it.
const PROGRAM: &str = r#"
import os, sys
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.metrics import Observation
from opentelemetry.sdk.metrics import Counter, Histogram, MeterProvider, UpDownCounter
from opentelemetry.sdk.metrics.export import AggregationTemporality, PeriodicExportingMetricReader
from opentelemetry.sdk.metrics.view import ExponentialBucketHistogramAggregation, View
from opentelemetry.sdk.resources import Resource

port, mode, pid = sys.argv[1:]
delta = AggregationTemporality.DELTA
preferred = {Counter: delta, Histogram: delta, UpDownCounter: delta} if mode == "delta" else None
exporter = OTLPMetricExporter(
    endpoint=f"http://127.0.0.1:{port}/v1/metrics",
    compression=Compression.Gzip if mode == "delta" else Compression.NoCompression,
    preferred_temporality=preferred,
)
resource = Resource.create({"service.name": "shop", "service.instance.id": pid})
views = [View(instrument_name="answer.size", aggregation=ExponentialBucketHistogramAggregation())]
reader = PeriodicExportingMetricReader(exporter, export_interval_millis=3_600_000)
provider = MeterProvider(resource=resource, metric_readers=[reader], views=views)
meter = provider.get_meter("lib", "1.0")
orders = meter.create_counter("orders", unit="{order}", description="Orders that were paid.")
busy = meter.create_counter("busy", unit="s")
queue = meter.create_up_down_counter("queue")
duration = meter.create_histogram("http.duration", unit="s", explicit_bucket_boundaries_advisory=[0.1, 0.5])
size = meter.create_histogram("answer.size", unit="By")
meter.create_observable_gauge("temperature", callbacks=[lambda _: [Observation(-3.25, {"room": "a"})]])
orders.add(12345678901234567, {"kind": "book", "paid": True})
orders.add(5)
busy.add(1.5)
queue.add(7)
queue.add(-10)
for seconds in [0.05, 0.25, 0.5, 2.0]:
    duration.record(seconds, {"method": "GET"})
for n in [0, 1, 3, 3.5, 100, 1000]:
    size.record(n)
provider.force_flush()
orders.add(1)
duration.record(0.05, {"method": "GET"})
queue.add(1)
provider.shutdown()
"#;

fn check(mode: &str) {
    let running = Running::otlp();
    let port = running.address().port().to_string();
    if python("opentelemetry.exporter.otlp.proto.http", PROGRAM, &[&port, mode, "p1"]).is_none() {
        return;
    }
    let get = "method=GET,service.instance.id=p1";
    let of = |object: &str, labels: &str, rest: &str| format!("shop {object}({labels}){rest}");
    let id = "service.instance.id=p1";
    let wanted = [
        (of("orders", &format!("kind=book,paid=true,{id}"), r"\Count/sec"), "12345678901234567"),
        (of("orders", id, r"\Count/sec"), "6"),
        (of("orders", id, r"\Total"), "6"),
        (of("busy", id, r"\% Time"), "15000000"),
        (of("busy", id, r"\Total"), "1.5"),
        (of("queue", id, r"\Value"), "-2"),
        (of("temperature", &format!("room=a,{id}"), r"\Value"), "-3.25"),
        (of("http.duration", get, r"\Count/sec"), "5"),
        (of("http.duration", get, r"\Time"), "28500000"),
        (of("http.duration", get, r"\Time base"), "5"),
        (of("http.duration buckets", &format!("method=GET,bucket=-Inf..0.1,{id}"), r"\Count/sec"), "2"),
        (of("http.duration buckets", &format!("method=GET,bucket=0.1..0.5,{id}"), r"\Count/sec"), "2"),
        (of("http.duration buckets", &format!("method=GET,bucket=0.5..+Inf,{id}"), r"\Count/sec"), "1"),
        (of("answer.size", id, r"\Sum"), "1107.5"),
        (of("answer.size", id, r"\Average"), "1107"),
        (of("answer.size", id, r"\Average base"), "6"),
        (of("answer.size buckets", &format!("bucket=0,{id}"), r"\Count/sec"), "1"),
        (of("answer.size buckets", &format!("bucket=0.5..1,{id}"), r"\Count/sec"), "1"),
        (of("answer.size buckets", &format!("bucket=2..4,{id}"), r"\Count/sec"), "2"),
        (of("answer.size buckets", &format!("bucket=64..128,{id}"), r"\Count/sec"), "1"),
        (of("answer.size buckets", &format!("bucket=512..1024,{id}"), r"\Count/sec"), "1"),
    ];
    let wanted: Vec<(&str, &str)> = wanted.iter().map(|(path, value)| (path.as_str(), *value)).collect();
    running.wait_for(&wanted);
    assert_eq!(running.own("Left Out/sec"), "0", "{}", running.own("Last Left Out"));
    // A second process is another series.
    python("opentelemetry.exporter.otlp.proto.http", PROGRAM, &[&port, mode, "p2"]).unwrap();
    let other = r"shop orders(service.instance.id=p2)\Count/sec";
    running.wait_for(&[(r"shop orders(service.instance.id=p1)\Count/sec", "6"), (other, "6")]);
}

#[test]
fn a_program_with_cumulative_metrics_arrives() {
    check("cumulative");
}

#[test]
fn a_program_with_deltas_arrives() {
    check("delta");
}

/// An answer: its status line and headers, and its body.
pub(crate) fn post(running: &Running, headers: &str, body: &[u8]) -> (String, Vec<u8>) {
    let mut stream = TcpStream::connect(running.address()).unwrap();
    let length = body.len();
    write!(stream, "{headers}\r\nHost: localhost\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n")
        .unwrap();
    // A server that refuses a body does not read it to its end.
    let _ = stream.write_all(body);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    let end = answer.windows(4).position(|bytes| bytes == b"\r\n\r\n").unwrap_or_default();
    (String::from_utf8_lossy(&answer[..end]).into_owned(), answer.get(end + 4..).unwrap_or_default().to_vec())
}

const POST_JSON: &str = "POST /v1/metrics HTTP/1.1\r\nContent-Type: application/json";

#[test]
fn json_arrives_and_partial_success_is_told() {
    let running = Running::otlp();
    let body = r#"{"resourceMetrics":[{"scopeMetrics":[{"metrics":[
        {"name":"level","gauge":{"dataPoints":[{"asDouble":2.5},{"asDouble":"NaN"}]}},
        {"name":"level","sum":{"isMonotonic":true,"dataPoints":[{"asInt":"1"}]}}]}]}]}"#;
    let (head, answer) = post(&running, POST_JSON, body.as_bytes());
    assert!(head.starts_with("HTTP/1.1 200") && head.contains("application/json"), "{head}");
    let answer = String::from_utf8(answer).unwrap();
    assert!(
        answer.contains(r#""rejectedDataPoints":"2""#) && answer.contains("infinite or none"),
        "{answer}"
    );
    running.wait_for(&[(r"otlp level(unlabelled)\Value", "2.5")]);
    assert_eq!(running.own("Left Out/sec"), "2");
    let ended = body.replace(r#"{"asDouble":2.5}"#, r#"{"flags":1}"#);
    post(&running, POST_JSON, ended.as_bytes());
    assert!(!running.values().keys().any(|path| path.starts_with("otlp level")));
}

#[test]
fn what_is_no_request_is_refused() {
    let running = Running::otlp();
    let post_as = |kind: &str| format!("POST /v1/metrics HTTP/1.1\r\nContent-Type: {kind}");
    for (head, body, wanted) in [
        ("GET /v1/metrics HTTP/1.1".to_owned(), &b""[..], "405"),
        ("POST /v1/traces HTTP/1.1\r\nContent-Type: application/json".to_owned(), b"{}", "404"),
        (post_as("text/plain"), b"{}", "415"),
        ("POST /v1/metrics HTTP/1.1".to_owned(), b"{}", "415"),
        (format!("{POST_JSON}\r\nContent-Encoding: zstd"), b"{}", "415"),
        (format!("{POST_JSON}\r\nContent-Encoding: gzip"), b"{}", "400"),
        (format!("{POST_JSON}\r\nOrigin: http://localhost"), b"{}", "403"),
        (POST_JSON.to_owned(), b"{", "400"),
        (post_as("application/x-protobuf"), b"{}", "400"),
        (post_as("application/x-protobuf"), b"", "200"),
        (POST_JSON.to_owned(), b"{}", "200"),
        (post_as("Application/JSON; charset=utf-8"), b"{}", "200"),
    ] {
        let (answer, text) = post(&running, &head, body);
        assert!(answer.starts_with(&format!("HTTP/1.1 {wanted}")), "{head} {answer}");
        assert!(wanted == "200" || !text.is_empty(), "{head}");
    }
    assert_eq!(running.own("Left Out/sec"), "9");
}
