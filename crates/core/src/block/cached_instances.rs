//! Instances as they were written, kept from one block to the next.

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

/// Instances of one layout as they stand in a block, for a provider of which most instances have the values of the sample before:
/// copying them costs a tenth of writing them anew.
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
    /// What the layout of the first of them is known by.
    layout: Option<LayoutKey>,
    version: CacheVersion,
}

/// Name, length of a counter block, and alignment.
type LayoutKey = (TitleIndex, usize, usize);

fn layout_key(layout: &ObjectLayout<'_>) -> LayoutKey {
    (layout.spec.name, layout.block_length, layout.alignment)
}

/// Where an instance stands; both are the end of the one before for a entry without one.
#[derive(Debug, Clone, Copy)]
struct CachedBlock {
    /// Where its counter block begins.
    data: usize,
    end: usize,
    /// After how many changes of all of them it was changed last.
    revision: u64,
}

impl CachedInstances {
    /// Forgets all instances; their memory is used again.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.blocks.clear();
        self.counts = WriteCounts::default();
        self.layout = None;
    }

    /// Adds an instance at the next position. All its values are 0 until they are set. One of another layout than the others is
    /// left out, as by [`CachedInstances::skip`].
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

    /// Adds a position at which there is no instance, so that others keep the numbers that they have elsewhere.
    pub fn skip(&mut self) {
        let end = self.bytes.len();
        self.blocks.push(CachedBlock { data: end, end, revision: 0 });
    }

    /// Sets the values of the instance at a position anew; all of them are 0 until they are set. False when there is none, and
    /// when the layout is another one than that of [`CachedInstances::push`].
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

    /// Whether they are of this layout; none is of any.
    pub(super) fn has_layout(&self, layout: &ObjectLayout<'_>) -> bool {
        self.layout.is_none_or(|own| own == layout_key(layout))
    }

    /// What stands in a block for all of them.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Which they are.
    pub(super) fn version(&self) -> CacheVersion {
        self.version
    }

    /// Brings up to date what was a copy of all of them.
    pub(super) fn update(&self, copy: &mut [u8], version: CacheVersion) {
        for entry in self.blocks.iter().filter(|entry| entry.revision > version.revision) {
            let range = entry.data..entry.end;
            if let (Some(to), Some(from)) = (copy.get_mut(range.clone()), self.bytes.get(range)) {
                to.copy_from_slice(from);
            }
        }
    }

    /// What was written.
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
        // What it marks is counted once it is all there, so that it can be taken back.
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

/// The bytes of a counter block that say which values are there.
fn states<'d>(layout: &ObjectLayout<'_>, data: &'d [u8]) -> &'d [u8] {
    let found = layout.status.and_then(|(offset, size)| data.get(offset..offset.checked_add(size)?));
    found.unwrap_or_default()
}
