//! Makes data blocks. Every length, offset and alignment is made here, none by the caller.
//!
//! A buffer that is too small is no special case for the caller: the writer goes on counting, and says at the end how
//! much was needed.

use alloc::vec::Vec;
use core::fmt;

use super::counts::WriteCounts;
use super::kept::KeptInstances;
use super::layout::{
    ALIGNMENT, counter_block, counter_definition, data_block, instance_definition, object_type,
};
use super::memory::{BlockMemory, Repeated};
use super::note::ObjectNote;
use super::put::{length_u32, put, put_definition, put_u32, put_u64, put_wide};
use super::spec::{InstanceKind, ObjectLayout, align};
use super::values::CounterBlockMut;
use super::view::{NumInstances, Parent};
use crate::counter::CounterType;
use crate::time::{FileTime, Frequency, PerfTime, UNITS_PER_SECOND};
use crate::title::TitleIndex;

/// What the header of a data block says.
#[derive(Debug, Clone, Copy)]
pub struct WriteHeader<'a> {
    /// Name of the machine.
    pub system_name: &'a str,
    /// The object that a viewer shows first, -1 for none.
    pub default_object: i32,
    /// Performance clock now.
    pub perf_time: PerfTime,
    /// Ticks per second of the performance clock.
    pub perf_freq: Frequency,
    /// UTC now, on a clock that does not jump.
    pub perf_time_100ns: FileTime,
    /// UTC now, on the clock that people read.
    pub system_time: FileTime,
}

/// The buffer is too small; nothing of use is in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NeedMore {
    /// Bytes that the whole answer takes.
    pub needed: usize,
}

impl fmt::Display for NeedMore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the buffer is too small: {} bytes are needed", self.needed)
    }
}

impl core::error::Error for NeedMore {}

/// Writes a whole data block: a header and then objects.
#[derive(Debug)]
pub struct BlockWriter<'b> {
    objects: ObjectsWriter<'b>,
}

impl<'b> BlockWriter<'b> {
    /// Starts a block in a buffer that grows as needed. What was in it is overwritten; its memory is used again.
    pub fn growing(buffer: &'b mut Vec<u8>, header: &WriteHeader<'_>) -> BlockWriter<'b> {
        buffer.clear();
        BlockWriter::start(ObjectsWriter::new(Output::Growing(buffer)), header)
    }

    /// Starts a block in the memory of another one, which grows as needed. The memory holds the block once it is
    /// [finished](BlockWriter::finish), and until then nothing of use.
    pub fn over(memory: &'b mut BlockMemory, header: &WriteHeader<'_>) -> BlockWriter<'b> {
        let BlockMemory { bytes, repeated } = memory;
        let there = core::mem::take(repeated);
        let objects = ObjectsWriter::new(Output::Growing(bytes));
        BlockWriter::start(
            ObjectsWriter { repeats: Some(Repeats { there, now: repeated }), ..objects },
            header,
        )
    }

    /// Starts a block in a buffer of a fixed size.
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

    /// Where the objects go.
    pub const fn objects(&mut self) -> &mut ObjectsWriter<'b> {
        &mut self.objects
    }

    /// Ends the block and says how long it is.
    ///
    /// # Errors
    ///
    /// The buffer was too small.
    pub fn finish(mut self) -> Result<usize, NeedMore> {
        let length = self.objects.at;
        let count = self.objects.count;
        self.objects.patch_u32(data_block::TOTAL_BYTE_LENGTH, length_u32(length));
        self.objects.patch_u32(data_block::NUM_OBJECT_TYPES, count);
        self.objects.finish()
    }
}

/// Writes objects one behind the other: what a provider answers with.
#[derive(Debug)]
pub struct ObjectsWriter<'b> {
    output: Output<'b>,
    /// Length so far, whether it was written or only counted.
    at: usize,
    count: u32,
    counts: WriteCounts,
    notes: Vec<ObjectNote>,
    /// Where the last object begins, and which it is.
    last: Option<(usize, TitleIndex)>,
    /// Takes what no longer fits, so that callers need not know.
    scratch: Vec<u8>,
    /// `None` in memory of which nothing is known.
    repeats: Option<Repeats<'b>>,
}

/// How far the objects of an [`ObjectsWriter`] are written.
#[derive(Debug, Clone)]
pub struct WritePosition {
    at: usize,
    count: u32,
    counts: WriteCounts,
    notes: usize,
    repeats: usize,
}

/// Kept instances in the memory of a block.
#[derive(Debug)]
struct Repeats<'b> {
    /// What stands there of the block before.
    there: Vec<Repeated>,
    /// What stands there of this one.
    now: &'b mut Vec<Repeated>,
}

#[derive(Debug)]
enum Output<'b> {
    /// What stands behind the length so far is of another block.
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
            notes: Vec::new(),
            last: None,
            scratch: Vec::new(),
            repeats: None,
        }
    }

    /// Objects only, without a block header, in a buffer of a fixed size: the buffer of a Collect call.
    pub fn fixed(buffer: &'b mut [u8]) -> ObjectsWriter<'b> {
        ObjectsWriter::new(Output::Fixed(buffer))
    }

    /// Objects only, without a block header, in a buffer that grows.
    pub fn growing(buffer: &'b mut Vec<u8>) -> ObjectsWriter<'b> {
        buffer.clear();
        ObjectsWriter::new(Output::Growing(buffer))
    }

    /// Number of objects so far.
    pub const fn count(&self) -> u32 {
        self.count
    }

    /// What was written so far, objects of [`ObjectsWriter::append`] left out.
    pub const fn counts(&self) -> &WriteCounts {
        &self.counts
    }

    /// How far the objects are written, for [`ObjectsWriter::rewind`].
    pub fn position(&self) -> WritePosition {
        WritePosition {
            at: self.at,
            count: self.count,
            counts: self.counts,
            notes: self.notes.len(),
            repeats: self.repeats.as_ref().map_or(0, |repeats| repeats.now.len()),
        }
    }

    /// Removes what was written after a position of this writer: the objects of a provider that failed.
    pub fn rewind(&mut self, position: &WritePosition) {
        let WritePosition { at, count, counts, notes, repeats } = *position;
        (self.at, self.count, self.counts) = (at, count, counts);
        self.last = None;
        self.notes.truncate(notes);
        if let Some(found) = &mut self.repeats {
            found.now.truncate(repeats);
            // The removed objects may have overwritten kept instances of the block before.
            found.there.retain(|kept| kept.start.saturating_add(kept.length) <= at);
        }
    }

    /// Says when the last object of [`ObjectsWriter::object`] was read, and how fine its counts are. `stamp` is the moment that
    /// its clock was read at, on the clock of the window; a clock of 10 MHz is moved from there to the middle.
    ///
    /// Without effect when there is no such object, or it is not `object`.
    pub fn note(&mut self, note: ObjectNote, stamp: FileTime) {
        use object_type as field;
        let Some((start, _)) = self.last.filter(|(_, name)| *name == note.object) else { return };
        let at = start.saturating_add(field::PERF_TIME);
        let frequency = self.u64_at(start.saturating_add(field::PERF_FREQ));
        if frequency == Some(UNITS_PER_SECOND)
            && let Some(time) = self.u64_at(at)
        {
            let time = time.wrapping_add(note.window.middle().0.wrapping_sub(stamp.0));
            put_u64(self.buffer(), at, time);
        }
        self.notes.push(note);
    }

    /// Takes what was said by [`ObjectsWriter::note`] so far, for [`Snapshot::with_notes`](super::Snapshot::with_notes).
    pub fn take_notes(&mut self) -> Vec<ObjectNote> {
        core::mem::take(&mut self.notes)
    }

    /// Ends the objects and says how long they are.
    ///
    /// # Errors
    ///
    /// The buffer was too small.
    pub fn finish(self) -> Result<usize, NeedMore> {
        match self.output {
            Output::Fixed(buffer) if buffer.len() < self.at => return Err(NeedMore { needed: self.at }),
            Output::Fixed(_) => {}
            Output::Growing(buffer) => buffer.truncate(self.at),
        }
        Ok(self.at)
    }

    /// Appends `count` objects that somebody else wrote, as they are. Who checked them is the caller's matter; see
    /// [`Objects::bare`](super::Objects::bare).
    pub fn append(&mut self, objects: &[u8], count: u32) {
        self.put_bytes(objects);
        self.count = self.count.saturating_add(count);
    }

    /// These bytes next, as far as there is room.
    fn put_bytes(&mut self, bytes: &[u8]) {
        let start = self.at;
        self.at = self.at.saturating_add(bytes.len());
        match &mut self.output {
            Output::Growing(buffer) => {
                // What stood behind it has moved, as a rule.
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

    /// Kept instances next. Where they stand already, only those that have changed since are written.
    fn put_kept(&mut self, kept: &KeptInstances) {
        let (start, length, version) = (self.at, kept.bytes().len(), kept.version());
        let now = Repeated { start, length, version };
        let there = self.repeats.iter().flat_map(|repeats| &repeats.there);
        let there = there.copied().find(|there| there.is_as(&now));
        let end = start.saturating_add(length);
        if let (Some(there), Output::Growing(buffer)) = (there, &mut self.output)
            && let Some(copy) = buffer.get_mut(start..end)
        {
            kept.update(copy, there.version);
            self.at = end;
        } else {
            self.put_bytes(kept.bytes());
        }
        if let Some(repeats) = &mut self.repeats {
            repeats.now.push(now);
        }
    }

    /// Starts an object whose values are of `perf_time` on a clock of `perf_freq`; both 0 when the object has no clock
    /// of its own. The object ends when the writer that is returned goes away.
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

    /// The next `length` bytes, zeroed; `None` when they do not fit.
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
    /// The values of an object without instances. All are 0 until they are set. Called again, it starts over with a
    /// second block that nobody will read; call it once.
    pub fn single(&mut self) -> CounterBlockMut<'_> {
        self.single = true;
        let layout = self.layout;
        self.reserve_block(0, layout.block_length)
    }

    /// One more instance. All its values are 0 until they are set.
    pub fn instance(
        &mut self,
        name: &str,
        parent: Option<Parent>,
        unique_id: Option<i32>,
    ) -> CounterBlockMut<'_> {
        self.instances = self.instances.saturating_add(1);
        let layout = self.layout;
        let block = self.reserve_block(definition_length(layout, name), layout.block_length);
        put_instance(block.definition, name, parent, unique_id);
        CounterBlockMut { definition: &mut [], ..block }
    }

    /// Instances that were written before, as they are. Those of another layout than this object's are left out.
    pub fn repeat(&mut self, kept: &KeptInstances) {
        if !kept.is_of(self.layout) {
            return;
        }
        let counts = kept.counts();
        self.instances = self.instances.saturating_add(u32::try_from(counts.instances).unwrap_or(u32::MAX));
        self.objects.counts.add(counts);
        self.objects.put_kept(kept);
    }

    /// Ends the object with its definitions only: an answer to a metadata query.
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

/// The bytes from `start` to `end`, all 0. What stood there before is of another block.
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

/// Bytes of the definition of an instance, its name included.
pub(super) fn definition_length(layout: &ObjectLayout<'_>, name: &str) -> usize {
    align(instance_definition::SIZE.saturating_add(name_length(name)), layout.alignment)
}

/// Bytes of a name in UTF-16 with its terminator.
fn name_length(name: &str) -> usize {
    let units = if name.is_ascii() { name.len() } else { name.encode_utf16().count() };
    units.saturating_add(1).saturating_mul(2)
}

/// Puts the definition of an instance into bytes that are all 0.
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
