//! The help screen: every key with what it does.

use crossterm::event::{KeyEvent, MouseEvent};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::keys::show::help_lines;
use crate::screens::screen::{Action, Layer, Screen, close_by_click, close_or_quit};
use crate::term::chart::Glyphs;
use crate::term::frame::frame;
use crate::term::text::{cut, put, width};
use crate::words::Word;
use crate::workspace::state::Workspace;

/// The help screen.
pub(crate) struct Help;

impl Screen for Help {
    fn layer(&self) -> Layer {
        Layer::Dialog
    }

    fn key(&mut self, key: KeyEvent, _workspace: &mut Workspace) -> Action {
        close_or_quit(key)
    }

    fn mouse(&mut self, event: MouseEvent, _workspace: &mut Workspace) -> Action {
        close_by_click(event)
    }

    fn draw(&mut self, buffer: &mut Buffer, area: Rect, workspace: &mut Workspace) {
        let (words, theme) = (workspace.words, workspace.theme);
        let lines = help_lines(words, theme.glyphs == Glyphs::Ascii);
        let rows = u16::try_from(lines.len()).unwrap_or(0).saturating_add(2);
        let inside =
            frame(buffer, area, (74, rows), words.get(Word::HelpTitle), words.get(Word::CloseKeys), theme);
        let columns = lines.iter().map(|(keys, _)| width(keys)).max().unwrap_or(0);
        for (y, (keys, text)) in (inside.top()..inside.bottom()).zip(&lines) {
            put(buffer, inside.x.saturating_add(1), y, columns, keys, theme.bold());
            let x = inside.x.saturating_add(columns).saturating_add(2);
            let left = inside.right().saturating_sub(x);
            put(buffer, x, y, left, &cut(text, left), theme.plain());
        }
    }
}
