//! Writes the history as PDH-CSV.

use std::io::{self, Write};
use std::ops::Range;

use tallymon::core::counter::g17;
use tallymon::core::time::FileTime;

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
/// `out` can not be written.
pub fn csv(
    monitor: &Monitor,
    rows: Range<u64>,
    host: &str,
    local: &dyn Fn(FileTime) -> LocalTime,
    compared: Option<(&Compared, &str)>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let first = local(monitor.time(rows.start).unwrap_or_default());
    write!(out, "\"(PDH-CSV 4.0) ({})({})\"", first.zone, first.bias)?;
    let mut theirs = Vec::new();
    for series in monitor.series() {
        let (host, path) = parts(series, host);
        column(out, host, path)?;
        let other = compared.filter(|(values, _)| values.has(&series.path));
        if let Some((_, other)) = other {
            column(out, other, path)?;
            column(out, &format!("{host} - {other}"), path)?;
        }
        let times = rows.clone().map(|row| monitor.time(row));
        theirs.push(other.map(|(values, _)| values.values(&series.path, times)));
    }
    write!(out, "\r\n")?;
    for row in rows {
        let time = local(monitor.time(row).unwrap_or_default()).time;
        write!(
            out,
            "\"{:02}/{:02}/{:04} {:02}:{:02}:{:02}.{:03}\"",
            time.month, time.day, time.year, time.hour, time.minute, time.second, time.milliseconds
        )?;
        for (series, theirs) in monitor.series().iter().zip(&mut theirs) {
            let ours = series.at(monitor.next(), row).and_then(Result::ok);
            value(out, ours)?;
            if let Some(theirs) = theirs {
                let other = theirs.next().flatten();
                value(out, other)?;
                value(out, ours.zip(other).map(|(ours, other)| ours - other))?;
            }
        }
        write!(out, "\r\n")?;
    }
    Ok(())
}

/// The host of a series, and its path from the object on. Series of hosts other than that of the query name
/// theirs.
fn parts<'s>(series: &'s Series, host: &'s str) -> (&'s str, &'s str) {
    let Some(own) = series.host() else { return (host, &series.path) };
    (own, series.path.get(own.len().saturating_add(2)..).unwrap_or_default())
}

fn column(out: &mut dyn Write, host: &str, path: &str) -> io::Result<()> {
    write!(out, ",\"\\\\{}{}\"", host.replace('"', "\"\""), path.replace('"', "\"\""))
}

fn value(out: &mut dyn Write, number: Option<f64>) -> io::Result<()> {
    match number {
        Some(number) => write!(out, ",\"{}\"", g17(number)),
        // The Performance Data Helper writes this for a missing value.
        None => write!(out, ",\" \""),
    }
}
