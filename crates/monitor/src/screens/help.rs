//! The help screen: every key with what it does, by task and searched, and a tour of one minute.

use crossterm::event::{KeyEvent, MouseEvent, MouseEventKind};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::keys::binding::{Command, Context};
use crate::keys::lookup::{command, typed};
use crate::keys::show::{help_lines, tour_page};
use crate::keys::tour::PAGES;
use crate::screens::screen::{Action, Layer, Screen, close_by_click, close_or_quit};
use crate::term::chart::Glyphs;
use crate::term::frame::frame;
use crate::term::text::{cut, put, width};
use crate::words::Word;
use crate::workspace::state::Workspace;

/// Lines that a turn of the wheel moves.
const WHEEL: isize = 3;

/// The help screen.
#[derive(Default)]
pub(crate) struct Help {
    /// The page: the keys, then those of the tour.
    page: usize,
    /// The first line in view, and how many there are.
    top: usize,
    lines: usize,
    /// Lines in view.
    rows: usize,
    /// The words that a line has to have, while they are typed.
    search: Option<String>,
}

impl Help {
    fn scroll(&mut self, by: isize) -> Action {
        let last = self.lines.saturating_sub(self.rows);
        self.top = self.top.saturating_add_signed(by).min(last);
        Action::Done
    }

    /// A key of the words that are searched; `None` for one that is none of theirs.
    fn type_key(&mut self, key: KeyEvent, command: Option<Command>) -> Option<Action> {
        let Some(search) = &mut self.search else {
            let begins = command == Some(Command::Filter) && self.page == 0;
            return begins.then(|| {
                self.search = Some(String::new());
                Action::Done
            });
        };
        match (typed(key), command) {
            (Some(letter), _) => search.push(letter),
            (None, Some(Command::DeleteLetter)) => drop(search.pop()),
            (None, Some(Command::Cancel)) => self.search = None,
            _ => return None,
        }
        self.top = 0;
        Some(Action::Done)
    }
}

impl Screen for Help {
    fn layer(&self) -> Layer {
        Layer::Dialog
    }

    fn key(&mut self, key: KeyEvent, _workspace: &mut Workspace) -> Action {
        let command = command(Context::Help, key);
        if let Some(action) = self.type_key(key, command) {
            return action;
        }
        // Behind the last page the keys come again.
        let pages = PAGES.len().saturating_add(1);
        let page = isize::try_from(self.rows).unwrap_or(0);
        let step = match command {
            Some(Command::Previous) => return self.scroll(-1),
            Some(Command::Next) => return self.scroll(1),
            Some(Command::PageBack) => return self.scroll(page.saturating_neg()),
            Some(Command::PageForward) => return self.scroll(page),
            Some(Command::First) => return self.scroll(isize::MIN),
            Some(Command::Last) => return self.scroll(isize::MAX),
            Some(Command::NextPane) => 1,
            Some(Command::PreviousPane) => pages.saturating_sub(1),
            _ => return close_or_quit(key),
        };
        self.page = self.page.saturating_add(step).checked_rem(pages).unwrap_or(0);
        (self.top, self.search) = (0, None);
        Action::Done
    }

    fn mouse(&mut self, event: MouseEvent, _workspace: &mut Workspace) -> Action {
        match event.kind {
            MouseEventKind::ScrollUp => self.scroll(WHEEL.saturating_neg()),
            MouseEventKind::ScrollDown => self.scroll(WHEEL),
            _ => close_by_click(event),
        }
    }

    fn draw(&mut self, buffer: &mut Buffer, area: Rect, workspace: &mut Workspace) {
        let (words, theme) = (workspace.words, workspace.theme);
        let ascii = theme.glyphs == Glyphs::Ascii;
        let wanted = self.search.as_deref().unwrap_or_default();
        let (title, lines) = match self.page.checked_sub(1).and_then(|nth| PAGES.get(nth)) {
            Some(page) => tour_page(page, words, ascii),
            None => (words.get(Word::HelpTitle), help_lines(words, ascii, wanted)),
        };
        let title = match &self.search {
            Some(search) => format!("{title} /{search}"),
            None => title.to_string(),
        };
        // While words are searched the box keeps its size.
        let tallest = if self.search.is_some() { help_lines(words, ascii, "").len() } else { lines.len() };
        let rows = u16::try_from(tallest).unwrap_or(0).saturating_add(2);
        let find =
            if self.page == 0 { format!("/ {}  ", words.get(Word::SearchKeys)) } else { String::new() };
        let below = format!("{find}Tab {}  {}", words.get(Word::TourKeys), words.get(Word::CloseKeys));
        let inside = frame(buffer, area, (74, rows), &title, &below, theme);
        (self.rows, self.lines) = (usize::from(inside.height), lines.len());
        self.top = self.top.min(self.lines.saturating_sub(self.rows));
        if lines.is_empty() {
            let x = inside.x.saturating_add(1);
            put(buffer, x, inside.y, inside.width, words.get(Word::Unknown), theme.warning());
        }
        let columns = lines.iter().map(|(keys, _)| width(keys)).max().unwrap_or(0);
        for (y, (keys, text)) in (inside.top()..inside.bottom()).zip(lines.iter().skip(self.top)) {
            if keys.is_empty() {
                put(buffer, inside.x.saturating_add(1), y, inside.width, text, theme.dim());
                continue;
            }
            put(buffer, inside.x.saturating_add(1), y, columns, keys, theme.bold());
            let x = inside.x.saturating_add(columns).saturating_add(2);
            let left = inside.right().saturating_sub(x);
            put(buffer, x, y, left, &cut(text, left), theme.plain());
        }
        // Whether there is more above and below.
        let at = inside.right().saturating_sub(1);
        if self.top > 0 {
            put(buffer, at, inside.y, 1, theme.either("▲", "^"), theme.warning());
        }
        if self.top.saturating_add(self.rows) < self.lines {
            put(buffer, at, inside.bottom().saturating_sub(1), 1, theme.either("▼", "v"), theme.warning());
        }
    }
}
