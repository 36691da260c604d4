//! Statistics of every counter in one or more logs.

mod accumulator;
pub(crate) mod part;
mod sealed;
mod workers;

use std::collections::HashMap;
use std::path::PathBuf;

use tallymon_core::counter::CounterType;
use tallymon_core::flow::NoValue;
use tallymon_core::time::FileTime;

use crate::clock::{LogClock, LogTime, TimeRange};
use crate::error::{LogError, Notes};
use crate::open::open;
use crate::options::ReadOptions;
use crate::processes::ProcessNames;
use crate::reader::{Column, LogReader, table_order};
use crate::select::{PathMatcher, Selection, nothing_found};

use accumulator::Accumulator;
use sealed::{ChosenColumn, Plan};
use workers::Workers;

pub(crate) use workers::CountedPart;

/// The percentiles of [`Summary::percentiles`], in hundredths.
pub const PERCENTILES: [u32; 5] = [5, 50, 90, 95, 99];

/// How many values all columns together keep for exact percentiles: 128 MB.
const EXACT_VALUES: usize = 1 << 24;
/// How many values each column keeps at least.
const EXACT_LEAST: usize = 1024;

/// What [`stats()`] found.
#[derive(Debug, Clone, PartialEq)]
pub struct Stats {
    /// The counters in the order of a table.
    pub columns: Vec<ColumnStats>,
    /// Records in the range.
    pub records: u64,
    /// Time of the first of them, UTC.
    pub first: Option<FileTime>,
    /// Time of the last of them, UTC.
    pub last: Option<FileTime>,
    /// The clock of the logs.
    pub clock: LogClock,
    /// Requested paths that are not in the logs.
    pub not_found: Vec<String>,
    /// Faults and remarks of each log.
    pub notes: Vec<(PathBuf, Notes)>,
}

/// One counter of one instance.
#[derive(Debug, Clone, PartialEq)]
pub struct ColumnStats {
    /// Its full path.
    pub path: String,
    /// The parts of the path; `None` if it is not a counter path.
    pub parts: Option<tallymon_core::path::CounterPath>,
    /// Its type, which says the unit.
    pub counter_type: CounterType,
    /// Its numbers, or the reason for the last missing value if there are none.
    pub summary: Result<Summary, NoValue>,
    /// Records in which the instance exists without a value. First samples of rates and averages without
    /// operations do not count.
    pub missing: u64,
}

/// The numbers of one counter, in its unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Summary {
    /// How many values there are.
    pub count: u64,
    /// The last one.
    pub last: f64,
    /// The smallest one.
    pub minimum: f64,
    /// The largest one.
    pub maximum: f64,
    /// The mean of the values: each interval counts the same, however long it is.
    pub mean: f64,
    /// The average from the first to the last sample: each second counts the same. It exists for rates and
    /// shares in logs of raw values, if the counter was not reset in between.
    pub average: Option<f64>,
    /// The standard deviation of the values (of the population, divided by their number).
    pub deviation: f64,
    /// The percentiles [`PERCENTILES`] of the values.
    pub percentiles: [f64; PERCENTILES.len()],
    /// Percentiles are accurate to half a percent only ([`crate::quantile::ACCURACY`]), because there are
    /// many values.
    pub approximate: bool,
    /// The slope per hour of the straight line that fits the values best. `None` with fewer than two times.
    pub slope: Option<f64>,
}

impl Summary {
    /// One of [`PERCENTILES`].
    pub fn percentile(&self, hundredths: u32) -> Option<f64> {
        let at = PERCENTILES.iter().position(|percentile| *percentile == hundredths)?;
        self.percentiles.get(at).copied()
    }
}

/// Computes statistics of the selected counters in the selected time.
///
/// The logs are read in the given order. A counter in several logs is one counter; rates start again with
/// each log. Memory is bounded by the number of counters, not by the length of the logs.
///
/// # Errors
///
/// A log cannot be read, no requested counter is in any log, or the requested range has no records.
pub fn stats(paths: &[PathBuf], selection: &Selection, options: &ReadOptions) -> Result<Stats, LogError> {
    let range = selection.range_of(paths, options)?;
    let stats = gather(paths, selection, range, options)?;
    if stats.columns.is_empty() && !stats.not_found.is_empty() {
        return Err(nothing_found(&stats.not_found));
    }
    if stats.records == 0 && range.is_limited() {
        return Err(stats.clock.no_records(range));
    }
    Ok(stats)
}

/// As [`stats()`], but it is not an error if no requested counter is there.
pub(crate) fn gather(
    paths: &[PathBuf],
    selection: &Selection,
    range: TimeRange,
    options: &ReadOptions,
) -> Result<Stats, LogError> {
    gather_of(paths, selection, range, options, EXACT_VALUES)
}

/// As [`gather`], with the number of values that all columns together keep for exact percentiles.
pub(crate) fn gather_of(
    paths: &[PathBuf],
    selection: &Selection,
    range: TimeRange,
    options: &ReadOptions,
    exact: usize,
) -> Result<Stats, LogError> {
    // The numbers of two processes do not belong into one line.
    let processes = Some(options.processes.unwrap_or(ProcessNames::OnChange));
    let needed = Selection {
        counters: selection.counters.clone(),
        from: range.from.map(LogTime::Utc),
        to: range.to.map(LogTime::Utc),
    };
    let by_process = ReadOptions { processes, needed, ..options.clone() };
    let mut stats = Stats {
        columns: Vec::new(),
        records: 0,
        first: None,
        last: None,
        clock: LogClock::default(),
        not_found: Vec::new(),
        notes: Vec::new(),
    };
    let mut search = PathMatcher::new(selection);
    let gathered = std::thread::scope(|scope| {
        let mut workers = Workers::new(scope, options.cap);
        let mut by_path: HashMap<(String, u32), (usize, usize)> = HashMap::new();
        for path in paths {
            let mut log = open(path, &by_process)?;
            let log = &mut *log;
            // Numbers of parts are those of shares that are not cut.
            let plan = if options.cap { None } else { Plan::of(log, range)? };
            let mut all = Gathering { range, selection, exact, search: &mut search, by_path: &mut by_path };
            let notes = all.read(log, plan, &mut workers, &mut stats);
            stats.notes.push((path.clone(), notes.map_err(|error| error.in_file(path))?));
        }
        Ok::<_, LogError>(workers.finish())
    })?;
    stats.not_found = search.not_found();
    let (columns, finished): (Vec<Column>, Vec<ColumnStats>) = gathered.into_iter().unzip();
    let mut finished: Vec<Option<ColumnStats>> = finished.into_iter().map(Some).collect();
    let in_order = table_order(&columns).into_iter();
    stats.columns = in_order.filter_map(|at| finished.get_mut(at).and_then(Option::take)).collect();
    Ok(stats)
}

/// What is asked of all logs together.
struct Gathering<'a> {
    range: TimeRange,
    selection: &'a Selection,
    /// How many values all columns together keep for exact percentiles.
    exact: usize,
    search: &'a mut PathMatcher,
    /// The number of each counter, and how many values it may have for exact percentiles.
    by_path: &'a mut HashMap<(String, u32), (usize, usize)>,
}

impl Gathering<'_> {
    /// Reads a log, and gives its records to the workers. Returns its faults.
    fn read(
        &mut self,
        log: &mut dyn LogReader,
        mut plan: Option<Plan>,
        workers: &mut Workers<'_, '_>,
        stats: &mut Stats,
    ) -> Result<Notes, LogError> {
        let mut clock = LogClock::default();
        // How many columns of this log are known; columns appear while records are read.
        let mut known = 0usize;
        let mut seen: HashMap<String, u32> = HashMap::new();
        let mut kept: Vec<ChosenColumn> = Vec::new();
        let (mut passed, mut part) = (0u64, None);
        workers.begin_log();
        loop {
            if let Some(plan) = &mut plan {
                let later = || PathMatcher::new(self.selection);
                passed = plan.skip(passed, log, &kept, later, workers, stats)?;
            }
            let Some(record) = log.next_record()? else { break };
            passed = passed.saturating_add(1);
            if part.replace(log.part()).is_some_and(|part| part != log.part()) {
                workers.end_part();
            }
            clock.note(record.time, record.local_minutes);
            if !self.range.has(record.time) {
                continue;
            }
            let columns = &log.about().columns;
            if known < columns.len() {
                self.search.learn(columns.get(known..).unwrap_or_default());
                for (position, column) in columns.iter().enumerate().skip(known) {
                    let same = seen.entry(column.path.clone()).or_default();
                    let key = (column.path.clone(), *same);
                    *same = same.saturating_add(1);
                    if self.search.keep(column) {
                        let exact_values = self.place(key, position, column, columns.len(), workers);
                        kept.push(ChosenColumn { position, exact_values });
                    }
                }
                known = columns.len();
            }
            stats.records = stats.records.saturating_add(1);
            stats.first = stats.first.or(Some(record.time));
            stats.last = Some(record.time);
            workers.record(&record);
        }
        if let Some(plan) = plan.filter(|plan| plan.has_skipped) {
            clock = plan.contents.clock;
        }
        clock.set_zone(&log.about().zone);
        stats.clock.add(&clock);
        Ok(log.about().notes.clone())
    }

    /// Gives a column to its counter. Returns how many values that may have for exact percentiles.
    fn place(
        &mut self,
        key: (String, u32),
        position: usize,
        column: &Column,
        columns: usize,
        workers: &mut Workers<'_, '_>,
    ) -> usize {
        match self.by_path.get(&key) {
            Some((counter, exact)) => {
                workers.find(position, *counter);
                *exact
            }
            None => {
                let exact = exact_values(self.exact, columns);
                let counter = workers.add(position, Accumulator::new(column, exact));
                self.by_path.insert(key, (counter, exact));
                exact
            }
        }
    }
}

fn exact_values(all: usize, columns: usize) -> usize {
    all.checked_div(columns).unwrap_or(all).max(EXACT_LEAST)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A PDH-CSV with one column.
    fn log(name: &str, values: &[&str]) -> PathBuf {
        let mut text = "\"(PDH-CSV 4.0) (UTC)(0)\",\"\\\\vm\\Memory\\Available Bytes\"\r\n".to_owned();
        for (second, value) in values.iter().enumerate() {
            text.push_str(&format!("\"11/26/2016 13:46:{second:02}.000\",\"{value}\"\r\n"));
        }
        let path = std::env::temp_dir().join(format!("tallymon-stats-{name}-{}.csv", std::process::id()));
        std::fs::write(&path, text).unwrap();
        path
    }

    fn summary(name: &str, values: &[&str]) -> ColumnStats {
        let path = log(name, values);
        let stats =
            stats(std::slice::from_ref(&path), &Selection::default(), &ReadOptions::default()).unwrap();
        std::fs::remove_file(path).unwrap();
        stats.columns.into_iter().next().unwrap()
    }

    #[test]
    fn numbers_of_a_column() {
        let column = summary("numbers", &["10", "20", " ", "40", "30"]);
        let found = column.summary.unwrap();
        assert_eq!((found.count, column.missing), (4, 1));
        assert_eq!((found.last, found.minimum, found.maximum, found.mean), (30.0, 10.0, 40.0, 25.0));
        assert!((found.deviation - 125f64.sqrt()).abs() < 1e-12);
        assert_eq!((found.percentile(50), found.percentile(51)), (Some(25.0), None));
        // Through (0, 10), (1, 20), (3, 40), (4, 30): 6 in a second.
        assert!((found.slope.unwrap() - 6.0 * 3600.0).abs() < 1e-6, "{found:?}");
        assert_eq!((found.average, found.approximate), (None, false));
    }

    #[test]
    fn a_column_without_numbers_has_a_reason() {
        let column = summary("none", &[" ", " "]);
        assert!(column.summary.is_err());
        assert_eq!(column.missing, 2);
        let one = summary("one", &["7"]).summary.unwrap();
        assert_eq!((one.mean, one.deviation, one.slope), (7.0, 0.0, None));
    }
}
