//! One healthy host, one that is slow, one that is dead and one whose clock is wrong, side by side: each face
//! shows the same of them.

use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value as Json;
use tallymon_testkit::Scratch;
use tallymon_testkit::terminal::Terminal;

use crate::page::Page;
use crate::sessions::{Stopped, columns, log_in, until_shown};
use crate::support::{Net, TALLY, good, has};

/// Longer than anything takes on a loaded machine.
const PATIENCE: Duration = Duration::from_secs(90);

/// A counter that all but the last have, and one of the last.
const PATHS: [&str; 2] = [r"\System\Processes", r"\\old\System\Memory"];

const HOSTS: [&str; 6] = ["-H", "ssh://good", "-H", "ssh://slow", "-H", "ssh://dead"];

/// The hosts, which all answer at first.
struct Hosts {
    net: Net,
    flags: Scratch,
}

impl Hosts {
    /// `None` without the sample of a block: the host whose clock stands still answers with it.
    fn new() -> Option<Hosts> {
        let block = tallymon_testkit::shared("samba/global-zero-text-fraction.bin")?;
        let flags = Scratch::new();
        let noted = |name: &str| {
            let (number, down) = (flags.join(name), flags.join(format!("{name}-down")));
            format!("[ -e {} ] && exit 255; echo $$ > {}; {}", down.display(), number.display(), good())
        };
        let old = format!("{} --file {}", good(), block.display());
        let (slow, dead) = (noted("slow"), noted("dead"));
        let net = Net::new(&[("good", &good()), ("slow", &slow), ("dead", &dead), ("old", &old)]);
        net.file("root/hosts", b"old ssh://old\n");
        Some(Hosts { net, flags })
    }

    /// The number of the process that answers for a host, once it was asked.
    fn process(&self, name: &str) -> String {
        let begin = Instant::now();
        loop {
            let text = std::fs::read_to_string(self.flags.join(name)).unwrap_or_default();
            if text.ends_with('\n') {
                return text.trim().to_string();
            }
            assert!(begin.elapsed() < PATIENCE, "{name} was not asked");
            thread::sleep(Duration::from_millis(20));
        }
    }

    fn signal(&self, name: &str, signal: &str) {
        Command::new("kill").args([signal, &self.process(name)]).status().unwrap();
    }

    /// From now on one does not answer, and one is gone.
    fn fall_ill(&self) {
        self.signal("slow", "-STOP");
        std::fs::write(self.flags.join("dead-down"), "").unwrap();
        self.signal("dead", "-KILL");
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        if self.flags.join("slow").exists() {
            self.signal("slow", "-KILL");
        }
    }
}

#[test]
fn watch_shows_old_values_as_old_and_goes_on() {
    let Some(hosts) = Hosts::new() else { return };
    let words = ["watch", PATHS[0], PATHS[1], "-i", "1s", "-c", "9", "--timeout", "1h"];
    let ran = thread::scope(|scope| {
        let watch = scope.spawn(|| hosts.net.tally(&[&words[..], &HOSTS].concat()));
        hosts.process("slow");
        hosts.process("dead");
        // A row with the values of all.
        thread::sleep(Duration::from_millis(3_500));
        hosts.fall_ill();
        watch.join().unwrap()
    });
    assert_eq!(ran.code, Some(3), "{}", ran.err);
    let of = |host: &str| -> Vec<&str> {
        let name = format!(r"\\{host}\");
        ran.out.lines().filter(|line| line.contains(&name)).collect()
    };
    // Nobody else waits for them: the healthy ones have a value in every row, and it is not old.
    for host in ["good", "old"] {
        let lines = of(host);
        assert_eq!(lines.len(), 9, "{host}: {}", ran.out);
        assert!(lines.iter().all(|line| !line.contains("old, ") && !line.contains(" ago)")), "{lines:?}");
    }
    let is_old = |line: &&str| line.contains("(old, ") && line.contains(" s: the source does not answer)");
    assert!(of("slow").iter().any(is_old), "{}", ran.out);
    assert!(of("dead").iter().any(|line| line.contains("; the last value was ")), "{}", ran.out);
    has(&ran.err, &["ssh://dead: ", "; tried again after 1 s, later after up to 30 s"]);
}

#[test]
fn the_page_shows_ages_pauses_and_clocks() {
    let Some(hosts) = Hosts::new() else { return };
    let page = Page::start(&hosts.net, &[&HOSTS[..], &["-H", "old", "-i", "200ms"]].concat());
    let is_live = |row: &Json| row["state"] == "live" && row["processor"].is_number();
    for host in ["good", "slow", "dead"] {
        page.wait(host, is_live);
    }
    let clock = |row: &Json| row["clock"]["seconds"].as_f64();
    // The block was taken long ago.
    let old = page.wait("old", |row| clock(row).is_some());
    assert!(clock(&old).unwrap() < -86_400.0, "{old}");
    let good = page.wait("good", |row| clock(row).is_some());
    assert!(clock(&good).unwrap().abs() < 60.0, "{good}");
    hosts.fall_ill();
    let slow = page.wait("slow", |row| row["state"] == "late" && row["age"].as_f64() > Some(3.0));
    assert!(slow["processor"].is_number(), "its last values stay: {slow}");
    // The pause grows.
    let dead = page.wait("dead", |row| row["retry"].as_f64() > Some(2.0));
    assert!(dead["state"] == "failed" && dead["why"].is_string() && dead["age"].is_number(), "{dead}");
    page.wait("good", |row| is_live(row) && row["age"].as_f64() < Some(2.0));
}

#[test]
fn a_session_has_gaps_and_says_why() {
    let Some(hosts) = Hosts::new() else { return };
    let Hosts { net, .. } = &hosts;
    let folder = net.folder.join("logs");
    let words = ["log", "start", "sick", "-c", PATHS[0], "-c", PATHS[1], "-i", "200ms", "--timeout", "1h"];
    let _stopped = Stopped(net, "sick");
    let started = net.tally(&[&words[..], &HOSTS, &["-o", folder.to_str().unwrap()]].concat());
    assert_eq!((started.code, started.out.as_str()), (Some(0), ""), "{}", started.err);
    hosts.fall_ill();
    let parts =
        ["trouble  slow: it has not answered for ", "trouble  dead: ", "; no values for ", "tried again"];
    let shown = until_shown(net, "sick", &parts, true);
    assert!(!shown.contains("trouble  good") && !shown.contains("trouble  old"), "{shown}");
    // Records go on without them.
    let records = || {
        let list: Json = serde_json::from_str(&net.tally(&["log", "list", "--json"]).data()).unwrap();
        list[0]["records"].as_u64().unwrap()
    };
    let (before, begin) = (records(), Instant::now());
    while records() < before + 5 {
        assert!(begin.elapsed() < PATIENCE, "no records");
        thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(net.tally(&["log", "stop", "sick"]).code, Some(0));
    let log = log_in(&folder, "tally");
    let csv = net.folder.join("sick.csv");
    assert_eq!(net.tally(&["relog", log.to_str().unwrap(), "-o", csv.to_str().unwrap()]).code, Some(0));
    let columns = columns(&std::fs::read_to_string(csv).unwrap());
    for (host, is_there) in [("good", true), ("old", true), ("slow", false), ("dead", false)] {
        let name = format!(r"\\{host}\");
        let (_, cells) = columns.iter().find(|(column, _)| column.contains(&name)).unwrap();
        assert!(!cells[0].is_empty(), "{host}: {cells:?}");
        assert_eq!(!cells.last().unwrap().is_empty(), is_there, "{host}: {cells:?}");
        assert_eq!(cells.iter().all(|cell| !cell.is_empty()), is_there, "{host}: {cells:?}");
    }
}

#[test]
fn the_monitor_shows_ages_pauses_and_clocks() {
    let Some(hosts) = Hosts::new() else { return };
    let Some(terminal) = Terminal::open() else { return };
    let folder = &hosts.net.folder;
    terminal.tmux(&["resize-window", "-x", "140", "-y", "40"]);
    terminal.line(&format!(
        "PATH={}:$PATH TALLY_ROOT={} LC_ALL=C.UTF-8 {TALLY} mon {} -H old --timeout 1h",
        folder.join("bin").display(),
        folder.join("root").display(),
        HOSTS.join(" ")
    ));
    terminal.wait_for(&["all hosts: 4 / 4", "Clock"]);
    let line = |screen: &str, host: &str| {
        screen.lines().find(|line| line.trim_start().starts_with(host)).unwrap_or_default().to_string()
    };
    // The clock of the healthy one agrees, and the other's is far behind.
    let is_behind =
        |word: &str| word.strip_prefix('-').is_some_and(|rest| rest.starts_with(char::is_numeric));
    terminal.wait("clocks", |screen| {
        line(screen, "good").contains('±') && line(screen, "old").split_whitespace().any(is_behind)
    });
    hosts.fall_ill();
    terminal.wait_for(&["all hosts: 2 / 4", "late", "failed", "retry in"]);
    terminal.wait("the healthy one goes on", |screen| {
        line(screen, "good").contains("live") && line(screen, "good").contains(" 0 s ")
    });
    terminal.types("q");
}
