//! Converts between the local times of logs and UTC.
//!
//! Windows writes local times into its logs. The distance from UTC is in the log too: most reliably in raw
//! values that are UTC themselves, else in the time zone rules of the machine, or as a number of minutes in
//! the first line of a text log.

use tallymon_core::bytes::Bytes;
use tallymon_core::error::Error;
use tallymon_core::text::CodePage;
use tallymon_core::text::{ByteOrder, Name};
use tallymon_core::time::{FileTime, SystemTime, UNITS_PER_SECOND};

/// 100 ns units in a minute.
pub(crate) const UNITS_PER_MINUTE: u64 = UNITS_PER_SECOND.saturating_mul(60);

/// What a log says about its time zone.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Zone {
    /// Nothing. Times are taken as UTC.
    #[default]
    Unknown,
    /// The words of a text log that do not say the distance from UTC: what follows after `(PDH-CSV 4.0)` in
    /// its first line. Times are taken as UTC if the zone cannot be guessed from the words.
    Words(String),
    /// One distance from UTC for the whole log, as in text logs.
    Fixed {
        /// Name of the zone, perhaps cut or empty.
        name: String,
        /// Minutes to add to local time to get UTC.
        bias: i32,
    },
    /// The rules of a zone with daylight saving time, as binary logs have them.
    Rules(Box<ZoneRules>),
}

/// A `TIME_ZONE_INFORMATION`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ZoneRules {
    /// Minutes to add to local time to get UTC, without the seasonal minutes below.
    pub bias: i32,
    /// Name of the zone; since Vista a reference to a resource with the name: `@tzres.dll,-212`.
    pub standard_name: String,
    /// When standard time begins in a year; month 0 without daylight saving time.
    pub standard_date: SystemTime,
    /// Minutes to add to `bias` in standard time, nearly always 0.
    pub standard_bias: i32,
    /// Name of the zone in summer.
    pub daylight_name: String,
    /// When daylight saving time begins.
    pub daylight_date: SystemTime,
    /// Minutes to add to `bias` in daylight saving time, usually -60.
    pub daylight_bias: i32,
}

/// Length of a `TIME_ZONE_INFORMATION` in bytes.
pub(crate) const ZONE_RULES_SIZE: usize = 172;

impl Zone {
    /// Minutes to add to UTC to get this local time.
    ///
    /// The hour that occurs twice in autumn is taken as standard time, because nothing tells the two apart.
    pub fn minutes_at_local(&self, local: FileTime) -> i32 {
        match self {
            Zone::Unknown | Zone::Words(_) => 0,
            Zone::Fixed { bias, .. } => bias.saturating_neg(),
            Zone::Rules(rules) => {
                let extra = if rules.is_daylight(local) { rules.daylight_bias } else { rules.standard_bias };
                rules.bias.saturating_add(extra).saturating_neg()
            }
        }
    }

    /// Whether the distance from UTC is not known.
    pub const fn is_unknown(&self) -> bool {
        matches!(self, Zone::Unknown | Zone::Words(_))
    }

    /// What follows after `(PDH-CSV 4.0)` in the first line of a text log, for a time that is `minutes` from
    /// UTC. An unknown zone stays unknown.
    pub fn header(&self, minutes: i32) -> String {
        match self {
            Zone::Unknown => String::new(),
            Zone::Words(words) => words.clone(),
            // What a text log says stays, also an empty name, and one that was cut at a letter that is not
            // ASCII.
            Zone::Fixed { name, bias }
                if *bias == minutes.saturating_neg() && !name.contains(is_unwritable) =>
            {
                format!(" ({name})({bias})")
            }
            Zone::Fixed { .. } | Zone::Rules(_) => {
                let (name, bias) = self.label(minutes);
                format!(" ({name})({bias})")
            }
        }
    }

    /// The name and the bias in minutes for the first line of a text log, for a time that is `minutes` from
    /// UTC.
    ///
    /// The name is ASCII, and its parentheses are pairs, as in `RTZ 2 (winter)`. It is like `UTC-03:30` if
    /// the log has only a resource number with unknown text, or if the distance does not fit the zone.
    pub fn label(&self, minutes: i32) -> (String, i32) {
        let bias = minutes.saturating_neg();
        let name = match self {
            Zone::Unknown | Zone::Words(_) => "",
            Zone::Fixed { name, bias: own } if *own == bias => name,
            Zone::Rules(rules) if bias == rules.bias.saturating_add(rules.standard_bias) => {
                resource_text(&rules.standard_name)
            }
            Zone::Rules(rules) if bias == rules.bias.saturating_add(rules.daylight_bias) => {
                resource_text(&rules.daylight_name)
            }
            Zone::Fixed { .. } | Zone::Rules(_) => "",
        };
        let plain = |char: char| (char.is_ascii_graphic() || char == ' ') && char != '"';
        if !name.is_empty() && name.chars().all(plain) && has_pairs(name) {
            return (name.to_owned(), bias);
        }
        if bias == 0 {
            return ("UTC".to_owned(), 0);
        }
        let sign = if minutes < 0 { '-' } else { '+' };
        let minutes = minutes.unsigned_abs();
        (format!("UTC{sign}{:02}:{:02}", minutes / 60, minutes % 60), bias)
    }
}

/// Whether each parenthesis of a text has its other one.
fn has_pairs(text: &str) -> bool {
    let mut depth = 0u32;
    for letter in text.chars() {
        depth = match letter {
            '(' => depth.saturating_add(1),
            ')' if depth == 0 => return false,
            ')' => depth.saturating_sub(1),
            _ => depth,
        };
    }
    depth == 0
}

/// Whether a letter would end the field of a text log, or its line.
fn is_unwritable(letter: char) -> bool {
    letter.is_control() || letter == '"'
}

/// The text of a reference into Windows' `tzres.dll`; other names do not change.
///
/// Only numbers whose zone is known from logs are listed.
fn resource_text(name: &str) -> &str {
    match name.strip_prefix("@tzres.dll,-") {
        Some("211") => "Pacific Daylight Time",
        Some("212") => "Pacific Standard Time",
        Some("111") => "Eastern Daylight Time",
        Some("112") => "Eastern Standard Time",
        Some(_) => "",
        None => name,
    }
}

impl ZoneRules {
    /// Reads the 172 bytes of a `TIME_ZONE_INFORMATION`.
    pub(crate) fn parse(data: &[u8]) -> Result<ZoneRules, Error> {
        const WHAT: &str = "TIME_ZONE_INFORMATION";
        let name = |at| {
            Bytes::little(data)
                .slice(at, 64, WHAT)
                .map(Bytes::data)
                .map(|name| Name::new(name, CodePage::UTF_16, ByteOrder::Little).to_string_lossy())
        };
        Ok(ZoneRules {
            bias: Bytes::little(data).i32(0, WHAT)?,
            standard_name: name(4)?,
            standard_date: system_time(data, 68)?,
            standard_bias: Bytes::little(data).i32(84, WHAT)?,
            daylight_name: name(88)?,
            daylight_date: system_time(data, 152)?,
            daylight_bias: Bytes::little(data).i32(168, WHAT)?,
        })
    }

    /// Writes the 172 bytes. Names are cut after 31 units.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(ZONE_RULES_SIZE);
        let name = |out: &mut Vec<u8>, name: &str| {
            let units = name.encode_utf16().take(31).chain(std::iter::repeat(0)).take(32);
            units.for_each(|unit| out.extend_from_slice(&unit.to_le_bytes()));
        };
        let date = |out: &mut Vec<u8>, date: &SystemTime| {
            let SystemTime { year, month, day_of_week, day, hour, minute, second, milliseconds } = *date;
            for part in [year, month, day_of_week, day, hour, minute, second, milliseconds] {
                out.extend_from_slice(&part.to_le_bytes());
            }
        };
        out.extend_from_slice(&self.bias.to_le_bytes());
        name(&mut out, &self.standard_name);
        date(&mut out, &self.standard_date);
        out.extend_from_slice(&self.standard_bias.to_le_bytes());
        name(&mut out, &self.daylight_name);
        date(&mut out, &self.daylight_date);
        out.extend_from_slice(&self.daylight_bias.to_le_bytes());
        out
    }

    /// Whether it has no name, which no zone of Windows is.
    pub(crate) const fn is_nameless(&self) -> bool {
        self.standard_name.is_empty() && self.daylight_name.is_empty()
    }

    fn is_daylight(&self, local: FileTime) -> bool {
        let year = local.system_time().year;
        let (Some(summer), Some(winter)) =
            (change_in_year(&self.daylight_date, year), change_in_year(&self.standard_date, year))
        else {
            return false;
        };
        // The clock shows daylight time when it is set back, so the hour that comes twice begins earlier.
        // Daylight bias is negative: the end of summer in standard time.
        let back = i64::from(self.standard_bias).saturating_sub(i64::from(self.daylight_bias));
        let back = u64::try_from(back).unwrap_or(0).saturating_mul(UNITS_PER_MINUTE);
        let winter = FileTime(winter.0.saturating_sub(back));
        if summer < winter { summer <= local && local < winter } else { local < winter || summer <= local }
    }
}

fn system_time(data: &[u8], at: usize) -> Result<SystemTime, Error> {
    let part =
        |index: usize| Bytes::little(data).u16(at.saturating_add(index.saturating_mul(2)), "SYSTEMTIME");
    Ok(SystemTime {
        year: part(0)?,
        month: part(1)?,
        day_of_week: part(2)?,
        day: part(3)?,
        hour: part(4)?,
        minute: part(5)?,
        second: part(6)?,
        milliseconds: part(7)?,
    })
}

/// When a change happens in a year: at its date, or with year 0 at the `day`-th of its weekday in the month,
/// where 5 is the last one.
fn change_in_year(rule: &SystemTime, year: u16) -> Option<FileTime> {
    if rule.month == 0 {
        return None;
    }
    if rule.year != 0 {
        return if rule.year == year { rule.file_time() } else { None };
    }
    let first = SystemTime { year, day: 1, ..*rule }.file_time()?;
    let first_weekday = first.system_time().day_of_week;
    let until = rule.day_of_week.checked_add(7)?.checked_sub(first_weekday)? % 7;
    let mut day = until.checked_add(1)?;
    for _ in 1..rule.day.min(5) {
        let next = day.checked_add(7)?;
        if (SystemTime { day: next, year, ..*rule }).file_time().is_none() {
            break;
        }
        day = next;
    }
    SystemTime { day, year, ..*rule }.file_time()
}

/// Adds minutes to a time. The result stays within the range of a file time.
pub fn add_minutes(time: FileTime, minutes: i32) -> FileTime {
    let units = u64::from(minutes.unsigned_abs()).saturating_mul(UNITS_PER_MINUTE);
    FileTime(if minutes < 0 { time.0.saturating_sub(units) } else { time.0.saturating_add(units) })
}

/// The distance of local time from UTC in minutes, from the same moment in both; `None` if the two times are
/// not the same moment.
///
/// Distances are multiples of 15 minutes, at most 14 hours. The clock of a remote machine may differ by
/// minutes from the clock of the machine that wrote the log.
pub(crate) fn minutes_between(local: FileTime, utc: FileTime) -> Option<i32> {
    const QUARTER: i64 = 9_000_000_000;
    const SLACK: i64 = 3_000_000_000;
    let apart = i128::from(local.0).checked_sub(i128::from(utc.0))?;
    let apart = i64::try_from(apart).ok()?;
    let quarters = apart.checked_add(QUARTER / 2)?.div_euclid(QUARTER);
    let rest = apart.checked_sub(quarters.checked_mul(QUARTER)?)?;
    let minutes = i32::try_from(quarters.checked_mul(15)?).ok()?;
    (rest.abs() <= SLACK && (-15 * 60..=15 * 60).contains(&minutes)).then_some(minutes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pacific() -> Zone {
        let change = |month, day| SystemTime { month, day, hour: 2, ..SystemTime::default() };
        Zone::Rules(Box::new(ZoneRules {
            bias: 480,
            standard_name: "@tzres.dll,-212".into(),
            standard_date: change(11, 1),
            standard_bias: 0,
            daylight_name: "@tzres.dll,-211".into(),
            daylight_date: change(3, 2),
            daylight_bias: -60,
        }))
    }

    fn at(year: u16, month: u16, day: u16, hour: u16, minute: u16) -> FileTime {
        SystemTime { year, month, day, hour, minute, ..SystemTime::default() }.file_time().unwrap()
    }

    #[test]
    fn daylight_saving_by_the_rules() {
        // `zdump -v America/Los_Angeles`: 2016-03-13 02:00 and 2016-11-06 02:00 are the changes.
        let zone = pacific();
        for (time, minutes) in [
            (at(2016, 1, 1, 0, 0), -480),
            (at(2016, 3, 13, 1, 59), -480),
            (at(2016, 3, 13, 3, 0), -420),
            (at(2016, 7, 1, 0, 0), -420),
            (at(2016, 11, 6, 0, 59), -420),
            (at(2016, 11, 6, 1, 0), -480),
            (at(2016, 11, 26, 13, 46), -480),
        ] {
            assert_eq!(zone.minutes_at_local(time), minutes, "{}", time.system_time());
        }
    }

    #[test]
    fn southern_summers_include_the_new_year() {
        let change = |month, day| SystemTime { month, day, hour: 2, ..SystemTime::default() };
        let zone = Zone::Rules(Box::new(ZoneRules {
            bias: -600,
            standard_date: SystemTime { hour: 3, ..change(4, 1) },
            daylight_date: change(10, 1),
            daylight_bias: -60,
            ..ZoneRules::default()
        }));
        assert_eq!(zone.minutes_at_local(at(2016, 1, 1, 0, 0)), 660);
        assert_eq!(zone.minutes_at_local(at(2016, 6, 1, 0, 0)), 600);
        assert_eq!(zone.minutes_at_local(at(2016, 12, 1, 0, 0)), 660);
    }

    #[test]
    fn labels_are_ascii() {
        assert_eq!(pacific().label(-480), ("Pacific Standard Time".into(), 480));
        assert_eq!(pacific().label(-420), ("Pacific Daylight Time".into(), 420));
        assert_eq!(pacific().label(60), ("UTC+01:00".into(), -60));
        assert_eq!(Zone::Unknown.label(0), ("UTC".into(), 0));
        for (name, shown) in
            [("RTZ 2 (winter)", "RTZ 2 (winter)"), ("RTZ 2 (winter", "UTC+03:00"), (")(", "UTC+03:00")]
        {
            assert_eq!(Zone::Fixed { name: name.into(), bias: -180 }.label(180).0, shown);
        }
        assert_eq!(
            Zone::Fixed { name: "Paris, Madrid (heure d’été)".into(), bias: -120 }.label(120).0,
            "UTC+02:00"
        );
        assert_eq!(Zone::Unknown.label(-210), ("UTC-03:30".into(), 210));
    }

    #[test]
    fn rules_are_read_back() {
        let Zone::Rules(rules) = pacific() else { unreachable!() };
        let bytes = rules.to_bytes();
        assert_eq!(bytes.len(), ZONE_RULES_SIZE);
        assert_eq!(ZoneRules::parse(&bytes).unwrap(), *rules);
        for length in 0..bytes.len() {
            assert!(ZoneRules::parse(&bytes[..length]).is_err());
        }
    }

    #[test]
    fn distances_from_utc() {
        let utc = at(2016, 11, 26, 21, 46);
        assert_eq!(minutes_between(add_minutes(utc, -480), utc), Some(-480));
        assert_eq!(minutes_between(FileTime(add_minutes(utc, 345).0 + 600_000_000), utc), Some(345));
        assert_eq!(minutes_between(FileTime(utc.0 + 7 * UNITS_PER_MINUTE), utc), None);
        assert_eq!(minutes_between(utc, FileTime(0)), None);
        assert_eq!(minutes_between(FileTime(u64::MAX), FileTime(0)), None);
        assert_eq!(minutes_between(FileTime(0), FileTime(u64::MAX)), None);
    }
}
