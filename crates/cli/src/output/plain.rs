//! Values only, one a line.

use std::io::{self, Write};

use tallymon::core::counter::TextStyle;
use tallymon::core::flow::{Column, Row, Sink, Value};

use crate::words::visible;

/// Writes each value on a line, with all its digits; a missing value is an empty line.
pub(super) struct PlainLines<W> {
    out: W,
    lines: String,
}

impl<W: Write> PlainLines<W> {
    pub(super) const fn new(out: W) -> PlainLines<W> {
        PlainLines { out, lines: String::new() }
    }
}

impl<W: Write> Sink for PlainLines<W> {
    type Error = io::Error;

    fn columns(&mut self, _: &[Column]) -> io::Result<()> {
        Ok(())
    }

    fn row(&mut self, row: &Row<'_>) -> io::Result<()> {
        self.lines.clear();
        for cell in row.cells {
            match &cell.value {
                // A line end in a text would make two values of one.
                Ok(Value::Text(text)) => self.lines.push_str(&visible(text)),
                // Writing into a string cannot fail.
                value => TextStyle::Measured.write(&mut self.lines, value).unwrap_or_default(),
            }
            self.lines.push('\n');
        }
        self.out.write_all(self.lines.as_bytes())
    }

    fn finish(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
