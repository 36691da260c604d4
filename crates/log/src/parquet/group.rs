//! The row groups of a file, and the rows in them.

use std::io::{Read, Seek, SeekFrom};

use tallymon_core::counter::CounterType;
use tallymon_core::flow::{Absence, NoValue, Sample};
use tallymon_core::time::{FileTime, Frequency};

use super::bytes::Bad;
use super::footer::{Footer, NAMES};
use super::pages::{Values, column};
use super::{MAGIC, MOST_ROWS};
use crate::column_list::type_of;
use crate::error::{LogError, LogErrorKind};

/// The largest footer and the largest column of a row group that are read.
const MOST_OF_FOOTER: u64 = 1 << 26;
const MOST_OF_CHUNK: u64 = 1 << 28;

/// A file, of which one row group is read at a time.
pub(crate) struct Groups<R> {
    input: R,
    length: u64,
    footer: Footer,
    footer_length: u64,
}

/// The columns of the file, in the order of [`NAMES`].
#[derive(Clone, Copy)]
enum Name {
    Time,
    Path,
    Type,
    Value,
    First,
    Second,
    Frequency,
    MultiCount,
    Missing,
    Scale,
}

impl<R: Read + Seek> Groups<R> {
    /// Reads the footer.
    ///
    /// # Errors
    ///
    /// Errors of the operating system, a file without an end, and a table with other columns than ours.
    pub(crate) fn open(mut input: R) -> Result<Groups<R>, LogError> {
        let length = input.seek(SeekFrom::End(0))?;
        let bytes = footer_bytes(&mut input, length)?;
        let footer = Footer::parse(&bytes).map_err(|words| {
            let words =
                format!("the footer of the Parquet file: {words}; only files that tally wrote are logs");
            LogError::new(LogErrorKind::NotALog(words))
        })?;
        Ok(Groups { input, length, footer, footer_length: bytes.len() as u64 })
    }

    pub(super) const fn footer(&self) -> &Footer {
        &self.footer
    }

    /// Whether this program wrote the file, so that its row groups follow each other in time.
    pub(crate) fn is_ours(&self) -> bool {
        self.footer.created_by.starts_with("tallymon ")
    }

    /// How many row groups the file has.
    pub(crate) fn count(&self) -> usize {
        self.footer.groups.len()
    }

    /// The byte at which a row group begins.
    pub(super) fn start(&self, number: usize) -> u64 {
        let first = self.footer.groups.get(number).and_then(|group| group.chunks.first());
        first.map_or(0, |chunk| chunk.offset)
    }

    /// That the row groups have other rows than the footer says, and at which byte it is.
    pub(super) fn miscount(&self) -> Option<(u64, Bad)> {
        let rows = self.footer.groups.iter().fold(0u64, |sum, group| sum.saturating_add(group.rows));
        (rows != self.footer.rows).then(|| {
            let words = format!("the footer has row groups of {rows} values, and says {}", self.footer.rows);
            (self.length.saturating_sub(self.footer_length), words)
        })
    }

    /// Reads a row group, or says at which byte it is damaged, and how.
    ///
    /// # Errors
    ///
    /// Only errors of the operating system.
    pub(crate) fn load(&mut self, number: usize) -> Result<Result<Rows, (u64, Bad)>, LogError> {
        let Some(group) = self.footer.groups.get(number).cloned() else {
            return Ok(Err((0, format!("there is no row group {number}"))));
        };
        let left_out = |byte: u64, words: String| {
            (byte, format!("row group {number} with {} values is left out: {words}", group.rows))
        };
        let rows = usize::try_from(group.rows).unwrap_or(usize::MAX);
        if rows > MOST_ROWS {
            let words = format!("{MOST_ROWS} values are the most; write smaller row groups");
            return Ok(Err(left_out(self.start(number), words)));
        }
        let mut values: [Values; NAMES.len()] = Default::default();
        let leaves = self.footer.leaves;
        for (((values, chunk), leaf), name) in values.iter_mut().zip(&group.chunks).zip(leaves).zip(NAMES) {
            let Some(leaf) = leaf else { continue };
            let end = chunk.offset.checked_add(chunk.length);
            if chunk.length > MOST_OF_CHUNK || end.is_none_or(|end| end > self.length) {
                let words = format!("{} bytes of the column {name:?} are not in the file", chunk.length);
                return Ok(Err(left_out(chunk.offset, words)));
            }
            let bytes = read_at(&mut self.input, chunk.offset, chunk.length)?;
            match column(&bytes, chunk.codec, leaf, rows) {
                Ok(found) => *values = found,
                Err(words) => {
                    return Ok(Err(left_out(chunk.offset, format!("the column {name:?}: {words}"))));
                }
            }
        }
        let units = leaves.first().copied().flatten().map_or(1_000_000, |leaf| leaf.units);
        let nanoseconds = 1_000_000_000_i128.checked_div(i128::from(units)).unwrap_or(1000);
        Ok(Ok(Rows::new(values, rows, nanoseconds)))
    }
}

/// The rows of a row group.
pub(crate) struct Rows {
    values: [Values; NAMES.len()],
    count: usize,
    /// How long a unit of the times is.
    nanoseconds: i128,
    /// The types of their texts.
    types: Vec<Option<CounterType>>,
}

impl Rows {
    fn new(values: [Values; NAMES.len()], count: usize, nanoseconds: i128) -> Rows {
        let mut rows = Rows { values, count, nanoseconds, types: Vec::new() };
        rows.types = rows.of(Name::Type).texts.iter().map(|text| type_of(text)).collect();
        rows
    }

    fn of(&self, name: Name) -> &Values {
        let [time, path, kind, value, first, second, frequency, multi_count, missing, scale] = &self.values;
        match name {
            Name::Time => time,
            Name::Path => path,
            Name::Type => kind,
            Name::Value => value,
            Name::First => first,
            Name::Second => second,
            Name::Frequency => frequency,
            Name::MultiCount => multi_count,
            Name::Missing => missing,
            Name::Scale => scale,
        }
    }

    fn number(&self, name: Name, row: usize) -> Option<i64> {
        self.of(name).number(row)
    }

    /// How many there are.
    pub(crate) const fn count(&self) -> usize {
        self.count
    }

    /// The time as the file has it.
    pub(crate) fn raw_time(&self, row: usize) -> i64 {
        self.number(Name::Time, row).unwrap_or_default()
    }

    /// The time; `None` if it is before 1601.
    pub(crate) fn time(&self, row: usize) -> Option<FileTime> {
        let number = i128::from(self.number(Name::Time, row)?);
        FileTime::from_unix_nanoseconds(number.saturating_mul(self.nanoseconds))
    }

    /// The counter type. A value without its raw numbers stays a value.
    pub(crate) fn counter_type(&self, row: usize) -> CounterType {
        let has_raw = self.number(Name::First, row).is_some();
        let known = self.of(Name::Type).text(row).and_then(|at| self.types.get(at).copied().flatten());
        match known {
            Some(known) if has_raw || self.number(Name::Value, row).is_none() => known,
            _ => CounterType::PERF_DOUBLE_RAW,
        }
    }

    /// Which of the different paths it has.
    pub(crate) fn path(&self, row: usize) -> usize {
        self.of(Name::Path).text(row).unwrap_or(usize::MAX)
    }

    /// The text of a path of [`Rows::path`].
    pub(crate) fn path_text(&self, path: usize) -> &str {
        self.of(Name::Path).texts.get(path).map_or("", String::as_str)
    }

    /// Ticks per second of the counter's clock, and the scale, which only parts of a lake have.
    pub(crate) fn base_and_scale(&self, row: usize) -> (Frequency, i32) {
        let scale = self.number(Name::Scale, row).and_then(|scale| i32::try_from(scale).ok());
        (Frequency(self.number(Name::Frequency, row).unwrap_or_default()), scale.unwrap_or_default())
    }

    /// The sample, or why there is none.
    pub(crate) fn sample(
        &self,
        row: usize,
        counter_type: CounterType,
        time: FileTime,
    ) -> Result<Sample, NoValue> {
        let sample = |first: u64| Sample {
            counter_type,
            first,
            second: self.number(Name::Second, row).unwrap_or_default().cast_unsigned(),
            frequency: Frequency(self.number(Name::Frequency, row).unwrap_or_default()),
            multi_count: self
                .number(Name::MultiCount, row)
                .map_or(1, |count| u32::try_from(count & i64::from(u32::MAX)).unwrap_or(1)),
            time,
        };
        match (self.number(Name::First, row), self.number(Name::Value, row)) {
            (Some(first), _) => Ok(sample(first.cast_unsigned())),
            (None, Some(bits)) => Ok(sample(bits.cast_unsigned())),
            (None, None) => Err(self.missing(row)),
        }
    }

    /// The computed value, or why there is none.
    pub(crate) fn value(&self, row: usize) -> Result<f64, NoValue> {
        match self.number(Name::Value, row) {
            Some(bits) => Ok(f64::from_bits(bits.cast_unsigned())),
            None => Err(self.missing(row)),
        }
    }

    /// Whether the raw numbers of the value are there.
    pub(crate) fn has_raw(&self, row: usize) -> bool {
        self.number(Name::First, row).is_some()
    }

    fn missing(&self, row: usize) -> NoValue {
        let missing = self.of(Name::Missing);
        let words = missing.text(row).and_then(|at| missing.texts.get(at));
        words.and_then(|words| NoValue::from_words(words)).unwrap_or(NoValue::NoData(Absence::Other))
    }
}

/// The bytes of the footer.
fn footer_bytes(input: &mut (impl Read + Seek), length: u64) -> Result<Vec<u8>, LogError> {
    let unusable = |words: String| LogError::new(LogErrorKind::Unusable(words));
    let cut = || {
        unusable(format!(
            "the Parquet file of {length} bytes has no end (\"PAR1\"): it is cut, or was never completed"
        ))
    };
    let tail = read_at(input, length.checked_sub(8).ok_or_else(cut)?, 8)?;
    let (size, magic) = tail.split_first_chunk().ok_or_else(cut)?;
    if magic != MAGIC {
        return Err(cut());
    }
    let size = u64::from(u32::from_le_bytes(*size));
    let start =
        length.saturating_sub(8).checked_sub(size).filter(|start| *start >= 4 && size <= MOST_OF_FOOTER);
    let start = start.ok_or_else(|| unusable(format!("a footer of {size} bytes in {length}")))?;
    Ok(read_at(input, start, size)?)
}

/// Reads bytes that are in the file; the caller has checked how many.
fn read_at(input: &mut (impl Read + Seek), at: u64, length: u64) -> std::io::Result<Vec<u8>> {
    input.seek(SeekFrom::Start(at))?;
    let mut bytes = Vec::new();
    input.take(length).read_to_end(&mut bytes)?;
    Ok(bytes)
}
