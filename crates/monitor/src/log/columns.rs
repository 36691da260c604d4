//! Reads columns of a log on a thread, while the screen shows what has arrived.

use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::{Duration, Instant};

use tallymon::LogRow;
use tallymon::core::flow::{NoValue, PartialSum, SourceError, Value};
use tallymon::core::time::FileTime;

/// Values of one part, and how many parts may wait for the screen: a few megabytes.
const PART: usize = 8_192;
const PARTS: usize = 16;
/// The longest time between two parts, so that progress is shown also where no row is wanted.
const NEWS: Duration = Duration::from_millis(50);
/// How often the screen is drawn while values arrive.
const PICTURE: Duration = Duration::from_millis(100);

/// A message of the thread.
pub(crate) enum Part {
    /// Rows in the order of the log.
    Rows(Rows),
    /// The last part.
    End {
        /// The log goes on, but the memory is full.
        is_cut: bool,
        /// Why it was read no further.
        failed: Option<SourceError>,
    },
}

/// Some rows of all requested columns.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    /// How far the log was read, including unwanted rows.
    at: FileTime,
    times: Vec<FileTime>,
    values: Vec<Result<Value, NoValue>>,
    /// What sums lack, each with its position in its row.
    partial: Vec<(usize, PartialSum)>,
    /// For each row, the end of its partial sums.
    partial_ends: Vec<usize>,
}

impl Rows {
    /// How far the log was read.
    pub(crate) const fn at(&self) -> FileTime {
        self.at
    }

    /// The rows, each with its time.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (FileTime, LogRow<'_>)> {
        let columns = self.values.len().checked_div(self.times.len()).unwrap_or(0);
        let values = move |nth: usize| {
            let first = nth.saturating_mul(columns);
            let end = |nth: usize| self.partial_ends.get(nth).copied().unwrap_or_default();
            let before = nth.checked_sub(1).map_or(0, end);
            LogRow {
                values: self.values.get(first..first.saturating_add(columns)).unwrap_or_default(),
                partial: self.partial.get(before..end(nth)).unwrap_or_default(),
            }
        };
        self.times.iter().enumerate().map(move |(nth, time)| (*time, values(nth)))
    }
}

/// Rows that wait until the wanted time is among them; the previous picture stays that long.
#[derive(Debug)]
pub(crate) struct Staged {
    pub(crate) parts: Vec<Rows>,
    /// The first time of the shown rows, and whether the log continues after them.
    pub(crate) before: (FileTime, bool),
}

/// Columns that are being read. Dropping this ends the thread at the next record.
pub(crate) struct Loading {
    parts: Receiver<Part>,
    /// The position of the series of each column.
    pub(crate) positions: Vec<usize>,
    /// How many rows have arrived, where values go into existing rows.
    pub(crate) filled: Option<usize>,
    /// Show all rows at the end.
    pub(crate) shows_all: bool,
    /// Rows that wait to be shown.
    pub(crate) staged: Option<Staged>,
    /// The range of time that is read.
    times: (FileTime, FileTime),
    at: FileTime,
    drawn: Instant,
    pub(crate) is_new: bool,
    _wanted: Arc<()>,
}

/// The wanted rows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Span {
    /// The first time.
    pub(crate) from: FileTime,
    /// How many at most.
    pub(crate) most: usize,
    /// The range of time, for the progress.
    pub(crate) times: (FileTime, FileTime),
}

impl Loading {
    /// Starts to read: `read` passes the rows of the log to a function that returns whether to continue; it
    /// may check itself whether they are still wanted.
    ///
    /// # Errors
    ///
    /// The system has no more threads.
    pub(crate) fn begin<R>(span: Span, positions: Vec<usize>, read: R) -> std::io::Result<Loading>
    where
        R: FnOnce(&Weak<()>, &mut dyn FnMut(FileTime, LogRow<'_>) -> bool) -> Result<(), SourceError>,
        R: Send + 'static,
    {
        let (sender, parts) = mpsc::sync_channel(PARTS);
        let wanted = Arc::new(());
        let is_wanted = Arc::downgrade(&wanted);
        let run = move || {
            let mut parts_out = PartSender { sender, rows: Rows::default(), since: Instant::now(), given: 0 };
            let mut is_cut = false;
            let read = read(&is_wanted, &mut |time, values| {
                is_cut = time >= span.from && parts_out.given >= span.most;
                !is_cut && parts_out.take(time, values, time >= span.from) && is_wanted.strong_count() > 0
            });
            parts_out.give();
            // The receiver may be gone already.
            let _ = parts_out.sender.send(Part::End { is_cut, failed: read.err() });
        };
        thread::Builder::new().name("columns".to_string()).spawn(run)?;
        Ok(Loading {
            parts,
            positions,
            filled: None,
            shows_all: false,
            staged: None,
            times: span.times,
            at: span.times.0,
            drawn: Instant::now(),
            is_new: true,
            _wanted: wanted,
        })
    }

    /// The next part, if it arrives within a time.
    pub(crate) fn wait(&mut self, patience: Duration) -> Option<Part> {
        match self.parts.recv_timeout(patience) {
            Ok(part) => {
                if let Part::Rows(rows) = &part {
                    self.at = rows.at;
                }
                Some(part)
            }
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => Some(Part::End { is_cut: true, failed: None }),
        }
    }

    /// Whether it is time to draw again.
    pub(crate) fn is_due(&mut self) -> bool {
        let is_due = self.drawn.elapsed() >= PICTURE;
        if is_due {
            self.drawn = Instant::now();
        }
        is_due
    }

    /// Per cent of the time that was read.
    pub(crate) fn percent(&self) -> u64 {
        let (first, last) = self.times;
        let span = u128::from(last.0.saturating_sub(first.0));
        let read = u128::from(self.at.0.saturating_sub(first.0)).saturating_mul(100);
        u64::try_from(read.checked_div(span).unwrap_or(0).min(100)).unwrap_or(100)
    }
}

/// Collects rows into parts, on the thread.
struct PartSender {
    sender: SyncSender<Part>,
    rows: Rows,
    since: Instant,
    given: usize,
}

impl PartSender {
    /// Takes a row; `false` when the receiver is gone.
    fn take(&mut self, time: FileTime, row: LogRow<'_>, is_wanted: bool) -> bool {
        self.rows.at = time;
        if is_wanted {
            self.given = self.given.saturating_add(1);
            self.rows.times.push(time);
            self.rows.values.extend_from_slice(row.values);
            self.rows.partial.extend_from_slice(row.partial);
            self.rows.partial_ends.push(self.rows.partial.len());
        }
        let is_full = self.rows.values.len().max(self.rows.times.len()) >= PART;
        if is_full || self.since.elapsed() >= NEWS { self.give() } else { true }
    }

    /// Sends a part, and waits while too many are unread.
    fn give(&mut self) -> bool {
        self.since = Instant::now();
        self.sender.send(Part::Rows(std::mem::take(&mut self.rows))).is_ok()
    }
}
