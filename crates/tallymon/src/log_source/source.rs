//! The source over a log: snapshots at its current time, as of any source; or its records one by one, by
//! paths.

use std::collections::BTreeMap;

use tallymon_core::block::{BlockWriter, Snapshot, WriteHeader};
use tallymon_core::counter::Format;
use tallymon_core::flow::{NoValue, Source, SourceError, SourceErrorKind};
use tallymon_core::request::{Request, RequestKind};
use tallymon_core::time::FileTime;
use tallymon_core::title::{Language, TitleIndex, Titles};
use tallymon_host::titles;
use tallymon_log::select::columns_of;

use super::{Log, LogReading, RecordPair};
use crate::path_error::PathError;
use crate::query::CounterHandle;

/// Answers with the values of a [`Log`] at its time.
///
/// To walk a log record by record, add paths to the source and call [`LogSource::collect`] for the next
/// record. All sources of one log are at the same record.
///
/// ```
/// use tallymon::Log;
/// use tallymon::core::flow::Value;
/// use tallymon::core::time::FileTime;
/// use tallymon::log::ReadOptions;
///
/// # let file = std::env::temp_dir().join(format!("tallymon-range-{}.csv", std::process::id()));
/// let text = r#""(PDH-CSV 4.0) (UTC)(0)","\\web\System\Processes"
/// "01/31/2026 12:00:00.000","100"
/// "01/31/2026 12:00:01.000","110"
/// "01/31/2026 12:00:02.000","120"
/// "01/31/2026 12:00:03.000","130"
/// "#;
/// std::fs::write(&file, text)?;
/// let mut log = Log::open(&file, &ReadOptions::default())?.source();
/// let processes = log.add(r"\System\Processes")?;
/// let begin = log.log().summary().first;
/// // From the second record to the third, both included.
/// log.set_range(FileTime(begin.0 + 10_000_000), FileTime(begin.0 + 20_000_000));
/// let mut seen = Vec::new();
/// while log.collect()?.is_some() {
///     seen.push(log.readings_of(processes)?[0].cell.value.clone());
/// }
/// assert_eq!(seen, [Ok(Value::Number(110.0)), Ok(Value::Number(120.0))]);
/// # std::fs::remove_file(&file)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// It is a source like any other, so a [`Query`](crate::Query) lists what the log has:
///
/// ```
/// use tallymon::core::title::Language;
/// use tallymon::log::ReadOptions;
/// use tallymon::{Expand, Log, Query};
///
/// # let file = std::env::temp_dir().join(format!("tallymon-lists-{}.csv", std::process::id()));
/// let text = r#""(PDH-CSV 4.0) (UTC)(0)","\\web\Process(sh)\Thread Count","\\web\Process(sh#1)\Thread Count"
/// "01/31/2026 12:00:00.000","1","2" "#; std::fs::write(&file, text)?; let log = Log::open(&file,
/// &ReadOptions::default())?; assert_eq!(log.summary().hosts, ["web"]); let mut query =
/// Query::new(Box::new(log.source()), Language::ENGLISH)?; // Objects, the items of one, and its instances.
/// let object = query.catalog().objects().first().ok_or("an object")?.clone();
/// assert_eq!(query.names().name(object.name), "Process"); let counters =
/// object.visible_counters().map(|counter| query.names().name(counter.name));
/// assert_eq!(counters.collect::<Vec<_>>(), ["Thread Count"]); let instances = query.instances(object.name)?;
/// assert_eq!(instances.iter().map(|key| (key.name.as_str(), key.number)).collect::<Vec<_>>(), [("sh", 0),
/// ("sh", 1)]); let paths = query.expand(r"\Process(*)\*", Expand::default())?;
/// assert_eq!(paths[1].to_string(), r"\Process(sh#1)\Thread Count");
/// # std::fs::remove_file(&file)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct LogSource {
    log: Log,
    range: (FileTime, FileTime),
    /// The columns that match each path, in the order of the log.
    paths: BTreeMap<CounterHandle, Vec<usize>>,
    next: usize,
}

impl LogSource {
    pub(super) const fn new(log: Log) -> LogSource {
        let range = (FileTime(0), FileTime(u64::MAX));
        LogSource { log, range, paths: BTreeMap::new(), next: 0 }
    }

    /// The log.
    pub const fn log(&self) -> &Log {
        &self.log
    }

    /// Adds a path: names as the log has them, in any case, with wildcards. Without a host it matches every
    /// host of the log.
    ///
    /// A path that matches nothing in the log is no error: see [`LogSource::has`].
    ///
    /// # Errors
    ///
    /// The text is not a counter path.
    pub fn add(&mut self, path: &str) -> Result<CounterHandle, PathError> {
        let meant = columns_of(path, self.log.columns()).map_err(|error| PathError::syntax(path, error))?;
        let handle = CounterHandle(self.next);
        self.next = self.next.saturating_add(1);
        self.paths.insert(handle, meant);
        Ok(handle)
    }

    /// Removes a path.
    pub fn remove(&mut self, handle: CounterHandle) {
        self.paths.remove(&handle);
    }

    /// Whether a path matches any column of the log.
    pub fn has(&self, handle: CounterHandle) -> bool {
        self.paths.get(&handle).is_some_and(|columns| !columns.is_empty())
    }

    /// Starts over at the beginning, with only the records from `first` to `last`, both included.
    pub fn set_range(&mut self, first: FileTime, last: FileTime) {
        self.range = (first, last);
        self.log.rewind();
    }

    /// Goes to the next record of the range and returns its time; `None` after the last record, which stays
    /// the current one.
    ///
    /// # Errors
    ///
    /// Errors of the operating system only; damage in the log is in [`Log::summary`].
    pub fn collect(&mut self) -> Result<Option<FileTime>, SourceError> {
        self.log.advance(self.range.0, self.range.1, 0)
    }

    /// The readings of one path in the current record, in the order of the columns. Columns that begin
    /// later are left out.
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
        log.at(|moment| self.block(moment.time().unwrap_or_default(), false, wanted, Some(moment)))?
    }

    fn titles(&mut self, language: Language) -> Result<Titles, SourceError> {
        // The help texts explain how Linux counts. That is not true of what another system recorded.
        let mut titles = match self.log.summary().recorded_on.as_deref() {
            Some("linux") => titles::titles(language)?,
            _ => titles::neutral_titles(language)?,
        };
        for (index, name) in &self.log.opened.own_names {
            titles.insert_name(*index, name.clone());
        }
        Ok(titles)
    }

    fn translations(&mut self, language: Language) -> Result<Titles, SourceError> {
        titles::translations(language)
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
        moment: Option<&RecordPair>,
    ) -> Result<Snapshot, SourceError> {
        let header =
            WriteHeader { perf_time_100ns: time, system_time: time, ..WriteHeader::named(self.log.host()) };
        let mut bytes = Vec::new();
        let mut writer = BlockWriter::growing(&mut bytes, &header);
        let objects = self.log.objects().iter();
        for object in objects.filter(|object| wanted.is_none_or(|wanted| wanted.contains(&object.name))) {
            object.write(&mut writer, metadata, |column| {
                let known = moment.and_then(|moment| Some((moment, self.log.columns().get(column)?)));
                let (moment, known) = known.ok_or(NoValue::NoInstance)?;
                let format = Format { cap100: false, ..Format::default() };
                Ok((moment.value(column, known, &format)?, moment.mark(column)))
            });
        }
        writer.finish().map_err(|error| SourceError::new(SourceErrorKind::BadData, error.to_string()))?;
        Ok(Snapshot::new(bytes)?)
    }
}
