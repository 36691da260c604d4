//! What the mouse does in the chart: choose a line, open the panel of top contributors, zoom.

use crossterm::event::{MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::Position;

use crate::screens::chart::graph::row_below;
use crate::screens::chart::spike::SpikePanel;
use crate::screens::chart::{ChartScreen, marks};
use crate::screens::screen::{Action, Opens};
use crate::screens::slider;
use crate::workspace::state::Workspace;

impl ChartScreen {
    /// Takes what the mouse does.
    pub(crate) fn take_mouse(&mut self, event: MouseEvent, workspace: &mut Workspace) -> Action {
        let at = Position { x: event.column, y: event.row };
        // A click on a mark opens the list at that finding.
        if event.kind == MouseEventKind::Down(MouseButton::Left) && self.areas.marks.contains(at) {
            let Some(found) = marks::finding_at(workspace, self.areas.marks, at.x) else {
                return Action::Done;
            };
            workspace.findings.pointed = Some(found);
            return Action::Open(Opens::Findings);
        }
        self.take_other_mouse(event, at, workspace);
        Action::Done
    }

    fn take_other_mouse(&mut self, event: MouseEvent, at: Position, workspace: &mut Workspace) {
        let in_chart = self.areas.chart.contains(at);
        // A drag that begins in the chart may end over the panel.
        if self.pointer.dragged.is_none() && self.spike.as_ref().is_some_and(|panel| panel.contains(at)) {
            return self.in_panel(event, at, workspace);
        }
        match event.kind {
            MouseEventKind::Down(MouseButton::Left) => self.pressed(at, workspace),
            MouseEventKind::Drag(MouseButton::Left) => {
                let chart = self.areas.chart;
                if self.pointer.dragged.is_none() && self.areas.slider.contains(at) {
                    slider::go_to(workspace, self.areas.slider, at.x);
                } else if let Some((_, to)) = &mut self.pointer.dragged {
                    *to = at.x.clamp(chart.left(), chart.right().saturating_sub(1).max(chart.left()));
                }
            }
            MouseEventKind::Up(MouseButton::Left) => {
                if let Some((from, to)) = self.pointer.dragged.take() {
                    self.released(from, to, workspace);
                }
            }
            MouseEventKind::Moved => self.pointer.at = Some(at),
            MouseEventKind::ScrollUp if in_chart => workspace.monitor.window.zoom(true),
            MouseEventKind::ScrollDown if in_chart => workspace.monitor.window.zoom(false),
            MouseEventKind::ScrollUp => workspace.move_selection(-1),
            MouseEventKind::ScrollDown => workspace.move_selection(1),
            _ => {}
        }
    }

    fn pressed(&mut self, at: Position, workspace: &mut Workspace) {
        let is_double = self.pointer.clicked.replace(at) == Some(at);
        let in_chart = self.areas.chart.contains(at);
        self.pointer.dragged = in_chart.then_some((at.x, at.x));
        if in_chart {
            workspace.monitor.window.cursor = row_below(workspace, self.areas.chart, at.x);
        } else if self.areas.slider.contains(at) {
            slider::go_to(workspace, self.areas.slider, at.x);
        } else if let Some((_, line)) = self.areas.lines.iter().find(|(area, _)| area.contains(at)) {
            // A double click on the chosen line highlights it.
            if is_double && workspace.monitor.selected() == *line {
                workspace.monitor.highlight = !workspace.monitor.highlight;
            }
            workspace.monitor.select(*line);
        }
    }

    fn in_panel(&mut self, event: MouseEvent, at: Position, workspace: &mut Workspace) {
        let Some(panel) = &mut self.spike else { return };
        match event.kind {
            MouseEventKind::Down(MouseButton::Left) => {
                let is_double = self.pointer.clicked.replace(at) == Some(at);
                panel.click(at.y, is_double, workspace);
            }
            MouseEventKind::ScrollUp => panel.step(false, workspace),
            MouseEventKind::ScrollDown => panel.step(true, workspace),
            _ => {}
        }
    }

    /// A click opens the panel of top contributors; a drag shows the range of time that was dragged over.
    fn released(&mut self, from: u16, to: u16, workspace: &mut Workspace) {
        if from == to {
            if workspace.monitor.window.cursor.is_some() {
                self.spike = SpikePanel::open(workspace);
            }
            return;
        }
        let rows = workspace.monitor.rows();
        let newest = workspace.monitor.view().end.checked_sub(1);
        // Behind the newest row there is nothing yet: the drag ends there.
        let below = |column| row_below(workspace, self.areas.chart, column).or(newest);
        if let (Some(one), Some(other)) = (below(from), below(to)) {
            self.spike = None;
            workspace.monitor.window.show(&rows, one, other);
        }
    }
}
