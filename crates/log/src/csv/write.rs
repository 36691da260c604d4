//! Writes PDH-CSV and PDH-TSV as Windows does, byte for byte. Every PDH-CSV of this project comes from here.

use std::fmt::Write as _;
use std::io::{self, Write};

use tallymon_core::counter::TextStyle;
use tallymon_core::flow::{Column, NoValue, Row, Sink, Value};
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
    /// Minutes to add to local time to get UTC, for the first line.
    pub bias: i32,
    /// What follows after `(PDH-CSV 4.0)` in the first line in place of name and bias, see
    /// [`Zone::header`](crate::zone::Zone::header).
    pub zone: Option<String>,
    /// A caption behind the paths, as Performance Monitor writes.
    pub caption: Option<String>,
    /// How values are written. [`TextStyle::Console`] also leaves the time zone out, as typeperf does.
    pub style: TextStyle,
    /// Put `'` before a text or a name that a spreadsheet would take for a formula. Windows does not.
    pub no_formulas: bool,
}

impl Default for CsvOptions {
    fn default() -> CsvOptions {
        CsvOptions {
            tabs: false,
            line_end: LineEnd::CrLf,
            zone_name: "UTC".to_owned(),
            bias: 0,
            zone: None,
            caption: None,
            style: TextStyle::default(),
            no_formulas: false,
        }
    }
}

/// What a formula begins with; spreadsheets also skip a tab or a carriage return before it.
const FORMULA: [char; 6] = ['=', '+', '-', '@', '\t', '\r'];

/// Writes a text log.
#[derive(Debug)]
pub struct CsvWriter<W> {
    out: W,
    options: CsvOptions,
    /// The line that is being written.
    line: String,
    has_header: bool,
}

impl<W: Write> CsvWriter<W> {
    /// Nothing is written before the columns are known.
    pub const fn new(out: W, options: CsvOptions) -> CsvWriter<W> {
        CsvWriter { out, options, line: String::new(), has_header: false }
    }

    /// Writes the first line.
    ///
    /// # Errors
    ///
    /// Errors of the output.
    pub fn header<P: AsRef<str>>(&mut self, paths: impl IntoIterator<Item = P>) -> io::Result<()> {
        let kind = if self.options.tabs { "TSV" } else { "CSV" };
        self.line.clear();
        let mut first = format!("(PDH-{kind} 4.0)");
        match &self.options.zone {
            _ if self.options.style == TextStyle::Console => {}
            Some(words) => first.push_str(words),
            // Writing into a string cannot fail.
            None => drop(write!(first, " ({})({})", self.options.zone_name, self.options.bias)),
        }
        self.quoted(&first);
        for path in paths {
            self.separator();
            self.quoted(path.as_ref());
        }
        if let Some(caption) = self.options.caption.take() {
            self.separator();
            self.quoted(&caption);
        }
        self.has_header = true;
        self.end_line()
    }

    /// Writes a row with a local time. What has no value is a blank.
    ///
    /// # Errors
    ///
    /// Errors of the output.
    pub fn record<'v>(
        &mut self,
        local: FileTime,
        values: impl IntoIterator<Item = &'v Result<Value, NoValue>>,
    ) -> io::Result<()> {
        self.line.clear();
        self.line.push('"');
        self.time(local);
        self.line.push('"');
        for value in values {
            self.separator();
            match value {
                // A record is a line, for most readers: a line of a text would begin a record.
                Ok(Value::Text(text)) if !text.is_empty() => self.quoted(&text.replace(['\r', '\n'], " ")),
                Ok(Value::Text(_)) => self.quoted(" "),
                value => {
                    self.line.push('"');
                    // Writing into a string cannot fail.
                    let _ = self.options.style.write(&mut self.line, value);
                    self.line.push('"');
                }
            }
        }
        self.end_line()
    }

    /// Flushes, and returns the output.
    ///
    /// # Errors
    ///
    /// Errors of the output.
    pub fn into_inner(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }

    /// `MM/dd/yyyy HH:mm:ss.fff`. It is in every row, and formatting it with `write!` costs as much as four
    /// numbers.
    fn time(&mut self, local: FileTime) {
        let time = local.system_time();
        for (number, digits, end) in [
            (time.month, 2, "/"),
            (time.day, 2, "/"),
            (time.year, 4, " "),
            (time.hour, 2, ":"),
            (time.minute, 2, ":"),
            (time.second, 2, "."),
            (time.milliseconds, 3, ""),
        ] {
            let powers = [10_000, 1000, 100, 10, 1u16];
            // A damaged time may have a year of five digits.
            let digits = if number >= 10_000 { 5 } else { digits };
            for power in powers.iter().skip(powers.len().saturating_sub(digits)) {
                let digit = number.checked_div(*power).unwrap_or(0) % 10;
                self.line.push(char::from(b'0'.wrapping_add(u8::try_from(digit).unwrap_or(0))));
            }
            self.line.push_str(end);
        }
    }

    fn separator(&mut self) {
        self.line.push(if self.options.tabs { '\t' } else { ',' });
    }

    fn quoted(&mut self, text: &str) {
        self.line.push('"');
        if self.options.no_formulas && text.starts_with(FORMULA) {
            self.line.push('\'');
        }
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

    /// A text log has one list of columns, in its first line. A second one is an error.
    fn columns(&mut self, columns: &[Column]) -> io::Result<()> {
        if self.has_header {
            return Err(io::Error::other("the columns of a text log cannot change after its first line"));
        }
        self.header(columns.iter().map(|column| &column.path))
    }

    fn row(&mut self, row: &Row<'_>) -> io::Result<()> {
        let local = add_minutes(row.time, row.local_minutes);
        self.record(local, row.cells.iter().map(|cell| &cell.value))
    }

    fn finish(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tallymon_core::counter::CounterType;
    use tallymon_core::flow::Cell;
    use tallymon_core::time::{Frequency, UNIX_EPOCH};

    fn column(path: &str) -> Column {
        Column {
            path: path.to_owned(),
            parts: None,
            counter_type: CounterType::PERF_COUNTER_RAWCOUNT,
            scale: 0,
            time_base: Frequency(0),
            group: 0,
            wild: false,
            live: None,
        }
    }

    #[test]
    fn a_sink_of_rows() {
        let options = CsvOptions {
            tabs: true,
            zone_name: "Korea Standard Time".into(),
            bias: -540,
            ..CsvOptions::default()
        };
        let mut writer = CsvWriter::new(Vec::new(), options);
        let cell = |value| Cell { value, ..Cell::missing(NoValue::NoInstance) };
        writer.columns(&[column("\\\\h\\a(say \"hi\")\\b"), column(r"\\h\a\c")]).unwrap();
        let cells = [cell(Ok(Value::Integer(7))), cell(Err(NoValue::FirstSample))];
        writer.row(&Row { time: UNIX_EPOCH, local_minutes: 540, cells: &cells }).unwrap();
        let cells = [cell(Ok(Value::Text("on \"air\"".into()))), cell(Err(NoValue::NoOperations))];
        writer.row(&Row { time: UNIX_EPOCH, local_minutes: 540, cells: &cells }).unwrap();
        assert!(writer.columns(&[]).is_err());
        writer.finish().unwrap();
        let text = String::from_utf8(writer.into_inner().unwrap()).unwrap();
        let expected = "\"(PDH-TSV 4.0) (Korea Standard Time)(-540)\"\t\"\\\\h\\a(say \"\"hi\"\")\\b\"\t\"\\\\h\\a\\c\"\r\n\
                        \"01/01/1970 09:00:00.000\"\t\"7\"\t\" \"\r\n\
                        \"01/01/1970 09:00:00.000\"\t\"on \"\"air\"\"\"\t\"0\"\r\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn formulas_become_text_where_that_is_wanted() {
        let written = |no_formulas| {
            let options = CsvOptions { no_formulas, ..CsvOptions::default() };
            let mut writer = CsvWriter::new(Vec::new(), options);
            writer.header(["=cmd|' /C calc'!A0", r"\\h\a\b", "@x"]).unwrap();
            let texts =
                ["=1+1", "+1", "-1", "@x", "\t=1", "a=1", ""].map(|text| Ok(Value::Text(text.into())));
            let number = Ok(Value::Number(-7.0));
            writer.record(UNIX_EPOCH, texts.iter().chain([&number])).unwrap();
            String::from_utf8(writer.into_inner().unwrap()).unwrap()
        };
        let (plain, guarded) = (written(false), written(true));
        assert!(plain.contains(r#","=1+1","+1","-1","@x","#) && plain.contains(r#","=cmd|' /C calc'!A0","#));
        // Numbers and paths stay as they are.
        let header = "\"(PDH-CSV 4.0) (UTC)(0)\",\"'=cmd|' /C calc'!A0\",\"\\\\h\\a\\b\",\"'@x\"\r\n";
        let row = "\"'=1+1\",\"'+1\",\"'-1\",\"'@x\",\"'\t=1\",\"a=1\",\" \",\"-7\"\r\n";
        assert_eq!(guarded, format!("{header}\"01/01/1970 00:00:00.000\",{row}"));
    }

    #[test]
    fn the_console_has_no_zone_and_six_decimals() {
        let options = CsvOptions { style: TextStyle::Console, ..CsvOptions::default() };
        let mut writer = CsvWriter::new(Vec::new(), options);
        writer.header([r"\\h\a\b"]).unwrap();
        writer.record(UNIX_EPOCH, [&Ok(Value::Integer(7))]).unwrap();
        let text = String::from_utf8(writer.into_inner().unwrap()).unwrap();
        let expected = "\"(PDH-CSV 4.0)\",\"\\\\h\\a\\b\"\r\n\"01/01/1970 00:00:00.000\",\"7.000000\"\r\n";
        assert_eq!(text, expected);
    }
}
