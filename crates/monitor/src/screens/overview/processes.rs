//! The processes of the overview: sorted, filtered, with who runs them.

use ratatui::layout::Rect;
use ratatui::style::Style;
use tallymon::human::Unit;

use crate::model::DEEPEST;
use crate::model::overview::{Arrangement, Level, Limits, OverviewLook, Pane, ProcessMetric, ProcessRow};
use crate::screens::overview::draw::Painter;
use crate::screens::overview::layout::Room;
use crate::screens::overview::lines::{KnownFacts, Line, LineKey, Shown, id_of};
use crate::screens::overview::{Item, Target, words};
use crate::term::text::{cut, put, put_right, width};

/// A column of the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Column {
    Number(ProcessMetric),
    User,
    Unit,
    Command,
}

/// What a list of processes shows beside the rows.
pub(super) struct ListState<'l> {
    pub(super) shown: Shown<'l>,
    pub(super) chosen: Option<&'l LineKey>,
    /// The first row in view.
    pub(super) top: usize,
    /// Only the largest processes of this second were kept.
    pub(super) is_part: bool,
}

impl Painter<'_> {
    /// Draws the list; returns its first row in view.
    pub(super) fn processes(&mut self, area: Rect, rows: &[ProcessRow], state: &ListState<'_>) -> usize {
        let Shown { look, filter, .. } = state.shown;
        let passing = state.shown.passing(rows);
        let count = passing.len();
        let shown = state.shown.arranged(passing);
        let theme = self.theme;
        let mut parts = vec![(count.to_string(), theme.plain())];
        if state.is_part {
            parts = vec![(format!("{} {count}", self.word(words::LARGEST)), theme.plain())];
        }
        if look.arrangement == Arrangement::Groups {
            let groups = shown.iter().filter(|line| line.depth == 0).count();
            parts.push((format!("{} {groups}", self.word(words::GROUPS)), theme.plain()));
        }
        if !filter.is_empty() {
            parts.push((format!("/{filter}"), theme.warning()));
        }
        let mut body = area;
        // On a small screen a process more is worth more than the heading.
        let least = if self.room == Room::Lines && filter.is_empty() { 5 } else { 4 };
        if area.height >= least {
            self.heading(Pane::Processes, area, &parts);
            body = Rect { y: area.y.saturating_add(1), height: area.height.saturating_sub(1), ..area };
        }
        let columns = self.columns_of(rows, state, body.width);
        self.headings(body, &columns, look);
        let lines = usize::from(body.height.saturating_sub(1));
        let at = state.chosen.and_then(|chosen| shown.iter().position(|line| chosen.is(line)));
        let mut top = state.top.min(shown.len().saturating_sub(lines));
        if let Some(at) = at {
            top = top.min(at).max(at.saturating_add(1).saturating_sub(lines));
        }
        if shown.is_empty() && !filter.is_empty() {
            let y = body.y.saturating_add(1);
            put(self.buffer, body.x, y, body.width, self.word(words::NO_SUCH), theme.dim());
        }
        for (area, (nth, line)) in body.rows().skip(1).zip(shown.iter().enumerate().skip(top)) {
            self.process(area, line, &columns, state.shown.facts);
            if at == Some(nth) {
                self.buffer.set_style(area, theme.selected());
            }
            let target = match &line.group {
                Some(_) => Target::Group(line.row.name.clone()),
                None => Target::Process(line.row.clone().into_owned()),
            };
            self.items.push(Item { pane: Pane::Processes, area, target });
        }
        top
    }

    /// The columns that fit, each with its width. Columns that no process has are left out.
    fn columns_of(&self, rows: &[ProcessRow], state: &ListState<'_>, room: u16) -> Vec<(Column, u16)> {
        let facts = || state.shown.facts.values().flatten();
        let has = |metric: ProcessMetric| rows.iter().any(|row| row.number(metric).is_some());
        let longest = |texts: &mut dyn Iterator<Item = u16>, least: u16, most: u16| {
            texts.fold(least, u16::max).min(most)
        };
        let user = longest(&mut facts().map(|facts| width(&facts.user)), 4, 10);
        let unit = longest(&mut facts().filter_map(|facts| facts.unit.as_deref().map(width)), 0, 24);
        let digits = rows.iter().filter_map(|row| row.id).max().map_or(5, |id| id.to_string().len());
        let digits = u16::try_from(digits).unwrap_or(7).clamp(3, 8);
        let mut columns = Vec::new();
        let wanted = [
            (Column::Number(ProcessMetric::Id), digits, 0, has(ProcessMetric::Id)),
            (Column::User, user.saturating_add(1), 60, facts().next().is_some()),
            (Column::Number(ProcessMetric::Processor), 6, 0, true),
            (Column::Number(ProcessMetric::Memory), 9, 0, has(ProcessMetric::Memory)),
            (Column::Number(ProcessMetric::InputOutput), 10, 60, has(ProcessMetric::InputOutput)),
            (Column::Number(ProcessMetric::Threads), 5, 60, has(ProcessMetric::Threads)),
            (Column::Unit, unit.saturating_add(1), 100, unit > 0),
        ];
        let mut left = room;
        for (column, wide, least, is_there) in wanted {
            if is_there && room >= least && left > wide.saturating_add(8) {
                columns.push((column, wide));
                left = left.saturating_sub(wide).saturating_sub(1);
            }
        }
        columns.push((Column::Command, left));
        columns
    }

    fn headings(&mut self, area: Rect, columns: &[(Column, u16)], look: &OverviewLook) {
        let theme = self.theme;
        let mut x = area.x;
        for (column, wide) in columns {
            let (label, right, is_order) = match column {
                Column::Number(metric) => (words::heading(*metric), true, *metric == look.order),
                Column::User => (words::USER_COLUMN, false, false),
                Column::Unit => (words::UNIT_COLUMN, false, false),
                Column::Command => (words::COMMAND_COLUMN, false, false),
            };
            let arrow = match (is_order, look.ascending) {
                (false, _) => "",
                (true, true) => theme.either("▲", "^"),
                (true, false) => theme.either("▼", "v"),
            };
            let style = if is_order { theme.bold() } else { theme.dim() };
            let text = format!("{}{arrow}", cut(self.word(label), wide.saturating_sub(width(arrow))));
            if right {
                put_right(self.buffer, x, area.y, *wide, &text, style);
            } else {
                put(self.buffer, x, area.y, *wide, &text, style);
            }
            x = x.saturating_add(*wide).saturating_add(1);
        }
    }

    fn process(&mut self, area: Rect, line: &Line<'_>, columns: &[(Column, u16)], known: &KnownFacts) {
        let theme = self.theme;
        let row = &*line.row;
        let own = id_of(row).filter(|_| line.group.is_none());
        let facts = own.and_then(|id| known.get(&id)?.as_ref());
        let mut x = area.x;
        for (column, wide) in columns {
            let (text, right, style) = match column {
                // A group has no id.
                Column::Number(ProcessMetric::Id) if line.group.is_some() => {
                    (String::new(), true, theme.plain())
                }
                Column::Number(metric) => {
                    let (text, style) = self.number(row, *metric);
                    (text, true, style)
                }
                Column::User => {
                    let of_group = line.group.as_ref().and_then(|group| group.user);
                    let user = facts.map(|facts| facts.user.as_str()).or(of_group);
                    (user.unwrap_or_default().to_string(), false, theme.plain())
                }
                Column::Unit => {
                    let unit = facts.and_then(|facts| facts.unit.clone());
                    (unit.unwrap_or_default(), false, theme.dim())
                }
                Column::Command => match &line.group {
                    Some(group) => {
                        let mark =
                            if group.is_open { theme.either("▾", "-") } else { theme.either("▸", "+") };
                        (format!("{mark} {} ({})", row.name, group.members), false, theme.bold())
                    }
                    None => {
                        let command = facts.map(|facts| facts.command.as_str());
                        // "System" is all threads of the kernel, not only the one with its id.
                        let command = command.filter(|text| !text.is_empty() && *row.name != *"System");
                        let indent = "  ".repeat(line.depth.min(DEEPEST));
                        (indent + command.unwrap_or(&row.name), false, theme.plain())
                    }
                },
            };
            let text = cut(&visible(&text), *wide);
            if right {
                put_right(self.buffer, x, area.y, *wide, &text, style);
            } else {
                put(self.buffer, x, area.y, *wide, &text, style);
            }
            x = x.saturating_add(*wide).saturating_add(1);
        }
    }

    /// A number of a process, and its colour by load.
    fn number(&self, row: &ProcessRow, metric: ProcessMetric) -> (String, Style) {
        let theme = self.theme;
        let Some(number) = row.number(metric) else {
            return (theme.either("–", "-").to_string(), theme.dim());
        };
        let quiet = |number: f64, style: Style| if number < 0.05 { theme.dim() } else { style };
        match metric {
            ProcessMetric::Processor => {
                let style = theme.level(Limits::BUSY.level(number));
                (format!("{number:.1}"), quiet(number, style))
            }
            ProcessMetric::Memory => {
                let total = self.view.memory.total.filter(|total| *total > 0.0);
                let share = total.map_or(0.0, |total| number / total * 100.0);
                let level = PROCESS_MEMORY.iter().rev().find(|(from, _)| share >= *from);
                let style = level.map_or(theme.plain(), |(_, level)| theme.level(*level));
                (Unit::Bytes.text(number), style)
            }
            ProcessMetric::InputOutput => (Unit::BytesPerSecond.text(number), quiet(number, theme.plain())),
            ProcessMetric::Threads | ProcessMetric::Id | ProcessMetric::Parent => {
                (format!("{number:.0}"), theme.plain())
            }
        }
    }

    /// Says that no processes are kept of a time.
    pub(super) fn no_processes(&mut self, area: Rect) {
        let mut body = area;
        if self.room != Room::Lines {
            self.heading(Pane::Processes, area, &[]);
            body = Rect { y: area.y.saturating_add(1), height: area.height.saturating_sub(1), ..area };
        }
        if body.height > 0 && !self.is_reading && self.view.time.is_some() {
            put(self.buffer, body.x, body.y, body.width, self.word(words::NOT_KEPT), self.theme.dim());
        }
    }
}

/// From which share of the memory on a process is coloured.
const PROCESS_MEMORY: [(f64, Level); 2] = [(10.0, Level::Medium), (40.0, Level::High)];

/// A text without control characters: a command line may contain any byte.
pub(super) fn visible(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { '\u{fffd}' } else { letter }).collect()
}
