//! Sessions that look at limits, and act when values cross them.

use std::fs;
use std::process::{Child, Command};

use crate::logman::{done, logman};
use crate::record::{Sessions, until};
use crate::support::{AVAILABLE, Folder, Ran, has};

/// A program of a name that nobody else has; it ends with this.
pub(crate) struct Program(Child, &'static str);

impl Program {
    pub(crate) fn start(folder: &Folder, name: &'static str) -> Program {
        // A process has the name of the file that it was started by, also of a link.
        let path = folder.path().join(name);
        std::os::unix::fs::symlink("/bin/sleep", &path).unwrap();
        Program(Command::new(path).arg("1000").spawn().unwrap(), name)
    }

    /// A limit that it crosses as long as it lives.
    pub(crate) fn limit(&self) -> String {
        format!(r"\Process({})\Thread Count > 0", self.1)
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Asserts that a command succeeded, and returns what it said.
#[track_caller]
fn said(ran: Ran) -> String {
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    ran.err
}

#[test]
fn an_alert_begins_ends_and_acts() {
    let sessions = Sessions::new();
    let folder = Folder::new();
    let file = folder.file("said");
    let program = Program::start(&folder, "tally-alert-a");
    said(sessions.log(&["start", "black box", "-c", AVAILABLE, "-i", "50ms"]));
    said(sessions.log(&["stop", "black box"]));
    // What comes from outside stands in the environment, so no name can become a command.
    let command = format!(
        "echo \"$TALLY_ALERT|$TALLY_ALERT_SESSION|$TALLY_ALERT_COUNTER|$TALLY_ALERT_VALUE|$TALLY_ALERT_LIMIT\" \
         >> '{file}'; test -n \"$TALLY_ALERT_TIME\""
    );
    let limit = program.limit();
    let line = ["start", "watchdog", "--alert", &limit, "-i", "50ms", "--event", "--start", "black box"];
    let started = said(sessions.log(&[&line[..], &["--run", &command]].concat()));
    has(&started, &["\"watchdog\" looks at 1 limits every 0.05 s"]);
    until("the other session", || sessions.status("black box")["status"] == "recording");
    assert_eq!(sessions.status("watchdog")["alerts_begun"], 1);
    assert_eq!(sessions.logs("watchdog"), Vec::<String>::new(), "it records nothing");
    let name = program.1;
    drop(program);
    let read = || fs::read_to_string(&file).unwrap_or_default();
    until("the end", || read().lines().count() == 2);
    let counter = format!(r"\Process({name})\Thread Count");
    let expected = [format!("begin|watchdog|{counter}|1|> 0"), format!("end|watchdog|{counter}|gone|> 0")];
    assert_eq!(read().lines().collect::<Vec<_>>(), expected);
    let events = fs::read_to_string(sessions.0.path().join("events.jsonl")).unwrap();
    let of_alerts: Vec<serde_json::Value> = events
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap())
        .filter(|event| event.to_string().contains("watchdog"))
        .collect();
    assert_eq!(of_alerts.len(), 2, "{events}");
    has(
        &sessions.log(&["show", "watchdog"]).data(),
        &[&limit, "start the session \"black box\"", "1 have begun"],
    );
    let status = sessions.status("watchdog");
    assert_eq!((&status["errors"], &status["alerts_begun"]), (&0.into(), &1.into()), "{status}");
    assert!(status["records"].as_u64().unwrap() > 1, "{status}");
}

#[test]
fn a_session_that_records_looks_at_limits_too() {
    let sessions = Sessions::new();
    let folder = Folder::new();
    let program = Program::start(&folder, "tally-alert-b");
    let file = folder.file("said");
    let line =
        ["start", "both", "-c", AVAILABLE, "--alert", &program.limit(), "-i", "50ms", "--for", "200ms"];
    // A command that fails is in the status of the session, and stops nothing.
    said(sessions.log(&[&line[..], &["--run", &format!("echo >> '{file}'; exit 7")]].concat()));
    until("the alert", || sessions.status("both")["alerts_begun"] == 1);
    drop(program);
    until("the end", || fs::read_to_string(&file).is_ok_and(|text| text.lines().count() == 2));
    assert!(sessions.status("both")["last_error"].as_str().is_some_and(|error| error.contains('7')));
    assert_eq!(sessions.logs("both").len(), 1);
    said(sessions.log(&["stop", "both"]));
}

#[test]
fn wrong_alerts_are_refused_before_anything_starts() {
    let sessions = Sessions::new();
    for (options, code, words) in [
        (&["--alert", r"\Memory\Available MBytes"][..], 2, "is not a limit"),
        (&["--alert", r"\Memory\Available MBytes > x", "--event"], 2, "is not a limit"),
        (&["--alert", r"\Memory\Nonsense > 1", "--event"], 3, "Nonsense"),
        (&["--alert", r"\Memory\Available MBytes > 1"], 2, "something to do"),
        (&["-c", AVAILABLE, "--event"], 2, "needs a limit"),
        (&["--alert", r"\Memory\Available MBytes > 1", "--start", "nobody"], 3, "nobody"),
        (&["--alert", r"\Memory\Available MBytes > 1", "--webhook", "ftp://h/x"], 2, "http://"),
        (&["--alert", r"\Memory\Available MBytes > 1", "--webhook", "http://u:p@h/x"], 2, "Authorization"),
        (
            &["--alert", r"\Memory\Available MBytes > 1", "--webhook", "@/nowhere/address"],
            3,
            "/nowhere/address",
        ),
        (
            &["--alert", r"\Memory\Available MBytes > 1", "--event", "--webhook-token", "/x"],
            2,
            "a token needs",
        ),
        (&["-c", AVAILABLE, "--webhook", "http://127.0.0.1:9/"], 2, "needs a limit"),
    ] {
        let line = [&["start", "x"], options].concat();
        has(&sessions.log(&line).words(code), &[words]);
    }
    assert_eq!(sessions.log(&["list", "--json"]).data(), "[]\n");
}

#[test]
fn logman_creates_alerts() {
    let sessions = Sessions::new();
    let line =
        ["create", "alert", "low", "-th", r"\Memory\Available MBytes<1", r"\System\Threads>1", "-si", "1"];
    done(logman(&sessions, &[&line[..], &["-tn", "/bin/echo", "-targ", "it's low"]].concat()));
    let settings: serde_json::Value = serde_json::from_str(&sessions.log(&["export", "low"]).data()).unwrap();
    let alerts = &settings["alerts"];
    assert_eq!(
        alerts["limits"],
        serde_json::json!([r"\Memory\Available MBytes < 1", r"\System\Threads > 1"])
    );
    assert_eq!((&alerts["event"], &alerts["run"]), (&false.into(), &r"'/bin/echo' 'it'\''s low'".into()));
    // As a set of Windows and back.
    let file = sessions.0.file("low.xml");
    done(logman(&sessions, &["export", "low", "-xml", &file]));
    done(logman(&sessions, &["import", "again", "-xml", &file]));
    let again: serde_json::Value = serde_json::from_str(&sessions.log(&["export", "again"]).data()).unwrap();
    assert_eq!((&again["alerts"], &again["counters"]), (alerts, &serde_json::json!([])));
    assert_eq!(again["interval"], settings["interval"]);
    done(logman(&sessions, &["update", "low", "--tn", "-el"]));
    let shown = done(logman(&sessions, &["query", "low"]));
    has(&shown, &["Alert", "Event Log:            On", r"\System\Threads > 1"]);
    has(&done(logman(&sessions, &["query"])), &["low", "Alert", "Stopped"]);
    done(logman(&sessions, &["start", "low"]));
    until("the alert", || sessions.status("low")["alerts_begun"] == 1);
    done(logman(&sessions, &["stop", "low"]));
    has(
        &logman(&sessions, &["create", "counter", "x", "-c", AVAILABLE, "-th", "a>1"]).words(2),
        &["create alert"],
    );
}
