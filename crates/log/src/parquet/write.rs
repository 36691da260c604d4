//! Writes rows as Parquet files.

use std::io::{self, Write};

use parquet::errors::ParquetError;
use tallymon_core::flow::{Column, Row, Sink};

use super::buffer::{GroupBuffer, OneValue};
use super::chunk::Packer;
use super::table::{Names, Shape, TableWriter, into_io, microseconds};
use super::{BIAS_KEY, ZONE_KEY};
use crate::error::{LogError, LogErrorKind};

/// Values of a row group: these are in memory at a time.
const ROWS_OF_A_GROUP: usize = 1 << 18;

/// Writes rows with samples and values into a Parquet file. Its columns may change: each value has its own
/// names.
pub struct ParquetSink<W: Write + Send> {
    /// `None` once the file is complete.
    writer: Option<TableWriter<W>>,
    packer: Packer,
    columns: Vec<Names>,
    /// The row group that is being filled.
    values: GroupBuffer,
}

impl<W: Write + Send> ParquetSink<W> {
    /// Writes the head of the file.
    ///
    /// # Errors
    ///
    /// Those of `out`.
    pub fn new(out: W) -> Result<ParquetSink<W>, LogError> {
        let failed = |error| LogError::new(LogErrorKind::Io(into_io(error)));
        Ok(ParquetSink {
            writer: Some(TableWriter::new(out, Shape::Log).map_err(failed)?),
            packer: Shape::Log.packer().map_err(failed)?,
            columns: Vec::new(),
            values: GroupBuffer::default(),
        })
    }

    /// Writes the zone of the log's local times into the footer: its name, and the minutes to add to local
    /// time to get UTC.
    pub fn with_zone(mut self, name: &str, bias: i32) -> ParquetSink<W> {
        if let Some(writer) = &mut self.writer {
            for (key, value) in [(ZONE_KEY, name.to_owned()), (BIAS_KEY, bias.to_string())] {
                writer.key(key, value);
            }
        }
        self
    }

    /// Writes the values so far as a row group, sorted by counter and time.
    fn group(&mut self) -> Result<(), ParquetError> {
        let Some(writer) = self.writer.as_mut().filter(|_| self.values.rows() > 0) else { return Ok(()) };
        self.values.put_in_order();
        let names: Vec<&Names> = self.columns.iter().collect();
        writer.group(&mut self.packer, &names, &self.values)?;
        self.values.clear();
        Ok(())
    }
}

impl<W: Write + Send> Sink for ParquetSink<W> {
    type Error = io::Error;

    fn columns(&mut self, columns: &[Column]) -> io::Result<()> {
        self.group().map_err(into_io)?;
        self.columns = columns.iter().map(Names::new).collect();
        self.values.set_columns(columns.len());
        Ok(())
    }

    fn row(&mut self, row: &Row<'_>) -> io::Result<()> {
        let microseconds = microseconds(row.time);
        for (column, cell) in row.cells.iter().enumerate() {
            if let Some(value) = OneValue::of(microseconds, cell) {
                self.values.push(column, value);
            }
        }
        if self.values.rows() >= ROWS_OF_A_GROUP { self.group().map_err(into_io) } else { Ok(()) }
    }

    fn finish(&mut self) -> io::Result<()> {
        self.group().map_err(into_io)?;
        match self.writer.take() {
            Some(writer) => writer.close().map(drop).map_err(into_io),
            None => Ok(()),
        }
    }
}
