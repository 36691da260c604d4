//! The decimal digits of a number, with integer arithmetic only: what `%.17g` needs for the numbers that are
//! common in logs.

/// Number of digits of [`seventeen`].
pub(super) const DIGITS: usize = 17;

/// The powers of ten that scale a number with an exponent of -4 to 16; an estimate may be one too low.
const POWERS: [u128; 22] = powers();

#[allow(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "computed by the compiler, which checks it"
)]
const fn powers() -> [u128; 22] {
    let mut powers = [1; 22];
    let mut nth = 1;
    while nth < powers.len() {
        powers[nth] = powers[nth - 1] * 10;
        nth += 1;
    }
    powers
}

/// The first 17 digits of a number, rounded to even as in C, and the power of ten of the first digit.
///
/// `None` for negative numbers, and for numbers outside 0.0001 to 10¹⁷, which are written with an exponent or
/// are 0. The number is m · 2ᵉ with a 53-bit m, so m · 10²¹ fits into 128 bits, and the bits shifted out are
/// known exactly.
pub(super) fn seventeen(value: f64) -> Option<([u8; DIGITS], i32)> {
    if !(1e-4..1e17).contains(&value) {
        return None;
    }
    let bits = value.to_bits();
    let mantissa = u128::from(bits & 0x000f_ffff_ffff_ffff | 0x0010_0000_0000_0000);
    let exponent = i32::try_from(bits >> 52).ok()?.checked_sub(1075)?;
    // The decimal logarithm of the power of two, truncated; the number is less than twice as large.
    let guess = exponent.checked_add(52)?.checked_mul(1233)? >> 12;
    let scaled = |power: i32| {
        let factor = usize::try_from(16i32.checked_sub(power)?).ok().and_then(|nth| POWERS.get(nth))?;
        mantissa.checked_mul(*factor)
    };
    let shifted = |number: u128| match u32::try_from(exponent) {
        Ok(left) => number.checked_shl(left),
        Err(_) => number.checked_shr(exponent.unsigned_abs()),
    };
    let (most, mut power) = (100_000_000_000_000_000, guess);
    let mut number = scaled(power)?;
    let mut digits = shifted(number)?;
    if digits >= most {
        power = power.checked_add(1)?;
        number = scaled(power)?;
        digits = shifted(number)?;
    }
    if exponent < 0 {
        let rest = number & 1u128.checked_shl(exponent.unsigned_abs())?.wrapping_sub(1);
        let half = 1u128.checked_shl(exponent.unsigned_abs().checked_sub(1)?)?;
        if rest > half || rest == half && digits & 1 == 1 {
            digits = digits.checked_add(1)?;
        }
    }
    if digits == most {
        (digits, power) = (most.checked_div(10)?, power.checked_add(1)?);
    }
    let digits = u64::try_from(digits).ok()?;
    let (high, low) = (digits / 100_000_000, digits % 100_000_000);
    let mut text = [b'0'; DIGITS];
    let (first, second) = text.split_at_mut_checked(9)?;
    for (mut number, places) in [(u32::try_from(high).ok()?, first), (u32::try_from(low).ok()?, second)] {
        for place in places.iter_mut().rev() {
            *place = b'0'.wrapping_add(u8::try_from(number % 10).ok()?);
            number /= 10;
        }
    }
    (digits >= 10_000_000_000_000_000).then_some((text, power))
}

#[cfg(test)]
mod tests {
    use alloc::format;
    use alloc::string::String;

    use super::*;

    /// The same digits from the standard library, which handles all numbers.
    fn expected(value: f64) -> (String, i32) {
        let text = format!("{value:.16e}");
        let (digits, power) = text.split_once('e').unwrap();
        (digits.replace('.', ""), power.parse().unwrap())
    }

    fn check(value: f64) -> bool {
        let Some((digits, power)) = seventeen(value) else { return false };
        assert_eq!((String::from_utf8(digits.to_vec()).unwrap(), power), expected(value), "{value:e}");
        true
    }

    #[test]
    fn digits_equal_those_of_the_standard_library() {
        let mut state = 0x2545_f491_4f6c_dd1d_u64;
        let mut random = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        };
        let mut checked = 0;
        for _ in 0..200_000 {
            // Random bits with any power of two from 2⁻¹⁴ to 2⁵⁷.
            let number = random();
            let bits = (1009 + random() % 71) << 52 | number >> 12;
            checked += usize::from(check(f64::from_bits(bits)));
            // Typical counter values: whole numbers, quotients, and ties in the last digit.
            checked += usize::from(check((number >> (number % 64)) as f64));
            checked += usize::from(check((number % 1_000_000) as f64 / 7.0));
            checked += usize::from(check((number % 100_000) as f64 / 1000.0));
            checked += usize::from(check((number >> 11) as f64 / 1024.0));
        }
        assert!(checked > 900_000, "{checked}");
    }

    #[test]
    fn digits_near_powers_of_ten_and_two() {
        for power in -4..17 {
            let ten = format!("1e{power}").parse::<f64>().unwrap();
            for value in [ten.next_down(), ten, ten.next_up()] {
                assert_eq!(check(value), (1e-4..1e17).contains(&value), "{value:e}");
            }
        }
        for power in -13..56 {
            let two = 2f64.powi(power);
            for value in [two.next_down(), two, two.next_up()] {
                assert!(check(value), "{value:e}");
            }
        }
        for value in [0.0, -0.0, -1.0, 1e17, 9e-5, f64::NAN, f64::INFINITY, f64::MIN_POSITIVE, 5e-324] {
            assert!(!check(value), "{value:e}");
        }
    }
}
