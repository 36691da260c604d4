//! Which rows changed between two samples, so that a reader can update its sums instead of building them
//! again.

use super::values::ProcessValues;

/// The rows that differ from the sample before.
#[derive(Debug, Default)]
pub(super) struct Changes {
    /// The number of the current sample, 0 before the first.
    sample: u64,
    /// Whether all rows that are not listed kept their position, name and values.
    is_known: bool,
    /// Positions of changed rows, with their values before the change.
    rows: Vec<(usize, ProcessValues)>,
}

impl Changes {
    /// Begins a sample. Until [`Changes::track`] is called, anything may have changed.
    pub(super) fn begin(&mut self) {
        self.sample = self.sample.wrapping_add(1);
        self.rows.clear();
        self.is_known = false;
    }

    /// From here on every changed row is recorded.
    pub(super) fn track(&mut self) {
        self.is_known = true;
    }

    /// Records a changed row with the values it had. Its name and position stay the same.
    pub(super) fn row(&mut self, position: usize, before: ProcessValues) {
        if self.is_known {
            self.rows.push((position, before));
        }
    }

    /// Notes a change that is not listed: readers have to build their sums again.
    pub(super) fn forget(&mut self) {
        self.is_known = false;
    }

    /// The number of the current sample.
    pub(super) fn sample_number(&self) -> u64 {
        self.sample
    }

    /// All changes since the sample before; `None` when anything may have changed.
    pub(super) fn rows(&self) -> Option<&[(usize, ProcessValues)]> {
        self.is_known.then_some(self.rows.as_slice())
    }
}
