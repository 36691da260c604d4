//! Encoded instances, kept from one block to the next.

use alloc::vec::Vec;

use super::block_memory::CacheVersion;
use super::counts::WriteCounts;
use super::encode::{length_u32, put_u32};
use super::layout::counter_block;
use super::spec::ObjectLayout;
use super::values::CounterBlockMut;
use super::view::Parent;
use super::write::{definition_length, put_instance};
use crate::title::TitleIndex;

/// Encoded instances of one layout, for a provider whose instances mostly keep their values from sample to
/// sample: copying them costs a tenth of encoding them again.
///
/// ```
/// use tallymon_core::block::{CounterSpec, InstanceKind, CachedInstances, ObjectLayout, ObjectSpec};
/// use tallymon_core::counter::CounterType;
/// use tallymon_core::title::TitleIndex;
///
/// let counters = [CounterSpec::new(TitleIndex(2_002), CounterType::PERF_COUNTER_RAWCOUNT)];
/// let layout = ObjectLayout::new(ObjectSpec::new(TitleIndex(2_000), InstanceKind::Many, &counters));
/// let mut cached = CachedInstances::default();
/// for name in ["one", "two"] {
///     cached.push(&layout, name, None, None, |values| values.set(0, 1));
/// }
/// // The next sample: one of them has changed.
/// assert!(cached.rewrite(&layout, 1, |values| values.set(0, 2)));
/// // Then `ObjectWriter::append_cached` writes them all.
/// ```
#[derive(Debug, Default)]
pub struct CachedInstances {
    bytes: Vec<u8>,
    blocks: Vec<CachedBlock>,
    counts: WriteCounts,
    /// Layout of the first instance; all others must have the same one.
    layout: Option<LayoutKey>,
    version: CacheVersion,
}

/// Object name, length of a counter block, alignment.
type LayoutKey = (TitleIndex, usize, usize);

fn layout_key(layout: &ObjectLayout<'_>) -> LayoutKey {
    (layout.spec.name, layout.block_length, layout.alignment)
}

/// Where an instance is in the bytes. A position without an instance has an empty range at the end of the
/// previous one.
#[derive(Debug, Clone, Copy)]
struct CachedBlock {
    /// Offset of its counter block.
    data: usize,
    end: usize,
    /// Revision of the set at which this instance last changed.
    revision: u64,
}

impl CachedInstances {
    /// Removes all instances and keeps their memory for reuse.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.blocks.clear();
        self.counts = WriteCounts::default();
        self.layout = None;
    }

    /// Adds an instance at the next position. All its values are 0 until they are set. If its layout differs
    /// from that of the others, the position stays empty, as after [`CachedInstances::skip`].
    pub fn push(
        &mut self,
        layout: &ObjectLayout<'_>,
        name: &str,
        parent: Option<Parent>,
        unique_id: Option<i32>,
        write: impl FnOnce(&mut CounterBlockMut<'_>),
    ) {
        if self.layout.is_none() {
            self.version = CacheVersion::new();
        }
        if *self.layout.get_or_insert_with(|| layout_key(layout)) != layout_key(layout) {
            return self.skip();
        }
        self.version = self.version.next();
        let start = self.bytes.len();
        let data = start.saturating_add(definition_length(layout, name));
        let end = data.saturating_add(layout.block_length);
        self.bytes.resize(end, 0);
        if let Some(definition) = self.bytes.get_mut(start..data) {
            put_instance(definition, name, parent, unique_id);
        }
        let entry = CachedBlock { data, end, revision: self.version.revision };
        self.blocks.push(entry);
        self.counts.instance(layout.slots.len());
        self.fill(layout, entry, write);
    }

    /// Adds a position without an instance, so that later instances keep the position that they have
    /// elsewhere.
    pub fn skip(&mut self) {
        let end = self.bytes.len();
        self.blocks.push(CachedBlock { data: end, end, revision: 0 });
    }

    /// Clears the values of the instance at a position and sets them again. Returns false if there is no such
    /// instance, or if the layout differs from that of [`CachedInstances::push`].
    pub fn rewrite(
        &mut self,
        layout: &ObjectLayout<'_>,
        position: usize,
        write: impl FnOnce(&mut CounterBlockMut<'_>),
    ) -> bool {
        let has_layout = self.has_layout(layout);
        let entry = self.blocks.get_mut(position).filter(|entry| has_layout && entry.data < entry.end);
        let Some(entry) = entry else { return false };
        let Some(data) = self.bytes.get_mut(entry.data..entry.end) else { return false };
        self.version = self.version.next();
        entry.revision = self.version.revision;
        let entry = *entry;
        self.counts.take_back(states(layout, data));
        data.fill(0);
        self.fill(layout, entry, write);
        true
    }

    /// Whether the instances have this layout. An empty set has every layout.
    pub(super) fn has_layout(&self, layout: &ObjectLayout<'_>) -> bool {
        self.layout.is_none_or(|own| own == layout_key(layout))
    }

    /// The bytes of all instances, as in a block.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Identity and revision of this set.
    pub(super) fn version(&self) -> CacheVersion {
        self.version
    }

    /// Copies the instances that have changed since `version` into `copy`, an older copy of all bytes.
    pub(super) fn update(&self, copy: &mut [u8], version: CacheVersion) {
        for entry in self.blocks.iter().filter(|entry| entry.revision > version.revision) {
            let range = entry.data..entry.end;
            if let (Some(to), Some(from)) = (copy.get_mut(range.clone()), self.bytes.get(range)) {
                to.copy_from_slice(from);
            }
        }
    }

    /// Counts of the values and marks in all instances.
    pub(super) fn counts(&self) -> &WriteCounts {
        &self.counts
    }

    fn fill(
        &mut self,
        layout: &ObjectLayout<'_>,
        entry: CachedBlock,
        write: impl FnOnce(&mut CounterBlockMut<'_>),
    ) {
        let data = self.bytes.get_mut(entry.data..entry.end).unwrap_or_default();
        put_u32(data, counter_block::BYTE_LENGTH, length_u32(layout.block_length));
        // Marks are counted from the finished bytes, so that `take_back` can subtract exactly the same ones.
        let mut marks = WriteCounts::default();
        write(&mut CounterBlockMut {
            definition: &mut [],
            data: &mut *data,
            slots: &layout.slots,
            status: layout.status,
            counts: &mut marks,
        });
        self.counts.add_states(states(layout, data));
    }
}

/// The status bytes of a counter block.
fn states<'d>(layout: &ObjectLayout<'_>, data: &'d [u8]) -> &'d [u8] {
    let found = layout.status.and_then(|(offset, size)| data.get(offset..offset.checked_add(size)?));
    found.unwrap_or_default()
}
