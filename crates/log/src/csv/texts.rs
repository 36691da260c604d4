//! Which columns of a text log hold texts: those of text counters. A text log does not say so.
//!
//! A column whose values are all texts is a text column. One that also has numbers is a column of numbers,
//! and its texts are damage.

use std::collections::BTreeMap;

/// What the values of the columns were so far.
#[derive(Debug, Default)]
pub(super) struct TextColumns {
    /// Columns that had a number.
    numeric: Vec<bool>,
    /// The first text of each column that had texts only.
    texts: BTreeMap<usize, FirstText>,
    /// The texts of the last row.
    row: BTreeMap<usize, String>,
}

/// The first text of a column, and where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FirstText {
    /// The first letters of the text.
    pub(super) shown: String,
    pub(super) line: u64,
    pub(super) byte: u64,
    pub(super) record: u64,
}

impl TextColumns {
    /// Forgets the texts of the last row.
    pub(super) fn begin_row(&mut self) {
        self.row.clear();
    }

    /// Notes a number. Returns the first text if the column was taken for a text column before.
    pub(super) fn number(&mut self, column: usize) -> Option<FirstText> {
        match self.numeric.get_mut(column) {
            Some(true) => return None,
            Some(known) => *known = true,
            None => {
                self.numeric.resize(column.saturating_add(1), false);
                if let Some(known) = self.numeric.get_mut(column) {
                    *known = true;
                }
            }
        }
        self.texts.remove(&column)
    }

    /// Notes a text; `false` if the column has numbers, so that the text is damage.
    pub(super) fn text(&mut self, column: usize, text: &str, first: impl FnOnce() -> FirstText) -> bool {
        if self.numeric.get(column) == Some(&true) {
            return false;
        }
        self.texts.entry(column).or_insert_with(first);
        self.row.insert(column, text.to_owned());
        true
    }

    /// Whether this is the first text of its column.
    pub(super) fn is_new(&self, column: usize) -> bool {
        !self.texts.contains_key(&column)
    }

    /// The text of a column in the last row.
    pub(super) fn of_row(&self, column: usize) -> Option<&str> {
        self.row.get(&column).map(String::as_str)
    }
}
