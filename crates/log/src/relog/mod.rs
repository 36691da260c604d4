//! Copies logs: chooses counters and records, renames hosts, and writes another format, as `relog.exe` does.
//!
//! Every input is read twice: once for its columns, because most formats need all of them before the first
//! record, and once for its records. Memory holds one record.

mod outputs;
mod plan;
mod rows;

use std::io::{BufWriter, Write};
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use tallymon_core::counter::Digits;
use tallymon_core::flow::Sink;
use tallymon_core::time::FileTime;

use crate::clock::LogClock;
use crate::csv::LineEnd;
use crate::error::{LogError, LogErrorKind, Notes};
use crate::file::is_address;
use crate::format::{Format, FormatInfo};
use crate::new_file::{NewFile, Overwrite, is_same_file};
use crate::options::ReadOptions;
use crate::select::Selection;

pub(crate) use plan::Plan;

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
    /// In a text log, put `'` before text that a spreadsheet would take for a formula.
    pub no_formulas: bool,
    /// How to read the inputs.
    pub read: ReadOptions,
    /// What happens to an existing file of the output's name.
    pub overwrite: Overwrite,
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
            no_formulas: false,
            read: ReadOptions::default(),
            overwrite: Overwrite::Never,
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
    /// Minutes to add to UTC to get the local time of its first record.
    pub local_minutes: i32,
    /// Requested paths that are not in the inputs.
    pub not_found: Vec<String>,
    /// What could not be copied exactly, in words.
    pub remarks: Vec<String>,
    /// The output is a lake that has the inputs already, so that nothing was written.
    pub is_known: bool,
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
    /// Its clock.
    pub clock: LogClock,
    /// Its faults and remarks.
    pub notes: Notes,
}

/// Copies `inputs` into `output`.
///
/// The inputs follow each other in the order of their first records; a counter in several inputs is one
/// column. Rates start again with each input. The output appears under its name when it is complete, see
/// [`NewFile`]. `options.overwrite` says what happens to an existing file.
///
/// # Errors
///
/// An input cannot be read, the output cannot be written or is an input, no requested counter is in the
/// inputs, or the requested range has no records. Nothing is written then.
pub fn relog(inputs: &[PathBuf], output: &Path, options: &Options) -> Result<Report, LogError> {
    if options.overwrite != Overwrite::Continue
        && let Some(input) =
            inputs.iter().find(|input| is_same_file(input, output) || is_same_address(input, output))
    {
        return Err(LogError::new(LogErrorKind::OutputIsInput(input.clone())).in_file(output));
    }
    #[cfg(feature = "parquet")]
    if options.format == Format::Lake {
        return crate::lake::put(inputs, output, options).map_err(|error| error.in_file(output));
    }
    if is_address(output) {
        let words = "only lakes are written into object storage; add -f lake";
        return Err(LogError::new(LogErrorKind::Request(words.to_owned())).in_file(output));
    }
    // An output that cannot be written is an error before anything is read.
    let begun = NewFile::create(output, options.overwrite).map_err(LogError::from);
    let begun = begun.and_then(|new| if new.is_file() { Ok(new) } else { streamed(options.format, new) });
    let new = begun.map_err(|error| error.in_file(output))?;
    let mut plan = Plan::new(inputs, options)?;
    let written = write(&mut plan, &new, output, options).and_then(|()| Ok(new.keep()?));
    written.map_err(|error| error.in_file(output))?;
    Ok(plan.report)
}

fn is_same_address(one: &Path, other: &Path) -> bool {
    let plain = |path: &Path| path.to_string_lossy().trim_end_matches('/').to_owned();
    is_address(one) && plain(one) == plain(other)
}

/// A device, if the format can be written into one.
fn streamed(format: Format, new: NewFile) -> Result<NewFile, LogError> {
    match needs_file(format) {
        None => Ok(new),
        Some(words) => Err(LogError::new(LogErrorKind::Request(words.to_owned()))),
    }
}

/// Writes the file that becomes `output` when it is complete.
#[cfg_attr(not(feature = "sqlite"), allow(unused_variables, reason = "only a database has the name in it"))]
fn write(plan: &mut Plan, new: &NewFile, output: &Path, options: &Options) -> Result<(), LogError> {
    let file = BufWriter::with_capacity(1 << 16, new.file()?);
    match options.format {
        Format::Csv | Format::Tsv => plan.copy(&mut plan.text_sink(file, options), options),
        Format::Json => plan.copy(&mut plan.json_sink(file), options),
        Format::Blg => {
            let mut sink = plan.blg_sink(file, options);
            plan.copy(&mut sink, options)?;
            plan.report.remarks.extend_from_slice(sink.left_out());
            Ok(())
        }
        Format::Tally => plan.copy(&mut plan.native_sink(new.file()?)?, options),
        #[cfg(feature = "sqlite")]
        Format::Sqlite => plan.copy(&mut plan.sqlite_sink(new.path(), output)?, options),
        #[cfg(feature = "parquet")]
        Format::Parquet => {
            let (name, bias) = plan.zone_label();
            plan.copy(&mut crate::parquet::ParquetSink::new(file)?.with_zone(&name, bias), options)
        }
        format => Err(not_written(format)),
    }
}

/// Why a format cannot be written into a stream, if it cannot.
const fn needs_file(format: Format) -> Option<&'static str> {
    match format {
        Format::Blg => Some("a BLG can be written to a file only: its header is completed at the end"),
        Format::Tally => {
            Some("a native log can be written to a file only: what could not be written whole is cut")
        }
        Format::Sqlite => Some("a SQLite database can be written to a file only"),
        Format::Parquet => Some("a Parquet file can be written to a file only"),
        Format::Lake => Some("a lake is a folder: name it (-o)"),
        Format::Csv | Format::Tsv | Format::Json => None,
        _ => Some(
            "logs of other collectors are read, but not written; write csv, tsv, json, blg, tally, sqlite, \
             parquet or lake",
        ),
    }
}

/// Copies `inputs` as text into a stream, such as a terminal, see [`relog()`].
///
/// # Errors
///
/// As [`relog()`]. A BLG cannot be written into a stream, because its header is known only at the end, nor
/// can a native log.
pub fn relog_to<W: Write>(inputs: &[PathBuf], out: W, options: &Options) -> Result<Report, LogError> {
    if let Some(words) = needs_file(options.format) {
        return Err(LogError::new(LogErrorKind::Request(words.to_owned())));
    }
    let mut plan = Plan::new(inputs, options)?;
    match options.format {
        Format::Json => plan.copy(&mut plan.json_sink(out), options)?,
        _ => plan.copy(&mut plan.text_sink(out, options), options)?,
    }
    Ok(plan.report)
}

/// Copies `inputs` into a sink of the caller, such as one that keeps columns in memory, see [`relog()`].
///
/// Values are computed as for every other output. What `options` says about files and texts is not used.
///
/// # Errors
///
/// An input cannot be read, the sink fails, no requested counter is in the inputs, or the requested range has
/// no records.
pub fn relog_into<S: Sink>(inputs: &[PathBuf], sink: &mut S, options: &Options) -> Result<Report, LogError>
where
    LogError: From<S::Error>,
{
    let mut plan = Plan::new(inputs, options)?;
    plan.copy(sink, options)?;
    Ok(plan.report)
}

/// Why a format cannot be written.
fn not_written(format: Format) -> LogError {
    let FormatInfo { description, writes, .. } = format.info();
    LogError::new(LogErrorKind::Request(match (format, writes) {
        (Format::Sqlite | Format::Parquet | Format::Lake, false) => {
            format!("this program was built without the feature that writes a {description}")
        }
        _ => {
            format!(
                "a {description} is read, but not written; write csv, tsv, json, blg, tally, sqlite, \
                 parquet or lake"
            )
        }
    }))
}
