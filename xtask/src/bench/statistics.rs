//! The median of paired ratios, and an interval for it that assumes nothing about how they are distributed.

/// How ours compares with the other revision: below 1 it takes less.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Ratio {
    pub(super) median: f64,
    /// The interval that has the true median in at least 95 of 100 repetitions.
    pub(super) low: f64,
    pub(super) high: f64,
}

/// The fewest pairs that have such an interval.
pub(super) const FEWEST: usize = 6;

impl Ratio {
    /// Of at least [`FEWEST`] pairs; `None` with fewer, or if one of them is not a number.
    pub(super) fn of(mut ratios: Vec<f64>) -> Option<Ratio> {
        if ratios.iter().any(|ratio| !ratio.is_finite()) {
            return None;
        }
        ratios.sort_by(f64::total_cmp);
        let outside = outside(ratios.len())?;
        let low = *ratios.get(outside)?;
        let high = *ratios.iter().rev().nth(outside)?;
        Some(Ratio { median: median(&ratios)?, low, high })
    }
}

/// How many of the sorted values lie outside the interval at each end: the most for which a fair coin falls
/// on one side so rarely that 95 % stay.
fn outside(count: usize) -> Option<usize> {
    let exponent = i32::try_from(count).ok()?;
    // The chance of exactly `k` heads, from one to the next.
    let mut exactly = 0.5f64.powi(exponent);
    let mut at_most = exactly;
    let mut found = None;
    for k in 0..count / 2 {
        if at_most > 0.025 {
            break;
        }
        found = Some(k);
        exactly *= (count - k) as f64 / (k + 1) as f64;
        at_most += exactly;
    }
    found
}

/// The middle of sorted values.
pub(super) fn median(sorted: &[f64]) -> Option<f64> {
    let upper = *sorted.get(sorted.len() / 2)?;
    let lower = *sorted.get(sorted.len().checked_sub(1)? / 2)?;
    Some(f64::midpoint(lower, upper))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_values_lie_outside_as_in_tables_of_the_sign_test() {
        // Ranks of 95 % intervals for a median, counted from 1, as books print them.
        for (count, rank) in [(6, 1), (8, 1), (9, 2), (12, 3), (15, 4), (20, 6), (25, 8), (50, 18)] {
            assert_eq!(outside(count), Some(rank - 1), "{count}");
        }
        assert_eq!(outside(FEWEST - 1), None);
        assert_eq!(outside(0), None);
    }

    #[test]
    fn a_ratio_is_the_middle_of_its_pairs() {
        let ratios = vec![1.5, 1.1, 1.0, 1.2, 1.3, 1.4];
        let ratio = Ratio::of(ratios).unwrap();
        assert!((ratio.median - 1.25).abs() < 1e-12);
        assert_eq!([ratio.low, ratio.high], [1.0, 1.5]);
        assert_eq!(Ratio::of(vec![1.0; 5]), None);
        assert_eq!(Ratio::of(vec![f64::NAN; 9]), None);
    }
}
