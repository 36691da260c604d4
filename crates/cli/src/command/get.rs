//! `tally get`: the values of some counters, once.

use std::collections::HashSet;

use tallymon::RowValues;
use tallymon::core::counter::Format;

use super::collect;
use crate::arguments::{Common, Get};
use crate::exit::Failure;
use crate::log_hosts::LogHosts;
use crate::missing_values::missing;
use crate::output::Rows;
use crate::paths;
use crate::words::say;

pub(crate) fn run(common: &Common, get: &Get) -> Result<(), Failure> {
    if let Some(mut log) = LogHosts::at(common, &get.of_log, &get.time)? {
        log.set_format(Format { cap100: get.format.cap, ..Format::default() });
        log.add(&get.paths)?;
        let time = log.collect()?;
        let clock = log.log().summary().clock.clone();
        log.say_record(time, &get.time);
        let mut rows =
            Rows::to_stdout(&get.format, log.host(), false).with_errors(get.verbose).with_clock(clock);
        rows.row(time, RowValues::Readings(&log.readings()?, log.names()))?;
        return log.missing();
    }
    let mut query = paths::query(common)?;
    query.set_format(Format { cap100: get.format.cap, ..Format::default() });
    let (handles, bad_path) = paths::add_good(&mut query, &get.paths)?;
    let time = collect(&mut query, common.file.is_none(), get.interval)?;
    let mut rows = Rows::to_stdout(&get.format, query.system_name(), false).with_errors(get.verbose);
    rows.row(time, &query)?;
    if get.verbose {
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
    missing(&query, &handles, common.file.is_none())?;
    bad_path.map_or(Ok(()), Err)
}
