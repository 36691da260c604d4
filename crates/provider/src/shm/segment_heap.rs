//! The memory where no file can be mapped: under miri, which checks every access to it.
#![allow(unsafe_code, reason = "memory of the allocator")]

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::fs::File;
use std::ptr::NonNull;

use rustix::io::Errno;

/// Memory instead of a file.
#[derive(Debug)]
pub(crate) struct Segment {
    base: NonNull<u8>,
    layout: Layout,
    _file: File,
}

impl Segment {
    /// As much memory as the file can become long.
    pub(crate) fn new(file: File, reserved: usize) -> Result<Segment, Errno> {
        let layout = Layout::from_size_align(reserved, 4096).map_err(|_| Errno::NOMEM)?;
        if layout.size() == 0 {
            return Err(Errno::INVAL);
        }
        // SAFETY: the size is not 0.
        let base = unsafe { alloc_zeroed(layout) };
        let base = NonNull::new(base).ok_or(Errno::NOMEM)?;
        Ok(Segment { base, layout, _file: file })
    }

    /// Where it starts.
    pub(crate) const fn base(&self) -> NonNull<u8> {
        self.base
    }

    /// All of it exists from the start.
    pub(crate) const fn lengthen(&self, _: usize, _: usize) -> Result<(), Errno> {
        Ok(())
    }
}

impl Drop for Segment {
    fn drop(&mut self) {
        // SAFETY: it was allocated with this layout, and nobody has an address in it any more.
        unsafe { dealloc(self.base.as_ptr(), self.layout) };
    }
}
