//! The explanation of a counter: its help, its type and formula, and the numbers of its value.

use crossterm::event::{KeyEvent, MouseEvent};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use tallymon::explain;

use crate::screens::screen::{Action, Layer, Screen, close_by_click, close_or_quit};
use crate::term::frame::frame;
use crate::term::text::{cut, put, wrap};
use crate::words::Word;
use crate::workspace::state::Workspace;

/// Titles and texts.
pub(crate) struct Explanation(Vec<(String, String)>);

impl Explanation {
    /// Explains the chosen counter and its last value. `None` when it has no reading.
    pub(crate) fn of_chosen(workspace: &Workspace) -> Option<Explanation> {
        let series = workspace.monitor.chosen()?;
        let reading = workspace.readings.iter().find(|reading| reading.path == series.path)?;
        let query = workspace.query_of(workspace.host_of(&series.path));
        let object = query.catalog().object(reading.object);
        let object_help = object.and_then(|object| query.names().help(object.help));
        let explanation = explain(reading, query.names(), object_help);
        let value = match &explanation.value {
            Ok(value) => {
                let text = workspace.words.numbers().value(value, series.counter_type);
                format!("{text} {}", explanation.unit)
            }
            Err(why) => format!("{} ({})", why, why.pdh_status().name),
        };
        let words = workspace.words;
        let kind = format!("{}: {}", explanation.counter_type, explanation.meaning);
        Some(Explanation(vec![
            (String::new(), explanation.path),
            (String::new(), explanation.index_path),
            (words.get(Word::Object).to_string(), explanation.object_help.unwrap_or_default()),
            (words.get(Word::Counter).to_string(), explanation.help.unwrap_or_default()),
            (words.get(Word::Type).to_string(), kind),
            (words.get(Word::Formula).to_string(), explanation.formula.to_string()),
            (String::new(), explanation.numbers.unwrap_or_default()),
            (words.get(Word::Now).to_string(), value),
        ]))
    }
}

impl Screen for Explanation {
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
        let (words, theme, lines) = (workspace.words, workspace.theme, &self.0);
        let columns = area.width.saturating_sub(6).min(100);
        let mut shown: Vec<(String, String)> = Vec::new();
        for (title, text) in lines.iter().filter(|(_, text)| !text.is_empty()) {
            for (number, line) in wrap(text, columns.saturating_sub(14)).into_iter().enumerate() {
                shown.push((if number == 0 { title.clone() } else { String::new() }, line));
            }
        }
        let rows = u16::try_from(shown.len()).unwrap_or(u16::MAX).saturating_add(2);
        let title = words.get(Word::ExplainTitle);
        let inside =
            frame(buffer, area, (columns.saturating_add(2), rows), title, words.get(Word::CloseKeys), theme);
        for (y, (title, text)) in (inside.top()..inside.bottom()).zip(&shown) {
            put(buffer, inside.x.saturating_add(1), y, 12, &cut(title, 12), theme.dim());
            let x = inside.x.saturating_add(14);
            put(buffer, x, y, inside.right().saturating_sub(x), text, theme.plain());
        }
    }
}
