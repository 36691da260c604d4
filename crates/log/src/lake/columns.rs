//! Puts native logs into parts column by column, as they have them. The values are those that rows would
//! have; a row of cells costs several times as much.

use std::io::BufReader;
use std::ops::Range;
use std::path::Path;

use tallymon_core::counter::CounterType;
use tallymon_core::flow::{NoValue, Sample};
use tallymon_core::time::FileTime;

use super::sink::LakeSink;
use super::times;
use crate::column_copy::{ColumnCopyRequest, Copied};
use crate::error::LogError;
use crate::file::{head_of, is_address, log_file};
use crate::format::Format;
use crate::native::{ColumnRows, EvenRows, NativeReader};
use crate::options::{Counted, ReadOptions};
use crate::parquet::{ColumnBuffer, OneValue, microseconds};
use crate::reader::{LogReader, number_of};

/// The input as columns; `None` if it is another log than a native one, or its names are changed.
fn native(path: &Path, options: &ReadOptions) -> Result<Option<Log>, LogError> {
    let plain = options.names.is_none() && options.processes.is_none();
    if !plain || is_address(path) || path.is_dir() {
        return Ok(None);
    }
    let Ok(mut file) = log_file(path) else { return Ok(None) };
    if Format::detect(&head_of(&mut file)?) != Some(Format::Tally) {
        return Ok(None);
    }
    let input = BufReader::with_capacity(1 << 16, Counted::new(file, options));
    NativeReader::seekable(input).map(Some)
}

/// Copies an input into a sink, if it can be copied by columns.
///
/// # Errors
///
/// The input cannot be read, or the parts not be written.
pub(super) fn copy(
    sink: &mut LakeSink,
    input: &ColumnCopyRequest<'_>,
    options: &ReadOptions,
) -> Result<Option<Copied>, LogError> {
    let in_input = |error: LogError| error.in_file(input.path);
    let Some(mut log) = native(input.path, options).map_err(in_input)? else { return Ok(None) };
    let mut copy = ColumnCopy {
        sink,
        input,
        cap: options.cap,
        older: Vec::new(),
        window: 0,
        times: Vec::new(),
        copied: Copied::default(),
    };
    while let Some(rows) = log.chunk_rows().map_err(in_input)? {
        options.wanted.check()?;
        copy.chunk(&log, rows)?;
        log.pass_chunk();
    }
    let about = log.about();
    (copy.copied.notes, copy.copied.read) = (about.notes.clone(), about.records);
    Ok(Some(copy.copied))
}

/// The sample of a column before, and in which window it was.
#[derive(Clone, Copy, Default)]
struct Older {
    sample: Option<Sample>,
    window: u64,
}

/// An input while it is copied.
struct ColumnCopy<'c> {
    sink: &'c mut LakeSink,
    input: &'c ColumnCopyRequest<'c>,
    cap: bool,
    /// By column of the input.
    older: Vec<Older>,
    /// Rows that are copied together are a window: their number, from 1.
    window: u64,
    /// The times of the window.
    times: Vec<u64>,
    copied: Copied,
}

impl ColumnCopy<'_> {
    /// Copies rows of a chunk.
    fn chunk(&mut self, log: &Log, rows: Range<usize>) -> Result<(), LogError> {
        let clocks = log.chunk_clocks();
        let mut columns = Vec::new();
        log.each_column(&clocks, |column| {
            columns.extend(self.input.target(column.column));
            Ok::<(), LogError>(())
        })?;
        let mut begin = rows.start;
        while begin < rows.end {
            let (first, minutes) = log.row_time(begin);
            if !self.input.range.has(first) {
                begin = begin.saturating_add(1);
                continue;
            }
            let most = self.sink.make_room_for(first, &columns)?;
            let end = self.window_end(log, begin, rows.end.min(begin.saturating_add(most)));
            self.window = self.window.saturating_add(1);
            self.times.clear();
            let times = (begin..end).map(|row| microseconds(log.row_time(row).0).cast_unsigned());
            self.times.extend(times);
            log.each_column(&clocks, |column| self.column(&column, begin..end))?;
            let (last, _) = log.row_time(end.saturating_sub(1));
            self.sink.passed(last);
            self.copied.kept = self.copied.kept.saturating_add((end.saturating_sub(begin)) as u64);
            self.copied.first = self.copied.first.or(Some((first, minutes)));
            self.copied.last = Some(last);
            begin = end;
        }
        Ok(())
    }

    /// The end of the rows that may be in one row group: they are wanted, of one day, and in order.
    fn window_end(&self, log: &Log, begin: usize, most: usize) -> usize {
        let (mut before, _) = log.row_time(begin);
        let day = times::day_number(before);
        let mut end = begin.saturating_add(1);
        while end < most {
            let (time, _) = log.row_time(end);
            if time < before || times::day_number(time) != day || !self.input.range.has(time) {
                break;
            }
            before = time;
            end = end.saturating_add(1);
        }
        end
    }

    /// Copies a column of the window.
    fn column(&mut self, column: &ColumnRows<'_>, rows: Range<usize>) -> Result<(), LogError> {
        let Some(target) = self.input.target(column.column) else { return Ok(()) };
        if self.older.len() <= column.column {
            self.older.resize(column.column.saturating_add(1), Older::default());
        }
        let Some(older) = self.older.get_mut(column.column) else { return Ok(()) };
        if older.window.saturating_add(1) != self.window {
            older.sample = None;
        }
        older.window = self.window;
        let (cap, times) = (self.cap, &self.times);
        self.sink.column(target, times.len(), |buffer| match column.even(&rows) {
            Some(even) => even_rows(buffer, &even, column.counter_type, times, &mut older.sample, cap),
            None => uneven_rows(buffer, column, rows, times, &mut older.sample, cap),
        })?;
        Ok(())
    }
}

type Log = NativeReader<BufReader<Counted>>;

/// Adds rows that all have a sample.
fn even_rows(
    buffer: &mut ColumnBuffer,
    rows: &EvenRows<'_>,
    counter_type: CounterType,
    times: &[u64],
    older: &mut Option<Sample>,
    cap: bool,
) {
    let EvenRows { frequency, multi_count, .. } = *rows;
    let mut sample =
        Sample { counter_type, first: 0, second: 0, frequency, multi_count, time: FileTime::default() };
    let raw = |first: &mut Vec<u64>, second: &mut Vec<u64>| rows.add_to(times.len(), first, second);
    buffer.extend(times, multi_count, raw, |first, second| {
        (sample.first, sample.second) = (first, second);
        let value = number_of(older.as_ref(), &sample, cap);
        *older = Some(sample);
        value
    });
}

/// Adds rows of which some have no sample.
fn uneven_rows(
    buffer: &mut ColumnBuffer,
    column: &ColumnRows<'_>,
    rows: Range<usize>,
    times: &[u64],
    older: &mut Option<Sample>,
    cap: bool,
) {
    for (row, microseconds) in rows.zip(times) {
        let (sample, value) = match column.at(row) {
            Ok(sample) => (Some(sample), number_of(older.as_ref(), &sample, cap)),
            Err(reason) => (None, Err(reason)),
        };
        *older = sample;
        // An instance that does not exist has no row.
        if value != Err(NoValue::NoInstance) || sample.is_some() {
            buffer.push(OneValue { microseconds: microseconds.cast_signed(), sample, value });
        }
    }
}
