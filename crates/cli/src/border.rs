//! The border between the command and the terminal: everything that it prints passes here.
//!
//! Names and texts come from logs, blocks, other programs and the command line itself. Output for people
//! never contains a character that a terminal obeys or hides (see [`tallymon::core::visible`]), whether or
//! not it goes to a terminal: it may be looked at later. JSON has such characters as `\u` escapes, which
//! changes no value. Other data formats prescribe their bytes, so they change only on the way to a terminal.
//!
//! A line end in a name could begin a line that looks like ours. This border cannot tell it from our own
//! line ends, so names and texts are printed as [`visible`], which replaces it.

use std::fmt;
use std::io::{self, IsTerminal, StderrLock, StdoutLock, Write};
use std::panic::PanicHookInfo;

use tallymon::core::visible::{Inspector, escape_json, visible};

use crate::arguments::Form;

/// Standard output for people.
pub(crate) fn stdout() -> Shown<StdoutLock<'static>> {
    Shown::new(io::stdout().lock())
}

/// Standard error.
pub(crate) fn stderr() -> Shown<StderrLock<'static>> {
    Shown::new(io::stderr().lock())
}

/// Standard output for a data format: its bytes as they are, except on a terminal.
pub(crate) fn data() -> Box<dyn Write> {
    if io::stdout().is_terminal() { Box::new(stdout()) } else { Box::new(io::stdout().lock()) }
}

/// As [`data`], for cells in quotes (CSV, TSV). On a terminal a line end within quotes is replaced too,
/// because what follows could look like a line of ours.
pub(crate) fn cells() -> Box<dyn Write> {
    if io::stdout().is_terminal() { Box::new(Shown::cells(io::stdout().lock())) } else { data() }
}

/// Standard output for rows of values.
pub(crate) fn rows(form: Form) -> Box<dyn Write> {
    match form {
        Form::Csv | Form::Tsv => cells(),
        Form::Table | Form::Plain | Form::Json => Box::new(stdout()),
    }
}

/// JSON on one line, with `\u` escapes for what a terminal would obey or hide.
pub(crate) fn json(value: &impl fmt::Display) -> String {
    escape_json(&value.to_string()).into_owned()
}

/// Draws our own progress on the terminal, over what stood on the line before.
pub(crate) fn progress(line: &str) {
    // The work goes on even if the terminal is gone.
    let _ = write!(io::stderr(), "\r{}\x1b[K", visible(line));
}

/// Prints the messages of panics through the border too.
pub(crate) fn guard_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let thread = std::thread::current();
        let name = thread.name().unwrap_or("without a name");
        // Whoever reads standard error may be gone.
        let _ = writeln!(stderr(), "{}", panic_message(name, panic));
        let backtrace = std::backtrace::Backtrace::capture();
        if backtrace.status() == std::backtrace::BacktraceStatus::Captured {
            let _ = writeln!(stderr(), "{backtrace}");
        }
    }));
}

fn panic_message(thread: &str, panic: &PanicHookInfo<'_>) -> String {
    let place = panic.location().map_or_else(String::new, |place| format!(" at {place}"));
    let words = panic.payload_as_str().unwrap_or("no message");
    let thread = visible(thread);
    format!("tally: an error in this program: thread {thread} panicked{place}: {}", visible(words))
}

/// Writes text with colours of ours to standard output, all at once. Only sequences that set colours pass.
pub(crate) fn coloured(text: &str) -> io::Result<()> {
    let mut out = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find("\x1b[") {
        let (before, sequence) = rest.split_at(at);
        Shown::new(&mut out).write_all(before.as_bytes())?;
        let parameters = sequence.get(2..).unwrap_or_default();
        let length = parameters.find(|c: char| !c.is_ascii_digit() && c != ';').unwrap_or(parameters.len());
        let end = length.saturating_add(3);
        match sequence.get(..end).filter(|sequence| sequence.ends_with('m')) {
            Some(colour) => out.extend_from_slice(colour.as_bytes()),
            None => Shown::new(&mut out).write_all(sequence.get(..2).unwrap_or_default().as_bytes())?,
        }
        let taken = if sequence.get(..end).is_some_and(|sequence| sequence.ends_with('m')) { end } else { 2 };
        rest = sequence.get(taken..).unwrap_or_default();
    }
    Shown::new(&mut out).write_all(rest.as_bytes())?;
    let mut stdout = io::stdout().lock();
    stdout.write_all(&out)?;
    stdout.flush()
}

/// Passes text on, with U+FFFD in the place of everything that a terminal obeys or hides. Line ends and tabs
/// pass.
pub(crate) struct Shown<W: Write> {
    out: W,
    inspector: Inspector,
    /// The first bytes of a character whose other bytes are still to come.
    part: Vec<u8>,
    /// Whether the text is within quotes; `None` where quotes mean nothing.
    in_quotes: Option<bool>,
}

impl<W: Write> Shown<W> {
    pub(crate) fn new(out: W) -> Shown<W> {
        Shown { out, inspector: Inspector::default(), part: Vec::new(), in_quotes: None }
    }

    /// For cells in quotes: a quote in a cell is written twice.
    fn cells(out: W) -> Shown<W> {
        let mut shown = Shown::new(out);
        shown.in_quotes = Some(false);
        shown
    }
}

impl<W: Write> Write for Shown<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let is_plain = |byte: &u8| matches!(byte, b' '..=b'~' | b'\n' | b'\t');
        if self.part.is_empty() && self.in_quotes.is_none() && bytes.iter().all(is_plain) {
            self.inspector = Inspector::default();
            self.out.write_all(bytes)?;
            return Ok(bytes.len());
        }
        self.part.extend_from_slice(bytes);
        let mut text = String::with_capacity(self.part.len());
        let mut rest = Vec::new();
        let mut chunks = self.part.utf8_chunks().peekable();
        while let Some(chunk) = chunks.next() {
            for letter in chunk.valid().chars() {
                if letter == '"' {
                    self.in_quotes = self.in_quotes.map(|within| !within);
                }
                let passes = letter == '\t' || letter == '\n' && self.in_quotes != Some(true);
                let deceives = self.inspector.deceives(letter) && !passes;
                text.push(if deceives { char::REPLACEMENT_CHARACTER } else { letter });
            }
            match chunk.invalid() {
                [] => (),
                // Bytes at the end may begin a character.
                begun if chunks.peek().is_none() && begins_a_character(begun) => rest = begun.to_vec(),
                _ => text.push(char::REPLACEMENT_CHARACTER),
            }
        }
        self.part = rest;
        self.out.write_all(text.as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl<W: Write> Drop for Shown<W> {
    fn drop(&mut self) {
        if !self.part.is_empty() {
            // An error here would have come at the next write, and there is none.
            let _ = write!(self.out, "{}", char::REPLACEMENT_CHARACTER);
        }
    }
}

/// Whether invalid bytes are the beginning of a valid character.
fn begins_a_character(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_err_and(|error| error.error_len().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(pieces: &[&[u8]]) -> String {
        let mut out = Vec::new();
        let mut shown = Shown::new(&mut out);
        for piece in pieces {
            shown.write_all(piece).unwrap();
        }
        drop(shown);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn nothing_that_a_terminal_obeys_passes() {
        assert_eq!(shown(&[b"a\x1b[2Jb\tc\r\n\x07"]), "a\u{fffd}[2Jb\tc\u{fffd}\n\u{fffd}");
        assert_eq!(shown(&["\u{9b}31m\u{202e}x\u{2028}".as_bytes()]), "\u{fffd}31m\u{fffd}x\u{fffd}");
        // Bytes that are no text: a C1 control in Latin-1, and half a character at the end.
        assert_eq!(shown(&[b"a\x9b2Jb", "я".as_bytes(), b"\xe2\x80"]), "a\u{fffd}2Jbя\u{fffd}");
    }

    #[test]
    fn a_line_end_within_a_cell_is_replaced() {
        let rows = "\"a \"\"b\"\" \n\"\"FORGED\",\"1\"\n\"c\nd\"\n";
        let expected = "\"a \"\"b\"\" \u{fffd}\"\"FORGED\",\"1\"\n\"c\u{fffd}d\"\n";
        let mut out = Vec::new();
        let mut shown = Shown::cells(&mut out);
        rows.as_bytes().chunks(3).for_each(|piece| shown.write_all(piece).unwrap());
        drop(shown);
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }

    #[test]
    fn a_character_may_come_in_pieces() {
        for text in ["a\u{202e}b", "日本語 память", "👩\u{200d}💻\n"] {
            let pieces: Vec<&[u8]> = text.as_bytes().chunks(1).collect();
            assert_eq!(shown(&pieces), text.replace('\u{202e}', "\u{fffd}"));
        }
    }

    #[test]
    fn json_keeps_its_values() {
        let text = "\u{1b}[2J\u{7f}\u{9b}\u{202e}\u{2028}\u{e0041}日本";
        let escaped = json(&serde_json::json!({ "name": text }));
        assert_eq!(visible(&escaped), escaped);
        let read: serde_json::Value = serde_json::from_str(&escaped).unwrap();
        assert_eq!(read["name"], text);
    }

    #[test]
    fn the_message_of_a_panic_is_visible() {
        let seen = std::sync::Arc::new(std::sync::Mutex::new(String::new()));
        let inner = seen.clone();
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            let message = panic_message("th\x1bread", panic);
            if message.contains("2J") {
                *inner.lock().unwrap() = message;
            }
        }));
        assert!(std::panic::catch_unwind(|| panic!("bad name \x1b[2J\nforged")).is_err());
        std::panic::set_hook(before);
        let message = seen.lock().unwrap().clone();
        assert!(message.contains("th\u{fffd}read") && message.contains("border.rs:"), "{message}");
        assert!(message.ends_with("bad name \u{fffd}[2J\u{fffd}forged"), "{message}");
    }
}
