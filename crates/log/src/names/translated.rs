//! A log whose columns have the names of another language.

use std::ops::ControlFlow;
use std::sync::Arc;

use tallymon_core::path::CounterPath;

use super::NameTable;
use crate::error::LogError;
use crate::reader::{
    About, Column, Contents, LogPlace, LogReader, PartStatistics, Record, ScannedRecord, pass_record_on,
};

/// Reads another log, and translates its columns.
pub(crate) struct Translated<'r> {
    inner: Box<dyn LogReader + 'r>,
    table: Arc<NameTable>,
    about: About,
    /// Columns without a translation.
    untold: u64,
}

impl<'r> Translated<'r> {
    pub(crate) fn new(inner: Box<dyn LogReader + 'r>, table: Arc<NameTable>) -> Translated<'r> {
        let about = About { columns: Vec::new(), ..inner.about().clone() };
        let mut log = Translated { inner, table, about, untold: 0 };
        log.follow(true);
        log
    }

    /// Takes what the reader knows by now.
    fn follow(&mut self, all: bool) {
        let inner = self.inner.about();
        for column in inner.columns.get(self.about.columns.len()..).unwrap_or_default() {
            let translated = translate(&self.table, column);
            self.untold = self.untold.saturating_add(u64::from(translated.is_none()));
            self.about.columns.push(translated.unwrap_or_else(|| column.clone()));
        }
        (self.about.records, self.about.records_promised) = (inner.records, inner.records_promised);
        let known = (self.about.notes.damage_count, &self.about.zone);
        if all || known != (inner.notes.damage_count, &inner.zone) {
            self.about.zone = inner.zone.clone();
            self.about.notes = inner.notes.clone();
            self.about.value_bits.clone_from(&inner.value_bits);
            // A text log finds out later which columns hold texts.
            for (own, column) in self.about.columns.iter_mut().zip(&inner.columns) {
                (own.counter_type, own.group) = (column.counter_type, column.group);
            }
            if self.untold > 0 {
                let words = format!(
                    "{} of {} columns keep their names, because the tables of names do not have them",
                    self.untold,
                    self.about.columns.len()
                );
                self.about.notes.remark(words);
            }
        }
    }
}

/// The column with other names; `None` if the tables do not have its own.
fn translate(table: &NameTable, column: &Column) -> Option<Column> {
    let direct = column.parts.as_ref().and_then(|parts| table.translate(parts));
    // The name of an instance may look like other parts of a path.
    let parts = direct
        .or_else(|| CounterPath::alternatives(&column.path).find_map(|parts| table.translate(&parts)))?;
    Some(Column { path: parts.to_string(), parts: Some(parts), ..column.clone() })
}

impl LogReader for Translated<'_> {
    fn about(&self) -> &About {
        &self.about
    }

    fn next_record(&mut self) -> Result<Option<Record>, LogError> {
        let record = self.inner.next_record()?;
        self.follow(record.is_none());
        Ok(record)
    }

    pass_record_on!();

    fn scan(&mut self, each: &mut dyn FnMut(ScannedRecord) -> ControlFlow<()>) -> Result<(), LogError> {
        let result = self.inner.scan(each);
        self.follow(true);
        result
    }

    fn contents(&mut self, take_columns: bool) -> Result<Option<Contents>, LogError> {
        let contents = self.inner.contents(take_columns)?;
        self.follow(true);
        Ok(contents.map(|contents| {
            let columns = contents.columns.iter();
            let translated = |column| translate(&self.table, column).unwrap_or_else(|| Column::clone(column));
            Contents { columns: columns.map(translated).collect(), ..contents }
        }))
    }

    fn places(&mut self, part: usize) -> Result<Vec<LogPlace>, LogError> {
        self.inner.places(part)
    }

    fn statistics(
        &mut self,
        part: usize,
        wanted: &[usize],
        only_counts: bool,
    ) -> Result<Option<PartStatistics>, LogError> {
        self.inner.statistics(part, wanted, only_counts)
    }
}
