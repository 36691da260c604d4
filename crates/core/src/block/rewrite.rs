//! Rewrites objects of other providers: with one state for all values, with one more counter, or without
//! instances.
//!
//! When a provider is late, its last values are returned in its place, marked as stale in the status counter.
//! Our own objects all have a status counter; an object without one gets it here.

use alloc::vec::Vec;

use super::DetailLevel;
use super::encode::{length_u32, put_definition, put_u32};
use super::layout::{ALIGNMENT, counter_block, counter_definition, object_type};
use super::spec::{CounterSpec, align};
use super::view::{CounterBlock, NumInstances, Object};
use crate::counter::CounterType;
use crate::error::Error;
use crate::flow::ValueState;

/// How many times longer an object may become through added bytes.
const MOST_GROWTH: usize = 4;

/// Appends the object to `out` with every value marked as `state`.
///
/// # Errors
///
/// Fails with the first fault of the walk over definitions, instances and counter blocks, or if the counter
/// blocks have such different lengths that the object would become several times longer. On an error `out` is
/// unchanged.
pub fn with_state(object: &Object<'_>, state: ValueState, out: &mut Vec<u8>) -> Result<(), Error> {
    append_or_restore(out, |out| append_with_state(object, state, out))
}

/// Appends the object to `out` with one more counter of at most 8 bytes. `value` returns its value for each
/// instance, by position, or once for an object without instances. Existing counters keep their offsets.
///
/// # Errors
///
/// Fails as [`with_state`] does.
pub fn with_counter(
    object: &Object<'_>,
    counter: &CounterSpec,
    value: impl FnMut(usize) -> u64,
    out: &mut Vec<u8>,
) -> Result<(), Error> {
    append_or_restore(out, |out| append_with_counter(object, counter, value, out))
}

/// Truncates `out` to its old length if `append` fails.
fn append_or_restore(
    out: &mut Vec<u8>,
    append: impl FnOnce(&mut Vec<u8>) -> Result<(), Error>,
) -> Result<(), Error> {
    let start = out.len();
    let result = append(out);
    if result.is_err() {
        out.truncate(start);
    }
    result
}

/// Appends the definitions of the object to `out`, without instances and values: the answer to a metadata
/// query.
pub fn definitions_only(object: &Object<'_>, out: &mut Vec<u8>) {
    let instances = match object.header().num_instances {
        NumInstances::Many(_) | NumInstances::MetadataMany => NumInstances::MetadataMany,
        NumInstances::None | NumInstances::MetadataNone => NumInstances::MetadataNone,
    };
    let start = out.len();
    out.extend_from_slice(definitions(object));
    out.resize(start.saturating_add(align(out.len().saturating_sub(start), ALIGNMENT)), 0);
    let length = length_u32(out.len().saturating_sub(start));
    put_u32(out, start.saturating_add(object_type::TOTAL_BYTE_LENGTH), length);
    put_u32(out, start.saturating_add(object_type::NUM_INSTANCES), instances.to_raw().cast_unsigned());
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
            // After the longest block, so that the offset is the same in all blocks.
            let (blocks, longest) = longest_block(object)?;
            let at = align(longest, 4);
            check_growth(object, blocks, at.saturating_add(n_counters))?;
            let (kind, size) = (CounterType::VALUE_STATUS.0, length_u32(n_counters));
            let fields = [0, 0, 0, DetailLevel::WIZARD.0, kind, size, length_u32(at)];
            append_definition(out, start, fields, size.saturating_add(1));
            (length_u32(at), length_u32(n_counters), n_counters)
        }
    };
    let place = (usize::try_from(at).unwrap_or(usize::MAX), usize::try_from(size).unwrap_or(0), added);
    append_blocks(object, start, out, |out, block| put_block(out, block, place, state))
}

fn append_with_counter(
    object: &Object<'_>,
    counter: &CounterSpec,
    mut value: impl FnMut(usize) -> u64,
    out: &mut Vec<u8>,
) -> Result<(), Error> {
    let start = out.len();
    // The status counter must stay the last one.
    let mut last = None;
    for definition in object.counters() {
        last = Some(definition?.counter_type);
    }
    let own = definitions(object);
    let status = if last == Some(CounterType::VALUE_STATUS) { counter_definition::SIZE } else { 0 };
    let (own, status) = own.split_at_checked(own.len().saturating_sub(status)).unwrap_or_default();
    out.extend_from_slice(own);
    let (blocks, longest) = longest_block(object)?;
    let size = counter.size.or(counter.counter_type.default_size()).unwrap_or(8).min(8);
    let (at, width) = (align(longest, ALIGNMENT), usize::try_from(size).unwrap_or(8));
    check_growth(object, blocks, at.saturating_add(ALIGNMENT))?;
    let kind = counter.counter_type.0;
    let CounterSpec { name, help, scale, detail, .. } = *counter;
    let fields = [name.0, help.0, scale.cast_unsigned(), detail.0, kind, size, length_u32(at)];
    let n_counters = object.header().num_counters.saturating_add(1);
    append_definition(out, start, fields, n_counters);
    out.extend_from_slice(status);
    let length = length_u32(out.len().saturating_sub(start));
    put_u32(out, start.saturating_add(object_type::DEFINITION_LENGTH), length);
    let mut position = 0usize;
    append_blocks(object, start, out, |out, block| {
        let first = out.len();
        out.extend_from_slice(block.bytes());
        let end = at.saturating_add(ALIGNMENT);
        out.resize(first.saturating_add(end), 0);
        put_u32(out, first.saturating_add(counter_block::BYTE_LENGTH), length_u32(end));
        let value = value(position).to_le_bytes();
        let value = value.get(..width).unwrap_or(&value);
        let place = first.saturating_add(at);
        let part = place.checked_add(value.len()).and_then(|end| out.get_mut(place..end));
        part.unwrap_or_default().copy_from_slice(value);
        position = position.saturating_add(1);
    })
}

/// Appends each counter block with `put_one`, preceded by its unchanged instance definition, and finishes the
/// object that begins at `start`.
fn append_blocks(
    object: &Object<'_>,
    start: usize,
    out: &mut Vec<u8>,
    mut put_one: impl FnMut(&mut Vec<u8>, &CounterBlock<'_>),
) -> Result<(), Error> {
    if let Some(block) = object.counter_block() {
        put_one(out, &block?);
    }
    for instance in object.instances() {
        let instance = instance?;
        let definition = instance.at.saturating_sub(object.at());
        let block = instance.counter_block.at().saturating_sub(object.at());
        out.extend_from_slice(object.bytes().get(definition..block).unwrap_or_default());
        put_one(out, &instance.counter_block);
    }
    out.resize(start.saturating_add(align(out.len().saturating_sub(start), ALIGNMENT)), 0);
    let length = length_u32(out.len().saturating_sub(start));
    put_u32(out, start.saturating_add(object_type::TOTAL_BYTE_LENGTH), length);
    Ok(())
}

/// The header and the counter definitions.
fn definitions<'a>(object: &Object<'a>) -> &'a [u8] {
    let length = usize::try_from(object.header().definition_length).unwrap_or(usize::MAX);
    object.bytes().get(..length).unwrap_or(object.bytes())
}

/// The number of counter blocks, and the length of the longest.
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

/// Rejects an object if padding all blocks to `length` would make it several times longer: one long block
/// among a million short ones would make all of them long.
fn check_growth(object: &Object<'_>, blocks: usize, length: usize) -> Result<(), Error> {
    let needed = blocks.saturating_mul(length);
    let most = object.bytes().len().saturating_mul(MOST_GROWTH);
    if needed > most {
        let what = "PERF_COUNTER_BLOCK.ByteLength";
        return Err(Error::outside(what, object.at(), needed as u64, 0, most as u64));
    }
    Ok(())
}

/// Appends one more counter definition; `fields` are name, help, scale, detail level, type, size, offset.
fn append_definition(out: &mut Vec<u8>, start: usize, fields: [u32; 7], n_counters: u32) {
    let at = out.len();
    out.resize(at.saturating_add(counter_definition::SIZE), 0);
    put_definition(out, at, fields);
    put_u32(out, start.saturating_add(object_type::NUM_COUNTERS), n_counters);
    let length = length_u32(out.len().saturating_sub(start));
    put_u32(out, start.saturating_add(object_type::DEFINITION_LENGTH), length);
}

/// Appends a counter block with its status bytes, of which `added` are new.
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
        put_u32(out, start.saturating_add(counter_block::BYTE_LENGTH), length_u32(end));
    }
    let first = start.saturating_add(at);
    let bytes = first.checked_add(size).and_then(|end| out.get_mut(first..end));
    bytes.unwrap_or_default().fill(state.to_byte());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::{
        BlockWriter, CounterSpec, InstanceKind, ObjectLayout, ObjectSpec, Objects, ObjectsWriter, Snapshot,
        WriteHeader,
    };
    use crate::time::{Frequency, PerfTime};
    use crate::title::{HelpIndex, TitleIndex};

    const COUNTER: CounterSpec = CounterSpec::new(TitleIndex(5002), CounterType::PERF_COUNTER_RAWCOUNT);

    fn object(instances: InstanceKind, status: bool) -> Vec<u8> {
        let other = CounterSpec { name: TitleIndex(5004), ..COUNTER };
        let counters = [COUNTER, other];
        let spec = ObjectSpec { status, ..ObjectSpec::new(TitleIndex(5000), instances, &counters) };
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
        let header = WriteHeader::named("host");
        let mut bytes = Vec::new();
        let mut writer = BlockWriter::growing(&mut bytes, &header);
        writer.objects().append(objects, count);
        writer.finish().unwrap();
        Snapshot::new(bytes).unwrap()
    }

    #[test]
    fn marking_a_state_keeps_every_value() {
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
    fn adding_a_counter_changes_no_other_counter() {
        let more = CounterSpec { name: TitleIndex(5006), help: HelpIndex(5007), ..COUNTER };
        for (instances, status) in [(InstanceKind::None, true), (InstanceKind::Many, false)] {
            let bytes = object(instances, status);
            let object = Objects::bare(&bytes, 1).next().unwrap().unwrap();
            let mut changed = Vec::new();
            with_counter(&object, &more, |position| 40 + position as u64, &mut changed).unwrap();
            let snapshot = block(&changed, 1);
            let object = snapshot.object(TitleIndex(5000)).unwrap();
            let at = object.position(TitleIndex(5006)).unwrap();
            for (position, instance) in object.instances().enumerate() {
                let number = |number| Some(crate::block::RawValue::Number(number));
                assert_eq!(instance.raw(1), number(7));
                assert_eq!(instance.raw(at), number(40 + position as u64));
                assert_eq!(
                    (instance.state(1), instance.state(at)),
                    (ValueState::Present, ValueState::Present)
                );
            }
        }
    }

    #[test]
    fn definitions_only_has_no_instances() {
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
    fn a_failed_rewrite_leaves_the_output_unchanged() {
        let mut bytes = object(InstanceKind::Many, false);
        // The first instance claims to be longer than the object.
        let at = object_type::SIZE + 2 * counter_definition::SIZE;
        put_u32(&mut bytes, at, 60_000);
        let object = Objects::bare(&bytes, 1).next().unwrap().unwrap();
        let mut out = Vec::from([1, 2, 3]);
        assert!(with_state(&object, ValueState::Stale, &mut out).is_err());
        assert_eq!(out, [1, 2, 3]);
    }
}
