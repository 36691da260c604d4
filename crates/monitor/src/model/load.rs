//! A log instead of samples: all rows at once.

use tallymon::core::flow::{NoValue, Value};
use tallymon::core::time::FileTime;
use tallymon::{Query, Reading};

use super::{Monitor, Series};

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

    /// Makes sure that there is a series for each reading, apart from those that were removed; returns their positions, in
    /// the order of the readings.
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
                    self.dress(position);
                    self.reindex();
                    Some(position)
                }
            })
            .collect()
    }

    /// Adds a row: the values of the series at these positions. `false` when the budget allows no more.
    pub fn add_row(
        &mut self,
        time: FileTime,
        positions: &[usize],
        values: &[Result<Value, NoValue>],
    ) -> bool {
        if self.times.len() >= self.most_rows() {
            return false;
        }
        for (position, value) in positions.iter().zip(values) {
            if let Some(series) =
                self.series.get_mut(*position).filter(|series| series.len() == self.times.len())
            {
                series.record(value, time);
            }
        }
        self.times.push_back(time);
        self.next = self.next.saturating_add(1);
        for series in &mut self.series {
            if series.len() < self.times.len() {
                series.record(&Err(NoValue::NoInstance), time);
            }
        }
        true
    }
}
