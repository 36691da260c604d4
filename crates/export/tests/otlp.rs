//! Requests of OTLP, decoded by OpenTelemetry's own messages for Python.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::Write;
use std::process::{Command, Stdio};

use serde_json::{Value as Json, json};
use tallymon_core::counter::CounterType;
use tallymon_core::flow::{Cell, Column, NoValue, Row, Sample, Value};
use tallymon_core::path::{CounterPath, InstancePath, Part};
use tallymon_core::time::{FileTime, Frequency};
use tallymon_export::otlp::{Otlp, Temporality, partial_success, status_message};
use tallymon_export::profile::Profile;
use tallymon_export::series::{Family, families};
use tallymon_testkit::{peer, skip};

const START: u64 = 2_000_000_000;

fn column(counter: &str, instance: Option<&str>, counter_type: CounterType) -> Column {
    let parts = CounterPath {
        machine: None,
        object: Part::Name("O".into()),
        instance: instance.map(|name| InstancePath::new(None, name, 0)),
        counter: Part::Name(counter.into()),
    };
    Column {
        path: String::new(),
        parts: Some(parts),
        counter_type,
        scale: 0,
        time_base: Frequency(10),
        group: 0,
        wild: false,
        live: None,
    }
}

fn cell(counter_type: CounterType, first: u64, second: u64) -> Cell {
    let time = FileTime::from_unix_nanoseconds(i128::from(START) * 1_000_000_000).unwrap();
    let sample = Sample { counter_type, first, second, frequency: Frequency(10), multi_count: 2, time };
    let value = match counter_type {
        CounterType::PERF_COUNTER_LARGE_RAWCOUNT => Ok(Value::Integer(first)),
        CounterType::PERF_COUNTER_TEXT => Ok(Value::Text("Version \"7\"".into())),
        _ => Err(NoValue::FirstSample),
    };
    Cell { value, sample: Some(sample), stale: false, partial: None, error: None }
}

fn request(otlp: &mut Otlp, families: &[Family], seconds: u64, cells: &[Cell]) -> Option<Json> {
    let time = FileTime::from_unix_nanoseconds(i128::from(START + seconds) * 1_000_000_000).unwrap();
    let (bytes, points) = otlp.request(families, &Row { time, local_minutes: 0, cells });
    let decoded = decode(&bytes)?;
    let metrics = decoded["resourceMetrics"][0]["scopeMetrics"][0]["metrics"].clone();
    let of = |metric: &Json| {
        let kinds = ["gauge", "sum", "histogram"].iter();
        kinds.map(|kind| metric[kind]["dataPoints"].as_array().map_or(0, Vec::len)).sum::<usize>()
    };
    let found: usize = metrics.as_array().map_or(0, |metrics| metrics.iter().map(of).sum());
    assert_eq!(found as u64, points);
    Some(decoded)
}

/// A request as JSON, by the official messages.
fn decode(bytes: &[u8]) -> Option<Json> {
    let script = "import sys
from google.protobuf.json_format import MessageToJson
import opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 as service
Request = service.ExportMetricsServiceRequest
request = Request()
request.ParseFromString(sys.stdin.buffer.read())
print(MessageToJson(request))
";
    let python = peer("python3")?;
    let has_messages = Command::new(&python).args(["-c", "import opentelemetry.proto.metrics.v1"]).output();
    if !has_messages.is_ok_and(|output| output.status.success()) {
        assert!(std::env::var_os("TALLYMON_PEERS").is_none_or(|peers| peers != "required"));
        skip("Python's opentelemetry-proto is not installed");
        return None;
    }
    let mut python = Command::new(python)
        .args(["-c", script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    python.stdin.take().unwrap().write_all(bytes).unwrap();
    let output = python.wait_with_output().unwrap();
    assert!(output.status.success());
    Some(serde_json::from_slice(&output.stdout).unwrap())
}

fn nanoseconds(seconds: u64) -> Json {
    json!(((START + seconds) * 1_000_000_000).to_string())
}

#[test]
fn the_messages_of_opentelemetry_read_every_kind_of_metric() {
    use CounterType as T;
    let table = [
        ("Reads/sec", Some("a"), T::PERF_COUNTER_BULK_COUNT),
        ("% Busy", None, T::PERF_COUNTER_TIMER),
        ("Used Bytes", None, T::PERF_COUNTER_LARGE_RAWCOUNT),
        ("% Free", None, T::PERF_RAW_FRACTION),
        ("Avg. sec/Read", None, T::PERF_AVERAGE_TIMER),
        ("Version", None, T::PERF_COUNTER_TEXT),
    ];
    let columns: Vec<Column> =
        table.iter().map(|(counter, instance, kind)| column(counter, *instance, *kind)).collect();
    let families = families(&columns, "here", Profile::Nt);
    let cells = |by: u64| table.iter().map(|(_, _, kind)| cell(*kind, 30 * by, 120 * by)).collect::<Vec<_>>();
    let resource = vec![("service.name".to_owned(), "tallymon".to_owned())];
    let mut otlp = Otlp::new(resource, Temporality::Cumulative);
    if request(&mut otlp, &families, 0, &cells(1)).is_none() {
        return;
    }
    let decoded = request(&mut otlp, &families, 60, &cells(2)).unwrap();
    let resource = &decoded["resourceMetrics"][0];
    let service = json!({ "key": "service.name", "value": { "stringValue": "tallymon" } });
    assert_eq!(resource["resource"]["attributes"], json!([service]));
    let metrics = &resource["scopeMetrics"][0]["metrics"];
    let (start, time) = (nanoseconds(0), nanoseconds(60));
    let sum = |point: Json| {
        json!({ "dataPoints": [point], "isMonotonic": true,
                "aggregationTemporality": "AGGREGATION_TEMPORALITY_CUMULATIVE" })
    };
    let name = json!([{ "key": "name", "value": { "stringValue": "a" } }]);
    let value = json!([{ "key": "value", "value": { "stringValue": "Version \"7\"" } }]);
    for (metric, unit, kind, expected) in [
        (
            "nt_o_reads",
            Json::Null,
            "sum",
            sum(
                json!({ "startTimeUnixNano": start, "timeUnixNano": time, "asInt": "60", "attributes": name }),
            ),
        ),
        (
            "nt_o_busy_seconds",
            json!("s"),
            "sum",
            sum(json!({ "startTimeUnixNano": start, "timeUnixNano": time, "asDouble": 6.0 })),
        ),
        (
            "nt_o_used_bytes",
            json!("By"),
            "gauge",
            json!({ "dataPoints": [{ "timeUnixNano": time, "asInt": "60" }] }),
        ),
        (
            "nt_o_free_ratio",
            json!("1"),
            "gauge",
            json!({ "dataPoints": [{ "timeUnixNano": time, "asDouble": 0.25 }] }),
        ),
        (
            "nt_o_read_seconds",
            json!("s"),
            "histogram",
            json!({ "dataPoints": [{ "startTimeUnixNano": start, "timeUnixNano": time, "count": "240",
                                     "sum": 6.0, "bucketCounts": ["240"] }],
                    "aggregationTemporality": "AGGREGATION_TEMPORALITY_CUMULATIVE" }),
        ),
        (
            "nt_o_version_info",
            Json::Null,
            "gauge",
            json!({ "dataPoints": [{ "timeUnixNano": time, "asInt": "1", "attributes": value }] }),
        ),
    ] {
        let found = metrics.as_array().unwrap().iter().find(|found| found["name"] == metric).unwrap();
        assert_eq!((&found["unit"], &found[kind]), (&unit, &expected), "{metric}");
        assert!(found["description"].as_str().unwrap().starts_with("\\O"), "{found}");
    }
}

#[test]
fn a_series_begins_again_after_a_reset_a_gap_or_a_clock_that_was_set_back() {
    let kind = CounterType::PERF_COUNTER_BULK_COUNT;
    let families = families(&[column("Reads/sec", None, kind)], "here", Profile::Nt);
    let mut otlp = Otlp::new(Vec::new(), Temporality::Cumulative);
    let missing = Cell::missing(NoValue::NoInstance);
    // Seconds, the cell, and since when it counts.
    for (seconds, cell, start) in [
        (0, cell(kind, 10, 0), Some(0)),
        (60, cell(kind, 20, 0), Some(0)),
        (120, cell(kind, 5, 0), Some(120)),
        (180, cell(kind, 6, 0), Some(120)),
        (240, missing, None),
        (300, cell(kind, 7, 0), Some(300)),
        (290, cell(kind, 8, 0), Some(290)),
        (350, cell(kind, 9, 0), Some(290)),
    ] {
        let Some(decoded) = request(&mut otlp, &families, seconds, &[cell]) else { return };
        let metric = &decoded["resourceMetrics"][0]["scopeMetrics"][0]["metrics"][0];
        let found = &metric["sum"]["dataPoints"][0]["startTimeUnixNano"];
        assert_eq!(found, &start.map_or(Json::Null, nanoseconds), "{seconds}");
    }
}

#[test]
fn differences_are_those_from_the_export_before() {
    let (count, average) = (CounterType::PERF_COUNTER_BULK_COUNT, CounterType::PERF_AVERAGE_BULK);
    let columns = [column("Reads/sec", None, count), column("Avg. Size", None, average)];
    let families = families(&columns, "here", Profile::Nt);
    for (temporality, sum, histogram) in [
        (Temporality::Delta, "15", "30"),
        // Only histograms are differences.
        (Temporality::LowMemory, "25", "30"),
        (Temporality::Cumulative, "25", "70"),
    ] {
        let mut otlp = Otlp::new(Vec::new(), temporality);
        if request(&mut otlp, &families, 0, &[cell(count, 10, 0), cell(average, 1, 40)]).is_none() {
            return;
        }
        let decoded = request(&mut otlp, &families, 60, &[cell(count, 25, 0), cell(average, 4, 70)]).unwrap();
        let metrics = &decoded["resourceMetrics"][0]["scopeMetrics"][0]["metrics"];
        let points = (&metrics[0]["sum"]["dataPoints"][0], &metrics[1]["histogram"]["dataPoints"][0]);
        assert_eq!(
            (&points.0["asInt"], &points.1["count"]),
            (&json!(sum), &json!(histogram)),
            "{temporality:?}"
        );
        assert_eq!(points.0["startTimeUnixNano"], nanoseconds(0));
    }
}

#[test]
fn answers_are_read_as_far_as_they_are_whole() {
    // ExportMetricsServiceResponse { partial_success { rejected_data_points: 3, error_message: "late" } }
    let body = [0x0a, 8, 0x08, 3, 0x12, 4, b'l', b'a', b't', b'e'];
    let partial = partial_success(&body).unwrap();
    assert_eq!((partial.rejected, partial.message.as_str()), (3, "late"));
    for bytes in [&body[..0], &body[..5], &[0x0a, 0], &[0xff; 30], b"<html>"] {
        assert_eq!(partial_success(bytes), None, "{bytes:?}");
    }
    assert_eq!(status_message(&[0x08, 3, 0x12, 2, b'n', b'o']).as_deref(), Some("no"));
    assert_eq!(status_message(b"<html>"), None);
}
