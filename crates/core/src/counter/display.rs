//! How values are displayed: NT's limits and scales, and numbers as text.

use core::fmt::{self, Write};
use core::ops::RangeInclusive;

use crate::flow::Value;

use super::digits::{DIGITS, seventeen};
use super::style::Digits;
use super::types::{CounterType, Size, Subtype, Suffix};

/// The scales that a counter definition and PDH accept, as powers of ten.
pub const SCALE_RANGE: RangeInclusive<i32> = -7..=7;

/// The scales that a chart in Performance Monitor accepts, as powers of ten.
pub const CHART_SCALE_RANGE: RangeInclusive<i32> = -9..=9;

/// The default scales that a manifest of Windows Vista and later accepts, as powers of ten.
pub const MANIFEST_SCALE_RANGE: RangeInclusive<i32> = -10..=10;

/// How to change a value before it is displayed.
///
/// The default is what Windows writes into logs: shares are capped, nothing is scaled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Format {
    /// The power of ten to multiply by.
    pub scale: Scale,
    /// Multiply by 1000 (`PDH_FMT_1000`).
    pub thousand: bool,
    /// Display shares above 100 % as 100 (the opposite of `PDH_FMT_NOCAP100`).
    ///
    /// Only for the types of [`CounterType::caps_at_100`].
    pub cap100: bool,
}

impl Default for Format {
    fn default() -> Format {
        Format { scale: Scale::None, thousand: false, cap100: true }
    }
}

/// The power of ten by which a value is multiplied.
///
/// A power outside [`MANIFEST_SCALE_RANGE`], NT's widest range, is clamped to it. A caller that must reject
/// it compares with the range that applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Scale {
    /// None (`PDH_FMT_NOSCALE`).
    #[default]
    None,
    /// The scale of the counter definition, meant for charts.
    Default,
    /// This power of ten.
    Power(i32),
}

/// The value to display: within the limits of its type, and scaled.
///
/// Limits come first: an inverse share below 0 becomes 0 (clock and counter are not read at exactly the same
/// time), and a share above 100 becomes 100 if `format` says so. Then follow the scale and the factor 1000.
/// An integer stays an integer if the result is exact. A result too large for a floating-point number becomes
/// the largest one. Text does not change.
pub fn apply(value: Value, counter_type: CounterType, default_scale: i32, format: &Format) -> Value {
    let power = match format.scale {
        Scale::None => 0,
        Scale::Default => default_scale,
        Scale::Power(power) => power,
    };
    let power = power.clamp(*MANIFEST_SCALE_RANGE.start(), *MANIFEST_SCALE_RANGE.end());
    let power = if format.thousand { power.saturating_add(3) } else { power };
    match value {
        Value::Text(text) => Value::Text(text),
        Value::Integer(integer) => match scale_exactly(integer, power) {
            Some(integer) => Value::Integer(integer),
            None => Value::Number(scale(integer as f64, power)),
        },
        Value::Number(number) => Value::Number(scale(limit(number, counter_type, format.cap100), power)),
    }
}

fn limit(number: f64, counter_type: CounterType, cap100: bool) -> f64 {
    if counter_type.inverse() && number < 0.0 {
        0.0
    } else if cap100 && counter_type.caps_at_100() && number > 100.0 {
        100.0
    } else {
        number
    }
}

fn scale_exactly(integer: u64, power: i32) -> Option<u64> {
    let factor = 10u64.checked_pow(power.unsigned_abs())?;
    if power >= 0 {
        integer.checked_mul(factor)
    } else {
        integer.checked_rem(factor).filter(|rest| *rest == 0).and_then(|_| integer.checked_div(factor))
    }
}

fn scale(number: f64, power: i32) -> f64 {
    // 10²² is the last exact power of ten. Dividing by an exact power rounds once; multiplying by a negative
    // power would round twice.
    let factor = (0..power.unsigned_abs().min(22)).fold(1.0, |factor: f64, _| factor * 10.0);
    let scaled = if power >= 0 { number * factor } else { number / factor };
    scaled.clamp(f64::MIN, f64::MAX)
}

/// A value as people read it: 3 decimals, 6 for seconds, integers without decimals, hexadecimal if the type
/// says so.
///
/// The suffix of the type is not included, see [`CounterType::suffix`]. Types with the subtype
/// [`Subtype::Dec1000`] show a thousandth of the value.
///
/// ```
/// use tallymon_core::counter::{CounterType, human};
/// use tallymon_core::flow::Value;
///
/// let share = human(&Value::Number(20.913042441624498), CounterType::PERF_100NSEC_TIMER_INV);
/// assert_eq!(share.to_string(), "20.913");
/// let address = human(&Value::Integer(0xbeef), CounterType::PERF_COUNTER_RAWCOUNT_HEX);
/// assert_eq!(address.to_string(), "0x0000BEEF");
/// ```
pub fn human(value: &Value, counter_type: CounterType) -> Human<'_> {
    Human { value, counter_type }
}

/// See [`human`].
#[derive(Debug, Clone, Copy)]
pub struct Human<'a> {
    value: &'a Value,
    counter_type: CounterType,
}

impl fmt::Display for Human<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let subtype = self.counter_type.subtype();
        match self.value {
            Value::Text(text) => f.write_str(text),
            Value::Integer(integer) if subtype == Subtype::Hex => match self.counter_type.size_bits() {
                Size::Large => write!(f, "0x{integer:016X}"),
                _ => write!(f, "0x{integer:08X}"),
            },
            Value::Integer(integer) if subtype == Subtype::Dec1000 => {
                write!(f, "{}.{:03}", integer / 1000, integer % 1000)
            }
            Value::Integer(integer) => write!(f, "{integer}"),
            Value::Number(number) => {
                let number = if subtype == Subtype::Dec1000 { number / 1000.0 } else { *number };
                // A number has 17 significant digits; more digits before the point would be invented.
                if !number.is_finite() || number.abs() >= 1e17 {
                    return write_g17(f, number);
                }
                let (decimals, half) = if self.counter_type.suffix() == Suffix::Seconds {
                    (6, 0.000_000_5)
                } else {
                    (3, 0.000_5)
                };
                // A number that rounds to zero is written without a sign.
                let number = if number.abs() < half { 0.0 } else { number };
                write!(f, "{number:.decimals$}")
            }
        }
    }
}

/// Writes a number exactly as the `%.17g` of the C standard does. Windows writes more digits of an exponent:
/// see [`TextStyle`](super::TextStyle).
///
/// Reading the text back gives the same number, bit for bit. Infinities and NaN are `inf`, `-inf` and `nan`,
/// as in C.
///
/// # Errors
///
/// Only errors of `out`.
pub fn write_g17<W: Write + ?Sized>(out: &mut W, value: f64) -> fmt::Result {
    write_general(out, value, Digits::Seventeen, 2)
}

/// Writes a number as C's `%.17g` or `%.20g`. The exponent has at least `exponent_digits` digits.
pub(super) fn write_general<W: Write + ?Sized>(
    out: &mut W,
    value: f64,
    digits: Digits,
    exponent_digits: usize,
) -> fmt::Result {
    if !value.is_finite() {
        return write_not_finite(out, value);
    }
    let seventeen_are_wanted = digits == Digits::Seventeen;
    if let Some((digits, power)) = seventeen(value.abs()).filter(|_| seventeen_are_wanted) {
        return write_digits(out, value.is_sign_negative(), &digits, power);
    }
    // The standard library gives the exact digits as d.dddddddddddddddde[-]x; only the layout differs.
    let mut text = Text::default();
    let most = match digits {
        Digits::Seventeen => 17,
        Digits::Twenty => 20,
    };
    match digits {
        Digits::Seventeen => write!(text, "{:.16e}", value.abs())?,
        Digits::Twenty => write!(text, "{:.19e}", value.abs())?,
    }
    let (mantissa, exponent) = text.as_str().split_once('e').ok_or(fmt::Error)?;
    let exponent: i32 = exponent.parse().map_err(|_| fmt::Error)?;
    let mut digits = Text::default();
    for part in mantissa.split('.') {
        digits.write_str(part)?;
    }
    let digits = digits.as_str();
    if value.is_sign_negative() {
        out.write_char('-')?;
    }
    if !(-4..most).contains(&exponent) {
        let (first, rest) = digits.split_at_checked(1).ok_or(fmt::Error)?;
        out.write_str(first)?;
        write_decimals(out, "", rest)?;
        let sign = if exponent < 0 { '-' } else { '+' };
        return write!(out, "e{sign}{:0exponent_digits$}", exponent.unsigned_abs());
    }
    match usize::try_from(exponent) {
        Ok(exponent) => {
            let (whole, decimals) = digits.split_at_checked(exponent.saturating_add(1)).ok_or(fmt::Error)?;
            out.write_str(whole)?;
            write_decimals(out, "", decimals)
        }
        Err(_) => {
            // The exponent is -4 to -1. The number of zeros after the point is one less.
            let zeros = match exponent {
                -1 => "",
                -2 => "0",
                -3 => "00",
                _ => "000",
            };
            out.write_char('0')?;
            write_decimals(out, zeros, digits)
        }
    }
}

/// Writes digits without trailing zeros. `power` is the power of ten of the first digit, from -4 to 16.
fn write_digits<W: Write + ?Sized>(
    out: &mut W,
    is_negative: bool,
    digits: &[u8; DIGITS],
    power: i32,
) -> fmt::Result {
    let mut text = Text::default();
    if is_negative {
        text.push(b"-");
    }
    let used = digits.iter().rposition(|digit| *digit != b'0').map_or(0, |last| last.saturating_add(1));
    match usize::try_from(power) {
        Ok(power) => {
            let (whole, decimals) = digits.split_at_checked(power.saturating_add(1)).ok_or(fmt::Error)?;
            text.push(whole);
            let decimals = decimals.get(..used.saturating_sub(whole.len())).ok_or(fmt::Error)?;
            if !decimals.is_empty() {
                text.push(b".");
                text.push(decimals);
            }
        }
        Err(_) => {
            // `0.`, then one zero for each power below -1.
            text.push(
                b"0.000"
                    .get(..usize::try_from(power.unsigned_abs()).unwrap_or(0).saturating_add(1))
                    .ok_or(fmt::Error)?,
            );
            text.push(digits.get(..used).ok_or(fmt::Error)?);
        }
    }
    out.write_str(text.as_str())
}

/// Writes the point and the decimals without trailing zeros; nothing if all decimals are zeros.
fn write_decimals<W: Write + ?Sized>(out: &mut W, zeros: &str, digits: &str) -> fmt::Result {
    let digits = digits.trim_end_matches('0');
    if digits.is_empty() { Ok(()) } else { write!(out, ".{zeros}{digits}") }
}

/// Writes a number exactly as C's `%.6f` does: typeperf's format on the console.
///
/// # Errors
///
/// Only errors of `out`.
pub fn write_f6<W: Write + ?Sized>(out: &mut W, value: f64) -> fmt::Result {
    if value.is_finite() { write!(out, "{value:.6}") } else { write_not_finite(out, value) }
}

fn write_not_finite<W: Write + ?Sized>(out: &mut W, value: f64) -> fmt::Result {
    out.write_str(match value {
        f64::INFINITY => "inf",
        f64::NEG_INFINITY => "-inf",
        _ => "nan",
    })
}

/// Formats a number as C's `%.17g`; see [`write_g17`].
pub fn g17(value: f64) -> G17 {
    G17(value)
}

/// See [`g17`].
#[derive(Debug, Clone, Copy)]
pub struct G17(pub f64);

impl fmt::Display for G17 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_g17(f, self.0)
    }
}

/// Formats a number as C's `%.6f`; see [`write_f6`].
pub fn f6(value: f64) -> F6 {
    F6(value)
}

/// See [`f6`].
#[derive(Debug, Clone, Copy)]
pub struct F6(pub f64);

impl fmt::Display for F6 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_f6(f, self.0)
    }
}

/// A text of at most 32 bytes. A number with 17 digits and an exponent has 23.
#[derive(Default)]
struct Text {
    bytes: [u8; 32],
    length: usize,
}

impl Text {
    /// Appends ASCII characters as far as they fit.
    fn push(&mut self, characters: &[u8]) {
        let end = self.length.saturating_add(characters.len());
        if let Some(room) = self.bytes.get_mut(self.length..end) {
            room.copy_from_slice(characters);
            self.length = end;
        }
    }

    fn as_str(&self) -> &str {
        self.bytes.get(..self.length).and_then(|bytes| core::str::from_utf8(bytes).ok()).unwrap_or_default()
    }
}

impl Write for Text {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let end = self.length.saturating_add(text.len());
        self.bytes.get_mut(self.length..end).ok_or(fmt::Error)?.copy_from_slice(text.as_bytes());
        self.length = end;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::{String, ToString};

    fn shown(value: Value, counter_type: CounterType) -> String {
        human(&value, counter_type).to_string()
    }

    #[test]
    fn shares_are_clamped() {
        let uncapped = Format { cap100: false, ..Format::default() };
        for (number, counter_type, capped, free) in [
            (104.5, CounterType::PERF_100NSEC_TIMER, 100.0, 104.5),
            (104.5, CounterType::PERF_RAW_FRACTION, 100.0, 104.5),
            (-0.25, CounterType::PERF_100NSEC_TIMER_INV, 0.0, 0.0),
            (-0.25, CounterType::PERF_100NSEC_MULTI_TIMER_INV, 0.0, 0.0),
            // Four resources: 400 %.
            (350.0, CounterType::PERF_100NSEC_MULTI_TIMER_INV, 350.0, 350.0),
            (350.0, CounterType::PERF_100NSEC_MULTI_TIMER, 100.0, 350.0),
            // Rates and queue lengths have no limit.
            (350.0, CounterType::PERF_COUNTER_COUNTER, 350.0, 350.0),
            (350.0, CounterType::PERF_COUNTER_LARGE_QUEUELEN_TYPE, 350.0, 350.0),
            (-3.0, CounterType::PERF_DOUBLE_RAW, -3.0, -3.0),
        ] {
            let value = Value::Number(number);
            assert_eq!(apply(value.clone(), counter_type, 3, &Format::default()), Value::Number(capped));
            assert_eq!(apply(value, counter_type, 3, &uncapped), Value::Number(free));
        }
    }

    #[test]
    fn scales_multiply_by_powers_of_ten() {
        let format = |scale, thousand| Format { scale, thousand, cap100: true };
        for (value, default_scale, format, expected) in [
            (Value::Number(2.5), 3, format(Scale::None, false), Value::Number(2.5)),
            (Value::Number(2.5), 3, format(Scale::Default, false), Value::Number(2500.0)),
            (Value::Number(2.5), 3, format(Scale::Power(-1), false), Value::Number(0.25)),
            (Value::Number(2.5), 3, format(Scale::Power(-1), true), Value::Number(250.0)),
            (Value::Number(2.5), 3, format(Scale::None, true), Value::Number(2500.0)),
            (Value::Number(1.0), i32::MAX, format(Scale::Default, true), Value::Number(1e13)),
            (Value::Number(1.0), i32::MIN, format(Scale::Default, false), Value::Number(1e-10)),
            (Value::Number(f64::MAX), 7, format(Scale::Default, false), Value::Number(f64::MAX)),
            (Value::Number(f64::MIN), 7, format(Scale::Default, false), Value::Number(f64::MIN)),
            (Value::Integer(7), 2, format(Scale::Default, false), Value::Integer(700)),
            (Value::Integer(7000), -3, format(Scale::Default, false), Value::Integer(7)),
            (Value::Integer(7001), -3, format(Scale::Default, false), Value::Number(7.001)),
            (
                Value::Integer(u64::MAX),
                1,
                format(Scale::Default, false),
                Value::Number(u64::MAX as f64 * 10.0),
            ),
            (Value::Text("x".to_string()), 1, format(Scale::Default, true), Value::Text("x".to_string())),
        ] {
            assert_eq!(apply(value, CounterType::PERF_COUNTER_COUNTER, default_scale, &format), expected);
        }
        // A share is capped before it is scaled.
        let share =
            apply(Value::Number(120.0), CounterType::PERF_COUNTER_TIMER, 1, &format(Scale::Default, false));
        assert_eq!(share, Value::Number(1000.0));
    }

    #[test]
    fn human_formats_by_type() {
        for (value, counter_type, expected) in [
            (Value::Number(1228.3777780908947), CounterType::PERF_COUNTER_COUNTER, "1228.378"),
            (Value::Number(0.008179255989141047), CounterType::PERF_AVERAGE_TIMER, "0.008179"),
            (Value::Number(-0.0001), CounterType::PERF_COUNTER_TIMER_INV, "0.000"),
            (Value::Number(-0.5), CounterType::PERF_DOUBLE_RAW, "-0.500"),
            (Value::Number(1e300), CounterType::PERF_DOUBLE_RAW, "1.0000000000000001e+300"),
            (Value::Integer(12), CounterType::PERF_COUNTER_RAWCOUNT, "12"),
            (Value::Integer(u64::MAX), CounterType::PERF_COUNTER_LARGE_RAWCOUNT, "18446744073709551615"),
            (Value::Integer(0x1f), CounterType::PERF_COUNTER_RAWCOUNT_HEX, "0x0000001F"),
            (Value::Integer(0x1f), CounterType::PERF_COUNTER_LARGE_RAWCOUNT_HEX, "0x000000000000001F"),
            (Value::Integer(1_234_056), CounterType(0x0002_0000), "1234.056"),
            (Value::Number(1_500.0), CounterType(0x0002_0000), "1.500"),
            (Value::Text("ready".to_string()), CounterType::PERF_COUNTER_TEXT, "ready"),
        ] {
            assert_eq!(shown(value, counter_type), expected);
        }
    }

    #[test]
    fn infinite_and_nan_are_written_as_in_c() {
        assert_eq!(g17(f64::INFINITY).to_string(), "inf");
        assert_eq!(g17(f64::NEG_INFINITY).to_string(), "-inf");
        assert_eq!(f6(f64::NAN).to_string(), "nan");
    }
}
