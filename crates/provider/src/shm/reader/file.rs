//! A published file of another program: read by `pread`, or from a mapping if it is a file of root or of this
//! user that is read again and again.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;

use super::RefusalReason;
use super::mapped::Mapped;

/// An open file that others write.
#[derive(Debug)]
pub(super) struct SharedFile {
    file: OwnedFd,
    mapped: Option<Mapped>,
}

impl SharedFile {
    /// Opens a file that only its owner can write; returns the owner too.
    pub(super) fn open(path: &Path) -> Result<(SharedFile, u32), RefusalReason> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
        let file = rustix::fs::open(path, flags, Mode::empty()).map_err(|errno| match errno {
            Errno::LOOP => RefusalReason::NotAFile,
            errno => io::Error::from(errno).into(),
        })?;
        let about = rustix::fs::fstat(&file).map_err(io::Error::from)?;
        if FileType::from_raw_mode(about.st_mode) != FileType::RegularFile {
            return Err(RefusalReason::NotAFile);
        }
        if about.st_mode & 0o022 != 0 {
            return Err(RefusalReason::Writable);
        }
        Ok((SharedFile { file, mapped: None }, about.st_uid))
    }

    /// Its length in bytes now.
    pub(super) fn length(&mut self) -> Result<usize, RefusalReason> {
        self.length_now()
    }

    fn length_now(&self) -> Result<usize, RefusalReason> {
        let about = rustix::fs::fstat(&self.file).map_err(io::Error::from)?;
        Ok(usize::try_from(about.st_size).unwrap_or(0))
    }

    /// Maps its first bytes, so that copying them does without a system call. If that is not possible, it is
    /// read as before.
    pub(super) fn map(&mut self, length: usize) {
        self.mapped = Mapped::new(self.file.as_fd(), length);
    }

    /// Whether copying does without a system call.
    pub(super) const fn is_mapped(&self) -> bool {
        self.mapped.is_some()
    }

    /// Fails if it is mapped and shorter than it was: behind the end of a file, its last page has zeros.
    pub(super) fn still_has(&self, length: usize) -> Result<(), RefusalReason> {
        match self.mapped.is_some() && self.length_now()? < length {
            true => Err(RefusalReason::Truncated),
            false => Ok(()),
        }
    }

    /// Fills a buffer from a place in the file.
    pub(super) fn read_exact(&self, buffer: &mut [u8], at: usize) -> Result<(), RefusalReason> {
        if let Some(mapped) = &self.mapped
            && mapped.copy(buffer, at)
        {
            return if mapped.is_cut() { Err(RefusalReason::Truncated) } else { Ok(()) };
        }
        let mut done = 0usize;
        while done < buffer.len() {
            let offset = u64::try_from(at.saturating_add(done)).unwrap_or(u64::MAX);
            match rustix::io::pread(&self.file, buffer.get_mut(done..).unwrap_or_default(), offset) {
                Ok(0) => return Err(RefusalReason::Truncated),
                Ok(read) => done = done.saturating_add(read),
                Err(Errno::INTR) => {}
                Err(errno) => return Err(io::Error::from(errno).into()),
            }
        }
        Ok(())
    }
}
