//! Tests: keys work while somebody looks for findings, however long that takes.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::{Duration, Instant};

use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use tallymon::core::title::Language;
use tallymon::log::ReadOptions;
use tallymon::{Log, Query};

use super::App;
use crate::model::findings::Findings;
use crate::workspace::findings_state::Running;
use crate::workspace::options::Options;

const MINUTE: Duration = Duration::from_secs(60);

/// A log of ten minutes without free memory.
fn log(name: &str) -> PathBuf {
    let file = std::env::temp_dir().join(format!("tallymon-{name}-{}.csv", std::process::id()));
    let mut text = "\"(PDH-CSV 4.0) (UTC)(0)\",\"\\\\a\\Memory\\Available MBytes\"\n".to_string();
    for row in 0..600 {
        let (minute, second) = (row / 60, row % 60);
        text += &format!("\"01/02/2020 03:{minute:02}:{second:02}.000\",\"{}\"\n", 20 + row % 3);
    }
    fs::write(&file, text).unwrap();
    file
}

fn app(file: &Path) -> App {
    let log = Log::open(file, &ReadOptions::default()).unwrap();
    let again = log.clone();
    let query = move || Query::new(Box::new(again.source()), Language::ENGLISH);
    let mut options = Options::new(query.clone());
    options.paths = vec![r"\Memory\Available MBytes".to_string()];
    options.log = Some(log);
    let mut app = App::new(query().unwrap(), options);
    while app.is_reading() {
        app.rows_come(MINUTE);
    }
    app
}

fn screen(app: &mut App) -> String {
    let mut terminal = Terminal::new(TestBackend::new(100, 30)).unwrap();
    terminal.draw(|frame| app.draw(frame)).unwrap();
    terminal.backend().buffer().content.iter().map(ratatui::buffer::Cell::symbol).collect()
}

fn key(app: &mut App, code: KeyCode) {
    app.event(&Event::Key(KeyEvent::new(code, KeyModifiers::NONE)));
}

/// A look that goes on until the test ends it, and says when nobody waits for it any more.
fn slow_look() -> (Running, Sender<()>, Receiver<()>) {
    let (go, gate) = mpsc::channel();
    let (left, leaves) = mpsc::channel();
    let look = move |wanted: &dyn Fn() -> bool| {
        while gate.try_recv().is_err() {
            if !wanted() {
                // The test may have ended.
                let _ = left.send(());
                break;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(Findings::default())
    };
    (Running::begin(look).unwrap(), go, leaves)
}

#[test]
fn keys_work_while_a_look_takes_long() {
    let file = log("findings-slow");
    let mut app = app(&file);
    let (running, go, _) = slow_look();
    app.workspace.findings.running = Some(running);
    let begin = Instant::now();
    for letter in "Wqrgb!qo".chars() {
        app.begin_sample();
        assert!(!app.findings_come(Duration::ZERO));
        key(&mut app, KeyCode::Char(letter));
        screen(&mut app);
    }
    assert!(app.looks_for_findings(), "one look at a time, and it goes on");
    assert!(begin.elapsed() < MINUTE);
    key(&mut app, KeyCode::Char('W'));
    assert!(screen(&mut app).contains("looking for what is wrong"));
    go.send(()).unwrap();
    assert!(app.findings_come(MINUTE));
    assert!(screen(&mut app).contains("nothing stands out"), "the open list shows what came");
    fs::remove_file(&file).ok();
}

#[test]
fn a_look_ends_when_its_log_is_left() {
    let file = log("findings-left");
    let mut app = app(&file);
    let (running, _go, leaves) = slow_look();
    app.workspace.findings.running = Some(running);
    app.workspace.open_files(std::slice::from_ref(&file));
    while app.is_opening() {
        app.file_comes(MINUTE);
    }
    leaves.recv_timeout(MINUTE).unwrap();
    assert!(!app.looks_for_findings());
    // The other log is looked through, once.
    while app.is_reading() {
        app.rows_come(MINUTE);
    }
    app.begin_sample();
    assert!(app.looks_for_findings());
    while app.looks_for_findings() {
        app.findings_come(MINUTE);
    }
    assert!(screen(&mut app).contains("Findings: "));
    app.begin_sample();
    assert!(!app.looks_for_findings());
    fs::remove_file(&file).ok();
}

#[test]
fn a_log_that_is_gone_is_said() {
    let file = log("findings-file");
    let mut app = app(&file);
    fs::remove_file(&file).unwrap();
    app.begin_sample();
    while app.looks_for_findings() {
        app.findings_come(MINUTE);
    }
    key(&mut app, KeyCode::Char('W'));
    let screen = screen(&mut app);
    assert!(screen.contains("Findings (0)") && screen.contains("findings-file"), "{screen}");
}

#[test]
fn a_look_that_took_long_is_not_repeated_soon() {
    let file = log("findings-pause");
    let mut app = app(&file);
    let look = |_: &dyn Fn() -> bool| {
        std::thread::sleep(Duration::from_millis(700));
        Ok(Findings::default())
    };
    for (running, least, most) in [
        (Running::begin(look).unwrap(), Duration::from_secs(35), MINUTE * 10),
        (Running::begin(|_| Ok(Findings::default())).unwrap(), Duration::from_secs(30), MINUTE * 10),
    ] {
        app.workspace.findings.running = Some(running);
        assert!(app.findings_come(MINUTE));
        let pause = app.workspace.findings.pause;
        assert!(pause >= least && pause < most, "{pause:?}");
    }
    fs::remove_file(&file).ok();
}
