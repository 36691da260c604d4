//! Values under the numbers that `lodctr` installed.

use std::collections::{BTreeSet, HashMap};

use tallymon_core::block::{BlockWriter, RawValue, Snapshot, SnapshotInstance, SnapshotObject, WriteHeader};
use tallymon_provider::library::author::{Answer, Opening};
use tallymon_provider::{
    CollectRequest, CounterSpec, HelpIndex, InstanceKind, ObjectLayout, ObjectSpec, Parent, Provider,
    TitleIndex, ValueState,
};

use super::Numbers;
use crate::publishers::Publishers;

/// Answers requests for the published sets that have numbers.
pub struct Answers {
    publishers: Publishers,
    numbers: Numbers,
}

/// A set that is published now: its number, and those of its counters by position.
type Numbered = (u32, Vec<Option<u32>>);

/// For each object the new positions of its instances; `None` for those that are left out.
type Places = HashMap<TitleIndex, Vec<Option<u32>>>;

impl Answers {
    /// Answers for what these publishers have.
    pub const fn new(publishers: Publishers, numbers: Numbers) -> Answers {
        Answers { publishers, numbers }
    }

    /// Writes the sets that are requested. NT has no word for a missing value: an instance that lacks one is
    /// left out.
    pub fn collect(&mut self, opening: &Opening, answer: &mut Answer<'_, '_>) {
        self.publishers.refresh();
        let numbered: HashMap<TitleIndex, Numbered> = self
            .publishers
            .under_own_names()
            .filter_map(|(definition, own)| Some((own, self.numbers.of(definition)?)))
            .collect();
        let mut wanted: BTreeSet<TitleIndex> = numbered
            .iter()
            .filter(|(_, (set, _))| answer.wants(name(opening, *set), false))
            .map(|(own, _)| *own)
            .collect();
        let shown = wanted.clone();
        // For the positions of parents.
        wanted.extend(shown.iter().flat_map(|own| self.publishers.parents(*own)).copied());
        let Some(snapshot) = self.read(&wanted).filter(|_| !shown.is_empty()) else { return };
        let mut places = Places::new();
        for object in snapshot.objects() {
            if let Some((_, counters)) = numbered.get(&object.header().name) {
                places.insert(object.header().name, places_of(&object, counters));
            }
        }
        for object in snapshot.objects().filter(|object| shown.contains(&object.header().name)) {
            if let Some(numbers) = numbered.get(&object.header().name) {
                let parent = |parent: Parent| {
                    let (set, _) = numbered.get(&parent.object)?;
                    let place = places.get(&parent.object)?.get(usize::try_from(parent.instance).ok()?)?;
                    Some(Parent { object: name(opening, *set), instance: (*place)? })
                };
                write(&object, numbers, &places, parent, opening, answer);
            }
        }
    }

    /// Reads objects of the publishers.
    fn read(&mut self, objects: &BTreeSet<TitleIndex>) -> Option<Snapshot> {
        let objects: Vec<TitleIndex> = objects.iter().copied().collect();
        let header = WriteHeader::named("");
        let mut bytes = Vec::new();
        let mut writer = BlockWriter::growing(&mut bytes, &header);
        self.publishers.collect(&CollectRequest::everything(&objects), writer.objects()).ok()?;
        writer.finish().ok()?;
        Snapshot::new(bytes).ok()
    }
}

/// The index of a number.
fn name(opening: &Opening, number: u32) -> TitleIndex {
    TitleIndex(opening.first_counter.0.wrapping_add(number))
}

fn help(opening: &Opening, number: u32) -> HelpIndex {
    HelpIndex(opening.first_help.0.wrapping_add(number))
}

/// Where the instances of an object are when those that lack a value are left out.
fn places_of(object: &SnapshotObject<'_>, counters: &[Option<u32>]) -> Vec<Option<u32>> {
    let mut next = 0u32;
    let mut place = |instance: SnapshotInstance<'_>| {
        let positions = counters.iter().enumerate().filter(|(_, number)| number.is_some());
        let has = |position| !matches!(instance.state(position), ValueState::Absent(_));
        positions.map(|(position, _)| position).all(has).then(|| {
            let place = next;
            next = next.saturating_add(1);
            place
        })
    };
    object.instances().map(&mut place).collect()
}

/// Writes an object with the counters that have numbers.
fn write(
    object: &SnapshotObject<'_>,
    (set, numbers): &Numbered,
    places: &Places,
    parent: impl Fn(Parent) -> Option<Parent>,
    opening: &Opening,
    answer: &mut Answer<'_, '_>,
) {
    let header = object.header();
    let (mut positions, mut counters) = (Vec::new(), Vec::new());
    for (position, (counter, number)) in object.counters().iter().zip(numbers).enumerate() {
        if let Some(number) = number {
            positions.push(position);
            counters.push(CounterSpec {
                help: help(opening, *number),
                scale: counter.default_scale,
                detail: counter.detail_level,
                size: Some(counter.counter_size),
                ..CounterSpec::new(name(opening, *number), counter.counter_type)
            });
        }
    }
    let default = object.default_counter().and_then(|first| positions.iter().position(|kept| *kept == first));
    let has_instances = object.has_instances();
    let spec = ObjectSpec {
        help: help(opening, *set),
        detail: header.detail_level,
        default_counter: default.and_then(|position| u16::try_from(position).ok()).unwrap_or(0),
        ..ObjectSpec::new(
            name(opening, *set),
            if has_instances { InstanceKind::Many } else { InstanceKind::None },
            &counters,
        )
    };
    let layout = ObjectLayout::new(spec);
    let places = places.get(&header.name).map(Vec::as_slice).unwrap_or_default();
    let mut whole = object.instances().zip(places).filter(|(_, place)| place.is_some()).peekable();
    // An object without instances has its values or is not there.
    if whole.peek().is_none() && !has_instances {
        return;
    }
    let Some(mut writer) = answer.object_of(&layout, header.perf_time, header.perf_freq) else { return };
    for (instance, _) in whole {
        let mut block = if has_instances {
            let parent = instance.parent().and_then(&parent);
            writer.instance(&instance.name().to_string_lossy(), parent, instance.unique_id())
        } else {
            writer.single()
        };
        for (to, from) in positions.iter().enumerate() {
            match instance.text(*from) {
                Some(text) => block.set_text(to, &text),
                None => block.set(to, number(instance, *from)),
            }
        }
    }
}

/// The raw number of a counter. All that is published is a number or a text.
fn number(instance: SnapshotInstance<'_>, position: usize) -> u64 {
    match instance.raw(position) {
        Some(RawValue::Number(number)) => number,
        _ => 0,
    }
}
