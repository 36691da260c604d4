//! Decodes the samples of a data record.

use std::collections::HashMap;

use tallymon_core::Error;
use tallymon_core::block::{Snapshot, SnapshotInstance, SnapshotObject};
use tallymon_core::counter::{CounterType, Denominator, TimeBase};
use tallymon_core::flow::{NoValue, Sample};
use tallymon_core::path::{CounterPath, InstancePath, Part};
use tallymon_core::time::{FileTime, Frequency, UNITS_PER_SECOND};
use tallymon_core::title::{TitleIndex, Titles};

use super::columns::{Columns, column_of, entry_path, instance_path};
use super::parts::Pending;
use super::records::{self, Entry, Multi, RawCounter, SubRecord, SubRecords, no_value};
use crate::reader::{About, Column};
use crate::zone::minutes_between;

/// An entry of the counter list, with the layout of its last sub-record.
#[derive(Debug)]
pub(super) struct ReadEntry {
    pub(super) entry: Entry,
    pub(super) id: u32,
    /// The column of a single counter.
    pub(super) column: usize,
    /// The names in the last multi record, each with its column.
    pub(super) items: Vec<(Vec<u8>, usize)>,
    pub(super) object: ObjectCache,
    /// Whether somebody uses its values.
    pub(super) is_used: bool,
}

/// The layout of the last data block of an object: an equal block has the same columns.
#[derive(Debug, Default)]
pub(super) struct ObjectCache {
    counters: Vec<(u32, u32)>,
    instances: Vec<String>,
    /// Positions of the counters that have columns.
    visible: Vec<usize>,
    /// Columns, instance by instance.
    columns: Vec<usize>,
}

/// Decodes one data record.
pub(super) struct Decoder<'d> {
    pub(super) columns: &'d mut Columns,
    pub(super) about: &'d mut About,
    pub(super) titles: &'d Titles,
    pub(super) pending: &'d Pending,
    pub(super) record: u64,
    pub(super) cells: Vec<Result<Sample, NoValue>>,
    /// Only columns are read, not cells.
    pub(super) scanning: bool,
    /// The distance from UTC that a sample showed.
    pub(super) minutes: Option<i32>,
    /// A part of the record could be decoded.
    pub(super) any: bool,
}

impl Decoder<'_> {
    pub(super) fn decode(&mut self, entries: &mut [ReadEntry]) {
        if !self.scanning {
            self.cells.clone_from(&self.columns.blank);
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
            if let Some(snapshot) = self.sub_record(read, next, at) {
                blocks.push((position.saturating_sub(1), snapshot));
            }
        }
        if position < entries.len() {
            let words = format!("the record has {position} of {} values of the counter list", entries.len());
            self.damage(sub_records.offset(), words);
        }
        // Parents are instances of other objects, so all objects are read first.
        for (position, snapshot) in &blocks {
            if let Some(read) = entries.get_mut(*position) {
                self.object(read, snapshot, &blocks);
            }
        }
    }

    /// Decodes one sub-record; a data block is returned, because its parents may follow in other sub-records.
    fn sub_record(
        &mut self,
        read: &mut ReadEntry,
        found: Result<SubRecord<'_>, (usize, Error)>,
        at: usize,
    ) -> Option<Snapshot> {
        let (at, words) = match found {
            Ok(SubRecord::Single(raw)) if !read.entry.is_wildcard() && !read.entry.is_object() => {
                self.single(read, raw);
                return None;
            }
            Ok(SubRecord::Multi(multi)) if read.entry.is_wildcard() => {
                self.multi(read, multi, at);
                return None;
            }
            Ok(SubRecord::Object(bytes)) if read.entry.is_object() => match Snapshot::new(bytes.to_vec()) {
                Ok(snapshot) => return Some(snapshot),
                Err(error) => {
                    let words = format!("the data block of {} is damaged: {error}", entry_path(&read.entry));
                    (at.saturating_add(8).saturating_add(error.at), words)
                }
            },
            Ok(SubRecord::Unknown(sub_type)) => {
                let path = entry_path(&read.entry);
                (at, format!("a value of the unknown sub-type {sub_type:#04x} of {path} was skipped"))
            }
            Ok(_) => {
                let path = entry_path(&read.entry);
                (at, format!("the value of {path} is of another kind than the counter list says"))
            }
            Err((at, error)) => {
                (at, format!("the values from {} on are lost: {error}", entry_path(&read.entry)))
            }
        };
        self.damage(at, words);
        None
    }

    fn single(&mut self, read: &ReadEntry, raw: RawCounter) {
        self.any = true;
        if self.scanning || !read.is_used {
            self.evidence(&read.entry, raw);
            return;
        }
        let sample = self.sample(&read.entry, raw);
        self.about.took(read.column, bits(records::SINGLE_SIZE));
        if let Some(cell) = self.cells.get_mut(read.column) {
            *cell = sample;
        }
    }

    fn multi(&mut self, read: &mut ReadEntry, multi: Multi<'_>, at: usize) {
        self.any = true;
        if let Some(reason) = no_value(multi.status) {
            // The group has no instances then; its earlier columns get the reason.
            let group = self.columns.group(read.id, 0);
            for column in self.columns.members.get(&group).into_iter().flatten() {
                if let Some(cell) = self.cells.get_mut(*column) {
                    *cell = Err(reason);
                }
            }
            return;
        }
        let is_skipped = self.scanning || !read.is_used;
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
                        // Count the names so far for the numbers of the following instances.
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
                    // Our own writer numbers the names, so they are already spelled as in a path.
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
            if is_skipped {
                self.evidence(&read.entry, raw);
                continue;
            }
            // Each record has the name, with an end of two bytes.
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

    /// The distance from UTC that a raw counter shows.
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

    /// The sample of a raw counter, with local time.
    fn sample(&mut self, entry: &Entry, raw: RawCounter) -> Result<Sample, NoValue> {
        if let Some(reason) = no_value(raw.status) {
            return Err(reason);
        }
        self.evidence(entry, raw);
        let counter_type = entry.counter_type;
        let second = raw.second.cast_unsigned();
        let mut frequency = Frequency(entry.time_base);
        // If the object's own clock shows the time of day, it counts units of 100 ns.
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
            // Windows' collector writes no multi count into multi records.
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
        if self.scanning {
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

    /// Finds the columns of an object whose instances or counters differ from the record before.
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
        // Some providers have two counters with one name: they are two columns.
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
                        live: None,
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

/// The name of an instance with the name of its parent, if the record has the parent.
fn instance_name(instance: &SnapshotInstance<'_>, blocks: &[(usize, Snapshot)]) -> String {
    let name = instance.name().to_string_lossy();
    let name = match instance.unique_id() {
        // A counter or object without a name gets its number.
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

/// The number of bits in some bytes.
const fn bits(bytes: usize) -> u64 {
    (bytes as u64).saturating_mul(8)
}

fn wide(bytes: &[u8]) -> String {
    use tallymon_core::text::{ByteOrder, WideStr};
    WideStr::new(bytes, ByteOrder::Little).to_string_lossy()
}
