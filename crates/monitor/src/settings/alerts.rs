//! Crossed thresholds in a settings file: a table each, with a TOML time.

use std::fmt;

use tallymon::core::time::{FileTime, SystemTime};
use toml::value::{Datetime, Offset};
use toml::{Table, Value};

use super::{flag_of, list_of, quoted, real_of, text_of, wrong};
use crate::model::Crossing;

/// Reads all crossings.
pub(super) fn parse(table: &Table) -> Result<Vec<Crossing>, String> {
    list_of(table, "alert")?
        .iter()
        .map(|value| {
            let alert = value.as_table().ok_or_else(|| wrong("alert", "a table", value))?;
            let number = |key: &str| {
                let number = real_of(alert, key)?.filter(|number| number.is_finite());
                number.ok_or_else(|| format!("alert: needed a number as its {key}, found none"))
            };
            Ok(Crossing {
                time: time_of(alert)?,
                path: text_of(alert, "path")?.ok_or("alert: needed a path, found none")?,
                value: number("value")?,
                threshold: number("threshold")?,
                rises: flag_of(alert, "rises")?.unwrap_or(true),
            })
        })
        .collect()
}

/// Writes all crossings.
pub(super) fn write(alerts: &[Crossing], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for Crossing { time, path, value, threshold, rises } in alerts {
        let time = time.system_time().to_string().replacen(' ', "T", 1);
        writeln!(f, "\n[[alert]]\ntime = {time}Z\npath = {}", quoted(path))?;
        writeln!(f, "value = {value:?}\nthreshold = {threshold:?}\nrises = {rises}")?;
    }
    Ok(())
}

fn time_of(alert: &Table) -> Result<FileTime, String> {
    match alert.get("time") {
        None => Err("alert: needed a time, found none".to_string()),
        Some(Value::Datetime(time)) => {
            file_time(time).ok_or_else(|| format!("time: needed a date with a time of day, found {time}"))
        }
        Some(other) => Err(wrong("time", "a date with a time of day", other)),
    }
}

/// The time of a date with a time of day; without a time zone it is UTC.
fn file_time(time: &Datetime) -> Option<FileTime> {
    let (date, clock) = (time.date?, time.time?);
    let known = SystemTime {
        year: date.year,
        month: u16::from(date.month),
        day_of_week: 0,
        day: u16::from(date.day),
        hour: u16::from(clock.hour),
        minute: u16::from(clock.minute),
        second: u16::from(clock.second),
        milliseconds: u16::try_from(clock.nanosecond / 1_000_000).ok()?,
    };
    let minutes = match time.offset {
        Some(Offset::Custom { minutes }) => i64::from(minutes),
        Some(Offset::Z) | None => 0,
    };
    let units = minutes.saturating_mul(60 * 10_000_000);
    Some(FileTime(known.file_time()?.0.checked_add_signed(units.saturating_neg())?))
}

#[cfg(test)]
mod tests {
    use super::super::Settings;
    use super::*;

    #[test]
    fn alerts_come_back() {
        let alert = |seconds: u64, rises| Crossing {
            time: FileTime(134_168_316_000_000_000 + seconds * 10_000_000 + 1_230_000),
            path: r"\Process(a'b)\% Processor Time".into(),
            value: 83.25,
            threshold: 80.0,
            rises,
        };
        let settings = Settings { alerts: vec![alert(0, true), alert(5, false)], ..Settings::default() };
        let text = settings.to_string();
        assert!(text.contains("time = 2026-03-01T09:40:05.123Z\n"), "{text}");
        assert_eq!(Settings::parse(&text), Ok(settings), "{text}");
    }

    #[test]
    fn times_may_have_a_zone_and_what_is_wrong_is_told() {
        let text = |time: &str| {
            format!("[[alert]]\ntime = {time}\npath = 'a'\nvalue = 1\nthreshold = 0\nrises = true")
        };
        let time = |words: &str| Settings::parse(&text(words)).map(|settings| settings.alerts[0].time);
        assert_eq!(time("2026-03-01T18:40:00+09:00"), time("2026-03-01T09:40:00Z"));
        assert_eq!(time("2026-03-01 09:40:00"), time("2026-03-01T09:40:00Z"));
        for (words, wanted) in [
            ("2026-03-01", "a date with a time of day"),
            ("7", "a date with a time of day, found a whole number"),
        ] {
            let error = time(words).unwrap_err();
            assert!(error.contains(wanted), "{error}");
        }
        for (text, wanted) in [
            ("[[alert]]\npath = 'a'", "needed a time"),
            ("[[alert]]\ntime = 2026-03-01T09:40:00Z", "needed a path"),
            ("[[alert]]\ntime = 2026-03-01T09:40:00Z\npath = 'a'\nvalue = nan", "as its value"),
            ("alert = 7", "needed a list"),
        ] {
            let error = Settings::parse(text).unwrap_err();
            assert!(error.contains(wanted), "{error}");
        }
    }
}
