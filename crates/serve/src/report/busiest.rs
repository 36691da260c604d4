//! The busiest instances over the whole time of a report: processes, disks, interfaces and services.

use tallymon::Locale;

use super::{Figures, Line};
use crate::chart::Range;
use crate::log_host::LogHost;

/// What they are ranked by.
const COUNTERS: [&str; 8] = [
    r"\Process(*)\% Processor Time",
    r"\Process(*)\Working Set",
    r"\PhysicalDisk(*)\% Disk Time",
    r"\PhysicalDisk(*)\Disk Bytes/sec",
    r"\LogicalDisk(*)\% Disk Time",
    r"\Network Interface(*)\Bytes Total/sec",
    r"\Services(*)\% Processor Time",
    r"\Container(*)\% Processor Time",
];
/// Instances that stand for all others, or for nothing that runs.
const SUMS: [&str; 3] = ["_Total", "Idle", "_Global"];
/// The most instances of a counter.
const MOST: usize = 5;

/// The busiest instances of a counter.
#[derive(Debug, Clone, PartialEq)]
pub struct Busiest {
    /// The object and the counter.
    pub title: String,
    /// The unit, such as `%`.
    pub unit: &'static str,
    /// The instances, the busiest first.
    pub instances: Vec<Busy>,
}

/// One of them.
#[derive(Debug, Clone, PartialEq)]
pub struct Busy {
    /// The instance, as it may be shown.
    pub name: String,
    /// Its mean over all records: one that ran for a tenth of the time has a tenth of what it took meanwhile.
    pub mean: f64,
    /// The largest value.
    pub max: f64,
}

/// The busiest instances in a part of logs; nothing if they have none of the counters.
pub(super) fn busiest(host: &LogHost, part: &Range, locale: &Locale) -> Vec<Busiest> {
    let wanted = COUNTERS.map(str::to_owned);
    let Ok((known, _)) = host.known(&wanted, locale.language) else { return Vec::new() };
    let mut all = Vec::new();
    for path in known {
        let few = Range { points: 2, ..*part };
        let Ok(mut chart) = host.chart(None, &[path], &few, locale.language, &|| true) else { continue };
        let records = chart.rows.of.max(1) as f64;
        let lines = chart.series.iter().zip(&mut chart.statistics);
        let mut lines: Vec<(Line, Figures)> = lines
            .filter_map(|(series, statistics)| Some((series.line(), statistics.figures()?)))
            .filter(|(line, figures)| figures.max > 0.0 && is_one(line))
            .collect();
        lines.sort_by(|(_, one), (_, other)| other.sum.total_cmp(&one.sum));
        let Some((first, _)) = lines.first() else { continue };
        let (title, unit) = (format!("{}: {}", first.object, first.counter), first.unit);
        let busy = |(line, figures): &(Line, Figures)| Busy {
            name: line.instance.clone().unwrap_or_default(),
            mean: figures.sum / records,
            max: figures.max,
        };
        all.push(Busiest { title, unit, instances: lines.iter().take(MOST).map(busy).collect() });
    }
    all
}

/// Whether a series is of a single instance.
fn is_one(line: &Line) -> bool {
    line.instance.as_ref().is_some_and(|name| !SUMS.iter().any(|sum| name.eq_ignore_ascii_case(sum)))
}
