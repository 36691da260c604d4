//! Reads the raw logs of atop (`atop -w`): a header, and for each sample a record, the compressed memory
//! of the machine's values, of those of each task and, since 2.11, of those of control groups.
//!
//! A sample becomes the lines that `atop -r FILE -P ALL` prints of it, so that both are read alike. Where a
//! program prints less than its file has, these lines have more.

mod layout;
mod lines;
#[cfg(test)]
mod raw_tests;

use std::collections::VecDeque;
use std::fmt::Write;
use std::io::{self, Cursor, Read};

use flate2::read::ZlibDecoder;
use tallymon_core::bytes::Bytes;
use tallymon_core::time::{FileTime, UNITS_PER_SECOND, UNIX_EPOCH};

use self::layout::{FieldLayout, KNOWN, Layout, Version};
use self::lines::{Clock, Facts, Line, Memory, Of, letter, lines_of, visible};
use crate::error::{LogError, LogErrorKind};
use crate::import::columns::Columns;
use crate::import::lines::Line as Text;

/// The length of the header.
const HEADER: u16 = 480;
/// The length of a record.
const RECORD: u16 = 96;
/// The longest compressed part of a record; those of a busy machine have a few megabytes.
const MOST_PART: u32 = 256 << 20;
/// The most tasks of a record: a quarter of what Linux can have.
const MOST_TASKS: u32 = 1 << 20;
/// The most bytes of the control groups of a record.
const MOST_GROUPS: u64 = 64 << 20;
/// How deep control groups are named.
const DEEPEST: usize = 64;
/// The longest name of a control group, and the longest path, as in Linux.
const LONGEST_NAME: usize = 255;
const LONGEST_PATH: usize = 4096;
/// Flags of a record: the values are those since the start of the machine; a network module counted; disks
/// were measured.
const SINCE_START: u16 = 0x1;
const HAS_NETWORK: u16 = 0x4;
const HAS_DISKS: u16 = 0x20;
/// Flags of the header. With all of these, each record says what was measured.
const SAYS_EACH: u32 = 0x1 | lines::IO_STATISTICS | 0x10 | 0x20;

/// The tasks of a record that are still to be read.
struct Tasks {
    input: ZlibDecoder<Cursor<Vec<u8>>>,
    left: u32,
    buffer: Vec<u8>,
}

/// What a record says of itself.
#[derive(Debug, Clone, Copy, Default)]
struct Head {
    byte: u64,
    seconds: i64,
    flags: u16,
    groups: u16,
    system: u32,
    tasks: u32,
    interval: u32,
    task_count: u32,
    group_bytes: u32,
    groups_length: u32,
    group_ids: u32,
    counts: [u32; 8],
}

/// Reads a raw log.
pub(super) struct Raw<R> {
    input: R,
    byte: u64,
    version: Version,
    layout: Layout,
    lines: Vec<Line>,
    facts: Facts,
    header_flags: u32,
    host: String,
    bias: i32,
    /// What stands in a line behind its label.
    stamp: String,
    head: Head,
    tasks: Option<Tasks>,
    queue: VecDeque<String>,
}

fn refused(words: String) -> LogError {
    LogError::new(LogErrorKind::NotALog(words))
}

/// What to do with a raw log that is not read here.
const OTHERWISE: &str =
    "`atop -r FILE -P ALL > FILE.txt` of the version that wrote it writes what is read here";

impl<R: Read> Raw<R> {
    /// Reads the header.
    pub(super) fn open(mut input: R, bias: i32) -> Result<(Raw<R>, String), LogError> {
        let mut header = Vec::with_capacity(HEADER.into());
        input.by_ref().take(HEADER.into()).read_to_end(&mut header)?;
        let bytes = Bytes::little(&header);
        let bad = |error| refused(format!("a raw log of atop with a damaged header: {error}"));
        let written = bytes.u16(4, "version").map_err(bad)?;
        let lengths = (bytes.u16(10, "length of the header"), bytes.u16(12, "length of a record"));
        let lengths = (lengths.0.map_err(bad)?, lengths.1.map_err(bad)?);
        let version = written & 0x7fff;
        let name = format!("atop {}.{}", version >> 8, version & 0xff);
        if !KNOWN.contains(&version) || written & 0x8000 == 0 {
            return Err(refused(format!(
                "a raw log of {name}; those of 2.4 to 2.13 are read here. {OTHERWISE}"
            )));
        }
        let layout = Layout::of(version);
        let stored = (bytes.u32(28, "length of the system").map_err(bad)?, bytes.u32(32, "length of a task"));
        let stored = (stored.0 as usize, stored.1.map_err(bad)? as usize);
        let known = (layout.length("system"), layout.length("task"));
        if lengths != (HEADER, RECORD) || stored != known {
            return Err(refused(format!(
                "a raw log of {name} whose structures have {} and {} bytes, its records {}; on 64-bit \
                 machines \
                 with the least significant byte first they have {}, {} and {RECORD}. {OTHERWISE}",
                stored.0, stored.1, lengths.1, known.0, known.1
            )));
        }
        let page = bytes.u32(436, "length of a page").map_err(bad)?;
        let header_flags = bytes.u32(440, "features").map_err(bad)?;
        let hertz = bytes.u16(14, "ticks of a second").map_err(bad)?;
        let host = visible(header.get(101..166).unwrap_or_default()).replace(' ', "?");
        let facts = Facts {
            page: if page == 0 { 4096 } else { page },
            hertz: if hertz == 0 { 100 } else { hertz },
            flags: header_flags,
        };
        let raw = Raw {
            input,
            byte: header.len() as u64,
            version,
            lines: lines_of(&layout),
            layout,
            facts,
            header_flags,
            host: if host.is_empty() { "_".to_owned() } else { host },
            bias,
            stamp: String::new(),
            head: Head::default(),
            tasks: None,
            queue: VecDeque::new(),
        };
        Ok((raw, name))
    }

    /// The next line.
    pub(super) fn next(&mut self, columns: &mut Columns) -> io::Result<Option<Text>> {
        loop {
            if let Some(text) = self.queue.pop_front() {
                return Ok(Some(Text { text, byte: self.head.byte, number: 0, is_cut: false }));
            }
            if self.tasks.is_some() {
                self.task(columns)?;
            } else if !self.record(columns)? {
                return Ok(None);
            }
        }
    }

    /// Reads so many bytes; fewer if the file ends before.
    fn part(&mut self, length: u32) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.input.by_ref().take(u64::from(length)).read_to_end(&mut bytes)?;
        self.byte = self.byte.saturating_add(bytes.len() as u64);
        Ok(bytes)
    }

    /// Reads a compressed part of the record; `None` if it is not whole, which is said.
    fn packed(&mut self, columns: &mut Columns, length: u32, what: &str) -> io::Result<Option<Vec<u8>>> {
        let bytes = self.part(length)?;
        if bytes.len() as u64 == u64::from(length) {
            return Ok(Some(bytes));
        }
        let words = format!(
            "the file ends at byte {} inside of {what} of this record, which have {length} bytes",
            self.byte
        );
        columns.damage(self.head.byte, words);
        Ok(None)
    }

    /// Reads a record up to its tasks; `false` at the end of the log.
    fn record(&mut self, columns: &mut Columns) -> io::Result<bool> {
        let byte = self.byte;
        let bytes = self.part(RECORD.into())?;
        let Some(head) = Head::of(&bytes, byte, self.version) else {
            if !bytes.is_empty() {
                columns.damage(byte, format!("the file ends at byte {} inside of a record", self.byte));
            }
            return Ok(false);
        };
        self.head = head;
        for length in [head.system, head.tasks, head.group_bytes, head.group_ids] {
            if length > MOST_PART {
                columns.damage(byte, format!("a part of this record has {length} bytes; reading ends here"));
                return Ok(false);
            }
        }
        let nanoseconds = i128::from(head.seconds).saturating_mul(1_000_000_000);
        let time = FileTime::from_unix_nanoseconds(nanoseconds).filter(|_| head.seconds >= 0);
        let Some(time) = time else {
            columns.damage(byte, format!("a record {} seconds after 1970; reading ends here", head.seconds));
            return Ok(false);
        };
        self.facts.flags = head.measured(self.header_flags);
        self.stamp = self.stamp_of(time);
        let Some(system) = self.packed(columns, head.system, "the machine's values")? else {
            return Ok(false);
        };
        let Some(tasks) = self.packed(columns, head.tasks, "the tasks")? else { return Ok(false) };
        let length = self.layout.length("system");
        let mut memory = Vec::with_capacity(length);
        let read = ZlibDecoder::new(system.as_slice()).take(length as u64).read_to_end(&mut memory);
        if read.is_err() || memory.len() != length {
            let words = format!(
                "the machine's values are unpacked to {} of {length} bytes ({}); this record is left out",
                memory.len(),
                read.err().map_or_else(|| "they end".to_owned(), |error| error.to_string())
            );
            columns.damage(byte, words);
            let skipped = self.part(head.group_bytes)?.len().saturating_add(self.part(head.group_ids)?.len());
            return Ok(
                skipped as u64 == u64::from(head.group_bytes).saturating_add(u64::from(head.group_ids))
            );
        }
        if head.flags & SINCE_START != 0 {
            self.queue.push_back("RESET".to_owned());
        }
        self.system(&mut memory);
        if head.task_count > MOST_TASKS {
            let words =
                format!("this record has {} tasks; the first {MOST_TASKS} of them are read", head.task_count);
            columns.damage(byte, words);
        }
        self.tasks = Some(Tasks {
            input: ZlibDecoder::new(Cursor::new(tasks)),
            left: head.task_count.min(MOST_TASKS),
            buffer: Vec::new(),
        });
        Ok(true)
    }

    /// The words behind the label of a line: the host, the time, the local time and the interval.
    fn stamp_of(&self, time: FileTime) -> String {
        let seconds = time.0.saturating_sub(UNIX_EPOCH.0) / UNITS_PER_SECOND;
        let apart = i64::from(self.bias).saturating_mul(60).saturating_mul(UNITS_PER_SECOND.cast_signed());
        let local = FileTime(time.0.saturating_add_signed(apart.saturating_neg())).system_time();
        format!(
            " {} {seconds} {:04}/{:02}/{:02} {:02}:{:02}:{:02} {}",
            self.host,
            local.year,
            local.month,
            local.day,
            local.hour,
            local.minute,
            local.second,
            self.head.interval
        )
    }

    /// Writes the lines of the machine.
    fn system(&mut self, memory: &mut [u8]) {
        let find = |path: &str| self.layout.find("system", path);
        // Without a counter of instructions, atop stores 1.
        if let (Some(count), Some(cycles)) = (find("cpu.all.instructions"), find("cpu.all.cycles"))
            && (Memory { bytes: memory }).number(count) == 1
        {
            let both = count.at..cycles.at.saturating_add(8);
            memory.get_mut(both).unwrap_or_default().fill(0);
        }
        let memory = Memory { bytes: memory };
        let clock_of = |memory: Memory<'_>| {
            let number = |name: &str| {
                let place = self.layout.find("processor", name);
                place.map_or(0, |place| memory.number(place))
            };
            let ticks = number("clock.ticks");
            Clock { most: number("clock.most"), count: number("clock.count"), ticks }
        };
        let online = self.layout.find("processor", "online");
        let is_online = |memory: &Memory<'_>| online.is_none_or(|online| memory.number(online) != 0);
        let processors = self.lines.iter().find(|line| line.label == "cpu");
        let processors: Vec<_> = processors.map(|line| line.elements(memory).collect()).unwrap_or_default();
        let most =
            find("cpu.each").and_then(|row| memory.nth(row, 0)).map_or(0, |first| clock_of(first).most);
        let online = processors.iter().copied().filter(is_online).map(clock_of);
        let all = online.fold(Clock { most, ..Clock::default() }, |all, one| Clock {
            most,
            count: all.count.wrapping_add(one.count),
            ticks: all.ticks.wrapping_add(one.ticks),
        });
        let mut texts = Vec::new();
        for line in &self.lines {
            match line.of {
                Of::System => texts.push(self.line(line, memory, 0, all)),
                Of::Each(..) => {
                    let is_processor = line.label == "cpu";
                    for (nth, element) in line.elements(memory).enumerate() {
                        if is_processor && !is_online(&element) {
                            continue;
                        }
                        let own = if is_processor { clock_of(element) } else { Clock::default() };
                        texts.push(self.line(line, element, nth, Clock { most, ..own }));
                    }
                }
                Of::Task | Of::ControlGroup => {}
            }
        }
        let started = find("cpu.started").map_or(0, |place| memory.number(place));
        let mut counts = format!("tasks{} {started}", self.stamp);
        for count in self.head.counts {
            // Writing into a text does not fail.
            let _ = write!(counts, " {count}");
        }
        texts.push(counts);
        self.queue.extend(texts);
    }

    fn line(&self, line: &Line, memory: Memory<'_>, nth: usize, clock: Clock) -> String {
        let begin = format!("{}{}", line.label, self.stamp);
        line.after(begin, memory, self.facts, nth, clock)
    }

    /// Reads a task, or what follows the last one.
    fn task(&mut self, columns: &mut Columns) -> io::Result<()> {
        let Some(tasks) = &mut self.tasks else { return Ok(()) };
        if tasks.left == 0 {
            self.tasks = None;
            self.groups(columns)?;
            self.queue.push_back("SEP".to_owned());
            return Ok(());
        }
        let length = self.layout.length("task");
        tasks.buffer.clear();
        let read = tasks.input.by_ref().take(length as u64).read_to_end(&mut tasks.buffer);
        if read.is_err() || tasks.buffer.len() != length {
            let why = read.err().map_or_else(|| "they end".to_owned(), |error| error.to_string());
            let words = format!("{} tasks of this record are missing: {why}", tasks.left);
            tasks.left = 0;
            columns.damage(self.head.byte, words);
            return Ok(());
        }
        tasks.left = tasks.left.saturating_sub(1);
        let memory = Memory { bytes: &tasks.buffer };
        let find = |path: &str| self.layout.find("task", path);
        let number = |path: &str| find(path).map_or(0, |place| memory.number(place));
        if number("is_process") == 0 {
            columns.about.notes.remark("lines of threads are not read");
            return Ok(());
        }
        let name = find("name").map(|place| memory.text(place)).unwrap_or_default();
        let state = letter(number("state")).unwrap_or('?');
        let who = format!(" {} ({name}) {state}", number("id"));
        let of_tasks = self.lines.iter().filter(|line| line.of == Of::Task);
        let texts: Vec<String> = of_tasks
            .map(|line| {
                let begin = format!("{}{}{who}", line.label, self.stamp);
                line.after(begin, memory, self.facts, 0, Clock::default())
            })
            .collect();
        self.queue.extend(texts);
        Ok(())
    }

    /// Reads the control groups of the record.
    fn groups(&mut self, columns: &mut Columns) -> io::Result<()> {
        let head = self.head;
        if head.group_bytes == 0 && head.group_ids == 0 {
            return Ok(());
        }
        let Some(packed) = self.packed(columns, head.group_bytes, "the control groups")? else {
            return Ok(());
        };
        if self.packed(columns, head.group_ids, "the processes of control groups")?.is_none() {
            return Ok(());
        }
        let length = u64::from(head.groups_length).min(MOST_GROUPS);
        let mut memory = Vec::new();
        let read = ZlibDecoder::new(packed.as_slice()).take(length).read_to_end(&mut memory);
        let groups = self.group_list(&memory, usize::from(head.groups));
        if read.is_err() || groups.len() != usize::from(head.groups) {
            let words =
                format!("{} of {} control groups of this record are whole", groups.len(), head.groups);
            columns.damage(head.byte, words);
        }
        let Some(line) = self.lines.iter().find(|line| line.of == Of::ControlGroup) else { return Ok(()) };
        let mut texts = Vec::new();
        for nth in 0..groups.len() {
            let Some(group) = groups.get(nth) else { break };
            let begin = format!("CGR{} C {}", self.stamp, path_of(&groups, nth));
            texts.push(line.after(begin, group.memory, self.facts, nth, Clock::default()));
        }
        self.queue.extend(texts);
        Ok(())
    }

    /// The control groups in unpacked memory, as far as they are whole.
    fn group_list<'m>(&self, memory: &'m [u8], most: usize) -> Vec<Group<'m>> {
        let place = |path: &str| self.layout.find("control_group", path);
        let [Some(length), Some(parent), Some(name)] = ["length", "parent", "name_length"].map(place) else {
            return Vec::new();
        };
        let fixed = self.layout.length("control_group");
        let mut groups = Vec::new();
        let mut rest = memory;
        while groups.len() < most {
            let number = |place: FieldLayout| usize::try_from(Memory { bytes: rest }.number(place)).ok();
            let (Some(length), Some(name)) = (number(length), number(name)) else { break };
            if length < fixed || rest.len() < length {
                break;
            }
            let name =
                rest.get(fixed..fixed.saturating_add(name.min(LONGEST_NAME)).min(length)).unwrap_or_default();
            // A blank would begin the next word.
            let name = visible(name).replace(' ', "\\x20");
            // A group stands behind the one above it, so that no path is a circle.
            let parent = number(parent).filter(|parent| *parent < groups.len());
            groups.push(Group { memory: Memory { bytes: rest }, parent, name });
            rest = rest.get(length..).unwrap_or_default();
        }
        groups
    }
}

/// A control group, and the place of the one above it.
struct Group<'m> {
    memory: Memory<'m>,
    parent: Option<usize>,
    name: String,
}

/// The path of a control group from the first one.
fn path_of(groups: &[Group<'_>], nth: usize) -> String {
    let mut parts = Vec::new();
    let mut length = 0_usize;
    let mut at = Some(nth);
    while let Some(group) = at.and_then(|at| groups.get(at)) {
        // The first one has no name of its own, and nobody above it.
        let Some(parent) = group.parent.filter(|_| parts.len() < DEEPEST) else { break };
        length = length.saturating_add(group.name.len()).saturating_add(1);
        if length > LONGEST_PATH {
            break;
        }
        parts.push(group.name.as_str());
        at = Some(parent);
    }
    parts.iter().rev().fold(String::new(), |path, part| path + "/" + part)
        + if parts.is_empty() { "/" } else { "" }
}

impl Head {
    fn of(bytes: &[u8], byte: u64, version: Version) -> Option<Head> {
        let bytes = Bytes::little(bytes);
        let number = |at| bytes.u32(at, "record").ok();
        let seconds = bytes.u64(0, "time").ok()?.cast_signed();
        let has_groups = version >= 0x20b;
        let of_groups = |at| if has_groups { number(at) } else { Some(0) };
        let idle = if version >= 0x20a { number(68)? } else { 0 };
        bytes.slice(0, RECORD.into(), "record").ok()?;
        Some(Head {
            byte,
            seconds,
            flags: bytes.u16(8, "flags").ok()?,
            groups: if has_groups { bytes.u16(10, "control groups").ok()? } else { 0 },
            system: number(16)?,
            tasks: number(20)?,
            interval: number(24)?,
            task_count: number(28)?,
            group_bytes: of_groups(72)?,
            groups_length: of_groups(76)?,
            group_ids: of_groups(84)?,
            // Tasks, processes, running, sleeping, blocked, idle, zombies, ended.
            counts: [
                number(36)?,
                number(40)?,
                number(44)?,
                number(48)?,
                number(52)?,
                idle,
                number(56)?,
                number(60)?,
            ],
        })
    }

    /// What was measured for each task.
    const fn measured(&self, of_header: u32) -> u32 {
        let mut flags = of_header & !lines::NETWORK;
        if of_header & SAYS_EACH == SAYS_EACH {
            flags &= !lines::IO_STATISTICS;
            if self.flags & HAS_DISKS != 0 {
                flags |= lines::IO_STATISTICS;
            }
        }
        if self.flags & HAS_NETWORK != 0 {
            flags |= lines::NETWORK;
        }
        flags
    }
}
