//! The memory where no file can be mapped: under miri, which checks every access to it.
#![allow(unsafe_code, reason = "memory of the allocator")]

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::fs::File;
use std::io;
use std::ptr::NonNull;

/// Memory instead of a file.
#[derive(Debug)]
pub(crate) struct Segment {
    base: NonNull<u8>,
    layout: Layout,
    _file: File,
}

impl Segment {
    /// As much memory as the file can become long.
    pub(crate) fn new(file: File, reserved: usize) -> io::Result<Segment> {
        let layout = Layout::from_size_align(reserved, 4096).map_err(|_| io::ErrorKind::OutOfMemory)?;
        if layout.size() == 0 {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        // SAFETY: the size is not 0.
        let base = unsafe { alloc_zeroed(layout) };
        let base = NonNull::new(base).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Segment { base, layout, _file: file })
    }

    /// The address of some bytes: that of the start, with the same offset. It stays valid as long as
    /// this exists; memory after the end of the file must not be touched. `None` outside of what is mapped.
    pub(crate) fn address(&self, offset: usize, length: usize) -> Option<NonNull<u8>> {
        if offset.checked_add(length)? > self.layout.size() {
            return None;
        }
        // SAFETY: the offset is inside of the mapping.
        Some(unsafe { self.base.add(offset) })
    }

    /// All of it exists from the start.
    #[expect(clippy::unnecessary_wraps, reason = "a file can be full")]
    pub(crate) const fn lengthen(&self, _: usize, _: usize) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Segment {
    fn drop(&mut self) {
        // SAFETY: it was allocated with this layout, and nobody has an address in it any more.
        unsafe { dealloc(self.base.as_ptr(), self.layout) };
    }
}
