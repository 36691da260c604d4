//! The help screen: every key with what it does.

use crossterm::event::{KeyEvent, MouseEvent};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::screens::screen::{Action, Layer, Screen, close_by_click, close_or_quit};
use crate::term::frame::frame;
use crate::term::text::{cut, put};
use crate::words::Word;
use crate::workspace::state::Workspace;

/// Every key with what it does.
const KEYS: &[(&str, Word)] = &[
    ("a Ins", Word::KeysAdd),
    ("Del Space e", Word::KeysRemove),
    ("\u{2191} \u{2193} j k", Word::KeysSelect),
    ("\u{2190} \u{2192} h l", Word::KeysCursor),
    ("\u{232b} c", Word::KeysHighlight),
    ("g A G b r v T", Word::KeysViews),
    ("+ - S F = L", Word::KeysScale),
    ("f u d", Word::KeysFreeze),
    ("PgUp PgDn Home t", Word::KeysTime),
    ("[ ] :", Word::KeysZoom),
    (", . t", Word::KeysPlay),
    ("Enter click", Word::KeysSpike),
    ("< > m", Word::KeysInterval),
    ("x /", Word::KeysExplain),
    ("P Ctrl-Q 1..6 #", Word::KeysProperties),
    ("y Y V p", Word::KeysCopy),
    ("w o Ctrl-L Ctrl-T", Word::KeysSave),
    ("C { }", Word::KeysCompare),
    ("Ctrl-Z drag", Word::KeysUndo),
    ("\u{2190}\u{2192} i H n N Space U", Word::KeysTable),
    ("D p R E", Word::KeysScreens),
    ("q Ctrl-C Z", Word::KeysQuit),
];

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
        let rows = u16::try_from(KEYS.len()).unwrap_or(0).saturating_add(2);
        let inside =
            frame(buffer, area, (74, rows), words.get(Word::HelpTitle), words.get(Word::CloseKeys), theme);
        for (y, (keys, word)) in (inside.top()..inside.bottom()).zip(KEYS) {
            let keys = if theme.either("", "a").is_empty() { (*keys).to_string() } else { plain(keys) };
            put(buffer, inside.x.saturating_add(1), y, 18, &keys, theme.bold());
            let x = inside.x.saturating_add(20);
            let left = inside.right().saturating_sub(x);
            put(buffer, x, y, left, &cut(words.get(*word), left), theme.plain());
        }
    }
}

/// Names instead of signs, for terminals without them.
fn plain(keys: &str) -> String {
    let signs = [("\u{2191} \u{2193}", "Up Dn"), ("\u{2190} \u{2192}", "Lt Rt"), ("\u{232b}", "BkSp")];
    signs.iter().fold(keys.to_string(), |keys, (sign, name)| keys.replace(sign, name))
}
