//! The screen of recording sessions, over scripted sessions.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crossterm::event::KeyCode;
use tallymon::core::time::FileTime;
use tallymon::core::title::Language;
use tallymon_monitor::sessions::{Session, SessionState, Sessions};
use tallymon_testkit::shared;

use crate::fake::{Bench, DEFAULTS, START};
use crate::mouse::{LEFT, at};
use crate::screens::{check, has};

/// Sessions that a test sets.
struct Kept(Mutex<Vec<Session>>);

fn session(name: &str, state: SessionState, counters: &[&str]) -> Session {
    Session {
        name: name.into(),
        state,
        interval: Duration::from_secs(15),
        counters: counters.iter().map(|path| (*path).to_string()).collect(),
        folder: "/var/lib/tallymon/logs".into(),
        logs: 2,
        bytes: 7_300_000,
        records: 1_234,
        last: Some(FileTime(START.0 + 50_000_000)),
        errors: 0,
        last_error: None,
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
        Arc::new(Kept(Mutex::new(vec![failed, session("night", SessionState::Waiting, &[]), web])))
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
