//! Compares two logs: which counters differ most.

use std::collections::{BTreeMap, HashMap};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use tallymon_core::counter::CounterType;
use tallymon_core::path::CounterPath;
use tallymon_core::time::FileTime;

use crate::clock::{LogClock, TimeRange};
use crate::error::{LogError, LogErrorKind, Notes};
use crate::open::open;
use crate::options::ReadOptions;
use crate::reader::ScannedRecord;
use crate::select::{Selection, nothing_found};
use crate::stats::{ColumnStats, Stats, Summary, gather};

/// How the times of two logs are aligned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Align<'t> {
    /// By their starts, for as long as the shorter log. For two runs of the same work.
    #[default]
    Start,
    /// By the clock: the time that both logs cover. For two hosts at the same time.
    Clock,
    /// By something that happened in each log: the time of it in the first log, in the second one, and in
    /// those beside them. As much before and after it is compared as all logs have.
    Events(&'t [FileTime]),
}

/// The comparison of two logs.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// Which part of each log was compared.
    pub sides: [Side; 2],
    /// The counters with numbers in both logs, the largest relative difference first.
    pub differences: Vec<Difference>,
    /// Paths of counters with numbers in the first log only; without the host if each log has one host.
    pub only_first: Vec<String>,
    /// Paths of counters with numbers in the second log only.
    pub only_second: Vec<String>,
    /// Requested paths that are in neither log.
    pub not_found: Vec<String>,
}

/// The compared part of one log.
#[derive(Debug, Clone, PartialEq)]
pub struct Side {
    /// The file.
    pub path: PathBuf,
    /// Records in the range.
    pub records: u64,
    /// Time of the first of them, UTC.
    pub first: Option<FileTime>,
    /// Time of the last of them, UTC.
    pub last: Option<FileTime>,
    /// The clock of the log.
    pub clock: LogClock,
    /// Faults and remarks of the log.
    pub notes: Notes,
}

/// One counter in both logs.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    /// Its path; without the host if each log has one host.
    pub path: String,
    /// Its type, which says the unit.
    pub counter_type: CounterType,
    /// Its numbers in the first log.
    pub first: Summary,
    /// Its numbers in the second log.
    pub second: Summary,
}

impl Difference {
    /// The mean of the second log minus the mean of the first, in the unit of the counter.
    pub fn absolute(&self) -> f64 {
        self.second.mean - self.first.mean
    }

    /// The difference as a share of the larger mean, from -1 to 1: 0.5 is twice as much, 1 is something after
    /// nothing. Unlike a quotient it exists if one mean is 0. Means of different signs give -1 or 1.
    pub fn relative(&self) -> f64 {
        let largest = self.first.mean.abs().max(self.second.mean.abs());
        if largest == 0.0 { 0.0 } else { (self.absolute() / largest).clamp(-1.0, 1.0) }
    }

    /// The difference in standard deviations of the values of both logs; `None` if all values of each log are
    /// equal. Less than 1 is often noise.
    pub fn deviations(&self) -> Option<f64> {
        let spread = ((self.first.deviation.powi(2) + self.second.deviation.powi(2)) / 2.0).sqrt();
        (spread > 0.0).then(|| self.absolute() / spread)
    }
}

/// Compares the counters that two logs share.
///
/// Counters are matched by their paths. If each log has one host, the names of the hosts are ignored.
///
/// # Errors
///
/// A log cannot be read, no requested counter is in the logs, or they have no time in common.
pub fn compare(
    paths: [&Path; 2],
    align: Align<'_>,
    selection: &Selection,
    options: &ReadOptions,
) -> Result<Comparison, LogError> {
    compare_beside(paths, &[], align, selection, options)
}

/// As [`compare`], but over the time that the logs `beside` cover, too: what is known of each pair of several
/// logs is then of one part of the first log.
///
/// # Errors
///
/// As [`compare`].
pub fn compare_beside(
    paths: [&Path; 2],
    beside: &[&Path],
    align: Align<'_>,
    selection: &Selection,
    options: &ReadOptions,
) -> Result<Comparison, LogError> {
    let [one, other] = paths;
    let ranges = [range(one, selection, options)?, range(other, selection, options)?];
    let others = beside.iter().map(|path| range(path, selection, options)).collect::<Result<Vec<_>, _>>()?;
    let [of_one, of_other] = aligned(paths, ranges, &others, align)?;
    let first = gather(&[one.to_path_buf()], selection, of_one, options)?;
    let second = gather(&[other.to_path_buf()], selection, of_other, options)?;
    let not_found: Vec<String> =
        first.not_found.iter().filter(|path| second.not_found.contains(path)).cloned().collect();
    if !not_found.is_empty() && not_found.len() == selection.counters.len() {
        return Err(nothing_found(&not_found));
    }
    let sides = [side(one, &first), side(other, &second)];
    let hosts_matter = !(has_one_host(&first.columns) && has_one_host(&second.columns));
    let mut in_second = by_key(second.columns, hosts_matter);
    let mut differences = Vec::new();
    let mut only_first = Vec::new();
    for (key, (path, counter_type, first)) in by_key(first.columns, hosts_matter) {
        match in_second.remove(&key) {
            Some((_, _, second)) => differences.push(Difference { path, counter_type, first, second }),
            None => only_first.push(path),
        }
    }
    let only_second = in_second.into_values().map(|(path, _, _)| path).collect();
    differences.sort_by(|one, other| {
        let relative = other.relative().abs().total_cmp(&one.relative().abs());
        relative.then(other.absolute().abs().total_cmp(&one.absolute().abs()))
    });
    Ok(Comparison { sides, differences, only_first, only_second, not_found })
}

/// The first and last time of a log within the selection.
fn range(
    path: &Path,
    selection: &Selection,
    options: &ReadOptions,
) -> Result<(FileTime, FileTime), LogError> {
    // A range by a log's own clock is by the clock of each log.
    let clock = LogClock::of(&[path.to_path_buf()], options)?;
    let wanted = selection.range(&clock);
    let mut log = open(path, options)?;
    let mut range: Option<(FileTime, FileTime)> = None;
    let mut note = |ScannedRecord { time, .. }: ScannedRecord| {
        if wanted.has(time) {
            let (first, last) = range.unwrap_or((time, time));
            range = Some((first.min(time), last.max(time)));
        }
        ControlFlow::Continue(())
    };
    log.scan(&mut note).map_err(|error| error.in_file(path))?;
    range.ok_or_else(|| clock.no_records(wanted).in_file(path))
}

/// The part of each log to compare, for which there must be records in the others, too.
fn aligned(
    paths: [&Path; 2],
    [one, other]: [(FileTime, FileTime); 2],
    others: &[(FileTime, FileTime)],
    align: Align<'_>,
) -> Result<[TimeRange; 2], LogError> {
    let select = |from: FileTime, to: FileTime| TimeRange { from: Some(from), to: Some(to) };
    match align {
        Align::Start => {
            let length = |(first, last): (FileTime, FileTime)| last.0.saturating_sub(first.0);
            let shorter =
                others.iter().map(|range| length(*range)).fold(length(one).min(length(other)), u64::min);
            let until = |first: FileTime| FileTime(first.0.saturating_add(shorter));
            Ok([select(one.0, until(one.0)), select(other.0, until(other.0))])
        }
        Align::Events(times) => {
            let all = || [one, other].into_iter().chain(others.iter().copied()).zip(times);
            if times.len() != others.len().saturating_add(2) {
                let words =
                    format!("{} times of the event for {} logs", times.len(), others.len().saturating_add(2));
                return Err(LogError::new(LogErrorKind::Request(words)));
            }
            if all().any(|((first, last), event)| *event < first || *event > last) {
                let words = "a log has no record at the time of its event";
                return Err(LogError::new(LogErrorKind::NoRecords(words.to_owned())));
            }
            let before = all().map(|((first, _), event)| event.0.saturating_sub(first.0)).min();
            let after = all().map(|((_, last), event)| last.0.saturating_sub(event.0)).min();
            let (before, after) = (before.unwrap_or_default(), after.unwrap_or_default());
            let around = |event: Option<&FileTime>| {
                let event = event.copied().unwrap_or_default();
                select(FileTime(event.0.saturating_sub(before)), FileTime(event.0.saturating_add(after)))
            };
            Ok([around(times.first()), around(times.get(1))])
        }
        Align::Clock => {
            let common = |(from, to): (FileTime, FileTime), other: &(FileTime, FileTime)| {
                (from.max(other.0), to.min(other.1))
            };
            let (from, to) = others.iter().fold(common(one, &other), common);
            if from > to {
                let [path, other_path] = paths.map(Path::display);
                let beside = if others.is_empty() { "" } else { " and the logs beside them" };
                let words = format!(
                    "{path} and {other_path}{beside} have no time in common; compare them by their \
                     starts instead"
                );
                return Err(LogError::new(LogErrorKind::NoRecords(words)));
            }
            Ok([select(from, to), select(from, to)])
        }
    }
}

fn side(path: &Path, stats: &Stats) -> Side {
    Side {
        path: path.to_path_buf(),
        records: stats.records,
        first: stats.first,
        last: stats.last,
        clock: stats.clock.clone(),
        notes: stats.notes.first().map(|(_, notes)| notes.clone()).unwrap_or_default(),
    }
}

fn has_one_host(columns: &[ColumnStats]) -> bool {
    let host = |column: &ColumnStats| {
        column.parts.as_ref().and_then(|parts| parts.machine.as_ref()).map(|host| host.to_lowercase())
    };
    let mut hosts = columns.iter().map(host);
    let first = hosts.next();
    hosts.all(|host| Some(host) == first)
}

/// The columns with numbers, by what identifies a counter in both logs: the path in lower case, and its
/// position among equal paths.
fn by_key(
    columns: Vec<ColumnStats>,
    hosts_matter: bool,
) -> BTreeMap<(String, u32), (String, CounterType, Summary)> {
    let mut seen: HashMap<String, u32> = HashMap::new();
    let mut numbers = BTreeMap::new();
    for column in columns {
        let path = match column.parts {
            Some(parts) if !hosts_matter => CounterPath { machine: None, ..parts }.to_string(),
            _ => column.path,
        };
        let key = path.to_lowercase();
        let same = seen.entry(key.clone()).or_default();
        let nth = *same;
        *same = same.saturating_add(1);
        if let Ok(summary) = column.summary {
            numbers.insert((key, nth), (path, column.counter_type, summary));
        }
    }
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(name: &str, host: &str, minute: u32, counters: &[(&str, &[f64])]) -> PathBuf {
        let mut text = "\"(PDH-CSV 4.0) (UTC)(0)\"".to_owned();
        for (counter, _) in counters {
            text.push_str(&format!(",\"\\\\{host}\\Memory\\{counter}\""));
        }
        for second in 0..counters.first().map_or(0, |(_, values)| values.len()) {
            text.push_str(&format!("\r\n\"11/26/2016 13:{minute:02}:{second:02}.000\""));
            for (_, values) in counters {
                text.push_str(
                    &values.get(second).map_or(",\" \"".to_owned(), |value| format!(",\"{value}\"")),
                );
            }
        }
        let path = std::env::temp_dir().join(format!("tallymon-compare-{name}-{}.csv", std::process::id()));
        std::fs::write(&path, text + "\r\n").unwrap();
        path
    }

    #[test]
    fn logs_are_lined_up_by_an_event() {
        // The same work after a peak, which is later in the second log.
        let one = log("peak", "web1", 10, &[("A", &[1.0, 9.0, 2.0, 3.0, 4.0])]);
        let other = log("late", "web1", 20, &[("A", &[0.0, 0.0, 1.0, 9.0, 2.0, 3.0])]);
        let (select, read) = (Selection::default(), ReadOptions::default());
        let first_of = |path: &Path| range(path, &select, &read).unwrap().0;
        let after = |path: &Path, seconds: u64| FileTime(first_of(path).0 + seconds * 10_000_000);
        let events = [after(&one, 1), after(&other, 3)];
        let found = compare([&one, &other], Align::Events(&events), &select, &read).unwrap();
        // One record before and two behind it: all that both have.
        assert_eq!((found.sides[0].records, found.sides[1].records), (4, 4));
        assert_eq!(
            (found.sides[0].first, found.sides[1].first),
            (Some(after(&one, 0)), Some(after(&other, 2)))
        );
        assert_eq!(found.differences[0].absolute(), 0.0);
        // By their starts they differ.
        let found = compare([&one, &other], Align::Start, &select, &read).unwrap();
        assert!(found.differences[0].absolute() != 0.0);
        // A log beside them with less before its event.
        let third = [events[0], events[1], first_of(&one)];
        let found = compare_beside([&one, &other], &[&one], Align::Events(&third), &select, &read).unwrap();
        assert_eq!((found.sides[0].records, found.sides[1].records), (3, 3));
        for (events, words) in [
            (&[after(&one, 9), events[1]][..], "no record at the time of its event"),
            (&[FileTime(0), FileTime(u64::MAX)], "no record at the time of its event"),
            (&[events[0]], "1 times of the event for 2 logs"),
        ] {
            let error =
                compare([&one, &other], Align::Events(events), &select, &read).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }
        for path in [one, other] {
            std::fs::remove_file(path).unwrap();
        }
    }

    #[test]
    fn the_largest_difference_is_first() {
        let one =
            log("one", "web1", 10, &[("A", &[10.0, 10.0, 10.0, 10.0]), ("B", &[1.0, 3.0]), ("C", &[5.0])]);
        let other = log("other", "WEB2", 20, &[("a", &[11.0, 11.0]), ("b", &[9.0, 7.0]), ("D", &[5.0])]);
        let all = (Selection::default(), ReadOptions::default());
        let found = compare([&one, &other], Align::Start, &all.0, &all.1).unwrap();
        let paths: Vec<&str> = found.differences.iter().map(|difference| difference.path.as_str()).collect();
        assert_eq!(paths, [r"\Memory\B", r"\Memory\A"]);
        assert_eq!(
            (found.only_first.as_slice(), found.only_second.as_slice()),
            (&[r"\Memory\C".to_owned()][..], &[r"\Memory\D".to_owned()][..])
        );
        let b = &found.differences[0];
        assert_eq!((b.absolute(), b.relative(), b.deviations()), (6.0, 0.75, Some(6.0)));
        // A log of two seconds is compared with the first two seconds of the other.
        assert_eq!(found.sides[0].records, 2);
        assert_eq!(found.differences[1].deviations(), None);

        // Beside a log of one second only its time is compared.
        let short = log("short", "web3", 30, &[("E", &[1.0, 2.0])]);
        let (select, read) = (&all.0, &all.1);
        let found = compare_beside([&one, &one], &[&short], Align::Start, select, read).unwrap();
        assert_eq!((found.sides[0].records, found.sides[1].records), (2, 2));
        let error =
            compare_beside([&one, &one], &[&short], Align::Clock, select, read).unwrap_err().to_string();
        assert!(error.contains("and the logs beside them have no time in common"), "{error}");
        std::fs::remove_file(short).unwrap();

        let error = compare([&one, &other], Align::Clock, &all.0, &all.1).unwrap_err().to_string();
        assert!(error.contains("no time in common"), "{error}");
        let select = Selection { counters: vec![r"\Memory\C".parse().unwrap()], ..Selection::default() };
        let found = compare([&one, &other], Align::Start, &select, &all.1).unwrap();
        assert_eq!((found.only_first.len(), found.not_found.len()), (1, 0));
        let select = Selection { counters: vec![r"\None\Here".parse().unwrap()], ..Selection::default() };
        assert!(compare([&one, &other], Align::Start, &select, &all.1).is_err());
        for path in [one, other] {
            std::fs::remove_file(path).unwrap();
        }
    }
}
