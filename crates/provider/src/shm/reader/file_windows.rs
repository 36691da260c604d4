//! A published file of another program, read from a view of it.
//!
//! Windows promises that views of a file agree with each other, and not that they agree with reads of the
//! file. No part of a file that a view shows can be cut off. So a view of what a file had when it was mapped
//! can be read whatever its program does; its bytes change at any time, which makes every access an atomic
//! one.
#![allow(unsafe_code, reason = "CreateFileMapping, MapViewOfFile")]

use std::fs::File;
use std::io;
use std::os::windows::fs::{MetadataExt, OpenOptionsExt};
use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};
use std::path::Path;
use std::ptr::{NonNull, null};
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use windows_sys::Win32::Storage::FileSystem::{
    FILE_ATTRIBUTE_DEVICE, FILE_ATTRIBUTE_DIRECTORY, FILE_ATTRIBUTE_REPARSE_POINT,
    FILE_FLAG_OPEN_REPARSE_POINT,
};
use windows_sys::Win32::System::Memory::{
    CreateFileMappingW, FILE_MAP_READ, MEMORY_MAPPED_VIEW_ADDRESS, MapViewOfFile, PAGE_READONLY,
    UnmapViewOfFile,
};

use super::RefusalReason;
use crate::shm::layout::MAX_FILE;
use crate::shm::security;
use crate::shm::system::user_number;

/// An open file that others write.
#[derive(Debug)]
pub(super) struct SharedFile {
    file: File,
    /// `None` for an empty file.
    view: Option<View>,
}

/// The first bytes of a file.
#[derive(Debug)]
struct View {
    base: NonNull<u8>,
    length: usize,
}

// SAFETY: it is memory of the process that belongs to no thread, and it is only read, through atomics.
unsafe impl Send for View {}
// SAFETY: as above.
unsafe impl Sync for View {}

impl SharedFile {
    /// Opens a file that only its owner can write; returns the owner too.
    pub(super) fn open(path: &Path) -> Result<(SharedFile, u32), RefusalReason> {
        let file = File::options().read(true).custom_flags(FILE_FLAG_OPEN_REPARSE_POINT).open(path);
        // A folder can not be opened for reading.
        let file =
            file.map_err(|error| if path.is_dir() { RefusalReason::NotAFile } else { error.into() })?;
        let others = FILE_ATTRIBUTE_DIRECTORY | FILE_ATTRIBUTE_REPARSE_POINT | FILE_ATTRIBUTE_DEVICE;
        let about = file.metadata()?;
        if about.file_attributes() & others != 0 {
            return Err(RefusalReason::NotAFile);
        }
        let security = security::of_file(&file)?;
        if security.others_write_file() {
            return Err(RefusalReason::Writable);
        }
        let owner = user_number(security.owner());
        let mut shared = SharedFile { file, view: None };
        shared.length()?;
        Ok((shared, owner))
    }

    /// Its length in bytes now; as much can be read.
    pub(super) fn length(&mut self) -> Result<usize, RefusalReason> {
        let length = usize::try_from(self.file.metadata()?.len()).unwrap_or(usize::MAX);
        let readable = length.min(MAX_FILE);
        if readable > self.view.as_ref().map_or(0, |view| view.length) {
            self.view = Some(View::new(&self.file, readable)?);
        }
        Ok(length)
    }

    /// Fills a buffer from a place in the file.
    #[expect(clippy::unnecessary_wraps, reason = "other systems read the file")]
    pub(super) fn read_exact(&self, buffer: &mut [u8], at: usize) -> Result<(), RefusalReason> {
        let is_copied = self.view.as_ref().is_some_and(|view| view.copy(buffer, at));
        if is_copied || buffer.is_empty() { Ok(()) } else { Err(RefusalReason::Truncated) }
    }
}

impl View {
    /// Maps the first bytes of a file, of which there must be as many.
    fn new(file: &File, length: usize) -> io::Result<View> {
        let low = u32::try_from(length).map_err(|_| io::ErrorKind::FileTooLarge)?;
        // SAFETY: the file is open for reading; no attributes, no name. It fails when the file is shorter.
        let section =
            unsafe { CreateFileMappingW(file.as_raw_handle(), null(), PAGE_READONLY, 0, low, null()) };
        if section.is_null() {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: it is a new handle that nobody else closes. The view keeps the section.
        let section = unsafe { OwnedHandle::from_raw_handle(section) };
        // SAFETY: the address is chosen by the system; the section has as many bytes.
        let view = unsafe { MapViewOfFile(section.as_raw_handle(), FILE_MAP_READ, 0, 0, length) };
        let base = NonNull::new(view.Value.cast::<u8>()).ok_or_else(io::Error::last_os_error)?;
        Ok(View { base, length })
    }

    /// Copies bytes; false when it has not so many. The place is usually a multiple of 8.
    fn copy(&self, buffer: &mut [u8], at: usize) -> bool {
        let end = at.checked_add(buffer.len());
        if end.is_none_or(|end| end > self.length) {
            return false;
        }
        // SAFETY: the place is inside of the view, or at its end.
        let mut from = unsafe { self.base.add(at) };
        if !at.is_multiple_of(8) {
            return self.copy_bytes(buffer, from);
        }
        let (words, rest) = buffer.as_chunks_mut::<8>();
        for word in words {
            // SAFETY: 8 bytes from here on are inside of the view, since the buffer is not at its end; the
            // address is a multiple of 8, as the base is that of a page.
            let number = unsafe { from.cast::<AtomicU64>().as_ref() }.load(Ordering::Relaxed);
            *word = number.to_ne_bytes();
            // SAFETY: at most the end of the view.
            from = unsafe { from.add(8) };
        }
        self.copy_bytes(rest, from)
    }

    /// Copies bytes from an address that has so many behind it in the view.
    fn copy_bytes(&self, buffer: &mut [u8], mut from: NonNull<u8>) -> bool {
        for byte in buffer {
            // SAFETY: the byte is inside of the view, since the buffer is not at its end.
            *byte = unsafe { from.cast::<AtomicU8>().as_ref() }.load(Ordering::Relaxed);
            // SAFETY: at most the end of the view.
            from = unsafe { from.add(1) };
        }
        true
    }
}

impl Drop for View {
    fn drop(&mut self) {
        let address = MEMORY_MAPPED_VIEW_ADDRESS { Value: self.base.as_ptr().cast() };
        // SAFETY: this is what was mapped, and no reference into it outlives a call of `copy`.
        unsafe { UnmapViewOfFile(address) };
    }
}
