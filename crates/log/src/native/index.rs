//! The positions of the records of a log: read from the index of a sealed log, else found by walking through
//! the records.

use std::io::{Read, Seek, SeekFrom};

use tallymon_core::bytes::Bytes;
use tallymon_core::error::Error;

use super::fields::{Fields, PutFields};
use super::frame::{FRAME, Found, Frames, LONGEST, MARK, kind};
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
}

/// The body of the record of an index.
pub(super) fn encode(keys: &[Entry], definitions: &[u64]) -> Vec<u8> {
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
    body
}

fn decode(body: &[u8]) -> Result<Known, Error> {
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
    Ok(known)
}

/// Checks that a file begins as a log of this version.
pub(super) fn check_head(head: &[u8]) -> Result<(), LogError> {
    if head.starts_with(&HEAD) {
        return Ok(());
    }
    let version = head.starts_with(&MAGIC).then(|| Bytes::little(head).u16(8, "version").unwrap_or(0));
    Err(LogError::new(match version {
        Some(version) if version > 1 => LogErrorKind::Unusable(format!(
            "it is a native log of version {version}, and this program knows version 1; use a newer one"
        )),
        _ => LogErrorKind::NotALog("needed the head of a native log of version 1".to_owned()),
    }))
}

/// Finds the records of a file of `length` bytes.
///
/// An empty file and a file with a cut head have none.
pub(super) fn rebuild<R: Read + Seek>(input: &mut R, length: u64) -> Result<Known, LogError> {
    let mut head = Vec::new();
    input.seek(SeekFrom::Start(0))?;
    input.by_ref().take(HEAD.len() as u64).read_to_end(&mut head)?;
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
            input.seek(SeekFrom::Start(at))?;
            match Frames::new(&mut *input, at).next()? {
                Some(Found::Damage { at: from, length: damage, .. })
                    if from.saturating_add(damage) < length =>
                {
                    at = from.saturating_add(damage);
                    continue;
                }
                Some(Found::Record { .. }) | Some(Found::Damage { .. }) | None => break,
            }
        };
        if last.len() > 3 {
            last.remove(0);
        }
        let mark = Known { keys: Vec::new(), definitions: Vec::new(), end: known.end };
        last.push((at, mark));
        match kind {
            kind::DEFINITION => known.definitions.push(at),
            kind::CHUNK => note_chunk(input, at, size, &mut known.keys)?,
            _ => {}
        }
        at = at.saturating_add(size);
        known.end = at;
    }
    while let Some((at, before)) = last.pop() {
        input.seek(SeekFrom::Start(at))?;
        if let Some(Found::Record { .. }) =
            Frames::new((&mut *input).take(known.end.saturating_sub(at)), at).next()?
        {
            break;
        }
        known.keys.retain(|key| key.at < at);
        known.definitions.retain(|definition| *definition < at);
        known.end = before.end;
    }
    Ok(known)
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

/// Adds the times in the head of a chunk.
fn note_chunk<R: Read + Seek>(
    input: &mut R,
    at: u64,
    size: u64,
    keys: &mut Vec<Entry>,
) -> Result<(), LogError> {
    let mut head = Vec::new();
    // The three numbers of the head take 10 bytes each at most.
    input.by_ref().take(size.saturating_sub(FRAME as u64).min(31)).read_to_end(&mut head)?;
    let Ok(head) = ChunkHead::decode(&mut Fields::new(&head)) else { return Ok(()) };
    if head.key {
        keys.push(Entry { at, first: head.first, most: head.most });
    } else if let Some(entry) = keys.last_mut() {
        entry.most = entry.most.max(head.most);
    }
    Ok(())
}

/// The head of a chunk.
#[derive(Debug, Clone, Copy)]
pub(super) struct ChunkHead {
    /// The chunk is a key.
    pub(super) key: bool,
    pub(super) rows: usize,
    /// Time of its first row, and the latest of all its rows.
    pub(super) first: u64,
    pub(super) most: u64,
}

impl ChunkHead {
    pub(super) fn decode(fields: &mut Fields<'_>) -> Result<ChunkHead, Error> {
        let key = fields.number("flags of a chunk")? & 1 == 1;
        let at = fields.at();
        let rows = fields.number("rows of a chunk")?;
        let most = super::MOST_ROWS as u64;
        let rows = usize::try_from(rows)
            .ok()
            .filter(|rows| *rows <= super::MOST_ROWS)
            .ok_or_else(|| Error::outside("rows of a chunk", at, rows, 0, most))?;
        let first = fields.number("time of a chunk")?;
        let most = first.wrapping_add(fields.signed("time of a chunk")?.cast_unsigned());
        Ok(ChunkHead { key, rows, first, most })
    }
}
