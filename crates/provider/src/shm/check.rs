//! The check word of numbers that belong together.
//!
//! A reader copies with `pread`, and the kernel copies in no reliable order: on a processor with fast string
//! instructions, both counts of a sequence lock stayed the same around a change. So the numbers carry a check
//! word that does not depend on the order: the sum, modulo 2^64, of each number times a factor of its
//! position. It is 0 for zeros. When one number changes, it changes by the difference times the factor, so
//! the writer need not read the others. A copy with a mixture of old and new numbers passes with a
//! probability of 2^-64.

/// The factor of the number at a position: SplitMix64 of the position, made odd.
pub(crate) const fn factor(position: usize) -> u64 {
    // A position is far below 2^32.
    let mut z = (position as u64).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (z ^ (z >> 31)) | 1
}

/// The check word of numbers.
pub(crate) fn check(numbers: impl IntoIterator<Item = u64>) -> u64 {
    // Borrowed: the factors by value would be a copy of 4 KiB each time.
    let parts = numbers.into_iter().zip(&FACTORS).map(|(number, factor)| number.wrapping_mul(*factor));
    parts.fold(0, u64::wrapping_add)
}

/// As many as the longest group and the longest text have words.
#[expect(clippy::indexing_slicing, reason = "the compiler computes this, and would report it")]
pub(crate) static FACTORS: [u64; 512] = {
    let mut factors = [0; 512];
    let mut position = 0;
    while position < factors.len() {
        factors[position] = factor(position);
        position += 1;
    }
    factors
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_follows_from_the_differences() {
        let mut numbers = [0u64; 8];
        assert_eq!(check(numbers), 0);
        let mut sum = 0u64;
        for n in 0..1000u64 {
            let at = usize::try_from(n % 8).unwrap();
            let new = numbers[at].wrapping_add(n << (n % 60));
            sum = sum.wrapping_add(new.wrapping_sub(numbers[at]).wrapping_mul(factor(at)));
            numbers[at] = new;
            assert_eq!(check(numbers), sum);
        }
    }

    #[test]
    fn mixtures_do_not_pass() {
        let old: [u64; 8] = std::array::from_fn(|at| 1000 * at as u64);
        let new = old.map(|number| number + 1);
        for mask in 1..255u32 {
            let mixed: [u64; 8] =
                std::array::from_fn(|at| if mask >> at & 1 == 1 { new[at] } else { old[at] });
            assert!(check(mixed) != check(old) && check(mixed) != check(new), "{mask:#x}");
        }
    }

    #[test]
    fn factors_are_those_of_the_format() {
        assert_eq!(factor(0), 0xe220_a839_7b1d_cdaf);
        assert_eq!(FACTORS[1], factor(1));
    }
}
