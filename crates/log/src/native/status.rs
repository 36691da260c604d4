//! The numbers for the reasons why a value is missing.

use tallymon_core::flow::{NoValue, ValueState};

/// The value is there.
pub(super) const PRESENT: u64 = 0;
/// The value is there, but stale.
pub(super) const STALE: u64 = 1;
/// The instance does not exist.
pub(super) const GONE: u64 = 2;
/// Reasons of providers begin here; each adds its byte of [`ValueState`].
const NO_DATA: u64 = 0x100;

/// Reasons and their numbers. A number is never used for another reason.
const REASONS: [(NoValue, u64); 16] = [
    (NoValue::NoInstance, GONE),
    (NoValue::FirstSample, 3),
    (NoValue::NegativeValue, 4),
    (NoValue::NegativeDenominator, 5),
    (NoValue::NegativeTimebase, 6),
    (NoValue::ZeroTimebase, 7),
    (NoValue::ZeroDenominator, 8),
    (NoValue::TypeMismatch, 9),
    (NoValue::UnknownType, 10),
    (NoValue::NotNumeric, 11),
    (NoValue::NoBase, 12),
    (NoValue::NoStartTime, 13),
    (NoValue::NotFinite, 14),
    (NoValue::NoMachine, 15),
    (NoValue::NoObject, 16),
    (NoValue::NoCounter, 17),
];

/// The number of a reason.
pub(super) fn code(reason: NoValue) -> u64 {
    if let NoValue::NoData(absence) = reason {
        return NO_DATA | u64::from(ValueState::Absent(absence).to_byte());
    }
    let found = REASONS.iter().find(|(other, _)| *other == reason);
    found.map_or(NO_DATA | 0xff, |(_, code)| *code)
}

/// The reason of a number; `None` if the value is there.
pub(super) fn reason(code: u64) -> Option<NoValue> {
    if code <= STALE {
        return None;
    }
    let found = REASONS.iter().find(|(_, other)| *other == code).map(|(reason, _)| *reason);
    Some(found.unwrap_or_else(|| {
        let byte = u8::try_from(code & 0xff).unwrap_or(u8::MAX);
        match ValueState::from_byte(byte) {
            ValueState::Absent(absence) => NoValue::NoData(absence),
            ValueState::Present | ValueState::Stale => NoValue::NoData(tallymon_core::flow::Absence::Other),
        }
    }))
}

#[cfg(test)]
mod tests {
    use tallymon_core::flow::Absence;

    use super::*;

    #[test]
    fn reasons_are_read_back() {
        let absences = Absence::ALL.map(NoValue::NoData);
        for no_value in REASONS.map(|(reason, _)| reason).into_iter().chain(absences) {
            assert_eq!(reason(code(no_value)), Some(no_value));
        }
        assert_eq!((reason(PRESENT), reason(STALE)), (None, None));
        assert_eq!(reason(99_999), Some(NoValue::NoData(Absence::Other)));
    }
}
