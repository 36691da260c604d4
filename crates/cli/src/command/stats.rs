//! `tally stats`: statistics for each counter of performance logs.

use std::io::{self, Write};

use serde_json::json;
use tallymon::clock::rfc3339;
use tallymon::core::counter::{self, CounterType};
use tallymon::core::flow::Value;
use tallymon::log::ReadOptions;
use tallymon::log::stats::{ColumnStats, PERCENTILES, Stats, Summary, stats};

use super::relog::{ended, reading, say_damage, say_not_found, selection};
use crate::arguments::{self, Common, SortKey};
use crate::border;
use crate::exit::Failure;
use crate::progress::Progress;
use crate::words::{table, visible};

pub(crate) fn run(_common: &Common, arguments: &arguments::Stats) -> Result<(), Failure> {
    let options = ReadOptions {
        cap: arguments.choice.cap,
        processes: arguments.naming.of_log(),
        ..reading(&arguments.reading)?
    };
    let progress = Progress::of(&options.bytes_read, &arguments.logs, 1);
    let mut stats = stats(&arguments.logs, &selection(&arguments.choice)?, &options)?;
    drop(progress);
    if let Some(key) = arguments.sort {
        sort(&mut stats.columns, key);
    }
    let hidden = arguments.top.map_or(0, |top| stats.columns.len().saturating_sub(top));
    stats.columns.truncate(stats.columns.len().saturating_sub(hidden));
    let mut out = border::stdout();
    if arguments.json {
        writeln!(out, "{}", border::json(&as_json(&stats)))?;
    } else {
        print(&mut out, &stats, hidden)?;
    }
    say_not_found(&stats.not_found);
    let mut damaged = false;
    for (path, notes) in &stats.notes {
        say_damage(path, notes)?;
        damaged |= notes.damage_count > 0;
    }
    ended(damaged, &stats.not_found)
}

const TITLES: [&str; 10] =
    ["last", "minimum", "median", "mean", "average", "95 %", "99 %", "maximum", "slope/h", "counter"];

/// Puts the columns with the largest values first, and those without a value last.
fn sort(columns: &mut [ColumnStats], key: SortKey) {
    let value = |column: &ColumnStats| {
        let summary = column.summary.as_ref().ok()?;
        match key {
            SortKey::Last => Some(summary.last),
            SortKey::Minimum => Some(summary.minimum),
            SortKey::Median => summary.percentile(50),
            SortKey::Mean => Some(summary.mean),
            SortKey::Average => summary.average,
            SortKey::Percentile95 => summary.percentile(95),
            SortKey::Percentile99 => summary.percentile(99),
            SortKey::Maximum => Some(summary.maximum),
            SortKey::Slope => summary.slope,
        }
    };
    columns.sort_by(|a, b| match (value(a), value(b)) {
        (Some(a), Some(b)) => b.total_cmp(&a),
        (a, b) => b.is_some().cmp(&a.is_some()),
    });
}

fn print(out: &mut impl Write, stats: &Stats, hidden: usize) -> io::Result<()> {
    if let Some((first, last)) = stats.first.zip(stats.last) {
        let (first, last) = (stats.clock.text(first), stats.clock.text(last));
        writeln!(out, "{} records, {first} to {last}", stats.records)?;
    }
    let mut rows = Vec::new();
    let mut approximate = false;
    for column in &stats.columns {
        let path = visible(&column.path).into_owned();
        let row = match &column.summary {
            Ok(summary) => {
                approximate |= summary.approximate;
                let shown = |number: f64| number_of(number, column.counter_type);
                let percentile = |hundredths| summary.percentile(hundredths).map_or_else(dash, shown);
                [
                    shown(summary.last),
                    shown(summary.minimum),
                    percentile(50),
                    shown(summary.mean),
                    summary.average.map_or_else(dash, shown),
                    percentile(95),
                    percentile(99),
                    shown(summary.maximum),
                    summary.slope.map_or_else(dash, shown),
                    path + &missing(column),
                ]
            }
            Err(reason) => {
                let mut row = [(); TITLES.len()].map(|()| dash());
                row[TITLES.len() - 1] = format!("{path}  ({reason})");
                row
            }
        };
        rows.push(row);
    }
    table(out, TITLES, &rows)?;
    if hidden > 0 {
        writeln!(out, "{hidden} more counters; use a larger --top to show them")?;
    }
    if approximate {
        writeln!(out, "Percentiles are accurate to half a percent, because there are many values.")?;
    }
    Ok(())
}

fn dash() -> String {
    "-".to_owned()
}

fn missing(column: &ColumnStats) -> String {
    match column.missing {
        0 => String::new(),
        missing => format!("  ({missing} values are missing)"),
    }
}

/// A number for people, without its unit.
pub(super) fn number_of(number: f64, counter_type: CounterType) -> String {
    counter::human(&Value::Number(number), counter_type).to_string()
}

fn as_json(stats: &Stats) -> serde_json::Value {
    let columns: Vec<_> = stats
        .columns
        .iter()
        .map(|column| {
            let mut value = match &column.summary {
                Ok(summary) => summary_json(summary),
                Err(reason) => json!({ "reason": reason.to_string(), "status": reason.pdh_status().name }),
            };
            if let Some(object) = value.as_object_mut() {
                object.insert("path".into(), json!(column.path));
                object.insert("type".into(), json!(column.counter_type.to_string()));
                object.insert("unit".into(), json!(column.counter_type.suffix().as_str()));
                object.insert("missing".into(), json!(column.missing));
            }
            value
        })
        .collect();
    json!({
        "records": stats.records,
        "first": stats.first.map(rfc3339),
        "last": stats.last.map(rfc3339),
        "counters": columns,
        "not_found": stats.not_found,
    })
}

/// The numbers of one counter as JSON.
pub(super) fn summary_json(summary: &Summary) -> serde_json::Value {
    let percentiles: serde_json::Map<String, serde_json::Value> = PERCENTILES
        .iter()
        .zip(summary.percentiles)
        .map(|(hundredths, value)| (format!("p{hundredths}"), json!(value)))
        .collect();
    json!({
        "count": summary.count,
        "last": summary.last,
        "minimum": summary.minimum,
        "maximum": summary.maximum,
        "mean": summary.mean,
        "average": summary.average,
        "deviation": summary.deviation,
        "percentiles": percentiles,
        "approximate": summary.approximate,
        "slope_per_hour": summary.slope,
    })
}
