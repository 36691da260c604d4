//! Writes logs as Parquet files, for DuckDB, pandas, Spark and the like.
//!
//! One row is one value: the time, the counter in its parts, the computed value, and the raw numbers that it came from. A
//! long table of this shape has room for every instance that ever comes, and its columns of names cost nearly nothing,
//! because a row group is sorted by counter and names are stored once. An instance that does not exist at a time has no
//! row; a value that can not be computed is NULL, and `missing` says why.
//!
//! | column | type | is |
//! |---|---|---|
//! | `time` | timestamp, microseconds, UTC | when the sample was taken |
//! | `host`, `object`, `instance`, `counter` | text | the parts of the path; `host` and `instance` may be NULL |
//! | `path` | text | the whole path |
//! | `type` | text | the counter type by its name in `winperf.h`, or its number |
//! | `value` | double | the computed value |
//! | `first`, `second` | 64-bit integer | the raw value, and what it is divided by, as signed numbers |
//! | `frequency` | 64-bit integer | ticks per second of `second` |
//! | `multi_count` | 32-bit integer | how many resources were added up |
//! | `missing` | text | why there is no value |

use std::io::{self, Write};
use std::sync::Arc;

use parquet::basic::{Compression, Encoding};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::{WriterProperties, WriterVersion};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::ColumnPath;
use tallymon_core::flow::{NoValue, Sample, Value};
use tallymon_core::time::FileTime;

use crate::error::{LogError, LogErrorKind};
use crate::reader::Column;
use crate::relog::TableWriter;

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

/// Writes one log.
pub(crate) struct ParquetWriter<W: Write + Send> {
    writer: SerializedFileWriter<W>,
    columns: Vec<Names>,
    rows: Vec<Row>,
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

#[derive(Clone)]
struct Row {
    column: usize,
    microseconds: i64,
    cell: Option<Sample>,
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

impl<W: Write + Send> ParquetWriter<W> {
    /// Writes the head of the file.
    pub(crate) fn new<'c>(
        out: W,
        columns: impl IntoIterator<Item = &'c Column>,
    ) -> Result<ParquetWriter<W>, LogError> {
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
        Ok(ParquetWriter { writer, columns: columns.into_iter().map(Names::new).collect(), rows: Vec::new() })
    }

    fn group(&mut self) -> Result<(), ParquetError> {
        if self.rows.is_empty() {
            return Ok(());
        }
        self.rows.sort_by_key(|row| (row.column, row.microseconds));
        let rows: Vec<(&Names, &Row)> =
            self.rows.iter().filter_map(|row| Some((self.columns.get(row.column)?, row))).collect();
        let mut group = self.writer.next_row_group()?;
        required::<Int64Type>(&mut group, rows.iter().map(|(_, row)| row.microseconds))?;
        optional::<ByteArrayType>(&mut group, rows.iter().map(|(names, _)| names.host.clone()))?;
        optional::<ByteArrayType>(&mut group, rows.iter().map(|(names, _)| names.object.clone()))?;
        optional::<ByteArrayType>(&mut group, rows.iter().map(|(names, _)| names.instance.clone()))?;
        required::<ByteArrayType>(&mut group, rows.iter().map(|(names, _)| names.counter.clone()))?;
        required::<ByteArrayType>(&mut group, rows.iter().map(|(names, _)| names.path.clone()))?;
        required::<ByteArrayType>(&mut group, rows.iter().map(|(names, _)| names.counter_type.clone()))?;
        optional::<DoubleType>(&mut group, rows.iter().map(|(_, row)| row.value.ok()))?;
        let first = |row: &Row| row.cell.map(|sample| sample.first.cast_signed());
        optional::<Int64Type>(&mut group, rows.iter().map(|(_, row)| first(row)))?;
        let second = |row: &Row| row.cell.map(|sample| sample.second.cast_signed());
        optional::<Int64Type>(&mut group, rows.iter().map(|(_, row)| second(row)))?;
        required::<Int64Type>(&mut group, rows.iter().map(|(names, _)| names.frequency))?;
        let multi_count = |row: &Row| row.cell.map(|sample| sample.multi_count.cast_signed());
        optional::<Int32Type>(&mut group, rows.iter().map(|(_, row)| multi_count(row)))?;
        let missing = |row: &Row| row.value.err().map(|why| ByteArray::from(why.to_string().into_bytes()));
        optional::<ByteArrayType>(&mut group, rows.iter().map(|(_, row)| missing(row)))?;
        group.close()?;
        self.rows.clear();
        Ok(())
    }
}

impl<W: Write + Send> TableWriter for ParquetWriter<W> {
    /// Takes the values of one time.
    fn record(
        &mut self,
        time: FileTime,
        cells: &[Result<Sample, NoValue>],
        values: &[Result<Value, NoValue>],
    ) -> io::Result<()> {
        let microseconds = i64::try_from(time.unix_nanoseconds().div_euclid(1000)).unwrap_or_default();
        for (column, (cell, value)) in cells.iter().zip(values).enumerate() {
            if *cell == Err(NoValue::NoInstance) {
                continue;
            }
            let value = match value {
                Ok(value) => value.as_f64().ok_or(NoValue::NotNumeric),
                Err(reason) => Err(*reason),
            };
            self.rows.push(Row { column, microseconds, cell: cell.ok(), value });
        }
        if self.rows.len() >= ROWS_OF_A_GROUP { self.group().map_err(into_io) } else { Ok(()) }
    }

    /// Writes what is left, and the end of the file.
    fn finish(mut self) -> io::Result<()> {
        self.group().map_err(into_io)?;
        self.writer.close().map(drop).map_err(into_io)
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
