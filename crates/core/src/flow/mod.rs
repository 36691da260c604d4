//! The data flow: a [`Source`] answers a request with a snapshot. Samples are read from the snapshot, values
//! are computed from samples, and a [`Sink`] receives both as [`Row`]s.

use alloc::borrow::Cow;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use crate::block::Snapshot;
use crate::counter::CounterType;
use crate::error::Error;
use crate::request::{Request, RequestKind};
use crate::time::{FileTime, Frequency};
use crate::title::{Language, TitleIndex, Titles};

mod partial;
pub mod performance_registry;
mod registered;
mod row;

pub use partial::PartialSum;
pub use registered::{RegisteredObjects, UnlistedService};
pub use row::{Cell, Column, LiveColumn, Row, Sink};

/// Answers requests: this machine, another machine, a log file, or a saved data block.
///
/// A source is [`Send`], so that another thread can take samples on a timer.
pub trait Source: Send {
    /// Collects the requested objects now, as one data block.
    ///
    /// An object that does not exist is missing from the answer. That is not an error.
    fn snapshot(&mut self, request: &Request) -> Result<Snapshot, SourceError>;

    /// Takes back a snapshot that is no longer needed, to reuse its memory for the next one. A source may
    /// ignore it.
    fn give_back(&mut self, snapshot: Snapshot) {
        drop(snapshot);
    }

    /// The definitions of the objects, costly ones or the others, without instances and values.
    ///
    /// A source that starts other programs for some objects leaves these out, so that nobody starts them
    /// who means other objects; [`Source::registered`] lists them.
    fn definitions(&mut self, costly: bool) -> Result<Snapshot, SourceError> {
        self.snapshot(&Request::from(RequestKind::Metadata { costly, old: false }))
    }

    /// The objects that [`Source::definitions`] leaves out: a request for one of them has its definition.
    fn registered(&mut self) -> RegisteredObjects {
        RegisteredObjects::default()
    }

    /// The names and help texts in `language`, or in English if the source does not have that language.
    fn titles(&mut self, language: Language) -> Result<Titles, SourceError>;

    /// Names in `language` beside those of [`Source::titles`]: translations of names that Windows leaves in
    /// English. Most languages have none.
    fn translations(&mut self, language: Language) -> Result<Titles, SourceError> {
        let _ = language;
        Ok(Titles::new())
    }

    /// Looks for an object that is costly to find, by a name that no object has otherwise; whether there is
    /// one now. Then [`Source::definitions`] and [`Source::titles`] have it too.
    fn discover(&mut self, object: &str) -> bool {
        let _ = object;
        false
    }

    /// The languages of its names and help texts, English first.
    fn languages(&self) -> Vec<Language> {
        Vec::from([Language::ENGLISH])
    }

    /// Names of the host besides the one in its data blocks: those under which a user knows it.
    fn host_names(&self) -> Vec<String> {
        Vec::new()
    }

    /// Why values of an object are old or missing: which provider should supply them, and what is wrong with
    /// it. `None` if no problem is known.
    fn trouble(&self, object: TitleIndex) -> Option<String> {
        let _ = object;
        None
    }
}

/// The raw values of one counter of one instance at one time: everything that a formula needs from that time.
///
/// This is what the Performance Data Helper calls a raw counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Sample {
    /// The counter type, which gives the numbers their meaning.
    pub counter_type: CounterType,
    /// The counter's own value, zero-extended from its size in the block.
    pub first: u64,
    /// The divisor: the performance time, the 100 ns time, the object's time or the base counter, depending
    /// on the type; 0 for types without a divisor.
    pub second: u64,
    /// Ticks per second of `second` if that is a clock, or the performance frequency for types that need it.
    pub frequency: Frequency,
    /// The number of resources in the sum (the multi base); 1 for types without a multi base.
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
    /// An exact count, even above 2^53.
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
/// This library never replaces a missing value with 0. Tools may.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum NoValue {
    /// The type needs two samples and there is one so far.
    FirstSample,
    /// The counter went backwards: it was reset, or another instance took its name or position.
    NegativeValue,
    /// The base counter went backwards.
    NegativeDenominator,
    /// The clock went backwards.
    NegativeTimebase,
    /// No time passed between the two samples, or the frequency is unknown.
    ZeroTimebase,
    /// The base of a percentage is 0, or did not change between the two samples.
    ZeroDenominator,
    /// An average per operation, over an interval without operations. Windows shows 0.
    NoOperations,
    /// The two samples are of different types.
    TypeMismatch,
    /// The counter type is unknown, so there is no formula. The raw value is kept.
    UnknownType,
    /// The counter is a base, a label or a text, so it has no number.
    NotNumeric,
    /// The type needs a base counter after it, and there is none.
    NoBase,
    /// The start time is 0: the source does not know when it started.
    NoStartTime,
    /// The value in a log is infinite or not a number.
    NotFinite,
    /// The host can not be reached.
    NoMachine,
    /// The object does not exist.
    NoObject,
    /// The counter does not exist in its object.
    NoCounter,
    /// The instance does not exist, or no longer exists.
    NoInstance,
    /// The counter exists, but there is no value for it.
    NoData(Absence),
}

/// Why an existing counter has no value, as its provider reports.
///
/// A data block carries it in a status counter, see [`crate::block`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(u8)]
pub enum Absence {
    /// This system has nothing like the counter.
    NotOnThisSystem = 2,
    /// The running kernel is too old, or was built without the feature.
    NotInThisKernel = 3,
    /// The device or its driver does not report it.
    NotFromThisDevice = 4,
    /// More rights are needed.
    AccessDenied = 5,
    /// It is collected only with an option.
    NotEnabled = 6,
    /// The counted process, device or file disappeared during the read.
    Vanished = 7,
    /// The read failed or took too long.
    ReadFailed = 8,
    /// The request did not include this counter, so it was not read.
    NotRequested = 9,
    /// The number does not fit in the counter.
    OutOfRange = 10,
    /// The provider needs a second sample to compute it.
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

    /// The reason as text, to follow "no data: ".
    pub const fn words(self) -> &'static str {
        match self {
            Absence::NotOnThisSystem => "this system has nothing like it",
            Absence::NotInThisKernel => "the running kernel does not provide it",
            Absence::NotFromThisDevice => "the device or its driver does not report it",
            Absence::AccessDenied => "more rights are needed to read it",
            Absence::NotEnabled => "it is collected only with an option",
            Absence::Vanished => "what it counts disappeared during the read",
            Absence::ReadFailed => "reading it failed or took too long",
            Absence::NotRequested => "it was not requested",
            Absence::OutOfRange => "the number does not fit in the counter",
            Absence::FirstSample => "it needs a second sample",
            Absence::Other => "the provider has no value",
        }
    }
}

/// State of one value in a data block: present, old, or absent with a reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ValueState {
    /// The value is present.
    #[default]
    Present,
    /// The value is from an earlier time, because its source did not answer now.
    Stale,
    /// The value is a sum that lacks some of its parts.
    Partial(PartialSum),
    /// There is no value.
    Absent(Absence),
}

impl ValueState {
    /// The byte of this state in a status counter. A partial sum has numbers too, which are not in this byte:
    /// it has that of a present value.
    pub const fn to_byte(self) -> u8 {
        match self {
            ValueState::Present | ValueState::Partial(_) => 0,
            ValueState::Stale => 1,
            ValueState::Absent(absence) => absence as u8,
        }
    }

    /// The state of a byte in a status counter, except those of partial sums, whose numbers are elsewhere.
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
    /// All reasons.
    pub const ALL: [NoValue; 28] = [
        NoValue::FirstSample,
        NoValue::NegativeValue,
        NoValue::NegativeDenominator,
        NoValue::NegativeTimebase,
        NoValue::ZeroTimebase,
        NoValue::ZeroDenominator,
        NoValue::NoOperations,
        NoValue::TypeMismatch,
        NoValue::UnknownType,
        NoValue::NotNumeric,
        NoValue::NoBase,
        NoValue::NoStartTime,
        NoValue::NotFinite,
        NoValue::NoMachine,
        NoValue::NoObject,
        NoValue::NoCounter,
        NoValue::NoInstance,
        NoValue::NoData(Absence::NotOnThisSystem),
        NoValue::NoData(Absence::NotInThisKernel),
        NoValue::NoData(Absence::NotFromThisDevice),
        NoValue::NoData(Absence::AccessDenied),
        NoValue::NoData(Absence::NotEnabled),
        NoValue::NoData(Absence::Vanished),
        NoValue::NoData(Absence::ReadFailed),
        NoValue::NoData(Absence::NotRequested),
        NoValue::NoData(Absence::OutOfRange),
        NoValue::NoData(Absence::FirstSample),
        NoValue::NoData(Absence::Other),
    ];

    /// The reason with these words, as [`Display`](fmt::Display) writes them.
    ///
    /// ```
    /// use tallymon_core::flow::{Absence, NoValue};
    /// let reason = NoValue::NoData(Absence::Vanished);
    /// assert_eq!(NoValue::from_words(&reason.to_string()), Some(reason));
    /// assert_eq!(NoValue::from_words("no operations in the interval"), Some(NoValue::NoOperations));
    /// assert_eq!(NoValue::from_words("no idea"), None);
    /// ```
    pub fn from_words(words: &str) -> Option<NoValue> {
        NoValue::ALL.into_iter().find(|reason| reason.to_string() == words)
    }

    /// The status with which the Performance Data Helper reports this.
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
            NoValue::ZeroDenominator => "the base is 0 or did not change",
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

/// Why a source can not answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceError {
    /// The kind of failure. Tools derive their exit code from it.
    pub kind: SourceErrorKind,
    /// What failed, which part, where, and what to do.
    pub message: Cow<'static, str>,
}

/// Kinds of [`SourceError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SourceErrorKind {
    /// The requested thing does not exist.
    NotFound,
    /// More rights are needed.
    AccessDenied,
    /// The source can not be reached, or did not answer in time.
    Unreachable,
    /// The answer is not a data block.
    BadData,
    /// This system does not support it.
    Unsupported,
    /// Reading failed.
    Io,
}

impl SourceError {
    /// Creates an error from its kind and its message.
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
    fn states_survive_conversion_to_bytes() {
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
