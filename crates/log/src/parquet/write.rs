//! Writes rows as Parquet files.

use std::io::{self, Write};
use std::sync::Arc;

use parquet::basic::{Compression, Encoding};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{WriterProperties, WriterVersion};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::ColumnPath;
use tallymon_core::flow::{Cell, Column, NoValue, Row, Sample, Sink};

use super::{BIAS_KEY, ZONE_KEY};
use crate::error::{LogError, LogErrorKind};

const SCHEMA: &str = "
message counters {
    required int64 time (TIMESTAMP(MICROS, true));
    optional binary host (UTF8);
    optional binary object (UTF8);
    optional binary instance (UTF8);
    required binary counter (UTF8);
    required binary path (UTF8);
    required binary type (UTF8);
    optional double value;
    optional int64 first;
    optional int64 second;
    required int64 frequency;
    optional int32 multi_count;
    optional binary missing (UTF8);
}
";

/// Values of a row group: these are in memory at a time.
const ROWS_OF_A_GROUP: usize = 1 << 18;

/// Writes rows with samples and values into a Parquet file. Its columns may change: each value has its own
/// names.
pub struct ParquetSink<W: Write + Send> {
    /// `None` once the file is complete.
    writer: Option<SerializedFileWriter<W>>,
    columns: Vec<Names>,
    /// The values of the row group that is being filled.
    values: Vec<OneValue>,
}

/// What is the same for all values of a column.
struct Names {
    host: Option<ByteArray>,
    object: Option<ByteArray>,
    instance: Option<ByteArray>,
    counter: ByteArray,
    path: ByteArray,
    counter_type: ByteArray,
    frequency: i64,
}

/// A row of the file.
struct OneValue {
    column: usize,
    microseconds: i64,
    sample: Option<Sample>,
    value: Result<f64, NoValue>,
}

impl Names {
    fn new(column: &Column) -> Names {
        let text = |text: String| ByteArray::from(text.into_bytes());
        let parts = column.parts.as_ref();
        Names {
            host: parts.and_then(|parts| parts.machine.clone()).map(text),
            object: parts.map(|parts| text(parts.object.to_string())),
            instance: parts.and_then(|parts| Some(text(parts.instance.as_ref()?.to_string()))),
            counter: text(parts.map_or_else(|| column.path.clone(), |parts| parts.counter.to_string())),
            path: text(column.path.clone()),
            counter_type: text(column.counter_type.to_string()),
            frequency: column.time_base.0,
        }
    }
}

impl<W: Write + Send> ParquetSink<W> {
    /// Writes the head of the file.
    ///
    /// # Errors
    ///
    /// Those of `out`.
    pub fn new(out: W) -> Result<ParquetSink<W>, LogError> {
        let failed = |error| LogError::new(LogErrorKind::Io(into_io(error)));
        let schema = parse_message_type(SCHEMA).map_err(failed)?;
        let mut properties = WriterProperties::builder()
            .set_created_by(concat!("tallymon ", env!("CARGO_PKG_VERSION")).to_owned())
            .set_writer_version(WriterVersion::PARQUET_1_0)
            .set_compression(Compression::SNAPPY);
        // Times and raw numbers mostly grow by little; a dictionary of them would be as long as they are.
        for name in ["time", "first", "second"] {
            properties = properties
                .set_column_dictionary_enabled(ColumnPath::from(name), false)
                .set_column_encoding(ColumnPath::from(name), Encoding::DELTA_BINARY_PACKED);
        }
        let properties = Arc::new(properties.build());
        let writer = SerializedFileWriter::new(out, Arc::new(schema), properties).map_err(failed)?;
        Ok(ParquetSink { writer: Some(writer), columns: Vec::new(), values: Vec::new() })
    }

    /// Writes the zone of the log's local times into the footer: its name, and the minutes to add to local
    /// time to get UTC.
    pub fn with_zone(mut self, name: &str, bias: i32) -> ParquetSink<W> {
        if let Some(writer) = &mut self.writer {
            for (key, value) in [(ZONE_KEY, name.to_owned()), (BIAS_KEY, bias.to_string())] {
                writer.append_key_value_metadata(KeyValue::new(key.to_owned(), value));
            }
        }
        self
    }

    /// Writes the values so far as a row group, sorted by counter and time.
    fn group(&mut self) -> Result<(), ParquetError> {
        let Some(writer) = self.writer.as_mut().filter(|_| !self.values.is_empty()) else { return Ok(()) };
        self.values.sort_by_key(|value| (value.column, value.microseconds));
        let rows: Vec<(&Names, &OneValue)> =
            self.values.iter().filter_map(|value| Some((self.columns.get(value.column)?, value))).collect();
        let mut group = writer.next_row_group()?;
        required::<Int64Type>(&mut group, rows.iter().map(|(_, row)| row.microseconds))?;
        optional::<ByteArrayType>(&mut group, rows.iter().map(|(names, _)| names.host.clone()))?;
        optional::<ByteArrayType>(&mut group, rows.iter().map(|(names, _)| names.object.clone()))?;
        optional::<ByteArrayType>(&mut group, rows.iter().map(|(names, _)| names.instance.clone()))?;
        required::<ByteArrayType>(&mut group, rows.iter().map(|(names, _)| names.counter.clone()))?;
        required::<ByteArrayType>(&mut group, rows.iter().map(|(names, _)| names.path.clone()))?;
        required::<ByteArrayType>(&mut group, rows.iter().map(|(names, _)| names.counter_type.clone()))?;
        optional::<DoubleType>(&mut group, rows.iter().map(|(_, row)| row.value.ok()))?;
        let first = |row: &OneValue| row.sample.map(|sample| sample.first.cast_signed());
        optional::<Int64Type>(&mut group, rows.iter().map(|(_, row)| first(row)))?;
        let second = |row: &OneValue| row.sample.map(|sample| sample.second.cast_signed());
        optional::<Int64Type>(&mut group, rows.iter().map(|(_, row)| second(row)))?;
        required::<Int64Type>(&mut group, rows.iter().map(|(names, _)| names.frequency))?;
        let multi_count = |row: &OneValue| row.sample.map(|sample| sample.multi_count.cast_signed());
        optional::<Int32Type>(&mut group, rows.iter().map(|(_, row)| multi_count(row)))?;
        let missing =
            |row: &OneValue| row.value.err().map(|why| ByteArray::from(why.to_string().into_bytes()));
        optional::<ByteArrayType>(&mut group, rows.iter().map(|(_, row)| missing(row)))?;
        group.close()?;
        self.values.clear();
        Ok(())
    }
}

impl<W: Write + Send> Sink for ParquetSink<W> {
    type Error = io::Error;

    fn columns(&mut self, columns: &[Column]) -> io::Result<()> {
        self.group().map_err(into_io)?;
        self.columns = columns.iter().map(Names::new).collect();
        Ok(())
    }

    fn row(&mut self, row: &Row<'_>) -> io::Result<()> {
        let microseconds = i64::try_from(row.time.unix_nanoseconds().div_euclid(1000)).unwrap_or_default();
        for (column, cell) in row.cells.iter().enumerate() {
            if matches!(cell, Cell { sample: None, value: Err(NoValue::NoInstance), .. }) {
                continue;
            }
            let value = match &cell.value {
                Ok(value) => value.as_f64().ok_or(NoValue::NotNumeric),
                Err(reason) => Err(*reason),
            };
            self.values.push(OneValue { column, microseconds, sample: cell.sample, value });
        }
        if self.values.len() >= ROWS_OF_A_GROUP { self.group().map_err(into_io) } else { Ok(()) }
    }

    fn finish(&mut self) -> io::Result<()> {
        self.group().map_err(into_io)?;
        match self.writer.take() {
            Some(writer) => writer.close().map(drop).map_err(into_io),
            None => Ok(()),
        }
    }
}

/// Writes the next column of a group, which has a value in every row.
fn required<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, impl Write + Send>,
    values: impl Iterator<Item = T::T>,
) -> Result<(), ParquetError> {
    let values: Vec<T::T> = values.collect();
    next::<T>(group, &values, None)
}

/// Writes the next column of a group, which may have no value in a row.
fn optional<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, impl Write + Send>,
    values: impl Iterator<Item = Option<T::T>>,
) -> Result<(), ParquetError> {
    let (mut present, mut levels) = (Vec::new(), Vec::new());
    for value in values {
        levels.push(i16::from(value.is_some()));
        present.extend(value);
    }
    next::<T>(group, &present, Some(&levels))
}

fn next<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, impl Write + Send>,
    values: &[T::T],
    levels: Option<&[i16]>,
) -> Result<(), ParquetError> {
    let end = || ParquetError::General("the schema has fewer columns than are written".to_owned());
    let mut column = group.next_column()?.ok_or_else(end)?;
    column.typed::<T>().write_batch(values, levels, None)?;
    column.close()
}

fn into_io(error: ParquetError) -> io::Error {
    io::Error::other(format!("writing the Parquet file: {error}"))
}
