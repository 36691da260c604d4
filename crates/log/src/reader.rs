//! What every log gives, whatever its format: columns, and one record after another.

use std::ops::ControlFlow;

use tallymon_core::counter::{Format as Shown, Scale, apply, compute};
use tallymon_core::flow::{Absence, Cell, NoValue, Sample, Value};
use tallymon_core::time::FileTime;

pub use tallymon_core::flow::Column;

use crate::error::{LogError, Notes};
use crate::format::Format;
use crate::zone::Zone;

/// A log that is being read.
///
/// It can move to another thread.
pub trait LogReader: Send {
    /// What is known about the log. Columns and notes grow while records are read: the reader has looked at the first
    /// record when it is made, so that most logs have all their columns from the start.
    fn about(&self) -> &About;

    /// The next record, `None` after the last one.
    ///
    /// # Errors
    ///
    /// Only what the operating system reports; damage inside of the log goes into the notes.
    fn next_record(&mut self) -> Result<Option<Record>, LogError>;

    /// The record that was given last, as it stands in the log: the line of a text log, the bytes of a record of a BLG.
    /// `None` for formats that do not have records one by one.
    fn raw_record(&self) -> Option<&[u8]> {
        None
    }

    /// The text that a text counter has in the record that was given last. Only native logs hold texts.
    fn text(&self, _column: usize) -> Option<&str> {
        None
    }

    /// Where the record that was given last stands, when reading can begin there again. `None` for readers of what can
    /// not go back, and for records that build on those before them.
    fn place(&self) -> Option<ReadPlace> {
        None
    }

    /// Goes back or forth: the next record is the one at this place. Columns stay as they are known, so that whoever read the
    /// log once has the same ones everywhere. `false` when this reader can not; nothing has changed then.
    ///
    /// # Errors
    ///
    /// Only what the operating system reports.
    fn go_to(&mut self, _place: ReadPlace) -> Result<bool, LogError> {
        Ok(false)
    }

    /// Goes through all records that were not read yet, for their times, places and columns: formats that allow it do not
    /// look at values. Afterwards there is no next record until [`LogReader::go_to`]. It ends early when `each` says so.
    ///
    /// # Errors
    ///
    /// As [`LogReader::next_record`].
    fn pass(&mut self, each: &mut dyn FnMut(Passed) -> ControlFlow<()>) -> Result<(), LogError> {
        while let Some(Record { time, local_minutes, cells }) = self.next_record()? {
            let columns = cells.len();
            if each(Passed { time, local_minutes, columns, place: self.place() }).is_break() {
                break;
            }
        }
        Ok(())
    }
}

/// A record that [`LogReader::pass`] went by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Passed {
    /// When, UTC.
    pub time: FileTime,
    /// Minutes to add to `time` to get local time.
    pub local_minutes: i32,
    /// Columns known at that time.
    pub columns: usize,
    /// As [`LogReader::place`].
    pub place: Option<ReadPlace>,
}

/// Where a record stands in a log, see [`LogReader::place`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadPlace {
    /// Byte of the file.
    pub(crate) byte: u64,
    /// Records before it.
    pub(crate) records: u64,
    /// What the reader knows the list of counters by that its values follow.
    pub(crate) list: u64,
    /// Lines of a text log up to it.
    pub(crate) line: u64,
    /// Distance from UTC that the records before showed.
    pub(crate) minutes: Option<i32>,
}

/// What is known about a log.
#[derive(Debug, Clone, PartialEq)]
pub struct About {
    /// Its format.
    pub format: Format,
    /// Its columns. New ones are added at the end, when an instance appears.
    pub columns: Vec<Column>,
    /// Its time zone.
    pub zone: Zone,
    /// Faults and remarks so far.
    pub notes: Notes,
    /// Records read so far.
    pub records: u64,
    /// Records that a catalogue in the log promises, when it has one and it was read already.
    pub records_promised: Option<u64>,
    /// Bits of the file that the values of each column took so far, by the position of the column; shorter where nothing
    /// was taken, and empty for formats that do not tell.
    pub value_bits: Vec<u64>,
}

impl About {
    /// Notes that a value of a column took so many bits of the file.
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
            notes: Notes::default(),
            records: 0,
            records_promised: None,
            value_bits: Vec::new(),
        }
    }
}

/// Positions of columns in the order in which they belong into a table: group by group, so that an instance that came
/// late stands beside its kind.
pub fn table_order(columns: &[Column]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..columns.len()).collect();
    order.sort_by_key(|position| columns.get(*position).map(|column| column.group));
    order
}

/// The values of one time.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Record {
    /// When, UTC.
    pub time: FileTime,
    /// Minutes to add to `time` to get the local time that stands in the log.
    pub local_minutes: i32,
    /// One for each column known at that time, so perhaps fewer than there are later: the sample, or why there is none.
    pub cells: Vec<Result<Sample, NoValue>>,
}

/// The records of a log as an iterator. It ends after an error.
#[derive(Debug)]
pub struct Records<'r, R: ?Sized> {
    reader: Option<&'r mut R>,
}

impl<'r, R: LogReader + ?Sized> Records<'r, R> {
    /// The records that were not read yet.
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

/// Computes the values of records from consecutive samples. Nothing is scaled, and shares above 100 stay as they are unless
/// [`Cooker::capped`] is asked for.
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

#[inline]
fn value(older: Option<&Sample>, sample: &Sample, format: &Shown) -> Result<Value, NoValue> {
    compute(older, sample).map(|value| apply(value, sample.counter_type, 0, format))
}
