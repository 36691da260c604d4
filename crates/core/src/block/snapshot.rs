//! An owned data block, walked once and indexed, so that look-ups cannot fail.

use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;

use super::block_memory::{BlockMemory, CachedRange};
use super::encode::length_u32;
use super::read_info::{ReadInfo, ReadWindow};
use super::sample::SampleReader;
use super::view::{
    CounterBlock, CounterDefinition, DataBlock, Header, NumInstances, Object, ObjectHeader, Parent, RawValue,
};
use crate::bytes::Bytes;
use crate::counter::Subtype;
use crate::error::Error;
use crate::flow::{NoValue, Sample, ValueState};
use crate::text::{CodePage, Name};
use crate::title::TitleIndex;

/// An owned and validated data block.
///
/// The constructor checks every structure, so objects, counters, instances and samples are found by index
/// arithmetic alone.
#[derive(Debug, Clone)]
pub struct Snapshot {
    bytes: Vec<u8>,
    /// Where `bytes` holds cached instances.
    cached_ranges: Vec<CachedRange>,
    header: Header,
    system_name: String,
    objects: Vec<ObjectEntry>,
    /// Names of objects and their positions, sorted; empty if the objects are few.
    by_name: Vec<(TitleIndex, u32)>,
    counters: Vec<CounterDefinition>,
    instances: Vec<InstanceEntry>,
    /// Empty memory for the instance index of the next snapshot.
    spare_instances: Vec<InstanceEntry>,
    /// Sorted by object if they are many.
    read_infos: Vec<ReadInfo>,
}

/// So many objects are looked through one by one. A machine has about a hundred; a library may answer with tens
/// of thousands.
const FEW: usize = 64;

#[derive(Debug, Clone)]
struct ObjectEntry {
    header: ObjectHeader,
    counters: Range<usize>,
    instances: Range<usize>,
}

/// Where an instance is. Offsets fit in 32 bits because block lengths do.
#[derive(Debug, Clone, Copy)]
struct InstanceEntry {
    parent: Option<Parent>,
    unique_id: Option<i32>,
    name: (u32, u32),
    block: (u32, u32),
}

/// The memory of a discarded snapshot, for the next one.
///
/// ```
/// # use tallymon_core::block::{BlockMemory, Snapshot, SpareMemory};
/// # use tallymon_core::error::Error;
/// fn next(old: Snapshot, write: impl FnOnce(&mut BlockMemory)) -> Result<Snapshot, Error> {
///     let mut spare = old.into_spare();
///     let mut memory = spare.take_memory();
///     // As by `BlockWriter::over`.
///     write(&mut memory);
///     Snapshot::in_memory(memory, &mut spare)
/// }
/// ```
#[derive(Debug, Default)]
pub struct SpareMemory {
    memory: BlockMemory,
    objects: Vec<ObjectEntry>,
    counters: Vec<CounterDefinition>,
    instances: Vec<InstanceEntry>,
    /// Which part of `instances` indexes cached instances.
    cached_ranges: Vec<CachedRange>,
    /// Empty memory for another instance index.
    spare_instances: Vec<InstanceEntry>,
}

impl SpareMemory {
    /// The block's memory, emptied.
    pub fn take_bytes(&mut self) -> Vec<u8> {
        let mut bytes = self.take_memory().bytes;
        bytes.clear();
        bytes
    }

    /// The block's memory with its contents, for [`BlockWriter::over`](super::BlockWriter::over).
    pub fn take_memory(&mut self) -> BlockMemory {
        core::mem::take(&mut self.memory)
    }
}

impl Snapshot {
    /// Validates and indexes the bytes of one data block.
    ///
    /// # Errors
    ///
    /// Fails with the first fault of the walk over all headers, definitions, instances and counter blocks.
    pub fn new(bytes: Vec<u8>) -> Result<Snapshot, Error> {
        Snapshot::new_in(bytes, &mut SpareMemory::default())
    }

    /// Like [`Snapshot::new`], with the index in the memory of a discarded snapshot.
    ///
    /// # Errors
    ///
    /// Fails as [`Snapshot::new`] does.
    pub fn new_in(bytes: Vec<u8>, spare: &mut SpareMemory) -> Result<Snapshot, Error> {
        Snapshot::in_memory(BlockMemory { bytes, cached_ranges: Vec::new() }, spare)
    }

    /// Like [`Snapshot::new_in`], for a block that was written over a previous one.
    ///
    /// # Errors
    ///
    /// Fails as [`Snapshot::new`] does.
    pub fn in_memory(memory: BlockMemory, spare: &mut SpareMemory) -> Result<Snapshot, Error> {
        let BlockMemory { bytes, cached_ranges } = memory;
        let block = DataBlock::parse(&bytes)?;
        let header = *block.header();
        let system_name = block.system_name()?.to_string_lossy();
        let old = core::mem::take(spare);
        let (mut objects, mut counters, mut instances) = (old.objects, old.counters, old.spare_instances);
        objects.clear();
        counters.clear();
        let known = |at: usize| {
            let now = cached_ranges.iter().find(|now| now.start == at)?;
            let is_known = old.cached_ranges.iter().any(|range| range.same_instances(now));
            is_known.then(|| (now.length, entries_in(&old.instances, now)))
        };
        for object in block.objects() {
            let object = object?;
            let first_counter = counters.len();
            for counter in object.counters() {
                counters.push(counter?);
            }
            let first_instance = instances.len();
            index_instances(&object, known, &mut instances)?;
            objects.push(ObjectEntry {
                header: *object.header(),
                counters: first_counter..counters.len(),
                instances: first_instance..instances.len(),
            });
        }
        let mut spare_instances = old.instances;
        spare_instances.clear();
        let read_infos = Vec::new();
        let by_name = index_names(&objects);
        Ok(Snapshot {
            header,
            system_name,
            objects,
            by_name,
            counters,
            instances,
            bytes,
            cached_ranges,
            spare_instances,
            read_infos,
        })
    }

    /// This snapshot with facts about its reading.
    #[must_use]
    pub fn with_read_infos(self, mut read_infos: Vec<ReadInfo>) -> Snapshot {
        if read_infos.len() > FEW {
            read_infos.sort_by_key(|info| info.object);
        }
        Snapshot { read_infos, ..self }
    }

    /// Facts about the reading of its objects, which its bytes do not contain.
    pub fn read_infos(&self) -> &[ReadInfo] {
        &self.read_infos
    }

    /// The bytes of the block.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The bytes of the block, owned.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// Its memory, for the next snapshot.
    pub fn into_spare(self) -> SpareMemory {
        let Snapshot { bytes, cached_ranges, objects, counters, instances, spare_instances, .. } = self;
        let memory = BlockMemory { bytes, cached_ranges: cached_ranges.clone() };
        SpareMemory { memory, objects, counters, instances, cached_ranges, spare_instances }
    }

    /// The fields of the header.
    pub const fn header(&self) -> &Header {
        &self.header
    }

    /// Name of the machine; empty if the block has none.
    pub fn system_name(&self) -> &str {
        &self.system_name
    }

    /// The objects in block order.
    pub fn objects(&self) -> impl ExactSizeIterator<Item = SnapshotObject<'_>> + Clone {
        self.objects.iter().map(|entry| SnapshotObject { snapshot: self, entry })
    }

    /// The object with this name; the first one if several providers answered for it.
    pub fn object(&self, name: TitleIndex) -> Option<SnapshotObject<'_>> {
        let entry = if self.by_name.is_empty() {
            self.objects.iter().find(|entry| entry.header.name == name)?
        } else {
            let place = self.by_name.partition_point(|(other, _)| *other < name);
            let (found, position) = self.by_name.get(place)?;
            let entry = self.objects.get(usize::try_from(*position).ok()?);
            entry.filter(|_| *found == name)?
        };
        Some(SnapshotObject { snapshot: self, entry })
    }
}

/// The names of many objects, sorted, so that each is found without looking through all.
fn index_names(objects: &[ObjectEntry]) -> Vec<(TitleIndex, u32)> {
    if objects.len() <= FEW {
        return Vec::new();
    }
    let mut by_name: Vec<_> = objects.iter().map(|entry| entry.header.name).zip(0u32..).collect();
    by_name.sort_unstable();
    by_name
}

/// The entries of the instances in a range of the block.
fn entries_in<'e>(entries: &'e [InstanceEntry], range: &CachedRange) -> &'e [InstanceEntry] {
    let place = |at: usize| {
        entries.partition_point(|entry| usize::try_from(entry.block.0).is_ok_and(|block| block < at))
    };
    entries.get(place(range.start)..place(range.start.saturating_add(range.length))).unwrap_or_default()
}

/// Indexes the instances of an object. `known` returns, for a block offset, the entries of the previous index
/// and the length of the bytes that they cover.
fn index_instances<'k>(
    object: &Object<'_>,
    known: impl Fn(usize) -> Option<(usize, &'k [InstanceEntry])>,
    instances: &mut Vec<InstanceEntry>,
) -> Result<(), Error> {
    let place = |block: &CounterBlock<'_>| (length_u32(block.at()), length_u32(block.bytes().len()));
    if let Some(block) = object.counter_block() {
        let block = block?;
        instances.push(InstanceEntry { parent: None, unique_id: None, name: (0, 0), block: place(&block) });
    }
    let mut rest = object.instances();
    loop {
        if let Some((length, known)) = known(rest.at()) {
            instances.extend_from_slice(known);
            rest.skip_bytes(known.len(), length);
        }
        let Some(instance) = rest.next() else { break };
        let instance = instance?;
        instances.push(InstanceEntry {
            parent: instance.parent,
            unique_id: instance.unique_id,
            name: (length_u32(instance.name_at), length_u32(instance.name_length)),
            block: place(&instance.counter_block),
        });
    }
    Ok(())
}

/// An object of a [`Snapshot`].
#[derive(Debug, Clone, Copy)]
pub struct SnapshotObject<'s> {
    snapshot: &'s Snapshot,
    entry: &'s ObjectEntry,
}

impl<'s> SnapshotObject<'s> {
    /// The fields of the object header.
    pub const fn header(&self) -> &'s ObjectHeader {
        &self.entry.header
    }

    /// When its values were read; `None` if unknown, as in a block from elsewhere.
    pub fn window(&self) -> Option<ReadWindow> {
        self.read_info().map(|info| info.window)
    }

    /// The quantum of the raw value of the counter at a position; 1 if unknown.
    pub fn quantum(&self, position: usize) -> u64 {
        self.read_info().and_then(|info| info.quanta.get(position).copied()).unwrap_or(1)
    }

    /// The quantum of the raw value of `_Total`: a sum may be off by one quantum per other instance, a mean
    /// by one quantum.
    pub fn quantum_of_total(&self, position: usize) -> u64 {
        let is_mean = self.read_info().and_then(|info| info.means.get(position).copied()).unwrap_or(false);
        let others = match self.header().num_instances {
            NumInstances::Many(count) if !is_mean => u64::from(count).saturating_sub(1).max(1),
            _ => 1,
        };
        self.quantum(position).saturating_mul(others)
    }

    fn read_info(&self) -> Option<&'s ReadInfo> {
        let (infos, name) = (&self.snapshot.read_infos, self.header().name);
        if infos.len() <= FEW {
            return infos.iter().find(|info| info.object == name);
        }
        infos.get(infos.partition_point(|info| info.object < name)).filter(|info| info.object == name)
    }

    /// Whether the object has instances by its kind, even if there are none at the moment.
    pub const fn has_instances(&self) -> bool {
        matches!(self.entry.header.num_instances, NumInstances::Many(_) | NumInstances::MetadataMany)
    }

    /// Its counter definitions, including base counters.
    pub fn counters(&self) -> &'s [CounterDefinition] {
        self.snapshot.counters.get(self.entry.counters.clone()).unwrap_or_default()
    }

    /// Position of the first counter with this name, which is never a base counter.
    pub fn position(&self, name: TitleIndex) -> Option<usize> {
        self.counters().iter().position(|counter| counter.name == name)
    }

    /// Position of the default counter, never a base counter.
    pub fn default_counter(&self) -> Option<usize> {
        let position = usize::try_from(self.header().default_counter).ok()?;
        let upto = self.counters().get(..=position)?;
        upto.iter().rposition(|counter| !counter.counter_type.is_base())
    }

    /// Its instances in order. An object without instances has one entry without a name; one with definitions
    /// only has none.
    pub fn instances(&self) -> impl ExactSizeIterator<Item = SnapshotInstance<'s>> + Clone + use<'s> {
        let object = *self;
        let entries = self.snapshot.instances.get(self.entry.instances.clone()).unwrap_or_default();
        entries.iter().map(move |entry| SnapshotInstance { object, entry })
    }

    /// The instance at a position.
    pub fn instance(&self, position: usize) -> Option<SnapshotInstance<'s>> {
        let entries = self.snapshot.instances.get(self.entry.instances.clone())?;
        entries.get(position).map(|entry| SnapshotInstance { object: *self, entry })
    }

    /// The counter at a position, for all instances; `None` if there is no such counter.
    pub fn column(&self, position: usize) -> Option<SnapshotColumn<'s>> {
        let instances = self.snapshot.instances.get(self.entry.instances.clone()).unwrap_or_default();
        Some(SnapshotColumn { object: *self, instances, reader: self.reader(position)? })
    }

    fn reader(&self, position: usize) -> Option<SampleReader<'s>> {
        SampleReader::new(&self.snapshot.header, self.header(), self.counters(), position)
    }

    /// The snapshot that contains the object.
    pub const fn snapshot(&self) -> &'s Snapshot {
        self.snapshot
    }
}

/// An instance of an object of a [`Snapshot`], or the single set of values of an object without instances.
#[derive(Debug, Clone, Copy)]
pub struct SnapshotInstance<'s> {
    object: SnapshotObject<'s>,
    entry: &'s InstanceEntry,
}

impl<'s> SnapshotInstance<'s> {
    /// Its name; empty for an object without instances.
    pub fn name(&self) -> Name<'s> {
        let header = &self.object.snapshot.header;
        let bytes = self.object.slice(self.entry.name);
        Name::new(bytes, self.object.header().code_page, header.byte_order)
    }

    /// Position of its parent.
    pub const fn parent(&self) -> Option<Parent> {
        self.entry.parent
    }

    /// Its parent, if the snapshot contains it.
    pub fn parent_instance(&self) -> Option<SnapshotInstance<'s>> {
        let parent = self.entry.parent?;
        let object = self.object.snapshot.object(parent.object)?;
        object.instance(usize::try_from(parent.instance).ok()?)
    }

    /// An identity that does not change during the life of the instance; `None` if its name is its identity.
    pub const fn unique_id(&self) -> Option<i32> {
        self.entry.unique_id
    }

    /// The object that contains the instance.
    pub const fn object(&self) -> SnapshotObject<'s> {
        self.object
    }

    /// Its raw values.
    #[inline]
    pub fn counter_block(&self) -> CounterBlock<'s> {
        let header = &self.object.snapshot.header;
        CounterBlock::from_bytes(Bytes::new(self.object.slice(self.entry.block), header.byte_order))
    }

    /// The raw data of the counter at a position; `None` if it lies outside the counter block.
    pub fn raw(&self, position: usize) -> Option<RawValue<'s>> {
        self.counter_block().raw(self.object.counters().get(position)?).ok()
    }

    /// Whether the value of the counter at a position is present.
    pub fn state(&self, position: usize) -> ValueState {
        let reader = self.object.reader(position);
        reader.map_or(ValueState::Present, |reader| reader.state(self.counter_block()))
    }

    /// The sample of the counter at a position.
    ///
    /// # Errors
    ///
    /// The reason why there is none: no such counter, a text counter, no base after it, or the provider's
    /// reason.
    pub fn sample(&self, position: usize) -> Result<Sample, NoValue> {
        self.object.reader(position).ok_or(NoValue::NoCounter)?.sample(self.counter_block())
    }

    /// The text of a text counter; `None` for other counters.
    pub fn text(&self, position: usize) -> Option<String> {
        self.text_of(self.object.counters().get(position)?)
    }

    fn text_of(&self, definition: &CounterDefinition) -> Option<String> {
        if !definition.counter_type.is_text() {
            return None;
        }
        let Ok(RawValue::Bytes(bytes)) = self.counter_block().raw(definition) else {
            return None;
        };
        let code_page = match definition.counter_type.subtype() {
            Subtype::Unicode => CodePage::UTF_16,
            // NT does not say which code page an ANSI text has. Use that of the instance names, else the
            // commonest.
            _ if self.object.header().code_page != CodePage::UTF_16 => self.object.header().code_page,
            _ => CodePage::WINDOWS_1252,
        };
        Some(Name::new(bytes, code_page, self.object.snapshot.header.byte_order).to_string_lossy())
    }
}

/// One counter of an object of a [`Snapshot`], for all of its instances. It returns the same as
/// [`SnapshotInstance`], at a lower cost when many instances are read.
#[derive(Debug, Clone, Copy)]
pub struct SnapshotColumn<'s> {
    object: SnapshotObject<'s>,
    instances: &'s [InstanceEntry],
    reader: SampleReader<'s>,
}

impl<'s> SnapshotColumn<'s> {
    /// Whether the object has an instance at a position.
    pub const fn has(&self, instance: usize) -> bool {
        instance < self.instances.len()
    }

    /// The sample of an instance.
    ///
    /// # Errors
    ///
    /// There is no such instance, or as for [`SnapshotInstance::sample`].
    #[inline]
    pub fn sample(&self, instance: usize) -> Result<Sample, NoValue> {
        let entry = self.instances.get(instance).ok_or(NoValue::NoInstance)?;
        self.reader.sample(SnapshotInstance { object: self.object, entry }.counter_block())
    }

    /// Whether the value of an instance is present. A position without an instance counts as present.
    #[inline]
    pub fn state(&self, instance: usize) -> ValueState {
        let entry = self.instances.get(instance);
        entry.map_or(ValueState::Present, |entry| {
            self.reader.state(SnapshotInstance { object: self.object, entry }.counter_block())
        })
    }

    /// The text of an instance, if this is a text counter.
    pub fn text(&self, instance: usize) -> Option<String> {
        let entry = self.instances.get(instance)?;
        SnapshotInstance { object: self.object, entry }.text_of(self.reader.definition())
    }
}

impl<'s> SnapshotObject<'s> {
    #[inline]
    fn slice(&self, (at, length): (u32, u32)) -> &'s [u8] {
        let at = usize::try_from(at).unwrap_or(usize::MAX);
        let end = at.saturating_add(usize::try_from(length).unwrap_or(usize::MAX));
        self.snapshot.bytes.get(at..end).unwrap_or_default()
    }
}
