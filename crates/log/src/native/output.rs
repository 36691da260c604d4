//! The output of a native log, and its options.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};

use crate::zone::Zone;

/// The output of a log. It can be truncated, so that a failed write leaves nothing behind.
pub trait Output: Write {
    /// Truncates the output to `length` bytes, and continues there.
    ///
    /// # Errors
    ///
    /// Errors of the operating system.
    fn cut(&mut self, length: u64) -> io::Result<()>;

    /// Writes bytes at a place, over those that are there or behind the end. The next [`Output::cut`] says
    /// where writing continues.
    ///
    /// # Errors
    ///
    /// Errors of the operating system.
    fn write_at(&mut self, at: u64, bytes: &[u8]) -> io::Result<()>;

    /// Waits until everything that was written is on the disk.
    ///
    /// # Errors
    ///
    /// Errors of the operating system.
    fn sync(&mut self) -> io::Result<()>;

    /// Another handle to read what was written; `None` if that is not possible.
    ///
    /// # Errors
    ///
    /// Errors of the operating system.
    fn reread(&self) -> io::Result<Option<File>> {
        Ok(None)
    }
}

impl Output for File {
    fn cut(&mut self, length: u64) -> io::Result<()> {
        self.set_len(length)?;
        self.seek(SeekFrom::Start(length)).map(drop)
    }

    fn write_at(&mut self, at: u64, bytes: &[u8]) -> io::Result<()> {
        self.seek(SeekFrom::Start(at))?;
        self.write_all(bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.sync_data()
    }

    fn reread(&self) -> io::Result<Option<File>> {
        self.try_clone().map(Some)
    }
}

impl Output for Vec<u8> {
    fn cut(&mut self, length: u64) -> io::Result<()> {
        self.truncate(usize::try_from(length).unwrap_or(usize::MAX));
        Ok(())
    }

    fn write_at(&mut self, at: u64, bytes: &[u8]) -> io::Result<()> {
        let at = usize::try_from(at).unwrap_or(usize::MAX);
        let end = at.saturating_add(bytes.len());
        if self.len() < end {
            self.resize(end, 0);
        }
        if let Some(place) = self.get_mut(at..end) {
            place.copy_from_slice(bytes);
        }
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// How a log is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WriteOptions {
    /// Each row is written when it is complete, and again with the others when its chunk is full: a crash
    /// costs the row that is being put. Otherwise it costs all rows of a chunk.
    pub write_through: bool,
    /// The longest time of a chunk, in seconds.
    pub flush_seconds: u32,
    /// The largest number of rows of a chunk, up to 4096: what a damaged byte can cost.
    pub rows: usize,
    /// About how many numbers a chunk has at most: what seeking to a time must decode.
    pub numbers_between_keys: u64,
    /// Instances that ended keep their columns. Otherwise they are forgotten, and get new columns when they
    /// come back.
    pub keep_instances: bool,
    /// The time zone of the machine, for conversion to formats with local times.
    pub zone: Zone,
    /// The caption of the text log that the log is a copy of.
    pub caption: Option<String>,
    /// The name of the writing program, and the system that it records, for the first record; see
    /// [`WriteOptions::PROGRAM`].
    pub writer: String,
    /// From how many records on the log gets, when it is sealed, the numbers of each of its parts, with which
    /// statistics need not read them. The log is read once more for them. `None` for never.
    pub statistics_from: Option<u64>,
}

impl Default for WriteOptions {
    /// Options for a recording: a crash costs one row.
    fn default() -> WriteOptions {
        WriteOptions {
            write_through: true,
            flush_seconds: u32::MAX,
            rows: 120,
            numbers_between_keys: 200_000,
            keep_instances: false,
            zone: Zone::Unknown,
            caption: None,
            writer: format!("{} on {}", WriteOptions::PROGRAM, std::env::consts::OS),
            statistics_from: None,
        }
    }
}

impl WriteOptions {
    /// This program. It is the writer of logs that were converted from what others recorded.
    pub const PROGRAM: &str = concat!("tallymon ", env!("CARGO_PKG_VERSION"));

    /// From so many records on, statistics of each part save more time than they cost.
    const MANY_RECORDS: u64 = 1 << 20;

    /// Options for a complete log, which nobody can lose by a crash: it appears when it is complete.
    pub fn sealed() -> WriteOptions {
        WriteOptions {
            write_through: false,
            rows: 240,
            statistics_from: Some(WriteOptions::MANY_RECORDS),
            ..WriteOptions::default()
        }
    }
}
