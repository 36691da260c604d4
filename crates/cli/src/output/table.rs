//! The table for people: a line for each value, with its path in their language.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::{self, Write};
use std::time::Duration;

use tallymon::core::counter::{self, CounterType};
use tallymon::core::flow::{Cell, Column, NoValue, Row, Sink, Value};
use tallymon::core::time::{FileTime, UNITS_PER_SECOND};
use tallymon::log::zone::add_minutes;
use tallymon::remote::rough_time;
use unicode_width::UnicodeWidthStr;

use crate::words::{WIDEST_COLUMN, visible};

/// Writes rows as tables, with a blank line between two if they have times.
pub(super) struct Table<W> {
    out: W,
    with_time: bool,
    /// Shows how far values may be off.
    with_errors: bool,
    lines: Vec<Line>,
    /// The widest path.
    width: usize,
    /// The values of this row, one behind the other.
    values: String,
    rows: u64,
}

struct Line {
    path: String,
    path_width: usize,
    counter_type: CounterType,
    /// Where the value ends in the values of the row.
    end: usize,
    value_width: usize,
    unit: &'static str,
    note: String,
    /// The time of the last row with a new value.
    fresh: Option<FileTime>,
}

impl<W: Write> Table<W> {
    pub(super) const fn new(out: W, with_time: bool, with_errors: bool) -> Table<W> {
        Table { out, with_time, with_errors, lines: Vec::new(), width: 0, values: String::new(), rows: 0 }
    }

    /// The lines of a row.
    pub(super) fn text_of(&mut self, row: &Row<'_>) -> String {
        let mut text = String::new();
        let Table { lines, values, .. } = self;
        values.clear();
        // Writing into a string cannot fail, here and below.
        if self.with_time {
            let time = add_minutes(row.time, row.local_minutes).system_time();
            let between = if self.rows > 0 { "\n" } else { "" };
            let _ = writeln!(
                text,
                "{between}{:04}-{:02}-{:02} {:02}:{:02}:{:02}.{:03}",
                time.year, time.month, time.day, time.hour, time.minute, time.second, time.milliseconds
            );
        }
        for (line, cell) in lines.iter_mut().zip(row.cells) {
            line.fill(cell, row.time, self.with_errors, values);
        }
        let value_width = lines.iter().map(|line| line.value_width).max().unwrap_or(0).min(WIDEST_COLUMN);
        let mut start = 0;
        for line in lines {
            let value = values.get(start..line.end).unwrap_or_default();
            start = line.end;
            let gap =
                self.width.saturating_sub(line.path_width) + 2 + value_width.saturating_sub(line.value_width);
            let value = if line.unit.is_empty() { value.trim_end() } else { value };
            let _ = match (value, line.unit) {
                ("", "") => write!(text, "{}", line.path.trim_end()),
                (value, "") => write!(text, "{}{:gap$}{value}", line.path, ""),
                (value, unit) => write!(text, "{}{:gap$}{value} {unit}", line.path, ""),
            };
            let _ = writeln!(text, "{}", line.note);
        }
        self.rows += 1;
        text
    }
}

impl<W: Write> Sink for Table<W> {
    type Error = io::Error;

    fn columns(&mut self, columns: &[Column]) -> io::Result<()> {
        // Columns change when hosts come, and each value keeps its age.
        let known: HashMap<String, Option<FileTime>> =
            self.lines.drain(..).map(|line| (line.path, line.fresh)).collect();
        let line = |column: &Column| {
            let path = column.live.as_ref().map_or(&column.path, |live| &live.local_path);
            let path = visible(path).into_owned();
            Line {
                path_width: path.width(),
                fresh: known.get(&path).copied().flatten(),
                path,
                counter_type: column.counter_type,
                end: 0,
                value_width: 0,
                unit: "",
                note: String::new(),
            }
        };
        self.lines = columns.iter().map(line).collect();
        self.width = self.lines.iter().map(|line| line.path_width).max().unwrap_or(0).min(WIDEST_COLUMN);
        Ok(())
    }

    fn row(&mut self, row: &Row<'_>) -> io::Result<()> {
        let text = self.text_of(row);
        // One write a row, also on standard output.
        self.out.write_all(text.as_bytes())
    }

    fn finish(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl Line {
    fn fill(&mut self, cell: &Cell, time: FileTime, with_errors: bool, values: &mut String) {
        let start = values.len();
        let _ = match &cell.value {
            Ok(Value::Text(found)) => write!(values, "{}", visible(found)),
            Ok(found) => write!(values, "{}", counter::human(found, self.counter_type)),
            Err(_) => write!(values, "-"),
        };
        self.note.clear();
        if cell.value.is_ok() && !cell.stale {
            self.fresh = Some(time);
        }
        let age = self.fresh.map(|fresh| {
            let units = time.0.saturating_sub(fresh.0);
            // To the nearest second: rows come a little early or late.
            rough_time(Duration::from_secs((units + UNITS_PER_SECOND / 2) / UNITS_PER_SECOND))
        });
        let _ = match (&cell.value, &age) {
            (Err(why @ NoValue::NoMachine), Some(age)) => {
                write!(self.note, "  ({why}; the last value was {age} ago)")
            }
            (Ok(_), Some(age)) if cell.stale => {
                write!(self.note, "  (old, {age}: the source does not answer)")
            }
            (Err(why), _) => write!(self.note, "  ({why})"),
            (Ok(_), _) if cell.stale => write!(self.note, "  (old: the source does not answer)"),
            (Ok(_), _) => cell.partial.map_or(Ok(()), |sum| write!(self.note, "  (partial sum: {sum})")),
        };
        if with_errors && cell.value.is_ok() {
            let _ = match cell.error {
                Some(error) if error.is_finite() => write!(values, " ± {}", two_digits(error)),
                Some(_) => write!(self.note, "  (error unknown: it is too large to be computed)"),
                None if !self.counter_type.needs_two_samples() => Ok(()),
                None => {
                    write!(self.note, "  (error unknown: its source does not say when it was read)")
                }
            };
        }
        self.end = values.len();
        self.value_width = values.get(start..).unwrap_or_default().width();
        // A dash has no unit.
        self.unit = match cell.value {
            Ok(_) => self.counter_type.suffix().as_str(),
            Err(_) => "",
        };
    }
}

/// How far a value may be off, with the two digits that are meaningful.
fn two_digits(error: f64) -> String {
    let digits = if error > 0.0 { (1.0 - error.log10().floor()).clamp(0.0, 6.0) } else { 0.0 };
    format!("{error:.0$}", digits as usize)
}
