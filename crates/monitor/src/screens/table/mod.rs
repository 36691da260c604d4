//! The table screen: all instances of an object, sorted by any counter.

mod columns;
mod draw;
mod instances;
mod objects;

use crossterm::event::{KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use tallymon::core::flow::SourceError;
use tallymon::core::title::TitleIndex;

use crate::keys::binding::{Command, Context};
use crate::keys::lookup::command;
use crate::model::PROCESS;
use crate::screens::screen::{Action, Layer, Opens, Question, Screen, Tick};
use crate::screens::slider;
use crate::screens::table::instances::Table;
use crate::words::Word;
use crate::workspace::state::{View, Workspace};

pub(crate) use objects::ObjectPicker;

/// A table in place of the chart.
pub(crate) struct TableScreen {
    table: Table,
    /// Where the time slider of a log lies.
    slider: Rect,
}

impl TableScreen {
    /// Opens the table of the chosen counter's object, else that of the processes. `None` where no object has
    /// instances.
    ///
    /// # Errors
    ///
    /// The log cannot be read.
    pub(crate) fn open(workspace: &mut Workspace) -> Result<Option<TableScreen>, SourceError> {
        let host = workspace.chosen_host();
        let chosen = workspace.monitor.chosen().filter(|series| series.instance.is_some());
        let (object, counter) = match chosen.map(|series| (series.object, series.counter)) {
            Some((object, counter)) => (object, Some(counter)),
            None => {
                let catalog = workspace.query_of(host).catalog();
                let any = catalog.objects().iter().find(|object| object.has_instances);
                match catalog.object(PROCESS).or(any).map(|object| object.name) {
                    Some(object) => (object, None),
                    None => return Ok(None),
                }
            }
        };
        let table = open_table(workspace, host, object, counter)?;
        Ok(table.map(|table| TableScreen { table, slider: Rect::ZERO }))
    }

    /// Shows the next object with instances, or the one before.
    fn other_object(&mut self, forward: bool, workspace: &mut Workspace) {
        if let Some(object) = self.table.other_object(forward) {
            self.show_object(object, workspace);
        }
    }

    /// Shows the object that was chosen by its name.
    fn show_object(&mut self, object: TitleIndex, workspace: &mut Workspace) {
        match open_table(workspace, self.table.host, object, None) {
            Ok(Some(table)) => self.table = table,
            // It had instances when it was listed.
            Ok(None) => {}
            Err(error) => workspace.message = Some(error.to_string()),
        }
    }

    /// Keeps the columns of this object for as long as the monitor runs, and for its settings file.
    fn keep_columns(&self, workspace: &mut Workspace) {
        let (object, columns) = self.table.column_names();
        workspace.columns.0.insert(object, columns);
    }

    /// Adds the sorted column of the chosen instance to the chart.
    fn chart_chosen(&self, workspace: &mut Workspace) {
        if let Some(path) = self.table.chosen_path() {
            let path = workspace.prefix(self.table.host) + &path;
            workspace.add_and_choose(&path);
        }
    }

    /// Ticks the chosen instance, or removes its tick.
    fn tick_chosen(&mut self, workspace: &mut Workspace) {
        let Some(tick) = self.table.chosen_tick() else { return };
        let mut ticks = workspace.monitor.ticks.clone();
        ticks.toggle(tick);
        workspace.tick(ticks);
        self.table.ticks.clone_from(&workspace.monitor.ticks);
    }
}

impl Screen for TableScreen {
    fn layer(&self) -> Layer {
        Layer::Body
    }

    fn view(&self) -> Option<View> {
        Some(View::Table)
    }

    fn key(&mut self, key: KeyEvent, workspace: &mut Workspace) -> Action {
        if key.modifiers.contains(KeyModifiers::CONTROL) {
            return Action::Ignored;
        }
        // Also the keys of the other views: the chart takes them, and the table closes.
        let Some(command) = command(Context::Table, key) else { return Action::Ignored };
        let table = &mut self.table;
        match command {
            Command::Tick => self.tick_chosen(workspace),
            Command::Next => table.move_row(1),
            Command::Previous => table.move_row(-1),
            Command::PageForward => table.move_row(20),
            Command::PageBack => table.move_row(-20),
            Command::First => table.move_row(isize::MIN),
            Command::Last => table.move_row(isize::MAX),
            Command::PreviousColumn => table.move_column(-1),
            Command::NextColumn => table.move_column(1),
            Command::Reverse => table.reverse(),
            Command::Tree => {
                if !table.toggle_tree() {
                    workspace.message = Some(workspace.words.get(Word::NoParents).to_string());
                }
            }
            Command::NextObject => self.other_object(true, workspace),
            Command::PreviousObject => self.other_object(false, workspace),
            Command::ChooseObject => {
                return Action::Open(Opens::Objects { host: table.host, shown: table.object });
            }
            Command::HideColumn => {
                table.hide_column();
                self.keep_columns(workspace);
            }
            Command::ColumnLeft | Command::ColumnRight => {
                table.shift_column(command == Command::ColumnRight);
                self.keep_columns(workspace);
            }
            Command::AllColumns => {
                let (object, _) = table.column_names();
                workspace.columns.0.remove(&object);
                if let Err(error) = table.show_columns(&workspace.columns) {
                    workspace.message = Some(error.to_string());
                }
            }
            Command::Filter => return Action::Ask(Question::Filter, table.filter().to_string()),
            Command::AddToChart => self.chart_chosen(workspace),
            Command::Cancel => {
                workspace.view = View::Graph;
                return Action::Close;
            }
            _ => return Action::Ignored,
        }
        Action::Done
    }

    fn mouse(&mut self, event: MouseEvent, workspace: &mut Workspace) -> Action {
        let at = Position { x: event.column, y: event.row };
        match event.kind {
            MouseEventKind::Down(MouseButton::Left) => {
                if self.table.click(at) {
                    self.chart_chosen(workspace);
                } else if self.slider.contains(at) {
                    slider::go_to(workspace, self.slider, at.x);
                }
            }
            MouseEventKind::Down(MouseButton::Right) => {
                self.table.click(at);
                self.tick_chosen(workspace);
            }
            MouseEventKind::ScrollUp => self.table.move_row(-3),
            MouseEventKind::ScrollDown => self.table.move_row(3),
            _ => {}
        }
        Action::Done
    }

    fn answer(&mut self, question: Question, text: &str, workspace: &mut Workspace) -> Action {
        match question {
            Question::Filter => self.table.set_filter(text.to_lowercase()),
            Question::Object => {
                if let Ok(object) = text.parse() {
                    self.show_object(TitleIndex(object), workspace);
                }
            }
            _ => return Action::Ignored,
        }
        Action::Done
    }

    fn paste(&mut self, _text: &str, _workspace: &mut Workspace) -> Action {
        Action::Ignored
    }

    fn sample(&mut self, tick: &Tick<'_>) -> Result<(), SourceError> {
        self.table.ticks.clone_from(&tick.workspace.monitor.ticks);
        self.table.take(tick.sample)
    }

    fn awaits_sample(&self) -> bool {
        self.table.is_priming()
    }

    fn footer(&self) -> Option<Context> {
        Some(Context::Table)
    }

    fn draw(&mut self, buffer: &mut Buffer, area: Rect, workspace: &mut Workspace) {
        // Undo, and keys of the chart, change the ticks as well.
        self.table.ticks.clone_from(&workspace.monitor.ticks);
        let slider = u16::from(workspace.replay.is_some());
        let body = Rect { height: area.height.saturating_sub(slider), ..area };
        draw::draw(&mut self.table, buffer, body, workspace.words, workspace.theme);
        if slider > 0 {
            self.slider = slider::draw(workspace, buffer, Rect { y: body.bottom(), height: 1, ..area });
        }
    }
}

fn open_table(
    workspace: &mut Workspace,
    host: usize,
    object: TitleIndex,
    counter: Option<TitleIndex>,
) -> Result<Option<Table>, SourceError> {
    let feed = workspace.feed(host)?;
    let Some(mut table) = Table::open(feed, host, object, counter, &workspace.columns)? else {
        return Ok(None);
    };
    table.ticks.clone_from(&workspace.monitor.ticks);
    // Ticks have no name for the first host.
    table.host_name = workspace.prefix(host).strip_prefix("\\\\").map(str::to_string);
    Ok(Some(table))
}
