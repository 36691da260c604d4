//! Looks for crossed thresholds in samples and in the rows in memory.

use tallymon::core::time::FileTime;

use crate::model::alerts::Crossing;
use crate::model::monitor::Monitor;
use crate::model::series::Series;

/// Whether a value crosses a threshold: `true` if it rises above it, `false` if it falls from there. Notes on
/// which side the value lies; NaN is no value.
pub fn crosses(was_over: &mut bool, threshold: f64, value: f64) -> Option<bool> {
    let is_over = value > threshold;
    let crosses = !value.is_nan() && std::mem::replace(was_over, is_over) != is_over;
    crosses.then_some(is_over)
}

impl Series {
    /// The crossing that a value makes, if it is one; notes on which side the value lies.
    fn cross(&mut self, value: f64, time: FileTime) -> Option<Crossing> {
        let threshold = self.threshold?;
        let rises = crosses(&mut self.was_over, threshold, value)?;
        Some(Crossing { time, path: self.path.clone(), value, threshold, rises })
    }
}

impl Monitor {
    /// Notes which series crossed their thresholds with the last sample.
    pub(super) fn note_crossings(&mut self, time: FileTime) {
        for series in &mut self.series {
            let fresh = series.last.as_ref().ok().filter(|_| !series.stale);
            if let Some(value) = fresh.and_then(|value| value.as_f64())
                && let Some(crossing) = series.cross(value, time)
            {
                self.alerts.push(crossing);
            }
        }
    }

    /// Sets or removes the threshold of the chosen series.
    pub fn set_threshold(&mut self, threshold: Option<f64>) {
        if let Some(series) = self.series.get_mut(self.selected) {
            series.threshold = threshold;
            self.find_crossings(self.selected);
        }
    }

    /// Searches the rows in memory for the crossings of all series.
    pub fn find_all_crossings(&mut self) {
        for position in 0..self.series.len() {
            self.find_crossings(position);
        }
    }

    /// Searches the rows in memory for the crossings of a series.
    pub(super) fn find_crossings(&mut self, position: usize) {
        let rows = self.rows();
        let Some(series) = self.series.get_mut(position) else { return };
        let in_memory = self.times.front().zip(self.times.back()).map(|(first, last)| *first..=*last);
        let crossings = &mut self.alerts.crossings;
        crossings.retain(|crossing| {
            crossing.path != series.path
                || !in_memory.as_ref().is_some_and(|times| times.contains(&crossing.time))
        });
        // The last crossing before the rows in memory says on which side of the threshold they begin.
        let is_before = |crossing: &&Crossing| {
            crossing.path == series.path
                && in_memory.as_ref().is_some_and(|times| crossing.time < *times.start())
        };
        let before = crossings.iter().rev().find(is_before);
        series.was_over = before.is_some_and(|crossing| crossing.rises);
        let rows = if series.threshold.is_some() { rows } else { rows.start..rows.start };
        let (first, values) = series.values(self.next, &rows);
        let values: Vec<(u64, f64)> =
            (first..).zip(values).filter_map(|(row, value)| Some((row, value.ok()?))).collect();
        for (row, value) in values {
            let nth = usize::try_from(row.saturating_sub(rows.start)).unwrap_or(usize::MAX);
            let Some(time) = self.times.get(nth).copied() else { continue };
            if let Some(crossing) = series.cross(value, time) {
                self.alerts.crossings.push_back(crossing);
            }
        }
        self.alerts.put_in_order();
    }
}
