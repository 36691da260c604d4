//! Counter paths over a log, read record by record.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use tallymon_core::counter::{CounterType, Format, apply, compute};
use tallymon_core::flow::{Cell, NoValue, Sample};
use tallymon_core::path::CounterPath;
use tallymon_core::time::FileTime;
use tallymon_log::select::is_meant;
use tallymon_log::{About, Column, LogError, LogReader, ReadOptions, Record, open};

use crate::path_error::PathError;
use crate::query::CounterHandle;

/// Counter paths over one log, and its last two records.
///
/// It is what a [`Query`](crate::Query) is for a live source: paths are added, [`LogQuery::collect`] goes to the next
/// record, and the readings are those of that record.
pub struct LogQuery {
    file: PathBuf,
    options: ReadOptions,
    reader: Box<dyn LogReader>,
    range: (FileTime, FileTime),
    entries: BTreeMap<CounterHandle, Entry>,
    next: usize,
    older: Option<Record>,
    newer: Option<Record>,
}

struct Entry {
    path: CounterPath,
    /// Positions of the columns that it means, in the order of the log.
    columns: Vec<usize>,
    /// Columns before this one were looked at.
    seen: usize,
}

/// One counter of one instance in the record of a log.
#[derive(Debug, Clone)]
pub struct LogReading {
    /// The full path, spelled as the log has it.
    pub path: String,
    /// Its parts, when it has some.
    pub parts: Option<CounterPath>,
    /// Its counter type.
    pub counter_type: CounterType,
    /// Its default scale.
    pub default_scale: i32,
    /// What was read, and what it means.
    pub cell: Cell,
    /// The sample of the record before.
    pub older: Option<Sample>,
}

/// What is in a log, see [`LogQuery::contents`].
#[derive(Debug, Clone)]
pub struct LogContents {
    /// Every column, also those of instances that came late.
    pub columns: Vec<Column>,
    /// Records in it.
    pub records: u64,
    /// Time of the first one, UTC.
    pub first: Option<FileTime>,
    /// Time of the last one, UTC.
    pub last: Option<FileTime>,
    /// Minutes to add to UTC to get the local time of the log.
    pub local_minutes: i32,
}

impl LogContents {
    /// Reads a log to its end.
    ///
    /// # Errors
    ///
    /// The file can not be read, or it is no log.
    pub fn read(file: &Path, options: &ReadOptions) -> Result<LogContents, LogError> {
        let mut reader = open(file, options)?;
        let (mut first, mut last, mut local_minutes) = (None, None, 0);
        while let Some(record) = reader.next_record()? {
            first.get_or_insert(record.time);
            last = Some(record.time);
            local_minutes = record.local_minutes;
        }
        let about = reader.about();
        Ok(LogContents { columns: about.columns.clone(), records: about.records, first, last, local_minutes })
    }
}

impl LogQuery {
    /// Opens a log of any format.
    ///
    /// # Errors
    ///
    /// The file can not be read, or it is no log.
    pub fn open(file: &Path, options: &ReadOptions) -> Result<LogQuery, LogError> {
        Ok(LogQuery {
            file: file.to_path_buf(),
            options: options.clone(),
            reader: open(file, options)?,
            range: (FileTime(0), FileTime(u64::MAX)),
            entries: BTreeMap::new(),
            next: 0,
            older: None,
            newer: None,
        })
    }

    /// Adds a path: names as the log has them, in any case, with wildcards.
    ///
    /// A path that means nothing in the log is no error: instances come while it is read, and [`LogQuery::readings_of`]
    /// is empty until then.
    ///
    /// # Errors
    ///
    /// It is no counter path.
    pub fn add(&mut self, path: &str) -> Result<CounterHandle, PathError> {
        let parsed = CounterPath::parse(path).map_err(|error| PathError::syntax(path, error))?;
        let handle = CounterHandle(self.next);
        self.next = self.next.saturating_add(1);
        let mut entry = Entry { path: parsed.path, columns: Vec::new(), seen: 0 };
        entry.look_at(&self.reader.about().columns);
        self.entries.insert(handle, entry);
        Ok(handle)
    }

    /// Takes a path out again.
    pub fn remove(&mut self, handle: CounterHandle) {
        self.entries.remove(&handle);
    }

    /// Whether a path means any column that was seen so far.
    pub fn has(&self, handle: CounterHandle) -> bool {
        self.entries.get(&handle).is_some_and(|entry| !entry.columns.is_empty())
    }

    /// Starts again at the beginning, with only the records from `first` to `last`, both included.
    ///
    /// # Errors
    ///
    /// The file can no longer be read.
    pub fn set_range(&mut self, first: FileTime, last: FileTime) -> Result<(), LogError> {
        self.reader = open(&self.file, &self.options)?;
        self.range = (first, last);
        (self.older, self.newer) = (None, None);
        for entry in self.entries.values_mut() {
            (entry.columns, entry.seen) = (Vec::new(), 0);
            entry.look_at(&self.reader.about().columns);
        }
        Ok(())
    }

    /// Goes to the next record of the range; its time, `None` behind the last one. The last record stays then.
    ///
    /// # Errors
    ///
    /// Only what the operating system reports; damage inside of the log is in [`LogQuery::about`].
    pub fn collect(&mut self) -> Result<Option<FileTime>, LogError> {
        let record = loop {
            match self.reader.next_record()? {
                Some(record) if record.time < self.range.0 => {}
                Some(record) if record.time <= self.range.1 => break record,
                _ => return Ok(None),
            }
        };
        let time = record.time;
        self.older = self.newer.replace(record);
        let columns = &self.reader.about().columns;
        self.entries.values_mut().for_each(|entry| entry.look_at(columns));
        Ok(Some(time))
    }

    /// What the last record has for one path, in the order of the columns.
    pub fn readings_of(&self, handle: CounterHandle) -> Vec<LogReading> {
        let Some(entry) = self.entries.get(&handle) else { return Vec::new() };
        let columns = &self.reader.about().columns;
        let known = entry.columns.iter().filter_map(|at| Some((*at, columns.get(*at)?)));
        known.map(|(at, column)| self.reading(at, column)).collect()
    }

    /// What is known about the log so far.
    pub fn about(&self) -> &About {
        self.reader.about()
    }

    /// Minutes to add to the time of the last record to get the local time of the log.
    pub fn local_minutes(&self) -> i32 {
        self.newer.as_ref().map_or(0, |record| record.local_minutes)
    }

    /// Reads the whole log once: every column, and the times of the first and the last record.
    ///
    /// # Errors
    ///
    /// As [`LogContents::read`].
    pub fn contents(&self) -> Result<LogContents, LogError> {
        LogContents::read(&self.file, &self.options)
    }

    fn reading(&self, at: usize, column: &Column) -> LogReading {
        let cell = |record: &Option<Record>| record.as_ref().and_then(|record| record.cells.get(at).copied());
        let older = cell(&self.older).and_then(Result::ok);
        let sample = cell(&self.newer).unwrap_or(Err(NoValue::NoInstance));
        let value = sample.and_then(|sample| compute(older.as_ref(), &sample)).map(|value| {
            let format = Format { cap100: false, ..Format::default() };
            apply(value, column.counter_type, column.scale, &format)
        });
        LogReading {
            path: column.path.clone(),
            parts: column.parts.clone(),
            counter_type: column.counter_type,
            default_scale: column.scale,
            cell: Cell { sample: sample.ok(), value, stale: false },
            older,
        }
    }
}

impl Entry {
    /// Takes the columns that came since it looked last.
    fn look_at(&mut self, columns: &[Column]) {
        for (at, column) in columns.iter().enumerate().skip(self.seen) {
            if column.parts.as_ref().is_some_and(|found| is_meant(&self.path, found)) {
                self.columns.push(at);
            }
        }
        self.seen = columns.len();
    }
}
