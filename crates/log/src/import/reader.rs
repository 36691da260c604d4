//! The reader of an imported log: a decoder of its format, and the columns that it fills.

use std::fmt;

use tallymon_core::flow::{Absence, NoValue};
use tallymon_core::time::FileTime;

use super::columns::Columns;
use crate::error::LogError;
use crate::reader::{About, LogReader, Record};

/// Reads the records of one foreign format.
pub(crate) trait Decoder: Send {
    /// Reads the next record and puts its numbers into `columns`, between [`Columns::begin`] and the return.
    /// The result is the time of the record and the minutes from UTC to its local time; `None` at the end.
    /// Damage goes into the notes of `columns`.
    fn next(&mut self, columns: &mut Columns) -> Result<Option<(FileTime, i32)>, LogError>;
}

/// Reads an imported log record by record.
pub(crate) struct ImportReader<D> {
    decoder: D,
    columns: Columns,
    /// The first record was read already, so that the columns are known.
    first: Option<Record>,
    ended: bool,
}

impl<D> fmt::Debug for ImportReader<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ImportReader").field("records", &self.columns.about.records).finish_non_exhaustive()
    }
}

impl<D: Decoder> ImportReader<D> {
    pub(crate) fn new(decoder: D, columns: Columns) -> Result<ImportReader<D>, LogError> {
        let mut reader = ImportReader { decoder, columns, first: None, ended: false };
        reader.first = reader.read()?;
        reader.columns.about.records = 0;
        Ok(reader)
    }

    fn read(&mut self) -> Result<Option<Record>, LogError> {
        if self.ended {
            return Ok(None);
        }
        match self.decoder.next(&mut self.columns)? {
            Some((time, local_minutes)) => {
                Ok(Some(Record { time, local_minutes, cells: self.columns.end() }))
            }
            None => {
                self.ended = true;
                self.columns.report_left_out();
                Ok(None)
            }
        }
    }
}

impl<D: Decoder> LogReader for ImportReader<D> {
    fn about(&self) -> &About {
        &self.columns.about
    }

    fn text(&self, column: usize) -> Option<&str> {
        self.columns.text(column)
    }

    fn is_stale(&self, column: usize) -> bool {
        self.columns.is_stale(column)
    }

    fn next_record(&mut self) -> Result<Option<Record>, LogError> {
        let Some(mut first) = self.first.take() else { return self.read() };
        self.columns.about.records = 1;
        first.cells.resize(self.columns.about.columns.len(), Err(NoValue::NoData(Absence::Other)));
        Ok(Some(first))
    }
}
