//! The objects of a line: what they have of the keys that are read. Other keys are skipped.

use std::fmt;

use serde_core::de::{Deserialize, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use tallymon_core::counter::CounterType;
use tallymon_core::flow::PartialSum;
use tallymon_core::time::{FileTime, SystemTime};

use super::MOST_COLUMNS;
use crate::column_list::type_of;

/// A line: the values of one time.
#[derive(Debug, Default)]
pub(super) struct OneLine {
    pub(super) time: Option<FileTime>,
    pub(super) host: String,
    pub(super) zone: Option<String>,
    /// Minutes to add to local time to get UTC.
    pub(super) bias: Option<i32>,
    pub(super) values: Option<Vec<OneValue>>,
    /// Values beyond the most.
    pub(super) left_out: u64,
}

/// One value of a line.
#[derive(Debug, Default)]
pub(super) struct OneValue {
    pub(super) path: String,
    /// `None` if it is missing or unknown.
    pub(super) counter_type: Option<CounterType>,
    pub(super) value: Option<f64>,
    pub(super) text: Option<String>,
    pub(super) reason: Option<String>,
    pub(super) is_stale: bool,
    pub(super) partial: Option<PartialSum>,
    pub(super) scale: i32,
    pub(super) first: Option<u64>,
    pub(super) second: u64,
    pub(super) frequency: i64,
    pub(super) multi_count: Option<u32>,
}

/// A value that has no parts.
enum Scalar {
    Null,
    Flag(bool),
    Unsigned(u64),
    Signed(i64),
    Real(f64),
    Text(String),
}

impl Scalar {
    fn text<E: Error>(self, key: &str) -> Result<Option<String>, E> {
        match self {
            Scalar::Text(text) => Ok(Some(text)),
            Scalar::Null => Ok(None),
            _ => Err(E::custom(format!("{key:?} is not a text"))),
        }
    }

    /// A whole number, as such or as text: many writers take every number for a double.
    fn whole<T: TryFrom<i128>, E: Error>(self, key: &str) -> Result<Option<T>, E> {
        let number = match &self {
            Scalar::Null => return Ok(None),
            Scalar::Unsigned(number) => Some(i128::from(*number)),
            Scalar::Signed(number) => Some(i128::from(*number)),
            Scalar::Text(text) => text.parse().ok(),
            Scalar::Flag(_) | Scalar::Real(_) => None,
        };
        let number = number.and_then(|number| T::try_from(number).ok());
        number.map(Some).ok_or_else(|| E::custom(format!("{key:?} is no whole number that fits")))
    }
}

impl<'de> Deserialize<'de> for Scalar {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Scalar, D::Error> {
        struct Scalars;

        impl Visitor<'_> for Scalars {
            type Value = Scalar;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text, a number, true, false or null")
            }

            fn visit_unit<E>(self) -> Result<Scalar, E> {
                Ok(Scalar::Null)
            }

            fn visit_bool<E>(self, flag: bool) -> Result<Scalar, E> {
                Ok(Scalar::Flag(flag))
            }

            fn visit_u64<E>(self, number: u64) -> Result<Scalar, E> {
                Ok(Scalar::Unsigned(number))
            }

            fn visit_i64<E>(self, number: i64) -> Result<Scalar, E> {
                Ok(Scalar::Signed(number))
            }

            fn visit_f64<E>(self, number: f64) -> Result<Scalar, E> {
                Ok(Scalar::Real(number))
            }

            fn visit_str<E>(self, text: &str) -> Result<Scalar, E> {
                Ok(Scalar::Text(text.to_owned()))
            }
        }
        deserializer.deserialize_any(Scalars)
    }
}

impl<'de> Deserialize<'de> for OneLine {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<OneLine, D::Error> {
        struct Line;

        impl<'de> Visitor<'de> for Line {
            type Value = OneLine;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object with the values of one time")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<OneLine, M::Error> {
                let mut line = OneLine::default();
                while let Some(key) = map.next_key::<String>()? {
                    match key.as_str() {
                        "time" => {
                            let text = map.next_value::<Scalar>()?.text(&key)?.unwrap_or_default();
                            let time = parse_time(&text);
                            line.time = Some(time.ok_or_else(|| {
                                M::Error::custom(format!(
                                    "{text:?} is not a time like 2026-01-31T20:00:00.000Z"
                                ))
                            })?);
                        }
                        "host" => line.host = map.next_value::<Scalar>()?.text(&key)?.unwrap_or_default(),
                        "zone" => line.zone = map.next_value::<Scalar>()?.text(&key)?,
                        "bias" => line.bias = map.next_value::<Scalar>()?.whole(&key)?,
                        "values" => {
                            let Values { list, left_out } = map.next_value()?;
                            (line.values, line.left_out) = (Some(list), left_out);
                        }
                        _ => drop(map.next_value::<IgnoredAny>()?),
                    }
                }
                Ok(line)
            }
        }
        deserializer.deserialize_map(Line)
    }
}

struct Values {
    list: Vec<OneValue>,
    left_out: u64,
}

impl<'de> Deserialize<'de> for Values {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Values, D::Error> {
        struct List;

        impl<'de> Visitor<'de> for List {
            type Value = Values;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an array of values")
            }

            fn visit_seq<S: SeqAccess<'de>>(self, mut seq: S) -> Result<Values, S::Error> {
                let mut values = Values { list: Vec::new(), left_out: 0 };
                while values.list.len() < MOST_COLUMNS {
                    let Some(value) = seq.next_element()? else { return Ok(values) };
                    values.list.push(value);
                }
                while seq.next_element::<IgnoredAny>()?.is_some() {
                    values.left_out = values.left_out.saturating_add(1);
                }
                Ok(values)
            }
        }
        deserializer.deserialize_seq(List)
    }
}

impl<'de> Deserialize<'de> for OneValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<OneValue, D::Error> {
        struct Value;

        impl<'de> Visitor<'de> for Value {
            type Value = OneValue;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object with a path and a value")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<OneValue, M::Error> {
                let mut one = OneValue::default();
                while let Some(key) = map.next_key::<String>()? {
                    if READ.contains(&key.as_str()) {
                        one.set(&key, map.next_value()?)?;
                    } else {
                        map.next_value::<IgnoredAny>()?;
                    }
                }
                if one.path.is_empty() {
                    return Err(M::Error::custom("a value has no \"path\""));
                }
                Ok(one)
            }
        }
        deserializer.deserialize_map(Value)
    }
}

/// The keys of a value that are read.
const READ: [&str; 11] = [
    "path",
    "type",
    "value",
    "reason",
    "stale",
    "partial",
    "scale",
    "first",
    "second",
    "frequency",
    "multi_count",
];

impl OneValue {
    fn set<E: Error>(&mut self, key: &str, scalar: Scalar) -> Result<(), E> {
        match key {
            "path" => self.path = scalar.text(key)?.unwrap_or_default(),
            "type" => self.counter_type = scalar.text(key)?.and_then(|text| type_of(&text)),
            "value" => match scalar {
                Scalar::Text(text) => self.text = Some(text),
                Scalar::Real(number) => self.value = Some(number),
                Scalar::Unsigned(number) => self.value = Some(number as f64),
                Scalar::Signed(number) => self.value = Some(number as f64),
                Scalar::Flag(_) => return Err(E::custom("\"value\" is neither a number nor a text")),
                Scalar::Null => {}
            },
            "reason" => self.reason = scalar.text(key)?,
            "stale" => self.is_stale = matches!(scalar, Scalar::Flag(true)),
            "partial" => self.partial = scalar.text(key)?.and_then(|words| PartialSum::from_words(&words)),
            "scale" => self.scale = scalar.whole(key)?.unwrap_or_default(),
            "first" => self.first = scalar.whole(key)?,
            "second" => self.second = scalar.whole(key)?.unwrap_or_default(),
            "frequency" => self.frequency = scalar.whole(key)?.unwrap_or_default(),
            _ => self.multi_count = scalar.whole(key)?,
        }
        Ok(())
    }
}

/// A time in UTC as [`FileTime::rfc3339`] writes it, with any number of decimals; 100 ns are the finest.
fn parse_time(text: &str) -> Option<FileTime> {
    let (date, time) = text.strip_suffix('Z')?.split_once('T')?;
    let (time, fraction) = time.split_once('.').unwrap_or((time, "0"));
    let number = |text: &str| {
        let is_digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse::<u16>().ok().filter(|_| is_digits)
    };
    let mut numbers = date.split('-').chain(time.split(':')).map(number);
    let mut next = || numbers.next().flatten();
    let (year, month, day, hour, minute, second) = (next()?, next()?, next()?, next()?, next()?, next()?);
    if date.split('-').count() != 3 || time.split(':').count() != 3 {
        return None;
    }
    let system = SystemTime { year, month, day, hour, minute, second, ..SystemTime::default() };
    if fraction.is_empty() || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let units: u64 = format!("{fraction:0<7}").get(..7)?.parse().ok()?;
    Some(FileTime(system.file_time()?.0.checked_add(units)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_they_are_written() {
        for units in [0, 134_143_632_000_000_000, 134_143_632_012_340_000, 134_143_632_012_345_678] {
            assert_eq!(parse_time(&FileTime(units).rfc3339()), Some(FileTime(units)));
        }
        let second = parse_time("2026-01-31T20:00:00Z");
        assert_eq!(second, Some(FileTime(134_143_632_000_000_000)));
        assert_eq!(parse_time("2026-01-31T20:00:00.0000000999Z"), second);
        for bad in [
            "",
            "2026-01-31T20:00:00.000",
            "2026-01-31T20:00:00.Z",
            "2026-01-31T20:00Z",
            "2026-13-31T20:00:00Z",
            "+026-01-31T20:00:00Z",
            "2026-01-31T20:00:00.-10Z",
            "2026-01-31T20:00:00+00:00",
            "1600-01-31T20:00:00Z",
        ] {
            assert_eq!(parse_time(bad), None, "{bad}");
        }
    }
}
