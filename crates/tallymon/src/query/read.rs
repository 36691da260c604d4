//! What a query found: every value, borrowed and without a text made for it, or as readings that can be kept.

use tallymon_core::block::{CounterDefinition, SnapshotInstance, SnapshotObject};
use tallymon_core::counter::{self, Format, Scale};
use tallymon_core::flow::{Cell, NoValue, Sample, Value, ValueState};
use tallymon_core::path::InstancePath;
use tallymon_core::title::TitleIndex;

use super::{CounterHandle, Entry, Query};
use crate::catalog::CatalogObject;
use crate::matching::{self, InstanceIdentity, InstanceKey, Instances, Pairs};
use crate::names::Names;
use crate::precision::Precision;

/// One counter of one instance at the last collection, see [`Query::for_each`].
#[derive(Debug, Clone)]
pub struct CounterValue<'q> {
    /// The path that it belongs to.
    pub handle: CounterHandle,
    /// Object.
    pub object: TitleIndex,
    /// The counter's definition.
    pub definition: &'q CounterDefinition,
    /// Instance; `None` for an object without instances and for a path that matched none.
    pub instance: Option<&'q InstanceKey>,
    /// Who that instance is, whatever number its name has now; `None` where its object does not tell.
    pub identity: Option<InstanceIdentity>,
    /// What was read, and what it means.
    pub cell: Cell,
    /// The sample before, of the same instance.
    pub older: Option<Sample>,
    /// How exact the two samples are; `None` where their source does not say.
    pub precision: Option<Precision>,
}

/// One counter of one instance at the last collection, with its path.
#[derive(Debug, Clone)]
pub struct Reading {
    /// The path that it belongs to.
    pub handle: CounterHandle,
    /// Its full path in English, without host and wildcards.
    pub path: String,
    /// Object.
    pub object: TitleIndex,
    /// Counter.
    pub counter: TitleIndex,
    /// Instance; `None` for an object without instances and for a path that matched none.
    pub instance: Option<InstanceKey>,
    /// Who that instance is, whatever number its name has now; `None` where its object does not tell.
    pub identity: Option<InstanceIdentity>,
    /// The counter's definition.
    pub definition: CounterDefinition,
    /// What was read, and what it means.
    pub cell: Cell,
    /// The sample before, of the same instance.
    pub older: Option<Sample>,
    /// How exact the two samples are; `None` where their source does not say.
    pub precision: Option<Precision>,
}

impl Reading {
    /// How far the value may be off to either side; `None` where that is not known, and for values that are exact.
    pub fn error(&self) -> Option<f64> {
        self.precision?.error(self.older.as_ref()?, self.cell.sample.as_ref()?)
    }

    /// Its full path in the user's language, for people to read; scripts take [`Reading::path`].
    pub fn local_path(&self, names: &Names) -> String {
        // What stands in the parentheses is the same in every language, also where it names no instance.
        let behind = self.path.strip_prefix('\\').unwrap_or(&self.path);
        let behind = behind.strip_prefix(names.english(self.object).as_str()).unwrap_or(behind);
        let object = names.name(self.object);
        match behind.strip_suffix(names.english(self.counter).as_str()) {
            Some(instance) => format!("\\{object}{instance}{}", names.name(self.counter)),
            // A counter that its name does not tell stands there by its number.
            None => format!("\\{object}{behind}"),
        }
    }
}

/// An object in the last two snapshots, as all paths of it need it.
struct ReadObject<'q> {
    name: TitleIndex,
    catalog: &'q CatalogObject,
    newer: Option<SnapshotObject<'q>>,
    older: Option<SnapshotObject<'q>>,
    instances: Option<&'q Instances>,
    pairs: Pairs,
}

/// A counter in the last two snapshots.
#[derive(Clone, Copy)]
struct ReadCounter<'q> {
    object: TitleIndex,
    definition: &'q CounterDefinition,
    newer: Option<usize>,
    older: Option<usize>,
}

impl Query {
    /// Everything that the last collection found, in the order of the paths, and of the instances in the block. Nothing
    /// is allocated for a value that is a number.
    ///
    /// A path that matches nothing now has one value that says so, unless it has a wildcard.
    pub fn for_each<'q>(&'q self, mut act: impl FnMut(CounterValue<'q>)) {
        let mut objects: Vec<ReadObject<'q>> = Vec::new();
        let mut at = 0;
        let mut last: Option<ReadCounter<'q>> = None;
        for (handle, entry) in &self.entries {
            // Paths of one object mostly follow each other.
            if objects.get(at).is_none_or(|object| object.name != entry.object) {
                at = match objects.iter().position(|object| object.name == entry.object) {
                    Some(at) => at,
                    None => {
                        let Some(object) = self.read_object(entry.object) else { continue };
                        objects.push(object);
                        objects.len().saturating_sub(1)
                    }
                };
            }
            if let Some(object) = objects.get(at) {
                self.read_entry(*handle, entry, object, &mut last, &mut act);
            }
        }
    }

    /// Everything that the last collection found, with paths: what [`Query::for_each`] gives, to be kept.
    pub fn readings(&self) -> Vec<Reading> {
        let mut readings = Vec::new();
        let mut paths = Paths { query: self, of: None, start: String::new(), counter: String::new() };
        self.for_each(|value| readings.push(paths.reading(value)));
        readings
    }

    /// What the last collection found for one path.
    pub fn readings_of(&self, handle: CounterHandle) -> Vec<Reading> {
        let mut readings = Vec::new();
        let mut paths = Paths { query: self, of: None, start: String::new(), counter: String::new() };
        if let Some(entry) = self.entries.get(&handle)
            && let Some(object) = self.read_object(entry.object)
        {
            self.read_entry(handle, entry, &object, &mut None, &mut |value| {
                readings.push(paths.reading(value))
            });
        }
        readings
    }

    fn read_object(&self, name: TitleIndex) -> Option<ReadObject<'_>> {
        let catalog = self.catalog.object(name)?;
        let newer = self.newer.as_ref().and_then(|taken| taken.snapshot.object(name));
        let older = self.older.as_ref().and_then(|taken| taken.snapshot.object(name));
        let instances = self.newer.as_ref().and_then(|taken| taken.instances.get(&name));
        let before = self.older.as_ref().and_then(|taken| taken.instances.get(&name));
        let pairs = match (older.is_some() && newer.is_some(), before, instances) {
            (true, Some(before), Some(instances)) => matching::pair(before, instances, self.matching),
            (true, None, None) => Pairs::Same,
            _ => Pairs::None,
        };
        Some(ReadObject { name, catalog, newer, older, instances, pairs })
    }

    fn read_entry<'q>(
        &'q self,
        handle: CounterHandle,
        entry: &'q Entry,
        object: &ReadObject<'q>,
        last: &mut Option<ReadCounter<'q>>,
        act: &mut impl FnMut(CounterValue<'q>),
    ) {
        let format = Format { scale: entry.scale.map_or(self.format.scale, Scale::Power), ..self.format };
        for name in &entry.counters {
            let is_known =
                |known: &ReadCounter<'_>| known.object == object.name && known.definition.name == *name;
            let counter = match last.filter(is_known) {
                Some(known) => known,
                None => {
                    let Some(definition) = object.catalog.counter(*name) else { continue };
                    let position = |snapshot: Option<SnapshotObject<'q>>| {
                        snapshot.and_then(|snapshot| snapshot.position(*name))
                    };
                    let (newer, older) = (position(object.newer), position(object.older));
                    *last.insert(ReadCounter { object: object.name, definition, newer, older })
                }
            };
            let precision = precision(object, counter, format);
            let nothing = |why| CounterValue {
                handle,
                object: object.name,
                definition: counter.definition,
                instance: None,
                identity: None,
                cell: no_value(why),
                older: None,
                precision: None,
            };
            let Some(newer) = object.newer else {
                act(nothing(NoValue::NoObject));
                continue;
            };
            let mut read = |position: usize| {
                let before = object.pairs.before(position);
                let older =
                    before.and_then(|before| object.older?.instance(before)?.sample(counter.older?).ok());
                let (cell, older) = read(newer.instance(position), counter, older, &format);
                let known = object.instances;
                act(CounterValue {
                    handle,
                    object: object.name,
                    definition: counter.definition,
                    instance: known.and_then(|known| known.keys.list.get(position)),
                    identity: known.and_then(|known| known.identities.get(position).copied().flatten()),
                    cell,
                    older,
                    precision,
                });
            };
            match &entry.chosen {
                None => read(0),
                Some(chosen) if chosen.positions.is_empty() && !chosen.wanted.is_wild() => {
                    act(nothing(NoValue::NoInstance));
                }
                Some(chosen) => chosen.positions.iter().for_each(|position| read(*position)),
            }
        }
    }

    /// The English name of a counter; its number when that name means another counter of the object.
    fn name_in_path(&self, object: &CatalogObject, counter: TitleIndex) -> String {
        let name = self.names.english(counter);
        let meant = object.visible_counters().find(|known| self.names.is(known.name, &name));
        if meant.is_none_or(|meant| meant.name == counter) { name } else { counter.0.to_string() }
    }
}

/// How exact the samples of a counter are.
fn precision(object: &ReadObject<'_>, counter: ReadCounter<'_>, format: Format) -> Option<Precision> {
    let newer = object.newer?;
    Some(Precision {
        older: object.older?.window()?,
        newer: newer.window()?,
        quantum: newer.quantum(counter.newer?),
        default_scale: counter.definition.default_scale,
        format,
    })
}

/// The sample now and what it means with the one before of the same instance.
fn read(
    instance: Option<SnapshotInstance<'_>>,
    counter: ReadCounter<'_>,
    older: Option<Sample>,
    format: &Format,
) -> (Cell, Option<Sample>) {
    let Some(instance) = instance else { return (no_value(NoValue::NoInstance), None) };
    let Some(position) = counter.newer else { return (no_value(NoValue::NoCounter), None) };
    let stale = instance.state(position) == ValueState::Stale;
    if let Some(text) = instance.text(position) {
        return (Cell { sample: None, value: Ok(Value::Text(text)), stale }, None);
    }
    let sample = match instance.sample(position) {
        Ok(sample) => sample,
        Err(why) => return (no_value(why), None),
    };
    let value = counter::compute(older.as_ref(), &sample).map(|value| {
        let definition = counter.definition;
        counter::apply(value, definition.counter_type, definition.default_scale, format)
    });
    (Cell { sample: Some(sample), value, stale }, older)
}

/// Makes the paths of readings; what those of one counter share is made once.
struct Paths<'q> {
    query: &'q Query,
    of: Option<(TitleIndex, TitleIndex)>,
    start: String,
    counter: String,
}

impl Paths<'_> {
    fn reading(&mut self, value: CounterValue<'_>) -> Reading {
        let of = (value.object, value.definition.name);
        if self.of != Some(of) {
            self.of = Some(of);
            self.start = format!("\\{}", self.query.names.english(value.object));
            let object = self.query.catalog.object(value.object);
            self.counter = object.map(|object| self.query.name_in_path(object, of.1)).unwrap_or_default();
        }
        let wanted = || {
            let chosen = self.query.entries.get(&value.handle)?.chosen.as_ref()?;
            (value.cell.value == Err(NoValue::NoInstance)).then(|| chosen.wanted.clone())
        };
        let instance = match value.instance {
            Some(key) => Some(InstancePath::new(key.parent.as_deref(), &key.name, key.number)),
            None => wanted(),
        };
        let (start, counter) = (&self.start, &self.counter);
        Reading {
            path: match instance {
                Some(instance) => format!("{start}({instance})\\{counter}"),
                None => format!("{start}\\{counter}"),
            },
            handle: value.handle,
            object: value.object,
            counter: value.definition.name,
            instance: value.instance.cloned(),
            identity: value.identity,
            definition: *value.definition,
            cell: value.cell,
            older: value.older,
            precision: value.precision,
        }
    }
}

const fn no_value(why: NoValue) -> Cell {
    Cell { sample: None, value: Err(why), stale: false }
}
