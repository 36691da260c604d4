//! What the values of a series lack, in a few bytes for all rows.
//!
//! Most series are no sums, or lack the same parts for a long time. So rows are stored as runs.

use std::collections::VecDeque;

use tallymon::core::flow::PartialSum;

/// What sums lack, row by row, oldest first.
#[derive(Debug, Clone, Default)]
pub(super) struct PartialRuns {
    runs: VecDeque<Run>,
    rows: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Run {
    rows: usize,
    partial: Option<PartialSum>,
}

impl PartialRuns {
    /// Adds a row.
    pub(super) fn push(&mut self, partial: Option<PartialSum>) {
        self.extend(1, partial);
    }

    /// Adds rows without a partial sum.
    pub(super) fn pad(&mut self, rows: usize) {
        self.extend(rows, None);
    }

    fn extend(&mut self, rows: usize, partial: Option<PartialSum>) {
        self.rows = self.rows.saturating_add(rows);
        match self.runs.back_mut() {
            Some(run) if run.partial == partial => run.rows = run.rows.saturating_add(rows),
            _ if rows > 0 => self.runs.push_back(Run { rows, partial }),
            _ => {}
        }
    }

    /// Changes the row of a number, from the oldest one.
    pub(super) fn put(&mut self, nth: usize, partial: Option<PartialSum>) {
        // Rows are filled in order, so what lies behind them is a single run.
        let newer = self.rows.checked_sub(nth).and_then(|left| left.checked_sub(1));
        let Some((at, after)) = newer.and_then(|newer| self.find(newer)) else { return };
        let Some(run) = self.runs.get(at).copied().filter(|run| run.partial != partial) else { return };
        let before = run.rows.saturating_sub(after).saturating_sub(1);
        // Rows that are filled one after another continue the run before them.
        let previous = at.checked_sub(1).filter(|_| before == 0);
        let previous = previous.filter(|at| self.runs.get(*at).is_some_and(|run| run.partial == partial));
        self.runs.remove(at);
        if after > 0 {
            self.runs.insert(at, Run { rows: after, ..run });
        }
        match previous.and_then(|at| self.runs.get_mut(at)) {
            Some(previous) => previous.rows = previous.rows.saturating_add(1),
            None => self.runs.insert(at, Run { rows: 1, partial }),
        }
        if before > 0 {
            self.runs.insert(at, Run { rows: before, ..run });
        }
    }

    /// Adds the rows of the same series that came later.
    pub(super) fn append(&mut self, later: PartialRuns) {
        later.runs.into_iter().for_each(|run| self.extend(run.rows, run.partial));
    }

    /// Keeps the newest rows.
    pub(super) fn keep(&mut self, rows: usize) {
        let mut surplus = self.rows.saturating_sub(rows);
        self.rows = self.rows.min(rows);
        while let Some(oldest) = self.runs.front_mut().filter(|_| surplus > 0) {
            let dropped = oldest.rows.min(surplus);
            oldest.rows = oldest.rows.saturating_sub(dropped);
            surplus = surplus.saturating_sub(dropped);
            if oldest.rows == 0 {
                self.runs.pop_front();
            }
        }
    }

    /// The row that has so many rows behind it.
    pub(super) fn before_newest(&self, newer: usize) -> Option<PartialSum> {
        self.find(newer).and_then(|(at, _)| self.runs.get(at)?.partial)
    }

    /// The run of the row that has so many rows behind it, and how many of these are in the run.
    fn find(&self, newer: usize) -> Option<(usize, usize)> {
        let mut newer = newer;
        for (at, run) in self.runs.iter().enumerate().rev() {
            match newer.checked_sub(run.rows) {
                Some(more) => newer = more,
                None => return Some((at, newer)),
            }
        }
        None
    }

    /// All rows.
    pub(super) fn iter(&self) -> impl Iterator<Item = Option<PartialSum>> + '_ {
        self.runs.iter().flat_map(|run| std::iter::repeat_n(run.partial, run.rows))
    }

    /// Bytes of all runs but the first, which every series has.
    pub(super) fn bytes(&self) -> usize {
        self.runs.len().saturating_sub(1).saturating_mul(size_of::<Run>())
    }
}

#[cfg(test)]
mod tests {
    use tallymon::core::flow::Absence;

    use super::*;

    /// The same changes of a plain list give the same rows.
    #[test]
    fn runs_are_rows() {
        let sums: Vec<Option<PartialSum>> =
            (0..3).map(|missing| PartialSum::new(missing, 9, Absence::AccessDenied)).collect();
        let (mut runs, mut rows) = (PartialRuns::default(), VecDeque::new());
        let mut state = 7u64;
        let mut random = |below: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            usize::try_from(state >> 33).unwrap() % below
        };
        for step in 0..20_000 {
            let sum = sums[random(3)];
            match random(8) {
                0..=2 => {
                    runs.push(sum);
                    rows.push_back(sum);
                }
                3 => {
                    let more = random(3);
                    runs.pad(more);
                    rows.extend(std::iter::repeat_n(None, more));
                }
                4 => {
                    let kept = random(40);
                    runs.keep(kept);
                    rows.drain(..rows.len().saturating_sub(kept));
                }
                5 => {
                    let mut later = PartialRuns::default();
                    later.push(sum);
                    later.pad(1);
                    runs.append(later);
                    rows.extend([sum, None]);
                }
                _ => {
                    let nth = random(45);
                    runs.put(nth, sum);
                    if let Some(row) = rows.get_mut(nth) {
                        *row = sum;
                    }
                }
            }
            assert!(runs.iter().eq(rows.iter().copied()), "{step}: {runs:?} {rows:?}");
            let newer = random(45);
            let expected = rows.len().checked_sub(newer + 1).and_then(|at| rows[at]);
            assert_eq!(runs.before_newest(newer), expected, "{step}");
        }
    }

    #[test]
    fn a_series_without_partial_sums_is_one_run() {
        let mut runs = PartialRuns::default();
        let sum = PartialSum::new(1, 117, Absence::AccessDenied);
        (0..10_000).for_each(|_| runs.push(None));
        (0..10_000).for_each(|nth| runs.put(nth, sum));
        assert_eq!(runs.runs, [Run { rows: 10_000, partial: sum }]);
    }
}
