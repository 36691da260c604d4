//! Histograms: how often values of about the same size occurred, and the percentiles that follow.
//!
//! The buckets are linear within each power of two and twice as wide in the next, so that each is narrow
//! compared with its values. A program adds one to a bucket; readers compute the number of values and the
//! percentiles from the buckets.

use super::layout::LINE;

/// The shape of a histogram.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistogramShape {
    /// How narrow the buckets are: 2 to this power of them for each power of two, 0 to 6. With 4 of them a
    /// percentile is at most 3 % wrong.
    pub bits: u32,
    /// Larger values count as this value, or as a somewhat larger one. Each power of two takes room.
    pub most: u64,
    /// The percentiles that become counters, in thousandths of a percent: 99,900 is the value that 99.9 % of
    /// the values do not exceed. At most 8.
    pub percentiles: Vec<u32>,
}

impl Default for HistogramShape {
    /// An error of at most 3 % up to 2^40 (thirty hours, with a unit of 100 ns); 50, 90, 99 and 99.9 %. Takes
    /// 5 KB per instance.
    fn default() -> HistogramShape {
        HistogramShape { bits: 4, most: 1 << 40, percentiles: vec![50_000, 90_000, 99_000, 99_900] }
    }
}

/// The buckets of a histogram: maps values to buckets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Buckets {
    /// 0 to 6.
    pub(crate) bits: u32,
    /// At least one, and at most the number of buckets for 64-bit values.
    pub(crate) n: usize,
}

impl Buckets {
    /// The narrowest buckets.
    pub(crate) const MAX_BITS: u32 = 6;

    /// Buckets for values up to `most`.
    pub(crate) fn up_to(most: u64, bits: u32) -> Buckets {
        let bits = bits.min(Buckets::MAX_BITS);
        Buckets { bits, n: place(most, bits).saturating_add(1) }
    }

    /// The number of buckets for 64-bit values.
    pub(crate) fn all(bits: u32) -> usize {
        Buckets::up_to(u64::MAX, bits).n
    }

    /// The bucket of a value.
    #[inline(always)]
    pub(crate) fn of(self, value: u64) -> usize {
        place(value, self.bits).min(self.n.saturating_sub(1))
    }

    /// The value in the middle of a bucket; for the last one, which has all larger values, the smallest
    /// value.
    pub(crate) fn middle(self, bucket: usize) -> u64 {
        let wide = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
        // Below 2 to the power of bits the buckets are one wide, and so they are in the power of two above
        // it.
        let shift = u32::try_from(bucket >> self.bits).unwrap_or(0).saturating_sub(1);
        let before = wide(bucket).saturating_sub(u64::from(shift) << self.bits);
        let smallest = before.checked_shl(shift).unwrap_or(u64::MAX);
        let half = 1u64.checked_shl(shift).unwrap_or(0) / 2;
        if bucket.saturating_add(1) >= self.n { smallest } else { smallest.saturating_add(half) }
    }

    /// Bytes from the buckets of one lane to those of the next, where there are lanes.
    pub(crate) const fn lane(self) -> usize {
        self.n.saturating_mul(8).next_multiple_of(LINE)
    }

    /// The value of a part of a histogram: the number of values, or a percentile in thousandths of a percent.
    pub(crate) fn number(self, counts: impl Iterator<Item = u64> + Clone, part: u32) -> u64 {
        if part == 0 { Buckets::count(counts) } else { self.percentile(counts, part) }
    }

    /// The sum of counts.
    pub(crate) fn count(counts: impl Iterator<Item = u64>) -> u64 {
        counts.fold(0, u64::wrapping_add)
    }

    /// The value that a share of all values does not exceed, in thousandths of a percent; 0 when there are no
    /// values.
    pub(crate) fn percentile(self, counts: impl Iterator<Item = u64> + Clone, part: u32) -> u64 {
        let all = u128::from(Buckets::count(counts.clone()));
        // The rank of the requested value, counted from 1: never 0, so that the value exists.
        let rank = all.saturating_mul(u128::from(part)).div_ceil(100_000).max(1);
        let mut below = 0u128;
        let found = counts.enumerate().find(|(_, count)| {
            below = below.saturating_add(u128::from(*count));
            below >= rank
        });
        found.map_or(0, |(bucket, _)| self.middle(bucket))
    }
}

/// The bucket of a value without an upper limit: value / 2^shift + shift * 2^bits, with the shift that makes
/// the quotient less than 2^(bits + 1).
#[inline(always)]
fn place(value: u64, bits: u32) -> usize {
    let shift = (u64::BITS - 1).saturating_sub((value | 1).leading_zeros()).saturating_sub(bits);
    // At most 2^7 + 64 * 2^6.
    usize::try_from((value >> shift).saturating_add(u64::from(shift) << bits)).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_is_near_the_middle_of_its_bucket() {
        for bits in 0..=Buckets::MAX_BITS {
            let buckets = Buckets::up_to(u64::MAX, bits);
            assert_eq!(buckets.n, (65 - bits as usize) << bits, "{bits}");
            let near = |power: u32| (-3..=3i64).map(move |d| (1u64 << power).wrapping_add_signed(d));
            let mut values: Vec<u64> = (0..64).flat_map(near).chain(0..5000).chain([u64::MAX]).collect();
            values.sort_unstable();
            let mut last = 0;
            for value in values {
                let bucket = buckets.of(value);
                assert!(bucket >= last && bucket < buckets.n, "{value} is in {bucket}");
                last = bucket;
                if bucket + 1 < buckets.n {
                    let middle = buckets.middle(bucket);
                    assert_eq!(buckets.of(middle), bucket, "{value}: {middle}");
                    assert!(middle.abs_diff(value) <= value >> (bits + 1), "{value}: {middle}");
                }
            }
        }
    }

    #[test]
    fn percentiles_are_those_of_sorted_values() {
        let buckets = Buckets::up_to(1 << 40, 4);
        let mut state = 1u64;
        let mut values: Vec<u64> = (0..10_000)
            .map(|_| {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                (state >> 40) * (state >> 50) / 100
            })
            .collect();
        let mut counts = vec![0u64; buckets.n];
        values.iter().for_each(|value| counts[buckets.of(*value)] += 1);
        values.sort_unstable();
        for part in [1, 1000, 25_000, 50_000, 90_000, 99_000, 99_900, 100_000] {
            let exact = values[(values.len() * part / 100_000).max(1) - 1];
            let found = buckets.percentile(counts.iter().copied(), u32::try_from(part).unwrap());
            assert!(found.abs_diff(exact) <= exact / 32 + 1, "{part}: {found}, exactly {exact}");
        }
        assert_eq!(buckets.percentile([].into_iter(), 50_000), 0);
        assert_eq!(Buckets::count([u64::MAX, 2].into_iter()), 1);
    }

    #[test]
    fn large_values_are_in_the_last_bucket() {
        let buckets = Buckets::up_to(1000, 2);
        assert_eq!(buckets.of(u64::MAX), buckets.n - 1);
        assert_eq!(buckets.of(1000), buckets.n - 1);
        assert_eq!(buckets.middle(buckets.n - 1), 896);
    }
}
