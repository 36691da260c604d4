//! Encodes a series: one number over consecutive rows. The size of a log depends on this code.
//!
//! The differences between rows are divided by their greatest common divisor (clocks count in ticks), brought
//! near to zero in one of three ways, and written in Rice's code with a parameter that follows the numbers.
//! If few numbers change, only the changes are written. The next chunk can use the parameters of a series
//! again, which takes one bit.

use super::bits::{BitReader, BitWriter};

/// Longest run of zeros of a Rice code; a larger quotient is written as a number behind it.
const ESCAPE: u32 = 20;
/// Weight of the mean that the parameter of the Rice code follows: a sixteenth of each new number.
const WEIGHT: u32 = 4;
/// Rough length of new parameters in bits, which old ones save.
const PARAMETERS: u64 = 24;

/// How differences are brought near to zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Mode {
    /// Less a bias that is the smallest of them: counters that only grow.
    #[default]
    Above,
    /// Distance from a bias, alternating above and below: values that go up and down, and steady growth.
    Around,
    /// Distance from the difference before: clocks.
    Steady,
}

/// The parameters of a series.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Parameters {
    mode: Mode,
    /// Low bits of the first number that are written directly.
    rice: u8,
    divisor: u64,
    bias: u64,
}

/// Memory that is used again.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    differences: Vec<i64>,
}

/// How many differences are used to choose parameters: the first rows represent the others.
const LOOKED_AT: usize = 64;

/// Writes `values`, the first of which follows `start`.
pub(super) fn encode(
    out: &mut BitWriter,
    start: u64,
    values: &[u64],
    parameters: &mut Parameters,
    scratch: &mut Scratch,
) {
    let differences = &mut scratch.differences;
    differences.clear();
    let mut before = start;
    let mut changes = 0usize;
    for value in values {
        // A counter may wrap; so does its difference, and adding it again gives the value.
        let difference = value.wrapping_sub(before).cast_signed();
        changes = changes.saturating_add(usize::from(difference != 0));
        differences.push(difference);
        before = *value;
    }
    encode_differences(out, differences, changes, parameters);
}

/// Writes a series of `rows` numbers from its changes: the row of each, in order, and the difference from the
/// number before. The result is the same as [`encode`] of all numbers.
pub(super) fn encode_changed(
    out: &mut BitWriter,
    changed: impl ExactSizeIterator<Item = (u32, i64)> + Clone,
    rows: usize,
    parameters: &mut Parameters,
    scratch: &mut Scratch,
) {
    // Two changes in one row are combined, and may cancel out.
    if is_seldom(changed.len(), rows) && changed.clone().is_sorted_by(|(one, _), (other, _)| one < other) {
        out.bit(true);
        encode_changes(out, changed.len(), changed);
        return;
    }
    let differences = &mut scratch.differences;
    differences.clear();
    differences.resize(rows, 0);
    for (row, difference) in changed {
        if let Some(place) = usize::try_from(row).ok().and_then(|row| differences.get_mut(row)) {
            *place = place.wrapping_add(difference);
        }
    }
    let changes = differences.iter().map(|difference| usize::from(*difference != 0)).sum();
    encode_differences(out, differences, changes, parameters);
}

/// Whether a series is written as its changes alone.
const fn is_seldom(changes: usize, rows: usize) -> bool {
    changes.saturating_mul(6) <= rows
}

fn encode_differences(
    out: &mut BitWriter,
    differences: &mut [i64],
    changes: usize,
    parameters: &mut Parameters,
) {
    if is_seldom(changes, differences.len()) {
        out.bit(true);
        let changed = (0..).zip(differences.iter().copied()).filter(|(_, difference)| *difference != 0);
        encode_changes(out, changes, changed);
        return;
    }
    out.bit(false);
    let chosen = choose(differences, *parameters);
    out.bit(chosen != *parameters);
    if chosen != *parameters {
        out.bits(chosen.mode as u64, 2);
        out.bits(u64::from(chosen.rice), 6);
        out.bit(chosen.divisor > 1);
        if chosen.divisor > 1 {
            out.number(chosen.divisor);
        }
        if chosen.mode != Mode::Steady {
            out.number(zigzag(chosen.bias.cast_signed()));
        }
    }
    let mut rice = Rice::new(chosen.rice);
    let mut before = 0;
    if chosen.divisor > 1 {
        let divisor = chosen.divisor.cast_signed();
        differences
            .iter_mut()
            .for_each(|difference| *difference = difference.checked_div(divisor).unwrap_or(0));
    }
    for difference in differences.iter() {
        rice.encode(out, near_zero(chosen, *difference, before));
        before = *difference;
    }
    *parameters = Parameters { rice: rice.parameter(), ..chosen };
}

/// Reads `rows` numbers that follow `start` into `values`; `None` if [`encode`] cannot have written the
/// bits.
pub(super) fn decode(
    bits: &mut BitReader<'_>,
    start: u64,
    rows: usize,
    parameters: &mut Parameters,
    values: &mut Vec<u64>,
) -> Option<()> {
    if bits.bit() {
        return decode_changes(bits, start, rows, values);
    }
    if bits.bit() {
        let mode = match bits.bits(2) {
            0 => Mode::Above,
            1 => Mode::Around,
            2 => Mode::Steady,
            _ => return None,
        };
        let rice = u8::try_from(bits.bits(6)).ok()?;
        let divisor = if bits.bit() { bits.number()? } else { 1 };
        let bias = if mode == Mode::Steady { 0 } else { unzigzag(bits.number()?).cast_unsigned() };
        *parameters = Parameters { mode, rice, divisor, bias };
    }
    let Parameters { mode, divisor, bias, .. } = *parameters;
    let mut rice = Rice::new(parameters.rice);
    let (mut value, mut before) = (start, 0u64);
    for row in 0..rows {
        let number = rice.decode(bits);
        let difference = match mode {
            Mode::Above => number.wrapping_add(bias),
            Mode::Around => unzigzag(number).cast_unsigned().wrapping_add(bias),
            Mode::Steady => unzigzag(number).cast_unsigned().wrapping_add(before),
        };
        before = difference;
        value = value.wrapping_add(difference.wrapping_mul(divisor));
        values.push(value);
        // After the end there are only zeros, so a damaged number of rows does not cost time.
        if row & 63 == 0 && bits.is_spent() {
            return None;
        }
    }
    parameters.rice = rice.parameter();
    Some(())
}

/// Writes how many differences are not 0, and each with the number of zeros before it.
fn encode_changes(out: &mut BitWriter, changes: usize, changed: impl Iterator<Item = (u32, i64)>) {
    out.small(changes as u64);
    let mut rice = Rice::new(0);
    let mut next = 0u32;
    for (row, difference) in changed {
        out.small(u64::from(row.wrapping_sub(next)));
        next = row.wrapping_add(1);
        rice.encode(out, zigzag(difference).wrapping_sub(1));
    }
}

fn decode_changes(bits: &mut BitReader<'_>, start: u64, rows: usize, values: &mut Vec<u64>) -> Option<()> {
    let changes = usize::try_from(bits.small()).ok()?;
    if changes > rows {
        return None;
    }
    let end = values.len().saturating_add(rows);
    let mut rice = Rice::new(0);
    let mut value = start;
    for _ in 0..changes {
        let same = usize::try_from(bits.small()).ok()?;
        let next = values.len().checked_add(same).filter(|next| *next < end)?;
        values.resize(next, value);
        value = value.wrapping_add(unzigzag(rice.decode(bits).wrapping_add(1)).cast_unsigned());
        values.push(value);
    }
    values.resize(end, value);
    (!bits.is_spent()).then_some(())
}

/// Finds the parameters that need the fewest bits, from the lengths of the resulting numbers.
fn choose(differences: &[i64], old: Parameters) -> Parameters {
    let (mut least, mut sum) = (i64::MAX, 0i64);
    for difference in differences {
        least = least.min(*difference);
        // A sum that wraps gives a bias that is of no use, and any bias can be written.
        sum = sum.wrapping_add(*difference);
    }
    let divisor = divisor(differences, old.divisor);
    let units = |number: i64| match i64::try_from(divisor) {
        Ok(divisor) if divisor > 1 => number.checked_div(divisor).unwrap_or(0),
        _ => number,
    };
    let rows = i64::try_from(differences.len()).unwrap_or(i64::MAX).max(1);
    let mean = sum.checked_div(rows).unwrap_or(0);
    let with =
        |mode: Mode, bias: i64| Parameters { mode, rice: 0, divisor, bias: units(bias).cast_unsigned() };
    let some = differences.get(..LOOKED_AT).unwrap_or(differences);
    let fits = old.divisor == divisor && (old.mode != Mode::Above || old.bias.cast_signed() <= units(least));
    let before = if fits { total_length(old, some) } else { u64::MAX };
    // Numbers that are no longer than the parameter expects are as short as when it was chosen: nothing is
    // looked for.
    if before <= u64::from(old.rice).saturating_add(1).saturating_mul(some.len() as u64) {
        return old;
    }
    let mut best = (u64::MAX, old);
    let mut try_one = |candidate: Parameters, discount: u64| {
        let length = total_length(candidate, some);
        let cost = length.saturating_sub(discount);
        if cost < best.0 {
            // The usual length of a number, a little less: a number that is too long costs less than all too
            // long.
            let usual = length.checked_div(some.len() as u64).unwrap_or(0).saturating_sub(1);
            let rice = if discount > 0 { old.rice } else { u8::try_from(usual).unwrap_or(0) };
            best = (cost, Parameters { rice, ..candidate });
        }
    };
    if fits {
        try_one(old, PARAMETERS);
    }
    try_one(with(Mode::Above, least), 0);
    if least < 0 {
        try_one(with(Mode::Around, 0), 0);
    }
    if mean != 0 && mean != least {
        try_one(with(Mode::Around, mean), 0);
    }
    if mean != 0 {
        try_one(with(Mode::Steady, 0), 0);
    }
    best.1
}

/// The total length in bits of the numbers that result from some parameters.
fn total_length(parameters: Parameters, differences: &[i64]) -> u64 {
    let length = |number: u64| u64::from(u64::BITS.saturating_sub(number.leading_zeros()));
    let divisor = parameters.divisor.max(1).cast_signed();
    let (bias, mut before) = (parameters.bias, 0);
    let units = |difference: &i64| match divisor {
        1 => *difference,
        _ => difference.checked_div(divisor).unwrap_or(0),
    };
    let lengths = differences.iter().map(units);
    match parameters.mode {
        Mode::Above => lengths.map(|number| length(number.cast_unsigned().wrapping_sub(bias))).sum(),
        Mode::Around => lengths.map(|number| length(zigzag(number.wrapping_sub(bias.cast_signed())))).sum(),
        Mode::Steady => lengths
            .map(|number| length(zigzag(number.wrapping_sub(std::mem::replace(&mut before, number)))))
            .sum(),
    }
}

#[inline]
fn near_zero(parameters: Parameters, difference: i64, before: i64) -> u64 {
    match parameters.mode {
        Mode::Above => difference.cast_unsigned().wrapping_sub(parameters.bias),
        Mode::Around => zigzag(difference.wrapping_sub(parameters.bias.cast_signed())),
        Mode::Steady => zigzag(difference.wrapping_sub(before)),
    }
}

/// The greatest common divisor of the differences, 1 when it is too small to help.
fn divisor(differences: &[i64], old: u64) -> u64 {
    let mut divisor = 0u64;
    // Most often the answer is the same as before; where there was none, the next key looks again.
    if old == 1
        || old > 1 && differences.iter().all(|difference| difference.unsigned_abs().is_multiple_of(old))
    {
        return old;
    }
    for difference in differences {
        let (mut one, mut other) = (difference.unsigned_abs(), divisor);
        while let Some(rest) = one.checked_rem(other) {
            (one, other) = (other, rest);
        }
        divisor = one;
        if divisor == 1 {
            return 1;
        }
    }
    if divisor < 3 || i64::try_from(divisor).is_err() { 1 } else { divisor }
}

/// Rice's code with a parameter that follows the mean of the numbers.
#[derive(Debug)]
struct Rice {
    /// The mean, sixteen times.
    mean: u64,
}

impl Rice {
    fn new(parameter: u8) -> Rice {
        // Most numbers with a parameter are about 1.4 times its power of two.
        Rice { mean: 23u64.wrapping_shl(u32::from(parameter.min(56))) }
    }

    /// How many low bits of a number are written directly.
    #[inline]
    fn low(&self) -> u32 {
        // The best parameter is the logarithm of the mean times the logarithm of 2, about 11 in 16.
        let scaled = (self.mean >> WEIGHT).wrapping_mul(11) >> 4;
        u64::BITS.saturating_sub(scaled.leading_zeros())
    }

    fn parameter(&self) -> u8 {
        u8::try_from(self.low().min(56)).unwrap_or(0)
    }

    #[inline]
    fn follow(&mut self, number: u64) {
        self.mean = self.mean.wrapping_sub(self.mean >> WEIGHT).wrapping_add(number.min(1 << 54));
    }

    #[inline]
    fn encode(&mut self, out: &mut BitWriter, number: u64) {
        let low = self.low();
        let quotient = number >> low;
        if quotient < u64::from(ESCAPE) {
            let zeros = u32::try_from(quotient).unwrap_or(0);
            let ones = number & 1u64.wrapping_shl(low).wrapping_sub(1);
            let length = zeros.saturating_add(1).saturating_add(low);
            if length <= 64 {
                out.bits((ones.wrapping_shl(1) | 1).wrapping_shl(zeros), length);
            } else {
                out.bits(1u64.wrapping_shl(zeros), zeros.saturating_add(1));
                out.bits(ones, low);
            }
        } else {
            out.bits(0, ESCAPE);
            out.number(number);
        }
        self.follow(number);
    }

    #[inline]
    fn decode(&mut self, bits: &mut BitReader<'_>) -> u64 {
        let low = self.low();
        let quotient = bits.zeros(ESCAPE);
        let number = if quotient < ESCAPE {
            u64::from(quotient).wrapping_shl(low) | bits.bits(low)
        } else {
            // An impossible length is found by whoever looks at the end of the bits.
            bits.number().unwrap_or(0)
        };
        self.follow(number);
        number
    }
}

/// 0, -1, 1, -2, 2 ... as 0, 1, 2, 3, 4 ...
#[inline]
pub(super) const fn zigzag(number: i64) -> u64 {
    (number.wrapping_shl(1) ^ (number >> 63)).cast_unsigned()
}

/// What [`zigzag`] made of a number.
#[inline]
pub(super) const fn unzigzag(number: u64) -> i64 {
    (number >> 1).cast_signed() ^ (number & 1).cast_signed().wrapping_neg()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bits of a series in chunks of `rows`, after checking that it comes back.
    fn check(values: &[u64], rows: usize) -> usize {
        let (mut parameters, mut scratch) = (Parameters::default(), Scratch::default());
        let mut other = Parameters::default();
        let mut start = values.first().copied().unwrap_or(0);
        let mut length = 0usize;
        for chunk in values.chunks(rows) {
            let mut out = BitWriter::default();
            encode(&mut out, start, chunk, &mut parameters, &mut scratch);
            let mut bytes = Vec::new();
            out.drain_into(&mut bytes);
            length = length.saturating_add(bytes.len().saturating_mul(8));
            let mut decoded = Vec::new();
            let mut bits = BitReader::new(&bytes);
            assert_eq!(decode(&mut bits, start, chunk.len(), &mut other, &mut decoded), Some(()));
            assert_eq!(decoded, chunk);
            assert_eq!(other, parameters);
            assert!(!bits.is_spent());
            start = *chunk.last().unwrap();
        }
        length
    }

    #[test]
    fn every_kind_of_series_is_read_back() {
        let mut state = 5u64;
        let mut random = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        };
        let noise: Vec<u64> = (0..500).map(|_| random()).collect();
        let series: [Vec<u64>; 9] = [
            vec![7; 500],
            (0..500).map(|n| n * 156_250).collect(),
            (0..500).map(|n| n * n * 7).collect(),
            noise.clone(),
            noise.iter().map(|number| 1000 + number % 64).collect(),
            noise.iter().map(|number| if number % 50 == 0 { *number } else { 0 }).collect(),
            noise
                .iter()
                .scan(0u64, |sum, number| {
                    *sum += number % 3 * 100_000;
                    Some(*sum)
                })
                .collect(),
            vec![0, u64::MAX, 0, 1 << 63, (1 << 63) - 1, u64::MAX, 1, 1 << 63, 0],
            noise.iter().map(|number| 1u64.checked_shl((number % 70) as u32).unwrap_or(0)).collect(),
        ];
        for values in &series {
            for rows in [1, 2, 7, 60, 500] {
                check(values, rows);
            }
        }
        // What these cost, in bits for 500 values: nothing, next to nothing, and what the noise in them is.
        assert!(check(&series[0], 500) <= 8);
        assert!(check(&series[1], 500) < 600);
        assert!(check(&series[4], 500) < 500 * 8 + 100);
        assert!(check(&series[6], 500) < 500 * 2 + 150);
    }

    #[test]
    fn decoding_random_bits_ends() {
        let mut state = 3u64;
        for length in 0..400 {
            let mut bytes = vec![0; length % 37];
            for byte in &mut bytes {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                *byte = (state >> 56) as u8;
            }
            let mut values = Vec::new();
            let done = decode(&mut BitReader::new(&bytes), 1, 5000, &mut Parameters::default(), &mut values);
            assert!(done.is_none() || values.len() == 5000);
        }
    }
}
