//! A log: read when somebody looks at it.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tallymon::analyze::Analysis;
use tallymon::core::flow::NoValue;
use tallymon::core::path::CounterPath;
use tallymon::core::time::FileTime;
use tallymon::core::title::{Language, TitleIndex};
use tallymon::core::visible::visible;
use tallymon::log::info::holes_of;
use tallymon::log::{BytesRead, LogError, ReadOptions};
use tallymon::{Definitions, Locale, Log, LogRow, Names, Query, Reading, SourceInfo};
use tallymon_monitor::model::overview::Overview;
use tallymon_monitor::model::{CollectTimes, LogTimes, PROVIDERS_PATH, Top, TopGroup, causes};

use crate::arrival::Arrival;
use crate::chart::{Chart, Range, SeriesInfo};
use crate::crossings::{Crossings, Thresholds};
use crate::decimate::Decimator;
use crate::describe;
use crate::findings;
use crate::host_queries::{HostQueries, query};
use crate::http::Refused;
use crate::live_state::{MOST_SERIES, watch_top};
use crate::parameters::milliseconds;
use crate::process_list::ProcessTexts;
use crate::providers::ProviderList;
use crate::report::{ReportOptions, report};
use crate::statistics::Statistics;

/// How many rows before a time the overview shows.
const OVERVIEW_ROWS: usize = 160;
/// The most gaps and restarts that are sent.
const MOST_HOLES: usize = 100;
/// Bytes for the overview of a log.
const OVERVIEW_BUDGET: usize = 8 << 20;

/// A log that was given on the command line, or uploaded.
#[derive(Debug)]
pub(crate) struct LogHost {
    /// What the user calls it.
    pub(crate) name: String,
    /// Its file; the logs of a session are several, which are read as one.
    paths: Vec<PathBuf>,
    /// The file is ours, and is removed with this.
    is_upload: bool,
    /// The session whose logs they are, if it was opened from the page. It can be closed there.
    session: Option<String>,
    /// Logs of a session that cannot be read, and why.
    unread: Mutex<Vec<String>>,
    bytes: AtomicU64,
    read: BytesRead,
    state: Mutex<Stage>,
    /// The part of an upload that is there already.
    arrival: Option<Arrival>,
    /// What was found in it, once somebody asked; one request at a time looks.
    found: Mutex<Option<Arc<Analysis>>>,
    /// How long the collections of the providers of each host took, once somebody asked.
    times: Mutex<HashMap<String, Arc<CollectTimes>>>,
    /// The log has one current time, which only one request may use.
    moment: Mutex<()>,
}

/// How far a log was read.
#[derive(Debug, Clone)]
enum Stage {
    Opening,
    /// The beginning of a log that is still on its way, as it was a moment ago.
    Part(Log),
    Ready(Log),
    Failed(String),
}

/// The most bytes that an uploaded log is unpacked to, if it is compressed.
const MOST_UNPACKED: u64 = 1 << 30;

impl LogHost {
    fn with(name: String, paths: Vec<PathBuf>, state: Stage) -> LogHost {
        let bytes = paths.iter().filter_map(|path| std::fs::metadata(path).ok()).map(|about| about.len());
        let bytes = AtomicU64::new(bytes.fold(0, u64::saturating_add));
        LogHost {
            name,
            paths,
            is_upload: false,
            session: None,
            unread: Mutex::default(),
            bytes,
            read: BytesRead::default(),
            state: Mutex::new(state),
            arrival: None,
            times: Mutex::default(),
            moment: Mutex::new(()),
            found: Mutex::default(),
        }
    }

    /// A log that is still to be opened.
    pub(crate) fn new(path: &Path, name: String) -> LogHost {
        LogHost::with(name, vec![path.to_path_buf()], Stage::Opening)
    }

    /// An uploaded log, or one on its way. Its file is removed with it.
    pub(crate) fn of_upload(path: &Path, name: String, arrival: Option<Arrival>) -> LogHost {
        let mut log = LogHost::new(path, name);
        (log.is_upload, log.arrival) = (true, arrival);
        log
    }

    /// The logs of a session, oldest first, which the page opens.
    pub(crate) fn of_session(session: &str, paths: Vec<PathBuf>) -> LogHost {
        let name = match paths.as_slice() {
            [path] => path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            all => format!("{session} ({})", all.len()),
        };
        let mut log = LogHost::with(name, paths, Stage::Opening);
        log.session = Some(session.to_owned());
        log
    }

    /// Whether it has the logs of a session, opened from the page.
    pub(crate) fn is_of_session(&self, session: &str) -> bool {
        self.session.as_deref() == Some(session)
    }

    /// Whether it is being read.
    pub(crate) fn is_opening(&self) -> bool {
        matches!(*self.state(), Stage::Opening | Stage::Part(_))
    }

    /// Whether the page may close it.
    pub(crate) fn is_closable(&self) -> bool {
        self.is_upload || self.session.is_some()
    }

    /// A log that is open already.
    pub(crate) fn of_log(log: Log) -> LogHost {
        let path = log.path().to_path_buf();
        LogHost::with(String::new(), vec![path], Stage::Ready(log))
    }

    /// Reads the log once, for what is in it. Everything else waits until then, and says so.
    pub(crate) fn open(&self, options: &ReadOptions) {
        let mut options = ReadOptions { bytes_read: self.read.clone(), ..options.clone() };
        if self.is_upload {
            options.most_unpacked = Some(MOST_UNPACKED);
        }
        let opened =
            Log::open_all(&self.paths, &options).or_else(|error| self.open_readable(error, &options));
        let state = match opened {
            Ok(log) => Stage::Ready(log),
            Err(error) => Stage::Failed(self.without_paths(error.to_string())),
        };
        *self.state() = state;
    }

    /// Those of several logs that can be read. A ring may have removed its oldest one meanwhile, and one that
    /// has just begun has no record yet.
    fn open_readable(&self, error: LogError, options: &ReadOptions) -> Result<Log, LogError> {
        if self.paths.len() < 2 {
            return Err(error);
        }
        let (mut readable, mut unread) = (Vec::new(), Vec::new());
        for path in &self.paths {
            match Log::open(path, options) {
                Ok(_) => readable.push(path),
                Err(why) if path.exists() => unread.push(why.to_string()),
                Err(_) => {}
            }
        }
        *self.unread.lock().unwrap_or_else(PoisonError::into_inner) = unread;
        if readable.is_empty() { Err(error) } else { Log::open_all(&readable, options) }
    }

    /// Words with the name of the log in place of its path, which says nothing of an upload.
    fn without_paths(&self, words: String) -> String {
        match self.paths.as_slice() {
            [path] => words.replace(&*path.to_string_lossy(), &self.name),
            _ => words,
        }
    }

    /// Says how much of an upload has come.
    pub(crate) fn came(&self, bytes: u64) {
        self.bytes.store(bytes, Ordering::Relaxed);
        self.arrival.iter().for_each(|arrival| arrival.came(bytes));
    }

    /// All of an upload has come: it is opened next.
    pub(crate) fn end_arrival(&self) {
        self.arrival.iter().for_each(Arrival::end);
    }

    /// Whether some of an upload is still to come.
    pub(crate) fn is_arriving(&self) -> bool {
        self.arrival.as_ref().is_some_and(Arrival::goes_on)
    }

    /// Opens what has come of an upload. A format that has its index at the end cannot be read yet, which is
    /// no failure; nor is a record that is cut at the end.
    pub(crate) fn open_part(&self, options: &ReadOptions) {
        let Some(arrival) = &self.arrival else { return };
        arrival.read_once(|| {
            let options = ReadOptions { most_unpacked: Some(MOST_UNPACKED), ..options.clone() };
            let opened = Log::open_all_while(&self.paths, &options, || arrival.goes_on());
            let mut state = self.state();
            if let (Ok(Some(log)), Stage::Opening | Stage::Part(_)) = (opened, &*state)
                && arrival.goes_on()
            {
                *state = Stage::Part(log);
            }
        });
    }

    fn state(&self) -> MutexGuard<'_, Stage> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Its length when it was added, or so far.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Whether it was uploaded.
    pub(crate) const fn is_upload(&self) -> bool {
        self.is_upload
    }

    /// The log, once it is open; a host of it by name.
    fn log(&self, host: Option<&str>) -> Result<Log, Refused> {
        let log = match &*self.state() {
            Stage::Opening => {
                let words = format!("{} is still being read", visible(&self.name));
                return Err(Refused::new(hyper::StatusCode::CONFLICT, words));
            }
            Stage::Failed(why) => return Err(Refused::bad_request(why)),
            Stage::Part(log) | Stage::Ready(log) => log.clone(),
        };
        match host {
            None => Ok(log),
            Some(host) => log.of_host(host).ok_or_else(|| {
                Refused::not_found(format!("{} has no host {:?}", visible(&self.name), visible(host)))
            }),
        }
    }

    /// Its files, once they are open.
    pub(crate) fn files(&self) -> Result<Vec<PathBuf>, Refused> {
        let log = self.whole(None)?;
        Ok(log.parts().iter().map(|part| part.path().to_path_buf()).collect())
    }

    /// As [`LogHost::log`], but not of a log that is still on its way.
    fn whole(&self, host: Option<&str>) -> Result<Log, Refused> {
        if matches!(&*self.state(), Stage::Part(_)) {
            let words = format!("{} is still on its way", visible(&self.name));
            return Err(Refused::new(hyper::StatusCode::CONFLICT, words));
        }
        self.log(host)
    }

    /// What is wrong in it, as far as it is about a host. The log is read for it once.
    pub(crate) fn findings(
        &self,
        host: Option<&str>,
        options: &ReadOptions,
        language: Language,
    ) -> Result<Value, Refused> {
        self.whole(host)?;
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let analysis = match &*found {
            Some(found) => Arc::clone(found),
            None => {
                let made = findings::analysis(&self.files()?, options);
                let made = Arc::new(made.map_err(|refused| self.named(refused))?);
                *found = Some(Arc::clone(&made));
                made
            }
        };
        drop(found);
        Ok(findings::answer(std::slice::from_ref(&*analysis), host, language))
    }

    /// A report of it, or of its end, as one HTML file.
    pub(crate) fn report(
        &self,
        usual: &[String],
        options: &ReadOptions,
        (last, language): (Option<Duration>, Language),
    ) -> Result<String, Refused> {
        let wanted = ReportOptions {
            logs: self.files()?,
            against: Vec::new(),
            last,
            paths: Vec::new(),
            usual: usual.to_vec(),
            reading: options.clone(),
            locale: Locale::from(language),
        };
        let failed = |error: crate::ReportError| self.named(Refused::bad_request(error));
        let mut made = report(&wanted).map_err(failed)?;
        made.logs.names = vec![visible(&self.name).into_owned()];
        made.html().map_err(failed)
    }

    /// What was found in it, if that is known already.
    pub(crate) fn known_findings(&self, host: Option<&str>, language: Language) -> Option<Value> {
        // A host that the log does not have is refused by who looks.
        self.whole(host).ok()?;
        // While somebody looks it is not known.
        let found = self.found.try_lock().ok()?.clone()?;
        Some(findings::answer(std::slice::from_ref(&*found), host, language))
    }

    /// Its gaps, and where counters began anew. The log is read for it.
    pub(crate) fn gaps(&self, options: &ReadOptions) -> Result<Value, Refused> {
        let found = holes_of(&self.files()?, options);
        let found = found.map_err(|error| self.named(Refused::bad_request(error)))?;
        let gaps =
            found.gaps.iter().map(|gap| json!({ "time": milliseconds(gap.after), "seconds": gap.seconds }));
        let restarts = found.restarts.iter().flat_map(|(host, times)| {
            let name = visible(host);
            times.iter().map(move |time| json!({ "host": name.clone(), "time": milliseconds(*time) }))
        });
        Ok(json!({
            "gaps": gaps.take(MOST_HOLES).collect::<Vec<_>>(), "count": found.gap_count,
            "restarts": restarts.take(MOST_HOLES).collect::<Vec<_>>(), "objects": found.objects,
        }))
    }

    /// An error with the name of the log instead of a path, which says nothing of an upload.
    fn named(&self, refused: Refused) -> Refused {
        Refused { words: self.without_paths(refused.words), ..refused }
    }

    /// What it is, as JSON.
    pub(crate) fn json(&self, id: &str) -> Value {
        let mut about = json!({
            "id": id, "kind": "log", "name": visible(&self.name), "upload": self.is_upload,
            "closable": self.is_closable(),
            "bytes": self.bytes(),
        });
        let state = self.state().clone();
        match &state {
            Stage::Opening | Stage::Part(_) => {
                about["state"] = json!("opening");
                about["read"] = json!(self.read.count());
                if let Some(arrival) = self.arrival.as_ref().filter(|arrival| arrival.goes_on()) {
                    arrival.describe(&mut about);
                }
            }
            Stage::Failed(why) => {
                about["state"] = json!("failed");
                about["error"] = json!(visible(why));
            }
            Stage::Ready(_) => about["state"] = json!("ready"),
        }
        if let Stage::Part(log) | Stage::Ready(log) = &state {
            describe::log(log, &mut about);
            let unread = self.unread.lock().unwrap_or_else(PoisonError::into_inner);
            describe::unread(&unread, &mut about);
        }
        about
    }

    /// Names and objects in a language.
    pub(crate) fn info(&self, host: Option<&str>, language: Language) -> Result<SourceInfo, Refused> {
        Ok(SourceInfo::read(&mut self.log(host)?.source(), Locale::from(language), &Definitions::None)?)
    }

    /// The instances of an object, of the whole log.
    pub(crate) fn instances(
        &self,
        host: Option<&str>,
        object: TitleIndex,
    ) -> Result<Vec<tallymon::InstanceKey>, Refused> {
        Ok(query(&self.log(host)?, Language::ENGLISH)?.instances(object)?)
    }

    /// The counters that are shown when nobody says which.
    pub(crate) fn usual(&self, host: Option<&str>, paths: &[&str]) -> Result<Vec<String>, Refused> {
        let _moment = self.moment();
        Ok(tallymon_monitor::usual_of_log(&self.log(host)?, Language::ENGLISH.into(), paths)?)
    }

    /// As [`LogHost::usual`], of all hosts in turn.
    pub(crate) fn usual_of_all(&self, paths: &[&str]) -> Result<Vec<String>, Refused> {
        let _moment = self.moment();
        Ok(tallymon_monitor::usual_of_all_hosts(&self.log(None)?, Language::ENGLISH.into(), paths)?)
    }

    fn moment(&self) -> MutexGuard<'_, ()> {
        self.moment.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The rows of some paths in a range of time, as long as they are wanted.
    pub(crate) fn chart(
        &self,
        host: Option<&str>,
        paths: &[&str],
        range: &Range,
        language: Language,
        is_wanted: &dyn Fn() -> bool,
    ) -> Result<Chart, Refused> {
        let log = self.log(host)?;
        let (series, columns) = self.columns(&log, paths, language)?;
        let summary = log.summary();
        let (from, to) = (range.from.unwrap_or(summary.first), range.to.unwrap_or(summary.last));
        let mut rows = Decimator::new(columns.len(), from, to, range.points, range.aggregate);
        let mut statistics: Vec<Statistics> = columns.iter().map(|_| Statistics::default()).collect();
        let mut times: Option<(FileTime, FileTime)> = None;
        let each = |time: FileTime, row: LogRow<'_>| {
            if time < from || time > to {
                // Where the clock was set back, rows of the range may come later.
                return (time < from || !summary.is_in_order) && is_wanted();
            }
            let (first, last) = times.unwrap_or((time, time));
            times = Some((first.min(time), last.max(time)));
            for (known, one) in statistics.iter_mut().zip(row.values) {
                known.push(time, number_of(one));
            }
            rows.push(time, row.values.iter().map(number_of));
            is_wanted()
        };
        log.read_from(&columns, from, is_wanted, each)?;
        Ok(Chart { series, rows: rows.finish(), statistics, next: None, times })
    }

    /// When some counters crossed their thresholds, in all of the log.
    pub(crate) fn alerts(
        &self,
        host: Option<&str>,
        paths: &[&str],
        thresholds: &Thresholds,
        is_wanted: &dyn Fn() -> bool,
    ) -> Result<Value, Refused> {
        let log = self.log(host)?;
        let (series, columns) = self.columns(&log, paths, Language::ENGLISH)?;
        let watched = series.into_iter().zip(columns);
        let watched = watched.filter_map(|(one, column)| Some((thresholds.of_series(&one)?, one, column)));
        let (mut values, mut series, mut columns) = (Vec::new(), Vec::new(), Vec::new());
        for (value, one, column) in watched {
            values.push(value);
            series.push(one);
            columns.push(column);
        }
        let mut found = Crossings::new(values.into_iter());
        log.read_from(&columns, log.summary().first, is_wanted, |time, row| {
            found.take(time, row.values.iter().map(number_of));
            is_wanted()
        })?;
        Ok(found.json(&series))
    }

    /// The paths that the log has, and for the others the reason. Without one that it has, the first reason
    /// is the error.
    pub(crate) fn known<'p>(
        &self,
        paths: &'p [String],
        language: Language,
    ) -> Result<(Vec<&'p str>, Vec<String>), Refused> {
        let log = self.log(None)?;
        let _moment = self.moment();
        let mut queries = HostQueries::new(&log, language);
        let (mut known, mut reasons) = (Vec::new(), Vec::new());
        let mut first = None;
        for path in paths {
            let at = queries.of_path(path)?;
            match queries.query(at)?.add(path) {
                Ok(_) => known.push(path.as_str()),
                Err(error) => {
                    reasons.push(error.to_string());
                    first = first.or(Some(error));
                }
            }
        }
        match first {
            Some(error) if known.is_empty() => Err(error.into()),
            _ => Ok((known, reasons)),
        }
    }

    /// The paths of the series that some paths have.
    pub(crate) fn series_paths(
        &self,
        paths: &[&str],
        language: Language,
    ) -> Result<HashSet<String>, Refused> {
        let (series, _) = self.columns(&self.log(None)?, paths, language)?;
        Ok(series.into_iter().map(|one| one.path).collect())
    }

    /// The columns that some paths mean.
    fn columns(
        &self,
        log: &Log,
        paths: &[&str],
        language: Language,
    ) -> Result<(Vec<SeriesInfo>, Vec<usize>), Refused> {
        let _moment = self.moment();
        let mut queries = HostQueries::new(log, language);
        let mut handles = Vec::new();
        for path in paths {
            let at = queries.of_path(path)?;
            handles.push((at, queries.query(at)?.add(path)?));
        }
        for (_, query) in &mut queries.known {
            query.collect()?;
        }
        let (mut series, mut columns) = (Vec::new(), Vec::new());
        for (host, query, handle) in handles
            .iter()
            .filter_map(|(at, handle)| queries.known.get(*at).map(|(host, query)| (host, query, *handle)))
        {
            for reading in query.readings_of(handle) {
                let column = host.column(reading.object, reading.counter, reading.instance.as_ref());
                if let Some(column) = column.filter(|column| !columns.contains(column)) {
                    let mut info = SeriesInfo::of_reading(&reading, query.path(handle), query.names());
                    if host.host() != log.host() {
                        info.add_host(host.host());
                    }
                    series.push(info);
                    columns.push(column);
                }
            }
        }
        if columns.len() > MOST_SERIES {
            let words = format!("these paths mean {} counters: ask for at most {MOST_SERIES}", columns.len());
            return Err(Refused::bad_request(words));
        }
        Ok((series, columns))
    }

    /// Readings of a path at a time, with the samples of the log.
    pub(crate) fn readings(
        &self,
        host: Option<&str>,
        path: &str,
        time: FileTime,
        language: Language,
    ) -> Result<(Vec<Reading>, SourceInfo), Refused> {
        let _moment = self.moment();
        let log = self.log(host)?;
        log.set_time(time);
        let mut query = query(&log, language)?;
        query.add(path)?;
        query.collect()?;
        let mut readings = query.readings();
        log.complete(
            &mut readings,
            &tallymon::core::counter::Format { cap100: false, ..Default::default() },
        )?;
        Ok((readings, query.info()))
    }

    /// The providers at a time, or at the end, and how long their collections took in all of the log.
    pub(crate) fn providers(
        &self,
        host: Option<&str>,
        time: Option<FileTime>,
        is_wanted: &dyn Fn() -> bool,
    ) -> Result<ProviderList, Refused> {
        let moment = self.moment();
        let log = self.log(host)?;
        log.set_time(time.unwrap_or(log.summary().last));
        let mut query = query(&log, Language::ENGLISH)?;
        let reports_health = query.add(PROVIDERS_PATH).is_ok();
        if reports_health {
            query.collect()?;
        }
        drop(moment);
        let times = if reports_health { self.times(&log, &query, is_wanted)? } else { Arc::default() };
        Ok(ProviderList::of(&query, reports_health, &times))
    }

    /// How long the collections of each provider took. The log is read for it once, when all of it is there.
    fn times(
        &self,
        log: &Log,
        query: &Query,
        is_wanted: &dyn Fn() -> bool,
    ) -> Result<Arc<CollectTimes>, Refused> {
        if self.is_opening() {
            return Ok(Arc::default());
        }
        if let Some(found) = self.known_times().get(log.host()) {
            return Ok(Arc::clone(found));
        }
        // Others learn meanwhile what is known, so the lock is not held.
        let found = Arc::new(LogTimes::of(log, query).read(log, is_wanted)?);
        if is_wanted() {
            self.known_times().insert(log.host().to_owned(), Arc::clone(&found));
        }
        Ok(found)
    }

    fn known_times(&self) -> MutexGuard<'_, HashMap<String, Arc<CollectTimes>>> {
        self.times.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether all of the log must be read before its providers are known.
    pub(crate) fn reads_all_for_providers(&self, host: Option<&str>) -> bool {
        !self.is_opening() && self.log(host).is_ok_and(|log| !self.known_times().contains_key(log.host()))
    }

    /// The times of its first and its last record.
    pub(crate) fn ends(&self) -> Result<(FileTime, FileTime), Refused> {
        let log = self.log(None)?;
        Ok((log.summary().first, log.summary().last))
    }

    /// The overview at a time.
    pub(crate) fn overview<T>(
        &self,
        host: Option<&str>,
        time: Option<FileTime>,
        texts: bool,
        then: impl FnOnce(&Overview, Option<FileTime>, Option<&ProcessTexts>) -> T,
    ) -> Result<T, Refused> {
        let _moment = self.moment();
        let log = self.log(host)?;
        let time = time.unwrap_or(log.summary().last);
        log.set_time(time);
        let (mut counters, mut processes) =
            (query(&log, Language::ENGLISH)?, query(&log, Language::ENGLISH)?);
        let mut model = Overview::new(OVERVIEW_BUDGET, &mut counters, &mut processes);
        processes.collect()?;
        counters.collect()?;
        let readings = counters.readings();
        model.take_counts(time, &readings);
        let places = model.expect_rows(&counters, &readings);
        let (mut positions, mut columns) = (Vec::new(), Vec::new());
        for (reading, place) in readings.iter().zip(places) {
            let column = log.column(reading.object, reading.counter, reading.instance.as_ref());
            if let (Some(place), Some(column)) = (place, column)
                && !positions.contains(&place)
            {
                positions.push(place);
                columns.push(column);
            }
        }
        model.rows_mut().begin_rows();
        let summary = log.summary();
        let range = summary.last.0.saturating_sub(summary.first.0);
        let step = range.checked_div(summary.records.saturating_sub(1)).unwrap_or(0).max(1);
        let from = FileTime(time.0.saturating_sub(step.saturating_mul(OVERVIEW_ROWS as u64)));
        let mut newest = None;
        log.read_from(
            &columns,
            from,
            || true,
            |row, values| {
                if row > time {
                    return newest.is_none();
                }
                if row >= from {
                    newest = Some(row);
                    model.rows_mut().add_row(row, &positions, values);
                }
                true
            },
        )?;
        if let Some(newest) = newest {
            model.processes.take(newest, &processes, true);
        }
        let mut known = ProcessTexts::over(query(&log, Language::ENGLISH)?);
        if texts && known.has_any() {
            known.query.collect()?;
            known.take();
        }
        Ok(then(&model, newest, texts.then_some(&known)))
    }

    /// The largest instances at a time.
    pub(crate) fn contributors(
        &self,
        host: Option<&str>,
        path: Option<&str>,
        time: FileTime,
        language: Language,
    ) -> Result<(Option<FileTime>, Vec<TopGroup>, Names), Refused> {
        let _moment = self.moment();
        let log = self.log(host)?;
        log.set_time(time);
        let mut query = query(&log, language)?;
        let chosen = path.and_then(|path| {
            let parsed = CounterPath::parse(path).ok()?.path;
            let object = query.object(path, &parsed.object).ok()?;
            let known = query.catalog().object(object)?;
            let text = parsed.counter.to_string();
            let counter = known.visible_counters().find(|counter| query.names().is(counter.name, &text))?;
            Some((object, counter.name))
        });
        let mut wanted = causes::wanted(std::iter::empty());
        wanted.extend(chosen);
        let mut top = Top::default();
        for (object, counter) in wanted {
            let known = query.catalog().object(object).filter(|known| known.has_instances);
            if known.is_some_and(|known| known.counter(counter).is_some())
                && top.watch(&query, object, counter)
            {
                watch_top(&mut query, object, counter);
            }
        }
        let at = query.collect()?;
        let mut groups = top.once(&query, &Top::readings(&query));
        groups.sort_by_key(|group| causes::rank(chosen, (group.object, group.counter)));
        Ok((Some(at), groups, query.names().clone()))
    }
}

impl Drop for LogHost {
    fn drop(&mut self) {
        if self.is_upload {
            // The folder of uploads is removed at the end anyway.
            self.paths.iter().for_each(|path| drop(std::fs::remove_file(path)));
        }
    }
}

/// The number of a value of a log; NaN if it is none.
fn number_of(value: &Result<tallymon::core::flow::Value, NoValue>) -> f64 {
    value.as_ref().ok().and_then(tallymon::core::flow::Value::as_f64).unwrap_or(f64::NAN)
}

#[cfg(test)]
#[path = "log_host_tests.rs"]
mod tests;
