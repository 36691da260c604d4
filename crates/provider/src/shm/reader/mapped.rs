//! A published file, mapped by its reader.
//!
//! Unsafe for mapping and unmapping it. Only files of root and of this user are mapped: whoever cuts such a
//! file could end this program anyway. What is cut off becomes zeros (`tallymon-sigbus`), which are noticed.
#![allow(unsafe_code, reason = "mmap")]

use std::os::fd::BorrowedFd;
use std::ptr::NonNull;

use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use tallymon_sigbus::{Protected, protect};

use super::view::View;

/// The first bytes of a file.
#[derive(Debug)]
pub(super) struct Mapped {
    view: View,
    /// `Some` until it is dropped.
    protected: Option<Protected>,
}

impl Mapped {
    /// Maps the first bytes of a file for reading; `None` when that is not possible, or when the end of the
    /// file could not be survived.
    pub(super) fn new(file: BorrowedFd<'_>, length: usize) -> Option<Mapped> {
        if length == 0 {
            return None;
        }
        let flags = MapFlags::SHARED;
        // SAFETY: the address is chosen by the kernel, so no memory that somebody has is mapped over.
        let base = unsafe { mmap(std::ptr::null_mut(), length, ProtFlags::READ, flags, file, 0) }.ok()?;
        let base = NonNull::new(base.cast::<u8>())?;
        // SAFETY: it begins at a page, stays until this is dropped, and is only read by the view.
        let view = unsafe { View::new(base, length) };
        let mut mapped = Mapped { view, protected: None };
        // SAFETY:
        // * The range is the new mapping, which is unmapped after the protection has ended.
        // * It is only read as words of atomics, of which any bytes are valid.
        mapped.protected = unsafe { protect(base, length) }.ok();
        mapped.protected.is_some().then_some(mapped)
    }

    /// Copies bytes; false when it has not so many.
    pub(super) fn copy(&self, buffer: &mut [u8], at: usize) -> bool {
        self.view.copy(buffer, at)
    }

    /// Whether a part of the file was gone when it was copied.
    pub(super) fn is_cut(&self) -> bool {
        self.protected.as_ref().is_some_and(Protected::is_cut)
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        self.protected = None;
        // SAFETY: the range is exactly what was mapped, and no reference into it outlives a call of `copy`.
        // An error would mean that it was not mapped, and could not be helped.
        let _ = unsafe { munmap(self.view.base().as_ptr().cast(), self.view.length()) };
    }
}
