//! The alerts screen: the crossed thresholds, newest first; Enter shows one in the chart.

use crossterm::event::{KeyEvent, MouseButton, MouseEvent, MouseEventKind};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::keys::binding::{Command, Context};
use crate::keys::lookup::{command, moved};
use crate::keys::show::footer;
use crate::model::Crossing;
use crate::save;
use crate::screens::screen::{Action, Layer, Opens, Question, Screen};
use crate::term::chart::Glyphs;
use crate::term::frame::screen_frame;
use crate::term::list::{self, Cell, Column};
use crate::words::Word;
use crate::workspace::state::{View, Workspace};

/// The list of crossings.
#[derive(Debug, Default)]
pub(crate) struct AlertScreen {
    /// The chosen crossing stays chosen when newer ones arrive.
    chosen: Option<Crossing>,
    /// The screen row of each line.
    rows: Vec<(u16, usize)>,
}

impl AlertScreen {
    fn at(&self, workspace: &Workspace) -> usize {
        let chosen = self.chosen.as_ref();
        newest_first(workspace).position(|crossing| Some(crossing) == chosen).unwrap_or(0)
    }

    fn choose(&mut self, workspace: &Workspace, at: usize) {
        self.chosen = newest_first(workspace).nth(at).cloned();
    }
}

fn newest_first(workspace: &Workspace) -> impl Iterator<Item = &Crossing> {
    workspace.monitor.alerts.crossings().iter().rev()
}

impl AlertScreen {
    /// Opens the screen with the newest crossing chosen.
    pub(crate) fn open(workspace: &mut Workspace) -> AlertScreen {
        // More of a log may be in memory than at the last search.
        if workspace.replay.is_some() {
            workspace.monitor.find_all_crossings();
        }
        let mut screen = AlertScreen::default();
        screen.choose(workspace, 0);
        screen
    }

    /// Shows the chosen crossing in the chart, with its counter chosen.
    fn show_in_chart(&self, workspace: &mut Workspace) -> Action {
        let Some(crossing) = &self.chosen else { return Action::Done };
        // A view without a time axis cannot show it.
        if matches!(workspace.view, View::Bars | View::Report | View::Table) {
            workspace.view = View::Graph;
        }
        workspace.monitor.select_path(&crossing.path);
        if !workspace.go_to_time(crossing.time) {
            workspace.message = Some(workspace.words.get(Word::NotInMemory).to_string());
        }
        Action::Close
    }
}

impl Screen for AlertScreen {
    fn layer(&self) -> Layer {
        Layer::Dialog
    }

    fn key(&mut self, key: KeyEvent, workspace: &mut Workspace) -> Action {
        let Some(command) = command(Context::Alerts, key) else { return Action::Done };
        match command {
            Command::Close | Command::Cancel => return Action::Close,
            Command::ShowInChart => return self.show_in_chart(workspace),
            Command::New => {
                // The form is about the chosen crossing, else about the chosen counter.
                if let Some(crossing) = &self.chosen {
                    workspace.monitor.select_path(&crossing.path);
                }
                return Action::Open(Opens::NewAlert);
            }
            Command::SaveList => {
                let name = format!("{}-alerts.csv", save::file_name(workspace));
                return Action::Ask(Question::SaveAlerts, name);
            }
            other => {
                let count = workspace.monitor.alerts.crossings().len();
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
        let last = workspace.monitor.alerts.crossings().len().saturating_sub(1);
        let at = self.at(workspace);
        match event.kind {
            MouseEventKind::Down(MouseButton::Left) => {
                let found = list::line_at(&self.rows, event.row);
                if found == Some(at) {
                    return self.show_in_chart(workspace);
                }
                if let Some(found) = found {
                    self.choose(workspace, found);
                }
            }
            MouseEventKind::ScrollUp => self.choose(workspace, at.saturating_sub(1)),
            MouseEventKind::ScrollDown => self.choose(workspace, at.saturating_add(1).min(last)),
            _ => {}
        }
        Action::Done
    }

    fn answer(&mut self, question: Question, name: &str, workspace: &mut Workspace) -> Action {
        if question != Question::SaveAlerts {
            return Action::Ignored;
        }
        let name = name.trim();
        workspace.message = Some(match save::save_alerts(workspace, name) {
            Ok(()) => format!("{}: {name}", workspace.words.get(Word::Saved)),
            Err(error) => error.to_string(),
        });
        *self = AlertScreen::open(workspace);
        Action::Done
    }

    fn draw(&mut self, buffer: &mut Buffer, area: Rect, workspace: &mut Workspace) {
        workspace.monitor.alerts.look();
        drawn(workspace, self, buffer, area);
    }
}

fn drawn(workspace: &Workspace, screen: &mut AlertScreen, buffer: &mut Buffer, area: Rect) {
    let (words, theme) = (workspace.words, workspace.theme);
    let crossings = workspace.monitor.alerts.crossings();
    let title = format!("{} ({})", words.get(Word::Alerts), crossings.len());
    let inside = screen_frame(
        buffer,
        area,
        &title,
        &footer(Context::Alerts, words, theme.glyphs == Glyphs::Ascii),
        theme,
    );
    let columns = [
        Column { title: words.get(Word::Counter), least: 16, right: false },
        Column { title: words.get(Word::Time), least: 8, right: false },
        Column { title: words.get(Word::Value), least: 9, right: true },
        Column { title: words.get(Word::Limit), least: 9, right: true },
    ];
    let times = (crossings.front(), crossings.back());
    let (from, to) = times.0.zip(times.1).map_or_else(Default::default, |(from, to)| (from.time, to.time));
    let up = |crossing: &Crossing| match crossing.rises {
        true => theme.either("▲", "^"),
        false => theme.either("▼", "v"),
    };
    let cells: Vec<Vec<Cell>> = newest_first(workspace)
        .map(|crossing| {
            let style = if crossing.rises { theme.bad() } else { theme.plain() };
            vec![
                (crossing.path.clone(), theme.plain()),
                (workspace.clock_between(crossing.time, from, to), theme.plain()),
                (format!("{} {}", up(crossing), words.numbers().number(crossing.value)), style),
                (words.numbers().number(crossing.threshold), theme.dim()),
            ]
        })
        .collect();
    let texts: Vec<Cell> = match &screen.chosen {
        _ if crossings.is_empty() => vec![(words.get(Word::NoAlerts).to_string(), theme.warning())],
        None => Vec::new(),
        Some(crossing) => {
            let word = if crossing.rises { Word::Over } else { Word::BackBelow };
            let number = words.numbers().number(crossing.threshold);
            let state = format!("{} {number}: {}", words.get(word), words.numbers().number(crossing.value));
            let time = workspace.local_time(crossing.time).time;
            vec![
                (crossing.path.clone(), theme.bold()),
                (state, if crossing.rises { theme.bad() } else { theme.plain() }),
                (time.to_string(), theme.dim()),
            ]
        }
    };
    screen.rows = list::draw(buffer, inside, theme, &columns, &cells, screen.at(workspace), &texts);
}
