//! Copies logs: chooses counters and records, renames hosts, and writes another format, as `relog.exe` does.
//!
//! Every input is gone through twice: once for its columns, because formats with a fixed list have to know them before the
//! first record, and once for its records. Memory holds one record.

mod sinks;

use std::fs::File;
use std::io::{BufWriter, Write};
use std::num::NonZeroU32;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use tallymon_core::flow::NoValue;
use tallymon_core::time::FileTime;

use crate::csv::LineEnd;
use crate::error::{LogError, LogErrorKind, Notes};
use crate::format::{Format, ReadOptions, open};
use crate::reader::{Column, Passed, table_order};
use crate::select::{Search, Selection, nothing_found};
use crate::zone::Zone;

use sinks::RecordSink;
#[cfg(any(feature = "sqlite", feature = "parquet"))]
pub(crate) use sinks::TableWriter;

/// What [`relog()`] is to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Format of the output.
    pub format: Format,
    /// The counters and records to keep.
    pub select: Selection,
    /// Keep every n-th record that is in the range. Values are computed from those that are kept.
    pub every: NonZeroU32,
    /// Write times in UTC instead of the local time of the log.
    pub utc: bool,
    /// Names of hosts to replace, without backslashes, and what by. Case is not regarded.
    pub rename_host: Vec<(String, String)>,
    /// Leave the name of the first input out of a BLG, which has it where Windows writes the path of the log itself. No
    /// other format names its inputs.
    pub strip_path: bool,
    /// What ends the lines of a text log.
    pub line_end: LineEnd,
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
            read: ReadOptions::default(),
        }
    }
}

/// What [`relog()`] did.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Report {
    /// The inputs in the order of their first records.
    pub inputs: Vec<InputReport>,
    /// Columns of the output.
    pub columns: u64,
    /// Columns of the inputs that were not asked for.
    pub columns_left_out: u64,
    /// Records of the output.
    pub records: u64,
    /// Time of its first record, UTC.
    pub first: Option<FileTime>,
    /// Time of its last record, UTC.
    pub last: Option<FileTime>,
    /// What was asked for and is not in the inputs, as paths.
    pub not_found: Vec<String>,
    /// What could not be written as it was, in words.
    pub remarks: Vec<String>,
}

/// What was in one input of [`relog()`].
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
/// The inputs follow each other in the order of their first records; a counter that is in several of them is one column.
/// Rates start anew with each input. The output appears under its name when it is complete: what was there before stays
/// until then, and stays if anything fails.
///
/// # Errors
///
/// An input can not be read, the output can not be written, or nothing of what was asked for is in the inputs.
pub fn relog(inputs: &[PathBuf], output: &Path, options: &Options) -> Result<Report, LogError> {
    let mut plan = Plan::new(inputs, options)?;
    let part = part_of(output);
    let mut write = || -> Result<(), LogError> {
        let out = BufWriter::with_capacity(1 << 16, File::create(&part)?);
        let sink: Box<dyn RecordSink> = match options.format {
            Format::Csv | Format::Tsv => Box::new(plan.text_sink(out, options)?),
            Format::Blg => Box::new(plan.binary_sink(out, options)?),
            Format::Tally => Box::new(plan.native_sink(File::create(&part)?)?),
            #[cfg(feature = "sqlite")]
            Format::Sqlite => Box::new(plan.database_sink(&part, output)?),
            #[cfg(feature = "parquet")]
            Format::Parquet => Box::new(plan.parquet_sink(out)?),
            #[cfg(not(all(feature = "sqlite", feature = "parquet")))]
            format => return Err(not_in_this_build(format)),
        };
        plan.write(sink, options)?;
        Ok(std::fs::rename(&part, output)?)
    };
    match write() {
        Ok(()) => Ok(plan.report),
        Err(error) => {
            // The error is what the user has to know; a rest of the file that can not be removed shows by its name.
            let _ = std::fs::remove_file(&part);
            Err(error.in_file(output))
        }
    }
}

/// What a file is called while this process writes it, until it is complete: in the same folder, so that it can be renamed
/// without copying. Who ends the process meanwhile may want to remove it.
pub fn part_of(output: &Path) -> PathBuf {
    let mut name = output.file_name().unwrap_or_default().to_os_string();
    name.push(format!(".{}.part", std::process::id()));
    output.with_file_name(name)
}

/// Copies `inputs` as text into a stream, such as a terminal, see [`relog()`].
///
/// # Errors
///
/// As [`relog()`]. A BLG can not be written into a stream, because its header is known only at the end, nor can a native
/// log.
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
    let sink = plan.text_sink(out, options)?;
    plan.write(Box::new(sink), options)?;
    Ok(plan.report)
}

/// A column of the output.
#[derive(Debug, Clone)]
struct Chosen {
    column: Column,
    /// The column of each input that it comes from.
    sources: Vec<Option<usize>>,
}

/// All that has to be known before the first record is written.
#[derive(Debug)]
struct Plan {
    report: Report,
    chosen: Vec<Chosen>,
    zone: Zone,
    /// Distance from UTC of the first record that is kept.
    minutes: i32,
}

impl Plan {
    fn new(inputs: &[PathBuf], options: &Options) -> Result<Plan, LogError> {
        let mut scanned = Vec::new();
        for path in inputs {
            scanned.push(scan(path, options)?);
        }
        scanned.sort_by_key(|scanned| scanned.report.first);
        let mut search = Search::new(&options.select);
        let mut chosen: Vec<Chosen> = Vec::new();
        let mut by_path = std::collections::HashMap::new();
        let mut left_out = 0u64;
        for (nth, input) in scanned.iter().enumerate() {
            let mut seen: std::collections::HashMap<&str, u32> = std::collections::HashMap::new();
            for position in table_order(&input.columns) {
                let Some(column) = input.columns.get(position) else {
                    continue;
                };
                let count = seen.entry(column.path.as_str()).or_default();
                let duplicate = *count;
                *count = count.saturating_add(1);
                if !search.keep(column) {
                    left_out = left_out.saturating_add(1);
                    continue;
                }
                let column = renamed(column, &options.rename_host);
                let key = (column.path.clone(), duplicate, column.counter_type);
                let at = *by_path.entry(key).or_insert_with(|| {
                    chosen.push(Chosen { column, sources: Vec::new() });
                    chosen.len().saturating_sub(1)
                });
                if let Some(place) = chosen.get_mut(at) {
                    place.sources.resize(nth, None);
                    place.sources.push(Some(position));
                }
            }
        }
        let not_found = search.not_found();
        if chosen.is_empty() && !not_found.is_empty() {
            return Err(nothing_found(&not_found));
        }
        let first = scanned.iter().find(|scanned| scanned.kept);
        let mut report = Report {
            columns: chosen.len() as u64,
            columns_left_out: left_out,
            not_found,
            ..Report::default()
        };
        for pair in scanned.windows(2) {
            if let [one, other] = pair
                && one.report.last > other.report.first
            {
                let words = format!(
                    "{} begins before {} ends; its records follow all the same",
                    other.report.path.display(),
                    one.report.path.display()
                );
                report.remarks.push(words);
            }
        }
        let (zone, minutes) = match first {
            _ if options.utc => (Zone::Fixed { name: "UTC".to_owned(), bias: 0 }, 0),
            Some(first) => (first.zone.clone(), first.minutes),
            None => (scanned.first().map(|scanned| scanned.zone.clone()).unwrap_or_default(), 0),
        };
        report.inputs = scanned.into_iter().map(|scanned| scanned.report).collect();
        Ok(Plan { report, chosen, zone, minutes })
    }

    fn write(&mut self, mut sink: Box<dyn RecordSink + '_>, options: &Options) -> Result<(), LogError> {
        let mut row = Vec::new();
        for (nth, input) in self.report.inputs.iter_mut().enumerate() {
            let mut log = open(&input.path, &options.read)?;
            let mut in_range = 0u32;
            sink.restart();
            while let Some(record) = log.next_record().map_err(|error| error.in_file(&input.path))? {
                if !options.select.has_time(record.time) {
                    continue;
                }
                let keep = in_range == 0;
                in_range = in_range.saturating_add(1) % options.every;
                if !keep {
                    continue;
                }
                row.clear();
                row.extend(self.chosen.iter().map(|chosen| {
                    let source = chosen.sources.get(nth).copied().flatten();
                    source
                        .and_then(|source| record.cells.get(source))
                        .copied()
                        .unwrap_or(Err(NoValue::NoInstance))
                }));
                let minutes = if options.utc { 0 } else { record.local_minutes };
                sink.record(record.time, minutes, &row)?;
                self.report.records = self.report.records.saturating_add(1);
                self.report.first = self.report.first.or(Some(record.time));
                self.report.last = Some(record.time);
            }
            // Some faults show only in values.
            input.notes.clone_from(&log.about().notes);
            input.records = log.about().records;
        }
        Ok(sink.finish()?)
    }
}

#[cfg(not(all(feature = "sqlite", feature = "parquet")))]
fn not_in_this_build(format: Format) -> LogError {
    let words =
        format!("this program was built without the feature that writes a {}", format.info().description);
    LogError::new(LogErrorKind::Request(words))
}

/// What the first pass over an input found.
struct Scanned {
    report: InputReport,
    columns: Vec<Column>,
    zone: Zone,
    /// Distance from UTC of the first record that is kept, and whether there is one.
    minutes: i32,
    kept: bool,
}

fn scan(path: &Path, options: &Options) -> Result<Scanned, LogError> {
    let mut log = open(path, &options.read)?;
    let (mut first, mut last, mut minutes) = (None, None, None);
    let mut note = |passed: Passed| {
        first = first.or(Some(passed.time));
        last = Some(passed.time);
        if options.select.has_time(passed.time) {
            minutes = minutes.or(Some(passed.local_minutes));
        }
        ControlFlow::Continue(())
    };
    log.pass(&mut note).map_err(|error| error.in_file(path))?;
    let about = log.about();
    Ok(Scanned {
        columns: about.columns.clone(),
        zone: about.zone.clone(),
        minutes: minutes.unwrap_or(0),
        kept: minutes.is_some(),
        report: InputReport {
            path: path.to_path_buf(),
            format: about.format,
            records: about.records,
            first,
            last,
            notes: about.notes.clone(),
        },
    })
}

fn renamed(column: &Column, hosts: &[(String, String)]) -> Column {
    let mut column = column.clone();
    let Some(parts) = &mut column.parts else {
        return column;
    };
    let machine = parts.machine.as_deref().unwrap_or_default();
    let new = hosts.iter().find(|(old, _)| tallymon_core::text::eq_ignore_case(old, machine));
    if let Some((_, new)) = new {
        let new = new.trim_start_matches('\\');
        // Only the name of the machine changes; the rest stays spelled as it was.
        let rest = column.path.strip_prefix("\\\\").and_then(|path| path.strip_prefix(machine));
        column.path = match rest {
            Some(rest) => format!("\\\\{new}{rest}"),
            None => column.path.clone(),
        };
        parts.machine = Some(new.to_owned());
    }
    column
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_renamed_in_paths() {
        let path = r"\\srv1\a b\C";
        let column = Column {
            path: path.to_owned(),
            parts: path.parse().ok(),
            counter_type: tallymon_core::counter::CounterType::PERF_COUNTER_RAWCOUNT,
            scale: 0,
            time_base: Default::default(),
            group: 0,
            wild: false,
        };
        let new = renamed(&column, &[("SRV1".to_owned(), r"\\host".to_owned())]);
        assert_eq!(new.path, r"\\host\a b\C");
        assert_eq!(new.parts.unwrap().machine.as_deref(), Some("host"));
        assert_eq!(renamed(&column, &[("srv".to_owned(), "x".to_owned())]), column);
    }
}
