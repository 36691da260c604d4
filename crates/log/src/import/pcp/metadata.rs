//! The file with the descriptions of an archive: metrics, and the names of their instances over time.

use std::collections::HashMap;
use std::io::Read;

use tallymon_core::bytes::Bytes;
use tallymon_core::error::Error;

use super::records::{Found, Label, Records, Version, label, time};
use crate::error::{LogError, LogErrorKind};
use crate::import::table::{Kind, LEVEL, RATE};

/// The domain of instances of a metric that has one value only.
pub(super) const NO_DOMAIN: u32 = u32::MAX;

/// The type of a metric's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ValueType {
    Int32,
    UInt32,
    Int64,
    UInt64,
    Float,
    Double,
    Text,
    /// An aggregate or an event.
    Other(u32),
}

/// The description of a metric.
#[derive(Debug, Clone)]
pub(super) struct Metric {
    pub(super) name: String,
    pub(super) value_type: ValueType,
    pub(super) domain: u32,
    /// What becomes of it where no table has it.
    pub(super) own: Kind,
}

/// Reads the descriptions as far as the values need them.
pub(super) struct Metadata<'a> {
    records: Records<Box<dyn Read + Send + 'a>>,
    version: Version,
    /// The time of the record in the buffer, which is later than the values so far.
    waiting: Option<i128>,
    pub(super) metrics: HashMap<u32, Metric>,
    /// The instances of each domain: their names by number.
    pub(super) domains: HashMap<u32, HashMap<u32, String>>,
    /// Metrics were added since the flag was cleared.
    pub(super) has_new: bool,
}

impl<'a> Metadata<'a> {
    /// Reads the label.
    pub(super) fn open(input: Box<dyn Read + Send + 'a>) -> Result<(Metadata<'a>, Label), LogError> {
        let bad = |words: String| {
            LogError::new(LogErrorKind::NotALog(format!("the .meta file of a PCP archive: {words}")))
        };
        let mut records = Records::new(input);
        let label = match records.next()? {
            Found::Record => label(records.bytes()).map_err(|error| bad(error.to_string()))?,
            Found::End => return Err(bad("it is empty".to_owned())),
            Found::Damage(words) => return Err(bad(words)),
        };
        let metadata = Metadata {
            records,
            version: label.version,
            waiting: None,
            metrics: HashMap::new(),
            domains: HashMap::new(),
            has_new: false,
        };
        Ok((metadata, label))
    }

    /// Reads all records up to a time. `Err` is damage: the byte and the words.
    pub(super) fn advance(&mut self, until: i128) -> Result<Result<(), (u64, String)>, LogError> {
        if self.waiting.is_some_and(|time| time > until) {
            return Ok(Ok(()));
        }
        if self.waiting.take().is_some()
            && let Err(error) = self.apply()
        {
            return Ok(Err((self.records.byte, error.to_string())));
        }
        loop {
            let start = self.records.byte;
            match self.records.next()? {
                Found::Record => {}
                Found::End => return Ok(Ok(())),
                Found::Damage(words) => return Ok(Err((start, words))),
            }
            match self.time_of_record() {
                Ok(Some(time)) if time > until => {
                    self.waiting = Some(time);
                    return Ok(Ok(()));
                }
                Ok(_) => {}
                Err(error) => return Ok(Err((start, error.to_string()))),
            }
            if let Err(error) = self.apply() {
                return Ok(Err((start, error.to_string())));
            }
        }
    }

    /// The time of an instance domain; other records have none that matters.
    fn time_of_record(&self) -> Result<Option<i128>, Error> {
        let bytes = self.records.bytes();
        Ok(match bytes.u32(0, "record type")? {
            2 => Some(time(bytes, 4, Version::Two)?.0),
            5 | 6 => Some(time(bytes, 4, Version::Three)?.0),
            _ => None,
        })
    }

    /// Takes the record in the buffer over. Labels and help texts (3, 4, 7) are not.
    fn apply(&mut self) -> Result<(), Error> {
        let data = std::mem::take(&mut self.records.buffer);
        let bytes = Bytes::new(&data, tallymon_core::bytes::ByteOrder::Big);
        let done = match bytes.u32(0, "record type")? {
            1 => self.metric(bytes),
            kind @ (2 | 5 | 6) => self.domain(bytes, kind == 6),
            _ => Ok(()),
        };
        self.records.buffer = data;
        done
    }

    fn metric(&mut self, bytes: Bytes<'_>) -> Result<(), Error> {
        let id = bytes.u32(4, "metric identifier")?;
        let value_type = match bytes.u32(8, "data type")? {
            0 => ValueType::Int32,
            1 => ValueType::UInt32,
            2 => ValueType::Int64,
            3 => ValueType::UInt64,
            4 => ValueType::Float,
            5 => ValueType::Double,
            6 => ValueType::Text,
            other => ValueType::Other(other),
        };
        let domain = bytes.u32(12, "instance domain")?;
        let semantics = bytes.u32(16, "semantics")?;
        let units = bytes.u32(20, "units")?;
        let length = bytes.length(28, "length of a name")?;
        let name = bytes.slice(32, length, "name of a metric")?.data();
        let name = String::from_utf8_lossy(name).into_owned();
        self.has_new = true;
        self.metrics.insert(id, Metric { name, value_type, domain, own: own_kind(semantics == 1, units) });
        Ok(())
    }

    fn domain(&mut self, bytes: Bytes<'_>, is_change: bool) -> Result<(), Error> {
        let (_, at) = time(bytes, 4, self.version)?;
        let id = bytes.u32(at, "instance domain")?;
        let count = bytes.length(at.saturating_add(4), "number of instances")?;
        let numbers = at.saturating_add(8);
        // The two tables must fit before anything is kept.
        let tables = bytes.slice(numbers, count.saturating_mul(8), "tables of instances")?;
        let texts = bytes.rest(numbers.saturating_add(tables.len()), "names of instances")?;
        let domain = self.domains.entry(id).or_default();
        if !is_change {
            domain.clear();
        }
        for nth in 0..count {
            let place = nth.saturating_mul(4);
            let number = tables.u32(place, "instance")?;
            let offset = tables.u32(place.saturating_add(count.saturating_mul(4)), "offset of a name")?;
            if offset == u32::MAX {
                domain.remove(&number);
                continue;
            }
            let name =
                texts.rest(usize::try_from(offset).unwrap_or(usize::MAX), "name of an instance")?.data();
            let end = name.iter().position(|byte| *byte == 0).unwrap_or(name.len());
            let name = String::from_utf8_lossy(name.get(..end).unwrap_or_default()).into_owned();
            domain.insert(number, name);
        }
        Ok(())
    }
}

/// The kind of a metric by its semantics and units: three dimensions and three scales of 4 bits each, from
/// the highest: space, time, count.
fn own_kind(counts_up: bool, units: u32) -> Kind {
    let part = |shift: u32| (units >> shift) & 0xf;
    let (space, time, count) = (part(28), part(24), part(20));
    let (space_scale, time_scale, count_scale) = (part(16), part(12), part(8));
    match (space, time, count) {
        // A count of time is a share of the time.
        (0, 1, 0) if counts_up => match time_scale {
            0 => Kind::BusyPart(100),
            1 => Kind::Busy(10),
            2 => Kind::Busy(10_000),
            3 => Kind::Busy(10_000_000),
            4 => Kind::Busy(600_000_000),
            5 => Kind::Busy(36_000_000_000),
            _ => RATE,
        },
        (1, 0, 0) if space_scale <= 5 => {
            let bytes = 1024u64.saturating_pow(space_scale);
            if counts_up { Kind::Rate(bytes, 1) } else { Kind::Level(bytes, 1) }
        }
        (0, 0, 1) if count_scale <= 7 => {
            let ones = 10u64.saturating_pow(count_scale);
            if counts_up { Kind::Rate(ones, 1) } else { Kind::Level(ones, 1) }
        }
        _ if counts_up => RATE,
        _ => LEVEL,
    }
}
