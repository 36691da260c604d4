//! The values of some columns of one log, record by record.

use std::sync::PoisonError;

use tallymon_core::flow::{NoValue, PartialSum, SourceError, Value};
use tallymon_core::time::FileTime;
use tallymon_log::{Cooker, LogReader, Record};

use super::cursor::has_marks;
use super::{Cursor, Log, LogRow, source_error};

/// Reads some columns through a reader of its own.
pub(super) struct Values {
    log: Log,
    columns: Vec<usize>,
    reader: Box<dyn LogReader>,
    /// The number of records before the next one.
    count: u64,
    cooker: Cooker,
    wanted: Record,
    row: HeldRow,
}

/// A row in memory.
#[derive(Debug, Default)]
pub(super) struct HeldRow {
    pub(super) values: Vec<Result<Value, NoValue>>,
    pub(super) partial: Vec<(usize, PartialSum)>,
}

impl HeldRow {
    pub(super) fn as_row(&self) -> LogRow<'_> {
        LogRow { values: &self.values, partial: &self.partial }
    }
}

impl Log {
    /// The values of some columns, from some record before a time on. Finding that may take as long as
    /// opening the log; it stops when `is_wanted` returns `false`.
    pub(super) fn values(
        &self,
        columns: Vec<usize>,
        from: FileTime,
        is_wanted: impl Fn() -> bool,
    ) -> Result<Values, SourceError> {
        let Cursor { reader, count, .. } = self.begin_before(from, is_wanted)?;
        let wanted = Record { time: FileTime(0), local_minutes: 0, cells: Vec::new() };
        Ok(Values {
            log: self.clone(),
            columns,
            reader,
            count,
            cooker: Cooker::default(),
            wanted,
            row: HeldRow::default(),
        })
    }

    /// Keeps a reader that knows all columns, because it can seek anywhere, for the next read.
    pub(super) fn keep(&self, values: Values) {
        self.note_met(&*values.reader);
        if values.reader.about().columns.len() >= self.opened.columns.len() {
            *self.opened.spare.lock().unwrap_or_else(PoisonError::into_inner) =
                Some(Cursor::new(values.reader, values.count));
        }
    }
}

impl Values {
    /// Goes to the next record and returns its time; `None` after the last one.
    pub(super) fn next(&mut self) -> Result<Option<FileTime>, SourceError> {
        let Some(mut record) = self.reader.next_record().map_err(source_error)? else { return Ok(None) };
        self.log.opened.seeks.cut(self.count, &mut record);
        self.count = self.count.saturating_add(1);
        self.wanted.cells.clear();
        let cell = |column: &usize| record.cells.get(*column).copied().unwrap_or(Err(NoValue::NoInstance));
        self.wanted.cells.extend(self.columns.iter().map(cell));
        self.cooker.cook_into(&self.wanted, &mut self.row.values);
        self.row.partial.clear();
        if has_marks(&*self.reader) {
            let columns = self.columns.iter().enumerate();
            let partial = columns.filter_map(|(nth, column)| Some((nth, self.reader.partial(*column)?)));
            self.row.partial.extend(partial);
        }
        Ok(Some(record.time))
    }

    /// The values of the record, in the order of the columns.
    pub(super) fn row(&self) -> LogRow<'_> {
        self.row.as_row()
    }

    /// Takes the values, and leaves other memory for the next record.
    pub(super) const fn take_row(&mut self, other: &mut HeldRow) {
        std::mem::swap(&mut self.row, other);
    }

    /// The log.
    pub(super) const fn log(&self) -> &Log {
        &self.log
    }
}
