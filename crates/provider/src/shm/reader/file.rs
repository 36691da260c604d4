//! A published file of another program, read by `pread`.

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;

use super::RefusalReason;

/// An open file that others write.
#[derive(Debug)]
pub(super) struct SharedFile(OwnedFd);

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
        Ok((SharedFile(file), about.st_uid))
    }

    /// Its length in bytes now.
    pub(super) fn length(&mut self) -> Result<usize, RefusalReason> {
        let about = rustix::fs::fstat(&self.0).map_err(io::Error::from)?;
        Ok(usize::try_from(about.st_size).unwrap_or(0))
    }

    /// Fills a buffer from a place in the file.
    pub(super) fn read_exact(&self, buffer: &mut [u8], at: usize) -> Result<(), RefusalReason> {
        let mut done = 0usize;
        while done < buffer.len() {
            let offset = u64::try_from(at.saturating_add(done)).unwrap_or(u64::MAX);
            match rustix::io::pread(&self.0, buffer.get_mut(done..).unwrap_or_default(), offset) {
                Ok(0) => return Err(RefusalReason::Truncated),
                Ok(read) => done = done.saturating_add(read),
                Err(Errno::INTR) => {}
                Err(errno) => return Err(io::Error::from(errno).into()),
            }
        }
        Ok(())
    }
}
