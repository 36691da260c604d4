//! What is folded of the lines of a graph. `folding` decides it.

use std::collections::{HashMap, HashSet};

/// What is folded.
#[derive(Debug, Default)]
pub(crate) struct Folding {
    /// Every instance is a line, as the user wants.
    pub(crate) is_off: bool,
    pub(super) folds: Vec<Fold>,
    /// The position of each folded series, and of each line of a fold with its fold.
    pub(super) hidden: HashSet<usize>,
    pub(super) lines: HashMap<usize, usize>,
}

/// The instances of a counter that one path requests.
#[derive(Debug)]
pub(crate) struct Fold {
    /// Positions of the series that are lines, largest first.
    pub(super) shown: Vec<usize>,
    /// Positions of the others.
    pub(crate) rest: Vec<usize>,
}

/// A row of the legend.
#[derive(Debug, Clone, Copy)]
pub(crate) enum LegendRow<'f> {
    /// A series, or behind them a path that failed.
    Line(usize),
    /// The others of a fold.
    Rest(&'f Fold),
}
