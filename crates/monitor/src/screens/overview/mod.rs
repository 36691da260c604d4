//! The overview: one page with everything that a machine does, at one second.
//!
//! It shows the second of the cursor, as the chart does: back in time, and in a log. The numbers are a
//! [`OverviewView`](crate::model::overview::OverviewView); the files here only draw them.

pub(crate) mod act;
mod bars;
mod containers;
pub(crate) mod details;
mod draw;
mod graphics;
mod layout;
mod lines;
mod processes;
mod sensors;
mod storage;
mod words;

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use crossterm::event::{KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use tallymon::core::flow::SourceError;
use tallymon::process::{ProcessFacts, ProcessId, Processes};

use crate::keys::binding::{Command, Context};
use crate::keys::lookup::{command, typed};
use crate::model::overview::{Arrangement, Pane, ProcessRow};
use crate::screens::overview::draw::Painter;
use crate::screens::overview::layout::{Counts, Room, areas};
use crate::screens::overview::lines::{KnownFacts, LineKey, Shown, id_of};
use crate::screens::overview::processes::ListState;
use crate::screens::screen::{Action, Layer, Opens, Question, Screen, Tick, beside_the_chart};
use crate::screens::slider;
use crate::term::task::Task;
use crate::workspace::state::{View, Workspace};

/// Points of a short history.
const POINTS: usize = 24;
/// How many facts are kept; more of them are forgotten and read again.
const MOST_FACTS: usize = 8_192;
/// After how many samples the facts in view are read again: a program can start another one in its place.
const FACTS_AGE: u32 = 15;

/// What Enter on an item opens.
#[derive(Debug, Clone)]
pub(super) enum Target {
    /// The chart of this path.
    Chart(String),
    /// The details of this process.
    Process(ProcessRow),
    /// The processes of this group, below it.
    Group(Arc<str>),
}

/// Something on the screen that can be chosen.
#[derive(Debug, Clone)]
pub(super) struct Item {
    pane: Pane,
    area: Rect,
    target: Target,
}

/// The overview in place of the chart.
pub(crate) struct OverviewScreen {
    reader: Option<Arc<dyn Processes>>,
    /// The pane in front, and the place of its chosen item; none at first.
    pane: Pane,
    at: Option<usize>,
    chosen: Option<LineKey>,
    /// The groups whose processes are shown.
    opened: HashSet<Arc<str>>,
    /// The first process in view.
    top: usize,
    /// The text that a process has to contain, in lower case.
    filter: String,
    facts: KnownFacts,
    requested: Option<Task<Answer>>,
    /// Samples since the facts in view were read.
    age: u32,
    items: Vec<Item>,
    slider: Rect,
}

/// Processes and their facts.
type Answer = Vec<(ProcessId, Option<ProcessFacts>)>;

impl OverviewScreen {
    /// The overview of what the workspace shows.
    pub(crate) fn open(workspace: &Workspace) -> OverviewScreen {
        OverviewScreen {
            // A log is about another time, perhaps about another machine.
            reader: workspace.options.processes.clone().filter(|_| workspace.replay.is_none()),
            pane: Pane::Processes,
            at: None,
            chosen: None,
            opened: HashSet::new(),
            top: 0,
            filter: String::new(),
            facts: KnownFacts::new(),
            requested: None,
            age: 0,
            items: Vec::new(),
            slider: Rect::ZERO,
        }
    }

    /// The items of the pane in front.
    fn own(&self) -> impl Iterator<Item = &Item> {
        self.items.iter().filter(|item| item.pane == self.pane)
    }

    /// The rows of the shown second.
    fn rows(workspace: &Workspace) -> Cow<'_, [ProcessRow]> {
        let time = workspace.overview_time();
        let state = workspace.overview.as_ref();
        state.zip(time).and_then(|(state, time)| state.model.processes.at(time)).unwrap_or_default()
    }

    fn shown<'s>(&'s self, workspace: &'s Workspace) -> Shown<'s> {
        let look = &workspace.overview_look;
        Shown { look, filter: &self.filter, facts: &self.facts, opened: &self.opened }
    }

    /// Moves the choice in the pane in front.
    fn move_choice(&mut self, by: isize, workspace: &Workspace) {
        if self.pane == Pane::Processes {
            let rows = OverviewScreen::rows(workspace);
            let shown = self.shown(workspace).lines(&rows);
            let at = self.chosen.as_ref().and_then(|chosen| shown.iter().position(|line| chosen.is(line)));
            let at = at.map_or(self.top.saturating_add_signed(by.min(0)), |at| at.saturating_add_signed(by));
            let chosen = shown.get(at.min(shown.len().saturating_sub(1))).map(LineKey::of);
            self.chosen = chosen;
        } else {
            let last = self.own().count().saturating_sub(1);
            self.at = Some(self.at.map_or(0, |at| at.saturating_add_signed(by).min(last)));
        }
    }

    /// The next pane that has something to choose, or the one before, in the order of the screen.
    fn move_pane(&mut self, forward: bool, workspace: &Workspace) {
        let mut panes: Vec<Pane> = Vec::new();
        for item in &self.items {
            if !panes.contains(&item.pane) {
                panes.push(item.pane);
            }
        }
        if workspace.overview_look.has(Pane::Processes) && !panes.contains(&Pane::Processes) {
            panes.push(Pane::Processes);
        }
        let at = panes.iter().position(|pane| *pane == self.pane).unwrap_or(0);
        let step = if forward { 1 } else { panes.len().saturating_sub(1) };
        let next = at.saturating_add(step).checked_rem(panes.len()).unwrap_or(0);
        self.pane = panes.get(next).copied().unwrap_or(Pane::Processes);
        self.at = Some(0);
        if self.pane == Pane::Processes && self.chosen.is_none() {
            self.move_choice(0, workspace);
        }
    }

    /// The process that is chosen, else the first one; `None` while a group is chosen.
    fn process(&self, workspace: &Workspace) -> Option<ProcessRow> {
        let rows = OverviewScreen::rows(workspace);
        match &self.chosen {
            Some(chosen) => rows.iter().find(|row| chosen.is_row(row)).cloned(),
            None => {
                let shown = self.shown(workspace).lines(&rows);
                shown.into_iter().find(|line| line.group.is_none()).map(|line| line.row.into_owned())
            }
        }
    }

    /// Shows the processes of a group below it, or hides them.
    fn toggle_group(&mut self, name: &Arc<str>) -> Action {
        if !self.opened.remove(name) {
            self.opened.insert(name.clone());
        }
        Action::Done
    }

    /// Opens the chosen item: its chart, or the details of a process.
    fn open_chosen(&mut self, workspace: &mut Workspace) -> Action {
        if self.pane == Pane::Processes {
            if let Some(group) = self.chosen.as_ref().and_then(LineKey::group_name).cloned() {
                return self.toggle_group(&group);
            }
            return self.open_process(workspace, Opens::Process);
        }
        let target = self.own().nth(self.at.unwrap_or(0)).map(|item| item.target.clone());
        self.open_target(target, workspace)
    }

    fn open_target(&mut self, target: Option<Target>, workspace: &mut Workspace) -> Action {
        match target {
            Some(Target::Chart(path)) => workspace.chart_of_overview(&path),
            Some(Target::Process(_)) => return self.open_process(workspace, Opens::Process),
            Some(Target::Group(name)) => return self.toggle_group(&name),
            None => {}
        }
        Action::Done
    }

    fn open_process(&self, workspace: &mut Workspace, opens: Opens) -> Action {
        workspace.process = self.process(workspace);
        if workspace.process.is_some() { Action::Open(opens) } else { Action::Done }
    }

    /// Hides or shows the pane of a digit.
    fn toggle_pane(&mut self, key: KeyEvent, workspace: &mut Workspace) {
        let digit = typed(key).and_then(|letter| letter.to_digit(10));
        // After 9 comes 0, as on the keyboard.
        let nth = digit.map(|digit| if digit == 0 { 10 } else { digit });
        let nth = nth.and_then(|nth| usize::try_from(nth).ok()?.checked_sub(1));
        if let Some((_, pane)) = nth.and_then(|nth| Pane::NAMES.get(nth)) {
            workspace.overview_look.toggle(*pane);
        }
        self.keep_pane(workspace);
    }

    /// A hidden pane is not in front.
    fn keep_pane(&mut self, workspace: &Workspace) {
        let look = &workspace.overview_look;
        if !look.has(self.pane) {
            self.pane = look.panes.first().copied().unwrap_or(Pane::Processes);
            self.at = None;
        }
    }

    /// Starts to read the facts of processes in view that have none yet, or those of all.
    fn ask(&mut self, rows: &[ProcessRow], of_all: bool) {
        let Some(reader) = self.reader.clone().filter(|_| self.requested.is_none()) else { return };
        if self.facts.len() > MOST_FACTS {
            self.facts.clear();
        }
        let in_view = self.items.iter().filter_map(|item| match &item.target {
            Target::Process(row) => id_of(row),
            Target::Chart(_) | Target::Group(_) => None,
        });
        let is_old = self.age >= FACTS_AGE;
        let mut wanted: Vec<ProcessId> =
            in_view.filter(|id| is_old || !self.facts.contains_key(id)).collect();
        if of_all {
            let unknown = rows.iter().filter_map(id_of).filter(|id| !self.facts.contains_key(id));
            wanted.extend(unknown);
        }
        if is_old {
            self.age = 0;
        }
        if !wanted.is_empty() {
            let read = move || {
                let facts = reader.facts(&wanted);
                wanted.into_iter().zip(facts).collect()
            };
            self.requested = Task::begin(read).ok();
        }
    }
}

impl Screen for OverviewScreen {
    fn layer(&self) -> Layer {
        Layer::Body
    }

    fn view(&self) -> Option<View> {
        Some(View::Overview)
    }

    fn key(&mut self, key: KeyEvent, workspace: &mut Workspace) -> Action {
        if key.modifiers.contains(KeyModifiers::CONTROL) {
            return Action::Ignored;
        }
        let Some(found) = command(Context::Overview, key) else {
            return beside_the_chart(key, &[Command::Previous, Command::Next, Command::FailedProvider]);
        };
        match found {
            Command::Previous => self.move_choice(-1, workspace),
            Command::Next => self.move_choice(1, workspace),
            Command::NextPane => self.move_pane(true, workspace),
            Command::PreviousPane => self.move_pane(false, workspace),
            Command::OpenChosen => return self.open_chosen(workspace),
            Command::SortNext => workspace.overview_look.move_order(true),
            Command::SortPrevious => workspace.overview_look.move_order(false),
            Command::Reverse => {
                workspace.overview_look.ascending = !workspace.overview_look.ascending;
            }
            Command::Tree => {
                let look = &mut workspace.overview_look;
                look.arrangement = look.arrangement.next();
            }
            Command::ShowPane => self.toggle_pane(key, workspace),
            Command::Preset => {
                workspace.overview_look.next_preset();
                self.keep_pane(workspace);
            }
            Command::Act => return self.open_process(workspace, Opens::Act),
            Command::Filter => return Action::Ask(Question::Filter, self.filter.clone()),
            Command::Cancel if !self.filter.is_empty() => self.filter.clear(),
            Command::Cancel if self.chosen.is_some() || self.at.is_some() => {
                (self.chosen, self.at, self.pane) = (None, None, Pane::Processes);
            }
            Command::Cancel
                if workspace.machines().is_some() && workspace.monitor.window.cursor.is_none() =>
            {
                workspace.view = View::Hosts;
            }
            _ => return Action::Ignored,
        }
        Action::Done
    }

    fn mouse(&mut self, event: MouseEvent, workspace: &mut Workspace) -> Action {
        let at = Position { x: event.column, y: event.row };
        match event.kind {
            MouseEventKind::Down(MouseButton::Left) if self.slider.contains(at) => {
                slider::go_to(workspace, self.slider, at.x);
            }
            MouseEventKind::Down(MouseButton::Left) => {
                // The smallest item: a processor lies in the row of its pane.
                let found = self.items.iter().filter(|item| item.area.contains(at));
                let Some(item) = found.min_by_key(|item| item.area.area()).cloned() else {
                    return Action::Done;
                };
                self.pane = item.pane;
                let key = match &item.target {
                    Target::Process(row) => Some(LineKey::process(row)),
                    Target::Group(name) => Some(LineKey::group(name)),
                    Target::Chart(_) => None,
                };
                if let Some(key) = key {
                    // A second click opens.
                    if self.chosen.replace(key.clone()) == Some(key) {
                        return self.open_target(Some(item.target), workspace);
                    }
                    return Action::Done;
                }
                let place = self.own().position(|own| own.area == item.area);
                let was = std::mem::replace(&mut self.at, place);
                if was == place {
                    return self.open_target(Some(item.target), workspace);
                }
            }
            MouseEventKind::ScrollUp => self.top = self.top.saturating_sub(3),
            MouseEventKind::ScrollDown => {
                let last = OverviewScreen::rows(workspace).len().saturating_sub(1);
                self.top = self.top.saturating_add(3).min(last);
            }
            _ => {}
        }
        Action::Done
    }

    fn answer(&mut self, question: Question, text: &str, _workspace: &mut Workspace) -> Action {
        if question != Question::Filter {
            return Action::Ignored;
        }
        self.filter = text.trim().to_lowercase();
        Action::Done
    }

    fn paste(&mut self, _text: &str, _workspace: &mut Workspace) -> Action {
        Action::Ignored
    }

    fn sample(&mut self, _tick: &Tick<'_>) -> Result<(), SourceError> {
        // The workspace samples for the overview, also under other screens.
        self.age = self.age.saturating_add(1);
        Ok(())
    }

    fn poll(&mut self, patience: Duration) -> bool {
        let Some(answer) = self.requested.as_ref().and_then(|task| task.wait(patience)) else { return false };
        self.requested = None;
        self.facts.extend(answer.unwrap_or_default());
        true
    }

    fn is_waiting(&self) -> bool {
        self.requested.is_some()
    }

    fn footer(&self) -> Option<Context> {
        Some(Context::Overview)
    }

    fn draw(&mut self, buffer: &mut Buffer, area: Rect, workspace: &mut Workspace) {
        let slider = u16::from(workspace.replay.is_some() && area.height > 6);
        let body = Rect { height: area.height.saturating_sub(slider), ..area };
        self.draw_panes(buffer, body, workspace);
        if slider > 0 {
            self.slider = slider::draw(workspace, buffer, Rect { y: body.bottom(), height: 1, ..area });
        }
    }
}

impl OverviewScreen {
    fn draw_panes(&mut self, buffer: &mut Buffer, body: Rect, workspace: &Workspace) {
        let Some(state) = &workspace.overview else { return };
        let time = workspace.overview_time();
        let view = state.model.view(time, POINTS, usize::from(body.width));
        let look = &workspace.overview_look;
        let counts = Counts {
            processors: view.processors.each.len(),
            disks: view.disks.len(),
            file_systems: view.file_systems.len(),
            sensors: view.sensors.len(),
            interfaces: view.interfaces.len(),
            containers: view.containers.len(),
            graphics: view.graphics.len(),
        };
        let mut painter = Painter {
            buffer,
            words: workspace.words,
            theme: workspace.theme,
            view: &view,
            room: Room::of(body),
            items: Vec::new(),
            chosen: self.at.map(|at| (self.pane, at)).filter(|_| self.pane != Pane::Processes),
            is_reading: workspace.overview_reads(),
        };
        let rows = view.processes.as_deref();
        for (pane, area) in areas(body, &look.panes, counts) {
            if area.height == 0 {
                continue;
            }
            if !state.model.has(pane) {
                let lacking = state.model.lacking(pane);
                let rest = if painter.room == Room::Lines {
                    area
                } else {
                    painter.heading(pane, area, &[]);
                    Rect { y: area.y.saturating_add(1), height: area.height.saturating_sub(1), ..area }
                };
                if rest.height > 0 {
                    painter.lacks(rest, &lacking);
                }
                continue;
            }
            match pane {
                Pane::Processors => painter.processors(area),
                Pane::Memory => painter.memory(area),
                Pane::Disks => painter.disks(area),
                Pane::Space => painter.file_systems(area),
                Pane::Sensors => painter.sensors(area),
                Pane::Network => painter.network(area),
                Pane::Pressure => painter.pressure(area),
                Pane::Containers => painter.containers(area),
                Pane::Graphics => painter.graphics(area),
                Pane::Processes => match rows {
                    Some(rows) => {
                        let list = ListState {
                            shown: self.shown(workspace),
                            chosen: self.chosen.as_ref(),
                            top: self.top,
                            is_part: time.is_some_and(|time| state.model.processes.left_out(time) > 0),
                        };
                        self.top = painter.processes(area, rows, &list);
                    }
                    None => painter.no_processes(area),
                },
            }
        }
        self.items = painter.items;
        if let Some(rows) = rows {
            // A filter looks into the commands of all, and every process has a group.
            let of_all = !self.filter.is_empty() || look.arrangement == Arrangement::Groups;
            self.ask(rows, of_all);
        }
    }
}
