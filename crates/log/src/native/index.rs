//! The positions of the records of a log: read from the index of a sealed log, else found by walking through
//! the records.

use std::io::{Read, Seek, SeekFrom};

use tallymon_core::bytes::Bytes;
use tallymon_core::error::Error;

use super::fields::{Fields, PutFields};
use super::frame::{FRAME, Found, Frames, JUMP, LONGEST, MARK, kind};
use super::{HEAD, MAGIC};
use crate::error::{LogError, LogErrorKind};

/// A key, which is a chunk that needs no earlier one, and the chunks that build on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Entry {
    /// Byte of the file where its record begins.
    pub(super) at: u64,
    /// Time of its first row.
    pub(super) first: u64,
    /// The latest time of its rows and of the chunks that build on it.
    pub(super) most: u64,
}

/// What can be read of a file without its values.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Known {
    pub(super) keys: Vec<Entry>,
    /// Where the definitions are.
    pub(super) definitions: Vec<u64>,
    /// Where the whole records end, without the index.
    pub(super) end: u64,
    /// The number of the last row.
    pub(super) rows: u64,
}

/// The body of the record of an index.
pub(super) fn encode(keys: &[Entry], definitions: &[u64], rows: u64) -> Vec<u8> {
    let mut body = Vec::new();
    body.put(definitions.len() as u64);
    let mut before = 0u64;
    for at in definitions {
        body.put(at.wrapping_sub(before));
        before = *at;
    }
    body.put(keys.len() as u64);
    let mut before = Entry::default();
    for key in keys {
        body.put(key.at.wrapping_sub(before.at));
        body.put_signed(key.first.wrapping_sub(before.first).cast_signed());
        body.put_signed(key.most.wrapping_sub(key.first).cast_signed());
        before = *key;
    }
    body.put(rows);
    body
}

pub(super) fn decode(body: &[u8]) -> Result<Known, Error> {
    let mut fields = Fields::new(body);
    let mut known = Known::default();
    let mut at = 0u64;
    for _ in 0..fields.count("definitions of the index")? {
        at = at.wrapping_add(fields.number("place of a definition")?);
        known.definitions.push(at);
    }
    let mut before = Entry::default();
    for _ in 0..fields.count("entries of the index")? {
        let at = before.at.wrapping_add(fields.number("place of a chunk")?);
        let first = before.first.wrapping_add(fields.signed("time of a chunk")?.cast_unsigned());
        let most = first.wrapping_add(fields.signed("time of a chunk")?.cast_unsigned());
        before = Entry { at, first, most };
        known.keys.push(before);
    }
    // Version 1 did not count rows.
    if !fields.is_at_end() {
        known.rows = fields.number("rows of a log")?;
    }
    Ok(known)
}

/// Bytes of a file from which [`check_head`] knows a log, also when one bit of the head is wrong.
pub(super) const HEAD_AND_LOG: usize = HEAD.len().saturating_add(FRAME);

/// Checks that a file begins as a log that this program reads: a [`HEAD`] of version 1 or 2, or anything if a
/// record of a log is behind it. Returns whether the head is as it should be.
pub(super) fn check_head(head: &[u8]) -> Result<bool, LogError> {
    let known = |version: u8| {
        let mut known = HEAD;
        if let Some(place) = known.get_mut(MAGIC.len()) {
            *place = version;
        }
        head.starts_with(&known)
    };
    if known(2) || known(1) {
        return Ok(true);
    }
    let version = head.starts_with(&MAGIC).then(|| Bytes::little(head).u16(8, "version").unwrap_or(0));
    let newer = version.filter(|version| *version > 2);
    // A damaged bit in the head costs nothing. A newer log has other bytes in its first record, or says so.
    let differ = head.iter().zip(&HEAD).map(|(one, other)| (one ^ other).count_ones()).sum::<u32>();
    if is_damaged_head(head) && (newer.is_none() || differ == 1) {
        return Ok(false);
    }
    Err(match newer {
        Some(version) => self::newer(u64::from(version)),
        None => {
            let words = "needed the head of a native log of version 1 or 2".to_owned();
            LogError::new(LogErrorKind::NotALog(words))
        }
    })
}

/// The error for a log of a version that is not known here.
pub(super) fn newer(version: u64) -> LogError {
    LogError::new(LogErrorKind::Unusable(format!(
        "it is a native log of version {version}, and this program knows versions 1 and 2; use a newer one"
    )))
}

/// Whether bytes are the beginning of a native log whose head is damaged: its first record is there.
pub(super) fn is_damaged_head(head: &[u8]) -> bool {
    let record = head.get(HEAD.len()..).unwrap_or_default();
    let [m0, m1, m2] = MARK;
    record.starts_with(&[m0, m1, m2, kind::LOG])
}

/// Finds the records of a file of `length` bytes.
///
/// An empty file and a file with a cut head have none.
pub(super) fn rebuild<R: Read + Seek>(input: &mut R, length: u64) -> Result<Known, LogError> {
    let mut head = Vec::new();
    input.seek(SeekFrom::Start(0))?;
    input.by_ref().take(HEAD_AND_LOG as u64).read_to_end(&mut head)?;
    if head.len() < HEAD.len() && HEAD.starts_with(&head) {
        return Ok(Known::default());
    }
    check_head(&head)?;
    if let Some(known) = sealed(input, length)? {
        return Ok(known);
    }
    let mut known = Known { end: HEAD.len() as u64, ..Known::default() };
    let mut at = known.end;
    // The last records may be torn, so their checksums are verified here; faults before them are found when
    // they are read.
    let mut last: Vec<(u64, Known)> = Vec::new();
    while at < length {
        let Some((kind, size)) = frame_at(input, at, length)? else {
            // The length of the record before may be wrong, so that some records are passed over.
            let from = last.last().map_or(at, |(at, _)| *at);
            let from = if is_whole(input, from, at)? { at } else { from };
            input.seek(SeekFrom::Start(from))?;
            let found = Frames::new(&mut *input, from).next()?;
            let Some(Found::Damage { at: damaged, length: damage, .. }) = found else { break };
            at = damaged.saturating_add(damage);
            if at >= length {
                break;
            }
            // What a wrong length passed over is no part of the log any more.
            known.keys.retain(|key| key.at < from);
            known.definitions.retain(|definition| *definition < from);
            last.clear();
            continue;
        };
        if kind == kind::JUMP {
            let target = jump_at(input, at)?.filter(|target| *target > at);
            at = target.unwrap_or_else(|| at.saturating_add(size));
            continue;
        }
        if last.len() > 3 {
            last.remove(0);
        }
        let mark = Known { end: known.end, rows: known.rows, ..Known::default() };
        last.push((at, mark));
        match kind {
            kind::DEFINITION => known.definitions.push(at),
            kind::CHUNK | kind::ROW => note_chunk(input, at, size, &mut known)?,
            _ => {}
        }
        at = at.saturating_add(size);
        known.end = at;
    }
    while let Some((at, before)) = last.pop() {
        if is_whole(input, at, known.end)? {
            break;
        }
        known.keys.retain(|key| key.at < at);
        known.definitions.retain(|definition| *definition < at);
        (known.end, known.rows) = (before.end, before.rows);
    }
    Ok(known)
}

/// Whether the record at a byte is whole and ends before another one.
fn is_whole<R: Read + Seek>(input: &mut R, at: u64, end: u64) -> Result<bool, LogError> {
    input.seek(SeekFrom::Start(at))?;
    let found = Frames::new((&mut *input).take(end.saturating_sub(at)), at).next()?;
    Ok(matches!(found, Some(Found::Record { .. })))
}

/// Where the jump at a byte leads to.
fn jump_at<R: Read + Seek>(input: &mut R, at: u64) -> Result<Option<u64>, LogError> {
    input.seek(SeekFrom::Start(at))?;
    let mut frames = Frames::new((&mut *input).take(JUMP as u64), at);
    let is_jump = matches!(frames.next()?, Some(Found::Record { kind: kind::JUMP, .. }));
    Ok(is_jump.then(|| jump_target(frames.body())).flatten())
}

/// Where a jump leads to.
pub(super) fn jump_target(body: &[u8]) -> Option<u64> {
    Bytes::little(body).u64(0, "target of a jump").ok()
}

/// The index of a sealed log.
fn sealed<R: Read + Seek>(input: &mut R, length: u64) -> Result<Option<Known>, LogError> {
    let size = (FRAME as u64).saturating_add(8);
    let Some(end) = length.checked_sub(size) else { return Ok(None) };
    input.seek(SeekFrom::Start(end))?;
    let mut frames = Frames::new(&mut *input, end);
    let Some(Found::Record { kind: kind::END, .. }) = frames.next()? else { return Ok(None) };
    let Ok(at) = Bytes::little(frames.body()).u64(0, "place of the index") else { return Ok(None) };
    if at >= end {
        return Ok(None);
    }
    input.seek(SeekFrom::Start(at))?;
    let mut frames = Frames::new((&mut *input).take(end.saturating_sub(at)), at);
    match frames.next()? {
        Some(Found::Record { kind: kind::INDEX, .. }) => {}
        _ => return Ok(None),
    }
    Ok(decode(frames.body()).ok().map(|known| Known { end: at, ..known }))
}

/// Kind and size of the record at a byte, from its frame only.
fn frame_at<R: Read + Seek>(input: &mut R, at: u64, length: u64) -> Result<Option<(u8, u64)>, LogError> {
    let mut frame = Vec::new();
    input.seek(SeekFrom::Start(at))?;
    input.by_ref().take(FRAME as u64).read_to_end(&mut frame)?;
    let Some([m0, m1, m2, kind, l0, l1, l2, l3, ..]) = frame.first_chunk::<FRAME>().copied() else {
        return Ok(None);
    };
    let body = u64::from(u32::from_le_bytes([l0, l1, l2, l3]));
    let size = body.saturating_add(FRAME as u64);
    let fits = [m0, m1, m2] == MARK && body <= LONGEST as u64 && at.saturating_add(size) <= length;
    Ok(fits.then_some((kind, size)))
}

/// Adds the times in the head of a chunk or row.
fn note_chunk<R: Read + Seek>(input: &mut R, at: u64, size: u64, known: &mut Known) -> Result<(), LogError> {
    let mut head = Vec::new();
    input.seek(SeekFrom::Start(at.saturating_add(FRAME as u64)))?;
    // The five numbers of the head take 10 bytes each at most.
    input.by_ref().take(size.saturating_sub(FRAME as u64).min(50)).read_to_end(&mut head)?;
    let Ok(head) = ChunkHead::decode(&mut Fields::new(&head)) else { return Ok(()) };
    let last = head.number.map(|number| number.saturating_add(head.rows as u64).saturating_sub(1));
    known.rows = last.unwrap_or_else(|| known.rows.saturating_add(head.rows as u64));
    if head.key {
        known.keys.push(Entry { at, first: head.first, most: head.most });
    } else if let Some(entry) = known.keys.last_mut() {
        entry.most = entry.most.max(head.most);
    }
    Ok(())
}

/// The head of a chunk or of a row.
#[derive(Debug, Clone, Copy)]
pub(super) struct ChunkHead {
    /// The chunk is a key.
    pub(super) key: bool,
    pub(super) rows: usize,
    /// Time of its first row, and the latest of all its rows.
    pub(super) first: u64,
    pub(super) most: u64,
    /// The number of its first row in the log; `None` in version 1.
    pub(super) number: Option<u64>,
}

impl ChunkHead {
    pub(super) fn encode(&self, body: &mut Vec<u8>) {
        body.put(u64::from(self.key) | u64::from(self.number.is_some()) << 1);
        body.put(self.rows as u64);
        body.put(self.first);
        body.put_signed(self.most.wrapping_sub(self.first).cast_signed());
        if let Some(number) = self.number {
            body.put(number);
        }
    }

    pub(super) fn decode(fields: &mut Fields<'_>) -> Result<ChunkHead, Error> {
        let flags = fields.number("flags of a chunk")?;
        let at = fields.at();
        let rows = fields.number("rows of a chunk")?;
        let most = super::MOST_ROWS as u64;
        let rows = usize::try_from(rows)
            .ok()
            .filter(|rows| *rows <= super::MOST_ROWS)
            .ok_or_else(|| Error::outside("rows of a chunk", at, rows, 0, most))?;
        let first = fields.number("time of a chunk")?;
        let most = first.wrapping_add(fields.signed("time of a chunk")?.cast_unsigned());
        let number = if flags & 2 == 2 { Some(fields.number("number of a row")?) } else { None };
        Ok(ChunkHead { key: flags & 1 == 1, rows, first, most, number })
    }
}
