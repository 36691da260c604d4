//! A performance log as a source: its values at any time.
//!
//! Opening a log scans it once for its counters, its range and marks to seek to. The scan skips values,
//! except in text logs, where it checks that they are numbers. For a chart, read some columns from beginning
//! to end. For everything at one time, ask a [`LogSource`] for a snapshot, as any source. Values in a
//! snapshot are computed, because some logs have nothing else; the definitions have their original types, and
//! [`Log::complete`] adds the samples behind them.

mod cursor;
mod joined;
mod shelf;
mod source;
mod values;

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tallymon_core::counter::{CounterType, Format as Shown, apply, compute};
use tallymon_core::flow::{Cell, NoValue, Sample, SourceError, SourceErrorKind, Value};
use tallymon_core::path::CounterPath;
use tallymon_core::time::FileTime;
use tallymon_core::title::TitleIndex;
use tallymon_log::{Column, Format, LogError, LogErrorKind, LogReader, Notes, ReadOptions, ScannedRecord};

use crate::matching::InstanceKey;
use crate::query::Reading;

pub use source::LogSource;

pub use joined::Overlap;

use cursor::{Cursor, Mark, Marks, Moment, Wanted};
use joined::Joined;
use shelf::{LogHost, LogObject, Shelf};

/// One host of a log of any readable format: the first host, or the one of [`Log::of_host`]. Clones share the
/// log and its time.
#[derive(Debug, Clone)]
pub struct Log {
    opened: Arc<Opened>,
    /// Position of the host.
    host: usize,
}

#[derive(Debug)]
struct Opened {
    path: PathBuf,
    options: ReadOptions,
    hosts: Vec<LogHost>,
    own_names: Vec<(TitleIndex, String)>,
    columns: Vec<Column>,
    summary: LogSummary,
    marks: Marks,
    /// The time that snapshots are taken at. This lock is held for a moment only, the one of the cursor as
    /// long as reading takes.
    wanted: Mutex<Wanted>,
    cursor: Mutex<Option<Cursor>>,
    /// The last reader of columns that knows all of them.
    spare: Mutex<Option<Cursor>>,
    /// Its parts, if it joins several logs; it has no reader of its own then.
    joined: Option<Joined>,
}

/// The summary of a log.
#[derive(Debug, Clone, PartialEq)]
pub struct LogSummary {
    /// Its format.
    pub format: Format,
    /// Number of records; approximate where several logs overlap.
    pub records: u64,
    /// Time of the first record, UTC.
    pub first: FileTime,
    /// Time of the last record, UTC.
    pub last: FileTime,
    /// Minutes to add to UTC to get the local time of the log at its last record.
    pub local_minutes: i32,
    /// Faults and remarks.
    pub notes: Notes,
    /// Its hosts, in the order of the log; the name is empty if the log has none.
    pub hosts: Vec<String>,
}

/// One column of a log at its time.
#[derive(Debug, Clone)]
pub struct LogReading {
    /// The full path, spelled as the log has it.
    pub path: String,
    /// Its parts; `None` if it is not a counter path.
    pub parts: Option<CounterPath>,
    /// Its counter type.
    pub counter_type: CounterType,
    /// Its default scale.
    pub default_scale: i32,
    /// The sample and the value.
    pub cell: Cell,
    /// The sample of the record before.
    pub older: Option<Sample>,
}

impl Log {
    /// Opens a log and scans it once. Memory holds its columns, not its records.
    ///
    /// # Errors
    ///
    /// The file can not be read, is not a log, or has no counters.
    pub fn open(path: &Path, options: &ReadOptions) -> Result<Log, LogError> {
        let log = Log::open_while(path, options, || true)?;
        let unread = || LogErrorKind::Unusable("it was not read to its end".to_string());
        log.ok_or_else(|| LogError::new(unread()).in_file(path))
    }

    /// As [`Log::open`], but calls `is_wanted` after each record, and returns `None` when it is false.
    ///
    /// # Errors
    ///
    /// As [`Log::open`].
    pub fn open_while(
        path: &Path,
        options: &ReadOptions,
        is_wanted: impl Fn() -> bool,
    ) -> Result<Option<Log>, LogError> {
        let mut reader = tallymon_log::open(path, options)?;
        let (mut first, mut last, mut records, mut local_minutes) = (None, FileTime(0), 0u64, 0);
        let mut marks = Marks::default();
        let mut is_ended = false;
        let mut note = |passed: ScannedRecord| {
            first.get_or_insert(passed.time);
            last = passed.time;
            local_minutes = passed.local_minutes;
            records = records.saturating_add(1);
            marks.note(&passed);
            is_ended = !is_wanted();
            if is_ended { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        reader.scan(&mut note).map_err(|error| error.in_file(path))?;
        if is_ended {
            return Ok(None);
        }
        let about = reader.about();
        let unusable = |words: String| LogError::new(LogErrorKind::Unusable(words)).in_file(path);
        let mut shelf = Shelf::new().map_err(|error| unusable(error.to_string()))?;
        for (position, column) in about.columns.iter().enumerate() {
            shelf.put(position, column);
        }
        if shelf.hosts.is_empty() {
            return Err(unusable("it has no counters".to_string()));
        }
        let summary = LogSummary {
            format: about.format,
            records,
            first: first.unwrap_or_default(),
            last,
            local_minutes,
            notes: about.notes.clone(),
            hosts: shelf.hosts.iter().map(|host| host.name.clone()).collect(),
        };
        let opened = Opened {
            path: path.to_path_buf(),
            options: options.clone(),
            hosts: shelf.hosts,
            own_names: shelf.own_names,
            columns: about.columns.clone(),
            summary,
            wanted: Mutex::new(Wanted::At(FileTime(0))),
            // A reader that knows all columns can begin anywhere; another one must find them in order.
            cursor: Mutex::new(begin_at(reader, marks.first()).map_err(|error| unusable(error.to_string()))?),
            spare: Mutex::new(None),
            marks,
            joined: None,
        };
        Ok(Some(Log { opened: Arc::new(opened), host: 0 }))
    }

    /// The same log at the same time for another of its hosts; case is ignored.
    pub fn of_host(&self, name: &str) -> Option<Log> {
        let host = self.opened.hosts.iter().position(|host| host.name.eq_ignore_ascii_case(name))?;
        Some(Log { host, ..self.clone() })
    }

    /// The host; empty if the log does not name it.
    pub fn host(&self) -> &str {
        self.opened.hosts.get(self.host).map_or("", |host| host.name.as_str())
    }

    fn objects(&self) -> &[LogObject] {
        self.opened.hosts.get(self.host).map_or(&[], |host| host.objects.as_slice())
    }

    /// Its summary.
    pub fn summary(&self) -> &LogSummary {
        &self.opened.summary
    }

    /// Every column of all hosts, also of instances that appear late.
    pub fn columns(&self) -> &[Column] {
        &self.opened.columns
    }

    /// Its file.
    pub fn path(&self) -> &Path {
        &self.opened.path
    }

    /// A source over the log. Its snapshots have all instances of the whole log.
    pub fn source(&self) -> LogSource {
        LogSource::new(self.clone())
    }

    /// Sets the time of snapshots: the last record at or before this time, or the first record.
    pub fn set_time(&self, time: FileTime) {
        self.want(Wanted::At(time));
    }

    /// Sets the record of snapshots: the one with this many records before it, or the last record.
    pub fn set_record(&self, nth: u64) {
        self.want(Wanted::Nth(nth));
    }

    fn want(&self, wanted: Wanted) {
        *self.opened.wanted.lock().unwrap_or_else(PoisonError::into_inner) = wanted;
    }

    /// The column of a counter; without an instance for an object without instances.
    pub fn column(
        &self,
        object: TitleIndex,
        counter: TitleIndex,
        key: Option<&InstanceKey>,
    ) -> Option<usize> {
        let object = self.objects().iter().find(|known| known.name == object)?;
        let counter = object.counters.iter().position(|known| known.name == counter)?;
        let instance = match key {
            // An instance that does not exist must not be found as the first one.
            None if object.has_instances => return None,
            None => 0,
            Some(key) => {
                let nth = usize::try_from(key.number).ok()?;
                *object.named.get(&key.name)?.get(nth)?
            }
        };
        object.columns.get(&(instance, counter)).copied()
    }

    /// One column at the time of the log; `None` if there is none, or if it appears later.
    ///
    /// # Errors
    ///
    /// The file can no longer be read.
    pub fn reading(&self, column: usize) -> Result<Option<LogReading>, SourceError> {
        let Some(known) = self.opened.columns.get(column) else { return Ok(None) };
        self.at(|moment| {
            let is_there = moment.newer.as_ref().is_some_and(|record| column < record.cells.len());
            is_there.then(|| moment.reading(column, known))
        })
    }

    /// Adds the samples of the log, and their values, to the readings of a [`Query`](crate::Query) over its
    /// source. A snapshot has only values.
    ///
    /// # Errors
    ///
    /// The file can no longer be read.
    pub fn complete(&self, readings: &mut [Reading], format: &Shown) -> Result<(), SourceError> {
        self.at(|moment| {
            for reading in readings {
                let column = self.column(reading.object, reading.counter, reading.instance.as_ref());
                let Some((at, column)) = column.and_then(|at| Some((at, self.opened.columns.get(at)?)))
                else {
                    continue;
                };
                let (older, newer) = moment.samples(at);
                reading.cell.sample = newer.ok();
                reading.cell.value = value(older, newer, column, format);
                reading.older = older;
            }
        })
    }

    /// The records at the time of the log.
    fn at<T>(&self, then: impl FnOnce(&Moment) -> T) -> Result<T, SourceError> {
        if let Some(joined) = &self.opened.joined {
            let wanted = *self.opened.wanted.lock().unwrap_or_else(PoisonError::into_inner);
            return Ok(then(&joined.moment(wanted, self.opened.columns.len())?));
        }
        let mut cursor = self.cursor();
        Ok(then(&self.go(&mut cursor)?.moment))
    }

    /// Reads some columns from the first record to the last. `each` receives the time and the values in the
    /// order of the columns, and returns whether to continue.
    ///
    /// # Errors
    ///
    /// The file can no longer be read.
    pub fn read(
        &self,
        columns: &[usize],
        each: impl FnMut(FileTime, &[Result<Value, NoValue>]) -> bool,
    ) -> Result<(), SourceError> {
        self.read_from(columns, FileTime(0), || true, each)
    }

    /// As [`Log::read`], but begins at the last possible record before a time, which may be the first one of
    /// the log. The first call of `each` may come as late as opening the log takes; `is_wanted` is called
    /// meanwhile.
    ///
    /// # Errors
    ///
    /// As [`Log::read`].
    pub fn read_from(
        &self,
        columns: &[usize],
        from: FileTime,
        is_wanted: impl Fn() -> bool,
        mut each: impl FnMut(FileTime, &[Result<Value, NoValue>]) -> bool,
    ) -> Result<(), SourceError> {
        if let Some(joined) = &self.opened.joined {
            return joined.read_from(columns, from, is_wanted, each);
        }
        let mut values = self.values(columns.to_vec(), from, is_wanted)?;
        while let Some(time) = values.next()? {
            if !each(time, values.row()) {
                break;
            }
        }
        self.keep(values);
        Ok(())
    }

    /// A new reader before a time. A reader that knows all columns can begin anywhere, so one of these is
    /// kept.
    fn begin_before(&self, from: FileTime, is_wanted: impl Fn() -> bool) -> Result<Cursor, SourceError> {
        let mark = self.opened.marks.before(Wanted::At(from)).filter(|mark| mark.count > 0);
        let Some(mark) = mark else { return Ok(Cursor::new(self.reader()?, 0)) };
        let spare = self.opened.spare.lock().unwrap_or_else(PoisonError::into_inner).take();
        let mut reader = match spare {
            Some(cursor) => cursor.reader,
            None => self.reader()?,
        };
        let all = self.opened.columns.len();
        if reader.about().columns.len() < all {
            let mut find = |passed: ScannedRecord| match passed.columns < all && is_wanted() {
                true => ControlFlow::Continue(()),
                false => ControlFlow::Break(()),
            };
            reader.scan(&mut find).map_err(source_error)?;
        }
        match begin_at(reader, Some(mark))? {
            Some(cursor) => Ok(cursor),
            None => Ok(Cursor::new(self.reader()?, 0)),
        }
    }

    fn reader(&self) -> Result<Box<dyn LogReader>, SourceError> {
        tallymon_log::open(&self.opened.path, &self.opened.options).map_err(source_error)
    }

    /// Minutes to add to the time of the log for its local time.
    pub fn local_minutes(&self) -> i32 {
        let cursor = self.cursor();
        let newer = cursor.as_ref().and_then(|cursor| cursor.moment.newer.as_ref());
        newer.map_or(self.opened.summary.local_minutes, |record| record.local_minutes)
    }

    fn cursor(&self) -> MutexGuard<'_, Option<Cursor>> {
        self.opened.cursor.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Moves to the time of the log, from the current position or from the last mark before that time.
    fn go<'p>(&self, cursor: &'p mut Option<Cursor>) -> Result<&'p Cursor, SourceError> {
        let wanted = *self.opened.wanted.lock().unwrap_or_else(PoisonError::into_inner);
        let marks = &self.opened.marks;
        let mark = marks.before(wanted);
        let is_near =
            |cursor: &Cursor| !cursor.is_behind(wanted) && mark.is_none_or(|mark| mark.count <= cursor.count);
        let near = match cursor.take() {
            Some(cursor) if is_near(&cursor) => Some(cursor),
            Some(cursor) => begin_at(cursor.reader, mark)?,
            None => None,
        };
        let cursor = cursor.insert(match near {
            Some(cursor) => cursor,
            None => Cursor::new(self.reader()?, 0),
        });
        while let Some(record) = cursor.take_next()? {
            if cursor.is_enough(&record, wanted) {
                cursor.ahead = Some(record);
                break;
            }
            cursor.accept(record, marks);
        }
        Ok(cursor)
    }

    /// Moves to the next record between `from` and `to`, both included, that is at least this many units
    /// after the current one. Returns its time; `None` after the last record, where the log stays. Records in
    /// between are skipped, so rates cover the whole interval. A record that is older than the one before it,
    /// after a clock was set back, is always taken.
    ///
    /// # Errors
    ///
    /// The file can no longer be read.
    pub fn advance(&self, from: FileTime, to: FileTime, every: u64) -> Result<Option<FileTime>, SourceError> {
        if let Some(joined) = &self.opened.joined {
            let time = joined.advance(from, to, every)?;
            if let Some(time) = time {
                self.want(Wanted::At(time));
            }
            return Ok(time);
        }
        let mut cursor = self.cursor();
        let cursor = match &mut *cursor {
            Some(cursor) => cursor,
            none => none.insert(Cursor::new(self.reader()?, 0)),
        };
        let before = cursor.time();
        if before.is_none()
            && let Some(mark) =
                self.opened.marks.before(Wanted::At(from)).filter(|mark| mark.count > cursor.count)
            && cursor.reader.seek_to(mark.position).map_err(source_error)?
        {
            (cursor.count, cursor.ahead) = (mark.count, None);
        }
        while let Some(record) = cursor.take_next()? {
            let time = record.time;
            let is_soon = |before: FileTime| time >= before && time.0.saturating_sub(before.0) < every;
            if time < from || time > to || before.is_some_and(is_soon) {
                cursor.count = cursor.count.saturating_add(1);
                continue;
            }
            cursor.accept(record, &self.opened.marks);
            self.want(Wanted::Nth(cursor.count.saturating_sub(1)));
            return Ok(Some(time));
        }
        Ok(None)
    }

    /// Moves back before the first record, where [`Log::advance`] begins.
    pub fn rewind(&self) {
        if let Some(joined) = &self.opened.joined {
            return joined.rewind();
        }
        let mut cursor = self.cursor();
        let reader = cursor.take().map(|cursor| cursor.reader);
        // A reader that can not seek is opened again when it is needed.
        *cursor = reader.and_then(|reader| begin_at(reader, self.opened.marks.first()).ok().flatten());
    }
}

/// The cursor of a reader that knows all columns; `None` if it can not begin there.
fn begin_at(mut reader: Box<dyn LogReader>, mark: Option<&Mark>) -> Result<Option<Cursor>, SourceError> {
    let Some(mark) = mark else { return Ok(None) };
    let goes = reader.seek_to(mark.position).map_err(source_error)?;
    Ok(goes.then(|| Cursor::new(reader, mark.count)))
}

/// The value of two samples of a column.
fn value(
    older: Option<Sample>,
    newer: Result<Sample, NoValue>,
    column: &Column,
    format: &Shown,
) -> Result<Value, NoValue> {
    let newer = newer?;
    compute(older.as_ref(), &newer).map(|value| apply(value, newer.counter_type, column.scale, format))
}

fn source_error(error: LogError) -> SourceError {
    let kind = match &error.kind {
        LogErrorKind::Io(error) if error.kind() == std::io::ErrorKind::NotFound => SourceErrorKind::NotFound,
        LogErrorKind::Io(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
            SourceErrorKind::AccessDenied
        }
        LogErrorKind::Io(_) => SourceErrorKind::Io,
        _ => SourceErrorKind::BadData,
    };
    SourceError::new(kind, error.to_string())
}
