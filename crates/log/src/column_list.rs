//! The columns of a log whose values name them, one by one, in the order of a table.

use std::collections::HashMap;

use tallymon_core::counter::CounterType;
use tallymon_core::path::CounterPath;
use tallymon_core::time::Frequency;

use crate::reader::Column;

/// What tells columns apart: path, type, and which of several equal ones it is.
pub(crate) type Key = (String, CounterType, u32);

/// Finds and adds columns, and knows which one follows each of them in a table.
#[derive(Debug, Default)]
pub(crate) struct ColumnList {
    known: HashMap<Key, usize>,
    /// The column that follows each one, and the ends of the list.
    next: Vec<Option<usize>>,
    first: Option<usize>,
    last: Option<usize>,
    /// How many columns there were when they were numbered.
    numbered: usize,
}

impl ColumnList {
    pub(crate) fn find(&self, key: &Key) -> Option<usize> {
        self.known.get(key).copied()
    }

    /// Adds a column behind the column `before`, or at the end.
    pub(crate) fn add(
        &mut self,
        columns: &mut Vec<Column>,
        key: Key,
        (time_base, scale): (Frequency, i32),
        before: Option<usize>,
    ) -> usize {
        let place = columns.len();
        let parts = CounterPath::of_text(&key.0).ok();
        let before = before.or(self.last);
        columns.push(Column {
            path: key.0.clone(),
            wild: parts.as_ref().is_some_and(|parts| parts.instance.is_some()),
            parts,
            counter_type: key.1,
            scale,
            time_base,
            // Until the columns are numbered again, it is in the group of its neighbour.
            group: before.and_then(|before| columns.get(before)).map_or(0, |column| column.group),
            live: None,
        });
        self.known.insert(key, place);
        let after = before.and_then(|before| self.next.get(before).copied().flatten());
        self.next.push(after);
        match before.and_then(|before| self.next.get_mut(before)) {
            Some(next) => *next = Some(place),
            None => self.first = Some(place),
        }
        if after.is_none() {
            self.last = Some(place);
        }
        place
    }

    /// Numbers the columns in their order, if there are new ones.
    pub(crate) fn number(&mut self, columns: &mut [Column]) {
        if self.numbered == columns.len() {
            return;
        }
        self.numbered = columns.len();
        let (mut at, mut rank) = (self.first, 0u32);
        while let Some(column) = at {
            if let Some(column) = columns.get_mut(column) {
                column.group = rank;
            }
            rank = rank.saturating_add(1);
            at = self.next.get(column).copied().flatten();
        }
    }

    /// As [`ColumnList::number`], if there are so many new columns that doing so each time takes no longer
    /// than reading them.
    pub(crate) fn number_if_many(&mut self, columns: &mut [Column]) {
        let new = columns.len().saturating_sub(self.numbered);
        if self.numbered == 0 || new > columns.len() / 8 {
            self.number(columns);
        }
    }
}

/// The counter type of its name or its number.
pub(crate) fn type_of(text: &str) -> Option<CounterType> {
    let number = || u32::from_str_radix(text.strip_prefix("0x")?, 16).ok().map(CounterType);
    CounterType::from_name(text).or_else(number)
}
