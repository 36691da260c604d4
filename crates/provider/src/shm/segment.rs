//! The memory itself: a file, mapped up to its largest possible length.
//!
//! Unsafe for mapping and unmapping it. Another program of the same user can cut the file; then memory of
//! this process takes the place of the pages that are gone, so that it goes on, without readers.
#![allow(unsafe_code, reason = "mmap")]

use std::fs::File;
use std::io;
use std::ptr::NonNull;

use rustix::fs::FallocateFlags;
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use tallymon_sigbus::{Protected, protect};

/// Address space for a file, and the file.
#[derive(Debug)]
pub(crate) struct Segment {
    base: NonNull<u8>,
    reserved: usize,
    file: File,
    /// `None` where the handler of the signal cannot be installed.
    protected: Option<Protected>,
}

impl Segment {
    /// Maps the first `reserved` bytes of a file, whether they exist or not.
    pub(crate) fn new(file: File, reserved: usize) -> io::Result<Segment> {
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
        // SAFETY:
        // * The range is the new mapping, which is unmapped after the protection has ended.
        // * It is only used as words of atomics, of which any bytes are valid.
        let protected = unsafe { protect(base, reserved) }.ok();
        Ok(Segment { base, reserved, file, protected })
    }

    /// The address of some bytes: that of the start of a page, with the same offset. It stays valid as long
    /// as this exists; memory after the end of the file must not be touched. `None` outside of what is
    /// mapped.
    pub(crate) fn address(&self, offset: usize, length: usize) -> Option<NonNull<u8>> {
        if offset.checked_add(length)? > self.reserved {
            return None;
        }
        // SAFETY: the offset is inside of the mapping.
        Some(unsafe { self.base.add(offset) })
    }

    /// Makes the file longer and allocates the memory.
    pub(crate) fn lengthen(&self, from: usize, to: usize) -> io::Result<()> {
        let wide = |length: usize| u64::try_from(length).unwrap_or(u64::MAX);
        loop {
            let more = wide(to.saturating_sub(from));
            match rustix::fs::fallocate(&self.file, FallocateFlags::empty(), wide(from), more) {
                Err(Errno::INTR) => {}
                Err(Errno::OPNOTSUPP) => return Ok(self.write_zeros(from, to)?),
                result => return Ok(result?),
            }
        }
    }

    /// Makes the file longer on a file system that cannot reserve memory.
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
}

impl Drop for Segment {
    fn drop(&mut self) {
        self.protected = None;
        // SAFETY: the range is exactly what was mapped, and nobody has an address in it any more: each
        // `Word`, `Words` and `Lanes` holds a reference to the mapping that this is part of. An error would
        // mean that it was not mapped, and could not be helped.
        let _ = unsafe { munmap(self.base.as_ptr().cast(), self.reserved) };
    }
}
