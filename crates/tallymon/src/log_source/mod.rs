//! A performance log as a source: what was recorded, at any time of choice.
//!
//! Opening a log walks it once for its columns, its time range, and points to seek to. Values are not read
//! meanwhile, except those of a text log, to find columns that are no numbers. A chart reads its columns
//! from beginning to end ([`Log::read`]); a table reads everything at one time from a snapshot, as from any
//! source ([`LogSource`]). Snapshots have computed values, since some logs have nothing else; the
//! definitions keep the counter types, and [`Log::complete`] adds the samples behind the values.

mod column_tree;
mod cursor;
mod joined;
mod met;
mod source;
mod values;

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tallymon_core::counter::{CounterType, Format as Shown, apply, compute};
use tallymon_core::flow::{Cell, NoValue, PartialSum, Sample, SourceError, SourceErrorKind, Value};
use tallymon_core::path::CounterPath;
use tallymon_core::time::FileTime;
use tallymon_core::title::TitleIndex;
use tallymon_log::{
    Column, Contents, Format, LogClock, LogError, LogErrorKind, LogReader, Notes, ReadOptions, ScannedRecord,
};

use crate::matching::InstanceKey;
use crate::query::Reading;

pub use source::LogSource;

pub use joined::Overlap;

use column_tree::{ColumnTree, LogHost, LogObject};
use cursor::{Cursor, RecordPair, SeekIndex, SeekPoint, Wanted};
use joined::Joined;
use met::Met;

/// One host of a log of any format that can be read: the first host; [`Log::of_host`] gives the others.
/// Clones share the log and its current time.
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
    seeks: SeekIndex,
    /// The record of the next snapshot. This lock is held for a moment only; that of the cursor as long as
    /// reading takes.
    wanted: Mutex<Wanted>,
    cursor: Mutex<Option<Cursor>>,
    /// The reader that last read columns and knows all of them: it can seek anywhere.
    spare: Mutex<Option<Cursor>>,
    /// Faults that were met behind the opening of a log that was opened by its contents.
    met: Mutex<Met>,
    /// The logs that this one joins; then it has no reader of its own.
    joined: Option<Joined>,
}

/// The summary of a log.
#[derive(Debug, Clone, PartialEq)]
pub struct LogSummary {
    /// Its format.
    pub format: Format,
    /// Number of records; an estimate where several joined logs overlap.
    pub records: u64,
    /// Time of the first record, UTC.
    pub first: FileTime,
    /// Time of the last record, UTC.
    pub last: FileTime,
    /// No record is older than the one before it.
    pub is_in_order: bool,
    /// Minutes to add to UTC to get the local time of the log at its last record.
    pub local_minutes: i32,
    /// Damage and remarks.
    pub notes: Notes,
    /// The clock of the log.
    pub clock: LogClock,
    /// Hosts with counters in the log, in its order; the name is empty where the log has none.
    pub hosts: Vec<String>,
    /// The system on which this program recorded the log, such as `linux`; `None` if another program did, or
    /// the format does not say it.
    pub recorded_on: Option<String>,
}

/// The values of some columns in one record.
#[derive(Debug, Clone, Copy, Default)]
pub struct LogRow<'r> {
    /// In the order of the columns.
    pub values: &'r [Result<Value, NoValue>],
    /// What sums lack, each with its position among the values; in order.
    pub partial: &'r [(usize, PartialSum)],
}

/// One column of a log at its time.
#[derive(Debug, Clone)]
pub struct LogReading {
    /// The full path, as the log spells it.
    pub path: String,
    /// Its parts, if it is a counter path.
    pub parts: Option<CounterPath>,
    /// Its counter type.
    pub counter_type: CounterType,
    /// Its default scale.
    pub default_scale: i32,
    /// The raw sample and the value.
    pub cell: Cell,
    /// The sample of the record before.
    pub older: Option<Sample>,
}

/// What is in a log besides its columns.
struct Walked {
    first: Option<FileTime>,
    last: FileTime,
    is_in_order: bool,
    records: u64,
    local_minutes: i32,
    clock: LogClock,
    seeks: SeekIndex,
}

impl Walked {
    /// From what a long log says of itself.
    fn of_contents(contents: &Contents) -> Walked {
        Walked {
            first: Some(contents.first),
            last: contents.last,
            is_in_order: contents.is_in_order,
            records: contents.records,
            local_minutes: contents.local_minutes,
            clock: contents.clock.clone(),
            seeks: SeekIndex::of_contents(contents),
        }
    }

    /// By walking through it; `None` if it was not wanted to the end.
    fn through(reader: &mut dyn LogReader, is_wanted: impl Fn() -> bool) -> Result<Option<Walked>, LogError> {
        let (mut first, mut last, mut records, mut local_minutes) = (None, FileTime(0), 0u64, 0);
        let mut seeks = SeekIndex::default();
        let mut clock = LogClock::default();
        let (mut is_ended, mut is_in_order) = (false, true);
        let mut note = |passed: ScannedRecord| {
            first.get_or_insert(passed.time);
            is_in_order &= passed.time >= last;
            last = passed.time;
            local_minutes = passed.local_minutes;
            records = records.saturating_add(1);
            clock.note(passed.time, passed.local_minutes);
            seeks.note(&passed);
            is_ended = !is_wanted();
            if is_ended { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        reader.scan(&mut note)?;
        let walked = Walked { first, last, is_in_order, records, local_minutes, clock, seeks };
        Ok((!is_ended).then_some(walked))
    }
}

impl Log {
    /// Reads what is in a log: from its contents, if it is a long one that has some, else by walking through
    /// it once. Memory holds its columns, and none of its records.
    ///
    /// # Errors
    ///
    /// The file cannot be read, is not a log, or has no counters.
    pub fn open(path: &Path, options: &ReadOptions) -> Result<Log, LogError> {
        let log = Log::open_while(path, options, || true)?;
        let unread = || LogErrorKind::Unusable("it was not read to its end".to_string());
        log.ok_or_else(|| LogError::new(unread()).in_file(path))
    }

    /// As [`Log::open`], but `None` as soon as `is_wanted` returns `false`; it is called after each record.
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
        let walked = match reader.contents(true).map_err(|error| error.in_file(path))? {
            Some(contents) => Some(Walked::of_contents(&contents)),
            None => Walked::through(&mut *reader, is_wanted).map_err(|error| error.in_file(path))?,
        };
        let Some(walked) = walked else { return Ok(None) };
        let Walked { first, last, is_in_order, records, local_minutes, mut clock, seeks } = walked;
        let about = reader.about();
        clock.set_zone(&about.zone);
        let unusable = |words: String| LogError::new(LogErrorKind::Unusable(words)).in_file(path);
        let mut tree = ColumnTree::new().map_err(|error| unusable(error.to_string()))?;
        for (position, column) in about.columns.iter().enumerate() {
            tree.put(0, position, column);
        }
        tree.finish();
        if tree.hosts.is_empty() {
            return Err(unusable("it has no counters".to_string()));
        }
        let summary = LogSummary {
            format: about.format,
            records,
            first: first.unwrap_or_default(),
            last,
            is_in_order,
            local_minutes,
            notes: about.notes.clone(),
            clock,
            hosts: tree.hosts.iter().map(|host| host.name.clone()).collect(),
            recorded_on: about.recorded_on().map(str::to_string),
        };
        let opened = Opened {
            path: path.to_path_buf(),
            options: options.clone(),
            hosts: tree.hosts,
            own_names: tree.own_names,
            columns: about.columns.clone(),
            summary,
            wanted: Mutex::new(Wanted::At(FileTime(0))),
            // A reader that knows all columns can seek anywhere; another has to find them in order.
            cursor: Mutex::new(begin_at(reader, seeks.first()).map_err(|error| unusable(error.to_string()))?),
            spare: Mutex::new(None),
            met: Mutex::new(Met::default()),
            seeks,
            joined: None,
        };
        Ok(Some(Log { opened: Arc::new(opened), host: 0 }))
    }

    /// Another host of the same log, at the same time; case is ignored.
    pub fn of_host(&self, name: &str) -> Option<Log> {
        let host = self.opened.hosts.iter().position(|host| host.name.eq_ignore_ascii_case(name))?;
        Some(Log { host, ..self.clone() })
    }

    /// The name of this host; empty where the log has none.
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

    /// The faults that were met since the log was opened: one that was opened by its contents was not read
    /// then. Each place is counted once; the count is too small if a reader met more than [`Notes::MOST`].
    pub fn met(&self) -> Notes {
        match &self.opened.joined {
            Some(_) => {
                let mut all = Notes::default();
                self.parts().iter().for_each(|part| all.extend(&part.met()));
                all
            }
            None => self.opened.met.lock().unwrap_or_else(PoisonError::into_inner).notes.clone(),
        }
    }

    /// Notes the faults that a reader met.
    fn note_met(&self, reader: &dyn LogReader) {
        let notes = &reader.about().notes;
        if !self.opened.seeks.has_parts || notes.damage_count == 0 {
            return;
        }
        self.opened.met.lock().unwrap_or_else(PoisonError::into_inner).add(notes);
    }

    /// Every column of all its hosts, including those of instances that came late.
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

    /// Sets the time of snapshots: they have the last record at or before it, or the first record if there
    /// is none.
    pub fn set_time(&self, time: FileTime) {
        self.want(Wanted::At(time));
    }

    /// Sets the record of snapshots by its number, from 0; the last record if there are fewer.
    pub fn set_record(&self, nth: u64) {
        self.want(Wanted::Nth(nth));
    }

    fn want(&self, wanted: Wanted) {
        *self.opened.wanted.lock().unwrap_or_else(PoisonError::into_inner) = wanted;
    }

    /// The column of a counter; `key` is `None` for an object without instances.
    pub fn column(
        &self,
        object: TitleIndex,
        counter: TitleIndex,
        key: Option<&InstanceKey>,
    ) -> Option<usize> {
        let object = self.objects().iter().find(|known| known.name == object)?;
        let counter = object.counters.iter().position(|known| known.name == counter)?;
        let instance = match key {
            // A missing instance is not the first one.
            None if object.has_instances => return None,
            None => 0,
            Some(key) => {
                let nth = usize::try_from(key.number).ok()?;
                *object.named.get(&key.name)?.get(nth)?
            }
        };
        object.columns.get(&(instance, counter)).copied()
    }

    /// One column at the current time; `None` when there is no such column, or it begins later.
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

    /// Adds the samples of the log, and the values of these, to readings of a [`Query`](crate::Query) over
    /// its source, whose snapshots have computed values only.
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
                reading.cell.value = moment.value(at, column, format);
                reading.older = older;
            }
        })
    }

    /// Reads the record at the current time.
    fn at<T>(&self, then: impl FnOnce(&RecordPair) -> T) -> Result<T, SourceError> {
        if let Some(joined) = &self.opened.joined {
            let wanted = *self.opened.wanted.lock().unwrap_or_else(PoisonError::into_inner);
            return Ok(then(&joined.moment(wanted, self.opened.columns.len())?));
        }
        let mut cursor = self.cursor();
        Ok(then(&self.go(&mut cursor)?.moment))
    }

    /// Reads some columns from the first record to the last: `each` gets the time and the values, and
    /// returns whether to go on.
    ///
    /// # Errors
    ///
    /// The file can no longer be read.
    pub fn read(
        &self,
        columns: &[usize],
        each: impl FnMut(FileTime, LogRow<'_>) -> bool,
    ) -> Result<(), SourceError> {
        self.read_from(columns, FileTime(0), || true, each)
    }

    /// As [`Log::read`], from the nearest record before a time that the reader can seek to, which may be
    /// the first. It may take as long as opening until the first record comes; it stops when `is_wanted`
    /// returns `false` meanwhile.
    ///
    /// # Errors
    ///
    /// As [`Log::read`].
    pub fn read_from(
        &self,
        columns: &[usize],
        from: FileTime,
        is_wanted: impl Fn() -> bool,
        mut each: impl FnMut(FileTime, LogRow<'_>) -> bool,
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

    /// A separate reader that begins before a time. Only a reader that knows all columns can seek, so the
    /// last such reader is kept and used again.
    fn begin_before(&self, from: FileTime, is_wanted: impl Fn() -> bool) -> Result<Cursor, SourceError> {
        let seeks = &self.opened.seeks;
        if seeks.before(Wanted::At(from)).is_none_or(|mark| mark.count == 0) && !seeks.has_parts {
            return Ok(Cursor::new(self.reader()?, 0));
        }
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
        let mark = seeks.nearest(Wanted::At(from), &mut *reader);
        match begin_at(reader, mark.or(seeks.first()))? {
            Some(cursor) => Ok(cursor),
            None => Ok(Cursor::new(self.reader()?, 0)),
        }
    }

    fn reader(&self) -> Result<Box<dyn LogReader>, SourceError> {
        let mut reader = tallymon_log::open(&self.opened.path, &self.opened.options).map_err(source_error)?;
        if self.opened.seeks.has_parts {
            reader.contents(true).map_err(source_error)?;
        }
        Ok(reader)
    }

    /// Minutes to add to the current time to get the local time of the log.
    pub fn local_minutes(&self) -> i32 {
        let cursor = self.cursor();
        let newer = cursor.as_ref().and_then(|cursor| cursor.moment.newer.as_ref());
        newer.map_or(self.opened.summary.local_minutes, |record| record.local_minutes)
    }

    fn cursor(&self) -> MutexGuard<'_, Option<Cursor>> {
        self.opened.cursor.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Moves the cursor to the current time: from where it is, or from the last point before it that it can
    /// seek to.
    fn go<'c>(&self, cursor: &'c mut Option<Cursor>) -> Result<&'c Cursor, SourceError> {
        let wanted = *self.opened.wanted.lock().unwrap_or_else(PoisonError::into_inner);
        let seeks = &self.opened.seeks;
        let near = match cursor.take() {
            Some(mut cursor) => {
                let mark = seeks.nearest(wanted, &mut *cursor.reader);
                let is_near = !cursor.is_behind(wanted) && mark.is_none_or(|mark| mark.count <= cursor.count);
                if is_near { Some(cursor) } else { begin_at(cursor.reader, mark)? }
            }
            None => None,
        };
        let cursor = cursor.insert(match near {
            Some(cursor) => cursor,
            None => Cursor::new(self.reader()?, 0),
        });
        while let Some(record) = cursor.take_next()? {
            if cursor.is_enough(&record.record, wanted) {
                cursor.ahead = Some(record);
                break;
            }
            cursor.accept(record, seeks);
        }
        self.note_met(&*cursor.reader);
        Ok(cursor)
    }

    /// Goes to the next record between `from` and `to`, both included, that is at least `every` units after
    /// the current one, and returns its time; `None` after the last record, where the log stays. Records in
    /// between are skipped, so rates are over the whole interval. A record that is older than the one
    /// before it, because a clock was set back, counts as late enough.
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
            && let Some(mark) = self.opened.seeks.nearest(Wanted::At(from), &mut *cursor.reader)
            && mark.count > cursor.count
            && cursor.reader.seek_to(mark.position).map_err(source_error)?
        {
            (cursor.count, cursor.ahead) = (mark.count, None);
        }
        while let Some(record) = cursor.take_next()? {
            let time = record.record.time;
            let is_soon = |before: FileTime| time >= before && time.0.saturating_sub(before.0) < every;
            if time < from || time > to || before.is_some_and(is_soon) {
                cursor.count = cursor.count.saturating_add(1);
                continue;
            }
            cursor.accept(record, &self.opened.seeks);
            self.want(Wanted::Nth(cursor.count.saturating_sub(1)));
            return Ok(Some(time));
        }
        Ok(None)
    }

    /// Goes back before the first record, so that [`Log::advance`] begins with it.
    pub fn rewind(&self) {
        if let Some(joined) = &self.opened.joined {
            return joined.rewind();
        }
        let mut cursor = self.cursor();
        let reader = cursor.take().map(|cursor| cursor.reader);
        // A reader that cannot seek back is opened again when it is needed.
        *cursor = reader.and_then(|reader| begin_at(reader, self.opened.seeks.first()).ok().flatten());
    }
}

/// A cursor at a point, with a reader that knows all columns; `None` when the reader cannot seek there.
fn begin_at(mut reader: Box<dyn LogReader>, mark: Option<SeekPoint>) -> Result<Option<Cursor>, SourceError> {
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
