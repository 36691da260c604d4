//! Writes snapshots into a native log: objects with all their instances.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;
use std::sync::Arc;

use tallymon_core::block::{RawValue, Snapshot, SnapshotInstance, SnapshotObject};
use tallymon_core::counter::{CounterType, Denominator};
use tallymon_core::flow::ValueState;
use tallymon_core::path::{InstancePath, InstancePattern};
use tallymon_core::time::{FileTime, Frequency, UNITS_PER_SECOND};
use tallymon_core::title::{TitleIndex, Titles};

use crate::processes::with_process_id;

use super::output::Output;
use super::schema::{Counter, Definition, Instance, Listed};
use super::write::{InstanceId, NativeWriter, RowTime, TableId};

/// Counters that identify an instance among those of the same name: process id, thread id, and Elapsed Time,
/// whose raw value is the start time. A process id alone may be that of a later process.
const IDENTITIES: [TitleIndex; 3] = [TitleIndex(784), TitleIndex(804), TitleIndex(684)];

/// Writes snapshots of one or several hosts.
///
/// An instance keeps its column while it lives, also when an earlier instance of the same name ends:
/// `sleep#3` stays `sleep#3` in the log, although its number in the data blocks decreases.
#[derive(Debug)]
pub struct SnapshotWriter<W: Output> {
    writer: NativeWriter<W>,
    choice: HashMap<TitleIndex, Vec<Chosen>>,
    /// What is selected of hosts that have a choice of their own.
    choices: HashMap<String, HashMap<TitleIndex, Vec<Chosen>>>,
    objects: HashMap<(String, TitleIndex), Object>,
    next_group: u32,
    /// Process ids are in the names of processes.
    has_process_ids: bool,
    /// Rows so far.
    rows: u64,
}

/// The part of an object that a path selects: some counters of some instances.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chosen {
    /// The counters.
    pub counters: Vec<TitleIndex>,
    /// The group of the columns of the first counter; those of the other counters have the groups after it,
    /// see [`Column::group`](crate::reader::Column::group). Paths number them in their order, so that a table
    /// of the log has the columns in the order of the paths. A column of several paths belongs to the first.
    pub group: u32,
    /// The instances; `None` for an object without instances.
    pub instance: Option<InstancePath>,
}

/// The selected counters of an object, as positions with their groups, and their instances.
type ChosenPositions = (Vec<(usize, u32)>, Option<InstancePattern>);

/// The state of an object after its last snapshot.
#[derive(Debug)]
struct Object {
    table: TableId,
    /// The counters that its definition was built from.
    made_of: Vec<(TitleIndex, CounterType, i32)>,
    /// Positions in the block of the counters of the definition.
    positions: Vec<usize>,
    /// Groups of the counters of the definition.
    groups: Vec<u32>,
    identity: [Option<usize>; 3],
    /// Process ids are in the names of its processes.
    has_process_ids: bool,
    /// It has text counters.
    has_texts: bool,
    /// The selected counters, as positions in `positions`, with their groups, and their instances. An empty
    /// list selects everything.
    choice: Vec<ChosenPositions>,
    /// Its last row, and the epoch of the writer in that row.
    written: (u64, u64),
    /// The instances of the last snapshot in their order.
    last: Vec<(Identity, Option<InstanceColumns>)>,
    known: HashMap<Identity, (u32, Option<InstanceColumns>)>,
    /// The instance numbers in use for each name.
    used: HashMap<(Option<String>, String), BTreeSet<u32>>,
}

/// The columns of an instance in the log.
#[derive(Debug, Clone)]
struct InstanceColumns {
    id: InstanceId,
    /// Its columns as positions in `positions`; `None` means all.
    columns: Option<Arc<[usize]>>,
}

/// What identifies an instance while it lives.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Identity {
    parent: Option<String>,
    name: String,
    numbers: [u64; 3],
    /// How many equal instances come before it.
    nth: u32,
}

impl<W: Output> SnapshotWriter<W> {
    /// Writes into this log.
    pub fn new(writer: NativeWriter<W>) -> SnapshotWriter<W> {
        SnapshotWriter {
            writer,
            choice: HashMap::new(),
            choices: HashMap::new(),
            objects: HashMap::new(),
            next_group: 0,
            has_process_ids: false,
            rows: 0,
        }
    }

    /// Whether processes are named with their ids from the next row on, as in `name_1234`.
    pub fn name_processes_with_ids(&mut self, has_process_ids: bool) {
        if std::mem::replace(&mut self.has_process_ids, has_process_ids) != has_process_ids {
            self.objects.clear();
        }
    }

    /// Selects what is written from the next row on: these parts of these objects, and no other objects.
    /// Without any object everything is written.
    pub fn choose(&mut self, choice: HashMap<TitleIndex, Vec<Chosen>>) {
        self.choice = choice;
        self.objects.clear();
    }

    /// As [`SnapshotWriter::choose`], for one host: the indexes of its objects are its own.
    pub fn choose_of(&mut self, host: &str, choice: HashMap<TitleIndex, Vec<Chosen>>) {
        self.choices.insert(host.to_owned(), choice);
        self.objects.retain(|(known, _), _| known != host);
    }

    fn choice_of(&self, host: &str) -> &HashMap<TitleIndex, Vec<Chosen>> {
        self.choices.get(host).unwrap_or(&self.choice)
    }

    /// Begins a row, which may hold snapshots of several hosts.
    ///
    /// # Errors
    ///
    /// Errors of the output while writing earlier rows. Only those rows are lost; the new row is begun.
    pub fn row(&mut self, time: RowTime) -> io::Result<()> {
        self.rows = self.rows.saturating_add(1);
        self.writer.row(time)
    }

    /// Adds the snapshot of a host to the row. `titles` names objects and counters that are new in the log.
    /// `window` is when the snapshot was taken, from begin to end, for objects that do not have a window of
    /// their own.
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
        let choice = self.choice_of(host);
        if !choice.is_empty() && !choice.contains_key(&object.header().name) {
            return Ok(());
        }
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
        let epoch = self.writer.epoch();
        let (last, last_epoch) = std::mem::replace(&mut known.written, (self.rows, epoch));
        if last.saturating_add(1) < self.rows && last_epoch != epoch {
            // The object was missing when a new epoch began, so the writer forgot its instances.
            known.last.clear();
            known.known.clear();
            known.used.clear();
        }
        let read = object.window().map(|window| (window.begin, window.end));
        if let Some((begin, end)) = read.or(window) {
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
        let chosen = self.choice_of(host).get(&object.header().name).map_or(&[][..], Vec::as_slice);
        let is_chosen = |index: &TitleIndex| {
            chosen.is_empty() || chosen.iter().any(|chosen| chosen.counters.contains(index))
        };
        // A base belongs to the samples of the counter before it; the states belong to all.
        let positions: Vec<usize> = made_of
            .iter()
            .enumerate()
            .filter(|(_, (_, kind, _))| !kind.is_base() && *kind != CounterType::VALUE_STATUS)
            .filter(|(_, (index, _, _))| is_chosen(index))
            .map(|(position, _)| position)
            .collect();
        let choice: Vec<ChosenPositions> =
            chosen.iter().map(|chosen| chosen.of_positions(&positions, &made_of)).collect();
        let counters =
            positions.iter().filter_map(|position| made_of.get(*position)).enumerate().map(|(nth, of)| {
                let (index, kind, scale) = of;
                let of_paths = choice.iter().flat_map(|(counters, _)| counters);
                let of_path = of_paths.filter(|(counter, _)| *counter == nth).map(|(_, group)| *group).min();
                let group = of_path.unwrap_or(self.next_group);
                self.next_group = self.next_group.saturating_add(1);
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
            groups: definition.counters.iter().map(|counter| counter.group).collect(),
            made_of,
            positions,
            has_texts: definition.counters.iter().any(|counter| counter.counter_type.is_text()),
            identity: IDENTITIES.map(|index| object.position(index)),
            has_process_ids: self.has_process_ids,
            choice,
            written: (self.rows, self.writer.epoch()),
            last: Vec::new(),
            known: HashMap::new(),
            used: HashMap::new(),
        })
    }

    /// The writer below, to flush it or get the length of the log.
    pub const fn writer(&mut self) -> &mut NativeWriter<W> {
        &mut self.writer
    }

    /// The writer below, to seal it.
    pub fn into_inner(self) -> NativeWriter<W> {
        self.writer
    }
}

impl Chosen {
    /// Its counters as positions in `positions`, with their groups, and its instances.
    fn of_positions(
        &self,
        positions: &[usize],
        made_of: &[(TitleIndex, CounterType, i32)],
    ) -> (Vec<(usize, u32)>, Option<InstancePattern>) {
        let group_of = |position: &usize| {
            let (index, _, _) = made_of.get(*position)?;
            let nth = self.counters.iter().position(|counter| counter == index)?;
            Some(self.group.saturating_add(u32::try_from(nth).ok()?))
        };
        let counters = positions.iter().enumerate();
        let counters = counters.filter_map(|(nth, position)| Some((nth, group_of(position)?))).collect();
        (counters, self.instance.as_ref().map(InstancePath::pattern))
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
            let known = self.last.get(place).filter(|(last, _)| !changed && last.is(&identity));
            let known = known.map(|(_, place)| place.clone());
            let place = match known {
                Some(known) => known,
                None => {
                    if !changed {
                        // The order changed here; count the instances before it too.
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
                    let place = self.find(writer, object.has_instances(), &identity)?;
                    self.last.push((identity, place.clone()));
                    place
                }
            };
            if let Some(place) = place {
                self.put(writer, &place, &instance);
            }
        }
        if changed {
            self.last.truncate(object.instances().len());
            self.forget();
        }
        Ok(())
    }

    /// Puts the values of an instance into the row.
    fn put<W: Output>(
        &self,
        writer: &mut NativeWriter<W>,
        place: &InstanceColumns,
        instance: &SnapshotInstance<'_>,
    ) {
        let value = |position: usize| (instance.sample(position), instance.state(position));
        let InstanceColumns { id, columns } = place;
        if columns.is_none() && !self.has_texts {
            writer.put_all(*id, self.positions.iter().map(|position| value(*position)));
            return;
        }
        let count = columns.as_ref().map_or(self.positions.len(), |columns| columns.len());
        for nth in 0..count {
            let position = columns.as_ref().map_or(Some(nth), |columns| columns.get(nth).copied());
            let Some(position) = position.and_then(|nth| self.positions.get(nth)) else { continue };
            let (value, state) = value(*position);
            // A text that is absent has a reason, as a number has.
            let is_text = self.made_of.get(*position).is_some_and(|(_, kind, _)| kind.is_text())
                && !matches!(state, ValueState::Absent(_));
            if let Some(text) = is_text.then(|| instance.text(*position)).flatten() {
                writer.put_text(*id, nth, &text);
                continue;
            }
            writer.put(*id, nth, value, state);
        }
    }

    fn identify(&self, instance: &SnapshotInstance<'_>) -> Identity {
        let number = |position: Option<usize>| match position.and_then(|position| instance.raw(position)) {
            Some(RawValue::Number(number)) => number,
            _ => 0,
        };
        let [process, thread, start] = self.identity;
        let mut parent = instance.parent_instance().map(|parent| parent.name().to_string_lossy());
        let mut name = instance.name().to_string_lossy();
        let id = number(process);
        if self.has_process_ids && id != 0 {
            // A thread has the id of the process that is its parent.
            let owner = if thread.is_some() { parent.as_mut() } else { Some(&mut name) };
            if let Some(owner) = owner {
                *owner = with_process_id(owner, id);
            }
        }
        let first = instance.unique_id().map_or(id, |id| u64::from(id.cast_unsigned()));
        Identity { parent, name, numbers: [first, number(thread), number(start)], nth: 0 }
    }

    /// Finds the instance in the log. A new one gets the lowest free number of its name.
    fn find<W: Output>(
        &mut self,
        writer: &mut NativeWriter<W>,
        named: bool,
        identity: &Identity,
    ) -> io::Result<Option<InstanceColumns>> {
        if let Some((_, place)) = self.known.get(identity) {
            return Ok(place.clone());
        }
        let used = self.used.entry((identity.parent.clone(), identity.name.clone())).or_default();
        let free = (0..).zip(used.iter()).find(|(free, used)| free != *used).map(|(free, _)| free);
        let index = free.unwrap_or_else(|| u32::try_from(used.len()).unwrap_or(u32::MAX));
        used.insert(index);
        let path = InstancePath::new(identity.parent.as_deref(), &identity.name, index).to_string();
        let place = match self.columns(named, identity, index) {
            None => {
                let id = writer.instance(self.table, named.then_some(&*path))?;
                Some(InstanceColumns { id, columns: None })
            }
            Some(columns) if columns.is_empty() => None,
            Some(columns) => {
                let listed = columns.iter().map(|(counter, group)| Listed {
                    counter: *counter,
                    group: *group,
                    path: None,
                    bare: false,
                });
                let instance = Instance { text: named.then_some(path), columns: Some(listed.collect()) };
                let id = writer.instance_with(self.table, instance, 0)?;
                let columns: Vec<usize> = columns.into_iter().map(|(counter, _)| counter).collect();
                Some(InstanceColumns { id, columns: Some(columns.into()) })
            }
        };
        self.known.insert(identity.clone(), (index, place.clone()));
        Ok(place)
    }

    /// The selected columns of an instance, as positions in `positions` with their groups; `None` means all,
    /// with the groups of the definition.
    fn columns(&self, named: bool, identity: &Identity, index: u32) -> Option<Vec<(usize, u32)>> {
        if self.choice.is_empty() {
            return None;
        }
        let meant = self.choice.iter().filter(|(_, pattern)| match pattern {
            Some(pattern) => {
                pattern.matches(identity.parent.as_deref(), &identity.name) && pattern.matches_index(index)
            }
            None => !named,
        });
        let mut columns: BTreeMap<usize, u32> = BTreeMap::new();
        for (counter, group) in meant.flat_map(|(counters, _)| counters) {
            let first = columns.entry(*counter).or_insert(*group);
            *first = (*first).min(*group);
        }
        let is_plain = columns.len() == self.positions.len() && columns.values().eq(&self.groups);
        (!is_plain).then(|| columns.into_iter().collect())
    }

    /// Forgets instances that are not in the last snapshot.
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
    /// Whether two identities are equal apart from `nth`.
    fn is(&self, other: &Identity) -> bool {
        self.numbers == other.numbers && self.name == other.name && self.parent == other.parent
    }
}
