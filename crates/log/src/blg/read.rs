//! Columns and samples out of the records of a BLG.

use std::collections::HashMap;
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::ControlFlow;

use tallymon_core::block::{Snapshot, SnapshotInstance, SnapshotObject};
use tallymon_core::counter::{CounterType, Denominator, TimeBase};
use tallymon_core::flow::{Absence, NoValue, Sample};
use tallymon_core::path::{CounterPath, InstancePath, Part};
use tallymon_core::time::{FileTime, Frequency, UNITS_PER_SECOND};
use tallymon_core::title::{TitleIndex, Titles};

use super::container::{Container, Event, FileHeader};
use super::records::{self, Catalogue, Entry, Multi, RawCounter, SubRecord, SubRecords, kind, no_value};
use crate::error::{Damage, LogError};
use crate::format::{Format, ReadOptions};
use crate::reader::{About, Column, LogReader, Passed, ReadPlace, Record};
use crate::zone::{Zone, add_minutes, minutes_between};

/// A record of more than this many bytes is damage: the largest machines make a few of them.
const LARGEST_RECORD: usize = 256 << 20;

/// The first bytes of every counter list.
const LIST_BEGIN: [u8; 8] = [0xff, 0x06, 0, 0, 0x08, 0, 0x02, 0];

/// Reads a BLG from a stream, buffer by buffer.
#[derive(Debug)]
pub struct BlgReader<R> {
    container: Container<R>,
    about: About,
    titles: Titles,
    catalogue: Option<Catalogue>,
    entries: Vec<ReadEntry>,
    columns: Columns,
    /// The parts of a record that are there so far.
    pending: Option<Pending>,
    /// The record that was read when the log was opened.
    ahead: Option<Record>,
    /// Records decoded so far; one more than were given while one is read ahead.
    decoded: u64,
    /// The last distance from UTC that a record showed.
    minutes: Option<i32>,
    /// The distance that the caller gave.
    fixed_minutes: Option<i32>,
    /// The bytes of the last record.
    raw: Vec<u8>,
    /// Byte of the current list, and the lists that were current before or behind it.
    list_byte: u64,
    lists: HashMap<u64, Vec<ReadEntry>>,
    /// Where the last record stands.
    place: Option<ReadPlace>,
    /// Brings the input to a byte, when it can go back.
    seek: Option<fn(&mut R, u64) -> io::Result<()>>,
    /// Only times, places and columns are wanted.
    passing: bool,
}

/// An entry of the counter list with what the records so far were like.
#[derive(Debug)]
struct ReadEntry {
    entry: Entry,
    id: u32,
    /// The column of a single counter.
    column: usize,
    /// The names in the last multi record, each with its column.
    items: Vec<(Vec<u8>, usize)>,
    object: ObjectCache,
}

/// What the last data block of an object was like: the same again has the same columns.
#[derive(Debug, Default)]
struct ObjectCache {
    counters: Vec<(u32, u32)>,
    instances: Vec<String>,
    /// Positions of the counters that have columns.
    visible: Vec<usize>,
    /// Columns, instance by instance.
    columns: Vec<usize>,
}

/// A record, or the parts of it that are there so far.
#[derive(Debug)]
struct Pending {
    /// The event of its first part.
    event: Event,
    next_part: u32,
    body: Vec<u8>,
    /// Where in the body each part begins, and its event.
    parts: Vec<(usize, Event)>,
}

impl Pending {
    const fn new(event: Event) -> Pending {
        Pending { event, next_part: 1, body: Vec::new(), parts: Vec::new() }
    }

    fn push(&mut self, event: Event, body: &[u8]) {
        self.parts.push((self.body.len(), event));
        self.body.extend_from_slice(body);
        self.next_part = self.next_part.saturating_add(1);
    }

    /// A fault at an offset of the body.
    fn damage(&self, offset: usize, record: u64, what: String) -> Damage {
        let part = self.parts.iter().rfind(|(begin, _)| *begin <= offset);
        let (begin, event) = part.map_or((0, &self.event), |(begin, event)| (*begin, event));
        let byte = event.body_byte().saturating_add(offset.saturating_sub(begin) as u64);
        Damage { byte, buffer: Some(event.buffer), record: Some(record), line: None, what }
    }
}

/// The columns by what they are of, so that the same counter is the same column in every record.
#[derive(Debug, Default)]
struct Columns {
    /// Entries of counter lists by their paths and how many of the same came before in the list.
    entries: HashMap<(String, u32), u32>,
    /// Groups by entry and title index of the counter (0 in counter mode).
    groups: HashMap<(u32, u32), u32>,
    /// Columns by group and instance.
    columns: HashMap<(u32, String), usize>,
    /// The columns of each group.
    members: HashMap<u32, Vec<usize>>,
    /// Whether the samples of a column carry local time.
    local: Vec<bool>,
}

impl<R: Read + Seek> BlgReader<R> {
    /// As [`BlgReader::new`], of what can go back to any record.
    ///
    /// # Errors
    ///
    /// As [`BlgReader::new`].
    pub fn seekable(input: R, options: &ReadOptions) -> Result<BlgReader<R>, LogError> {
        let mut reader = BlgReader::new(input, options)?;
        reader.seek = Some(|input, byte| input.seek(SeekFrom::Start(byte)).map(drop));
        Ok(reader)
    }
}

impl<R: Read> BlgReader<R> {
    /// Reads the header, the counter list and the first record.
    ///
    /// # Errors
    ///
    /// Only those of the operating system: a log with nothing in it that can be used has no columns and its damage in
    /// the notes.
    pub fn new(input: R, options: &ReadOptions) -> Result<BlgReader<R>, LogError> {
        let mut about = About::new(Format::Blg);
        let container = Container::new(input, &mut about.notes)?;
        about.zone = match (&container.header, options.bias) {
            (_, Some(bias)) => Zone::Fixed { name: String::new(), bias },
            (Some(header), None) => Zone::Rules(Box::new(header.zone.clone())),
            (None, None) => Zone::Unknown,
        };
        let mut reader = BlgReader {
            container,
            about,
            titles: Titles::new(),
            catalogue: None,
            entries: Vec::new(),
            columns: Columns::default(),
            pending: None,
            ahead: None,
            decoded: 0,
            minutes: None,
            fixed_minutes: options.bias.map(i32::saturating_neg),
            raw: Vec::new(),
            list_byte: 0,
            lists: HashMap::new(),
            place: None,
            seek: None,
            passing: false,
        };
        reader.ahead = reader.read_record()?;
        Ok(reader)
    }

    /// The header of the file; `None` when it is damaged.
    pub const fn header(&self) -> Option<&FileHeader> {
        self.container.header.as_ref()
    }

    /// The catalogue, once it was read: it stands at the end of logs of whole objects.
    pub const fn catalogue(&self) -> Option<&Catalogue> {
        self.catalogue.as_ref()
    }

    /// The current counter list.
    pub fn entries(&self) -> impl ExactSizeIterator<Item = &Entry> {
        self.entries.iter().map(|entry| &entry.entry)
    }

    fn read_record(&mut self) -> Result<Option<Record>, LogError> {
        loop {
            let next = self.decoded.saturating_add(1);
            let Some(event) = self.container.next_event(&mut self.about.notes, next)? else {
                let Some(pending) = self.pending.take() else {
                    return Ok(None);
                };
                let words = "the log ends before the last part of the record".to_owned();
                self.damage(&pending, pending.body.len(), words);
                return Ok(self.take_record(&pending));
            };
            if let Some(record) = self.take_event(event) {
                return Ok(Some(record));
            }
        }
    }

    /// Takes one event; gives a record when one is complete.
    fn take_event(&mut self, event: Event) -> Option<Record> {
        // A first part, or a whole record, while parts of another are still missing.
        let broken = match &self.pending {
            Some(pending) => event.part != pending.next_part || event.parts != pending.event.parts,
            None => event.part != 1,
        };
        let lost = if broken { self.pending.take() } else { None };
        if let Some(lost) = &lost {
            let words = format!("part {} of {} of the record is missing", lost.next_part, lost.event.parts);
            self.damage(lost, lost.body.len(), words);
        }
        let record = lost.and_then(|lost| self.take_record(&lost));
        let mut pending = self.pending.take().unwrap_or_else(|| Pending::new(event));
        pending.push(event, self.container.body(&event));
        if broken && event.part != 1 {
            let words = format!("part {} of {} without the parts before it", event.part, event.parts);
            self.damage(&pending, 0, words);
            return record;
        }
        if event.part < event.parts && pending.body.len() <= LARGEST_RECORD {
            self.pending = Some(pending);
            return record;
        }
        let this = self.take_record(&pending);
        // Of a record that lost its end and the one that came instead, the latter is the whole one; the former is given
        // up only when both have something to say.
        if record.is_some() && this.is_some() {
            self.damage(&pending, 0, "the incomplete record before this one was left out".to_owned());
            self.decoded = self.decoded.saturating_sub(1);
        }
        this.or(record)
    }

    /// Takes the content of one event, or of all parts together; gives a record when it is one.
    fn take_record(&mut self, pending: &Pending) -> Option<Record> {
        let stated = pending.event.kind;
        // What says itself what it is is believed more than the byte in the header of the event.
        let kind = if pending.body.starts_with(&[b'B', b'L', 3, records::OUTER]) {
            kind::DATA
        } else if pending.body.starts_with(&LIST_BEGIN) {
            kind::LIST
        } else {
            stated
        };
        if kind != stated {
            let words = format!("an event of the kind {stated:#04x} was read as {kind:#04x} by its content");
            self.damage(pending, 0, words);
        }
        match kind {
            kind::DATA => {
                let record = self.data_record(pending);
                if record.is_some() && !self.passing {
                    self.raw.clone_from(&pending.body);
                }
                return record;
            }
            kind::LIST => self.list(pending),
            kind::NAMES => {
                records::names(&pending.body, |index, name| self.titles.insert_name(TitleIndex(index), name));
            }
            kind::CATALOGUE => self.take_catalogue(pending),
            _ => self.damage(pending, 0, format!("an event of the unknown kind {kind:#04x} was skipped")),
        }
        None
    }

    fn list(&mut self, pending: &Pending) {
        if self.choose_list(pending.event.byte) {
            return;
        }
        let mut faults = Vec::new();
        let entries = records::parse_list(&pending.body, &mut |error| faults.push(error));
        for fault in faults {
            self.damage(pending, fault.at, format!("counter list: {fault}"));
        }
        // Programs that append to a log begin with a list again: the same counters are the same columns.
        let mut seen: HashMap<String, u32> = HashMap::new();
        let before = std::mem::take(&mut self.entries);
        self.lists.insert(std::mem::replace(&mut self.list_byte, pending.event.byte), before);
        for entry in entries {
            let path = entry_path(&entry);
            let key = format!("{path}\0{:08x}", entry.counter_type.0);
            let count = seen.entry(key.clone()).or_default();
            let nth = *count;
            *count = count.saturating_add(1);
            let id = u32::try_from(self.columns.entries.len()).unwrap_or(u32::MAX);
            let id = *self.columns.entries.entry((key, nth)).or_insert(id);
            let mut read =
                ReadEntry { entry, id, column: 0, items: Vec::new(), object: ObjectCache::default() };
            if !read.entry.is_wildcard() && !read.entry.is_object() {
                let instance =
                    read.entry.instance.as_deref().map(|name| {
                        instance_path(read.entry.parent.as_deref(), name, read.entry.instance_index)
                    });
                let group = self.columns.group(id, 0);
                let column = || column_of(&read.entry, instance, group, false);
                read.column = self.columns.column(&mut self.about.columns, group, "", true, column);
            } else if read.entry.is_wildcard() {
                // Groups are in the order of the list, whenever their first instance appears.
                self.columns.group(id, 0);
            }
            self.entries.push(read);
        }
    }

    /// Makes a list current that was read before; `false` when there is none at this byte.
    fn choose_list(&mut self, byte: u64) -> bool {
        if byte == self.list_byte {
            return byte > 0;
        }
        let Some(entries) = self.lists.remove(&byte) else { return false };
        let before = std::mem::replace(&mut self.entries, entries);
        self.lists.insert(std::mem::replace(&mut self.list_byte, byte), before);
        true
    }

    fn take_catalogue(&mut self, pending: &Pending) {
        match Catalogue::parse(&pending.body) {
            Ok(catalogue) => {
                self.about.records_promised = Some(u64::from(catalogue.records));
                if u64::from(catalogue.records) != self.decoded {
                    let words = format!(
                        "the catalogue says {} records, {} were read",
                        catalogue.records, self.decoded
                    );
                    self.damage(pending, 0x10, words);
                }
                self.catalogue = Some(catalogue);
            }
            Err(error) => self.damage(pending, error.at, format!("the catalogue can not be read: {error}")),
        }
    }

    /// Decodes one data record; `None` when nothing in it can be used.
    fn data_record(&mut self, pending: &Pending) -> Option<Record> {
        let event = &pending.event;
        if self.entries.is_empty() {
            self.damage(pending, 0, "a data record without a counter list before it was skipped".to_owned());
            return None;
        }
        let mut entries = std::mem::take(&mut self.entries);
        let mut decoder = Decoder {
            columns: &mut self.columns,
            about: &mut self.about,
            titles: &self.titles,
            pending,
            record: self.decoded.saturating_add(1),
            cells: Vec::new(),
            passing: self.passing,
            minutes: None,
            any: false,
        };
        decoder.decode(&mut entries);
        let Decoder { mut cells, minutes, any, .. } = decoder;
        self.entries = entries;
        if !any {
            return None;
        }
        self.place = Some(ReadPlace {
            byte: event.byte,
            records: self.decoded,
            list: self.list_byte,
            line: 0,
            minutes: self.minutes,
        });
        self.decoded = self.decoded.saturating_add(1);
        let minutes = match self.fixed_minutes.or(minutes) {
            Some(minutes) => minutes,
            None => self.minutes_without_evidence(event.time),
        };
        self.minutes = Some(minutes);
        for (cell, local) in cells.iter_mut().zip(&self.columns.local) {
            if let Ok(sample) = cell
                && *local
            {
                let time = if sample.time.0 == 0 { event.time } else { sample.time };
                sample.time = add_minutes(time, minutes.saturating_neg());
            }
        }
        Some(Record {
            time: add_minutes(event.time, minutes.saturating_neg()),
            local_minutes: minutes,
            cells,
        })
    }

    /// The distance from UTC of a record that holds no time in UTC: by the rules of the zone, unless the records before
    /// showed that the rules are wrong.
    fn minutes_without_evidence(&mut self, local: FileTime) -> i32 {
        let by_rules = self.about.zone.minutes_at_local(local);
        match (self.minutes, &self.about.zone) {
            // Whether the rules were right so far is known from the distances that they allow.
            (Some(minutes), Zone::Rules(rules)) => {
                let biases = [rules.standard_bias, rules.daylight_bias]
                    .map(|extra| rules.bias.saturating_add(extra).saturating_neg());
                if biases.contains(&minutes) { by_rules } else { minutes }
            }
            (Some(minutes), _) => minutes,
            (None, _) => by_rules,
        }
    }

    fn damage(&mut self, pending: &Pending, offset: usize, what: String) {
        self.about.notes.damage(pending.damage(offset, self.decoded.saturating_add(1), what));
    }
}

impl<R: Read + Send> LogReader for BlgReader<R> {
    fn about(&self) -> &About {
        &self.about
    }

    fn next_record(&mut self) -> Result<Option<Record>, LogError> {
        let record = match self.ahead.take() {
            Some(record) => Some(record),
            None => self.read_record()?,
        };
        if record.is_some() {
            self.about.records = self.about.records.saturating_add(1);
        }
        Ok(record)
    }

    fn pass(&mut self, each: &mut dyn FnMut(Passed) -> ControlFlow<()>) -> Result<(), LogError> {
        loop {
            let record = match self.ahead.take() {
                Some(record) => Some((record.cells.len(), record)),
                None => {
                    self.passing = true;
                    let record = self.read_record();
                    self.passing = false;
                    record?.map(|record| (self.about.columns.len(), record))
                }
            };
            let Some((columns, Record { time, local_minutes, .. })) = record else { return Ok(()) };
            self.about.records = self.about.records.saturating_add(1);
            if each(Passed { time, local_minutes, columns, place: self.place() }).is_break() {
                return Ok(());
            }
        }
    }

    fn raw_record(&self) -> Option<&[u8]> {
        Some(self.raw.as_slice()).filter(|raw| !raw.is_empty())
    }

    fn place(&self) -> Option<ReadPlace> {
        self.place.filter(|_| self.seek.is_some() && self.ahead.is_none())
    }

    fn go_to(&mut self, place: ReadPlace) -> Result<bool, LogError> {
        let Some(seek) = self.seek else { return Ok(false) };
        if place.list != self.list_byte && !self.choose_list(place.list) {
            return Ok(false);
        }
        self.ahead = None;
        self.pending = None;
        self.decoded = place.records;
        self.minutes = place.minutes;
        let record = place.records.saturating_add(1);
        self.container.go_to(place.byte, seek, &mut self.about.notes, record)?;
        Ok(true)
    }
}

impl Columns {
    fn group(&mut self, entry: u32, counter: u32) -> u32 {
        let next = u32::try_from(self.groups.len()).unwrap_or(u32::MAX);
        *self.groups.entry((entry, counter)).or_insert(next)
    }

    fn column(
        &mut self,
        columns: &mut Vec<Column>,
        group: u32,
        instance: &str,
        local: bool,
        make: impl FnOnce() -> Column,
    ) -> usize {
        let (local_flags, members) = (&mut self.local, &mut self.members);
        *self.columns.entry((group, instance.to_owned())).or_insert_with(|| {
            columns.push(make());
            local_flags.push(local);
            let column = columns.len().saturating_sub(1);
            members.entry(group).or_default().push(column);
            column
        })
    }
}

/// Takes one data record apart.
struct Decoder<'d> {
    columns: &'d mut Columns,
    about: &'d mut About,
    titles: &'d Titles,
    pending: &'d Pending,
    record: u64,
    cells: Vec<Result<Sample, NoValue>>,
    /// Cells are not wanted.
    passing: bool,
    /// Distance from UTC that a sample showed.
    minutes: Option<i32>,
    /// Something of the record could be used.
    any: bool,
}

impl Decoder<'_> {
    fn decode(&mut self, entries: &mut [ReadEntry]) {
        if !self.passing {
            self.cells.resize(self.about.columns.len(), Err(NoValue::NoData(Absence::Other)));
            for (cell, column) in self.cells.iter_mut().zip(&self.about.columns) {
                if column.wild {
                    *cell = Err(NoValue::NoInstance);
                }
            }
        }
        let mut sub_records = SubRecords::new(&self.pending.body);
        let mut blocks = Vec::new();
        let mut position = 0usize;
        loop {
            let at = sub_records.offset();
            let next = sub_records.next();
            if let Some(fault) = sub_records.take_fault() {
                self.damage(fault.at, format!("{fault}; the record is read by its content"));
            }
            let Some(next) = next else {
                break;
            };
            let Some(read) = entries.get_mut(position) else {
                self.damage(
                    at,
                    format!("the record has more values than the {position} of the counter list"),
                );
                break;
            };
            position = position.saturating_add(1);
            match next {
                Ok(SubRecord::Single(raw)) if !read.entry.is_wildcard() && !read.entry.is_object() => {
                    self.any = true;
                    if self.passing {
                        self.evidence(&read.entry, raw);
                        continue;
                    }
                    let cell = self.sample(&read.entry, raw);
                    self.about.took(read.column, bits(records::SINGLE_SIZE));
                    if let Some(place) = self.cells.get_mut(read.column) {
                        *place = cell;
                    }
                }
                Ok(SubRecord::Multi(multi)) if read.entry.is_wildcard() => self.multi(read, multi, at),
                Ok(SubRecord::Object(bytes)) if read.entry.is_object() => match Snapshot::new(bytes.to_vec())
                {
                    Ok(snapshot) => blocks.push((position.saturating_sub(1), snapshot)),
                    Err(error) => {
                        let words =
                            format!("the data block of {} is damaged: {error}", entry_path(&read.entry));
                        self.damage(at.saturating_add(8).saturating_add(error.at), words);
                    }
                },
                Ok(SubRecord::Unknown(sub_type)) => {
                    let words = format!(
                        "a value of the unknown sub-type {sub_type:#04x} of {} was skipped",
                        entry_path(&read.entry)
                    );
                    self.damage(at, words);
                }
                Ok(_) => {
                    self.damage(
                        at,
                        format!(
                            "the value of {} is of another kind than the counter list says",
                            entry_path(&read.entry)
                        ),
                    );
                }
                Err((at, error)) => {
                    self.damage(
                        at,
                        format!("the values from {} on are lost: {error}", entry_path(&read.entry)),
                    );
                }
            }
        }
        if position < entries.len() {
            let words = format!("the record has {position} of {} values of the counter list", entries.len());
            self.damage(sub_records.offset(), words);
        }
        // Parents are instances of other objects, so all objects have to be there first.
        for (position, snapshot) in &blocks {
            if let Some(read) = entries.get_mut(*position) {
                self.object(read, snapshot, &blocks);
            }
        }
    }

    fn multi(&mut self, read: &mut ReadEntry, multi: Multi<'_>, at: usize) {
        self.any = true;
        if let Some(reason) = no_value(multi.status) {
            // The group has no instances at all then; columns that it had before say why.
            let group = self.columns.group(read.id, 0);
            for column in self.columns.members.get(&group).into_iter().flatten() {
                if let Some(cell) = self.cells.get_mut(*column) {
                    *cell = Err(reason);
                }
            }
            return;
        }
        let mut position = 0usize;
        let mut same = true;
        let mut counts: HashMap<String, u32> = HashMap::new();
        for item in multi.items() {
            let item = match item {
                Ok(item) => item,
                Err(error) => {
                    let words = format!("items of {} are lost: {error}", entry_path(&read.entry));
                    self.damage(at.saturating_add(8).saturating_add(error.at), words);
                    break;
                }
            };
            let raw = RawCounter {
                status: multi.status,
                time: multi.time,
                first: item.first,
                second: item.second,
                multi_count: item.multi_count,
            };
            let known = read.items.get(position).filter(|(name, _)| name.as_slice() == item.name.as_bytes());
            let column = match known {
                Some((_, column)) if same => *column,
                _ => {
                    if same {
                        // Names so far count for the numbers of those that follow.
                        read.items.truncate(position);
                        for (name, _) in &read.items {
                            let name = wide(name);
                            let count = counts.entry(name).or_default();
                            *count = count.saturating_add(1);
                        }
                        same = false;
                    }
                    let name = item.name.to_string_lossy();
                    let count = counts.entry(name.clone()).or_default();
                    let number = *count;
                    *count = count.saturating_add(1);
                    let group = self.columns.group(read.id, 0);
                    // Our own writer numbers the names; then they are spelled as in a path already.
                    let instance = instance_path(None, &name, number);
                    let key = instance.to_string();
                    let entry = &read.entry;
                    let make = || column_of(entry, Some(instance), group, true);
                    let column = self.columns.column(&mut self.about.columns, group, &key, true, make);
                    read.items.push((item.name.as_bytes().to_vec(), column));
                    column
                }
            };
            position = position.saturating_add(1);
            if self.passing {
                self.evidence(&read.entry, raw);
                continue;
            }
            // Each name stands in every record, with an end of two bytes.
            let name = item.name.as_bytes().len().saturating_add(2);
            self.about.took(column, bits(records::ITEM.saturating_add(name)));
            let cell = self.sample(&read.entry, raw);
            self.put(column, cell);
        }
        read.items.truncate(position);
    }

    fn put(&mut self, column: usize, cell: Result<Sample, NoValue>) {
        if self.cells.len() <= column {
            self.cells.resize(column.saturating_add(1), Err(NoValue::NoInstance));
        }
        if let Some(place) = self.cells.get_mut(column) {
            *place = cell;
        }
    }

    /// What a raw counter says about the distance from UTC.
    fn evidence(&mut self, entry: &Entry, raw: RawCounter) {
        let counter_type = entry.counter_type;
        if self.minutes.is_none()
            && no_value(raw.status).is_none()
            && counter_type.time_base() == TimeBase::Time100ns
            && counter_type.denominator() == Denominator::Time100ns
        {
            self.minutes = minutes_between(raw.time, FileTime(raw.second.cast_unsigned()));
        }
    }

    /// The sample of a raw counter, still with local time.
    fn sample(&mut self, entry: &Entry, raw: RawCounter) -> Result<Sample, NoValue> {
        if let Some(reason) = no_value(raw.status) {
            return Err(reason);
        }
        self.evidence(entry, raw);
        let counter_type = entry.counter_type;
        let second = raw.second.cast_unsigned();
        let mut frequency = Frequency(entry.time_base);
        // The object's own clock is one of 100 ns units when it shows the time of the day.
        if counter_type.time_base() == TimeBase::ObjectTime
            && minutes_between(raw.time, FileTime(second)).is_some()
        {
            frequency = Frequency(UNITS_PER_SECOND.cast_signed());
        }
        Ok(Sample {
            counter_type,
            first: raw.first.cast_unsigned(),
            second,
            frequency,
            // Windows' collector does not count in multi records.
            multi_count: raw.multi_count.max(1),
            time: raw.time,
        })
    }

    fn object(&mut self, read: &mut ReadEntry, snapshot: &Snapshot, blocks: &[(usize, Snapshot)]) {
        self.minutes =
            self.minutes.or(minutes_between(self.pending.event.time, snapshot.header().perf_time_100ns));
        let Some(object) = snapshot.objects().next() else {
            self.damage(0, format!("the data block of {} has no object", entry_path(&read.entry)));
            return;
        };
        self.any = true;
        let counters: Vec<(u32, u32)> =
            object.counters().iter().map(|counter| (counter.name.0, counter.counter_type.0)).collect();
        let names: Vec<String> =
            object.instances().map(|instance| instance_name(&instance, blocks)).collect();
        if read.object.counters != counters || read.object.instances != names {
            self.object_columns(read, &object, counters, names, snapshot);
        }
        if self.passing {
            return;
        }
        let cache = &read.object;
        let mut columns = cache.columns.iter();
        for instance in object.instances() {
            for position in &cache.visible {
                if let Some(column) = columns.next() {
                    let sample = instance.sample(*position);
                    let size = object.counters().get(*position).map_or(0, |counter| counter.counter_size);
                    self.about.took(*column, u64::from(size).saturating_mul(8));
                    if self.cells.len() <= *column {
                        self.cells.resize(column.saturating_add(1), Err(NoValue::NoInstance));
                    }
                    if let Some(place) = self.cells.get_mut(*column) {
                        *place = sample;
                    }
                }
            }
        }
    }

    /// Finds the columns of an object whose instances or counters are not those of the record before.
    fn object_columns(
        &mut self,
        read: &mut ReadEntry,
        object: &SnapshotObject<'_>,
        counters: Vec<(u32, u32)>,
        names: Vec<String>,
        snapshot: &Snapshot,
    ) {
        let definitions = object.counters();
        let is_column = |counter_type: CounterType| counter_type.is_visible() && !counter_type.is_text();
        // Two counters of one name, as some providers have, are two columns.
        let mut names_before: HashMap<TitleIndex, u32> = HashMap::new();
        let mut visible = Vec::new();
        let mut nths = Vec::new();
        for (position, definition) in definitions.iter().enumerate() {
            if is_column(definition.counter_type) {
                let count = names_before.entry(definition.name).or_default();
                nths.push(*count);
                *count = count.saturating_add(1);
                visible.push(position);
            }
        }
        let mut counts: HashMap<&str, u32> = HashMap::new();
        let mut columns = Vec::new();
        let machine = match &read.entry.machine {
            Some(machine) => Some(machine.trim_start_matches('\\').to_owned()),
            None => Some(snapshot.system_name().to_owned()).filter(|name| !name.is_empty()),
        };
        let title = |index: TitleIndex| match self.titles.name(index) {
            Some(name) => Part::Name(name.to_owned()),
            None => Part::Index(index.0),
        };
        let object_name = match &read.entry.object {
            Some(name) => Part::Name(name.clone()),
            None => title(object.header().name),
        };
        for name in &names {
            let count = counts.entry(name.as_str()).or_default();
            let number = *count;
            *count = count.saturating_add(1);
            let instance = object.has_instances().then(|| InstancePath::new(None, name, number));
            let key = instance.as_ref().map(ToString::to_string).unwrap_or_default();
            for (position, nth) in visible.iter().zip(&nths) {
                let Some(definition) = definitions.get(*position) else {
                    continue;
                };
                let key = format!("{key}\0{nth}");
                let group = self.columns.group(read.id, definition.name.0);
                let make = || {
                    let parts = CounterPath {
                        machine: machine.clone(),
                        object: object_name.clone(),
                        instance: instance.clone(),
                        counter: title(definition.name),
                    };
                    let frequency = match definition.counter_type.denominator() {
                        Denominator::Time100ns => Frequency(UNITS_PER_SECOND.cast_signed()),
                        Denominator::ObjectTime => object.header().perf_freq,
                        _ => snapshot.header().perf_freq,
                    };
                    Column {
                        path: parts.to_string(),
                        parts: Some(parts),
                        counter_type: definition.counter_type,
                        scale: definition.default_scale,
                        time_base: frequency,
                        group,
                        wild: object.has_instances(),
                    }
                };
                columns.push(self.columns.column(&mut self.about.columns, group, &key, false, make));
            }
        }
        read.object = ObjectCache { counters, instances: names, visible, columns };
    }

    fn damage(&mut self, offset: usize, what: String) {
        self.about.notes.damage(self.pending.damage(offset, self.record, what));
    }
}

/// The name of an instance with its parent's, when the record holds the parent.
fn instance_name(instance: &SnapshotInstance<'_>, blocks: &[(usize, Snapshot)]) -> String {
    let name = instance.name().to_string_lossy();
    let name = match instance.unique_id() {
        // What has no name is known by its number.
        Some(id) if name.is_empty() => id.to_string(),
        _ => name,
    };
    let parent = instance.parent().and_then(|parent| {
        let object = blocks.iter().find_map(|(_, snapshot)| snapshot.object(parent.object))?;
        object.instance(usize::try_from(parent.instance).ok()?)
    });
    match parent {
        Some(parent) => format!("{}/{name}", parent.name()),
        None => name,
    }
}

/// The bits of so many bytes.
const fn bits(bytes: usize) -> u64 {
    (bytes as u64).saturating_mul(8)
}

fn wide(bytes: &[u8]) -> String {
    use tallymon_core::text::{ByteOrder, WideStr};
    WideStr::new(bytes, ByteOrder::Little).to_string_lossy()
}

fn instance_path(parent: Option<&str>, name: &str, index: u32) -> InstancePath {
    // A name of the list is spelled as in a path already, with its number in it.
    match (parent, index) {
        (None, 0) => InstancePath::parse(name),
        _ => InstancePath::new(parent, name, index),
    }
}

fn column_of(entry: &Entry, instance: Option<InstancePath>, group: u32, wild: bool) -> Column {
    let part = |name: &Option<String>| Part::Name(name.clone().unwrap_or_default());
    let parts = CounterPath {
        machine: entry.machine.as_ref().map(|name| name.trim_start_matches('\\').to_owned()),
        object: part(&entry.object),
        instance,
        counter: part(&entry.counter),
    };
    Column {
        path: parts.to_string(),
        parts: Some(parts),
        counter_type: entry.counter_type,
        scale: entry.scale,
        time_base: Frequency(entry.time_base),
        group,
        wild,
    }
}

/// The path of an entry for messages, and to know it again in another list.
fn entry_path(entry: &Entry) -> String {
    let instance = entry
        .instance
        .as_deref()
        .map(|name| InstancePath::new(entry.parent.as_deref(), name, entry.instance_index));
    column_of(entry, instance, 0, false).path
}
