//! `/metrics`: raw values for Prometheus and whoever reads its formats.
//!
//! Scrapes have a reader of the machine of their own, so that a large one makes no gap in the charts.
//! Simultaneous scrapes of the same objects share one collection. What is wanted stays resolved between two
//! scrapes; names and objects are read again after a minute, so that new objects appear.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tallymon_remote::asynchronous;

use hyper::StatusCode;
use hyper::header::{HeaderMap, HeaderName};
use tallymon::core::flow::{Cell, Column, Row, Sink, SourceError, SourceErrorKind};
use tallymon::core::path::Part;
use tallymon::core::time::FileTime;
use tallymon::core::title::Language;
use tallymon::{Definitions, LiveRows, Locale, Location, Query, Sampler};
use tallymon_export::profile::{Profile, UnknownProfile};
use tallymon_export::series::{Family, families};
use tallymon_export::top::TopInstances;
use tallymon_remote::asynchronous::sync::watch;

use crate::chart::MOST_ASKED;
use crate::http::Refused;
use crate::parameters::Parameters;
use crate::scrape_format::ScrapeFormat;

/// How long a scrape may take when it does not say so itself.
const DEADLINE: Duration = Duration::from_secs(10);
/// How long any scrape may take.
const LONGEST_DEADLINE: Duration = Duration::from_secs(60);
/// How old names and objects may be.
const NAMES_AGE: Duration = Duration::from_secs(60);
/// The most selections of objects that are kept between two scrapes.
const MOST_SELECTIONS: usize = 16;
/// The most counters of instances in a scrape.
const MOST_COUNTERS: usize = 200_000;
/// Objects that have an instance for each process or thread: they are scraped only when they are named,
/// because their series never end growing.
const UNBOUNDED: [u32; 2] = [230, 232];

/// Who may read `/metrics`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MetricsAccess {
    /// Whoever has the token, as for everything else.
    Token,
    /// Every program and user of this machine.
    Local,
}

/// What a scrape asks for: objects by name, and counter paths. Nothing asks for every object that is cheap to
/// read and has a bounded number of instances.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Selection {
    objects: Vec<String>,
    paths: Vec<String>,
    /// Whose names the metrics have.
    names: Profile,
    /// How many processes are not summed.
    top: Option<usize>,
}

/// The scrapes of a server.
pub(crate) struct Metrics {
    access: MetricsAccess,
    sampler: Mutex<Sampler>,
    scrapes: Mutex<HashMap<Selection, Scrape>>,
}

/// What is kept of a selection.
struct Scrape {
    used: Instant,
    collector: Arc<Mutex<Collector>>,
    /// The collection that is under way, for others who ask meanwhile.
    current: Option<watch::Receiver<Option<Outcome>>>,
}

type Outcome = Result<Arc<Collected>, Arc<Refused>>;

#[derive(Default)]
struct Collector {
    asked: Option<Asked>,
    top: Option<TopInstances>,
    families: Arc<Vec<Family>>,
    /// The columns of the families.
    columns: Vec<Column>,
}

/// What is asked for, resolved.
struct Asked {
    query: Query,
    /// Most scrapes have the values of the one before, in their order.
    rows: LiveRows,
    row: RowCopy,
    read: Instant,
}

/// The values of one scrape.
#[derive(Debug)]
struct Collected {
    families: Arc<Vec<Family>>,
    time: FileTime,
    cells: Vec<Cell>,
}

impl std::fmt::Debug for Metrics {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Metrics").field("access", &self.access).finish_non_exhaustive()
    }
}

impl Selection {
    /// The parameters `objects`, names or indexes with commas between, `path`, `names`, and `top`.
    pub(crate) fn of(parameters: &Parameters) -> Result<Selection, Refused> {
        let names = parameters.all("objects").flat_map(|names| names.split(','));
        let names = names.map(str::trim).filter(|name| !name.is_empty());
        let mut objects: Vec<String> = names.map(str::to_owned).collect();
        let mut paths: Vec<String> = parameters.all("path").map(str::to_owned).collect();
        for texts in [&mut objects, &mut paths] {
            texts.sort();
            texts.dedup();
            if texts.len() > MOST_ASKED {
                let words = format!("{} objects or paths are too many: at most {MOST_ASKED}", texts.len());
                return Err(Refused::bad_request(words));
            }
        }
        let names = parameters.text("names").map_or(Ok(Profile::Nt), str::parse);
        let names = names.map_err(|error: UnknownProfile| Refused::bad_request(error.to_string()))?;
        let top = parameters.number("top")?.map(|most| usize::try_from(most).unwrap_or(usize::MAX));
        Ok(Selection { objects, paths, names, top })
    }

    /// The registered objects that it needs.
    fn definitions(&self) -> Definitions {
        if self.objects.is_empty() && self.paths.is_empty() {
            return Definitions::All;
        }
        let objects = self.objects.iter().map(|object| format!("\\{object}(*)\\*"));
        Definitions::OfPaths(objects.chain(self.paths.iter().cloned()).collect())
    }

    /// A query of the selection.
    fn query(&self, info: tallymon::SourceInfo) -> Result<Query, Refused> {
        let mut query = Query::over(info);
        let mut objects = Vec::new();
        for name in &self.objects {
            objects.push(query.object(name, &Part::parse(name))?);
        }
        if self.objects.is_empty() && self.paths.is_empty() {
            let usual = query.catalog().objects().iter().filter(|object| !object.costly);
            let usual = usual.map(|object| object.name).filter(|name| !UNBOUNDED.contains(&name.0));
            objects.extend(usual);
        }
        for object in objects {
            let known = query.catalog().object(object);
            let instances = if known.is_some_and(|known| known.has_instances) { "(*)" } else { "" };
            query.add(&format!("\\{}{instances}\\*", object.0))?;
        }
        for path in &self.paths {
            query.add(path)?;
        }
        Ok(query)
    }
}

impl Metrics {
    /// Scrapes of a source, which the first scrape opens.
    pub(crate) fn new(access: MetricsAccess, location: Location) -> std::io::Result<Metrics> {
        let sampler = Mutex::new(Sampler::start(move || tallymon::open(&location))?);
        Ok(Metrics { access, sampler, scrapes: Mutex::default() })
    }

    /// Who may read them.
    pub(crate) const fn access(&self) -> MetricsAccess {
        self.access
    }

    /// The body of the answer to a scrape.
    pub(crate) async fn scrape(
        self: &Arc<Metrics>,
        selection: Selection,
        format: ScrapeFormat,
        deadline: Duration,
    ) -> Result<Vec<u8>, Refused> {
        let mut outcome = self.collection(selection)?;
        let waited = asynchronous::time::timeout(deadline, outcome.wait_for(Option::is_some)).await;
        let late = || {
            let words = format!(
                "the counters were not read within {} s; scrape fewer objects with ?objects=NAME,NAME, or \
                 raise scrape_timeout",
                deadline.as_secs_f64()
            );
            Refused::new(StatusCode::GATEWAY_TIMEOUT, words)
        };
        let failed = || Refused::new(StatusCode::INTERNAL_SERVER_ERROR, "an error in this program");
        let outcome = waited.map_err(|_| late())?.map_err(|_| failed())?.clone().ok_or_else(failed)?;
        let collected = outcome.map_err(|refused| Refused {
            status: refused.status,
            words: refused.words.clone(),
            nearest: refused.nearest.clone(),
        })?;
        let written = asynchronous::task::spawn_blocking(move || {
            let row = Row { time: collected.time, local_minutes: 0, cells: &collected.cells };
            format.exposition(&collected.families, &row)
        });
        written.await.map_err(|_| failed())
    }

    /// The collection of a selection that is under way, else a new one.
    fn collection(
        self: &Arc<Metrics>,
        selection: Selection,
    ) -> Result<watch::Receiver<Option<Outcome>>, Refused> {
        let mut scrapes = lock(&self.scrapes);
        if !scrapes.contains_key(&selection) && scrapes.len() >= MOST_SELECTIONS {
            let idle = scrapes.iter().filter(|(_, scrape)| !scrape.is_under_way());
            let oldest = idle.min_by_key(|(_, scrape)| scrape.used).map(|(oldest, _)| oldest.clone());
            let oldest = oldest.ok_or_else(|| {
                let words = format!("{MOST_SELECTIONS} scrapes are under way; ask again");
                Refused::new(StatusCode::SERVICE_UNAVAILABLE, words)
            })?;
            scrapes.remove(&oldest);
        }
        let scrape = scrapes.entry(selection.clone()).or_insert_with(|| Scrape {
            used: Instant::now(),
            collector: Arc::default(),
            current: None,
        });
        scrape.used = Instant::now();
        if let Some(current) = scrape.current.as_ref().filter(|_| scrape.is_under_way()) {
            return Ok(current.clone());
        }
        let (sender, receiver) = watch::channel(None);
        scrape.current = Some(receiver.clone());
        let (metrics, collector) = (Arc::clone(self), Arc::clone(&scrape.collector));
        asynchronous::task::spawn_blocking(move || {
            let outcome = metrics.collect(&selection, &mut lock(&collector));
            sender.send_replace(Some(outcome.map(Arc::new).map_err(Arc::new)));
        });
        Ok(receiver)
    }

    fn collect(&self, selection: &Selection, collector: &mut Collector) -> Result<Collected, Refused> {
        let is_known = collector.asked.as_ref().is_some_and(|asked| asked.read.elapsed() < NAMES_AGE);
        if !is_known {
            let locale = Locale::from(Language::ENGLISH);
            let pending = lock(&self.sampler).info(locale, selection.definitions());
            let info = pending.wait(LONGEST_DEADLINE).unwrap_or_else(|| Err(no_answer()))?;
            let query = selection.query(info)?;
            let rows = LiveRows::changing(query.system_name());
            collector.asked = Some(Asked { query, rows, row: RowCopy::default(), read: Instant::now() });
        }
        let Some(Asked { query, rows, row, .. }) = &mut collector.asked else {
            return Err(no_answer().into());
        };
        let request = query.request();
        let pending = lock(&self.sampler).ask(move |source| source.snapshot(&request));
        let time = query.accept(pending.wait(LONGEST_DEADLINE).unwrap_or_else(|| Err(no_answer()))?);
        let Ok(()) = rows.write(time, 0, &*query, row);
        let host = query.system_name();
        let count = row.cells.len();
        if count > MOST_COUNTERS {
            collector.asked = None;
            let words = format!(
                "{count} counters of instances are too many: at most {MOST_COUNTERS}; name fewer objects"
            );
            return Err(Refused::bad_request(words));
        }
        let mut cells = std::mem::take(&mut row.cells);
        let mut new_columns = row.columns.take();
        if let Some(most) = selection.top {
            let top = collector.top.get_or_insert_with(|| TopInstances::new(most));
            if let Some(columns) = &new_columns {
                top.columns(columns);
            }
            let (columns, largest) = top.row(&Row { time, local_minutes: 0, cells: &cells });
            (cells, new_columns) = (largest, Some(columns));
        }
        if let Some(columns) = new_columns.filter(|columns| *columns != collector.columns) {
            collector.families = Arc::new(families(&columns, host, selection.names));
            collector.columns = columns;
        }
        Ok(Collected { families: Arc::clone(&collector.families), time, cells })
    }
}

impl Scrape {
    fn is_under_way(&self) -> bool {
        // A collection that panicked has no sender any longer.
        self.current.as_ref().is_some_and(|current| matches!(current.has_changed(), Ok(false)))
    }
}

/// Keeps a row, and its columns if they are new.
#[derive(Default)]
struct RowCopy {
    columns: Option<Vec<Column>>,
    cells: Vec<Cell>,
}

impl Sink for RowCopy {
    type Error = std::convert::Infallible;

    fn columns(&mut self, columns: &[Column]) -> Result<(), Self::Error> {
        self.columns = Some(columns.to_vec());
        Ok(())
    }

    fn row(&mut self, row: &Row<'_>) -> Result<(), Self::Error> {
        self.cells = row.cells.to_vec();
        Ok(())
    }

    fn finish(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }
}

/// How long a scraper waits.
pub(crate) fn deadline(headers: &HeaderMap) -> Duration {
    let named = headers.get(HeaderName::from_static("x-prometheus-scrape-timeout-seconds"));
    let named = named.and_then(|value| value.to_str().ok()?.parse::<f64>().ok());
    let named = named.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    named.filter(|deadline| !deadline.is_zero()).unwrap_or(DEADLINE).min(LONGEST_DEADLINE)
}

fn no_answer() -> SourceError {
    let words = format!("the source has not answered for {} s", LONGEST_DEADLINE.as_secs());
    SourceError::new(SourceErrorKind::Unreachable, words)
}

/// Nothing panics while it is locked that would leave half a change.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;

    use super::*;

    #[test]
    fn simultaneous_scrapes_share_a_collection_and_others_have_a_limit() {
        let metrics = Arc::new(Metrics::new(MetricsAccess::Local, Location::Local).unwrap());
        let selection = |number: usize| Selection {
            objects: vec!["System".into()],
            paths: vec![number.to_string()],
            names: Profile::Nt,
            top: None,
        };
        let run = asynchronous::run(async {
            // Locked collectors hold their collections back.
            let collectors: Vec<Arc<Mutex<Collector>>> =
                (0..MOST_SELECTIONS).map(|_| Arc::default()).collect();
            let locks: Vec<_> = collectors.iter().map(|collector| lock(collector)).collect();
            for (number, collector) in collectors.iter().enumerate() {
                let (used, collector) = (Instant::now(), Arc::clone(collector));
                let scrape = Scrape { used, collector, current: None };
                lock(&metrics.scrapes).insert(selection(number), scrape);
            }
            let first = metrics.collection(selection(0)).unwrap();
            assert!(first.same_channel(&metrics.collection(selection(0)).unwrap()));
            for number in 1..MOST_SELECTIONS {
                assert!(!first.same_channel(&metrics.collection(selection(number)).unwrap()));
            }
            let refused = metrics.collection(selection(MOST_SELECTIONS)).unwrap_err();
            assert_eq!(refused.status, StatusCode::SERVICE_UNAVAILABLE);
            drop(locks);
            // A path that is none is an answer too, for both who wait.
            let (mut left, mut right) = (first.clone(), first);
            for outcome in [&mut left, &mut right] {
                let outcome = outcome.wait_for(Option::is_some).await.unwrap().clone();
                assert_eq!(outcome.unwrap().err().unwrap().status, StatusCode::NOT_FOUND);
            }
            metrics.collection(selection(MOST_SELECTIONS)).unwrap();
        });
        run.unwrap();
    }

    #[test]
    fn the_deadline_is_that_of_the_scraper_within_bounds() {
        for (text, seconds) in
            [("2.5", 2.5), ("1e9", 60.0), ("0", 10.0), ("-1", 10.0), ("NaN", 10.0), ("soon", 10.0)]
        {
            let mut headers = HeaderMap::new();
            let name = HeaderName::from_static("x-prometheus-scrape-timeout-seconds");
            headers.insert(name, HeaderValue::from_str(text).unwrap());
            assert_eq!(deadline(&headers), Duration::from_secs_f64(seconds), "{text}");
        }
        assert_eq!(deadline(&HeaderMap::new()), DEADLINE);
    }
}
