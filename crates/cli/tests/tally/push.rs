//! `tally push` to receivers that we did not write: OpenTelemetry's messages behind an HTTP server of Python,
//! and Prometheus.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value as Json;
use tallymon_testkit::{peer, skip};

use crate::support::{AVAILABLE, Folder, Ran, has, tally_with};

/// Longer than anything takes on a loaded machine; a test that waits so long fails.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// A program that ends with the test.
pub(crate) struct Running(Child);

impl Running {
    pub(crate) fn start(command: &mut Command) -> Running {
        Running(command.spawn().unwrap())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A receiver of OTLP that prints each request as JSON, with its headers. It refuses as many requests as it
/// is told, with status 503.
pub(crate) fn receiver(refusals: usize) -> Option<(Running, String, impl Iterator<Item = Json>)> {
    let script = "import gzip, http.server, json, sys
from google.protobuf.json_format import MessageToDict
import opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 as service
Request = service.ExportMetricsServiceRequest
left = int(sys.argv[1])
class Taker(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        global left
        body = self.rfile.read(int(self.headers['Content-Length']))
        status = 503 if left > 0 else 200
        left -= 1
        if status == 200:
            if self.headers['Content-Encoding'] == 'gzip':
                body = gzip.decompress(body)
            request = Request()
            request.ParseFromString(body)
            print(json.dumps({'path': self.path, 'headers': {k.lower(): v for k, v in self.headers.items()},
                              'request': MessageToDict(request)}), flush=True)
        self.send_response(status)
        self.send_header('Content-Length', '0')
        self.end_headers()
    def log_message(self, *_): pass
server = http.server.HTTPServer(('127.0.0.1', 0), Taker)
print(server.server_port, flush=True)
server.serve_forever()
";
    let python = peer("python3")?;
    let has_messages = Command::new(&python).args(["-c", "import opentelemetry.proto.metrics.v1"]).output();
    if !has_messages.is_ok_and(|output| output.status.success()) {
        assert!(std::env::var_os("TALLYMON_PEERS").is_none_or(|peers| peers != "required"));
        skip("Python's opentelemetry-proto is not installed");
        return None;
    }
    let mut server = Command::new(python);
    server.args(["-c", script, &refusals.to_string()]).stdout(Stdio::piped());
    let mut server = Running(server.spawn().unwrap());
    let mut lines = BufReader::new(server.0.stdout.take().unwrap()).lines();
    let port = lines.next().unwrap().unwrap();
    let requests = lines.map(|line| serde_json::from_str(&line.unwrap()).unwrap());
    Some((server, format!("http://127.0.0.1:{port}"), requests))
}

/// Runs `tally push` with its queue in a folder, and with variables.
fn push(folder: &Folder, arguments: &[&str], variables: &[(&str, &str)]) -> Ran {
    let mut all = vec!["push", AVAILABLE, r"\Processor(*)\% Processor Time"];
    all.extend(arguments);
    tally_with(&all, |command| {
        command.env("XDG_STATE_HOME", folder.path()).env_remove("TALLYMON_ROOT").env_remove("TALLY_ROOT");
        command.envs(variables.iter().copied());
    })
}

/// The names of the metrics of a request.
pub(crate) fn metrics(request: &Json) -> Vec<&str> {
    let metrics = &request["request"]["resourceMetrics"][0]["scopeMetrics"][0]["metrics"];
    metrics.as_array().unwrap().iter().map(|metric| metric["name"].as_str().unwrap()).collect()
}

const NAMES: [&str; 2] = ["nt_memory_available_bytes", "nt_processor_processor_time_idle_seconds"];

#[test]
fn opentelemetry_gets_every_sample_though_it_was_busy() {
    let Some((_server, address, mut requests)) = receiver(2) else { return };
    let folder = Folder::new();
    let ran = push(&folder, &["--otlp", &address, "-c", "2", "-i", "100ms", "--wait", "100s"], &[]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), ""), "{}", ran.err);
    has(&ran.err, &["503 Service Unavailable", "taken again"]);
    let first = requests.next().unwrap();
    assert_eq!((first["path"].as_str(), metrics(&first)), (Some("/v1/metrics"), NAMES.to_vec()));
    let times: Vec<Json> = [first, requests.next().unwrap()].map(time).into();
    assert!(times[0].as_str() < times[1].as_str(), "{times:?}");
}

/// The time of the first point of a request.
pub(crate) fn time(request: Json) -> Json {
    let metric = &request["request"]["resourceMetrics"][0]["scopeMetrics"][0]["metrics"][0];
    metric["gauge"]["dataPoints"][0]["timeUnixNano"].clone()
}

#[test]
fn the_variables_of_opentelemetry_are_obeyed() {
    let Some((_server, address, mut requests)) = receiver(0) else { return };
    let folder = Folder::new();
    let variables = [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", &*format!("{address}/base/")),
        ("OTEL_EXPORTER_OTLP_HEADERS", "api-key=a%20b"),
        ("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip"),
        ("OTEL_SERVICE_NAME", "shop"),
        ("OTEL_RESOURCE_ATTRIBUTES", "service.name=other,deployment.environment=test"),
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json"),
    ];
    let ran = push(&folder, &["-c", "1", "--header", "X-Scope-OrgID: 7"], &variables);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    has(&ran.err, &["OTEL_EXPORTER_OTLP_PROTOCOL", "\"http/json\""]);
    let request = requests.next().unwrap();
    assert_eq!((request["path"].as_str(), metrics(&request)), (Some("/base/v1/metrics"), NAMES.to_vec()));
    let headers = &request["headers"];
    for (name, value) in [("api-key", "a b"), ("content-encoding", "gzip"), ("x-scope-orgid", "7")] {
        assert_eq!(headers[name], value, "{headers}");
    }
    let resource = request["request"]["resourceMetrics"][0]["resource"]["attributes"].to_string();
    has(&resource, &["\"shop\"", "\"deployment.environment\"", "\"host.name\""]);
    assert!(!resource.contains("\"other\""), "{resource}");
    // The address of the environment is one for gRPC then; that of the command line is not.
    let grpc =
        [("OTEL_EXPORTER_OTLP_ENDPOINT", "http://localhost:4317"), ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")];
    let refused = push(&folder, &["-c", "1"], &grpc);
    has(&refused.words(2), &["OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf", "4318", "--otlp"]);
    let taken = push(&folder, &["-c", "1", "--otlp", &address], &grpc);
    assert_eq!(taken.code, Some(0), "{}", taken.err);
    has(&taken.err, &["OTEL_EXPORTER_OTLP_PROTOCOL", "gRPC"]);
}

#[test]
fn what_was_not_taken_is_sent_by_the_next_run() {
    let folder = Folder::new();
    // A port that nobody listens to any longer.
    let at = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let queue = folder.file("queue");
    let options = ["-c", "1", "--queue", &queue];
    let nowhere = format!("http://{at}");
    let mut arguments = vec!["--otlp", &nowhere, "--wait", "10ms"];
    arguments.extend(options);
    let ran = push(&folder, &arguments, &[]);
    assert_eq!(ran.code, Some(6), "{}", ran.err);
    has(&ran.err, &["1 samples were not taken", &queue]);
    let Some((_server, address, requests)) = receiver(0) else { return };
    let mut arguments = vec!["--otlp", &address, "--wait", "100s"];
    arguments.extend(options);
    let ran = push(&folder, &arguments, &[]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    has(&ran.err, &["1 samples of an earlier run"]);
    let times: Vec<Json> = requests.take(2).map(time).collect();
    assert!(times[0].as_str() < times[1].as_str(), "{times:?}");
}

/// Prometheus with its receiver of remote write.
pub(crate) fn prometheus(folder: &Folder) -> Option<(Running, SocketAddr)> {
    let program = peer("prometheus")?;
    let config = folder.write("prometheus.yml", b"global: {}\n");
    // A port that was free a moment ago.
    let at = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let child = Command::new(program)
        .arg(format!("--config.file={config}"))
        .arg(format!("--storage.tsdb.path={}", folder.file("data")))
        .arg(format!("--web.listen-address={at}"))
        .arg("--web.enable-remote-write-receiver")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    Some((Running(child.unwrap()), at))
}

/// The series that Prometheus answers.
pub(crate) fn ask(at: SocketAddr, query: &str) -> Vec<Json> {
    let encoded: String = query.bytes().map(|byte| format!("%{byte:02X}")).collect();
    let mut stream = TcpStream::connect(at).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    write!(stream, "GET /api/v1/query?query={encoded} HTTP/1.0\r\n\r\n").unwrap();
    let mut reply = String::new();
    stream.read_to_string(&mut reply).unwrap();
    let (_, body) = reply.split_once("\r\n\r\n").unwrap();
    let answer: Json = serde_json::from_str(body).unwrap();
    answer["data"]["result"].as_array().unwrap().clone()
}

#[test]
fn prometheus_takes_remote_write() {
    let folder = Folder::new();
    let Some((_running, at)) = prometheus(&folder) else { return };
    // While Prometheus starts it is not there, or answers 503: the samples wait.
    let address = format!("http://{at}/api/v1/write");
    let arguments = ["--remote-write", &address, "-c", "3", "-i", "1s", "--wait", "100s"];
    let ran = push(&folder, &arguments, &[]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let begin = Instant::now();
    let series = loop {
        let series = ask(at, "nt_memory_available_bytes{job='tally'}[5m]");
        if !series.is_empty() {
            break series;
        }
        assert!(begin.elapsed() < PATIENCE);
        std::thread::sleep(Duration::from_millis(50));
    };
    assert_eq!(series[0]["values"].as_array().unwrap().len(), 3, "{series:?}");
    let idle = ask(at, "nt_processor_processor_time_idle_seconds_total");
    assert!(!idle.is_empty() && idle.iter().all(|series| series["metric"]["name"].is_string()), "{idle:?}");
}

#[test]
fn the_largest_processes_are_sent_and_the_others_as_their_sum() {
    let Some((_server, address, requests)) = receiver(0) else { return };
    let folder = Folder::new();
    let counters =
        ["% Processor Time", "ID Process", "Working Set"].map(|name| format!(r"\Process(*)\{name}"));
    let mut arguments = vec!["push", "--top", "3", "--otlp", &address, "-c", "3", "-i", "200ms"];
    arguments.extend(counters.iter().map(String::as_str));
    let ran = tally_with(&arguments, |command| {
        command.env("XDG_STATE_HOME", folder.path()).env_remove("TALLYMON_ROOT").env_remove("TALLY_ROOT");
        command.args(["--wait", "100s"]);
    });
    let mut others = Vec::new();
    for request in requests.take(3) {
        let metrics = &request["request"]["resourceMetrics"][0]["scopeMetrics"][0]["metrics"];
        let metric = |name: &str| {
            let mut all = metrics.as_array().unwrap().iter();
            all.find(|metric| metric["name"] == name).unwrap_or_else(|| panic!("{name}: {}", ran.err)).clone()
        };
        let points = |metric: &Json, kind: &str| metric[kind]["dataPoints"].as_array().unwrap().clone();
        let is_other = |point: &Json| point["attributes"][0]["value"]["stringValue"] == "_Other";
        let time = points(&metric("nt_process_processor_time_seconds"), "sum");
        // Three, three that were among them a moment ago, Idle, and the others.
        assert!((4..=8).contains(&time.len()), "{time:?}");
        let other = time.iter().find(|point| is_other(point)).unwrap();
        others.push(other["asDouble"].as_f64().unwrap());
        // A sum of numbers of processes means nothing.
        assert!(!points(&metric("nt_process_id_process"), "gauge").iter().any(is_other));
        assert!(points(&metric("nt_process_working_set"), "gauge").iter().any(is_other));
    }
    assert!(others.is_sorted() && others.len() == 3, "{others:?}");
}

/// What InfluxDB answers to a request.
fn influx(at: SocketAddr, method: &str, path: &str) -> Option<String> {
    let mut stream = TcpStream::connect(at).ok()?;
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    write!(stream, "{method} {path} HTTP/1.0\r\nContent-Length: 0\r\n\r\n").ok()?;
    let mut reply = String::new();
    stream.read_to_string(&mut reply).ok()?;
    Some(reply)
}

#[test]
fn influxdb_takes_lines() {
    let Some(program) = peer("influxd") else { return };
    let folder = Folder::new();
    let port = || TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let (at, backup) = (port(), port());
    let data = folder.file("influx");
    let config = format!(
        "reporting-disabled = true\nbind-address = \"{backup}\"\n[meta]\ndir = \"{data}/meta\"\n[data]\n\
         dir = \"{data}/data\"\nwal-dir = \"{data}/wal\"\n[http]\nbind-address = \"{at}\"\n"
    );
    let config = folder.write("influx.conf", config.as_bytes());
    let child =
        Command::new(program).args(["-config", &config]).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    let _running = Running(child.unwrap());
    let begin = Instant::now();
    while !influx(at, "POST", "/query?q=CREATE%20DATABASE%20m").is_some_and(|text| text.contains("200 OK")) {
        assert!(begin.elapsed() < PATIENCE);
        std::thread::sleep(Duration::from_millis(100));
    }
    let address = format!("http://{at}?db=m");
    let ran = push(&folder, &["--influx", &address, "-c", "2", "-i", "100ms", "--wait", "100s"], &[]);
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
    for (query, word) in [
        ("SELECT%20COUNT(value)%20FROM%20nt_memory_available_bytes", ",2]]"),
        ("SHOW%20TAG%20KEYS%20FROM%20nt_processor_processor_time_idle_seconds_total", "\"name\""),
    ] {
        let reply = influx(at, "GET", &format!("/query?db=m&q={query}")).unwrap();
        assert!(reply.contains(word), "{reply}");
    }
    // What it refuses is said with its own words.
    let ran = push(&folder, &["--influx", &format!("http://{at}/write?db=none"), "-c", "1"], &[]);
    assert_eq!(ran.code, Some(1), "{}", ran.err);
    has(&ran.err, &["404", "database not found"]);
}

/// One receiver takes all three ways, and answers the same values for each.
#[test]
fn victoria_metrics_takes_otlp_remote_write_and_lines() {
    let Some(engines) = std::env::var_os("TALLYMON_ENGINES") else {
        return skip("VictoriaMetrics is not here: 'cargo xtask engines' fetches it");
    };
    let folder = Folder::new();
    let at = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let child = Command::new(Path::new(&engines).join("usr/bin/victoria-metrics"))
        .arg(format!("-storageDataPath={}", folder.file("data")))
        .arg(format!("-httpListenAddr={at}"))
        .arg("-search.latencyOffset=0s")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let _running = Running(child.unwrap());
    for (option, path, metric) in [
        ("--otlp", "opentelemetry/v1/metrics", "nt_memory_available_bytes{service.name='tallymon'}"),
        ("--remote-write", "api/v1/write", "nt_memory_available_bytes{job='tally'}"),
        ("--influx", "write?db=m", "nt_memory_available_bytes_value{db='m'}"),
    ] {
        // While it starts it is not there: the samples wait.
        let address = format!("http://{at}/{path}");
        let ran = push(&folder, &[option, &address, "-c", "3", "-i", "1s", "--wait", "100s"], &[]);
        assert_eq!(ran.code, Some(0), "{option}: {}", ran.err);
        let begin = Instant::now();
        let values = loop {
            let series = ask(at, &format!("{metric}[5m]"));
            let values = series.first().and_then(|series| series["values"].as_array().cloned());
            match values.filter(|values| values.len() == 3) {
                Some(values) => break values,
                None => assert!(begin.elapsed() < PATIENCE, "{option}: {series:?}"),
            }
            std::thread::sleep(Duration::from_millis(200));
        };
        let bytes = |value: &Json| value[1].as_str().unwrap().parse::<f64>().unwrap();
        assert!(values.iter().all(|value| bytes(value) > 1e6), "{option}: {values:?}");
    }
    let idle = ask(at, "count(nt_processor_processor_time_idle_seconds_total{job='tally'})");
    let processors = std::thread::available_parallelism().unwrap().get();
    assert!(idle[0]["value"][1].as_str().unwrap().parse::<usize>().unwrap() >= processors, "{idle:?}");
}

#[test]
fn statsd_gets_packets() {
    let folder = Folder::new();
    let receiver = UdpSocket::bind("127.0.0.1:0").unwrap();
    receiver.set_read_timeout(Some(PATIENCE)).unwrap();
    let address = receiver.local_addr().unwrap().to_string();
    let ran = push(&folder, &["--statsd", &address, "-c", "2", "-i", "100ms"], &[]);
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
    let mut lines = Vec::new();
    let mut buffer = [0; 2000];
    while !lines
        .iter()
        .any(|line: &String| line.starts_with("nt_processor_processor_time_idle_seconds_total."))
    {
        let length = receiver.recv(&mut buffer).unwrap();
        assert!(length <= 1432);
        let packet = String::from_utf8(buffer[..length].to_vec()).unwrap();
        lines.extend(packet.lines().map(str::to_owned));
    }
    for line in lines {
        let (_, value) = line.split_once(':').unwrap();
        let (number, kind) = value.split_once('|').unwrap();
        assert!(number.parse::<f64>().unwrap() >= 0.0 && ["c", "g"].contains(&kind), "{line}");
    }
}

#[test]
fn wrong_arguments_are_named() {
    let folder = Folder::new();
    for (arguments, word) in [
        (&[][..], "--otlp"),
        (&["--otlp", "localhost:4318"], "http://"),
        (&["--otlp", "http://a", "--header", "no colon"], "NAME: VALUE"),
        (&["--otlp", "http://user:secret@a"], "Authorization"),
        (&["--otlp", "http://a", "--remote-write", "http://b"], "--remote-write"),
        (&["--influx", "http://a"], "?db=NAME"),
        (&["--otlp", "https://a", "--certificate", "/nowhere.pem"], "/nowhere.pem"),
    ] {
        let ran = push(&folder, arguments, &[]);
        assert_eq!(ran.code, Some(2), "{arguments:?}: {}", ran.err);
        has(&ran.err, &[word]);
        assert!(!ran.err.contains("secret"), "{}", ran.err);
    }
}
