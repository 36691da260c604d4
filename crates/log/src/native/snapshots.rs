//! Writes snapshots, objects with all their instances, into a native log.

use std::collections::{BTreeSet, HashMap};
use std::io;

use tallymon_core::block::{RawValue, Snapshot, SnapshotInstance, SnapshotObject};
use tallymon_core::counter::{CounterType, Denominator};
use tallymon_core::flow::ValueState;
use tallymon_core::path::InstancePath;
use tallymon_core::time::{FileTime, Frequency, UNITS_PER_SECOND};
use tallymon_core::title::{TitleIndex, Titles};

use super::schema::{Counter, Definition};
use super::write::{InstanceId, NativeWriter, Output, RowTime, TableId};

/// Counters whose values say which of several instances of a name one is: the numbers of its process and thread.
const IDENTITIES: [TitleIndex; 2] = [TitleIndex(784), TitleIndex(804)];

/// Writes snapshots of one or several hosts.
///
/// An instance keeps its column while it lives, also when another one of its name that was there before ends: what is
/// `sleep#3` in the log stays that, where in the blocks it moves up.
#[derive(Debug)]
pub struct SnapshotWriter<W: Output> {
    writer: NativeWriter<W>,
    objects: HashMap<(String, TitleIndex), Object>,
    next_group: u32,
}

/// What is known of an object from its last snapshot.
#[derive(Debug)]
struct Object {
    table: TableId,
    /// What its definition was made from.
    made_of: Vec<(TitleIndex, CounterType, i32)>,
    /// Positions in the block of the counters of the definition.
    positions: Vec<usize>,
    identity: [Option<usize>; 2],
    /// The instances of the last snapshot in their order.
    last: Vec<(Identity, InstanceId)>,
    known: HashMap<Identity, (u32, InstanceId)>,
    /// Numbers behind a name that are in use.
    used: HashMap<(Option<String>, String), BTreeSet<u32>>,
}

/// What tells an instance from others while it lives.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Identity {
    parent: Option<String>,
    name: String,
    numbers: [u64; 2],
    /// How many just the same come before it.
    nth: u32,
}

impl<W: Output> SnapshotWriter<W> {
    /// Writes into this log.
    pub fn new(writer: NativeWriter<W>) -> SnapshotWriter<W> {
        SnapshotWriter { writer, objects: HashMap::new(), next_group: 0 }
    }

    /// Begins a row, which may hold snapshots of several hosts.
    ///
    /// # Errors
    ///
    /// Those of the output, when rows before it are written now. These are lost then, and nothing else is: the row is
    /// begun all the same.
    pub fn row(&mut self, time: RowTime) -> io::Result<()> {
        self.writer.row(time)
    }

    /// Adds the snapshot of a host to the row. `titles` name objects and counters that the log does not have yet;
    /// `window` is from when to when the snapshot was taken.
    ///
    /// # Errors
    ///
    /// Those of the output.
    pub fn snapshot(
        &mut self,
        host: &str,
        snapshot: &Snapshot,
        titles: &Titles,
        window: Option<(FileTime, FileTime)>,
    ) -> io::Result<()> {
        for object in snapshot.objects() {
            self.object(host, &object, titles, window)?;
        }
        Ok(())
    }

    /// Adds one object of a snapshot to the row, see [`SnapshotWriter::snapshot`].
    ///
    /// # Errors
    ///
    /// Those of the output.
    pub fn object(
        &mut self,
        host: &str,
        object: &SnapshotObject<'_>,
        titles: &Titles,
        window: Option<(FileTime, FileTime)>,
    ) -> io::Result<()> {
        let made_of = object
            .counters()
            .iter()
            .map(|counter| (counter.name, counter.counter_type, counter.default_scale));
        let key = (host.to_owned(), object.header().name);
        let known =
            self.objects.remove(&key).filter(|known| made_of.clone().eq(known.made_of.iter().copied()));
        let mut known = match known {
            Some(known) => known,
            None => self.define(host, object, titles, made_of.collect())?,
        };
        if let Some((begin, end)) = window {
            self.writer.window(known.table, begin, end);
        }
        let written = known.write(&mut self.writer, object);
        self.objects.insert(key, known);
        written
    }

    fn define(
        &mut self,
        host: &str,
        object: &SnapshotObject<'_>,
        titles: &Titles,
        made_of: Vec<(TitleIndex, CounterType, i32)>,
    ) -> io::Result<Object> {
        let name = |index: TitleIndex| titles.name(index).map_or_else(|| index.0.to_string(), str::to_owned);
        let header = object.snapshot().header();
        // A base is part of the samples of the counter before it; the states are part of all.
        let positions: Vec<usize> = made_of
            .iter()
            .enumerate()
            .filter(|(_, (_, kind, _))| !kind.is_base() && *kind != CounterType::VALUE_STATUS)
            .map(|(position, _)| position)
            .collect();
        let counters =
            positions.iter().filter_map(|position| made_of.get(*position)).map(|(index, kind, scale)| {
                let group = self.next_group;
                self.next_group = group.saturating_add(1);
                Counter {
                    name: name(*index),
                    counter_type: *kind,
                    scale: *scale,
                    time_base: match kind.denominator() {
                        Denominator::PerfTime | Denominator::BaseAndPerfFrequency => header.perf_freq,
                        Denominator::Time100ns => Frequency(UNITS_PER_SECOND.cast_signed()),
                        Denominator::ObjectTime => object.header().perf_freq,
                        _ => Frequency(0),
                    },
                    group,
                    wild: object.has_instances(),
                }
            });
        let definition = Definition {
            host: host.to_owned(),
            object: name(object.header().name),
            counters: counters.collect(),
        };
        Ok(Object {
            table: self.writer.table(&definition)?,
            made_of,
            positions,
            identity: IDENTITIES.map(|index| object.position(index)),
            last: Vec::new(),
            known: HashMap::new(),
            used: HashMap::new(),
        })
    }

    /// The writer below, to flush it or to ask how long the log is.
    pub const fn writer(&mut self) -> &mut NativeWriter<W> {
        &mut self.writer
    }

    /// The writer below, to seal it.
    pub fn into_inner(self) -> NativeWriter<W> {
        self.writer
    }
}

impl Object {
    fn write<W: Output>(
        &mut self,
        writer: &mut NativeWriter<W>,
        object: &SnapshotObject<'_>,
    ) -> io::Result<()> {
        let mut same: HashMap<Identity, u32> = HashMap::new();
        let mut changed = self.last.len() != object.instances().len();
        for (place, instance) in object.instances().enumerate() {
            let mut identity = self.identify(&instance);
            let known =
                self.last.get(place).filter(|(last, _)| !changed && last.is(&identity)).map(|(_, id)| *id);
            let id = match known {
                Some(known) => known,
                None => {
                    if !changed {
                        // From here on the order is another one; those before are counted too.
                        changed = true;
                        for (last, _) in self.last.iter().take(place) {
                            let plain = Identity { nth: 0, ..last.clone() };
                            let count = same.entry(plain).or_default();
                            *count = count.saturating_add(1);
                        }
                    }
                    self.last.truncate(place);
                    let count = same.entry(identity.clone()).or_default();
                    identity.nth = *count;
                    *count = count.saturating_add(1);
                    let id = self.find(writer, object.has_instances(), &identity)?;
                    self.last.push((identity, id));
                    id
                }
            };
            for (nth, position) in self.positions.iter().enumerate() {
                let is_text = self.made_of.get(*position).is_some_and(|(_, kind, _)| kind.is_text());
                if let Some(text) = is_text.then(|| instance.text(*position)).flatten() {
                    writer.put_text(id, nth, &text);
                    continue;
                }
                let stale = instance.state(*position) == ValueState::Stale;
                writer.put(id, nth, instance.sample(*position), stale);
            }
        }
        if changed {
            self.last.truncate(object.instances().len());
            self.forget();
        }
        Ok(())
    }

    fn identify(&self, instance: &SnapshotInstance<'_>) -> Identity {
        let number = |position: Option<usize>| match position.and_then(|position| instance.raw(position)) {
            Some(RawValue::Number(number)) => number,
            _ => 0,
        };
        let [first, second] = self.identity;
        let first = instance.unique_id().map_or_else(|| number(first), |id| u64::from(id.cast_unsigned()));
        Identity {
            parent: instance.parent_instance().map(|parent| parent.name().to_string_lossy()),
            name: instance.name().to_string_lossy(),
            numbers: [first, number(second)],
            nth: 0,
        }
    }

    /// The instance in the log; a new one takes the lowest number behind its name that is free.
    fn find<W: Output>(
        &mut self,
        writer: &mut NativeWriter<W>,
        named: bool,
        identity: &Identity,
    ) -> io::Result<InstanceId> {
        if let Some((_, id)) = self.known.get(identity) {
            return Ok(*id);
        }
        let used = self.used.entry((identity.parent.clone(), identity.name.clone())).or_default();
        let free = (0..).zip(used.iter()).find(|(free, used)| free != *used).map(|(free, _)| free);
        let index = free.unwrap_or_else(|| u32::try_from(used.len()).unwrap_or(u32::MAX));
        used.insert(index);
        let path = InstancePath::new(identity.parent.as_deref(), &identity.name, index).to_string();
        let id = writer.instance(self.table, named.then_some(&*path))?;
        self.known.insert(identity.clone(), (index, id));
        Ok(id)
    }

    /// Forgets instances that the last snapshot does not have.
    fn forget(&mut self) {
        if self.known.len() == self.last.len() {
            return;
        }
        let last: std::collections::HashSet<&Identity> =
            self.last.iter().map(|(identity, _)| identity).collect();
        let used = &mut self.used;
        self.known.retain(|identity, (index, _)| {
            let lives = last.contains(identity);
            if !lives {
                let name = (identity.parent.clone(), identity.name.clone());
                if let Some(numbers) = used.get_mut(&name) {
                    numbers.remove(index);
                    if numbers.is_empty() {
                        used.remove(&name);
                    }
                }
            }
            lives
        });
    }
}

impl Identity {
    /// Whether two are the same but for how many come before them.
    fn is(&self, other: &Identity) -> bool {
        self.numbers == other.numbers && self.name == other.name && self.parent == other.parent
    }
}
