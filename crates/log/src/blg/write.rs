//! Writes a BLG in counter mode, as Windows 8 and later do.

use std::io::{self, Seek, SeekFrom, Write};
use std::sync::Arc;

use tallymon_core::text::{ByteOrder, append_wide, encode_wide};
use tallymon_core::time::FileTime;

use super::align8;
use super::container::{BUFFER_HEADER, EVENT_HEADER, FILE_HEADER, FileHeader, PROVIDER, USUAL_BUFFER};
use super::records::{self, Data, ENTRY, Entry, ITEM, MULTI_HEADER, RawCounter, kind};

/// Bytes of a record in one event. Longer records are cut into parts.
const PART: usize = 8000;
/// Longest text in the header; it has to fit into one buffer.
const LONGEST_NAME: usize = 260;

/// The properties of a BLG besides counters and values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WriteOptions {
    /// Identifies the log.
    pub id: [u8; 16],
    /// Thread and process of the writer.
    pub thread_process: (u32, u32),
    /// System, clock, zone and file name for the header. Sizes and numbers of buffers in it are not used.
    pub header: FileHeader,
    /// Number of processors and their clock in MHz; Windows itself always says 1.
    pub processor_mhz: u32,
    /// Pad a multi record as Windows' live collector does (as if each name were padded), not as its exporter
    /// does (once at the end).
    pub live_padding: bool,
}

impl Default for WriteOptions {
    fn default() -> WriteOptions {
        let header =
            FileHeader { os_version: (10, 0), os_build: 14393, pointer_size: 8, ..FileHeader::default() };
        WriteOptions { id: [0; 16], thread_process: (0, 0), header, processor_mhz: 0, live_padding: false }
    }
}

/// Writes a BLG.
#[derive(Debug)]
pub struct BlgWriter<W> {
    out: W,
    options: WriteOptions,
    entries: Vec<Entry>,
    /// The current buffer, from its header on.
    buffer: Vec<u8>,
    /// The number of written buffers, the header included.
    buffers: u32,
    listed: bool,
    /// When the last record was taken, UTC.
    last: FileTime,
    body: Vec<u8>,
}

impl<W: Write + Seek> BlgWriter<W> {
    /// Begins a log of these counters. The header is written again at the end, when its numbers are known.
    ///
    /// # Errors
    ///
    /// Errors of the output.
    pub fn new(mut out: W, options: WriteOptions, entries: Vec<Entry>) -> io::Result<BlgWriter<W>> {
        out.write_all(&header_buffer(&options, 1, options.header.end))?;
        Ok(BlgWriter {
            out,
            last: options.header.start,
            options,
            entries,
            buffer: vec![0; BUFFER_HEADER],
            buffers: 1,
            listed: false,
            body: Vec::new(),
        })
    }

    /// Writes a record: one value for each entry, in their order. `local` is the time as the machine's clock
    /// shows it.
    ///
    /// # Errors
    ///
    /// Errors of the output, and a wrong number of values.
    pub fn record(&mut self, utc: FileTime, local: FileTime, values: &[Data]) -> io::Result<()> {
        if values.len() != self.entries.len() {
            let words = format!("a record needs {} values, found {}", self.entries.len(), values.len());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, words));
        }
        self.list(local)?;
        self.last = utc;
        let mut body = std::mem::take(&mut self.body);
        body.clear();
        record_body(&mut body, values, self.options.live_padding);
        let written = self.event(kind::DATA, local, &body);
        self.body = body;
        written
    }

    /// Ends the log: writes the last buffer, and the header again with the number of buffers.
    ///
    /// # Errors
    ///
    /// Errors of the output.
    pub fn finish(mut self) -> io::Result<W> {
        self.list(self.options.header.start)?;
        self.flush(None)?;
        let end = if self.options.header.end.0 == 0 { self.last } else { self.options.header.end };
        self.out.seek(SeekFrom::Start(0))?;
        self.out.write_all(&header_buffer(&self.options, self.buffers, end))?;
        self.out.seek(SeekFrom::End(0))?;
        self.out.flush()?;
        Ok(self.out)
    }

    /// Writes the counter list before the first record. It is a microsecond older, so that sorting by time
    /// keeps it first.
    fn list(&mut self, first: FileTime) -> io::Result<()> {
        if self.listed {
            return Ok(());
        }
        self.listed = true;
        let mut body = Vec::new();
        body.extend_from_slice(&records::LIST_VERSION.to_le_bytes());
        body.extend_from_slice(&records::LIST_TYPE.to_le_bytes());
        for entry in &self.entries {
            list_entry(&mut body, entry);
        }
        self.event(kind::LIST, FileTime(first.0.saturating_sub(10)), &body)
    }

    /// Writes a record as one event, or in parts as several events.
    fn event(&mut self, kind: u8, time: FileTime, body: &[u8]) -> io::Result<()> {
        let parts = u32::try_from(body.len().div_ceil(PART)).unwrap_or(u32::MAX);
        for (part, body) in (1u32..).zip(body.chunks(PART)) {
            let size = EVENT_HEADER.saturating_add(body.len());
            if self.buffer.len().saturating_add(align8(size)) > USUAL_BUFFER {
                self.flush(Some(align8(size)))?;
            }
            let (thread, process) = self.options.thread_process;
            let out = &mut self.buffer;
            // A part has 8000 bytes at most, so that its size fits 16 bits.
            out.extend_from_slice(&u16::try_from(size).unwrap_or(u16::MAX).to_le_bytes());
            out.extend_from_slice(&[0x14, 0xc0, kind, 0, 60, 0]);
            out.extend_from_slice(&thread.to_le_bytes());
            out.extend_from_slice(&process.to_le_bytes());
            out.extend_from_slice(&time.0.to_le_bytes());
            out.extend_from_slice(&PROVIDER);
            out.extend_from_slice(&[0; 8]);
            out.extend_from_slice(&self.options.id);
            out.extend_from_slice(&part.to_le_bytes());
            out.extend_from_slice(&parts.to_le_bytes());
            out.extend_from_slice(body);
            out.resize(align8(out.len()), 0);
        }
        Ok(())
    }

    /// Writes the buffer: because an event of `tried` bytes does not fit any more, or at the end.
    fn flush(&mut self, tried: Option<usize>) -> io::Result<()> {
        let used = small(self.buffer.len());
        let size = small(USUAL_BUFFER);
        let wanted = used.saturating_add(tried.map_or(size, small));
        let flags: u16 = if tried.is_some() { 0x20 } else { 0x21 };
        let mut header = Vec::with_capacity(BUFFER_HEADER);
        for number in [size, used, wanted, 0] {
            header.extend_from_slice(&number.to_le_bytes());
        }
        header.extend_from_slice(&self.last.0.to_le_bytes());
        header.extend_from_slice(&u64::from(self.buffers).to_le_bytes());
        header.extend_from_slice(&[0; 12]);
        header.extend_from_slice(&3u32.to_le_bytes());
        header.extend_from_slice(&used.to_le_bytes());
        header.extend_from_slice(&flags.to_le_bytes());
        header.resize(BUFFER_HEADER, 0);
        if let Some(place) = self.buffer.get_mut(..BUFFER_HEADER) {
            place.copy_from_slice(&header);
        }
        self.buffer.resize(USUAL_BUFFER, 0xff);
        self.out.write_all(&self.buffer)?;
        self.buffers = self.buffers.saturating_add(1);
        self.buffer.clear();
        self.buffer.resize(BUFFER_HEADER, 0);
        Ok(())
    }
}

/// A length that is always smaller than a buffer or a record.
fn small(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

/// The first buffer.
fn header_buffer(options: &WriteOptions, buffers: u32, end: FileTime) -> Vec<u8> {
    let FileHeader { os_version, os_build, start, boot, perf_frequency, zone, file_name, .. } =
        &options.header;
    let mut out = vec![0; FILE_HEADER];
    let (major, minor) = *os_version;
    let numbers = |out: &mut Vec<u8>, numbers: &[u32]| {
        numbers.iter().for_each(|number| out.extend_from_slice(&number.to_le_bytes()));
    };
    numbers(&mut out, &[small(USUAL_BUFFER)]);
    out.extend_from_slice(&[major, minor, 1, 5]);
    numbers(&mut out, &[*os_build, 1]);
    out.extend_from_slice(&end.0.to_le_bytes());
    // Timer resolution, no maximum size, sequential and private to a process, then numbers that begin with 1.
    numbers(&mut out, &[156_250, 0, 0x3002_0801, buffers, 1, 8, 0, options.processor_mhz]);
    out.extend_from_slice(&[0; 16]);
    out.extend_from_slice(&zone.to_bytes());
    out.resize(align8(out.len()), 0);
    out.extend_from_slice(&boot.0.to_le_bytes());
    out.extend_from_slice(&perf_frequency.0.to_le_bytes());
    out.extend_from_slice(&start.0.to_le_bytes());
    // The clock is the system time; no buffers were lost.
    numbers(&mut out, &[2, 0]);
    let file_name: String = file_name.chars().take(LONGEST_NAME).collect();
    out.extend_from_slice(&encode_wide(&id_text(&options.id), ByteOrder::Little));
    out.extend_from_slice(&encode_wide(&file_name, ByteOrder::Little));
    let size = out.len().saturating_sub(BUFFER_HEADER);
    out.resize(align8(out.len()), 0);
    let used = small(out.len());

    let mut head = Vec::with_capacity(FILE_HEADER);
    numbers(&mut head, &[small(USUAL_BUFFER), used]);
    head.resize(0x30, 0);
    numbers(&mut head, &[used]);
    head.extend_from_slice(&[1, 0, 4, 0]);
    head.resize(BUFFER_HEADER, 0);
    head.extend_from_slice(&[0, 0, 2, 0xc0]);
    head.extend_from_slice(&u16::try_from(size).unwrap_or(u16::MAX).to_le_bytes());
    head.extend_from_slice(&[0, 0]);
    numbers(&mut head, &[options.thread_process.0, options.thread_process.1]);
    head.extend_from_slice(&start.0.to_le_bytes());
    head.resize(FILE_HEADER, 0);
    if let Some(place) = out.get_mut(..FILE_HEADER) {
        place.copy_from_slice(&head);
    }
    out.resize(USUAL_BUFFER, 0xff);
    out
}

/// An identifier as text: the first three fields are little-endian numbers.
fn id_text(id: &[u8; 16]) -> String {
    let [a, b, c, d, e, f, g, h, rest @ ..] = id;
    let mut text = String::new();
    let groups: [&[u8]; 5] = [
        &[*d, *c, *b, *a],
        &[*f, *e],
        &[*h, *g],
        rest.get(..2).unwrap_or_default(),
        rest.get(2..).unwrap_or_default(),
    ];
    for group in groups {
        if !text.is_empty() {
            text.push('-');
        }
        group.iter().for_each(|byte| text.push_str(&format!("{byte:02x}")));
    }
    text
}

fn list_entry(out: &mut Vec<u8>, entry: &Entry) {
    let mut texts = Vec::new();
    let mut offset = |text: &Option<String>| -> i32 {
        let Some(text) = text else {
            return -1;
        };
        let offset = i32::try_from(texts.len()).unwrap_or(i32::MAX);
        texts.extend_from_slice(&encode_wide(text, ByteOrder::Little));
        offset
    };
    // The order of the texts, and of their offsets.
    let machine = offset(&entry.machine);
    let object = offset(&entry.object);
    let instance = offset(&entry.instance);
    let parent = offset(&entry.parent);
    let counter = offset(&entry.counter);
    let length = align8(ENTRY.saturating_add(texts.len()));
    let end = out.len().saturating_add(length);
    for number in [small(length), entry.flags, entry.user, entry.counter_type.0] {
        out.extend_from_slice(&number.to_le_bytes());
    }
    out.extend_from_slice(&entry.time_base.to_le_bytes());
    for number in
        [entry.scale, machine, object, instance, parent, entry.instance_index.cast_signed(), counter]
    {
        out.extend_from_slice(&number.to_le_bytes());
    }
    out.extend_from_slice(&texts);
    out.resize(end, 0);
}

fn record_body(out: &mut Vec<u8>, values: &[Data], live_padding: bool) {
    head(out, records::OUTER, 0);
    for value in values {
        match value {
            Data::Single(raw) => single(out, raw),
            Data::Multi { status, time, items } => multi(out, *status, *time, items, live_padding),
        }
    }
    let length = small(out.len());
    set_u32(out, 4, length);
}

fn head(out: &mut Vec<u8>, sub_type: u8, length: u32) {
    out.extend_from_slice(&records::TAG);
    out.push(sub_type);
    out.extend_from_slice(&length.to_le_bytes());
}

fn single(out: &mut Vec<u8>, raw: &RawCounter) {
    head(out, records::SINGLE, small(records::SINGLE_SIZE));
    out.extend_from_slice(&raw.status.to_le_bytes());
    out.extend_from_slice(&raw.time.0.to_le_bytes());
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(&raw.first.to_le_bytes());
    out.extend_from_slice(&raw.second.to_le_bytes());
    out.extend_from_slice(&raw.multi_count.to_le_bytes());
    out.extend_from_slice(&[0; 4]);
}

fn multi(
    out: &mut Vec<u8>,
    status: u32,
    time: FileTime,
    items: &[(Arc<str>, u32, i64, i64)],
    live_padding: bool,
) {
    let start = out.len();
    head(out, records::MULTI, 0);
    for number in [0, small(items.len()), 0, status] {
        out.extend_from_slice(&number.to_le_bytes());
    }
    out.extend_from_slice(&time.0.to_le_bytes());
    let mut name_at = MULTI_HEADER.saturating_add(items.len().saturating_mul(ITEM));
    let mut reserved = name_at;
    for (name, multi_count, first, second) in items {
        out.extend_from_slice(&small(name_at).to_le_bytes());
        out.extend_from_slice(&multi_count.to_le_bytes());
        out.extend_from_slice(&first.to_le_bytes());
        out.extend_from_slice(&second.to_le_bytes());
        let letters = if name.is_ascii() { name.len() } else { name.encode_utf16().count() };
        let length = letters.saturating_add(1).saturating_mul(2);
        name_at = name_at.saturating_add(length);
        reserved = reserved.saturating_add(if live_padding { align8(length) } else { length });
    }
    for (name, ..) in items {
        if name.is_ascii() {
            out.extend(name.bytes().flat_map(|letter| [letter, 0]));
        } else {
            append_wide(out, name, ByteOrder::Little);
        }
        out.extend_from_slice(&[0, 0]);
    }
    let length = align8(reserved).saturating_add(8);
    out.resize(start.saturating_add(length), 0);
    set_u32(out, start.saturating_add(4), small(length));
    set_u32(out, start.saturating_add(8), small(length.saturating_sub(8)));
}

fn set_u32(out: &mut [u8], at: usize, number: u32) {
    if let Some(place) = out.get_mut(at..).and_then(|rest| rest.first_chunk_mut::<4>()) {
        *place = number.to_le_bytes();
    }
}
