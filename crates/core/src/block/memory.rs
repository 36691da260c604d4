//! The memory of a block that is no longer needed, and what in it may stay for the next one.

use alloc::vec::Vec;
use core::sync::atomic::{AtomicUsize, Ordering};

/// The memory of a block, for the next one.
///
/// [`ObjectWriter::repeat`](super::ObjectWriter::repeat) need not copy what stands in it already: who writes the same
/// instances at the same place again changes only those that have changed meanwhile.
#[derive(Debug, Clone, Default)]
pub struct BlockMemory {
    pub(super) bytes: Vec<u8>,
    pub(super) repeated: Vec<Repeated>,
}

/// Kept instances as they stand in the memory of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Repeated {
    /// Where they begin, and how many bytes they are.
    pub(super) start: usize,
    pub(super) length: usize,
    pub(super) version: Version,
}

/// Which instances these are, and after how many changes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Version {
    of: usize,
    pub(super) number: u64,
}

impl Version {
    /// Of instances that stand in no memory yet.
    pub(super) fn new() -> Version {
        static NEXT: AtomicUsize = AtomicUsize::new(1);
        Version { of: NEXT.fetch_add(1, Ordering::Relaxed), number: 0 }
    }

    /// After one more change.
    #[must_use]
    pub(super) fn next(self) -> Version {
        Version { number: self.number.saturating_add(1), ..self }
    }
}

impl Repeated {
    /// Whether both are of the same instances at the same place: then nothing but values can differ.
    pub(super) fn is_as(&self, other: &Repeated) -> bool {
        (self.start, self.length, self.version.of) == (other.start, other.length, other.version.of)
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
        BlockWriter, CounterSpec, InstanceKind, KeptInstances, ObjectLayout, ObjectSpec, WriteHeader,
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
        let mut kept = KeptInstances::default();
        for name in ["one", "two"] {
            kept.push(&layout, name, None, None, |values| values.set(0, 0x1111_1111));
        }
        let mut memory = BlockMemory::default();
        let write = |kept: &KeptInstances, memory: &mut BlockMemory| {
            let mut writer = BlockWriter::over(memory, &HEADER);
            writer.objects().object(&layout, PerfTime(0), Frequency(0)).repeat(kept);
            writer.finish().unwrap();
        };
        let values = |memory: &BlockMemory| {
            let of = |value: u8| memory.bytes.windows(4).filter(|bytes| *bytes == [value; 4]).count();
            [0x11, 0x22, 0x99].map(of)
        };
        write(&kept, &mut memory);
        assert_eq!(values(&memory), [2, 0, 0]);
        // Who writes in the memory of others sees it there for ever, as long as nothing changes.
        memory.bytes.iter_mut().filter(|byte| **byte == 0x11).for_each(|byte| *byte = 0x99);
        write(&kept, &mut memory);
        assert_eq!(values(&memory), [0, 0, 2]);
        assert!(kept.rewrite(&layout, 1, |values| values.set(0, 0x2222_2222)));
        write(&kept, &mut memory);
        assert_eq!(values(&memory), [0, 1, 1]);
        // Other instances that look alike are others.
        let mut others = KeptInstances::default();
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
        let mut kept = KeptInstances::default();
        kept.push(&layout, "one", None, None, |values| values.set(0, 0x1111_1111));
        let mut memory = BlockMemory::default();
        let mut write = |fails: bool| {
            let mut writer = BlockWriter::over(&mut memory, &HEADER);
            let objects = writer.objects();
            let before = objects.position();
            if fails {
                // Longer than what stands in the memory, so that every byte of the kept instances is overwritten.
                let mut object = objects.object(&failed, PerfTime(0), Frequency(0));
                (0..9).for_each(|_| object.instance("lost", None, None).set(0, 0x9999_9999));
                drop(object);
                objects.rewind(&before);
                assert_eq!((objects.count(), objects.counts().values), (0, 0));
            }
            objects.object(&layout, PerfTime(0), Frequency(0)).repeat(&kept);
            writer.finish().unwrap();
            memory.bytes.clone()
        };
        let whole = write(false);
        assert_eq!(write(true), whole);
        assert_eq!(write(false), whole);
    }
}
