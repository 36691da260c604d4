//! Reads the values of a Parquet file as records.

use std::collections::HashMap;
use std::io::{Read, Seek};
use std::ops::Range;

use tallymon_core::counter::CounterType;
use tallymon_core::flow::NoValue;
use tallymon_core::time::FileTime;

use super::group::{Groups, Rows};
use crate::column_list::ColumnList;
use crate::error::{Damage, LogError};
use crate::format::Format;
use crate::options::ReadOptions;
use crate::reader::{About, LogReader, Record, RecordPosition};
use crate::zone::Zone;

/// The most columns of the log: a column takes 1 to 2 kB of memory.
pub(crate) const MOST_COLUMNS: usize = 1 << 20;

/// Reads a Parquet file, one row group at a time.
pub(crate) struct ParquetReader<R> {
    groups: Groups<R>,
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
    rows: Rows,
    /// The column of the log of each row.
    columns: Vec<usize>,
    /// Rows by time.
    order: Vec<usize>,
    /// The part of `order` of each time.
    times: Vec<(FileTime, Range<usize>)>,
}

impl<R: Read + Seek> ParquetReader<R> {
    /// Reads the footer and the first row group.
    ///
    /// # Errors
    ///
    /// Errors of the operating system, a file without an end, and a table with other columns than ours.
    pub(crate) fn new(input: R, options: &ReadOptions) -> Result<ParquetReader<R>, LogError> {
        let groups = Groups::open(input)?;
        let footer = groups.footer();
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
            groups,
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
        if let Some((byte, words)) = reader.groups.miscount() {
            reader.damage(byte, words);
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
        while self.group < self.groups.count() {
            let number = self.group;
            self.group = number.saturating_add(1);
            match self.groups.load(number)? {
                Ok(rows) => {
                    self.loaded = Some(self.arranged(rows, number));
                    return Ok(true);
                }
                Err((byte, words)) => self.damage(byte, words),
            }
        }
        Ok(false)
    }

    /// Finds the columns and times of the rows of a row group.
    fn arranged(&mut self, rows: Rows, number: usize) -> Loaded {
        let start = self.groups.start(number);
        let mut loaded = Loaded { rows, columns: Vec::new(), order: Vec::new(), times: Vec::new() };
        self.columns_of(&mut loaded, start);
        self.times_of(&mut loaded, start);
        loaded
    }

    /// Finds or adds the column of each row. New ones go behind the one of the row before.
    fn columns_of(&mut self, loaded: &mut Loaded, start: u64) {
        let rows = &loaded.rows;
        let mut nth: HashMap<(usize, CounterType, i64), u32> = HashMap::new();
        let (mut before, mut left_out) = (None, 0u64);
        for row in 0..rows.count() {
            let counter_type = rows.counter_type(row);
            let path = rows.path(row);
            let count = nth.entry((path, counter_type, rows.raw_time(row))).or_default();
            let duplicate = *count;
            *count = count.saturating_add(1);
            let key = (rows.path_text(path).to_owned(), counter_type, duplicate);
            let place = match self.list.find(&key) {
                Some(place) => place,
                None if self.about.columns.len() >= MOST_COLUMNS => {
                    left_out = left_out.saturating_add(1);
                    loaded.columns.push(usize::MAX);
                    continue;
                }
                None => self.list.add(&mut self.about.columns, key, rows.base_and_scale(row), before),
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
    fn times_of(&mut self, loaded: &mut Loaded, start: u64) {
        let mut order: Vec<(FileTime, usize)> = Vec::new();
        let mut bad = 0u64;
        for row in 0..loaded.rows.count() {
            match loaded.rows.time(row) {
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
            *cell = loaded.rows.sample(*row, column.counter_type, time);
        }
        Some(Record { time, local_minutes: self.minutes, cells })
    }
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
