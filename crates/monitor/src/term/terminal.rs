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
use ratatui::buffer::Buffer;
use ratatui::{Frame, Terminal};
use tallymon::core::visible::visible;

use crate::term::job::JobControl;

/// The terminal in raw mode on its alternate screen; restored on drop.
pub(crate) struct FullScreen {
    terminal: Terminal<CrosstermBackend<TerminalOutput>>,
    has_mouse: bool,
}

/// The output to the terminal: standard output, or standard error when standard output goes elsewhere.
#[derive(Debug, Default)]
struct TerminalOutput(Vec<u8>);

impl Write for TerminalOutput {
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

/// Whether the terminal is taken over and has to be restored.
static OPEN: AtomicBool = AtomicBool::new(false);
/// Whether a thread panicked while the terminal was ours.
static PANICKED: AtomicBool = AtomicBool::new(false);

impl FullScreen {
    /// Takes over the terminal, with the mouse.
    pub(crate) fn open() -> io::Result<FullScreen> {
        FullScreen::open_with(true)
    }

    /// Takes over the terminal and leaves the mouse to it, to select text.
    pub(crate) fn open_without_mouse() -> io::Result<FullScreen> {
        FullScreen::open_with(false)
    }

    fn open_with(has_mouse: bool) -> io::Result<FullScreen> {
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
        let opened =
            take(has_mouse).and_then(|()| Terminal::new(CrosstermBackend::new(TerminalOutput::default())));
        match opened {
            Ok(terminal) => Ok(FullScreen { terminal, has_mouse }),
            Err(error) => {
                put_back();
                Err(error)
            }
        }
    }

    /// Takes over the terminal again, in whatever state it is, and clears it.
    pub(crate) fn reopen(&mut self) -> io::Result<()> {
        take(self.has_mouse)?;
        self.terminal.clear()
    }

    /// Gives the terminal back, stops the program until the shell continues it, and takes the terminal again.
    pub(crate) fn suspend(&mut self, jobs: &JobControl) -> io::Result<()> {
        put_back();
        jobs.stop()?;
        self.reopen()
    }

    /// Columns and rows.
    pub(crate) fn size(&self) -> io::Result<(u16, u16)> {
        let size = self.terminal.size()?;
        Ok((size.width, size.height))
    }

    /// Copies a text to the clipboard of the terminal.
    pub(crate) fn copy(&self, text: &str) -> io::Result<()> {
        let mut output = TerminalOutput::default();
        write!(output, "\x1b]52;c;{}\x07", base64(text.as_bytes()))?;
        output.flush()
    }

    /// Draws a frame and shows it.
    ///
    /// After a panic in another thread, as in that of a source, it draws nothing and ends the program: the
    /// terminal is restored already, and a frame would hide the message.
    pub(crate) fn show(&mut self, draw: impl FnOnce(&mut Frame<'_>)) -> io::Result<()> {
        if PANICKED.load(Ordering::SeqCst) {
            std::panic::resume_unwind(Box::new("another thread panicked"));
        }
        // Terminals that know these sequences show the whole change at once; others ignore them.
        // The macro evaluates its writer twice, so it has to be a place and not a new one.
        let mut output = TerminalOutput::default();
        execute!(output, BeginSynchronizedUpdate)?;
        self.terminal.draw(|frame| {
            draw(frame);
            make_visible(frame.buffer_mut());
        })?;
        execute!(output, EndSynchronizedUpdate)
    }

    /// Adopts another size of the terminal.
    pub(crate) fn resize(&mut self) -> io::Result<()> {
        self.terminal.autoresize()
    }
}

/// Replaces everything in the cells that the terminal would obey or hide. All screens pass here, so no name
/// of a log or a process reaches the terminal as it is.
fn make_visible(buffer: &mut Buffer) {
    for cell in &mut buffer.content {
        let shown = visible(cell.symbol());
        if shown != cell.symbol() {
            // A mark that hangs on a letter has no cell of its own.
            let letters: String =
                shown.chars().filter(|letter| *letter != char::REPLACEMENT_CHARACTER).collect();
            cell.set_symbol(if letters.is_empty() { "\u{fffd}" } else { &letters });
        }
    }
}

/// Takes over the terminal.
fn take(has_mouse: bool) -> io::Result<()> {
    enable_raw_mode()?;
    OPEN.store(true, Ordering::SeqCst);
    let mut output = TerminalOutput::default();
    execute!(output, EnterAlternateScreen, EnableBracketedPaste)?;
    if has_mouse { execute!(output, EnableMouseCapture) } else { Ok(()) }
}

impl Drop for FullScreen {
    fn drop(&mut self) {
        put_back();
    }
}

/// Restores the terminal if it is still taken over: for a program that ends in a hurry.
pub fn put_back() {
    if OPEN.swap(false, Ordering::SeqCst) {
        // A terminal that is gone needs no restoring.
        let mut output = TerminalOutput::default();
        let _ = execute!(output, EndSynchronizedUpdate, DisableBracketedPaste, DisableMouseCapture);
        // Leave raw mode before the shell is in view again: an Enter that is typed then has to end its line.
        let _ = disable_raw_mode();
        let _ = execute!(output, LeaveAlternateScreen, crossterm::cursor::Show);
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
    use super::{base64, make_visible};
    use ratatui::buffer::Buffer;

    #[test]
    fn cells_show_what_they_have() {
        let symbols = ["a", "\u{1b}", "\u{9b}", "e\u{301}", "a\u{e0041}", "\u{202e}", "\u{3164}", "한", "⣿"];
        let shown = ["a", "\u{fffd}", "\u{fffd}", "e\u{301}", "a", "\u{fffd}", "\u{fffd}", "한", "⣿"];
        let mut buffer = Buffer::empty(ratatui::layout::Rect::new(0, 0, symbols.len() as u16, 1));
        for (cell, symbol) in buffer.content.iter_mut().zip(symbols) {
            cell.set_symbol(symbol);
        }
        make_visible(&mut buffer);
        let found: Vec<&str> = buffer.content.iter().map(|cell| cell.symbol()).collect();
        assert_eq!(found, shown);
    }

    #[test]
    fn base64_of_known_texts() {
        for (text, expected) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")]
        {
            assert_eq!(base64(text.as_bytes()), expected);
        }
    }
}
