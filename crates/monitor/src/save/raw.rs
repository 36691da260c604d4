//! What was seen as a native log with raw samples, which other formats are copied from.

use std::collections::HashMap;
use std::fs::File;
use std::io;

use tallymon::core::counter::CounterType;
use tallymon::core::flow::{Absence, Cell, Column, NoValue, Row, Sample, Sink};
use tallymon::core::path::CounterPath;
use tallymon::core::time::{FileTime, Frequency};
use tallymon::log::native::{NativeSink, NativeWriter, WriteOptions};
use tallymon::log::zone::Zone;

use super::text::parts;
use crate::model::{Monitor, Series};
use crate::workspace::options::LocalTime;

/// Writes the whole history into a new native log: types, raw numbers, clocks and bases as they were sampled.
/// `host` stands in the paths that name none; `local` makes the local times of records.
///
/// # Errors
///
/// Those of the file.
pub fn native(
    monitor: &Monitor,
    host: &str,
    local: &dyn Fn(FileTime) -> LocalTime,
    file: File,
) -> io::Result<()> {
    let rows: Vec<(u64, FileTime)> =
        monitor.rows().filter_map(|row| Some((row, monitor.time(row)?))).collect();
    let times: Vec<FileTime> = rows.iter().map(|(_, time)| *time).collect();
    let LocalTime { zone, bias, .. } = local(times.first().copied().unwrap_or_default());
    let zone = Zone::Fixed { name: zone, bias };
    let options = WriteOptions { zone, keep_instances: true, ..WriteOptions::sealed() };
    let mut sink = NativeSink::new(NativeWriter::new(file, options)?);
    sink.columns(&columns(monitor, host, &times))?;
    let mut series: Vec<_> =
        monitor.series().iter().map(|series| series.cells(times.iter().copied())).collect();
    let mut cells = Vec::new();
    for (row, time) in &rows {
        cells.clear();
        cells.extend(series.iter_mut().filter_map(Iterator::next));
        for (cell, series) in cells.iter_mut().zip(monitor.series()).filter(|(_, one)| one.is_computed) {
            *cell = computed(series.at(monitor.next(), *row), *time);
        }
        if is_missed(&cells) {
            continue;
        }
        let local_minutes = local(*time).bias.saturating_neg();
        sink.row(&Row { time: *time, local_minutes, cells: &cells })?;
    }
    sink.finish()
}

/// A value that was computed from those of all hosts, as the raw value of a column.
fn computed(value: Option<Result<f64, NoValue>>, time: FileTime) -> Cell {
    match value {
        Some(Ok(number)) => {
            let sample = Sample {
                counter_type: CounterType::PERF_DOUBLE_RAW,
                first: number.to_bits(),
                second: 0,
                frequency: Frequency::default(),
                multi_count: 1,
                time,
            };
            Cell { sample: Some(sample), ..Cell::missing(NoValue::NoData(Absence::NotRequested)) }
        }
        Some(Err(why)) => Cell::missing(why),
        None => Cell::missing(NoValue::NoData(Absence::NotRequested)),
    }
}

/// Whether no sample was taken for a row: it is no record of a log, just as a recorder writes none.
fn is_missed(cells: &[Cell]) -> bool {
    let failed = [Err(NoValue::NoMachine), Err(NoValue::NoData(Absence::ReadFailed))];
    cells.iter().all(|cell| cell.sample.is_none()) && cells.iter().any(|cell| failed.contains(&cell.value))
}

fn columns(monitor: &Monitor, host: &str, times: &[FileTime]) -> Vec<Column> {
    // The series of one counter that one path means belong together.
    let mut groups: HashMap<(String, u32), u32> = HashMap::new();
    let column = |series: &Series| {
        let (host, path) = parts(series, host);
        let path = format!("\\\\{host}{path}");
        let next = u32::try_from(groups.len()).unwrap_or(u32::MAX);
        Column {
            parts: CounterPath::parse(&path).ok().map(|parsed| parsed.path),
            path,
            counter_type: match series.is_computed {
                true => CounterType::PERF_DOUBLE_RAW,
                false => series.counter_type,
            },
            scale: series.default_scale,
            time_base: time_base(series, times),
            group: *groups.entry((series.asked.clone(), series.counter.0)).or_insert(next),
            wild: series.instance.is_some(),
            live: None,
        }
    };
    monitor.series().iter().map(column).collect()
}

/// Ticks per second of the clock of a series.
fn time_base(series: &Series, times: &[FileTime]) -> Frequency {
    let sample = series.cells(times.iter().copied()).find_map(|cell| cell.sample);
    sample.map(|sample| sample.frequency).unwrap_or_default()
}
