//! The numbers for the reasons why a value is missing.

use tallymon_core::flow::{NoValue, PartialSum, ValueState};

/// The value is there.
pub(super) const PRESENT: u64 = 0;
/// The value is there, but stale.
pub(super) const STALE: u64 = 1;
/// The instance does not exist.
pub(super) const GONE: u64 = 2;
/// The lowest bits of a partial sum: readers before this number take it for [`NO_DATA`] without a known reason.
const PARTIAL: u64 = 0xff;
/// The most parts of a sum that its number holds.
const MOST_PARTS: u32 = (1 << 26) - 1;
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

/// The number of the state of a value that is there.
pub(super) fn present(state: ValueState) -> u64 {
    match state {
        ValueState::Present | ValueState::Absent(_) => PRESENT,
        ValueState::Stale => STALE,
        ValueState::Partial(PartialSum { missing, whole, reason }) => {
            // From the lowest bit: 8 as above, 26 for all parts, 26 for the missing ones, 4 for the reason, which
            // is never 0.
            let (missing, whole) = (missing.min(MOST_PARTS), whole.min(MOST_PARTS));
            let reason = ValueState::Absent(reason).to_byte().min(15);
            PARTIAL | u64::from(whole) << 8 | u64::from(missing) << 34 | u64::from(reason) << 60
        }
    }
}

/// The partial sum of a number.
pub(super) fn partial(code: u64) -> Option<PartialSum> {
    let reason = match ValueState::from_byte(u8::try_from(code >> 60).unwrap_or_default()) {
        ValueState::Absent(reason) => reason,
        _ => return None,
    };
    let parts = |shift: u32| u32::try_from(code >> shift & u64::from(MOST_PARTS)).unwrap_or_default();
    PartialSum::new(parts(34), parts(8), reason).filter(|_| code & 0xff == PARTIAL)
}

/// The reason of a number; `None` if the value is there.
pub(super) fn reason(code: u64) -> Option<NoValue> {
    if code <= STALE || partial(code).is_some() {
        return None;
    }
    let found = REASONS.iter().find(|(_, other)| *other == code).map(|(reason, _)| *reason);
    Some(found.unwrap_or_else(|| {
        let byte = u8::try_from(code & 0xff).unwrap_or(u8::MAX);
        match ValueState::from_byte(byte) {
            ValueState::Absent(absence) => NoValue::NoData(absence),
            _ => NoValue::NoData(tallymon_core::flow::Absence::Other),
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

    #[test]
    fn partial_sums_are_read_back() {
        for why in Absence::ALL {
            for (missing, whole) in [(1, 1), (1, 117), (MOST_PARTS, MOST_PARTS)] {
                let sum = PartialSum::new(missing, whole, why).unwrap();
                let code = present(ValueState::Partial(sum));
                assert_eq!((partial(code), reason(code)), (Some(sum), None));
            }
        }
        let more = PartialSum::new(1, u32::MAX, Absence::Other).unwrap();
        assert_eq!(partial(present(ValueState::Partial(more))).map(|sum| sum.whole), Some(MOST_PARTS));
        for code in [PRESENT, STALE, GONE, 0xff, u64::MAX, 5 << 60 | 0xff, 5 << 60 | 1 << 34 | 1 << 8] {
            assert_eq!(partial(code).is_some(), code == u64::MAX, "{code:x}");
        }
        assert_eq!(reason(5 << 60 | 0xff), Some(NoValue::NoData(Absence::Other)), "none of it is there");
    }
}
