//! Describes a log: hosts, objects, counters, range, interval, gaps, missing values, restarts.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use tallymon_core::flow::NoValue;
use tallymon_core::time::{FileTime, UNITS_PER_SECOND};

use crate::clock::LogClock;
use crate::error::{LogError, Notes};
use crate::format::Format;
use crate::open::open;
use crate::options::ReadOptions;
use crate::reader::{About, Column};
use crate::restarts::Restarts;
use crate::select::Selection;

/// The description of a log.
#[derive(Debug, Clone, PartialEq)]
pub struct Info {
    /// The file.
    pub path: PathBuf,
    /// Its format.
    pub format: Format,
    /// Its size.
    pub bytes: u64,
    /// The name of the time zone, and the minutes to add to local time to get UTC at the first record.
    pub zone: (String, i32),
    /// The log does not say its zone: the one above is guessed, or UTC.
    pub zone_unknown: bool,
    /// The hosts in the order of their names.
    pub hosts: Vec<HostInfo>,
    /// The objects in the order of their names.
    pub objects: Vec<ObjectInfo>,
    /// The counters, sorted by the bytes that they take, largest first.
    pub counters: Vec<CounterInfo>,
    /// Paths of all columns in the order of a table.
    pub columns: Vec<String>,
    /// Records.
    pub records: u64,
    /// The clock of the log.
    pub clock: LogClock,
    /// Time of the first record, UTC.
    pub first: Option<FileTime>,
    /// Time of the last record, UTC.
    pub last: Option<FileTime>,
    /// The usual time between two records in seconds: the median.
    pub interval: Option<f64>,
    /// Gaps of more than one and a half times the usual interval; the first thousand of them.
    pub gaps: Vec<Gap>,
    /// The number of all gaps.
    pub gap_count: u64,
    /// Records that are older than the one before them: a clock was set back, or logs were concatenated.
    pub backward_records: u64,
    /// The number of values.
    pub values: u64,
    /// Missing values by reason. Instances that do not exist at the time do not count.
    pub bad: Vec<BadInfo>,
    /// Bytes of the file for each value.
    pub bytes_per_value: Option<f64>,
    /// Faults and remarks.
    pub notes: Notes,
}

/// A host in a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostInfo {
    /// Its name without backslashes; empty if the log does not name it.
    pub name: String,
    /// Its columns.
    pub columns: u64,
    /// Times (UTC) at which most of its counters were reset, so that the host was restarted before; the first
    /// thousand of them.
    pub restarts: Vec<FileTime>,
}

/// An object in a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectInfo {
    /// Its name, or its title index.
    pub name: String,
    /// Its different counters.
    pub counters: u64,
    /// Its different instances over the whole log, on all hosts.
    pub instances: u64,
    /// Its columns.
    pub columns: u64,
}

/// A counter in a log: all its instances on all hosts together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CounterInfo {
    /// Its object.
    pub object: String,
    /// Its name.
    pub name: String,
    /// Its columns.
    pub columns: u64,
    /// The number of its values.
    pub values: u64,
    /// Bytes of the file that its values take, rounded up. Times, names and headers belong to no counter.
    /// `None` for formats that do not count.
    pub bytes: Option<u64>,
}

/// A time without records.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Gap {
    /// The last record before it, UTC.
    pub after: FileTime,
    /// Seconds until the next record.
    pub seconds: f64,
}

/// Missing values with one reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadInfo {
    /// Why.
    pub reason: NoValue,
    /// How many.
    pub count: u64,
}

/// Reads a whole log and describes it.
///
/// # Errors
///
/// As [`open`].
pub fn info(path: &Path, options: &ReadOptions) -> Result<Info, LogError> {
    info_of(path, &Selection::default(), options)
}

/// The length of a log in bytes.
fn bytes_of(path: &Path) -> Result<u64, LogError> {
    #[cfg(feature = "parquet")]
    if crate::file::is_address(path) || crate::lake::is_table(path) {
        return crate::lake::bytes_of(path);
    }
    Ok(std::fs::metadata(path).map_err(|error| LogError::from(error).in_file(path))?.len())
}

/// As [`info()`], of the records in a range; the counters of the selection do not matter.
///
/// # Errors
///
/// As [`open`], and a range without records.
pub fn info_of(path: &Path, selection: &Selection, options: &ReadOptions) -> Result<Info, LogError> {
    let range = selection.range_of(&[path.to_path_buf()], options)?;
    let bytes = bytes_of(path)?;
    let mut log = open(path, options)?;
    let mut times: Vec<FileTime> = Vec::new();
    let mut minutes = None;
    let mut clock = LogClock::default();
    let mut values = 0u64;
    let mut values_of: Vec<u64> = Vec::new();
    let mut bad: HashMap<NoValue, u64> = HashMap::new();
    let mut restarts = Restarts::default();
    while let Some(record) = log.next_record().map_err(|error| error.in_file(path))? {
        clock.note(record.time, record.local_minutes);
        if !range.has(record.time) {
            continue;
        }
        times.push(record.time);
        minutes = minutes.or(Some(record.local_minutes));
        if values_of.len() < record.cells.len() {
            values_of.resize(record.cells.len(), 0);
        }
        for (at, (cell, count)) in record.cells.iter().zip(&mut values_of).enumerate() {
            match cell {
                Err(NoValue::NotNumeric) if log.text(at).is_some() => {
                    values = values.saturating_add(1);
                    *count = count.saturating_add(1);
                }
                Ok(_) => {
                    values = values.saturating_add(1);
                    *count = count.saturating_add(1);
                }
                Err(NoValue::NoInstance) => {}
                Err(reason) => {
                    let count = bad.entry(*reason).or_default();
                    *count = count.saturating_add(1);
                }
            }
        }
        restarts.record(&record, &log.about().columns);
    }
    let about = log.about();
    clock.set_zone(&about.zone);
    if times.is_empty() && range.is_limited() {
        return Err(clock.no_records(range).in_file(path));
    }
    let (interval, gaps, gap_count) = gaps_of(&times);
    let bad = most_first(bad);
    let order = crate::reader::table_order(&about.columns);
    Ok(Info {
        path: path.to_path_buf(),
        format: about.format,
        bytes,
        zone_unknown: about.zone.is_unknown(),
        zone: about.zone.label(minutes.unwrap_or(0)),
        hosts: hosts(&about.columns, &restarts),
        objects: objects(&about.columns),
        counters: counters(about, &values_of),
        columns: order
            .iter()
            .filter_map(|at| about.columns.get(*at))
            .map(|column| column.path.clone())
            .collect(),
        records: times.len() as u64,
        clock,
        first: times.first().copied(),
        last: times.last().copied(),
        interval,
        gaps,
        gap_count,
        backward_records: times.windows(2).filter(|pair| pair.first() > pair.last()).count() as u64,
        values,
        bad,
        bytes_per_value: (values > 0).then(|| bytes as f64 / values as f64),
        notes: about.notes.clone(),
    })
}

/// Where logs lack records, and when their hosts were restarted.
#[derive(Debug, Clone, PartialEq)]
pub struct Holes {
    /// Gaps of more than one and a half times the usual interval; the first thousand of them.
    pub gaps: Vec<Gap>,
    /// The number of all gaps.
    pub gap_count: u64,
    /// The hosts by name, and the times of the first records after their restarts, as [`HostInfo`] has them.
    pub restarts: Vec<(String, Vec<FileTime>)>,
    /// The number of objects.
    pub objects: u64,
}

/// Reads whole logs, each of which continues the one before, for gaps and restarts within and between them.
///
/// # Errors
///
/// As [`open`].
pub fn holes_of(paths: &[PathBuf], options: &ReadOptions) -> Result<Holes, LogError> {
    let mut times: Vec<FileTime> = Vec::new();
    let mut restarts = Restarts::default();
    let (mut hosts, mut objects) = (BTreeSet::new(), BTreeSet::new());
    for path in paths {
        let mut log = open(path, options)?;
        while let Some(record) = log.next_record().map_err(|error| error.in_file(path))? {
            times.push(record.time);
            restarts.record(&record, &log.about().columns);
        }
        let columns = &log.about().columns;
        hosts.extend(columns.iter().map(|column| host_of(column).to_owned()));
        let named = columns.iter().filter_map(|column| column.parts.as_ref());
        objects.extend(named.map(|parts| parts.object.to_string()));
        restarts.end_log(columns);
    }
    let (_, gaps, gap_count) = gaps_of(&times);
    let of_host = |name: String| {
        let times = restarts.of(&name).to_vec();
        (name, times)
    };
    let restarts = hosts.into_iter().map(of_host).collect();
    Ok(Holes { gaps, gap_count, restarts, objects: objects.len() as u64 })
}

/// The usual interval in seconds, the first gaps, and the number of all of them.
fn gaps_of(times: &[FileTime]) -> (Option<f64>, Vec<Gap>, u64) {
    let distances: Vec<u64> = distances(times).collect();
    let usual = median(distances.clone());
    let seconds = |units: u64| units as f64 / UNITS_PER_SECOND as f64;
    let is_gap = |units: &u64| usual.is_some_and(|usual| u128::from(*units) * 2 > u128::from(usual) * 3);
    let gaps = times.iter().zip(times.windows(2)).filter_map(|(after, pair)| match pair {
        [one, other] => {
            let units = other.0.checked_sub(one.0)?;
            is_gap(&units).then_some(Gap { after: *after, seconds: seconds(units) })
        }
        _ => None,
    });
    let count = distances.iter().filter(|units| is_gap(units)).count() as u64;
    (usual.map(seconds), gaps.take(Notes::MOST).collect(), count)
}

/// Missing values by reason, the most frequent reason first.
fn most_first(bad: HashMap<NoValue, u64>) -> Vec<BadInfo> {
    let mut bad: Vec<BadInfo> = bad.into_iter().map(|(reason, count)| BadInfo { reason, count }).collect();
    bad.sort_by_key(|bad| (std::cmp::Reverse(bad.count), bad.reason.to_string()));
    bad
}

/// The intervals between records in units of 100 ns; records that go back in time have none.
fn distances(times: &[FileTime]) -> impl Iterator<Item = u64> {
    times.windows(2).filter_map(|pair| match pair {
        [one, other] => other.0.checked_sub(one.0),
        _ => None,
    })
}

fn median(mut numbers: Vec<u64>) -> Option<u64> {
    numbers.sort_unstable();
    numbers.get(numbers.len() / 2).copied()
}

pub(crate) fn host_of(column: &Column) -> &str {
    column.parts.as_ref().and_then(|parts| parts.machine.as_deref()).unwrap_or_default()
}

fn hosts(columns: &[Column], restarts: &Restarts) -> Vec<HostInfo> {
    let mut hosts: BTreeMap<&str, u64> = BTreeMap::new();
    for column in columns {
        let count = hosts.entry(host_of(column)).or_default();
        *count = count.saturating_add(1);
    }
    hosts
        .into_iter()
        .map(|(name, columns)| HostInfo {
            name: name.to_owned(),
            columns,
            restarts: restarts.of(name).to_vec(),
        })
        .collect()
}

fn objects(columns: &[Column]) -> Vec<ObjectInfo> {
    #[derive(Default)]
    struct Found {
        counters: BTreeSet<String>,
        instances: BTreeSet<String>,
        columns: u64,
    }
    let mut objects: BTreeMap<String, Found> = BTreeMap::new();
    for parts in columns.iter().filter_map(|column| column.parts.as_ref()) {
        let found = objects.entry(parts.object.to_string()).or_default();
        found.counters.insert(parts.counter.to_string());
        found.instances.extend(parts.instance.as_ref().map(ToString::to_string));
        found.columns = found.columns.saturating_add(1);
    }
    objects
        .into_iter()
        .map(|(name, found)| ObjectInfo {
            name,
            counters: found.counters.len() as u64,
            instances: found.instances.len() as u64,
            columns: found.columns,
        })
        .collect()
}

fn counters(about: &About, values: &[u64]) -> Vec<CounterInfo> {
    let mut counters: BTreeMap<(String, String), (u64, u64, u64)> = BTreeMap::new();
    for (position, column) in about.columns.iter().enumerate() {
        let Some(parts) = &column.parts else { continue };
        let found = counters.entry((parts.object.to_string(), parts.counter.to_string())).or_default();
        let of = |list: &[u64]| list.get(position).copied().unwrap_or(0);
        found.0 = found.0.saturating_add(1);
        found.1 = found.1.saturating_add(of(values));
        found.2 = found.2.saturating_add(of(&about.value_bits));
    }
    let is_told = !about.value_bits.is_empty();
    let mut counters: Vec<CounterInfo> = counters
        .into_iter()
        .map(|((object, name), (columns, values, bits))| CounterInfo {
            object,
            name,
            columns,
            values,
            bytes: is_told.then(|| bits.div_ceil(8)),
        })
        .collect();
    counters.sort_by_key(|counter| std::cmp::Reverse(counter.bytes));
    counters
}
