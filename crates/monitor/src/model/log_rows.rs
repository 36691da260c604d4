//! Rows of a log instead of samples, and columns that are read later for the same rows.

use tallymon::core::flow::{Absence, NoValue};
use tallymon::core::time::FileTime;
use tallymon::{LogRow, Query, Reading};

use crate::model::monitor::Monitor;
use crate::model::point::Point;
use crate::model::series::Series;

impl Monitor {
    /// Forgets all rows.
    pub fn begin_rows(&mut self) {
        self.times.clear();
        self.next = 0;
        self.top.keep(0);
        for series in &mut self.series {
            series.keep(0);
            series.ended = None;
        }
    }

    /// Makes sure that each reading has a series, except removed ones; returns their positions in the order
    /// of the readings.
    pub fn expect_rows(&mut self, query: &Query, readings: &[Reading]) -> Vec<Option<usize>> {
        readings
            .iter()
            .map(|reading| match self.index.path(&reading.path) {
                Some(position) => Some(position),
                None if self.removed.contains(&reading.path.to_lowercase()) => None,
                None => {
                    let position = self.series.len();
                    self.series.push(Series::new(reading, query, self.next_colour));
                    self.next_colour = self.next_colour.wrapping_add(1);
                    self.apply_expected_style(position);
                    self.reindex();
                    Some(position)
                }
            })
            .collect()
    }

    /// Adds a row: the values of the series at these positions. `false` when the budget allows no more.
    pub fn add_row(&mut self, time: FileTime, positions: &[usize], row: LogRow<'_>) -> bool {
        if self.times.len() >= self.most_rows() {
            return false;
        }
        let mut partial = row.partial.iter().peekable();
        for (nth, (position, value)) in positions.iter().zip(row.values).enumerate() {
            let sum = partial.next_if(|(of, _)| *of == nth).map(|(_, sum)| *sum);
            if let Some(series) =
                self.series.get_mut(*position).filter(|series| series.len() == self.times.len())
            {
                series.record(value, sum, time);
            }
        }
        self.times.push_back(time);
        self.next = self.next.saturating_add(1);
        for series in &mut self.series {
            if series.len() < self.times.len() {
                series.record(&Err(NoValue::NoInstance), None, time);
            }
        }
        true
    }

    /// The series that lack values for the rows in memory, because they were added later.
    pub fn unread(&self) -> Vec<usize> {
        let is_short = |(_, series): &(usize, &Series)| series.len() < self.times.len();
        self.series.iter().enumerate().filter(is_short).map(|(position, _)| position).collect()
    }

    /// Marks a series whose values have to be read again.
    pub fn unread_path(&mut self, path: &str) {
        if let Some(series) = self.index.path(path).and_then(|position| self.series.get_mut(position)) {
            series.keep(0);
        }
    }

    /// Makes room for the values of some series in all rows. They are gaps until their values arrive, and
    /// stay gaps where the log has none.
    pub fn begin_columns(&mut self, positions: &[usize]) {
        let rows = self.times.len();
        for series in positions {
            if let Some(series) = self.series.get_mut(*series) {
                series.keep(0);
                series.pad(rows, Point::gap(NoValue::NoData(Absence::NotRequested)));
            }
        }
    }

    /// Puts the values of a row into the room made for them. `false` when there is no such row.
    pub fn fill_row(&mut self, nth: usize, positions: &[usize], row: LogRow<'_>) -> bool {
        let Some(time) = self.times.get(nth).copied() else { return false };
        let mut partial = row.partial.iter().peekable();
        for (at, (position, value)) in positions.iter().zip(row.values).enumerate() {
            let sum = partial.next_if(|(of, _)| *of == at).map(|(_, sum)| *sum);
            if let Some(series) = self.series.get_mut(*position) {
                series.put(nth, value, sum, time);
            }
        }
        true
    }
}
