//! Numbers and times as the monitor shows them: short, in columns that do not jump.

use std::time::Duration;

use tallymon::core::counter::{self, CounterType, Subtype, Suffix};
use tallymon::core::flow::Value;
use tallymon::core::time::{FileTime, SystemTime, UNITS_PER_SECOND};
pub use tallymon::human::{file_size as bytes, seconds};

/// How numbers are written: the separator of groups of three digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Numbers {
    separator: Option<char>,
}

impl Default for Numbers {
    /// As in English.
    fn default() -> Numbers {
        Numbers::new(Some(','))
    }
}

impl Numbers {
    /// Groups of three digits with this separator, or no groups.
    pub const fn new(separator: Option<char>) -> Numbers {
        Numbers { separator }
    }

    /// A number for people: at most three decimals, fewer the larger it is.
    pub fn number(self, number: f64) -> String {
        let size = number.abs();
        if !number.is_finite() || size >= 1e15 {
            return format!("{number:.3e}");
        }
        if size == 0.0 {
            return "0".to_string();
        }
        if size < 0.001 {
            return format!("{number:.1e}");
        }
        let decimals = match size {
            size if size >= 999.95 => 0,
            size if size >= 99.95 => 1,
            size if size >= 9.995 => 2,
            _ => 3,
        };
        self.group(format!("{number:.decimals$}"))
    }

    /// A value for people: text unchanged, hexadecimal where its type says so, counts with all digits.
    pub fn value(self, value: &Value, counter_type: CounterType) -> String {
        match value {
            Value::Text(text) => text.trim().to_string(),
            Value::Integer(_) if matches!(counter_type.subtype(), Subtype::Hex | Subtype::Dec1000) => {
                counter::human(value, counter_type).to_string()
            }
            Value::Integer(integer) => self.group(integer.to_string()),
            other => other.as_f64().map(|number| self.number(number)).unwrap_or_default(),
        }
    }

    /// A number that was computed from values of a type: whole where its values are counts.
    pub fn number_of(self, number: f64, counter_type: CounterType) -> String {
        let counts = !counter_type.needs_two_samples() && counter_type.suffix() == Suffix::None;
        if counts && number.fract() == 0.0 && number.abs() < 1e15 {
            self.group(format!("{number:.0}"))
        } else {
            self.number(number)
        }
    }

    /// A difference with its sign, and as a share: `+60 (+300 %)`.
    pub fn change(self, (change, share): (f64, Option<f64>), counter_type: CounterType) -> String {
        let sign = if change > 0.0 { "+" } else { "" };
        let share = share.map(|share| format!(" ({share:+.0} %)")).unwrap_or_default();
        format!("{sign}{}{share}", self.number_of(change, counter_type))
    }

    fn group(self, text: String) -> String {
        match self.separator {
            Some(separator) => group(&text, separator),
            None => text,
        }
    }
}

/// Groups the digits before the point by three.
fn group(text: &str, separator: char) -> String {
    let (whole, rest) = text.find('.').map_or((text, ""), |point| text.split_at(point));
    let (sign, digits) = whole.strip_prefix('-').map_or(("", whole), |digits| ("-", digits));
    let mut grouped = String::with_capacity(text.len().saturating_add(8));
    grouped.push_str(sign);
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && digits.len().saturating_sub(position).is_multiple_of(3) {
            grouped.push(separator);
        }
        grouped.push(digit);
    }
    grouped.push_str(rest);
    grouped
}

/// A power of ten as Performance Monitor writes a scale: 0.01, 1.0, 100.0.
pub fn scale(power: i32) -> String {
    match power {
        0.. => {
            let zeros = usize::try_from(power).unwrap_or_default();
            if zeros > 4 { format!("1e{zeros}") } else { format!("1{}.0", "0".repeat(zeros)) }
        }
        -5..0 => {
            let zeros = usize::try_from(power.unsigned_abs()).unwrap_or_default().saturating_sub(1);
            format!("0.{}1", "0".repeat(zeros))
        }
        _ => format!("1e{power}"),
    }
}

/// A number at an axis, in few letters; whole numbers without decimals.
pub fn axis(number: f64) -> String {
    let size = number.abs();
    match size {
        size if size >= 1e6 => format!("{number:.0e}"),
        size if size >= 10.0 || number.fract() == 0.0 => format!("{number:.0}"),
        _ => format!("{number:.2}"),
    }
}

/// A duration as `1:40` or `2:01:40`.
pub fn duration(from: FileTime, to: FileTime) -> String {
    let seconds = to.0.saturating_sub(from.0) / UNITS_PER_SECOND;
    let (hours, minutes, seconds) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    if hours > 0 { format!("{hours}:{minutes:02}:{seconds:02}") } else { format!("{minutes}:{seconds:02}") }
}

/// A time of day.
pub fn clock(time: SystemTime) -> String {
    format!("{:02}:{:02}:{:02}", time.hour, time.minute, time.second)
}

/// An age in as few columns as possible: `12 s`, `3 min`, `5 h`.
pub fn age(age: Duration) -> String {
    match age.as_secs() {
        seconds @ 0..100 => format!("{seconds} s"),
        seconds @ 100..6_000 => format!("{} min", seconds / 60),
        seconds => format!("{} h", seconds / 3_600),
    }
}

/// An interval in its natural unit: `500 ms`, `1 s`, `1 min`.
pub fn interval(interval: Duration) -> String {
    let milliseconds = interval.as_millis();
    if !milliseconds.is_multiple_of(1_000) {
        format!("{milliseconds} ms")
    } else if milliseconds >= 60_000 && milliseconds.is_multiple_of(60_000) {
        format!("{} min", milliseconds / 60_000)
    } else {
        format!("{} s", milliseconds / 1_000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        for (value, expected) in [
            (0.0, "0"),
            (0.5, "0.500"),
            (-0.25, "-0.250"),
            (37.123, "37.12"),
            (100.0, "100.0"),
            (9.999, "10.00"),
            (1234.4, "1,234"),
            (9_999.7, "10,000"),
            (123_456_789.4, "123,456,789"),
            (-1_234_567.0, "-1,234,567"),
            (0.000_01, "1.0e-5"),
            (1e300, "1.000e300"),
            (f64::NAN, "NaN"),
        ] {
            assert_eq!(Numbers::default().number(value), expected, "{value}");
        }
    }

    #[test]
    fn values() {
        let raw = CounterType::PERF_COUNTER_RAWCOUNT;
        let value = |of: &Value, counter_type| Numbers::default().value(of, counter_type);
        assert_eq!(value(&Value::Integer(u64::MAX), raw), "18,446,744,073,709,551,615");
        assert_eq!(value(&Value::Text(" ready ".to_string()), CounterType::PERF_COUNTER_TEXT), "ready");
        let hex = CounterType::PERF_COUNTER_RAWCOUNT_HEX;
        assert_eq!(value(&Value::Integer(0xbeef), hex), "0x0000BEEF");
        for (separator, wanted) in [(Some(' '), "1 234 567"), (None, "1234567")] {
            let numbers = Numbers::new(separator);
            assert_eq!(numbers.value(&Value::Integer(1_234_567), raw), wanted);
            assert_eq!([numbers.number_of(1_234_567.0, raw), numbers.number(1_234_567.2)], [wanted, wanted]);
        }
    }

    #[test]
    fn numbers_of_an_axis() {
        let numbers = [0.0, 100.0, 2.5, 0.05, -37.5, 999_999.0, 2e9].map(axis);
        assert_eq!(numbers, ["0", "100", "2.50", "0.05", "-38", "999999", "2e9"]);
    }

    #[test]
    fn scales_and_times() {
        let scales = [-9, -5, -2, -1, 0, 1, 3, 9].map(scale);
        assert_eq!(scales, ["1e-9", "0.00001", "0.01", "0.1", "1.0", "10.0", "1000.0", "1e9"]);
        let seconds = |seconds: u64| FileTime(seconds * UNITS_PER_SECOND);
        assert_eq!(duration(seconds(10), seconds(110)), "1:40");
        assert_eq!(duration(seconds(0), seconds(7_300)), "2:01:40");
        assert_eq!(duration(seconds(9), seconds(0)), "0:00");
        assert_eq!(clock(seconds(3_661).system_time()), "01:01:01");
    }
}
