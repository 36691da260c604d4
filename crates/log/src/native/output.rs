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
    /// The longest time that rows are held before they are written, in seconds: what a crash can cost.
    pub flush_seconds: u32,
    /// The largest number of held rows, up to 4096.
    pub rows: usize,
    /// About how many numbers are written between two keys: what seeking to a time must decode.
    pub numbers_between_keys: u64,
    /// Instances that ended keep their columns. Otherwise they are forgotten, and get new columns when they
    /// come back.
    pub keep_instances: bool,
    /// The time zone of the machine, for conversion to formats with local times.
    pub zone: Zone,
    /// The name of the writing program, for the first record.
    pub writer: String,
}

impl Default for WriteOptions {
    /// Options for a recording: a crash costs ten seconds.
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
    /// Options for a complete log: longer chunks, each one a key.
    pub fn sealed() -> WriteOptions {
        WriteOptions {
            flush_seconds: u32::MAX,
            rows: 600,
            numbers_between_keys: 200_000,
            ..WriteOptions::default()
        }
    }
}
