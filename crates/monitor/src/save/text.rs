//! Writes the history as PDH-CSV.

use std::io::{self, Write};
use std::ops::Range;

use tallymon::core::counter::g17;
use tallymon::core::flow::{Absence, NoValue, Sink, Value};
use tallymon::core::time::FileTime;
use tallymon::log::csv::{CsvOptions, CsvWriter};

use crate::model::{Alerts, Compared, Crossing, Monitor, Series};
use crate::workspace::options::LocalTime;

/// Writes the list of crossed thresholds, oldest first, for a spreadsheet.
pub(super) fn alerts(
    alerts: &Alerts,
    local: &dyn Fn(FileTime) -> LocalTime,
    out: &mut dyn Write,
) -> io::Result<()> {
    write!(out, "\"Time\",\"Counter\",\"Value\",\"Threshold\",\"Direction\"\r\n")?;
    for Crossing { time, path, value, threshold, rises } in alerts.crossings() {
        let direction = if *rises { "above" } else { "below" };
        let (time, path) = (local(*time).time, path.replace('"', "\"\""));
        let (value, threshold) = (g17(*value), g17(*threshold));
        write!(out, "\"{time}\",\"{path}\",\"{value}\",\"{threshold}\",\"{direction}\"\r\n")?;
    }
    Ok(())
}

/// Writes some rows of the history as PDH-CSV, as Windows' tools write and read it. With a compared log each
/// value is followed by that of the other log, under its name as the host, and by the difference.
///
/// # Errors
///
/// `out` cannot be written.
pub fn csv(
    monitor: &Monitor,
    rows: Range<u64>,
    host: &str,
    local: &dyn Fn(FileTime) -> LocalTime,
    compared: Option<(&Compared, &str)>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let LocalTime { zone, bias, .. } = local(monitor.time(rows.start).unwrap_or_default());
    let options = CsvOptions { zone_name: zone, bias, ..CsvOptions::default() };
    let mut writer = CsvWriter::new(out, options);
    let mut paths = Vec::new();
    let mut theirs = Vec::new();
    for series in monitor.series() {
        let (host, path) = parts(series, host);
        paths.push(format!("\\\\{host}{path}"));
        let other = compared.filter(|(values, _)| values.has(&series.path));
        if let Some((_, other)) = other {
            paths.push(format!("\\\\{other}{path}"));
            paths.push(format!("\\\\{other} - {host}{path}"));
        }
        let times = rows.clone().map(|row| monitor.time(row));
        theirs.push(other.map(|(values, _)| values.values(&series.path, times)));
    }
    writer.header(&paths)?;
    let value = |number: Option<f64>| number.map(Value::Number).ok_or(NoValue::NoData(Absence::Other));
    let mut values = Vec::new();
    for row in rows {
        let time = local(monitor.time(row).unwrap_or_default()).time;
        values.clear();
        for (series, theirs) in monitor.series().iter().zip(&mut theirs) {
            let ours = series.at(monitor.next(), row).and_then(Result::ok);
            values.push(value(ours));
            if let Some(theirs) = theirs {
                let other = theirs.next().flatten();
                values.push(value(other));
                values.push(value(ours.zip(other).map(|(ours, other)| other - ours)));
            }
        }
        writer.record(time.file_time().unwrap_or_default(), &values)?;
    }
    writer.finish()
}

/// The host of a series, and its path from the object on. Series of hosts other than that of the query name
/// theirs.
pub(super) fn parts<'s>(series: &'s Series, host: &'s str) -> (&'s str, &'s str) {
    let Some(own) = series.host() else { return (host, &series.path) };
    (own, series.path.get(own.len().saturating_add(2)..).unwrap_or_default())
}
