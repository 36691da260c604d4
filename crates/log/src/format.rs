//! The log formats: their names, detecting the format of a file, and opening a log of any format.

use std::fs::File;
use std::io::{self, BufReader, Cursor, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::blg::BlgReader;
use crate::compressed::{Packing, Unpacked, noted, unpack};
use crate::csv::CsvReader;
use crate::error::{LogError, LogErrorKind};
use crate::file::open_regular;
use crate::json::JsonReader;
use crate::names::{NameTable, Translated};
use crate::native::NativeReader;
use crate::processes::{ByProcess, ProcessNames};
use crate::reader::LogReader;
use crate::select::Selection;
use crate::wanted::Wanted;

/// A format of logs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// Windows' binary log.
    Blg,
    /// Comma-separated text.
    Csv,
    /// Tab-separated text.
    Tsv,
    /// The log of this project.
    Tally,
    /// SQLite database in the schema of Windows.
    Sqlite,
    /// Parquet file.
    Parquet,
    /// Folder of Parquet files that is a table of Delta Lake.
    Lake,
    /// JSON lines: one object a row.
    Json,
    /// Binary file of sysstat.
    Sysstat,
    /// Archive of Performance Co-Pilot.
    Pcp,
    /// Report of `vmstat -t`.
    Vmstat,
    /// Report of `iostat -t`, `mpstat`, `pidstat` or `sar`.
    SysstatText,
    /// File of nmon.
    Nmon,
    /// Raw log of atop, or the output of `atop -P`.
    Atop,
    /// Output of `collectl -P`.
    Collectl,
    /// Output of `perf stat -I`.
    Perf,
    /// Samples of Prometheus as text.
    OpenMetrics,
}

/// One line of [`FORMATS`].
#[derive(Debug, Clone, Copy)]
pub struct FormatInfo {
    /// The format.
    pub format: Format,
    /// Its name for users, as in the option `-f`.
    pub name: &'static str,
    /// Other names of it.
    pub aliases: &'static [&'static str],
    /// The usual ending of a file name. The content of a file decides how it is read, not its ending.
    pub extension: &'static str,
    /// A description for users.
    pub description: &'static str,
    /// This build can read it.
    pub reads: bool,
    /// This build can write it.
    pub writes: bool,
    /// Whether the first bytes of a file are of this format.
    detect: fn(&[u8]) -> bool,
}

/// The first bytes of every SQLite database. Whether the database has a log is checked when it is opened.
const SQLITE_MAGIC: &[u8] = b"SQLite format 3\0";

/// Every format, in the order in which detection tries them.
pub const FORMATS: &[FormatInfo] = &[
    FormatInfo {
        format: Format::Blg,
        name: "blg",
        aliases: &["bin"],
        extension: "blg",
        description: "Windows binary performance log",
        reads: true,
        writes: true,
        detect: crate::blg::detect,
    },
    FormatInfo {
        format: Format::Csv,
        name: "csv",
        aliases: &[],
        extension: "csv",
        description: "PDH-CSV: computed values, separated by commas",
        reads: true,
        writes: true,
        detect: |head| crate::csv::detect(head) == Some(b','),
    },
    FormatInfo {
        format: Format::Tsv,
        name: "tsv",
        aliases: &[],
        extension: "tsv",
        description: "PDH-TSV: computed values, separated by tabs",
        reads: true,
        writes: true,
        detect: |head| crate::csv::detect(head) == Some(b'\t'),
    },
    FormatInfo {
        format: Format::Tally,
        name: "tally",
        aliases: &["native"],
        extension: "tally",
        description: "native log: raw values in a fraction of a byte each",
        reads: true,
        writes: true,
        detect: crate::native::detect,
    },
    FormatInfo {
        format: Format::Sqlite,
        name: "sqlite",
        aliases: &["sql", "db"],
        extension: "sqlite",
        description: "SQLite database with the tables of Windows",
        reads: cfg!(feature = "sqlite"),
        writes: cfg!(feature = "sqlite"),
        detect: |head| head.starts_with(SQLITE_MAGIC),
    },
    FormatInfo {
        format: Format::Parquet,
        name: "parquet",
        aliases: &[],
        extension: "parquet",
        description: "Parquet file: one row a value",
        reads: cfg!(feature = "parquet"),
        writes: cfg!(feature = "parquet"),
        detect: |head| head.starts_with(b"PAR1"),
    },
    FormatInfo {
        format: Format::Lake,
        name: "lake",
        aliases: &["delta"],
        extension: "lake",
        description: "lake: a folder that is a table of Delta Lake, for many logs",
        reads: cfg!(feature = "parquet"),
        writes: cfg!(feature = "parquet"),
        // It is no file.
        detect: |_| false,
    },
    FormatInfo {
        format: Format::Json,
        name: "json",
        aliases: &["jsonl", "ndjson"],
        extension: "jsonl",
        description: "JSON lines: one object a row, as --json prints them",
        reads: true,
        writes: true,
        detect: crate::json::detect,
    },
    FormatInfo {
        format: Format::Sysstat,
        name: "sysstat",
        aliases: &["sar"],
        extension: "sa",
        description: "binary file of sysstat (sadc)",
        reads: true,
        writes: false,
        detect: crate::import::sysstat::detect,
    },
    FormatInfo {
        format: Format::Pcp,
        name: "pcp",
        aliases: &[],
        extension: "meta",
        description: "archive of Performance Co-Pilot (pmlogger)",
        reads: true,
        writes: false,
        detect: crate::import::pcp::detect,
    },
    FormatInfo {
        format: Format::Vmstat,
        name: "vmstat",
        aliases: &[],
        extension: "vmstat",
        description: "report of vmstat -t",
        reads: true,
        writes: false,
        detect: crate::import::text::is_vmstat,
    },
    FormatInfo {
        format: Format::SysstatText,
        name: "sysstat-text",
        aliases: &[],
        extension: "txt",
        description: "report of iostat -t, mpstat, pidstat or sar",
        reads: true,
        writes: false,
        detect: crate::import::text::is_report,
    },
    FormatInfo {
        format: Format::Nmon,
        name: "nmon",
        aliases: &[],
        extension: "nmon",
        description: "file of nmon",
        reads: true,
        writes: false,
        detect: crate::import::text::is_nmon,
    },
    FormatInfo {
        format: Format::Atop,
        name: "atop",
        aliases: &[],
        extension: "atop",
        description: "raw log of atop, or the output of atop -P ALL",
        reads: true,
        writes: false,
        detect: crate::import::atop::detect,
    },
    FormatInfo {
        format: Format::Collectl,
        name: "collectl",
        aliases: &[],
        extension: "tab",
        description: "output of collectl -P",
        reads: true,
        writes: false,
        detect: crate::import::text::is_collectl,
    },
    FormatInfo {
        format: Format::Perf,
        name: "perf",
        aliases: &[],
        extension: "perf",
        description: "output of perf stat -I MS -x, -o FILE",
        reads: true,
        writes: false,
        detect: crate::import::text::is_perf,
    },
    FormatInfo {
        format: Format::OpenMetrics,
        name: "openmetrics",
        aliases: &["prometheus"],
        extension: "prom",
        description: "OpenMetrics text with times, or the output of promtool tsdb dump",
        reads: true,
        writes: false,
        detect: crate::import::openmetrics::detect,
    },
];

impl Format {
    /// Its entry in [`FORMATS`].
    pub fn info(self) -> &'static FormatInfo {
        const FALLBACK: &FormatInfo = match FORMATS.first() {
            Some(first) => first,
            None => panic!("the table of formats is empty"),
        };
        FORMATS.iter().find(|info| info.format == self).unwrap_or(FALLBACK)
    }

    /// The format with this name or file ending, in any case.
    pub fn from_name(name: &str) -> Option<Format> {
        let is = |candidate: &&str| candidate.eq_ignore_ascii_case(name);
        FORMATS.iter().find(|info| is(&info.name) || info.aliases.iter().any(is)).map(|info| info.format)
    }

    /// Detects the format from the first bytes of a file; [`HEAD`] bytes are enough.
    pub fn detect(head: &[u8]) -> Option<Format> {
        FORMATS.iter().find(|info| (info.detect)(head)).map(|info| info.format)
    }
}

/// How many bytes [`Format::detect`] needs: the first buffer of a usual BLG, and the first event of the next
/// one.
pub const HEAD: usize = 0x1_0000 + 0x100;

/// How to read a log and compute its values: what the log itself does not say.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReadOptions {
    /// The encoding of text logs that are not Unicode: a label such as `windows-1251`, or a number such as
    /// `1251`. The default for text that is not UTF-8 is windows-1252.
    pub code_page: Option<String>,
    /// Minutes to add to local time to get UTC, instead of what the log says.
    pub bias: Option<i32>,
    /// The log set of a database to read; without a name all of them are read, one after another.
    pub log_set: Option<String>,
    /// Shows the names of another language instead of those of the log.
    pub names: Option<Arc<NameTable>>,
    /// Gives each process columns of its own, where the log has the process ids.
    pub processes: Option<ProcessNames>,
    /// Compute shares above 100 % as 100. Windows does not do so when it writes logs.
    pub cap: bool,
    /// What the reader of the log needs of it. Where a format finds that faster than everything, such as
    /// the parts of a lake, other counters and records may be left out; else it changes nothing.
    pub needed: Selection,
    /// The most bytes that a compressed file is unpacked to; `None` for the usual limits, which are 16 GiB,
    /// and a thousand times the file.
    pub most_unpacked: Option<u64>,
    /// Counts the bytes that are read, for a progress bar.
    pub bytes_read: BytesRead,
    /// Whether somebody still waits for what is read.
    pub wanted: Wanted,
}

/// Counts the bytes read from files. Clones share one counter. Databases are not counted, because their
/// library reads them.
#[derive(Debug, Clone, Default)]
pub struct BytesRead(Arc<AtomicU64>);

impl BytesRead {
    /// The number so far.
    pub fn count(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    pub(crate) fn add(&self, read: u64) {
        self.0.fetch_add(read, Ordering::Relaxed);
    }
}

/// All counters are equal: they do not change what is read.
impl PartialEq for BytesRead {
    fn eq(&self, _: &BytesRead) -> bool {
        true
    }
}

impl Eq for BytesRead {}

/// A file that counts the bytes read from it.
pub(crate) struct Counted {
    pub(crate) file: File,
    pub(crate) count: BytesRead,
    pub(crate) wanted: Wanted,
}

impl Counted {
    /// A file that is read as the options say.
    pub(crate) fn new(file: File, options: &ReadOptions) -> Counted {
        Counted { file, count: options.bytes_read.clone(), wanted: options.wanted.clone() }
    }
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.wanted.check()?;
        let read = self.file.read(buffer)?;
        self.count.add(read as u64);
        Ok(read)
    }
}

impl Seek for Counted {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}

/// Opens a log of any format.
///
/// # Errors
///
/// The file can not be read or is not a regular file, or its format is unknown.
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
    if crate::lake::is_table(path) {
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

/// The first bytes of a file, which is at its begin afterwards.
pub(crate) fn head_of(file: &mut File) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    file.by_ref().take(HEAD as u64).read_to_end(&mut head)?;
    file.rewind()?;
    Ok(head)
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

/// Opens the file of a log. A log is a regular file, because most work reads it twice.
pub(crate) fn log_file(path: &Path) -> Result<File, LogError> {
    open_regular(path).map_err(|error| match error.kind() {
        io::ErrorKind::InvalidInput => LogError::new(LogErrorKind::NotALog(error.to_string())),
        _ => error.into(),
    })
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
/// The stream can not be read, or its format is unknown.
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

/// Why a log of a known format can not be read.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_formats() {
        for info in FORMATS {
            assert_eq!(Format::from_name(&info.name.to_uppercase()), Some(info.format));
            assert_eq!(info.format.info().name, info.name);
        }
        assert_eq!(Format::from_name("BIN"), Some(Format::Blg));
        assert_eq!(Format::from_name("SQL"), Some(Format::Sqlite));
        assert_eq!(Format::from_name("xls"), None);
    }

    #[test]
    fn a_file_that_is_not_a_log_is_described() {
        for (bytes, words) in [
            (&b""[..], "an empty file"),
            (b"This is BibTeX, Version 0.99d", "text \"This is BibTeX"),
            (b"\x7fELF\x02\x01", "7f 45 4c 46"),
            (b"P\0e\0r\0f\0\x01\0\0\0", "50 00 65 00"),
        ] {
            let error = read_bytes(bytes, &ReadOptions::default()).err().expect("it is no log").to_string();
            assert!(error.contains(words), "{error}");
            assert!(FORMATS.iter().all(|info| error.contains(info.description)), "{error}");
        }
    }
}
