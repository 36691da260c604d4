//! Writes the contents of a long log when it is sealed: the log is read once more for them.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

use tallymon_core::flow::Sample;
use tallymon_core::time::FileTime;

use super::contents::{self, ChunkPlace, MOST_CONTENTS_COLUMNS, PART_ROWS, PartEntry, Table, encode_places};
use super::fields::PutFields;
use super::frame::{LONGEST, frame, kind};
use super::output::Output;
use super::read::NativeReader;
use super::write::{NativeWriter, check_length};
use super::{series, statistics};
use crate::clock::LogClock;
use crate::error::LogError;
use crate::processes::is_process;
use crate::quantile::Ranges;
use crate::reader::{Column, RecordPosition, value_of};
use crate::stats::part::Part;

/// The longest recording that gets contents when it ends: the whole log is read for them on the thread that
/// takes the samples, before the next one. So many bytes take about 0.2 s.
const LONGEST_RECORDING: u64 = 1 << 26;

/// The most columns of which each part has statistics.
const MOST_COUNTED: usize = 1 << 14;

/// A file that is written by another handle while it is read.
struct Reread {
    file: File,
    at: u64,
}

impl Read for Reread {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        // Both handles have one position in the file.
        self.file.seek(SeekFrom::Start(self.at))?;
        let read = self.file.read(buffer)?;
        self.at = self.at.saturating_add(read as u64);
        Ok(read)
    }
}

impl Seek for Reread {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(SeekFrom::Start(self.at))?;
        self.at = self.file.seek(to)?;
        Ok(self.at)
    }
}

/// What the scan of a log finds.
#[derive(Default)]
struct Scanned {
    table: Table,
    clock: LogClock,
    /// The places of each part.
    places: Vec<Vec<ChunkPlace>>,
    columns: Vec<Column>,
}

/// A counter while its parts are added up.
struct Counted {
    column: usize,
    older: Option<Sample>,
    part: Part,
    ranges: Ranges,
}

impl<W: Output> NativeWriter<W> {
    /// Writes the contents of the log behind its index. Returns the byte where they are; `None` for a short
    /// log, and where there is no way or no room to write them: the log is whole without.
    pub(super) fn write_contents(&mut self) -> io::Result<Option<u64>> {
        let begin = self.at;
        let is_long = self.stamp > PART_ROWS;
        let is_wanted = self.options.statistics_from.is_some() || begin <= LONGEST_RECORDING;
        if !is_long || !is_wanted {
            return Ok(None);
        }
        self.out.flush()?;
        let Some(file) = self.out.reread()? else { return Ok(None) };
        let at = self.contents(file).ok().flatten();
        if at.is_none() {
            self.at = begin;
        }
        self.out.cut(self.at)?;
        Ok(at)
    }

    fn contents(&mut self, file: File) -> Result<Option<u64>, LogError> {
        let mut reader = NativeReader::seekable(Reread { file, at: 0 })?;
        let Some(mut scanned) = scan(&mut reader)? else { return Ok(None) };
        let records = scanned.table.records;
        if self.options.statistics_from.is_some_and(|from| records >= from)
            && !self.write_statistics(&mut reader, &mut scanned)?
        {
            return Ok(None);
        }
        let Scanned { mut table, places, .. } = scanned;
        for (part, places) in table.parts.iter_mut().zip(&places) {
            part.places = self.put_behind(kind::PLACES, &encode_places(places))?;
        }
        Ok(Some(self.put_behind(kind::CONTENTS, &table.encode())?))
    }

    /// Writes a record at the end, while the log is read. Returns where it is.
    fn put_behind(&mut self, kind: u8, body: &[u8]) -> io::Result<u64> {
        check_length(body)?;
        let at = self.at;
        let record = frame(kind, body);
        self.out.write_at(at, &record)?;
        self.at = at.saturating_add(record.len() as u64);
        Ok(at)
    }

    /// Reads all values, and writes the numbers of each part but the first. `false` if they cannot be read.
    fn write_statistics(
        &mut self,
        reader: &mut NativeReader<Reread>,
        scanned: &mut Scanned,
    ) -> io::Result<bool> {
        let counted = |(column, known): (usize, &Column)| {
            let (part, ranges) = (Part::new(), Ranges::default());
            // Instances of processes are one process after another.
            let is_counted = !known.counter_type.is_text() && !is_process(known);
            is_counted.then_some(Counted { column, older: None, part, ranges })
        };
        // No statistics of columns that appear after the first part: `stats` reads the log for them.
        let begin = scanned.table.parts.get(1).map_or(0, |part| part.before);
        let growth = scanned.table.growth.iter().rev().find(|(record, _)| *record < begin);
        let known = scanned.columns.iter().take(growth.map_or(0, |(_, columns)| *columns)).enumerate();
        let mut counted: Vec<Counted> = known.filter_map(counted).take(MOST_COUNTED).collect();
        let first = scanned.table.parts.first().map_or(0, |part| part.at);
        if counted.is_empty() {
            return Ok(true);
        }
        let position = RecordPosition { byte: first, records: 0, list: 0, line: 0, minutes: None };
        if !matches!(crate::reader::LogReader::seek_to(reader, position), Ok(true)) {
            return Ok(false);
        }
        for (nth, entry) in scanned.table.parts.iter_mut().enumerate() {
            for _ in 0..entry.records {
                let Ok(Some(time)) = reader.advance() else { return Ok(false) };
                if nth == 0 {
                    counted.iter_mut().for_each(|counted| counted.older = reader.sample(counted.column));
                    continue;
                }
                counted.iter_mut().for_each(|counted| counted.add(time, reader));
            }
            if nth == 0 {
                continue;
            }
            let body = numbers_of(nth, &mut counted);
            // `stats` reads a part without statistics.
            if body.len() <= LONGEST {
                entry.statistics = Some(self.put_behind(kind::STATISTICS, &body)?);
            }
        }
        Ok(reader.about.notes.damage_count == 0)
    }
}

impl Counted {
    fn add(&mut self, time: FileTime, reader: &NativeReader<Reread>) {
        let nothing = Err(tallymon_core::flow::NoValue::NoInstance);
        let cell = reader.cells.get(self.column).unwrap_or(&nothing);
        let value = match cell {
            Ok(sample) => value_of(self.older.as_ref(), sample, false),
            Err(reason) => Err(*reason),
        };
        self.older = cell.ok();
        if let Some(number) = self.part.add(time, cell, &value) {
            self.ranges.add(number);
        }
    }
}

/// The body of the record of the numbers of a part. The next part begins then.
fn numbers_of(nth: usize, counted: &mut [Counted]) -> Vec<u8> {
    let mut body = Vec::new();
    body.put(nth as u64);
    body.put(counted.len() as u64);
    let mut next = 0usize;
    let mut numbers = Vec::new();
    for Counted { column, part, ranges, .. } in counted {
        body.put(column.saturating_sub(next) as u64);
        numbers.clear();
        let all = (std::mem::replace(part, Part::new()), std::mem::take(ranges));
        statistics::encode(&mut numbers, &all);
        body.put(numbers.len() as u64);
        body.extend_from_slice(&numbers);
        next = column.saturating_add(1);
    }
    body
}

impl NativeReader<Reread> {
    /// Goes to the next row; its samples are in `cells`. `None` at the end.
    fn advance(&mut self) -> Result<Option<FileTime>, LogError> {
        loop {
            if let Some((time, _)) = self.take() {
                return Ok(Some(time));
            }
            if !self.next_chunk()? {
                return Ok(None);
            }
        }
    }

    fn sample(&self, column: usize) -> Option<Sample> {
        self.cells.get(column).copied().and_then(Result::ok)
    }
}

/// Reads the times and columns of a log; `None` if it is damaged, or has too many columns.
fn scan(reader: &mut NativeReader<Reread>) -> Result<Option<Scanned>, LogError> {
    let mut found = Scanned::default();
    let (mut parts, mut part) = (0u64, None);
    reader.scanning = true;
    loop {
        while reader.row < reader.rows {
            let time = reader.times.at(reader.row);
            let minutes = series::unzigzag(reader.minutes.at(reader.row));
            let minutes = i32::try_from(minutes).unwrap_or_default();
            if reader.key_at.is_some() && reader.row == 0 {
                if part.replace(reader.part) != Some(reader.part) {
                    found.begin_part(reader.rows_at, time);
                    parts = parts.saturating_add(1);
                }
                let place =
                    ChunkPlace { at: reader.rows_at, before: found.table.records, first: time, most: time };
                found.places.last_mut().into_iter().for_each(|places| places.push(place));
            }
            found.record(time, minutes, reader.cells.len());
            reader.row = reader.row.saturating_add(1);
        }
        if !reader.next_chunk()? {
            break;
        }
    }
    let is_whole = reader.about.notes.damage_count == 0 && parts > 1;
    if !is_whole || reader.about.columns.len() > MOST_CONTENTS_COLUMNS {
        return Ok(None);
    }
    let table = &mut found.table;
    table.changes = found.clock.changes().iter().map(|(time, minutes)| (time.0, *minutes)).collect();
    let mut definitions: Vec<(u64, Vec<u8>)> =
        reader.definitions.iter().map(|(hash, definition)| (*hash, definition.encode())).collect();
    definitions.sort_unstable_by_key(|(hash, _)| *hash);
    if definitions.iter().any(|(hash, body)| super::schema::hash(body) != *hash) {
        return Ok(None);
    }
    let numbers = contents::numbers(&definitions);
    table.definitions = definitions.into_iter().map(|(_, body)| body).collect();
    // An instance without columns has no place among the others.
    let mut instances: Vec<_> = reader.known.iter().filter(|(_, columns)| !columns.is_empty()).collect();
    instances.sort_unstable_by_key(|(_, columns)| columns.first().copied());
    for ((hash, nth, instance), _) in instances {
        let Some(number) = numbers.get(hash) else { return Ok(None) };
        table.instances.push((*number, *nth, instance.clone()));
    }
    found.columns.clone_from(&reader.about.columns);
    Ok(Some(found))
}

impl Scanned {
    fn begin_part(&mut self, at: u64, time: u64) {
        let before = self.table.records;
        let part = PartEntry { at, before, first: time, least: time, most: time, ..PartEntry::default() };
        self.table.parts.push(part);
        self.places.push(Vec::new());
    }

    fn record(&mut self, time: u64, minutes: i32, columns: usize) {
        let table = &mut self.table;
        if table.records == 0 {
            (table.first, table.least, table.most) = (time, time, time);
        }
        table.goes_back |= time < table.last;
        (table.last, table.minutes) = (time, minutes);
        (table.least, table.most) = (table.least.min(time), table.most.max(time));
        if table.growth.last().is_none_or(|(_, known)| *known < columns) {
            table.growth.push((table.records, columns));
        }
        table.records = table.records.saturating_add(1);
        if let Some(part) = table.parts.last_mut() {
            (part.least, part.most, part.last) = (part.least.min(time), part.most.max(time), time);
            part.records = part.records.saturating_add(1);
        }
        if let Some(place) = self.places.last_mut().and_then(|places| places.last_mut()) {
            place.most = place.most.max(time);
        }
        self.clock.note(FileTime(time), minutes);
    }
}
