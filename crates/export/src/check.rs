//! Results for monitoring systems that run plugins (Nagios, Icinga, Naemon, Zabbix' agents).
//!
//! Source of ranges, states and performance data:
//! <https://www.monitoring-plugins.org/doc/guidelines.html>.

use std::fmt;
use std::str::FromStr;

/// The state of a service, in the order in which states cover each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum State {
    /// Everything is as it should be.
    Ok,
    /// There is no value.
    Unknown,
    /// A value is outside of the range for warnings.
    Warning,
    /// A value is outside of the range for errors.
    Critical,
}

impl State {
    /// The exit code of a plugin in this state.
    pub const fn code(self) -> u8 {
        match self {
            State::Ok => 0,
            State::Warning => 1,
            State::Critical => 2,
            State::Unknown => 3,
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            State::Ok => "OK",
            State::Warning => "WARNING",
            State::Critical => "CRITICAL",
            State::Unknown => "UNKNOWN",
        })
    }
}

/// A range of numbers that raises no alarm, or with `@` the range that does.
///
/// `10` is 0 to 10, `10:` is 10 and more, `~:10` is 10 and less, `10:20` is 10 to 20, and `@10:20` alarms
/// inside of 10 to 20. Both ends belong to the range.
#[derive(Debug, Clone, PartialEq)]
pub struct Range {
    text: String,
    start: f64,
    end: f64,
    is_inverse: bool,
}

impl Range {
    /// Whether a number raises an alarm. What is not a number does.
    pub fn alarms(&self, number: f64) -> bool {
        let is_inside = self.start <= number && number <= self.end;
        is_inside == self.is_inverse || number.is_nan()
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}

impl FromStr for Range {
    type Err = String;

    fn from_str(text: &str) -> Result<Range, String> {
        let wrong = |what: &str| {
            format!(
                "no range {text:?}: {what}; write 10, 10:, ~:10, 10:20, or @10:20 for an alarm inside of it"
            )
        };
        let (rest, is_inverse) = text.strip_prefix('@').map_or((text, false), |rest| (rest, true));
        let number = |part: &str| {
            let number = part.parse::<f64>().ok().filter(|number| number.is_finite());
            number.ok_or_else(|| wrong(&format!("{part:?} is not a number")))
        };
        let (start, end) = match rest.split_once(':') {
            None => (0.0, number(rest)?),
            Some((start, end)) => {
                let start = match start {
                    "~" => f64::NEG_INFINITY,
                    "" => 0.0,
                    start => number(start)?,
                };
                (start, if end.is_empty() { f64::INFINITY } else { number(end)? })
            }
        };
        if start > end {
            return Err(wrong("it ends before it starts"));
        }
        Ok(Range { text: text.to_owned(), start, end, is_inverse })
    }
}

/// One value with its ranges: what a plugin prints behind `|`.
#[derive(Debug, Clone, Copy)]
pub struct PerformanceData<'a> {
    /// The counter path.
    pub label: &'a str,
    /// The value; `None` for one that is missing.
    pub value: Option<f64>,
    /// `%`, `s`, `B`, or nothing.
    pub unit: &'a str,
    /// The range for warnings.
    pub warning: Option<&'a Range>,
    /// The range for errors.
    pub critical: Option<&'a Range>,
}

impl fmt::Display for PerformanceData<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The format has no way to write these in a label, and no line ends.
        let label = self.label.replace('\'', "''").replace('=', "_").replace(['\n', '\r', '|'], " ");
        write!(f, "'{label}'=")?;
        match self.value {
            Some(value) => write!(f, "{value}{}", self.unit)?,
            None => write!(f, "U")?,
        }
        let range = |range: Option<&Range>| range.map(Range::to_string).unwrap_or_default();
        write!(f, ";{};{}", range(self.warning), range(self.critical))?;
        if self.unit == "%" { write!(f, ";0;100") } else { Ok(()) }
    }
}

/// The state of a value.
pub fn state(value: f64, warning: Option<&Range>, critical: Option<&Range>) -> State {
    if critical.is_some_and(|range| range.alarms(value)) {
        State::Critical
    } else if warning.is_some_and(|range| range.alarms(value)) {
        State::Warning
    } else {
        State::Ok
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_those_of_the_guidelines() {
        // The table of the guidelines, section "Threshold and Ranges".
        let table: [(&str, &[f64], &[f64]); 6] = [
            ("10", &[-0.1, 10.1, f64::NAN], &[0.0, 10.0]),
            ("10:", &[9.9], &[10.0, 1e9]),
            ("~:10", &[10.1], &[-1e9, 10.0]),
            ("10:20", &[9.9, 20.1], &[10.0, 20.0]),
            ("@10:20", &[10.0, 15.0, 20.0], &[9.9, 20.1]),
            (":5", &[-1.0, 6.0], &[0.0, 5.0]),
        ];
        for (text, alarms, quiet) in table {
            let range: Range = text.parse().unwrap();
            assert!(alarms.iter().all(|number| range.alarms(*number)), "{text}");
            assert!(!quiet.iter().any(|number| range.alarms(*number)), "{text}");
        }
        for text in ["", "a", "1:b", "20:10", "@", "inf", "nan:"] {
            assert!(text.parse::<Range>().is_err(), "{text}");
        }
    }

    #[test]
    fn performance_data_is_one_word_for_its_reader() {
        let range = "80".parse().unwrap();
        let data = PerformanceData {
            label: "\\A(it's=|b)\\% C",
            value: Some(12.5),
            unit: "%",
            warning: Some(&range),
            critical: None,
        };
        assert_eq!(data.to_string(), "'\\A(it''s_ b)\\% C'=12.5%;80;;0;100");
        assert_eq!(
            PerformanceData { value: None, unit: "", ..data }.to_string(),
            "'\\A(it''s_ b)\\% C'=U;80;"
        );
    }
}
