//! Parses the bodies of events: the counter list and data records.
//!
//! Offsets in errors are relative to the body, or to the assembled record; the reader adds its position.

use std::sync::Arc;

use tallymon_core::bytes::Bytes;
use tallymon_core::counter::CounterType;
use tallymon_core::error::Error;
use tallymon_core::flow::{Absence, NoValue};
use tallymon_core::text::{ByteOrder, WideStr};
use tallymon_core::time::FileTime;

use super::align8;

/// Kinds of events.
pub(super) mod kind {
    pub(in super::super) const LIST: u8 = 0x20;
    pub(in super::super) const DATA: u8 = 0x22;
    pub(in super::super) const CATALOGUE: u8 = 0x23;
    pub(in super::super) const NAMES: u8 = 0x24;
}

/// Bits of [`Entry::flags`].
pub mod flags {
    /// The instance is a wildcard: its sub-record holds many instances.
    pub const WILDCARD: u32 = 0x01;
    /// A whole object: its sub-record is a data block.
    pub const OBJECT: u32 = 0x10;
    /// Seen in exported logs only; its meaning is unknown.
    pub const EXPORTED: u32 = 0x2000_0000;
}

/// The first numbers of a counter list.
pub(super) const LIST_VERSION: u32 = 0x0000_06ff;
pub(super) const LIST_TYPE: u32 = 0x0002_0008;

/// The head of every record: "BL", class 3, and the sub-type.
pub(super) const TAG: [u8; 3] = [b'B', b'L', 3];
pub(super) const OUTER: u8 = 0;
pub(super) const SINGLE: u8 = 1;
pub(super) const MULTI: u8 = 2;
pub(super) const OBJECT: u8 = 5;

/// Longest name of a machine, object, instance or counter in bytes: Windows allows 1024 units.
pub(super) const LONGEST_TEXT: usize = 4096;
/// Size of an entry of the counter list without its texts.
pub(super) const ENTRY: usize = 0x34;
/// Size of a single sub-record, its head included.
pub(super) const SINGLE_SIZE: usize = 0x30;
/// Size of an item of a multi sub-record.
pub(super) const ITEM: usize = 24;
/// Size of a multi sub-record's block before its items.
pub(super) const MULTI_HEADER: usize = 0x18;

/// An entry of the counter list. It describes one sub-record of every data record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Bits of [`flags`].
    pub flags: u32,
    /// A private number of the program that selected the counter.
    pub user: u32,
    /// Counter type; 0x10 for whole objects.
    pub counter_type: CounterType,
    /// Ticks per second of its clock; 0 for whole objects.
    pub time_base: i64,
    /// Default scale, a power of ten.
    pub scale: i32,
    /// Machine with its two backslashes.
    pub machine: Option<String>,
    /// Object.
    pub object: Option<String>,
    /// Instance; `*` with [`flags::WILDCARD`].
    pub instance: Option<String>,
    /// Parent of the instance.
    pub parent: Option<String>,
    /// Its number among instances of that name.
    pub instance_index: u32,
    /// Counter; `*` for whole objects.
    pub counter: Option<String>,
}

impl Entry {
    /// Whether its sub-record holds many instances.
    pub const fn is_wildcard(&self) -> bool {
        self.flags & flags::WILDCARD != 0
    }

    /// Whether its sub-record is a data block.
    pub const fn is_object(&self) -> bool {
        self.flags & flags::OBJECT != 0
    }

    /// Reads the entry at the start of `data`; also returns its length. `fault` receives faults that could be
    /// repaired.
    ///
    /// All texts together may take `budget` bytes: entries that share a text are damage, and would need far
    /// more memory than the list.
    fn parse(
        data: &[u8],
        at: usize,
        budget: &mut usize,
        fault: &mut dyn FnMut(Error),
    ) -> Result<(Entry, usize), Error> {
        const WHAT: &str = "counter list entry";
        let u32 = |offset: usize| Bytes::little(data).u32(at.saturating_add(offset), WHAT);
        let i32 = |offset: usize| Bytes::little(data).i32(at.saturating_add(offset), WHAT);
        let strings = at.saturating_add(ENTRY);
        let stated = Bytes::little(data).length(at, "counter list entry, length")?;
        let mut texts_end = 0usize;
        let mut text = |offset: usize, what: &'static str| -> Result<Option<String>, Error> {
            let place = i32(offset)?;
            let Ok(place) = usize::try_from(place) else {
                return Ok(None);
            };
            let begin = strings.saturating_add(place);
            let end = begin.saturating_add(LONGEST_TEXT.min(*budget)).min(data.len());
            let Some((text, after)) = data.get(begin..end).and_then(take_text) else {
                let most = data.len().saturating_sub(strings) as u64;
                fault(Error::outside(what, at.saturating_add(offset), place as u64, 0, most));
                return Ok(None);
            };
            let text_end = end.saturating_sub(after.len());
            *budget = budget.saturating_sub(text_end.saturating_sub(begin));
            texts_end = texts_end.max(text_end);
            Ok(Some(text))
        };
        let entry = Entry {
            machine: text(0x1c, "counter list entry, machine")?,
            object: text(0x20, "counter list entry, object")?,
            instance: text(0x24, "counter list entry, instance")?,
            parent: text(0x28, "counter list entry, parent")?,
            instance_index: u32(0x2c)?,
            counter: text(0x30, "counter list entry, counter")?,
            flags: u32(4)?,
            user: u32(8)?,
            counter_type: CounterType(u32(0xc)?),
            time_base: Bytes::little(data).u64(at.saturating_add(0x10), WHAT)?.cast_signed(),
            scale: i32(0x18)?,
        };
        // An entry ends with its texts, so they show its length too: the stated length may be damaged.
        let by_texts = align8(texts_end.saturating_sub(at)).max(ENTRY);
        let fits = |length: usize| {
            let end = at.saturating_add(length);
            length >= ENTRY && length.is_multiple_of(8) && (end == data.len() || looks_like_entry(data, end))
        };
        if !fits(stated) && fits(by_texts) {
            fault(Error::value("counter list entry, length", at, "the length of its texts", stated as u64));
            return Ok((entry, by_texts));
        }
        if stated < ENTRY || at.saturating_add(stated) > data.len() {
            let most = data.len().saturating_sub(at) as u64;
            return Err(Error::outside("counter list entry, length", at, stated as u64, ENTRY as u64, most));
        }
        Ok((entry, stated))
    }
}

fn looks_like_entry(data: &[u8], at: usize) -> bool {
    let length = Bytes::little(data).length(at, "").unwrap_or(0);
    let object = at.checked_add(0x20).and_then(|object| Bytes::little(data).i32(object, "").ok());
    let end = at.saturating_add(length);
    length.is_multiple_of(8)
        && length > ENTRY
        && end <= data.len()
        && object.is_some_and(|object| object >= -1)
}

/// Reads a counter list. `fault` receives what cannot be read; the entries before it are returned.
pub fn parse_list(body: &[u8], fault: &mut dyn FnMut(Error)) -> Vec<Entry> {
    match (
        Bytes::little(body).u32(0, "counter list, version"),
        Bytes::little(body).u32(4, "counter list, log type"),
    ) {
        (Ok(version), Ok(_)) if version == LIST_VERSION => {}
        (Ok(version), Ok(_)) => fault(Error::value("counter list, version", 0, "0x6ff", u64::from(version))),
        (Err(error), _) | (_, Err(error)) => fault(error),
    }
    let mut entries = Vec::new();
    let mut at = 8usize;
    let mut budget = body.len();
    // Less than an entry at the end is padding.
    while at.saturating_add(ENTRY) <= body.len() {
        match Entry::parse(body, at, &mut budget, fault) {
            Ok((entry, length)) => {
                entries.push(entry);
                at = at.saturating_add(length);
            }
            Err(error) => {
                fault(error);
                break;
            }
        }
    }
    entries
}

/// The content of a `PDH_RAW_COUNTER`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RawCounter {
    /// Status of the Performance Data Helper: 0 is good, see [`no_value`].
    pub status: u32,
    /// When it was read, local time.
    pub time: FileTime,
    /// The value.
    pub first: i64,
    /// Its clock or its base; 0 for types without.
    pub second: i64,
    /// How many resources were added up.
    pub multi_count: u32,
}

/// One instance in a multi sub-record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Item<'a> {
    /// Its name.
    pub name: WideStr<'a>,
    /// How many resources were added up; logs of Windows' own collector have 0 here.
    pub multi_count: u32,
    /// The value.
    pub first: i64,
    /// Its clock or its base.
    pub second: i64,
}

/// One sub-record of a data record.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum SubRecord<'a> {
    /// One counter of one instance.
    Single(RawCounter),
    /// One counter of all instances.
    Multi(Multi<'a>),
    /// A data block with one object.
    Object(&'a [u8]),
    /// A sub-record of an unknown type. It counts in the order of sub-records.
    Unknown(u8),
}

/// A multi sub-record.
#[derive(Debug, Clone, Copy)]
pub struct Multi<'a> {
    /// Status for all of its items.
    pub status: u32,
    /// When it was read, local time.
    pub time: FileTime,
    block: &'a [u8],
    count: usize,
}

impl<'a> Multi<'a> {
    fn parse(block: &'a [u8]) -> Result<Multi<'a>, Error> {
        const WHAT: &str = "multi record";
        Ok(Multi {
            status: Bytes::little(block).u32(0x0c, WHAT)?,
            time: FileTime(Bytes::little(block).u64(0x10, WHAT)?),
            count: Bytes::little(block).length(4, WHAT)?,
            block,
        })
    }

    /// Its items. It ends after an error.
    ///
    /// All names together must fit the block: items that share a name are damage.
    pub fn items(&self) -> impl Iterator<Item = Result<Item<'a>, Error>> + use<'a> {
        let Multi { block, count, .. } = *self;
        let mut budget = block.len();
        let mut failed = false;
        (0..count).map_while(move |position| {
            if failed {
                return None;
            }
            let item = item(block, position, &mut budget);
            failed = item.is_err();
            Some(item)
        })
    }
}

fn item<'a>(block: &'a [u8], position: usize, budget: &mut usize) -> Result<Item<'a>, Error> {
    const WHAT: &str = "multi record, item";
    let at = position.saturating_mul(ITEM).saturating_add(MULTI_HEADER);
    let item = Bytes::little(block).slice(at, ITEM, WHAT)?.data();
    let name_at = Bytes::little(item).length(0, WHAT)?;
    let name_end = name_at.saturating_add(*budget).min(block.len());
    let name = block.get(name_at..name_end).filter(|_| name_at >= MULTI_HEADER);
    let Some(name) = name.and_then(until_nul) else {
        let (least, most) = (MULTI_HEADER as u64, block.len() as u64);
        return Err(Error::outside("multi record, name of an item", at, name_at as u64, least, most));
    };
    *budget = budget.saturating_sub(name.len().saturating_add(2));
    Ok(Item {
        name: WideStr::new(name, ByteOrder::Little),
        multi_count: Bytes::little(item).u32(4, WHAT)?,
        first: Bytes::little(item).u64(8, WHAT)?.cast_signed(),
        second: Bytes::little(item).u64(16, WHAT)?.cast_signed(),
    })
}

/// Iterates over the sub-records of a data record. If a length is wrong, the length of the content is used;
/// if that fails too, the iteration ends after the error.
#[derive(Debug, Clone)]
pub struct SubRecords<'a> {
    data: &'a [u8],
    at: usize,
    fault: Option<Error>,
}

impl<'a> SubRecords<'a> {
    /// The sub-records in the body of a data record.
    pub fn new(body: &'a [u8]) -> SubRecords<'a> {
        let outer = Bytes::little(body).length(4, "data record, length");
        let tagged = has_tag(body, 0) && body.get(3) == Some(&OUTER);
        let (data, fault) = match outer {
            Ok(length) if tagged && (8..=body.len()).contains(&length) => {
                (body.get(..length).unwrap_or(body), None)
            }
            Ok(length) if tagged => {
                let most = body.len() as u64;
                (body, Some(Error::outside("data record, length", 4, length as u64, 8, most)))
            }
            Ok(_) => {
                let found = Bytes::little(body).u32(0, "").unwrap_or(0);
                (body, Some(Error::value("data record, tag", 0, "the bytes 42 4C 03 00", u64::from(found))))
            }
            Err(error) => (body, Some(error)),
        };
        SubRecords { data, at: 8, fault }
    }

    /// The offset of the next sub-record.
    pub const fn offset(&self) -> usize {
        self.at
    }

    /// A fault of the record or of a length that could be repaired.
    pub const fn take_fault(&mut self) -> Option<Error> {
        self.fault.take()
    }

    /// The next sub-record.
    fn parse(&mut self) -> Result<SubRecord<'a>, Error> {
        let at = self.at;
        let head = Bytes::little(self.data).slice(at, 8, "record head")?.data();
        let stated = Bytes::little(head).length(4, "record head, length")?;
        let inner = at.saturating_add(8);
        let sub_type = head.get(3).copied().unwrap_or(0);
        let length = if stated >= 8 && self.leads_on(at.saturating_add(stated)) {
            stated
        } else {
            let own = match sub_type {
                SINGLE => SINGLE_SIZE,
                MULTI => Bytes::little(self.data).length(inner, "multi record, length")?.saturating_add(8),
                OBJECT => {
                    let at = inner.saturating_add(20);
                    let length = Bytes::little(self.data).length(at, "PERF_DATA_BLOCK.TotalByteLength")?;
                    align8(length).saturating_add(8)
                }
                _ => stated,
            };
            let most = self.data.len().saturating_sub(at) as u64;
            let error = Error::outside("record head, length", at.saturating_add(4), stated as u64, 8, most);
            if own < 8 || !self.leads_on(at.saturating_add(own)) {
                return Err(error);
            }
            self.fault = Some(error);
            own
        };
        if !has_tag(self.data, at) {
            let found = Bytes::little(head).u32(0, "record head")?;
            self.fault = Some(Error::value("record head, tag", at, "the bytes 42 4C 03", u64::from(found)));
        }
        self.at = at.saturating_add(length);
        let content = Bytes::little(self.data).slice(inner, length.saturating_sub(8), "record")?.data();
        match sub_type {
            SINGLE => Ok(SubRecord::Single(RawCounter {
                status: Bytes::little(content).u32(0, "single record")?,
                time: FileTime(Bytes::little(content).u64(4, "single record")?),
                first: Bytes::little(content).u64(0x10, "single record")?.cast_signed(),
                second: Bytes::little(content).u64(0x18, "single record")?.cast_signed(),
                multi_count: Bytes::little(content).u32(0x20, "single record")?,
            })),
            MULTI => Multi::parse(content).map(SubRecord::Multi),
            OBJECT => Ok(SubRecord::Object(content)),
            _ => Ok(SubRecord::Unknown(sub_type)),
        }
    }

    fn leads_on(&self, end: usize) -> bool {
        end == self.data.len() || has_tag(self.data, end)
    }
}

impl<'a> Iterator for SubRecords<'a> {
    type Item = Result<SubRecord<'a>, (usize, Error)>;

    fn next(&mut self) -> Option<Self::Item> {
        let at = self.at;
        // Less than a head at the end is padding.
        if at.saturating_add(8) > self.data.len() {
            return None;
        }
        let record = self.parse();
        if record.is_err() && self.at == at {
            // The offset of the next one is unknown.
            self.at = self.data.len();
        }
        Some(record.map_err(|error| (at, error)))
    }
}

fn has_tag(data: &[u8], at: usize) -> bool {
    // Of arrays, the comparison is one of numbers; it is made for every value of a log.
    data.get(at..at.saturating_add(3)).and_then(<[u8]>::first_chunk) == Some(&TAG)
}

/// A sub-record to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Data {
    /// One counter of one instance.
    Single(RawCounter),
    /// One counter of all instances.
    Multi {
        /// Status for all of its items.
        status: u32,
        /// When it was read, local time.
        time: FileTime,
        /// Name, multi count, first and second value of each.
        items: Vec<(Arc<str>, u32, i64, i64)>,
    },
}

/// The reason that a PDH status stands for; `None` if it means a value.
pub const fn no_value(status: u32) -> Option<NoValue> {
    // The two upper bits are the severity: success and information are values.
    if status >> 30 < 2 {
        return None;
    }
    Some(match status {
        0x8000_07d0 => NoValue::NoMachine,
        0x8000_07d1 => NoValue::NoInstance,
        0x8000_07d6 => NoValue::NegativeDenominator,
        0x8000_07d7 => NoValue::NegativeTimebase,
        0x8000_07d8 => NoValue::NegativeValue,
        0xc000_0bb8 => NoValue::NoObject,
        0xc000_0bb9 => NoValue::NoCounter,
        _ => NoValue::NoData(Absence::Other),
    })
}

/// The bytes before the NUL of a text; `None` without a NUL.
pub(super) fn until_nul(data: &[u8]) -> Option<&[u8]> {
    let nul = data.chunks_exact(2).position(|unit| unit == [0, 0])?;
    data.get(..nul.checked_mul(2)?)
}

/// Splits `data` after the text at its start, which ends with NUL; `None` without a NUL.
pub(super) fn take_text(data: &[u8]) -> Option<(String, &[u8])> {
    let text = until_nul(data)?;
    let rest = data.get(text.len().checked_add(2)?..)?;
    Some((WideStr::new(text, ByteOrder::Little).to_string_lossy(), rest))
}
