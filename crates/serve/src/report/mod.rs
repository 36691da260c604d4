//! A report of logs: the page with its data in it, one file that works without a server; or a picture; or the
//! numbers, for other forms. With logs from before it says what differs, and has both in each chart.

mod busiest;
mod html;
mod line;
mod picture;

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use tallymon::analyze::{Against, Analysis, RuleSet, against, analyze};
use tallymon::core::time::FileTime;
use tallymon::core::title::{Language, TitleIndex};
use tallymon::core::visible::visible;
use tallymon::log::info::info_of;
use tallymon::log::{LogError, LogTime, ReadOptions, Selection};
use tallymon::{Locale, Log, LogSummary};

use crate::chart::{Chart, MOST_POINTS, Range, SeriesInfo};
use crate::decimate::Aggregate;
use crate::http::Refused;
use crate::log_host::LogHost;
pub use crate::statistics::Figures;
pub use busiest::{Busiest, Busy};
pub use line::Line;

/// The most series; each of a day at 15 s takes up to 25 kB.
const MOST_SERIES: usize = 64;

/// Findings of which the first instance has a line, whether or not its counter is asked for.
const MOST_PICTURES: usize = 10;
/// The parts of the machine in the overview of a report, with the words of the page, and the counters that
/// show each, the best one first. They are in every report of logs that have them.
const STRIPS: [(&str, &[&str]); 5] = [
    (
        "processor",
        &[r"\Processor(_Total)\% Processor Time", r"\Processor Information(_Total)\% Processor Time"],
    ),
    ("memory", &[r"\Memory\% Committed Bytes In Use", r"\Memory\Pages/sec"]),
    (
        "disk",
        &[
            r"\PhysicalDisk(_Total)\% Disk Time",
            r"\PhysicalDisk(*)\Disk Bytes/sec",
            r"\PhysicalDisk(*)\Disk Read Bytes/sec",
        ],
    ),
    ("network", &[r"\Network Interface(*)\Bytes Total/sec", r"\Network Interface(*)\Bytes Received/sec"]),
    (
        "pressure",
        &[
            r"\Pressure\% Processor Pressure Some",
            r"\Pressure\% IO Pressure Some",
            r"\Pressure\% Memory Pressure Some",
        ],
    ),
];
/// What a machine is made of: PhysicalDisk, LogicalDisk, Network Interface.
const PARTS: [TitleIndex; 3] = [TitleIndex(234), TitleIndex(236), TitleIndex(510)];

/// What goes into a report.
#[derive(Debug, Clone)]
pub struct ReportOptions {
    /// The logs, on one time axis.
    pub logs: Vec<PathBuf>,
    /// Logs from before, to compare with; there may be none.
    pub against: Vec<PathBuf>,
    /// Only so much of the end of the logs, and of those from before.
    pub last: Option<Duration>,
    /// The counters; if there are none, `usual`.
    pub paths: Vec<String>,
    /// The counters to choose those from that the logs have.
    pub usual: Vec<String>,
    /// How logs are read.
    pub reading: ReadOptions,
    /// The language and the names of counters.
    pub locale: Locale,
}

/// What a report has of logs, and what is not in it.
#[derive(Debug)]
pub struct Report {
    /// The logs.
    pub logs: Logs,
    /// The logs from before.
    pub earlier: Option<Logs>,
    /// Series that were left out, because there are too many.
    pub left_out: usize,
    /// Requested counters that the logs do not have, with the reason.
    pub not_found: Vec<String>,
    /// The busiest instances over the whole time.
    pub busiest: Vec<Busiest>,
    chart: Chart,
    before: Option<Chart>,
    found: Findings,
    /// The language of the findings.
    language: Language,
}

/// Logs, and the part of them that a report is about.
#[derive(Debug, Clone)]
pub struct Logs {
    /// The names of the files, as they may be shown.
    pub names: Vec<String>,
    /// What they are.
    pub summary: LogSummary,
    /// Counters in them, each instance by itself.
    pub columns: usize,
    /// The time of the first record of the part, UTC.
    pub first: FileTime,
    /// The time of the last one.
    pub last: FileTime,
    /// Records of the part.
    pub records: u64,
    /// Times without records within each log: the last record before (UTC), and the seconds until the next.
    pub gaps: Vec<(FileTime, f64)>,
    /// The number of all gaps.
    pub gap_count: u64,
    /// The disks and the network interfaces that the logs have, by their object.
    pub parts: Vec<(String, Vec<String>)>,
    /// Hosts that were restarted, each before the time of a record (UTC), in the order of time.
    pub restarts: Vec<(String, FileTime)>,
}

/// What was found in the logs.
#[derive(Debug)]
enum Findings {
    Of(Box<Analysis>),
    Compared(Box<Against>),
}

/// Why there is no report.
#[derive(Debug)]
#[non_exhaustive]
pub enum ReportError {
    /// A log cannot be read.
    Log(LogError),
    /// The rules for findings cannot be read.
    Rules(String),
    /// A counter is not in the logs, or the system failed: in words.
    Other(String),
}

impl fmt::Display for ReportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReportError::Log(error) => error.fmt(f),
            ReportError::Rules(words) | ReportError::Other(words) => f.write_str(words),
        }
    }
}

impl std::error::Error for ReportError {}

impl From<Refused> for ReportError {
    fn from(refused: Refused) -> ReportError {
        ReportError::Other(refused.words)
    }
}

/// Reads what a report of logs needs.
///
/// # Errors
///
/// A log cannot be read, or has none of the counters.
pub fn report(options: &ReportOptions) -> Result<Report, ReportError> {
    let rules = RuleSet::built_in().map_err(|error| ReportError::Rules(error.to_string()))?;
    let from = options.last.map(units).map(LogTime::BeforeEnd);
    let (part, reading) = (Selection { from, ..Selection::default() }, &options.reading);
    let found = match options.against.as_slice() {
        [] => analyze(&options.logs, rules, &part, reading).map(|found| Findings::Of(Box::new(found))),
        before => against(before, &options.logs, &rules, &part, reading)
            .map(|found| Findings::Compared(Box::new(found))),
    };
    let found = found.map_err(ReportError::Log)?;
    let log = Log::open_all(&options.logs, reading).map_err(ReportError::Log)?;
    let summary = log.summary().clone();
    let columns = log.columns().len();
    let host = LogHost::of_log(log);
    let of_strips = STRIPS.iter().flat_map(|(_, paths)| paths.iter().copied());
    let usual: Vec<&str> = options.usual.iter().map(String::as_str).chain(of_strips).collect();
    let paths = match options.paths.is_empty() {
        true => host.usual_of_all(&usual)?,
        false => of_every_host(&summary.hosts, &options.paths),
    };
    let language = options.locale.language;
    let (mut paths, not_found) = host.known(&paths, language)?;
    // What is found is shown, whether or not it is one of the usual counters.
    let pictures = found.pictures();
    let shown = host.known(&pictures, language).map(|(known, _)| known).unwrap_or_default();
    let part_of = range(&summary, options);
    // They may be usual ones too.
    let mut wanted = host.series_paths(&shown, language)?;
    paths.extend(shown);
    let mut chart = host.chart(None, &paths, &part_of, language, &|| true)?;
    let most = if options.against.is_empty() { MOST_SERIES } else { MOST_SERIES / 2 };
    wanted.extend(strips(&mut chart).into_iter().map(|(_, path)| path));
    let left_out = chart.keep(most, &wanted);
    let busiest = busiest::busiest(&host, &part_of, &options.locale);
    let parts = parts_of(&host, language);
    let mut logs = Logs::new(&options.logs, summary, columns, &chart);
    logs.parts = parts;
    logs.look_for_holes(&options.logs, &part, reading)?;
    let (earlier, before) = match options.against.is_empty() {
        true => (None, None),
        false => Some(earlier(options, &chart)?).unzip(),
    };
    Ok(Report { logs, earlier, left_out, not_found, busiest, chart, before, found, language })
}

/// What the machine has of disks, file systems and network interfaces, as far as the logs tell it.
fn parts_of(host: &LogHost, language: Language) -> Vec<(String, Vec<String>)> {
    let Ok(info) = host.info(None, language) else { return Vec::new() };
    let mut all = Vec::new();
    for object in PARTS {
        let Ok(instances) = host.instances(None, object) else { continue };
        let names = instances.iter().filter(|key| key.name != "_Total");
        let mut names: Vec<String> = names.map(|key| visible(&key.to_string()).into_owned()).collect();
        names.dedup();
        if !names.is_empty() {
            all.push((visible(&info.names.name(object)).into_owned(), names));
        }
    }
    all
}

impl Findings {
    /// The series to show of what was found: the first of each of the first ones.
    fn pictures(&self) -> Vec<String> {
        let found = match self {
            Findings::Of(found) => &found.findings,
            Findings::Compared(found) => &found.after.findings,
        };
        let first = found.iter().filter_map(|one| one.instances.first());
        let mut paths: Vec<String> = Vec::new();
        for one in first.take(MOST_PICTURES) {
            if !paths.contains(&one.path) {
                paths.push(one.path.clone());
            }
        }
        paths
    }
}

/// The logs from before, with the same counters.
fn earlier(options: &ReportOptions, chart: &Chart) -> Result<(Logs, Chart), ReportError> {
    let log = Log::open_all(&options.against, &options.reading).map_err(ReportError::Log)?;
    let (summary, columns) = (log.summary().clone(), log.columns().len());
    let host = LogHost::of_log(log);
    let paths: Vec<String> = chart.series.iter().map(|series| series.path.clone()).collect();
    // Without any of them, the reason for the first one is the error.
    let (paths, _) = host.known(&paths, options.locale.language).map_err(|refused| {
        let words =
            format!("the logs from before have none of the counters of the report: {}", refused.words);
        ReportError::Other(words)
    })?;
    let before = host.chart(None, &paths, &range(&summary, options), options.locale.language, &|| true)?;
    Ok((Logs::new(&options.against, summary, columns, &before), before))
}

/// The part of logs that is wanted.
fn range(summary: &LogSummary, options: &ReportOptions) -> Range {
    let from = options.last.map(|last| FileTime(summary.last.0.saturating_sub(units(last))));
    let points = usize::try_from(MOST_POINTS).unwrap_or(usize::MAX);
    Range { from, to: None, points, aggregate: Aggregate::Extremes }
}

/// A time in units of 100 ns.
fn units(time: Duration) -> u64 {
    u64::try_from(time.as_nanos() / 100).unwrap_or(u64::MAX)
}

/// Paths of a log with several hosts: one without a host means each of them.
fn of_every_host(hosts: &[String], paths: &[String]) -> Vec<String> {
    let is_of_all = |path: &&String| hosts.len() > 1 && path.starts_with('\\') && !path.starts_with("\\\\");
    let each = |path: &String| match is_of_all(&path) {
        true => hosts.iter().map(|host| format!("\\\\{host}{path}")).collect(),
        false => vec![path.clone()],
    };
    paths.iter().flat_map(each).collect()
}

impl Logs {
    fn new(paths: &[PathBuf], summary: LogSummary, columns: usize, chart: &Chart) -> Logs {
        let names = paths.iter().filter_map(|path| path.file_name());
        let names = names.map(|name| visible(&name.to_string_lossy()).into_owned()).collect();
        // The statistics know the times also where rows became stretches.
        let times = chart.times.unwrap_or((summary.first, summary.last));
        let (first, last, records) = (times.0, times.1, chart.rows.of);
        let (gaps, parts, restarts) = (Vec::new(), Vec::new(), Vec::new());
        Logs { names, summary, columns, first, last, records, gaps, gap_count: 0, parts, restarts }
    }

    /// Reads the logs for gaps and restarts.
    fn look_for_holes(
        &mut self,
        paths: &[PathBuf],
        part: &Selection,
        reading: &ReadOptions,
    ) -> Result<(), ReportError> {
        for path in paths {
            let info = info_of(path, part, reading).map_err(ReportError::Log)?;
            self.gaps.extend(info.gaps.iter().map(|gap| (gap.after, gap.seconds)));
            self.gap_count = self.gap_count.saturating_add(info.gap_count);
            for host in info.hosts {
                let name = visible(&host.name).into_owned();
                self.restarts.extend(host.restarts.into_iter().map(|time| (name.clone(), time)));
            }
        }
        self.restarts.sort_by_key(|(_, time)| *time);
        Ok(())
    }

    /// The gaps and restarts in words, on the clock of the logs; at most `most` of each.
    pub fn holes(&self, most: usize) -> Vec<String> {
        let clock = &self.summary.clock;
        let gap = |(after, seconds): &(FileTime, f64)| {
            format!("no record for {seconds:.0} s after {}", clock.text(*after))
        };
        let restart = |(host, time): &(String, FileTime)| {
            format!(
                "{} was restarted before {}",
                if host.is_empty() { "the host" } else { host },
                clock.text(*time)
            )
        };
        let mut words: Vec<String> = self.gaps.iter().take(most).map(gap).collect();
        let more = self.gap_count.saturating_sub(words.len() as u64);
        words.extend((more > 0).then(|| format!("{more} more gaps")));
        words.extend(self.restarts.iter().take(most).map(restart));
        let more = self.restarts.len().saturating_sub(most);
        words.extend((more > 0).then(|| format!("{more} more restarts")));
        words
    }
}

/// The words of the parts of the machine in the overview, each with the path of the series that shows it:
/// the sum of all instances, else the one that had most.
fn strips(chart: &mut Chart) -> Vec<(&'static str, String)> {
    if chart.rows.times.len() < 2 {
        return Vec::new();
    }
    let mut found = Vec::new();
    for (word, counters) in STRIPS {
        let best = counters.iter().find_map(|counter| {
            let series = chart.series.iter().zip(&mut chart.statistics);
            let of_counter = series.filter(|(series, _)| series.is_of_counter(counter));
            let most = of_counter.filter_map(|(series, numbers)| Some((series, numbers.figures()?.max)));
            let key = |(series, most): &(&SeriesInfo, f64)| (series.is_sum(), *most);
            most.max_by(|one, other| {
                let ((sum, most), (other_sum, other_most)) = (key(one), key(other));
                sum.cmp(&other_sum).then(most.total_cmp(&other_most))
            })
        });
        found.extend(best.map(|(series, _)| (word, series.path.clone())));
    }
    found
}

impl Report {
    /// How many series of the logs it has.
    pub fn series(&self) -> usize {
        self.chart.series.len()
    }

    /// What stands out in the logs.
    pub fn findings(&self) -> &Analysis {
        match &self.found {
            Findings::Of(found) => found,
            Findings::Compared(found) => &found.after,
        }
    }

    /// What changed since the logs from before.
    pub fn against(&self) -> Option<&Against> {
        match &self.found {
            Findings::Of(_) => None,
            Findings::Compared(found) => Some(found),
        }
    }

    /// Its series in numbers.
    pub fn lines(&mut self) -> Vec<Line> {
        let mut lines = Vec::new();
        for (series, statistics) in self.chart.series.iter().zip(&mut self.chart.statistics) {
            let before = self.before.as_mut().and_then(|before| {
                let at = before.series.iter().position(|one| one.path == series.path)?;
                before.statistics.get_mut(at)?.figures()
            });
            lines.push(Line { figures: statistics.figures(), before, ..series.line() });
        }
        lines
    }

    /// How far the logs from before are moved so that they begin with the others, in units of 100 ns.
    fn shift(&self) -> i64 {
        let before = self.earlier.as_ref().map_or(self.logs.first, |earlier| earlier.first);
        i64::try_from(i128::from(self.logs.first.0) - i128::from(before.0)).unwrap_or(0)
    }
}

#[cfg(test)]
#[path = "report_tests.rs"]
mod tests;
