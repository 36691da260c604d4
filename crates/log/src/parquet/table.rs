//! Writes values as the row groups of a Parquet file: as a log of its own, or as a part of a lake.

use std::collections::HashMap;
use std::io::{self, Write};
use std::sync::Arc;

use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::data_type::{ByteArray, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterVersion};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::{ColumnDescPtr, ColumnPath};
use tallymon_core::flow::{Cell, Column, NoValue, Sample};
use tallymon_core::time::FileTime;

use super::runs::{Kind, Runs};

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

    fn compression(self) -> Result<Compression, ParquetError> {
        Ok(match self {
            Shape::Log => Compression::SNAPPY,
            Shape::Part => Compression::ZSTD(ZstdLevel::try_new(3)?),
        })
    }

    fn properties(self) -> Result<WriterProperties, ParquetError> {
        let mut properties = WriterProperties::builder()
            .set_created_by(concat!("tallymon ", env!("CARGO_PKG_VERSION")).to_owned())
            .set_writer_version(WriterVersion::PARQUET_1_0);
        // Statistics are those of row groups: a reader that skips less than one of them skips nothing.
        properties = properties
            .set_compression(self.compression()?)
            .set_statistics_enabled(EnabledStatistics::Chunk)
            .set_offset_index_disabled(true);
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
    compression: Compression,
}

impl<W: Write + Send> TableWriter<W> {
    /// Writes the head of the file.
    pub(crate) fn new(out: W, shape: Shape) -> Result<TableWriter<W>, ParquetError> {
        let schema = parse_message_type(&shape.schema())?;
        let compression = shape.compression()?;
        let writer = SerializedFileWriter::new(out, Arc::new(schema), Arc::new(shape.properties()?))?;
        Ok(TableWriter { writer, shape, compression })
    }

    /// Adds a key and its value to the footer.
    pub(crate) fn key(&mut self, key: &str, value: String) {
        self.writer.append_key_value_metadata(KeyValue::new(key.to_owned(), value));
    }

    /// Writes values as a row group, in their order. Those of a column follow each other.
    pub(crate) fn group(&mut self, columns: &[Names], values: &[OneValue]) -> Result<(), ParquetError> {
        let (shape, compression) = (self.shape, self.compression);
        let descriptions: Vec<ColumnDescPtr> = self.writer.schema_descr().columns().to_vec();
        let mut group = self.writer.next_row_group()?;
        let mut next = descriptions.into_iter();
        let mut all = runs_of(columns, values)?;
        for (name, _) in SCHEMA.iter().filter(|(name, _)| shape.has(name)) {
            let end = || ParquetError::General("the schema has fewer columns than are written".to_owned());
            let description = next.next().ok_or_else(end)?;
            match *name {
                "time" => {
                    let times: Vec<i64> = values.iter().map(|value| value.microseconds).collect();
                    write::<Int64Type>(&mut group, &times, None)?;
                }
                "value" => optional::<DoubleType>(&mut group, values.iter().map(|row| row.value.ok()))?,
                "first" => {
                    let first = |sample: Sample| sample.first.cast_signed();
                    optional::<Int64Type>(&mut group, values.iter().map(|row| row.sample.map(first)))?;
                }
                "second" => {
                    let second = |sample: Sample| sample.second.cast_signed();
                    optional::<Int64Type>(&mut group, values.iter().map(|row| row.sample.map(second)))?;
                }
                name => {
                    let runs = all.remove(name).ok_or_else(end)?;
                    let filter =
                        (name == "instance" && shape == Shape::Part).then_some(INSTANCES_OF_A_FILTER);
                    let (bytes, close) = runs.close(description, compression, filter)?;
                    group.append_column(&bytes, close)?;
                }
            }
        }
        group.close().map(drop)
    }

    /// Completes the file.
    pub(crate) fn close(self) -> Result<(), ParquetError> {
        self.writer.close().map(drop)
    }
}

/// The columns that say what a counter is, and those that hardly ever change, by name.
fn runs_of(columns: &[Names], values: &[OneValue]) -> Result<HashMap<&'static str, Runs>, ParquetError> {
    let texts = ["host", "object", "instance", "counter", "path", "type"];
    let mut texts = texts.map(|name| (name, Runs::new(Kind::Text)));
    let mut frequency = Runs::new(Kind::Int64);
    let mut scale = Runs::new(Kind::Int32);
    for run in values.chunk_by(|one, other| one.column == other.column) {
        let names = run.first().and_then(|value| columns.get(value.column));
        let names = names.ok_or_else(|| ParquetError::General("a value of no column".to_owned()))?;
        let Names { host, object, instance, counter, path, counter_type, .. } = names;
        let count = run.len() as u64;
        let found = [
            host.as_ref(),
            object.as_ref(),
            instance.as_ref(),
            Some(counter),
            Some(path),
            Some(counter_type),
        ];
        for ((_, runs), text) in texts.iter_mut().zip(found) {
            runs.add(text.map(ByteArray::data), count);
        }
        frequency.add(Some(&names.frequency.to_le_bytes()), count);
        scale.add(Some(&names.scale.to_le_bytes()), count);
    }
    let mut multi_count = Runs::new(Kind::Int32);
    let multi = |value: &OneValue| value.sample.map(|sample| sample.multi_count.cast_signed());
    for run in values.chunk_by(|one, other| multi(one) == multi(other)) {
        let number = run.first().and_then(multi).map(i32::to_le_bytes);
        multi_count.add(number.as_ref().map(<[u8; 4]>::as_slice), run.len() as u64);
    }
    let mut missing = Runs::new(Kind::Text);
    for run in values.chunk_by(|one, other| one.value.err() == other.value.err()) {
        let why = run.first().and_then(|value| value.value.err()).map(|why| why.to_string());
        missing.add(why.as_ref().map(String::as_bytes), run.len() as u64);
    }
    let mut all: HashMap<&'static str, Runs> = texts.into_iter().collect();
    all.extend([
        ("frequency", frequency),
        ("scale", scale),
        ("multi_count", multi_count),
        ("missing", missing),
    ]);
    Ok(all)
}

/// Writes the next column of a group, which may have no value in a row.
fn optional<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, impl Write + Send>,
    values: impl ExactSizeIterator<Item = Option<T::T>>,
) -> Result<(), ParquetError> {
    let mut present = Vec::with_capacity(values.len());
    let mut levels = Vec::with_capacity(values.len());
    for value in values {
        levels.push(i16::from(value.is_some()));
        present.extend(value);
    }
    write::<T>(group, &present, Some(&levels))
}

fn write<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, impl Write + Send>,
    values: &[T::T],
    levels: Option<&[i16]>,
) -> Result<(), ParquetError> {
    let end = || ParquetError::General("the schema has fewer columns than are written".to_owned());
    let mut column = group.next_column()?.ok_or_else(end)?;
    column.typed::<T>().write_batch(values, levels, None)?;
    column.close()
}

/// Sorts values by the rank of their columns. Those of a column keep their order.
pub(crate) fn sort_by_rank(values: &mut Vec<OneValue>, rank: impl Fn(usize) -> usize) {
    // A place for each rank: as fast as reading, which sorting by comparison is not.
    let mut places: Vec<usize> = Vec::new();
    for value in values.iter() {
        let at = rank(value.column).saturating_add(1);
        if places.len() <= at {
            places.resize(at.saturating_add(1), 0);
        }
        if let Some(count) = places.get_mut(at) {
            *count = count.saturating_add(1);
        }
    }
    let mut sum = 0usize;
    for place in &mut places {
        sum = sum.saturating_add(*place);
        *place = sum;
    }
    let mut sorted = values.clone();
    for value in values.iter() {
        let Some(place) = places.get_mut(rank(value.column)) else { continue };
        if let Some(to) = sorted.get_mut(*place) {
            *to = *value;
        }
        *place = place.saturating_add(1);
    }
    *values = sorted;
}

pub(crate) fn into_io(error: ParquetError) -> io::Error {
    io::Error::other(format!("writing the Parquet file: {error}"))
}
