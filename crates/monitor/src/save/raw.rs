//! What was seen as a native log with raw samples, which other formats are copied from.

use std::borrow::Cow;
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

/// What was seen up to a moment: it can be written while the monitor goes on.
#[derive(Debug)]
pub struct Past<'m> {
    rows: Vec<(u64, FileTime)>,
    /// The number of the row that came next.
    next: u64,
    series: Cow<'m, [Series]>,
}

impl<'m> Past<'m> {
    /// The whole history of a monitor.
    pub fn of(monitor: &'m Monitor) -> Past<'m> {
        let rows = monitor.rows().filter_map(|row| Some((row, monitor.time(row)?))).collect();
        Past { rows, next: monitor.next(), series: Cow::Borrowed(monitor.series()) }
    }

    /// A copy of it, which takes as much memory as the history does.
    pub fn into_owned(self) -> Past<'static> {
        Past { rows: self.rows, next: self.next, series: Cow::Owned(self.series.into_owned()) }
    }

    /// How many rows there are.
    pub fn row_count(&self) -> usize {
        self.rows.len()
    }

    /// Whether there are no series.
    pub fn has_no_series(&self) -> bool {
        self.series.is_empty()
    }

    /// Writes all of it into a new native log: types, raw numbers, clocks and bases as they were sampled.
    /// `host` stands in the paths that name none; `local` makes the local times of records.
    ///
    /// # Errors
    ///
    /// Those of the file.
    pub fn native(&self, host: &str, local: &dyn Fn(FileTime) -> LocalTime, file: File) -> io::Result<()> {
        let times: Vec<FileTime> = self.rows.iter().map(|(_, time)| *time).collect();
        let LocalTime { zone, bias, .. } = local(times.first().copied().unwrap_or_default());
        let zone = Zone::Fixed { name: zone, bias };
        let options = WriteOptions { zone, keep_instances: true, ..WriteOptions::sealed() };
        let mut sink = NativeSink::new(NativeWriter::new(file, options)?);
        sink.columns(&columns(&self.series, host, &times))?;
        let mut series: Vec<_> =
            self.series.iter().map(|series| series.cells(times.iter().copied())).collect();
        let mut cells = Vec::new();
        for (row, time) in &self.rows {
            cells.clear();
            cells.extend(series.iter_mut().filter_map(Iterator::next));
            for (cell, series) in cells.iter_mut().zip(&*self.series).filter(|(_, one)| one.is_computed) {
                *cell = computed(series.at(self.next, *row), *time);
            }
            if is_missed(&cells) {
                continue;
            }
            let local_minutes = local(*time).bias.saturating_neg();
            sink.row(&Row { time: *time, local_minutes, cells: &cells })?;
        }
        sink.finish()
    }
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

fn columns(series: &[Series], host: &str, times: &[FileTime]) -> Vec<Column> {
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
    series.iter().map(column).collect()
}

/// Ticks per second of the clock of a series.
fn time_base(series: &Series, times: &[FileTime]) -> Frequency {
    let sample = series.cells(times.iter().copied()).find_map(|cell| cell.sample);
    sample.map(|sample| sample.frequency).unwrap_or_default()
}
