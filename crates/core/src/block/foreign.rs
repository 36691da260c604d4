//! Objects that somebody else wrote: written again with a state for all their values, or with their definitions only.
//!
//! A provider that is late is answered for with its last values. They are marked as old in the status counter that
//! every object of ours has; an object without one gets it here.

use alloc::vec::Vec;

use super::DetailLevel;
use super::layout::{ALIGNMENT, counter_block, counter_definition, object_type};
use super::spec::align;
use super::view::{CounterBlock, NumInstances, Object};
use crate::counter::CounterType;
use crate::error::Error;
use crate::flow::ValueState;

/// How many times longer an object may become by its status bytes.
const MOST_GROWTH: usize = 4;

/// Appends the object to `out` with every value marked as `state`.
///
/// # Errors
///
/// The first fault of the walk over its definitions, instances and counter blocks; blocks of so different lengths that
/// the object would become several times longer. What was appended is taken back.
pub fn with_state(object: &Object<'_>, state: ValueState, out: &mut Vec<u8>) -> Result<(), Error> {
    let start = out.len();
    let result = append_with_state(object, state, out);
    if result.is_err() {
        out.truncate(start);
    }
    result
}

/// Appends the definitions of the object to `out`, without instances and values: the answer to a metadata query.
pub fn definitions_only(object: &Object<'_>, out: &mut Vec<u8>) {
    let instances = match object.header().num_instances {
        NumInstances::Many(_) | NumInstances::MetadataMany => NumInstances::MetadataMany,
        NumInstances::None | NumInstances::MetadataNone => NumInstances::MetadataNone,
    };
    let start = out.len();
    out.extend_from_slice(definitions(object));
    out.resize(start.saturating_add(align(out.len().saturating_sub(start), ALIGNMENT)), 0);
    let length = small(out.len().saturating_sub(start));
    put(out, start.saturating_add(object_type::TOTAL_BYTE_LENGTH), length);
    put(out, start.saturating_add(object_type::NUM_INSTANCES), instances.to_raw().cast_unsigned());
}

fn append_with_state(object: &Object<'_>, state: ValueState, out: &mut Vec<u8>) -> Result<(), Error> {
    let start = out.len();
    let mut n_counters = 0usize;
    let mut own = None;
    for definition in object.counters() {
        let definition = definition?;
        if definition.counter_type == CounterType::VALUE_STATUS {
            own = Some(definition);
        } else {
            n_counters = n_counters.saturating_add(1);
        }
    }
    out.extend_from_slice(definitions(object));
    let (at, size, added) = match own {
        Some(own) => (own.counter_offset, own.counter_size, 0),
        None => {
            // Behind the longest block, at the same place in all.
            let (blocks, longest) = longest_block(object)?;
            let at = align(longest, 4);
            let needed = blocks.saturating_mul(at.saturating_add(n_counters));
            let most = object.bytes().len().saturating_mul(MOST_GROWTH);
            if needed > most {
                // One long block among a million short ones would make all of them long.
                return Err(Error::outside(
                    "PERF_COUNTER_BLOCK.ByteLength",
                    object.at(),
                    needed as u64,
                    0,
                    most as u64,
                ));
            }
            put_status_definition(out, start, small(at), small(n_counters));
            (small(at), small(n_counters), n_counters)
        }
    };
    let place = (usize::try_from(at).unwrap_or(usize::MAX), usize::try_from(size).unwrap_or(0), added);
    if let Some(block) = object.counter_block() {
        put_block(out, &block?, place, state);
    }
    for instance in object.instances() {
        let instance = instance?;
        let definition = instance.at.saturating_sub(object.at());
        let block = instance.counter_block.at().saturating_sub(object.at());
        out.extend_from_slice(object.bytes().get(definition..block).unwrap_or_default());
        put_block(out, &instance.counter_block, place, state);
    }
    out.resize(start.saturating_add(align(out.len().saturating_sub(start), ALIGNMENT)), 0);
    let length = small(out.len().saturating_sub(start));
    put(out, start.saturating_add(object_type::TOTAL_BYTE_LENGTH), length);
    Ok(())
}

/// The header and the counter definitions.
fn definitions<'a>(object: &Object<'a>) -> &'a [u8] {
    let length = usize::try_from(object.header().definition_length).unwrap_or(usize::MAX);
    object.bytes().get(..length).unwrap_or(object.bytes())
}

/// How many counter blocks there are, and how long the longest is.
fn longest_block(object: &Object<'_>) -> Result<(usize, usize), Error> {
    let (mut blocks, mut longest) = (1usize, counter_block::SIZE);
    if let Some(block) = object.counter_block() {
        longest = longest.max(block?.bytes().len());
    }
    for instance in object.instances() {
        blocks = blocks.saturating_add(1);
        longest = longest.max(instance?.counter_block.bytes().len());
    }
    Ok((blocks, longest))
}

/// One more definition behind the others.
fn put_status_definition(out: &mut Vec<u8>, start: usize, offset: u32, size: u32) {
    use counter_definition as field;
    let at = out.len();
    out.resize(at.saturating_add(field::SIZE), 0);
    let place = |offset: usize| at.saturating_add(offset);
    put(out, place(field::BYTE_LENGTH), small(field::SIZE));
    put(out, place(field::DETAIL_LEVEL), DetailLevel::WIZARD.0);
    put(out, place(field::COUNTER_TYPE), CounterType::VALUE_STATUS.0);
    put(out, place(field::COUNTER_SIZE), size);
    put(out, place(field::COUNTER_OFFSET), offset);
    put(out, start.saturating_add(object_type::NUM_COUNTERS), size.saturating_add(1));
    let length = small(out.len().saturating_sub(start));
    put(out, start.saturating_add(object_type::DEFINITION_LENGTH), length);
}

/// A counter block with its status bytes; `added` of them are new.
fn put_block(
    out: &mut Vec<u8>,
    block: &CounterBlock<'_>,
    (at, size, added): (usize, usize, usize),
    state: ValueState,
) {
    let start = out.len();
    out.extend_from_slice(block.bytes());
    if added > 0 {
        let end = align(at.saturating_add(added), ALIGNMENT);
        out.resize(start.saturating_add(end), 0);
        put(out, start.saturating_add(counter_block::BYTE_LENGTH), small(end));
    }
    let first = start.saturating_add(at);
    let bytes = first.checked_add(size).and_then(|end| out.get_mut(first..end));
    bytes.unwrap_or_default().fill(state.to_byte());
}

/// A length as it stands in a block; no answer is longer than 4 GiB.
fn small(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

fn put(out: &mut [u8], at: usize, value: u32) {
    let part = at.checked_add(4).and_then(|end| out.get_mut(at..end));
    if let Some(part) = part {
        part.copy_from_slice(&value.to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::{
        BlockWriter, CounterSpec, InstanceKind, ObjectLayout, ObjectSpec, Objects, ObjectsWriter, Snapshot,
        WriteHeader,
    };
    use crate::time::{FileTime, Frequency, PerfTime};
    use crate::title::{HelpIndex, TitleIndex};

    const COUNTER: CounterSpec = CounterSpec {
        name: TitleIndex(5002),
        help: HelpIndex(5003),
        counter_type: CounterType::PERF_COUNTER_RAWCOUNT,
        scale: 0,
        detail: DetailLevel::NOVICE,
        size: None,
        shares: None,
    };

    fn object(instances: InstanceKind, status: bool) -> Vec<u8> {
        let other = CounterSpec { name: TitleIndex(5004), ..COUNTER };
        let spec = ObjectSpec {
            name: TitleIndex(5000),
            help: HelpIndex(5001),
            detail: DetailLevel::NOVICE,
            default_counter: 0,
            instances,
            status,
            counters: &[COUNTER, other],
        };
        let layout = ObjectLayout::new(spec);
        let mut bytes = Vec::new();
        let mut out = ObjectsWriter::growing(&mut bytes);
        let mut writer = out.object(&layout, PerfTime(0), Frequency(0));
        if instances == InstanceKind::None {
            writer.single().set(1, 7);
        } else {
            for name in ["one", "the second"] {
                writer.instance(name, None, None).set(1, 7);
            }
        }
        drop(writer);
        bytes
    }

    fn block(objects: &[u8], count: u32) -> Snapshot {
        let header = WriteHeader {
            system_name: "host",
            default_object: -1,
            perf_time: PerfTime(0),
            perf_freq: Frequency(0),
            perf_time_100ns: FileTime(0),
            system_time: FileTime(0),
        };
        let mut bytes = Vec::new();
        let mut writer = BlockWriter::growing(&mut bytes, &header);
        writer.objects().append(objects, count);
        writer.finish().unwrap();
        Snapshot::new(bytes).unwrap()
    }

    #[test]
    fn every_value_gets_the_state_and_stays_what_it_is() {
        for (instances, n) in [(InstanceKind::None, 1), (InstanceKind::Many, 2)] {
            for status in [false, true] {
                let bytes = object(instances, status);
                let object = Objects::bare(&bytes, 1).next().unwrap().unwrap();
                let mut marked = Vec::new();
                with_state(&object, ValueState::Stale, &mut marked).unwrap();
                let snapshot = block(&marked, 1);
                let object = snapshot.object(TitleIndex(5000)).unwrap();
                assert_eq!(object.instances().len(), n, "{instances:?} {status}");
                for instance in object.instances() {
                    for counter in 0..2 {
                        assert_eq!(instance.state(counter), ValueState::Stale);
                    }
                    assert_eq!(instance.raw(1), Some(crate::block::RawValue::Number(7)));
                }
            }
        }
    }

    #[test]
    fn definitions_stand_alone() {
        for (instances, wanted) in [
            (InstanceKind::None, NumInstances::MetadataNone),
            (InstanceKind::Many, NumInstances::MetadataMany),
        ] {
            let bytes = object(instances, false);
            let mut bare = Vec::new();
            definitions_only(&Objects::bare(&bytes, 1).next().unwrap().unwrap(), &mut bare);
            let snapshot = block(&bare, 1);
            let object = snapshot.object(TitleIndex(5000)).unwrap();
            assert_eq!((object.header().num_instances, object.header().num_counters), (wanted, 2));
        }
    }

    #[test]
    fn a_cut_object_leaves_nothing_behind() {
        let mut bytes = object(InstanceKind::Many, false);
        // The first instance says that it is longer than the object.
        let at = object_type::SIZE + 2 * counter_definition::SIZE;
        put(&mut bytes, at, 60_000);
        let object = Objects::bare(&bytes, 1).next().unwrap().unwrap();
        let mut out = Vec::from([1, 2, 3]);
        assert!(with_state(&object, ValueState::Stale, &mut out).is_err());
        assert_eq!(out, [1, 2, 3]);
    }
}
