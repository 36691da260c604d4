//! Lines of text of a bounded length.

use std::io::{self, BufRead, Read};

/// A longer line is cut, and reported.
pub(crate) const LONGEST: u64 = 1 << 20;

/// A line, where it begins, and its number.
#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) text: String,
    pub(crate) byte: u64,
    pub(crate) number: u64,
    pub(crate) is_cut: bool,
}

/// Reads a text line by line.
pub(crate) struct Lines<R> {
    input: R,
    byte: u64,
    number: u64,
    /// A line that was given back.
    back: Option<Line>,
}

impl<R: BufRead> Lines<R> {
    pub(crate) const fn new(input: R) -> Lines<R> {
        Lines { input, byte: 0, number: 0, back: None }
    }

    /// Gives back a line that belongs to what follows: the next one again.
    pub(crate) fn put_back(&mut self, line: Line) {
        self.back = Some(line);
    }

    pub(crate) fn next(&mut self) -> io::Result<Option<Line>> {
        if let Some(line) = self.back.take() {
            return Ok(Some(line));
        }
        let mut bytes = Vec::new();
        let read = self.input.by_ref().take(LONGEST).read_until(b'\n', &mut bytes)? as u64;
        if read == 0 {
            return Ok(None);
        }
        let byte = self.byte;
        self.byte = self.byte.saturating_add(read);
        self.number = self.number.saturating_add(1);
        let is_cut = read == LONGEST && bytes.last() != Some(&b'\n');
        let text = String::from_utf8_lossy(bytes.trim_ascii_end()).into_owned();
        Ok(Some(Line { text, byte, number: self.number, is_cut }))
    }
}
