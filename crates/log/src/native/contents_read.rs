//! Opens a long sealed log by its contents, and goes to places in it.

use std::collections::HashMap;
use std::io::Read;
use std::sync::Arc;

use tallymon_core::bytes::Bytes;
use tallymon_core::time::FileTime;

use super::contents::{ChunkPlace, PART_ROWS, PartEntry, Table, decode_places};
use super::fields::Fields;
use super::frame::{FRAME, JUMP, LONGEST, MARK, kind, read_record};
use super::index::ChunkHead;
use super::read::NativeReader;
use super::statistics;
use crate::clock::LogClock;
use crate::error::LogError;
use crate::reader::{Column, Contents, ContentsPart, LogPlace, PartStatistics, RecordPosition};

/// The last two records of a log with contents: where the contents are, and where the index is.
const ENDS: u64 = JUMP.saturating_mul(2) as u64;

/// A frame, and the five numbers of the head of its rows, which take 10 bytes each at most.
const HEAD: u64 = FRAME.saturating_add(50) as u64;

/// So many of the parts are compared with the log before the contents are taken.
const COMPARED: usize = 8;

/// The places of so many parts are kept: a time is looked for in two of them.
const PLACES_KEPT: usize = 4;

/// What a reader knows of the contents of its log.
#[derive(Debug, Default)]
pub(super) enum ContentsState {
    #[default]
    Unasked,
    /// There are none, or they are wrong.
    None,
    Table(Box<Loaded>),
}

#[derive(Debug)]
pub(super) struct Loaded {
    table: Table,
    /// The byte where the chunks end.
    end: u64,
    /// The places of the parts that were asked for last.
    places: Vec<(usize, Vec<ChunkPlace>)>,
}

impl<R: Read> NativeReader<R> {
    /// Reads the contents of the log, if it has some and they fit it.
    pub(super) fn read_contents(&mut self, take_columns: bool) -> Result<Option<Contents>, LogError> {
        if matches!(self.contents, ContentsState::Unasked) {
            self.contents = ContentsState::None;
            let back = self.frames.position();
            let found = self.find_contents();
            self.go_to(back)?;
            if let Some(loaded) = found? {
                self.contents = ContentsState::Table(Box::new(loaded));
            }
        }
        let ContentsState::Table(loaded) = std::mem::take(&mut self.contents) else {
            self.contents = ContentsState::None;
            return Ok(None);
        };
        let contents = self.show(&loaded, take_columns);
        self.contents = if contents.is_some() { ContentsState::Table(loaded) } else { ContentsState::None };
        Ok(contents)
    }

    fn go_to(&mut self, byte: u64) -> Result<(), LogError> {
        let Some(to_byte) = self.to_byte else { return Ok(()) };
        to_byte(self.frames.input(), byte)?;
        self.frames.restart(byte);
        Ok(())
    }

    /// The body of the record of a kind that begins at a byte, and ends at another one at the latest. The
    /// caller then moves the reader back with `go_to`.
    fn body_at(&mut self, at: u64, end: u64, wanted: u8) -> Result<Option<Vec<u8>>, LogError> {
        let Some(to_byte) = self.to_byte else { return Ok(None) };
        let input = self.frames.input();
        to_byte(input, at)?;
        Ok(read_record(input, wanted, end.saturating_sub(at))?)
    }

    fn find_contents(&mut self) -> Result<Option<Loaded>, LogError> {
        let Some(to_end) = self.to_end else { return Ok(None) };
        let length = to_end(self.frames.input())?;
        let Some(pointer) = length.checked_sub(ENDS) else { return Ok(None) };
        let behind = pointer.saturating_add(JUMP as u64);
        let number = |body: Option<Vec<u8>>| Bytes::little(&body?).u64(0, "place of a record").ok();
        let at = number(self.body_at(pointer, behind, kind::POINTER)?);
        let end = number(self.body_at(behind, length, kind::END)?);
        let Some((at, end)) = at.zip(end).filter(|(at, end)| end < at && *at < pointer) else {
            return Ok(None);
        };
        let Some(body) = self.body_at(at, pointer, kind::CONTENTS)? else { return Ok(None) };
        let Ok(table) = Table::decode(&body, end) else { return Ok(None) };
        let loaded = Loaded { table, end, places: Vec::new() };
        let parts = &loaded.table.parts;
        let step = parts.len().div_ceil(COMPARED).max(1);
        for part in parts.iter().step_by(step).chain(parts.last()) {
            let place = ChunkPlace { at: part.at, before: part.before, first: part.first, most: part.most };
            if !self.is_there(&place, end)? {
                return Ok(None);
            }
        }
        Ok(Some(loaded))
    }

    /// Whether the rows of a place begin where it says.
    fn is_there(&mut self, place: &ChunkPlace, end: u64) -> Result<bool, LogError> {
        let Some(to_byte) = self.to_byte else { return Ok(false) };
        to_byte(self.frames.input(), place.at)?;
        let mut bytes = Vec::new();
        self.frames.input().by_ref().take(HEAD).read_to_end(&mut bytes)?;
        let Some(([m0, m1, m2, kind, l0, l1, l2, l3, ..], body)) = bytes.split_first_chunk::<FRAME>() else {
            return Ok(false);
        };
        let length = u64::from(u32::from_le_bytes([*l0, *l1, *l2, *l3]));
        let behind = place.at.saturating_add(FRAME as u64).saturating_add(length);
        if [*m0, *m1, *m2] != MARK || length > LONGEST as u64 || behind > end {
            return Ok(false);
        }
        let Ok(head) = ChunkHead::decode(&mut Fields::new(body)) else { return Ok(false) };
        let is_rows = matches!(*kind, kind::CHUNK | kind::ROW) && head.key;
        let is_next = head.number == Some(place.before.saturating_add(1));
        Ok(is_rows && is_next && head.first == place.first && head.most <= place.most)
    }

    /// The contents as others see them; `None` if the log turns out to have other columns.
    fn show(&mut self, loaded: &Loaded, take_columns: bool) -> Option<Contents> {
        let table = &loaded.table;
        let definitions = table.definitions();
        let mut columns: Vec<Column> = Vec::new();
        let mut known = HashMap::new();
        for (number, nth, instance) in &table.instances {
            let (hash, definition) = definitions.get(*number)?;
            let first = columns.len();
            columns
                .extend((0..instance.width(definition)).filter_map(|nth| definition.column(instance, nth)));
            known.insert((*hash, *nth, instance.clone()), (first..columns.len()).collect());
        }
        if columns.len() != table.growth.last().map_or(0, |(_, columns)| *columns) {
            return None;
        }
        for (hash, definition) in definitions {
            self.definitions.entry(hash).or_insert_with(|| Arc::new(definition));
        }
        // What was read already begins with the same columns.
        let read = self.about.columns.len();
        if columns.get(..read)? != self.about.columns.as_slice() {
            return None;
        }
        if take_columns {
            self.about.columns.clone_from(&columns);
            self.known = known;
            self.name_bytes = table.name_bytes;
            self.cells.resize(columns.len(), Err(tallymon_core::flow::NoValue::NoInstance));
            self.places.resize(columns.len(), None);
        }
        let part = |part: &PartEntry| ContentsPart {
            place: LogPlace {
                position: position(part.at, part.before),
                count: part.before,
                most: FileTime(part.most),
            },
            records: part.records,
            least: FileTime(part.least),
            last: FileTime(part.last),
            has_statistics: part.statistics.is_some(),
        };
        let range = (FileTime(table.least), FileTime(table.most));
        Some(Contents {
            records: table.records,
            first: FileTime(table.first),
            last: FileTime(table.last),
            is_in_order: !table.goes_back && table.parts.is_sorted_by(|one, next| one.most <= next.least),
            local_minutes: table.minutes,
            clock: LogClock::of_changes(range, table.changes()),
            columns,
            growth: table.growth.clone(),
            parts: table.parts.iter().map(part).collect(),
            end: position(loaded.end, table.records),
        })
    }

    /// The places in a part.
    pub(super) fn read_places(&mut self, nth: usize) -> Result<Vec<LogPlace>, LogError> {
        let ContentsState::Table(loaded) = &self.contents else { return Ok(Vec::new()) };
        if let Some((_, places)) = loaded.places.iter().find(|(part, _)| *part == nth) {
            return Ok(places.iter().map(log_place).collect());
        }
        let (end, parts) = (loaded.end, &loaded.table.parts);
        let Some(part) = parts.get(nth).copied() else { return Ok(Vec::new()) };
        let next = parts.get(nth.saturating_add(1)).map_or(u64::MAX, |next| next.places);
        let back = self.frames.position();
        let read = self.load_places(&part, next, end);
        self.go_to(back)?;
        let places = read?;
        let shown = places.iter().map(log_place).collect();
        if let ContentsState::Table(loaded) = &mut self.contents {
            loaded.places.truncate(PLACES_KEPT.saturating_sub(1));
            loaded.places.insert(0, (nth, places));
        }
        Ok(shown)
    }

    /// `next` is where the record of places of the next part begins, `end` where the chunks end.
    fn load_places(&mut self, part: &PartEntry, next: u64, end: u64) -> Result<Vec<ChunkPlace>, LogError> {
        let body = self.body_at(part.places, next, kind::PLACES)?;
        let places = body.and_then(|body| decode_places(&body, part, end).ok()).unwrap_or_default();
        // A place that is wrong must not lead into the middle of other rows.
        for place in [places.get(places.len() / 2), places.last()].into_iter().flatten() {
            if !self.is_there(place, end)? {
                return Ok(Vec::new());
            }
        }
        Ok(places)
    }

    /// The numbers of columns in a part.
    pub(super) fn read_statistics(
        &mut self,
        nth: usize,
        wanted: &[usize],
        only_counts: bool,
    ) -> Result<Option<PartStatistics>, LogError> {
        let ContentsState::Table(loaded) = &self.contents else { return Ok(None) };
        let mut parts = loaded.table.parts.iter().skip(nth);
        let Some((at, records)) = parts.next().and_then(|part| Some((part.statistics?, part.records))) else {
            return Ok(None);
        };
        let next = parts.find_map(|part| part.statistics).unwrap_or(u64::MAX);
        let back = self.frames.position();
        let body = self.body_at(at, next, kind::STATISTICS);
        self.go_to(back)?;
        let Some(body) = body? else { return Ok(None) };
        Ok(chosen(&body, (nth, records), wanted, only_counts))
    }

    /// Notes the part of the log to which the rows of a chunk belong.
    pub(super) fn note_part(&mut self, head: ChunkHead) {
        if head.key {
            self.part = head.number.map_or(0, |number| number.saturating_sub(1) / PART_ROWS);
        }
    }
}

/// The numbers of some columns in the body of a record; `None` if one of them is missing, damaged, or cannot
/// be of a part with so many records.
fn chosen(
    body: &[u8],
    (nth, records): (usize, u64),
    wanted: &[usize],
    only_counts: bool,
) -> Option<PartStatistics> {
    let mut order = wanted.to_vec();
    order.sort_unstable();
    let mut order = order.into_iter().peekable();
    let mut fields = Fields::new(body);
    if fields.number("part of statistics").ok()? != nth as u64 {
        return None;
    }
    let mut found = PartStatistics::default();
    let mut column = 0usize;
    for _ in 0..fields.count("columns of statistics").ok()? {
        let gap = usize::try_from(fields.number("column of statistics").ok()?).ok()?;
        column = column.checked_add(gap)?;
        let length = fields.count("length of statistics").ok()?;
        let bytes = fields.bytes(length, "statistics").ok()?;
        while order.next_if(|wanted| *wanted == column).is_some() {
            let (part, ranges) = statistics::decode(&mut Fields::new(bytes), only_counts).ok()?;
            if part.count.saturating_add(part.missing) > records {
                return None;
            }
            found.columns.insert(column, (part, ranges));
        }
        column = column.checked_add(1)?;
    }
    order.peek().is_none().then_some(found)
}

fn position(byte: u64, records: u64) -> RecordPosition {
    RecordPosition { byte, records, list: 0, line: 0, minutes: None }
}

fn log_place(place: &ChunkPlace) -> LogPlace {
    LogPlace { position: position(place.at, place.before), count: place.before, most: FileTime(place.most) }
}

#[cfg(test)]
mod tests {
    use super::super::fields::PutFields;
    use super::*;
    use crate::quantile::Ranges;
    use crate::stats::part::Part;

    #[test]
    fn a_part_has_no_more_values_than_records() {
        let mut numbers = Vec::new();
        statistics::encode(&mut numbers, &(Part { missing: 7, ..Part::new() }, Ranges::default()));
        let mut body = Vec::new();
        // Of part 3, one column, none skipped.
        [3, 1, 0, numbers.len() as u64].into_iter().for_each(|number| body.put(number));
        body.extend_from_slice(&numbers);
        for only_counts in [false, true] {
            assert!(chosen(&body, (3, 7), &[0], only_counts).is_some());
            assert!(chosen(&body, (3, 6), &[0], only_counts).is_none());
            assert!(chosen(&body, (2, 7), &[0], only_counts).is_none());
            assert!(chosen(&body, (3, 7), &[0, 1], only_counts).is_none());
        }
    }
}
