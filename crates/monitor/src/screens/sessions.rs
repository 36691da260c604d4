//! The screen of recording sessions: what each does, started and stopped after a question, and its log in the monitor.

use std::sync::Arc;
use std::time::Duration;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::app::{App, Overlay};
use crate::model::format;
use crate::sessions::{Session, SessionState, Sessions};
use crate::term::frame::screen_frame;
use crate::term::list::{self, Cell, Column};
use crate::term::task::Task;
use crate::words::Word;
use crate::workspace::jobs::Done;

/// How long the screen waits for its first list: mostly a few small files are read.
const AT_ONCE: Duration = Duration::from_millis(50);

/// What is open of the screen.
pub(crate) struct SessionScreen {
    keeper: Arc<dyn Sessions>,
    rows: Vec<Session>,
    /// Why there is no list.
    failure: Option<String>,
    /// The list that was asked for.
    asked: Option<Task<Result<Vec<Session>, String>>>,
    /// Name of the chosen one.
    chosen: Option<String>,
    /// The chosen one is to be started, or stopped, and the user is asked once more.
    is_asking: bool,
    /// Where each stood on the last screen.
    places: Vec<(u16, usize)>,
}

impl SessionScreen {
    fn at(&self) -> usize {
        self.rows.iter().position(|row| Some(&row.name) == self.chosen.as_ref()).unwrap_or(0)
    }

    fn session(&self) -> Option<&Session> {
        self.rows.get(self.at())
    }

    fn choose(&mut self, at: usize) {
        self.chosen = self.rows.get(at).map(|row| row.name.clone());
        self.is_asking = false;
    }

    /// Asks how they are, unless that was asked for already.
    pub(crate) fn ask(&mut self) {
        if self.asked.is_none() {
            let keeper = Arc::clone(&self.keeper);
            match Task::begin(move || keeper.list()) {
                Ok(task) => self.asked = Some(task),
                Err(error) => self.failure = Some(error.to_string()),
            }
        }
    }

    /// Whether a list was asked for and is not there yet.
    pub(crate) const fn is_asked(&self) -> bool {
        self.asked.is_some()
    }

    /// Takes the list, if it comes within a time; whether it came.
    pub(crate) fn comes(&mut self, patience: Duration) -> bool {
        let Some(answer) = self.asked.as_ref().and_then(|task| task.wait(patience)) else { return false };
        self.asked = None;
        match answer.unwrap_or_else(|words| Err(words.to_string())) {
            Ok(rows) => {
                self.rows = rows;
                self.failure = None;
                self.chosen = self.chosen.take().or_else(|| self.rows.first().map(|row| row.name.clone()));
            }
            Err(words) => self.failure = Some(words),
        }
        true
    }
}

impl App {
    /// Opens the screen.
    pub(crate) fn open_sessions(&mut self) {
        let Some(keeper) = self.options.sessions.clone() else {
            self.message = Some(self.words.get(Word::NoSessions).to_string());
            return;
        };
        let mut screen = SessionScreen {
            keeper,
            rows: Vec::new(),
            failure: None,
            asked: None,
            chosen: None,
            is_asking: false,
            places: Vec::new(),
        };
        screen.ask();
        screen.comes(AT_ONCE);
        self.overlay = Overlay::Sessions(Box::new(screen));
    }

    /// Asks how the sessions are, while somebody looks.
    pub(crate) fn look_at_sessions(&mut self) {
        if let Overlay::Sessions(screen) = &mut self.overlay {
            screen.ask();
        }
    }

    /// Starts a session, or stops it.
    fn begin_session(&mut self, keeper: Arc<dyn Sessions>, name: String, starts: bool) {
        let state = self.words.get(if starts { Word::Recording } else { Word::Stopped });
        self.message = Some(format!("{name}{}", self.theme.either("…", "...")));
        self.begin_deed(move || {
            let done = if starts { keeper.start(&name) } else { keeper.stop(&name) };
            done.map(|()| Done::Said(format!("{name}: {state}")))
        });
    }

    /// Opens what a session has recorded.
    fn open_session(&mut self, keeper: Arc<dyn Sessions>, name: String) {
        let nothing = self.words.get(Word::NoLogYet);
        self.begin_deed(move || {
            let logs = keeper.logs(&name)?;
            if logs.is_empty() { Err(format!("{name}: {nothing}")) } else { Ok(Done::Open(logs)) }
        });
    }
}

/// A key while the screen is open.
pub(crate) fn key(app: &mut App, mut screen: Box<SessionScreen>, key: KeyEvent) {
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    let was_asking = std::mem::take(&mut screen.is_asking);
    let chosen = screen.session().map(|row| (row.name.clone(), starts(row)));
    match key.code {
        KeyCode::Char('c') if control => return,
        KeyCode::Char(_) if control => {}
        KeyCode::Char('y') if was_asking => {
            if let Some((name, starts)) = chosen {
                app.begin_session(Arc::clone(&screen.keeper), name, starts);
            }
        }
        KeyCode::Esc | KeyCode::Char('n') if was_asking => {}
        KeyCode::Esc | KeyCode::Char('q' | 'R') => return,
        KeyCode::Char('s' | ' ') => screen.is_asking = chosen.is_some(),
        KeyCode::Enter => {
            if let Some((name, _)) = chosen {
                app.open_session(Arc::clone(&screen.keeper), name);
            }
        }
        code => {
            if let Some(at) = list::moved(code, screen.at(), screen.rows.len()) {
                screen.choose(at);
            }
        }
    }
    app.overlay = Overlay::Sessions(screen);
}

/// A click chooses a line, and the wheel goes through them.
pub(crate) fn mouse(app: &mut App, mut screen: Box<SessionScreen>, event: MouseEvent) {
    let last = screen.rows.len().saturating_sub(1);
    let at = match event.kind {
        MouseEventKind::Down(MouseButton::Left) => list::line_at(&screen.places, event.row),
        MouseEventKind::ScrollUp => Some(screen.at().saturating_sub(1)),
        MouseEventKind::ScrollDown => Some(screen.at().saturating_add(1).min(last)),
        _ => None,
    };
    if let Some(at) = at {
        screen.choose(at);
    }
    app.overlay = Overlay::Sessions(screen);
}

/// Whether the key starts it; else it stops it.
const fn starts(session: &Session) -> bool {
    matches!(session.state, SessionState::Stopped | SessionState::Killed)
}

pub(crate) fn draw(app: &mut App, buffer: &mut Buffer, area: Rect) {
    match std::mem::take(&mut app.overlay) {
        Overlay::Sessions(mut screen) => {
            drawn(app, &mut screen, buffer, area);
            app.overlay = Overlay::Sessions(screen);
        }
        other => app.overlay = other,
    }
}

fn drawn(app: &App, screen: &mut SessionScreen, buffer: &mut Buffer, area: Rect) {
    let (words, theme) = (app.words, app.theme);
    let title = format!("{} ({})", words.get(Word::Sessions), screen.rows.len());
    let inside = screen_frame(buffer, area, &title, words.get(Word::SessionKeys), theme);
    let columns = [
        Column { title: words.get(Word::Name), least: 12, right: false },
        Column { title: words.get(Word::State), least: 0, right: false },
        Column { title: words.get(Word::Interval), least: 6, right: true },
        Column { title: words.get(Word::Size), least: 8, right: true },
        Column { title: words.get(Word::Records), least: 8, right: true },
        Column { title: words.get(Word::Errors), least: 6, right: true },
        Column { title: words.get(Word::Logs), least: 4, right: true },
        Column { title: words.get(Word::Last), least: 8, right: true },
    ];
    let cells: Vec<Vec<Cell>> = screen.rows.iter().map(|row| cells(app, row)).collect();
    let mut texts: Vec<Cell> = Vec::new();
    if let Some(failure) = &screen.failure {
        texts.push((failure.clone(), theme.bad()));
    } else if screen.rows.is_empty() && !screen.is_asked() {
        texts.push((words.get(Word::NoSessions).to_string(), theme.warning()));
    }
    if let Some(row) = screen.session() {
        if screen.is_asking {
            let word = if starts(row) { Word::Start } else { Word::Stop };
            texts.push((format!("{}: {}? y n", words.get(word), row.name), theme.bold()));
        }
        texts.push((row.last_error.clone().unwrap_or_default(), theme.bad()));
        texts.push((row.folder.display().to_string(), theme.plain()));
        let between = theme.either(" · ", " . ");
        let counters = if row.counters.is_empty() {
            words.get(Word::AllObjects).to_string()
        } else {
            row.counters.join(between)
        };
        texts.push((counters, theme.dim()));
    }
    screen.places = list::draw(buffer, inside, theme, &columns, &cells, screen.at(), &texts);
}

/// The line of a session.
fn cells(app: &App, row: &Session) -> Vec<Cell> {
    let (words, theme) = (app.words, app.theme);
    let (state, style) = match row.state {
        SessionState::Recording => (Word::Recording, theme.good()),
        SessionState::Waiting => (Word::Waiting, theme.warning()),
        SessionState::Stopped => (Word::Stopped, theme.dim()),
        SessionState::Killed => (Word::Killed, theme.bad()),
    };
    let last = row.last.map_or_else(|| theme.either("–", "-").to_string(), |time| app.clock(time));
    vec![
        (row.name.clone(), theme.plain()),
        (words.get(state).to_string(), style),
        (crate::app::draw::interval(row.interval), theme.plain()),
        (format::bytes(row.bytes), theme.plain()),
        (row.records.to_string(), theme.plain()),
        (row.errors.to_string(), if row.errors > 0 { theme.bad() } else { theme.plain() }),
        (row.logs.to_string(), theme.plain()),
        (last, theme.plain()),
    ]
}
