//! What differs between two looks at all processes, for who keeps what it made of the rows.

use super::values::ProcessValues;

/// Which rows are not as they were.
#[derive(Debug, Default)]
pub(super) struct Changes {
    /// The number of the look at hand, 0 before the first.
    look: u64,
    /// Whether all others are where they were, with the same name and values.
    is_known: bool,
    /// Positions of rows, and what they held.
    rows: Vec<(usize, ProcessValues)>,
}

impl Changes {
    /// Begins a look of which nothing is known yet.
    pub(super) fn begin(&mut self) {
        self.look = self.look.wrapping_add(1);
        self.rows.clear();
        self.is_known = false;
    }

    /// From here on rows that have changed are told.
    pub(super) fn know(&mut self) {
        self.is_known = true;
    }

    /// A row has changed; this is what it held. It keeps its name and its position.
    pub(super) fn row(&mut self, position: usize, before: ProcessValues) {
        if self.is_known {
            self.rows.push((position, before));
        }
    }

    /// Something else has changed.
    pub(super) fn forget(&mut self) {
        self.is_known = false;
    }

    /// The number of the look at hand.
    pub(super) fn look(&self) -> u64 {
        self.look
    }

    /// All changes since the look before; `None` when anything may have changed.
    pub(super) fn rows(&self) -> Option<&[(usize, ProcessValues)]> {
        self.is_known.then_some(self.rows.as_slice())
    }
}
