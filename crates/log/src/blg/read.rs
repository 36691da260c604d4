//! Reads a BLG event by event: counter lists, records, names and the catalogue.

use std::collections::HashMap;
use std::io::{Read, Seek, SeekFrom};
use std::ops::ControlFlow;

use tallymon_core::flow::{NoValue, Sample};
use tallymon_core::time::FileTime;
use tallymon_core::title::{TitleIndex, Titles};

use super::catalogue::{self, Catalogue};
use super::columns::{Columns, column_of, entry_path, instance_path};
use super::container::{Container, Event, FileHeader, SeekFn};
use super::decode::{Decoder, ObjectCache, ReadEntry};
use super::parts::Pending;
use super::records::{self, Entry, kind};
use crate::error::LogError;
use crate::format::Format;
use crate::options::{ReadOptions, UsedCounters};
use crate::reader::{About, LogReader, Record, RecordPosition, ScannedRecord};
use crate::zone::{Zone, add_minutes};

/// A longer record is damage: records of the largest machines have a few megabytes.
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
    /// The memory of the last record, for the next one.
    spare: Option<Pending>,
    /// The cells of a record that nobody needs any more.
    free: Vec<Result<Sample, NoValue>>,
    /// The record that was read when the log was opened.
    ahead: Option<Record>,
    /// Records decoded so far, including the one that is read ahead.
    decoded: u64,
    /// The last distance from UTC that a record showed.
    minutes: Option<i32>,
    /// The distance from UTC that the caller set.
    fixed_minutes: Option<i32>,
    /// The bytes of the last record.
    raw: Vec<u8>,
    /// The byte of the current list, and the other lists by their bytes.
    list_byte: u64,
    lists: HashMap<u64, Vec<ReadEntry>>,
    /// The position of the last record.
    place: Option<RecordPosition>,
    /// Only times, positions and columns are read.
    scanning: bool,
    /// A counter list was searched in the whole file.
    is_searched: bool,
    /// The counters whose values are decoded, if not all are.
    used: Option<UsedCounters>,
}

impl<R: Read + Seek> BlgReader<R> {
    /// As [`BlgReader::new`], for an input that can seek to any record.
    ///
    /// # Errors
    ///
    /// As [`BlgReader::new`].
    pub fn seekable(input: R, options: &ReadOptions) -> Result<BlgReader<R>, LogError> {
        BlgReader::with_seek(input, Some(|input, byte| input.seek(SeekFrom::Start(byte)).map(drop)), options)
    }
}

impl<R: Read> BlgReader<R> {
    /// Reads the header, the counter list and the first record.
    ///
    /// # Errors
    ///
    /// Only errors of the operating system. A log without anything usable has no columns, and its damage is
    /// in the notes.
    pub fn new(input: R, options: &ReadOptions) -> Result<BlgReader<R>, LogError> {
        BlgReader::with_seek(input, None, options)
    }

    fn with_seek(input: R, seek: Option<SeekFn<R>>, options: &ReadOptions) -> Result<BlgReader<R>, LogError> {
        let mut about = About::new(Format::Blg);
        let container = Container::new(input, seek, &mut about.notes)?;
        about.zone = match (&container.header, options.bias) {
            (_, Some(bias)) => Zone::Fixed { name: String::new(), bias },
            // A zone without a name and without a distance is what was not known when the log was written.
            (Some(header), None) if header.zone.is_nameless() => Zone::Unknown,
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
            spare: None,
            free: Vec::new(),
            ahead: None,
            decoded: 0,
            minutes: None,
            fixed_minutes: options.bias.map(i32::saturating_neg),
            raw: Vec::new(),
            list_byte: 0,
            lists: HashMap::new(),
            place: None,
            scanning: false,
            is_searched: false,
            used: options.used.clone().filter(|_| options.names.is_none()),
        };
        reader.ahead = reader.read_record()?;
        Ok(reader)
    }

    /// The header of the file; `None` if it is damaged.
    pub const fn header(&self) -> Option<&FileHeader> {
        self.container.header.as_ref()
    }

    /// The catalogue, once it was read: it is at the end of logs of whole objects.
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
                let Some(mut pending) = self.pending.take() else {
                    return Ok(None);
                };
                let words = "the log ends before the last part of the record".to_owned();
                self.damage(&pending, pending.body.len(), words);
                return Ok(self.take_record(&mut pending));
            };
            if self.entries.is_empty() && event.kind == kind::DATA && self.find_list(&event)? {
                continue;
            }
            if let Some(record) = self.take_event(event) {
                return Ok(Some(record));
            }
        }
    }

    /// Looks for a counter list in the whole file, once, for records that come before it: in a circular log
    /// it is where the writer began. Returns whether to read the event again.
    fn find_list(&mut self, event: &Event) -> Result<bool, LogError> {
        if self.is_searched || !self.container.can_seek() {
            return Ok(false);
        }
        self.is_searched = true;
        // The faults on the way are noted when their buffers are read.
        let mut notes = self.about.notes.clone();
        let order = self.container.begin_in_file_order()?;
        while self.entries.is_empty() {
            let Some(found) = self.container.next_event(&mut self.about.notes, 1)? else { break };
            if found.kind == kind::LIST || found.kind == kind::NAMES {
                self.take_event(found);
            } else {
                self.pending = None;
            }
        }
        self.pending = None;
        if !self.entries.is_empty() {
            notes.remark("the counter list comes after the first records; it was read before them");
        }
        self.about.notes = notes;
        self.container.resume(order, event.byte, &mut self.about.notes)?;
        Ok(true)
    }

    /// Reads one event. Returns a record when one is complete.
    fn take_event(&mut self, event: Event) -> Option<Record> {
        // A first part or a whole record, although parts of another record are still missing.
        let broken = match &self.pending {
            Some(pending) => event.part != pending.next_part || event.parts != pending.event.parts,
            None => event.part != 1,
        };
        let lost = if broken { self.pending.take() } else { None };
        if let Some(lost) = &lost {
            let words = format!("part {} of {} of the record is missing", lost.next_part, lost.event.parts);
            self.damage(lost, lost.body.len(), words);
        }
        let record = lost.and_then(|mut lost| self.take_record(&mut lost));
        let mut pending = match self.pending.take() {
            Some(pending) => pending,
            None => self.spare.take().map_or_else(|| Pending::new(event), |spare| spare.again(event)),
        };
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
        let this = self.take_record(&mut pending);
        // A record lost its end and another one follows. The new one is whole; the old one is reported as
        // lost only if both have content.
        if record.is_some() && this.is_some() {
            self.damage(&pending, 0, "the incomplete record before this one was left out".to_owned());
            self.decoded = self.decoded.saturating_sub(1);
        }
        self.spare = Some(pending);
        this.or(record)
    }

    /// Reads the content of one event, or of all parts together. Returns the record if it is one.
    fn take_record(&mut self, pending: &mut Pending) -> Option<Record> {
        let stated = pending.event.kind;
        // The first bytes of the content are more reliable than the kind in the event header.
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
                if record.is_some() && !self.scanning {
                    std::mem::swap(&mut self.raw, &mut pending.body);
                }
                return record;
            }
            kind::LIST => self.list(pending),
            kind::NAMES => {
                catalogue::names(&pending.body, |index, name| {
                    self.titles.insert_name(TitleIndex(index), name)
                });
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
        // Programs that append to a log begin with a list again. Its counters keep their columns.
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
            let is_used = match (&self.used, &entry.object, &entry.counter) {
                (Some(used), Some(object), Some(counter)) => used.has(object, counter),
                _ => true,
            };
            let mut read = ReadEntry {
                entry,
                id,
                column: 0,
                items: Vec::new(),
                object: ObjectCache::default(),
                is_used,
            };
            if !read.entry.is_wildcard() && !read.entry.is_object() {
                let instance =
                    read.entry.instance.as_deref().map(|name| {
                        instance_path(read.entry.parent.as_deref(), name, read.entry.instance_index)
                    });
                let group = self.columns.group(id, 0);
                let column = || column_of(&read.entry, instance, group, false);
                read.column = self.columns.column(&mut self.about.columns, group, "", true, column);
            } else if read.entry.is_wildcard() {
                // Groups are numbered in the order of the list, not of their first instances.
                self.columns.group(id, 0);
            }
            self.entries.push(read);
        }
    }

    /// Selects an earlier list; `false` if there is none at this byte.
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
            Err(error) => self.damage(pending, error.at, format!("the catalogue cannot be read: {error}")),
        }
    }

    /// Decodes one data record; `None` if nothing in it is usable.
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
            cells: if self.scanning { Vec::new() } else { std::mem::take(&mut self.free) },
            scanning: self.scanning,
            minutes: None,
            any: false,
        };
        decoder.decode(&mut entries);
        let Decoder { mut cells, minutes, any, .. } = decoder;
        self.entries = entries;
        if !any {
            return None;
        }
        self.place = Some(RecordPosition {
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

    /// The distance from UTC for a record without any UTC time: from the rules of the zone, unless earlier
    /// records showed that the rules are wrong.
    fn minutes_without_evidence(&mut self, local: FileTime) -> i32 {
        let by_rules = self.about.zone.minutes_at_local(local);
        match (self.minutes, &self.about.zone) {
            // The rules were right so far if the distance of the last record is one of theirs.
            (Some(minutes), Zone::Rules(rules)) => {
                let biases = [rules.standard_bias, rules.daylight_bias]
                    .map(|extra| rules.bias.saturating_add(extra).saturating_neg());
                if biases.contains(&minutes) { by_rules } else { minutes }
            }
            (Some(minutes), _) => minutes,
            // The distance was guessed when the log was written.
            (None, Zone::Unknown) => {
                self.container.header.as_ref().map_or(by_rules, |header| header.zone.bias.saturating_neg())
            }
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

    fn scan(&mut self, each: &mut dyn FnMut(ScannedRecord) -> ControlFlow<()>) -> Result<(), LogError> {
        loop {
            let record = match self.ahead.take() {
                Some(record) => Some((record.cells.len(), record)),
                None => {
                    self.scanning = true;
                    let record = self.read_record();
                    self.scanning = false;
                    record?.map(|record| (self.about.columns.len(), record))
                }
            };
            let Some((columns, Record { time, local_minutes, .. })) = record else { return Ok(()) };
            self.about.records = self.about.records.saturating_add(1);
            if each(ScannedRecord { time, local_minutes, columns, position: self.position() }).is_break() {
                return Ok(());
            }
        }
    }

    fn reuse(&mut self, record: Record) {
        self.free = record.cells;
    }

    fn raw_record(&self) -> Option<&[u8]> {
        Some(self.raw.as_slice()).filter(|raw| !raw.is_empty())
    }

    fn position(&self) -> Option<RecordPosition> {
        self.place.filter(|_| self.container.can_seek() && self.ahead.is_none())
    }

    fn seek_to(&mut self, place: RecordPosition) -> Result<bool, LogError> {
        if !self.container.can_seek() {
            return Ok(false);
        }
        if place.list != self.list_byte && !self.choose_list(place.list) {
            return Ok(false);
        }
        self.ahead = None;
        self.pending = None;
        self.decoded = place.records;
        self.minutes = place.minutes;
        let record = place.records.saturating_add(1);
        self.container.seek_to(place.byte, &mut self.about.notes, record)?;
        Ok(true)
    }
}
