//! A program that shows one page of text at a time, again and again, until the user quits.

use std::io;
use std::time::{Duration, Instant};

use crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers, poll, read};
use ratatui::style::Style;

use crate::term::input::unfolded;
use crate::term::job::JobControl;
use crate::term::terminal::FullScreen;
use crate::term::text::put;

/// The longest time until a request to stop is noticed: it does not interrupt the wait for a key.
const ATTENTION: Duration = Duration::from_millis(200);

/// Pages of text on the whole terminal, which is restored when this goes away.
pub struct Pages {
    screen: FullScreen,
    jobs: JobControl,
}

/// How a wait ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waited {
    /// The time is over.
    Elapsed,
    /// The screen has another size, or was lost: the page has to be shown again.
    Redraw,
    /// The user quit, or the caller was asked to stop.
    Quit,
}

impl Pages {
    /// Takes over the terminal.
    ///
    /// # Errors
    ///
    /// There is no terminal, or signals cannot be caught.
    pub fn open() -> io::Result<Pages> {
        Ok(Pages { jobs: JobControl::watch()?, screen: FullScreen::open_without_mouse()? })
    }

    /// Columns and rows of the terminal.
    ///
    /// # Errors
    ///
    /// The terminal does not tell.
    pub fn size(&self) -> io::Result<(u16, u16)> {
        self.screen.size()
    }

    /// Shows lines of text from the first row on; what does not fit is left out.
    ///
    /// # Errors
    ///
    /// The terminal cannot be written to.
    pub fn show(&mut self, lines: &[String]) -> io::Result<()> {
        self.screen.show(|frame| {
            let area = frame.area();
            let buffer = frame.buffer_mut();
            for (y, line) in (area.top()..area.bottom()).zip(lines) {
                put(buffer, area.left(), y, area.width, line, Style::new());
            }
        })
    }

    /// Waits until a time and takes keys meanwhile: `q`, Escape and Ctrl-C quit, Ctrl-Z gives the terminal
    /// back to the shell for a while. `is_stopped` says whether a signal asked the program to end.
    ///
    /// # Errors
    ///
    /// The terminal cannot be read or taken over again.
    pub fn wait(&mut self, until: Instant, is_stopped: impl Fn() -> bool) -> io::Result<Waited> {
        loop {
            if is_stopped() {
                return Ok(Waited::Quit);
            }
            if self.jobs.is_to_stop() {
                self.screen.suspend(&self.jobs)?;
                return Ok(Waited::Redraw);
            }
            if self.jobs.went_on() {
                self.screen.reopen()?;
                return Ok(Waited::Redraw);
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(Waited::Elapsed);
            }
            if !poll(left.min(ATTENTION))? {
                continue;
            }
            for event in unfolded(read()?) {
                match meaning(&event) {
                    Meaning::Quit => return Ok(Waited::Quit),
                    Meaning::Suspend => {
                        self.screen.suspend(&self.jobs)?;
                        return Ok(Waited::Redraw);
                    }
                    Meaning::Resize => {
                        self.screen.resize()?;
                        return Ok(Waited::Redraw);
                    }
                    Meaning::Nothing => {}
                }
            }
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Meaning {
    Quit,
    Suspend,
    Resize,
    Nothing,
}

fn meaning(event: &Event) -> Meaning {
    match event {
        Event::Resize(..) => Meaning::Resize,
        Event::Key(KeyEvent { code, modifiers, kind, .. }) if *kind != KeyEventKind::Release => {
            match (code, modifiers.contains(KeyModifiers::CONTROL)) {
                (KeyCode::Char('c'), true) | (KeyCode::Char('q' | 'Q'), false) | (KeyCode::Esc, _) => {
                    Meaning::Quit
                }
                (KeyCode::Char('z'), true) => Meaning::Suspend,
                _ => Meaning::Nothing,
            }
        }
        _ => Meaning::Nothing,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ctrl_c_quits_and_ctrl_z_suspends() {
        let key = |code, modifiers| Event::Key(KeyEvent::new(code, modifiers));
        let (none, control) = (KeyModifiers::NONE, KeyModifiers::CONTROL);
        for (event, expected) in [
            (key(KeyCode::Char('q'), none), Meaning::Quit),
            (key(KeyCode::Char('c'), control), Meaning::Quit),
            (key(KeyCode::Char('c'), none), Meaning::Nothing),
            (key(KeyCode::Char('z'), control), Meaning::Suspend),
            (key(KeyCode::Char('q'), control), Meaning::Nothing),
            (key(KeyCode::Esc, none), Meaning::Quit),
            (Event::Resize(80, 24), Meaning::Resize),
        ] {
            assert_eq!(meaning(&event), expected, "{event:?}");
        }
    }
}
