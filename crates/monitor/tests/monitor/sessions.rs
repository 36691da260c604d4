//! The screen of recording sessions, over scripted sessions.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crossterm::event::KeyCode;
use tallymon::core::time::FileTime;
use tallymon::core::title::Language;
use tallymon_monitor::sessions::{Estimate, NewSession, Session, SessionState, Sessions};
use tallymon_testkit::shared;

use crate::fake::{Bench, DEFAULTS, START};
use crate::mouse::{LEFT, at};
use crate::screens::{check, has};

/// Sessions that a test sets.
#[derive(Debug)]
struct Kept(Mutex<Vec<Session>>, Mutex<Vec<NewSession>>);

fn session(name: &str, state: SessionState, counters: &[&str]) -> Session {
    Session {
        name: name.into(),
        state,
        interval: Duration::from_secs(15),
        counters: counters.iter().map(|path| (*path).to_string()).collect(),
        folder: "/var/lib/tallymon/logs".into(),
        log: None,
        logs: 2,
        bytes: 7_300_000,
        records: 1_234,
        last: Some(FileTime(START.0 + 50_000_000)),
        errors: 0,
        last_error: None,
        limits: Vec::new(),
        alerts: 0,
        latest_alerts: Vec::new(),
    }
}

impl Kept {
    fn new() -> Arc<Kept> {
        let failed = Session {
            errors: 3,
            last_error: Some("/var/lib/tallymon/logs: no space left on the device".into()),
            ..session("disk", SessionState::Killed, &[r"\PhysicalDisk(*)\*"])
        };
        let web = session("web", SessionState::Recording, &[r"\Process(web*)\% Processor Time", r"\TCPv4\*"]);
        let sessions = vec![failed, session("night", SessionState::Waiting, &[]), web];
        Arc::new(Kept(Mutex::new(sessions), Mutex::new(Vec::new())))
    }

    fn set(&self, name: &str, state: SessionState) -> Result<(), String> {
        let mut sessions = self.0.lock().unwrap();
        let found = sessions.iter_mut().find(|session| session.name == name).ok_or("no such session")?;
        found.state = state;
        Ok(())
    }

    fn state(&self, name: &str) -> SessionState {
        self.0.lock().unwrap().iter().find(|session| session.name == name).unwrap().state
    }
}

impl Sessions for Kept {
    fn list(&self) -> Result<Vec<Session>, String> {
        Ok(self.0.lock().unwrap().clone())
    }

    fn create(&self, wanted: &NewSession) -> Result<String, String> {
        if wanted.name.is_empty() {
            return Err("a session needs a name".into());
        }
        self.1.lock().unwrap().push(wanted.clone());
        let new = Session {
            counters: wanted.counters.clone(),
            ..session(&wanted.name, SessionState::Recording, &[])
        };
        self.0.lock().unwrap().push(new);
        Ok(format!("session {:?} records", wanted.name))
    }

    fn estimate(&self, _wanted: &NewSession) -> Result<Estimate, String> {
        Ok(Estimate::default())
    }

    fn delete(&self, name: &str) -> Result<String, String> {
        let mut sessions = self.0.lock().unwrap();
        sessions.retain(|session| session.name != name);
        Ok(format!("{name} is gone"))
    }

    fn start(&self, name: &str) -> Result<(), String> {
        if name == "disk" {
            Err("session \"disk\": no space left".into())
        } else {
            self.set(name, SessionState::Recording)
        }
    }

    fn stop(&self, name: &str) -> Result<(), String> {
        self.set(name, SessionState::Stopped)
    }

    fn logs(&self, name: &str) -> Result<Vec<PathBuf>, String> {
        let log = shared("logs/PowerShell_CounterSamples.blg").filter(|_| name == "web");
        Ok(log.into_iter().collect())
    }
}

fn bench(kept: &Arc<Kept>, language: Language) -> Bench {
    let kept: Arc<dyn Sessions> = Arc::clone(kept) as Arc<dyn Sessions>;
    let mut bench = Bench::with(DEFAULTS, language, |options| options.sessions = Some(kept));
    bench.run(3);
    bench
}

#[test]
fn sessions_have_state_size_and_last_error() {
    let kept = Kept::new();
    let screen = check("sessions", bench(&kept, Language::ENGLISH).types("R"));
    has(&screen, &["disk", "killed", "7.3 MB", "15 s", "no space left on the device", "09:40:05"]);
    let mut small = bench(&kept, Language::ENGLISH);
    check("sessions-small", small.resize(40, 12).types("R"));
    for (name, language) in [("korean", Language::KOREAN), ("japanese", Language::JAPANESE)] {
        check(&format!("sessions-{name}"), bench(&kept, language).types("R").key(KeyCode::Down));
    }
    // Without sessions a message says so.
    has(&Bench::new(DEFAULTS).run(1).types("R").screen(), &["there are no recording sessions", "live"]);
}

#[test]
fn a_session_is_stopped_and_started_after_a_question() {
    let kept = Kept::new();
    let mut bench = bench(&kept, Language::ENGLISH);
    bench.types("R").key(KeyCode::End).types("s");
    has(&bench.screen(), &["stop: web? y n"]);
    bench.types("n");
    assert_eq!(kept.state("web"), SessionState::Recording);
    bench.types("sy");
    has(&bench.screen(), &["web: stopped"]);
    assert_eq!(kept.state("web"), SessionState::Stopped);
    bench.types("s");
    has(&bench.screen(), &["start: web? y n"]);
    bench.types("y");
    assert_eq!(kept.state("web"), SessionState::Recording);
    // A failed start reports why, and no other session is started.
    bench.key(KeyCode::Home).types("sy");
    has(&bench.screen(), &["session \"disk\": no space left"]);
    assert_eq!(kept.state("disk"), SessionState::Killed);
    // Choosing another line cancels the question.
    bench.types("s").key(KeyCode::Down).types("y");
    assert_eq!(kept.state("disk"), SessionState::Killed);
    assert_eq!(kept.state("night"), SessionState::Waiting);
}

#[test]
fn enter_opens_the_log_of_a_session() {
    let kept = Kept::new();
    let mut bench = bench(&kept, Language::ENGLISH);
    bench.types("R").key(KeyCode::Enter);
    has(&bench.screen(), &["disk: no log yet"]);
    if shared("logs/PowerShell_CounterSamples.blg").is_none() {
        return;
    }
    at(&mut bench, "web ", LEFT);
    bench.key(KeyCode::Enter);
    bench.settle();
    let screen = bench.screen();
    has(&screen, &["─ LOG ─ PowerShell_CounterSamples.blg ─"]);
    assert!(!screen.contains("Recording sessions"), "{screen}");
}

/// A monitor over these sessions.
fn bench_of(store: &Arc<Kept>, language: Language) -> Bench {
    let store = Arc::clone(store);
    let mut bench = Bench::with(DEFAULTS, language, |options| options.sessions = Some(store));
    bench.run(5);
    bench
}

#[test]
fn a_session_is_made_of_the_counters_of_the_chart() {
    for (name, language, columns, rows) in [
        ("session-form", Language::ENGLISH, 100, 30),
        ("session-form-small", Language::KOREAN, 40, 12),
        ("session-form-japanese", Language::JAPANESE, 80, 24),
        ("session-form-russian", Language::RUSSIAN, 80, 24),
    ] {
        let store = Kept::new();
        let mut bench = bench_of(&store, language);
        bench.resize(columns, rows);
        bench.types("Ra");
        // Without a name it cannot be made, and the form stays with its texts.
        bench.key(KeyCode::Enter);
        bench.settle();
        has(&bench.screen(), &["a session needs a name"]);
        bench.types("spike-1");
        check(name, &mut bench);
        bench.key(KeyCode::Down).key(KeyCode::Down);
        for _ in 0..3 {
            bench.key(KeyCode::Backspace);
        }
        bench.types("2s").key(KeyCode::Enter);
        bench.settle();
        let made = store.1.lock().unwrap().clone();
        let [made] = made.as_slice() else { panic!("{made:?}") };
        let chart: Vec<String> = DEFAULTS.iter().map(|path| (*path).to_string()).collect();
        assert_eq!((made.name.as_str(), made.interval.as_str()), ("spike-1", "2s"));
        assert_eq!((&made.counters, made.format.as_str()), (&chart, "tally"));
        assert!(made.limit.is_empty() && !made.event && !made.all_objects);
        if columns > 40 {
            has(&bench.screen(), &["spike-1", "session \"spike-1\" records"]);
        }
    }
}

#[test]
fn letters_and_escape_stay_in_the_form() {
    let store = Kept::new();
    let mut bench = bench_of(&store, Language::ENGLISH);
    bench.resize(100, 30);
    bench.types("Ra").types("qdasy?");
    has(&bench.screen(), &["qdasy?", "New recording session"]);
    bench.key(KeyCode::Esc);
    // Counters that are written, all objects, and none.
    for (text, counters, all) in
        [(r"\A\B; \C(x)\D ;", &[r"\A\B", r"\C(x)\D"][..], false), ("*", &[], true), ("", &[], false)]
    {
        bench.types("an1").key(KeyCode::Down);
        let clear =
            crossterm::event::KeyEvent::new(KeyCode::Char('u'), crossterm::event::KeyModifiers::CONTROL);
        bench.app.event(&crossterm::event::Event::Key(clear));
        bench.types(text).key(KeyCode::Enter);
        bench.settle();
        let made = store.1.lock().unwrap().last().cloned().unwrap();
        let counters: Vec<String> = counters.iter().map(|path| (*path).to_string()).collect();
        assert_eq!((made.counters, made.all_objects), (counters, all));
    }
    assert!(!bench.screen().contains("New recording session"));
}

#[test]
fn a_session_is_deleted_after_a_question() {
    let store = Kept::new();
    let mut bench = bench_of(&store, Language::ENGLISH);
    bench.resize(100, 30);
    bench.types("Rd");
    has(&bench.screen(), &["delete, its logs stay: disk? y n"]);
    bench.types("n");
    assert_eq!(store.0.lock().unwrap().len(), 3);
    bench.types("dy");
    bench.settle();
    assert_eq!(store.0.lock().unwrap().len(), 2, "and a y without a question does nothing");
    bench.types("y");
    bench.settle();
    assert_eq!(store.0.lock().unwrap().len(), 2);
}

#[test]
fn an_alert_is_made_of_the_threshold_of_the_chosen_counter() {
    let store = Kept::new();
    let mut bench = bench_of(&store, Language::ENGLISH);
    bench.resize(100, 30);
    bench.types("L90").key(KeyCode::Enter).types("Ea");
    let path = bench.app.monitor().chosen().unwrap().path.clone();
    check("session-form-alert", &mut bench);
    bench.types("hot").key(KeyCode::Enter);
    bench.settle();
    let made = store.1.lock().unwrap().clone();
    let [made] = made.as_slice() else { panic!("{made:?}") };
    assert_eq!(made.limit, format!("{path} > 90"));
    assert!(made.event && made.counters.is_empty(), "{made:?}");
    // Back in the list of sessions; closing it leads to the alerts.
    has(&bench.screen(), &["hot"]);
}
