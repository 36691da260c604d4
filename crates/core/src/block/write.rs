//! Writes data blocks. The writer computes every length, offset and alignment; the caller computes none.
//!
//! Callers need not handle a buffer that is too small: the writer keeps counting, and reports the needed
//! length at the end.

use alloc::vec::Vec;
use core::fmt;

use super::block_memory::{BlockMemory, CachedRange};
use super::cached_instances::CachedInstances;
use super::counts::WriteCounts;
use super::encode::{length_u32, put, put_definition, put_u32, put_u64, put_wide};
use super::layout::{
    ALIGNMENT, counter_block, counter_definition, data_block, instance_definition, object_type,
};
use super::read_info::ReadInfo;
use super::spec::{InstanceKind, ObjectLayout, align};
use super::states;
use super::values::CounterBlockMut;
use super::view::{NumInstances, Parent};
use crate::counter::CounterType;
use crate::time::{FileTime, Frequency, PerfTime, UNITS_PER_SECOND};
use crate::title::TitleIndex;

/// The caller's part of a data block's header.
#[derive(Debug, Clone, Copy)]
pub struct WriteHeader<'a> {
    /// Name of the machine.
    pub system_name: &'a str,
    /// The default object of a viewer, -1 for none.
    pub default_object: i32,
    /// Current time of the performance clock.
    pub perf_time: PerfTime,
    /// Ticks per second of the performance clock.
    pub perf_freq: Frequency,
    /// Current UTC time, on a clock that does not jump.
    pub perf_time_100ns: FileTime,
    /// Current UTC time, on the wall clock.
    pub system_time: FileTime,
}

impl<'a> WriteHeader<'a> {
    /// The header of a block of `system_name` without a default object and without times: every clock is 0. It is for
    /// blocks whose times stand elsewhere or are not looked at.
    #[must_use]
    pub const fn named(system_name: &'a str) -> Self {
        Self {
            system_name,
            default_object: -1,
            perf_time: PerfTime(0),
            perf_freq: Frequency(0),
            perf_time_100ns: FileTime(0),
            system_time: FileTime(0),
        }
    }
}

/// The buffer is too small, and its contents are undefined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BufferTooSmall {
    /// Size of the whole answer in bytes.
    pub needed: usize,
}

impl fmt::Display for BufferTooSmall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the buffer is too small: {} bytes are needed", self.needed)
    }
}

impl core::error::Error for BufferTooSmall {}

/// Writes a whole data block: a header, then objects.
#[derive(Debug)]
pub struct BlockWriter<'b> {
    objects: ObjectsWriter<'b>,
}

impl<'b> BlockWriter<'b> {
    /// Starts a block in a growing buffer. The old contents are overwritten; the memory is reused.
    pub fn growing(buffer: &'b mut Vec<u8>, header: &WriteHeader<'_>) -> BlockWriter<'b> {
        buffer.clear();
        BlockWriter::start(ObjectsWriter::new(Output::Growing(buffer)), header)
    }

    /// Starts a block in the growing memory of a previous one. The memory holds the block once it is
    /// [finished](BlockWriter::finish); before that, its contents are undefined.
    pub fn over(memory: &'b mut BlockMemory, header: &WriteHeader<'_>) -> BlockWriter<'b> {
        let BlockMemory { bytes, cached_ranges } = memory;
        let previous = core::mem::take(cached_ranges);
        let objects = ObjectsWriter::new(Output::Growing(bytes));
        BlockWriter::start(
            ObjectsWriter {
                cached_ranges: Some(CachedRanges { previous, current: cached_ranges }),
                ..objects
            },
            header,
        )
    }

    /// Starts a block in a buffer of fixed size.
    pub fn fixed(buffer: &'b mut [u8], header: &WriteHeader<'_>) -> BlockWriter<'b> {
        BlockWriter::start(ObjectsWriter::new(Output::Fixed(buffer)), header)
    }

    fn start(mut objects: ObjectsWriter<'b>, header: &WriteHeader<'_>) -> BlockWriter<'b> {
        use data_block as field;
        let units = header.system_name.encode_utf16().count();
        let name_length = if units == 0 { 0 } else { units.saturating_add(1).saturating_mul(2) };
        let length = align(field::SIZE.saturating_add(name_length), ALIGNMENT);
        if let Some(b) = objects.reserve(length) {
            put(b, field::SIGNATURE, b"P\0E\0R\0F\0");
            put_u32(b, field::LITTLE_ENDIAN, 1);
            put_u32(b, field::VERSION, 1);
            put_u32(b, field::REVISION, 1);
            put_u32(b, field::HEADER_LENGTH, length_u32(length));
            put_u32(b, field::DEFAULT_OBJECT, header.default_object.cast_unsigned());
            let t = header.system_time.system_time();
            for (n, part) in
                [t.year, t.month, t.day_of_week, t.day, t.hour, t.minute, t.second, t.milliseconds]
                    .iter()
                    .enumerate()
            {
                put(b, field::SYSTEM_TIME.saturating_add(n.saturating_mul(2)), &part.to_le_bytes());
            }
            put_u64(b, field::PERF_TIME, header.perf_time.0.cast_unsigned());
            put_u64(b, field::PERF_FREQ, header.perf_freq.0.cast_unsigned());
            put_u64(b, field::PERF_TIME_100NS, header.perf_time_100ns.0);
            put_u32(b, field::SYSTEM_NAME_LENGTH, length_u32(name_length));
            put_u32(b, field::SYSTEM_NAME_OFFSET, length_u32(field::SIZE));
            put_wide(b, field::SIZE, header.system_name);
        }
        BlockWriter { objects }
    }

    /// The writer for the objects.
    pub const fn objects(&mut self) -> &mut ObjectsWriter<'b> {
        &mut self.objects
    }

    /// Ends the block and returns its length.
    ///
    /// # Errors
    ///
    /// The buffer was too small.
    pub fn finish(mut self) -> Result<usize, BufferTooSmall> {
        let length = self.objects.at;
        let count = self.objects.count;
        self.objects.patch_u32(data_block::TOTAL_BYTE_LENGTH, length_u32(length));
        self.objects.patch_u32(data_block::NUM_OBJECT_TYPES, count);
        self.objects.finish()
    }
}

/// Writes consecutive objects: the answer of a provider.
#[derive(Debug)]
pub struct ObjectsWriter<'b> {
    output: Output<'b>,
    /// Length so far, written or only counted.
    at: usize,
    count: u32,
    counts: WriteCounts,
    read_infos: Vec<ReadInfo>,
    /// Offset and name of the last object.
    last: Option<(usize, TitleIndex)>,
    /// Receives values that no longer fit, so that callers need not check.
    scratch: Vec<u8>,
    /// `None` for memory with unknown contents.
    cached_ranges: Option<CachedRanges<'b>>,
}

/// How far the objects of an [`ObjectsWriter`] are written.
#[derive(Debug, Clone)]
pub struct WritePosition {
    at: usize,
    count: u32,
    counts: WriteCounts,
    read_infos: usize,
    cached_ranges: usize,
}

/// The ranges of a block's memory that hold cached instances.
#[derive(Debug)]
struct CachedRanges<'b> {
    /// Ranges in the previous block.
    previous: Vec<CachedRange>,
    /// Ranges in the current block.
    current: &'b mut Vec<CachedRange>,
}

#[derive(Debug)]
enum Output<'b> {
    /// Bytes past the length so far belong to the previous block.
    Growing(&'b mut Vec<u8>),
    Fixed(&'b mut [u8]),
}

impl<'b> ObjectsWriter<'b> {
    fn new(output: Output<'b>) -> ObjectsWriter<'b> {
        ObjectsWriter {
            output,
            at: 0,
            count: 0,
            counts: WriteCounts::default(),
            read_infos: Vec::new(),
            last: None,
            scratch: Vec::new(),
            cached_ranges: None,
        }
    }

    /// Starts objects without a block header in a buffer of fixed size: the buffer of a Collect call.
    pub fn fixed(buffer: &'b mut [u8]) -> ObjectsWriter<'b> {
        ObjectsWriter::new(Output::Fixed(buffer))
    }

    /// Starts objects without a block header in a growing buffer.
    pub fn growing(buffer: &'b mut Vec<u8>) -> ObjectsWriter<'b> {
        buffer.clear();
        ObjectsWriter::new(Output::Growing(buffer))
    }

    /// Number of objects so far.
    pub const fn count(&self) -> u32 {
        self.count
    }

    /// Counts of what was written so far, without the objects of [`ObjectsWriter::append`].
    pub const fn counts(&self) -> &WriteCounts {
        &self.counts
    }

    /// How far the objects are written, for [`ObjectsWriter::rewind`].
    pub fn position(&self) -> WritePosition {
        WritePosition {
            at: self.at,
            count: self.count,
            counts: self.counts,
            read_infos: self.read_infos.len(),
            cached_ranges: self.cached_ranges.as_ref().map_or(0, |ranges| ranges.current.len()),
        }
    }

    /// Removes what was written after a position of this writer: the objects of a provider that failed.
    pub fn rewind(&mut self, position: &WritePosition) {
        let WritePosition { at, count, counts, read_infos, cached_ranges } = *position;
        (self.at, self.count, self.counts) = (at, count, counts);
        self.last = None;
        self.read_infos.truncate(read_infos);
        if let Some(found) = &mut self.cached_ranges {
            found.current.truncate(cached_ranges);
            // The removed objects may have overwritten cached instances of the previous block.
            found.previous.retain(|range| range.start.saturating_add(range.length) <= at);
        }
    }

    /// Adds facts about the reading of the last object of [`ObjectsWriter::object`]. `stamp` is the time at
    /// which the object's clock was read, on the clock of the window. An object clock of 10 MHz is moved from
    /// there to the middle of the window.
    ///
    /// Does nothing if there is no such object, or if its name differs from that in `info`.
    pub fn add_read_info(&mut self, info: ReadInfo, stamp: FileTime) {
        use object_type as field;
        let Some((start, _)) = self.last.filter(|(_, name)| *name == info.object) else { return };
        let at = start.saturating_add(field::PERF_TIME);
        let frequency = self.u64_at(start.saturating_add(field::PERF_FREQ));
        if frequency == Some(UNITS_PER_SECOND)
            && let Some(time) = self.u64_at(at)
        {
            let time = time.wrapping_add(info.window.middle().0.wrapping_sub(stamp.0));
            put_u64(self.buffer(), at, time);
        }
        self.read_infos.push(info);
    }

    /// Takes the facts added by [`ObjectsWriter::add_read_info`] so far, for
    /// [`Snapshot::with_read_infos`](super::Snapshot::with_read_infos).
    pub fn take_read_infos(&mut self) -> Vec<ReadInfo> {
        core::mem::take(&mut self.read_infos)
    }

    /// Ends the objects and returns their length.
    ///
    /// # Errors
    ///
    /// The buffer was too small.
    pub fn finish(self) -> Result<usize, BufferTooSmall> {
        match self.output {
            Output::Fixed(buffer) if buffer.len() < self.at => {
                return Err(BufferTooSmall { needed: self.at });
            }
            Output::Fixed(_) => {}
            Output::Growing(buffer) => buffer.truncate(self.at),
        }
        Ok(self.at)
    }

    /// Appends `count` unchanged objects of another writer. The caller is responsible for checking them; see
    /// [`Objects::bare`](super::Objects::bare).
    pub fn append(&mut self, objects: &[u8], count: u32) {
        self.put_bytes(objects);
        self.count = self.count.saturating_add(count);
    }

    /// Appends these bytes, as far as they fit.
    fn put_bytes(&mut self, bytes: &[u8]) {
        let start = self.at;
        self.at = self.at.saturating_add(bytes.len());
        match &mut self.output {
            Output::Growing(buffer) => {
                // The previous block's contents after this point have usually moved.
                buffer.truncate(start);
                buffer.extend_from_slice(bytes);
            }
            Output::Fixed(buffer) => {
                if let Some(part) = buffer.get_mut(start..self.at) {
                    part.copy_from_slice(bytes);
                }
            }
        }
    }

    /// Appends cached instances. Where the memory already holds them, only those that have changed since are
    /// copied.
    fn put_cached(&mut self, cached: &CachedInstances) {
        let (start, length, version) = (self.at, cached.bytes().len(), cached.version());
        let now = CachedRange { start, length, version };
        let previous = self.cached_ranges.iter().flat_map(|ranges| &ranges.previous);
        let previous = previous.copied().find(|range| range.same_instances(&now));
        let end = start.saturating_add(length);
        if let (Some(previous), Output::Growing(buffer)) = (previous, &mut self.output)
            && let Some(copy) = buffer.get_mut(start..end)
        {
            cached.update(copy, previous.version);
            self.at = end;
        } else {
            self.put_bytes(cached.bytes());
        }
        if let Some(ranges) = &mut self.cached_ranges {
            ranges.current.push(now);
        }
    }

    /// Starts an object with values at time `perf_time` of a clock with frequency `perf_freq`; both are 0 if
    /// the object has no clock of its own. The object ends when the returned writer is dropped.
    pub fn object<'w, 'l>(
        &'w mut self,
        layout: &'l ObjectLayout<'l>,
        perf_time: PerfTime,
        perf_freq: Frequency,
    ) -> ObjectWriter<'w, 'b, 'l> {
        use object_type as field;
        let start = self.at;
        let spec = layout.spec;
        self.last = Some((start, spec.name));
        let definitions = layout.slots.len().saturating_add(usize::from(layout.status.is_some()));
        if let Some(b) = self.reserve(layout.definition_length) {
            put_u32(b, field::DEFINITION_LENGTH, length_u32(layout.definition_length));
            put_u32(b, field::HEADER_LENGTH, length_u32(field::SIZE));
            put_u32(b, field::NAME_TITLE_INDEX, spec.name.0);
            put_u32(b, field::HELP_TITLE_INDEX, spec.help.0);
            put_u32(b, field::DETAIL_LEVEL, spec.detail.0);
            put_u32(b, field::NUM_COUNTERS, length_u32(definitions));
            put_u32(b, field::DEFAULT_COUNTER, u32::from(spec.default_counter));
            put_u64(b, field::PERF_TIME, perf_time.0.cast_unsigned());
            put_u64(b, field::PERF_FREQ, perf_freq.0.cast_unsigned());
            let mut at = field::SIZE;
            for (counter, slot) in spec.counters.iter().zip(&layout.slots) {
                put_definition(
                    b,
                    at,
                    [
                        counter.name.0,
                        counter.help.0,
                        counter.scale.cast_unsigned(),
                        counter.detail.0,
                        counter.counter_type.0,
                        length_u32(slot.size),
                        length_u32(slot.offset),
                    ],
                );
                at = at.saturating_add(counter_definition::SIZE);
            }
            if let Some((offset, size)) = layout.status {
                let detail = super::DetailLevel::WIZARD.0;
                let kind = CounterType::VALUE_STATUS.0;
                put_definition(b, at, [0, 0, 0, detail, kind, length_u32(size), length_u32(offset)]);
            }
        }
        self.count = self.count.saturating_add(1);
        self.counts.objects = self.counts.objects.saturating_add(1);
        ObjectWriter { objects: self, layout, start, instances: 0, single: false, metadata: false }
    }

    /// The next `length` bytes, zeroed; `None` if they do not fit.
    fn reserve(&mut self, length: usize) -> Option<&mut [u8]> {
        let start = self.at;
        self.at = self.at.saturating_add(length);
        match &mut self.output {
            Output::Growing(buffer) => zeroed(buffer, start, self.at),
            Output::Fixed(buffer) => {
                let part = buffer.get_mut(start..self.at)?;
                part.fill(0);
                Some(part)
            }
        }
    }

    fn patch_u32(&mut self, at: usize, value: u32) {
        put_u32(self.buffer(), at, value);
    }

    fn buffer(&mut self) -> &mut [u8] {
        match &mut self.output {
            Output::Growing(buffer) => buffer,
            Output::Fixed(buffer) => buffer,
        }
    }

    fn u64_at(&mut self, at: usize) -> Option<u64> {
        let bytes = self.buffer().get(at..)?.first_chunk::<8>()?;
        Some(u64::from_le_bytes(*bytes))
    }
}

/// Writes one object: its instances, or its single set of values.
#[derive(Debug)]
pub struct ObjectWriter<'w, 'b, 'l> {
    objects: &'w mut ObjectsWriter<'b>,
    layout: &'l ObjectLayout<'l>,
    start: usize,
    instances: u32,
    single: bool,
    metadata: bool,
}

impl ObjectWriter<'_, '_, '_> {
    /// The values of an object without instances, all 0 until they are set. Call it once: a second call
    /// writes a second block, which no reader sees.
    pub fn single(&mut self) -> CounterBlockMut<'_> {
        self.single = true;
        let layout = self.layout;
        self.reserve_block(0, layout.block_length)
    }

    /// The same with space for the numbers of partial sums.
    pub fn single_sums(&mut self) -> CounterBlockMut<'_> {
        self.single = true;
        let layout = self.layout;
        self.reserve_block(0, layout.block_length.saturating_add(states::LENGTH))
    }

    /// Adds an instance. All its values are 0 until they are set.
    pub fn instance(
        &mut self,
        name: &str,
        parent: Option<Parent>,
        unique_id: Option<i32>,
    ) -> CounterBlockMut<'_> {
        let length = self.layout.block_length;
        self.instance_of(length, name, parent, unique_id)
    }

    /// Adds an instance whose values are sums over others, such as `_Total`: with space for the numbers of
    /// partial sums, 56 bytes.
    pub fn sums(&mut self, name: &str, parent: Option<Parent>) -> CounterBlockMut<'_> {
        let length = self.layout.block_length.saturating_add(states::LENGTH);
        self.instance_of(length, name, parent, None)
    }

    fn instance_of(
        &mut self,
        length: usize,
        name: &str,
        parent: Option<Parent>,
        unique_id: Option<i32>,
    ) -> CounterBlockMut<'_> {
        self.instances = self.instances.saturating_add(1);
        let block = self.reserve_block(definition_length(self.layout, name), length);
        put_instance(block.definition, name, parent, unique_id);
        CounterBlockMut { definition: &mut [], ..block }
    }

    /// Appends instances that were encoded before. Instances of another layout are left out.
    pub fn append_cached(&mut self, cached: &CachedInstances) {
        if !cached.has_layout(self.layout) {
            return;
        }
        let counts = cached.counts();
        self.instances = self.instances.saturating_add(u32::try_from(counts.instances).unwrap_or(u32::MAX));
        self.objects.counts.add(counts);
        self.objects.put_cached(cached);
    }

    /// Ends the object with its definitions only: the answer to a metadata query.
    pub fn metadata(mut self) {
        self.metadata = true;
    }

    /// Number of instances so far.
    pub const fn instances(&self) -> u32 {
        self.instances
    }

    fn reserve_block(&mut self, definition: usize, block: usize) -> CounterBlockMut<'_> {
        let length = definition.saturating_add(block);
        let layout = self.layout;
        let start = self.objects.at;
        self.objects.at = start.saturating_add(length);
        let end = self.objects.at;
        let ObjectsWriter { output, scratch, counts, .. } = &mut *self.objects;
        counts.instance(layout.slots.len());
        let part = match output {
            Output::Growing(buffer) => zeroed(buffer, start, end),
            Output::Fixed(buffer) => match buffer.get_mut(start..end) {
                Some(part) => {
                    part.fill(0);
                    Some(part)
                }
                None => {
                    scratch.clear();
                    scratch.resize(length, 0);
                    Some(scratch.as_mut_slice())
                }
            },
        };
        let (definition, data) =
            part.unwrap_or_default().split_at_mut_checked(definition).unwrap_or_default();
        put_u32(data, counter_block::BYTE_LENGTH, length_u32(block));
        CounterBlockMut { definition, data, slots: &layout.slots, status: layout.status, counts }
    }
}

/// The bytes from `start` to `end`, zeroed. Their old contents belong to the previous block.
fn zeroed(buffer: &mut Vec<u8>, start: usize, end: usize) -> Option<&mut [u8]> {
    let known = buffer.len().min(end);
    if let Some(stale) = buffer.get_mut(start..known) {
        stale.fill(0);
    }
    if known < end {
        buffer.resize(end, 0);
    }
    buffer.get_mut(start..end)
}

/// Length of an instance definition in bytes, including the name.
pub(super) fn definition_length(layout: &ObjectLayout<'_>, name: &str) -> usize {
    align(instance_definition::SIZE.saturating_add(name_length(name)), layout.alignment)
}

/// Length of a name in UTF-16 with its terminator, in bytes.
fn name_length(name: &str) -> usize {
    let units = if name.is_ascii() { name.len() } else { name.encode_utf16().count() };
    units.saturating_add(1).saturating_mul(2)
}

/// Writes an instance definition into zeroed bytes.
pub(super) fn put_instance(b: &mut [u8], name: &str, parent: Option<Parent>, unique_id: Option<i32>) {
    use instance_definition as field;
    put_u32(b, field::BYTE_LENGTH, length_u32(b.len()));
    if let Some(parent) = parent {
        put_u32(b, field::PARENT_OBJECT_TITLE_INDEX, parent.object.0);
        put_u32(b, field::PARENT_OBJECT_INSTANCE, parent.instance);
    }
    put_u32(b, field::UNIQUE_ID, unique_id.unwrap_or(-1).cast_unsigned());
    put_u32(b, field::NAME_OFFSET, length_u32(field::SIZE));
    put_u32(b, field::NAME_LENGTH, length_u32(name_length(name)));
    put_wide(b, field::SIZE, name);
}

impl Drop for ObjectWriter<'_, '_, '_> {
    fn drop(&mut self) {
        let instances = match self.layout.spec.instances {
            InstanceKind::Many if self.metadata => NumInstances::MetadataMany,
            InstanceKind::Many => NumInstances::Many(self.instances),
            InstanceKind::None if self.single => NumInstances::None,
            InstanceKind::None => NumInstances::MetadataNone,
        };
        let unpadded = self.objects.at.saturating_sub(self.start);
        let length = align(unpadded, ALIGNMENT);
        self.objects.reserve(length.saturating_sub(unpadded));
        let start = self.start;
        let field = |offset: usize| start.saturating_add(offset);
        self.objects.patch_u32(field(object_type::TOTAL_BYTE_LENGTH), length_u32(length));
        self.objects.patch_u32(field(object_type::NUM_INSTANCES), instances.to_raw().cast_unsigned());
    }
}
