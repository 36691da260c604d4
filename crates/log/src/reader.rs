//! What every log gives, whatever its format: columns, and one record after another.

use std::ops::ControlFlow;

use tallymon_core::counter::{CounterType, Format as Shown, apply, compute};
use tallymon_core::flow::{NoValue, Sample, Value};
use tallymon_core::path::CounterPath;
use tallymon_core::time::{FileTime, Frequency};

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

/// One counter of one instance in a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// The full path, spelled as the log has it.
    pub path: String,
    /// The path in its parts; `None` when the text of a log is no counter path.
    pub parts: Option<CounterPath>,
    /// Its counter type; `PERF_DOUBLE_RAW` in logs that hold computed values.
    pub counter_type: CounterType,
    /// Default scale: the power of ten for charts.
    pub scale: i32,
    /// Ticks per second of its clock; 0 in logs that hold computed values.
    pub time_base: Frequency,
    /// Columns of one group came from one wildcard and belong side by side. Groups are in the order of the log.
    pub group: u32,
    /// The group is one of instances that come and go.
    pub wild: bool,
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

/// Computes the values of records from consecutive samples, shown as Windows writes them into logs: shares are within
/// 0 and 100, nothing is scaled.
///
/// A column without a sample starts anew: the first sample after a gap primes it.
#[derive(Debug, Clone, Default)]
pub struct Cooker {
    older: Vec<Option<Sample>>,
}

impl Cooker {
    /// The values of one record, one for each of its cells.
    pub fn cook(&mut self, record: &Record) -> Vec<Result<Value, NoValue>> {
        let mut values = Vec::new();
        self.cook_into(record, &mut values);
        values
    }

    /// As [`Cooker::cook`], into memory that is used again.
    pub fn cook_into(&mut self, record: &Record, values: &mut Vec<Result<Value, NoValue>>) {
        self.cook_cells(&record.cells, values);
    }

    /// As [`Cooker::cook_into`], of the cells of a record.
    pub(crate) fn cook_cells(
        &mut self,
        cells: &[Result<Sample, NoValue>],
        values: &mut Vec<Result<Value, NoValue>>,
    ) {
        values.clear();
        if self.older.len() < cells.len() {
            self.older.resize(cells.len(), None);
        }
        for (older, cell) in self.older.iter_mut().zip(cells) {
            values.push(match cell {
                Ok(sample) => compute(older.as_ref(), sample)
                    .map(|value| apply(value, sample.counter_type, 0, &Shown::default())),
                Err(reason) => Err(*reason),
            });
            *older = cell.ok();
        }
        // A column that the record does not have has no sample either.
        for older in self.older.iter_mut().skip(cells.len()) {
            *older = None;
        }
    }

    /// Forgets the samples so far: the next record has only first samples.
    pub fn restart(&mut self) {
        self.older.clear();
    }
}
