//! The texts that a program adds to a text log (`PDH_LOG_OPT_USER_STRING`): one for the log, after the
//! paths of its first line, and one for each record, after its values.
//!
//! Until the log is made they are in a file beside the recording, one line for each record. The texts of a
//! continued log stay.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

use tallymon::log::Format;
use tallymon::log::new_file::{NewFile, Overwrite};

use super::complete::Target;

/// The field of a record without a text.
const NOTHING: &[u8] = b"\"\"";

/// The texts of a log that is being written.
pub(super) struct Words {
    path: PathBuf,
    file: File,
    separator: u8,
    /// The field of the first line.
    caption: Vec<u8>,
}

impl Words {
    /// The texts of a text log, beginning with those of a continued log; `None` for other formats.
    pub(super) fn create(target: &Target, caption: &str) -> io::Result<Option<Words>> {
        let separator = match target.format {
            Format::Csv => b',',
            Format::Tsv => b'\t',
            _ => return Ok(None),
        };
        let mut name = target.output.clone().into_os_string();
        name.push(".recording.words");
        let path = PathBuf::from(name);
        let mut words = Words { file: File::create(&path)?, path, separator, caption: field(caption) };
        if target.append && target.output.exists() {
            words.take_from(&target.output)?;
        }
        Ok(Some(words))
    }

    /// Notes the text of the next record.
    pub(super) fn add(&mut self, text: &str) -> io::Result<()> {
        let mut line = field(text);
        line.push(b'\n');
        self.file.write_all(&line)
    }

    /// Puts the texts into a log: the last text into the last record, and so on backwards. Drops the oldest
    /// records while the log has more than `most` bytes.
    pub(super) fn put_into(self, log: &Path, most: Option<u64>) -> io::Result<()> {
        let rows = Lines::open(log)?.count()?.saturating_sub(1);
        let mut left_out = 0;
        let made = loop {
            let made = NewFile::create(log, Overwrite::Continue)?;
            let bytes = self.write(log, made.file()?, rows, left_out)?;
            let kept = rows.saturating_sub(left_out);
            if kept <= 1 || bytes <= most.unwrap_or(u64::MAX) {
                break made;
            }
            left_out = left_out.saturating_add((kept / 10).max(1));
        };
        made.keep()?;
        fs::remove_file(&self.path)
    }

    /// Writes the log with the texts and without its first records; returns its bytes.
    fn write(&self, log: &Path, made: File, rows: u64, left_out: u64) -> io::Result<u64> {
        let (mut log, mut texts) = (Lines::open(log)?, Lines::open(&self.path)?);
        let known = Lines::open(&self.path)?.count()?;
        for _ in rows..known {
            texts.next()?;
        }
        let mut output = BufWriter::new(made);
        let mut put = |line: &[u8], text: &[u8]| {
            [line, &[self.separator], text, b"\r\n"].iter().try_for_each(|part| output.write_all(part))
        };
        let mut first = log.next()?.unwrap_or_default();
        // A log that was continued has its caption already: copies of text logs keep it.
        if !self.caption.is_empty() && last_field(&first, self.separator) == self.caption {
            first.truncate(first.len().saturating_sub(self.caption.len().saturating_add(1)));
        }
        put(&first, &self.caption)?;
        for row in 0..rows {
            let line = log.next()?.unwrap_or_default();
            let text = if row < rows.saturating_sub(known) { None } else { texts.next()? };
            if row >= left_out {
                put(&line, text.as_deref().unwrap_or(NOTHING))?;
            }
        }
        output.flush()?;
        Ok(output.get_ref().metadata()?.len())
    }

    /// Takes over the texts of an existing log.
    fn take_from(&mut self, log: &Path) -> io::Result<()> {
        let mut lines = Lines::open(log)?;
        let first = lines.next()?.unwrap_or_default();
        let caption = last_field(&first, self.separator);
        if caption.starts_with(b"\"\\") || caption.starts_with(b"\\") {
            // The first line ends with a path, so the log has no texts.
            return Ok(());
        }
        self.caption = caption.to_vec();
        let mut file = BufWriter::new(&self.file);
        while let Some(line) = lines.next()? {
            file.write_all(last_field(&line, self.separator))?;
            file.write_all(b"\n")?;
        }
        file.flush()
    }
}

/// A text as a field of a text log.
fn field(text: &str) -> Vec<u8> {
    let text = text.replace(char::is_control, " ").replace('"', "\"\"");
    format!("\"{text}\"").into_bytes()
}

/// The last field of a line, with its quotation marks.
fn last_field(line: &[u8], separator: u8) -> &[u8] {
    let (mut is_quoted, mut start) = (false, 0usize);
    for (at, byte) in line.iter().enumerate() {
        match *byte {
            b'"' => is_quoted = !is_quoted,
            byte if byte == separator && !is_quoted => start = at.saturating_add(1),
            _ => {}
        }
    }
    line.get(start..).unwrap_or_default()
}

/// The lines of a file without their ends.
struct Lines(BufReader<File>);

impl Lines {
    fn open(path: &Path) -> io::Result<Lines> {
        Ok(Lines(BufReader::new(File::open(path)?)))
    }

    fn next(&mut self) -> io::Result<Option<Vec<u8>>> {
        let mut line = Vec::new();
        let length = self.0.read_until(b'\n', &mut line)?;
        while line.last().is_some_and(|byte| [b'\r', b'\n'].contains(byte)) {
            line.pop();
        }
        Ok((length > 0).then_some(line))
    }

    fn count(mut self) -> io::Result<u64> {
        let mut count = 0u64;
        while self.next()?.is_some() {
            count = count.saturating_add(1);
        }
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_and_finds_fields() {
        assert_eq!(field("a \"b\", c\n"), b"\"a \"\"b\"\", c \"");
        let line = b"\"01/01/2026\",\"7\",\"a \"\"b\"\", c \"";
        assert_eq!(last_field(line, b','), b"\"a \"\"b\"\", c \"");
        assert_eq!(last_field(b"one", b','), b"one");
        assert_eq!(last_field(b"", b','), b"");
    }

    #[test]
    fn puts_texts_into_the_last_records() {
        let folder = tallymon_testkit::Scratch::in_memory();
        let output = folder.join("log.csv");
        fs::write(&output, "\"(PDH-CSV 4.0)\",\"\\\\a\\b\\c\"\r\n1,2\r\n3,4\r\n5,6\r\n").unwrap();
        let target = Target { output, format: Format::Csv, set: None, append: true, newest: None };
        let mut words = Words::create(&target, "a caption").unwrap().unwrap();
        words.add("four").unwrap();
        words.add("six").unwrap();
        words.put_into(&target.output, None).unwrap();
        let expected =
            "\"(PDH-CSV 4.0)\",\"\\\\a\\b\\c\",\"a caption\"\r\n1,2,\"\"\r\n3,4,\"four\"\r\n5,6,\"six\"\r\n";
        assert_eq!(fs::read_to_string(&target.output).unwrap(), expected);
        // A continued log keeps its texts and caption, and drops the oldest records when there is no room.
        let mut words = Words::create(&target, "another").unwrap().unwrap();
        words.add("eight").unwrap();
        fs::write(&target.output, "\"(PDH-CSV 4.0)\",\"\\\\a\\b\\c\"\r\n1,2\r\n3,4\r\n5,6\r\n7,8\r\n")
            .unwrap();
        words.put_into(&target.output, Some(80)).unwrap();
        let expected = "\"(PDH-CSV 4.0)\",\"\\\\a\\b\\c\",\"a caption\"\r\n3,4,\"four\"\r\n5,6,\"six\"\r\n7,8,\"eight\"\r\n";
        assert_eq!(fs::read_to_string(&target.output).unwrap(), expected);
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
    }
}
