//! `tally get`: the values of some counters, once.

use std::collections::{HashMap, HashSet};
use std::io;

use tallymon::core::counter::Format;
use tallymon::core::flow::{Absence, NoValue};
use tallymon::{CounterHandle, Query, RowValues, nearest_words};

use super::collect;
use crate::arguments::{Common, Get};
use crate::exit::{Failure, Kind, kind_of};
use crate::log_hosts::LogHosts;
use crate::output::Rows;
use crate::paths;
use crate::words::say;

pub(crate) fn run(common: &Common, get: &Get) -> Result<(), Failure> {
    if let Some(mut log) = LogHosts::at(common, &get.of_log, &get.time)? {
        log.set_format(Format { cap100: get.format.cap, ..Format::default() });
        log.add(&get.paths)?;
        let time = log.collect()?;
        let mut rows =
            Rows::new(io::stdout().lock(), get.format.form(), log.host(), false).with_errors(get.verbose);
        rows.row(time, RowValues::Readings(&log.readings()?, log.names()))?;
        return log.missing();
    }
    let mut query = paths::query(common)?;
    query.set_format(Format { cap100: get.format.cap, ..Format::default() });
    let handles = paths::add_all(&mut query, &get.paths)?;
    let time = collect(&mut query, common.file.is_none(), get.interval)?;
    let mut rows = Rows::new(io::stdout().lock(), get.format.form(), query.system_name(), false)
        .with_errors(get.verbose);
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
    missing(&query, &handles, common.file.is_none())
}

/// The failure of the first path without any value; a path with some is a success. `live` says that the
/// values are of this machine, which can be put right.
pub(crate) fn missing(query: &Query, handles: &[CounterHandle], live: bool) -> Result<(), Failure> {
    // Whether a path has any value, else the first reason why not.
    let mut found: HashMap<CounterHandle, Result<(), NoValue>> = HashMap::new();
    query.for_each(|value| {
        let has = match value.cell.value {
            // An average without operations is a result, not a missing value.
            Ok(_) | Err(NoValue::NoOperations) => Ok(()),
            Err(why) => Err(why),
        };
        let known = found.entry(value.handle).or_insert(has);
        *known = known.or(has).or(*known);
    });
    let mut first = None;
    let mut curable = false;
    for handle in handles {
        let why = match found.get(handle) {
            // A wildcard that matches nothing.
            None => NoValue::NoInstance,
            Some(Err(why)) => *why,
            Some(Ok(())) => continue,
        };
        let path = query.path(*handle);
        say(format_args!("{path}: {why}{}", nearest(query, *handle, why)));
        first.get_or_insert(kind_of(why));
        curable |= is_curable(why);
    }
    if curable && live {
        say(SEE_DOCTOR);
    }
    first.map_or(Ok(()), |kind: Kind| Err(Failure::silent(kind)))
}

/// Where somebody learns more who misses values because of the machine.
pub(super) const SEE_DOCTOR: &str = "'tally doctor' tells what is missing on this machine and how to get it";

/// Whether a value is missing because of how the machine is set up.
pub(super) const fn is_curable(why: NoValue) -> bool {
    matches!(why, NoValue::NoData(Absence::NotInThisKernel | Absence::AccessDenied | Absence::ReadFailed))
}

fn nearest(query: &Query, handle: CounterHandle, why: NoValue) -> String {
    if why != NoValue::NoInstance {
        return String::new();
    }
    nearest_words(&query.nearest_instances(handle))
}
