//! Of a path with many instances only the largest are lines; the others are one line with their sum.
//!
//! Thousands of lines of one counter show nothing. The largest are those with the highest mean of the rows in
//! view, so that lines do not change places with every sample; another instance comes in when its mean is
//! higher.

use std::collections::{HashMap, HashSet};

use crate::model::Series;
use crate::workspace::fold::{Fold, Folding, LegendRow};
use crate::workspace::state::{View, Workspace};

/// How many instances of a path stay lines, and how many are no reason to fold any.
const LARGEST: usize = 10;
const FEW: usize = 16;

impl Fold {
    /// One of its series.
    pub(crate) fn first<'w>(&self, workspace: &'w Workspace) -> Option<&'w Series> {
        workspace.monitor.series().get(*self.shown.first()?)
    }

    /// The sum of the others at a row; `None` where none of them has a value.
    pub(crate) fn rest_at(&self, workspace: &Workspace, row: u64) -> Option<f64> {
        let (series, next) = (workspace.monitor.series(), workspace.monitor.next());
        let values = self.rest.iter().filter_map(|position| series.get(*position)?.at(next, row)?.ok());
        values.fold(None, |sum, value| Some(sum.unwrap_or(0.0) + value))
    }
}

/// Whether an instance is the sum of the others, or nobody's.
fn is_sum(series: &Series) -> bool {
    let name = series.instance.as_deref().unwrap_or_default();
    name.ends_with("_Total") || name.eq_ignore_ascii_case("idle")
}

impl Workspace {
    /// Finds out what is folded now: in a graph, which has room for a line of the others.
    pub(crate) fn fold(&mut self) {
        let is_graph = matches!(self.view, View::Graph | View::Area | View::Stacked);
        let mut folding = Folding { is_off: self.folding.is_off, ..Folding::default() };
        let mut groups: HashMap<(&str, Option<&str>, u32), Vec<usize>> = HashMap::new();
        if is_graph && !folding.is_off {
            for (position, series) in self.monitor.series().iter().enumerate() {
                let is_wild = series.asked.contains('*') && series.instance.is_some();
                if is_wild && !is_sum(series) && self.passes(position) && self.monitor.is_drawn(series) {
                    let group = (series.asked.as_str(), series.host(), series.counter.0);
                    groups.entry(group).or_default().push(position);
                }
            }
        }
        let mut groups: Vec<Vec<usize>> = groups.into_values().filter(|group| group.len() > FEW).collect();
        groups.sort();
        for group in groups {
            let mean = |position: usize| {
                let series = self.monitor.series().get(position);
                series.and_then(|series| self.monitor.statistics(series).average).unwrap_or(f64::MIN)
            };
            let mut group: Vec<(f64, usize)> =
                group.into_iter().map(|position| (mean(position), position)).collect();
            group.sort_by(|one, other| other.0.total_cmp(&one.0).then(one.1.cmp(&other.1)));
            let mut group: Vec<usize> = group.into_iter().map(|(_, position)| position).collect();
            let mut rest = group.split_off(LARGEST.min(group.len()));
            // The chosen line stays in view.
            if let Some(at) = rest.iter().position(|position| *position == self.monitor.selected()) {
                group.push(rest.remove(at));
            }
            folding.hidden.extend(&rest);
            folding.lines.extend(group.iter().map(|position| (*position, folding.folds.len())));
            folding.folds.push(Fold { shown: group, rest });
        }
        self.folding = folding;
    }

    /// Makes every instance a line, until it is folded again.
    pub(crate) fn unfold(&mut self) {
        self.folding = Folding { is_off: self.folding.is_off, ..Folding::default() };
    }

    /// The folds, largest instances first.
    pub(crate) fn folds(&self) -> &[Fold] {
        &self.folding.folds
    }

    /// Whether a line is drawn: it passes, and is not folded.
    pub(crate) fn is_line(&self, position: usize) -> bool {
        !self.folding.hidden.contains(&position) && self.passes(position)
    }

    /// The rows of the legend: the lines, each fold in one place and in its order.
    pub(crate) fn legend_rows(&self) -> Vec<LegendRow<'_>> {
        let mut rows = Vec::new();
        let mut seen = HashSet::new();
        for position in (0..self.monitor.lines()).filter(|position| self.is_line(*position)) {
            let Some(nth) = self.folding.lines.get(&position) else {
                rows.push(LegendRow::Line(position));
                continue;
            };
            if let Some(fold) = self.folding.folds.get(*nth).filter(|_| seen.insert(*nth)) {
                let shown = fold.shown.iter().filter(|position| self.is_line(**position));
                rows.extend(shown.map(|position| LegendRow::Line(*position)));
                rows.push(LegendRow::Rest(fold));
            }
        }
        rows
    }
}
