//! Reads the values of a Parquet file as records.

use std::collections::HashMap;
use std::io::{Read, Seek, SeekFrom};
use std::ops::Range;

use tallymon_core::counter::CounterType;
use tallymon_core::flow::{Absence, NoValue, Sample};
use tallymon_core::time::{FileTime, Frequency};

use super::bytes::Bad;
use super::footer::{Footer, Group, NAMES};
use super::pages::{Values, column};
use super::{MAGIC, MOST_ROWS};
use crate::column_list::{ColumnList, type_of};
use crate::error::{Damage, LogError, LogErrorKind};
use crate::format::{Format, ReadOptions};
use crate::reader::{About, LogReader, Record, RecordPosition};
use crate::zone::Zone;

/// The largest footer and the largest column of a row group that are read.
const MOST_OF_FOOTER: u64 = 1 << 26;
const MOST_OF_CHUNK: u64 = 1 << 28;

/// The most columns of the log: a column takes 1 to 2 kB of memory.
const MOST_COLUMNS: usize = 1 << 20;

/// Reads a Parquet file, one row group at a time.
pub(crate) struct ParquetReader<R> {
    input: R,
    length: u64,
    footer: Footer,
    about: About,
    list: ColumnList,
    minutes: i32,
    /// The next row group, and the rows of the one before.
    group: usize,
    loaded: Option<Loaded>,
    /// The next of its times.
    at: usize,
    newest: FileTime,
    position: Option<RecordPosition>,
    is_order_noted: bool,
}

/// The rows of a row group.
struct Loaded {
    values: [Values; NAMES.len()],
    /// The column of the log of each row.
    columns: Vec<usize>,
    /// Rows by time.
    order: Vec<usize>,
    /// The part of `order` of each time.
    times: Vec<(FileTime, Range<usize>)>,
}

impl Loaded {
    fn of(&self, name: Name) -> &Values {
        let [time, path, kind, value, first, second, frequency, multi_count, missing] = &self.values;
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
        }
    }
}

/// The columns of the file.
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
}

impl<R: Read + Seek> ParquetReader<R> {
    /// Reads the footer and the first row group.
    ///
    /// # Errors
    ///
    /// Errors of the operating system, a file without an end, and a table with other columns than ours.
    pub(crate) fn new(mut input: R, options: &ReadOptions) -> Result<ParquetReader<R>, LogError> {
        let length = input.seek(SeekFrom::End(0))?;
        let bytes = footer_bytes(&mut input, length)?;
        let footer = Footer::parse(&bytes).map_err(|words| {
            let words =
                format!("the footer of the Parquet file: {words}; only files that tally wrote are logs");
            LogError::new(LogErrorKind::NotALog(words))
        })?;
        let mut about = About::new(Format::Parquet);
        let (name, bias) = match (options.bias, &footer.zone) {
            (Some(bias), _) => (String::new(), bias),
            (None, Some((name, bias))) if bias.unsigned_abs() < 24 * 60 => (name.clone(), *bias),
            (None, _) => ("UTC".to_owned(), 0),
        };
        // A zone without a name is one that the log did not say.
        let is_known = options.bias.is_some() || !name.is_empty();
        about.zone = if is_known { Zone::Fixed { name, bias } } else { Zone::Unknown };
        if !footer.created_by.starts_with("tallymon ") {
            about.notes.remark(format!("written by {:?}", footer.created_by));
        }
        let mut reader = ParquetReader {
            input,
            length,
            footer,
            about,
            list: ColumnList::default(),
            minutes: bias.saturating_neg(),
            group: 0,
            loaded: None,
            at: 0,
            newest: FileTime(0),
            position: None,
            is_order_noted: false,
        };
        let rows = reader.footer.groups.iter().fold(0u64, |sum, group| sum.saturating_add(group.rows));
        if rows != reader.footer.rows {
            let words =
                format!("the footer has row groups of {rows} values, and says {}", reader.footer.rows);
            reader.damage(length.saturating_sub(bytes.len() as u64), words);
        }
        reader.load_next()?;
        Ok(reader)
    }

    fn damage(&mut self, byte: u64, what: String) {
        let record = Some(self.about.records.saturating_add(1));
        self.about.notes.damage(Damage { byte, buffer: None, record, line: None, what });
    }

    /// Reads the next row group that can be read; `false` after the last one.
    fn load_next(&mut self) -> Result<bool, LogError> {
        self.loaded = None;
        self.at = 0;
        while let Some(group) = self.footer.groups.get(self.group).cloned() {
            let number = self.group;
            self.group = number.saturating_add(1);
            match self.load(&group)? {
                Ok(loaded) => {
                    self.loaded = Some(loaded);
                    return Ok(true);
                }
                Err((byte, words)) => {
                    let rows = group.rows;
                    self.damage(byte, format!("row group {number} with {rows} values is left out: {words}"));
                }
            }
        }
        Ok(false)
    }

    /// Reads a row group, or says at which byte it is damaged, and how.
    fn load(&mut self, group: &Group) -> Result<Result<Loaded, (u64, Bad)>, LogError> {
        let start = group.chunks.first().map_or(0, |chunk| chunk.offset);
        let rows = usize::try_from(group.rows).unwrap_or(usize::MAX);
        if rows > MOST_ROWS {
            return Ok(Err((start, format!("{MOST_ROWS} values are the most; write smaller row groups"))));
        }
        let mut values: [Values; NAMES.len()] = Default::default();
        let leaves = self.footer.leaves;
        for (((values, chunk), leaf), name) in values.iter_mut().zip(&group.chunks).zip(leaves).zip(NAMES) {
            let end = chunk.offset.checked_add(chunk.length);
            if chunk.length > MOST_OF_CHUNK || end.is_none_or(|end| end > self.length) {
                let words = format!("{} bytes of the column {name:?} are not in the file", chunk.length);
                return Ok(Err((chunk.offset, words)));
            }
            let bytes = read_at(&mut self.input, chunk.offset, chunk.length)?;
            match column(&bytes, chunk.codec, leaf, rows) {
                Ok(found) => *values = found,
                Err(words) => return Ok(Err((chunk.offset, format!("the column {name:?}: {words}")))),
            }
        }
        let mut loaded = Loaded { values, columns: Vec::new(), order: Vec::new(), times: Vec::new() };
        self.columns_of(&mut loaded, rows, start);
        let units = leaves.first().map_or(1_000_000, |leaf| leaf.units);
        self.times_of(&mut loaded, rows, units, start);
        Ok(Ok(loaded))
    }

    /// Finds or adds the column of each row. New ones go behind the one of the row before.
    fn columns_of(&mut self, loaded: &mut Loaded, rows: usize, start: u64) {
        let types: Vec<Option<CounterType>> =
            loaded.of(Name::Type).texts.iter().map(|text| type_of(text)).collect();
        let mut nth: HashMap<(usize, CounterType, i64), u32> = HashMap::new();
        let (mut before, mut left_out) = (None, 0u64);
        for row in 0..rows {
            let has_raw = loaded.of(Name::First).number(row).is_some();
            let counter_type =
                loaded.of(Name::Type).text(row).and_then(|at| types.get(at).copied().flatten());
            // A value without its raw numbers stays a value.
            let counter_type = match counter_type {
                Some(known) if has_raw || loaded.of(Name::Value).number(row).is_none() => known,
                _ => CounterType::PERF_DOUBLE_RAW,
            };
            let path = loaded.of(Name::Path).text(row).unwrap_or(usize::MAX);
            let time = loaded.of(Name::Time).number(row).unwrap_or_default();
            let count = nth.entry((path, counter_type, time)).or_default();
            let duplicate = *count;
            *count = count.saturating_add(1);
            let text = loaded.of(Name::Path).texts.get(path).cloned().unwrap_or_default();
            let frequency = Frequency(loaded.of(Name::Frequency).number(row).unwrap_or_default());
            let key = (text, counter_type, duplicate);
            let place = match self.list.find(&key) {
                Some(place) => place,
                None if self.about.columns.len() >= MOST_COLUMNS => {
                    left_out = left_out.saturating_add(1);
                    loaded.columns.push(usize::MAX);
                    continue;
                }
                None => self.list.add(&mut self.about.columns, key, (frequency, 0), before),
            };
            before = Some(place);
            loaded.columns.push(place);
        }
        if left_out > 0 {
            let words =
                format!("{left_out} values are left out, because {MOST_COLUMNS} columns are the most");
            self.damage(start, words);
        }
        self.list.number(&mut self.about.columns);
    }

    /// Puts the rows in the order of their times.
    fn times_of(&mut self, loaded: &mut Loaded, rows: usize, units: u64, start: u64) {
        let nanoseconds = 1_000_000_000_i128.checked_div(i128::from(units)).unwrap_or(1000);
        let time = |row: usize| {
            let number = i128::from(loaded.of(Name::Time).number(row)?);
            FileTime::from_unix_nanoseconds(number.saturating_mul(nanoseconds))
        };
        let mut order: Vec<(FileTime, usize)> = Vec::new();
        let mut bad = 0u64;
        for row in 0..rows {
            match time(row) {
                Some(time) => order.push((time, row)),
                None => bad = bad.saturating_add(1),
            }
        }
        order.sort_by_key(|(time, _)| *time);
        for (at, (time, _)) in order.iter().enumerate() {
            let end = at.saturating_add(1);
            match loaded.times.last_mut() {
                Some((last, range)) if last == time => range.end = end,
                _ => loaded.times.push((*time, at..end)),
            }
        }
        loaded.order = order.into_iter().map(|(_, row)| row).collect();
        if bad > 0 {
            self.damage(start, format!("{bad} values are left out: their time is not after the year 1600"));
        }
    }

    /// The next record, without its number.
    fn record(&mut self) -> Option<Record> {
        let loaded = self.loaded.as_ref()?;
        let (time, range) = loaded.times.get(self.at)?.clone();
        let mut cells = vec![Err(NoValue::NoInstance); self.about.columns.len()];
        for row in loaded.order.get(range).unwrap_or_default() {
            let place = loaded.columns.get(*row).copied().unwrap_or(usize::MAX);
            let Some((cell, column)) = cells.get_mut(place).zip(self.about.columns.get(place)) else {
                continue;
            };
            *cell = sample(loaded, *row, column.counter_type, time);
        }
        Some(Record { time, local_minutes: self.minutes, cells })
    }
}

/// The sample of a row, or why there is none.
fn sample(loaded: &Loaded, row: usize, counter_type: CounterType, time: FileTime) -> Result<Sample, NoValue> {
    let number = |name| loaded.of(name).number(row);
    let sample = |first: u64| Sample {
        counter_type,
        first,
        second: number(Name::Second).unwrap_or_default().cast_unsigned(),
        frequency: Frequency(number(Name::Frequency).unwrap_or_default()),
        multi_count: number(Name::MultiCount)
            .map_or(1, |count| u32::try_from(count & i64::from(u32::MAX)).unwrap_or(1)),
        time,
    };
    match (number(Name::First), number(Name::Value)) {
        (Some(first), _) => Ok(sample(first.cast_unsigned())),
        (None, Some(bits)) => Ok(sample(bits.cast_unsigned())),
        (None, None) => {
            let missing = loaded.of(Name::Missing);
            let words = missing.text(row).and_then(|at| missing.texts.get(at));
            Err(words.and_then(|words| NoValue::from_words(words)).unwrap_or(NoValue::NoData(Absence::Other)))
        }
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

impl<R: Read + Seek + Send> LogReader for ParquetReader<R> {
    fn about(&self) -> &About {
        &self.about
    }

    fn next_record(&mut self) -> Result<Option<Record>, LogError> {
        loop {
            if let Some(record) = self.record() {
                if record.time < self.newest && !self.is_order_noted {
                    self.is_order_noted = true;
                    let words = "row groups overlap in time, so that records of one time come apart; \
                                 write the rows again in the order of their times";
                    self.damage(0, words.to_owned());
                }
                self.newest = self.newest.max(record.time);
                self.position = Some(RecordPosition {
                    byte: self.group.saturating_sub(1) as u64,
                    records: self.about.records,
                    list: 0,
                    line: self.at as u64,
                    minutes: None,
                });
                self.at = self.at.saturating_add(1);
                self.about.records = self.about.records.saturating_add(1);
                return Ok(Some(record));
            }
            if !self.load_next()? {
                return Ok(None);
            }
        }
    }

    fn position(&self) -> Option<RecordPosition> {
        self.position
    }

    fn seek_to(&mut self, position: RecordPosition) -> Result<bool, LogError> {
        let Ok(group) = usize::try_from(position.byte) else { return Ok(false) };
        if self.loaded.is_none() || self.group != group.saturating_add(1) {
            self.group = group;
            self.load_next()?;
        }
        self.at = usize::try_from(position.line).unwrap_or(usize::MAX);
        self.about.records = position.records;
        // Going back is no fault of the file.
        self.newest = FileTime(0);
        Ok(true)
    }
}
