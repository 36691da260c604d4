//! The terminal: opened, put back whatever happens, and fed with samples at even times.

use std::io::{self, IsTerminal, Write};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crossterm::event::{
    DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture, Event, poll, read,
};
use crossterm::execute;
use crossterm::terminal::{
    BeginSynchronizedUpdate, EndSynchronizedUpdate, EnterAlternateScreen, LeaveAlternateScreen,
    disable_raw_mode, enable_raw_mode,
};
use ratatui::backend::CrosstermBackend;
use ratatui::{Frame, Terminal};
use tallymon::Query;

use crate::app::App;
use crate::term::input::unfolded;
use crate::term::job::Job;
use crate::workspace::options::Options;

/// How long a request to end may wait, since it does not wake whoever waits for a key.
const ATTENTION: Duration = Duration::from_millis(200);

/// How long to wait for a key while the values of a log come.
const READS: Duration = Duration::from_millis(5);

/// How long the screen waits for a sample; most answer much faster.
const AT_ONCE: Duration = Duration::from_millis(50);

/// Runs the monitor until the user quits, over a query without paths yet.
///
/// Samples are taken at multiples of the interval, also while the picture is frozen. The screen is drawn only after a
/// sample, a key or a change of size, and each second while a source that failed is not tried yet.
///
/// # Errors
///
/// The terminal can not be used. It is put back before this returns, and also before the message of a panic.
pub fn run(query: Query, options: Options) -> io::Result<()> {
    let stop = options.stop.clone();
    let mut app = App::new(query, options);
    let job = Job::watch()?;
    let mut screen = Screen::open()?;
    let mut next = Instant::now();
    loop {
        if Instant::now() >= next {
            app.begin_sample();
            // An answer that comes at once is on the same screen as its time.
            app.sample_comes(AT_ONCE);
            let pause = app.pause();
            next += pause;
            // Samples that were missed, as in a suspended machine, are left out.
            if next <= Instant::now() {
                next = Instant::now() + pause;
            }
        }
        app.count_down(next.saturating_duration_since(Instant::now()));
        if app.begins_to_read() {
            // Most logs are read before anybody sees that.
            app.rows_come(AT_ONCE);
        }
        screen.draw(&mut app)?;
        // Everything that was typed in the meantime is one change of the screen.
        let mut typed = false;
        loop {
            let left = if typed { Duration::ZERO } else { next.saturating_duration_since(Instant::now()) };
            if stop.load(Ordering::Relaxed) {
                return Ok(());
            }
            if job.is_to_stop() || app.take_stop() {
                put_back();
                job.stop()?;
                screen.reopen()?;
                break;
            }
            if job.went_on() {
                screen.reopen()?;
                break;
            }
            let attention = match () {
                () if app.is_reading() => READS,
                () if app.is_waiting() || app.is_opening() || app.is_doing() => AT_ONCE,
                () => ATTENTION,
            };
            if !poll(left.min(attention))? {
                let counts = app.count_down(next.saturating_duration_since(Instant::now()));
                // Each of them is looked at: the one that came does not keep the other waiting.
                let sample = app.sample_comes(Duration::ZERO);
                let file = app.file_comes(Duration::ZERO);
                let rows = app.rows_come(Duration::ZERO);
                let deed = app.deed_comes(Duration::ZERO);
                if left <= attention || sample || file || rows || deed || counts {
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

/// The terminal in raw mode on its alternate screen; put back when this goes away.
pub(crate) struct Screen {
    terminal: Terminal<CrosstermBackend<Face>>,
}

/// The side of the terminal that shows: the output of the program, or, when that goes elsewhere, the one of its errors.
#[derive(Debug, Default)]
struct Face(Vec<u8>);

impl Write for Face {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        let bytes = std::mem::take(&mut self.0);
        let mut errors = io::stderr();
        if io::stdout().is_terminal() || !errors.is_terminal() {
            let mut output = io::stdout();
            output.write_all(&bytes)?;
            output.flush()
        } else {
            errors.write_all(&bytes)
        }
    }
}

/// Whether the terminal is ours now and has to be put back.
static OPEN: AtomicBool = AtomicBool::new(false);

impl Screen {
    pub(crate) fn open() -> io::Result<Screen> {
        static HOOK: Once = Once::new();
        HOOK.call_once(|| {
            let before = std::panic::take_hook();
            // The message of a panic would be lost on the alternate screen.
            std::panic::set_hook(Box::new(move |panic| {
                put_back();
                before(panic);
            }));
        });
        let opened = take().and_then(|()| Terminal::new(CrosstermBackend::new(Face::default())));
        match opened {
            Ok(terminal) => Ok(Screen { terminal }),
            Err(error) => {
                put_back();
                Err(error)
            }
        }
    }

    /// Takes the terminal again, whatever others did with it, and draws all of it anew.
    fn reopen(&mut self) -> io::Result<()> {
        take()?;
        self.terminal.clear()
    }

    fn draw(&mut self, app: &mut App) -> io::Result<()> {
        self.show(|frame| app.draw(frame))?;
        if let Some(text) = app.take_clipboard() {
            let mut face = Face::default();
            write!(face, "\x1b]52;c;{}\x07", base64(text.as_bytes()))?;
            face.flush()?;
        }
        Ok(())
    }

    /// Shows what something draws.
    pub(crate) fn show(&mut self, draw: impl FnOnce(&mut Frame<'_>)) -> io::Result<()> {
        // A terminal that knows these words shows the whole change at once; others ignore them.
        // The macro evaluates its writer twice, so it has to be a place and not a new one.
        let mut face = Face::default();
        execute!(face, BeginSynchronizedUpdate)?;
        self.terminal.draw(draw)?;
        execute!(face, EndSynchronizedUpdate)
    }

    /// The terminal has another size.
    pub(crate) fn resize(&mut self) -> io::Result<()> {
        self.terminal.autoresize()
    }
}

/// Makes the terminal ours.
fn take() -> io::Result<()> {
    enable_raw_mode()?;
    OPEN.store(true, Ordering::SeqCst);
    let mut face = Face::default();
    execute!(face, EnterAlternateScreen, EnableMouseCapture, EnableBracketedPaste)
}

impl Drop for Screen {
    fn drop(&mut self) {
        put_back();
    }
}

/// Puts the terminal back to what it was before [`run`], if it is still ours: for a program that ends in a hurry.
pub fn put_back() {
    if OPEN.swap(false, Ordering::SeqCst) {
        // A terminal that is gone needs no restoring.
        let mut face = Face::default();
        let _ = execute!(face, EndSynchronizedUpdate, DisableBracketedPaste, DisableMouseCapture);
        // What is typed once the other screen is seen is for whoever comes next: an Enter of raw mode ends no line there.
        let _ = disable_raw_mode();
        let _ = execute!(face, LeaveAlternateScreen, crossterm::cursor::Show);
    }
}

/// Base64 with padding, as terminals take it for their clipboard.
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let letter = |bits: u32| LETTERS.get((bits & 63) as usize).map_or('A', |letter| char::from(*letter));
    let mut text = String::with_capacity(bytes.len().div_ceil(3).saturating_mul(4));
    for three in bytes.chunks(3) {
        let byte = |at: usize| u32::from(three.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        text.push(letter(bits >> 18));
        text.push(letter(bits >> 12));
        text.push(if three.len() > 1 { letter(bits >> 6) } else { '=' });
        text.push(if three.len() > 2 { letter(bits) } else { '=' });
    }
    text
}

#[cfg(test)]
mod tests {
    use super::base64;

    #[test]
    fn base64_of_known_texts() {
        for (text, expected) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")]
        {
            assert_eq!(base64(text.as_bytes()), expected);
        }
    }
}
