//! A log: read when somebody looks at it.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};
use tallymon::analyze::Analysis;
use tallymon::core::path::CounterPath;
use tallymon::core::time::FileTime;
use tallymon::core::title::{Language, TitleIndex};
use tallymon::core::visible::visible;
use tallymon::log::{BytesRead, ReadOptions};
use tallymon::{Locale, Log, LogRow, LogSummary, Query, Reading, SourceInfo};
use tallymon_monitor::model::overview::Overview;
use tallymon_monitor::model::{PROVIDERS_PATH, Top, TopGroup, causes};

use crate::chart::{Chart, Range, SeriesInfo};
use crate::decimate::Decimator;
use crate::findings;
use crate::http::Refused;
use crate::live::{MOST_SERIES, watch_top};
use crate::parameters::milliseconds;
use crate::providers::ProviderList;
use crate::statistics::Statistics;

/// How many rows before a time the overview shows.
const OVERVIEW_ROWS: usize = 160;
/// Bytes for the overview of a log.
const OVERVIEW_BUDGET: usize = 8 << 20;

/// A log that was given on the command line, or uploaded.
#[derive(Debug)]
pub(crate) struct LogHost {
    /// What the user calls it.
    pub(crate) name: String,
    path: PathBuf,
    /// The file is ours, and is removed with this.
    is_upload: bool,
    bytes: u64,
    read: BytesRead,
    state: Mutex<Stage>,
    /// What was found in it, once somebody asked; one request at a time looks.
    found: Mutex<Option<Arc<Analysis>>>,
    /// The log has one current time, which only one request may use.
    moment: Mutex<()>,
}

/// How far a log was read.
#[derive(Debug, Clone)]
enum Stage {
    Opening,
    Ready(Log),
    Failed(String),
}

/// The most bytes that an uploaded log is unpacked to, if it is compressed.
const MOST_UNPACKED: u64 = 1 << 30;

impl LogHost {
    /// A log that is still to be opened.
    pub(crate) fn new(path: &Path, name: String, is_upload: bool) -> Arc<LogHost> {
        let bytes = std::fs::metadata(path).map_or(0, |about| about.len());
        Arc::new(LogHost {
            name,
            path: path.to_path_buf(),
            is_upload,
            bytes,
            read: BytesRead::default(),
            state: Mutex::new(Stage::Opening),
            moment: Mutex::new(()),
            found: Mutex::default(),
        })
    }

    /// A log that is open already.
    pub(crate) fn of_log(log: Log) -> Arc<LogHost> {
        Arc::new(LogHost {
            name: String::new(),
            path: log.path().to_path_buf(),
            is_upload: false,
            bytes: 0,
            read: BytesRead::default(),
            state: Mutex::new(Stage::Ready(log)),
            moment: Mutex::new(()),
            found: Mutex::default(),
        })
    }

    /// Reads the log once, for what is in it. Everything else waits until then, and says so.
    pub(crate) fn open(&self, options: &ReadOptions) {
        let mut options = ReadOptions { bytes_read: self.read.clone(), ..options.clone() };
        if self.is_upload {
            options.most_unpacked = Some(MOST_UNPACKED);
        }
        let state = match Log::open(&self.path, &options) {
            Ok(log) => Stage::Ready(log),
            // The path of an upload says nothing to the user.
            Err(error) => Stage::Failed(error.to_string().replace(&*self.path.to_string_lossy(), &self.name)),
        };
        *self.state() = state;
    }

    fn state(&self) -> MutexGuard<'_, Stage> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Its length when it was added.
    pub(crate) const fn bytes(&self) -> u64 {
        self.bytes
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
            Stage::Ready(log) => log.clone(),
        };
        match host {
            None => Ok(log),
            Some(host) => log.of_host(host).ok_or_else(|| {
                Refused::not_found(format!("{} has no host {:?}", visible(&self.name), visible(host)))
            }),
        }
    }

    /// Its file, once it is open.
    pub(crate) fn file(&self) -> Result<&Path, Refused> {
        self.log(None)?;
        Ok(&self.path)
    }

    /// What is wrong in it, as far as it is about a host. The log is read for it once.
    pub(crate) fn findings(
        &self,
        host: Option<&str>,
        options: &ReadOptions,
        language: Language,
    ) -> Result<Value, Refused> {
        self.log(host)?;
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let analysis = match &*found {
            Some(found) => Arc::clone(found),
            None => {
                let made = findings::analysis(self.path.clone(), options);
                let made = Arc::new(made.map_err(|refused| self.named(refused))?);
                *found = Some(Arc::clone(&made));
                made
            }
        };
        drop(found);
        Ok(findings::answer(std::slice::from_ref(&*analysis), host, language))
    }

    /// An error with the name of the log instead of a path, which says nothing of an upload.
    fn named(&self, refused: Refused) -> Refused {
        Refused { words: refused.words.replace(&*self.path.to_string_lossy(), &self.name), ..refused }
    }

    /// What it is, as JSON.
    pub(crate) fn json(&self, id: &str) -> Value {
        let mut about = json!({
            "id": id, "kind": "log", "name": visible(&self.name), "upload": self.is_upload,
            "bytes": self.bytes,
        });
        match &*self.state() {
            Stage::Opening => {
                about["state"] = json!("opening");
                about["read"] = json!(self.read.count());
            }
            Stage::Failed(why) => {
                about["state"] = json!("failed");
                about["error"] = json!(visible(why));
            }
            Stage::Ready(log) => {
                let summary = log.summary();
                about["state"] = json!("ready");
                about["format"] = json!(summary.format.info().name);
                about["records"] = json!(summary.records);
                about["first"] = json!(milliseconds(summary.first));
                about["last"] = json!(milliseconds(summary.last));
                about["columns"] = json!(log.columns().len());
                let names = summary.hosts.iter().map(|host| visible(host));
                about["hosts"] = names.map(|name| json!(name)).collect();
                about["minutes"] = json!(summary.local_minutes);
                about["clock"] = clock(summary);
                about["damage"] = json!(summary.notes.damage_count);
                let seconds = summary.last.0.saturating_sub(summary.first.0) as f64 / 1e7;
                let steps = summary.records.saturating_sub(1);
                about["interval"] = json!((steps > 0).then(|| seconds / steps as f64));
            }
        }
        about
    }

    /// Names and objects in a language.
    pub(crate) fn info(&self, host: Option<&str>, language: Language) -> Result<SourceInfo, Refused> {
        Ok(SourceInfo::read(&mut self.log(host)?.source(), Locale::from(language))?)
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

    /// The rows of some paths in a range of time.
    pub(crate) fn chart(
        &self,
        host: Option<&str>,
        paths: &[&str],
        range: &Range,
        language: Language,
    ) -> Result<Chart, Refused> {
        let log = self.log(host)?;
        let (series, columns) = self.columns(&log, paths, language)?;
        let summary = log.summary();
        let (from, to) = (range.from.unwrap_or(summary.first), range.to.unwrap_or(summary.last));
        let mut rows = Decimator::new(columns.len(), from, to, range.points);
        let mut statistics: Vec<Statistics> = columns.iter().map(|_| Statistics::default()).collect();
        let mut times: Option<(FileTime, FileTime)> = None;
        let each = |time: FileTime, row: LogRow<'_>| {
            // The clock of a log may have been set back: later rows are looked at, too.
            if time < from || time > to {
                return true;
            }
            let (first, last) = times.unwrap_or((time, time));
            times = Some((first.min(time), last.max(time)));
            let value = |value: &Result<tallymon::core::flow::Value, _>| {
                value.as_ref().ok().and_then(tallymon::core::flow::Value::as_f64).unwrap_or(f64::NAN)
            };
            for (known, one) in statistics.iter_mut().zip(row.values) {
                known.push(time, value(one));
            }
            rows.push(time, row.values.iter().map(value));
            true
        };
        log.read_from(&columns, from, || true, each)?;
        Ok(Chart { series, rows: rows.finish(), statistics, next: None, times })
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
        let mut queries = HostQueries { log: &log, language, known: Vec::new() };
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

    /// The columns that some paths mean.
    fn columns(
        &self,
        log: &Log,
        paths: &[&str],
        language: Language,
    ) -> Result<(Vec<SeriesInfo>, Vec<usize>), Refused> {
        let _moment = self.moment();
        let mut queries = HostQueries { log, language, known: Vec::new() };
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

    /// The providers at a time, or at the end.
    pub(crate) fn providers(
        &self,
        host: Option<&str>,
        time: Option<FileTime>,
    ) -> Result<ProviderList, Refused> {
        let _moment = self.moment();
        let log = self.log(host)?;
        log.set_time(time.unwrap_or(log.summary().last));
        let mut query = query(&log, Language::ENGLISH)?;
        let reports_health = query.add(PROVIDERS_PATH).is_ok();
        if reports_health {
            query.collect()?;
        }
        Ok(ProviderList::of(&query, reports_health))
    }

    /// The overview at a time.
    pub(crate) fn overview<T>(
        &self,
        host: Option<&str>,
        time: Option<FileTime>,
        then: impl FnOnce(&Overview, Option<FileTime>) -> T,
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
        Ok(then(&model, newest))
    }

    /// The largest instances at a time.
    pub(crate) fn contributors(
        &self,
        host: Option<&str>,
        path: Option<&str>,
        time: FileTime,
    ) -> Result<(Option<FileTime>, Vec<TopGroup>), Refused> {
        let _moment = self.moment();
        let log = self.log(host)?;
        log.set_time(time);
        let mut query = query(&log, Language::ENGLISH)?;
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
        Ok((Some(at), groups))
    }
}

impl Drop for LogHost {
    fn drop(&mut self) {
        if self.is_upload {
            // The folder of uploads is removed at the end anyway.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Queries over the hosts of a log.
struct HostQueries<'l> {
    log: &'l Log,
    language: Language,
    known: Vec<(Log, Query)>,
}

impl HostQueries<'_> {
    /// The number of the query that a path belongs to: that of its host, or of the first one.
    fn of_path(&mut self, path: &str) -> Result<usize, Refused> {
        let host = CounterPath::of_text(path).ok().and_then(|path| path.machine);
        let log = host.and_then(|host| self.log.of_host(&host)).unwrap_or_else(|| self.log.clone());
        if let Some(at) = self.known.iter().position(|(known, _)| known.host() == log.host()) {
            return Ok(at);
        }
        let query = query(&log, self.language)?;
        self.known.push((log, query));
        Ok(self.known.len().saturating_sub(1))
    }

    fn query(&mut self, at: usize) -> Result<&mut Query, Refused> {
        let known = self.known.get_mut(at).map(|(_, query)| query);
        known.ok_or_else(|| Refused::not_found("the log has no such host"))
    }
}

fn query(log: &Log, language: Language) -> Result<Query, Refused> {
    Ok(Query::new(Box::new(log.source()), Locale::from(language))?)
}

/// The clock of a log: its zone at the first record, and from when on it is how many minutes from UTC.
pub(crate) fn clock(summary: &LogSummary) -> Value {
    let clock = &summary.clock;
    let (name, bias) = clock.zone_label(summary.first);
    let (minutes, sign) = (bias.unsigned_abs(), if bias > 0 { '-' } else { '+' });
    let distance = format!("UTC{sign}{:02}:{:02}", minutes / 60, minutes % 60);
    let zone = if name.starts_with("UTC") { name } else { format!("{name}, {distance}") };
    let changes = clock.changes().iter().map(|(time, minutes)| json!([milliseconds(*time), minutes]));
    json!({
        "zone": (!clock.is_zone_unknown()).then(|| visible(&zone)),
        "changes": changes.collect::<Vec<_>>(),
    })
}
