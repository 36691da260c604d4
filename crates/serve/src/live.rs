//! This machine: one sampler, one query and one history for everybody who looks.
//!
//! A thread samples at an interval what somebody has asked for, whether or not anybody is connected: a
//! page that comes back finds no hole. A path that nobody has asked for for a while is dropped, and so is the
//! overview of one of several machines; that of the only machine is sampled always.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

use hyper::StatusCode;
use serde_json::Value;
use tallymon::clock::now;
use tallymon::core::flow::{SourceError, SourceErrorKind};
use tallymon::core::time::FileTime;
use tallymon::core::title::{Language, TitleIndex};
use tallymon::log::ReadOptions;
use tallymon::sample::{Listener, Pending, Tick};
use tallymon::{Definitions, InstanceKey, Locale, Location, Names, Query, Reading, Sampler, SourceInfo};
use tallymon_monitor::LocalTime;
use tallymon_monitor::model::overview::{NetworkAddresses, OVERVIEW_SHARE, Overview};
use tallymon_monitor::model::{DEFAULT_BUDGET, Health, HostRow, Monitor, Series, TopGroup, causes};
use tallymon_monitor::save::Past;
use tallymon_remote::asynchronous::sync::watch;

use crate::chart::{Chart, Range, SeriesInfo};
use crate::crossings::Thresholds;
use crate::findings::{self, Looks};
use crate::http::Refused;
use crate::live_state::{Demand, LiveRow, NewRows, State, overview_of, summary_of};
use crate::process_list::ProcessTexts;
use crate::providers::{ProviderList, ProviderWatch};
use crate::report::{ReportOptions, report};
use crate::uploads::{Temporary, Uploads};

/// The most values and rows that are read at a time: while they are, no sample is taken.
const MOST_VALUES: usize = 20_000;
const MOST_ROWS: usize = 300;
/// A source that has not answered for so long is in trouble.
const LATE: Duration = Duration::from_secs(3);
/// How soon the second row follows the first one: rates need both.
const SECOND_ROW: Duration = Duration::from_millis(100);
/// How long to wait for an answer of the source.
const PATIENCE: Duration = Duration::from_secs(60);

/// Records of the history have UTC: pages are on the clocks of their browsers.
fn utc(time: FileTime) -> LocalTime {
    LocalTime { time: time.system_time(), zone: "UTC".into(), bias: 0 }
}

/// How a machine is sampled.
#[derive(Debug, Clone)]
pub(crate) struct LiveSettings {
    /// Time between two rows.
    pub(crate) interval: Duration,
    /// The language and the names of the source.
    pub(crate) locale: Locale,
    /// The counters of the first chart.
    pub(crate) usual: Vec<String>,
    /// It is the only machine: its overview and its usual counters are sampled whether or not somebody looks.
    pub(crate) is_alone: bool,
}

/// The live machine.
#[derive(Debug)]
pub(crate) struct Live {
    /// What its system calls itself.
    system: String,
    state: Mutex<State>,
    /// The number of the row that comes next, for those who wait for it.
    news: watch::Sender<u64>,
    /// Asks the source questions besides samples.
    questions: Mutex<Listener>,
    infos: Mutex<HashMap<Language, SourceInfo>>,
    /// Whether somebody has asked for all objects.
    shows_all: AtomicBool,
    /// The time between two rows in nanoseconds, which a request may change.
    interval: AtomicU64,
    /// What was found in the history.
    found: Looks,
}

impl Live {
    /// Starts to sample a source.
    pub(crate) fn start(location: Location, settings: &LiveSettings) -> Result<Arc<Live>, SourceError> {
        let LiveSettings { interval, locale, ref usual, is_alone } = *settings;
        let io = |error: std::io::Error| SourceError::new(SourceErrorKind::Io, error.to_string());
        let is_here = matches!(location, Location::Local | Location::Machine { .. });
        let sampler = Sampler::start(move || tallymon::open(&location)).map_err(io)?;
        let info = answered(&sampler.info(locale, Definitions::OfPaths(usual.clone())))?;
        let query = Query::over(info.clone());
        let share = DEFAULT_BUDGET / OVERVIEW_SHARE;
        let (overview, [counters, processes], wanted) = overview_of(&info, share);
        let nothing = query.request();
        let overview_demand = Demand::new(sampler.listener(), wanted, nothing.clone(), is_alone);
        let texts = ProcessTexts::new(info.clone());
        let texts_demand = Demand::new(sampler.listener(), texts.query.request(), nothing.clone(), false);
        let (summary, summary_counters) = summary_of(&info);
        let wanted = summary_counters.request();
        let mut state = State {
            query,
            listener: sampler.listener(),
            monitor: Monitor::new(DEFAULT_BUDGET.saturating_sub(share)),
            entries: HashMap::new(),
            counters,
            processes,
            overview_demand,
            overview,
            texts,
            texts_demand,
            summary,
            summary_counters,
            summary_demand: Demand::new(sampler.listener(), wanted, nothing, false),
            health: Health::default(),
            is_back: false,
            network: is_here.then(|| NetworkAddresses::new(tallymon::Host::interface_addresses)),
            providers: ProviderWatch::new(info.clone(), sampler.listener()),
            trouble: None,
        };
        state.listener.want(state.query.request());
        if is_alone {
            for path in usual {
                // A counter that this machine does not have is left out of the first chart, see `usual`.
                let _ = state.want(path);
            }
            state.entries.values_mut().for_each(|entry| entry.is_kept = true);
        }
        let live = Arc::new(Live {
            system: info.system_name.clone(),
            state: Mutex::new(state),
            news: watch::Sender::new(0),
            questions: Mutex::new(sampler.listener()),
            infos: Mutex::new(HashMap::from([(locale.language, info)])),
            shows_all: AtomicBool::new(false),
            interval: AtomicU64::new(nanoseconds(interval)),
            found: Looks::default(),
        });
        let weak = Arc::downgrade(&live);
        thread::Builder::new()
            .name("rows".into())
            .spawn(move || sample(&weak, sampler, interval.min(SECOND_ROW)))
            .map_err(io)?;
        Ok(live)
    }

    /// What its system calls itself.
    pub(crate) fn system_name(&self) -> &str {
        &self.system
    }

    /// Whether it is the machine of the server.
    pub(crate) fn is_here(&self) -> bool {
        self.state().network.is_some()
    }

    /// Where the value of a counter comes from: a file of this machine, or another machine.
    pub(crate) fn origin(&self, object: TitleIndex, counter: TitleIndex) -> Option<String> {
        if self.is_here() { tallymon::Host::origin(object, counter) } else { Some(self.system.clone()) }
    }

    /// The time between two rows.
    pub(crate) fn interval(&self) -> Duration {
        Duration::from_nanos(self.interval.load(Ordering::Relaxed))
    }

    /// Samples in another interval from now on, for everybody who looks. The rows up to now stay.
    pub(crate) fn set_interval(&self, interval: Duration) {
        self.interval.store(nanoseconds(interval), Ordering::Relaxed);
    }

    /// Its row on the page of all machines, whose counters are sampled from now on.
    pub(crate) fn host_row(&self, name: String) -> HostRow {
        let mut state = self.state();
        state.summary_demand.ask();
        let (state, health) = (&*state, &state.health);
        HostRow {
            name,
            place: 0,
            state: health.state(self.interval()),
            age: health.heard.map(|heard| heard.elapsed()),
            clock: health.clock,
            load: state.summary.load().cloned(),
        }
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
        let mut is_renewed = false;
        for path in paths {
            let mut state = self.state();
            match state.want(path) {
                Ok(()) => {}
                // A program may have published the object since the names were read.
                Err(_) if !is_renewed => {
                    drop(state);
                    // A lock of its own statement: nobody waits for it as long as the source is asked.
                    let locale = self.state().query.names().locale();
                    let fresh = self.ask_info(locale, self.definitions(paths))?;
                    state = self.state();
                    state.renew(fresh);
                    is_renewed = true;
                    state.want(path)?;
                }
                Err(refused) => return Err(refused),
            }
        }
        Ok(())
    }

    /// Those of the counters of the first chart that this machine has.
    pub(crate) fn usual<'p>(&self, usual: &'p [String]) -> Vec<&'p str> {
        let mut state = self.state();
        usual.iter().map(String::as_str).filter(|path| state.has(path)).collect()
    }

    /// Whether all of some paths are sampled already, so that [`Live::want`] asks the source nothing.
    pub(crate) fn samples(&self, paths: &[&str]) -> bool {
        self.state().samples(paths)
    }

    /// The rows of some paths in a range of time.
    pub(crate) fn chart(&self, paths: &[&str], range: &Range, language: Language) -> Result<Chart, Refused> {
        self.want(paths)?;
        Ok(self.state().chart(paths, range, language))
    }

    /// When series of some paths crossed their thresholds.
    pub(crate) fn alerts(&self, paths: &[&str], thresholds: &Thresholds) -> Result<Value, Refused> {
        self.want(paths)?;
        let (found, series) = self.state().crossings(paths, thresholds);
        Ok(found.json(&series))
    }

    /// The rows of some paths that are sampled already, which asks the source nothing; `None` unless all are.
    pub(crate) fn known_chart(&self, paths: &[&str], range: &Range, language: Language) -> Option<Chart> {
        let mut state = self.state();
        if !state.samples(paths) {
            return None;
        }
        state.touch(paths);
        Some(state.chart(paths, range, language))
    }

    /// The rows of some paths from `after` on, of at most so many values, and their series unless these are
    /// the known ones.
    pub(crate) fn rows(
        &self,
        paths: &[&str],
        after: u64,
        known: Option<&[SeriesInfo]>,
        language: Language,
    ) -> NewRows {
        let mut state = self.state();
        state.touch(paths);
        let state = &*state;
        let next = state.monitor.next();
        let series = state.series_of(paths);
        let is_known = known.is_some_and(|known| {
            known.len() == series.len() && known.iter().zip(&series).all(|(known, now)| known.is_of(now))
        });
        let first = after.max(state.monitor.rows().start);
        let most = MOST_VALUES.checked_div(series.len()).unwrap_or(MOST_ROWS).clamp(1, MOST_ROWS);
        let mut rows = Vec::new();
        for row in (first..next).take(most) {
            let Some(time) = state.monitor.time(row) else { continue };
            let value = |series: &&Series| series.at(next, row).and_then(Result::ok).unwrap_or(f64::NAN);
            rows.push(LiveRow { row, time, values: series.iter().map(value).collect() });
        }
        let series = (!is_known).then(|| {
            let names = state.query.names().in_language(language);
            series.iter().map(|series| SeriesInfo::of(series, &names)).collect()
        });
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

    /// The overview at a time, or now; with `texts` also who runs the processes, from the next sample on.
    pub(crate) fn overview<T>(
        &self,
        time: Option<FileTime>,
        texts: bool,
        then: impl FnOnce(&Overview, Option<FileTime>, Option<&ProcessTexts>) -> T,
    ) -> T {
        let mut state = self.state();
        state.overview_demand.ask();
        if texts {
            state.texts_demand.ask();
        }
        let newest = state.overview.newest();
        let at = time.and_then(|time| {
            let rows = state.overview.rows();
            rows.row_at(time).and_then(|row| rows.time(row))
        });
        then(&state.overview, at.or(newest), texts.then_some(&state.texts))
    }

    /// Time of the first and the last row of the overview that are kept.
    pub(crate) fn overview_times(&self) -> Option<(FileTime, FileTime)> {
        let state = self.state();
        let kept = state.overview.rows();
        let rows = kept.rows();
        Some((kept.time(rows.start)?, kept.time(rows.end.checked_sub(1)?)?))
    }

    /// What is known of findings without looking; `None` when somebody has to look.
    pub(crate) fn known_findings(&self, language: Language) -> Option<Value> {
        self.found.known_or_look(language).err()
    }

    /// What is wrong in the history of the chart's counters and of the overview's. Two files of `uploads`
    /// have it meanwhile. One request looks; all others get what is known, see [`Live::known_findings`].
    pub(crate) fn findings(
        &self,
        uploads: &Arc<Uploads>,
        options: &ReadOptions,
        language: Language,
    ) -> Result<Value, Refused> {
        let looking = match self.found.known_or_look(language) {
            Ok(looking) => looking,
            Err(known) => return Ok(known),
        };
        let mut analyses = Vec::new();
        for temporary in self.written(uploads)? {
            analyses.push(findings::analysis(&[temporary.path().to_path_buf()], options)?);
        }
        Ok(looking.found(analyses, language))
    }

    /// A report of the history, or of its end, as one HTML file.
    pub(crate) fn report(
        &self,
        uploads: &Arc<Uploads>,
        options: &ReadOptions,
        (last, language): (Option<Duration>, Language),
    ) -> Result<String, Refused> {
        let files = self.written(uploads)?;
        if files.is_empty() {
            let words = "there is no history yet; wait for the second sample";
            return Err(Refused::new(StatusCode::CONFLICT, words));
        }
        let usual = {
            let state = self.state();
            let charted = state.monitor.series().iter().map(|series| series.path.clone());
            charted.chain(state.overview.english_paths()).collect()
        };
        let wanted = ReportOptions {
            logs: files.iter().map(|file| file.path().to_path_buf()).collect(),
            against: Vec::new(),
            last,
            paths: Vec::new(),
            usual,
            reading: options.clone(),
            locale: Locale::from(language),
        };
        let failed = |error: crate::ReportError| Refused::new(StatusCode::CONFLICT, error.to_string());
        let mut made = report(&wanted).map_err(failed)?;
        made.logs.names = vec![if self.system.is_empty() { "live".into() } else { self.system.clone() }];
        made.html().map_err(failed)
    }

    /// The history in files, those of the overview first: none where there are fewer than two rows.
    fn written(&self, uploads: &Arc<Uploads>) -> Result<Vec<Temporary>, Refused> {
        let host = if self.system.is_empty() { "." } else { self.system.as_str() };
        let failed = |error: std::io::Error| {
            let words = format!("the history cannot be written for its analysis: {error}");
            Refused::new(StatusCode::INSUFFICIENT_STORAGE, words)
        };
        let mut files = Vec::new();
        for of_overview in [true, false] {
            // No upload: it takes less than the history in memory, and is gone before the answer.
            let temporary = Temporary::new(uploads, 0)?;
            // A copy is made in a moment; while it is written, samples are taken and others look.
            let past = {
                let state = self.state();
                Past::of(if of_overview { state.overview.rows() } else { &state.monitor }).into_owned()
            };
            if past.row_count() < 2 || past.has_no_series() {
                continue;
            }
            let file = std::fs::File::create_new(temporary.path()).map_err(failed)?;
            past.native(host, &utc, file).map_err(failed)?;
            files.push(temporary);
        }
        Ok(files)
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
        language: Language,
    ) -> (Option<FileTime>, Vec<TopGroup>, Names) {
        let state = self.state();
        let names = state.query.names().in_language(language);
        let Some(row) = state.monitor.row_at(time) else { return (None, Vec::new(), names) };
        let chosen = path.and_then(|path| {
            let found =
                state.monitor.series().iter().find(|series| series.path == path || series.asked == path);
            found.map(|series| (series.object, series.counter))
        });
        let mut groups = state.monitor.top.at(state.monitor.next(), row);
        groups.sort_by_key(|group| causes::rank(chosen, (group.object, group.counter)));
        (state.monitor.time(row), groups, names)
    }

    /// Names and objects in a language, as they were when somebody asked last.
    pub(crate) fn names(&self, language: Language) -> Result<SourceInfo, SourceError> {
        let known = self.infos().get(&language).cloned();
        known.map_or_else(|| self.read_info(language, self.definitions(&[])), Ok)
    }

    /// The same, with the objects that some paths name: their libraries are started.
    pub(crate) fn names_for(&self, language: Language, paths: &[&str]) -> Result<SourceInfo, SourceError> {
        let known = self.names(language)?;
        if known.undefined(paths).is_empty() {
            return Ok(known);
        }
        self.read_info(language, self.definitions(paths))
    }

    /// All objects in a language, as they are now when `fresh`: all libraries are started.
    pub(crate) fn all_names(&self, language: Language, fresh: bool) -> Result<SourceInfo, SourceError> {
        if !self.shows_all.swap(true, Ordering::Relaxed) {
            // What is known has only what somebody named.
            self.infos().clear();
        }
        if fresh { self.read_info(language, Definitions::All) } else { self.names(language) }
    }

    /// What has to be defined for what is sampled, and for some more paths. Libraries that were started for a
    /// list of everything go on, so their objects stay.
    fn definitions(&self, paths: &[&str]) -> Definitions {
        if self.shows_all.load(Ordering::Relaxed) {
            return Definitions::All;
        }
        let more = paths.iter().map(ToString::to_string);
        Definitions::OfPaths(self.state().entries.keys().cloned().chain(more).collect())
    }

    fn read_info(&self, language: Language, definitions: Definitions) -> Result<SourceInfo, SourceError> {
        let locale = Locale { language, ..self.state().query.names().locale() };
        let info = self.ask_info(locale, definitions)?;
        self.infos().insert(language, info.clone());
        Ok(info)
    }

    fn infos(&self) -> MutexGuard<'_, HashMap<Language, SourceInfo>> {
        self.infos.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ask_info(&self, locale: Locale, definitions: Definitions) -> Result<SourceInfo, SourceError> {
        let pending = self.questions().info(locale, definitions);
        answered(&pending)
    }

    fn questions(&self) -> MutexGuard<'_, Listener> {
        self.questions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The instances of an object.
    pub(crate) fn instances(&self, object: TitleIndex) -> Result<Vec<InstanceKey>, SourceError> {
        let names = self.state().query.names().locale().instances;
        let pending = self.questions().instances(object, names);
        answered(&pending)
    }

    /// The newest readings of a path, with the samples behind them.
    pub(crate) fn readings(&self, path: &str) -> Result<Vec<Reading>, Refused> {
        self.want(&[path])?;
        let state = self.state();
        let handle = state.entries.get(path).and_then(|entry| entry.handle);
        Ok(handle.map_or_else(Vec::new, |handle| state.query.readings_if(|value| value.handle == handle)))
    }

    /// Asks for a row, unless the machine is left alone after a failure.
    fn ask(&self, sampler: &mut Sampler, interval: Duration) {
        let mut state = self.state();
        if state.health.rests() {
            let why = state.health.failure.as_ref().map(ToString::to_string).unwrap_or_default();
            state.miss(now(), why);
        } else if sampler.tick() {
            state.health.asked.get_or_insert_with(Instant::now);
            return;
        } else {
            // The row that is awaited comes late; there is none in between. Rows that were sent never change.
            let waited = sampler.waits_for().unwrap_or_default();
            if waited <= LATE.max(interval.saturating_mul(2)) {
                return;
            }
            state.trouble = Some(format!("the source has not answered for {} s", waited.as_secs()));
        }
        let next = state.monitor.next();
        drop(state);
        self.news.send_modify(|known| *known = next);
    }

    /// Reads names and objects anew when the machine is back after a failure.
    fn renew(&self, sampler: &Sampler, renewal: &mut Option<Pending<SourceInfo>>) {
        let is_back = std::mem::take(&mut self.state().is_back);
        if is_back {
            let locale = self.state().query.names().locale();
            *renewal = Some(sampler.info(locale, self.definitions(&[])));
        }
        if let Some(answer) = renewal.as_ref().and_then(|renewal| renewal.wait(Duration::ZERO)) {
            *renewal = None;
            if let Ok(info) = answer {
                self.infos().clear();
                self.state().renew(info);
            }
        }
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

/// Waits for an answer of the source.
fn answered<T>(pending: &Pending<T>) -> Result<T, SourceError> {
    pending.wait(PATIENCE).unwrap_or_else(|| {
        let words = format!("the source has not answered for {} s", PATIENCE.as_secs());
        Err(SourceError::new(SourceErrorKind::Unreachable, words))
    })
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// Takes a row at each interval as long as somebody holds the live machine; the second one after `wait`.
fn sample(live: &Weak<Live>, mut sampler: Sampler, mut wait: Duration) {
    let mut begun = Instant::now();
    let mut renewal = None;
    loop {
        let Some(interval) = live.upgrade().map(|live| {
            live.ask(&mut sampler, live.interval());
            live.renew(&sampler, &mut renewal);
            live.interval()
        }) else {
            return;
        };
        loop {
            // The interval may have become shorter meanwhile.
            let Some(wanted) = live.upgrade().map(|live| live.interval()) else { return };
            let due = begun.checked_add(wait.min(wanted)).unwrap_or(begun);
            let left = due.saturating_duration_since(Instant::now());
            // A short wait, so that the thread ends soon after the server.
            let tick = sampler.poll(left.min(Duration::from_millis(200)));
            let Some(live) = live.upgrade() else { return };
            if let Some(tick) = tick {
                live.take(&tick);
            }
            if left.is_zero() {
                // A machine that was asleep is not sampled for the time that it missed.
                begun = if due.elapsed() > interval { Instant::now() } else { due };
                break;
            }
        }
        wait = interval;
    }
}

#[cfg(test)]
#[path = "live_tests.rs"]
mod tests;
