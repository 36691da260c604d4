//! Copies logs: chooses counters and records, renames hosts, and writes another format, as `relog.exe` does.
//!
//! Every input is read twice: once for its columns, because most formats need all of them before the first
//! record, and once for its records. Memory holds one record.

mod outputs;
mod plan;

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use tallymon_core::counter::Digits;
use tallymon_core::time::FileTime;

use crate::csv::LineEnd;
use crate::error::{LogError, LogErrorKind, Notes};
use crate::format::{Format, ReadOptions};
use crate::select::Selection;

use plan::Plan;

/// The options of [`relog()`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Format of the output.
    pub format: Format,
    /// The counters and records to keep.
    pub select: Selection,
    /// Keep every n-th record in the range. Values are computed from the kept records.
    pub every: NonZeroU32,
    /// Write times in UTC instead of the local time of the log.
    pub utc: bool,
    /// Names of hosts to replace, without backslashes, and their new names. Case is ignored.
    pub rename_host: Vec<(String, String)>,
    /// Leave the name of the first input out of a BLG. Windows writes the path of the log there. No other
    /// format names its inputs.
    pub strip_path: bool,
    /// What ends the lines of a text log.
    pub line_end: LineEnd,
    /// Significant digits of the numbers in a text log.
    pub digits: Digits,
    /// How to read the inputs.
    pub read: ReadOptions,
}

impl Default for Options {
    /// Everything, unchanged, as a BLG.
    fn default() -> Options {
        Options {
            format: Format::Blg,
            select: Selection::default(),
            every: NonZeroU32::MIN,
            utc: false,
            rename_host: Vec::new(),
            strip_path: false,
            line_end: LineEnd::CrLf,
            digits: Digits::Seventeen,
            read: ReadOptions::default(),
        }
    }
}

/// The result of [`relog()`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Report {
    /// The inputs in the order of their first records.
    pub inputs: Vec<InputReport>,
    /// Columns of the output.
    pub columns: u64,
    /// Columns of the inputs that were not selected.
    pub columns_left_out: u64,
    /// Records of the output.
    pub records: u64,
    /// Time of its first record, UTC.
    pub first: Option<FileTime>,
    /// Time of its last record, UTC.
    pub last: Option<FileTime>,
    /// Requested paths that are not in the inputs.
    pub not_found: Vec<String>,
    /// What could not be copied exactly, in words.
    pub remarks: Vec<String>,
}

/// One input of [`relog()`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputReport {
    /// The file.
    pub path: PathBuf,
    /// Its format.
    pub format: Format,
    /// Its records.
    pub records: u64,
    /// Time of its first record, UTC.
    pub first: Option<FileTime>,
    /// Time of its last record, UTC.
    pub last: Option<FileTime>,
    /// Its faults and remarks.
    pub notes: Notes,
}

/// Copies `inputs` into `output`.
///
/// The inputs follow each other in the order of their first records; a counter in several inputs is one
/// column. Rates start again with each input. The output appears under its name when it is complete: an
/// existing file stays until then, and stays if anything fails.
///
/// # Errors
///
/// An input can not be read, the output can not be written, or no requested counter is in the inputs.
pub fn relog(inputs: &[PathBuf], output: &Path, options: &Options) -> Result<Report, LogError> {
    let mut plan = Plan::new(inputs, options)?;
    let part = part_of(output);
    let written = write(&mut plan, &part, output, options).and_then(|()| Ok(std::fs::rename(&part, output)?));
    match written {
        Ok(()) => Ok(plan.report),
        Err(error) => {
            // The first error is the one to report; an incomplete file that can not be removed shows by its
            // name.
            let _ = std::fs::remove_file(&part);
            Err(error.in_file(output))
        }
    }
}

/// Writes the file that becomes `output` when it is complete.
#[cfg_attr(not(feature = "sqlite"), allow(unused_variables, reason = "only a database has the name in it"))]
fn write(plan: &mut Plan, part: &Path, output: &Path, options: &Options) -> Result<(), LogError> {
    let file = || -> io::Result<_> { Ok(BufWriter::with_capacity(1 << 16, File::create(part)?)) };
    match options.format {
        Format::Csv | Format::Tsv => plan.copy(&mut plan.text_sink(file()?, options), options),
        Format::Blg => {
            let mut sink = plan.blg_sink(file()?, options);
            plan.copy(&mut sink, options)?;
            let words = |path: &String| format!("{path:?} is not a counter path and can not be in a BLG");
            plan.report.remarks.extend(sink.left_out().iter().map(words));
            Ok(())
        }
        Format::Tally => plan.copy(&mut plan.native_sink(File::create(part)?)?, options),
        #[cfg(feature = "sqlite")]
        Format::Sqlite => plan.copy(&mut plan.sqlite_sink(part, output)?, options),
        #[cfg(feature = "parquet")]
        Format::Parquet => plan.copy(&mut crate::parquet::ParquetSink::new(file()?)?, options),
        #[cfg(not(all(feature = "sqlite", feature = "parquet")))]
        format => Err(not_in_this_build(format)),
    }
}

/// The name of a file while this process writes it: in the same folder, so that it can be renamed without
/// copying. A handler that ends the process may want to remove it.
pub fn part_of(output: &Path) -> PathBuf {
    let mut name = output.file_name().unwrap_or_default().to_os_string();
    name.push(format!(".{}.part", std::process::id()));
    output.with_file_name(name)
}

/// Copies `inputs` as text into a stream, such as a terminal, see [`relog()`].
///
/// # Errors
///
/// As [`relog()`]. A BLG can not be written into a stream, because its header is known only at the end, nor
/// can a native log.
pub fn relog_to<W: Write>(inputs: &[PathBuf], out: W, options: &Options) -> Result<Report, LogError> {
    let words = match options.format {
        Format::Blg => "a BLG can be written to a file only: its header is completed at the end",
        Format::Tally => "a native log can be written to a file only: what could not be written whole is cut",
        Format::Sqlite => "a SQLite database can be written to a file only",
        Format::Parquet => "a Parquet file can be written to a file only",
        Format::Csv | Format::Tsv => "",
    };
    if !words.is_empty() {
        return Err(LogError::new(LogErrorKind::Request(words.to_owned())));
    }
    let mut plan = Plan::new(inputs, options)?;
    plan.copy(&mut plan.text_sink(out, options), options)?;
    Ok(plan.report)
}

#[cfg(not(all(feature = "sqlite", feature = "parquet")))]
fn not_in_this_build(format: Format) -> LogError {
    let words =
        format!("this program was built without the feature that writes a {}", format.info().description);
    LogError::new(LogErrorKind::Request(words))
}
