//! Writes PDH-CSV and PDH-TSV as Windows does, byte for byte.

use std::fmt::Write as _;
use std::io::{self, Write};

use tallymon_core::counter::write_g17;
use tallymon_core::flow::{NoValue, Row, Sink, Value};
use tallymon_core::time::FileTime;

use crate::zone::add_minutes;

/// What ends a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LineEnd {
    /// Carriage return and line feed, as Windows writes.
    #[default]
    CrLf,
    /// Line feed alone.
    Lf,
}

/// How a text log is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CsvOptions {
    /// Separate by tabs: PDH-TSV.
    pub tabs: bool,
    /// What ends a line.
    pub line_end: LineEnd,
    /// Name of the time zone for the first line, ASCII.
    pub zone_name: String,
    /// Minutes to add to local time to get UTC, for the first line and for rows that come with UTC alone.
    pub bias: i32,
}

impl Default for CsvOptions {
    fn default() -> CsvOptions {
        CsvOptions { tabs: false, line_end: LineEnd::CrLf, zone_name: "UTC".to_owned(), bias: 0 }
    }
}

/// Writes a text log.
#[derive(Debug)]
pub struct CsvWriter<W> {
    out: W,
    options: CsvOptions,
    /// The line that is being made.
    line: String,
    headed: bool,
}

impl<W: Write> CsvWriter<W> {
    /// Nothing is written before the columns are known.
    pub const fn new(out: W, options: CsvOptions) -> CsvWriter<W> {
        CsvWriter { out, options, line: String::new(), headed: false }
    }

    /// Writes the first line.
    ///
    /// # Errors
    ///
    /// Those of the writer below.
    pub fn header<P: AsRef<str>>(&mut self, paths: impl IntoIterator<Item = P>) -> io::Result<()> {
        let kind = if self.options.tabs { "TSV" } else { "CSV" };
        self.line.clear();
        let first = format!("(PDH-{kind} 4.0) ({})({})", self.options.zone_name, self.options.bias);
        self.quoted(&first);
        for path in paths {
            self.separator();
            self.quoted(path.as_ref());
        }
        self.headed = true;
        self.end_line()
    }

    /// Writes a row with a local time. What has no value is a blank.
    ///
    /// # Errors
    ///
    /// Those of the writer below.
    pub fn record<'v>(
        &mut self,
        local: FileTime,
        values: impl IntoIterator<Item = &'v Result<Value, NoValue>>,
    ) -> io::Result<()> {
        self.line.clear();
        self.line.push('"');
        let time = local.system_time();
        let _ = write!(
            self.line,
            "{:02}/{:02}/{:04} {:02}:{:02}:{:02}.{:03}",
            time.month, time.day, time.year, time.hour, time.minute, time.second, time.milliseconds
        );
        self.line.push('"');
        for value in values {
            self.separator();
            self.line.push('"');
            let blank = self.line.len();
            // Writing into a text can not fail.
            let _ = match value {
                Ok(Value::Number(number)) => write_g17(&mut self.line, *number),
                // Windows prints integers through a floating-point number too.
                Ok(Value::Integer(integer)) => write_g17(&mut self.line, *integer as f64),
                Ok(Value::Text(text)) => self.line.write_str(&text.replace('"', "\"\"")),
                Ok(_) | Err(_) => Ok(()),
            };
            if self.line.len() == blank {
                self.line.push(' ');
            }
            self.line.push('"');
        }
        self.end_line()
    }

    /// Flushes and gives the writer below back.
    ///
    /// # Errors
    ///
    /// Those of the writer below.
    pub fn into_inner(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }

    fn separator(&mut self) {
        self.line.push(if self.options.tabs { '\t' } else { ',' });
    }

    fn quoted(&mut self, text: &str) {
        self.line.push('"');
        self.line.push_str(&text.replace('"', "\"\""));
        self.line.push('"');
    }

    fn end_line(&mut self) -> io::Result<()> {
        self.line.push_str(match self.options.line_end {
            LineEnd::CrLf => "\r\n",
            LineEnd::Lf => "\n",
        });
        self.out.write_all(self.line.as_bytes())
    }
}

impl<W: Write> Sink for CsvWriter<W> {
    type Error = io::Error;

    /// Text logs have one list of columns, at their begin. A second one is refused.
    fn columns(&mut self, paths: &[String]) -> io::Result<()> {
        if self.headed {
            return Err(io::Error::other("a text log can not get other columns once it was begun"));
        }
        self.header(paths)
    }

    fn row(&mut self, row: &Row<'_>) -> io::Result<()> {
        let local = add_minutes(row.time, self.options.bias.saturating_neg());
        self.record(local, row.cells.iter().map(|cell| &cell.value))
    }

    fn finish(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tallymon_core::flow::Cell;
    use tallymon_core::time::UNIX_EPOCH;

    #[test]
    fn a_sink_of_rows() {
        let options = CsvOptions {
            tabs: true,
            line_end: LineEnd::CrLf,
            zone_name: "Korea Standard Time".into(),
            bias: -540,
        };
        let mut writer = CsvWriter::new(Vec::new(), options);
        let cell = |value| Cell { sample: None, value, stale: false };
        writer.columns(&["\\\\h\\a(say \"hi\")\\b".to_owned(), r"\\h\a\c".to_owned()]).unwrap();
        let cells = [cell(Ok(Value::Integer(7))), cell(Err(NoValue::FirstSample))];
        writer.row(&Row { time: UNIX_EPOCH, cells: &cells }).unwrap();
        assert!(writer.columns(&[]).is_err());
        writer.finish().unwrap();
        let text = String::from_utf8(writer.into_inner().unwrap()).unwrap();
        let expected = "\"(PDH-TSV 4.0) (Korea Standard Time)(-540)\"\t\"\\\\h\\a(say \"\"hi\"\")\\b\"\t\"\\\\h\\a\\c\"\r\n\
                        \"01/01/1970 09:00:00.000\"\t\"7\"\t\" \"\r\n";
        assert_eq!(text, expected);
    }
}
