//! Writes values as the row groups of a Parquet file: as a log of its own, or as a part of a lake.

use std::io::{self, Write};
use std::sync::Arc;

use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{WriterProperties, WriterVersion};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::ColumnPath;
use tallymon_core::flow::{Cell, Column, NoValue, Sample};
use tallymon_core::time::FileTime;

/// Which columns a file has, and how they are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// A log: Snappy, which everybody reads.
    Log,
    /// A part of a lake: without the object, which is in the name of its folder, with the scale, with zstd,
    /// and with Bloom filters over the instances.
    Part,
}

/// The columns of both shapes: name, whether it may be NULL, and the type.
const SCHEMA: [(&str, &str); 14] = [
    ("time", "required int64 time (TIMESTAMP(MICROS, true))"),
    ("host", "optional binary host (UTF8)"),
    ("object", "optional binary object (UTF8)"),
    ("instance", "optional binary instance (UTF8)"),
    ("counter", "required binary counter (UTF8)"),
    ("path", "required binary path (UTF8)"),
    ("type", "required binary type (UTF8)"),
    ("value", "optional double value"),
    ("first", "optional int64 first"),
    ("second", "optional int64 second"),
    ("frequency", "required int64 frequency"),
    ("multi_count", "optional int32 multi_count"),
    ("scale", "required int32 scale"),
    ("missing", "optional binary missing (UTF8)"),
];

/// How many instances a Bloom filter is made for: 1 kB of a row group, and one in a hundred answers is wrong.
const INSTANCES_OF_A_FILTER: u64 = 512;

impl Shape {
    fn has(self, column: &str) -> bool {
        match self {
            Shape::Log => column != "scale",
            Shape::Part => column != "object",
        }
    }

    fn schema(self) -> String {
        let columns = SCHEMA.iter().filter(|(name, _)| self.has(name));
        let columns: Vec<String> = columns.map(|(_, column)| format!("{column};")).collect();
        format!("message counters {{ {} }}", columns.join(" "))
    }

    fn properties(self) -> Result<WriterProperties, ParquetError> {
        let mut properties = WriterProperties::builder()
            .set_created_by(concat!("tallymon ", env!("CARGO_PKG_VERSION")).to_owned())
            .set_writer_version(WriterVersion::PARQUET_1_0);
        properties = match self {
            Shape::Log => properties.set_compression(Compression::SNAPPY),
            Shape::Part => {
                let instance = ColumnPath::from("instance");
                properties
                    .set_compression(Compression::ZSTD(ZstdLevel::try_new(3)?))
                    .set_column_bloom_filter_enabled(instance.clone(), true)
                    .set_column_bloom_filter_max_ndv(instance, INSTANCES_OF_A_FILTER)
            }
        };
        // Times and raw numbers mostly grow by little; a dictionary of them would be as long as they are.
        for name in ["time", "first", "second"] {
            properties = properties
                .set_column_dictionary_enabled(ColumnPath::from(name), false)
                .set_column_encoding(ColumnPath::from(name), Encoding::DELTA_BINARY_PACKED);
        }
        Ok(properties.build())
    }
}

/// What is the same for all values of a column.
#[derive(Debug, Clone)]
pub(crate) struct Names {
    pub(crate) host: Option<ByteArray>,
    pub(crate) object: Option<ByteArray>,
    pub(crate) instance: Option<ByteArray>,
    pub(crate) counter: ByteArray,
    path: ByteArray,
    counter_type: ByteArray,
    frequency: i64,
    scale: i32,
}

/// A row of the file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OneValue {
    pub(crate) column: usize,
    /// Since 1970, UTC.
    pub(crate) microseconds: i64,
    pub(crate) sample: Option<Sample>,
    pub(crate) value: Result<f64, NoValue>,
}

impl Names {
    pub(crate) fn new(column: &Column) -> Names {
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
            scale: column.scale,
        }
    }
}

impl OneValue {
    /// The row of a cell. An instance that does not exist has none.
    pub(crate) fn of(column: usize, microseconds: i64, cell: &Cell) -> Option<OneValue> {
        if matches!(cell, Cell { sample: None, value: Err(NoValue::NoInstance), .. }) {
            return None;
        }
        let value = match &cell.value {
            Ok(value) => value.as_f64().ok_or(NoValue::NotNumeric),
            Err(reason) => Err(*reason),
        };
        Some(OneValue { column, microseconds, sample: cell.sample, value })
    }
}

/// A time as the files have it.
pub(crate) fn microseconds(time: FileTime) -> i64 {
    i64::try_from(time.unix_nanoseconds().div_euclid(1000)).unwrap_or_default()
}

/// Writes row groups into a file.
pub(crate) struct TableWriter<W: Write + Send> {
    writer: SerializedFileWriter<W>,
    shape: Shape,
}

impl<W: Write + Send> TableWriter<W> {
    /// Writes the head of the file.
    pub(crate) fn new(out: W, shape: Shape) -> Result<TableWriter<W>, ParquetError> {
        let schema = parse_message_type(&shape.schema())?;
        let writer = SerializedFileWriter::new(out, Arc::new(schema), Arc::new(shape.properties()?))?;
        Ok(TableWriter { writer, shape })
    }

    /// Adds a key and its value to the footer.
    pub(crate) fn key(&mut self, key: &str, value: String) {
        self.writer.append_key_value_metadata(KeyValue::new(key.to_owned(), value));
    }

    /// Writes rows as a row group, in their order.
    pub(crate) fn group(&mut self, rows: &[(&Names, &OneValue)]) -> Result<(), ParquetError> {
        let shape = self.shape;
        let mut group = self.writer.next_row_group()?;
        required::<Int64Type>(&mut group, rows.iter().map(|(_, row)| row.microseconds))?;
        optional::<ByteArrayType>(&mut group, rows.iter().map(|(names, _)| names.host.clone()))?;
        if shape.has("object") {
            optional::<ByteArrayType>(&mut group, rows.iter().map(|(names, _)| names.object.clone()))?;
        }
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
        if shape.has("scale") {
            required::<Int32Type>(&mut group, rows.iter().map(|(names, _)| names.scale))?;
        }
        let missing =
            |row: &OneValue| row.value.err().map(|why| ByteArray::from(why.to_string().into_bytes()));
        optional::<ByteArrayType>(&mut group, rows.iter().map(|(_, row)| missing(row)))?;
        group.close().map(drop)
    }

    /// Completes the file.
    pub(crate) fn close(self) -> Result<(), ParquetError> {
        self.writer.close().map(drop)
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

pub(crate) fn into_io(error: ParquetError) -> io::Error {
    io::Error::other(format!("writing the Parquet file: {error}"))
}
