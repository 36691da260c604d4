//! `tally get`: the values of some counters, once.

use std::collections::HashSet;
use std::io::Write;

use tallymon::clock::now;
use tallymon::core::counter::Format;
use tallymon::core::flow::Sink;
use tallymon::core::time::FileTime;
use tallymon::{LiveRows, Location, RowValues};
use tallymon_export::openmetrics::{Exposition, TextFormat};

use super::{collect, collect_timed};
use crate::arguments::{Common, Get};
use crate::border;
use crate::exit::{Failure, Kind};
use crate::hosts::{self, HostPaths};
use crate::log_hosts::LogHosts;
use crate::missing_values::{Reasons, missing, missing_samples};
use crate::output::Rows;
use crate::paths;
use crate::words::say;

pub(crate) fn run(common: &Common, get: &Get) -> Result<(), Failure> {
    let common = &Common { instances: get.naming.live(), ..common.clone() };
    if let Some(mut log) = LogHosts::at(common, &get.of_log, &get.time, get.naming)? {
        log.set_format(Format { cap100: get.format.cap, ..Format::default() });
        let bad = log.add(&get.paths)?;
        let ended = |log: &LogHosts, reasons| log.missing(reasons).and(bad.map_or(Ok(()), Err));
        let time = log.collect()?;
        if let Some(format) = text_format(get) {
            log.say_record(time, &get.time);
            let readings = log.readings()?;
            let sink = Exposition::new(border::data(), format, log.host()).with_times(true);
            let sink = sink.with_names(get.metric_names);
            expose(sink, log.host(), time, RowValues::Readings(&readings, log.names()))?;
            return ended(&log, Reasons::Missing);
        }
        let clock = log.log().summary().clock.clone();
        log.say_record(time, &get.time);
        let mut rows =
            Rows::to_stdout(&get.format, log.host(), false).with_errors(get.verbose).with_clock(clock);
        if get.fleet.is_used() {
            let readings = log.host_readings()?;
            let asked = readings.len();
            rows.row(time, RowValues::Hosts(&get.fleet.apply(readings, asked)))?;
        } else {
            rows.row(time, RowValues::Readings(&log.readings()?, log.names()))?;
        }
        return ended(&log, Reasons::of(get.format.form()));
    }
    let mut hosts = hosts::of_paths(common, &get.paths)?;
    if hosts.len() > 1 || get.fleet.is_used() {
        return several(common, get, hosts);
    }
    let (host, location) = match hosts.pop() {
        Some(host) => (host.name, host.location),
        None => (None, paths::here(common)?),
    };
    let is_here = matches!(location, Location::Machine { .. });
    let mut query = paths::query_at(common, &location)?;
    if let Some(format) = text_format(get) {
        let (handles, bad_path) = paths::add_good(&mut query, &get.paths)?;
        // The engine takes rates itself, so one sample is enough for raw values.
        let time = match get.metric_names.is_computed() {
            true => collect(&mut query, common.file.is_none(), get.interval)?,
            false => query.collect()?,
        };
        let sink = Exposition::new(border::data(), format, query.system_name());
        let sink = sink.with_names(get.metric_names);
        expose(sink, query.system_name(), time, RowValues::Query(&query))?;
        missing_samples(&query, &handles, is_here)?;
        return bad_path.map_or(Ok(()), Err);
    }
    query.set_format(Format { cap100: get.format.cap, ..Format::default() });
    let (handles, bad_path) = paths::add_good(&mut query, &get.paths)?;
    let (time, answer) = collect_timed(&mut query, common.file.is_none(), get.interval)?;
    let mut rows = Rows::to_stdout(&get.format, query.system_name(), false).with_errors(get.verbose);
    rows.row(time, &query)?;
    if get.verbose {
        if let Some(host) = &host {
            answer.say(host);
        }
        let mut stale = HashSet::new();
        query.for_each(|value| {
            if value.cell.stale {
                stale.insert(value.handle);
            }
        });
        for handle in handles.iter().filter(|handle| stale.contains(handle)) {
            if let Some(why) = query.trouble(*handle) {
                say(format_args!("{}: old values; {why}", query.path(*handle)));
            }
        }
    }
    missing(&query, &handles, is_here, Reasons::of(get.format.form()))?;
    bad_path.map_or(Ok(()), Err)
}

/// The values of several hosts.
fn several(common: &Common, get: &Get, hosts: Vec<HostPaths>) -> Result<(), Failure> {
    if text_format(get).is_some() {
        let words = "OpenMetrics and Prometheus' format have one host each: name one with --host";
        return Err(Failure::new(Kind::Usage, words));
    }
    let format = Format { cap100: get.format.cap, ..Format::default() };
    let (asked, reasons) = (hosts.len(), Reasons::of(get.format.form()));
    let (readings, outcome) =
        hosts::collect_once(common, hosts, get.interval, (format, reasons, get.verbose))?;
    if !readings.is_empty() {
        let mut rows = Rows::to_stdout(&get.format, "", false).with_errors(get.verbose);
        rows.row(now(), RowValues::Hosts(&get.fleet.apply(readings, asked)))?;
    }
    outcome.result()
}

/// The format for engines that an option names.
fn text_format(get: &Get) -> Option<TextFormat> {
    let open = get.openmetrics.then_some(TextFormat::OpenMetrics);
    open.or(get.prometheus.then_some(TextFormat::Prometheus))
}

/// Prints values for engines.
fn expose(
    mut sink: Exposition<impl Write>,
    host: &str,
    time: FileTime,
    values: RowValues<'_>,
) -> Result<(), Failure> {
    LiveRows::changing(host).write(time, 0, values, &mut sink)?;
    Ok(sink.finish()?)
}
