//! `tally stat`: everyday reports by name, live or from a log, a line for each processor, disk or process.

mod reports;
mod table;

use std::io::{self, IsTerminal};
use std::time::Duration;

use tallymon::Reading;
use tallymon::core::flow::Value;
use tallymon::core::time::FileTime;

use self::reports::Report;
use self::table::{Line, Printer};
use super::relog::in_range;
use crate::arguments::{Common, Naming, OfLog, Stat, StatReport, TimeChoice};
use crate::exit::{Failure, Kind};
use crate::log_hosts::LogHosts;
use crate::missing_values::{Reasons, missing};
use crate::paths;
use crate::stop::{Stop, Ticks};
use crate::words::say;

/// How many processes are printed without `--top`.
const MOST_PROCESSES: usize = 10;

pub(crate) fn run(common: &Common, wanted: &Stat) -> Result<(), Failure> {
    if common.file.is_some() {
        let words = "a saved data block has one moment; 'tally get --file FILE PATH' prints its values";
        return Err(Failure::new(Kind::Usage, words));
    }
    wanted.range.needs_log(!wanted.of_log.log.is_empty())?;
    match LogHosts::of(common, &wanted.of_log, Naming::default())? {
        Some(log) => of_log(log, wanted),
        None => live(common, wanted),
    }
}

/// The reports of this machine, one after each interval; without an interval one of a second.
fn live(common: &Common, wanted: &Stat) -> Result<(), Failure> {
    let report = wanted.report.report();
    let mut query = paths::query(common)?;
    let (mut handles, mut lacking) = (Vec::new(), Vec::new());
    for column in report.columns {
        match paths::add(&mut query, &report.path(column)) {
            Ok(handle) => handles.push(handle),
            Err(failure) => lacking.push((column.title, failure)),
        }
    }
    check(report, lacking)?;
    let interval = wanted.interval.unwrap_or(Duration::from_secs(1));
    let most = wanted.count.or_else(|| wanted.interval.is_none().then_some(1));
    let stop = Stop::on_signals()?;
    let mut printer = Printer::new(report, query.system_name(), io::stdout().is_terminal());
    let mut ticks = Ticks::start(interval);
    query.collect()?;
    let (mut done, mut has_lines) = (0u64, false);
    while most.is_none_or(|most| done < most) && stop.wait_until(ticks.next()) {
        let time = query.collect()?;
        let lines = lines(report, &query.readings(), wanted);
        has_lines |= !lines.is_empty();
        printer.sample(time, &lines)?;
        done = done.saturating_add(1);
    }
    printer.average()?;
    if done > 0 && !has_lines {
        // An empty table must not look as if nothing happened.
        return missing(&query, &handles, common.is_of_this_machine(), Reasons::Missing);
    }
    Ok(())
}

/// The reports of the records of a log.
fn of_log(mut hosts: LogHosts, wanted: &Stat) -> Result<(), Failure> {
    let report = wanted.report.report();
    let mut lacking = Vec::new();
    for column in report.columns {
        if let Err(failure) = hosts.add(&[report.path(column)]) {
            lacking.push((column.title, failure));
        }
    }
    check(report, lacking)?;
    let clock = hosts.log().summary().clock.clone();
    let range = in_range(&wanted.range)?.range(&clock);
    let every = wanted.interval.map_or(0, |every| u64::try_from(every.as_nanos() / 100).unwrap_or(u64::MAX));
    let stop = Stop::on_signals()?;
    let log = hosts.log().clone();
    let mut printer = Printer::new(report, log.host(), io::stdout().is_terminal()).with_clock(clock.clone());
    log.rewind();
    let (mut done, mut in_range) = (0u64, 0u64);
    // The record before the range is what the first rates in it are from.
    while let Some(time) = log.advance(FileTime(0), FileTime(u64::MAX), every)? {
        if !range.has(time) {
            continue;
        }
        in_range = in_range.saturating_add(1);
        hosts.collect()?;
        let lines = lines(report, &hosts.readings()?, wanted);
        // The first record of most logs has no rates, and so no line.
        if !lines.is_empty() {
            printer.sample(time, &lines)?;
            done = done.saturating_add(1);
        }
        if wanted.count.is_some_and(|count| done >= count) || stop.is_wanted() {
            break;
        }
    }
    if in_range == 0 {
        return Err(clock.no_records(range).in_file(log.path()).into());
    }
    if done == 0 {
        let words = format!("{}: no record with values in that range", log.path().display());
        return Err(Failure::new(Kind::NoData, words));
    }
    Ok(printer.average()?)
}

/// Names the columns without a counter; all of them missing is a failure.
fn check(report: &Report, lacking: Vec<(&'static str, Failure)>) -> Result<(), Failure> {
    if lacking.len() < report.columns.len() {
        let titles: Vec<&str> = lacking.iter().map(|(title, _)| *title).collect();
        if !titles.is_empty() {
            say(format_args!("no counter for {}", titles.join(", ")));
        }
        return Ok(());
    }
    lacking.into_iter().next().map_or(Ok(()), |(_, failure)| Err(failure))
}

/// A line for each instance that has a value, in the order of the report.
fn lines(report: &Report, readings: &[Reading], wanted: &Stat) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    let mut places = std::collections::HashMap::new();
    for reading in readings {
        let Some(nth) = report.columns.iter().position(|column| column.counter == reading.counter.0) else {
            continue;
        };
        let instance = reading.instance.as_ref().map(ToString::to_string).unwrap_or_default();
        let host = reading.path.strip_prefix("\\\\").and_then(|path| path.split('\\').next());
        let key = (host.map(str::to_string), instance);
        let place = *places.entry(key.clone()).or_insert_with(|| {
            lines.push(Line::new(key.0, key.1, report.columns.len()));
            lines.len().saturating_sub(1)
        });
        let column = report.columns.get(nth);
        let number = reading.cell.value.as_ref().ok().and_then(Value::as_f64);
        if let (Some(line), Some(column), Some(number)) = (lines.get_mut(place), column, number) {
            line.set(nth, column.number(number));
        }
    }
    lines.retain(|line| line.has_values() && is_wanted(report, &line.instance, wanted));
    if wanted.report == StatReport::Proc {
        let busy = |line: &Line| (line.number(1).unwrap_or(0.0), line.number(4).unwrap_or(0.0));
        lines.sort_by(|one, other| {
            let (one, other) = (busy(one), busy(other));
            other.0.total_cmp(&one.0).then(other.1.total_cmp(&one.1))
        });
        lines.truncate(wanted.top.unwrap_or(MOST_PROCESSES));
    }
    lines
}

/// Whether a report has a line for an instance: all processors together, each disk, each process.
fn is_wanted(report: &Report, instance: &str, wanted: &Stat) -> bool {
    let is_total = instance.ends_with("_Total");
    match wanted.report {
        StatReport::Cpu => wanted.all || is_total && !instance.contains(','),
        StatReport::Proc => !is_total && !instance.eq_ignore_ascii_case("idle"),
        _ => report.rows.is_none() || !is_total || wanted.all,
    }
}

/// The processes of one interval, as `tally top` prints them without a terminal.
pub(crate) fn processes(common: &Common, interval: Duration, most: usize) -> Result<(), Failure> {
    let wanted = Stat {
        report: StatReport::Proc,
        interval: Some(interval),
        count: Some(1),
        top: Some(most),
        all: false,
        of_log: OfLog::default(),
        range: TimeChoice::default(),
    };
    live(common, &wanted)
}
