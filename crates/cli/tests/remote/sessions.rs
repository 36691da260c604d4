//! Recording sessions over several hosts.

use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use crate::support::{AVAILABLE, Net, good, has};

/// Stops a session, however a test ends.
pub(crate) struct Stopped<'n>(pub(crate) &'n Net, pub(crate) &'static str);

impl Drop for Stopped<'_> {
    fn drop(&mut self) {
        self.0.tally(&["log", "stop", self.1]);
    }
}

/// Waits until `tally log show` has all of some parts.
pub(crate) fn until_shown(net: &Net, name: &str, parts: &[&str], is_there: bool) -> String {
    let begin = Instant::now();
    loop {
        let shown = net.tally(&["log", "show", name]).data();
        if parts.iter().all(|part| shown.contains(part) == is_there) {
            return shown;
        }
        assert!(begin.elapsed() < Duration::from_secs(90), "{parts:?} {is_there}: {shown}");
        thread::sleep(Duration::from_millis(50));
    }
}

pub(crate) fn log_in(folder: &Path, extension: &str) -> PathBuf {
    let mut logs: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    logs.retain(|path| path.extension().is_some_and(|known| known == extension));
    assert_eq!(logs.len(), 1, "{logs:?}");
    logs.remove(0)
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn a_session_records_many_hosts_and_a_dead_one_costs_only_its_columns() {
    let flag = tallymon_testkit::Scratch::new();
    let flag = flag.join("up");
    let later = format!("[ -e {} ] || exit 255; {}", flag.display(), good());
    let net = Net::new(&[("good*", &good()), ("later", &later)]);
    net.file("root/hosts", b"web1 ssh://good1 web\nweb2 ssh://good2 web\n");
    let folder = net.folder.join("logs");
    let words = ["log", "start", "many", "-c", AVAILABLE, "-c", r"\\web2\System\Processes", "-i", "100ms"];
    let hosts = ["-H", "web", "-H", "ssh://later", "-o", text(&folder)];
    let _stopped = Stopped(&net, "many");
    let started = net.tally(&[&words[..], &hosts].concat());
    assert_eq!(started.code, Some(0), "{}", started.err);
    has(&started.err, &[r"\\later is recorded as soon as it answers", "session \"many\" records into"]);
    let shown = net.tally(&["log", "show", "many"]).data();
    has(&shown, &["host  web1, ssh://good1", r"\\web1\Memory\Available MBytes", r"\\web2\System\Processes"]);
    until_shown(&net, "many", &["trouble  later: ", "; no values yet, tried again "], true);
    // A host that comes back is recorded without a word from anybody.
    std::fs::write(&flag, "").unwrap();
    until_shown(&net, "many", &["trouble"], false);
    // One more record has its values.
    let records = |net: &Net| {
        let list = net.tally(&["log", "list", "--json"]).data();
        let list: serde_json::Value = serde_json::from_str(&list).unwrap();
        assert_eq!((&list[0]["errors"], &list[0]["hosts"][0]["name"]), (&0.into(), &"web1".into()), "{list}");
        list[0]["records"].as_u64().unwrap()
    };
    let now = records(&net);
    let begin = Instant::now();
    while records(&net) < now + 3 {
        assert!(begin.elapsed() < Duration::from_secs(60), "no records");
    }
    assert_eq!(net.tally(&["log", "stop", "many"]).code, Some(0));
    let log = log_in(&folder, "tally");
    let get = |path: &str| net.tally(&["get", "--log", text(&log), path, "--csv"]).data();
    for host in ["web1", "web2", "later"] {
        has(&get(&format!(r"\\{host}\Memory\Available MBytes")), &[&format!(r"\\{host}\Memory")]);
    }
    has(&get(r"\\web2\System\Processes"), &[r"\\web2\System\Processes"]);
    // Values over all hosts are computed from the log: the same machine three times.
    let fleet = |command: &str, more: &[&str]| {
        let words = [command, "--log", text(&log), AVAILABLE, "--json", "--fleet", "sum,min,max"];
        net.tally(&[&words[..], more].concat()).data()
    };
    let last: serde_json::Value = serde_json::from_str(fleet("get", &[]).lines().last().unwrap()).unwrap();
    let value = |path: &str| {
        let cells = last["values"].as_array().unwrap();
        let cell = cells.iter().find(|cell| cell["path"].as_str() == Some(path));
        cell.unwrap_or_else(|| panic!("{path}: {last}"))["value"].as_f64().unwrap()
    };
    let each: Vec<f64> =
        ["web1", "web2", "later"].iter().map(|host| value(&format!(r"\\{host}{AVAILABLE}"))).collect();
    assert_eq!(value(&format!(r"\\_Fleet.sum{AVAILABLE}")), each.iter().sum::<f64>());
    assert_eq!(value(&format!(r"\\_Fleet.max{AVAILABLE}")), each.iter().copied().fold(0.0, f64::max));
    let rows = fleet("watch", &["--top-hosts", "0"]);
    assert!(rows.lines().count() > 2, "{rows}");
    assert!(!rows.contains("web1") && rows.lines().all(|row| row.contains("_Fleet.min")), "{rows}");
    // What one host was asked for is not recorded of the others, and this machine was not asked at all.
    let csv = net.folder.join("all.csv");
    assert_eq!(net.tally(&["relog", text(&log), "-o", text(&csv)]).code, Some(0));
    let head = std::fs::read_to_string(csv).unwrap();
    assert_eq!(head.lines().next().unwrap().matches(r#","\\"#).count(), 4, "{head:.300}");
}

/// The columns of a text log, below their names: each with its cells, oldest first.
pub(crate) fn columns(text: &str) -> Vec<(String, Vec<String>)> {
    let split = |line: &str| -> Vec<String> {
        line.split(',').map(|cell| cell.trim_matches('"').trim().to_string()).collect()
    };
    let mut lines = text.lines();
    let mut columns: Vec<(String, Vec<String>)> =
        split(lines.next().unwrap()).into_iter().map(|name| (name, Vec::new())).collect();
    for line in lines {
        columns.iter_mut().zip(split(line)).for_each(|((_, cells), cell)| cells.push(cell));
    }
    columns
}

/// A host ends while it is recorded, and comes back; the clock of another one is years behind: it answers
/// with a saved block.
#[test]
fn a_host_that_ends_leaves_a_gap_and_a_wrong_clock_moves_nothing() {
    let Some(block) = tallymon_testkit::shared("samba/global-zero-text-fraction.bin") else { return };
    let flags = tallymon_testkit::Scratch::new();
    let (down, number) = (flags.join("down"), flags.join("number"));
    let sick = format!("[ -e {} ] && exit 255; echo $$ > {}; {}", down.display(), number.display(), good());
    let old = format!("{} --file {}", good(), block.display());
    let net = Net::new(&[("good*", &good()), ("sick", &sick), ("old", &old)]);
    net.file("root/hosts", b"old ssh://old\n");
    let folder = net.folder.join("logs");
    let path = r"\System\Context Switches/sec";
    let words = ["log", "start", "gaps", "-c", path, "-c", r"\\old\System\Memory", "-i", "200ms"];
    let hosts = ["-o", text(&folder), "-H", "ssh://good1", "-H", "ssh://sick"];
    let _stopped = Stopped(&net, "gaps");
    let started = net.tally(&[&words[..], &hosts].concat());
    assert_eq!(started.code, Some(0), "{}", started.err);
    let records = || {
        let list: serde_json::Value =
            serde_json::from_str(&net.tally(&["log", "list", "--json"]).data()).unwrap();
        list[0]["records"].as_u64().unwrap()
    };
    let more = |count: u64| {
        let (until, begin) = (records() + count, Instant::now());
        while records() < until {
            assert!(begin.elapsed() < Duration::from_secs(90), "no records");
            thread::sleep(Duration::from_millis(50));
        }
    };
    more(5);
    std::fs::write(&down, "").unwrap();
    let process = std::fs::read_to_string(&number).unwrap();
    std::process::Command::new("kill").args(["-KILL", process.trim()]).status().unwrap();
    until_shown(&net, "gaps", &["trouble  sick: ", "; no values for "], true);
    more(5);
    std::fs::remove_file(&down).unwrap();
    until_shown(&net, "gaps", &["trouble"], false);
    more(5);
    assert_eq!(net.tally(&["log", "stop", "gaps"]).code, Some(0));
    let csv = net.folder.join("gaps.csv");
    let log = log_in(&folder, "tally");
    assert_eq!(net.tally(&["relog", text(&log), "-o", text(&csv)]).code, Some(0));
    let all = columns(&std::fs::read_to_string(csv).unwrap());
    let of = |host: &str| -> Vec<bool> {
        let (_, cells) = all.iter().find(|(name, _)| name.contains(host)).unwrap();
        cells.iter().map(|cell| !cell.is_empty()).collect()
    };
    // The first row has no rates. What is there is never interrupted.
    assert!(of(r"\\good1\")[1..].iter().all(|there| *there), "{all:?}");
    let sick = of(r"\\sick\");
    let changes = sick.windows(2).filter(|pair| pair[0] != pair[1]).count();
    assert!(changes >= 3 && sick.last() == Some(&true), "values, a gap, values: {sick:?}");
    // Rates stay possible, whatever a clock says: 0 to a billion switches a second.
    for (name, cells) in &all[1..] {
        let numbers = cells.iter().filter_map(|cell| cell.parse::<f64>().ok());
        assert!(numbers.into_iter().all(|rate| (0.0..1e9).contains(&rate)), "{name}: {cells:?}");
    }
    assert!(of(r"\\old\").iter().filter(|there| **there).count() > 10, "{all:?}");
    // The whole log is a few minutes long, not years.
    let (first, last) = (all[0].1.first().unwrap(), all[0].1.last().unwrap());
    let hour = |time: &str| time.get(11..13).unwrap().parse::<i32>().unwrap();
    let minute = |time: &str| hour(time) * 60 + time.get(14..16).unwrap().parse::<i32>().unwrap();
    let minutes = (minute(last) - minute(first)).rem_euclid(24 * 60);
    assert!(first.get(6..10) == last.get(6..10) && minutes < 30, "{first} to {last}");
}

#[test]
fn a_session_over_hosts_becomes_a_text_log_with_the_host_in_every_column() {
    let net = Net::new(&[("good*", &good())]);
    let folder = net.folder.join("logs");
    let words = ["log", "start", "text", "-c", AVAILABLE, "-i", "50ms", "--samples", "3", "-f", "csv"];
    let hosts = ["-H", "ssh://good1", "-H", "ssh://good2", "-o", text(&folder)];
    let _stopped = Stopped(&net, "text");
    let started = net.tally(&[&words[..], &hosts].concat());
    assert_eq!(started.code, Some(0), "{}", started.err);
    until_shown(&net, "text", &["text, stopped"], true);
    let csv = std::fs::read_to_string(log_in(&folder, "csv")).unwrap();
    let head = csv.lines().next().unwrap();
    has(head, &[r#","\\good1\Memory\Available MBytes","\\good2\Memory\Available MBytes""#]);
    assert_eq!(csv.lines().count(), 4, "{csv}");
    let is_number = |cell: &str| cell.trim_matches('"').parse::<f64>().is_ok();
    assert!(csv.lines().last().unwrap().split(',').skip(1).all(is_number), "{csv}");
}

#[test]
fn hosts_that_can_not_be_recorded_are_named_errors() {
    let net = Net::new(&[("good*", &good()), ("dead", "exit 255")]);
    for (words, code, parts) in [
        (vec!["start", "x", "-H", "ssh://dead", "-c", AVAILABLE], 6, &["ssh://dead"][..]),
        (vec!["start", "x", "-H", "ssh://good1", "-c", r"\Nothing\x"], 3, &[r"\\good1", "Nothing"]),
        (
            vec!["start", "x", "-H", "ssh://good1", "-c", AVAILABLE, "--otlp", "http://127.0.0.1:9"],
            2,
            &["only recorded"],
        ),
        (vec!["list", "-H", "ssh://good1"], 2, &["does not read other machines"]),
    ] {
        let ran = net.tally(&[&["log"], &words[..]].concat());
        assert_eq!((ran.code, ran.out.as_str()), (Some(code), ""), "{words:?}: {}", ran.err);
        has(&ran.err, parts);
        assert_eq!(net.tally(&["log", "list"]).data(), "", "{words:?}");
    }
}
