//! Columns in few bytes, for a report: whole steps, differences, variable length, deflate, base64.
//!
//! A value is kept as a number of steps of its column. For whole numbers a step is 1; for others it is a ten
//! millionth of the largest value of the column, rounded to a power of ten. `page/src/report.ts` reads it.

use std::io::Write;

use flate2::Compression;
use flate2::write::DeflateEncoder;

/// The largest number of steps; whole numbers up to here are exact.
const MOST_STEPS: f64 = 1e7;
/// The largest whole number that a double has.
const MOST_WHOLE: f64 = 9_007_199_254_740_992.0;

/// The step of a column.
pub(crate) fn step(values: &[f64]) -> f64 {
    let known = || values.iter().copied().filter(|value| !value.is_nan());
    let most = known().map(f64::abs).fold(0.0, f64::max);
    if most == 0.0 || !most.is_finite() || (most < MOST_WHOLE && known().all(|value| value.fract() == 0.0)) {
        return 1.0;
    }
    10f64.powi((most / MOST_STEPS).log10().ceil() as i32)
}

/// A row of a column.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Cell {
    /// A value; there is none if it is not finite.
    Value(f64),
    /// It is the row of another log.
    Passed,
}

/// Adds a column: for each row 0 if there is no value, 1 if it is the row of another log, else 2 and the
/// difference of its steps, in zigzag form.
pub(crate) fn column(cells: impl Iterator<Item = Cell>, step: f64, into: &mut Vec<u8>) {
    let mut before = 0i64;
    for cell in cells {
        let value = match cell {
            Cell::Value(value) if value.is_finite() => value,
            Cell::Value(_) => {
                into.push(0);
                continue;
            }
            Cell::Passed => {
                into.push(1);
                continue;
            }
        };
        let steps = (value / step).round() as i64;
        let difference = steps.wrapping_sub(before);
        before = steps;
        let zigzag = ((difference << 1) ^ (difference >> 63)) as u64;
        // Two more than a zigzag of 64 bits could need is no value of a column: its steps are below 2^53.
        varint(zigzag.saturating_add(2), into);
    }
}

fn varint(mut number: u64, into: &mut Vec<u8>) {
    while number >= 0x80 {
        into.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    into.push(number as u8);
}

/// Compressed, as text.
pub(crate) fn text(bytes: &[u8]) -> std::io::Result<String> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes)?;
    Ok(base64(&encoder.finish()?))
}

pub(crate) fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3).saturating_mul(4));
    for three in bytes.chunks(3) {
        let at = |nth: usize| u32::from(three.get(nth).copied().unwrap_or(0));
        let bits = at(0) << 16 | at(1) << 8 | at(2);
        for nth in 0..4u32 {
            let letter = LETTERS.get((bits >> (18 - 6 * nth) & 63) as usize).copied();
            let is_there = nth as usize <= three.len();
            text.push(if is_there { char::from(letter.unwrap_or(b'A')) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_that_of_the_standard() {
        for (bytes, expected) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
        ] {
            assert_eq!(base64(bytes.as_bytes()), expected);
        }
        assert_eq!(base64(&[0xff, 0xfe, 0xfd]), "//79");
    }

    #[test]
    fn whole_numbers_are_exact_and_others_have_seven_digits() {
        for (values, expected) in [
            (&[1.0, 5e12, f64::NAN][..], 1.0),
            (&[0.0, 0.0], 1.0),
            (&[f64::NAN], 1.0),
            (&[12.5, 99.9], 1e-5),
            (&[0.000_012_3], 1e-11),
        ] {
            let step = step(values);
            assert!((step / expected - 1.0).abs() < 1e-9, "{values:?}: {step}");
        }
    }

    #[test]
    fn columns_are_differences() {
        let mut bytes = Vec::new();
        let values = [1.0, 3.0, f64::NAN, 2.0, 302.0].map(Cell::Value);
        column(values.into_iter().chain([Cell::Passed]), 1.0, &mut bytes);
        // Zigzag and 2: 1 is 4, 2 is 6, none is 0, -1 is 3, 300 is 602, the row of another log is 1.
        assert_eq!(bytes, [4, 6, 0, 3, 0xda, 0x04, 1]);
    }
}
