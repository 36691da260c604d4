//! What moves through the system: a request goes to a [`Source`], a snapshot comes back, samples are read from it, values
//! are computed from samples, and [`Row`]s of samples and values go to a [`Sink`].

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use crate::block::Snapshot;
use crate::counter::CounterType;
use crate::error::Error;
use crate::request::Request;
use crate::time::{FileTime, Frequency};
use crate::title::{Language, TitleIndex, Titles};

mod row;

pub use row::{Cell, Column, LiveColumn, Row, Sink};

/// Anything that can answer a request: this machine, another one, a log file, some bytes in a file.
///
/// A source can move to another thread, so that samples can be taken on a timer there.
pub trait Source: Send {
    /// The objects that `request` asks for, as one data block taken now.
    ///
    /// An object that does not exist is missing from the answer; that is no error.
    fn snapshot(&mut self, request: &Request) -> Result<Snapshot, SourceError>;

    /// Takes the memory of an answer that is no longer needed, for the next one. A source may ignore it.
    fn give_back(&mut self, snapshot: Snapshot) {
        drop(snapshot);
    }

    /// The names and help texts in `language`. A source that has only some languages answers with English for others.
    fn titles(&mut self, language: Language) -> Result<Titles, SourceError>;

    /// The languages that it has texts in, English first.
    fn languages(&self) -> Vec<Language> {
        Vec::from([Language::ENGLISH])
    }

    /// Why values of an object are old or missing, in words: who should give them, and what is wrong with that; `None`
    /// when nothing is known to be wrong.
    fn trouble(&self, object: TitleIndex) -> Option<String> {
        let _ = object;
        None
    }
}

/// The raw values of one counter of one instance at one time: all that a formula needs of that time.
///
/// This is what the Performance Data Helper calls a raw counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Sample {
    /// How the numbers are to be read.
    pub counter_type: CounterType,
    /// The counter itself, zero-extended from its size in the block.
    pub first: u64,
    /// What it is divided by: the performance time, the 100 ns time, the object's time, or the base counter, as the
    /// type says; 0 for types without.
    pub second: u64,
    /// Ticks per second of `second` if that is a clock; for types that need the performance frequency, that.
    pub frequency: Frequency,
    /// How many resources were added up (the multi base); 1 for types without.
    pub multi_count: u32,
    /// When the sample was taken, UTC.
    pub time: FileTime,
}

/// A computed value.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Value {
    /// A rate, share, average or time.
    Number(f64),
    /// A count that is exact, also above 2^53.
    Integer(u64),
    /// A text counter.
    Text(String),
}

impl Value {
    /// The value as a number; `None` for text.
    ///
    /// An [`Value::Integer`] above 2^53 is rounded.
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Value::Number(number) => Some(*number),
            Value::Integer(integer) => Some(*integer as f64),
            Value::Text(_) => None,
        }
    }
}

/// Why there is no value.
///
/// It is never replaced by a zero in this library; tools may choose to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum NoValue {
    /// The type needs two samples and there is one so far.
    FirstSample,
    /// The counter went backwards: it was reset, or it belongs to something else now.
    NegativeValue,
    /// The base counter went backwards.
    NegativeDenominator,
    /// The clock went backwards.
    NegativeTimebase,
    /// No time passed between the two samples, or the frequency is not known.
    ZeroTimebase,
    /// The base of a share is zero.
    ZeroDenominator,
    /// An average, a time or amount for each operation, over an interval without operations. Windows shows 0.
    NoOperations,
    /// The two samples are of different types.
    TypeMismatch,
    /// The counter type is one that nobody has described; the raw value is kept.
    UnknownType,
    /// The counter is a base, a label or a text: it has no number.
    NotNumeric,
    /// The type needs a base counter behind it and there is none.
    NoBase,
    /// The start time is 0: nobody noted when it started.
    NoStartTime,
    /// The value of a log is infinite or not a number.
    NotFinite,
    /// The host can not be reached.
    NoMachine,
    /// The object does not exist.
    NoObject,
    /// The counter does not exist in its object.
    NoCounter,
    /// The instance does not exist, or no longer.
    NoInstance,
    /// The counter exists, but there is no value for it.
    NoData(Absence),
}

/// Why a counter that exists has no value, as the provider of the value says.
///
/// It travels through a data block in a status counter, see [`crate::block`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(u8)]
pub enum Absence {
    /// This system has nothing like it.
    NotOnThisSystem = 2,
    /// The running kernel is too old or was built without it.
    NotInThisKernel = 3,
    /// The device or driver does not tell.
    NotFromThisDevice = 4,
    /// More rights are needed.
    AccessDenied = 5,
    /// It is collected only when an option asks for it.
    NotEnabled = 6,
    /// What it describes went away while it was read.
    Vanished = 7,
    /// The read failed or took too long.
    ReadFailed = 8,
    /// Nobody asked for this counter, so it was not read.
    NotRequested = 9,
    /// The number does not fit into the counter.
    OutOfRange = 10,
    /// The provider itself needs a second sample for it.
    FirstSample = 11,
    /// A reason that this version does not know.
    Other = 255,
}

impl Absence {
    /// All reasons.
    pub const ALL: [Absence; 11] = [
        Absence::NotOnThisSystem,
        Absence::NotInThisKernel,
        Absence::NotFromThisDevice,
        Absence::AccessDenied,
        Absence::NotEnabled,
        Absence::Vanished,
        Absence::ReadFailed,
        Absence::NotRequested,
        Absence::OutOfRange,
        Absence::FirstSample,
        Absence::Other,
    ];

    /// The reason in words, to follow "no data: ".
    pub const fn words(self) -> &'static str {
        match self {
            Absence::NotOnThisSystem => "this system has nothing like it",
            Absence::NotInThisKernel => "the running kernel does not provide it",
            Absence::NotFromThisDevice => "the device or its driver does not tell",
            Absence::AccessDenied => "more rights are needed to read it",
            Absence::NotEnabled => "it is collected only when an option asks for it",
            Absence::Vanished => "what it describes went away while it was read",
            Absence::ReadFailed => "reading it failed or took too long",
            Absence::NotRequested => "it was not asked for",
            Absence::OutOfRange => "the number does not fit into the counter",
            Absence::FirstSample => "it is known from the second sample on",
            Absence::Other => "the provider has no value",
        }
    }
}

/// State of one value in a data block: there, there but old, or absent with a reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ValueState {
    /// The value is there.
    #[default]
    Present,
    /// The value is there, but from an earlier time: its source did not answer now.
    Stale,
    /// There is no value.
    Absent(Absence),
}

impl ValueState {
    /// The byte that stands for this state in a status counter.
    pub const fn to_byte(self) -> u8 {
        match self {
            ValueState::Present => 0,
            ValueState::Stale => 1,
            ValueState::Absent(absence) => absence as u8,
        }
    }

    /// The state that a byte of a status counter stands for.
    pub const fn from_byte(byte: u8) -> ValueState {
        match byte {
            0 => ValueState::Present,
            1 => ValueState::Stale,
            2 => ValueState::Absent(Absence::NotOnThisSystem),
            3 => ValueState::Absent(Absence::NotInThisKernel),
            4 => ValueState::Absent(Absence::NotFromThisDevice),
            5 => ValueState::Absent(Absence::AccessDenied),
            6 => ValueState::Absent(Absence::NotEnabled),
            7 => ValueState::Absent(Absence::Vanished),
            8 => ValueState::Absent(Absence::ReadFailed),
            9 => ValueState::Absent(Absence::NotRequested),
            10 => ValueState::Absent(Absence::OutOfRange),
            11 => ValueState::Absent(Absence::FirstSample),
            _ => ValueState::Absent(Absence::Other),
        }
    }
}

impl NoValue {
    /// The status code and name under which the Performance Data Helper reports this.
    pub const fn pdh_status(self) -> PdhStatus {
        const fn status(code: u32, name: &'static str) -> PdhStatus {
            PdhStatus { code, name }
        }
        match self {
            NoValue::FirstSample
            | NoValue::ZeroTimebase
            | NoValue::ZeroDenominator
            | NoValue::NoOperations => status(0xC000_0BC6, "PDH_INVALID_DATA"),
            NoValue::TypeMismatch
            | NoValue::NoBase
            | NoValue::NoStartTime
            | NoValue::NotFinite
            | NoValue::NoData(_) => status(0xC000_0BBA, "PDH_CSTATUS_INVALID_DATA"),
            NoValue::UnknownType | NoValue::NotNumeric => status(0xC000_0BBD, "PDH_INVALID_ARGUMENT"),
            NoValue::NegativeValue => status(0x8000_07D8, "PDH_CALC_NEGATIVE_VALUE"),
            NoValue::NegativeDenominator => status(0x8000_07D6, "PDH_CALC_NEGATIVE_DENOMINATOR"),
            NoValue::NegativeTimebase => status(0x8000_07D7, "PDH_CALC_NEGATIVE_TIMEBASE"),
            NoValue::NoMachine => status(0x8000_07D0, "PDH_CSTATUS_NO_MACHINE"),
            NoValue::NoObject => status(0xC000_0BB8, "PDH_CSTATUS_NO_OBJECT"),
            NoValue::NoCounter => status(0xC000_0BB9, "PDH_CSTATUS_NO_COUNTER"),
            NoValue::NoInstance => status(0x8000_07D1, "PDH_CSTATUS_NO_INSTANCE"),
        }
    }
}

impl fmt::Display for NoValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = match self {
            NoValue::FirstSample => "a second sample is needed",
            NoValue::NegativeValue => "the counter went backwards",
            NoValue::NegativeDenominator => "the base counter went backwards",
            NoValue::NegativeTimebase => "the clock went backwards",
            NoValue::ZeroTimebase => "no time passed between the two samples",
            NoValue::ZeroDenominator => "nothing happened in the interval",
            NoValue::NoOperations => "no operations in the interval",
            NoValue::TypeMismatch => "the two samples are of different types",
            NoValue::UnknownType => "unknown counter type",
            NoValue::NotNumeric => "the counter is not a number",
            NoValue::NoBase => "the base counter is missing",
            NoValue::NoStartTime => "the start time is not known",
            NoValue::NotFinite => "the value is infinite or not a number",
            NoValue::NoMachine => "the host can not be reached",
            NoValue::NoObject => "no such object",
            NoValue::NoCounter => "no such counter",
            NoValue::NoInstance => "no such instance",
            NoValue::NoData(absence) => return write!(f, "no data: {}", absence.words()),
        };
        f.write_str(words)
    }
}

/// A status of the Performance Data Helper.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PdhStatus {
    /// Its number.
    pub code: u32,
    /// Its name in `pdhmsg.h`.
    pub name: &'static str,
}

/// Why a source has no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceError {
    /// What kind of failure it is; tools choose their exit code by it.
    pub kind: SourceErrorKind,
    /// What failed, which part, where, and what to do, in words.
    pub message: Cow<'static, str>,
}

/// Kinds of [`SourceError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SourceErrorKind {
    /// What was asked for does not exist.
    NotFound,
    /// More rights are needed.
    AccessDenied,
    /// It can not be reached, or did not answer in time.
    Unreachable,
    /// The answer is not a data block.
    BadData,
    /// This system can not do it at all.
    Unsupported,
    /// Reading failed.
    Io,
}

impl SourceError {
    /// An error of a kind with its words.
    pub fn new(kind: SourceErrorKind, message: impl Into<Cow<'static, str>>) -> SourceError {
        SourceError { kind, message: message.into() }
    }
}

impl From<Error> for SourceError {
    fn from(error: Error) -> SourceError {
        SourceError::new(SourceErrorKind::BadData, alloc::format!("not a valid data block: {error}"))
    }
}

impl fmt::Display for SourceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl core::error::Error for SourceError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_go_round() {
        for absence in Absence::ALL {
            let state = ValueState::Absent(absence);
            assert_eq!(ValueState::from_byte(state.to_byte()), state);
            assert!(!absence.words().is_empty());
        }
        assert_eq!(ValueState::from_byte(ValueState::Stale.to_byte()), ValueState::Stale);
        assert_eq!(ValueState::from_byte(0), ValueState::Present);
        assert_eq!(ValueState::from_byte(77), ValueState::Absent(Absence::Other));
    }
}
