//! Names that another machine says, in every face that shows other machines: what a terminal obeys or hides,
//! what a spreadsheet computes, and what is too long.

use std::io::Write;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value as Json;
use tallymon::core::block::{
    BlockWriter, CounterSpec, InstanceKind, ObjectLayout, ObjectSpec, Snapshot, WriteHeader,
};
use tallymon::core::counter::CounterType;
use tallymon::core::flow::{Source, SourceError};
use tallymon::core::request::Request;
use tallymon::core::time::{Frequency, PerfTime};
use tallymon::core::title::{Language, TitleIndex, Titles};
use tallymon::core::visible::Inspector;
use tallymon_testkit::attack;
use tallymon_testkit::terminal::Terminal;

use crate::page::Page;
use crate::sessions::{Stopped, log_in};
use crate::support::{Net, Ran, TALLY, good, has};

const AREA: &str = "other machines";

/// Plays the machine if it is set.
const PLAYS: &str = "TALLYMON_TEST_PLAYS_A_HOSTILE_HOST";

/// What this program prints before it is another machine: the harness says something of its own first.
const READY: &str = "READY";

/// A title for the terminal, a cleared screen in C1, a deleted letter, a turned text, a line that is not
/// ours, and letters without width.
const HOSTILE: &str =
    "a\u{1b}]0;own\u{7}\u{9b}2J\u{7f}\u{202e}\u{2066}\u{2028}\u{200b}\u{e0041}\r\n\nFORGED line\tz";

/// What a spreadsheet would run.
const FORMULA: &str = "=cmd|' /C calc'!A0";

/// The longest name has so many letters.
const LONG: usize = 64 << 10;

/// An object, a counter and a text.
const OBJECT: TitleIndex = TitleIndex(800_000);
const COUNTER: &str = r"\800000(*)\800002";
const TEXT: &str = r"\800000(*)\800004";

/// A machine all of whose names are hostile.
struct HostileMachine(u64);

impl Source for HostileMachine {
    fn snapshot(&mut self, _: &Request) -> Result<Snapshot, SourceError> {
        self.0 += 1;
        let time = tallymon::clock::now();
        let header = WriteHeader {
            system_name: HOSTILE,
            default_object: -1,
            perf_time: PerfTime(time.0.cast_signed()),
            perf_freq: Frequency(10_000_000),
            perf_time_100ns: time,
            system_time: time,
        };
        let specs = [
            CounterSpec::new(TitleIndex(800_002), CounterType::PERF_COUNTER_RAWCOUNT),
            CounterSpec {
                size: Some(256),
                ..CounterSpec::new(TitleIndex(800_004), CounterType::PERF_COUNTER_TEXT)
            },
        ];
        let layout = ObjectLayout::new(ObjectSpec::new(OBJECT, InstanceKind::Many, &specs));
        let mut bytes = Vec::new();
        let mut writer = BlockWriter::growing(&mut bytes, &header);
        let mut object =
            writer.objects().object(&layout, PerfTime(time.0.cast_signed()), Frequency(10_000_000));
        for name in [HOSTILE, FORMULA, &"long".repeat(LONG / 4)] {
            let mut block = object.instance(name, None, None);
            block.set(0, self.0);
            block.set_text(1, FORMULA);
        }
        drop(object);
        writer.finish().unwrap();
        Ok(Snapshot::new(bytes)?)
    }

    fn titles(&mut self, _: Language) -> Result<Titles, SourceError> {
        let mut titles = Titles::default();
        for (index, name) in [(800_000, HOSTILE), (800_002, FORMULA), (800_004, HOSTILE)] {
            titles.insert_name(TitleIndex(index), format!("{name}{index}"));
        }
        Ok(titles)
    }
}

/// Not a test unless the variable is set: then it answers as another machine does.
#[test]
fn plays_a_hostile_host() {
    if std::env::var_os(PLAYS).is_none() {
        return;
    }
    let mut output = std::io::stdout();
    writeln!(output, "{READY}").unwrap();
    output.flush().unwrap();
    let _ = tallymon::remote::serve(&mut HostileMachine(0), &mut std::io::stdin(), &mut output);
    std::process::exit(0);
}

/// A healthy host and a hostile one.
fn net() -> Net {
    let action = format!(
        "{PLAYS}=1 '{}' --exact names::plays_a_hostile_host --nocapture | {{ \
         while read -r line; do [ \"${{line##* }}\" = {READY} ] && exec cat; done; }}",
        std::env::current_exe().unwrap().display()
    );
    Net::new(&[("good", &good()), ("bad", &action)])
}

const HOSTS: [&str; 4] = ["-H", "ssh://bad", "-H", "ssh://good"];

/// Asserts that a text has nothing that deceives, and no line of another author.
#[track_caller]
fn is_visible(name: &str, text: &str) {
    let mut inspector = Inspector::default();
    let bad = text.chars().find(|letter| inspector.deceives(*letter) && !matches!(letter, '\n' | '\t'));
    let forged = text.lines().find(|line| line.trim_start_matches('"').starts_with("FORGED"));
    assert_eq!((bad, forged), (None, None), "{name}: {text:.2000}");
}

/// Runs a command over both hosts, and looks at all it says.
fn run(net: &Net, words: &[&str]) -> Ran {
    let ran = net.tally(&[words, &HOSTS].concat());
    is_visible(&words.join(" "), &ran.err);
    ran
}

#[test]
fn attack_names_of_another_machine_on_the_command_line() {
    let net = net();
    let count = ["-c", "2", "-i", "200ms"];
    let watch = |more: &[&str]| run(&net, &[&["watch", COUNTER, TEXT], &count[..], more].concat());
    let table = watch(&[]);
    is_visible("table", &table.out);
    has(&table.out, &["FORGED", "longlong", FORMULA]);
    assert!(table.out.len() > LONG);
    // In JSON a value is what it was, and the letters that deceive are escaped.
    let json = watch(&["--json"]);
    is_visible("json", &json.out);
    let row: Json = serde_json::from_str(json.out.lines().last().unwrap()).unwrap();
    let paths: Vec<&str> =
        row["values"].as_array().unwrap().iter().map(|value| value["path"].as_str().unwrap()).collect();
    assert!(paths.iter().all(|path| path.starts_with(r"\\bad\")), "{paths:.500?}");
    assert!(paths.iter().any(|path| path.contains(HOSTILE)), "{paths:.500?}");
    // No cell of a spreadsheet begins a formula.
    let csv = watch(&["--csv", "--no-formulas"]);
    let cells = |text: &str| text.matches(&format!("\"{FORMULA}")).count();
    assert_eq!(cells(&csv.out), 0, "{:.2000}", csv.out);
    assert!(csv.out.contains(&format!("\"'{FORMULA}")), "{:.2000}", csv.out);
    assert!(cells(&watch(&["--csv"]).out) > 0, "without the option it is as Windows writes it");
    for words in [
        &["get", COUNTER][..],
        &["get", COUNTER, "--fleet", "sum", "--top-hosts", "1"],
        &["list"],
        &["list", "800000"],
        &["find", "FORGED"],
        &["get", r"\800000(nobody)\800002"],
        &["get", r"\800000(*)\Nothing"],
    ] {
        let ran = run(&net, words);
        is_visible(&words.join(" "), &ran.out);
    }
    for words in [["explain", COUNTER], ["dump", "Global"]] {
        let ran = net.tally(&[&words[..], &["-H", "ssh://bad"]].concat());
        is_visible(words[0], &format!("{}{}", ran.out, ran.err));
    }
    attack(
        AREA,
        "a host, its objects, counters, instances and texts have names that a terminal obeys, a spreadsheet \
         computes, or that have 64 KiB",
        "U+FFFD in tables and messages, escapes in JSON; with --no-formulas no cell begins a formula",
    );
}

#[test]
fn attack_names_of_another_machine_in_a_session() {
    let net = net();
    let folder = net.folder.join("logs");
    let words =
        ["log", "start", "odd", "-c", COUNTER, "-c", TEXT, "-i", "100ms", "-o", folder.to_str().unwrap()];
    let _stopped = Stopped(&net, "odd");
    let started = run(&net, &words);
    assert_eq!(started.code, Some(0), "{}", started.err);
    let begin = Instant::now();
    loop {
        let list: Json = serde_json::from_str(&net.tally(&["log", "list", "--json"]).data()).unwrap();
        if list[0]["records"].as_u64() > Some(3) {
            break;
        }
        assert!(begin.elapsed() < Duration::from_secs(60), "{list}");
        thread::sleep(Duration::from_millis(50));
    }
    let shown = net.tally(&["log", "show", "odd"]).data();
    is_visible("log show", &shown);
    has(&shown, &["host  bad, ssh://bad"]);
    assert_eq!(net.tally(&["log", "stop", "odd"]).code, Some(0));
    let log = log_in(&folder, "tally");
    // A log has numbers of its own for names that nobody knows.
    let (counter, words) = (r"\1000000(*)\1000002", r"\1000000(*)\1000004");
    for words in [
        &["info"][..],
        &["stats"],
        &["analyze"],
        &["get", counter, words, "--log"],
        &["watch", counter, words, "--log"],
        &["list", "--log"],
    ] {
        let ran = net.tally(&[words, &[log.to_str().unwrap()]].concat());
        is_visible(&words.join(" "), &format!("{}{}", ran.out, ran.err));
        if words[0] == "get" || words[0] == "watch" {
            has(&ran.out, &["FORGED", FORMULA]);
        }
    }
    let csv = net.folder.join("odd.csv");
    let csv = csv.to_str().unwrap();
    let copied = net.tally(&["relog", log.to_str().unwrap(), "--no-formulas", "-o", csv]);
    is_visible("relog", &copied.err);
    assert_eq!(copied.code, Some(0), "{}", copied.err);
    let text = std::fs::read_to_string(csv).unwrap();
    assert!(
        text.contains(&format!("\"'{FORMULA}")) && !text.contains(&format!("\"{FORMULA}")),
        "{text:.3000}"
    );
    attack(
        AREA,
        "a session records a host with such names",
        "they are in the log as they are; what shows them replaces them",
    );
}

#[test]
fn attack_names_of_another_machine_in_the_monitor_and_on_the_page() {
    let net = net();
    let page = Page::start(&net, &[&HOSTS[..], &["-i", "200ms"]].concat());
    page.wait("good", |row| row["state"] == "live" && row["processor"].is_number());
    page.wait("bad", |row| row["state"] == "live");
    let query = "path=%5C800000(*)%5C800002";
    for target in [
        String::new(),
        "api/v1/hosts".into(),
        "api/v1/fleet".into(),
        "api/v1/objects?host=live:bad".into(),
        format!("api/v1/query?host=live:bad&{query}"),
        format!("api/v1/rows?host=live:bad&{query}&after=0"),
        "api/v1/overview?host=live:bad".into(),
    ] {
        let (status, body) = page.ask(&target);
        assert!(matches!(status, 200 | 404), "{target}: {status} {body:.500}");
        is_visible(&target, &body);
        assert!(!body.contains("<script>alert"), "{target}");
    }
    page.wait("good", |row| row["state"] == "live");
    drop(page);
    let Some(terminal) = Terminal::open() else { return };
    let raw = net.folder.join("raw");
    terminal.tmux(&["resize-window", "-x", "140", "-y", "40"]);
    terminal.tmux(&["pipe-pane", &format!("cat > '{}'", raw.display())]);
    let start = |words: &str| {
        let path = Path::new(&*net.folder);
        terminal.line(&format!(
            "PATH={}:$PATH TALLY_ROOT={} LC_ALL=C.UTF-8 {TALLY} mon {} {words}",
            path.join("bin").display(),
            path.join("root").display(),
            HOSTS.join(" ")
        ));
    };
    start("");
    terminal.wait_for(&["all hosts: 2 / 2"]);
    terminal.types("q");
    terminal.wait("the prompt", |screen| screen.trim_end().ends_with("ready>"));
    start(&format!("--chart '{COUNTER}'"));
    terminal.wait_for(&["FORGED"]);
    terminal.types("q");
    terminal.wait("the prompt", |screen| screen.trim_end().ends_with("ready>"));
    assert_ne!(terminal.tmux(&["display-message", "-p", "#{pane_title}"]).trim(), "own");
    let text = String::from_utf8_lossy(&std::fs::read(&raw).unwrap()).into_owned();
    assert!(text.contains("FORGED"));
    for bad in
        ["\u{1b}]0;own", "\u{9b}", "\u{202e}", "\u{2066}", "\u{2028}", "\u{200b}", "\u{e0041}", "\u{7f}"]
    {
        assert!(!text.contains(bad), "{bad:?} is on the screen");
    }
    attack(
        AREA,
        "a host with such names on the page of all hosts, in the monitor and in the browser",
        "U+FFFD in cells; the host beside it is shown",
    );
}
