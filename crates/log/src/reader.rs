//! The interface of all log readers: columns, and one record after another.

use std::collections::HashMap;
use std::ops::ControlFlow;

use tallymon_core::counter::{Format as Shown, Scale, apply, compute};
use tallymon_core::flow::{Absence, Cell, NoValue, PartialSum, Sample, Value};
use tallymon_core::time::FileTime;

pub use tallymon_core::flow::Column;

use crate::clock::LogClock;
use crate::error::{LogError, Notes};
use crate::format::Format;
use crate::stats::CountedPart;
use crate::zone::Zone;

/// Reads a log of any format, record by record.
pub trait LogReader: Send {
    /// The columns, zone and faults of the log. Columns and faults are added while records are read. A reader
    /// looks at the first record when it is created, so most logs have all their columns from the start.
    fn about(&self) -> &About;

    /// The next record, `None` after the last one.
    ///
    /// # Errors
    ///
    /// Only errors of the operating system. Damage inside the log goes into [`About::notes`].
    fn next_record(&mut self) -> Result<Option<Record>, LogError>;

    /// Takes the memory of a record that nobody needs any more, for one that is still to be read.
    fn reuse(&mut self, _record: Record) {}

    /// The bytes of the last record in the file: the line of a text log, the record of a BLG. `None` for
    /// formats without separate records.
    fn raw_record(&self) -> Option<&[u8]> {
        None
    }

    /// The text of a text counter in the last record. Only native logs and text logs hold texts.
    fn text(&self, _column: usize) -> Option<&str> {
        None
    }

    /// Whether a value of the last record is older than the record. Only native logs know it.
    fn is_stale(&self, _column: usize) -> bool {
        false
    }

    /// What a sum of the last record lacks, if it lacks some of its parts. Only native logs and JSON know it.
    fn partial(&self, _column: usize) -> Option<PartialSum> {
        None
    }

    /// The position of the last record, to read from there again. `None` if the input cannot seek, and for
    /// records that can only be decoded after those before them.
    fn position(&self) -> Option<RecordPosition> {
        None
    }

    /// Moves to a position: the next record is the one there. The reader keeps all columns that it knows, so
    /// their numbers stay the same. Returns `false`, and changes nothing, if this reader cannot move there.
    ///
    /// # Errors
    ///
    /// Only errors of the operating system.
    fn seek_to(&mut self, _position: RecordPosition) -> Result<bool, LogError> {
        Ok(false)
    }

    /// Reads the times, positions and columns of all remaining records; most formats skip the values. `each`
    /// can end the scan. Afterwards there is no next record until [`LogReader::seek_to`].
    ///
    /// # Errors
    ///
    /// As [`LogReader::next_record`].
    fn scan(&mut self, each: &mut dyn FnMut(ScannedRecord) -> ControlFlow<()>) -> Result<(), LogError> {
        while let Some(Record { time, local_minutes, cells }) = self.next_record()? {
            let columns = cells.len();
            if each(ScannedRecord { time, local_minutes, columns, position: self.position() }).is_break() {
                break;
            }
        }
        Ok(())
    }

    /// What the log says of itself, without reading its records; `None` if it does not. With `take_columns`
    /// the reader knows all columns of the log afterwards, and can go to any place. What is damaged behind
    /// such a place is found when it is read.
    ///
    /// # Errors
    ///
    /// Only errors of the operating system.
    fn contents(&mut self, _take_columns: bool) -> Result<Option<Contents>, LogError> {
        Ok(None)
    }

    /// The places in a part of the [`Contents`], by its number; empty if they are not known.
    ///
    /// # Errors
    ///
    /// Only errors of the operating system.
    fn places(&mut self, _part: usize) -> Result<Vec<LogPlace>, LogError> {
        Ok(Vec::new())
    }

    /// The numbers of a part of the [`Contents`], of the columns at the positions `wanted`; or only how many
    /// values they have. `None` if there are none of one of them.
    ///
    /// # Errors
    ///
    /// Only errors of the operating system.
    fn statistics(
        &mut self,
        _part: usize,
        _wanted: &[usize],
        _only_counts: bool,
    ) -> Result<Option<PartStatistics>, LogError> {
        Ok(None)
    }

    /// The number of the part of the log to which the last record belongs: statistics add up each part alone.
    fn part(&self) -> u64 {
        0
    }
}

/// What a reader passes on that has the columns of another one, its field `inner`: the last record, where it
/// is, and how to go elsewhere.
macro_rules! pass_record_on {
    () => {
        fn reuse(&mut self, record: $crate::reader::Record) {
            self.inner.reuse(record);
        }

        fn raw_record(&self) -> Option<&[u8]> {
            self.inner.raw_record()
        }

        fn text(&self, column: usize) -> Option<&str> {
            self.inner.text(column)
        }

        fn is_stale(&self, column: usize) -> bool {
            self.inner.is_stale(column)
        }

        fn partial(&self, column: usize) -> Option<tallymon_core::flow::PartialSum> {
            self.inner.partial(column)
        }

        fn position(&self) -> Option<$crate::reader::RecordPosition> {
            self.inner.position()
        }

        fn seek_to(
            &mut self,
            position: $crate::reader::RecordPosition,
        ) -> Result<bool, $crate::error::LogError> {
            self.inner.seek_to(position)
        }

        fn part(&self) -> u64 {
            self.inner.part()
        }
    };
}

pub(crate) use pass_record_on;

/// What a long log says at its end of all that is before it.
#[derive(Debug, Clone, PartialEq)]
pub struct Contents {
    /// Number of its records.
    pub records: u64,
    /// Time of the first record, UTC.
    pub first: FileTime,
    /// Time of the last record, UTC.
    pub last: FileTime,
    /// No record is older than the one before it.
    pub is_in_order: bool,
    /// Minutes to add to `last` for the local time.
    pub local_minutes: i32,
    /// The clock of the log, without its zone.
    pub clock: LogClock,
    /// All its columns, in the order in which they appear.
    pub columns: Vec<Column>,
    /// How many columns there are from a record on: its number, from 0, and the number of columns.
    pub growth: Vec<(u64, usize)>,
    /// Its parts, in order.
    pub parts: Vec<ContentsPart>,
    /// Behind its last record.
    pub end: RecordPosition,
}

/// A part of a log in its [`Contents`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContentsPart {
    /// Where it begins; [`LogReader::seek_to`] goes there.
    pub place: LogPlace,
    /// Number of its records.
    pub records: u64,
    /// The earliest time of its records, UTC.
    pub least: FileTime,
    /// Time of its last record, UTC.
    pub last: FileTime,
    /// Whether [`LogReader::statistics`] has its numbers.
    pub has_statistics: bool,
}

/// A record that a reader can go to without reading those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogPlace {
    /// Its position.
    pub position: RecordPosition,
    /// Number of the records before it.
    pub count: u64,
    /// The latest time of its record and those up to the next place, UTC.
    pub most: FileTime,
}

/// The numbers of counters in a part of a log, as [`stats`](crate::stats()) adds them up.
#[derive(Debug, Clone, Default)]
pub struct PartStatistics {
    /// By the position of the column.
    pub(crate) columns: HashMap<usize, CountedPart>,
}

/// What [`LogReader::scan`] reads of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScannedRecord {
    /// The time of the record, UTC.
    pub time: FileTime,
    /// Minutes to add to `time` for the local time.
    pub local_minutes: i32,
    /// The number of columns known at that time.
    pub columns: usize,
    /// As [`LogReader::position`].
    pub position: Option<RecordPosition>,
}

/// The position of a record in a log, see [`LogReader::position`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordPosition {
    /// The byte of the file where it begins.
    pub(crate) byte: u64,
    /// The number of records before it.
    pub(crate) records: u64,
    /// Identifies the counter list that its values follow, for the reader of the format.
    pub(crate) list: u64,
    /// The number of its line in a text log.
    pub(crate) line: u64,
    /// The last known distance of local time from UTC, in minutes.
    pub(crate) minutes: Option<i32>,
}

/// What a reader knows about its log.
#[derive(Debug, Clone, PartialEq)]
pub struct About {
    /// The format.
    pub format: Format,
    /// The columns. A new instance adds columns at the end.
    pub columns: Vec<Column>,
    /// The time zone.
    pub zone: Zone,
    /// The caption that Performance Monitor writes behind the paths of a text log.
    pub caption: Option<String>,
    /// Faults and remarks so far.
    pub notes: Notes,
    /// Records read so far.
    pub records: u64,
    /// The number of records in the catalogue of the log, if it has one and it was read already.
    pub records_promised: Option<u64>,
    /// The bits of the file that the values of each column take so far. Columns at the end that take none are
    /// missing; empty for formats that do not count.
    pub value_bits: Vec<u64>,
    /// The program that wrote the log, and the system that it recorded; native logs only.
    pub writer: Option<String>,
}

impl About {
    /// The system on which this program recorded the log, such as `linux`. `None` for logs that others
    /// recorded, and for formats that do not say it.
    pub fn recorded_on(&self) -> Option<&str> {
        let (program, system) = self.writer.as_deref()?.split_once(" on ")?;
        program.starts_with("tallymon ").then_some(system)
    }

    /// Counts the bits of a value.
    #[inline]
    pub(crate) fn took(&mut self, column: usize, bits: u64) {
        if self.value_bits.len() <= column {
            self.value_bits.resize(self.columns.len().max(column.saturating_add(1)), 0);
        }
        if let Some(place) = self.value_bits.get_mut(column) {
            *place = place.saturating_add(bits);
        }
    }

    pub(crate) fn new(format: Format) -> About {
        About {
            format,
            columns: Vec::new(),
            zone: Zone::Unknown,
            caption: None,
            notes: Notes::default(),
            records: 0,
            records_promised: None,
            value_bits: Vec::new(),
            writer: None,
        }
    }
}

/// The order of the columns in a table: by group, so that an instance that appeared late is beside the others
/// of its wildcard.
pub fn table_order(columns: &[Column]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..columns.len()).collect();
    order.sort_by_key(|position| columns.get(*position).map(|column| column.group));
    order
}

/// The values of one time.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Record {
    /// The time of the record, UTC.
    pub time: FileTime,
    /// Minutes to add to `time` for the local time in the log.
    pub local_minutes: i32,
    /// The sample of each column known at that time, or why there is none. Later records may have more.
    pub cells: Vec<Result<Sample, NoValue>>,
}

/// Iterates over the records of a log. It ends after an error.
#[derive(Debug)]
pub struct Records<'r, R: ?Sized> {
    reader: Option<&'r mut R>,
}

impl<'r, R: LogReader + ?Sized> Records<'r, R> {
    /// Iterates over the remaining records.
    pub const fn new(reader: &'r mut R) -> Records<'r, R> {
        Records { reader: Some(reader) }
    }
}

impl<R: LogReader + ?Sized> Iterator for Records<'_, R> {
    type Item = Result<Record, LogError>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.reader.as_mut()?.next_record().transpose();
        if !matches!(next, Some(Ok(_))) {
            self.reader = None;
        }
        next
    }
}

impl<R: LogReader + ?Sized> std::iter::FusedIterator for Records<'_, R> {}

/// Computes the values of records from consecutive samples. Nothing is scaled, and shares above 100 stay as
/// they are unless [`Cooker::capped`] is asked for.
///
/// A column without a sample starts again: the first sample after a gap primes it.
#[derive(Debug, Clone, Default)]
pub struct Cooker {
    older: Vec<Option<Sample>>,
    cap: bool,
}

impl Cooker {
    /// A cooker that caps shares at 100 if `cap` is set, see [`Format::cap100`](Shown::cap100).
    pub const fn capped(cap: bool) -> Cooker {
        Cooker { older: Vec::new(), cap }
    }

    /// The values of one record, one for each of its cells.
    pub fn cook(&mut self, record: &Record) -> Vec<Result<Value, NoValue>> {
        let mut values = Vec::new();
        self.cook_into(record, &mut values);
        values
    }

    /// As [`Cooker::cook`], into memory that is used again.
    pub fn cook_into(&mut self, record: &Record, values: &mut Vec<Result<Value, NoValue>>) {
        values.clear();
        self.make_room(record.cells.len());
        let format = self.format();
        for (older, cell) in self.older.iter_mut().zip(&record.cells) {
            values.push(match cell {
                Ok(sample) => value(older.as_ref(), sample, &format),
                Err(reason) => Err(*reason),
            });
            *older = cell.ok();
        }
        self.forget_from(record.cells.len());
    }

    /// Fills the cells of a row from raw samples. `with_values` says whether values are computed, see
    /// [`Sink::needs_values`](tallymon_core::flow::Sink::needs_values).
    pub(crate) fn fill(
        &mut self,
        raw: impl ExactSizeIterator<Item = Result<Sample, NoValue>>,
        cells: &mut Vec<Cell>,
        with_values: bool,
    ) {
        cells.resize(raw.len(), Cell::missing(NoValue::NoInstance));
        if !with_values {
            for (raw, cell) in raw.zip(cells) {
                cell.sample = raw.ok();
                cell.value = Err(raw.err().unwrap_or(NoValue::NoData(Absence::NotRequested)));
            }
            return;
        }
        self.make_room(raw.len());
        let format = self.format();
        for ((older, raw), cell) in self.older.iter_mut().zip(raw).zip(cells) {
            cell.sample = raw.ok();
            cell.value = match &raw {
                Ok(sample) => value(older.as_ref(), sample, &format),
                Err(reason) => Err(*reason),
            };
            *older = cell.sample;
        }
    }

    fn make_room(&mut self, columns: usize) {
        if self.older.len() < columns {
            self.older.resize(columns, None);
        }
    }

    /// A column that the record does not have has no sample either.
    fn forget_from(&mut self, columns: usize) {
        for older in self.older.iter_mut().skip(columns) {
            *older = None;
        }
    }

    const fn format(&self) -> Shown {
        Shown { scale: Scale::None, thousand: false, cap100: self.cap }
    }

    /// Forgets the samples so far: the next record has first samples only.
    pub fn restart(&mut self) {
        self.older.clear();
    }
}

/// The value of a sample, as a [`Cooker`] computes it.
#[inline]
pub(crate) fn value_of(older: Option<&Sample>, sample: &Sample, cap: bool) -> Result<Value, NoValue> {
    value(older, sample, &Shown { scale: Scale::None, thousand: false, cap100: cap })
}

/// The same as a floating-point number, for columns of them.
#[inline]
pub(crate) fn number_of(older: Option<&Sample>, sample: &Sample, cap: bool) -> Result<f64, NoValue> {
    match compute(older, sample)? {
        Value::Integer(integer) => Ok(integer as f64),
        // No limit of a type changes such a number.
        Value::Number(number) if (0.0..=100.0).contains(&number) => Ok(number),
        value => {
            let format = Shown { scale: Scale::None, thousand: false, cap100: cap };
            apply(value, sample.counter_type, 0, &format).as_f64().ok_or(NoValue::NotNumeric)
        }
    }
}

#[inline]
fn value(older: Option<&Sample>, sample: &Sample, format: &Shown) -> Result<Value, NoValue> {
    compute(older, sample).map(|value| apply(value, sample.counter_type, 0, format))
}
