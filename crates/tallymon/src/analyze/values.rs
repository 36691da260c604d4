//! Values in memory, as a monitor has them of a live machine.

use tallymon_core::flow::NoValue;
use tallymon_core::time::FileTime;
use tallymon_log::Column;

/// Values in memory: a table of columns and rows.
#[derive(Clone, Copy)]
pub struct Values<'a> {
    /// The counters.
    pub columns: &'a [Column],
    /// The time of each row, UTC, in their order, and the minutes to add to it for local time.
    pub times: &'a [(FileTime, i32)],
    /// The value in a row and a column, or why there is none.
    pub value: &'a dyn Fn(usize, usize) -> Result<f64, NoValue>,
}

impl Values<'_> {
    /// Makes the values of a row.
    pub(super) fn row(&self, row: usize, values: &mut Vec<Result<f64, NoValue>>) {
        values.clear();
        values.extend((0..self.columns.len()).map(|column| (self.value)(row, column)));
    }
}

impl std::fmt::Debug for Values<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Values")
            .field("columns", &self.columns.len())
            .field("rows", &self.times.len())
            .finish_non_exhaustive()
    }
}
