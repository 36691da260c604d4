//! `tally watch`: the values of some counters, row after row, on the terminal or into a log.

use std::io::{self, IsTerminal};
use std::num::NonZeroUsize;
use std::time::{Duration, Instant};

use tallymon::clock::now;
use tallymon::core::counter::Format;
use tallymon::core::time::{FileTime, UNITS_PER_SECOND};
use tallymon::log::Format as LogFormat;
use tallymon::record::format_of;
use tallymon::{Location, RowValues};

use super::relog::in_range;
use crate::arguments::{Common, Form, Watch};
use crate::exit::{Failure, Kind};
use crate::hosts::{self, HostPaths, Outcome, Sampled};
use crate::log_hosts::LogHosts;
use crate::missing_values::{Reasons, missing};
use crate::output::{LineOptions, Rows};
use crate::paths;
use crate::recording::{Pace, record};
use crate::recording_hosts::{self, HostsFile};
use crate::stop::{Stop, Ticks};

pub(crate) fn run(common: &Common, watch: &Watch) -> Result<(), Failure> {
    let common = &Common { instances: watch.naming.live(), ..common.clone() };
    if common.file.is_some() {
        let words = "a saved data block does not change; use 'tally get --file FILE PATH'";
        return Err(Failure::new(Kind::Usage, words));
    }
    watch.range.needs_log(!watch.of_log.log.is_empty())?;
    if let Some(log) = LogHosts::of(common, &watch.of_log, watch.naming)? {
        return replay(log, watch);
    }
    let interval = watch.interval.unwrap_or(Duration::from_secs(1));
    let mut hosts = hosts::of_paths(common, &watch.paths)?;
    if hosts.len() > 1 || watch.fleet.is_used() {
        return several(common, watch, hosts, interval);
    }
    let location = hosts.pop().map_or_else(|| paths::here(common), |host| Ok(host.location))?;
    let is_here = matches!(location, Location::Machine { .. });
    let mut query = paths::query_at(common, &location)?;
    query.set_format(Format { cap100: watch.format.cap, ..Format::default() });
    let (handles, bad_path) = paths::add_good(&mut query, &watch.paths)?;
    let end = || bad_path.map_or(Ok(()), Err);
    if let Some(output) = &watch.output {
        let format = format_of(watch.log_format.as_deref(), output, LogFormat::Tally)?;
        let pace = Pace { interval, most: watch.count };
        let output = (output.as_path(), watch.replacing.overwrite());
        record(&mut query, output, format, pace, watch.format.no_formulas)?;
        return end();
    }
    let stop = Stop::on_signals()?;
    let mut rows =
        Rows::to_stdout(&watch.format, query.system_name(), true).with_lines(lines(watch, interval));
    let mut ticks = Ticks::start(interval);
    let mut time = query.collect()?;
    if query.needs_two_samples() {
        if !stop.wait_until(ticks.next()) {
            return end();
        }
        time = query.collect()?;
    }
    let mut done = 0u64;
    loop {
        rows.row(time, &query)?;
        if done == 0 {
            // Said once: a path that has no value now may have one later, so it is no failure.
            // Lines have no room for reasons.
            let has_lines = lines(watch, interval).is_some();
            let reasons = if has_lines { Reasons::Missing } else { Reasons::of(watch.format.form()) };
            let _ = missing(&query, &handles, is_here, reasons);
        }
        done += 1;
        if watch.count.is_some_and(|count| done >= count) || !stop.wait_until(ticks.next()) {
            return end();
        }
        query.add_awaited();
        time = query.collect()?;
    }
}

/// How long the first row waits for hosts that are being opened, unless the interval is longer.
const FIRST_ROW: Duration = Duration::from_secs(3);

/// The values of several hosts, row after row. A row has what is there when it is due: a host that is late
/// has its last values, marked as old, and one that does not answer has none until it does.
fn several(common: &Common, watch: &Watch, hosts: Vec<HostPaths>, interval: Duration) -> Result<(), Failure> {
    let mut file = match &watch.output {
        Some(output) => {
            let form = match format_of(watch.log_format.as_deref(), output, LogFormat::Tally)? {
                LogFormat::Csv => Form::Csv,
                LogFormat::Tsv => Form::Tsv,
                format => {
                    let pace = Pace { interval, most: watch.count };
                    return recording_hosts::record(common, watch, (output, format), pace);
                }
            };
            Some(HostsFile::create(watch, output, form)?)
        }
        None => None,
    };
    allow_top_hosts(watch)?;
    let format = Format { cap100: watch.format.cap, ..Format::default() };
    let stop = Stop::on_signals()?;
    let asked = hosts.len();
    let mut hosts = Sampled::start(common, hosts, format)?;
    let mut outcome = Outcome::default();
    let mut rows = Rows::to_stdout(&watch.format, "", true).with_lines(lines(watch, interval));
    // A row is printed before the next tick, so that no host can delay another one's.
    let grace = interval / 10 * 9;
    let in_time = |from: Instant, wait: Duration| from.checked_add(wait).unwrap_or(from);
    let begin = Instant::now();
    hosts.tick();
    let mut needs_two = hosts.gather(in_time(begin, grace.max(FIRST_ROW)), &mut outcome);
    let mut ticks = Ticks::start(interval);
    let mut done = 0u64;
    loop {
        let (all_reported, any_values) = hosts.state();
        if all_reported && !any_values && done == 0 {
            return hosts.end(outcome);
        }
        if any_values && !needs_two {
            match &mut file {
                Some(file) => {
                    if done == 0 {
                        hosts.without_values().into_iter().for_each(HostsFile::say_missing);
                    }
                    file.row(&watch.fleet.apply(hosts.records(), asked))?;
                }
                None => rows.row(now(), RowValues::Hosts(&watch.fleet.apply(hosts.readings(), asked)))?,
            }
            done += 1;
        }
        if watch.count.is_some_and(|count| done >= count) || !stop.wait_until(ticks.next()) {
            file.iter().for_each(HostsFile::say_records);
            return hosts.end(outcome);
        }
        hosts.tick();
        hosts.gather(in_time(Instant::now(), grace), &mut outcome);
        needs_two = false;
    }
}

/// Refuses columns that would change.
fn allow_top_hosts(watch: &Watch) -> Result<(), Failure> {
    let has_fixed_columns = watch.output.is_some() || matches!(watch.format.form(), Form::Csv | Form::Tsv);
    if has_fixed_columns && watch.fleet.top_hosts.is_some_and(|most| most > 0) {
        let words = "CSV and TSV have the columns of the first row, and the hosts with the largest values \
                     change: leave out --top-hosts, or print JSON";
        return Err(Failure::new(Kind::Usage, words));
    }
    Ok(())
}

/// How a table is printed: a line for each sample on a terminal, and wherever the options ask for it. In a
/// pipe it has a line for each value, which programs read.
fn lines(watch: &Watch, interval: Duration) -> Option<LineOptions> {
    let wanted = watch.top.is_some() || watch.human || io::stdout().is_terminal();
    wanted.then(|| LineOptions {
        top: watch.top.map(NonZeroUsize::get),
        is_human: watch.human,
        is_fast: interval < Duration::from_secs(1),
    })
}

/// The records of a log, one after another, all at once or at a speed; with an interval only those that are
/// so far apart.
fn replay(mut hosts: LogHosts, watch: &Watch) -> Result<(), Failure> {
    allow_top_hosts(watch)?;
    hosts.set_format(Format { cap100: watch.format.cap, ..Format::default() });
    let bad = hosts.add(&watch.paths)?;
    let clock = hosts.log().summary().clock.clone();
    let range = in_range(&watch.range)?.range(&clock);
    let every =
        watch.interval.map_or(0, |interval| u64::try_from(interval.as_nanos() / 100).unwrap_or(u64::MAX));
    let stop = Stop::on_signals()?;
    let interval = watch.interval.unwrap_or(Duration::from_secs(1));
    let rows = Rows::to_stdout(&watch.format, hosts.host(), true).with_clock(clock.clone());
    let mut rows = rows.with_lines(lines(watch, interval));
    let mut done = 0u64;
    let mut before: Option<(FileTime, Instant)> = None;
    let log = hosts.log().clone();
    log.rewind();
    // The record before the range is what the first rates in it are from.
    while let Some(time) = log.advance(FileTime(0), FileTime(u64::MAX), every)? {
        if !range.has(time) {
            continue;
        }
        let shown = match (watch.playback.speed, before) {
            (Some(speed), Some((last, shown))) => {
                let seconds = time.0.saturating_sub(last.0) as f64 / UNITS_PER_SECOND as f64;
                let wait = Duration::try_from_secs_f64(seconds / speed).unwrap_or(Duration::MAX);
                // A pause of years is a pause until the user stops it.
                let next = shown.checked_add(wait).unwrap_or(shown + Duration::from_secs(u32::MAX.into()));
                if !stop.wait_until(next) {
                    return Ok(());
                }
                next
            }
            _ => Instant::now(),
        };
        before = Some((time, shown));
        hosts.collect()?;
        if watch.fleet.is_used() {
            let readings = hosts.host_readings()?;
            let asked = readings.len();
            rows.row(time, RowValues::Hosts(&watch.fleet.apply(readings, asked)))?;
        } else {
            rows.row(time, RowValues::Readings(&hosts.readings()?, hosts.names()))?;
        }
        done += 1;
        if watch.count.is_some_and(|count| done >= count) || stop.is_wanted() {
            break;
        }
    }
    if done == 0 {
        return Err(clock.no_records(range).in_file(log.path()).into());
    }
    // It is said and no failure, as for values of the machine.
    let has_lines = lines(watch, interval).is_some();
    let _ = hosts.missing(if has_lines { Reasons::Missing } else { Reasons::of(watch.format.form()) });
    bad.map_or(Ok(()), Err)
}
