//! The screen of recording sessions: their states; starts, stops and deletes them after a question, and opens
//! their logs. A form makes new ones.

mod form;

use std::sync::Arc;
use std::time::Duration;

use crossterm::event::{KeyEvent, MouseButton, MouseEvent, MouseEventKind};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::keys::binding::{Command, Context};
use crate::keys::lookup::{command, moved};
use crate::keys::show::footer;
use crate::model::format;
use crate::screens::screen::{Action, Layer, Screen};
use crate::screens::sessions::form::{Form, Outcome};
use crate::sessions::{Session, SessionState, Sessions};
use crate::term::chart::Glyphs;
use crate::term::frame::screen_frame;
use crate::term::list::{self, Cell, Column};
use crate::term::task::Task;
use crate::words::Word;
use crate::workspace::state::{Done, Workspace};

/// How long to wait for the first list: usually it comes from a few small files.
const AT_ONCE: Duration = Duration::from_millis(50);

/// What needs a confirmation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Confirmation {
    /// Start or stop it.
    Switch,
    Delete,
}

/// The list of sessions.
pub(crate) struct SessionScreen {
    store: Arc<dyn Sessions>,
    sessions: Vec<Session>,
    /// Why there is no list.
    failure: Option<String>,
    /// The requested list.
    requested: Option<Task<Result<Vec<Session>, String>>>,
    /// Name of the chosen session.
    chosen: Option<String>,
    /// What is to be done to the chosen session, once the user confirms it.
    asking: Option<Confirmation>,
    /// The form of a new session, in front of the list.
    form: Option<Form>,
    /// What the session that was made last said.
    said: Option<String>,
    /// The screen row of each line.
    rows: Vec<(u16, usize)>,
}

impl SessionScreen {
    fn at(&self) -> usize {
        self.sessions.iter().position(|row| Some(&row.name) == self.chosen.as_ref()).unwrap_or(0)
    }

    fn session(&self) -> Option<&Session> {
        self.sessions.get(self.at())
    }

    fn choose(&mut self, at: usize) {
        self.chosen = self.sessions.get(at).map(|row| row.name.clone());
        self.asking = None;
    }
}

impl SessionScreen {
    /// Opens the screen, and waits a moment for its first list. `None` where there are no sessions.
    pub(crate) fn open(workspace: &mut Workspace) -> Option<SessionScreen> {
        let Some(store) = workspace.options.sessions.clone() else {
            workspace.message = Some(workspace.words.get(Word::NoSessions).to_string());
            return None;
        };
        let mut screen = SessionScreen {
            store,
            sessions: Vec::new(),
            failure: None,
            requested: None,
            chosen: None,
            asking: None,
            form: None,
            said: None,
            rows: Vec::new(),
        };
        screen.refresh();
        screen.poll(AT_ONCE);
        Some(screen)
    }

    /// Opens the screen with the form of a new session, for an alert with a limit.
    pub(crate) fn open_form(workspace: &mut Workspace, limit: Option<String>) -> Option<SessionScreen> {
        let mut screen = SessionScreen::open(workspace)?;
        screen.begin_form(workspace, limit);
        Some(screen)
    }

    /// Opens the form. An alert records nothing unless the user adds counters.
    fn begin_form(&mut self, workspace: &Workspace, limit: Option<String>) {
        let counters = if limit.is_some() { Vec::new() } else { workspace.shown_counters() };
        self.form = Some(Form::new(counters, limit));
    }

    fn delete(&self, name: String, workspace: &mut Workspace) {
        let store = Arc::clone(&self.store);
        workspace.begin_job(move || store.delete(&name).map(Done::Said));
    }

    /// Starts or stops a session.
    fn switch(&self, name: String, starts: bool, workspace: &mut Workspace) {
        let store = Arc::clone(&self.store);
        let state = workspace.words.get(if starts { Word::Recording } else { Word::Stopped });
        workspace.message = Some(format!("{name}{}", workspace.theme.either("…", "...")));
        workspace.begin_job(move || {
            let done = if starts { store.start(&name) } else { store.stop(&name) };
            done.map(|()| Done::Said(format!("{name}: {state}")))
        });
    }

    /// Opens the logs of a session.
    fn open_logs(&self, name: String, workspace: &mut Workspace) {
        let store = Arc::clone(&self.store);
        let nothing = workspace.words.get(Word::NoLogYet);
        workspace.begin_job(move || {
            let logs = store.logs(&name)?;
            if logs.is_empty() { Err(format!("{name}: {nothing}")) } else { Ok(Done::Open(logs)) }
        });
    }
}

impl Screen for SessionScreen {
    fn layer(&self) -> Layer {
        Layer::Dialog
    }

    fn key(&mut self, key: KeyEvent, workspace: &mut Workspace) -> Action {
        if let Some(form) = &mut self.form {
            if form.key(key, &self.store) == Outcome::Close {
                self.form = None;
            }
            return Action::Done;
        }
        let asked = self.asking.take();
        self.said = None;
        let chosen = self.session().map(|session| (session.name.clone(), starts(session)));
        match command(Context::Sessions, key) {
            Some(Command::Close) => return Action::Close,
            Some(Command::Yes) if asked.is_some() => match (asked, chosen) {
                (Some(Confirmation::Delete), Some((name, _))) => self.delete(name, workspace),
                (_, Some((name, starts))) => self.switch(name, starts, workspace),
                (_, None) => {}
            },
            Some(Command::Cancel) if asked.is_none() => return Action::Close,
            Some(Command::Switch) => self.asking = chosen.map(|_| Confirmation::Switch),
            Some(Command::Delete) => self.asking = chosen.map(|_| Confirmation::Delete),
            Some(Command::New) => self.begin_form(workspace, None),
            Some(Command::OpenLog) => {
                if let Some((name, _)) = chosen {
                    self.open_logs(name, workspace);
                }
            }
            Some(other) => {
                if let Some(at) = moved(other, self.at(), self.sessions.len()) {
                    self.choose(at);
                }
            }
            None => {}
        }
        Action::Done
    }

    fn paste(&mut self, text: &str, _workspace: &mut Workspace) -> Action {
        if let Some(form) = self.form.as_mut().filter(|form| !form.is_waiting()) {
            form.type_in(text);
        }
        Action::Done
    }

    /// A click chooses a line, and the wheel goes through the lines.
    fn mouse(&mut self, event: MouseEvent, _workspace: &mut Workspace) -> Action {
        if self.form.is_some() {
            return Action::Done;
        }
        let last = self.sessions.len().saturating_sub(1);
        let at = match event.kind {
            MouseEventKind::Down(MouseButton::Left) => list::line_at(&self.rows, event.row),
            MouseEventKind::ScrollUp => Some(self.at().saturating_sub(1)),
            MouseEventKind::ScrollDown => Some(self.at().saturating_add(1).min(last)),
            _ => None,
        };
        if let Some(at) = at {
            self.choose(at);
        }
        Action::Done
    }

    fn refresh(&mut self) {
        if self.requested.is_none() {
            let store = Arc::clone(&self.store);
            match Task::begin(move || store.list()) {
                Ok(task) => self.requested = Some(task),
                Err(error) => self.failure = Some(error.to_string()),
            }
        }
    }

    fn poll(&mut self, patience: Duration) -> bool {
        if let Some(answer) = self.form.as_mut().and_then(|form| form.poll(patience)) {
            if let Ok((name, words)) = answer {
                (self.form, self.chosen, self.said) = (None, Some(name), Some(words));
                self.refresh();
            }
            return true;
        }
        let Some(answer) = self.requested.as_ref().and_then(|task| task.wait(patience)) else { return false };
        self.requested = None;
        match answer.unwrap_or_else(|words| Err(words.to_string())) {
            Ok(sessions) => {
                self.sessions = sessions;
                self.failure = None;
                let first = || self.sessions.first().map(|session| session.name.clone());
                self.chosen = self.chosen.take().or_else(first);
            }
            Err(words) => self.failure = Some(words),
        }
        true
    }

    fn is_waiting(&self) -> bool {
        self.requested.is_some() || self.form.as_ref().is_some_and(Form::is_waiting)
    }

    fn draw(&mut self, buffer: &mut Buffer, area: Rect, workspace: &mut Workspace) {
        match &self.form {
            Some(form) => form.draw(buffer, area, workspace),
            None => drawn(workspace, self, buffer, area),
        }
    }
}

/// Whether the key would start the session; else it stops it.
const fn starts(session: &Session) -> bool {
    matches!(session.state, SessionState::Stopped | SessionState::Killed)
}

fn drawn(workspace: &Workspace, screen: &mut SessionScreen, buffer: &mut Buffer, area: Rect) {
    let (words, theme) = (workspace.words, workspace.theme);
    let title = format!("{} ({})", words.get(Word::Sessions), screen.sessions.len());
    let inside = screen_frame(
        buffer,
        area,
        &title,
        &footer(Context::Sessions, words, theme.glyphs == Glyphs::Ascii),
        theme,
    );
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
    let cells: Vec<Vec<Cell>> = screen.sessions.iter().map(|row| cells(workspace, row)).collect();
    let mut texts: Vec<Cell> = Vec::new();
    if let Some(failure) = &screen.failure {
        texts.push((failure.clone(), theme.bad()));
    } else if screen.sessions.is_empty() && !screen.is_waiting() {
        texts.push((words.get(Word::NoSessions).to_string(), theme.warning()));
    }
    texts.extend(screen.said.clone().map(|said| (said, theme.good())));
    if let Some(row) = screen.session() {
        let question = match screen.asking {
            Some(Confirmation::Switch) => Some(if starts(row) { Word::Start } else { Word::Stop }),
            Some(Confirmation::Delete) => Some(Word::DeleteSession),
            None => None,
        };
        if let Some(word) = question {
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
    screen.rows = list::draw(buffer, inside, theme, &columns, &cells, screen.at(), &texts);
}

/// The line of a session.
fn cells(workspace: &Workspace, row: &Session) -> Vec<Cell> {
    let (words, theme) = (workspace.words, workspace.theme);
    let (state, style) = match row.state {
        SessionState::Recording => (Word::Recording, theme.good()),
        SessionState::Waiting => (Word::Waiting, theme.warning()),
        SessionState::Stopped => (Word::Stopped, theme.dim()),
        SessionState::Killed => (Word::Killed, theme.bad()),
    };
    let last = row.last.map_or_else(|| theme.either("–", "-").to_string(), |time| workspace.clock(time));
    vec![
        (row.name.clone(), theme.plain()),
        (words.get(state).to_string(), style),
        (format::interval(row.interval), theme.plain()),
        (format::bytes(row.bytes), theme.plain()),
        (row.records.to_string(), theme.plain()),
        (row.errors.to_string(), if row.errors > 0 { theme.bad() } else { theme.plain() }),
        (row.logs.to_string(), theme.plain()),
        (last, theme.plain()),
    ]
}
