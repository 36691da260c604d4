//! The panel of top contributors: at a point of the chart, the largest instances of the charted objects, and
//! the largest processes.

use crossterm::event::KeyEvent;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use crate::keys::binding::{Command, Context};
use crate::keys::lookup::command;
use crate::keys::show::footer;
use crate::model::{TopGroup, TopInstance};
use crate::term::chart::Chart;
use crate::term::chart::Glyphs;
use crate::term::frame::frame_at;
use crate::term::text::{cut, put, put_right};
use crate::words::Word;
use crate::workspace::state::Workspace;

/// Columns of the panel.
const WIDE: u16 = 46;

/// The panel while it is open.
#[derive(Debug, Default)]
pub(crate) struct SpikePanel {
    /// Position of the chosen instance.
    at: usize,
    /// Where the panel lies, and the screen row of each instance.
    area: Rect,
    rows: Vec<(u16, usize)>,
}

/// Whether the panel took a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Taken {
    Yes,
    /// The key means nothing in the panel.
    No,
    /// The panel closes.
    Closes,
}

impl SpikePanel {
    /// Opens the panel at the cursor; without one, at the newest row. `None` while there are no rows.
    pub(crate) fn open(workspace: &mut Workspace) -> Option<SpikePanel> {
        let rows = workspace.monitor.rows();
        if workspace.monitor.window.cursor.is_none() {
            workspace.monitor.window.move_cursor(&rows, 0);
        }
        workspace.monitor.window.cursor.map(|_| SpikePanel::default())
    }

    /// Whether a point lies in the panel.
    pub(crate) const fn contains(&self, at: Position) -> bool {
        self.area.contains(at)
    }

    /// Forgets where things lie, until the panel is drawn again.
    pub(crate) fn forget_areas(&mut self) {
        self.area = Rect::ZERO;
        self.rows.clear();
    }

    /// Takes a key.
    pub(crate) fn key(&mut self, key: KeyEvent, workspace: &mut Workspace) -> Taken {
        match command(Context::Contributors, key) {
            Some(Command::Previous) => self.step(false, workspace),
            Some(Command::Next) => self.step(true, workspace),
            Some(Command::AddToChart) => self.add_chosen(workspace),
            Some(Command::Cancel) => return Taken::Closes,
            _ => return Taken::No,
        }
        Taken::Yes
    }

    /// Chooses the next instance, or the one before.
    pub(crate) fn step(&mut self, forward: bool, workspace: &mut Workspace) {
        let groups = workspace.top_at_cursor();
        let count: usize = groups.iter().map(|group| group.instances.len()).sum();
        self.at = match forward {
            true => self.at.saturating_add(1).min(count.saturating_sub(1)),
            false => self.at.saturating_sub(1),
        };
    }

    /// A click chooses an instance, and a double click adds it to the chart.
    pub(crate) fn click(&mut self, row: u16, is_double: bool, workspace: &mut Workspace) {
        let Some((_, place)) = self.rows.iter().find(|(y, _)| *y == row).copied() else { return };
        if std::mem::replace(&mut self.at, place) == place && is_double {
            self.add_chosen(workspace);
        }
    }

    fn add_chosen(&self, workspace: &mut Workspace) {
        let groups = workspace.top_at_cursor();
        if let Some(instance) = groups.iter().flat_map(|group| &group.instances).nth(self.at) {
            workspace.add_and_choose(&instance.path);
        }
    }

    /// Draws the panel beside the cursor.
    pub(crate) fn draw(&mut self, workspace: &mut Workspace, chart: Rect, buffer: &mut Buffer) {
        let Some(row) = workspace.monitor.window.cursor else { return };
        let at = self.at;
        let groups = workspace.top_at_cursor();
        let (words, theme) = (workspace.words, workspace.theme);
        let rows = workspace.monitor.rows();
        let column = Chart::new(Rect { height: 1, ..chart }, theme.glyphs)
            .column(workspace.monitor.window.slot(&rows, row), workspace.monitor.window.points());
        let wide = WIDE.min(chart.width);
        // On the side with more room, so that the clicked point stays in view.
        let x = if column > chart.width / 2 { chart.x } else { chart.right().saturating_sub(wide) };
        let time = workspace.monitor.time(row).map(|time| workspace.clock(time)).unwrap_or_default();
        let mut lines: Vec<Line<'_>> = Vec::new();
        for group in &groups {
            lines.push(Line::Title(&group.title));
            lines.extend(group.instances.iter().map(|instance| Line::Instance(group, instance)));
        }
        let high =
            u16::try_from(lines.len()).unwrap_or(u16::MAX).clamp(1, chart.height.saturating_sub(2).max(1));
        let place = Rect { x, y: chart.y, width: wide, height: high.saturating_add(2) };
        let title = format!("{} {time}", words.get(Word::ContributorsAt));
        self.area = place;
        let inside = frame_at(
            buffer,
            place,
            &title,
            &footer(Context::Contributors, words, theme.glyphs == Glyphs::Ascii),
            theme,
        );
        if lines.is_empty() {
            put(
                buffer,
                inside.x.saturating_add(1),
                inside.y,
                inside.width,
                words.get(Word::NoContributors),
                theme.dim(),
            );
        }
        let instances_before =
            |place: usize| lines.iter().take(place).filter(|line| matches!(line, Line::Instance(..))).count();
        let chosen = (0..lines.len()).find(|place| {
            matches!(lines.get(*place), Some(Line::Instance(..))) && instances_before(*place) == at
        });
        let top = chosen.unwrap_or(0).saturating_add(1).saturating_sub(usize::from(inside.height));
        for (y, (number, line)) in (inside.y..inside.bottom()).zip(lines.iter().enumerate().skip(top)) {
            let left = inside.x.saturating_add(1);
            let columns = inside.width.saturating_sub(2);
            match line {
                Line::Title(text) => {
                    put(buffer, left, y, columns, &cut(text, columns), theme.bold());
                }
                Line::Instance(group, instance) => {
                    self.rows.push((y, instances_before(number)));
                    let style = if chosen == Some(number) { theme.selected() } else { theme.plain() };
                    buffer.set_style(Rect { x: inside.x, y, width: inside.width, height: 1 }, style);
                    let suffix = group.counter_type.suffix().as_str();
                    let unit = if suffix == "%" { " %" } else { "" };
                    let value = format!(
                        "{}{unit}",
                        workspace.words.numbers().number_of(instance.value, group.counter_type)
                    );
                    put(
                        buffer,
                        left.saturating_add(1),
                        y,
                        columns,
                        &cut(&instance.name, columns.saturating_sub(17)),
                        style,
                    );
                    put_right(buffer, left, y, columns, &value, style);
                }
            }
        }
    }
}

enum Line<'g> {
    Title(&'g str),
    Instance(&'g TopGroup, &'g TopInstance),
}
