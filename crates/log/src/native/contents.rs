//! What a long sealed log says of itself at its end: its columns, its times, its parts and the places of
//! their chunks. Readers open the log and go to a time with these alone.
//!
//! The contents can be wrong without being damaged, if somebody wrote them so. Readers compare with the log
//! where the rows of at most 9 parts begin, and two of the places of a part when they use them: that there is
//! a chunk, the number and time of its first row, and that its latest time is not later. They check that the
//! rest of the contents fits together, and believe it: the earliest and the last time of a part, the order,
//! the local time, the growth, and the statistics. So false contents can give wrong numbers, as false rows
//! can. Work and memory are bounded: no record is read for two parts, and columns, names and places have
//! limits.

use std::collections::HashMap;

use tallymon_core::error::Error;
use tallymon_core::time::FileTime;

use super::NAME_BYTES;
use super::fields::{Fields, PutFields};
use super::schema::{self, Definition, Instance};

/// A part begins with the chunk of the first row behind as many rows.
pub(super) const PART_ROWS: u64 = 1 << 16;

/// The most places of a part: each of its rows begins a chunk.
const MOST_PLACES: usize = 1 << 16;

/// The most columns of a log with contents.
pub(super) const MOST_CONTENTS_COLUMNS: usize = 1 << 18;

/// The most parts of a log with contents: 17 billion rows.
const MOST_PARTS: usize = 1 << 18;

/// The most changes of the clock of a log with contents.
const MOST_CHANGES: usize = 1 << 16;

/// The version of the contents.
const VERSION: u64 = 1;

/// The contents of a log.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Table {
    pub(super) records: u64,
    /// Times of the first and the last record, and the least and the most of all.
    pub(super) first: u64,
    pub(super) last: u64,
    pub(super) least: u64,
    pub(super) most: u64,
    /// A record is older than the one before it.
    pub(super) goes_back: bool,
    /// Minutes from UTC to local time at the last record.
    pub(super) minutes: i32,
    /// From which time on local time is how many minutes from UTC.
    pub(super) changes: Vec<(u64, i32)>,
    /// The bodies of the records of all definitions.
    pub(super) definitions: Vec<Vec<u8>>,
    /// All instances in the order of their columns: the number of the definition, how many equal instances
    /// come before it, and the instance.
    pub(super) instances: Vec<(usize, usize, Instance)>,
    /// How many columns there are from a record on.
    pub(super) growth: Vec<(u64, usize)>,
    /// Bytes of the names in the paths of all columns, counted when the contents are read.
    pub(super) name_bytes: u64,
    pub(super) parts: Vec<PartEntry>,
}

/// A part of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct PartEntry {
    /// The byte of its first chunk or row.
    pub(super) at: u64,
    /// Where the record of its places is, and the one of its statistics, if there is one.
    pub(super) places: u64,
    pub(super) statistics: Option<u64>,
    /// Records before it.
    pub(super) before: u64,
    pub(super) records: u64,
    pub(super) first: u64,
    pub(super) last: u64,
    pub(super) least: u64,
    pub(super) most: u64,
}

/// The rows of a chunk, or rows of a tail from one that builds on nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct ChunkPlace {
    pub(super) at: u64,
    /// Records of the log before it.
    pub(super) before: u64,
    pub(super) first: u64,
    /// The latest time up to the next place.
    pub(super) most: u64,
}

fn put_step(body: &mut Vec<u8>, from: u64, to: u64) {
    body.put_signed(to.wrapping_sub(from).cast_signed());
}

fn step(fields: &mut Fields<'_>, from: u64, what: &'static str) -> Result<u64, Error> {
    Ok(from.wrapping_add(fields.signed(what)?.cast_unsigned()))
}

fn minutes(fields: &mut Fields<'_>) -> Result<i32, Error> {
    Ok(i32::try_from(fields.signed("minutes from UTC")?).unwrap_or_default())
}

/// Reads a count of items that has a limit.
fn few(fields: &mut Fields<'_>, what: &'static str, most: usize) -> Result<usize, Error> {
    let at = fields.at();
    let count = fields.count(what)?;
    match count <= most {
        true => Ok(count),
        false => Err(Error::outside(what, at, count as u64, 0, most as u64)),
    }
}

impl Table {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut body = Vec::new();
        body.put(VERSION);
        body.put(self.records);
        body.put(self.first);
        for time in [self.last, self.least, self.most] {
            put_step(&mut body, self.first, time);
        }
        body.put(u64::from(self.goes_back));
        body.put_signed(i64::from(self.minutes));
        body.put(self.changes.len() as u64);
        for (time, minutes) in &self.changes {
            put_step(&mut body, self.first, *time);
            body.put_signed(i64::from(*minutes));
        }
        body.put(self.definitions.len() as u64);
        for definition in &self.definitions {
            body.put(definition.len() as u64);
            body.extend_from_slice(definition);
        }
        body.put(self.instances.len() as u64);
        for (definition, nth, instance) in &self.instances {
            body.put(*definition as u64);
            body.put(*nth as u64);
            instance.encode(&mut body);
        }
        body.put(self.growth.len() as u64);
        let mut before = (0, 0);
        for (record, columns) in &self.growth {
            body.put(record.wrapping_sub(before.0));
            body.put((*columns as u64).wrapping_sub(before.1));
            before = (*record, *columns as u64);
        }
        body.put(self.parts.len() as u64);
        let mut before = PartEntry::default();
        for part in &self.parts {
            body.put(part.at.wrapping_sub(before.at));
            body.put(part.places.wrapping_sub(before.places));
            body.put(part.statistics.map_or(0, |at| at.wrapping_sub(part.at)));
            body.put(part.records);
            for (from, time) in [
                (before.last, part.first),
                (part.first, part.last),
                (part.first, part.least),
                (part.first, part.most),
            ] {
                put_step(&mut body, from, time);
            }
            before = *part;
        }
        body
    }

    /// Reads the contents of a log whose chunks end before a byte.
    pub(super) fn decode(body: &[u8], end: u64) -> Result<Table, Error> {
        let mut fields = Fields::new(body);
        let version = fields.number("version of the contents")?;
        if version != VERSION {
            return Err(Error::value("version of the contents", 0, "version 1", version));
        }
        let records = fields.number("records of the contents")?;
        let first = fields.number("time of the contents")?;
        let last = step(&mut fields, first, "time of the contents")?;
        let least = step(&mut fields, first, "time of the contents")?;
        let most = step(&mut fields, first, "time of the contents")?;
        let goes_back = fields.number("order of the records")? != 0;
        let local = minutes(&mut fields)?;
        let mut table =
            Table { records, first, last, least, most, goes_back, minutes: local, ..Table::default() };
        for _ in 0..few(&mut fields, "changes of the clock", MOST_CHANGES)? {
            let time = step(&mut fields, first, "time of a change")?;
            table.changes.push((time, minutes(&mut fields)?));
        }
        let mut definitions = Vec::new();
        for _ in 0..fields.count("definitions of the contents")? {
            let length = fields.count("length of a definition")?;
            let body = fields.bytes(length, "definition of the contents")?;
            definitions.push(Definition::decode(body)?);
            table.definitions.push(body.to_vec());
        }
        let mut columns = 0usize;
        for _ in 0..fields.count("instances of the contents")? {
            let at = fields.at();
            let number = fields.number("definition of an instance")?;
            let nth = fields.small("number of an instance")? as usize;
            let found = usize::try_from(number).ok().and_then(|at| Some((at, definitions.get(at)?)));
            let (number, definition) =
                found.ok_or_else(|| Error::value("definition of an instance", at, "one of them", number))?;
            let instance = Instance::decode(&mut fields, definition)?;
            let width = instance.width(definition);
            columns = columns.saturating_add(width);
            if width == 0 {
                return Err(Error::value("columns of an instance", at, "one at least", 0));
            }
            if columns > MOST_CONTENTS_COLUMNS {
                return Err(Error::value("columns of the contents", at, "fewer of them", columns as u64));
            }
            table.name_bytes = table.name_bytes.saturating_add(instance.name_bytes(definition));
            if table.name_bytes > NAME_BYTES.0 {
                return Err(Error::value("names of the contents", at, "shorter ones", table.name_bytes));
            }
            table.instances.push((number, nth, instance));
        }
        table.decode_growth(&mut fields, columns)?;
        table.decode_parts(&mut fields, end)?;
        Ok(table)
    }

    fn decode_growth(&mut self, fields: &mut Fields<'_>, all: usize) -> Result<(), Error> {
        let (mut record, mut columns) = (0u64, 0u64);
        for nth in 0..fields.count("growth of the contents")? {
            let at = fields.at();
            let steps = (fields.number("record of the growth")?, fields.number("columns of the growth")?);
            (record, columns) = (record.saturating_add(steps.0), columns.saturating_add(steps.1));
            let grows = steps.1 > 0 && (steps.0 > 0) == (nth > 0);
            let known = usize::try_from(columns).ok().filter(|known| *known <= all && grows);
            let known =
                known.ok_or_else(|| Error::value("columns of the growth", at, "ascending", columns))?;
            self.growth.push((record, known));
        }
        if self.growth.last().map_or(0, |(_, columns)| *columns) != all {
            return Err(Error::value("columns of the growth", fields.at(), "all of them", columns));
        }
        Ok(())
    }

    fn decode_parts(&mut self, fields: &mut Fields<'_>, end: u64) -> Result<(), Error> {
        let mut before = PartEntry::default();
        let mut records = 0u64;
        // Places ascend, so that no record is read for several parts.
        let mut last_statistics = end;
        for _ in 0..few(fields, "parts of the contents", MOST_PARTS)? {
            let place = fields.at();
            let at = before.at.saturating_add(fields.number("place of a part")?);
            let places = before.places.saturating_add(fields.number("places of a part")?);
            let statistics = fields.number("statistics of a part")?;
            let statistics = (statistics > 0).then(|| at.saturating_add(statistics));
            let count = fields.number("records of a part")?;
            let first = step(fields, before.last, "time of a part")?;
            let last = step(fields, first, "time of a part")?;
            let least = step(fields, first, "time of a part")?;
            let most = step(fields, first, "time of a part")?;
            let is_behind = at > before.at && at < end && count > 0 && least <= most;
            let is_statistics_behind = statistics.is_none_or(|at| at > last_statistics);
            last_statistics = statistics.unwrap_or(last_statistics);
            if !is_behind || places <= before.places.max(end) || !is_statistics_behind {
                return Err(Error::value("place of a part", place, "behind the one before", at));
            }
            before = PartEntry {
                at,
                places,
                statistics,
                before: records,
                records: count,
                first,
                last,
                least,
                most,
            };
            records = records.saturating_add(count);
            self.parts.push(before);
        }
        if records != self.records || self.parts.is_empty() {
            return Err(Error::value("records of the contents", fields.at(), "those of its parts", records));
        }
        let ends = |part: &PartEntry| (part.first, part.last);
        let (first, last) = (self.parts.first().map(ends), self.parts.last().map(ends));
        let fits = first.is_some_and(|(first, _)| first == self.first)
            && last.is_some_and(|(_, last)| last == self.last)
            && self.parts.iter().map(|part| part.least).min() == Some(self.least)
            && self.parts.iter().map(|part| part.most).max() == Some(self.most);
        match fits {
            true => Ok(()),
            false => {
                Err(Error::value("times of the contents", fields.at(), "those of its parts", self.first))
            }
        }
    }

    /// The definitions by their hashes, in order.
    pub(super) fn definitions(&self) -> Vec<(u64, Definition)> {
        let decoded = |body: &Vec<u8>| Some((schema::hash(body), Definition::decode(body).ok()?));
        self.definitions.iter().filter_map(decoded).collect()
    }

    /// The changes of the clock.
    pub(super) fn changes(&self) -> Vec<(FileTime, i32)> {
        self.changes.iter().map(|(time, minutes)| (FileTime(*time), *minutes)).collect()
    }
}

/// The body of the record of the places of a part.
pub(super) fn encode_places(places: &[ChunkPlace]) -> Vec<u8> {
    let mut body = Vec::new();
    body.put(places.len() as u64);
    let mut before = ChunkPlace::default();
    for place in places {
        body.put(place.at.wrapping_sub(before.at));
        body.put(place.before.wrapping_sub(before.before));
        put_step(&mut body, before.first, place.first);
        put_step(&mut body, place.first, place.most);
        before = *place;
    }
    body
}

/// Reads the places of a part that ends before a byte.
pub(super) fn decode_places(body: &[u8], part: &PartEntry, end: u64) -> Result<Vec<ChunkPlace>, Error> {
    let mut fields = Fields::new(body);
    let mut places: Vec<ChunkPlace> = Vec::new();
    let mut before = ChunkPlace::default();
    for _ in 0..few(&mut fields, "places of a part", MOST_PLACES)? {
        let place = fields.at();
        let at = before.at.saturating_add(fields.number("place of a chunk")?);
        let records = before.before.saturating_add(fields.number("records before a chunk")?);
        let first = step(&mut fields, before.first, "time of a chunk")?;
        let most = step(&mut fields, first, "time of a chunk")?;
        let fits = match places.is_empty() {
            true => (at, records, first) == (part.at, part.before, part.first),
            false => at > before.at && records > before.before,
        };
        let behind = part.before.saturating_add(part.records);
        if !fits || at >= end || records >= behind || most > part.most {
            return Err(Error::value("place of a chunk", place, "one of the part", at));
        }
        before = ChunkPlace { at, before: records, first, most };
        places.push(before);
    }
    Ok(places)
}

/// The numbers of definitions by their hashes.
pub(super) fn numbers(definitions: &[(u64, Vec<u8>)]) -> HashMap<u64, usize> {
    definitions.iter().enumerate().map(|(number, (hash, _))| (*hash, number)).collect()
}
