//! The terminal: taken over, drawn, and restored whatever happens.

use std::io::{self, IsTerminal, Write};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

use crossterm::event::{
    DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture,
};
use crossterm::execute;
use crossterm::terminal::{
    BeginSynchronizedUpdate, EndSynchronizedUpdate, EnterAlternateScreen, LeaveAlternateScreen,
    disable_raw_mode, enable_raw_mode,
};
use ratatui::backend::CrosstermBackend;
use ratatui::{Frame, Terminal};

/// The terminal in raw mode on its alternate screen; put back when this goes away.
pub(crate) struct FullScreen {
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
/// Whether a thread panicked while the terminal was ours.
static PANICKED: AtomicBool = AtomicBool::new(false);

impl FullScreen {
    pub(crate) fn open() -> io::Result<FullScreen> {
        static HOOK: Once = Once::new();
        HOOK.call_once(|| {
            let before = std::panic::take_hook();
            // The message of a panic would be lost on the alternate screen.
            std::panic::set_hook(Box::new(move |panic| {
                put_back();
                before(panic);
                PANICKED.store(true, Ordering::SeqCst);
            }));
        });
        let opened = take().and_then(|()| Terminal::new(CrosstermBackend::new(Face::default())));
        match opened {
            Ok(terminal) => Ok(FullScreen { terminal }),
            Err(error) => {
                put_back();
                Err(error)
            }
        }
    }

    /// Takes the terminal again, whatever others did with it, and draws all of it anew.
    pub(crate) fn reopen(&mut self) -> io::Result<()> {
        take()?;
        self.terminal.clear()
    }

    /// Copies a text to the clipboard of the terminal.
    pub(crate) fn copy(&self, text: &str) -> io::Result<()> {
        let mut face = Face::default();
        write!(face, "\x1b]52;c;{}\x07", base64(text.as_bytes()))?;
        face.flush()
    }

    /// Shows what something draws.
    ///
    /// A panic in another thread, as in a source, ends the program here: the terminal is put back, and drawing would hide
    /// the message.
    pub(crate) fn show(&mut self, draw: impl FnOnce(&mut Frame<'_>)) -> io::Result<()> {
        if PANICKED.load(Ordering::SeqCst) {
            std::panic::resume_unwind(Box::new("another thread panicked"));
        }
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

impl Drop for FullScreen {
    fn drop(&mut self) {
        put_back();
    }
}

/// Puts the terminal back to what it was before [`run`](crate::run), if it is still ours: for a program that ends in a hurry.
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
