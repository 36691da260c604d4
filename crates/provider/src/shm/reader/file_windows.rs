//! A published file of another program, read from a view of it.
//!
//! Windows promises that views of a file agree with each other, and not that they agree with reads of the
//! file. No part of a file that a view shows can be cut off. So a view of what a file had when it was mapped
//! can be read whatever its program does.
#![allow(unsafe_code, reason = "CreateFileMapping, MapViewOfFile")]

use std::fs::File;
use std::io;
use std::os::windows::fs::{MetadataExt, OpenOptionsExt};
use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};
use std::path::Path;
use std::ptr::{NonNull, null};

use windows_sys::Win32::Storage::FileSystem::{
    FILE_ATTRIBUTE_DEVICE, FILE_ATTRIBUTE_DIRECTORY, FILE_ATTRIBUTE_REPARSE_POINT,
    FILE_FLAG_OPEN_REPARSE_POINT,
};
use windows_sys::Win32::System::Memory::{
    CreateFileMappingW, FILE_MAP_READ, MEMORY_MAPPED_VIEW_ADDRESS, MapViewOfFile, PAGE_READONLY,
    UnmapViewOfFile,
};

use super::RefusalReason;
use super::view::View;
use crate::shm::layout::MAX_FILE;
use crate::shm::system::user_number;
use crate::trust::security;

/// An open file that others write.
#[derive(Debug)]
pub(super) struct SharedFile {
    file: File,
    /// `None` for an empty file.
    mapped: Option<Mapped>,
}

/// The first bytes of a file, mapped.
#[derive(Debug)]
struct Mapped(View);

impl SharedFile {
    /// Opens a file that only its owner can write; returns the owner too.
    pub(super) fn open(path: &Path) -> Result<(SharedFile, u32), RefusalReason> {
        let file = File::options().read(true).custom_flags(FILE_FLAG_OPEN_REPARSE_POINT).open(path);
        // A folder cannot be opened for reading.
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
        let mut shared = SharedFile { file, mapped: None };
        shared.length()?;
        Ok((shared, owner))
    }

    /// Its length in bytes now; as much can be read.
    pub(super) fn length(&mut self) -> Result<usize, RefusalReason> {
        let length = usize::try_from(self.file.metadata()?.len()).unwrap_or(usize::MAX);
        let readable = length.min(MAX_FILE);
        if readable > self.mapped.as_ref().map_or(0, |mapped| mapped.0.length()) {
            self.mapped = Some(Mapped::new(&self.file, readable)?);
        }
        Ok(length)
    }

    /// It is mapped already.
    pub(super) fn map(&mut self, _length: usize) {}

    /// Whether copying does without a system call.
    pub(super) fn is_mapped(&self) -> bool {
        self.mapped.is_some()
    }

    /// Whether it has so many bytes still: what is mapped cannot be cut off.
    #[expect(clippy::unnecessary_wraps, clippy::unused_self, reason = "other systems ask for the length")]
    pub(super) fn still_has(&self, _length: usize) -> Result<(), RefusalReason> {
        Ok(())
    }

    /// Fills a buffer from a place in the file.
    #[expect(clippy::unnecessary_wraps, reason = "other systems read the file")]
    pub(super) fn read_exact(&self, buffer: &mut [u8], at: usize) -> Result<(), RefusalReason> {
        let is_copied = self.mapped.as_ref().is_some_and(|mapped| mapped.0.copy(buffer, at));
        if is_copied || buffer.is_empty() { Ok(()) } else { Err(RefusalReason::Truncated) }
    }
}

impl Mapped {
    /// Maps the first bytes of a file, of which there must be as many.
    fn new(file: &File, length: usize) -> io::Result<Mapped> {
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
        // SAFETY: it begins at a page, stays until this is dropped, and is only read by the view.
        Ok(Mapped(unsafe { View::new(base, length) }))
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        let address = MEMORY_MAPPED_VIEW_ADDRESS { Value: self.0.base().as_ptr().cast() };
        // SAFETY: this is what was mapped, and no reference into it outlives a call of `copy`.
        unsafe { UnmapViewOfFile(address) };
    }
}
