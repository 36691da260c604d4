//! The memory of a published file, as mapped by its writer.
//!
//! Unsafe because it keeps addresses in the mapping, together with the reference that keeps the mapping
//! alive. Everything in the file is accessed as whole atomic words of 8 bytes, so that other processes may
//! read it at any time. The address space for the largest possible file is reserved at the start; the file
//! grows into it, so no address ever changes.
#![allow(unsafe_code, reason = "addresses in the mapping")]

use std::fs::File;
use std::io;
use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering, fence};

use super::protocol::SharedMemory;
use super::rseq::Area;
use super::segment::Segment;

/// A file mapped for reading and writing.
#[derive(Debug)]
pub(crate) struct Mapping {
    segment: Segment,
    reserved: usize,
    /// Length of the file in bytes; it only grows.
    length: AtomicUsize,
}

// SAFETY: the mapping is memory of the process that belongs to no thread, and it is only ever touched through
// atomics.
unsafe impl Send for Mapping {}
// SAFETY: as above; everything that changes is atomic.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps a file of `length` bytes with room to grow up to `reserved`.
    pub(crate) fn new(file: File, length: usize, reserved: usize) -> io::Result<Mapping> {
        let reserved = reserved.max(length).max(1);
        let mapping =
            Mapping { segment: Segment::new(file, reserved)?, reserved, length: AtomicUsize::new(0) };
        mapping.grow(length)?;
        Ok(mapping)
    }

    /// Makes the file at least `length` bytes long, and allocates the memory: a full file system is an error
    /// here, not a signal later.
    pub(crate) fn grow(&self, length: usize) -> io::Result<()> {
        if length > self.reserved {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        let old = self.length();
        if length <= old {
            return Ok(());
        }
        self.segment.lengthen(old, length)?;
        self.length.fetch_max(length, Ordering::AcqRel);
        Ok(())
    }

    /// Bytes of the file that can be used.
    pub(crate) fn length(&self) -> usize {
        self.length.load(Ordering::Acquire)
    }

    /// The word at an offset; `None` when it is not a multiple of 8 or outside of the file.
    pub(crate) fn word(&self, offset: usize) -> Option<&AtomicU64> {
        let end = offset.checked_add(8)?;
        if end > self.length() || !offset.is_multiple_of(8) {
            return None;
        }
        let address = self.segment.address(offset, 8)?;
        // SAFETY: the address is a multiple of 8 (the base is that of a page), mapped as long as `self`
        // lives, backed by the file, and everybody in this process uses it as an atomic only.
        Some(unsafe { address.cast::<AtomicU64>().as_ref() })
    }
}

impl SharedMemory for Mapping {
    fn get(&self, at: usize) -> u64 {
        self.word(at).map_or(0, |word| word.load(Ordering::Relaxed))
    }

    fn put(&self, at: usize, number: u64) {
        if let Some(word) = self.word(at) {
            word.store(number, Ordering::Relaxed);
        }
    }

    fn put_last(&self, at: usize, number: u64) {
        if let Some(word) = self.word(at) {
            word.store(number, Ordering::Release);
        }
    }

    fn fence(&self) {
        fence(Ordering::Release);
    }
}

/// A word of a mapping that stays valid as long as this exists.
#[derive(Debug)]
pub(crate) struct Word {
    address: NonNull<AtomicU64>,
    _mapping: Arc<Mapping>,
}

// SAFETY: it is an address of an atomic in a mapping that it keeps alive itself.
unsafe impl Send for Word {}
// SAFETY: as above.
unsafe impl Sync for Word {}

impl Word {
    /// The word at an offset; `None` when it is not a multiple of 8 or outside of the file.
    pub(crate) fn new(mapping: &Arc<Mapping>, offset: usize) -> Option<Word> {
        let address = NonNull::from(mapping.word(offset)?);
        Some(Word { address, _mapping: Arc::clone(mapping) })
    }
}

impl Deref for Word {
    type Target = AtomicU64;

    #[inline(always)]
    fn deref(&self) -> &AtomicU64 {
        // SAFETY: the address came from a checked reference into the mapping, which lives as long as `self`.
        unsafe { self.address.as_ref() }
    }
}

/// Consecutive words in a mapping that stay valid as long as this exists.
#[derive(Debug)]
pub(crate) struct Words {
    first: NonNull<AtomicU64>,
    n: usize,
    _mapping: Arc<Mapping>,
}

// SAFETY: they are addresses of atomics in a mapping that it keeps alive itself.
unsafe impl Send for Words {}
// SAFETY: as above.
unsafe impl Sync for Words {}

impl Words {
    /// `n` words; `None` when the offset is not a multiple of 8, or they are not all inside of the file.
    pub(crate) fn new(mapping: &Arc<Mapping>, offset: usize, n: usize) -> Option<Words> {
        let last = n.checked_sub(1)?.checked_mul(8)?.checked_add(offset)?;
        mapping.word(offset)?;
        mapping.word(last)?;
        let first = mapping.segment.address(offset, n.checked_mul(8)?)?;
        Some(Words { first: first.cast(), n, _mapping: Arc::clone(mapping) })
    }
}

impl Deref for Words {
    type Target = [AtomicU64];

    #[inline(always)]
    fn deref(&self) -> &[AtomicU64] {
        // SAFETY: the first and the last word are inside of the mapping, so all are, and aligned; it lives as
        // long as `self`, and everybody in this process uses them as atomics only.
        unsafe { std::slice::from_raw_parts(self.first.as_ptr(), self.n) }
    }
}

/// Runs of words at equal distances in a mapping that stay valid as long as this exists. The first ones
/// belong to one processor each, the others to no processor.
#[derive(Debug, Clone)]
pub(crate) struct Lanes {
    first: NonNull<u8>,
    stride: usize,
    n: usize,
    /// How many words each lane has, one at least.
    width: usize,
    /// How many lanes belong to a processor; they are changed by [`Lanes::add_here`] only.
    processors: u32,
    _mapping: Arc<Mapping>,
}

// SAFETY: they are addresses of atomics in a mapping that it keeps alive itself.
unsafe impl Send for Lanes {}
// SAFETY: as above.
unsafe impl Sync for Lanes {}

impl Lanes {
    /// `n` lanes of `width` words, `stride` bytes apart, of which the first `processors` are for
    /// [`Lanes::add_here`]. `None` when they are not multiples of 8 or not all inside of the file, overlap,
    /// or are fewer than the processors.
    pub(crate) fn new(
        mapping: &Arc<Mapping>,
        offset: usize,
        n: usize,
        width: usize,
        stride: usize,
        processors: u32,
    ) -> Option<Lanes> {
        let length = width.checked_sub(1)?.checked_mul(8)?;
        let last = stride.checked_mul(n.checked_sub(1)?)?.checked_add(offset)?.checked_add(length)?;
        mapping.word(offset)?;
        mapping.word(last)?;
        if !stride.is_multiple_of(8) || length >= stride || usize::try_from(processors).ok()? > n {
            return None;
        }
        let all = last.checked_sub(offset)?.checked_add(8)?;
        let first = mapping.segment.address(offset, all)?;
        Some(Lanes { first, stride, n, width, processors, _mapping: Arc::clone(mapping) })
    }

    /// How many there are.
    pub(crate) const fn len(&self) -> usize {
        self.n
    }

    /// How many of them belong to processors.
    pub(crate) const fn processors(&self) -> u32 {
        self.processors
    }

    /// A word of a lane, for reading; in a lane that belongs to no processor, also for adding. `None` when
    /// there are fewer.
    #[inline(always)]
    pub(crate) fn get(&self, lane: usize, word: usize) -> Option<&AtomicU64> {
        if lane >= self.n || word >= self.width {
            return None;
        }
        let offset = lane.wrapping_mul(self.stride).wrapping_add(word.wrapping_mul(8));
        // SAFETY: the last word of the last lane is inside of the mapping, so this one is, and nothing
        // overflows.
        let address = unsafe { self.first.add(offset) };
        // SAFETY: offset and stride are multiples of 8, so it is aligned; it is mapped as long as `self`
        // lives, and everybody in this process uses it as an atomic, or as the kernel's restartable sequences
        // do.
        Some(unsafe { address.cast::<AtomicU64>().as_ref() })
    }

    /// Adds to a word in the lane of the processor that runs this thread. False when nothing was added.
    #[inline(always)]
    pub(crate) fn add_here(&self, area: Area, word: usize, n: u64) -> bool {
        if word >= self.width {
            return false;
        }
        // SAFETY: the first lane is inside of the mapping, and has the word.
        let first = unsafe { self.first.add(word.wrapping_mul(8)) };
        // SAFETY:
        // * The lanes below `processors` are inside of the mapping, which lives as long as `self`, and
        //   aligned.
        // * They belong to their processors: nobody else in this process changes them but when the slot is
        //   made ready for an instance, before there are lanes.
        unsafe { area.add(first, self.stride, self.processors, n) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shm::protocol::{NewUse, add, add_each, add_in_group, begin_use, end_use};

    /// An empty file that has no name any more.
    fn file(name: &str) -> File {
        let path = std::env::temp_dir().join(format!("tallymon-map-{}-{name}", std::process::id()));
        let file = File::options().read(true).write(true).create_new(true).open(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        file
    }

    #[test]
    fn words_outside_of_the_mapping_do_not_exist() {
        let mapping = Arc::new(Mapping::new(file("outside"), 64, 4096).unwrap());
        assert!(mapping.word(56).is_some());
        for outside in [57, 64, 4088, 4096, usize::MAX, usize::MAX - 7] {
            assert!(Word::new(&mapping, outside).is_none(), "{outside}");
        }
        assert!(Words::new(&mapping, 0, 8).is_some());
        assert!(Words::new(&mapping, 0, 0).is_none());
        assert!(Words::new(&mapping, 8, 8).is_none());
        assert!(Words::new(&mapping, 0, usize::MAX).is_none());
        assert!(Lanes::new(&mapping, 0, 2, 1, 56, 0).is_some());
        assert!(Lanes::new(&mapping, 0, 2, 1, 64, 0).is_none());
        assert!(Lanes::new(&mapping, 0, 2, 1, 4, 0).is_none());
        assert!(Lanes::new(&mapping, 0, 2, 1, 8, 3).is_none());
        assert!(Lanes::new(&mapping, 0, 2, 4, 32, 0).is_some());
        for (width, stride) in [(0, 32), (5, 32), (5, 40), (usize::MAX, 32)] {
            assert!(Lanes::new(&mapping, 0, 2, width, stride, 0).is_none(), "{width} words, {stride} bytes");
        }
        assert_eq!(mapping.grow(4097).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        mapping.grow(4096).unwrap();
        assert!(Word::new(&mapping, 4088).is_some());
    }

    #[test]
    fn addresses_stay_while_the_file_grows_and_the_mapping_is_let_go() {
        let mapping = Arc::new(Mapping::new(file("stay"), 64, 1 << 16).unwrap());
        let word = Word::new(&mapping, 8).unwrap();
        let words = Words::new(&mapping, 16, 2).unwrap();
        let lanes = Lanes::new(&mapping, 32, 2, 2, 16, 0).unwrap();
        word.store(1, Ordering::Relaxed);
        for length in [128, 4096, 4097, 1 << 16] {
            mapping.grow(length).unwrap();
            let end = Word::new(&mapping, (length & !7) - 8).unwrap();
            assert_eq!(end.load(Ordering::Relaxed), 0);
        }
        drop(mapping);
        add(&*word, 1);
        words.iter().for_each(|word| add(word, 5));
        lanes.get(1, 1).unwrap().fetch_add(7, Ordering::Relaxed);
        assert!(lanes.get(2, 0).is_none() && lanes.get(1, 2).is_none());
        assert_eq!((word.load(Ordering::Relaxed), lanes.clone().len()), (2, 2));
    }

    #[test]
    #[cfg(all(target_os = "linux", not(miri)))]
    fn a_cut_file_does_not_end_its_writer() {
        let cut = file("cut");
        let mapping = Arc::new(Mapping::new(cut.try_clone().unwrap(), 1 << 15, 1 << 16).unwrap());
        let lanes = Lanes::new(&mapping, 64, 3, 1, 8192, 2).unwrap();
        let words = Words::new(&mapping, 4096, 3).unwrap();
        for length in [20_000, 4_096, 0] {
            cut.set_len(length).unwrap();
            let sum = std::cell::Cell::new(0);
            for nth in 0..1_000 {
                add_each(words.get(..2).unwrap(), &sum, &[1, 2]);
                lanes.get(2, 0).unwrap().fetch_add(nth, Ordering::Relaxed);
                if let Some(area) = Area::registered() {
                    let _ = lanes.add_here(area, 0, 1);
                }
            }
            mapping.put(8, length);
            mapping.grow(mapping.length() + 4096).unwrap();
            Word::new(&mapping, mapping.length() - 8).unwrap().store(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn threads_write_while_others_read() {
        let mapping = Arc::new(Mapping::new(file("threads"), 1024, 1 << 16).unwrap());
        let lanes = Lanes::new(&mapping, 512, 2, 1, 64, 0).unwrap();
        let words = Words::new(&mapping, 64, 3).unwrap();
        let new = NewUse { values: 0, stride: 48, names: 256, name: "Ada", id: 7, parent: None };
        std::thread::scope(|scope| {
            for lane in [0, 1, 1] {
                let lanes = lanes.clone();
                scope.spawn(move || {
                    (0..50).for_each(|_| {
                        lanes.get(lane, 0).unwrap().fetch_add(1, Ordering::Relaxed);
                    });
                });
            }
            scope.spawn(|| {
                let sum = std::cell::Cell::new(0);
                for _ in 0..50 {
                    assert!(add_each(words.get(..2).unwrap(), &sum, &[1, 2]));
                    add_in_group(words.get(..2).unwrap(), &sum, 0, 1);
                    words.get(2).unwrap().store(sum.get(), Ordering::Relaxed);
                    let number = begin_use(&*mapping, &new);
                    end_use(&*mapping, new.values, new.stride, number);
                }
            });
            scope.spawn(|| {
                for _ in 0..50 {
                    mapping.grow(mapping.length() + 64).unwrap();
                    let _ = words.iter().map(|word| word.load(Ordering::Relaxed)).max();
                }
            });
        });
        let all: u64 =
            (0..2).filter_map(|lane| lanes.get(lane, 0)).map(|word| word.load(Ordering::Relaxed)).sum();
        let numbers: Vec<u64> = words.iter().map(|word| word.load(Ordering::Relaxed)).collect();
        assert_eq!((all, numbers[0], numbers[1]), (150, 100, 100));
        assert_eq!(numbers[2], crate::shm::check::check([100, 100]));
        assert_eq!(mapping.get(0), 100);
    }
}
