//! Samples and values, and the reasons why there is none.

use alloc::string::{String, ToString};
use core::fmt;

use super::absence::Absence;
use super::partial::PartialSum;
use crate::counter::CounterType;
use crate::time::{FileTime, Frequency};

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
    /// The host cannot be reached.
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
            NoValue::NoMachine => "the host cannot be reached",
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
