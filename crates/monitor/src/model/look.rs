//! The style of a series: settings keep it, and undo restores it.

use crate::model::scale::Scale;

/// The thickest lines are so many times as thick as thin ones.
pub const MOST_WIDTH: u8 = 5;

/// How a series is shown.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Look {
    /// Power of ten for charts.
    pub scale: Scale,
    /// Not drawn.
    pub hidden: bool,
    /// Number of the colour and the pattern; `None` is the next one in turn.
    pub colour: Option<usize>,
    /// Number of the pattern; `None` is that of the colour.
    pub pattern: Option<usize>,
    /// How thick it is drawn, 1 to [`MOST_WIDTH`]; a terminal has thin and thick lines only.
    pub width: u8,
    /// Alert above this value; the chart draws it as a line.
    pub threshold: Option<f64>,
}

impl Default for Look {
    fn default() -> Look {
        Look { scale: Scale::Auto, hidden: false, colour: None, pattern: None, width: 1, threshold: None }
    }
}

impl Look {
    /// Whether a terminal draws it thick.
    pub const fn is_thick(&self) -> bool {
        self.width > 1
    }
}
