//! The memory of a block that is no longer needed, and what in it may stay for the next one.

use alloc::vec::Vec;
use core::sync::atomic::{AtomicUsize, Ordering};

/// The memory of a block, for the next one.
///
/// [`ObjectWriter::append_cached`](super::ObjectWriter::repeat) need not copy what stands in it already: who writes the same
/// instances at the same place again changes only those that have changed meanwhile.
#[derive(Debug, Clone, Default)]
pub struct BlockMemory {
    pub(super) bytes: Vec<u8>,
    pub(super) cached_ranges: Vec<CachedRange>,
}

/// Kept instances as they stand in the memory of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CachedRange {
    /// Where they begin, and how many bytes they are.
    pub(super) start: usize,
    pub(super) length: usize,
    pub(super) version: CacheVersion,
}

/// Which instances these are, and after how many changes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct CacheVersion {
    cache: usize,
    pub(super) revision: u64,
}

impl CacheVersion {
    /// Of instances that stand in no memory yet.
    pub(super) fn new() -> CacheVersion {
        static NEXT: AtomicUsize = AtomicUsize::new(1);
        CacheVersion { cache: NEXT.fetch_add(1, Ordering::Relaxed), revision: 0 }
    }

    /// After one more change.
    #[must_use]
    pub(super) fn next(self) -> CacheVersion {
        CacheVersion { revision: self.revision.saturating_add(1), ..self }
    }
}

impl CachedRange {
    /// Whether both are of the same instances at the same place: then nothing but values can differ.
    pub(super) fn same_instances(&self, other: &CachedRange) -> bool {
        (self.start, self.length, self.version.cache) == (other.start, other.length, other.version.cache)
    }
}

impl BlockMemory {
    /// The block, once it is written.
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
    use crate::time::{FileTime, Frequency, PerfTime};
    use crate::title::TitleIndex;

    const COUNTERS: [CounterSpec; 1] =
        [CounterSpec::new(TitleIndex(2_002), CounterType::PERF_COUNTER_RAWCOUNT)];
    const HEADER: WriteHeader<'static> = WriteHeader {
        system_name: "",
        default_object: -1,
        perf_time: PerfTime(0),
        perf_freq: Frequency(0),
        perf_time_100ns: FileTime(0),
        system_time: FileTime(0),
    };

    #[test]
    fn what_stands_there_is_not_copied_again() {
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
        // Who writes in the memory of others sees it there for ever, as long as nothing changes.
        memory.bytes.iter_mut().filter(|byte| **byte == 0x11).for_each(|byte| *byte = 0x99);
        write(&cached, &mut memory);
        assert_eq!(values(&memory), [0, 0, 2]);
        assert!(cached.rewrite(&layout, 1, |values| values.set(0, 0x2222_2222)));
        write(&cached, &mut memory);
        assert_eq!(values(&memory), [0, 1, 1]);
        // Other instances that look alike are others.
        let mut others = CachedInstances::default();
        for name in ["one", "two"] {
            others.push(&layout, name, None, None, |values| values.set(0, 0x1111_1111));
        }
        write(&others, &mut memory);
        assert_eq!(values(&memory), [2, 0, 0]);
    }
}
