//! The mouse in the dialog: a click chooses, a double click adds, the wheel goes through a list.

use crossterm::event::{MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::{Position, Rect};

use super::{AddDialog, Asked, Pane};

/// Lines that the wheel moves.
const WHEEL: isize = 3;

/// Where a list stands on the screen.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    pub(crate) pane: Pane,
    /// Its title and its lines.
    pub(crate) area: Rect,
    /// The line below the title.
    pub(crate) top: usize,
}

impl AddDialog {
    pub(crate) fn dialog_mouse(&mut self, event: MouseEvent) -> Asked {
        let at = Position { x: event.column, y: event.row };
        let Some(place) = self.places.iter().find(|place| place.area.contains(at)).copied() else {
            return Asked::Nothing;
        };
        match event.kind {
            MouseEventKind::Down(MouseButton::Left) => {}
            MouseEventKind::ScrollUp => return self.step_in(place.pane, -WHEEL),
            MouseEventKind::ScrollDown => return self.step_in(place.pane, WHEEL),
            _ => return Asked::Nothing,
        }
        let Some(below) = event.row.checked_sub(place.area.y.saturating_add(1)) else {
            return self.step_in(place.pane, 0);
        };
        let line = place.top.saturating_add(usize::from(below));
        let before = self.at.get(place.pane as usize).copied().unwrap_or(0);
        if line >= self.length(place.pane) {
            return Asked::Nothing;
        }
        let again = self.clicked.replace(at) == Some(at);
        if again && line == before && self.pane == place.pane {
            return self.add();
        }
        let by = isize::try_from(line).ok().zip(isize::try_from(before).ok());
        self.step_in(place.pane, by.map_or(0, |(line, before)| line.saturating_sub(before)))
    }

    /// Goes to a list, and so many lines further in it.
    fn step_in(&mut self, pane: Pane, by: isize) -> Asked {
        self.pane = pane;
        self.has_chosen |= pane == Pane::Instances;
        if by == 0 { Asked::Nothing } else { self.step(by) }
    }
}
