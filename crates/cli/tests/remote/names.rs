//! Names that another machine says, in every face that shows other machines: what a terminal obeys or hides,
//! what a spreadsheet computes, and what is too long.

use std::io::Write;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value as Json;
use tallymon::core::visible::Inspector;
use tallymon_testkit::attack;
use tallymon_testkit::terminal::Terminal;

use crate::hostile_machine::{HOSTILE, HostileMachine};
use crate::page::Page;
use crate::sessions::{Stopped, log_in};
use crate::support::{Net, Ran, TALLY, good, has};

const AREA: &str = "other machines";

/// Plays the machine if it is set.
const PLAYS: &str = "TALLYMON_TEST_PLAYS_A_HOSTILE_HOST";

/// What this program prints before it is another machine: the harness says something of its own first.
const READY: &str = "READY";

/// What a spreadsheet would run.
const FORMULA: &str = "=cmd|' /C calc'!A0";

/// The longest name has so many letters.
const LONG: usize = 64 << 10;

/// The counter and the text of the machine.
const COUNTER: &str = r"\800000(*)\800002";
const TEXT: &str = r"\800000(*)\800004";

/// A machine with the clock of this one: other machines are compared with it. Its indexes are not those of
/// this machine's own objects.
fn machine() -> HostileMachine {
    HostileMachine {
        object: 800_000,
        titles: [HOSTILE, FORMULA, HOSTILE],
        instances: vec![HOSTILE.to_owned(), FORMULA.to_owned(), "long".repeat(LONG / 4)],
        text: FORMULA,
        clock: |_| tallymon::clock::now(),
        samples: 0,
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
    let _ = tallymon::remote::serve(&mut machine(), &mut std::io::stdin(), &mut output);
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
