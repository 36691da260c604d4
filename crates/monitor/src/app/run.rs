//! The loop of the monitor: samples at even times, keys in between, and a new screen after each.

use std::io;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use crossterm::event::{Event, poll, read};
use tallymon::Query;

use crate::app::App;
use crate::term::input::unfolded;
use crate::term::job::JobControl;
use crate::term::terminal::FullScreen;
use crate::workspace::feed::AT_ONCE;
use crate::workspace::options::Options;

/// The longest time until a request to end is noticed: it does not interrupt the wait for a key.
const ATTENTION: Duration = Duration::from_millis(200);

/// How long to wait for a key while the values of a log arrive.
const READS: Duration = Duration::from_millis(5);

/// Runs the monitor until the user quits, over a query without paths yet.
///
/// Samples are taken at multiples of the interval, also while the picture is frozen. The screen is drawn only
/// after a sample, a key or a change of size, and each second while a failed source waits for its next try.
///
/// # Errors
///
/// The terminal cannot be used. It is restored before this returns, and before the message of a panic.
pub fn run(query: Query, options: Options) -> io::Result<()> {
    let stop = options.stop.clone();
    let mut app = App::new(query, options);
    let jobs = JobControl::watch()?;
    let mut screen = FullScreen::open()?;
    let mut next = Instant::now();
    loop {
        if Instant::now() >= next {
            app.begin_sample();
            // An answer that arrives at once is drawn with its time.
            app.sample_comes(AT_ONCE);
            let pause = app.pause();
            next += pause;
            // Missed samples, as on a suspended machine, are left out.
            if next <= Instant::now() {
                next = Instant::now() + pause;
            }
        }
        app.count_down(next.saturating_duration_since(Instant::now()));
        if app.begins_to_ask() {
            // A dialog over a fast source opens with its values.
            app.answers_come(AT_ONCE);
        }
        if app.begins_to_read() {
            // Most logs are read at once.
            app.rows_come(AT_ONCE);
        }
        screen.show(|frame| app.draw(frame))?;
        if let Some(text) = app.take_clipboard() {
            screen.copy(&text)?;
        }
        // All keys that were typed meanwhile are drawn once.
        let mut typed = false;
        loop {
            let left = if typed { Duration::ZERO } else { next.saturating_duration_since(Instant::now()) };
            if stop.load(Ordering::Relaxed) {
                return Ok(());
            }
            if jobs.is_to_stop() || app.take_suspend() {
                screen.suspend(&jobs)?;
                break;
            }
            if jobs.went_on() {
                screen.reopen()?;
                break;
            }
            let attention = match () {
                () if app.is_reading() => READS,
                () if app.is_waiting() || app.is_opening() || app.has_jobs() => AT_ONCE,
                () => ATTENTION,
            };
            if !poll(left.min(attention))? {
                let counts = app.count_down(next.saturating_duration_since(Instant::now()));
                // Check all of them: one that is ready must not delay another.
                let sample = app.sample_comes(Duration::ZERO);
                let file = app.file_comes(Duration::ZERO);
                let rows = app.rows_come(Duration::ZERO);
                let ended = app.jobs_end(Duration::ZERO);
                let found = app.findings_come(Duration::ZERO);
                if left <= attention || sample || file || rows || ended || found || counts {
                    break;
                }
                continue;
            }
            typed = true;
            let event = read()?;
            if matches!(event, Event::Resize(..)) {
                screen.resize()?;
            }
            let pause = app.pause();
            for event in unfolded(event) {
                app.event(&event);
                if app.has_quit() {
                    return Ok(());
                }
            }
            if app.pause() < pause {
                next = next.min(Instant::now() + app.pause());
            }
        }
    }
}
