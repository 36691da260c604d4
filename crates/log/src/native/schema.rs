//! The parts of a log besides values: objects with their counters, instances, and their columns.

use tallymon_core::bytes::Bytes;
use tallymon_core::counter::CounterType;
use tallymon_core::error::Error;
use tallymon_core::path::{CounterPath, InstancePath, Part};
use tallymon_core::time::{Frequency, SystemTime};

use super::fields::{Fields, PutFields};
use crate::reader::Column;
use crate::zone::{Zone, ZoneRules};

/// An object of a host with its counters. A log has each definition once, and refers to it by its hash.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Definition {
    /// Name of the host without backslashes; empty if it is unknown.
    pub host: String,
    /// Name of the object, or its title index in decimal digits.
    pub object: String,
    /// Its counters.
    pub counters: Vec<Counter>,
}

/// A counter of a [`Definition`].
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Counter {
    /// Its name, or its title index in decimal digits.
    pub name: String,
    /// Its type.
    pub counter_type: CounterType,
    /// Default scale: the power of ten for charts.
    pub scale: i32,
    /// Ticks per second of its clock.
    pub time_base: Frequency,
    /// Group of its columns, see [`Column::group`]; a column can have its own.
    pub group: u32,
    /// Its instances come and go.
    pub wild: bool,
}

/// An instance and its columns.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub(super) struct Instance {
    /// The text between the parentheses of a path; `None` for an object without instances.
    pub(super) text: Option<String>,
    /// Its columns; `None` means all counters of the object, in order.
    pub(super) columns: Option<Vec<Listed>>,
}

/// A column of an instance that does not have exactly the counters of its object.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Listed {
    /// Position of its counter.
    pub(super) counter: usize,
    /// Its group.
    pub(super) group: u32,
    /// Its path, if that is spelled differently from the path of its parts.
    pub(super) path: Option<String>,
    /// The column is not a counter path, but some text.
    pub(super) bare: bool,
}

impl Definition {
    /// The body of its record.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut body = Vec::new();
        body.put_text(&self.host);
        body.put_text(&self.object);
        body.put(self.counters.len() as u64);
        for counter in &self.counters {
            body.put_text(&counter.name);
            body.extend_from_slice(&counter.counter_type.0.to_le_bytes());
            body.put_signed(i64::from(counter.scale));
            body.put_signed(counter.time_base.0);
            body.put(u64::from(counter.group));
            body.push(u8::from(counter.wild));
        }
        body
    }

    pub(super) fn decode(body: &[u8]) -> Result<Definition, Error> {
        let mut fields = Fields::new(body);
        let host = fields.text("host of a definition")?.to_owned();
        let object = fields.text("object of a definition")?.to_owned();
        let count = fields.count("counters of a definition")?;
        let mut counters = Vec::new();
        for _ in 0..count {
            let name = fields.text("name of a counter")?.to_owned();
            let counter_type =
                Bytes::little(fields.bytes(4, "type of a counter")?).u32(0, "type of a counter")?;
            let scale = i32::try_from(fields.signed("scale of a counter")?).unwrap_or_default();
            let time_base = Frequency(fields.signed("time base of a counter")?);
            let group = fields.small("group of a counter")?;
            let wild = fields.number("flags of a counter")? & 1 == 1;
            let counter_type = CounterType(counter_type);
            counters.push(Counter { name, counter_type, scale, time_base, group, wild });
        }
        Ok(Definition { host, object, counters })
    }

    /// The column of a counter of an instance; `None` when there is no such counter.
    pub(super) fn column(&self, instance: &Instance, nth: usize) -> Option<Column> {
        let listed = match &instance.columns {
            Some(columns) => Some(columns.get(nth)?),
            None => None,
        };
        let counter = self.counters.get(listed.map_or(nth, |listed| listed.counter))?;
        let parts = self.path(instance.text.as_deref(), counter);
        let path = listed.and_then(|listed| listed.path.clone()).unwrap_or_else(|| parts.to_string());
        let bare = listed.is_some_and(|listed| listed.bare);
        Some(Column {
            path,
            parts: (!bare).then_some(parts),
            counter_type: counter.counter_type,
            scale: counter.scale,
            time_base: counter.time_base,
            group: listed.map_or(counter.group, |listed| listed.group),
            wild: counter.wild,
            live: None,
        })
    }

    /// The path of a counter of an instance in its parts.
    pub(super) fn path(&self, instance: Option<&str>, counter: &Counter) -> CounterPath {
        CounterPath {
            machine: (!self.host.is_empty()).then(|| self.host.clone()),
            object: Part::parse(&self.object),
            instance: instance.map(InstancePath::parse),
            counter: Part::parse(&counter.name),
        }
    }
}

impl Instance {
    /// Number of its columns.
    pub(super) fn width(&self, definition: &Definition) -> usize {
        self.columns.as_ref().map_or(definition.counters.len(), Vec::len)
    }

    /// Bytes of the names in the paths of its columns.
    pub(super) fn name_bytes(&self, definition: &Definition) -> u64 {
        let text = self.text.as_ref().map_or(0, String::len);
        let same = definition.host.len().saturating_add(definition.object.len()).saturating_add(text);
        let counter = |nth| definition.counters.get(self.counter(nth)).map_or(0, |known| known.name.len());
        let bytes = |nth| same.saturating_add(counter(nth)) as u64;
        (0..self.width(definition)).map(bytes).fold(0, u64::saturating_add)
    }

    /// Position of the counter of a column.
    pub(super) fn counter(&self, nth: usize) -> usize {
        match &self.columns {
            Some(columns) => columns.get(nth).map_or(usize::MAX, |listed| listed.counter),
            None => nth,
        }
    }

    pub(super) fn encode(&self, body: &mut Vec<u8>) {
        let flags = u64::from(self.text.is_some()) | u64::from(self.columns.is_some()) << 1;
        body.put(flags);
        if let Some(text) = &self.text {
            body.put_text(text);
        }
        let Some(columns) = &self.columns else { return };
        body.put(columns.len() as u64);
        let (mut counter, mut group) = (0u64, 0u32);
        for listed in columns {
            // Most often the next counter in the next group.
            let flags = u64::from(listed.path.is_some()) | u64::from(listed.bare) << 1;
            let step = (listed.counter as u64).wrapping_sub(counter).cast_signed();
            body.put(super::series::zigzag(step) << 2 | flags);
            body.put_signed(i64::from(listed.group).wrapping_sub(i64::from(group)));
            if let Some(path) = &listed.path {
                body.put_text(path);
            }
            counter = (listed.counter as u64).saturating_add(1);
            group = listed.group;
        }
    }

    pub(super) fn decode(fields: &mut Fields<'_>, definition: &Definition) -> Result<Instance, Error> {
        let flags = fields.number("flags of an instance")?;
        let text = match flags & 1 {
            1 => Some(fields.text("name of an instance")?.to_owned()),
            _ => None,
        };
        if flags & 2 == 0 {
            return Ok(Instance { text, columns: None });
        }
        let count = fields.count("columns of an instance")?;
        let mut columns = Vec::new();
        let (mut next, mut group) = (0u64, 0i64);
        for _ in 0..count {
            let at = fields.at();
            let head = fields.number("counter of a column")?;
            let number = next.wrapping_add(super::series::unzigzag(head >> 2).cast_unsigned());
            let most = definition.counters.len() as u64;
            let counter = usize::try_from(number).ok().filter(|counter| *counter < definition.counters.len());
            let counter =
                counter.ok_or_else(|| Error::outside("counter of a column", at, number, 0, most))?;
            group = group.wrapping_add(fields.signed("group of a column")?);
            let path = match head & 1 {
                1 => Some(fields.text("path of a column")?.to_owned()),
                _ => None,
            };
            let group = u32::try_from(group).unwrap_or(u32::MAX);
            columns.push(Listed { counter, group, path, bare: head & 2 == 2 });
            next = number.saturating_add(1);
        }
        Ok(Instance { text, columns: Some(columns) })
    }
}

/// The hash of a definition: FNV-1a of the body of its record.
pub(super) fn hash(body: &[u8]) -> u64 {
    body.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// The body of the record for the whole log.
pub(super) fn encode_log(zone: &Zone, writer: &str, caption: Option<&str>) -> Vec<u8> {
    let mut body = Vec::new();
    body.put_text(writer);
    match zone {
        Zone::Unknown => body.push(0),
        Zone::Words(words) => {
            body.push(3);
            body.put_text(words);
        }
        Zone::Fixed { name, bias } => {
            body.push(1);
            body.put_text(name);
            body.put_signed(i64::from(*bias));
        }
        Zone::Rules(rules) => {
            body.push(2);
            body.put_text(&rules.standard_name);
            body.put_text(&rules.daylight_name);
            for bias in [rules.bias, rules.standard_bias, rules.daylight_bias] {
                body.put_signed(i64::from(bias));
            }
            for date in [&rules.standard_date, &rules.daylight_date] {
                for part in parts_of(date) {
                    body.put(u64::from(part));
                }
            }
        }
    }
    body.put(super::FORMAT_VERSION);
    if let Some(caption) = caption {
        body.put_text(caption);
    }
    body
}

/// What the record for the whole log says.
pub(super) struct LogRecord {
    pub(super) zone: Zone,
    pub(super) writer: String,
    /// The version of the format.
    pub(super) version: u64,
    pub(super) caption: Option<String>,
}

/// Reads the record for the whole log.
pub(super) fn decode_log(body: &[u8]) -> Result<LogRecord, Error> {
    let mut fields = Fields::new(body);
    let writer = fields.text("writer of the log")?.to_owned();
    let bias = |fields: &mut Fields<'_>| {
        fields.signed("bias of the zone").map(|bias| i32::try_from(bias).unwrap_or_default())
    };
    let zone = match fields.number("kind of the zone")? {
        1 => {
            let name = fields.text("name of the zone")?.to_owned();
            Zone::Fixed { name, bias: bias(&mut fields)? }
        }
        2 => {
            let standard_name = fields.text("name of the zone")?.to_owned();
            let daylight_name = fields.text("name of the zone")?.to_owned();
            let [whole, standard_bias, daylight_bias] =
                [bias(&mut fields)?, bias(&mut fields)?, bias(&mut fields)?];
            let [standard_date, daylight_date] = [date(&mut fields)?, date(&mut fields)?];
            Zone::Rules(Box::new(ZoneRules {
                bias: whole,
                standard_name,
                standard_date,
                standard_bias,
                daylight_name,
                daylight_date,
                daylight_bias,
            }))
        }
        3 => Zone::Words(fields.text("words of the zone")?.to_owned()),
        _ => Zone::Unknown,
    };
    // Version 1 did not name itself.
    let version = if fields.is_at_end() { 1 } else { fields.number("version of the log")? };
    let caption = if fields.is_at_end() { None } else { Some(fields.text("caption of the log")?.to_owned()) };
    Ok(LogRecord { zone, writer, version, caption })
}

const fn parts_of(date: &SystemTime) -> [u16; 8] {
    [
        date.year,
        date.month,
        date.day_of_week,
        date.day,
        date.hour,
        date.minute,
        date.second,
        date.milliseconds,
    ]
}

fn date(fields: &mut Fields<'_>) -> Result<SystemTime, Error> {
    let mut part =
        || fields.number("date of the zone").map(|number| u16::try_from(number).unwrap_or(u16::MAX));
    Ok(SystemTime {
        year: part()?,
        month: part()?,
        day_of_week: part()?,
        day: part()?,
        hour: part()?,
        minute: part()?,
        second: part()?,
        milliseconds: part()?,
    })
}
