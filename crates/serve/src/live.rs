//! This machine: one sampler, one query and one history for everybody who looks.
//!
//! A thread samples at a fixed interval what somebody has asked for and the overview, whether or not anybody
//! is connected: a page that comes back finds no hole. A path that nobody has asked for for a while is
//! dropped.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

use hyper::StatusCode;
use serde_json::Value;
use tallymon::analyze::Analysis;
use tallymon::core::flow::{Absence, NoValue, SourceError, SourceErrorKind};
use tallymon::core::path::CounterPath;
use tallymon::core::time::FileTime;
use tallymon::core::title::{Language, TitleIndex};
use tallymon::log::ReadOptions;
use tallymon::sample::{Listener, Tick};
use tallymon::{CounterHandle, InstanceKey, Locale, Location, Query, Reading, Sampler, SourceInfo};
use tallymon_monitor::LocalTime;
use tallymon_monitor::model::overview::{NetworkAddresses, OVERVIEW_SHARE, Overview};
use tallymon_monitor::model::{DEFAULT_BUDGET, Monitor, Series, Top, TopGroup, causes};
use tallymon_monitor::save::native;
use tokio::sync::watch;

use crate::chart::{Chart, Range, SeriesInfo};
use crate::decimate::Decimator;
use crate::findings;
use crate::http::Refused;
use crate::providers::{ProviderList, ProviderWatch};
use crate::statistics::Statistics;
use crate::upload::{Temporary, Uploads};

/// The most paths that are sampled at a time.
const MOST_PATHS: usize = 512;
/// The most series of all paths; a path that would have more is refused when it is added.
pub(crate) const MOST_SERIES: usize = 20_000;
/// The most values and rows that are read at a time: while they are, no sample is taken.
const MOST_VALUES: usize = 20_000;
const MOST_ROWS: usize = 300;
/// A path that nobody has asked for for so long is dropped.
const FORGOTTEN: Duration = Duration::from_secs(600);
/// A source that has not answered for so long is in trouble.
const LATE: Duration = Duration::from_secs(3);
/// How often the history is looked through for findings, at most.
const FINDINGS_PERIOD: Duration = Duration::from_secs(10);
/// How long to wait for an answer of the source.
const PATIENCE: Duration = Duration::from_secs(60);

/// Records of the history have UTC: pages are on the clocks of their browsers.
fn utc(time: FileTime) -> LocalTime {
    LocalTime { time: time.system_time(), zone: "UTC".into(), bias: 0 }
}

/// The live machine.
#[derive(Debug)]
pub(crate) struct Live {
    state: Mutex<State>,
    /// The number of the row that comes next, for those who wait for it.
    news: watch::Sender<u64>,
    /// Asks the source questions besides samples.
    questions: Mutex<Listener>,
    infos: Mutex<HashMap<Language, SourceInfo>>,
    interval: Duration,
    /// When the history was looked through, and what was found.
    found: Mutex<Option<(Instant, Vec<Analysis>)>>,
}

struct State {
    query: Query,
    listener: Listener,
    monitor: Monitor,
    entries: HashMap<String, Entry>,
    counters: Query,
    processes: Query,
    overview_listener: Listener,
    overview: Overview,
    /// The addresses of this machine; `None` for another one.
    network: Option<NetworkAddresses>,
    providers: ProviderWatch,
    /// Why the newest row has no sample.
    trouble: Option<String>,
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("State").field("entries", &self.entries.len()).finish_non_exhaustive()
    }
}

#[derive(Debug)]
struct Entry {
    handle: CounterHandle,
    asked: Instant,
    /// The paths of its newest readings: another entry may have asked for the same series.
    paths: HashSet<String>,
}

impl Live {
    /// Starts to sample a source.
    pub(crate) fn start(
        location: Location,
        interval: Duration,
        locale: Locale,
    ) -> Result<Arc<Live>, SourceError> {
        let io = |error: std::io::Error| SourceError::new(SourceErrorKind::Io, error.to_string());
        let is_here = matches!(location, Location::Local | Location::Machine { .. });
        let sampler = Sampler::start(move || tallymon::open(&location)).map_err(io)?;
        let info = sampler.info(locale).wait(PATIENCE).unwrap_or_else(|| Err(no_answer()))?;
        let query = Query::over(info.clone());
        let (mut counters, mut processes) = (Query::over(info.clone()), Query::over(info.clone()));
        let share = DEFAULT_BUDGET / OVERVIEW_SHARE;
        let overview = Overview::new(share, &mut counters, &mut processes);
        let overview_listener = sampler.listener();
        let wanted = counters.request().union(&processes.request());
        overview_listener.want(wanted.unwrap_or_else(|| counters.request()));
        let state = State {
            query,
            listener: sampler.listener(),
            monitor: Monitor::new(DEFAULT_BUDGET.saturating_sub(share)),
            entries: HashMap::new(),
            counters,
            processes,
            overview_listener,
            overview,
            network: is_here.then(|| NetworkAddresses::new(tallymon::Host::interface_addresses)),
            providers: ProviderWatch::new(info.clone(), sampler.listener()),
            trouble: None,
        };
        state.listener.want(state.query.request());
        let live = Arc::new(Live {
            state: Mutex::new(state),
            news: watch::Sender::new(0),
            questions: Mutex::new(sampler.listener()),
            infos: Mutex::new(HashMap::from([(locale.language, info)])),
            interval,
            found: Mutex::default(),
        });
        let weak = Arc::downgrade(&live);
        thread::Builder::new()
            .name("rows".into())
            .spawn(move || sample(&weak, sampler, interval))
            .map_err(io)?;
        Ok(live)
    }

    /// Time between two rows.
    pub(crate) const fn interval(&self) -> Duration {
        self.interval
    }

    /// Nothing in here panics while it is locked.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A receiver that hears of new rows.
    pub(crate) fn news(&self) -> watch::Receiver<u64> {
        self.news.subscribe()
    }

    /// Samples some paths from now on, if they are not sampled yet.
    pub(crate) fn want(&self, paths: &[&str]) -> Result<(), Refused> {
        let mut renewed = None;
        for path in paths {
            let mut state = self.state();
            match state.want(path) {
                Ok(()) => {}
                // A program may have published the object since the names were read.
                Err(_) if renewed.is_none() => {
                    drop(state);
                    let fresh = self.ask_info(self.state().query.names().locale())?;
                    state = self.state();
                    state.renew(fresh);
                    renewed = Some(());
                    state.want(path)?;
                }
                Err(refused) => return Err(refused),
            }
        }
        Ok(())
    }

    /// The rows of some paths in a range of time.
    pub(crate) fn chart(&self, paths: &[&str], range: &Range) -> Result<Chart, Refused> {
        self.want(paths)?;
        Ok(self.state().chart(paths, range))
    }

    /// The rows of some paths from `after` on, of at most so many values, and their series unless these are
    /// the known ones.
    pub(crate) fn rows(&self, paths: &[&str], after: u64, known: Option<&[SeriesInfo]>) -> NewRows {
        let mut state = self.state();
        state.touch(paths);
        let state = &*state;
        let next = state.monitor.next();
        let series = state.series_of(paths);
        let is_known = known.is_some_and(|known| {
            known.len() == series.len()
                && known.iter().zip(&series).all(|(known, now)| known.path == now.path)
        });
        let first = after.max(state.monitor.rows().start);
        let most = MOST_VALUES.checked_div(series.len()).unwrap_or(MOST_ROWS).clamp(1, MOST_ROWS);
        let mut rows = Vec::new();
        for row in (first..next).take(most) {
            let Some(time) = state.monitor.time(row) else { continue };
            let value = |series: &&Series| series.at(next, row).and_then(Result::ok).unwrap_or(f64::NAN);
            rows.push(LiveRow { row, time, values: series.iter().map(value).collect() });
        }
        let series = (!is_known).then(|| series.iter().map(|series| SeriesInfo::of(series)).collect());
        NewRows { series, rows, next, trouble: state.trouble.clone() }
    }

    /// The number of the row that comes next.
    pub(crate) fn next(&self) -> u64 {
        *self.news.borrow()
    }

    /// Why the newest row has no sample.
    pub(crate) fn trouble(&self) -> Option<String> {
        self.state().trouble.clone()
    }

    /// Time of the first and the last row that are kept.
    pub(crate) fn times(&self) -> Option<(FileTime, FileTime)> {
        let state = self.state();
        let rows = state.monitor.rows();
        Some((state.monitor.time(rows.start)?, state.monitor.time(rows.end.checked_sub(1)?)?))
    }

    /// The overview at a time, or now.
    pub(crate) fn overview<T>(
        &self,
        time: Option<FileTime>,
        then: impl FnOnce(&Overview, Option<FileTime>) -> T,
    ) -> T {
        let state = self.state();
        let newest = state.overview.newest();
        let at = time.and_then(|time| {
            let rows = state.overview.rows();
            rows.row_at(time).and_then(|row| rows.time(row))
        });
        then(&state.overview, at.or(newest))
    }

    /// What is wrong in the history of the chart's counters and of the overview's. Two files of `uploads` have
    /// it meanwhile. All who ask within [`FINDINGS_PERIOD`] get the same answer.
    pub(crate) fn findings(
        &self,
        uploads: &Arc<Uploads>,
        options: &ReadOptions,
        language: Language,
    ) -> Result<Value, Refused> {
        let mut last = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((at, found)) = &*last
            && at.elapsed() < FINDINGS_PERIOD
        {
            return Ok(findings::answer(found, None, language));
        }
        let system = self.info(Language::ENGLISH, false)?.system_name;
        let host = if system.is_empty() { "." } else { system.as_str() };
        let failed = |error: std::io::Error| {
            let words = format!("the history can not be written for its analysis: {error}");
            Refused::new(StatusCode::INSUFFICIENT_STORAGE, words)
        };
        let mut analyses = Vec::new();
        for of_overview in [true, false] {
            // No upload: it takes less than the history in memory, and is gone before the answer.
            let temporary = Temporary::new(uploads, 0)?;
            {
                let file = std::fs::File::create_new(temporary.path()).map_err(failed)?;
                let state = self.state();
                let rows = if of_overview { state.overview.rows() } else { &state.monitor };
                if rows.rows().count() < 2 || rows.series().is_empty() {
                    continue;
                }
                native(rows, host, &utc, file).map_err(failed)?;
            }
            analyses.push(findings::analysis(temporary.path().to_path_buf(), options)?);
        }
        let found = findings::answer(&analyses, None, language);
        *last = Some((Instant::now(), analyses));
        Ok(found)
    }

    /// The providers of the source, and their health.
    pub(crate) fn providers(&self) -> ProviderList {
        self.state().providers.ask()
    }

    /// The largest instances at a time: likely causes of what the series of a path shows.
    pub(crate) fn contributors(
        &self,
        path: Option<&str>,
        time: FileTime,
    ) -> (Option<FileTime>, Vec<TopGroup>) {
        let state = self.state();
        let Some(row) = state.monitor.row_at(time) else { return (None, Vec::new()) };
        let chosen = path.and_then(|path| {
            let found =
                state.monitor.series().iter().find(|series| series.path == path || series.asked == path);
            found.map(|series| (series.object, series.counter))
        });
        let mut groups = state.monitor.top.at(state.monitor.next(), row);
        groups.sort_by_key(|group| causes::rank(chosen, (group.object, group.counter)));
        (state.monitor.time(row), groups)
    }

    /// Names and objects in a language, as they are now when `fresh`.
    pub(crate) fn info(&self, language: Language, fresh: bool) -> Result<SourceInfo, SourceError> {
        let locale = Locale { language, ..self.state().query.names().locale() };
        if !fresh && let Some(known) = self.infos().get(&language) {
            return Ok(known.clone());
        }
        let info = self.ask_info(locale)?;
        self.infos().insert(language, info.clone());
        Ok(info)
    }

    fn infos(&self) -> MutexGuard<'_, HashMap<Language, SourceInfo>> {
        self.infos.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ask_info(&self, locale: Locale) -> Result<SourceInfo, SourceError> {
        let pending = self.questions.lock().unwrap_or_else(PoisonError::into_inner).info(locale);
        pending.wait(PATIENCE).unwrap_or_else(|| Err(no_answer()))
    }

    /// The instances of an object.
    pub(crate) fn instances(&self, object: TitleIndex) -> Result<Vec<InstanceKey>, SourceError> {
        let names = self.state().query.names().locale().instances;
        let pending = self.questions.lock().unwrap_or_else(PoisonError::into_inner).instances(object, names);
        pending.wait(PATIENCE).unwrap_or_else(|| Err(no_answer()))
    }

    /// The newest readings of a path, with the samples behind them.
    pub(crate) fn readings(&self, path: &str) -> Result<Vec<Reading>, Refused> {
        self.want(&[path])?;
        let state = self.state();
        let handle = state.entries.get(path).map(|entry| entry.handle);
        Ok(handle.map_or_else(Vec::new, |handle| state.query.readings_if(|value| value.handle == handle)))
    }

    /// Takes a row.
    fn take(&self, tick: &Tick) {
        let mut state = self.state();
        state.take(tick);
        let next = state.monitor.next();
        drop(state);
        self.news.send_replace(next);
    }
}

/// Rows that came, see [`Live::rows`].
#[derive(Debug)]
pub(crate) struct NewRows {
    /// The series of the values, unless these are the known ones.
    pub(crate) series: Option<Vec<SeriesInfo>>,
    /// The rows, oldest first.
    pub(crate) rows: Vec<LiveRow>,
    /// Number of the row that comes next.
    pub(crate) next: u64,
    /// Why the newest row has no sample.
    pub(crate) trouble: Option<String>,
}

/// A row of some series.
#[derive(Debug)]
pub(crate) struct LiveRow {
    /// Its number.
    pub(crate) row: u64,
    /// Its time.
    pub(crate) time: FileTime,
    /// NaN where there is no value.
    pub(crate) values: Vec<f64>,
}

impl State {
    fn want(&mut self, path: &str) -> Result<(), Refused> {
        if let Some(entry) = self.entries.get_mut(path) {
            entry.asked = Instant::now();
            return Ok(());
        }
        if self.entries.len() >= MOST_PATHS {
            let words =
                format!("{MOST_PATHS} counter paths are sampled already; remove some, or wait 10 minutes");
            return Err(Refused::new(StatusCode::TOO_MANY_REQUESTS, words));
        }
        if self.monitor.series().len() >= MOST_SERIES {
            let words = format!("{MOST_SERIES} counters of instances are sampled already; ask for fewer");
            return Err(Refused::new(StatusCode::TOO_MANY_REQUESTS, words));
        }
        let handle = self.query.add(path)?;
        self.monitor.expect(path);
        self.entries.insert(path.to_string(), Entry { handle, asked: Instant::now(), paths: HashSet::new() });
        self.listener.want(self.query.request());
        // Rates need two samples: the first one now, the second one with the next row.
        self.listener.prime();
        Ok(())
    }

    /// Notes that somebody still looks.
    fn touch(&mut self, paths: &[&str]) {
        for path in paths {
            if let Some(entry) = self.entries.get_mut(*path) {
                entry.asked = Instant::now();
            }
        }
    }

    /// Drops paths that nobody asks for any longer.
    fn forget(&mut self) {
        let gone: Vec<String> = self
            .entries
            .iter()
            .filter(|(_, entry)| entry.asked.elapsed() > FORGOTTEN)
            .map(|(path, _)| path.clone())
            .collect();
        for path in &gone {
            if let Some(entry) = self.entries.remove(path) {
                self.query.remove(entry.handle);
                self.monitor.remove_asked(path);
            }
        }
        if !gone.is_empty() {
            self.listener.want(self.query.request());
        }
    }

    /// Uses names and objects that were read anew. The history stays.
    fn renew(&mut self, info: SourceInfo) {
        let mut query = Query::over(info);
        for (path, entry) in &mut self.entries {
            if let Ok(handle) = query.add(path) {
                entry.handle = handle;
            }
        }
        for (object, counter) in self.monitor.top.counters() {
            watch_top(&mut query, object, counter);
        }
        self.query = query;
        self.listener.want(self.query.request());
        self.listener.prime();
    }

    fn take(&mut self, tick: &Tick) {
        self.providers.take(tick);
        let mut has_row = false;
        match tick.of(&self.listener) {
            Some(Ok(snapshot)) => {
                let time = self.query.accept(snapshot.clone());
                if tick.is_row {
                    let readings = Top::readings(&self.query);
                    self.note_paths(&readings);
                    self.monitor.take(time, &self.query, &readings);
                    has_row = true;
                }
                self.trouble = None;
            }
            Some(Err(error)) if tick.is_row => {
                self.miss(tick.time, error.to_string());
                return;
            }
            _ => {}
        }
        if let (Some(Ok(snapshot)), true) = (tick.of(&self.overview_listener), tick.is_row) {
            let time = self.counters.accept(snapshot.clone());
            self.processes.accept(snapshot.clone());
            self.overview.take(time, &self.counters);
            if let Some(network) = &mut self.network {
                network.tell(&mut self.overview);
            }
            self.overview.processes.take(time, &self.processes, true);
        }
        if has_row {
            self.forget();
            self.watch_causes();
        }
    }

    /// Which series each entry has now.
    fn note_paths(&mut self, readings: &[Reading]) {
        for entry in self.entries.values_mut() {
            entry.paths.clear();
        }
        let mut of: HashMap<CounterHandle, &mut Entry> =
            self.entries.values_mut().map(|entry| (entry.handle, entry)).collect();
        for reading in readings {
            if let Some(entry) = of.get_mut(&reading.handle) {
                entry.paths.insert(reading.path.clone());
            }
        }
    }

    /// No sample came.
    fn miss(&mut self, time: FileTime, why: String) {
        let absence = NoValue::NoData(Absence::ReadFailed);
        self.monitor.miss(time, absence);
        self.overview.miss(time, absence);
        self.trouble = Some(why);
    }

    /// Watches the instances that explain what is charted.
    fn watch_causes(&mut self) {
        let wanted = causes::wanted(self.monitor.series().iter().map(|series| (series, true)));
        let mut is_changed = false;
        for (object, counter) in wanted {
            let known = self.query.catalog().object(object).filter(|known| known.has_instances);
            if known.is_none_or(|known| known.counter(counter).is_none())
                || self.monitor.top.watches(object, counter)
                || !self.monitor.top.watch(&self.query, object, counter)
            {
                continue;
            }
            watch_top(&mut self.query, object, counter);
            is_changed = true;
        }
        if is_changed {
            self.listener.want(self.query.request());
        }
    }

    fn series_of(&self, paths: &[&str]) -> Vec<&Series> {
        let entries: Vec<&Entry> = paths.iter().filter_map(|path| self.entries.get(*path)).collect();
        let is_meant = |series: &&Series| {
            paths.contains(&series.asked.as_str())
                || entries.iter().any(|entry| entry.paths.contains(&series.path))
        };
        self.monitor.series().iter().filter(is_meant).collect()
    }

    fn chart(&self, paths: &[&str], range: &Range) -> Chart {
        let (monitor, next) = (&self.monitor, self.monitor.next());
        let series = self.series_of(paths);
        let all = monitor.rows();
        let begin = range.from.and_then(|from| monitor.row_at(from)).unwrap_or(all.start);
        let end = all.end;
        let last = || end.checked_sub(1).and_then(|row| monitor.time(row));
        let times = (monitor.time(begin), range.to.or_else(last));
        let (from, to) = (times.0.unwrap_or_default(), times.1.unwrap_or_default());
        let mut rows = Decimator::new(series.len(), from, to, range.points);
        let mut statistics: Vec<Statistics> = series.iter().map(|_| Statistics::default()).collect();
        for row in begin..end {
            let Some(time) = monitor.time(row) else { continue };
            if time > to || range.from.is_some_and(|from| time < from) {
                continue;
            }
            let values: Vec<f64> = series
                .iter()
                .map(|series| series.at(next, row).and_then(Result::ok).unwrap_or(f64::NAN))
                .collect();
            for (known, value) in statistics.iter_mut().zip(&values) {
                known.push(time, *value);
            }
            rows.push(time, values.into_iter());
        }
        let series = series.into_iter().map(SeriesInfo::of).collect();
        Chart { series, rows: rows.finish(), statistics, next: Some(next), times: None }
    }
}

/// Lets a query collect a counter of which the largest instances are kept.
pub(crate) fn watch_top(query: &mut Query, object: TitleIndex, counter: TitleIndex) {
    if let Ok(parsed) = CounterPath::parse(&format!("\\{}(*)\\{}", object.0, counter.0)) {
        // Object and counter exist: that was checked before.
        let _ = query.add_path(&Top::text(object, counter), &parsed.path);
    }
}

fn no_answer() -> SourceError {
    let words = format!("the source has not answered for {} s", PATIENCE.as_secs());
    SourceError::new(SourceErrorKind::Unreachable, words)
}

/// Takes a row at each interval as long as somebody holds the live machine.
fn sample(live: &Weak<Live>, mut sampler: Sampler, interval: Duration) {
    let mut due = Instant::now();
    loop {
        if let Some(live) = live.upgrade()
            && !sampler.tick()
        {
            // The row that is awaited comes late; there is none in between. Rows that were sent never change.
            let waited = sampler.waits_for().unwrap_or_default();
            if waited > LATE.max(interval.saturating_mul(2)) {
                let words = format!("the source has not answered for {} s", waited.as_secs());
                live.state().trouble = Some(words);
                live.news.send_modify(|_| {});
            }
        }
        due = due.checked_add(interval).unwrap_or(due);
        // A machine that was asleep is not sampled for the time that it missed.
        due = due.max(Instant::now());
        loop {
            let left = due.saturating_duration_since(Instant::now());
            // A short wait, so that the thread ends soon after the server.
            let tick = sampler.poll(left.min(Duration::from_millis(200)));
            let Some(live) = live.upgrade() else { return };
            if let Some(tick) = tick {
                live.take(&tick);
            }
            if left.is_zero() {
                break;
            }
        }
    }
}
