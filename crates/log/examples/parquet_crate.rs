//! What the `parquet` crate alone takes for the columns of a lake that are ready in memory: nothing is read,
//! nothing is computed, and six of the thirteen columns are left out. It is the floor below which no writer
//! with that crate can be; `docs/benchmarks.md` has the figures.
//!
//! `cargo run --release -p tallymon-log --features parquet --example parquet_crate`
#![allow(clippy::print_stdout, clippy::arithmetic_side_effects, reason = "a measurement of small numbers")]

use std::fs::{self, File};
use std::io::Write;
use std::sync::Arc;

use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterVersion};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::ColumnPath;

/// Rows of a group, records in it, and groups.
const ROWS: usize = 131_072;
const RECORDS: usize = 131;
const GROUPS: usize = 23;

const NUMBERS: &str =
    "required int64 time; required double value; required int64 first; required int64 second;";
const TEXTS: &str =
    "required binary counter (UTF8); required binary instance (UTF8); required binary path (UTF8);";

/// The columns of a row group, sorted by counter as those of a lake.
#[derive(Default)]
struct Columns {
    time: Vec<i64>,
    value: Vec<f64>,
    first: Vec<i64>,
    second: Vec<i64>,
    counter: Vec<ByteArray>,
    instance: Vec<ByteArray>,
    path: Vec<ByteArray>,
}

fn columns() -> Columns {
    let mut state = 7u64;
    let mut below = move |most: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        i64::try_from(state % most).unwrap_or_default()
    };
    let text = |text: String| ByteArray::from(text.into_bytes());
    let clocks: Vec<i64> = (0..).take(RECORDS).map(|record| record * 10_000_000 + below(2_000)).collect();
    let mut columns = Columns::default();
    let mut last = 0i64;
    for nth in 0..ROWS.div_ceil(RECORDS) {
        let path = text(format!(r"\\host\Process(program-{})\Counter {}", nth % 250, nth / 250));
        let (counter, instance) =
            (text(format!("Counter {}", nth / 250)), text(format!("program-{}", nth % 250)));
        for clock in clocks.iter().take(ROWS - columns.time.len()) {
            // Two of three wander.
            let step = if nth % 3 == 0 { 0 } else { below(4_096) };
            last += step;
            columns.time.push(clock / 10);
            columns.value.push(step as f64 / 1.000_3);
            columns.first.push(last);
            columns.second.push(*clock);
            columns.counter.push(counter.clone());
            columns.instance.push(instance.clone());
            columns.path.push(path.clone());
        }
    }
    columns
}

fn put<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, impl Write + Send>,
    values: &[T::T],
) -> Result<(), ParquetError> {
    let missing = || ParquetError::General("the schema has fewer columns".to_owned());
    let mut column = group.next_column()?.ok_or_else(missing)?;
    column.typed::<T>().write_batch(values, None, None)?;
    column.close()
}

/// Processor time of this thread.
fn seconds() -> f64 {
    let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split_whitespace().next().and_then(|nanoseconds| nanoseconds.parse::<f64>().ok()).unwrap_or(0.0)
        / 1e9
}

fn measure(columns: &Columns, with_texts: bool) -> Result<(), ParquetError> {
    let texts = if with_texts { TEXTS } else { "" };
    let schema = parse_message_type(&format!("message counters {{ {NUMBERS} {texts} }}"))?;
    let mut properties = WriterProperties::builder()
        .set_writer_version(WriterVersion::PARQUET_1_0)
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(1)?))
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_offset_index_disabled(true);
    for name in ["time", "first", "second"] {
        properties = properties
            .set_column_dictionary_enabled(ColumnPath::from(name), false)
            .set_column_encoding(ColumnPath::from(name), Encoding::DELTA_BINARY_PACKED);
    }
    let properties = properties.set_column_dictionary_enabled(ColumnPath::from("value"), false).build();
    let path = std::env::temp_dir().join(format!("tallymon-parquet-crate-{}", std::process::id()));
    let before = seconds();
    let mut writer = SerializedFileWriter::new(File::create(&path)?, Arc::new(schema), Arc::new(properties))?;
    for _ in 0..GROUPS {
        let mut group = writer.next_row_group()?;
        put::<Int64Type>(&mut group, &columns.time)?;
        put::<DoubleType>(&mut group, &columns.value)?;
        put::<Int64Type>(&mut group, &columns.first)?;
        put::<Int64Type>(&mut group, &columns.second)?;
        if with_texts {
            put::<ByteArrayType>(&mut group, &columns.counter)?;
            put::<ByteArrayType>(&mut group, &columns.instance)?;
            put::<ByteArrayType>(&mut group, &columns.path)?;
        }
        group.close()?;
    }
    writer.close()?;
    let each = (seconds() - before) / (GROUPS * ROWS) as f64;
    fs::remove_file(path)?;
    let what =
        if with_texts { "four columns of numbers and three of texts" } else { "four columns of numbers" };
    println!("{what}: {:.0} ns a row, {:.1} million rows a second of a processor", each * 1e9, 1e-6 / each);
    Ok(())
}

fn main() -> Result<(), ParquetError> {
    let columns = columns();
    measure(&columns, false)?;
    measure(&columns, true)
}
