//! The page over several hosts: each is opened and read by itself, and one that is slow or gone delays
//! nobody.

use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use tallymon_testkit::PageAddress;
use tallymon_testkit::terminal::clean;

use crate::support::{Net, TALLY, good, has};

/// Longer than anything takes on a loaded machine.
const PATIENCE: Duration = Duration::from_secs(90);

/// A running `tally serve`.
pub(crate) struct Page {
    child: Child,
    address: PageAddress,
}

impl Page {
    pub(crate) fn start(net: &Net, arguments: &[&str]) -> Page {
        Page::start_with(net, clean(TALLY), arguments)
    }

    /// The same with a command that runs the program.
    fn start_with(net: &Net, mut command: Command, arguments: &[&str]) -> Page {
        let path = std::env::var("PATH").unwrap_or_default();
        command.args(["serve", "--port", "0"]).args(arguments);
        command.env("PATH", format!("{}:{path}", net.folder.join("bin").display()));
        command.env("TALLY_ROOT", net.folder.join("root"));
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let address = PageAddress::read(child.stdout.take().unwrap());
        Page { child, address }
    }

    /// Status and answer.
    pub(crate) fn ask(&self, target: &str) -> (u16, String) {
        self.address.ask(target)
    }

    fn get(&self, target: &str) -> Value {
        let (status, body) = self.ask(target);
        assert_eq!(status, 200, "{target}: {body}");
        serde_json::from_str(&body).unwrap()
    }

    /// The row of a host, once it is as wanted.
    pub(crate) fn wait(&self, name: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        let begin = Instant::now();
        loop {
            let fleet = self.get("api/v1/fleet");
            let row = fleet.as_array().unwrap().iter().find(|row| row["name"] == name).unwrap();
            if wanted(row) {
                return row.clone();
            }
            assert!(begin.elapsed() < PATIENCE, "{name}: {fleet}");
            thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn the_page_of_all_hosts_waits_for_none() {
    let flag = tallymon_testkit::Scratch::new();
    let flag = flag.join("up");
    let later = format!("[ -e {} ] || exit 255; {}", flag.display(), good());
    let net = Net::new(&[("good*", &good()), ("later", &later), ("silent", "exec sleep 60")]);
    net.file("root/hosts", b"web1 ssh://good1 web\nweb2 ssh://good2 web\n");
    let begin = Instant::now();
    let hosts = ["-H", "ssh://silent", "-H", "web", "-H", "ssh://gone", "-H", "ssh://later"];
    let page = Page::start(&net, &[&hosts[..], &["--timeout", "5s", "-i", "200ms"]].concat());
    let names: Vec<Value> = page.get("api/v1/hosts").as_array().unwrap().clone();
    let names: Vec<&str> = names.iter().map(|host| host["id"].as_str().unwrap()).collect();
    assert_eq!(names, ["live:silent", "live:web1", "live:web2", "live:gone", "live:later"]);
    for name in ["web1", "web2"] {
        let row = page.wait(name, |row| row["state"] == "live" && row["processor"].is_number());
        assert!(row["memory"].is_number() && row["age"].is_number() && row["clock"].is_object(), "{row}");
        assert_eq!(row["id"], format!("live:{name}"));
    }
    // They did not wait for the one that hangs: it still hangs, or they took no longer than it may.
    let silent = page.wait("silent", |_| true);
    let is_early = begin.elapsed() < Duration::from_secs(5);
    assert!(!is_early || matches!(silent["state"].as_str(), Some("opening" | "late")), "{silent}");
    let silent = page.wait("silent", |row| row["state"] == "failed");
    has(silent["why"].as_str().unwrap(), &["no answer within 5s"]);
    let gone = page.wait("gone", |row| row["state"] == "failed");
    has(gone["why"].as_str().unwrap(), &["Could not resolve hostname"]);
    assert!(gone["processor"].is_null() && gone["age"].is_null(), "{gone}");
    // Each is looked at by its name; without one it is the first.
    let memory = "path=%5CMemory%5CAvailable%20MBytes";
    let (status, words) = page.ask(&format!("api/v1/query?host=live:gone&{memory}"));
    assert_eq!(status, 502, "{words}");
    has(&words, &["Could not resolve hostname"]);
    assert_eq!(page.ask(&format!("api/v1/query?{memory}")).0, 502);
    assert_eq!(page.ask(&format!("api/v1/query?host=live:nobody&{memory}")).0, 404);
    page.get(&format!("api/v1/query?host=live:web2&{memory}"));
    let begin = Instant::now();
    while page.get(&format!("api/v1/rows?host=live:web2&{memory}&after=0"))["rows"].as_array().unwrap().len()
        < 3
    {
        assert!(begin.elapsed() < PATIENCE);
        thread::sleep(Duration::from_millis(50));
    }
    // The overview of a host is sampled from the first look on.
    let begin = Instant::now();
    while page.get("api/v1/overview?host=live:web2")["processors"]["total"]["value"].is_null() {
        assert!(begin.elapsed() < PATIENCE);
        thread::sleep(Duration::from_millis(50));
    }
    std::fs::write(&flag, "").unwrap();
    page.wait("later", |row| row["state"] == "live" && row["processor"].is_number());
    // The first answers come with the page.
    let (status, html) = page.ask("");
    assert_eq!(status, 200);
    has(&html, &["\"fleet\":[{", "live:later"]);
}

/// Each host needs three files and more: with the limit of the start most would fail.
#[test]
fn forty_hosts_need_more_open_files_than_the_page_starts_with() {
    let net = Net::new(&[("good*", &good())]);
    let table: String = (0..40).map(|number| format!("ssh://good{number}\n")).collect();
    let table = net.file("forty", table.as_bytes());
    let mut command = clean("/bin/sh");
    command.args(["-c", r#"ulimit -Sn 64 && exec "$0" "$@""#, TALLY]);
    let hosts = format!("@{}", table.display());
    let page = Page::start_with(&net, command, &["-H", &hosts, "-i", "1s", "--timeout", "60s"]);
    for number in 0..40 {
        page.wait(&format!("good{number}"), |row| row["state"] == "live" && row["processor"].is_number());
    }
}

#[test]
fn a_host_that_breaks_off_is_marked_and_comes_back() {
    let flag = tallymon_testkit::Scratch::new();
    let flag = flag.join("down");
    // While the flag is there, the host breaks off and does not come back.
    let action = format!(
        "[ -e {flag} ] && exit 255; exec 3<&0; {TALLY} serve --stdio <&3 & child=$!; exec 3<&- 0<&-; \
         while kill -0 $child 2>/dev/null; do [ -e {flag} ] && kill $child; sleep 0.1; done; exit 255",
        flag = flag.display()
    );
    let net = Net::new(&[("good", &good()), ("weak", &action)]);
    let page = Page::start(&net, &["-H", "ssh://good", "-H", "ssh://weak", "-i", "200ms"]);
    let is_live = |row: &Value| row["state"] == "live" && row["processor"].is_number();
    page.wait("weak", is_live);
    std::fs::write(&flag, "").unwrap();
    let row = page.wait("weak", |row| row["state"] == "failed");
    // Its last values stay, with their age.
    assert!(row["processor"].is_number() && row["age"].is_number() && row["retry"].is_number(), "{row}");
    page.wait("good", is_live);
    std::fs::remove_file(&flag).unwrap();
    page.wait("weak", |row| is_live(row) && row["age"].as_f64().unwrap() < 1.0);
}

#[test]
fn several_hosts_and_what_is_of_one() {
    let net = Net::new(&[("good*", &good())]);
    let ran = net.tally(&["serve", "-H", "ssh://good1", "-H", "ssh://good2", "--metrics"]);
    assert_eq!(ran.code, Some(2));
    has(&ran.err, &["--metrics serves one machine, and --host names several"]);
}
