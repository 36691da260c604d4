//! Percentiles of a column in bounded memory.

use std::collections::BTreeMap;

/// The largest relative error of an approximate percentile.
pub const ACCURACY: f64 = 0.005;

/// Collects numbers for percentiles.
///
/// Up to a limit all numbers are kept. Beyond it they are counted in ranges whose ends are one percent apart,
/// so that a percentile is within half a percent of the exact one. Memory then depends on the spread of the
/// numbers, not on how many there are.
#[derive(Debug, Clone)]
pub(crate) enum Quantiles {
    Exact { numbers: Vec<f64>, limit: usize },
    Ranges(Ranges),
}

#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Ranges {
    /// Counts for each range: negative numbers by their size, then zeros, then positive ones.
    pub(crate) negative: BTreeMap<i32, u64>,
    pub(crate) zeros: u64,
    pub(crate) positive: BTreeMap<i32, u64>,
    pub(crate) count: u64,
    pub(crate) minimum: f64,
    pub(crate) maximum: f64,
}

impl Quantiles {
    /// Keeps up to `limit` numbers exactly.
    pub(crate) const fn new(limit: usize) -> Quantiles {
        Quantiles::Exact { numbers: Vec::new(), limit }
    }

    /// Adds a finite number.
    pub(crate) fn add(&mut self, number: f64) {
        match self {
            Quantiles::Exact { numbers, limit } if numbers.len() < *limit => numbers.push(number),
            Quantiles::Exact { .. } => {
                let mut ranges = self.take_ranges();
                ranges.add(number);
                *self = Quantiles::Ranges(ranges);
            }
            Quantiles::Ranges(ranges) => ranges.add(number),
        }
    }

    /// Adds numbers that were counted already: from here on percentiles are approximate.
    pub(crate) fn add_ranges(&mut self, more: &Ranges) {
        if more.count == 0 {
            return;
        }
        let mut ranges = self.take_ranges();
        ranges.join(more);
        *self = Quantiles::Ranges(ranges);
    }

    fn take_ranges(&mut self) -> Ranges {
        match self {
            Quantiles::Ranges(ranges) => std::mem::take(ranges),
            Quantiles::Exact { numbers, .. } => {
                let mut ranges = Ranges::default();
                numbers.iter().for_each(|number| ranges.add(*number));
                ranges
            }
        }
    }

    /// Whether percentiles are approximate, within [`ACCURACY`].
    pub(crate) const fn is_approximate(&self) -> bool {
        matches!(self, Quantiles::Ranges(_))
    }

    /// The quantiles for some shares from 0 to 1, interpolated between two numbers as numpy and SQL's
    /// `quantile_cont` do. `None` if there are no numbers.
    pub(crate) fn at<const N: usize>(&mut self, shares: [f64; N]) -> Option<[f64; N]> {
        match self {
            Quantiles::Exact { numbers, .. } => {
                let last = numbers.len().checked_sub(1)?;
                // Finding some places costs less than sorting everything.
                Some(shares.map(|share| {
                    let place = share.clamp(0.0, 1.0) * last as f64;
                    let at = (place.floor() as usize).min(last);
                    let (_, low, above) = numbers.select_nth_unstable_by(at, f64::total_cmp);
                    let low = *low;
                    let next = || above.iter().copied().min_by(f64::total_cmp).unwrap_or(low);
                    let high = if place.fract() > 0.0 { next() } else { low };
                    low + (high - low) * place.fract()
                }))
            }
            Quantiles::Ranges(ranges) if ranges.count == 0 => None,
            Quantiles::Ranges(ranges) => Some(shares.map(|share| ranges.at(share))),
        }
    }
}

impl Ranges {
    /// Adds what others counted.
    fn join(&mut self, more: &Ranges) {
        if self.count == 0 {
            (self.minimum, self.maximum) = (more.minimum, more.maximum);
        }
        (self.minimum, self.maximum) = (self.minimum.min(more.minimum), self.maximum.max(more.maximum));
        self.count = self.count.saturating_add(more.count);
        self.zeros = self.zeros.saturating_add(more.zeros);
        for (own, more) in [(&mut self.negative, &more.negative), (&mut self.positive, &more.positive)] {
            for (exponent, count) in more {
                let own = own.entry(*exponent).or_default();
                *own = own.saturating_add(*count);
            }
        }
    }

    pub(crate) fn add(&mut self, number: f64) {
        if self.count == 0 {
            (self.minimum, self.maximum) = (number, number);
        }
        (self.minimum, self.maximum) = (self.minimum.min(number), self.maximum.max(number));
        self.count = self.count.saturating_add(1);
        let count = if number == 0.0 {
            &mut self.zeros
        } else if number < 0.0 {
            self.negative.entry(exponent(-number)).or_default()
        } else {
            self.positive.entry(exponent(number)).or_default()
        };
        *count = count.saturating_add(1);
    }

    fn at(&self, share: f64) -> f64 {
        let place = (share.clamp(0.0, 1.0) * self.count.saturating_sub(1) as f64) as u64;
        let negative = self.negative.iter().rev().map(|(at, count)| (-middle(*at), *count));
        let positive = self.positive.iter().map(|(at, count)| (middle(*at), *count));
        let mut passed = 0u64;
        for (number, count) in negative.chain([(0.0, self.zeros)]).chain(positive) {
            passed = passed.saturating_add(count);
            if passed > place {
                return number.clamp(self.minimum, self.maximum);
            }
        }
        self.maximum
    }
}

/// The ratio between the ends of a range: ranges begin at powers of it.
const GROWTH: f64 = (1.0 + ACCURACY) / (1.0 - ACCURACY);

/// The range that contains a positive number.
fn exponent(number: f64) -> i32 {
    // Every finite number has one between -75,000 and 71,000.
    (number.ln() / GROWTH.ln()).ceil() as i32
}

/// The number in the middle of a range: its ratio to both ends is the same.
fn middle(exponent: i32) -> f64 {
    2.0 * GROWTH.powi(exponent) / (GROWTH + 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_numbers_are_exact() {
        let mut quantiles = Quantiles::new(10);
        assert_eq!(quantiles.at([0.5]), None);
        for number in [4.0, 1.0, 3.0, 2.0] {
            quantiles.add(number);
        }
        // numpy.percentile([1, 2, 3, 4], [0, 50, 90, 100])
        let [zero, half, nine, all] = quantiles.at([0.0, 0.5, 0.9, 1.0]).unwrap();
        assert_eq!((zero, half, all), (1.0, 2.5, 4.0));
        assert!((nine - 3.7).abs() < 1e-12);
    }

    #[test]
    fn many_numbers_are_approximate() {
        let mut quantiles = Quantiles::new(16);
        let mut random = tallymon_testkit::raw::Random::new(7);
        let mut numbers: Vec<f64> = Vec::new();
        for _ in 0..20_000 {
            // From a millionth to a million, of both signs, and zeros.
            let size = 10f64.powf((random.below(12_000) as f64 / 1000.0) - 6.0);
            numbers.push(match random.below(10) {
                0 => 0.0,
                1..=3 => -size,
                _ => size,
            });
        }
        for number in &numbers {
            quantiles.add(*number);
        }
        assert!(quantiles.is_approximate());
        numbers.sort_by(f64::total_cmp);
        for share in [0.0, 0.01, 0.25, 0.33, 0.5, 0.9, 0.99, 1.0] {
            let exact = numbers[(share * (numbers.len() - 1) as f64) as usize];
            let [near] = quantiles.at([share]).unwrap();
            assert!(
                (near - exact).abs() <= exact.abs() * ACCURACY * 1.001,
                "{share}: {near} is not near {exact}"
            );
        }
    }

    #[test]
    fn the_smallest_and_largest_numbers_are_counted() {
        let mut quantiles = Quantiles::new(0);
        for number in [f64::MAX, f64::MIN, f64::MIN_POSITIVE, 5e-324, -5e-324, 0.0] {
            quantiles.add(number);
        }
        let [least, most] = quantiles.at([0.0, 1.0]).unwrap();
        assert!(least <= f64::MIN * 0.99 && most >= f64::MAX * 0.99, "{least} {most}");
    }
}
