//! Reads the buffers and events of a BLG, with one buffer in memory at a time.
//!
//! All buffers have the same size, so a fault in one does not affect later buffers. Inside a buffer events
//! follow each other without gaps. If the size of an event is damaged, the next event is found by the
//! provider identifier, which every event has.

use std::io::{self, Read};

use tallymon_core::bytes::Bytes;
use tallymon_core::error::Error;
use tallymon_core::time::{FileTime, Frequency};

use super::align8;
use super::pages::{Order, PageHead, Promise, page_number};
use super::records;
use crate::error::{Damage, Notes};
use crate::zone::{ZONE_RULES_SIZE, ZoneRules};

/// The identifier of the provider in every event: `933f3bb3-943e-490d-9ced-3cbb14c14479`.
pub const PROVIDER: [u8; 16] =
    [0xb3, 0x3b, 0x3f, 0x93, 0x3e, 0x94, 0x0d, 0x49, 0x9c, 0xed, 0x3c, 0xbb, 0x14, 0xc1, 0x44, 0x79];

/// Size of the header of a buffer.
pub(super) const BUFFER_HEADER: usize = 0x48;
/// Size of the header of an event of the provider, part numbers included.
pub(super) const EVENT_HEADER: usize = 0x48;
/// The offset of the log file header in the first buffer.
pub(super) const FILE_HEADER: usize = 0x68;
/// The size of buffers in every log that we have seen.
pub(super) const USUAL_BUFFER: usize = 0x1_0000;
/// Event trace buffers are from 1 KiB to 16 MiB.
const BUFFER_SIZES: std::ops::RangeInclusive<usize> = 0x400..=0x100_0000;
/// The flags byte of every event header.
pub(super) const EVENT_FLAGS: u8 = 0xc0;

/// Whether a file begins as a BLG: two of three signs are enough, so that one damaged byte does not hide the
/// format.
pub(crate) fn detect(head: &[u8]) -> bool {
    let size = |at| Bytes::little(head).length(at, "").ok().filter(|size| is_buffer_size(*size));
    let (first, second) = (size(0), size(FILE_HEADER));
    let same_size = first.is_some() && first == second;
    let system_event = head.get(0x4b) == Some(&EVENT_FLAGS) && matches!(head.get(0x4a), Some(1 | 2));
    let provider = [first, second, Some(USUAL_BUFFER)]
        .into_iter()
        .flatten()
        .any(|size| has_provider(head, size.saturating_add(BUFFER_HEADER)));
    let signs = [same_size, system_event, provider].into_iter().filter(|sign| *sign).count();
    signs >= 2 || (provider && first.is_some())
}

fn is_buffer_size(size: usize) -> bool {
    BUFFER_SIZES.contains(&size) && size.is_multiple_of(0x400)
}

/// Whether an event of the provider begins at `at`.
pub(super) fn has_provider(data: &[u8], at: usize) -> bool {
    provider_distance(data, at) == Some(0)
}

/// How many bytes of the provider's identifier differ in the event at `at`.
fn provider_distance(data: &[u8], at: usize) -> Option<usize> {
    let found = data.get(at.checked_add(0x18)?..at.checked_add(0x28)?)?;
    Some(found.iter().zip(&PROVIDER).filter(|(one, other)| one != other).count())
}

/// The header of the log, from the first buffer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FileHeader {
    /// Size of every buffer in bytes.
    pub buffer_size: u32,
    /// Major and minor version of the system that wrote the log.
    pub os_version: (u8, u8),
    /// Its build number.
    pub os_build: u32,
    /// Bytes of a pointer in the writing program: 4 or 8.
    pub pointer_size: u32,
    /// The number of buffers in the file, this one included, as its writer noted at the end.
    pub buffers: u32,
    /// Mode of the log: bit 1 means that new buffers replace the oldest ones.
    pub mode: u32,
    /// Events that the writer lost.
    pub events_lost: u32,
    /// When the writer began, UTC. It is not the time of the first sample: the log may have been exported
    /// later.
    pub start: FileTime,
    /// When the writer ended, UTC; 0 if it crashed.
    pub end: FileTime,
    /// When the machine was started, UTC; 0 if the writer did not say.
    pub boot: FileTime,
    /// Ticks per second of the performance clock.
    pub perf_frequency: Frequency,
    /// Time zone of the writer.
    pub zone: ZoneRules,
    /// The path of the log on the machine that wrote it. It may contain the name of a user.
    pub file_name: String,
}

impl FileHeader {
    /// Reads the header event in the first buffer.
    fn parse(buffer: &[u8], buffer_size: usize) -> Result<FileHeader, Error> {
        const WHAT: &str = "TRACE_LOGFILE_HEADER";
        let u32 = |at: usize| Bytes::little(buffer).u32(FILE_HEADER.saturating_add(at), WHAT);
        let u64 = |at: usize| Bytes::little(buffer).u64(FILE_HEADER.saturating_add(at), WHAT);
        let version = Bytes::little(buffer).slice(FILE_HEADER.saturating_add(4), 2, WHAT)?.data();
        let pointer_size = match (u32(0x2c)?, buffer.get(0x4a)) {
            (size @ (4 | 8), _) => size,
            (_, Some(1)) => 4,
            (_, Some(2)) => 8,
            (found, _) => {
                let at = FILE_HEADER.saturating_add(0x2c);
                return Err(Error::value("TRACE_LOGFILE_HEADER.PointerSize", at, "4 or 8", u64::from(found)));
            }
        };
        let zone_at = if pointer_size == 4 { 0x40usize } else { 0x48 };
        let zone =
            Bytes::little(buffer).slice(FILE_HEADER.saturating_add(zone_at), ZONE_RULES_SIZE, WHAT)?.data();
        let times = align8(zone_at.saturating_add(ZONE_RULES_SIZE));
        let names = FILE_HEADER.saturating_add(times).saturating_add(0x20);
        let names = Bytes::little(buffer).rest(names, WHAT)?.data();
        let (_, after) = records::take_text(names).unwrap_or_default();
        Ok(FileHeader {
            buffer_size: u32::try_from(buffer_size).unwrap_or(u32::MAX),
            os_version: (version.first().copied().unwrap_or(0), version.get(1).copied().unwrap_or(0)),
            os_build: u32(8)?,
            pointer_size,
            buffers: u32(0x24)?,
            mode: u32(0x20)?,
            events_lost: u32(0x30)?,
            start: FileTime(u64(times.saturating_add(0x10))?),
            end: FileTime(u64(0x10)?),
            boot: FileTime(u64(times)?),
            perf_frequency: Frequency(u64(times.saturating_add(8))?.cast_signed()),
            zone: ZoneRules::parse(zone)?,
            file_name: records::take_text(after).map(|(name, _)| name).unwrap_or_default(),
        })
    }
}

/// An event of the provider; [`Container::body`] has its bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Event {
    /// Byte of the file where it begins.
    pub(super) byte: u64,
    /// Number of the buffer that it is in.
    pub(super) buffer: u64,
    /// Its kind, see [`super`].
    pub(super) kind: u8,
    /// Local time.
    pub(super) time: FileTime,
    /// Number of this part, from 1.
    pub(super) part: u32,
    /// How many parts the record has.
    pub(super) parts: u32,
    /// Its body in the buffer.
    body: (usize, usize),
}

/// A BLG as a sequence of events.
#[derive(Debug)]
pub(super) struct Container<R> {
    input: R,
    /// The bytes of the buffer, and perhaps some of the next one.
    data: Vec<u8>,
    /// Size of all buffers.
    size: usize,
    /// Number of the buffer in `data`.
    index: u64,
    /// Byte of the file where it begins.
    at: u64,
    /// The offsets of the next event and of the end of the events.
    next: usize,
    end: usize,
    /// The stated length of its events is wrong: they end where no event is found any more.
    end_unknown: bool,
    /// Moves the input to a byte; `None` if it cannot seek.
    seek: Option<SeekFn<R>>,
    /// The order of the buffers, if it is not simply that of the file.
    order: Option<Order>,
    /// The buffers are checked already; no buffer is compared with the one before it any more.
    is_ordered: bool,
    /// The number that the next buffer should have; `None` for any.
    expected: Option<u64>,
    /// The end of the log was compared with its header.
    is_ended: bool,
    pub(super) header: Option<FileHeader>,
}

/// Moves an input to a byte.
pub(super) type SeekFn<R> = fn(&mut R, u64) -> io::Result<()>;

impl Event {
    /// Byte of the file where its body begins.
    pub(super) const fn body_byte(&self) -> u64 {
        self.byte.saturating_add(EVENT_HEADER as u64)
    }
}

impl<R: Read> Container<R> {
    /// Reads the first buffer.
    ///
    /// # Errors
    ///
    /// Only errors of the operating system. Faults of the buffer go into the notes.
    pub(super) fn new(mut input: R, seek: Option<SeekFn<R>>, notes: &mut Notes) -> io::Result<Container<R>> {
        let mut data = Vec::new();
        let size = buffer_size(&mut input, &mut data)?;
        fill(&mut input, &mut data, size)?;
        let damage = |at: usize, what: String| Damage {
            byte: at as u64,
            buffer: Some(0),
            record: None,
            line: None,
            what,
        };
        let buffer = data.get(..data.len().min(size)).unwrap_or_default();
        let header = match FileHeader::parse(buffer, size) {
            Ok(header) => Some(header),
            Err(error) => {
                notes.damage(damage(error.at, format!("the header of the log cannot be read: {error}")));
                None
            }
        };
        if buffer.len() == size && Bytes::little(buffer).length(0, "").ok() != Some(size) {
            notes.damage(damage(0, format!("the size of the buffers is wrong, {size} was found elsewhere")));
        }
        if buffer.len() < size {
            let words = format!("the log ends inside of its header: {} of {size} bytes", buffer.len());
            notes.damage(damage(buffer.len(), words));
        }
        let mut container = Container {
            input,
            data,
            size,
            index: 0,
            at: 0,
            next: 0,
            end: 0,
            end_unknown: false,
            seek,
            order: None,
            is_ordered: false,
            expected: Some(1),
            is_ended: false,
            header,
        };
        if !container.promise().numbered && container.seek.is_some() {
            // Only the times of the buffers show their order, and the first one may be anywhere.
            container.sort(notes)?;
            container.load(0)?;
        }
        Ok(container)
    }

    /// The body of the last event of [`Container::next_event`].
    pub(super) fn body(&self, event: &Event) -> &[u8] {
        self.data.get(event.body.0..event.body.1).unwrap_or_default()
    }

    /// The next event of the provider. `record` is the number of the next data record, for the notes.
    pub(super) fn next_event(&mut self, notes: &mut Notes, record: u64) -> io::Result<Option<Event>> {
        loop {
            if self.next >= self.end
                && !self.more_in_buffer(notes, record)
                && !self.next_buffer(notes, record)?
            {
                return Ok(None);
            }
            if let Some(event) = self.event(notes, record) {
                return Ok(Some(event));
            }
        }
    }

    /// Reads the next buffer; `false` at the end of the file.
    fn next_buffer(&mut self, notes: &mut Notes, record: u64) -> io::Result<bool> {
        let before = self.index;
        let Some(next) = self.following(before) else { return Ok(self.end_of_log(notes)) };
        self.load(next)?;
        if !self.is_ordered && self.data.len() == self.size && !self.is_in_place(notes) {
            self.sort(notes)?;
            let Some(next) = self.following(before) else { return Ok(self.end_of_log(notes)) };
            self.load(next)?;
        }
        Ok(self.take_buffer(notes, record) || self.end_of_log(notes))
    }

    /// The buffer that is read after another one; `None` at the end of a known order.
    fn following(&self, page: u64) -> Option<u64> {
        self.order.as_ref().map_or(Some(page.saturating_add(1)), |order| order.after(page))
    }

    /// Reads a buffer into `data`.
    fn load(&mut self, page: u64) -> io::Result<()> {
        let begin = page.saturating_mul(self.size as u64);
        match self.seek {
            Some(seek) if page != self.index.saturating_add(1) => {
                seek(&mut self.input, begin)?;
                self.data.clear();
            }
            // Without a seek every buffer follows the one before it.
            _ => drop(self.data.drain(..self.data.len().min(self.size))),
        }
        (self.index, self.at) = (page, begin);
        fill(&mut self.input, &mut self.data, self.size)
    }

    /// What the header says about the buffers.
    fn promise(&self) -> Promise {
        // Server 2003 and earlier do not number them.
        let header = self.header.as_ref();
        Promise {
            numbered: header.is_none_or(|header| header.os_version.0 >= 6),
            circular: header.is_some_and(|header| header.mode & 2 != 0),
            buffers: header.map_or(0, |header| u64::from(header.buffers)),
        }
    }

    /// Whether the buffer in `data` has the number that comes next. In a stream that cannot seek, a buffer
    /// in the wrong place is noted, and is read there all the same.
    fn is_in_place(&mut self, notes: &mut Notes) -> bool {
        if !self.promise().numbered {
            return true;
        }
        let number = page_number(&self.data);
        let expected = self.expected.replace(number.saturating_add(1)).unwrap_or(number);
        if number == expected {
            return true;
        }
        if self.seek.is_some() {
            return false;
        }
        let what = format!(
            "the buffer has the number {number}, {expected} was expected: buffers are missing, doubled or \
             out of order"
        );
        notes.damage(Damage { byte: self.at, buffer: Some(self.index), record: None, line: None, what });
        true
    }

    /// Reads the heads of all buffers for their order.
    fn sort(&mut self, notes: &mut Notes) -> io::Result<()> {
        let mut heads = Vec::new();
        loop {
            let page = (heads.len() as u64).saturating_add(1);
            self.load(page)?;
            if self.data.len() < self.size {
                break;
            }
            heads.push(PageHead::of(&self.data));
        }
        let cut = !self.data.is_empty();
        let mut order = Order::of(&heads, self.promise());
        if cut {
            // The last buffer is not whole, and is read as far as it goes.
            order.pages.push(self.index);
            order.there = order.there.saturating_add(1);
        }
        for (page, what) in std::mem::take(&mut order.faults) {
            let byte = page.saturating_mul(self.size as u64);
            notes.damage(Damage { byte, buffer: Some(page), record: None, line: None, what });
        }
        std::mem::take(&mut order.remarks).into_iter().for_each(|remark| notes.remark(remark));
        (self.order, self.is_ordered) = (Some(order), true);
        Ok(())
    }

    /// Compares the number of buffers with the header, which its writer completes at the end. There is no
    /// next buffer.
    fn end_of_log(&mut self, notes: &mut Notes) -> bool {
        self.data.clear();
        (self.next, self.end, self.end_unknown) = (BUFFER_HEADER, BUFFER_HEADER, false);
        let Promise { circular, buffers, .. } = self.promise();
        let (there, missing) =
            self.order.as_ref().map_or((self.index, 0), |order| (order.there, order.missing));
        if !self.is_ended && !circular && buffers > there.saturating_add(missing) {
            let what = format!("the log ends early: its header counts {buffers} buffers, {there} are there");
            let byte = there.saturating_mul(self.size as u64);
            notes.damage(Damage { byte, buffer: Some(there), record: None, line: None, what });
        }
        self.is_ended = true;
        false
    }

    /// Whether it can move to any byte.
    pub(super) const fn can_seek(&self) -> bool {
        self.seek.is_some()
    }

    /// Moves to the event at a byte of the file.
    pub(super) fn seek_to(&mut self, byte: u64, notes: &mut Notes, record: u64) -> io::Result<()> {
        let index = byte.checked_div((self.size as u64).max(1)).unwrap_or(0);
        // Another index makes sure that the input is moved.
        self.index = u64::MAX;
        self.load(index)?;
        self.expected = Some(PageHead::of(&self.data).number.saturating_add(1)).filter(|_| index > 0);
        self.take_buffer(notes, record);
        self.next = usize::try_from(byte.saturating_sub(self.at)).unwrap_or(self.end);
        Ok(())
    }

    /// Goes to the first buffer after the header, in the order of the file. Returns the order, for
    /// [`Container::resume`].
    pub(super) fn begin_in_file_order(&mut self) -> io::Result<(Option<Order>, bool)> {
        let order = (self.order.take(), std::mem::replace(&mut self.is_ordered, true));
        self.index = u64::MAX;
        self.load(0)?;
        (self.next, self.end, self.end_unknown) = (0, 0, false);
        Ok(order)
    }

    /// Goes back to an event in the order of before.
    pub(super) fn resume(
        &mut self,
        (order, is_ordered): (Option<Order>, bool),
        byte: u64,
        notes: &mut Notes,
    ) -> io::Result<()> {
        (self.order, self.is_ordered, self.is_ended) = (order, is_ordered, false);
        self.seek_to(byte, notes, 1)
    }

    /// Finds the events of the buffer in `data`; `false` if it is empty.
    fn take_buffer(&mut self, notes: &mut Notes, record: u64) -> bool {
        let size = self.size;
        (self.next, self.end, self.end_unknown) = (BUFFER_HEADER, BUFFER_HEADER, false);
        let there = self.data.len();
        if there == 0 {
            self.next = self.end;
            return false;
        }
        if there < size {
            self.damage(
                notes,
                record,
                there,
                format!("the log is cut off: {there} of {size} bytes of the buffer are there"),
            );
        } else if Bytes::little(&self.data).length(0, "").ok() != Some(size) {
            self.damage(
                notes,
                record,
                0,
                "the size in the buffer's header is wrong; it is read all the same".to_owned(),
            );
        }
        let Ok(used) = Bytes::little(&self.data).length(0x30, "buffer header, bytes used") else {
            return there == size;
        };
        if (BUFFER_HEADER..=size).contains(&used) {
            self.end = used.min(there);
        } else {
            let words =
                format!("{used} bytes used is not possible in a buffer of {size}; its events are searched");
            self.damage(notes, record, 0x30, words);
            (self.end, self.end_unknown) = (there.min(size), true);
        }
        true
    }

    /// Whether events follow after the stated length of used bytes, which is damaged then.
    fn more_in_buffer(&mut self, notes: &mut Notes, record: u64) -> bool {
        let limit = self.limit();
        if self.index == 0 || self.end_unknown || self.next >= limit || !has_provider(&self.data, self.next) {
            return false;
        }
        self.damage(
            notes,
            record,
            0x30,
            format!("events follow behind the {} bytes that are said to be used", self.end),
        );
        (self.end, self.end_unknown) = (limit, true);
        true
    }

    /// Reads the event at `next` and moves on; `None` if it is not an event of the provider.
    fn event(&mut self, notes: &mut Notes, record: u64) -> Option<Event> {
        let at = self.next;
        let distance = provider_distance(&self.data, at);
        if distance.is_none_or(|distance| distance > 2) {
            self.foreign_event(notes, record, at);
            return None;
        }
        let limit = self.limit();
        let stated = usize::from(Bytes::little(&self.data).u16(at, "").unwrap_or(0));
        let stated_end = at.saturating_add(stated);
        let end = if stated >= EVENT_HEADER && self.leads_on(align8(stated_end)) {
            stated_end
        } else {
            self.end_of_event(notes, record, at, stated)
        };
        let end = end.min(limit);
        self.next = align8(end);
        let u32 = |offset: usize| Bytes::little(&self.data).u32(at.saturating_add(offset), "");
        let (Ok(part), Ok(parts), Ok(time), Some(kind)) = (
            u32(0x40),
            u32(0x44),
            Bytes::little(&self.data).u64(at.saturating_add(0x10), ""),
            self.data.get(at.saturating_add(4)).copied(),
        ) else {
            self.damage(notes, record, at, "the buffer ends inside of the header of an event".to_owned());
            return None;
        };
        if distance != Some(0) {
            let words =
                "the provider of the event is damaged; it is read as one of performance counters".to_owned();
            self.damage(notes, record, at.saturating_add(0x18), words);
        }
        let (part, parts) = if part == 0 || part > parts {
            self.damage(
                notes,
                record,
                at.saturating_add(0x40),
                format!("part {part} of {parts} is not possible"),
            );
            (1, 1)
        } else {
            (part, parts)
        };
        let byte = self.at.saturating_add(at as u64);
        Some(Event {
            byte,
            buffer: self.index,
            kind,
            time: FileTime(time),
            part,
            parts,
            body: (at.saturating_add(EVENT_HEADER).min(end), end),
        })
    }

    /// The end of an event with a damaged size. Its content has lengths of its own, so too much is better
    /// than too little; but it ends at the next event.
    fn end_of_event(&mut self, notes: &mut Notes, record: u64, at: usize, stated: usize) -> usize {
        let limit = self.limit();
        let stated_end = at.saturating_add(stated);
        if let Some(next) = self.find_event(at.saturating_add(EVENT_HEADER)) {
            self.damage(
                notes,
                record,
                at,
                format!("an event of {stated} bytes does not lead to the next one"),
            );
            return next;
        }
        if stated_end > limit {
            let left = limit.saturating_sub(at);
            self.damage(
                notes,
                record,
                at,
                format!("an event of {stated} bytes is cut off, {left} are there"),
            );
            return limit;
        }
        if stated_end > self.end {
            let words = format!("an event of {stated} bytes crosses the end of the {} bytes used", self.end);
            self.damage(notes, record, at, words);
            (self.end, self.end_unknown) = (limit, true);
            return stated_end;
        }
        self.damage(
            notes,
            record,
            at,
            format!("an event of {stated} bytes does not lead to the end of the buffer"),
        );
        self.end
    }

    /// Skips an event of another provider, or damage.
    fn foreign_event(&mut self, notes: &mut Notes, record: u64, at: usize) {
        let size = usize::from(Bytes::little(&self.data).u16(at, "").unwrap_or(0));
        let end = align8(at.saturating_add(size));
        let looks_like_event = self.data.get(at.saturating_add(3)) == Some(&EVENT_FLAGS) && size >= 0x10;
        if looks_like_event && self.leads_on(end) {
            self.damage(
                notes,
                record,
                at,
                format!("an event of another provider, {size} bytes, was skipped"),
            );
            self.next = end;
            return;
        }
        let next = self.find_event(at);
        let fill_follows =
            self.end_unknown && self.data.get(at..at.saturating_add(8)).is_none_or(|rest| rest == [0xff; 8]);
        // If the end of the events is unknown, the filler behind them is not another fault.
        if next.is_some() || !fill_follows {
            let until = next.unwrap_or(self.end);
            let words = format!("{} bytes are no event and were skipped", until.saturating_sub(at));
            self.damage(notes, record, at, words);
        }
        self.next = next.unwrap_or_else(|| self.limit());
        if next.is_none() {
            // No event of the provider follows, so there is nothing to find after the used bytes either.
            (self.end, self.end_unknown) = (self.next, true);
        }
    }

    /// Whether an event may end at `end`: another begins there, or the buffer's events end.
    fn leads_on(&self, end: usize) -> bool {
        let header = end.checked_add(2).and_then(|at| self.data.get(at..at.checked_add(2)?));
        end == align8(self.end) && end <= self.limit() && !self.end_unknown
            || has_provider(&self.data, end)
            || (end < self.end && matches!(header, Some([1 | 2 | 0x0a | 0x14, EVENT_FLAGS])))
            || (self.end_unknown && end == self.limit())
            || (self.end_unknown && self.data.get(end) == Some(&0xff) && self.find_event(end).is_none())
    }

    /// The first offset from `from` on at which an event of the provider begins.
    fn find_event(&self, from: usize) -> Option<usize> {
        let limit = self.limit();
        let mut at = align8(from);
        while at.saturating_add(EVENT_HEADER) <= limit {
            if has_provider(&self.data, at) {
                return Some(at);
            }
            at = at.saturating_add(8);
        }
        None
    }

    fn limit(&self) -> usize {
        self.data.len().min(self.size)
    }

    fn damage(&self, notes: &mut Notes, record: u64, at: usize, what: String) {
        let byte = self.at.saturating_add(at as u64);
        notes.damage(Damage { byte, buffer: Some(self.index), record: Some(record), line: None, what });
    }
}

/// Reads until `data` has `length` bytes or the input ends. Memory grows with the input, not with `length`.
fn fill(input: &mut impl Read, data: &mut Vec<u8>, length: usize) -> io::Result<()> {
    let missing = length.saturating_sub(data.len());
    input.take(missing as u64).read_to_end(data)?;
    Ok(())
}

/// The size of the buffers: the first buffer has it twice, and the second one begins with it.
fn buffer_size(input: &mut impl Read, data: &mut Vec<u8>) -> io::Result<usize> {
    fill(input, data, FILE_HEADER.saturating_add(4))?;
    let first = Bytes::little(data).length(0, "").unwrap_or(0);
    let second = Bytes::little(data).length(FILE_HEADER, "").unwrap_or(0);
    if first == second && is_buffer_size(first) {
        return Ok(first);
    }
    let candidates =
        [first, second, USUAL_BUFFER].map(|size| if is_buffer_size(size) { size } else { USUAL_BUFFER });
    for size in candidates {
        fill(input, data, size.saturating_add(0x80))?;
        let same = Bytes::little(data).length(size, "").ok() == Some(size);
        if same && has_provider(data, size.saturating_add(BUFFER_HEADER)) {
            return Ok(size);
        }
    }
    Ok(if is_buffer_size(second) { second } else { USUAL_BUFFER })
}
