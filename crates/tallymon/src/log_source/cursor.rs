//! How far a log was read, and points to seek to, so that going to a time does not read everything before it.

use std::fmt;

use tallymon_core::counter::Format as Shown;
use tallymon_core::flow::{Cell, NoValue, Sample, SourceError, Value, ValueState};
use tallymon_core::time::FileTime;
use tallymon_log::{Column, Contents, Format, LogPlace, LogReader, Record, RecordPosition, ScannedRecord};

use super::{LogReading, source_error, value};

/// The most seek points of a log of any length: in longer logs they are further apart.
const MOST: usize = 4096;

/// Which record a snapshot shows.
#[derive(Debug, Clone, Copy)]
pub(super) enum Wanted {
    /// The last record at or before a time, or the first one.
    At(FileTime),
    /// The record of this number, from 0, or the last one.
    Nth(u64),
}

/// A record that a reader can seek to.
#[derive(Debug, Clone, Copy)]
pub(super) struct SeekPoint {
    pub(super) position: RecordPosition,
    /// Records before it.
    pub(super) count: u64,
    /// The latest time of the records before it: a clock may have been set back.
    most: FileTime,
}

/// Seek points and columns of a log, noted while it was walked.
#[derive(Debug, Default)]
pub(super) struct SeekIndex {
    points: Vec<SeekPoint>,
    /// The least number of records between two points.
    every: u64,
    /// How many columns there are from a record on.
    columns: Vec<(u64, usize)>,
    records: u64,
    most: FileTime,
    /// The points are the parts of the contents of the log, in which the reader knows more places.
    pub(super) has_parts: bool,
}

impl SeekIndex {
    /// Notes the next record.
    pub(super) fn note(&mut self, passed: &ScannedRecord) {
        let count = self.records;
        self.records = count.saturating_add(1);
        if self.columns.last().is_none_or(|(_, columns)| *columns < passed.columns) {
            self.columns.push((count, passed.columns));
        }
        let is_far = |last: &SeekPoint| count >= last.count.saturating_add(self.every);
        if let Some(position) = passed.position
            && self.points.last().is_none_or(is_far)
        {
            self.points.push(SeekPoint { position, count, most: self.most });
        }
        if self.points.len() > MOST {
            let mut keep = false;
            self.points.retain(|_| {
                keep = !keep;
                keep
            });
            self.every = self.every.saturating_mul(2).max(2);
        }
        self.most = self.most.max(passed.time);
    }

    /// The parts of the contents of a log, instead of walking through it.
    pub(super) fn of_contents(contents: &Contents) -> SeekIndex {
        let mut most = FileTime(0);
        SeekIndex {
            points: points(contents.parts.iter().map(|part| part.place), &mut most),
            every: 0,
            columns: contents.growth.clone(),
            records: contents.records,
            most,
            has_parts: true,
        }
    }

    /// The first record of the log, if a reader can seek to it.
    pub(super) fn first(&self) -> Option<SeekPoint> {
        self.points.first().filter(|mark| mark.count == 0).copied()
    }

    /// As [`SeekIndex::before`], with the places that the reader knows besides.
    pub(super) fn nearest(&self, wanted: Wanted, reader: &mut dyn LogReader) -> Option<SeekPoint> {
        let mark = self.before(wanted)?;
        if !self.has_parts {
            return Some(*mark);
        }
        let part = self.points.partition_point(|point| point.count < mark.count);
        let mut places = reader.places(part).unwrap_or_default();
        // The wanted record may be at the beginning of the next part, and the one before it in this one.
        if !places.is_empty() {
            places.extend(reader.places(part.saturating_add(1)).unwrap_or_default());
        }
        let mut most = mark.most;
        let found = self.before_in(&points(places.into_iter(), &mut most), wanted).copied();
        Some(found.unwrap_or(*mark))
    }

    /// The last point from which reading reaches the wanted record and the one before it.
    pub(super) fn before(&self, wanted: Wanted) -> Option<&SeekPoint> {
        self.before_in(&self.points, wanted)
    }

    fn before_in<'p>(&self, points: &'p [SeekPoint], wanted: Wanted) -> Option<&'p SeekPoint> {
        let count = match wanted {
            // All records before such a point are early enough: the wanted one is the last of them, or later.
            Wanted::At(time) => {
                let early = points.partition_point(|mark| mark.most <= time);
                points.get(early.checked_sub(1)?)?.count.saturating_sub(2)
            }
            Wanted::Nth(nth) => nth.min(self.records.saturating_sub(1)).saturating_sub(1),
        };
        let early = points.partition_point(|mark| mark.count <= count);
        points.get(early.checked_sub(1)?)
    }

    /// How many columns the record of a number has; `None` after the last known record.
    fn columns(&self, count: u64) -> Option<usize> {
        let early = self.columns.partition_point(|(from, _)| *from <= count);
        let (_, columns) = self.columns.get(early.checked_sub(1)?)?;
        (count < self.records).then_some(*columns)
    }

    /// Cuts from the record of a number those columns that begin later: a reader that has walked the log
    /// knows them already.
    pub(super) fn cut(&self, count: u64, record: &mut Record) {
        if let Some(columns) = self.columns(count) {
            record.cells.truncate(columns);
        }
    }
}

/// Places as points; `most` is the latest time before them, and then of all.
fn points(places: impl Iterator<Item = LogPlace>, most: &mut FileTime) -> Vec<SeekPoint> {
    let point = |place: LogPlace| {
        let point = SeekPoint { position: place.position, count: place.count, most: *most };
        *most = (*most).max(place.most);
        point
    };
    places.map(point).collect()
}

/// A record and the record before it.
#[derive(Debug, Default)]
pub(super) struct RecordPair {
    pub(super) older: Option<Record>,
    pub(super) newer: Option<Record>,
    /// The columns of the newer record whose values are old, or sums that lack parts, in order.
    pub(super) marks: Vec<(usize, ValueState)>,
    /// The texts of the text counters of the newer record, in the order of the columns.
    pub(super) texts: Vec<(usize, String)>,
}

/// A record, and the marks and texts of its values as in [`RecordPair`].
#[derive(Debug)]
pub(super) struct MarkedRecord {
    pub(super) record: Record,
    marks: Vec<(usize, ValueState)>,
    texts: Vec<(usize, String)>,
}

/// Whether records of the log may have marks: of the other formats no reader has to be asked.
pub(super) fn has_marks(reader: &dyn LogReader) -> bool {
    matches!(reader.about().format, Format::Tally | Format::Json)
}

/// The marks of the last record of a reader.
fn marks(reader: &dyn LogReader, columns: usize) -> Vec<(usize, ValueState)> {
    if !has_marks(reader) {
        return Vec::new();
    }
    let mark = |column: usize| match reader.partial(column) {
        Some(sum) => Some((column, ValueState::Partial(sum))),
        None => reader.is_stale(column).then_some((column, ValueState::Stale)),
    };
    (0..columns).filter_map(mark).collect()
}

/// The columns of a log that hold texts. Most logs have none, and some have tens of thousands of columns, so
/// each column is looked at once only.
#[derive(Debug, Default)]
struct TextColumns {
    looked_at: usize,
    found: Vec<usize>,
}

impl TextColumns {
    /// The texts of the last record of a reader.
    fn read(&mut self, reader: &dyn LogReader) -> Vec<(usize, String)> {
        let columns = &reader.about().columns;
        // Whether a column of a text log has texts is known when one has been read.
        if matches!(reader.about().format, Format::Csv | Format::Tsv | Format::Json) {
            *self = TextColumns::default();
        }
        let new = columns.iter().enumerate().skip(self.looked_at);
        self.found.extend(new.filter(|(_, column)| column.counter_type.is_text()).map(|(nth, _)| nth));
        self.looked_at = columns.len();
        let text = |column: &usize| Some((*column, reader.text(*column)?.to_string()));
        self.found.iter().filter_map(text).collect()
    }
}

/// How far a log was read.
pub(super) struct Cursor {
    pub(super) reader: Box<dyn LogReader>,
    text_columns: TextColumns,
    pub(super) moment: RecordPair,
    /// Records up to the newer one, included.
    pub(super) count: u64,
    /// The next record, if it was read already.
    pub(super) ahead: Option<MarkedRecord>,
}

impl Cursor {
    /// A cursor before the record of a number, which the reader gives next.
    pub(super) const fn new(reader: Box<dyn LogReader>, count: u64) -> Cursor {
        Cursor {
            reader,
            text_columns: TextColumns { looked_at: 0, found: Vec::new() },
            moment: RecordPair { older: None, newer: None, marks: Vec::new(), texts: Vec::new() },
            count,
            ahead: None,
        }
    }

    pub(super) fn time(&self) -> Option<FileTime> {
        self.moment.time()
    }

    /// Whether it has passed the wanted record, so that reading has to start over.
    pub(super) fn is_behind(&self, wanted: Wanted) -> bool {
        match wanted {
            Wanted::At(wanted) => self.time().map_or(self.count > 0, |time| time > wanted),
            Wanted::Nth(nth) => self.count > nth.saturating_add(1),
        }
    }

    /// Whether the next record comes after the wanted one.
    pub(super) fn is_enough(&self, next: &Record, wanted: Wanted) -> bool {
        self.moment.newer.is_some()
            && match wanted {
                Wanted::At(wanted) => next.time > wanted,
                Wanted::Nth(nth) => self.count > nth,
            }
    }

    pub(super) fn take_next(&mut self) -> Result<Option<MarkedRecord>, SourceError> {
        if let Some(ahead) = self.ahead.take() {
            return Ok(Some(ahead));
        }
        let record = self.reader.next_record().map_err(source_error)?;
        Ok(record.map(|record| {
            let marks = marks(&*self.reader, record.cells.len());
            let texts = self.text_columns.read(&*self.reader);
            MarkedRecord { record, marks, texts }
        }))
    }

    /// Takes the next record.
    pub(super) fn accept(&mut self, next: MarkedRecord, seeks: &SeekIndex) {
        let MarkedRecord { mut record, marks, texts } = next;
        seeks.cut(self.count, &mut record);
        self.moment.older = self.moment.newer.replace(record);
        self.moment.marks = marks;
        self.moment.texts = texts;
        self.count = self.count.saturating_add(1);
    }
}

impl RecordPair {
    /// When the record was taken.
    pub(super) fn time(&self) -> Option<FileTime> {
        self.newer.as_ref().map(|record| record.time)
    }

    /// The sample of a column in the record before, and the one of this record.
    pub(super) fn samples(&self, column: usize) -> (Option<Sample>, Result<Sample, NoValue>) {
        let cell =
            |record: &Option<Record>| record.as_ref().and_then(|record| record.cells.get(column).copied());
        (cell(&self.older).and_then(Result::ok), cell(&self.newer).unwrap_or(Err(NoValue::NoInstance)))
    }

    /// Whether the value of a column in this record is old, or a sum that lacks parts.
    pub(super) fn mark(&self, column: usize) -> ValueState {
        let found = self.marks.binary_search_by_key(&column, |(column, _)| *column).ok();
        found.and_then(|at| self.marks.get(at)).map_or(ValueState::Present, |(_, mark)| *mark)
    }

    /// The text of a column in this record, if it has one.
    pub(super) fn text(&self, column: usize) -> Option<&str> {
        let found = self.texts.binary_search_by_key(&column, |(column, _)| *column).ok();
        found.and_then(|at| self.texts.get(at)).map(|(_, text)| text.as_str())
    }

    /// The value of a column in this record.
    pub(super) fn value(&self, at: usize, column: &Column, format: &Shown) -> Result<Value, NoValue> {
        if let Some(text) = self.text(at) {
            return Ok(Value::Text(text.to_string()));
        }
        let (older, sample) = self.samples(at);
        value(older, sample, column, format)
    }

    pub(super) fn reading(&self, at: usize, column: &Column) -> LogReading {
        let (older, sample) = self.samples(at);
        let mark = self.mark(at);
        let partial = if let ValueState::Partial(sum) = mark { Some(sum) } else { None };
        let value = self.value(at, column, &Shown { cap100: false, ..Shown::default() });
        LogReading {
            path: column.path.clone(),
            parts: column.parts.clone(),
            counter_type: column.counter_type,
            default_scale: column.scale,
            cell: Cell { sample: sample.ok(), value, stale: mark == ValueState::Stale, partial, error: None },
            older,
        }
    }
}

impl fmt::Debug for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cursor")
            .field("time", &self.time())
            .field("count", &self.count)
            .finish_non_exhaustive()
    }
}
