//! `tally watch`: the values of some counters, row after row, on the terminal or into a log.

use std::io;
use std::time::{Duration, Instant};

use tallymon::core::counter::Format;
use tallymon::core::time::{FileTime, UNITS_PER_SECOND};
use tallymon::log::{Format as LogFormat, Selection};
use tallymon::record::format_of;
use tallymon::{CounterHandle, Query};

use super::get::missing;
use super::relog::time;
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
    let (mut query, log) = paths::query_of(common, &watch.of_log)?;
    query.set_format(Format { cap100: watch.format.cap, ..Format::default() });
    let handles = paths::add_all(&mut query, &watch.paths)?;
    if let Some(log) = log {
        return replay(&mut query, &log, watch, &handles);
    }
    if let Some(output) = &watch.output {
        let format = format_of(watch.log_format.as_deref(), output, LogFormat::Tally)?;
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

/// The records of a log, one after another, all at once or at a speed.
fn replay(
    query: &mut Query,
    log: &tallymon::Log,
    watch: &Watch,
    handles: &[CounterHandle],
) -> Result<(), Failure> {
    let from = watch.range.from.as_deref().map(time).transpose()?;
    let to = watch.range.to.as_deref().map(time).transpose()?;
    let range = Selection { from, to, ..Selection::default() };
    let stop = Stop::on_signals()?;
    let mut rows = Rows::new(io::stdout().lock(), watch.format.form(), query.system_name(), true);
    let (mut nth, mut done) = (0u64, 0u64);
    let mut before: Option<(FileTime, Instant)> = None;
    let mut row = |query: &mut Query, time: FileTime, nth: u64| -> Result<bool, Failure> {
        if let (Some(speed), Some((last, shown))) = (watch.range.speed, before) {
            let units = time.0.saturating_sub(last.0) as f64 / UNITS_PER_SECOND as f64;
            let wait = Duration::try_from_secs_f64(units / speed).unwrap_or(Duration::MAX);
            // A pause of years is a pause until the user stops it.
            if !stop
                .wait_until(shown.checked_add(wait).unwrap_or(shown + Duration::from_secs(u32::MAX.into())))
            {
                return Ok(false);
            }
            before = Some((time, shown.checked_add(wait).unwrap_or(shown)));
        } else {
            before = Some((time, Instant::now()));
        }
        log.set_record(nth);
        query.collect()?;
        rows.row(time, &query.readings(), query.names())?;
        done += 1;
        Ok(watch.count.is_none_or(|count| done < count) && !stop.is_wanted())
    };
    // The times come from one reading of the log, the values from another one beside it.
    let mut failed = Ok(());
    log.read(&[], |time, _| {
        let shown = if range.has_time(time) { row(query, time, nth) } else { Ok(true) };
        nth += 1;
        match shown {
            Ok(more) => more,
            Err(failure) => {
                failed = Err(failure);
                false
            }
        }
    })?;
    failed?;
    if done == 0 {
        let words = format!("{}: no record in that range", log.path().display());
        return Err(Failure::new(Kind::NoData, words));
    }
    let _ = missing(query, handles, &query.readings(), false);
    Ok(())
}
