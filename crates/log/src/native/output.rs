//! Where a native log is written to, and how.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};

use crate::zone::Zone;

/// Where a log is written to. It can be cut, so that what could not be written whole leaves nothing behind.
pub trait Output: Write {
    /// Cuts everything behind the first `length` bytes, and goes on there.
    ///
    /// # Errors
    ///
    /// What the operating system reports.
    fn cut(&mut self, length: u64) -> io::Result<()>;
}

impl Output for File {
    fn cut(&mut self, length: u64) -> io::Result<()> {
        self.set_len(length)?;
        self.seek(SeekFrom::Start(length)).map(drop)
    }
}

impl Output for Vec<u8> {
    fn cut(&mut self, length: u64) -> io::Result<()> {
        self.truncate(usize::try_from(length).unwrap_or(usize::MAX));
        Ok(())
    }
}

/// How a log is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WriteOptions {
    /// Seconds of rows that are held at most before they are written: what a crash can cost.
    pub flush_seconds: u32,
    /// Rows that are held at most, to 4096.
    pub rows: usize,
    /// Numbers that are written between two places to begin reading at, about: what going to a time costs to decode.
    pub numbers_between_keys: u64,
    /// Instances that are gone keep their columns. Without this they are forgotten, and are new when they come back.
    pub keep_instances: bool,
    /// Time zone of the machine, for formats that tell local times.
    pub zone: Zone,
    /// What writes the log, as its first record tells.
    pub writer: String,
}

impl Default for WriteOptions {
    /// A log that is recorded: what is lost by a crash are ten seconds.
    fn default() -> WriteOptions {
        WriteOptions {
            flush_seconds: 10,
            rows: 60,
            numbers_between_keys: 200_000,
            keep_instances: false,
            zone: Zone::Unknown,
            writer: concat!("tallymon ", env!("CARGO_PKG_VERSION")).to_owned(),
        }
    }
}

impl WriteOptions {
    /// A log that is complete: longer chunks, each standing for itself.
    pub fn sealed() -> WriteOptions {
        WriteOptions {
            flush_seconds: u32::MAX,
            rows: 600,
            numbers_between_keys: 200_000,
            ..WriteOptions::default()
        }
    }
}
