//! `tally get`: the values of some counters, once.

use std::io;

use tallymon::core::counter::Format;
use tallymon::core::flow::{Absence, NoValue};
use tallymon::{CounterHandle, Query, Reading, nearest_words};

use super::collect;
use crate::arguments::{Common, Get};
use crate::exit::{Failure, Kind, kind_of};
use crate::output::Rows;
use crate::paths;
use crate::words::say;

pub(crate) fn run(common: &Common, get: &Get) -> Result<(), Failure> {
    let mut query = paths::query(common)?;
    query.set_format(Format { cap100: !get.format.no_cap, ..Format::default() });
    let handles = paths::add_all(&mut query, &get.paths)?;
    let time = collect(&mut query, common, get.interval)?;
    let readings = query.readings();
    let mut rows = Rows::new(io::stdout().lock(), get.format.form(), query.system_name(), false);
    rows.row(time, &readings, query.names())?;
    let missing = missing(&query, &handles, &readings);
    hint(common, &readings);
    missing
}

/// Who misses values because of the machine is told where to learn more.
pub(super) fn hint(common: &Common, readings: &[Reading]) {
    let of_the_machine = |reading: &Reading| {
        matches!(
            reading.cell.value,
            Err(NoValue::NoData(Absence::NotInThisKernel | Absence::AccessDenied | Absence::ReadFailed))
        )
    };
    if common.file.is_none() && readings.iter().any(of_the_machine) {
        say("'tally doctor' tells what is missing on this machine and how to get it");
    }
}

/// The failure of the first path without any value; a path with some is a success.
pub(super) fn missing(query: &Query, handles: &[CounterHandle], readings: &[Reading]) -> Result<(), Failure> {
    let mut first = None;
    for handle in handles {
        let mut own = readings.iter().filter(|reading| reading.handle == *handle).peekable();
        let why = match own.peek() {
            // A wildcard that matches nothing.
            None => NoValue::NoInstance,
            Some(reading) => match &reading.cell.value {
                Err(why) => *why,
                Ok(_) => continue,
            },
        };
        if own.any(|reading| reading.cell.value.is_ok()) {
            continue;
        }
        let path = query.path(*handle);
        say(format_args!("{path}: {why}{}", nearest(query, *handle, why)));
        first.get_or_insert(kind_of(why));
    }
    first.map_or(Ok(()), |kind: Kind| Err(Failure::silent(kind)))
}

fn nearest(query: &Query, handle: CounterHandle, why: NoValue) -> String {
    if why != NoValue::NoInstance {
        return String::new();
    }
    nearest_words(&query.nearest_instances(handle))
}
