//! The records of a file: each has a mark, a length, and a checksum.
//!
//! ```text
//! 0   4   a7 54 4c, and the kind of the record
//! 4   4   length of the body
//! 8   4   CRC-32C of the kind, the length and the body
//! 12      the body
//! ```

use std::io::{self, Read};

use tallymon_core::bytes::Bytes;

/// Every record begins with these bytes and its kind.
pub(super) const MARK: [u8; 3] = [0xa7, b'T', b'L'];
/// Bytes before the body.
pub(super) const FRAME: usize = 12;
/// Bytes of the record of a jump.
pub(super) const JUMP: usize = FRAME.saturating_add(8);
/// Longest body. A longer one is damage.
pub(super) const LONGEST: usize = 1 << 26;

/// How many bytes may be summed without finding a record before the rest is taken as damage, so that false
/// marks do not make reading slow.
const PATIENCE: usize = 1 << 28;

/// Kinds of records.
pub(super) mod kind {
    /// The whole log: its time zone and its writer.
    pub(crate) const LOG: u8 = b'L';
    /// The counters of an object, once in a log.
    pub(crate) const DEFINITION: u8 = b'D';
    /// Rows of values.
    pub(crate) const CHUNK: u8 = b'C';
    /// One row of values, by its difference from the row before it.
    pub(crate) const ROW: u8 = b'R';
    /// Where the log goes on: what lies between is no part of it.
    pub(crate) const JUMP: u8 = b'J';
    /// The numbers of the counters in a part of a long sealed log.
    pub(crate) const STATISTICS: u8 = b'S';
    /// Where the chunks of a part of a long sealed log are.
    pub(crate) const PLACES: u8 = b'K';
    /// What is in a long sealed log.
    pub(crate) const CONTENTS: u8 = b'T';
    /// Where the contents are: the last record but one of a long sealed log.
    pub(crate) const POINTER: u8 = b'P';
    /// Where the records are, at the end of a sealed log.
    pub(crate) const INDEX: u8 = b'I';
    /// The last record of a sealed log: where the index is.
    pub(crate) const END: u8 = b'E';
}

/// A record with its frame.
pub(super) fn frame(kind: u8, body: &[u8]) -> Vec<u8> {
    let mut record = Vec::with_capacity(FRAME.saturating_add(body.len()));
    record.extend_from_slice(&MARK);
    record.push(kind);
    // Callers keep bodies shorter than LONGEST.
    let length = u32::try_from(body.len()).unwrap_or(u32::MAX).to_le_bytes();
    record.extend_from_slice(&length);
    record.extend_from_slice(&sum(kind, length, body).to_le_bytes());
    record.extend_from_slice(body);
    record
}

/// The body of the record of a kind that begins at the current byte of a stream; `None` if there is none, or
/// if it has more than `most` bytes with its frame. Unlike [`Frames::next`] it searches for no other record.
pub(super) fn read_record(input: &mut impl Read, wanted: u8, most: u64) -> io::Result<Option<Vec<u8>>> {
    let mut head = Vec::new();
    input.by_ref().take(FRAME as u64).read_to_end(&mut head)?;
    let Some([m0, m1, m2, kind, l0, l1, l2, l3, s0, s1, s2, s3]) = head.first_chunk::<FRAME>().copied()
    else {
        return Ok(None);
    };
    let length = [l0, l1, l2, l3];
    let bytes = u64::from(u32::from_le_bytes(length));
    let is_short = bytes <= LONGEST as u64 && bytes.saturating_add(FRAME as u64) <= most;
    if [m0, m1, m2] != MARK || kind != wanted || !is_short {
        return Ok(None);
    }
    let mut body = Vec::new();
    let read = input.by_ref().take(bytes).read_to_end(&mut body)?;
    let is_whole = read as u64 == bytes && sum(kind, length, &body) == u32::from_le_bytes([s0, s1, s2, s3]);
    Ok(is_whole.then_some(body))
}

fn sum(kind: u8, length: [u8; 4], body: &[u8]) -> u32 {
    let mut sum = Sum::default();
    sum.add(&[kind]);
    sum.add(&length);
    sum.add(body);
    sum.value()
}

/// A part of a stream of records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    /// A whole record; its body is in [`Frames::body`].
    Record {
        kind: u8,
        /// Byte of the file where its frame begins.
        at: u64,
    },
    /// Damage: bytes up to the next whole record or the end.
    Damage { at: u64, length: u64, cut: bool },
}

/// Finds records in a stream, also after damage.
#[derive(Debug)]
pub(super) struct Frames<R> {
    input: R,
    /// Bytes that were read; those before `at` are used up.
    buffer: Vec<u8>,
    at: usize,
    /// Byte of the file where the buffer begins.
    base: u64,
    ended: bool,
    body: std::ops::Range<usize>,
    /// Bytes that were summed without finding a record.
    wasted: usize,
}

impl<R: Read> Frames<R> {
    /// Begins at the current byte of `input`, which is this byte of the file.
    pub(super) fn new(input: R, base: u64) -> Frames<R> {
        Frames { input, buffer: Vec::new(), at: 0, base, ended: false, body: 0..0, wasted: 0 }
    }

    /// As [`Frames::new`], with bytes that were read from the input already.
    pub(super) fn after(read: &[u8], input: R, base: u64) -> Frames<R> {
        Frames { buffer: read.to_vec(), ..Frames::new(input, base) }
    }

    /// The body of the last record.
    pub(super) fn body(&self) -> &[u8] {
        self.buffer.get(self.body.clone()).unwrap_or_default()
    }

    /// The stream, to seek in it.
    pub(super) fn input(&mut self) -> &mut R {
        &mut self.input
    }

    /// Bytes that were read so far, at least.
    pub(super) fn read(&self) -> u64 {
        self.base.saturating_add(self.buffer.len() as u64)
    }

    /// Continues at the current byte of the stream, which is this byte of the file.
    pub(super) fn restart(&mut self, base: u64) {
        self.buffer.clear();
        (self.at, self.base, self.ended, self.body) = (0, base, false, 0..0);
    }

    /// Moves forward to a byte of the file, or to the end of the stream.
    pub(super) fn skip_to(&mut self, byte: u64) -> io::Result<()> {
        let ahead = byte.saturating_sub(self.position());
        let held = usize::try_from(ahead).unwrap_or(usize::MAX).min(self.left());
        self.at = self.at.saturating_add(held);
        let rest = ahead.saturating_sub(held as u64);
        if rest > 0 && !self.ended {
            let skipped = io::copy(&mut self.input.by_ref().take(rest), &mut io::sink())?;
            self.base = self.position().saturating_add(skipped);
            self.buffer.clear();
            self.at = 0;
            self.ended = skipped < rest;
        }
        self.body = 0..0;
        Ok(())
    }

    /// The next record, or the damage before it; `None` at the end.
    pub(super) fn next(&mut self) -> io::Result<Option<Found>> {
        let start = self.position();
        let mut cut = false;
        loop {
            match self.record()? {
                Step::Record(kind) => {
                    let at = self.position();
                    if at > start {
                        // The record is found again by the next call.
                        let length = at.saturating_sub(start);
                        return Ok(Some(Found::Damage { at: start, length, cut: false }));
                    }
                    let body = self.at.saturating_add(FRAME);
                    let length = self.length().unwrap_or(0);
                    self.body = body..body.saturating_add(length);
                    self.at = self.body.end;
                    return Ok(Some(Found::Record { kind, at }));
                }
                Step::None => {
                    cut |= self.position() == start && self.left() > 0 && self.begins_like_mark();
                    if self.left() == 0 {
                        let length = self.position().saturating_sub(start);
                        return Ok((length > 0).then_some(Found::Damage { at: start, length, cut }));
                    }
                    self.search();
                }
            }
        }
    }

    /// The byte of the file where the next record is looked for.
    pub(super) fn position(&self) -> u64 {
        self.base.saturating_add(self.at as u64)
    }

    fn left(&self) -> usize {
        self.buffer.len().saturating_sub(self.at)
    }

    fn rest(&self) -> &[u8] {
        self.buffer.get(self.at..).unwrap_or_default()
    }

    fn length(&self) -> Option<usize> {
        let length = Bytes::little(self.rest()).length(4, "length of a record").ok()?;
        (length <= LONGEST).then_some(length)
    }

    fn begins_like_mark(&self) -> bool {
        let rest = self.rest();
        let length = rest.len().min(MARK.len());
        rest.get(..length) == MARK.get(..length)
    }

    /// Whether a whole record begins here.
    fn record(&mut self) -> io::Result<Step> {
        self.fill(FRAME)?;
        if !self.begins_like_mark() {
            return Ok(Step::None);
        }
        let Some(length) = self.length().filter(|_| self.wasted < PATIENCE) else { return Ok(Step::None) };
        self.fill(FRAME.saturating_add(length))?;
        let rest = self.rest();
        let whole = || {
            let (frame, rest) = rest.split_first_chunk::<FRAME>()?;
            let [_, _, _, kind, l0, l1, l2, l3, s0, s1, s2, s3] = *frame;
            let body = rest.get(..length)?;
            let fits = sum(kind, [l0, l1, l2, l3], body) == u32::from_le_bytes([s0, s1, s2, s3]);
            fits.then_some(kind)
        };
        match whole() {
            Some(kind) => Ok(Step::Record(kind)),
            None => {
                self.wasted = self.wasted.saturating_add(length);
                Ok(Step::None)
            }
        }
    }

    /// Moves to the next byte at which a record may begin.
    fn search(&mut self) {
        let from = self.at.saturating_add(1);
        let rest = self.buffer.get(from..).unwrap_or_default();
        let found = rest.iter().position(|byte| *byte == MARK[0]);
        self.at = found.map_or(self.buffer.len(), |found| from.saturating_add(found));
    }

    /// Reads until there are `length` bytes from `at` on, or the stream ends.
    fn fill(&mut self, length: usize) -> io::Result<()> {
        if self.left() >= length || self.ended {
            return Ok(());
        }
        // Used bytes are dropped before more are read.
        self.buffer.drain(..self.at);
        self.base = self.base.saturating_add(self.at as u64);
        self.at = 0;
        let more = length.saturating_sub(self.buffer.len()).max(1 << 16);
        let read = self.input.by_ref().take(more as u64).read_to_end(&mut self.buffer)?;
        self.ended = read < more;
        Ok(())
    }
}

enum Step {
    Record(u8),
    None,
}

/// CRC-32C (Castagnoli's polynomial, reflected), eight bytes at a time.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sum(u32);

impl Default for Sum {
    fn default() -> Sum {
        Sum(u32::MAX)
    }
}

/// Row n holds the sums of each byte followed by n zeros.
static TABLES: [[u32; 256]; 8] = tables();

#[allow(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "computed by the compiler, which checks it"
)]
const fn tables() -> [[u32; 256]; 8] {
    let mut tables = [[0; 256]; 8];
    let mut byte = 0;
    while byte < 256 {
        let mut sum = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            sum = if sum & 1 == 1 { (sum >> 1) ^ 0x82f6_3b78 } else { sum >> 1 };
            bit += 1;
        }
        tables[0][byte] = sum;
        byte += 1;
    }
    let mut line = 1;
    while line < 8 {
        let mut byte = 0;
        while byte < 256 {
            let before: u32 = tables[line - 1][byte];
            tables[line][byte] = (before >> 8) ^ tables[0][(before & 0xff) as usize];
            byte += 1;
        }
        line += 1;
    }
    tables
}

impl Sum {
    /// Adds bytes.
    pub(super) fn add(&mut self, bytes: &[u8]) {
        let look = |line: usize, byte: u8| {
            TABLES.get(line).and_then(|table| table.get(usize::from(byte))).copied().unwrap_or(0)
        };
        let (chunks, rest) = bytes.as_chunks::<8>();
        for chunk in chunks {
            let [a, b, c, d, e, f, g, h] = *chunk;
            let [s, t, u, v] = self.0.to_le_bytes();
            self.0 = look(7, a ^ s)
                ^ look(6, b ^ t)
                ^ look(5, c ^ u)
                ^ look(4, d ^ v)
                ^ look(3, e)
                ^ look(2, f)
                ^ look(1, g)
                ^ look(0, h);
        }
        for byte in rest {
            let [low, ..] = self.0.to_le_bytes();
            self.0 = (self.0 >> 8) ^ look(0, low ^ byte);
        }
    }

    pub(super) const fn value(self) -> u32 {
        !self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_that_of_rfc_3720() {
        let of = |bytes: &[u8]| {
            let mut sum = Sum::default();
            sum.add(bytes);
            sum.value()
        };
        assert_eq!(of(b"123456789"), 0xe306_9283);
        assert_eq!(of(&[0; 32]), 0x8a91_36aa);
        assert_eq!(of(&[0xff; 32]), 0x62a8_ab43);
        let ascending: Vec<u8> = (0..32).collect();
        assert_eq!(of(&ascending), 0x46dd_794e);
    }

    #[test]
    fn a_record_is_read_only_where_it_begins() {
        let data = frame(b'S', b"abc");
        let read = |mut data: &[u8], wanted, most| read_record(&mut data, wanted, most).unwrap();
        assert_eq!(read(&data, b'S', 15), Some(b"abc".to_vec()));
        assert_eq!(read(&data, b'K', 15), None);
        assert_eq!(read(&data, b'S', 14), None);
        assert_eq!(read(&data[..14], b'S', 15), None);
        assert_eq!(read(&[&[0][..], &data].concat(), b'S', 99), None);
        for at in 0..data.len() {
            let mut bad = data.clone();
            bad[at] ^= 1;
            assert_eq!(read(&bad, b'S', 15), None, "byte {at}");
        }
    }

    #[test]
    fn records_are_found_before_and_after_damage() {
        let records: Vec<Vec<u8>> = (0..20u8).map(|n| frame(n, &vec![n; usize::from(n) * 7000])).collect();
        let data = records.concat();
        let all = |data: &[u8]| {
            let mut frames = Frames::new(data, 0);
            let (mut kinds, mut damage) = (Vec::new(), Vec::new());
            while let Some(found) = frames.next().unwrap() {
                match found {
                    Found::Record { kind, .. } => {
                        assert_eq!(frames.body(), vec![kind; usize::from(kind) * 7000]);
                        kinds.push(kind);
                    }
                    Found::Damage { at, length, cut } => damage.push((at, length, cut)),
                }
            }
            (kinds, damage)
        };
        assert_eq!(all(&data), ((0..20).collect(), vec![]));
        let at: usize = records[..5].iter().map(Vec::len).sum();
        for place in [0, 3, 4, 6, 7, 8, 11, 12, 5000] {
            let mut bad = data.clone();
            bad[at + place] ^= 0x41;
            let (kinds, damage) = all(&bad);
            assert_eq!(kinds, (0..20).filter(|n| *n != 5).collect::<Vec<u8>>(), "{place}");
            assert_eq!(damage, [(at as u64, records[5].len() as u64, false)]);
        }
        for left in [1, 5, 11, 12, 100] {
            let (kinds, damage) = all(&data[..at + left]);
            assert_eq!((kinds.len(), damage), (5, vec![(at as u64, left as u64, true)]));
        }
    }
}
