//! What lies where on the chart screen, for the mouse.

use ratatui::layout::{Position, Rect};

/// The areas of the last drawing.
#[derive(Debug, Clone, Default)]
pub(crate) struct Areas {
    pub(crate) chart: Rect,
    /// The row of marks at the time axis.
    pub(crate) marks: Rect,
    /// Each line of the legend.
    pub(crate) lines: Vec<(Rect, usize)>,
    /// The time slider of a log.
    pub(crate) slider: Rect,
}

/// What the mouse does.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pointer {
    /// Where it points, until the next event.
    pub(crate) at: Option<Position>,
    /// The last click, to recognise a double click.
    pub(crate) clicked: Option<Position>,
    /// The columns between which it is dragged.
    pub(crate) dragged: Option<(u16, u16)>,
}
