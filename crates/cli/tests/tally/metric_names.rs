//! `--metric-names`: our metrics under the names of other collectors, beside these collectors themselves.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value as Json;
use tallymon_testkit::{peer, skip};

use crate::push::{PATIENCE, Running, receiver};
use crate::support::{Folder, has, tally, tally_with};

/// The series of an exposition, with their labels sorted, and their numbers.
fn series(text: &str) -> HashMap<(String, Vec<String>), f64> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let series = lines.map(|line| {
        let (name, value) = line.rsplit_once(' ').unwrap();
        let (name, labels) = name.split_once('{').unwrap_or((name, ""));
        let labels = labels.trim_end_matches('}');
        let mut labels: Vec<String> =
            labels.split_inclusive("\",").map(|label| label.trim_end_matches(',').to_owned()).collect();
        labels.retain(|label| !label.is_empty());
        labels.sort();
        ((name.to_owned(), labels), value.parse().unwrap())
    });
    series.collect()
}

/// What node_exporter answers; `None` while it starts.
fn scraped(at: SocketAddr) -> Option<String> {
    let mut stream = TcpStream::connect(at).ok()?;
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    write!(stream, "GET /metrics HTTP/1.0\r\n\r\n").ok()?;
    let mut reply = String::new();
    stream.read_to_string(&mut reply).ok()?;
    Some(reply.split_once("\r\n\r\n")?.1.to_owned())
}

/// Paths of all counters of these objects.
fn all_of(objects: &[&str]) -> Vec<String> {
    objects.iter().map(|object| format!(r"\{object}\*")).collect()
}

/// Labels of node_exporter that no counter has.
const ITS_OWN: [&str; 2] = ["device=", "fstype="];

#[test]
fn node_exporter_has_the_same_series_with_the_same_numbers() {
    let Some(program) = peer("prometheus-node-exporter") else { return };
    let at = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let mut node = Command::new(program);
    // Every file system and interface, as we list them.
    node.arg(format!("--web.listen-address={at}")).args(["--collector.filesystem.fs-types-exclude", "^$"]);
    node.args(["--collector.filesystem.mount-points-exclude", "^$"]);
    node.args(["--collector.netdev.device-exclude", "^$"]);
    let _running = Running::start(node.stdout(Stdio::null()).stderr(Stdio::null()));
    let begin = Instant::now();
    let before = loop {
        if let Some(text) = scraped(at) {
            break series(&text);
        }
        assert!(begin.elapsed() < PATIENCE);
        std::thread::sleep(Duration::from_millis(50));
    };
    let objects = [
        "Processor(*)",
        "PhysicalDisk(*)",
        "Block Device(*)",
        "File System(*)",
        "Network Interface(*)",
        "Memory",
        "Memory Extended",
        "System",
        "System Extended",
        "Pressure",
        "TCP Extended",
        "UDPv4",
        "UDPv6",
    ];
    let paths = all_of(&objects);
    let mut arguments = vec!["get", "--prometheus", "--metric-names", "node_exporter"];
    arguments.extend(paths.iter().map(String::as_str));
    // Some counters have no value on every machine.
    let ours = series(&tally(&arguments).out);
    let after = series(&scraped(at).unwrap());
    let mut compared = 0;
    for ((name, labels), value) in &ours {
        if !name.starts_with("node_") {
            assert!(name.starts_with("nt_"), "{name}");
            continue;
        }
        let is_same = |known: &&(String, Vec<String>)| {
            let own = |label: &&String| {
                !name.starts_with("node_filesystem") || !ITS_OWN.iter().any(|own| label.starts_with(own))
            };
            known.0 == *name && known.1.iter().filter(own).eq(labels.iter())
        };
        let Some(key) = after.keys().find(is_same) else {
            assert!(after.keys().any(|(known, _)| known == name), "node_exporter has no {name}");
            // It leaves out what it cannot ask, such as file systems without a name.
            assert!(name.starts_with("node_filesystem"), "node_exporter has no {name}{labels:?}");
            continue;
        };
        let (Some(first), Some(last)) = (before.get(key), after.get(key)) else { continue };
        compared += 1;
        // Ours lies between two of its own, unless a number goes up and down or starts again at 2^32. Its
        // user time is without that of nice programs, its idle time without waiting.
        let grows = name.ends_with("_total") && last >= first;
        if grows && !matches!(name.as_str(), "node_cpu_seconds_total") && *last < 4e9 {
            let slack = 0.011_f64.max(last * 1e-9);
            assert!(
                *first - slack <= *value && *value <= *last + slack,
                "{name}{labels:?}: {first} {value} {last}"
            );
        }
        if name.ends_with("_bytes") || name == "node_boot_time_seconds" {
            let near = (value - last).abs() <= 0.25 * last.abs() + 64e6;
            assert!(near, "{name}{labels:?}: {value}, there {last}");
        }
    }
    assert!(compared > 40, "{compared}");
}

#[test]
fn the_names_of_windows_exporter_have_its_labels() {
    let paths = [
        r"\Processor Information(*)\% User Time",
        r"\Process(*)\Working Set",
        r"\Memory\Available Bytes",
        r"\LogicalDisk(/)\% Free Space",
        r"\System\System Calls/sec",
        r"\Thread(*)\Priority Base",
    ];
    let mut arguments = vec!["get", "--openmetrics", "--metric-names", "windows_exporter"];
    arguments.extend(paths);
    let ran = tally(&arguments);
    has(
        &ran.out,
        &[
            "# TYPE windows_cpu_time counter",
            "windows_cpu_time_total{core=\"0,0\",mode=\"user\"} ",
            "# UNIT windows_process_working_set_bytes bytes",
            ",process_id=\"",
            "windows_memory_available_bytes ",
            "windows_memory_physical_free_bytes ",
            "windows_logical_disk_size_bytes{volume=\"/\"} ",
            // What it has no name for keeps ours.
            "nt_thread_priority_base{name=\"",
        ],
    );
    assert!(!ran.out.contains("_Total") && !ran.out.contains("process=\"sh#"), "{}", ran.out);
}

/// What OpenTelemetry's package for Python says of a metric: its instrument and its unit; and its attributes.
fn conventions() -> Option<Json> {
    let script = "import json, pathlib, re
import opentelemetry.semconv._incubating.metrics as metrics
root = pathlib.Path(list(metrics.__path__)[0])
known = {}
for file in ('system_metrics', 'process_metrics'):
    text = (root / (file + '.py')).read_text()
    for name, words in re.findall(r'Final = \"([^\"]+)\"\\n\"\"\"\\n(.*?)\"\"\"', text, re.S):
        kind = re.search(r'Instrument: (\\w+)', words)
        unit = re.search(r'Unit: (\\S+)', words)
        if kind: known[name] = [kind[1], unit[1]]
attributes = []
for file in root.parent.joinpath('attributes').glob('*.py'):
    attributes += re.findall(r'Final = \"([^\"]+)\"', file.read_text())
print(json.dumps([known, attributes]))
";
    let output = Command::new(peer("python3")?).args(["-c", script]).output().unwrap();
    if !output.status.success() {
        assert!(std::env::var_os("TALLYMON_PEERS").is_none_or(|peers| peers != "required"));
        skip("Python's opentelemetry-semantic-conventions is not installed");
        return None;
    }
    Some(serde_json::from_slice(&output.stdout).unwrap())
}

#[test]
fn semantic_conventions_are_those_of_opentelemetry() {
    let (Some(known), Some((_server, address, mut requests))) = (conventions(), receiver(0)) else { return };
    let folder = Folder::new();
    let objects = [
        "Processor(*)",
        "PhysicalDisk(*)",
        "Block Device(*)",
        "File System(*)",
        "Network Interface(*)",
        "Memory",
        "Memory Extended",
        "System",
        "Process(*)",
    ];
    let paths = all_of(&objects);
    let mut arguments = vec!["push", "--metric-names", "semconv", "--otlp", &address, "-c", "1"];
    arguments.extend(["--wait", "100s"]);
    arguments.extend(paths.iter().map(String::as_str));
    // The receiver prints more than a pipe holds: it is read meanwhile.
    let request = std::thread::scope(|scope| {
        let pushing = scope.spawn(|| {
            tally_with(&arguments, |command| {
                command.env("XDG_STATE_HOME", folder.path());
                command.env_remove("TALLYMON_ROOT").env_remove("TALLY_ROOT");
            })
        });
        let request = requests.next().unwrap();
        pushing.join().unwrap();
        request
    });
    let metrics = &request["request"]["resourceMetrics"][0]["scopeMetrics"][0]["metrics"];
    let mut found = 0;
    for metric in metrics.as_array().unwrap() {
        let name = metric["name"].as_str().unwrap();
        if name.starts_with("nt_") {
            continue;
        }
        found += 1;
        let is_monotonic = metric["sum"]["isMonotonic"] == true;
        let instrument = match (metric["sum"].is_object(), is_monotonic) {
            (true, true) => "counter",
            (true, false) => "updowncounter",
            (false, _) => "gauge",
        };
        let expected = &known[0][name];
        assert_eq!([instrument, metric["unit"].as_str().unwrap()], [&expected[0], &expected[1]], "{name}");
        let points = metric[if instrument == "gauge" { "gauge" } else { "sum" }]["dataPoints"].clone();
        for attribute in points[0]["attributes"].as_array().into_iter().flatten() {
            let key = &attribute["key"];
            assert!(known[1].as_array().unwrap().contains(key), "{name}: {key} is no attribute");
            if key == "process.pid" || key == "cpu.logical_number" {
                assert!(attribute["value"]["intValue"].is_string(), "{attribute}");
            }
        }
    }
    assert!(found > 20, "{found} of {metrics}");
}

#[test]
fn telegraf_has_computed_values_in_one_line_of_each_instance() {
    let paths = [r"\Processor(0)\% Idle Time", r"\Processor(0)\% User Time", r"\Memory\Available Bytes"];
    let mut arguments = vec!["get", "--prometheus", "--metric-names", "telegraf", "-i", "100ms"];
    arguments.extend(paths);
    let ran = tally(&arguments);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let series = series(&ran.out);
    let labels = ["instance=\"0\"", "objectname=\"Processor\""].map(str::to_owned).to_vec();
    let idle = series[&("win_cpu_Percent_Idle_Time".to_owned(), labels)];
    assert!((0.0..=110.0).contains(&idle), "a share of 100: {idle}");
    tally(&["get", "--prometheus", "--metric-names", "Telegraf", r"\Memory\*"]).words(2);
}
