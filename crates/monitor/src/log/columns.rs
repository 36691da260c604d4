//! Columns of a log that are being read, on a thread of their own: the screen shows what came so far.

use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::{Duration, Instant};

use tallymon::core::flow::{NoValue, SourceError, Value};
use tallymon::core::time::FileTime;

/// Values that are handed over at once, and how many such parts may wait for the screen: a few megabytes.
const PART: usize = 8_192;
const PARTS: usize = 16;
/// The longest time between two parts: a log without values for anybody shows how far it is as well.
const NEWS: Duration = Duration::from_millis(50);
/// How often the screen is drawn while values come.
const PICTURE: Duration = Duration::from_millis(100);

/// What one row has.
pub(crate) type Values<'a> = &'a [Result<Value, NoValue>];

/// What the thread hands over.
pub(crate) enum Part {
    /// Rows in the order of the log.
    Rows(Rows),
    /// There is no more to come.
    End {
        /// The log goes on, but the memory is full.
        is_cut: bool,
        /// Why it was read no further.
        failed: Option<SourceError>,
    },
}

/// Some rows of all columns that were asked for.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    /// How far the log was read, also through rows that nobody wants.
    at: FileTime,
    times: Vec<FileTime>,
    values: Vec<Result<Value, NoValue>>,
}

impl Rows {
    /// How far the log was read.
    pub(crate) const fn at(&self) -> FileTime {
        self.at
    }

    /// Each with its time.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (FileTime, Values<'_>)> {
        let columns = self.values.len().checked_div(self.times.len()).unwrap_or(0);
        let values = move |nth: usize| {
            let first = nth.saturating_mul(columns);
            self.values.get(first..first.saturating_add(columns)).unwrap_or_default()
        };
        self.times.iter().enumerate().map(move |(nth, time)| (*time, values(nth)))
    }
}

/// Rows that wait until what somebody wants to see is among them: the picture of before stays that long.
#[derive(Debug)]
pub(crate) struct Staged {
    pub(crate) parts: Vec<Rows>,
    /// Where the rows that are shown begin, and whether the log goes on behind them.
    pub(crate) before: (FileTime, bool),
}

/// Columns on their way. When this goes away, nobody wants them any more, and the thread ends at the next record.
pub(crate) struct Loading {
    parts: Receiver<Part>,
    /// The series that each column is of.
    pub(crate) positions: Vec<usize>,
    /// Rows that came, where values are put into rows that there are already.
    pub(crate) filled: Option<usize>,
    /// Everything is to be in view at the end.
    pub(crate) shows_all: bool,
    /// Rows that wait to be shown.
    pub(crate) staged: Option<Staged>,
    /// The times between which lies what is read.
    times: (FileTime, FileTime),
    at: FileTime,
    drawn: Instant,
    pub(crate) is_new: bool,
    _wanted: Arc<()>,
}

/// Which rows are wanted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Span {
    /// None before this time.
    pub(crate) from: FileTime,
    /// How many at most.
    pub(crate) most: usize,
    /// The times between which they lie.
    pub(crate) times: (FileTime, FileTime),
}

impl Loading {
    /// Begins to read: `read` gives the rows of the log to a function that says whether to go on; it may ask whether
    /// anybody wants them still.
    ///
    /// # Errors
    ///
    /// The system has no more threads.
    pub(crate) fn begin<R>(span: Span, positions: Vec<usize>, read: R) -> std::io::Result<Loading>
    where
        R: FnOnce(&Weak<()>, &mut dyn FnMut(FileTime, Values<'_>) -> bool) -> Result<(), SourceError>,
        R: Send + 'static,
    {
        let (sender, parts) = mpsc::sync_channel(PARTS);
        let wanted = Arc::new(());
        let is_wanted = Arc::downgrade(&wanted);
        let run = move || {
            let mut hand = Hand { sender, rows: Rows::default(), since: Instant::now(), given: 0 };
            let mut is_cut = false;
            let read = read(&is_wanted, &mut |time, values| {
                is_cut = time >= span.from && hand.given >= span.most;
                !is_cut && hand.take(time, values, time >= span.from) && is_wanted.strong_count() > 0
            });
            hand.give();
            // Whoever wanted it may have gone just now.
            let _ = hand.sender.send(Part::End { is_cut, failed: read.err() });
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

    /// The next part, if it comes within a time.
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

    /// Whether it is time for a new picture.
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

/// The side of the thread.
struct Hand {
    sender: SyncSender<Part>,
    rows: Rows,
    since: Instant,
    given: usize,
}

impl Hand {
    /// Takes a row; `false` when nobody is there any more.
    fn take(&mut self, time: FileTime, values: Values<'_>, is_wanted: bool) -> bool {
        self.rows.at = time;
        if is_wanted {
            self.given = self.given.saturating_add(1);
            self.rows.times.push(time);
            self.rows.values.extend_from_slice(values);
        }
        let is_full = self.rows.values.len().max(self.rows.times.len()) >= PART;
        if is_full || self.since.elapsed() >= NEWS { self.give() } else { true }
    }

    /// Hands over what there is, and waits while too much of it lies there.
    fn give(&mut self) -> bool {
        self.since = Instant::now();
        self.sender.send(Part::Rows(std::mem::take(&mut self.rows))).is_ok()
    }
}
