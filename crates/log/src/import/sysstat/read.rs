//! Reads the headers and records of sysstat's binary files.

use std::io::{self, Read};

use tallymon_core::bytes::{ByteOrder, Bytes};
use tallymon_core::error::Error;
use tallymon_core::time::FileTime;

use super::activities::{ACTIVITIES, Activity};
use super::items::ItemReader;
use super::{FORMAT, MAGIC, old};
use crate::error::{LogError, LogErrorKind};
use crate::format::Format;
use crate::import::columns::Columns;
use crate::import::reader::Decoder;
use crate::import::table::{Kind, LEVEL, RATE};
use crate::reader::About;
use crate::zone::Zone;

/// The lengths that sysstat itself refuses to exceed.
pub(super) const MOST_HEADER: usize = 8192;
pub(super) const MOST_ACTIVITIES: usize = 256;
const MOST_STRUCTURE: usize = 1024;
const MOST_EXTRA: u64 = 8192 * 1024;
/// The numbers of one activity at one time take at most so many bytes.
const MOST_ITEMS: u64 = 64 << 20;

const RESTART: u8 = 2;
const COMMENT: u8 = 4;

/// How many fields of each width a structure has: 8 bytes, the machine's width in 8 bytes, 4 bytes.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Widths {
    pub(super) longs: usize,
    pub(super) words: usize,
    pub(super) ints: usize,
}

impl Widths {
    /// The byte behind the fields of 8 bytes, where those of 4 begin.
    fn ints_at(self) -> usize {
        self.longs.saturating_add(self.words).saturating_mul(8)
    }

    /// The byte behind all numbers.
    pub(super) fn end(self) -> usize {
        self.ints_at().saturating_add(self.ints.saturating_mul(4))
    }
}

/// One activity as this file has it.
#[derive(Debug)]
pub(super) struct Stored {
    pub(super) id: u32,
    pub(super) magic: u32,
    pub(super) items: u32,
    pub(super) sub_items: u32,
    pub(super) counted: bool,
    pub(super) size: usize,
    pub(super) widths: Widths,
    pub(super) known: Option<&'static Activity>,
    /// The names and kinds of its fields, in the order of their numbers.
    pub(super) fields: Vec<(String, Kind, Width)>,
    /// Where its fields are.
    pub(super) places: Vec<usize>,
    /// Where the text of an item begins.
    pub(super) text_at: usize,
    /// The file is older than 11.7.1: its places for devices may be empty, and it has the sum of all
    /// processors.
    pub(super) is_old: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Width {
    Long,
    Float,
    Word,
    Int,
}

/// Decodes the records of a file of sysstat.
pub(crate) struct SysstatDecoder<R> {
    input: R,
    byte: u64,
    pub(super) order: ByteOrder,
    /// Bytes of a `long` of the machine that wrote the file.
    pub(super) long: u8,
    pub(super) record_size: usize,
    record_widths: Widths,
    pub(super) activities: Vec<Stored>,
    /// Of a file before 11.7.1: how many activities a restart lists again.
    pub(super) old: Option<u32>,
    pub(super) buffer: Vec<u8>,
}

/// The header of a record.
#[derive(Debug, Clone, Copy)]
struct Head {
    /// In 100 ns.
    clock: u64,
    seconds: u64,
    extra: bool,
    kind: u8,
    hour: u8,
    minute: u8,
}

pub(super) fn not_a_log(words: String) -> LogError {
    LogError::new(LogErrorKind::NotALog(words))
}

pub(super) fn bad(error: Error) -> LogError {
    not_a_log(format!("a sysstat file with a damaged header: {error}"))
}

/// The text up to the first zero byte.
pub(super) fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(bytes.get(..end).unwrap_or_default()).into_owned()
}

impl<R: Read + Send> SysstatDecoder<R> {
    /// Reads the headers.
    pub(crate) fn open(input: R) -> Result<(SysstatDecoder<R>, Columns), LogError> {
        let mut decoder = SysstatDecoder {
            input,
            byte: 0,
            order: ByteOrder::Little,
            long: 8,
            record_size: 0,
            record_widths: Widths::default(),
            activities: Vec::new(),
            old: None,
            buffer: Vec::new(),
        };
        let mut columns = Columns::new(About::new(Format::Sysstat));
        decoder.headers(&mut columns)?;
        Ok((decoder, columns))
    }

    /// Reads exactly so many bytes into the buffer; `false` if the file ends before.
    pub(super) fn fill(&mut self, length: u64) -> io::Result<bool> {
        self.buffer.clear();
        let read = self.input.by_ref().take(length).read_to_end(&mut self.buffer)?;
        self.byte = self.byte.saturating_add(read as u64);
        Ok(read as u64 == length)
    }

    pub(super) fn whole(&mut self, length: usize, what: &str) -> Result<(), LogError> {
        if self.fill(length as u64)? {
            return Ok(());
        }
        Err(not_a_log(format!(
            "a sysstat file that ends at byte {} inside of its {what}, which has {length} bytes",
            self.byte
        )))
    }

    fn widths(bytes: Bytes<'_>, at: usize) -> Result<Widths, Error> {
        let number = |nth: usize| {
            let at = at.saturating_add(nth.saturating_mul(4));
            bytes.u32(at, "number of fields").map(|number| number.min(1024) as usize)
        };
        Ok(Widths { longs: number(0)?, words: number(1)?, ints: number(2)? })
    }

    fn headers(&mut self, columns: &mut Columns) -> Result<(), LogError> {
        self.whole(76, "first header")?;
        let magic = Bytes::little(&self.buffer).u16(0, "sysstat magic").map_err(bad)?;
        self.order = if magic == MAGIC { ByteOrder::Little } else { ByteOrder::Big };
        let bytes = Bytes::new(&self.buffer, self.order);
        let format = bytes.u16(2, "format magic").map_err(bad)?;
        let version: Vec<String> =
            self.buffer.get(4..7).unwrap_or_default().iter().map(u8::to_string).collect();
        let version = version.join(".");
        columns.about.writer = Some(format!("sysstat {version}"));
        if [old::FIRST, old::SECOND].contains(&format) {
            return self.old_headers(columns, format);
        }
        if format != FORMAT {
            return Err(not_a_log(format!(
                "a file of sysstat {version} in the format {format:#06x}; those of 10.0 ({:#06x}) to 12 \
                 ({FORMAT:#06x}) \
                 are read here. `sadf -c FILE > NEW` of a newer sysstat may convert it",
                old::FIRST
            )));
        }
        let size = bytes.length(8, "length of the header").map_err(bad)?;
        let widths = Self::widths(bytes, 16).map_err(bad)?;
        if size > MOST_HEADER
            || widths.longs < 1
            || widths.words < 1
            || widths.ints < 11
            || size < widths.end()
        {
            return Err(not_a_log(format!("a sysstat file whose header has {size} bytes, {widths:?}")));
        }
        self.whole(size, "second header")?;
        let bytes = Bytes::new(&self.buffer, self.order);
        let int = |nth: usize, what| {
            bytes.u32(widths.ints_at().saturating_add(nth.saturating_mul(4)), what).map_err(bad)
        };
        let count = int(1, "number of activities")? as usize;
        let ints = |nth: usize| widths.ints_at().saturating_add(nth.saturating_mul(4));
        let activity_widths = Self::widths(bytes, ints(3)).map_err(bad)?;
        self.record_widths = Self::widths(bytes, ints(6)).map_err(bad)?;
        let activity_size = int(9, "length of an activity's entry")? as usize;
        self.record_size = int(10, "length of a record's header")? as usize;
        let extra = widths.ints > 11 && int(11, "mark of extra structures")? != 0;
        let texts = self.buffer.get(widths.end()..).unwrap_or_default();
        self.long = texts.get(2).copied().unwrap_or(8);
        let part = |from: usize, to: usize| text(texts.get(from..to.min(texts.len())).unwrap_or_default());
        let host = part(68, 133);
        let zone = part(263, 271);
        columns.host = Some(host).filter(|host| !host.is_empty());
        let sizes_fit = activity_size >= activity_widths.end()
            && activity_widths.ints >= 9
            && self.record_size >= self.record_widths.end().saturating_add(4)
            && self.record_widths.longs >= 2
            && self.record_widths.ints >= 1;
        if count > MOST_ACTIVITIES
            || activity_size > MOST_STRUCTURE
            || self.record_size > MOST_STRUCTURE
            || !matches!(self.long, 4 | 8)
            || !sizes_fit
        {
            return Err(not_a_log(format!(
                "a sysstat file with {count} activities, entries of {activity_size} bytes, headers of {} \
                 bytes and words of {} bytes",
                self.record_size, self.long
            )));
        }
        columns.about.zone = Zone::Fixed { name: zone, bias: 0 };
        self.list(columns, count, activity_size, activity_widths)?;
        if extra && !self.extras()? {
            return Err(not_a_log(format!("a sysstat file that ends at byte {}", self.byte)));
        }
        Ok(())
    }

    /// Takes the header of a record apart.
    fn head(&self) -> Result<Head, LogError> {
        let bytes = Bytes::new(&self.buffer, self.order);
        let (clock, seconds, extra, tail) = if self.old.is_some() {
            // The uptime of all processors together, and that of one, in 10 ms.
            let all = bytes.u64(0, "uptime").map_err(bad)?;
            let one = bytes.u64(16, "uptime").map_err(bad)?;
            let seconds = match self.long {
                4 => u64::from(bytes.u32(32, "time").map_err(bad)?),
                _ => bytes.u64(32, "time").map_err(bad)?,
            };
            (if one == 0 { all } else { one }, seconds, false, 40)
        } else {
            let extra = bytes.u32(self.record_widths.ints_at(), "extra structures").map_err(bad)?;
            let uptime = bytes.u64(0, "uptime").map_err(bad)?;
            (uptime, bytes.u64(8, "time").map_err(bad)?, extra != 0, self.record_widths.end())
        };
        let (kind, hour, minute) = match self.buffer.get(tail..).unwrap_or_default() {
            [kind, hour, minute, ..] => (*kind, *hour, *minute),
            _ => (0, 0, 0),
        };
        Ok(Head { clock: clock.saturating_mul(100_000), seconds, extra, kind, hour, minute })
    }

    /// Says that an activity is not known.
    pub(super) fn say_unknown(&self, columns: &mut Columns, stored: &Stored) {
        if stored.known.is_some() {
            return;
        }
        let words = match ACTIVITIES.iter().rfind(|activity| activity.id == stored.id) {
            Some(known) => format!(
                "activity {} is version {:#x} of {}, {:#x} is known here; its values are left out",
                stored.id, stored.magic, known.name, known.magic
            ),
            None => format!("activity {} is not known here; its values are left out", stored.id),
        };
        columns.damage(self.byte, words);
    }

    /// Reads the list of activities.
    fn list(
        &mut self,
        columns: &mut Columns,
        count: usize,
        activity_size: usize,
        activity_widths: Widths,
    ) -> Result<(), LogError> {
        self.whole(count.saturating_mul(activity_size), "list of activities")?;
        let list = std::mem::take(&mut self.buffer);
        for entry in list.chunks_exact(activity_size.max(1)) {
            let stored = self.stored(Bytes::new(entry, self.order), activity_widths).map_err(bad)?;
            self.say_unknown(columns, &stored);
            self.activities.push(stored);
        }
        Ok(())
    }

    fn stored(&self, bytes: Bytes<'_>, widths: Widths) -> Result<Stored, Error> {
        let int = |nth: usize, what| bytes.u32(widths.ints_at().saturating_add(nth.saturating_mul(4)), what);
        let (id, magic) = (int(0, "activity")?, int(1, "version of the activity")?);
        let own = Self::widths(bytes, widths.ints_at().saturating_add(24))?;
        let known = ACTIVITIES.iter().find(|activity| activity.id == id && activity.magic == magic);
        let mut fields = Vec::new();
        if let Some(known) = known {
            let groups = [
                (known.longs, own.longs, Width::Long),
                (known.words, own.words, Width::Word),
                (known.ints, own.ints, Width::Int),
            ];
            for (names, count, width) in groups {
                let mut names = names.split_ascii_whitespace();
                for nth in 0..count {
                    fields.push(match names.next() {
                        Some(name) => match (name.strip_prefix('~'), name.strip_suffix('/')) {
                            (Some(name), _) => (name.to_owned(), LEVEL, Width::Float),
                            (None, Some(name)) => (name.to_owned(), RATE, width),
                            (None, None) => (name.to_owned(), LEVEL, width),
                        },
                        // A newer version appended it.
                        None => (format!("{width:?} {}", nth.saturating_add(1)), LEVEL, width),
                    });
                }
            }
        }
        let mut at = 0_usize;
        let places = fields.iter().map(|(_, _, width)| {
            let step = if *width == Width::Int { 4 } else { 8 };
            at = at.saturating_add(step);
            at.saturating_sub(step)
        });
        let places = places.collect();
        Ok(Stored {
            id,
            magic,
            items: int(2, "items of the activity")?,
            sub_items: int(3, "sub-items of the activity")?,
            counted: int(4, "mark of a number of items")? != 0,
            size: int(5, "length of an item")? as usize,
            widths: own,
            known,
            fields,
            places,
            text_at: own.end(),
            is_old: false,
        })
    }

    /// Skips extra structures; `false` if the file ends.
    fn extras(&mut self) -> Result<bool, LogError> {
        loop {
            if !self.fill(24)? {
                return Ok(false);
            }
            let bytes = Bytes::new(&self.buffer, self.order);
            let number = |at| bytes.u32(at, "extra structures").map_err(bad);
            let length = u64::from(number(0)?).saturating_mul(u64::from(number(4)?));
            let next = number(8)? != 0;
            if length > MOST_EXTRA || !self.fill(length)? {
                return Ok(false);
            }
            if !next {
                return Ok(true);
            }
        }
    }

    /// Reads the items of every activity.
    fn activities(&mut self, columns: &mut Columns) -> Result<bool, LogError> {
        let activities = std::mem::take(&mut self.activities);
        let mut whole = true;
        for stored in &activities {
            whole = self.activity(stored, columns)?;
            if !whole {
                break;
            }
        }
        self.activities = activities;
        Ok(whole)
    }

    fn activity(&mut self, stored: &Stored, columns: &mut Columns) -> Result<bool, LogError> {
        let mut items = stored.items;
        if stored.counted {
            if !self.fill(4)? {
                return Ok(false);
            }
            items = Bytes::new(&self.buffer, self.order).u32(0, "number of items").map_err(bad)?;
        }
        let at = self.byte;
        let sub_items = stored.sub_items.max(1);
        let length = u64::from(items).saturating_mul(u64::from(sub_items)).saturating_mul(stored.size as u64);
        if length > MOST_ITEMS || stored.size > MOST_STRUCTURE {
            let name = stored.known.map_or("an unknown activity", |known| known.name);
            columns
                .damage(at, format!("{name} has {items} items of {} bytes; reading ends here", stored.size));
            return Ok(false);
        }
        if !self.fill(length)? {
            return Ok(false);
        }
        if let Some(known) = stored.known
            && stored.size >= stored.widths.end()
            && stored.size > 0
        {
            let reader = ItemReader { stored, known, order: self.order, long: self.long };
            reader.put(&self.buffer, sub_items as usize, columns);
        }
        Ok(true)
    }
}

impl<R: Read + Send> Decoder for SysstatDecoder<R> {
    fn next(&mut self, columns: &mut Columns) -> Result<Option<(FileTime, i32)>, LogError> {
        loop {
            let start = self.byte;
            if !self.fill(self.record_size as u64)? {
                if !self.buffer.is_empty() {
                    columns.damage(start, "the file ends inside of a record's header".to_owned());
                }
                return Ok(None);
            }
            let Head { clock, seconds, extra, kind, hour, minute } = self.head()?;
            let Some(time) =
                FileTime::from_unix_nanoseconds(i128::from(seconds).saturating_mul(1_000_000_000))
            else {
                columns.damage(start, format!("a record {seconds} seconds after 1970; reading ends here"));
                return Ok(None);
            };
            let minutes = minutes_from_utc(seconds, hour, minute);
            let whole = match kind {
                RESTART => {
                    let words = format!("byte {start}: the machine was restarted at {}", time.system_time());
                    columns.about.notes.remark(words);
                    self.after_restart()? && (!extra || self.extras()?)
                }
                COMMENT => {
                    let whole = self.fill(64)?;
                    let comment = text(&self.buffer);
                    columns.about.notes.remark(format!("byte {start}: comment: {comment}"));
                    whole && (!extra || self.extras()?)
                }
                1 | 3 => {
                    columns.begin(time, clock);
                    if (!extra || self.extras()?) && self.activities(columns)? {
                        if let Zone::Fixed { bias, .. } = &mut columns.about.zone {
                            *bias = minutes.saturating_neg();
                        }
                        return Ok(Some((time, minutes)));
                    }
                    false
                }
                5..=15 => !extra || self.extras()?,
                _ => {
                    let words = format!("a record of the unknown kind {kind}; reading ends here");
                    columns.damage(start, words);
                    return Ok(None);
                }
            };
            if !whole {
                columns.damage(start, format!("the record is cut off at byte {}", self.byte));
                return Ok(None);
            }
        }
    }
}

/// Minutes from UTC to the local time of a record, in quarters of an hour, from -12 to 14 hours.
fn minutes_from_utc(seconds: u64, hour: u8, minute: u8) -> i32 {
    let of_day = i32::try_from((seconds / 60) % 1440).unwrap_or_default();
    let local = i32::from(hour).saturating_mul(60).saturating_add(i32::from(minute));
    let apart = local.saturating_sub(of_day).saturating_add(12 * 60).rem_euclid(1440);
    let apart = apart.saturating_sub(12 * 60);
    let rounded = apart.saturating_add(7).div_euclid(15).saturating_mul(15);
    // Twelve to fourteen hours east look like ten to twelve hours west; nobody lives there.
    if rounded < -11 * 60 { rounded.saturating_add(1440) } else { rounded }
}
