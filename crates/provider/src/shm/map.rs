//! The memory of a published file, as its writer has it mapped.
//!
//! One of the two files of this crate with unsafe code (the other is `rseq.rs`), for two things: mapping the file, and
//! keeping addresses in it beside the reference that keeps the mapping alive. Everything in the file is touched as whole atomic words of 8 bytes, so
//! that other processes may read it at any time. Address space for the largest possible file is taken at the start;
//! the file grows into it, so that no address ever changes. A reader never maps: it would die of a file that is cut.
#![allow(unsafe_code, reason = "mmap, and addresses in the mapping")]

use std::fs::File;
use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering, fence};

use rustix::fs::FallocateFlags;
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

use super::protocol::SharedMemory;
use super::rseq::Area;

/// A file mapped for reading and writing.
#[derive(Debug)]
pub(crate) struct Mapping {
    base: NonNull<u8>,
    reserved: usize,
    /// Bytes of the file that there are; it only ever grows.
    length: AtomicUsize,
    file: File,
}

// SAFETY: the mapping is memory of the process that belongs to no thread, and it is only ever touched through atomics.
unsafe impl Send for Mapping {}
// SAFETY: as above; everything that changes is atomic.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps a file of `length` bytes with room to grow up to `reserved`.
    pub(crate) fn new(file: File, length: usize, reserved: usize) -> Result<Mapping, Errno> {
        let reserved = reserved.max(length).max(1);
        // SAFETY: the address is chosen by the kernel, so no memory that somebody has is mapped over.
        let base = unsafe {
            mmap(
                std::ptr::null_mut(),
                reserved,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::SHARED,
                &file,
                0,
            )
        }?;
        let base = NonNull::new(base.cast()).ok_or(Errno::NOMEM)?;
        let mapping = Mapping { base, reserved, length: AtomicUsize::new(0), file };
        mapping.grow(length)?;
        Ok(mapping)
    }

    /// Makes the file at least `length` bytes long. The memory is really there afterwards: a file system that is full
    /// is an error here, not a signal later.
    pub(crate) fn grow(&self, length: usize) -> Result<(), Errno> {
        if length > self.reserved {
            return Err(Errno::FBIG);
        }
        let old = self.length();
        if length <= old {
            return Ok(());
        }
        let wide = |length: usize| u64::try_from(length).unwrap_or(u64::MAX);
        loop {
            let more = wide(length.saturating_sub(old));
            match rustix::fs::fallocate(&self.file, FallocateFlags::empty(), wide(old), more) {
                Err(Errno::INTR) => {}
                Err(Errno::OPNOTSUPP) => break self.write_zeros(old, length)?,
                result => break result?,
            }
        }
        self.length.fetch_max(length, Ordering::AcqRel);
        Ok(())
    }

    /// Makes the file longer where the file system can not reserve memory by itself.
    fn write_zeros(&self, from: usize, to: usize) -> Result<(), Errno> {
        let zeros = [0u8; 4096];
        let mut at = from;
        while at < to {
            let part = zeros.get(..zeros.len().min(to.saturating_sub(at))).unwrap_or(&zeros);
            let offset = u64::try_from(at).unwrap_or(u64::MAX);
            match rustix::io::pwrite(&self.file, part, offset) {
                Ok(0) => return Err(Errno::NOSPC),
                Ok(written) => at = at.saturating_add(written),
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno),
            }
        }
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
        // SAFETY: offset is inside of the mapping, since the length never exceeds what is reserved.
        let address = unsafe { self.base.add(offset) };
        // SAFETY: the address is a multiple of 8 (the base is that of a page), mapped as long as `self` lives, backed
        // by the file, and everybody in this process uses it as an atomic only.
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

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the range is exactly what was mapped, and nobody has an address in it any more: each `Word`,
        // `Words` and `Lanes` holds a reference to `self`.
        // An error would mean that it was not mapped, and could not be helped.
        let _ = unsafe { munmap(self.base.as_ptr().cast(), self.reserved) };
    }
}

/// A word of a mapping that stays where it is as long as this exists.
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

/// Words one behind the other in a mapping, which stay where they are as long as this exists.
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
        // SAFETY: offset is inside of the mapping, as the word there is.
        let first = unsafe { mapping.base.add(offset) };
        Some(Words { first: first.cast(), n, _mapping: Arc::clone(mapping) })
    }
}

impl Deref for Words {
    type Target = [AtomicU64];

    #[inline(always)]
    fn deref(&self) -> &[AtomicU64] {
        // SAFETY: the first and the last word are inside of the mapping, so all are, and aligned; it lives as long as
        // `self`, and everybody in this process uses them as atomics only.
        unsafe { std::slice::from_raw_parts(self.first.as_ptr(), self.n) }
    }
}

/// Words at equal distances in a mapping, which stay where they are as long as this exists. The first of them belong to
/// the processors, one each; the others to nobody.
#[derive(Debug, Clone)]
pub(crate) struct Lanes {
    first: NonNull<u8>,
    stride: usize,
    n: usize,
    /// How many lanes belong to a processor; they are changed by [`Lanes::add_here`] only.
    processors: u32,
    _mapping: Arc<Mapping>,
}

// SAFETY: they are addresses of atomics in a mapping that it keeps alive itself.
unsafe impl Send for Lanes {}
// SAFETY: as above.
unsafe impl Sync for Lanes {}

impl Lanes {
    /// `n` words `stride` bytes apart, of which the first `processors` are for [`Lanes::add_here`]. `None` when they are
    /// not multiples of 8 or not all inside of the file, or when there are fewer words than processors.
    pub(crate) fn new(
        mapping: &Arc<Mapping>,
        offset: usize,
        n: usize,
        stride: usize,
        processors: u32,
    ) -> Option<Lanes> {
        let last = stride.checked_mul(n.checked_sub(1)?)?.checked_add(offset)?;
        mapping.word(offset)?;
        mapping.word(last)?;
        if !stride.is_multiple_of(8) || usize::try_from(processors).ok()? > n {
            return None;
        }
        // SAFETY: offset is inside of the mapping, as the word there is.
        let first = unsafe { mapping.base.add(offset) };
        Some(Lanes { first, stride, n, processors, _mapping: Arc::clone(mapping) })
    }

    /// How many there are.
    pub(crate) const fn len(&self) -> usize {
        self.n
    }

    /// How many of them belong to processors.
    pub(crate) const fn processors(&self) -> u32 {
        self.processors
    }

    /// A word, to be read; one that belongs to no processor may be added to. `None` when there are not so many.
    #[inline(always)]
    pub(crate) fn get(&self, lane: usize) -> Option<&AtomicU64> {
        if lane >= self.n {
            return None;
        }
        // SAFETY: the last lane is inside of the mapping, so this one is, and the product does not overflow.
        let address = unsafe { self.first.add(lane.wrapping_mul(self.stride)) };
        // SAFETY: offset and stride are multiples of 8, so it is aligned; it is mapped as long as `self` lives, and
        // everybody in this process uses it as an atomic, or as the kernel's restartable sequences do.
        Some(unsafe { address.cast::<AtomicU64>().as_ref() })
    }

    /// Adds in the lane of the processor that runs this thread. False when nothing was added.
    #[inline(always)]
    pub(crate) fn add_here(&self, area: Area, n: u64) -> bool {
        // SAFETY:
        // * The lanes below `processors` are inside of the mapping, which lives as long as `self`, and aligned.
        // * They belong to their processors: nobody else in this process changes them but when the slot is made ready
        //   for an instance, before there are lanes.
        unsafe { area.add(self.first, self.stride, self.processors, n) }
    }
}
