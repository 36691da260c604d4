//! The page of all live machines: a row each, with its state, its load, the age of its values and its clock.

use std::time::Duration;

use crossterm::event::{KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use tallymon::human::Unit;

use crate::keys::binding::{Command, Context, Label};
use crate::keys::lookup::{command, moved};
use crate::model::overview::Limits;
use crate::model::{HostColumn, HostLoad, HostOrder, HostRow, HostState, format};
use crate::screens::screen::{Action, Layer, Question, Screen, beside_the_chart};
use crate::term::list::{self, Cell, Column};
use crate::term::text::put;
use crate::term::theme::Theme;
use crate::words::{Word, Words};
use crate::workspace::state::{View, Workspace};

const BUSY: Label = ["CPU %", "CPU %", "CPU %", "ЦП %"];
const MEMORY: Label = ["Mem %", "메모리 %", "メモリ %", "Пам. %"];
const DISK: Label = ["Disk %", "디스크 %", "ディスク %", "Диск %"];
const DISK_BYTES: Label = ["Disk B/s", "디스크 B/s", "ディスク B/s", "Диск Б/с"];
const NETWORK: Label = ["Net B/s", "망 B/s", "通信 B/s", "Сеть Б/с"];
const PRESSURE: Label = ["Wait %", "대기 %", "待ち %", "Ждут %"];
const WAITED_FOR: Label = ["tasks waited for", "작업 대기 원인", "タスクが待ったもの", "задачи ждали"];
const WAITED: [Label; 3] = [
    ["CPU", "프로세서", "プロセッサ", "ЦП"],
    ["memory", "메모리", "メモリ", "память"],
    ["disks", "디스크", "ディスク", "диски"],
];
const PAGES: Label = ["pages a second", "초당 페이지", "毎秒のページ", "страниц в секунду"];

/// The page in place of the chart.
#[derive(Default)]
pub(crate) struct HostsScreen {
    /// Name of the chosen host: it stays chosen when the order changes.
    chosen: Option<String>,
    /// What a host has to contain, in lower case.
    filter: String,
    /// The screen row of each line.
    rows: Vec<(u16, usize)>,
}

impl HostsScreen {
    /// The hosts in their order, as far as they pass the filter.
    fn shown(&self, workspace: &Workspace) -> Vec<HostRow> {
        let mut rows = workspace.host_rows();
        rows.retain(|row| {
            let text = match &row.state {
                HostState::Failed { why, .. } => format!("{} {why}", row.name),
                state => format!("{} {}", row.name, state_words(state, workspace.words)),
            };
            let text = text.to_lowercase();
            self.filter.split_whitespace().all(|word| text.contains(word))
        });
        workspace.host_order.sort(&mut rows);
        rows
    }

    fn at(&self, rows: &[HostRow]) -> usize {
        rows.iter().position(|row| Some(&row.name) == self.chosen.as_ref()).unwrap_or(0)
    }

    /// Opens the overview of the chosen host.
    fn open_chosen(&self, workspace: &mut Workspace) -> Action {
        let rows = self.shown(workspace);
        if let Some(row) = rows.get(self.at(&rows))
            && let Err(error) = workspace.show_overview_of(row.place)
        {
            workspace.message = Some(error.to_string());
        }
        Action::Done
    }
}

impl Screen for HostsScreen {
    fn layer(&self) -> Layer {
        Layer::Body
    }

    fn view(&self) -> Option<View> {
        Some(View::Hosts)
    }

    fn key(&mut self, key: KeyEvent, workspace: &mut Workspace) -> Action {
        if key.modifiers.contains(KeyModifiers::CONTROL) {
            return Action::Ignored;
        }
        let Some(found) = command(Context::Hosts, key) else {
            return beside_the_chart(key, &[Command::CursorBack, Command::CursorForward]);
        };
        match found {
            Command::OpenChosen => return self.open_chosen(workspace),
            Command::SortNext => workspace.host_order.column = workspace.host_order.column.step(true),
            Command::SortPrevious => workspace.host_order.column = workspace.host_order.column.step(false),
            Command::Reverse => workspace.host_order.is_reversed = !workspace.host_order.is_reversed,
            Command::Filter => return Action::Ask(Question::Filter, self.filter.clone()),
            Command::Cancel if !self.filter.is_empty() => self.filter.clear(),
            Command::Cancel => return Action::Ignored,
            other => {
                let rows = self.shown(workspace);
                if let Some(at) = moved(other, self.at(&rows), rows.len()) {
                    self.chosen = rows.get(at).map(|row| row.name.clone());
                }
            }
        }
        Action::Done
    }

    /// A click chooses a host, and a click on the chosen one opens it.
    fn mouse(&mut self, event: MouseEvent, workspace: &mut Workspace) -> Action {
        let rows = self.shown(workspace);
        let at = self.at(&rows);
        let choose = |at: usize| rows.get(at.min(rows.len().saturating_sub(1))).map(|row| row.name.clone());
        match event.kind {
            MouseEventKind::Down(MouseButton::Left) => match list::line_at(&self.rows, event.row) {
                Some(found) if found == at && self.chosen.is_some() => return self.open_chosen(workspace),
                Some(found) => self.chosen = choose(found),
                None => {}
            },
            MouseEventKind::ScrollUp => self.chosen = choose(at.saturating_sub(1)),
            MouseEventKind::ScrollDown => self.chosen = choose(at.saturating_add(1)),
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

    fn footer(&self) -> Option<Context> {
        Some(Context::Hosts)
    }

    fn draw(&mut self, buffer: &mut Buffer, area: Rect, workspace: &mut Workspace) {
        let rows = self.shown(workspace);
        let page =
            Page { rows: &rows, order: workspace.host_order, at: self.at(&rows), filter: &self.filter };
        self.rows = page.draw(buffer, area, workspace.words, workspace.theme);
    }
}

/// What is drawn.
struct Page<'p> {
    rows: &'p [HostRow],
    order: HostOrder,
    /// The chosen line.
    at: usize,
    filter: &'p str,
}

impl Page<'_> {
    /// Draws the page, and returns the screen row of each line.
    fn draw(&self, buffer: &mut Buffer, area: Rect, words: Words, theme: Theme) -> Vec<(u16, usize)> {
        let Page { rows, order, at, filter } = *self;
        let answering = rows.iter().filter(|row| row.state == HostState::Live).count();
        let arrow = if order.is_reversed { theme.either("▲", "^") } else { theme.either("▼", "v") };
        let mut heading = format!(
            "{}: {answering} / {}   {} {} {arrow}",
            words.get(Word::AllHosts),
            rows.len(),
            words.get(Word::SortedBy),
            title(order.column, words)
        );
        if !filter.is_empty() {
            heading.push_str(&format!("   /{filter}"));
        }
        put(buffer, area.x.saturating_add(1), area.y, area.width, &heading, theme.bold());
        let columns = HostColumn::ALL.map(|column| Column {
            title: title(column, words),
            least: least(column),
            right: !matches!(column, HostColumn::Name | HostColumn::State),
        });
        let cells: Vec<Vec<Cell>> = rows.iter().map(|row| cells(row, words, theme)).collect();
        let texts = rows.get(at).map(|row| details(row, words, theme)).unwrap_or_default();
        let below = Rect {
            x: area.x.saturating_add(1),
            y: area.y.saturating_add(1),
            width: area.width.saturating_sub(2),
            height: area.height.saturating_sub(1),
        };
        list::draw(buffer, below, theme, &columns, &cells, at, &texts)
    }
}

fn title(column: HostColumn, words: Words) -> &'static str {
    match column {
        HostColumn::Name => words.get(Word::Host),
        HostColumn::State => words.get(Word::State),
        HostColumn::Busy => words.pick(&BUSY),
        HostColumn::Memory => words.pick(&MEMORY),
        HostColumn::Disk => words.pick(&DISK),
        HostColumn::DiskBytes => words.pick(&DISK_BYTES),
        HostColumn::Network => words.pick(&NETWORK),
        HostColumn::Pressure => words.pick(&PRESSURE),
        HostColumn::Queue => words.get(Word::Queue),
        HostColumn::Age => words.get(Word::Age),
        HostColumn::Clock => words.get(Word::Clock),
    }
}

/// The least width of a column, so that it does not move while its values change.
const fn least(column: HostColumn) -> u16 {
    match column {
        HostColumn::Name => 12,
        HostColumn::State => 10,
        HostColumn::Busy | HostColumn::Memory | HostColumn::Disk | HostColumn::Pressure => 6,
        HostColumn::DiskBytes | HostColumn::Network | HostColumn::Clock => 8,
        HostColumn::Queue | HostColumn::Age => 5,
    }
}

fn state_words(state: &HostState, words: Words) -> &'static str {
    match state {
        HostState::Opening => words.get(Word::Opens),
        HostState::Live => words.get(Word::Live),
        HostState::Late(_) => words.get(Word::LateHost),
        HostState::Failed { .. } => words.get(Word::Failed),
    }
}

/// The line of a host. Its numbers are dim while they are old.
fn cells(row: &HostRow, words: Words, theme: Theme) -> Vec<Cell> {
    let dash = || (theme.either("–", "-").to_string(), theme.dim());
    let is_old = row.state != HostState::Live;
    let (state, load) = (&row.state, row.load.clone().unwrap_or_default());
    let style = match state {
        HostState::Live => theme.good(),
        HostState::Opening => theme.dim(),
        HostState::Late(_) => theme.warning(),
        HostState::Failed { .. } => theme.bad(),
    };
    let shown = |number: Option<f64>, text: &dyn Fn(f64) -> String, limits: Option<Limits>| {
        let Some(number) = number else { return dash() };
        let own = match limits.map(|limits| limits.level(number)) {
            _ if is_old => theme.dim(),
            Some(level) => theme.level(level),
            None => theme.plain(),
        };
        (text(number), own)
    };
    let percent = |number: f64| format!("{number:.1}");
    let bytes = |number: f64| Unit::Bytes.text(number);
    let pressure = match (load.worst_pressure(), load.paging) {
        (None, Some(pages)) => shown(Some(pages), &|pages| format!("{pages:.0} p/s"), None),
        (worst, _) => shown(worst, &percent, Some(Limits::PRESSURE)),
    };
    let clock = row.clock.map_or_else(dash, |clock| {
        (clock.to_string(), if clock.is_certain() { theme.plain() } else { theme.dim() })
    });
    let old: Style = if is_old { style } else { theme.dim() };
    vec![
        (row.name.clone(), if is_old { style } else { theme.plain() }),
        (state_words(state, words).to_string(), style),
        shown(load.busy, &percent, Some(Limits::BUSY)),
        shown(load.memory, &percent, Some(Limits::MEMORY)),
        shown(load.disk, &percent, Some(Limits::BUSY)),
        shown(load.disk_bytes, &bytes, None),
        shown(load.network, &bytes, None),
        pressure,
        shown(load.queue, &|queue| format!("{queue:.0}"), None),
        row.age.map_or_else(dash, |time| (format::age(time), old)),
        clock,
    ]
}

/// What is known of the chosen host, in words.
fn details(row: &HostRow, words: Words, theme: Theme) -> Vec<Cell> {
    let mut texts = vec![(row.name.clone(), theme.bold())];
    let since = |word: Word, time: Duration| words.get(word).replace("{1}", &format::age(time));
    match &row.state {
        HostState::Failed { why, retry } => {
            texts.push((why.clone(), theme.bad()));
            let mut parts = vec![match row.age {
                Some(time) => since(Word::LastValues, time),
                None => words.get(Word::NoValuesYet).to_string(),
            }];
            if let Some(left) = retry {
                let left = Duration::from_secs(left.as_secs().saturating_add(1));
                parts.push(format!("{} {}", words.get(Word::Retry), format::interval(left)));
            }
            texts.push((parts.join(", "), theme.warning()));
        }
        HostState::Late(time) if row.age.is_some() => {
            texts.push((since(Word::LateSince, *time), theme.warning()));
        }
        HostState::Late(_) | HostState::Opening => {
            texts.push((words.get(Word::NoValuesYet).to_string(), theme.warning()));
        }
        HostState::Live => {}
    }
    if let Some(clock) = row.clock.filter(|clock| clock.is_certain()) {
        let word = if clock.seconds() < 0.0 { Word::ClockBehind } else { Word::ClockAhead };
        let text = words.get(word).replace("{1}", clock.to_string().trim_start_matches(['+', '-']));
        texts.push((text, theme.plain()));
    }
    texts.extend(row.load.as_ref().and_then(|load| waits(load, words)).map(|text| (text, theme.dim())));
    texts
}

/// What tasks waited for, or how many pages moved.
fn waits(load: &HostLoad, words: Words) -> Option<String> {
    if load.worst_pressure().is_none() {
        return Some(format!("{}: {:.0}", words.pick(&PAGES), load.paging?));
    }
    let parts: Vec<String> = WAITED
        .iter()
        .zip(load.pressure)
        .filter_map(|(label, number)| Some(format!("{} {:.1} %", words.pick(label), number?)))
        .collect();
    Some(format!("{}: {}", words.pick(&WAITED_FOR), parts.join(", ")))
}

#[cfg(test)]
#[path = "hosts_tests.rs"]
mod tests;
