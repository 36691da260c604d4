//! How an output writes values: as Windows does, or as measured.
//!
//! This table is the only place where these rules are decided; `docs/fidelity.md` has the evidence for each.
//!
//! | rule | as Windows writes | as measured |
//! |---|---|---|
//! | whole numbers | as `%.17g` of a double | exact, to 2^64 - 1 |
//! | other numbers | `%.17g`, or `%.20g` if asked | `%.17g` |
//! | exponent | three digits at least: `6.94e-005` | two: `6.94e-05` |
//! | average without operations | 0 | no value: [`NoValue::NoOperations`] |
//! | no value | a blank | nothing; the output gives the reason elsewhere |
//! | share above 100 | as it is; [`Format::cap100`](super::Format::cap100) caps it if asked | the same |
//! | inverse share below 0 | 0, see [`apply`](super::apply) | the same |

use core::fmt::{self, Write};

use crate::flow::{NoValue, Value};

use super::display::{write_f6, write_g17, write_general};

/// How an output writes values.
///
/// ```
/// use tallymon_core::counter::{Digits, TextStyle};
/// use tallymon_core::flow::{NoValue, Value};
///
/// let text = |style: TextStyle, value| {
///     let mut text = String::new();
///     style.write(&mut text, &value).map(|()| text)
/// };
/// let windows = TextStyle::Windows(Digits::Seventeen);
/// assert_eq!(text(windows, Ok(Value::Number(0.0000625))).unwrap(), "6.2500000000000001e-005");
/// assert_eq!(text(windows, Ok(Value::Integer(u64::MAX))).unwrap(), "1.8446744073709552e+019");
/// assert_eq!(text(windows, Err(NoValue::NoOperations)).unwrap(), "0");
/// assert_eq!(text(windows, Err(NoValue::FirstSample)).unwrap(), " ");
/// assert_eq!(text(TextStyle::Measured, Ok(Value::Integer(u64::MAX))).unwrap(), "18446744073709551615");
/// assert_eq!(text(TextStyle::Measured, Err(NoValue::NoOperations)).unwrap(), "");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextStyle {
    /// As Windows writes text logs: PDH-CSV, PDH-TSV, and the values of its databases.
    Windows(Digits),
    /// As typeperf writes on the console: six decimals, otherwise as in text logs.
    Console,
    /// As measured: whole numbers are exact, and an average without operations has no value.
    Measured,
}

impl Default for TextStyle {
    fn default() -> TextStyle {
        TextStyle::Windows(Digits::Seventeen)
    }
}

/// Significant digits of the numbers in a text log of Windows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Digits {
    /// `%.17g`: the usual form. Reading the text gives the same number.
    #[default]
    Seventeen,
    /// `%.20g`: what Windows has written since about 2021. The last three digits add nothing.
    Twenty,
}

impl TextStyle {
    /// The number to write for a value, for outputs whose cells are numbers; `None` for a text or a missing
    /// value.
    pub fn number(self, value: &Result<Value, NoValue>) -> Option<f64> {
        match value {
            Ok(value) => value.as_f64(),
            Err(NoValue::NoOperations) if self != TextStyle::Measured => Some(0.0),
            Err(_) => None,
        }
    }

    /// Writes the text of a value, without quotation marks.
    ///
    /// # Errors
    ///
    /// Only errors of `out`.
    pub fn write<W: Write + ?Sized>(self, out: &mut W, value: &Result<Value, NoValue>) -> fmt::Result {
        match (self, value) {
            // The usual case comes first: nearly every cell of a text log.
            (TextStyle::Windows(digits), Ok(Value::Number(number))) => write_general(out, *number, digits, 3),
            (_, Ok(Value::Text(text))) => out.write_str(text),
            (TextStyle::Measured, Ok(Value::Integer(integer))) => write!(out, "{integer}"),
            (TextStyle::Measured, Ok(Value::Number(number))) => write_g17(out, *number),
            (TextStyle::Measured, Err(_)) => Ok(()),
            (TextStyle::Console, _) => match self.number(value) {
                Some(number) => write_f6(out, number),
                None => out.write_char(' '),
            },
            (TextStyle::Windows(digits), _) => match self.number(value) {
                Some(number) => write_general(out, number, digits, 3),
                None => out.write_char(' '),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::String;

    use super::*;

    fn text(style: TextStyle, value: Result<Value, NoValue>) -> String {
        let mut text = String::new();
        style.write(&mut text, &value).expect("writing to a String cannot fail");
        text
    }

    #[test]
    fn windows_style_has_three_digit_exponents() {
        // The expected texts are those of Python's `%` operator, with a third digit in the exponent.
        for (number, seventeen, twenty) in [
            (6.94e-5, "6.9400000000000006e-005", "6.9400000000000006389e-005"),
            (-1e-300, "-1e-300", "-1.0000000000000000251e-300"),
            (1e17, "1e+017", "100000000000000000"),
            (1e20, "1e+020", "1e+020"),
            (0.0, "0", "0"),
            (0.1, "0.10000000000000001", "0.10000000000000000555"),
            (1057.2496111067921, "1057.2496111067921", "1057.2496111067921447"),
            (20.913042441624498, "20.913042441624498", "20.913042441624497769"),
            (0.00012345, "0.00012344999999999999", "0.00012344999999999999203"),
            (1e-5, "1.0000000000000001e-005", "1.0000000000000000818e-005"),
        ] {
            let value = Ok(Value::Number(number));
            assert_eq!(text(TextStyle::Windows(Digits::Seventeen), value.clone()), seventeen);
            assert_eq!(text(TextStyle::Windows(Digits::Twenty), value), twenty);
        }
    }

    #[test]
    fn styles_differ_in_integers_and_missing_values() {
        let above = (1 << 53) + 1;
        for (value, windows, console, measured) in [
            (Ok(Value::Integer(7)), "7", "7.000000", "7"),
            (Ok(Value::Integer(above)), "9007199254740992", "9007199254740992.000000", "9007199254740993"),
            (Ok(Value::Number(0.5)), "0.5", "0.500000", "0.5"),
            (Ok(Value::Text("on".into())), "on", "on", "on"),
            (Err(NoValue::NoOperations), "0", "0.000000", ""),
            (Err(NoValue::ZeroDenominator), " ", " ", ""),
        ] {
            assert_eq!(text(TextStyle::default(), value.clone()), windows);
            assert_eq!(text(TextStyle::Console, value.clone()), console);
            assert_eq!(text(TextStyle::Measured, value), measured);
        }
        assert_eq!(TextStyle::default().number(&Err(NoValue::NoOperations)), Some(0.0));
        assert_eq!(TextStyle::Measured.number(&Err(NoValue::NoOperations)), None);
    }
}
