//! Writes values as the row groups of a Parquet file: as a log of its own, or as a part of a lake.

use std::collections::HashMap;
use std::io::{self, Write};
use std::sync::Arc;

use parquet::basic::{Compression, ZstdLevel};
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterVersion};
use parquet::file::statistics::Statistics;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::ColumnDescPtr;
use tallymon_core::flow::Column;
use tallymon_core::time::FileTime;

use super::buffer::{ColumnBuffer, GroupBuffer};
use super::chunk::{ColumnData, Packer, levels};
use super::numbers::{Encoded, Fallback, encode};
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

/// The level of zstd.
const LEVEL: i32 = 1;

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

    /// What compresses the pages. Several files may share one.
    pub(crate) fn packer(self) -> Result<Packer, ParquetError> {
        Packer::new(match self {
            Shape::Log => Compression::SNAPPY,
            Shape::Part => Compression::ZSTD(ZstdLevel::try_new(LEVEL)?),
        })
    }

    /// What the crate writes around the columns. Statistics are those of row groups: a reader that skips less
    /// than one of them skips nothing.
    fn properties(self) -> WriterProperties {
        WriterProperties::builder()
            .set_created_by(concat!("tallymon ", env!("CARGO_PKG_VERSION")).to_owned())
            .set_writer_version(WriterVersion::PARQUET_1_0)
            .set_statistics_enabled(EnabledStatistics::Chunk)
            .set_offset_index_disabled(true)
            .build()
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
        let writer = SerializedFileWriter::new(out, Arc::new(schema), Arc::new(shape.properties()))?;
        Ok(TableWriter { writer, shape })
    }

    /// Adds a key and its value to the footer.
    pub(crate) fn key(&mut self, key: &str, value: String) {
        self.writer.append_key_value_metadata(KeyValue::new(key.to_owned(), value));
    }

    /// Writes values as a row group, column by column; `names` has those of each. `packer` is one of this
    /// shape.
    pub(crate) fn group(
        &mut self,
        packer: &mut Packer,
        names: &[&Names],
        values: &GroupBuffer,
    ) -> Result<(), ParquetError> {
        let descriptions: Vec<ColumnDescPtr> = self.writer.schema_descr().columns().to_vec();
        let mut group = self.writer.next_row_group()?;
        let mut all = runs_of(names, values);
        let shown = SCHEMA.iter().map(|(name, _)| *name).filter(|name| self.shape.has(name));
        for (name, description) in shown.zip(descriptions) {
            let is_optional = description.max_def_level() > 0;
            let mut filter = None;
            let data = match name {
                "time" => times(values),
                "value" => computed(values),
                "first" => raw(values, |column| &column.first),
                "second" => raw(values, |column| &column.second),
                name => {
                    let missing = || ParquetError::General(format!("the column {name} has no values"));
                    let runs = all.remove(name).ok_or_else(missing)?;
                    if name == "instance" && self.shape == Shape::Part {
                        filter = Some(runs.filter(INSTANCES_OF_A_FILTER)?);
                    }
                    runs.data(is_optional)
                }
            };
            let (bytes, close) = packer.close(data, description, filter)?;
            group.append_column(&bytes, close)?;
        }
        group.close().map(drop)
    }

    /// Completes the file.
    pub(crate) fn close(self) -> Result<(), ParquetError> {
        self.writer.close().map(drop)
    }
}

/// The times of all rows.
fn times(values: &GroupBuffer) -> ColumnData {
    let times = values.together(|column| &column.microseconds);
    let mut data = Vec::new();
    let Encoded { dictionary, encoding } = encode(&mut data, &times, Fallback::Differences);
    let rows = times.len() as u64;
    ColumnData { rows, dictionary, data, encoding, statistics: bounds(&times, Some(0)) }
}

/// Raw numbers of the rows that have some.
fn raw(values: &GroupBuffer, of: impl Fn(&ColumnBuffer) -> &Vec<u64>) -> ColumnData {
    let numbers = values.together(of);
    let runs = values.runs(|column| &column.multi_count);
    let mut data = Vec::new();
    levels(&mut data, runs.iter().map(|(resources, count)| (resources.is_some(), *count)));
    let Encoded { dictionary, encoding } = encode(&mut data, &numbers, Fallback::Differences);
    let rows = values.rows() as u64;
    let nulls = rows.saturating_sub(numbers.len() as u64);
    ColumnData { rows, dictionary, data, encoding, statistics: bounds(&numbers, Some(nulls)) }
}

/// The computed values of the rows that have one.
fn computed(values: &GroupBuffer) -> ColumnData {
    let numbers = values.together(|column| &column.values);
    let runs = values.runs(|column| &column.missing);
    let mut data = Vec::new();
    levels(&mut data, runs.iter().map(|(reason, count)| (reason.is_none(), *count)));
    let Encoded { dictionary, encoding } = encode(&mut data, &numbers, Fallback::Plain);
    let rows = values.rows() as u64;
    let nulls = Some(rows.saturating_sub(numbers.len() as u64));
    let (mut least, mut largest) = (f64::INFINITY, f64::NEG_INFINITY);
    for number in &numbers {
        let number = f64::from_bits(*number);
        (least, largest) = (least.min(number), largest.max(number));
    }
    // A zero of either sign stands for both.
    let zero = |bound: f64, zero: f64| if bound == 0.0 { zero } else { bound };
    let found = (least <= largest).then(|| (zero(least, -0.0), zero(largest, 0.0)));
    let statistics =
        Statistics::double(found.map(|found| found.0), found.map(|found| found.1), None, nulls, false);
    ColumnData { rows, dictionary, data, encoding, statistics }
}

/// The least and the largest of signed numbers.
fn bounds(numbers: &[u64], nulls: Option<u64>) -> Statistics {
    let numbers = || numbers.iter().map(|number| number.cast_signed());
    Statistics::int64(numbers().min(), numbers().max(), None, nulls, false)
}

/// The columns that say what a counter is, and those that hardly ever change, by name.
fn runs_of(names: &[&Names], values: &GroupBuffer) -> HashMap<&'static str, Runs> {
    let texts = ["host", "object", "instance", "counter", "path", "type"];
    let mut texts = texts.map(|name| (name, Runs::new(Kind::Text)));
    let mut frequency = Runs::new(Kind::Int64);
    let mut scale = Runs::new(Kind::Int32);
    for (names, (count, _)) in names.iter().zip(values.by_column()).filter(|(_, (count, _))| *count > 0) {
        let Names { host, object, instance, counter, path, counter_type, .. } = names;
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
    for (resources, count) in values.runs(|column| &column.multi_count) {
        let number = resources.map(|resources| resources.cast_signed().to_le_bytes());
        multi_count.add(number.as_ref().map(<[u8; 4]>::as_slice), count);
    }
    let mut missing = Runs::new(Kind::Text);
    for (why, count) in values.runs(|column| &column.missing) {
        let why = why.map(|why| why.to_string());
        missing.add(why.as_ref().map(String::as_bytes), count);
    }
    let mut all: HashMap<&'static str, Runs> = texts.into_iter().collect();
    all.extend([
        ("frequency", frequency),
        ("scale", scale),
        ("multi_count", multi_count),
        ("missing", missing),
    ]);
    all
}

pub(crate) fn into_io(error: ParquetError) -> io::Error {
    io::Error::other(format!("writing the Parquet file: {error}"))
}
