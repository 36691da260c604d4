//! Counters for other engines: what `get --openmetrics` and `--prometheus` print is read by Prometheus' own
//! programs, and `check` behaves as a Monitoring Plugin.

use std::io::Write;
use std::process::{Command, Stdio};

use tallymon_testkit::{peer, skip};

use crate::support::{AVAILABLE, Folder, PROCESSOR_TIME, has, tally, tally_with};

/// Paths of every counter of every object that has one here.
fn everything() -> Vec<String> {
    let objects = tally(&["list", "--json"]).json();
    let path = |object: &serde_json::Value| {
        let name = object["english"].as_str().unwrap();
        if object["instances"] == true { format!(r"\{name}(*)\*") } else { format!(r"\{name}\*") }
    };
    objects.as_array().unwrap().iter().map(path).collect()
}

/// What `get` prints of every counter; some have no value on every machine.
fn exposed(option: &str) -> String {
    let paths = everything();
    let mut arguments = vec!["get", option];
    arguments.extend(paths.iter().map(String::as_str));
    tally(&arguments).out
}

#[test]
fn promtool_reads_every_counter_of_this_machine() {
    let text = exposed("--prometheus");
    has(
        &text,
        &["# TYPE nt_memory_available_bytes gauge\n", "nt_processor_processor_time_idle_seconds_total{"],
    );
    let Some(promtool) = peer("promtool") else { return };
    let mut check = Command::new(promtool);
    check.args(["check", "metrics"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut check = check.spawn().unwrap();
    check.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = check.wait_with_output().unwrap();
    // 0: nothing to say; 3: advice. Anything else: the text cannot be read.
    assert!(matches!(output.status.code(), Some(0 | 3)), "{output:?}");
    let advice = [output.stdout, output.stderr].concat();
    let advice = String::from_utf8(advice).unwrap();
    // Names of counters such as "5 Minutes" have words that look like units.
    let other: Vec<&str> = advice.lines().filter(|line| !line.contains("use base unit")).collect();
    assert!(other.is_empty(), "{other:?}");
}

#[test]
fn prometheus_own_library_reads_both_formats_with_the_values_of_get() {
    let script = "import sys
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics
from prometheus_client.parser import text_string_to_metric_families as prometheus
read = openmetrics if sys.argv[1] == '--openmetrics' else prometheus
families = list(read(sys.stdin.read()))
names = [family.name for family in families]
assert len(names) == len(set(names)), 'a metric is there twice'
series = [(sample.name, tuple(sorted(sample.labels.items()))) for family in families for sample in family.samples]
assert len(series) == len(set(series)), 'a series is there twice'
print(len(series))
";
    let has_library = Command::new("python3").args(["-c", "import prometheus_client"]).output();
    if !has_library.is_ok_and(|output| output.status.success()) {
        assert!(std::env::var_os("TALLYMON_PEERS").is_none_or(|peers| peers != "required"));
        return skip("Python's prometheus_client is not installed");
    }
    for option in ["--openmetrics", "--prometheus"] {
        let text = exposed(option);
        let mut python = Command::new("python3");
        python.args(["-c", script, option]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut python = python.spawn().unwrap();
        python.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
        let output = python.wait_with_output().unwrap();
        let read: usize = String::from_utf8(output.stdout).unwrap().trim().parse().unwrap();
        let written = text.lines().filter(|line| !line.starts_with('#')).count();
        assert!(output.status.success() && read == written && read > 100, "{option}: {read} of {written}");
    }
}

#[test]
fn what_is_missing_is_named_beside_the_rest() {
    let ran = tally(&["get", "--openmetrics", AVAILABLE, r"\Memory\No Such Counter"]);
    assert_eq!(ran.code, Some(3), "{}", ran.err);
    has(&ran.err, &["No Such Counter"]);
    has(&ran.out, &["nt_memory_available_bytes ", "# EOF\n"]);
    tally(&["get", "--openmetrics", "--csv", AVAILABLE]).words(2);
}

#[test]
fn check_ends_as_a_monitoring_plugin() {
    // State, exit code, and the range in the performance data.
    for (range, state, code) in [("0:", "OK", 0), ("@0:", "WARNING", 1)] {
        let ran = tally(&["check", AVAILABLE, "-w", range]);
        assert_eq!((ran.code, ran.err.as_str()), (Some(code), ""), "{}", ran.out);
        assert!(ran.out.starts_with(&format!(r"{state} - {AVAILABLE} = ")), "{}", ran.out);
        has(&ran.out, &[&format!(r"| '{AVAILABLE}'="), &format!(";{range};")]);
    }
    let ran = tally(&["check", AVAILABLE, r"\System\Processes", "-w", "0:", "-c", "0:", "-c", "@0:"]);
    assert_eq!(ran.code, Some(2), "{}", ran.out);
    assert!(ran.out.starts_with(r"CRITICAL - \System\Processes = "), "{}", ran.out);
}

#[test]
fn check_says_unknown_for_everything_that_is_no_answer() {
    let table: [&[&str]; 5] = [
        &["check"],
        &["check", AVAILABLE, "-w", "20:10"],
        &["check", r"\No Such Object\Counter"],
        &["check", r"\Process(no such process)\% Processor Time"],
        &["check", AVAILABLE, "-w", "1", "-w", "2"],
    ];
    for arguments in table {
        let ran = tally(arguments);
        assert_eq!(ran.code, Some(3), "{arguments:?}: {} {}", ran.out, ran.err);
        assert!(ran.out.starts_with("UNKNOWN - "), "{arguments:?}: {}", ran.out);
    }
}

#[test]
fn check_takes_rates_since_the_call_before() {
    let folder = Folder::new();
    let check = |longest: &str| {
        tally_with(&["check", PROCESSOR_TIME, "-i", "100ms", "--since-last", longest], |command| {
            command.env("XDG_STATE_HOME", folder.path()).env_remove("TALLYMON_ROOT");
        })
    };
    let kept = || {
        let files: Vec<_> = std::fs::read_dir(folder.path().join("tallymon/check")).unwrap().collect();
        assert_eq!(files.len(), 1, "{files:?}");
        std::fs::read_to_string(files[0].as_ref().unwrap().path()).unwrap()
    };
    assert_eq!(check("1h").code, Some(0));
    let first = kept();
    // A damaged file is as good as none.
    assert_eq!(check("1h").code, Some(0));
    assert_ne!(kept(), first);
    let file =
        std::fs::read_dir(folder.path().join("tallymon/check")).unwrap().next().unwrap().unwrap().path();
    std::fs::write(&file, "{\"a\": [").unwrap();
    assert_eq!(check("1h").code, Some(0));
    assert!(serde_json::from_str::<serde_json::Value>(&kept()).is_ok());
}
