//! The findings screen: what is wrong in the history or in the log; Enter shows one in the chart.

use crossterm::event::{KeyEvent, MouseButton, MouseEvent, MouseEventKind};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use tallymon::analyze::Finding;
use tallymon::core::time::FileTime;

use crate::keys::binding::{Command, Context};
use crate::keys::lookup::{command, moved};
use crate::keys::show::footer;
use crate::model::findings::{longest, ranges};
use crate::model::format;
use crate::screens::finding_text::{severity, texts};
use crate::screens::screen::{Action, Layer, Screen};
use crate::term::chart::Glyphs;
use crate::term::frame::screen_frame;
use crate::term::list::{self, Cell, Column};
use crate::words::Word;
use crate::workspace::state::Workspace;

/// The list of findings.
#[derive(Debug, Default)]
pub(crate) struct FindingScreen {
    /// Title and host of the chosen finding: it stays chosen when others arrive.
    chosen: Option<(String, String)>,
    /// The screen row of each line.
    rows: Vec<(u16, usize)>,
}

impl FindingScreen {
    /// Opens the list at the finding whose mark was clicked, else at the one under the cursor, else
    /// at the one that the chart shows, else at the first.
    pub(crate) fn open(workspace: &mut Workspace) -> FindingScreen {
        let mut screen = FindingScreen::default();
        let pointed = workspace.findings.pointed.take();
        let cursor = workspace.monitor.window.cursor.and_then(|row| workspace.monitor.time(row));
        let under_cursor = cursor.and_then(|time| workspace.findings.found.at(time, time));
        let shown = workspace.findings.shown.as_ref();
        match pointed.or(under_cursor) {
            Some(at) => screen.choose(workspace, at),
            None => screen.chosen = shown.map(key),
        }
        let at = screen.at(workspace);
        screen.choose(workspace, at);
        screen
    }

    fn at(&self, workspace: &Workspace) -> usize {
        let list = workspace.findings.found.list();
        list.iter().position(|found| Some(key(found)) == self.chosen).unwrap_or(0)
    }

    fn choose(&mut self, workspace: &Workspace, at: usize) {
        self.chosen = workspace.findings.found.list().get(at).map(key);
    }

    fn show_in_chart(&self, workspace: &mut Workspace) -> Action {
        let Some(found) = workspace.findings.found.list().get(self.at(workspace)).cloned() else {
            return Action::Done;
        };
        workspace.show_finding(&found);
        Action::Close
    }
}

fn key(found: &Finding) -> (String, String) {
    (found.title.clone(), found.host.clone())
}

impl Screen for FindingScreen {
    fn layer(&self) -> Layer {
        Layer::Dialog
    }

    fn key(&mut self, key: KeyEvent, workspace: &mut Workspace) -> Action {
        let Some(command) = command(Context::Findings, key) else { return Action::Done };
        match command {
            Command::Close | Command::Cancel => return Action::Close,
            Command::ShowInChart => return self.show_in_chart(workspace),
            other => {
                let count = workspace.findings.found.list().len();
                if let Some(at) = moved(other, self.at(workspace), count) {
                    self.choose(workspace, at);
                }
            }
        }
        Action::Done
    }

    /// A click chooses a line, a click on the chosen one shows it in the chart, and the wheel goes through
    /// the lines.
    fn mouse(&mut self, event: MouseEvent, workspace: &mut Workspace) -> Action {
        let last = workspace.findings.found.list().len().saturating_sub(1);
        let at = self.at(workspace);
        match event.kind {
            MouseEventKind::Down(MouseButton::Left) => match list::line_at(&self.rows, event.row) {
                Some(found) if found == at => return self.show_in_chart(workspace),
                Some(found) => self.choose(workspace, found),
                None => {}
            },
            MouseEventKind::ScrollUp => self.choose(workspace, at.saturating_sub(1)),
            MouseEventKind::ScrollDown => self.choose(workspace, at.saturating_add(1).min(last)),
            _ => {}
        }
        Action::Done
    }

    fn draw(&mut self, buffer: &mut Buffer, area: Rect, workspace: &mut Workspace) {
        let (words, theme) = (workspace.words, workspace.theme);
        let found = &workspace.findings.found;
        let count = match found.more {
            0 => found.list().len().to_string(),
            more => format!("{} / {}", found.list().len(), found.list().len().saturating_add(more)),
        };
        let title = format!("{} ({count})", words.get(Word::Findings));
        let keys = footer(Context::Findings, words, theme.glyphs == Glyphs::Ascii);
        let inside = screen_frame(buffer, area, &title, &keys, theme);
        let columns = [
            Column { title: words.get(Word::What), least: 16, right: false },
            Column { title: words.get(Word::Severity), least: 8, right: false },
            Column { title: words.get(Word::Begin), least: 8, right: false },
            Column { title: words.get(Word::Lasts), least: 8, right: true },
        ];
        let cells: Vec<Vec<Cell>> = found.list().iter().map(|found| line(workspace, found)).collect();
        let at = self.at(workspace);
        let texts = match found.list().get(at) {
            Some(found) => texts(workspace, found),
            None => vec![nothing(workspace)],
        };
        self.rows = list::draw(buffer, inside, theme, &columns, &cells, at, &texts);
    }
}

/// The line of a finding.
fn line(workspace: &Workspace, found: &Finding) -> Vec<Cell> {
    let (words, theme) = (workspace.words, workspace.theme);
    let (letter, name, style) = severity(found.severity, words, theme);
    let host = if found.host.is_empty() || workspace.hosts().len() < 2 {
        String::new()
    } else {
        format!("{}: ", found.host)
    };
    let (from, lasts) = longest(found).map_or_else(Default::default, |range| {
        let (first, last) = all_times(workspace);
        (workspace.clock_between(range.from, first, last), format::duration(range.from, range.to))
    });
    vec![
        (format!("{host}{}", words.of_finding(&found.title)), theme.plain()),
        (format!("{letter} {name}"), style),
        (from, theme.plain()),
        (lasts, theme.dim()),
    ]
}

/// The first and the last time of all findings.
fn all_times(workspace: &Workspace) -> (FileTime, FileTime) {
    let all = || workspace.findings.found.list().iter().flat_map(ranges);
    let first = all().map(|range| range.from).min().unwrap_or_default();
    (first, all().map(|range| range.to).max().unwrap_or_default())
}

/// Why the list is empty.
fn nothing(workspace: &Workspace) -> Cell {
    let (words, theme, state) = (workspace.words, workspace.theme, &workspace.findings);
    match &state.failed {
        Some(why) => (why.clone(), theme.bad()),
        None if state.has_looked => (words.get(Word::NoFindings).to_string(), theme.good()),
        None if workspace.replay.is_none() && !workspace.has_history_for_findings() => {
            (words.get(Word::TooEarlyForFindings).to_string(), theme.dim())
        }
        None => (words.get(Word::LooksForFindings).to_string(), theme.dim()),
    }
}
