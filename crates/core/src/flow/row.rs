//! Rows with the samples and values of one time, their columns, and the sinks that receive them.

use alloc::boxed::Box;
use alloc::string::String;

use crate::counter::CounterType;
use crate::path::CounterPath;
use crate::time::{FileTime, Frequency};
use crate::title::TitleIndex;

use super::partial::PartialSum;
use super::value::{NoValue, Sample, Value};

/// Receives rows: a log file, a table on a screen, a connection.
///
/// The producer of the rows computes the values, so every sink writes the same ones. A live query, the reader
/// of a log and a replay are producers.
pub trait Sink {
    /// Why writing failed.
    type Error;

    /// Describes the cells of the rows that follow. The producer calls it before the first row, and again
    /// when columns change. A sink that cannot change its columns returns an error then.
    fn columns(&mut self, columns: &[Column]) -> Result<(), Self::Error>;

    /// Writes one row. It has one cell for each column.
    fn row(&mut self, row: &Row<'_>) -> Result<(), Self::Error>;

    /// Completes the output. No row may follow.
    fn finish(&mut self) -> Result<(), Self::Error>;

    /// Whether this sink reads [`Cell::value`]. If not, the producer need not compute the values of cells
    /// that have a sample: their values are then [`Absence::NotRequested`](super::Absence::NotRequested).
    fn needs_values(&self) -> bool {
        true
    }
}

impl<S: Sink + ?Sized> Sink for Box<S> {
    type Error = S::Error;

    fn columns(&mut self, columns: &[Column]) -> Result<(), Self::Error> {
        (**self).columns(columns)
    }

    fn row(&mut self, row: &Row<'_>) -> Result<(), Self::Error> {
        (**self).row(row)
    }

    fn finish(&mut self) -> Result<(), Self::Error> {
        (**self).finish()
    }

    fn needs_values(&self) -> bool {
        (**self).needs_values()
    }
}

/// One counter of one instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// The full path, spelled as its source has it.
    pub path: String,
    /// The parts of the path; `None` if the text of a log is not a counter path.
    pub parts: Option<CounterPath>,
    /// The counter type; `PERF_DOUBLE_RAW` in logs of computed values.
    pub counter_type: CounterType,
    /// The default scale: a power of ten for charts.
    pub scale: i32,
    /// Ticks per second of the counter's clock; 0 in logs of computed values.
    pub time_base: Frequency,
    /// The columns of one wildcard share a group and belong side by side. Groups are numbered in the source's
    /// order.
    pub group: u32,
    /// Whether the instances of the column's object come and go.
    pub wild: bool,
    /// What only a live source knows; `None` in a log.
    pub live: Option<LiveColumn>,
}

/// What only a live source knows about a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveColumn {
    /// The title index of the object.
    pub object: TitleIndex,
    /// The title index of the counter.
    pub counter: TitleIndex,
    /// The instance, as a path names it; `None` for an object without instances and for a path that matched
    /// none.
    pub instance: Option<String>,
    /// The process id of the instance, if it is a process or a thread.
    pub process: Option<u64>,
    /// The path in the user's language, for people to read; with the host only if there are several.
    pub local_path: String,
}

/// One cell of a row: the raw sample and the value computed from it.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    /// The raw sample, if there is one. Logs that can hold it store it.
    pub sample: Option<Sample>,
    /// The computed value, or why there is none.
    pub value: Result<Value, NoValue>,
    /// Whether the value is older than its row.
    pub stale: bool,
    /// If the value is a sum that lacks some of its parts: how many, and why.
    pub partial: Option<PartialSum>,
    /// The error bound of the value, in either direction; infinite if it is too large to compute, `None` if
    /// it is unknown.
    pub error: Option<f64>,
}

impl Cell {
    /// A cell without a sample and a value.
    pub const fn missing(why: NoValue) -> Cell {
        Cell { sample: None, value: Err(why), stale: false, partial: None, error: None }
    }

    /// The raw sample, or why there is none. For a text that is [`NoValue::NotNumeric`].
    #[inline]
    pub fn raw(&self) -> Result<Sample, NoValue> {
        match (self.sample, &self.value) {
            (Some(sample), _) => Ok(sample),
            (None, Err(why)) => Err(*why),
            (None, Ok(_)) => Err(NoValue::NotNumeric),
        }
    }
}

/// The cells of one time.
#[derive(Debug, Clone, Copy)]
pub struct Row<'a> {
    /// When the samples were taken, UTC.
    pub time: FileTime,
    /// Minutes to add to `time` for the local time of the row.
    pub local_minutes: i32,
    /// One cell for each column.
    pub cells: &'a [Cell],
}
