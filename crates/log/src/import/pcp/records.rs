//! The framing of records, labels and times, which all files of an archive share.

use std::io::{self, Read};

use tallymon_core::bytes::{ByteOrder, Bytes};
use tallymon_core::error::Error;

/// The longest record that is read. PCP itself writes no record above 2 GiB; a result of 100,000 instances of
/// 100 metrics has 80 MB.
const LONGEST: u32 = 256 << 20;

/// A version of the format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Version {
    Two,
    Three,
}

/// The label at the begin of a file.
#[derive(Debug)]
pub(super) struct Label {
    pub(super) version: Version,
    pub(super) host: String,
    pub(super) zone: String,
}

/// What a read of a record found.
#[derive(Debug)]
pub(super) enum Found {
    /// The bytes between the two lengths are in the buffer.
    Record,
    /// The file ends between two records.
    End,
    /// The file ends inside of a record, or its two lengths differ: why nothing behind it can be read.
    Damage(String),
}

/// Reads the records of one file.
pub(super) struct Records<R> {
    input: R,
    /// The byte behind the last record.
    pub(super) byte: u64,
    /// The bytes of the last record, without its lengths.
    pub(super) buffer: Vec<u8>,
}

impl<R: Read> Records<R> {
    pub(super) const fn new(input: R) -> Records<R> {
        Records { input, byte: 0, buffer: Vec::new() }
    }

    fn fill(&mut self, length: u64) -> io::Result<u64> {
        self.buffer.clear();
        let read = self.input.by_ref().take(length).read_to_end(&mut self.buffer)? as u64;
        self.byte = self.byte.saturating_add(read);
        Ok(read)
    }

    /// Reads the next record.
    pub(super) fn next(&mut self) -> io::Result<Found> {
        let start = self.byte;
        match self.fill(4)? {
            0 => return Ok(Found::End),
            4 => {}
            _ => return Ok(Found::Damage(format!("the file ends at byte {} inside of a length", self.byte))),
        }
        let length = Bytes::new(&self.buffer, ByteOrder::Big).u32(0, "length").unwrap_or_default();
        if !(8..=LONGEST).contains(&length) {
            let words = format!("a record says that it has {length} bytes; 8 to {LONGEST} are possible");
            return Ok(Found::Damage(words));
        }
        let inner = u64::from(length.saturating_sub(4));
        if self.fill(inner)? < inner {
            return Ok(Found::Damage(format!(
                "the file ends at byte {}, inside of the record of {length} bytes at byte {start}",
                self.byte
            )));
        }
        let at = self.buffer.len().saturating_sub(4);
        let again = Bytes::new(&self.buffer, ByteOrder::Big).u32(at, "second length").unwrap_or_default();
        if again != length {
            return Ok(Found::Damage(format!(
                "the record at byte {start} begins with the length {length} and ends with {again}"
            )));
        }
        self.buffer.truncate(at);
        Ok(Found::Record)
    }

    /// The bytes of the last record.
    pub(super) fn bytes(&self) -> Bytes<'_> {
        Bytes::new(&self.buffer, ByteOrder::Big)
    }
}

fn text(bytes: Bytes<'_>, at: usize, length: usize) -> Result<String, Error> {
    let data = bytes.slice(at, length, "text of the label")?.data();
    let end = data.iter().position(|byte| *byte == 0).unwrap_or(data.len());
    Ok(String::from_utf8_lossy(data.get(..end).unwrap_or_default()).into_owned())
}

/// Reads a label.
pub(super) fn label(bytes: Bytes<'_>) -> Result<Label, Error> {
    if bytes.u32(0, "magic number")? & 0xff == 2 {
        let (host, zone) = (text(bytes, 20, 64)?, text(bytes, 84, 40)?);
        return Ok(Label { version: Version::Two, host, zone });
    }
    Ok(Label { version: Version::Three, host: text(bytes, 32, 256)?, zone: text(bytes, 288, 256)? })
}

/// Reads a time in nanoseconds since 1970, and returns the byte behind it. Version 3 has the lower half of
/// the seconds first.
pub(super) fn time(bytes: Bytes<'_>, at: usize, version: Version) -> Result<(i128, usize), Error> {
    let second_word = at.saturating_add(4);
    let low = bytes.u32(at, "seconds")?;
    let (seconds, part, end) = match version {
        Version::Two => {
            let part = i128::from(bytes.u32(second_word, "microseconds")?).saturating_mul(1000);
            (i128::from(low), part, at.saturating_add(8))
        }
        Version::Three => {
            let high = bytes.u32(second_word, "high half of the seconds")?;
            let part = i128::from(bytes.u32(at.saturating_add(8), "nanoseconds")?);
            (i128::from((u64::from(high) << 32) | u64::from(low)), part, at.saturating_add(12))
        }
    };
    Ok((seconds.saturating_mul(1_000_000_000).saturating_add(part), end))
}
