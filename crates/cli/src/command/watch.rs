//! `tally watch`: the values of some counters, row after row, on the terminal or into a log.

use std::io;

use tallymon::core::counter::Format;
use tallymon::log::Format as Log;
use tallymon::record::format_of;

use super::get::missing;
use crate::arguments::{Common, Watch};
use crate::exit::{Failure, Kind};
use crate::output::Rows;
use crate::paths;
use crate::recording::{Pace, record};
use crate::stop::{Stop, Ticks};

pub(crate) fn run(common: &Common, watch: &Watch) -> Result<(), Failure> {
    if common.file.is_some() {
        let words = "a saved data block does not change; use 'tally get --file FILE PATH'";
        return Err(Failure::new(Kind::Usage, words));
    }
    let mut query = paths::query(common)?;
    query.set_format(Format { cap100: watch.format.cap, ..Format::default() });
    let handles = paths::add_all(&mut query, &watch.paths)?;
    if let Some(output) = &watch.output {
        let format = format_of(watch.log_format.as_deref(), output, Log::Tally)?;
        let pace = Pace { interval: watch.interval, most: watch.count };
        return record(&mut query, output, format, pace);
    }
    let stop = Stop::on_signals()?;
    let mut rows = Rows::new(io::stdout().lock(), watch.format.form(), query.system_name(), true);
    let mut ticks = Ticks::start(watch.interval);
    let mut time = query.collect()?;
    if query.needs_two_samples() {
        if !stop.wait_until(ticks.next()) {
            return Ok(());
        }
        time = query.collect()?;
    }
    let mut done = 0u64;
    loop {
        let readings = query.readings();
        rows.row(time, &readings, query.names())?;
        if done == 0 {
            // Said once: a path that has no value now may have one later, so it is no failure.
            let _ = missing(&query, &handles, &readings, true);
        }
        done += 1;
        if watch.count.is_some_and(|count| done >= count) || !stop.wait_until(ticks.next()) {
            return Ok(());
        }
        time = query.collect()?;
    }
}
