//! A performance log as a source: what was recorded, at a time of choice.
//!
//! A log is read once for its counters and its range. Whoever wants the values of a chart reads the columns that are in
//! it from beginning to end; whoever wants everything at one time asks a [`LogSource`] for a snapshot, as any source.
//! Values in it come computed, since a log of computed values has nothing else; the definitions say what type they were, and
//! [`Log::complete`] adds the samples that they were computed from.

mod shelf;
mod source;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tallymon_core::counter::{CounterType, Format as Shown, apply, compute};
use tallymon_core::flow::{Cell, NoValue, Sample, SourceError, SourceErrorKind, Value};
use tallymon_core::path::CounterPath;
use tallymon_core::time::FileTime;
use tallymon_core::title::TitleIndex;
use tallymon_log::{Column, Cooker, Format, LogError, LogErrorKind, LogReader, Notes, ReadOptions, Record};

use crate::matching::InstanceKey;
use crate::query::Reading;

pub use source::LogSource;

use shelf::{LogHost, LogObject, Shelf};

/// One host of a log of any format that can be read: the first one, until [`Log::of_host`] asks for another. Clones are of
/// the same log, at the same time.
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
    /// What snapshots are of. It is held for a moment only, while the place is held as long as reading takes.
    wanted: Mutex<Wanted>,
    place: Mutex<Option<Place>>,
}

/// The record that a snapshot is of.
#[derive(Debug, Clone, Copy)]
enum Wanted {
    /// The last one at or before a time, or the first one.
    At(FileTime),
    /// The one with so many before it, or the last one.
    Nth(u64),
}

/// What is in a log.
#[derive(Debug, Clone, PartialEq)]
pub struct LogSummary {
    /// Its format.
    pub format: Format,
    /// Number of records.
    pub records: u64,
    /// Time of the first record, UTC.
    pub first: FileTime,
    /// Time of the last record, UTC.
    pub last: FileTime,
    /// Minutes to add to UTC to get the local time of the log at its last record.
    pub local_minutes: i32,
    /// What is damaged, and remarks.
    pub notes: Notes,
    /// Hosts that it has counters of, in its order; the name is empty where the log has none.
    pub hosts: Vec<String>,
}

/// One column of a log at its time.
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

impl Log {
    /// Reads a log once, for what is in it.
    ///
    /// # Errors
    ///
    /// It can not be read, is no log, or has no counters.
    pub fn open(path: &Path, options: &ReadOptions) -> Result<Log, LogError> {
        let log = Log::open_while(path, options, || true)?;
        let unread = || LogErrorKind::Unusable("it was not read to its end".to_string());
        log.ok_or_else(|| LogError::new(unread()).in_file(path))
    }

    /// The same for somebody who may no longer want it, as is asked after each record: then it is `None`.
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
        while let Some(record) = reader.next_record().map_err(|error| error.in_file(path))? {
            first.get_or_insert(record.time);
            last = record.time;
            local_minutes = record.local_minutes;
            records = records.saturating_add(1);
            if !is_wanted() {
                return Ok(None);
            }
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
            place: Mutex::new(None),
        };
        Ok(Some(Log { opened: Arc::new(opened), host: 0 }))
    }

    /// The same log, at the same time, of another of its hosts; letter case does not matter.
    pub fn of_host(&self, name: &str) -> Option<Log> {
        let host = self.opened.hosts.iter().position(|host| host.name.eq_ignore_ascii_case(name))?;
        Some(Log { host, ..self.clone() })
    }

    /// The host that this is of; empty where the log does not say.
    pub fn host(&self) -> &str {
        self.opened.hosts.get(self.host).map_or("", |host| host.name.as_str())
    }

    fn objects(&self) -> &[LogObject] {
        self.opened.hosts.get(self.host).map_or(&[], |host| host.objects.as_slice())
    }

    /// What is in it.
    pub fn summary(&self) -> &LogSummary {
        &self.opened.summary
    }

    /// Every column of all its hosts, also those of instances that came late.
    pub fn columns(&self) -> &[Column] {
        &self.opened.columns
    }

    /// Its file.
    pub fn path(&self) -> &Path {
        &self.opened.path
    }

    /// A source over it. Its snapshots have all instances that the log ever has.
    pub fn source(&self) -> LogSource {
        LogSource::new(self.clone())
    }

    /// Snapshots are of the last record at or before this time from now on; of the first one when there is none before.
    pub fn set_time(&self, time: FileTime) {
        self.want(Wanted::At(time));
    }

    /// Snapshots are of the record with so many before it from now on; of the last one when there are fewer.
    pub fn set_record(&self, nth: u64) {
        self.want(Wanted::Nth(nth));
    }

    fn want(&self, wanted: Wanted) {
        *self.opened.wanted.lock().unwrap_or_else(PoisonError::into_inner) = wanted;
    }

    /// The column of a counter; without an instance for an object that has none.
    pub fn column(
        &self,
        object: TitleIndex,
        counter: TitleIndex,
        key: Option<&InstanceKey>,
    ) -> Option<usize> {
        let object = self.objects().iter().find(|known| known.name == object)?;
        let counter = object.counters.iter().position(|known| known.name == counter)?;
        let instance = match key {
            None => 0,
            Some(key) => {
                let nth = usize::try_from(key.number).ok()?;
                *object.named.get(&key.name)?.get(nth)?
            }
        };
        object.columns.get(&(instance, counter)).copied()
    }

    /// One column at the time of the log; `None` when there is none, or it comes later.
    ///
    /// # Errors
    ///
    /// The file can no longer be read.
    pub fn reading(&self, column: usize) -> Result<Option<LogReading>, SourceError> {
        let Some(known) = self.opened.columns.get(column) else { return Ok(None) };
        let mut place = self.place();
        let place = self.go(&mut place)?;
        let is_there = place.newer.as_ref().is_some_and(|record| column < record.cells.len());
        Ok(is_there.then(|| place.reading(column, known)))
    }

    /// Puts the samples of the log, and their values, into what a [`Query`](crate::Query) over its source has read. A snapshot
    /// has only values.
    ///
    /// # Errors
    ///
    /// The file can no longer be read.
    pub fn complete(&self, readings: &mut [Reading], format: &Shown) -> Result<(), SourceError> {
        let mut place = self.place();
        let place = self.go(&mut place)?;
        for reading in readings {
            let column = self.column(reading.object, reading.counter, reading.instance.as_ref());
            let Some((at, column)) = column.and_then(|at| Some((at, self.opened.columns.get(at)?))) else {
                continue;
            };
            let (older, newer) = place.samples(at);
            reading.cell.sample = newer.ok();
            reading.cell.value = value(older, newer, column, format);
            reading.older = older;
        }
        Ok(())
    }

    /// Reads some columns from the first record to the last: `each` gets the time and the values in the order of the
    /// columns, and says whether to go on.
    ///
    /// # Errors
    ///
    /// The file can no longer be read.
    pub fn read(
        &self,
        columns: &[usize],
        mut each: impl FnMut(FileTime, &[Result<Value, NoValue>]) -> bool,
    ) -> Result<(), SourceError> {
        let mut reader = self.reader()?;
        let (mut cooker, mut values) = (Cooker::default(), Vec::new());
        let mut wanted = Record { time: FileTime(0), local_minutes: 0, cells: Vec::new() };
        while let Some(record) = reader.next_record().map_err(source_error)? {
            wanted.cells.clear();
            wanted.cells.extend(
                columns
                    .iter()
                    .map(|column| record.cells.get(*column).copied().unwrap_or(Err(NoValue::NoInstance))),
            );
            cooker.cook_into(&wanted, &mut values);
            if !each(record.time, &values) {
                break;
            }
        }
        Ok(())
    }

    fn reader(&self) -> Result<Box<dyn LogReader>, SourceError> {
        tallymon_log::open(&self.opened.path, &self.opened.options).map_err(source_error)
    }

    /// Minutes to add to the time of the log to get its local time.
    pub fn local_minutes(&self) -> i32 {
        let place = self.place();
        let newer = place.as_ref().and_then(|place| place.newer.as_ref());
        newer.map_or(self.opened.summary.local_minutes, |record| record.local_minutes)
    }

    fn place(&self) -> MutexGuard<'_, Option<Place>> {
        self.opened.place.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Goes to the time of the log; back means from the beginning.
    fn go<'p>(&self, place: &'p mut Option<Place>) -> Result<&'p Place, SourceError> {
        let wanted = *self.opened.wanted.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = place.take().filter(|place| !place.is_behind(wanted));
        let place = place.insert(match kept {
            Some(place) => place,
            None => Place::new(self.reader()?),
        });
        while let Some(record) = place.take_next()? {
            if place.is_enough(&record, wanted) {
                place.ahead = Some(record);
                break;
            }
            place.accept(record);
        }
        Ok(place)
    }

    /// Goes to the next record from `from` to `to`, both included, which is at least so many units after the one that the
    /// log is at; its time, `None` behind the last one, where the log stays. Records between the two are passed over:
    /// rates are over the whole interval. A record that is older than the one before it, after a clock was set back, is not waited for.
    ///
    /// # Errors
    ///
    /// The file can no longer be read.
    pub fn advance(&self, from: FileTime, to: FileTime, every: u64) -> Result<Option<FileTime>, SourceError> {
        let mut place = self.place();
        let place = match &mut *place {
            Some(place) => place,
            none => none.insert(Place::new(self.reader()?)),
        };
        let before = place.time();
        while let Some(record) = place.take_next()? {
            let time = record.time;
            let is_soon = |before: FileTime| time >= before && time.0.saturating_sub(before.0) < every;
            if time < from || time > to || before.is_some_and(is_soon) {
                place.count = place.count.saturating_add(1);
                continue;
            }
            place.accept(record);
            self.want(Wanted::Nth(place.count.saturating_sub(1)));
            return Ok(Some(time));
        }
        Ok(None)
    }

    /// Goes back before the first record, from where [`Log::advance`] begins.
    pub fn rewind(&self) {
        *self.place() = None;
    }
}

/// How far a log was read.
struct Place {
    reader: Box<dyn LogReader>,
    older: Option<Record>,
    newer: Option<Record>,
    /// Records up to the newer one.
    count: u64,
    /// The record behind it, when it was read already.
    ahead: Option<Record>,
}

impl Place {
    const fn new(reader: Box<dyn LogReader>) -> Place {
        Place { reader, older: None, newer: None, count: 0, ahead: None }
    }

    fn time(&self) -> Option<FileTime> {
        self.newer.as_ref().map(|record| record.time)
    }

    /// Whether it is behind what is wanted, so that reading has to begin anew.
    fn is_behind(&self, wanted: Wanted) -> bool {
        match wanted {
            Wanted::At(wanted) => self.time().is_some_and(|time| time > wanted),
            Wanted::Nth(nth) => self.count > nth.saturating_add(1),
        }
    }

    /// Whether a record that follows is too late.
    fn is_enough(&self, next: &Record, wanted: Wanted) -> bool {
        self.newer.is_some()
            && match wanted {
                Wanted::At(wanted) => next.time > wanted,
                Wanted::Nth(nth) => self.count > nth,
            }
    }

    fn take_next(&mut self) -> Result<Option<Record>, SourceError> {
        match self.ahead.take() {
            Some(record) => Ok(Some(record)),
            None => self.reader.next_record().map_err(source_error),
        }
    }

    fn accept(&mut self, record: Record) {
        self.older = self.newer.replace(record);
        self.count = self.count.saturating_add(1);
    }

    /// The sample of a column in the record before, and the one of this record.
    fn samples(&self, column: usize) -> (Option<Sample>, Result<Sample, NoValue>) {
        let cell =
            |record: &Option<Record>| record.as_ref().and_then(|record| record.cells.get(column).copied());
        (cell(&self.older).and_then(Result::ok), cell(&self.newer).unwrap_or(Err(NoValue::NoInstance)))
    }

    fn reading(&self, at: usize, column: &Column) -> LogReading {
        let (older, sample) = self.samples(at);
        let value = value(older, sample, column, &Shown { cap100: false, ..Shown::default() });
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

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Place")
            .field("time", &self.time())
            .field("count", &self.count)
            .finish_non_exhaustive()
    }
}

/// What two samples of a column come to.
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
