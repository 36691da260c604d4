//! The error of a kernel file's parser.
//!
//! The error is small, `Copy` and free of allocation, because it may occur once per process and sample.

use std::fmt;

/// A line of a kernel file that could not be parsed.
///
/// It names the file, the line, the column or key, what was expected there and what was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ParseError {
    /// The kernel's name of the file, for example `/proc/stat` or `/proc/PID/stat`.
    ///
    /// The parser does not know the process; the caller that opened the file adds it.
    pub file: &'static str,
    /// The line, counted from 1; 0 when something is missing in the whole file.
    pub line: usize,
    /// The column or key, in the words of the file or of proc(5).
    pub column: &'static str,
    /// What was expected there, for example `a decimal number`.
    pub needed: &'static str,
    /// The beginning of what was found.
    pub found: Excerpt,
}

impl ParseError {
    /// An error at one column of one line.
    pub fn new(
        file: &'static str,
        line: usize,
        column: &'static str,
        needed: &'static str,
        found: &[u8],
    ) -> ParseError {
        ParseError { file, line, column, needed, found: Excerpt::new(found) }
    }

    /// The file lacks a line or key that every supported kernel prints.
    pub fn missing(file: &'static str, column: &'static str, needed: &'static str) -> ParseError {
        ParseError::new(file, 0, column, needed, b"")
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.file)?;
        if self.line > 0 {
            write!(f, " line {}", self.line)?;
        }
        write!(f, ": {}: needed {}, found {}", self.column, self.needed, self.found)
    }
}

impl std::error::Error for ParseError {}

/// The beginning of a text, stored by value so that an error needs no allocation.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Excerpt {
    bytes: [u8; Excerpt::CAPACITY],
    len: u8,
    cut: bool,
}

impl Excerpt {
    /// How many bytes are kept: enough for any number and most keys of kernel files.
    pub const CAPACITY: usize = 29;

    /// Keeps the first [`Excerpt::CAPACITY`] bytes of `text`.
    pub fn new(text: &[u8]) -> Excerpt {
        let mut bytes = [0; Excerpt::CAPACITY];
        let mut len: u8 = 0;
        for (kept, byte) in bytes.iter_mut().zip(text) {
            *kept = *byte;
            len = len.saturating_add(1);
        }
        Excerpt { bytes, len, cut: text.len() > Excerpt::CAPACITY }
    }

    /// The stored bytes.
    pub fn bytes(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.len)).unwrap_or_default()
    }

    /// Whether the text was longer.
    pub fn is_cut(&self) -> bool {
        self.cut
    }
}

impl fmt::Display for Excerpt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.len == 0 {
            return f.write_str("nothing");
        }
        write!(f, "\"{}\"", self.bytes().escape_ascii())?;
        if self.cut {
            f.write_str("...")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Excerpt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_file_line_column_expected_and_found() {
        let error = ParseError::new("/proc/stat", 3, "cpu1 idle", "a decimal number", b"12x\n");
        assert_eq!(
            error.to_string(),
            "/proc/stat line 3: cpu1 idle: needed a decimal number, found \"12x\\n\""
        );
        let error = ParseError::missing("/proc/stat", "ctxt", "a line with this key");
        assert_eq!(error.to_string(), "/proc/stat: ctxt: needed a line with this key, found nothing");
    }

    #[test]
    fn long_text_is_cut_and_marked() {
        let excerpt = Excerpt::new(&[b'x'; 100]);
        assert_eq!(excerpt.bytes().len(), Excerpt::CAPACITY);
        assert!(excerpt.is_cut());
        assert!(excerpt.to_string().ends_with("x\"..."));
        assert!(!Excerpt::new(&[b'x'; Excerpt::CAPACITY]).is_cut());
    }
}
