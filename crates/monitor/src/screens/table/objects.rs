//! The list of objects that the table can show, found by typing some letters of a name.

use crossterm::event::{KeyEvent, MouseButton, MouseEvent, MouseEventKind};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use tallymon::core::title::TitleIndex;
use tallymon::{Catalog, Names, SourceInfo};

use crate::keys::binding::{Command, Context};
use crate::keys::lookup::{command, moved, typed};
use crate::keys::show::footer;
use crate::screens::screen::{Action, Layer, Question, Screen};
use crate::term::chart::Glyphs;
use crate::term::frame::frame;
use crate::term::list::{self, Column};
use crate::term::text::put;
use crate::words::Word;
use crate::workspace::state::Workspace;

/// Size of the box at most: it has a border, the typed text and an empty line.
const COLUMNS: u16 = 60;
const MOST_ROWS: u16 = 24;

/// An object with instances.
struct Known {
    object: TitleIndex,
    name: String,
    /// Its name as it is shown and its English name, in lower case.
    searched: String,
}

/// The list, and what was typed.
pub(crate) struct ObjectPicker {
    host: usize,
    all: Vec<Known>,
    text: String,
    /// Positions of the objects that fit the text.
    fitting: Vec<usize>,
    at: usize,
    /// The screen row of each line.
    rows: Vec<(u16, usize)>,
}

impl ObjectPicker {
    /// The objects of a host by their names, with the one chosen that is shown.
    pub(crate) fn open(workspace: &Workspace, host: usize, shown: TitleIndex) -> ObjectPicker {
        let query = workspace.query_of(host);
        let all = with_instances(query.names(), query.catalog());
        let at = all.iter().position(|known| known.object == shown).unwrap_or(0);
        let fitting = (0..all.len()).collect();
        ObjectPicker { host, all, text: String::new(), fitting, at, rows: Vec::new() }
    }

    /// Lists the objects whose names have all typed words, those that begin with the text first.
    fn find(&mut self) {
        let text = self.text.to_lowercase();
        let fits = |known: &Known| text.split_whitespace().all(|word| known.searched.contains(word));
        let mut fitting: Vec<usize> = self
            .all
            .iter()
            .enumerate()
            .filter(|(_, known)| fits(known))
            .map(|(position, _)| position)
            .collect();
        let begins = |known: &Known| known.searched.lines().any(|name| name.starts_with(text.trim()));
        fitting.sort_by_key(|position| !self.all.get(*position).is_some_and(begins));
        (self.fitting, self.at) = (fitting, 0);
    }

    /// Hands the chosen object to the table.
    fn accept(&self) -> Action {
        let chosen = self.fitting.get(self.at).and_then(|position| self.all.get(*position));
        chosen.map_or(Action::Done, |known| Action::Answered(Question::Object, known.object.0.to_string()))
    }
}

/// The objects with instances, by their names.
fn with_instances(names: &Names, catalog: &Catalog) -> Vec<Known> {
    let with = catalog.objects().iter().filter(|object| object.has_instances);
    let mut all: Vec<Known> = with
        .map(|object| {
            let name = names.name(object.name);
            let searched = format!("{name}\n{}", names.english(object.name)).to_lowercase();
            Known { object: object.name, name, searched }
        })
        .collect();
    all.sort_by(|one, other| one.searched.cmp(&other.searched));
    all
}

impl Screen for ObjectPicker {
    fn layer(&self) -> Layer {
        Layer::Dialog
    }

    fn key(&mut self, key: KeyEvent, _workspace: &mut Workspace) -> Action {
        match command(Context::Objects, key) {
            Some(Command::Cancel | Command::Close) => return Action::Close,
            Some(Command::Accept) => return self.accept(),
            Some(Command::ClearText) => {
                self.text.clear();
                self.find();
            }
            Some(Command::DeleteLetter) => {
                self.text.pop();
                self.find();
            }
            Some(other) => self.at = moved(other, self.at, self.fitting.len()).unwrap_or(self.at),
            None => {
                self.text.extend(typed(key));
                self.find();
            }
        }
        Action::Done
    }

    /// A click chooses an object, a click on the chosen one shows it, and the wheel goes through the list.
    fn mouse(&mut self, event: MouseEvent, _workspace: &mut Workspace) -> Action {
        let last = self.fitting.len().saturating_sub(1);
        match event.kind {
            MouseEventKind::Down(MouseButton::Left) => {
                let Some(found) = list::line_at(&self.rows, event.row) else { return Action::Done };
                if found == self.at {
                    return self.accept();
                }
                self.at = found;
            }
            MouseEventKind::ScrollUp => self.at = self.at.saturating_sub(1),
            MouseEventKind::ScrollDown => self.at = self.at.saturating_add(1).min(last),
            _ => {}
        }
        Action::Done
    }

    /// The chosen object stays chosen.
    fn renew(&mut self, host: usize, info: &SourceInfo) {
        if host != self.host {
            return;
        }
        let chosen = self.fitting.get(self.at).and_then(|place| Some(self.all.get(*place)?.object));
        self.all = with_instances(&info.names, &info.catalog);
        self.find();
        let is_chosen = |place: &usize| self.all.get(*place).map(|known| known.object) == chosen;
        self.at = self.fitting.iter().position(is_chosen).unwrap_or(0);
    }

    fn paste(&mut self, text: &str, _workspace: &mut Workspace) -> Action {
        self.text.push_str(text.lines().next().unwrap_or_default());
        self.find();
        Action::Done
    }

    fn draw(&mut self, buffer: &mut Buffer, area: Rect, workspace: &mut Workspace) {
        let (words, theme) = (workspace.words, workspace.theme);
        let below = footer(Context::Objects, words, theme.glyphs == Glyphs::Ascii);
        let rows = u16::try_from(self.all.len().saturating_add(4)).unwrap_or(u16::MAX).min(MOST_ROWS);
        let inside = frame(buffer, area, (COLUMNS, rows), words.get(Word::Object), &below, theme);
        let line = format!("{}{}{}", theme.either("▸ ", "> "), self.text, theme.either("▏", "_"));
        put(buffer, inside.x, inside.y, inside.width, &line, theme.bold());
        let listed =
            Rect { y: inside.y.saturating_add(1), height: inside.height.saturating_sub(1), ..inside };
        if self.fitting.is_empty() {
            self.rows.clear();
            put(
                buffer,
                listed.x,
                listed.y.saturating_add(1),
                listed.width,
                words.get(Word::Unknown),
                theme.dim(),
            );
            return;
        }
        let columns =
            [Column { title: "", least: 20, right: false }, Column { title: "", least: 6, right: true }];
        let rows: Vec<_> = self
            .fitting
            .iter()
            .filter_map(|position| self.all.get(*position))
            .map(|known| vec![(known.name.clone(), theme.plain()), (known.object.0.to_string(), theme.dim())])
            .collect();
        self.rows = list::draw(buffer, listed, theme, &columns, &rows, self.at, &[]);
    }
}
