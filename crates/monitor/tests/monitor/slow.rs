//! Every screen opens over a source that is slow, and over one that never answers, and its keys work.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread::{self, ThreadId};
use std::time::Duration;

use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use tallymon::core::block::Snapshot;
use tallymon::core::flow::{Source, SourceError};
use tallymon::core::request::Request;
use tallymon::core::title::{Language, Titles};
use tallymon::{Definitions, Location, Query, Sampler};
use tallymon_monitor::{App, Options};

/// No test waits longer than this, however busy the machine is.
const GUARD: Duration = Duration::from_secs(120);

/// How a source answers once the test lets it be slow.
#[derive(Clone, Copy, PartialEq)]
enum Pace {
    AfterOneSecond,
    Never,
}

/// This machine, which answers slowly from some time on, and notes the threads that call it.
struct Slow {
    inner: Box<dyn Source>,
    pace: Pace,
    is_slow: Arc<AtomicBool>,
    callers: Arc<Mutex<Vec<ThreadId>>>,
}

impl Slow {
    fn wait(&self) {
        self.callers.lock().unwrap().push(thread::current().id());
        match self.pace {
            _ if !self.is_slow.load(Ordering::SeqCst) => {}
            Pace::AfterOneSecond => thread::sleep(Duration::from_secs(1)),
            Pace::Never => loop {
                thread::park();
            },
        }
    }
}

impl Source for Slow {
    fn snapshot(&mut self, request: &Request) -> Result<Snapshot, SourceError> {
        self.wait();
        self.inner.snapshot(request)
    }

    fn titles(&mut self, language: Language) -> Result<Titles, SourceError> {
        self.wait();
        self.inner.titles(language)
    }

    fn languages(&self) -> Vec<Language> {
        // A renewal of all names would take a second for each.
        vec![Language::ENGLISH]
    }
}

struct Bench {
    app: App,
    terminal: Terminal<TestBackend>,
    is_slow: Arc<AtomicBool>,
    callers: Arc<Mutex<Vec<ThreadId>>>,
}

impl Bench {
    /// A monitor with two rows, whose source becomes slow with the third.
    fn new(pace: Pace) -> Bench {
        let (is_slow, callers) = (Arc::<AtomicBool>::default(), Arc::<Mutex<Vec<ThreadId>>>::default());
        let (slow, called) = (Arc::clone(&is_slow), Arc::clone(&callers));
        let open = move || {
            let (is_slow, callers) = (Arc::clone(&slow), Arc::clone(&called));
            Ok(Box::new(Slow { inner: tallymon::open(&Location::Local)?, pace, is_slow, callers }) as _)
        };
        let sampler = Sampler::start(open).unwrap();
        let info = sampler.info(Language::ENGLISH, Definitions::None).wait(GUARD).unwrap().unwrap();
        let mut options = Options::live(sampler);
        options.paths =
            [r"\Processor(_Total)\% Processor Time", r"\Memory\Available Bytes"].map(str::to_string).to_vec();
        let mut app = App::new(Query::over(info), options);
        app.sample();
        app.sample();
        is_slow.store(true, Ordering::SeqCst);
        app.begin_sample();
        let terminal = Terminal::new(TestBackend::new(120, 36)).unwrap();
        Bench { app, terminal, is_slow, callers }
    }

    fn key(&mut self, code: KeyCode) {
        self.app.event(&Event::Key(KeyEvent::new(code, KeyModifiers::NONE)));
        self.poll(Duration::ZERO);
    }

    /// What the loop of the monitor does between two keys.
    fn poll(&mut self, patience: Duration) {
        self.app.sample_comes(patience);
        self.app.jobs_end(Duration::ZERO);
    }

    fn screen(&mut self) -> String {
        self.terminal.draw(|frame| self.app.draw(frame)).unwrap();
        self.terminal.backend().to_string()
    }

    /// Polls until a text is on the screen, or is gone from it.
    #[track_caller]
    fn wait_for(&mut self, text: &str, is_there: bool) {
        for _ in 0..GUARD.as_millis() / 50 {
            if self.screen().contains(text) == is_there {
                return;
            }
            self.poll(Duration::from_millis(50));
        }
        panic!("{text:?} did not {} on\n{}", if is_there { "appear" } else { "vanish" }, self.screen());
    }
}

/// A key that opens a screen; then the text that it shows at once, while it has no values, and once it has
/// them.
const SCREENS: &[(char, &str, &str, &str)] = &[
    ('\n', "", "", "Process: "),
    ('T', " Processor: ", "reading values", "_Total"),
    ('a', "Add counters", "reading values", "_Total"),
    ('D', "Providers: ", "reading values", "built-in"),
    ('x', "What it means", "", "% Processor Time"),
    ('P', "Properties", "", "Grid"),
];

/// Opens every screen in turn, and uses keys in it.
fn open_all(pace: Pace) {
    let mut bench = Bench::new(pace);
    for (key, at_once, while_empty, filled) in SCREENS {
        if *key == '\n' {
            // The spikes of the row at the cursor: they were kept with the row.
            bench.key(KeyCode::Left);
            bench.key(KeyCode::Enter);
        } else {
            bench.key(KeyCode::Char(*key));
        }
        let screen = bench.screen();
        assert!(screen.contains(at_once), "{at_once:?} is not on\n{screen}");
        assert!(screen.contains(while_empty), "{while_empty:?} is not on\n{screen}");
        for code in [KeyCode::Down, KeyCode::Down, KeyCode::Up, KeyCode::Up] {
            bench.key(code);
        }
        if pace == Pace::AfterOneSecond && !while_empty.is_empty() {
            bench.wait_for(while_empty, false);
        }
        if pace == Pace::AfterOneSecond || while_empty.is_empty() {
            let screen = bench.screen();
            assert!(*key == 'x' || *key == 'P' || screen.contains(filled), "{filled:?} is not on\n{screen}");
        }
        bench.key(KeyCode::Esc);
        bench.key(KeyCode::Esc);
        let screen = bench.screen();
        assert!(at_once.is_empty() || !screen.contains(at_once), "{at_once:?} is still on\n{screen}");
        // The next row is a gap as long as one is awaited.
        bench.app.begin_sample();
    }
    let own = thread::current().id();
    assert!(!bench.callers.lock().unwrap().contains(&own), "the screen called the source");
    assert!(bench.is_slow.load(Ordering::SeqCst) && !bench.app.has_quit());
}

/// Runs a test on a thread of its own, so that a screen that waits fails it.
fn guarded(test: impl FnOnce() + Send + 'static) {
    let (done, end) = mpsc::channel();
    thread::spawn(move || {
        test();
        done.send(()).ok();
    });
    end.recv_timeout(GUARD).expect("a screen waits for the source");
}

#[test]
fn screens_over_a_source_that_never_answers_open_and_take_keys() {
    guarded(|| open_all(Pace::Never));
}

#[test]
fn screens_over_a_slow_source_open_at_once_and_fill_later() {
    guarded(|| open_all(Pace::AfterOneSecond));
}
