//! The style of a series: settings keep it, and undo restores it.

use crate::model::scale::Scale;

/// How a series is shown.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Look {
    /// Power of ten for charts.
    pub scale: Scale,
    /// Not drawn.
    pub hidden: bool,
    /// Number of the colour and the pattern; `None` is the next one in turn.
    pub colour: Option<usize>,
    /// Number of the pattern; `None` is that of the colour.
    pub pattern: Option<usize>,
    /// Drawn twice as thick.
    pub thick: bool,
    /// Alert above this value; the chart draws it as a line.
    pub threshold: Option<f64>,
}
