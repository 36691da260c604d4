//! Values of one counter on several machines, as one value.

use crate::flow::Sample;

use super::formula::{Formula, base_difference, multi_count, not_zero};
use super::types::CounterType;

/// How values of a type become one value of several machines, as if these were one machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Joined {
    /// Amounts and rates: the values are added.
    Added,
    /// Shares of a time that passes for all alike, and ages: the mean of the values.
    Averaged,
    /// Quotients of two counts: the mean, in which each value weighs as much as its [`weight`].
    Weighted,
    /// No numbers.
    Never,
}

impl Joined {
    /// How values of a type are joined.
    pub fn of(counter_type: CounterType) -> Joined {
        let is_clock = || {
            let base = counter_type.info().and_then(|info| info.base);
            base == Some(CounterType::PERF_PRECISION_TIMESTAMP)
        };
        match Formula::of(counter_type) {
            None | Some(Formula::NotNumeric) => Joined::Never,
            Some(Formula::Raw | Formula::Double | Formula::Delta | Formula::Rate | Formula::QueueLength) => {
                Joined::Added
            }
            // The sum over its resources, on each machine already.
            Some(Formula::InverseMultiShare) => Joined::Added,
            Some(Formula::Share | Formula::InverseShare | Formula::Elapsed) => Joined::Averaged,
            // The base of a precision timer is a clock.
            Some(Formula::BaseShare) if is_clock() => Joined::Averaged,
            Some(
                Formula::MultiShare
                | Formula::Fraction
                | Formula::BaseShare
                | Formula::AverageTime
                | Formula::AverageBulk,
            ) => Joined::Weighted,
        }
    }
}

/// How much a value weighs among those of other machines: what it was divided by. The weighted mean is then
/// the quotient of all that was counted and all that it was divided by. `None` for types that are not
/// [`Joined::Weighted`], and without the samples of the value.
pub fn weight(older: Option<&Sample>, newer: &Sample) -> Option<f64> {
    if Joined::of(newer.counter_type) != Joined::Weighted {
        return None;
    }
    let base_type = newer.counter_type.info().and_then(|info| info.base);
    let older = || older.filter(|older| older.counter_type == newer.counter_type);
    match Formula::of(newer.counter_type)? {
        Formula::Fraction => not_zero(newer.second).ok(),
        Formula::MultiShare => multi_count(newer).ok(),
        _ => base_difference(base_type, older()?, newer).ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counter::{TYPES, compute};
    use crate::time::{FileTime, Frequency};

    fn sample(counter_type: CounterType, first: u64, second: u64, multi_count: u32) -> Sample {
        Sample { counter_type, first, second, frequency: Frequency(10), multi_count, time: FileTime(0) }
    }

    /// Two machines: how much each counted, and by what that is divided.
    const COUNTED: [(u64, u64); 2] = [(30, 100), (5, 300)];

    /// Every type: its sum is the value of one machine that counted what all did.
    #[test]
    fn the_sum_of_every_type_is_what_one_machine_would_have() {
        for info in TYPES {
            let joined = Joined::of(info.value);
            let number = |newer: &Sample, older: &Sample| {
                compute(Some(older), newer).ok().and_then(|value| value.as_f64())
            };
            // A clock is the same for all; a base is one of each machine.
            let has_base = joined == Joined::Weighted && info.compute != Formula::MultiShare;
            let machine = |count: u64, base: u64, multi: u32| {
                let clock = if has_base { base } else { 1_000 };
                (
                    sample(info.value, 1_000, 2_000, multi),
                    sample(info.value, 1_000 + count, 2_000 + clock, multi),
                )
            };
            let [one, other] = COUNTED.map(|(count, base)| machine(count, base, 2));
            let values = [&one, &other].map(|(older, newer)| number(newer, older));
            if joined == Joined::Never {
                assert_eq!(values, [None, None], "{}", info.name);
                assert_eq!(weight(Some(&one.0), &one.1), None, "{}", info.name);
                continue;
            }
            let [first, second] = values.map(|value| value.unwrap());
            let weights = [&one, &other].map(|(older, newer)| weight(Some(older), newer));
            assert_eq!(weights.iter().all(Option::is_some), joined == Joined::Weighted, "{}", info.name);
            let whole = match (joined, info.compute) {
                (Joined::Added, _) | (_, Formula::Elapsed) => continue,
                (Joined::Averaged, _) => machine_mean(info.value),
                (_, Formula::Fraction) => {
                    let all = (sample(info.value, 0, 0, 1), sample(info.value, 2_035, 4_400, 1));
                    number(&all.1, &all.0)
                }
                (_, Formula::MultiShare) => {
                    let all = machine(35, 0, 4);
                    number(&all.1, &all.0)
                }
                _ => {
                    let all = machine(35, 400, 1);
                    number(&all.1, &all.0)
                }
            };
            let sum = match weights {
                [Some(one), Some(other)] => (first * one + second * other) / (one + other),
                _ => f64::midpoint(first, second),
            };
            assert!((sum - whole.unwrap()).abs() < 1e-9, "{}: {sum} {whole:?}", info.name);
        }
    }

    /// The share of time of two machines that counted 30 and 5 of 1,000 ticks: that of one that counted half
    /// of them.
    fn machine_mean(counter_type: CounterType) -> Option<f64> {
        // Half ticks do not exist, so both are doubled.
        let (older, newer) = (sample(counter_type, 1_000, 2_000, 2), sample(counter_type, 1_035, 4_000, 2));
        compute(Some(&older), &newer).ok()?.as_f64()
    }

    #[test]
    fn a_weight_needs_samples_of_its_type() {
        let newer = sample(CounterType::PERF_AVERAGE_BULK, 10, 10, 1);
        assert_eq!(weight(None, &newer), None);
        assert_eq!(weight(Some(&sample(CounterType::PERF_SAMPLE_FRACTION, 0, 0, 1)), &newer), None);
        assert_eq!(weight(Some(&sample(CounterType::PERF_AVERAGE_BULK, 5, 10, 1)), &newer), None);
        assert_eq!(weight(Some(&sample(CounterType::PERF_AVERAGE_BULK, 5, 4, 1)), &newer), Some(6.0));
        assert_eq!(Joined::of(CounterType(0x1234_5678)), Joined::Never);
        assert_eq!(Joined::of(CounterType::PERF_PRECISION_100NS_TIMER), Joined::Averaged);
        assert_eq!(Joined::of(CounterType::PERF_100NSEC_MULTI_TIMER_INV), Joined::Added);
    }
}
