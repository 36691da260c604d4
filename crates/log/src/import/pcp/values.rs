//! The volumes of an archive: the values of many metrics at one time in each record.

use std::collections::HashMap;
use std::io::{self, Read};

use tallymon_core::bytes::Bytes;
use tallymon_core::error::Error;
use tallymon_core::time::FileTime;

use super::Volumes;
use super::metadata::{Metadata, Metric, NO_DOMAIN, ValueType};
use super::metrics::{FAMILIES, Family, Instances};
use super::records::{Found, Records, Version, label, time};
use crate::error::{LogError, LogErrorKind};
use crate::format::Format;
use crate::import::columns::Columns;
use crate::import::reader::Decoder;
use crate::import::table::{Field, Kind, Number, Table};
use crate::reader::About;
use crate::zone::Zone;

/// The largest number of volumes.
const MOST_VOLUMES: u32 = 100_000;

/// Metrics whose names begin alike, with the same instances.
#[derive(Debug)]
struct Group {
    /// The begin of the names, with its dot.
    prefix: String,
    domain: u32,
    /// The rest of each name, the metric, and what becomes of it without a table.
    fields: Vec<(String, u32, Kind)>,
}

/// One value of a record.
enum Read1 {
    Number(Number),
    Text(String),
}

/// Decodes an archive.
pub(crate) struct PcpDecoder<'a> {
    metadata: Metadata<'a>,
    volumes: Volumes<'a>,
    volume: u32,
    records: Records<Box<dyn Read + Send + 'a>>,
    version: Version,
    /// The record in the buffer belongs to the next row.
    waiting: bool,
    groups: Vec<Group>,
    /// The group and field of each metric.
    places: HashMap<u32, (usize, usize)>,
    minutes: i32,
    /// The metadata is damaged: reported once.
    has_damage: bool,
    /// Metrics with values that are not numbers or texts, reported once each.
    reported: HashMap<u32, ()>,
}

fn not_a_log(words: String) -> LogError {
    LogError::new(LogErrorKind::NotALog(format!("a volume of a PCP archive: {words}")))
}

impl<'a> PcpDecoder<'a> {
    /// Reads the labels.
    pub(crate) fn open(
        metadata: Box<dyn Read + Send + 'a>,
        mut volumes: Volumes<'a>,
    ) -> Result<(PcpDecoder<'a>, Columns), LogError> {
        let (metadata, named) = Metadata::open(metadata)?;
        let Some(first) = volumes(0)? else {
            return Err(not_a_log(
                "the archive has none; its values are in files .0, .1 and so on".to_owned(),
            ));
        };
        let mut records = Records::new(first);
        begin(&mut records, named.version).map_err(|words| match words {
            Ok(words) => not_a_log(words),
            Err(error) => error.into(),
        })?;
        let mut about = About::new(Format::Pcp);
        about.writer = Some("pmlogger".to_owned());
        let bias = bias(&named.zone);
        about.zone = match bias {
            Some(bias) => Zone::Fixed { name: named.zone.clone(), bias },
            None => Zone::Words(named.zone.clone()),
        };
        if bias.is_none() {
            let zone = &named.zone;
            about.notes.remark(format!("the time zone {zone:?} has no distance from UTC; times are in UTC"));
        }
        let mut columns = Columns::new(about);
        columns.keeps_old = true;
        columns.host = Some(named.host).filter(|host| !host.is_empty());
        let decoder = PcpDecoder {
            metadata,
            volumes,
            volume: 0,
            records,
            version: named.version,
            waiting: false,
            groups: Vec::new(),
            places: HashMap::new(),
            minutes: bias.unwrap_or(0).saturating_neg(),
            has_damage: false,
            reported: HashMap::new(),
        };
        Ok((decoder, columns))
    }

    /// Reads the next record of values, in the next volume if this one ends.
    fn next_result(&mut self, columns: &mut Columns) -> Result<bool, LogError> {
        if std::mem::take(&mut self.waiting) {
            return Ok(true);
        }
        loop {
            match self.records.next()? {
                Found::Record => return Ok(true),
                Found::End => {}
                Found::Damage(words) => {
                    columns.damage(self.records.byte, format!("volume {}: {words}", self.volume));
                }
            }
            self.volume = self.volume.saturating_add(1);
            if self.volume > MOST_VOLUMES {
                return Ok(false);
            }
            let Some(next) = (self.volumes)(self.volume)? else { return Ok(false) };
            self.records = Records::new(next);
            match begin(&mut self.records, self.version) {
                Ok(()) => {}
                Err(Ok(words)) => columns.damage(0, format!("volume {}: {words}", self.volume)),
                Err(Err(error)) => return Err(error.into()),
            }
        }
    }

    /// Puts new metrics into groups.
    fn group_metrics(&mut self) {
        let mut new: Vec<(&u32, &Metric)> =
            self.metadata.metrics.iter().filter(|(id, _)| !self.places.contains_key(id)).collect();
        // The order of a map changes from run to run; that of columns must not.
        new.sort_by(|(_, one), (_, other)| one.name.cmp(&other.name));
        for (id, metric) in new {
            let known = FAMILIES.iter().map(|family| family.prefix);
            let fitting = known.filter(|prefix| metric.name.starts_with(prefix));
            let prefix = fitting.max_by_key(|prefix| prefix.len()).or_else(|| {
                let dot = metric.name.rfind('.')?;
                metric.name.get(..=dot)
            });
            let prefix = prefix.unwrap_or_default();
            let rest = match metric.name.strip_prefix(prefix).unwrap_or_default() {
                "" => metric.name.rsplit('.').next().unwrap_or_default(),
                rest => rest,
            };
            let rest = rest.to_owned();
            let at = self
                .groups
                .iter()
                .position(|group| group.prefix == prefix && group.domain == metric.domain)
                .unwrap_or_else(|| {
                    let prefix = prefix.to_owned();
                    self.groups.push(Group { prefix, domain: metric.domain, fields: Vec::new() });
                    self.groups.len().saturating_sub(1)
                });
            if let Some(group) = self.groups.get_mut(at) {
                self.places.insert(*id, (at, group.fields.len()));
                group.fields.push((rest, *id, metric.own));
            }
        }
        self.metadata.has_new = false;
    }

    /// Puts the record in the buffer into columns.
    fn put(&mut self, columns: &mut Columns, bytes: Bytes<'_>, at: usize) -> Result<(), Error> {
        let count = bytes.length(at, "number of metrics")?;
        let mut at = at.saturating_add(4);
        // The numbers by group and instance, each at the place of its field.
        let mut rows: HashMap<(usize, u32), Vec<Option<Number>>> = HashMap::new();
        let mut seen: Vec<(usize, u32)> = Vec::new();
        for _ in 0..count {
            let set = read_set(bytes, at)?;
            at = set.end;
            let Some((group, field)) = self.places.get(&set.metric).copied() else {
                self.report(columns, set.metric, "is in no description; its values are left out");
                continue;
            };
            columns.seen(set.metric);
            let Some(metric) = self.metadata.metrics.get(&set.metric).cloned() else { continue };
            for nth in 0..set.values {
                let value = set.first.saturating_add(nth.saturating_mul(8));
                let instance = bytes.u32(value, "instance of a value")?;
                match read_value(bytes, value, set.is_inside, metric.value_type)? {
                    Some(Read1::Number(number)) => {
                        let row = rows.entry((group, instance)).or_insert_with(|| {
                            seen.push((group, instance));
                            Vec::new()
                        });
                        if row.len() <= field {
                            row.resize(field.saturating_add(1), None);
                        }
                        if let Some(place) = row.get_mut(field) {
                            *place = Some(number);
                        }
                    }
                    Some(Read1::Text(text)) => {
                        self.put_text(columns, set.metric, (group, field), instance, text)
                    }
                    None => {
                        self.report(columns, set.metric, "has values that are neither numbers nor texts");
                    }
                }
            }
        }
        for key in seen {
            if let Some(numbers) = rows.get(&key) {
                self.put_row(columns, key, numbers);
            }
        }
        Ok(())
    }

    fn report(&mut self, columns: &mut Columns, metric: u32, what: &str) {
        if self.reported.insert(metric, ()).is_none() {
            let name = self.metadata.metrics.get(&metric).map_or("a metric", |metric| metric.name.as_str());
            let (domain, cluster, item) = (metric >> 22, (metric >> 10) & 0xfff, metric & 0x3ff);
            let byte = self.records.byte;
            columns.about.notes.remark(format!("byte {byte}: {name} ({domain}.{cluster}.{item}) {what}"));
        }
    }

    /// The name of an instance; the number of one that has no name.
    fn name(&self, domain: u32, instance: u32) -> Option<String> {
        if domain == NO_DOMAIN {
            return None;
        }
        let names = self.metadata.domains.get(&domain);
        Some(
            names
                .and_then(|names| names.get(&instance))
                .cloned()
                .unwrap_or_else(|| format!("instance {instance}")),
        )
    }

    fn put_text(
        &self,
        columns: &mut Columns,
        metric: u32,
        (group, field): (usize, usize),
        instance: u32,
        text: String,
    ) {
        let Some(group) = self.groups.get(group) else { return };
        let Some((counter, ..)) = group.fields.get(field) else { return };
        let name = self.name(group.domain, instance);
        let family = family(group, name.as_deref());
        let (key, name) = instance_names(family, instance, name);
        let table = family.map_or(group.prefix.trim_end_matches('.'), |family| family.table.own);
        let named = key.as_deref().zip(name.as_deref());
        columns.put_text(table, named, counter, metric, text);
    }

    fn put_row(&self, columns: &mut Columns, (at, instance): (usize, u32), numbers: &[Option<Number>]) {
        let Some(group) = self.groups.get(at) else { return };
        let name = self.name(group.domain, instance);
        let family = family(group, name.as_deref());
        let (key, name) = instance_names(family, instance, name);
        let fields: Vec<Field<'_>> = group
            .fields
            .iter()
            .enumerate()
            .map(|(nth, (name, metric, own))| Field {
                name,
                number: numbers.get(nth).copied().flatten(),
                own: *own,
                source: *metric,
            })
            .collect();
        let own = group.prefix.trim_end_matches('.');
        let table = family.map_or(Table { group: &group.prefix, own, rows: &[] }, |family| family.table);
        // Families with the same names and other instances have other counters.
        let nth = family.and_then(|family| FAMILIES.iter().position(|known| std::ptr::eq(known, family)));
        let layout = (nth.unwrap_or(0xff) as u64) << 56 | (at as u64) << 28 | group.fields.len() as u64;
        columns.put(&table, layout, key.as_deref().zip(name.as_deref()), &fields);
    }
}

/// Reads the label of a volume. `Err(Ok)` are words about damage.
fn begin<R: Read>(records: &mut Records<R>, version: Version) -> Result<(), Result<String, io::Error>> {
    match records.next().map_err(Err)? {
        Found::Record => {}
        Found::End => return Err(Ok("it is empty".to_owned())),
        Found::Damage(words) => return Err(Ok(words)),
    }
    match label(records.bytes()) {
        Ok(label) if label.version == version => Ok(()),
        Ok(_) => Err(Ok("its version differs from that of the .meta file".to_owned())),
        Err(error) => Err(Ok(error.to_string())),
    }
}

/// The family of a group's instance.
fn family(group: &Group, instance: Option<&str>) -> Option<&'static Family> {
    FAMILIES.iter().filter(|family| family.prefix == group.prefix).find(|family| match family.instances {
        Instances::Own => true,
        Instances::Total => instance.is_none(),
        Instances::Without(_) | Instances::Process => instance.is_some(),
        Instances::Only(name) => instance.unwrap_or_default() == name,
    })
}

/// What identifies an instance, and its name.
fn instance_names(
    family: Option<&Family>,
    instance: u32,
    name: Option<String>,
) -> (Option<String>, Option<String>) {
    let Some(family) = family else { return (name.clone(), name) };
    match (family.instances, name) {
        (Instances::Total, _) => (Some("_Total".to_owned()), Some("_Total".to_owned())),
        (Instances::Only(_), _) | (Instances::Own, None) => (None, None),
        (Instances::Without(begin), Some(name)) => {
            let name = name.strip_prefix(begin).unwrap_or(&name).to_owned();
            (Some(name.clone()), Some(name))
        }
        (Instances::Process, Some(name)) => {
            // A number that is used again belongs to another program, or to nobody we could tell apart.
            let command = name.split_once(' ').map_or(name.as_str(), |(_, command)| command);
            let program = command.split(' ').next().unwrap_or(command);
            let program = program.rsplit('/').next().filter(|name| !name.is_empty()).unwrap_or(program);
            let program = program.trim_matches(['(', ')', ':']).to_owned();
            (Some(format!("{instance} {command}")), Some(program))
        }
        (_, name) => (name.clone(), name),
    }
}

/// The values of one metric in a record.
struct Set {
    metric: u32,
    values: usize,
    /// The byte of its first value.
    first: usize,
    /// Whether values are in their places, not elsewhere in the record.
    is_inside: bool,
    end: usize,
}

fn read_set(bytes: Bytes<'_>, at: usize) -> Result<Set, Error> {
    let metric = bytes.u32(at, "metric identifier")?;
    let count = bytes.i32(at.saturating_add(4), "number of values")?;
    let Ok(values @ 1..) = usize::try_from(count) else {
        // None, or why there are none.
        return Ok(Set { metric, values: 0, first: at, is_inside: true, end: at.saturating_add(8) });
    };
    let format = bytes.u32(at.saturating_add(8), "format of values")?;
    let first = at.saturating_add(12);
    let length = bytes.slice(first, values.saturating_mul(8), "values")?.len();
    Ok(Set { metric, values, first, is_inside: format == 0, end: first.saturating_add(length) })
}

/// Reads one value; `None` if it is of a type that is neither a number nor a text.
fn read_value(
    bytes: Bytes<'_>,
    at: usize,
    is_inside: bool,
    value_type: ValueType,
) -> Result<Option<Read1>, Error> {
    let word = bytes.u32(at.saturating_add(4), "value")?;
    #[allow(clippy::cast_possible_wrap, reason = "the bits of a signed number")]
    let number = match (is_inside, value_type) {
        (true, ValueType::Int32) => Number::I64(i64::from(word as i32)),
        (true, ValueType::UInt32) => Number::U32(word),
        (true, ValueType::Float) => Number::F64(f64::from(f32::from_bits(word))),
        (true, _) => return Ok(None),
        (false, _) => {
            // Offsets count words from 12 bytes before the record's payload.
            let block = usize::try_from(word).unwrap_or(usize::MAX).saturating_mul(4).saturating_sub(12);
            let length = (bytes.u32(block, "length of a value")? & 0x00ff_ffff) as usize;
            let data = bytes.slice(block.saturating_add(4), length.saturating_sub(4), "value")?;
            match value_type {
                ValueType::Int32 => Number::I64(i64::from(data.i32(0, "value")?)),
                ValueType::UInt32 => Number::U32(data.u32(0, "value")?),
                ValueType::Int64 => Number::I64(data.i64(0, "value")?),
                ValueType::UInt64 => Number::U64(data.u64(0, "value")?),
                ValueType::Float => Number::F64(f64::from(f32::from_bits(data.u32(0, "value")?))),
                ValueType::Double => Number::F64(f64::from_bits(data.u64(0, "value")?)),
                ValueType::Text => {
                    let text = data.data();
                    let end = text.iter().position(|byte| *byte == 0).unwrap_or(text.len());
                    let text = String::from_utf8_lossy(text.get(..end).unwrap_or_default());
                    return Ok(Some(Read1::Text(text.into_owned())));
                }
                ValueType::Other(_) => return Ok(None),
            }
        }
    };
    Ok(Some(Read1::Number(number)))
}

/// Minutes to add to local time to get UTC, of a zone such as `AEST-10` or `EST5EDT`. Summer time is not
/// read.
fn bias(zone: &str) -> Option<i32> {
    let rest = match zone.strip_prefix('<') {
        Some(quoted) => quoted.split_once('>')?.1,
        None => zone.trim_start_matches(|char: char| char.is_ascii_alphabetic()),
    };
    if rest.is_empty() {
        return matches!(zone, "UTC" | "GMT").then_some(0);
    }
    let (sign, digits) = match rest.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, rest.strip_prefix('+').unwrap_or(rest)),
    };
    let end = digits.find(|char: char| !char.is_ascii_digit() && char != ':').unwrap_or(digits.len());
    let mut parts = digits.get(..end)?.split(':');
    let hours: i32 = parts.next()?.parse().ok().filter(|hours| *hours <= 24)?;
    let minutes: i32 = parts.next().map_or(Some(0), |minutes| minutes.parse().ok())?;
    let minutes = hours.checked_mul(60)?.checked_add(minutes.min(59))?;
    Some(if sign < 0 { minutes.saturating_neg() } else { minutes })
}

impl Decoder for PcpDecoder<'_> {
    fn next(&mut self, columns: &mut Columns) -> Result<Option<(FileTime, i32)>, LogError> {
        let mut row: Option<FileTime> = None;
        while self.next_result(columns)? {
            let data = std::mem::take(&mut self.records.buffer);
            let bytes = Bytes::new(&data, tallymon_core::bytes::ByteOrder::Big);
            let byte = self.records.byte;
            let head = time(bytes, 0, self.version).and_then(|(time, at)| {
                let count = bytes.u32(at, "number of metrics")?;
                // Whether a metric of the row comes again: then this is the next row.
                let first = if count == 0 { None } else { Some(bytes.u32(at.saturating_add(4), "metric")?) };
                Ok((time, at, first))
            });
            let (nanoseconds, at, first) = match head {
                Ok(head) => head,
                Err(error) => {
                    columns.damage(byte, format!("volume {}: {error}; the record is left out", self.volume));
                    continue;
                }
            };
            let Some(time) = FileTime::from_unix_nanoseconds(nanoseconds) else {
                columns.damage(byte, format!("volume {}: a record with an impossible time", self.volume));
                continue;
            };
            if row.is_some() && (first.is_none() || comes_again(bytes, at, columns)) {
                self.records.buffer = data;
                self.waiting = true;
                break;
            }
            if let Err((byte, words)) = self.metadata.advance(nanoseconds)?
                && !std::mem::replace(&mut self.has_damage, true)
            {
                columns.damage(byte, format!(".meta: {words}; later descriptions are missing"));
            }
            if self.metadata.has_new {
                self.group_metrics();
            }
            if row.is_none() {
                row = Some(time);
                columns.begin(time, time.0);
            } else {
                columns.at(time, time.0);
            }
            if first.is_none() {
                columns
                    .about
                    .notes
                    .remark(format!("byte {byte}: recording was interrupted before {}", time.system_time()));
                columns.forget_old();
                break;
            }
            if let Err(error) = self.put(columns, bytes, at) {
                columns.damage(
                    byte,
                    format!("volume {}: {error}; the rest of the record is left out", self.volume),
                );
            }
        }
        Ok(row.map(|time| (time, self.minutes)))
    }
}

/// Whether a record has a metric that its row has already.
fn comes_again(bytes: Bytes<'_>, at: usize, columns: &Columns) -> bool {
    let count = bytes.u32(at, "number of metrics").unwrap_or_default();
    let mut at = at.saturating_add(4);
    for _ in 0..count {
        let Ok(set) = read_set(bytes, at) else { return false };
        if columns.is_seen(set.metric) {
            return true;
        }
        at = set.end;
    }
    false
}
