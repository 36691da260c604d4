//! The blocks of a stream: descriptions of events, stacks, events, and points of order.

use std::io::Read;
use std::sync::Arc;

use super::{Cursor, Event, EventKind, MOST_ADDRESSES, MOST_METADATA, Trace, TraceError, fields};

/// The header of a compressed event has these parts.
const HAS_KIND: u8 = 1;
const HAS_SEQUENCE: u8 = 2;
const HAS_THREAD: u8 = 4;
const HAS_STACK: u8 = 8;
const HAS_ACTIVITY: u8 = 16;
const HAS_RELATED_ACTIVITY: u8 = 32;
const HAS_LENGTH: u8 = 128;

/// What the header of an event says. A compressed header says what differs from that of the event before.
#[derive(Debug, Clone, Copy, Default)]
struct Header {
    kind: u32,
    sequence: u32,
    capture_thread: u64,
    thread: u64,
    stack: u32,
    ticks: u64,
    length: u32,
}

impl<R: Read> Trace<R> {
    /// Reads the descriptions of events.
    pub(super) fn read_metadata(&mut self, mut cursor: Cursor<'_>) -> Result<(), TraceError> {
        let compressed = block_header(&mut cursor)?;
        let mut header = Header::default();
        while cursor.left() > 0 {
            let payload = next_event(&mut cursor, compressed, &mut header)?;
            let (number, kind) = description(payload)?;
            if self.kinds.len() >= MOST_METADATA {
                return Err(TraceError::Damaged { what: "the end of the descriptions", at: cursor.at() });
            }
            self.kinds.insert(number, Arc::new(kind));
        }
        Ok(())
    }

    /// Reads events, and passes those whose description is known.
    pub(super) fn read_events(
        &mut self,
        mut cursor: Cursor<'_>,
        each: &mut dyn FnMut(&Event<'_>),
    ) -> Result<(), TraceError> {
        let compressed = block_header(&mut cursor)?;
        let mut header = Header::default();
        while cursor.left() > 0 {
            let payload = next_event(&mut cursor, compressed, &mut header)?;
            self.note_sequence(&header);
            let Some(kind) = self.kinds.get(&header.kind) else { continue };
            let stack = self.stacks.get(&header.stack).map(|stack| &**stack).unwrap_or_default();
            let payload = payload.rest();
            let pointer_size = self.start.pointer_size;
            let Header { ticks, thread, .. } = header;
            each(&Event { kind, ticks, thread, stack, payload, pointer_size });
        }
        Ok(())
    }

    /// Counts events that are missing between two of the same thread.
    fn note_sequence(&mut self, header: &Header) {
        // A program cannot have more threads than this at a time.
        if self.sequence.len() > 1 << 22 {
            self.sequence.clear();
        }
        let last = self.sequence.insert(header.capture_thread, header.sequence);
        let gap = last.map_or(0, |last| header.sequence.wrapping_sub(last).saturating_sub(1));
        // Numbers go back only in damaged streams.
        if gap < 1 << 31 {
            self.lost = self.lost.saturating_add(u64::from(gap));
        }
    }

    /// Reads stacks.
    pub(super) fn read_stacks(&mut self, mut cursor: Cursor<'_>) -> Result<(), TraceError> {
        let first = cursor.u32("the number of the first stack")?;
        let count = cursor.u32("the number of stacks")?;
        for number in 0..count {
            let length = cursor.u32("the length of a stack")?;
            let bytes = cursor.take(usize::try_from(length).unwrap_or(usize::MAX), "a stack")?;
            let stack: Arc<[u64]> = if self.start.pointer_size == 4 {
                bytes.as_chunks::<4>().0.iter().map(|part| u64::from(u32::from_le_bytes(*part))).collect()
            } else {
                bytes.as_chunks::<8>().0.iter().map(|part| u64::from_le_bytes(*part)).collect()
            };
            // An empty stack takes memory too.
            self.addresses = self.addresses.saturating_add(stack.len()).saturating_add(4);
            if self.addresses > MOST_ADDRESSES {
                return Err(TraceError::Damaged { what: "the end of the stacks", at: cursor.at() });
            }
            self.stacks.insert(first.wrapping_add(number), stack);
        }
        Ok(())
    }

    /// Reads a point at which stacks are counted anew.
    pub(super) fn read_sequence_point(&mut self, mut cursor: Cursor<'_>) -> Result<(), TraceError> {
        cursor.u64("the time of a sequence point")?;
        let count = cursor.u32("the number of threads")?;
        for _ in 0..count {
            let thread = cursor.u64("a thread")?;
            let sequence = cursor.u32("the sequence number of a thread")?;
            let last = self.sequence.remove(&thread);
            let gap = last.map_or(0, |last| sequence.wrapping_sub(last));
            if gap < 1 << 31 {
                self.lost = self.lost.saturating_add(u64::from(gap));
            }
        }
        self.sequence.clear();
        self.stacks.clear();
        self.addresses = 0;
        Ok(())
    }
}

/// Reads the header of a block of events; says whether their headers are compressed.
fn block_header(cursor: &mut Cursor<'_>) -> Result<bool, TraceError> {
    let size = cursor.u16("the size of a block's header")?;
    let flags = cursor.u16("the flags of a block")?;
    let rest = usize::from(size).saturating_sub(4);
    cursor.take(rest, "the header of a block")?;
    Ok(flags & 1 != 0)
}

/// Reads the header of the next event and returns its values.
fn next_event<'a>(
    cursor: &mut Cursor<'a>,
    compressed: bool,
    header: &mut Header,
) -> Result<Cursor<'a>, TraceError> {
    if compressed {
        compressed_header(cursor, header)?
    } else {
        plain_header(cursor, header)?
    }
    let at = cursor.at();
    let length = usize::try_from(header.length).unwrap_or(usize::MAX);
    let payload = cursor.take(length, "the values of an event")?;
    if !compressed {
        // Plain events begin at multiples of four.
        let padding = length.wrapping_neg() & 3;
        cursor.take(padding.min(cursor.left()), "padding")?;
    }
    Ok(Cursor::new(payload, at))
}

fn plain_header(cursor: &mut Cursor<'_>, header: &mut Header) -> Result<(), TraceError> {
    cursor.u32("the size of an event")?;
    header.kind = cursor.u32("the kind of an event")? & 0x7fff_ffff;
    header.sequence = cursor.u32("the sequence number of an event")?;
    header.capture_thread = cursor.u64("the thread of an event")?;
    cursor.u32("the processor of an event")?;
    header.thread = cursor.u64("the thread of an event")?;
    header.stack = cursor.u32("the stack of an event")?;
    header.ticks = cursor.u64("the time of an event")?;
    cursor.take(32, "the activities of an event")?;
    header.length = cursor.u32("the length of an event's values")?;
    Ok(())
}

fn compressed_header(cursor: &mut Cursor<'_>, header: &mut Header) -> Result<(), TraceError> {
    let flags = cursor.byte("the flags of an event")?;
    if flags & HAS_KIND != 0 {
        header.kind = cursor.compact32("the kind of an event")?;
    }
    if flags & HAS_SEQUENCE != 0 {
        let more = cursor.compact32("the sequence number of an event")?;
        header.sequence = header.sequence.wrapping_add(more).wrapping_add(1);
        header.capture_thread = cursor.compact("the thread of an event")?;
        cursor.compact("the processor of an event")?;
    } else if header.kind != 0 {
        header.sequence = header.sequence.wrapping_add(1);
    }
    if flags & HAS_THREAD != 0 {
        header.thread = cursor.compact("the thread of an event")?;
    }
    if flags & HAS_STACK != 0 {
        header.stack = cursor.compact32("the stack of an event")?;
    }
    header.ticks = header.ticks.wrapping_add(cursor.compact("the time of an event")?);
    if flags & HAS_ACTIVITY != 0 {
        cursor.take(16, "the activity of an event")?;
    }
    if flags & HAS_RELATED_ACTIVITY != 0 {
        cursor.take(16, "the related activity of an event")?;
    }
    if flags & HAS_LENGTH != 0 {
        header.length = cursor.compact32("the length of an event's values")?;
    }
    Ok(())
}

/// Reads the description of a kind of event, with the number that events have for it.
fn description(mut payload: Cursor<'_>) -> Result<(u32, EventKind), TraceError> {
    let number = payload.u32("the number of an event's description")?;
    let provider = payload.text("the provider of an event")?;
    let id = payload.u32("the number of an event")?;
    let name = payload.text("the name of an event")?;
    payload.u64("the keywords of an event")?;
    let version = payload.u32("the version of an event")?;
    payload.u32("the level of an event")?;
    let fields = fields::fields(&mut payload, 0)?;
    Ok((number, EventKind { provider, id, name, version, fields }))
}
