//! Event streams of the .NET runtime, and `.nettrace` files, which have the same bytes: the format NetTrace
//! version 4, which .NET Core 3.1 and all later versions write.
//!
//! You pass anything that can be read; each call of [`Trace::next`] reads one object of the stream and hands
//! over the events in it. Events of different threads are not in the order of their times. Any bytes give
//! events or an error that names the field and its position. Memory is bounded by constants: a block, the
//! stacks of one interval, and the descriptions of events.

mod block;
mod cursor;
mod fields;

use std::collections::HashMap;
use std::fmt;
use std::io::{self, Read};
use std::sync::Arc;

pub(crate) use cursor::Cursor;
pub use fields::{Field, FieldKind, Value, Values};

/// The most bytes of a block. Those of the runtime have at most 100 KiB and one event.
const MOST_BLOCK: u32 = 16 << 20;
/// The most descriptions of events, and the most bytes that they may come from.
const MOST_METADATA: usize = 1 << 16;
/// The most addresses of stacks that are kept at a time.
const MOST_ADDRESSES: usize = 16 << 20;

/// Begins a stream.
const MAGIC: &[u8] = b"Nettrace";
/// The form of serialization, with its length.
const SERIALIZATION: &[u8] = b"\x14\0\0\0!FastSerialization.1";
/// The tags of objects.
const NULL: u8 = 1;
const BEGIN: u8 = 5;
const END: u8 = 6;

/// Why a stream has no more events.
#[derive(Debug)]
pub enum TraceError {
    /// It could not be read.
    Io(io::Error),
    /// Its bytes are not what the format allows.
    Damaged {
        /// The field.
        what: &'static str,
        /// Its position in the stream, in bytes.
        at: u64,
    },
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TraceError::Io(error) => error.fmt(f),
            TraceError::Damaged { what, at } => {
                write!(f, "damaged event stream at byte {at}: {what} is missing or wrong")
            }
        }
    }
}

impl std::error::Error for TraceError {}

impl From<io::Error> for TraceError {
    fn from(error: io::Error) -> TraceError {
        TraceError::Io(error)
    }
}

/// What a stream says about itself at its beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Start {
    /// When the session began, in nanoseconds from 1970.
    pub civil: u64,
    /// The same moment on the clock of the events.
    pub ticks: u64,
    /// Ticks of that clock per second.
    pub frequency: u64,
    /// Bytes of an address.
    pub pointer_size: u32,
    /// The process, in its own namespace.
    pub pid: u32,
    /// Processors of the machine.
    pub processors: u32,
}

impl Start {
    /// Nanoseconds from the start of the session to a time of an event; 0 for earlier times.
    pub fn nanoseconds(&self, ticks: u64) -> u64 {
        let ticks = u128::from(ticks.saturating_sub(self.ticks));
        let nanoseconds = ticks.saturating_mul(1_000_000_000).checked_div(u128::from(self.frequency));
        nanoseconds.and_then(|time| u64::try_from(time).ok()).unwrap_or(0)
    }
}

/// The description of a kind of event.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EventKind {
    /// The program part that writes it, such as `System.Runtime`.
    pub provider: String,
    /// Its number in that part.
    pub id: u32,
    /// Its name; empty for the runtime's own.
    pub name: String,
    /// Its version.
    pub version: u32,
    /// Its fields; none for the runtime's own, which have fixed layouts.
    pub fields: Vec<Field>,
}

/// One event.
#[derive(Debug, Clone)]
pub struct Event<'a> {
    /// What kind of event it is.
    pub kind: &'a EventKind,
    /// When it happened, on the clock of [`Start`].
    pub ticks: u64,
    /// The thread in which it happened, by the number that the kernel gives it.
    pub thread: u64,
    /// The addresses of the calls, the innermost first; empty when it has no stack.
    pub stack: &'a [u64],
    /// The values of its fields.
    pub payload: &'a [u8],
    /// Bytes of an address in the program.
    pub pointer_size: u32,
}

impl Event<'_> {
    /// The values of an event that describes its fields.
    pub fn values(&self) -> Values {
        fields::values(&self.kind.fields, self.payload)
    }
}

/// A stream of events.
pub struct Trace<R> {
    input: R,
    /// Bytes read so far.
    at: u64,
    start: Start,
    kinds: HashMap<u32, Arc<EventKind>>,
    /// The stacks by number, since the last point at which the runtime began to count anew.
    stacks: HashMap<u32, Arc<[u64]>>,
    addresses: usize,
    /// Events that the runtime could not deliver, because a reader was too slow.
    lost: u64,
    block: Vec<u8>,
    sequence: HashMap<u64, u32>,
}

impl<R: Read> Trace<R> {
    /// Reads the beginning of a stream.
    ///
    /// # Errors
    ///
    /// The input ends or fails, or it is not an event stream of version 4.
    pub fn new(input: R) -> Result<Trace<R>, TraceError> {
        let mut trace = Trace {
            input,
            at: 0,
            start: Start::default(),
            kinds: HashMap::new(),
            stacks: HashMap::new(),
            addresses: 0,
            lost: 0,
            block: Vec::new(),
            sequence: HashMap::new(),
        };
        trace.expect(MAGIC, "the word Nettrace")?;
        trace.expect(SERIALIZATION, "the form of serialization")?;
        let damaged = |at| TraceError::Damaged { what: "the object Trace", at };
        match trace.object_name()? {
            Some((name, 4)) if name == "Trace" => trace.read_start()?,
            _ => return Err(damaged(trace.at)),
        }
        Ok(trace)
    }

    /// What the stream says about itself.
    pub fn start(&self) -> &Start {
        &self.start
    }

    /// Events that the runtime dropped so far, as its sequence numbers show.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Reads the next object, and passes the events in it. False at the end of the stream.
    ///
    /// # Errors
    ///
    /// The input fails, ends within an object, or is damaged. No more events can be read then.
    pub fn next(&mut self, each: &mut dyn FnMut(&Event<'_>)) -> Result<bool, TraceError> {
        let Some((name, _)) = self.object_name()? else { return Ok(false) };
        let length_at = self.at;
        let length = u32::from_le_bytes(self.array("the length of a block")?);
        if length > MOST_BLOCK {
            return Err(TraceError::Damaged { what: "the length of a block", at: length_at });
        }
        while self.at & 3 != 0 {
            self.array::<1>("padding")?;
        }
        let mut block = std::mem::take(&mut self.block);
        block.clear();
        let begin = self.at;
        let read = self.input.by_ref().take(u64::from(length)).read_to_end(&mut block)?;
        self.at = self.at.saturating_add(u64::try_from(read).unwrap_or(u64::MAX));
        if u32::try_from(read) != Ok(length) {
            return Err(TraceError::Damaged { what: "the rest of a block", at: self.at });
        }
        let cursor = Cursor::new(&block, begin);
        match name.as_str() {
            "MetadataBlock" => self.read_metadata(cursor)?,
            "EventBlock" => self.read_events(cursor, each)?,
            "StackBlock" => self.read_stacks(cursor)?,
            "SPBlock" => self.read_sequence_point(cursor)?,
            // A later version may have more; its length is enough to pass it.
            _ => {}
        }
        self.block = block;
        self.expect(&[END], "the end of an object")?;
        Ok(true)
    }

    fn array<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N], TraceError> {
        let mut array = [0; N];
        let at = self.at;
        self.input.read_exact(&mut array).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => TraceError::Damaged { what, at },
            _ => TraceError::Io(error),
        })?;
        self.at = self.at.saturating_add(u64::try_from(N).unwrap_or(u64::MAX));
        Ok(array)
    }

    /// Reads bytes that must be these.
    fn expect(&mut self, expected: &[u8], what: &'static str) -> Result<(), TraceError> {
        let at = self.at;
        for byte in expected {
            if self.array(what)? != [*byte] {
                return Err(TraceError::Damaged { what, at });
            }
        }
        Ok(())
    }

    /// Reads the beginning of an object: its name and version. `None` at the end of the stream.
    fn object_name(&mut self) -> Result<Option<(String, u32)>, TraceError> {
        let at = self.at;
        let damaged = TraceError::Damaged { what: "the beginning of an object", at };
        match self.array("the beginning of an object")? {
            [NULL] => return Ok(None),
            [BEGIN] => {}
            _ => return Err(damaged),
        }
        self.expect(&[BEGIN, NULL], "the type of an object")?;
        let version = u32::from_le_bytes(self.array("the version of an object")?);
        let needed = u32::from_le_bytes(self.array("the reader's version of an object")?);
        if needed > 4 {
            return Err(TraceError::Damaged { what: "a version that can be read", at });
        }
        let length = u32::from_le_bytes(self.array("the length of an object's name")?);
        if length > 64 {
            return Err(TraceError::Damaged { what: "the length of an object's name", at });
        }
        let mut name = String::new();
        for _ in 0..length {
            let [byte] = self.array("the name of an object")?;
            name.push(char::from(byte));
        }
        self.expect(&[END], "the end of a type")?;
        Ok(Some((name, version)))
    }

    fn read_start(&mut self) -> Result<(), TraceError> {
        let begin = self.at;
        let bytes: [u8; 48] = self.array("the object Trace")?;
        let mut cursor = Cursor::new(&bytes, begin);
        let mut parts = [0u16; 8];
        for part in &mut parts {
            *part = cursor.u16("the start time")?;
        }
        self.start = Start {
            civil: civil(parts),
            ticks: cursor.u64("the start time")?,
            frequency: cursor.u64("the frequency of the clock")?,
            pointer_size: cursor.u32("the size of an address")?,
            pid: cursor.u32("the process id")?,
            processors: cursor.u32("the number of processors")?,
        };
        if !matches!(self.start.pointer_size, 4 | 8) || self.start.frequency == 0 {
            return Err(TraceError::Damaged { what: "the clock or the size of an address", at: begin });
        }
        self.expect(&[END], "the end of an object")
    }
}

/// Nanoseconds from 1970 of a year, month, day of the week, day, hour, minute, second and millisecond.
fn civil(parts: [u16; 8]) -> u64 {
    let [year, month, _, day, hour, minute, second, milli] = parts.map(i64::from);
    // Years that begin in March have the day that may be missing at their end.
    let (year, month) = if month <= 2 {
        (year.saturating_sub(1), month.saturating_add(9))
    } else {
        (year, month.saturating_sub(3))
    };
    let leaps = (year / 4).saturating_sub(year / 100).saturating_add(year / 400);
    let days = year
        .saturating_mul(365)
        .saturating_add(leaps)
        .saturating_add(month.saturating_mul(153).saturating_add(2) / 5)
        .saturating_add(day)
        .saturating_sub(719_469);
    let seconds = [(24, hour), (60, minute), (60, second), (1000, milli), (1_000_000, 0)];
    let time =
        seconds.iter().fold(days, |sum, (scale, part)| sum.saturating_mul(*scale).saturating_add(*part));
    u64::try_from(time).unwrap_or(0)
}

#[cfg(test)]
#[path = "nettrace_tests.rs"]
mod tests;
