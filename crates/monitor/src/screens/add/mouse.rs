//! The mouse in the dialog: a click chooses, a double click adds, the wheel goes through a list.

use crossterm::event::{MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::Position;

use crate::screens::add::dialog::{AddDialog, Asked, Pane};

/// How many lines the wheel moves.
const WHEEL: isize = 3;

impl AddDialog {
    pub(crate) fn dialog_mouse(&mut self, event: MouseEvent) -> Asked {
        let at = Position { x: event.column, y: event.row };
        let Some(list) = self.list_areas.iter().find(|list| list.area.contains(at)).copied() else {
            return Asked::Nothing;
        };
        match event.kind {
            MouseEventKind::Down(MouseButton::Left) => {}
            MouseEventKind::ScrollUp => return self.step_in(list.pane, -WHEEL),
            MouseEventKind::ScrollDown => return self.step_in(list.pane, WHEEL),
            _ => return Asked::Nothing,
        }
        let Some(below) = event.row.checked_sub(list.area.y.saturating_add(1)) else {
            return self.step_in(list.pane, 0);
        };
        let line = list.top.saturating_add(usize::from(below));
        let before = self.at.get(list.pane as usize).copied().unwrap_or(0);
        if line >= self.length(list.pane) {
            return Asked::Nothing;
        }
        let again = self.clicked.replace(at) == Some(at);
        if again && line == before && self.pane == list.pane {
            return self.add();
        }
        let by = isize::try_from(line).ok().zip(isize::try_from(before).ok());
        self.step_in(list.pane, by.map_or(0, |(line, before)| line.saturating_sub(before)))
    }

    /// Makes a list active, and moves its choice by some lines.
    fn step_in(&mut self, pane: Pane, by: isize) -> Asked {
        self.pane = pane;
        self.has_chosen |= pane == Pane::Instances;
        if by == 0 { Asked::Nothing } else { self.step(by) }
    }
}
