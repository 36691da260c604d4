//! Detecting the format of a log, and opening a log of any format.

use std::fs::File;
use std::io::{BufReader, Cursor, Read};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::blg::BlgReader;
use crate::clock::{LogClock, TimeRange};
use crate::compressed::{Packing, Unpacked, noted, unpack};
use crate::csv::CsvReader;
use crate::error::{LogError, LogErrorKind};
use crate::file::{head_of, log_file};
use crate::format::{FORMATS, Format, HEAD};
use crate::json::JsonReader;
use crate::names::Translated;
use crate::native::NativeReader;
use crate::options::{BytesRead, Counted, ReadOptions};
use crate::processes::ByProcess;
use crate::reader::{LogReader, ScannedRecord};
use crate::select::Selection;

/// The first bytes of every SQLite database. Whether the database has a log is checked when it is opened.
const SQLITE_MAGIC: &[u8] = b"SQLite format 3\0";

impl Format {
    /// Detects the format from the first bytes of a file; [`HEAD`] bytes are enough.
    pub fn detect(head: &[u8]) -> Option<Format> {
        FORMATS.iter().find(|info| is_of(info.format, head)).map(|info| info.format)
    }
}

/// Whether the first bytes of a file are of a format.
fn is_of(format: Format, head: &[u8]) -> bool {
    match format {
        Format::Blg => crate::blg::detect(head),
        Format::Csv => crate::csv::detect(head) == Some(b','),
        Format::Tsv => crate::csv::detect(head) == Some(b'\t'),
        Format::Tally => crate::native::detect(head),
        Format::Sqlite => head.starts_with(SQLITE_MAGIC),
        Format::Parquet => head.starts_with(b"PAR1"),
        // It is no file.
        Format::Lake => false,
        Format::Json => crate::json::detect(head),
        Format::Sysstat => crate::import::sysstat::detect(head),
        Format::Pcp => crate::import::pcp::detect(head),
        Format::Vmstat => crate::import::text::is_vmstat(head),
        Format::SysstatText => crate::import::text::is_report(head),
        Format::Nmon => crate::import::text::is_nmon(head),
        Format::Atop => crate::import::atop::detect(head),
        Format::Collectl => crate::import::text::is_collectl(head),
        Format::Perf => crate::import::text::is_perf(head),
        Format::OpenMetrics => crate::import::openmetrics::detect(head),
    }
}

/// Opens a log of any format.
///
/// # Errors
///
/// The file cannot be read or is not a regular file, or its format is unknown.
pub fn open(path: &Path, options: &ReadOptions) -> Result<Box<dyn LogReader>, LogError> {
    let log = of_file(path, options).map_err(|error| error.in_file(path))?;
    Ok(translated(options.wanted.watch(log), options))
}

/// The log with the names of another language, and with names of processes, if they are asked for.
fn translated<'r>(log: Box<dyn LogReader + 'r>, options: &ReadOptions) -> Box<dyn LogReader + 'r> {
    let log: Box<dyn LogReader + 'r> = match &options.names {
        Some(table) => Box::new(Translated::new(log, Arc::clone(table))),
        None => log,
    };
    match options.processes {
        Some(names) => Box::new(ByProcess::new(log, names)),
        None => log,
    }
}

fn of_file(path: &Path, options: &ReadOptions) -> Result<Box<dyn LogReader>, LogError> {
    #[cfg(feature = "parquet")]
    if crate::file::is_address(path) || crate::lake::is_table(path) {
        return Ok(Box::new(crate::lake::LakeReader::open(path, options)?));
    }
    let mut file = match log_file(path) {
        // The name of an archive of several files is not that of a file.
        Err(error) => match crate::import::pcp::metadata_of(path) {
            Some(metadata) => return of_file(&metadata, options),
            None => return Err(error),
        },
        file => file?,
    };
    let head = head_of(&mut file)?;
    let Some(packing) = Packing::detect(&head) else { return of_plain(path, file, &head, options) };
    match unpack(file.try_clone()?, packing, options)? {
        None => of_plain(path, file, &head, options),
        Some(Unpacked { mut file, damage }) => {
            let head = head_of(&mut file)?;
            // Its bytes were counted when it was unpacked.
            let options = ReadOptions { bytes_read: BytesRead::default(), ..options.clone() };
            // Its library opens a database by its path.
            if Format::detect(&head) == Some(Format::Sqlite) {
                return Err(packed(Format::Sqlite, packing));
            }
            Ok(noted(of_plain(path, file, &head, &options)?, damage))
        }
    }
}

/// Why a format is not read from a compressed file.
fn packed(format: Format, packing: Packing) -> LogError {
    let words = format!(
        "a compressed {}: unpack it with '{}' and name that file",
        format.info().description,
        packing.program()
    );
    LogError::new(LogErrorKind::Request(words))
}

/// Opens a file that is not compressed.
fn of_plain(
    path: &Path,
    file: File,
    head: &[u8],
    options: &ReadOptions,
) -> Result<Box<dyn LogReader>, LogError> {
    let input = BufReader::with_capacity(1 << 16, Counted::new(file, options));
    match Format::detect(head) {
        Some(Format::Blg) => Ok(Box::new(BlgReader::seekable(input, options)?)),
        Some(Format::Csv | Format::Tsv) => Ok(Box::new(CsvReader::seekable(input, options)?)),
        Some(Format::Tally) => Ok(Box::new(NativeReader::seekable(input)?)),
        Some(Format::Json) => Ok(Box::new(JsonReader::seekable(input, options)?)),
        #[cfg(feature = "sqlite")]
        Some(Format::Sqlite) => Ok(Box::new(crate::sqlite::SqliteReader::open(path, options)?)),
        #[cfg(feature = "parquet")]
        Some(Format::Parquet) => Ok(Box::new(crate::parquet::ParquetReader::new(input, options)?)),
        Some(format) => match crate::import::open_files(format, path, options) {
            Some(log) => log,
            None => read(input, options),
        },
        None => read(input, options),
    }
}

/// Reads a log from bytes.
///
/// # Errors
///
/// The format of the bytes is unknown.
pub fn read_bytes<'a>(bytes: &'a [u8], options: &ReadOptions) -> Result<Box<dyn LogReader + 'a>, LogError> {
    match Format::detect(bytes.get(..bytes.len().min(HEAD)).unwrap_or_default()) {
        Some(Format::Blg) => Ok(Box::new(BlgReader::seekable(Cursor::new(bytes), options)?)),
        Some(Format::Csv | Format::Tsv) => Ok(Box::new(CsvReader::seekable(Cursor::new(bytes), options)?)),
        Some(Format::Tally) => Ok(Box::new(NativeReader::seekable(Cursor::new(bytes))?)),
        Some(Format::Json) => Ok(Box::new(JsonReader::seekable(Cursor::new(bytes), options)?)),
        #[cfg(feature = "parquet")]
        Some(Format::Parquet) => {
            Ok(Box::new(crate::parquet::ParquetReader::new(Cursor::new(bytes), options)?))
        }
        _ => read(bytes, options),
    }
}

/// Reads a log from a stream that need not be able to seek.
///
/// # Errors
///
/// The stream cannot be read, or its format is unknown.
pub fn read<'a>(
    mut input: impl Read + Send + 'a,
    options: &ReadOptions,
) -> Result<Box<dyn LogReader + 'a>, LogError> {
    let mut head = Vec::new();
    input.by_ref().take(HEAD as u64).read_to_end(&mut head)?;
    let format = Format::detect(&head);
    let shown = describe(&head);
    let input = BufReader::with_capacity(1 << 16, Cursor::new(head).chain(input));
    match format {
        Some(Format::Blg) => Ok(Box::new(BlgReader::new(input, options)?)),
        Some(Format::Csv | Format::Tsv) => Ok(Box::new(CsvReader::new(input, options)?)),
        Some(Format::Tally) => Ok(Box::new(NativeReader::new(input)?)),
        Some(Format::Json) => Ok(Box::new(JsonReader::new(input, options)?)),
        Some(format @ (Format::Sqlite | Format::Parquet)) => Err(unreadable(format)),
        Some(format) => match crate::import::open(format, input, options) {
            Some(log) => log,
            None => Err(unreadable(format)),
        },
        None => Err(LogError::new(LogErrorKind::NotALog(format!(
            "it begins with {shown}, and is none of: {}; logs of NT 4's Performance Monitor are not read",
            FORMATS.iter().map(|info| info.description).collect::<Vec<_>>().join("; ")
        )))),
    }
}

/// Why a log of a known format cannot be read.
fn unreadable(format: Format) -> LogError {
    let what = format.info().description;
    LogError::new(LogErrorKind::Request(match format {
        Format::Pcp => "an archive of PCP is several files; give the path of one of them".to_owned(),
        format if format.info().reads => format!("a {what} can be read from a file only"),
        _ => format!("this program was built without the feature that reads a {what}"),
    }))
}

/// Describes the first bytes of a file, for the error message.
fn describe(head: &[u8]) -> String {
    if head.is_empty() {
        return "an empty file".to_owned();
    }
    if let Some(packing) = Packing::detect(head) {
        return format!("what a compressed file begins with (unpack it first: {})", packing.program());
    }
    let start = head.get(..head.len().min(40)).unwrap_or_default();
    match std::str::from_utf8(start) {
        Ok(text) if text.chars().all(|char| !char.is_control() || char.is_whitespace()) => {
            format!("text {text:?}")
        }
        _ => {
            let hex: Vec<String> = start.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
            format!("the bytes {}", hex.join(" "))
        }
    }
}

impl LogClock {
    /// The clock of logs, which are read for it.
    ///
    /// # Errors
    ///
    /// As [`open`].
    pub fn of(paths: &[PathBuf], options: &ReadOptions) -> Result<LogClock, LogError> {
        let mut clock = LogClock::default();
        for path in paths {
            let mut log = open(path, options)?;
            match log.contents(false).map_err(|error| error.in_file(path))? {
                Some(contents) => clock.add(&contents.clock),
                None => {
                    let mut note = |passed: ScannedRecord| {
                        clock.note(passed.time, passed.local_minutes);
                        ControlFlow::Continue(())
                    };
                    log.scan(&mut note).map_err(|error| error.in_file(path))?;
                }
            }
            clock.set_zone(&log.about().zone);
        }
        clock.changes.sort_unstable();
        Ok(clock)
    }
}

impl Selection {
    /// The range by the clock of logs, which are read for it only if a bound is by that clock.
    ///
    /// # Errors
    ///
    /// As [`open`].
    pub fn range_of(&self, paths: &[PathBuf], options: &ReadOptions) -> Result<TimeRange, LogError> {
        match self.fixed_range() {
            Some(range) => Ok(range),
            None => Ok(self.range(&LogClock::of(paths, options)?)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_not_a_log_is_described() {
        for (bytes, words) in [
            (&b""[..], "an empty file"),
            (b"This is BibTeX, Version 0.99d", "text \"This is BibTeX"),
            (b"\x7fELF\x02\x01", "7f 45 4c 46"),
            (b"P\0e\0r\0f\0\x01\0\0\0", "50 00 65 00"),
        ] {
            let error =
                read_bytes(bytes, &ReadOptions::default()).err().expect("it is not a log").to_string();
            assert!(error.contains(words), "{error}");
            assert!(FORMATS.iter().all(|info| error.contains(info.description)), "{error}");
        }
    }
}
