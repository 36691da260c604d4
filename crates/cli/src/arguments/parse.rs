//! Parsers of the values of options: times, speeds, digits and character sets.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::builder::{PathBufValueParser, PossibleValuesParser, TypedValueParser};
use tallymon::NameForm;
use tallymon::clock::parse_seconds;
use tallymon::core::counter::Digits;
use tallymon::core::title::Language;
use tallymon_export::profile::Profile;
use tallymon_monitor::chart::Glyphs;

/// The longest interval: more than a year between two samples is a mistake.
const LONGEST: Duration = Duration::from_secs(366 * 86_400);
/// The shortest interval: clocks of the kernel tick 100 times a second.
const SHORTEST: Duration = Duration::from_millis(10);

/// Parses the name of a chart's character set.
pub(super) fn glyphs(text: &str) -> Result<Glyphs, String> {
    Glyphs::from_name(text).ok_or_else(|| {
        let names: Vec<&str> = Glyphs::NAMES.iter().map(|(name, _)| *name).collect();
        format!("expected one of {}", names.join(", "))
    })
}

/// Parses a language.
pub(super) fn language(text: &str) -> Result<Language, String> {
    Language::parse(text).ok_or_else(|| "expected en, ko, ja, ru, or a Windows code such as 012".to_string())
}

/// Parses a form of names.
pub(super) fn names(text: &str) -> Result<NameForm, String> {
    NameForm::parse(text).ok_or_else(|| "expected nt or translated".to_string())
}

/// A parser of the names of profiles, which completions know.
pub(crate) fn profile_names() -> impl TypedValueParser<Value = Profile> {
    let names = Profile::ALL.map(Profile::name);
    PossibleValuesParser::new(names).try_map(|name| name.parse::<Profile>())
}

/// Parses a playback speed such as `2` or `2x`.
pub(super) fn speed(text: &str) -> Result<f64, String> {
    let number = text.trim_end_matches(['x', 'X']).parse::<f64>().ok();
    number
        .filter(|number| (0.001..=1e6).contains(number))
        .ok_or_else(|| "expected a number from 0.001 to 1000000".to_string())
}

/// A parser of the name of a file or folder that is written, where there is no way to write to standard
/// output.
/// `-` is what many programs call that, so it is not taken for a name.
pub(crate) fn file_to_write() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(|path| {
        if path == Path::new("-") {
            Err("- does not stand for standard output here; write ./- for a file of that name")
        } else {
            Ok(path)
        }
    })
}

/// The file of an option that takes `-` for standard output, which is also meant without the option.
pub(crate) fn file_of(output: Option<&PathBuf>) -> Option<&Path> {
    output.map(PathBuf::as_path).filter(|path| *path != Path::new("-"))
}

/// Parses the number of significant digits.
pub(super) fn digits(text: &str) -> Result<Digits, String> {
    match text {
        "17" => Ok(Digits::Seventeen),
        "20" => Ok(Digits::Twenty),
        _ => Err("expected 17 or 20".to_string()),
    }
}

/// Parses an interval such as `500ms`, `5s`, `1.5s`, `2m`, `1h`, `5`, or `[[hh:]mm:]ss`.
pub(crate) fn interval(text: &str) -> Result<Duration, String> {
    let wrong = || format!("{text:?} is not a time; write 500ms, 5s, 2m, 1h or hh:mm:ss");
    let seconds = parse_seconds(text).ok_or_else(wrong)?;
    let duration = Duration::try_from_secs_f64(seconds).map_err(|_| wrong())?;
    if (SHORTEST..=LONGEST).contains(&duration) {
        Ok(duration)
    } else {
        Err(format!("{text:?} is out of range: 10ms to 366 days"))
    }
}

/// A time that may be much shorter than that between two samples, such as `10us`.
pub(crate) fn short_time(text: &str) -> Result<Duration, String> {
    let wrong = || format!("{text:?} is not a time from 1 ns to 1 hour; write 500ns, 10us, 2ms or 1s");
    let (number, unit) = text.split_at(text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len()));
    let scale = match unit {
        "ns" => 1e-9,
        "us" => 1e-6,
        "ms" => 1e-3,
        "s" | "" => 1.0,
        _ => return Err(wrong()),
    };
    let seconds = number.parse::<f64>().map_err(|_| wrong())? * scale;
    let duration = Duration::try_from_secs_f64(seconds).map_err(|_| wrong())?;
    let range = Duration::from_nanos(1)..=Duration::from_secs(3600);
    if range.contains(&duration) { Ok(duration) } else { Err(wrong()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_intervals() {
        for (text, milliseconds) in [
            ("500ms", 500),
            ("5s", 5_000),
            ("5", 5_000),
            ("1.5s", 1_500),
            ("2m", 120_000),
            ("1h", 3_600_000),
            ("00:00:05", 5_000),
            ("01:30", 90_000),
        ] {
            assert_eq!(interval(text), Ok(Duration::from_millis(milliseconds)), "{text}");
        }
        for text in ["", "s", "-1s", "1x", "1:2:3:4", "1:x", "nan", "inf", "0", "1ms", "9e9s"] {
            assert!(interval(text).is_err(), "{text}");
        }
    }

    #[test]
    fn short_times_have_units() {
        let cases = [
            ("500ns", 500),
            ("10us", 10_000),
            ("1.5ms", 1_500_000),
            ("1s", 1_000_000_000),
            ("2", 2_000_000_000),
        ];
        for (text, nanoseconds) in cases {
            assert_eq!(short_time(text), Ok(Duration::from_nanos(nanoseconds)), "{text}");
        }
        for text in ["", "0", "us", "-1us", "1 us", "10m", "nan", "1e99s", "0.1ns"] {
            assert!(short_time(text).is_err(), "{text}");
        }
    }
}
