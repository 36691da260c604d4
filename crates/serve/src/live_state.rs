//! What is sampled of a live machine: its query, its history, its overview and how it answers.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use hyper::StatusCode;
use tallymon::core::flow::{Absence, NoValue};
use tallymon::core::path::CounterPath;
use tallymon::core::request::Request;
use tallymon::core::time::FileTime;
use tallymon::core::title::{Language, TitleIndex};
use tallymon::sample::{Listener, SharedSnapshot, Tick};
use tallymon::{ClockOffset, CounterHandle, Query, Reading, SourceInfo};
use tallymon_monitor::model::overview::{NetworkAddresses, Overview};
use tallymon_monitor::model::{Health, HostSummary, Monitor, Series, Top, causes};

use crate::chart::{Chart, Range, SeriesInfo};
use crate::crossings::{Crossings, Thresholds};
use crate::decimate::Decimator;
use crate::http::Refused;
use crate::process_list::ProcessTexts;
use crate::providers::ProviderWatch;
use crate::statistics::Statistics;

/// The most paths that are sampled at a time.
const MOST_PATHS: usize = 512;
/// The most series of all paths; a path that would have more is refused when it is added.
pub(crate) const MOST_SERIES: usize = 20_000;
/// A path that nobody has asked for for so long is dropped.
const FORGOTTEN: Duration = Duration::from_secs(600);

/// What is sampled.
pub(crate) struct State {
    pub(crate) query: Query,
    pub(crate) listener: Listener,
    pub(crate) monitor: Monitor,
    pub(crate) entries: HashMap<String, Entry>,
    pub(crate) counters: Query,
    pub(crate) processes: Query,
    pub(crate) overview_demand: Demand,
    pub(crate) overview: Overview,
    /// Who runs the processes of the overview, while somebody wants to know it: reading it is costly.
    pub(crate) texts: ProcessTexts,
    pub(crate) texts_demand: Demand,
    /// The counters for the page of all machines.
    pub(crate) summary: HostSummary,
    pub(crate) summary_counters: Query,
    pub(crate) summary_demand: Demand,
    pub(crate) health: Health,
    /// It may have other objects since it failed.
    pub(crate) is_back: bool,
    /// The addresses of this machine; `None` for another one.
    pub(crate) network: Option<NetworkAddresses>,
    pub(crate) providers: ProviderWatch,
    /// Why the newest row has no sample.
    pub(crate) trouble: Option<String>,
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("State").field("entries", &self.entries.len()).finish_non_exhaustive()
    }
}

/// A path that somebody has asked for.
#[derive(Debug)]
pub(crate) struct Entry {
    /// `None` if the source has it no longer.
    pub(crate) handle: Option<CounterHandle>,
    pub(crate) asked: Instant,
    /// It is never dropped.
    pub(crate) is_kept: bool,
    /// The paths of its newest readings: another entry may have asked for the same series.
    pub(crate) paths: HashSet<String>,
}

/// What is sampled only while somebody asks for it.
#[derive(Debug)]
pub(crate) struct Demand {
    listener: Listener,
    wanted: Request,
    nothing: Request,
    is_always: bool,
    asked: Option<Instant>,
}

impl Demand {
    pub(crate) fn new(listener: Listener, wanted: Request, nothing: Request, is_always: bool) -> Demand {
        listener.want(if is_always { wanted.clone() } else { nothing.clone() });
        Demand { listener, wanted, nothing, is_always, asked: None }
    }

    /// Somebody asks.
    pub(crate) fn ask(&mut self) {
        if self.asked.replace(Instant::now()).is_none() && !self.is_always {
            self.listener.want(self.wanted.clone());
            // Rates need two samples: the first one now, the second one with the next row.
            self.listener.prime();
        }
    }

    /// Wants this from now on in place of what it wanted before.
    fn renew(&mut self, wanted: Request) {
        self.wanted = wanted;
        if self.is_on() {
            self.listener.want(self.wanted.clone());
            self.listener.prime();
        }
    }

    /// Ends it when nobody has asked for a while.
    pub(crate) fn rest(&mut self) {
        if !self.is_always && self.asked.is_some_and(|asked| asked.elapsed() > FORGOTTEN) {
            self.asked = None;
            self.listener.want(self.nothing.clone());
        }
    }

    pub(crate) const fn is_on(&self) -> bool {
        self.is_always || self.asked.is_some()
    }

    /// What a tick has for it.
    pub(crate) fn sample<'t>(&self, tick: &'t Tick) -> Option<&'t SharedSnapshot> {
        tick.of(&self.listener).and_then(Result::ok).filter(|_| self.is_on())
    }
}

/// An overview that keeps its past in so many bytes, the queries for its counters and its processes, and what
/// both want.
pub(crate) fn overview_of(info: &SourceInfo, budget: usize) -> (Overview, [Query; 2], Request) {
    let [mut counters, mut processes] = [(); 2].map(|()| Query::over(info.clone()));
    let overview = Overview::new(budget, &mut counters, &mut processes);
    let wanted = counters.request();
    let wanted = wanted.union(&processes.request()).unwrap_or(wanted);
    (overview, [counters, processes], wanted)
}

/// The load for the page of all machines, and the query for its counters.
pub(crate) fn summary_of(info: &SourceInfo) -> (HostSummary, Query) {
    let mut counters = Query::over(info.clone());
    (HostSummary::new(&mut counters), counters)
}

impl State {
    /// Whether all of some paths are sampled already.
    pub(crate) fn samples(&self, paths: &[&str]) -> bool {
        paths.iter().all(|path| self.entries.contains_key(*path))
    }

    /// Whether the source has a path.
    pub(crate) fn has(&mut self, path: &str) -> bool {
        self.entries.contains_key(path)
            || self.query.add(path).is_ok_and(|handle| {
                self.query.remove(handle);
                true
            })
    }

    pub(crate) fn want(&mut self, path: &str) -> Result<(), Refused> {
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
        self.entries.insert(
            path.to_string(),
            Entry { handle: Some(handle), asked: Instant::now(), is_kept: false, paths: HashSet::new() },
        );
        self.listener.want(self.query.request());
        // Rates need two samples: the first one now, the second one with the next row.
        self.listener.prime();
        Ok(())
    }

    /// Notes that somebody still looks.
    pub(crate) fn touch(&mut self, paths: &[&str]) {
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
            .filter(|(_, entry)| !entry.is_kept && entry.asked.elapsed() > FORGOTTEN)
            .map(|(path, _)| path.clone())
            .collect();
        for path in &gone {
            if let Some(entry) = self.entries.remove(path) {
                if let Some(handle) = entry.handle {
                    self.query.remove(handle);
                }
                self.monitor.remove_asked(path);
            }
        }
        if !gone.is_empty() {
            self.listener.want(self.query.request());
        }
    }

    /// Uses names and objects that were read anew. The history stays.
    pub(crate) fn renew(&mut self, info: SourceInfo) {
        // The overview that has the history stays, and so does the newest load.
        let (newer, queries, wanted) = overview_of(&info, 0);
        self.overview.lack_as(&newer);
        [self.counters, self.processes] = queries;
        self.overview_demand.renew(wanted);
        self.texts.renew(info.clone());
        self.texts_demand.renew(self.texts.query.request());
        (_, self.summary_counters) = summary_of(&info);
        self.summary_demand.renew(self.summary_counters.request());
        self.providers.renew(info.clone());
        let mut query = Query::over(info);
        for (path, entry) in &mut self.entries {
            // A handle of the query before would be that of another path.
            entry.handle = query.add(path).ok();
        }
        for (object, counter) in self.monitor.top.counters() {
            watch_top(&mut query, object, counter);
        }
        self.query = query;
        self.listener.want(self.query.request());
        self.listener.prime();
    }

    pub(crate) fn take(&mut self, tick: &Tick) {
        self.providers.take(tick);
        if tick.is_row {
            match &tick.result {
                Ok(snapshot) => {
                    self.is_back |= self.health.failure.is_some();
                    self.health.answered(ClockOffset::of_block(tick.window.0, tick.window.1, snapshot));
                }
                Err(error) => self.health.failed(error.clone()),
            }
        }
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
        if let Some(snapshot) = self.overview_demand.sample(tick) {
            let time = self.counters.accept(snapshot.clone());
            self.processes.accept(snapshot.clone());
            if tick.is_row {
                self.overview.take(time, &self.counters);
                if let Some(network) = &mut self.network {
                    network.tell(&mut self.overview);
                }
                self.overview.processes.take(time, &self.processes, true);
            }
        }
        if let Some(snapshot) = self.texts_demand.sample(tick) {
            self.texts.query.accept(snapshot.clone());
            self.texts.take();
        }
        if let Some(snapshot) = self.summary_demand.sample(tick) {
            let time = self.summary_counters.accept(snapshot.clone());
            if tick.is_row {
                self.summary.take(time, &self.summary_counters);
            }
        }
        if has_row {
            self.overview_demand.rest();
            self.summary_demand.rest();
            self.texts_demand.rest();
            if !self.texts_demand.is_on() {
                self.texts.clear();
            }
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
            self.entries.values_mut().filter_map(|entry| Some((entry.handle?, entry))).collect();
        for reading in readings {
            if let Some(entry) = of.get_mut(&reading.handle) {
                entry.paths.insert(reading.path.clone());
            }
        }
    }

    /// No sample came.
    pub(crate) fn miss(&mut self, time: FileTime, why: String) {
        let absence = NoValue::NoData(Absence::ReadFailed);
        self.monitor.miss(time, absence);
        if self.overview_demand.is_on() {
            self.overview.miss(time, absence);
        }
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

    pub(crate) fn series_of(&self, paths: &[&str]) -> Vec<&Series> {
        let entries: Vec<&Entry> = paths.iter().filter_map(|path| self.entries.get(*path)).collect();
        let is_meant = |series: &&Series| {
            paths.contains(&series.asked.as_str())
                || entries.iter().any(|entry| entry.paths.contains(&series.path))
        };
        self.monitor.series().iter().filter(is_meant).collect()
    }

    pub(crate) fn chart(&self, paths: &[&str], range: &Range, language: Language) -> Chart {
        let (monitor, next) = (&self.monitor, self.monitor.next());
        let series = self.series_of(paths);
        let all = monitor.rows();
        let begin = range.from.and_then(|from| monitor.row_at(from)).unwrap_or(all.start);
        let end = all.end;
        let last = || end.checked_sub(1).and_then(|row| monitor.time(row));
        let times = (monitor.time(begin), range.to.or_else(last));
        let (from, to) = (times.0.unwrap_or_default(), times.1.unwrap_or_default());
        let mut rows = Decimator::new(series.len(), from, to, range.points, range.aggregate);
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
        let names = self.query.names().in_language(language);
        let series = series.into_iter().map(|series| SeriesInfo::of(series, &names)).collect();
        Chart { series, rows: rows.finish(), statistics, next: Some(next), times: None }
    }

    /// When series of some paths crossed their thresholds, in all of the history.
    pub(crate) fn crossings(&self, paths: &[&str], thresholds: &Thresholds) -> (Crossings, Vec<SeriesInfo>) {
        let (monitor, next, names) = (&self.monitor, self.monitor.next(), self.query.names());
        let (mut series, mut infos, mut values) = (Vec::new(), Vec::new(), Vec::new());
        for one in self.series_of(paths) {
            let info = SeriesInfo::of(one, names);
            if let Some(threshold) = thresholds.of_series(&info) {
                series.push(one);
                infos.push(info);
                values.push(threshold);
            }
        }
        let mut found = Crossings::new(values.into_iter());
        for row in monitor.rows() {
            let Some(time) = monitor.time(row) else { continue };
            let value = |one: &&Series| one.at(next, row).and_then(Result::ok).unwrap_or(f64::NAN);
            found.take(time, series.iter().map(value));
        }
        (found, infos)
    }
}

/// Rows that came, see [`Live::rows`](crate::live::Live::rows).
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

/// Lets a query collect a counter of which the largest instances are kept.
pub(crate) fn watch_top(query: &mut Query, object: TitleIndex, counter: TitleIndex) {
    if let Ok(parsed) = CounterPath::parse(&format!("\\{}(*)\\{}", object.0, counter.0)) {
        // Object and counter exist: that was checked before.
        let _ = query.add_path(&Top::text(object, counter), &parsed.path);
    }
}
