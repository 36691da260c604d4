//! The help screen: every key with what it does, and a tour of one minute.

use crossterm::event::{KeyCode, KeyEvent, MouseEvent};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::keys::show::{help_lines, tour_page};
use crate::keys::tour::PAGES;
use crate::screens::screen::{Action, Layer, Screen, close_by_click, close_or_quit};
use crate::term::chart::Glyphs;
use crate::term::frame::frame;
use crate::term::text::{cut, put, width};
use crate::words::Word;
use crate::workspace::state::Workspace;

/// The help screen.
#[derive(Default)]
pub(crate) struct Help {
    /// The page: the keys, then those of the tour.
    page: usize,
}

impl Screen for Help {
    fn layer(&self) -> Layer {
        Layer::Dialog
    }

    fn key(&mut self, key: KeyEvent, _workspace: &mut Workspace) -> Action {
        // Behind the last page the keys come again.
        let pages = PAGES.len().saturating_add(1);
        let step = match key.code {
            KeyCode::Tab | KeyCode::Right => 1,
            KeyCode::BackTab | KeyCode::Left => pages.saturating_sub(1),
            _ => return close_or_quit(key),
        };
        self.page = self.page.saturating_add(step).checked_rem(pages).unwrap_or(0);
        Action::Done
    }

    fn mouse(&mut self, event: MouseEvent, _workspace: &mut Workspace) -> Action {
        close_by_click(event)
    }

    fn draw(&mut self, buffer: &mut Buffer, area: Rect, workspace: &mut Workspace) {
        let (words, theme) = (workspace.words, workspace.theme);
        let ascii = theme.glyphs == Glyphs::Ascii;
        let (title, lines) = match self.page.checked_sub(1).and_then(|nth| PAGES.get(nth)) {
            Some(page) => tour_page(page, words, ascii),
            None => (words.get(Word::HelpTitle), help_lines(words, ascii)),
        };
        let rows = u16::try_from(lines.len()).unwrap_or(0).saturating_add(2);
        let below = format!("Tab {}  {}", words.get(Word::TourKeys), words.get(Word::CloseKeys));
        let inside = frame(buffer, area, (74, rows), title, &below, theme);
        let columns = lines.iter().map(|(keys, _)| width(keys)).max().unwrap_or(0);
        for (y, (keys, text)) in (inside.top()..inside.bottom()).zip(&lines) {
            put(buffer, inside.x.saturating_add(1), y, columns, keys, theme.bold());
            let x = inside.x.saturating_add(columns).saturating_add(2);
            let left = inside.right().saturating_sub(x);
            put(buffer, x, y, left, &cut(text, left), theme.plain());
        }
    }
}
