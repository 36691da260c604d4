//! `tally dashboard`: Grafana's own models read it, and Prometheus answers the query of every panel.

use std::io::Write;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value as Json;
use tallymon_testkit::skip;

use crate::push::{PATIENCE, ask, prometheus};
use crate::support::{Folder, has, tally, tally_with};

const OBJECTS: [&str; 3] = ["System", "Memory", "Processor"];

/// The kept dashboards, and how many panels each has.
const KEPT: [(&str, usize); 4] = [("overview", 25), ("process", 11), ("dotnet", 18), ("sql", 21)];

fn dashboard(program: &str) -> Json {
    let mut arguments = vec!["dashboard", program];
    arguments.extend(OBJECTS);
    tally(&arguments).json()
}

fn kept(name: &str) -> Json {
    tally(&["dashboard", "grafana", "--kept", name]).json()
}

/// Titles and queries of the panels.
fn queries(program: &str) -> Vec<(String, String)> {
    queries_of(&dashboard(program))
}

fn queries_of(made: &Json) -> Vec<(String, String)> {
    let text = |text: &Json| text.as_str().unwrap().to_owned();
    if made["panels"].is_array() {
        let panels = made["panels"].as_array().unwrap().iter().filter(|panel| panel["type"] == "timeseries");
        return panels.map(|panel| (text(&panel["title"]), text(&panel["targets"][0]["expr"]))).collect();
    }
    let panels = made["spec"]["panels"].as_object().unwrap().values().map(|panel| &panel["spec"]);
    let query = |panel: &Json| text(&panel["queries"][0]["spec"]["plugin"]["spec"]["query"]);
    panels.map(|panel| (text(&panel["display"]["name"]), query(panel))).collect()
}

#[test]
fn grafana_reads_everything_that_is_in_a_dashboard() {
    // What its models do not know is not in what they write.
    let script = "import json, sys
from grafana_foundation_sdk.models.dashboard import Dashboard
from grafana_foundation_sdk.cog.encoder import JSONEncoder
written = json.load(sys.stdin)
read = json.loads(JSONEncoder().encode(Dashboard.from_json(written)))
def lost(written, read, at):
    if isinstance(written, dict):
        for key, value in written.items():
            yield from lost(value, read[key], f'{at}.{key}') if key in (read or {}) else [f'{at}.{key}']
    elif isinstance(written, list):
        for number, (left, right) in enumerate(zip(written, read)):
            yield from lost(left, right, f'{at}[{number}]')
        if len(written) != len(read): yield at
    elif written != read:
        yield at
print(json.dumps(list(lost(written, read, ''))))
";
    let has_models = Command::new("python3").args(["-c", "import grafana_foundation_sdk"]).output();
    if !has_models.is_ok_and(|output| output.status.success()) {
        assert!(std::env::var_os("TALLYMON_PEERS").is_none_or(|peers| peers != "required"));
        return skip("Python's grafana-foundation-sdk is not installed");
    }
    let kept = KEPT.map(|(name, _)| kept(name));
    for made in kept.iter().chain([&dashboard("grafana")]) {
        read_by_grafana(script, made);
    }
}

/// Whether Grafana's models know everything in a dashboard, and no panel lies upon another.
fn read_by_grafana(script: &str, made: &Json) {
    let mut python = Command::new("python3");
    python.args(["-c", script]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut python = python.spawn().unwrap();
    python.stdin.take().unwrap().write_all(made.to_string().as_bytes()).unwrap();
    let output = python.wait_with_output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap().trim(), "[]");
    let mut places: Vec<String> =
        made["panels"].as_array().unwrap().iter().map(|panel| panel["gridPos"].to_string()).collect();
    let all = places.len();
    places.sort();
    places.dedup();
    assert_eq!(places.len(), all);
}

#[test]
fn both_programs_ask_the_same_and_nothing_twice() {
    let (grafana, perses) = (queries("grafana"), queries("perses"));
    assert_eq!(grafana, perses);
    let expected = "100 * (1 - rate(nt_processor_processor_time_idle_seconds_total\
                    {job=~\"$job\",name=~\"$name\"}[$__rate_interval]))";
    assert!(grafana.contains(&("% Processor Time".into(), expected.into())), "{grafana:?}");
    let mut once: Vec<&String> = grafana.iter().map(|(_, query)| query).collect();
    once.sort();
    once.dedup();
    assert_eq!(once.len(), grafana.len());
    // What its title says comes in the user's language, and what the engine is asked does not.
    let korean = tally(&["dashboard", "grafana", "Memory", "--lang", "ko", "--names", "translated"]).data();
    has(&korean, &["nt_memory_available_bytes", "메모리"]);
    let overview = tally(&["dashboard", "perses", "--title", "My \"host\""]).json();
    assert_eq!(overview["metadata"]["name"], "my--host-");
    assert_eq!(overview["spec"]["layouts"].as_array().unwrap().len(), 6);
    let ran = tally(&["dashboard", "grafana", "No Such Object"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(3), ""), "{}", ran.err);
}

#[test]
fn prometheus_answers_the_query_of_every_panel() {
    let folder = Folder::new();
    let Some((_running, at)) = prometheus(&folder) else { return };
    let address = format!("http://{at}/api/v1/write");
    let paths =
        [r"\System\*", r"\Memory\*", r"\Processor(*)\*", r"\Process(*)\*", r"\TCPv4\*", r"\Pressure\*"];
    let mut arguments = vec!["push", "--remote-write", &address, "-c", "3", "-i", "500ms", "--wait", "100s"];
    arguments.extend(paths);
    let ran = tally_with(&arguments, |command| {
        command.env("XDG_STATE_HOME", folder.path()).env_remove("TALLYMON_ROOT").env_remove("TALLY_ROOT");
    });
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let begin = Instant::now();
    while ask(at, "nt_memory_available_bytes").is_empty() {
        assert!(begin.elapsed() < PATIENCE);
        std::thread::sleep(Duration::from_millis(50));
    }
    let mut answered = 0;
    let kept = KEPT.iter().flat_map(|(name, _)| queries_of(&kept(name)));
    for (title, query) in queries("grafana").into_iter().chain(kept) {
        let query = query.replace("$__rate_interval", "5m").replace("$job", ".*").replace("$name", ".*");
        // A counter without a value on this machine has no series, and nothing else has none.
        let words = query.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
        let names: Vec<&str> = words.filter(|word| word.starts_with("nt_")).collect();
        assert!(!names.is_empty(), "{title}: {query}");
        let is_there = names.iter().all(|name| !ask(at, &format!("count({name})")).is_empty());
        assert_eq!(!ask(at, &query).is_empty(), is_there, "{title}: {query}");
        answered += usize::from(is_there);
    }
    assert!(answered > 60, "{answered}");
}

#[test]
fn the_kept_dashboards_are_those_of_the_repository() {
    for (name, panels) in KEPT {
        let made = kept(name);
        let queries = queries_of(&made);
        assert_eq!(queries.len(), panels, "{name}: {queries:#?}");
        let file = format!("{}/../../docs/dashboards/{name}.json", env!("CARGO_MANIFEST_DIR"));
        if std::env::var_os("TALLYMON_BLESS").is_some() {
            std::fs::write(&file, format!("{made:#}\n")).unwrap();
        }
        let committed: Json = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
        assert_eq!(made, committed, "{name} has changed: set TALLYMON_BLESS=1 to write it");
        assert_eq!(tally(&["dashboard", "perses", "--kept", name]).json()["kind"], "Dashboard");
    }
    // The ratio of a fraction, an average and a rate, each as its type needs it.
    let sql: Vec<String> = queries_of(&kept("sql")).into_iter().map(|(_, query)| query).collect();
    for part in [
        "nt_sqlserver_buffer_manager_buffer_cache_hit_ratio",
        "nt_sqlserver_locks_wait_time_ms_sum",
        "rate(nt_sqlserver_sql_statistics_batch_requests_total",
    ] {
        assert!(sql.iter().any(|query| query.contains(part)), "{part}: {sql:#?}");
    }
    tally(&["dashboard", "grafana", "--kept", "sql", "Memory"]).words(2);
}
