//! Tests: keys work while the values of a log arrive slowly.

use std::fs;
use std::path::PathBuf;
use std::sync::Weak;
use std::sync::mpsc::{self, Sender};
use std::time::{Duration, Instant};

use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use tallymon::core::flow::Value;
use tallymon::core::time::FileTime;
use tallymon::core::title::Language;
use tallymon::log::ReadOptions;
use tallymon::{Log, LogRow, Query};

use super::App;
use crate::log::columns::{Loading, Span};
use crate::log::replay::GoalPosition;
use crate::workspace::options::Options;
use crate::workspace::seek::SOON;

const MINUTE: Duration = Duration::from_secs(60);

/// A log of ten minutes with a row a second, whose rows arrive when the test lets them.
struct Slow {
    app: App,
    file: PathBuf,
    rows: Sender<u64>,
    /// How many rows were sent.
    sent: u64,
}

impl Slow {
    fn new(name: &str) -> Slow {
        let file = std::env::temp_dir().join(format!("tallymon-{name}-{}.csv", std::process::id()));
        let mut text =
            "\"(PDH-CSV 4.0) (UTC)(0)\",\"\\\\a\\Memory\\Available Bytes\",\"\\\\a\\System\\Threads\"\n"
                .to_string();
        for row in 0..600 {
            let (minute, second) = (row / 60, row % 60);
            text += &format!("\"01/02/2020 03:{minute:02}:{second:02}.000\",\"{row}\",\"1\"\n");
        }
        fs::write(&file, text).unwrap();
        let log = Log::open(&file, &ReadOptions::default()).unwrap();
        let again = log.clone();
        let query = move || Query::new(Box::new(again.source()), Language::ENGLISH);
        let mut options = Options::new(query.clone());
        options.paths = vec![r"\Memory\Available Bytes".to_string()];
        options.log = Some(log.clone());
        let mut app = App::new(query().unwrap(), options);
        // Instead of the file the test supplies the rows.
        let (rows, gate) = mpsc::channel();
        let summary = log.summary();
        let span = Span { from: FileTime(0), most: 1_000, times: (summary.first, summary.last) };
        let first = summary.first;
        let read = move |_: &Weak<()>, each: &mut dyn FnMut(FileTime, LogRow<'_>) -> bool| {
            let mut row = 0;
            while let Ok(more) = gate.recv() {
                for _ in 0..more {
                    let time = FileTime(first.0 + row * 10_000_000);
                    row += 1;
                    if !each(time, LogRow { values: &[Ok(Value::Number(row as f64))], partial: &[] }) {
                        return Ok(());
                    }
                }
            }
            Ok(())
        };
        let mut loading = Loading::begin(span, vec![0], read).unwrap();
        let replay = app.workspace.replay.as_mut().unwrap();
        loading.shows_all = replay.loading.as_ref().unwrap().shows_all;
        replay.loading = Some(loading);
        app.workspace.monitor.begin_rows();
        Slow { app, file, rows, sent: 0 }
    }

    /// Lets some rows arrive and takes them.
    fn come(&mut self, rows: u64) {
        let end = self.app.workspace.monitor.rows().end + rows;
        self.rows.send(rows).unwrap();
        self.sent += rows;
        while self.app.workspace.monitor.rows().end < end {
            // Collected rows are sent with the next row at the latest.
            self.rows.send(1).unwrap();
            self.sent += 1;
            std::thread::sleep(Duration::from_millis(60));
            self.app.rows_come(Duration::ZERO);
        }
    }

    fn types(&mut self, letters: &str) {
        for letter in letters.chars() {
            let code = if letter == '\n' { KeyCode::Enter } else { KeyCode::Char(letter) };
            self.key(code);
        }
    }

    fn key(&mut self, code: KeyCode) {
        self.app.event(&Event::Key(KeyEvent::new(code, KeyModifiers::NONE)));
    }

    fn screen(&mut self) -> String {
        let mut terminal = Terminal::new(TestBackend::new(100, 30)).unwrap();
        terminal.draw(|frame| self.app.draw(frame)).unwrap();
        let buffer = terminal.backend().buffer();
        buffer.content.iter().map(ratatui::buffer::Cell::symbol).collect()
    }

    fn time_at_cursor(&self) -> Option<u64> {
        let time = self.app.workspace.monitor.time(self.app.workspace.monitor.window.cursor?)?;
        Some((time.0 - self.app.log().unwrap().summary().first.0) / 10_000_000)
    }
}

impl Drop for Slow {
    fn drop(&mut self) {
        fs::remove_file(&self.file).ok();
    }
}

#[test]
fn keys_work_while_values_arrive_and_escape_keeps_them() {
    let mut slow = Slow::new("slow");
    let screen = slow.screen();
    assert!(screen.contains("reading values") && screen.contains(" 0 %  Esc stops"), "{screen}");
    slow.come(300);
    assert!(slow.app.is_reading());
    let screen = slow.screen();
    let rows = slow.app.workspace.monitor.rows().end;
    assert!((300..=slow.sent).contains(&rows), "{rows} of {}", slow.sent);
    let percents = [rows - 1, rows].map(|rows| format!(" {} %", rows * 100 / 600));
    assert!(percents.iter().any(|percent| screen.contains(percent)), "{percents:?}: {screen}");
    assert_eq!(slow.app.workspace.monitor.window.points(), 600, "there is place for what is to come");
    // The cursor, another view, a time in memory.
    slow.types("r");
    assert!(slow.screen().contains("Available Bytes"));
    slow.types("g:03:02:30\n");
    assert_eq!(slow.time_at_cursor(), Some(150));
    slow.key(KeyCode::Esc);
    assert!(!slow.app.is_reading());
    let screen = slow.screen();
    assert!(screen.contains(&format!("records in memory {rows} / 600")), "{screen}");
    // The thread ends, because its receiver is gone.
    let end = Instant::now() + MINUTE;
    while slow.rows.send(1).is_ok() {
        assert!(Instant::now() < end, "it goes on reading");
        std::thread::yield_now();
    }
}

#[test]
fn a_time_is_waited_for_and_read_directly_if_it_takes_too_long() {
    let mut slow = Slow::new("goal");
    slow.come(100);
    slow.types(":03:05:00\n");
    assert!(slow.time_at_cursor().is_some_and(|at| at < 200), "it is not there yet");
    slow.app.workspace.replay.as_mut().unwrap().goal.as_mut().unwrap().since = Instant::now() + MINUTE;
    slow.come(250);
    assert_eq!(slow.time_at_cursor(), Some(300));
    slow.types(":03:09:50\n");
    assert!(slow.app.is_reading());
    // Nothing arrives in time: now the file itself is read, from near that time on.
    let goal = slow.app.workspace.replay.as_mut().unwrap().goal.as_mut().unwrap();
    goal.since = goal.since.checked_sub(SOON).unwrap();
    slow.app.rows_come(Duration::ZERO);
    while slow.app.is_reading() {
        slow.app.rows_come(MINUTE);
    }
    assert_eq!(slow.time_at_cursor(), Some(590));
}

#[test]
fn a_second_jump_replaces_an_unfinished_one() {
    let mut slow = Slow::new("jumps");
    slow.come(100);
    let first = slow.app.log().unwrap().summary().first.0;
    slow.app.workspace.load_near(FileTime(first + 550 * 10_000_000), GoalPosition::Cursor);
    assert!(
        slow.app.is_reading() && slow.app.workspace.monitor.rows().end < 200,
        "the picture of before is there"
    );
    slow.types(":03:08:20\n");
    while slow.app.is_reading() {
        slow.app.rows_come(MINUTE);
    }
    assert_eq!(slow.time_at_cursor(), Some(500));
}

#[test]
fn only_the_column_of_an_added_counter_is_read() {
    let mut slow = Slow::new("added");
    slow.key(KeyCode::Esc);
    slow.app.workspace.load_from(FileTime(0), false);
    while slow.app.is_reading() {
        slow.app.rows_come(MINUTE);
    }
    assert_eq!(slow.app.workspace.monitor.rows(), 0..600);
    slow.app.event(&Event::Paste(r"\System\Threads".to_string()));
    assert!(slow.app.is_reading());
    let at = |slow: &Slow, series: usize, row| {
        slow.app.workspace.monitor.series().get(series).unwrap().at(600, row)
    };
    assert_eq!(at(&slow, 0, 599), Some(Ok(599.0)), "what is there stays");
    assert_eq!(slow.app.workspace.monitor.rows(), 0..600);
    while slow.app.is_reading() {
        slow.app.rows_come(MINUTE);
    }
    assert_eq!([at(&slow, 1, 0), at(&slow, 1, 599)], [Some(Ok(1.0)), Some(Ok(1.0))]);
    // Remove it, and undo.
    slow.key(KeyCode::Down);
    slow.key(KeyCode::Delete);
    assert_eq!((slow.app.workspace.monitor.series().len(), slow.app.is_reading()), (1, false));
    slow.app.event(&Event::Key(KeyEvent::new(KeyCode::Char('z'), KeyModifiers::CONTROL)));
    while slow.app.is_reading() {
        slow.app.rows_come(MINUTE);
    }
    assert_eq!(at(&slow, 1, 300), Some(Ok(1.0)));
}
