//! The service that records sessions: installed, started, stopped and removed by the command, and looked at
//! with `sc` and `reg` of the system.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::thread;
use std::time::{Duration, Instant};

use crate::provider::Provider;

/// As the installer does it: a folder with a blank, which only administrators can change. That of a build may
/// be below one where everybody can replace files.
const FOLDER: &str = r"C:\Program Files\Tallymon test";
const DATA: &str = r"C:\ProgramData\Tallymon";
const KEY: &str = r"HKLM\SYSTEM\CurrentControlSet\Services\Tallymon";
const COUNTER: &str = r"\Processor(*)\Interrupts/sec";

/// The command in that folder. Dropping it removes the service, the sessions and their logs.
struct Installed(PathBuf);

impl Installed {
    fn new() -> Installed {
        fs::create_dir_all(FOLDER).unwrap();
        let program = Path::new(FOLDER).join("tally.exe");
        fs::copy(env!("CARGO_BIN_EXE_tally"), &program).unwrap();
        let installed = Installed(program);
        installed.remove();
        installed
    }

    fn tally(&self, words: &[&str]) -> Output {
        Command::new(&self.0).args(words).env_remove("TALLY_ROOT").output().unwrap()
    }

    /// What the command says, when it ends with this code.
    fn said(&self, code: i32, words: &[&str]) -> String {
        let output = self.tally(words);
        let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        assert_eq!(output.status.code(), Some(code), "{words:?}: {text:?}");
        text.concat().replace('\r', "")
    }

    /// Waits until the service reports something of a session.
    fn wait_for(&self, session: &str) -> String {
        let begin = Instant::now();
        loop {
            let status = self.said(0, &["log", "service", "status"]);
            if status.contains(session) {
                return status;
            }
            assert!(begin.elapsed() < Duration::from_secs(60), "no {session:?} in {status}");
            thread::sleep(Duration::from_millis(200));
        }
    }

    fn process_of(&self, session: &str) -> String {
        let shown = self.said(0, &["log", "show", session]);
        let process = shown.lines().find_map(|line| line.trim().strip_prefix("process  ")?.split(',').next());
        process.unwrap_or_else(|| panic!("{shown}")).to_owned()
    }

    fn remove(&self) {
        // Most of it is not there.
        let _ = self.tally(&["log", "service", "uninstall"]);
        for folder in ["sessions", "state", "logs"] {
            let _ = fs::remove_dir_all(Path::new(DATA).join(folder));
        }
    }
}

impl Drop for Installed {
    fn drop(&mut self) {
        self.remove();
        // Wine keeps a program that has just ended for a moment.
        let _ = fs::remove_dir_all(FOLDER);
    }
}

/// A value of the service's key, as `reg` prints it.
fn value(name: &str) -> String {
    let output = Command::new("reg").args(["query", KEY, "/v", name]).output().unwrap();
    String::from_utf8_lossy(&output.stdout).trim().lines().last().unwrap_or_default().trim().to_owned()
}

#[test]
fn the_service_records_the_sessions_of_the_machine() {
    let Some(provider) = Provider::register("TallymonTest") else { return };
    let tally = Installed::new();
    for verb in ["start", "stop", "status", "uninstall"] {
        let words = tally.said(3, &["log", "service", verb]);
        assert!(words.contains("it is not installed; 'tally log service install' installs it"), "{words}");
    }
    let words = tally.said(2, &["log", "service", "run"]);
    assert!(words.contains("only the service manager of Windows runs this"), "{words}");
    tally.said(0, &["log", "service", "install"]);
    assert!(tally.said(1, &["log", "service", "install"]).contains("is installed already"));
    let image = value("ImagePath");
    assert!(image.ends_with(r#""C:\Program Files\Tallymon test\tally.exe" log service run"#), "{image}");
    assert!(value("Start").ends_with("0x2"), "{}", value("Start"));
    assert!(tally.said(0, &["log", "service", "start"]).contains("nothing to do"));
    tally.said(0, &["log", "start", "web", "-c", COUNTER, "-i", "200ms", "--at-boot"]);
    let status = tally.wait_for("web, recording");
    assert!(status.contains("Tallymon, running, process ") && status.contains("LocalSystem"), "{status}");
    // Another one, while the service runs.
    tally.said(0, &["log", "start", "farm 2", "-c", COUNTER, "-i", "200ms", "-f", "csv", "--at-boot"]);
    tally.wait_for("farm 2, recording");
    assert!(tally.said(1, &["log", "start", "web"]).contains("is recording already"));
    let json = tally.said(0, &["log", "service", "status", "--json"]);
    assert!(json.contains(r#"{"name":"farm 2","status":"recording","last_error":null}"#), "{json}");
    tally.said(0, &["log", "service", "stop"]);
    assert!(tally.said(0, &["log", "service", "stop"]).contains("does not run"));
    let state = Command::new("sc").args(["query", "Tallymon"]).output().unwrap();
    let state = String::from_utf8_lossy(&state.stdout).into_owned();
    assert!(state.contains("1  STOPPED") && state.contains(": 0  (0x0)"), "{state}");
    // Both logs are whole: the native one has its end, the other one is converted.
    let logs = Path::new(DATA).join("logs");
    let log = logs.join("web").join("web_000001.tally");
    let info = tally.said(0, &["info", log.to_str().unwrap()]);
    assert!(!info.contains("damage") && !info.contains("unfinished"), "{info}");
    let values =
        tally.said(0, &["get", "--plain", "--log", log.to_str().unwrap(), r"\Processor(0)\Interrupts/sec"]);
    let value_of_0: f64 = values.trim().parse().unwrap();
    assert!((value_of_0 - 1000.0).abs() < 200.0, "{values}");
    let names: Vec<_> =
        fs::read_dir(logs.join("farm 2")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["farm 2_000001.csv"]);
    tally.said(0, &["log", "delete", "web", "farm 2"]);
    assert!(tally.said(0, &["log", "service", "start"]).contains("nothing to do"));
    tally.said(0, &["log", "service", "uninstall"]);
    assert!(!value("Start").contains("0x"), "{}", value("Start"));
    assert!(log.is_file(), "the removal took the logs");
    drop((tally, provider));
}

/// A damaged session and one that is killed: the others go on, and the killed one continues.
#[test]
fn a_sick_session_of_the_service_costs_nothing_but_itself() {
    let Some(provider) = Provider::register("TallymonTest") else { return };
    let tally = Installed::new();
    tally.said(0, &["log", "start", "good", "-c", COUNTER, "-i", "200ms", "--at-boot"]);
    tally.said(0, &["log", "start", "killed", "-c", COUNTER, "-i", "200ms", "--at-boot"]);
    tally.said(0, &["log", "service", "stop"]);
    fs::write(Path::new(DATA).join("sessions").join("bad.json"), "{").unwrap();
    tally.said(0, &["log", "service", "start"]);
    tally.wait_for("good, recording");
    tally.wait_for("killed, recording");
    let status = tally.wait_for("bad, damaged");
    assert!(status.contains("bad.json"), "{status}");
    let (good, killed) = (tally.process_of("good"), tally.process_of("killed"));
    let kill = Command::new("taskkill").args(["/F", "/PID", &killed]).output().unwrap();
    assert!(kill.status.success(), "{}", String::from_utf8_lossy(&kill.stdout));
    tally.wait_for("killed, killed; the last error: its recorder ended with exit");
    tally.wait_for("killed, recording");
    assert_ne!(tally.process_of("killed"), killed);
    assert_eq!(tally.process_of("good"), good);
    tally.said(0, &["log", "service", "uninstall"]);
    let logs = Path::new(DATA).join("logs").join("killed");
    for entry in fs::read_dir(logs).unwrap() {
        tally.said(0, &["info", entry.unwrap().path().to_str().unwrap()]);
    }
    drop((tally, provider));
}
