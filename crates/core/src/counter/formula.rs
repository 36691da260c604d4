//! The arithmetic of counter types: from one or two samples to a value, or to the reason why there is none.
//!
//! The order of operations reproduces, to the last digit, what Windows printed for the same raw values.

use crate::flow::{NoValue, Sample, Value};
use crate::time::Frequency;

use super::types::{CounterType, Kind, Size};

/// Computes the value of a counter from its newest sample, and from an older one if its type needs two.
///
/// The result is as measured: a share may be slightly above 100 or below 0; see [`apply`](super::apply) for
/// the limits that NT applies before it displays a share. The result is never infinite or NaN, and a value
/// that cannot be computed is never 0. Raw counts and differences are exact ([`Value::Integer`]).
///
/// The inputs are checked in this order, and the first faulty one is the reason: type, older sample, clock,
/// frequency, base, multi count, value. A restarted machine is therefore reported as a clock that went
/// backwards, not as thousands of counters that did.
///
/// # Differences
///
/// A value of a 4-byte type is subtracted modulo 2^32. Such counters wrap around to 0 regularly (a disk moves
/// that many bytes in a second), so one wrap is normal and gives the right difference. A reset cannot be
/// distinguished from a wrap. The same holds for 4-byte bases. An 8-byte value does not wrap in the life of a
/// machine; if it is smaller than before, it was reset, or another instance of the same name took its place.
/// `PERF_AVERAGE_TIMER` says 4 bytes but has 8, and is treated as such. Clocks are signed, as in NT.
///
/// # Errors
///
/// * [`NoValue::UnknownType`], [`NoValue::NotNumeric`]: there is no formula.
/// * [`NoValue::TypeMismatch`], [`NoValue::FirstSample`]: the older sample has another type, or is missing.
/// * [`NoValue::NegativeTimebase`], [`NoValue::ZeroTimebase`]: the clock went backwards or stood still. Also:
///   a start time after the newest sample, or a frequency below 1 where the formula needs one.
/// * [`NoValue::NegativeDenominator`], [`NoValue::ZeroDenominator`]: the base of 8 bytes went backwards;
///   the base, its difference or the multi count is 0.
/// * [`NoValue::NoOperations`]: the base of an average (`PERF_AVERAGE_TIMER`, `PERF_AVERAGE_BULK`) did not
///   change.
/// * [`NoValue::NegativeValue`]: the value of 8 bytes went backwards.
/// * [`NoValue::NoStartTime`]: the start time of a `PERF_ELAPSED_TIME` is 0.
/// * [`NoValue::NotFinite`]: a `PERF_DOUBLE_RAW` is infinite or not a number.
#[inline]
pub fn compute(older: Option<&Sample>, newer: &Sample) -> Result<Value, NoValue> {
    let formula = Formula::of(newer.counter_type).ok_or(NoValue::UnknownType)?;
    // Few formulas have a base, and this is computed for every value of a log.
    let base_type = || newer.counter_type.info().and_then(|info| info.base);
    if older.is_some_and(|older| older.counter_type != newer.counter_type) {
        return Err(NoValue::TypeMismatch);
    }
    let older = match older {
        Some(older) => older,
        None if formula.needs_two_samples() => return Err(NoValue::FirstSample),
        // A formula for one sample ignores the older one.
        None => newer,
    };
    let number = match formula {
        Formula::NotNumeric => return Err(NoValue::NotNumeric),
        Formula::Raw => return Ok(Value::Integer(newer.first)),
        Formula::Delta => return value_difference(older, newer).map(Value::Integer),
        Formula::Double => f64::from_bits(newer.first),
        Formula::Rate => {
            let clock = clock_difference(older, newer)?;
            let frequency = ticks_per_second(newer.frequency)?;
            rate(float(value_difference(older, newer)?), clock, frequency)
        }
        Formula::QueueLength => {
            let clock = clock_difference(older, newer)?;
            queue_length(float(value_difference(older, newer)?), clock)
        }
        Formula::Share => {
            let clock = clock_difference(older, newer)?;
            share(float(value_difference(older, newer)?), clock)
        }
        Formula::InverseShare => {
            let clock = clock_difference(older, newer)?;
            inverse_share(float(value_difference(older, newer)?), clock)
        }
        Formula::MultiShare => {
            let clock = clock_difference(older, newer)?;
            let count = multi_count(newer)?;
            multi_share(float(value_difference(older, newer)?), clock, count)
        }
        Formula::InverseMultiShare => {
            let clock = clock_difference(older, newer)?;
            let count = multi_count(newer)?;
            inverse_multi_share(float(value_difference(older, newer)?), clock, count)
        }
        Formula::Fraction => fraction(float(newer.first), not_zero(newer.second)?),
        Formula::BaseShare => {
            let base = base_difference(base_type(), older, newer)?;
            base_share(float(value_difference(older, newer)?), base)
        }
        Formula::AverageTime => {
            let frequency = ticks_per_second(newer.frequency)?;
            let base = operations(base_type(), older, newer)?;
            average_time(float(value_difference(older, newer)?), frequency, base)
        }
        Formula::AverageBulk => {
            let base = operations(base_type(), older, newer)?;
            average_bulk(float(value_difference(older, newer)?), base)
        }
        Formula::Elapsed => {
            let frequency = ticks_per_second(newer.frequency)?;
            elapsed(time_since_start(newer)?, frequency)
        }
    };
    if number.is_finite() { Ok(Value::Number(number)) } else { Err(NoValue::NotFinite) }
}

/// The average of a counter over a series of samples, from its first and its last one.
///
/// This is the formula of [`compute`]: the rate from the first to the last sample is the average rate of the
/// whole period, however long the intervals were. NT's documentation calls this the average. It differs from
/// the mean of the interval values, in which a short interval, or one with little activity, counts as much as
/// any other. A type that needs one sample has no such average; the result is its last value.
///
/// # Errors
///
/// As for [`compute`].
pub fn average(first: &Sample, last: &Sample) -> Result<Value, NoValue> {
    compute(Some(first), last)
}

/// An equation. [`Formula::equation`] prints it; [`TypeInfo::formula`](super::TypeInfo::formula) explains the
/// letters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Formula {
    /// No number: texts, labels, bases.
    NotNumeric,
    /// The value itself.
    Raw,
    /// The value's bits as a floating-point number.
    Double,
    /// Difference of the values.
    Delta,
    /// Change of the value per second.
    Rate,
    /// Change of the value per clock tick.
    QueueLength,
    /// Change of the value as a share of the elapsed time.
    Share,
    /// The share of the elapsed time in which the value did not change.
    InverseShare,
    /// A share of the elapsed time, averaged over several resources.
    MultiShare,
    /// The shares of the elapsed time in which the value did not change, summed over several resources.
    InverseMultiShare,
    /// The value as a share of its base.
    Fraction,
    /// Change of the value as a share of the change of its base.
    BaseShare,
    /// Change of the value in seconds, per step of its base.
    AverageTime,
    /// Change of the value per step of its base.
    AverageBulk,
    /// Time from the value to the sample.
    Elapsed,
}

impl Formula {
    /// The formula of a type. A number without a described type is its raw value; `None` for a type whose
    /// values need a formula that is not known.
    pub fn of(counter_type: CounterType) -> Option<Formula> {
        let raw = || {
            let is_number = counter_type.kind() == Kind::Number && counter_type.default_size().is_some();
            is_number.then_some(Formula::Raw)
        };
        counter_type.info().map(|info| info.compute).or_else(raw)
    }

    /// The equation as text.
    pub const fn equation(self) -> &'static str {
        match self {
            Formula::NotNumeric => "none",
            Formula::Raw | Formula::Double => "N1",
            Formula::Delta => "N1 - N0",
            Formula::Rate => "(N1 - N0) / ((D1 - D0) / F)",
            Formula::QueueLength => "(N1 - N0) / (D1 - D0)",
            Formula::Share => "(N1 - N0) / (D1 - D0) * 100",
            Formula::InverseShare => "100 * (1 - (N1 - N0) / (D1 - D0))",
            Formula::MultiShare => "(N1 - N0) / (D1 - D0) * 100 / B1",
            Formula::InverseMultiShare => "100 * (B1 - (N1 - N0) / (D1 - D0))",
            Formula::Fraction => "N1 / B1 * 100",
            Formula::BaseShare => "(N1 - N0) / (B1 - B0) * 100",
            Formula::AverageTime => "((N1 - N0) / F) / (B1 - B0)",
            Formula::AverageBulk => "(N1 - N0) / (B1 - B0)",
            Formula::Elapsed => "(D1 - N1) / F",
        }
    }

    /// Whether it needs two samples.
    pub const fn needs_two_samples(self) -> bool {
        match self {
            Formula::NotNumeric | Formula::Raw | Formula::Double | Formula::Fraction | Formula::Elapsed => {
                false
            }
            Formula::Delta
            | Formula::Rate
            | Formula::QueueLength
            | Formula::Share
            | Formula::InverseShare
            | Formula::MultiShare
            | Formula::InverseMultiShare
            | Formula::BaseShare
            | Formula::AverageTime
            | Formula::AverageBulk => true,
        }
    }
}

/// `dN / (dD / F)`
fn rate(value: f64, clock: f64, frequency: f64) -> f64 {
    value / (clock / frequency)
}

/// `dN / dD`
fn queue_length(value: f64, clock: f64) -> f64 {
    value / clock
}

/// `(dN / dD) * 100`
fn share(value: f64, clock: f64) -> f64 {
    (value / clock) * 100.0
}

/// `100 * (1 - dN / dD)`
fn inverse_share(value: f64, clock: f64) -> f64 {
    100.0 * (1.0 - value / clock)
}

/// `(dN / dD) * 100 / B1`
///
/// Sources disagree about `PERF_COUNTER_MULTI_TIMER`: some also multiply or divide by the frequency. Here
/// value and clock are in ticks of the same clock, as for every other share. No Windows provider is known to
/// use the type.
fn multi_share(value: f64, clock: f64, count: f64) -> f64 {
    (value / clock) * 100.0 / count
}

/// `100 * (B1 - dN / dD)`
///
/// Not divided by `B1`: the total of several resources can be several hundred per cent, according to the SDK
/// header and Microsoft's example.
fn inverse_multi_share(value: f64, clock: f64, count: f64) -> f64 {
    100.0 * (count - value / clock)
}

/// `(N1 / B1) * 100`
fn fraction(value: f64, base: f64) -> f64 {
    (value / base) * 100.0
}

/// `(dN / dB) * 100`
fn base_share(value: f64, base: f64) -> f64 {
    (value / base) * 100.0
}

/// `(dN / F) / dB`
fn average_time(value: f64, frequency: f64, base: f64) -> f64 {
    (value / frequency) / base
}

/// `dN / dB`
fn average_bulk(value: f64, base: f64) -> f64 {
    value / base
}

/// `(D1 - N1) / F`
fn elapsed(clock: f64, frequency: f64) -> f64 {
    clock / frequency
}

/// `N1 - N0`: modulo 2^32 for 4-byte types; never negative for others.
fn value_difference(older: &Sample, newer: &Sample) -> Result<u64, NoValue> {
    let eight_bytes = newer.counter_type.default_size() != Some(4);
    difference(older.first, newer.first, eight_bytes).ok_or(NoValue::NegativeValue)
}

/// `B1 - B0`, never zero: modulo 2^32 for 4-byte bases; never negative for others.
pub(super) fn base_difference(
    base: Option<CounterType>,
    older: &Sample,
    newer: &Sample,
) -> Result<f64, NoValue> {
    let eight_bytes = base.ok_or(NoValue::NoBase)?.size_bits() == Size::Large;
    not_zero(difference(older.second, newer.second, eight_bytes).ok_or(NoValue::NegativeDenominator)?)
}

/// `B1 - B0` of an average: the number of operations in the interval.
///
/// Without operations there is no average. Windows' logs have 0 there; which outputs write that 0 is decided
/// by [`TextStyle`](super::TextStyle).
fn operations(base: Option<CounterType>, older: &Sample, newer: &Sample) -> Result<f64, NoValue> {
    base_difference(base, older, newer).map_err(|why| match why {
        NoValue::ZeroDenominator => NoValue::NoOperations,
        why => why,
    })
}

fn difference(older: u64, newer: u64, eight_bytes: bool) -> Option<u64> {
    if eight_bytes {
        newer.checked_sub(older)
    } else {
        // A 32-bit counter wraps around to 0. The low half of the difference is right whether it wrapped or
        // not.
        Some(newer.wrapping_sub(older) & 0xffff_ffff)
    }
}

/// `D1 - D0`, greater than zero.
fn clock_difference(older: &Sample, newer: &Sample) -> Result<f64, NoValue> {
    // NT's clock is a signed number and may start below 0. The bits are the same, so the difference is right
    // even after the unsigned number wraps.
    match newer.second.wrapping_sub(older.second).cast_signed() {
        ..0 => Err(NoValue::NegativeTimebase),
        0 => Err(NoValue::ZeroTimebase),
        ticks => Ok(ticks as f64),
    }
}

/// `D1 - N1`, zero or greater.
fn time_since_start(newer: &Sample) -> Result<f64, NoValue> {
    if newer.first == 0 {
        return Err(NoValue::NoStartTime);
    }
    // Signed for the same reason as the difference of clocks.
    match newer.second.wrapping_sub(newer.first).cast_signed() {
        ..0 => Err(NoValue::NegativeTimebase),
        ticks => Ok(ticks as f64),
    }
}

fn ticks_per_second(frequency: Frequency) -> Result<f64, NoValue> {
    if frequency.0 > 0 { Ok(frequency.0 as f64) } else { Err(NoValue::ZeroTimebase) }
}

pub(super) fn multi_count(newer: &Sample) -> Result<f64, NoValue> {
    not_zero(u64::from(newer.multi_count))
}

pub(super) fn not_zero(base: u64) -> Result<f64, NoValue> {
    if base == 0 { Err(NoValue::ZeroDenominator) } else { Ok(float(base)) }
}

/// The nearest floating-point number; exact to 2^53.
fn float(number: u64) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counter::TYPES;
    use crate::time::FileTime;

    fn sample(counter_type: CounterType, first: u64, second: u64) -> Sample {
        Sample { counter_type, first, second, frequency: Frequency(10), multi_count: 1, time: FileTime(0) }
    }

    #[test]
    fn samples_of_different_types_have_no_value() {
        for info in TYPES {
            let newer = sample(info.value, 3, 4);
            let older = sample(CounterType(info.value.0 ^ 1), 1, 2);
            assert_eq!(compute(Some(&older), &newer), Err(NoValue::TypeMismatch), "{}", info.name);
        }
    }

    #[test]
    fn unknown_types_have_no_value() {
        // A number needs no formula, so PERF_NUMBER_DEC_1000 and the like have their raw values.
        for number in [0x0002_0000, 0x0002_0100, 0x000f_0000, 0x4001_0000] {
            let newer = sample(CounterType(number), 1_234_567, 4);
            assert_eq!(compute(None, &newer), Ok(Value::Integer(1_234_567)), "{number:#x}");
            assert_eq!(
                compute(Some(&sample(CounterType(number), 1, 2)), &newer),
                Ok(Value::Integer(1_234_567))
            );
        }
        for number in [0x1234_5678, u32::MAX] {
            let newer = sample(CounterType(number), 3, 4);
            assert_eq!(compute(Some(&newer), &newer), Err(NoValue::UnknownType));
            assert_eq!(compute(None, &newer), Err(NoValue::UnknownType));
        }
        // A large base with a serial number is still a base.
        assert_eq!(compute(None, &sample(CounterType(0x4003_0503), 3, 4)), Err(NoValue::NotNumeric));
    }

    #[test]
    fn average_is_not_the_mean_of_the_intervals() {
        // One hit in one look-up, then none in 99: the mean of the intervals is 50 %, but only 1 % of all
        // look-ups were hits.
        let series = [(0, 0), (1, 1), (1, 100)];
        let [first, middle, last] =
            series.map(|(hits, all)| sample(CounterType::PERF_SAMPLE_FRACTION, hits, all));
        assert_eq!(compute(Some(&first), &middle), Ok(Value::Number(100.0)));
        assert_eq!(compute(Some(&middle), &last), Ok(Value::Number(0.0)));
        assert_eq!(average(&first, &last), Ok(Value::Number(1.0)));
    }

    #[test]
    fn frequency_and_multi_count_come_from_the_newer_sample() {
        let older = Sample { frequency: Frequency(0), ..sample(CounterType::PERF_COUNTER_BULK_COUNT, 0, 0) };
        let newer = sample(CounterType::PERF_COUNTER_BULK_COUNT, 30, 10);
        assert_eq!(compute(Some(&older), &newer), Ok(Value::Number(30.0)));
        let older = Sample { multi_count: 0, ..sample(CounterType::PERF_COUNTER_MULTI_TIMER, 0, 0) };
        let newer = Sample { multi_count: 2, ..sample(CounterType::PERF_COUNTER_MULTI_TIMER, 10, 10) };
        assert_eq!(compute(Some(&older), &newer), Ok(Value::Number(50.0)));
    }
}
