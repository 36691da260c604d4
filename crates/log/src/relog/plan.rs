//! The plan of a copy: which columns and records of its inputs it writes.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use tallymon_core::flow::{Column, Row, Sink};

use super::rows::RowSource;
use super::{InputReport, Options, Report};
use crate::clock::{LogClock, TimeRange};
use crate::column_copy::{ColumnCopyRequest, Copied};
use crate::error::LogError;
use crate::format::Format;
use crate::native::WriteOptions;
use crate::open::open;
use crate::options::ReadOptions;
use crate::reader::{ScannedRecord, table_order};
use crate::select::{PathMatcher, nothing_found};
use crate::zone::Zone;

/// A column of the output.
#[derive(Debug, Clone)]
pub(super) struct Chosen {
    pub(super) column: Column,
    /// The column of each input from which it is copied.
    sources: Vec<Option<usize>>,
}

/// What must be known before the first record is written.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) report: Report,
    pub(super) chosen: Vec<Chosen>,
    pub(super) zone: Zone,
    /// The distance from UTC of the first kept record.
    pub(super) minutes: i32,
    /// The writer for a native log: that of the inputs if they agree, else this program, which records
    /// nothing here.
    pub(super) writer: String,
    /// The caption of the first input that has one.
    pub(super) caption: Option<String>,
    /// The records to keep.
    range: TimeRange,
}

impl Plan {
    pub(crate) fn new(inputs: &[PathBuf], options: &Options) -> Result<Plan, LogError> {
        let mut clock = LogClock::default();
        let range = options.select.range_of(inputs, &options.read)?;
        let read = ReadOptions { needed: options.select.clone(), ..options.read.clone() };
        let mut scanned = Vec::new();
        for path in inputs {
            scanned.push(scan(path, &read, range, &mut clock)?);
        }
        scanned.sort_by_key(|scanned| scanned.report.first);
        let mut search = PathMatcher::new(&options.select);
        let mut chosen: Vec<Chosen> = Vec::new();
        for input in &scanned {
            search.learn(&input.columns);
        }
        let mut by_path = HashMap::new();
        let mut left_out = 0u64;
        for (nth, input) in scanned.iter().enumerate() {
            let mut seen: HashMap<&str, u32> = HashMap::new();
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
        if first.is_none() && range.is_limited() {
            return Err(clock.no_records(range));
        }
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
        let mut writers = scanned.iter().map(|scanned| scanned.writer.as_deref());
        let writer = writers.next().flatten().filter(|first| writers.all(|other| other == Some(*first)));
        let writer = writer.unwrap_or(WriteOptions::PROGRAM).to_owned();
        let caption = scanned.iter().find_map(|scanned| scanned.caption.clone());
        report.inputs = scanned.into_iter().map(|scanned| scanned.report).collect();
        Ok(Plan { report, chosen, zone, minutes, writer, caption, range })
    }

    /// The rows of its inputs.
    #[cfg(test)]
    pub(super) fn source<'p>(&'p self, options: &'p Options, with_values: bool) -> RowSource<'p> {
        RowSource { chosen: &self.chosen, range: self.range, options, with_values }
    }

    /// Reads the records of the inputs and writes the chosen ones into `sink`.
    pub(crate) fn copy<S: Sink>(&mut self, sink: &mut S, options: &Options) -> Result<(), LogError>
    where
        LogError: From<S::Error>,
    {
        self.copy_whole(sink, options, |_, _| Ok(None))
    }

    /// As [`Plan::copy`]; `whole` may copy an input in another way than record by record.
    pub(crate) fn copy_whole<S: Sink>(
        &mut self,
        sink: &mut S,
        options: &Options,
        mut whole: impl FnMut(&mut S, &ColumnCopyRequest<'_>) -> Result<Option<Copied>, LogError>,
    ) -> Result<(), LogError>
    where
        LogError: From<S::Error>,
    {
        let columns: Vec<Column> = self.chosen.iter().map(|chosen| chosen.column.clone()).collect();
        let texts = columns.iter().filter(|column| column.counter_type.is_text()).count();
        if texts > 0 && !matches!(options.format, Format::Csv | Format::Tsv | Format::Json | Format::Tally) {
            self.report.remarks.push(format!(
                "{texts} text counters have no values in this format; csv, tsv, json and tally keep them"
            ));
        }
        sink.columns(&columns)?;
        let with_values = sink.needs_values();
        let source = RowSource { chosen: &self.chosen, range: self.range, options, with_values };
        let Report { inputs, records, first, last, local_minutes: first_minutes, .. } = &mut self.report;
        for (nth, input) in inputs.iter_mut().enumerate() {
            let wanted = ColumnCopyRequest {
                path: &input.path,
                range: self.range,
                targets: targets(source.chosen, nth),
            };
            if let Some(copied) = whole(sink, &wanted)? {
                (input.notes, input.records) = (copied.notes, copied.read);
                *records = records.saturating_add(copied.kept);
                if let Some((time, minutes)) = copied.first.filter(|_| first.is_none()) {
                    (*first, *first_minutes) = (Some(time), if options.utc { 0 } else { minutes });
                }
                *last = copied.last.or(*last);
                continue;
            }
            (input.notes, input.records) = source.copy(nth, &input.path, |time, local_minutes, cells| {
                sink.row(&Row { time, local_minutes, cells })?;
                *records = records.saturating_add(1);
                if first.is_none() {
                    (*first, *first_minutes) = (Some(time), local_minutes);
                }
                *last = Some(time);
                Ok(())
            })?;
        }
        Ok(sink.finish()?)
    }
}

/// The column of the output for each one of an input.
fn targets(chosen: &[Chosen], nth: usize) -> Vec<Option<usize>> {
    let mut targets = Vec::new();
    for (target, chosen) in chosen.iter().enumerate() {
        let Some(source) = chosen.source(nth) else { continue };
        if targets.len() <= source {
            targets.resize(source.saturating_add(1), None);
        }
        if let Some(place) = targets.get_mut(source) {
            *place = Some(target);
        }
    }
    targets
}

impl Chosen {
    /// The column of an input that it comes from.
    pub(super) fn source(&self, input: usize) -> Option<usize> {
        self.sources.get(input).copied().flatten()
    }
}

/// What the scan of an input found.
struct ScannedInput {
    report: InputReport,
    columns: Vec<Column>,
    caption: Option<String>,
    zone: Zone,
    /// The distance from UTC of the first kept record, and whether there is one.
    minutes: i32,
    kept: bool,
    writer: Option<String>,
}

fn scan(
    path: &Path,
    read: &ReadOptions,
    range: TimeRange,
    clock: &mut LogClock,
) -> Result<ScannedInput, LogError> {
    let mut log = open(path, read)?;
    let (mut first, mut last, mut minutes) = (None, None, None);
    let mut of_log = LogClock::default();
    let mut note = |passed: ScannedRecord| {
        first = first.or(Some(passed.time));
        last = Some(passed.time);
        of_log.note(passed.time, passed.local_minutes);
        if range.has(passed.time) {
            minutes = minutes.or(Some(passed.local_minutes));
        }
        ControlFlow::Continue(())
    };
    log.scan(&mut note).map_err(|error| error.in_file(path))?;
    let about = log.about();
    of_log.set_zone(&about.zone);
    clock.add(&of_log);
    Ok(ScannedInput {
        columns: about.columns.clone(),
        caption: about.caption.clone(),
        zone: about.zone.clone(),
        minutes: minutes.unwrap_or(0),
        kept: minutes.is_some(),
        writer: about.writer.clone(),
        report: InputReport {
            path: path.to_path_buf(),
            clock: of_log,
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
            live: None,
        };
        let new = renamed(&column, &[("SRV1".to_owned(), r"\\host".to_owned())]);
        assert_eq!(new.path, r"\\host\a b\C");
        assert_eq!(new.parts.unwrap().machine.as_deref(), Some("host"));
        assert_eq!(renamed(&column, &[("srv".to_owned(), "x".to_owned())]), column);
    }
}
