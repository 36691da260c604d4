//! The screen of alerts: every time that a threshold was crossed, newest first, and the way to it in the chart.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use tallymon::core::time::FileTime;

use crate::app::{App, Overlay, Prompt, View};
use crate::model::Crossing;
use crate::save;
use crate::term::frame::screen_frame;
use crate::term::list::{self, Cell, Column};
use crate::words::Word;

/// What is open of the screen.
#[derive(Debug, Default)]
pub(crate) struct AlertScreen {
    /// The chosen one: it stays chosen when newer ones come.
    chosen: Option<Crossing>,
    /// Where each stood on the last screen.
    places: Vec<(u16, usize)>,
}

impl AlertScreen {
    fn at(&self, app: &App) -> usize {
        let chosen = self.chosen.as_ref();
        newest_first(app).position(|crossing| Some(crossing) == chosen).unwrap_or(0)
    }

    fn choose(&mut self, app: &App, at: usize) {
        self.chosen = newest_first(app).nth(at).cloned();
    }
}

fn newest_first(app: &App) -> impl Iterator<Item = &Crossing> {
    app.monitor.alerts.crossings().iter().rev()
}

impl App {
    /// Opens the screen.
    pub(crate) fn open_alerts(&mut self) {
        // What was read of a log may be more than when it was looked for last.
        if self.replay.is_some() {
            self.monitor.find_all_crossings();
        }
        let mut screen = AlertScreen::default();
        screen.choose(self, 0);
        self.overlay = Overlay::Alerts(screen);
    }

    /// Shows a time, if it is in memory or in the log; whether it is.
    pub(crate) fn go_to_time(&mut self, time: FileTime) -> bool {
        if self.jump_in_log(time) {
            return true;
        }
        let rows = self.monitor.rows();
        let Some(row) = self.monitor.row_at(time) else { return false };
        self.monitor.window.go_to(&rows, row);
        self.monitor.time(rows.start).is_some_and(|oldest| time >= oldest)
    }

    /// Shows an event in the chart, with its counter chosen.
    fn show_crossing(&mut self, crossing: &Crossing) {
        // What has no time axis can not show it.
        if matches!(self.view, View::Bars | View::Report | View::Table) {
            self.table = None;
            self.view = View::Graph;
        }
        self.monitor.select_path(&crossing.path);
        if !self.go_to_time(crossing.time) {
            self.message = Some(self.words.get(Word::NotInMemory).to_string());
        }
    }

    /// Saves the list under a name, and shows it again.
    pub(crate) fn save_alerts(&mut self, name: &str) {
        self.message = Some(match save::save_alerts(self, name) {
            Ok(()) => format!("{}: {name}", self.words.get(Word::Saved)),
            Err(error) => error.to_string(),
        });
        self.open_alerts();
    }
}

/// A key while the screen is open.
pub(crate) fn key(app: &mut App, mut screen: AlertScreen, key: KeyEvent) {
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    match key.code {
        KeyCode::Char('c') if control => return,
        KeyCode::Char(_) if control => {}
        KeyCode::Esc | KeyCode::Char('q' | 'E') => return,
        KeyCode::Enter => {
            if let Some(crossing) = &screen.chosen {
                app.show_crossing(crossing);
                return;
            }
        }
        KeyCode::Char('w') => {
            app.overlay = Overlay::Prompt(Prompt::SaveAlerts, format!("{}-alerts.csv", save::file_name(app)));
            return;
        }
        code => {
            if let Some(at) = list::moved(code, screen.at(app), app.monitor.alerts.crossings().len()) {
                screen.choose(app, at);
            }
        }
    }
    app.overlay = Overlay::Alerts(screen);
}

/// A click chooses a line, a click on the chosen one leads to it, and the wheel goes through them.
pub(crate) fn mouse(app: &mut App, mut screen: AlertScreen, event: MouseEvent) {
    let last = app.monitor.alerts.crossings().len().saturating_sub(1);
    match event.kind {
        MouseEventKind::Down(MouseButton::Left) => {
            let found = list::line_at(&screen.places, event.row);
            if found == Some(screen.at(app)) {
                return key(app, screen, KeyCode::Enter.into());
            }
            if let Some(at) = found {
                screen.choose(app, at);
            }
        }
        MouseEventKind::ScrollUp => screen.choose(app, screen.at(app).saturating_sub(1)),
        MouseEventKind::ScrollDown => screen.choose(app, screen.at(app).saturating_add(1).min(last)),
        _ => {}
    }
    app.overlay = Overlay::Alerts(screen);
}

pub(crate) fn draw(app: &mut App, buffer: &mut Buffer, area: Rect) {
    match std::mem::take(&mut app.overlay) {
        Overlay::Alerts(mut screen) => {
            app.monitor.alerts.look();
            drawn(app, &mut screen, buffer, area);
            app.overlay = Overlay::Alerts(screen);
        }
        other => app.overlay = other,
    }
}

fn drawn(app: &App, screen: &mut AlertScreen, buffer: &mut Buffer, area: Rect) {
    let (words, theme) = (app.words, app.theme);
    let crossings = app.monitor.alerts.crossings();
    let title = format!("{} ({})", words.get(Word::Alerts), crossings.len());
    let inside = screen_frame(buffer, area, &title, words.get(Word::AlertKeys), theme);
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
    let cells: Vec<Vec<Cell>> = newest_first(app)
        .map(|crossing| {
            let style = if crossing.rises { theme.bad() } else { theme.plain() };
            vec![
                (crossing.path.clone(), theme.plain()),
                (app.clock_between(crossing.time, from, to), theme.plain()),
                (format!("{} {}", up(crossing), words.numbers().number(crossing.value)), style),
                (words.numbers().number(crossing.threshold), theme.dim()),
            ]
        })
        .collect();
    let texts: Vec<Cell> = match &screen.chosen {
        _ if crossings.is_empty() => vec![(words.get(Word::NoAlerts).to_string(), theme.warning())],
        None => Vec::new(),
        Some(crossing) => {
            let word = if crossing.rises { Word::Over } else { Word::Under };
            let number = words.numbers().number(crossing.threshold);
            let state = format!("{} {number}: {}", words.get(word), words.numbers().number(crossing.value));
            let time = app.local_time(crossing.time).time;
            vec![
                (crossing.path.clone(), theme.bold()),
                (state, if crossing.rises { theme.bad() } else { theme.plain() }),
                (time.to_string(), theme.dim()),
            ]
        }
    };
    screen.places = list::draw(buffer, inside, theme, &columns, &cells, screen.at(app), &texts);
}
