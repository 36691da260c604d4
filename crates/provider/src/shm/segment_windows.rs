//! The memory itself: a file, mapped piece by piece as it grows.
//!
//! Windows cannot map what a file does not have yet, and moves no view. So each time the file becomes
//! longer, its new part is mapped in a place of its own; views of one file show the same memory. As long as a
//! view exists, nobody can cut the file.
#![allow(unsafe_code, reason = "CreateFileMapping, MapViewOfFile")]

use std::fs::File;
use std::io;
use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};
use std::ptr::{NonNull, null};
use std::sync::{PoisonError, RwLock};

use windows_sys::Win32::System::Memory::{
    CreateFileMappingW, FILE_MAP_READ, FILE_MAP_WRITE, MEMORY_MAPPED_VIEW_ADDRESS, MapViewOfFile,
    PAGE_READWRITE, UnmapViewOfFile,
};

/// Every view begins at a multiple of this many bytes of the file: the granularity of Windows.
const GRANULARITY: usize = 64 << 10;

/// A file, and the views of it.
#[derive(Debug)]
pub(crate) struct Segment {
    file: File,
    views: RwLock<Vec<View>>,
}

/// A part of the file in memory.
#[derive(Debug)]
struct View {
    /// Offset in the file of its first byte, and of the byte after its last one.
    start: usize,
    end: usize,
    base: NonNull<u8>,
}

impl Segment {
    /// Keeps a file; nothing of it is mapped yet.
    #[expect(clippy::unnecessary_wraps, reason = "other systems map all of it here")]
    pub(crate) const fn new(file: File, _reserved: usize) -> io::Result<Segment> {
        Ok(Segment { file, views: RwLock::new(Vec::new()) })
    }

    /// The address of some bytes, as well aligned as their offset. It stays valid as long as this exists.
    /// `None` for bytes that were not made part of the file by one call of [`Segment::lengthen`].
    pub(crate) fn address(&self, offset: usize, length: usize) -> Option<NonNull<u8>> {
        let end = offset.checked_add(length)?;
        let views = self.views.read().unwrap_or_else(PoisonError::into_inner);
        let view = views.iter().rfind(|view| view.start <= offset && end <= view.end)?;
        // SAFETY: the bytes are inside of the view.
        Some(unsafe { view.base.add(offset.checked_sub(view.start)?) })
    }

    /// Makes the file longer, which allocates its room on the disk, and maps the new part.
    pub(crate) fn lengthen(&self, from: usize, to: usize) -> io::Result<()> {
        let halves = |number: usize| {
            let number = u64::try_from(number).unwrap_or(u64::MAX);
            (u32::try_from(number >> 32).unwrap_or(0), u32::try_from(number & 0xffff_ffff).unwrap_or(0))
        };
        let start = from.checked_rem(GRANULARITY).map_or(0, |over| from.saturating_sub(over));
        let (high, low) = halves(to);
        // SAFETY: the file is open for reading and writing; no attributes, no name.
        let section = unsafe {
            CreateFileMappingW(self.file.as_raw_handle(), null(), PAGE_READWRITE, high, low, null())
        };
        if section.is_null() {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: it is a new handle that nobody else closes. The view keeps the section.
        let section = unsafe { OwnedHandle::from_raw_handle(section) };
        let (high, low) = halves(start);
        let length = to.saturating_sub(start);
        // SAFETY: the address is chosen by the system, so no memory that somebody has is mapped over; the
        // section has the bytes from `start` to `to`.
        let view = unsafe {
            MapViewOfFile(section.as_raw_handle(), FILE_MAP_READ | FILE_MAP_WRITE, high, low, length)
        };
        let base = NonNull::new(view.Value.cast::<u8>()).ok_or_else(io::Error::last_os_error)?;
        let mut views = self.views.write().unwrap_or_else(PoisonError::into_inner);
        views.push(View { start, end: to, base });
        Ok(())
    }
}

impl Drop for Segment {
    fn drop(&mut self) {
        for view in self.views.get_mut().unwrap_or_else(PoisonError::into_inner).drain(..) {
            let address = MEMORY_MAPPED_VIEW_ADDRESS { Value: view.base.as_ptr().cast() };
            // SAFETY: this is what was mapped, and nobody has an address in it any more: each `Word`, `Words`
            // and `Lanes` holds a reference to the mapping that this is part of.
            unsafe { UnmapViewOfFile(address) };
        }
    }
}
