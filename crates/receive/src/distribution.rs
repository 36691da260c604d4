//! The sizes of values within an interval, for percentiles.

use std::collections::BTreeMap;

/// The most buckets of a distribution: sixteen for each power of two, so values from 1 to 2^64 fit.
const MOST_BUCKETS: usize = 1024;

/// The percentiles that become counters.
pub(crate) const PERCENTILES: [f64; 3] = [50.0, 90.0, 99.0];

/// How often values of about the same size occurred. A bucket is at most 6 % wide; of its values the middle
/// is shown, which is at most 3 % wrong.
#[derive(Debug, Default)]
pub(crate) struct Distribution {
    /// By sign, exponent and the first four bits of the mantissa.
    buckets: BTreeMap<u16, f64>,
    count: f64,
    sum: f64,
    least: f64,
    most: f64,
}

/// What an interval had.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Digest {
    pub(crate) average: f64,
    pub(crate) least: f64,
    pub(crate) most: f64,
    pub(crate) percentiles: [f64; 3],
}

impl Digest {
    /// Nothing: these numbers have no value for a reader.
    pub(crate) const NONE: Digest =
        Digest { average: f64::NAN, least: f64::NAN, most: f64::NAN, percentiles: [f64::NAN; 3] };
}

impl Distribution {
    /// A value that occurred so many times.
    pub(crate) fn add(&mut self, value: f64, times: f64) -> Result<(), &'static str> {
        let key = key(value);
        if self.buckets.len() >= MOST_BUCKETS && !self.buckets.contains_key(&key) {
            return Err("its values have more than 1,024 different sizes within an interval");
        }
        *self.buckets.entry(key).or_default() += times;
        let is_first = self.count == 0.0;
        self.least = if is_first { value } else { self.least.min(value) };
        self.most = if is_first { value } else { self.most.max(value) };
        self.count += times;
        self.sum += value * times;
        Ok(())
    }

    /// What there was; afterwards there is nothing.
    pub(crate) fn take(&mut self) -> Digest {
        let taken = std::mem::take(self);
        if taken.count <= 0.0 {
            return Digest::NONE;
        }
        Digest {
            average: taken.sum / taken.count,
            least: taken.least,
            most: taken.most,
            percentiles: PERCENTILES.map(|part| taken.percentile(part)),
        }
    }

    fn percentile(&self, part: f64) -> f64 {
        let rank = self.count * part / 100.0;
        let mut below = 0.0;
        for (key, times) in &self.buckets {
            below += times;
            if below >= rank {
                return middle(*key).clamp(self.least, self.most);
            }
        }
        self.most
    }
}

/// The bucket of a finite value; buckets are in the order of their values.
fn key(value: f64) -> u16 {
    // The upper 16 bits of the number.
    let upper = u16::try_from(value.to_bits() >> 48).unwrap_or_default();
    if upper & 0x8000 == 0 { upper | 0x8000 } else { !upper }
}

fn middle(key: u16) -> f64 {
    let upper = if key & 0x8000 == 0 { !key } else { key & 0x7fff };
    let bits = u64::from(upper) << 48;
    // The bucket of 0 has the smallest numbers there are.
    if upper & 0x7fff == 0 { 0.0 } else { f64::from_bits(bits | 1 << 47) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_at_most_three_percent_wrong() {
        let mut some = Distribution::default();
        for n in 1..=1000 {
            some.add(f64::from(n), 1.0).unwrap();
        }
        let digest = some.take();
        assert_eq!((digest.average, digest.least, digest.most), (500.5, 1.0, 1000.0));
        for (found, wanted) in digest.percentiles.into_iter().zip([500.0, 900.0, 990.0]) {
            assert!((found - wanted).abs() / wanted < 0.032, "{found} for {wanted}");
        }
        // No value differs from none.
        assert!(some.take().average.is_nan());
    }

    #[test]
    fn equal_values_are_exact_and_signs_are_ordered() {
        let mut some = Distribution::default();
        some.add(0.3, 7.0).unwrap();
        assert_eq!(some.take().percentiles, [0.3; 3]);
        for value in [-1e9, -2.0, -0.5, 0.0, 0.25, 8.0, 1e300] {
            some.add(value, 1.0).unwrap();
        }
        let digest = some.take();
        assert_eq!((digest.least, digest.most, digest.percentiles[0]), (-1e9, 1e300, 0.0));
        let keys = [-1e9, -2.0, -0.5, 0.0, 0.25, 8.0, 1e300].map(key);
        assert!(keys.is_sorted(), "{keys:?}");
    }

    #[test]
    fn the_number_of_buckets_is_limited() {
        let mut some = Distribution::default();
        let failed = (0u16..2000).filter(|n| some.add(middle(0x8010 + n), 1.0).is_err()).count();
        assert_eq!(failed, 2000 - MOST_BUCKETS);
    }
}
