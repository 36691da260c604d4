//! One value of a series at one time, or the reason why there is none, in 8 bytes.

use tallymon::core::flow::{Absence, NoValue, Value};

/// A number, or the reason for a gap.
///
/// A series keeps hours of them, so the reason is kept in the payload of a NaN, which is never shown:
/// [`Point::read`] gives the value or the reason.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Point(u64);

/// Bytes that the memory budget counts for one value.
pub const POINT_BYTES: usize = size_of::<Point>();

/// A quiet NaN; the position of the reason in [`NoValue::ALL`] is added to it.
const GAP: u64 = 0x7ff8_0000_0000_0000;

impl Point {
    /// A number. Infinity and NaN become gaps with that reason.
    pub fn number(number: f64) -> Point {
        if number.is_finite() { Point(number.to_bits()) } else { Point::gap(NoValue::NotFinite) }
    }

    /// A value, or the reason why there is none; a text is a gap. An average without operations is drawn as
    /// 0.
    pub fn of(value: &Result<Value, NoValue>) -> Point {
        match value {
            Err(NoValue::NoOperations) => Point::number(0.0),
            Ok(value) => value.as_f64().map_or(Point::gap(NoValue::NotNumeric), Point::number),
            Err(why) => Point::gap(*why),
        }
    }

    /// A gap with its reason. A reason that this version does not know is "the provider has no value".
    pub fn gap(why: NoValue) -> Point {
        let last = NoValue::ALL.len().saturating_sub(1);
        let code = NoValue::ALL.iter().position(|reason| *reason == why).unwrap_or(last);
        Point(GAP | code as u64)
    }

    /// The number, or why there is none.
    ///
    /// # Errors
    ///
    /// The reason for the gap.
    pub fn read(self) -> Result<f64, NoValue> {
        let number = f64::from_bits(self.0);
        if !number.is_nan() {
            return Ok(number);
        }
        let code = usize::try_from(self.0 & 0xff).unwrap_or(usize::MAX);
        Err(NoValue::ALL.get(code).copied().unwrap_or(NoValue::NoData(Absence::Other)))
    }
}

impl std::fmt::Debug for Point {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.read().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_reasons_go_round() {
        for number in [0.0, -0.5, 100.0, 1e300, f64::MIN_POSITIVE] {
            assert_eq!(Point::number(number).read(), Ok(number));
        }
        for why in NoValue::ALL {
            assert_eq!(Point::gap(why).read(), Err(why));
        }
        for absence in Absence::ALL {
            assert_eq!(Point::gap(NoValue::NoData(absence)).read(), Err(NoValue::NoData(absence)));
        }
        for number in [f64::NAN, f64::INFINITY, -f64::NAN] {
            assert_eq!(Point::number(number).read(), Err(NoValue::NotFinite));
        }
        assert_eq!(POINT_BYTES, 8);
    }
}
