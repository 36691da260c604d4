//! The source over a log: snapshots of its time for whoever reads any source, or its records one after another by paths.

use std::collections::BTreeMap;

use tallymon_core::block::{BlockWriter, Snapshot, WriteHeader};
use tallymon_core::counter::Format;
use tallymon_core::flow::{NoValue, Source, SourceError, SourceErrorKind};
use tallymon_core::path::CounterPath;
use tallymon_core::request::{Request, RequestKind};
use tallymon_core::time::{FileTime, Frequency, PerfTime};
use tallymon_core::title::{Language, TitleIndex, Titles};
use tallymon_host::titles;
use tallymon_log::select::is_meant;

use super::{Log, LogReading, Place, value};
use crate::path_error::PathError;
use crate::query::CounterHandle;

/// Answers with the values of a [`Log`] at its time.
///
/// A program that goes through a log by itself adds paths to it, and [`LogSource::collect`] goes to the next record; all
/// sources of one log are at the same record.
#[derive(Debug)]
pub struct LogSource {
    log: Log,
    range: (FileTime, FileTime),
    /// The columns that each path means, in the order of the log.
    paths: BTreeMap<CounterHandle, Vec<usize>>,
    next: usize,
}

impl LogSource {
    pub(super) const fn new(log: Log) -> LogSource {
        let range = (FileTime(0), FileTime(u64::MAX));
        LogSource { log, range, paths: BTreeMap::new(), next: 0 }
    }

    /// The log that it is of.
    pub const fn log(&self) -> &Log {
        &self.log
    }

    /// Adds a path: names as the log has them, in any case, with wildcards. Without a host it means any host of the log.
    ///
    /// A path that means nothing in the log is no error: see [`LogSource::has`].
    ///
    /// # Errors
    ///
    /// It is no counter path.
    pub fn add(&mut self, path: &str) -> Result<CounterHandle, PathError> {
        let wanted = CounterPath::parse(path).map_err(|error| PathError::syntax(path, error))?.path;
        let columns = self.log.columns().iter().enumerate();
        let meant = columns
            .filter(|(_, column)| column.parts.as_ref().is_some_and(|found| is_meant(&wanted, found)))
            .map(|(at, _)| at)
            .collect();
        let handle = CounterHandle(self.next);
        self.next = self.next.saturating_add(1);
        self.paths.insert(handle, meant);
        Ok(handle)
    }

    /// Takes a path out again.
    pub fn remove(&mut self, handle: CounterHandle) {
        self.paths.remove(&handle);
    }

    /// Whether a path means any column of the log.
    pub fn has(&self, handle: CounterHandle) -> bool {
        self.paths.get(&handle).is_some_and(|columns| !columns.is_empty())
    }

    /// Starts again at the beginning, with only the records from `first` to `last`, both included.
    pub fn set_range(&mut self, first: FileTime, last: FileTime) {
        self.range = (first, last);
        self.log.rewind();
    }

    /// Goes to the next record of the range; its time, `None` behind the last one. The last record stays then.
    ///
    /// # Errors
    ///
    /// Only what the operating system reports; damage inside of the log is in [`Log::summary`].
    pub fn collect(&mut self) -> Result<Option<FileTime>, SourceError> {
        self.log.advance(self.range.0, self.range.1, 0)
    }

    /// What the record at the time of the log has for one path, in the order of the columns. Columns that come later are
    /// left out.
    ///
    /// # Errors
    ///
    /// The file can no longer be read.
    pub fn readings_of(&self, handle: CounterHandle) -> Result<Vec<LogReading>, SourceError> {
        let columns = self.paths.get(&handle).map_or(&[][..], Vec::as_slice);
        let readings = columns.iter().filter_map(|column| self.log.reading(*column).transpose());
        readings.collect()
    }
}

impl Source for LogSource {
    fn snapshot(&mut self, request: &Request) -> Result<Snapshot, SourceError> {
        let log = &self.log;
        let (metadata, wanted): (bool, Option<&[TitleIndex]>) = match &request.kind {
            RequestKind::Metadata { costly, .. } => (true, costly.then_some(&[])),
            RequestKind::Objects(objects) => (false, Some(objects)),
            RequestKind::Global => (false, None),
            _ => (false, Some(&[])),
        };
        if metadata {
            return self.block(log.summary().first, true, wanted, None);
        }
        let mut place = log.place();
        let place = log.go(&mut place)?;
        self.block(place.time().unwrap_or_default(), false, wanted, Some(place))
    }

    fn titles(&mut self, language: Language) -> Result<Titles, SourceError> {
        let mut titles = titles::titles(language)?;
        for (index, name) in &self.log.opened.own_names {
            titles.insert_name(*index, name.clone());
        }
        Ok(titles)
    }

    fn languages(&self) -> Vec<Language> {
        titles::languages()
    }
}

impl LogSource {
    fn block(
        &self,
        time: FileTime,
        metadata: bool,
        wanted: Option<&[TitleIndex]>,
        place: Option<&Place>,
    ) -> Result<Snapshot, SourceError> {
        let header = WriteHeader {
            system_name: self.log.host(),
            default_object: -1,
            perf_time: PerfTime(0),
            perf_freq: Frequency(0),
            perf_time_100ns: time,
            system_time: time,
        };
        let mut bytes = Vec::new();
        let mut writer = BlockWriter::growing(&mut bytes, &header);
        let objects = self.log.objects().iter();
        for object in objects.filter(|object| wanted.is_none_or(|wanted| wanted.contains(&object.name))) {
            object.write(&mut writer, metadata, |column| {
                let known = place.and_then(|place| Some((place, self.log.columns().get(column)?)));
                let (place, known) = known.ok_or(NoValue::NoInstance)?;
                let (older, newer) = place.samples(column);
                value(older, newer, known, &Format { cap100: false, ..Format::default() })
            });
        }
        writer.finish().map_err(|error| SourceError::new(SourceErrorKind::BadData, error.to_string()))?;
        Ok(Snapshot::new(bytes)?)
    }
}
