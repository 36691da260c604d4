//! What `tally analyze` finds in the history or in a log: marks on the time axis, and the text behind them.

use tallymon::analyze::{Analysis, Finding, Range, RuleSet, Severity, Values, analyze_values};
use tallymon::core::flow::{Absence, Column, NoValue};
use tallymon::core::path::CounterPath;
use tallymon::core::time::{FileTime, Frequency};

use crate::model::monitor::Monitor;
use crate::model::point::{POINT_BYTES, Point};

/// The most findings that are kept; those that hurt most come first.
const MOST_FINDINGS: usize = 30;
/// The instances of a finding that are kept.
const MOST_INSTANCES: usize = 5;

/// Findings, and where they are on the time axis.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    list: Vec<Finding>,
    /// Stretches of time with the worst severity in them: in their order, none over another.
    spans: Vec<Span>,
    /// Findings that are not kept.
    pub(crate) more: usize,
}

/// A stretch of time with findings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Span {
    from: FileTime,
    /// The first moment after it.
    to: FileTime,
    worst: Severity,
}

impl Findings {
    /// The findings of one or more analyses; those that hurt most come first.
    pub(crate) fn of(analyses: impl IntoIterator<Item = Analysis>) -> Findings {
        let mut list: Vec<Finding> = Vec::new();
        for found in analyses.into_iter().flat_map(|analysis| analysis.findings) {
            // Chart and overview may have the same counter.
            if !list.iter().any(|known| known.title == found.title && known.host == found.host) {
                list.push(found);
            }
        }
        list.sort_by(|one, other| other.hurt.total_cmp(&one.hurt));
        let more = list.len().saturating_sub(MOST_FINDINGS);
        list.truncate(MOST_FINDINGS);
        let spans = spans(&list);
        for found in &mut list {
            found.instances.truncate(MOST_INSTANCES);
            // The chart has the values.
            found.instances.iter_mut().for_each(|instance| instance.course = Vec::new());
        }
        Findings { list, spans, more }
    }

    pub(crate) fn list(&self) -> &[Finding] {
        &self.list
    }

    /// The worst severity of all findings.
    pub(crate) fn worst(&self) -> Option<Severity> {
        self.list.iter().map(|found| found.severity).max()
    }

    /// The worst severity between two times, both included.
    pub(crate) fn worst_between(&self, from: FileTime, to: FileTime) -> Option<Severity> {
        let first = self.spans.partition_point(|span| span.to <= from);
        let inside = self.spans.iter().skip(first).take_while(|span| span.from <= to);
        inside.map(|span| span.worst).max()
    }

    /// The finding at a time that matters most: the worst one, of these the one that hurts most.
    pub(crate) fn at(&self, from: FileTime, to: FileTime) -> Option<usize> {
        let is_there = |found: &Finding| ranges(found).any(|range| range.from <= to && range.to >= from);
        let here = self.list.iter().enumerate().filter(|(_, found)| is_there(found));
        // `max_by_key` prefers the last of equal ones.
        here.rev().max_by_key(|(_, found)| found.severity).map(|(at, _)| at)
    }
}

/// All ranges of time of a finding.
pub(crate) fn ranges(found: &Finding) -> impl Iterator<Item = &Range> {
    found.instances.iter().flat_map(|instance| &instance.ranges)
}

/// The range in which a finding held longest, of its first instance.
pub(crate) fn longest(found: &Finding) -> Option<&Range> {
    let ranges = found.instances.first()?.ranges.iter();
    // The first of equal ones.
    ranges.rev().max_by(|one, other| one.seconds.total_cmp(&other.seconds))
}

fn spans(list: &[Finding]) -> Vec<Span> {
    let level = |severity| match severity {
        Severity::Note => 0_usize,
        Severity::Warning => 1,
        Severity::Critical => 2,
    };
    // Where findings begin (+1) and end (-1).
    let mut ends: Vec<(FileTime, usize, i64)> = Vec::new();
    for found in list {
        for range in ranges(found) {
            ends.push((range.from, level(found.severity), 1));
            ends.push((FileTime(range.to.max(range.from).0.saturating_add(1)), level(found.severity), -1));
        }
    }
    ends.sort_unstable();
    let mut open = [0_i64; 3];
    let mut spans: Vec<Span> = Vec::new();
    for (at, (time, level, change)) in ends.iter().enumerate() {
        if let Some(count) = open.get_mut(*level) {
            *count = count.saturating_add(*change);
        }
        let Some((next, ..)) = ends.get(at.saturating_add(1)).filter(|(next, ..)| next > time) else {
            continue;
        };
        let severities = [Severity::Note, Severity::Warning, Severity::Critical];
        let Some(worst) = open.iter().zip(severities).rev().find(|(count, _)| **count > 0) else { continue };
        match spans.last_mut().filter(|last| last.to == *time && last.worst == worst.1) {
            Some(last) => last.to = *next,
            None => spans.push(Span { from: *time, to: *next, worst: worst.1 }),
        }
    }
    spans
}

/// A copy of the newest rows of a history, for a thread that analyses them.
#[derive(Debug)]
pub(crate) struct Copied {
    columns: Vec<Column>,
    times: Vec<(FileTime, i32)>,
    /// The last values of each column; a series that began later has fewer than there are rows.
    points: Vec<Vec<Point>>,
}

impl Copied {
    /// Copies the newest rows that fit into some bytes. `bias` is what is added to local time for UTC.
    pub(crate) fn of(monitor: &Monitor, bytes: usize, bias: i32) -> Copied {
        let series: Vec<_> =
            monitor.series().iter().filter(|series| !series.counter_type.is_text()).collect();
        let row = series.len().saturating_add(2).saturating_mul(POINT_BYTES);
        let all = monitor.rows();
        let most = u64::try_from(bytes.checked_div(row).unwrap_or(0)).unwrap_or(u64::MAX);
        let rows = all.start.max(all.end.saturating_sub(most))..all.end;
        let minutes = bias.saturating_neg();
        let times: Vec<_> = rows.filter_map(|row| Some((monitor.time(row)?, minutes))).collect();
        let column = |path: &String, counter_type| Column {
            path: path.clone(),
            parts: CounterPath::parse(path).ok().map(|parsed| parsed.path),
            counter_type,
            scale: 0,
            time_base: Frequency::default(),
            group: 0,
            wild: false,
            live: None,
        };
        Copied {
            columns: series.iter().map(|series| column(&series.path, series.counter_type)).collect(),
            points: series.iter().map(|series| series.newest(times.len())).collect(),
            times,
        }
    }

    /// How many rows there are.
    pub(crate) fn rows(&self) -> usize {
        self.times.len()
    }

    /// What is wrong in it; `None` once `wanted` is false.
    pub(crate) fn analysis(&self, rules: RuleSet, wanted: &dyn Fn() -> bool) -> Option<Analysis> {
        let value = |row: usize, column: usize| {
            let missing = NoValue::NoData(Absence::NotRequested);
            let points = self.points.get(column).ok_or(missing)?;
            let early = self.times.len().saturating_sub(points.len());
            let point = row.checked_sub(early).and_then(|row| points.get(row)).ok_or(missing)?;
            point.read()
        };
        let values = Values { columns: &self.columns, times: &self.times, value: &value };
        analyze_values(&values, rules, wanted)
    }
}
