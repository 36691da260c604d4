//! What belongs to the machine besides its counters: sessions and who may change them, providers, events.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tallymon::Location;
use tallymon::core::time::FileTime;
use tallymon::events::EventLog;
use tallymon::library::event::{ALERT_BEGAN, COLLECT_FAILED, Event};
use tallymon::record::session::{Alert, Limit};
use tallymon::registry::{Installed, Roots, Service, Writer};
use tallymon_monitor::sessions::{Estimate, NewSession, Session, SessionState, Sessions};
use tallymon_serve::{Options, SessionAccess};
use tallymon_testkit::{Scratch, attack};

use crate::answers::log;
use crate::client::{PATIENCE, Reply, Running, options};

/// 2026-03-01T00:00:00Z.
const BEGIN: FileTime = FileTime(134_167_968_000_000_000);

/// Sessions that a test sets, and what was done to them.
#[derive(Debug)]
pub(crate) struct Kept(Mutex<Vec<Session>>, Mutex<Vec<String>>);

impl Kept {
    pub(crate) fn new() -> Arc<Kept> {
        let limit = Limit::parse(r"\Memory\Available MBytes<200").unwrap();
        let alert = |begins, value, seconds: u64| Alert {
            begins,
            counter: r"\Memory\Available MBytes".into(),
            value,
            limit: limit.clone(),
            time: FileTime(BEGIN.0 + seconds * 10_000_000),
        };
        let night = Session {
            name: "night".into(),
            state: SessionState::Recording,
            interval: Duration::from_secs(15),
            counters: vec![r"\Processor(*)\% Processor Time".into()],
            folder: "/var/log/tally".into(),
            log: Some("/var/log/tally/night-000002.tally".into()),
            logs: 2,
            bytes: 73_000,
            records: 240,
            last: Some(BEGIN),
            errors: 0,
            last_error: None,
            limits: vec![limit.to_string()],
            alerts: 1,
            latest_alerts: vec![alert(true, Some(150.0), 60), alert(false, None, 90)],
        };
        let disk = Session {
            name: "disk<b>".into(),
            state: SessionState::Killed,
            counters: Vec::new(),
            log: None,
            last: None,
            errors: 3,
            last_error: Some("no space left on the \u{1b}[2Jdevice".into()),
            limits: Vec::new(),
            alerts: 0,
            latest_alerts: Vec::new(),
            ..night.clone()
        };
        Arc::new(Kept(Mutex::new(vec![disk, night]), Mutex::default()))
    }

    /// The logs of `night` are all files of a folder.
    pub(crate) fn put_in(&self, folder: &std::path::Path) {
        let mut sessions = self.0.lock().unwrap();
        let night = sessions.iter_mut().find(|session| session.name == "night").unwrap();
        night.folder = folder.to_path_buf();
    }

    fn done(&self) -> Vec<String> {
        self.1.lock().unwrap().clone()
    }

    fn set(&self, name: &str, state: SessionState) -> Result<(), String> {
        self.1.lock().unwrap().push(format!("{name}: {state:?}"));
        let mut sessions = self.0.lock().unwrap();
        let found = sessions.iter_mut().find(|session| session.name == name);
        found.ok_or_else(|| format!("there is no session {name:?}"))?.state = state;
        Ok(())
    }
}

impl Sessions for Kept {
    fn list(&self) -> Result<Vec<Session>, String> {
        Ok(self.0.lock().unwrap().clone())
    }

    fn create(&self, wanted: &NewSession) -> Result<String, String> {
        self.1.lock().unwrap().push(format!("{wanted:?}"));
        let like = self.0.lock().unwrap()[1].clone();
        let (name, counters) = (wanted.name.clone(), wanted.counters.clone());
        self.0.lock().unwrap().push(Session { name, counters, state: SessionState::Recording, ..like });
        Ok("1 of 2 counters is not here yet".into())
    }

    fn estimate(&self, wanted: &NewSession) -> Result<Estimate, String> {
        if wanted.interval == "0" {
            return Err("\"0\" is out of range".into());
        }
        let most_bytes = (!wanted.duration.is_empty() || !wanted.end.is_empty()).then_some(24.0 * 73_000.0);
        Ok(Estimate { bytes_an_hour: 73_000.0, most_bytes })
    }

    fn delete(&self, name: &str) -> Result<String, String> {
        self.1.lock().unwrap().push(format!("{name}: deleted"));
        self.0.lock().unwrap().retain(|session| session.name != name);
        Ok(format!("session {name:?} is gone"))
    }

    fn start(&self, name: &str) -> Result<(), String> {
        self.set(name, SessionState::Recording)
    }

    fn stop(&self, name: &str) -> Result<(), String> {
        self.set(name, SessionState::Stopped)
    }

    fn logs(&self, name: &str) -> Result<Vec<PathBuf>, String> {
        let sessions = self.0.lock().unwrap();
        let Some(session) = sessions.iter().find(|session| session.name == name) else {
            return Ok(Vec::new());
        };
        if let Ok(folder) = session.folder.read_dir() {
            let mut logs: Vec<PathBuf> = folder.map(|file| file.unwrap().path()).collect();
            logs.sort();
            return Ok(logs);
        }
        Ok(session.log.iter().filter(|log| log.exists()).cloned().collect())
    }
}

/// A server of this machine with sessions, and with events in a folder.
pub(crate) fn machine(kept: &Arc<Kept>, scratch: &Scratch, control: bool, logs: &[PathBuf]) -> Options {
    let roots = Roots::in_folder(&scratch.join("root"));
    let events = EventLog::of(&roots);
    events.write(&Event::new(&COLLECT_FAILED, ["Gadgets"]));
    events.write(&Event::new(&ALERT_BEGAN, ["night", r"\Memory\Available MBytes", "150", "< 200"]));
    let sessions: Arc<dyn Sessions> = Arc::clone(kept) as Arc<dyn Sessions>;
    Options {
        live: Some(Location::Local),
        logs: logs.to_vec(),
        sessions: Some(SessionAccess { sessions, control, opens_logs: true }),
        events: Some(roots),
        profiles: Some(crate::profiles::access()),
        ..options()
    }
}

#[test]
fn sessions_have_their_files_and_their_alerts() {
    let scratch = Scratch::new();
    let server = Running::with(machine(&Kept::new(), &scratch, false, &[]));
    let found = server.get("/api/v1/sessions");
    assert_eq!(found["control"], false);
    let (disk, night) = (&found["sessions"][0], &found["sessions"][1]);
    assert_eq!(
        (&disk["state"], &disk["file"], &disk["last"]),
        (&"killed".into(), &Value::Null, &Value::Null)
    );
    assert!(!disk["lastError"].as_str().unwrap().contains('\u{1b}'));
    assert_eq!(
        (&night["state"], &night["bytes"], &night["last"], &night["interval"]),
        (&"recording".into(), &73_000.into(), &json!(1_772_323_200_000.0), &json!(15.0))
    );
    assert_eq!(night["limits"], json!([r"\Memory\Available MBytes < 200"]));
    // The newest alert is the first.
    let times: Vec<_> =
        night["latestAlerts"].as_array().unwrap().iter().map(|one| one["time"].as_f64()).collect();
    assert_eq!(times, [Some(1_772_323_290_000.0), Some(1_772_323_260_000.0)]);
    assert_eq!(night["latestAlerts"][1]["value"], 150.0);
    // A server of logs only has none of it.
    let logs = Running::start(false, &[log(&scratch)]);
    for path in ["sessions", "events"] {
        let reply = logs.send(&format!("{}\r\n", logs.head("GET", &format!("/api/v1/{path}"))));
        assert!(reply.status == 404 && reply.text().contains("this server shows no"), "{}", reply.text());
    }
}

#[test]
fn providers_have_their_state_and_their_cost() {
    let scratch = Scratch::new();
    let server = Running::with(machine(&Kept::new(), &scratch, false, &[log(&scratch)]));
    let has_state = |answer: &Value| {
        answer["pending"] == false
            && answer["providers"].as_array().unwrap().iter().any(|one| one["average"].is_number())
    };
    let found = server.wait("/api/v1/providers?lang=ru", has_state);
    assert_eq!(found["reportsHealth"], true);
    let all = found["providers"].as_array().unwrap();
    let memory = all.iter().find(|one| one["name"] == "Memory").unwrap();
    assert_eq!(
        (&memory["title"], &memory["kind"], &memory["errors"]),
        (&"Память".into(), &"builtIn".into(), &json!(0.0))
    );
    assert!(memory["last"].as_f64().unwrap() > 0.0 && memory["collections"].as_f64().unwrap() >= 1.0);
    let [p50, p99] = ["p50", "p99"].map(|name| memory[name].as_f64().unwrap());
    assert!(0.0 < p50 && p50 <= p99 && memory["times"].as_u64().unwrap() >= 1, "{memory}");
    assert_eq!(memory["languages"], json!(["en", "ko", "ja", "ru"]));
    // The one that the terminal would show first is first here.
    let states: Vec<_> = all.iter().map(|one| one["state"].as_str().unwrap_or_default()).collect();
    let rank = |state: &str| {
        ["failed", "degraded", "disabled", "healthy", "unsupported", "notAsked"]
            .iter()
            .position(|known| *known == state)
    };
    assert!(states.is_sorted_by_key(|state| rank(state)), "{states:?}");
    // A log without provider data has its objects.
    server.wait("/api/v1/hosts", |hosts| hosts[1]["state"] == "ready");
    let found = server.get("/api/v1/providers?host=log1");
    assert_eq!(found["reportsHealth"], false);
    let names: Vec<_> = found["providers"].as_array().unwrap().iter().map(|one| &one["name"]).collect();
    assert_eq!(names, ["Process", "System"]);
}

#[test]
fn events_are_filtered_and_the_newest_is_first() {
    let scratch = Scratch::new();
    let server = Running::with(machine(&Kept::new(), &scratch, false, &[]));
    let ids = |target: &str| {
        let found = server.get(&format!("/api/v1/events?{target}"));
        let ids: Vec<_> =
            found["events"].as_array().unwrap().iter().map(|one| one["id"].as_u64().unwrap()).collect();
        (found["all"].as_u64().unwrap(), found["found"].as_u64().unwrap(), ids)
    };
    let (alert, failed) = (u64::from(ALERT_BEGAN.id), u64::from(COLLECT_FAILED.id));
    for (target, found, expected) in [
        ("", 2, vec![alert, failed]),
        ("last=1", 2, vec![alert]),
        ("filter=MEMORY+available", 1, vec![alert]),
        ("provider=gadgets", 1, vec![failed]),
        ("level=nothing", 0, vec![]),
    ] {
        let (all, count, ids) = ids(target);
        assert_eq!((count, ids), (found, expected), "{target}");
        assert_eq!(all, if target.starts_with("provider") { 1 } else { 2 }, "{target}");
    }
    let newest = &server.get("/api/v1/events")["events"][0];
    assert!(newest["message"].as_str().unwrap().contains("night") && newest["time"].is_number(), "{newest}");
}

#[test]
fn allowed_control_starts_stops_and_makes_sessions() {
    let scratch = Scratch::new();
    let kept = Kept::new();
    let server = Running::with(machine(&kept, &scratch, true, &[]));
    let post = |target: &str| {
        let reply = server.send(&format!("{}Content-Length: 0\r\n\r\n", server.head("POST", target)));
        (reply.status, serde_json::from_slice::<Value>(&reply.body).unwrap())
    };
    let (status, all) = post("/api/v1/sessions/stop?name=night");
    assert_eq!(
        (status, &all["sessions"][1]["state"], &all["control"]),
        (200, &"stopped".into(), &true.into())
    );
    let (status, all) = post("/api/v1/sessions/start?name=night");
    assert_eq!((status, &all["sessions"][1]["state"]), (200, &"recording".into()));
    let (status, all) = post(
        "/api/v1/sessions?name=new&path=%5CSystem%5CProcesses&path=%5CMemory%5C*&interval=2s&format=blg\
         &duration=8h&begin=1772323200000&end=1772409600500&rotateTime=1h&rotateSize=100M&segments=24&maxSize=2G",
    );
    assert_eq!((status, &all["said"]), (200, &"1 of 2 counters is not here yet".into()));
    assert_eq!(all["sessions"][2]["counters"], json!([r"\System\Processes", r"\Memory\*"]));
    let expected = NewSession {
        name: "new".into(),
        counters: vec![r"\System\Processes".into(), r"\Memory\*".into()],
        interval: "2s".into(),
        format: "blg".into(),
        begin: "2026-03-01T00:00:00Z".into(),
        end: "2026-03-02T00:00:00Z".into(),
        duration: "8h".into(),
        rotate_time: "1h".into(),
        rotate_size: "100M".into(),
        segments: "24".into(),
        max_size: "2G".into(),
        ..NewSession::default()
    };
    assert_eq!(
        kept.done(),
        ["night: Stopped".to_string(), "night: Recording".into(), format!("{expected:?}")]
    );
    // How much it would write is known before, and nothing is made for it.
    let asked = "/api/v1/sessions/estimate?path=%5CSystem%5CProcesses";
    assert_eq!(post(asked), (200, json!({ "bytesAnHour": 73_000.0, "mostBytes": null })));
    let (_, estimate) = post(&format!("{asked}&interval=1s&duration=24h&rotateSize=100M"));
    assert_eq!(estimate["mostBytes"], json!(1_752_000.0));
    assert_eq!(post(&format!("{asked}&interval=0")).0, 409);
    assert_eq!(post(&format!("{asked}&begin=soon")).0, 400);
    // What a size is and what a time is no letter decides.
    assert_eq!(post(&format!("{asked}&rotate=100M")).0, 400);
    assert_eq!(kept.done().len(), 3);
    // An alert has its counter in its limit.
    let limit = "limit=%5CMemory%5CAvailable+MBytes+%3C+200&after=30s&event=1";
    assert_eq!(post(&format!("/api/v1/sessions?name=low&{limit}")).0, 200);
    assert_eq!(post("/api/v1/sessions?name=all&allObjects=1").0, 200);
    let alert = NewSession {
        name: "low".into(),
        limit: r"\Memory\Available MBytes < 200".into(),
        after: "30s".into(),
        event: true,
        ..NewSession::default()
    };
    let whole = NewSession { name: "all".into(), all_objects: true, ..NewSession::default() };
    assert_eq!(kept.done()[3..], [format!("{alert:?}"), format!("{whole:?}")]);
    assert_eq!(post("/api/v1/sessions?name=x&allObjects=yes").0, 400);
    assert_eq!(kept.done().len(), 5);
    // What goes wrong is said in words.
    let (status, error) = post("/api/v1/sessions/start?name=nobody");
    assert_eq!((status, &error["error"]), (409, &"there is no session \"nobody\"".into()));
    assert_eq!(post("/api/v1/sessions?name=new").0, 400);
}

#[test]
fn the_log_of_a_session_is_shown_and_a_session_is_deleted() {
    let scratch = Scratch::new();
    let kept = Kept::new();
    kept.0.lock().unwrap()[1].log = Some(log(&scratch));
    // Looking needs no control.
    let server = Running::with(machine(&kept, &scratch, false, &[]));
    let post = |server: &Running, target: &str| {
        let reply = server.send(&format!("{}Content-Length: 0\r\n\r\n", server.head("POST", target)));
        (reply.status, serde_json::from_slice::<Value>(&reply.body).unwrap())
    };
    for _ in 0..2 {
        // A session that goes on is read anew, and is one log still.
        assert_eq!(
            post(&server, "/api/v1/sessions/open?name=night"),
            (200, json!({ "id": "log1", "logs": 1, "all": 1 }))
        );
        let hosts = server.wait("/api/v1/hosts", |hosts| hosts[1]["state"] == "ready");
        assert_eq!((&hosts[1]["name"], &hosts[1]["closable"]), (&"day.csv".into(), &true.into()));
        assert_eq!(hosts.as_array().unwrap().len(), 2);
    }
    // A server for other machines shows what was given, and no logs of sessions.
    let mut options = machine(&kept, &scratch, false, &[]);
    options.sessions.as_mut().unwrap().opens_logs = false;
    let apart = Running::with(options);
    let (status, error) = post(&apart, "/api/v1/sessions/open?name=night");
    assert_eq!(
        (status, &error["error"]),
        (403, &"this server shows other machines no logs of sessions".into())
    );
    assert_eq!(apart.get("/api/v1/sessions")["opensLogs"], false);
    drop(apart);
    let (status, error) = post(&server, "/api/v1/sessions/open?name=disk");
    assert_eq!((status, &error["error"]), (409, &"session \"disk\" has no log yet".into()));
    let closed = server.send(&format!("{}\r\n", server.head("DELETE", "/api/v1/logs?id=log1")));
    assert_eq!((closed.status, server.get("/api/v1/hosts").as_array().unwrap().len()), (200, 1));
    // The file is that of the session, and stays.
    assert!(log(&scratch).exists());
    let server = Running::with(machine(&kept, &scratch, true, &[]));
    let (status, all) = post(&server, "/api/v1/sessions/delete?name=night");
    assert_eq!((status, &all["said"]), (200, &"session \"night\" is gone".into()));
    assert_eq!(all["sessions"].as_array().unwrap().len(), 1);
    assert_eq!(kept.done(), ["night: deleted"]);
}

#[test]
fn a_library_is_disabled_and_enabled() {
    let scratch = Scratch::new();
    let roots = Roots::in_folder(&scratch.join("root"));
    let writer = Writer::open(&roots, None).unwrap();
    writer.register(&[Service { name: "Gadgets".into(), ..Service::default() }]).unwrap();
    let is_disabled = || Installed::read_what_is_whole(&roots).0.services().next().unwrap().1.disabled;
    let server = Running::with(machine(&Kept::new(), &scratch, true, &[]));
    let post = |on: u8| {
        let target = format!("/api/v1/providers/enable?name=Gadgets&on={on}");
        server.send(&format!("{}Content-Length: 0\r\n\r\n", server.head("POST", &target))).status
    };
    assert_eq!((post(0), is_disabled()), (200, true));
    assert_eq!((post(1), is_disabled()), (200, false));
    let reply = server.send(&format!(
        "{}Content-Length: 0\r\n\r\n",
        server.head("POST", "/api/v1/providers/enable?name=Nobody&on=0")
    ));
    assert!(reply.status == 409 && reply.text().contains("Nobody"), "{}", reply.text());
    assert_eq!(server.get("/api/v1/providers")["control"], true);
}

/// When a process began, as the overview of a server says it.
fn start_of(process: &std::process::Child) -> String {
    let server = Running::start(true, &[]);
    let found = server.wait(&format!("/api/v1/overview?filter={}&processes=2000", process.id()), |answer| {
        answer["processes"]["largest"]
            .as_array()
            .is_some_and(|all| all.iter().any(|one| one["id"] == process.id()))
    });
    let all = found["processes"]["largest"].as_array().unwrap();
    let own = all.iter().find(|one| one["id"] == process.id()).unwrap();
    own["start"].as_str().unwrap().to_string()
}

#[test]
fn processes_are_sorted_told_who_they_are_and_ended() {
    let scratch = Scratch::new();
    let mut sleeper = std::process::Command::new("sleep").arg("601").spawn().unwrap();
    let id = sleeper.id();
    let server = Running::with(machine(&Kept::new(), &scratch, true, &[]));
    let host = &server.get("/api/v1/hosts")[0];
    assert_eq!((&host["control"], &host["processes"]), (&true.into(), &true.into()));
    let own = |answer: &Value| {
        let all = answer["processes"]["largest"].as_array()?;
        all.iter().find(|one| one["id"] == id).cloned()
    };
    // What it runs is known from a sample on, and is found by it.
    let target = "/api/v1/overview?texts=1&filter=sleep+601&sort=command";
    let found = server.wait(target, |answer| own(answer).is_some_and(|one| one["command"].is_string()));
    let one = own(&found).unwrap();
    assert_eq!(one["command"], "sleep 601");
    assert!(one["user"].is_string() && one["parent"] == std::process::id(), "{one}");
    assert!(found["processes"]["found"].as_u64() < found["processes"]["count"].as_u64(), "{found}");
    assert!(found["first"].as_f64() <= found["last"].as_f64());
    // Without the texts it has none.
    let found = server.get(&format!("/api/v1/overview?filter={id}"));
    assert_eq!(own(&found).unwrap()["command"], Value::Null);
    let start = one["start"].as_str().unwrap();
    let post = |target: &str| {
        let head = server.head("POST", &format!("/api/v1/processes/act?id={id}&start={start}&{target}"));
        let reply = server.send(&format!("{head}Content-Length: 0\r\n\r\n"));
        assert_eq!(reply.status, 200, "{target}: {}", reply.text());
    };
    let state = || {
        let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap();
        let fields: Vec<String> =
            stat.rsplit(')').next().unwrap().split_whitespace().map(str::to_owned).collect();
        (fields[0].clone(), fields[16].clone())
    };
    // A signal takes effect when the process is next on a processor.
    let becomes = |wanted: (&str, &str)| {
        let begin = Instant::now();
        while state() != (wanted.0.to_string(), wanted.1.to_string()) {
            assert!(begin.elapsed() < PATIENCE, "{:?}, not {wanted:?}", state());
            std::thread::sleep(Duration::from_millis(10));
        }
    };
    let usual = state().1;
    post("do=stop");
    becomes(("T", &usual));
    post("do=continue");
    becomes(("S", &usual));
    // Less of the processors: everybody may.
    post("do=nice&nice=19");
    becomes(("S", "19"));
    post("do=end");
    sleeper.wait().unwrap();
    // It is not there any longer: a later process with its id is another one.
    let head = server.head("POST", &format!("/api/v1/processes/act?id={id}&start={start}&do=end"));
    assert_eq!(server.send(&format!("{head}Content-Length: 0\r\n\r\n")).status, 409);
}

#[test]
fn another_interval_holds_for_everybody_who_looks() {
    let scratch = Scratch::new();
    let server = Running::with(machine(&Kept::new(), &scratch, true, &[]));
    let post = |seconds: &str| {
        let head = server.head("POST", &format!("/api/v1/interval?seconds={seconds}"));
        server.send(&format!("{head}Content-Length: 0\r\n\r\n")).status
    };
    let next = || server.get("/api/v1/hosts")[0]["next"].as_u64().unwrap();
    assert_eq!(post("3600"), 200);
    assert_eq!(server.get("/api/v1/hosts")[0]["interval"], json!(3600.0));
    // The sample that was due still comes, late on a busy machine; then there is none.
    let begin = Instant::now();
    let (mut before, mut since) = (next(), begin);
    while since.elapsed() < Duration::from_millis(700) {
        assert!(begin.elapsed() < PATIENCE, "samples still come: {before}");
        std::thread::sleep(Duration::from_millis(20));
        let now = next();
        if now != before {
            (before, since) = (now, Instant::now());
        }
    }
    // A shorter one does not wait for the end of the longer one.
    assert_eq!(post("0.1"), 200);
    server.wait("/api/v1/hosts", |hosts| hosts[0]["next"].as_u64().unwrap() > before + 3);
}

/// A report of the history of this machine: without a session, and without a log.
#[test]
fn a_report_of_the_live_machine() {
    let scratch = Scratch::new();
    let server = Running::with(machine(&Kept::new(), &scratch, false, &[log(&scratch)]));
    server.wait("/api/v1/hosts", |hosts| {
        hosts[0]["next"].as_u64().is_some_and(|next| next > 4) && hosts[1]["state"] == "ready"
    });
    for target in ["", "?host=live&last=600&lang=ko", "?host=log1"] {
        let reply = server.send(&format!("{}\r\n", server.head("GET", &format!("/api/v1/report{target}"))));
        let text = reply.text();
        assert_eq!(reply.status, 200, "{target}: {text}");
        assert_eq!(reply.header("content-disposition"), Some("attachment; filename=\"report.html\""));
        assert!(text.contains("id=\"data\">") && !text.contains("id=\"data\"></script>"), "{target}");
    }
    // No file of it stays.
    let names = server.get("/api/v1/logs");
    assert_eq!(names.as_array().unwrap().len(), 1);
}

/// A request that changes something, with these headers.
fn post_as(server: &Running, target: &str, more: &str) -> Reply {
    let head = format!("POST /api/v1/{target} HTTP/1.1\r\nHost: {}\r\n{more}", server.at);
    server.send(&format!("{head}Content-Length: 0\r\nConnection: close\r\n\r\n"))
}

/// Whoever has no right is refused at some addresses; a server at which they may be asked.
fn refused_without_right(kept: &Arc<Kept>, targets: &[&str]) -> Running {
    let scratch = Scratch::new();
    let post = post_as;
    // Without --allow-control nobody can.
    let shows = Running::with(machine(kept, &scratch, false, &[]));
    for target in targets {
        let reply = post(&shows, target, &format!("Authorization: Bearer {}\r\n", shows.token));
        assert!(
            reply.status == 403 && reply.text().contains("--allow-control"),
            "{target}: {}",
            reply.text()
        );
    }
    // With it, only this page and who has the token.
    let server = Running::with(machine(kept, &scratch, true, &[]));
    let (token, at) = (&server.token, server.at);
    let cookie = format!("Cookie: tally={token}\r\n");
    for target in targets {
        for (more, status) in [
            (String::new(), 401),
            (format!("Origin: http://{at}\r\n"), 401),
            (format!("Authorization: Bearer {token}0\r\n"), 401),
            // A form or a script of another site, with the cookie of the user.
            (format!("{cookie}Origin: http://evil.example\r\n"), 403),
            (format!("{cookie}Origin: null\r\n"), 403),
            (format!("{cookie}Origin: http://{at}\r\nSec-Fetch-Site: cross-site\r\n"), 403),
            (format!("{cookie}Sec-Fetch-Site: same-site\r\n"), 403),
            // A browser that does not say where a request comes from.
            (cookie.clone(), 403),
            (format!("{cookie}Authorization: Basic eDp5\r\n"), 403),
        ] {
            let reply = post(&server, target, &more);
            assert_eq!(reply.status, status, "{target} {more}: {}", reply.text());
        }
        // An address that is opened, or an image of another site, changes nothing.
        let reply = server.send(&format!("{}\r\n", server.head("GET", &format!("/api/v1/{target}"))));
        assert!(matches!(reply.status, 200 | 404), "{target}: {}", reply.status);
    }
    server
}

#[test]
fn attack_on_recording_sessions() {
    let kept = Kept::new();
    let server = refused_without_right(
        &kept,
        &[
            "sessions/stop?name=night",
            "sessions/start?name=night",
            "sessions?name=x&path=%5CSystem%5CProcesses",
            "sessions/estimate?path=%5CSystem%5CProcesses",
            "sessions/delete?name=night",
            "providers/enable?name=x&on=0",
        ],
    );
    let owner = format!("Authorization: Bearer {}\r\n", server.token);
    for target in [
        // What a session of the page cannot have: a command, an address, a folder.
        "sessions?name=x&path=%5CSystem%5CProcesses&run=id",
        "sessions?name=x&path=%5CSystem%5CProcesses&webhook=http://evil.example",
        "sessions?name=x&path=%5CSystem%5CProcesses&folder=/etc",
        // Names that are other files.
        "sessions?name=../x&path=%5CSystem%5CProcesses",
        "sessions/start?name=%2Fetc%2Fpasswd",
        "sessions/stop?name=..",
        "sessions/stop?name=a%00b",
        "sessions/stop",
        "sessions/delete?name=../x",
        "sessions/open?name=../x",
        "providers/enable?name=x&on=2",
    ] {
        assert_eq!(post_as(&server, target, &owner).status, 400, "{target}");
    }
    assert_eq!(kept.done(), Vec::<String>::new());
    // The page itself may.
    let page = format!("Cookie: tally={}\r\nOrigin: http://{}\r\n", server.token, server.at);
    let reply = post_as(&server, "sessions/stop?name=night", &page);
    assert_eq!((reply.status, kept.done().len()), (200, 1));
    attack(
        "pages",
        "start, stop, make or delete recording sessions, switch providers: without the right, from another site, \
         with a command, a folder or the name of another file",
        "refused without --allow-control; with it the cookie needs the Origin of this page; a session of \
         the page runs no command and chooses no folder",
    );
}

#[test]
fn attack_on_processes_and_the_interval() {
    // A process of this test, which has to be there at the end.
    let mut sleeper = std::process::Command::new("sleep").arg("600").spawn().unwrap();
    let id = sleeper.id();
    let own = format!("processes/act?id={id}&start={}&do=kill", start_of(&sleeper));
    let server = refused_without_right(&Kept::new(), &["interval?seconds=60", &own]);
    let owner = format!("Authorization: Bearer {}\r\n", server.token);
    for (target, status) in [
        // Another process that had this id before, groups of processes, what is no number.
        (format!("processes/act?id={id}&start=1&do=kill"), 409),
        ("processes/act?id=0&start=1&do=kill".to_string(), 400),
        (format!("processes/act?id=-{id}&start=1&do=kill"), 400),
        ("processes/act?id=-1&start=1&do=kill".to_string(), 400),
        ("processes/act?id=4294967295&start=1&do=kill".to_string(), 409),
        (format!("processes/act?id={id}&start=x&do=kill"), 400),
        (format!("processes/act?id={id}&start=1&do=9"), 400),
        (format!("processes/act?id={id}&start=1&do=nice&nice=99"), 400),
        ("interval?seconds=0".to_string(), 400),
        ("interval?seconds=NaN".to_string(), 400),
        ("interval?seconds=1e300".to_string(), 400),
    ] {
        let reply = post_as(&server, &target, &owner);
        assert_eq!(reply.status, status, "{target}: {}", reply.text());
    }
    assert!(sleeper.try_wait().unwrap().is_none(), "a process was ended");
    assert_eq!(server.get("/api/v1/hosts")[0]["interval"], json!(0.1));
    sleeper.kill().unwrap();
    sleeper.wait().unwrap();
    attack(
        "pages",
        "end processes and change the interval: without the right, from another site, with the id of a process that \
         is another one now, or of a group",
        "refused without --allow-control; with it the cookie needs the Origin of this page; a process is named by \
         its id and its start",
    );
}
