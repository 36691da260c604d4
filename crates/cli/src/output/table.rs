//! The table for people: a line a value, with its path in their language.

use std::fmt::Write as _;
use std::io::{self, Write};

use tallymon::core::counter;
use tallymon::core::flow::Value;
use tallymon::{CounterValue, Names, Reading};
use unicode_width::UnicodeWidthStr;

use super::values::{Place, Values};
use crate::words::visible;

/// A table, with what its lines have in common from one row to the next.
#[derive(Default)]
pub(super) struct Table {
    lines: Vec<Line>,
    /// The widest path.
    width: usize,
    /// The values of the row at hand, one behind the other.
    text: String,
    /// Whether it says how far values may be off.
    pub(super) with_errors: bool,
}

struct Line {
    place: Place,
    path: String,
    path_width: usize,
    /// Where the value ends in the text of the row.
    end: usize,
    value_width: usize,
    unit: &'static str,
    note: String,
}

impl Table {
    /// Writes the lines of one row.
    pub(super) fn write(&mut self, out: &mut impl Write, values: &Values<'_>) -> io::Result<()> {
        if !self.fill(values) {
            self.begin(values);
            self.fill(values);
        }
        let value_width = self.lines.iter().map(|line| line.value_width).max().unwrap_or(0);
        let mut start = 0;
        for line in &self.lines {
            let value = self.text.get(start..line.end).unwrap_or_default();
            start = line.end;
            let gap = self.width - line.path_width + 2 + value_width - line.value_width;
            let value = if line.unit.is_empty() { value.trim_end() } else { value };
            match (value, line.unit) {
                ("", "") => write!(out, "{}", line.path.trim_end())?,
                (value, "") => write!(out, "{}{:gap$}{value}", line.path, "")?,
                (value, unit) => write!(out, "{}{:gap$}{value} {unit}", line.path, "")?,
            }
            writeln!(out, "{}", line.note)?;
        }
        Ok(())
    }

    /// Takes the values of a row. False when they are others than those of the row before.
    fn fill(&mut self, values: &Values<'_>) -> bool {
        let Table { lines, text, with_errors, .. } = self;
        text.clear();
        let (mut lines, mut is_same) = (lines.iter_mut(), true);
        values.for_each(|path, value| {
            match lines.next().filter(|line| is_same && line.place.is_of(path, value)) {
                Some(line) => line.fill(value, *with_errors, text),
                None => is_same = false,
            }
        });
        is_same && lines.next().is_none()
    }

    /// Makes the lines for the values that there are now.
    fn begin(&mut self, values: &Values<'_>) {
        let names = values.names();
        let line = |reading: &Reading| {
            let path = visible(&local_path(reading, names)).into_owned();
            Line {
                place: Place::of(values, reading),
                path_width: path.width(),
                path,
                end: 0,
                value_width: 0,
                unit: "",
                note: String::new(),
            }
        };
        self.lines = values.readings().iter().map(line).collect();
        self.width = self.lines.iter().map(|line| line.path_width).max().unwrap_or(0);
    }
}

impl Line {
    fn fill(&mut self, value: &CounterValue<'_>, with_errors: bool, text: &mut String) {
        let start = text.len();
        // Into a string nothing fails.
        let _ = match &value.cell.value {
            Ok(Value::Text(found)) => write!(text, "{}", visible(found)),
            Ok(found) => write!(text, "{}", counter::human(found, value.definition.counter_type)),
            Err(_) => write!(text, "-"),
        };
        self.note.clear();
        let _ = match &value.cell.value {
            Err(why) => write!(self.note, "  ({why})"),
            Ok(_) if value.cell.stale => write!(self.note, "  (old: the source does not answer)"),
            Ok(_) => Ok(()),
        };
        if with_errors {
            if let Some(error) = value.error().filter(|_| value.cell.value.is_ok()) {
                let _ = write!(text, " ± {}", two_digits(error));
            }
            if let Some(why) = value.why_no_error() {
                let _ = write!(self.note, "  (error unknown: {why})");
            }
        }
        self.end = text.len();
        self.value_width = text.get(start..).unwrap_or_default().width();
        // A dash has no unit.
        self.unit = match value.cell.value {
            Ok(_) => value.definition.counter_type.suffix().as_str(),
            Err(_) => "",
        };
    }
}

/// The path of a reading for people, with the host if it has one.
fn local_path(reading: &Reading, names: &Names) -> String {
    let host = reading.path.strip_prefix("\\\\").and_then(|rest| rest.find('\\')).map_or(0, |end| end + 2);
    let (host, path) = reading.path.split_at_checked(host).unwrap_or_default();
    let reading = Reading { path: path.to_string(), ..reading.clone() };
    format!("{host}{}", reading.local_path(names))
}

/// How far a value may be off: two digits of it are as many as it deserves.
fn two_digits(error: f64) -> String {
    let digits = if error > 0.0 { (1.0 - error.log10().floor()).clamp(0.0, 6.0) } else { 0.0 };
    format!("{error:.0$}", digits as usize)
}
