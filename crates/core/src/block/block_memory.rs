//! The memory of a discarded block, for reuse by the next block.

use alloc::vec::Vec;
use core::sync::atomic::{AtomicUsize, Ordering};

/// The memory of a block, for the next block.
///
/// [`ObjectWriter::append_cached`](super::ObjectWriter::append_cached) copies only what has changed: if the
/// same cached instances were at the same offset in the previous block, their bytes are still here.
#[derive(Debug, Clone, Default)]
pub struct BlockMemory {
    pub(super) bytes: Vec<u8>,
    pub(super) cached_ranges: Vec<CachedRange>,
}

/// A range of a block that holds cached instances.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CachedRange {
    /// Offset in the block, and number of bytes.
    pub(super) start: usize,
    pub(super) length: usize,
    pub(super) version: CacheVersion,
}

/// Identifies a set of cached instances and its revision.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct CacheVersion {
    cache: usize,
    pub(super) revision: u64,
}

impl CacheVersion {
    /// The version of a new set, which no memory holds yet.
    pub(super) fn new() -> CacheVersion {
        static NEXT: AtomicUsize = AtomicUsize::new(1);
        CacheVersion { cache: NEXT.fetch_add(1, Ordering::Relaxed), revision: 0 }
    }

    /// The version after one more change.
    #[must_use]
    pub(super) fn next(self) -> CacheVersion {
        CacheVersion { revision: self.revision.saturating_add(1), ..self }
    }
}

impl CachedRange {
    /// Whether both ranges hold the same instances at the same offset, so that only values can differ.
    pub(super) fn same_instances(&self, other: &CachedRange) -> bool {
        (self.start, self.length, self.version.cache) == (other.start, other.length, other.version.cache)
    }
}

impl BlockMemory {
    /// The bytes of the block, once it is written.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::super::{
        BlockWriter, CachedInstances, CounterSpec, InstanceKind, ObjectLayout, ObjectSpec, WriteHeader,
    };
    use super::*;
    use crate::counter::CounterType;
    use crate::time::{Frequency, PerfTime};
    use crate::title::TitleIndex;

    const COUNTERS: [CounterSpec; 1] =
        [CounterSpec::new(TitleIndex(2_002), CounterType::PERF_COUNTER_RAWCOUNT)];
    const HEADER: WriteHeader<'static> = WriteHeader::named("");

    #[test]
    fn reused_memory_is_rewritten_only_where_instances_changed() {
        let layout = ObjectLayout::new(ObjectSpec::new(TitleIndex(2_000), InstanceKind::Many, &COUNTERS));
        let mut cached = CachedInstances::default();
        for name in ["one", "two"] {
            cached.push(&layout, name, None, None, |values| values.set(0, 0x1111_1111));
        }
        let mut memory = BlockMemory::default();
        let write = |cached: &CachedInstances, memory: &mut BlockMemory| {
            let mut writer = BlockWriter::over(memory, &HEADER);
            writer.objects().object(&layout, PerfTime(0), Frequency(0)).append_cached(cached);
            writer.finish().unwrap();
        };
        let values = |memory: &BlockMemory| {
            let of = |value: u8| memory.bytes.windows(4).filter(|bytes| *bytes == [value; 4]).count();
            [0x11, 0x22, 0x99].map(of)
        };
        write(&cached, &mut memory);
        assert_eq!(values(&memory), [2, 0, 0]);
        // Foreign bytes written into the memory stay there as long as the instance does not change.
        memory.bytes.iter_mut().filter(|byte| **byte == 0x11).for_each(|byte| *byte = 0x99);
        write(&cached, &mut memory);
        assert_eq!(values(&memory), [0, 0, 2]);
        assert!(cached.rewrite(&layout, 1, |values| values.set(0, 0x2222_2222)));
        write(&cached, &mut memory);
        assert_eq!(values(&memory), [0, 1, 1]);
        // Another set of instances with equal contents is not the same set.
        let mut others = CachedInstances::default();
        for name in ["one", "two"] {
            others.push(&layout, name, None, None, |values| values.set(0, 0x1111_1111));
        }
        write(&others, &mut memory);
        assert_eq!(values(&memory), [2, 0, 0]);
    }

    #[test]
    fn rewinding_removes_objects_and_forgets_what_they_overwrote() {
        let spec = |name| ObjectSpec::new(TitleIndex(name), InstanceKind::Many, &COUNTERS);
        let (layout, failed) = (ObjectLayout::new(spec(2_000)), ObjectLayout::new(spec(2_100)));
        let mut kept = CachedInstances::default();
        kept.push(&layout, "one", None, None, |values| values.set(0, 0x1111_1111));
        let mut memory = BlockMemory::default();
        let mut write = |fails: bool| {
            let mut writer = BlockWriter::over(&mut memory, &HEADER);
            let objects = writer.objects();
            let before = objects.position();
            if fails {
                // Longer than what stands in the memory, so that every byte of the cached instances is
                // overwritten.
                let mut object = objects.object(&failed, PerfTime(0), Frequency(0));
                (0..9).for_each(|_| object.instance("lost", None, None).set(0, 0x9999_9999));
                drop(object);
                objects.rewind(&before);
                assert_eq!((objects.count(), objects.counts().values), (0, 0));
            }
            objects.object(&layout, PerfTime(0), Frequency(0)).append_cached(&kept);
            writer.finish().unwrap();
            memory.bytes.clone()
        };
        let whole = write(false);
        assert_eq!(write(true), whole);
        assert_eq!(write(false), whole);
    }
}
