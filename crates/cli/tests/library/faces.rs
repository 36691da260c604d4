//! The monitor, the page and sessions start the libraries that somebody means, and show the others' values
//! beside a sick one.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use tallymon_testkit::terminal::Terminal;
use tallymon_testkit::{PageAddress, peer};

use crate::listings::ok;
use crate::support::{Place, Provider, started, traced, wait_for};

/// Two services with libraries, and strace.
fn two_services(place: &Place) -> Option<PathBuf> {
    let strace = peer("strace")?;
    place.install(&Provider::default())?;
    place.install(&Provider { service: "Other", ..Provider::default() })?;
    Some(strace)
}

/// Starts `tally` in a terminal under strace.
fn start(terminal: &Terminal, place: &Place, strace: &Path, trace: &Path, arguments: &str) {
    let (root, strace, trace) = (place.0.display(), strace.display(), trace.display());
    let tally = env!("CARGO_BIN_EXE_tally");
    terminal.line("unset LANG LC_ALL LC_MESSAGES TALLY_LANG NO_COLOR COLORTERM TALLYMON_HOST");
    terminal.line(&format!(
        "TALLYMON_ROOT={root} {strace} -f -qq -e trace=execve -o {trace} {tally} {arguments}; echo ended"
    ));
    // The words of the command are on the screen before.
    terminal.wait_for(&["─ Tallymon ─"]);
}

#[test]
fn the_monitor_starts_the_libraries_that_somebody_means() {
    let Some(terminal) = Terminal::open() else { return };
    let place = Place::new();
    let Some(strace) = two_services(&place) else { return };
    let trace = place.0.join("overview.trace");
    start(&terminal, &place, &strace, &trace, "");
    terminal.wait_for(&["Memory", "CPU"]);
    terminal.key("g");
    terminal.wait_for(&["% Processor Time", "Available MBytes"]);
    assert_eq!(started(&trace), 0, "the overview and the usual chart need none");
    // The dialog lists all counters.
    terminal.key("a");
    terminal.types("MyPerf Calls");
    terminal.wait_for(&["Calls of Collect"]);
    assert_eq!(started(&trace), 2);
    terminal.key("Enter");
    // The first one empties the search; two at once would be another key.
    terminal.key("Escape");
    terminal.wait_for(&["Search:      "]);
    terminal.key("Escape");
    terminal.wait_for(&["MyPerf Calls", "Available MBytes"]);
    terminal.key("q");
    terminal.wait_for(&["ended"]);
    // A path starts the library that it names.
    let trace = place.0.join("path.trace");
    let paths = r"mon '\MyPerf Object(one)\MyPerf Calls' '\Memory\Available MBytes'";
    start(&terminal, &place, &strace, &trace, paths);
    terminal.wait_for(&["MyPerf Calls", "Available MBytes"]);
    assert_eq!(started(&trace), 1);
    terminal.key("q");
    terminal.wait_for(&["ended"]);
}

#[test]
fn the_monitor_shows_healthy_counters_beside_a_crashing_library() {
    let Some(terminal) = Terminal::open() else { return };
    let place = Place::new();
    let Some(strace) = two_services(&place) else { return };
    let crashing = Provider { service: "Bad", fault: "CRASH", ..Provider::default() };
    if place.install(&crashing).is_none() {
        return;
    }
    let paths =
        r"mon '\Bad Object(one)\Bad Calls' '\MyPerf Object(one)\MyPerf Calls' '\Memory\Available MBytes'";
    start(&terminal, &place, &strace, &place.0.join("trace"), paths);
    let value = |screen: &str, name: &str| {
        let line = screen.lines().find(|line| line.contains(name) && !line.contains("Bad"));
        line.and_then(|line| line.split_whitespace().last())
            .is_some_and(|last| last.contains(|c: char| c.is_ascii_digit()))
    };
    let screen = terminal.wait("values of the healthy ones", |screen| {
        value(screen, "MyPerf Calls") && value(screen, "Available MBytes")
    });
    assert!(screen.contains("Bad"), "nothing says that Bad Calls is missing: {screen}");
    terminal.key("q");
    terminal.wait_for(&["ended"]);
}

/// A server of the page under strace.
struct Server {
    child: Child,
    address: PageAddress,
}

impl Server {
    fn start(place: &Place, strace: &Path, trace: &Path) -> Server {
        let mut command = traced(place, strace, trace);
        command.args(["serve", "--port", "0", "--metrics", "--interval", "200ms"]).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let address = PageAddress::read(child.stdout.take().unwrap());
        Server { child, address }
    }

    /// What is there.
    fn get(&self, path: &str) -> String {
        let (status, body) = self.address.ask(path);
        assert_eq!(status, 200, "{path}: {body}");
        body
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // strace takes no signals, and ends with its program.
        let _ = Command::new("pkill").args(["-P", &self.child.id().to_string()]).status();
        let _ = self.child.wait();
    }
}

#[test]
fn the_page_starts_the_libraries_that_somebody_means() {
    let place = Place::new();
    let Some(strace) = two_services(&place) else { return };
    let trace = place.0.join("serve.trace");
    let server = Server::start(&place, &strace, &trace);
    for path in ["", "api/v1/hosts", "api/v1/overview", "api/v1/usual", "api/v1/counters?object=Memory"] {
        server.get(path);
        assert_eq!(started(&trace), 0, "{path}");
    }
    server.get("metrics?objects=Memory");
    assert_eq!(started(&trace), 0);
    // One that is named.
    let counters = server.get("api/v1/counters?object=MyPerf%20Object");
    assert!(counters.contains("MyPerf Calls"), "{counters}");
    assert_eq!(started(&trace), 1);
    let path = "api/v1/query?path=%5CMyPerf%20Object(one)%5CMyPerf%20Calls";
    wait_for("a value of the library", || server.get(path).contains("MyPerf Calls"));
    assert_eq!(started(&trace), 1);
    // A list of everything.
    let objects = server.get("api/v1/objects");
    assert!(objects.contains("Other Object") && objects.contains("MyPerf Object"), "{objects}");
    assert_eq!(started(&trace), 2);
    drop(server);
    // How all of them are.
    let trace = place.0.join("providers.trace");
    let server = Server::start(&place, &strace, &trace);
    server.get("api/v1/providers");
    wait_for("the health of both", || started(&trace) == 2);
}

#[test]
fn a_session_starts_the_libraries_of_its_counters() {
    let place = Place::new();
    let Some(strace) = two_services(&place) else { return };
    // The command looks at the counter, then the session records it.
    for (counter, wanted) in [(r"\Memory\Available MBytes", 0), (r"\MyPerf Object(one)\MyPerf Calls", 2)] {
        let (trace, folder) = (place.0.join("trace"), place.0.join("logs").display().to_string());
        let session =
            ["log", "start", "one", "-o", &folder, "-i", "100ms", "--duration", "1s", "-c", counter];
        let status = traced(&place, &strace, &trace).args(session).status().unwrap();
        assert!(status.success(), "{status}");
        assert_eq!(started(&trace), wanted, "{counter}");
        wait_for("the end of the session", || !ok(&place, &["log", "list"]).contains("recording"));
        ok(&place, &["log", "delete", "one"]);
    }
}
