//! The columns of the table: their order, and which are shown.

use tallymon::core::counter::CounterType;
use tallymon::core::flow::SourceError;
use tallymon::core::title::TitleIndex;
use tallymon::{CatalogObject, Query};

use crate::model::{ColumnChoices, details_of, sort_by_use};
use crate::screens::table::instances::Table;

/// A counter of the object, or a text of the object with its details.
pub(super) struct TableColumn {
    pub(super) object: TitleIndex,
    pub(super) counter: TitleIndex,
    pub(super) name: String,
    pub(super) counter_type: CounterType,
}

/// The columns of an object: those that the user chose, else all counters, in the order of use.
pub(super) fn columns(query: &Query, object: &CatalogObject, choices: &ColumnChoices) -> Vec<TableColumn> {
    let names = query.names();
    let details = details_of(object.name).and_then(|details| query.catalog().object(details));
    let texts = details.into_iter().flat_map(|details| {
        let texts = details.visible_counters().filter(|counter| counter.counter_type.is_text());
        texts.map(|counter| (details.name, counter))
    });
    let own = object.visible_counters().map(|counter| (object.name, counter));
    let known: Vec<_> = own.chain(texts).collect();
    let mut counters: Vec<TitleIndex> = known.iter().map(|(_, counter)| counter.name).collect();
    sort_by_use(object.name, &mut counters);
    let english: Vec<String> = counters.iter().map(|counter| names.english(*counter)).collect();
    let positions = choices.positions(&names.english(object.name), &english);
    let chosen = positions.into_iter().filter_map(|position| {
        let counter = counters.get(position)?;
        known.iter().find(|(_, known)| known.name == *counter)
    });
    chosen
        .map(|(object, counter)| TableColumn {
            object: *object,
            counter: counter.name,
            name: names.name(counter.name),
            counter_type: counter.counter_type,
        })
        .collect()
}

impl Table {
    /// The English names of the object and of its columns.
    pub(super) fn column_names(&self) -> (String, Vec<String>) {
        let names = self.feed.query.names();
        let columns = self.columns.iter().map(|column| names.english(column.counter)).collect();
        (names.english(self.object), columns)
    }

    /// Hides the column that the rows are sorted by; the last one stays.
    pub(super) fn hide_column(&mut self) {
        if self.columns.len() > 1 && self.sorted < self.columns.len() {
            self.columns.remove(self.sorted);
            self.sorted = self.sorted.min(self.columns.len().saturating_sub(1));
            self.show();
        }
    }

    /// Moves the column that the rows are sorted by.
    pub(super) fn shift_column(&mut self, right: bool) {
        let to = self.sorted.saturating_add_signed(if right { 1 } else { -1 });
        if to < self.columns.len() && to != self.sorted {
            self.columns.swap(self.sorted, to);
            self.sorted = to;
            self.show();
        }
    }

    /// Shows the columns that were chosen for the object, sorted as before where that column is still there.
    ///
    /// # Errors
    ///
    /// The log cannot be read.
    pub(super) fn show_columns(&mut self, choices: &ColumnChoices) -> Result<(), SourceError> {
        let sorted = self.columns.get(self.sorted).map(|column| column.counter);
        let Some(known) = self.feed.query.catalog().object(self.object) else { return Ok(()) };
        self.columns = columns(&self.feed.query, known, choices);
        let position = self.columns.iter().position(|column| Some(column.counter) == sorted);
        self.sorted = position.unwrap_or(0);
        if self.want_details()? {
            self.feed.begin()?;
        }
        self.show();
        Ok(())
    }
}
