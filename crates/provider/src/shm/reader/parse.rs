//! The parts of a file that describe its layout.

use std::ops::Range;
use std::path::Path;

use super::file::SharedFile;
use super::slots::Slot;
use crate::shm::bytes::{FormatError, Part};
use crate::shm::definition::ObjectDefinition;
use crate::shm::layout::{
    MAGIC, MAX_DEFINITIONS, VERSION_1, VERSION_2, VERSION_3, extent, header, instance, slot,
};

/// The name of the program, if a file says that its values stay after the program has ended.
pub(crate) fn kept_name(path: &Path) -> Option<String> {
    let (file, _) = SharedFile::open(path).ok()?;
    let mut bytes = vec![0; header::SIZE];
    file.read_exact(&mut bytes, 0).ok()?;
    let head = Part::new(&bytes, 0);
    if check_header(head).ok()?.keep { program_name(head).ok() } else { None }
}

pub(super) fn program_name(head: Part<'_>) -> Result<String, FormatError> {
    let name = head.part(header::NAME, header::NAME_LENGTH, "name of the program")?;
    let name = name.text("name of the program")?.trim_end_matches('\0');
    // A control character must not move the cursor of the terminal that shows the name.
    Ok(name.replace(char::is_control, "\u{fffd}"))
}

/// The contents of the header.
pub(super) struct Head {
    pub(super) version: u32,
    /// Whether the values stay when the process has ended.
    pub(super) keep: bool,
    pub(super) pid: u32,
    pub(super) start: u64,
    /// Length of the definitions.
    pub(super) definitions: usize,
    /// Number of objects.
    pub(super) objects: u32,
    pub(super) used: usize,
}

pub(super) fn check_header(head: Part<'_>) -> Result<Head, FormatError> {
    let magic = head.u64(header::MAGIC, "magic")?;
    if magic != u64::from_le_bytes(*MAGIC) {
        return Err(FormatError { what: "magic", at: header::MAGIC, needed: "TALLYPUB", found: magic });
    }
    let version = head.u32(header::VERSION, "version")?;
    if !(VERSION_1..=VERSION_3).contains(&version) {
        let found = usize::try_from(version).unwrap_or(usize::MAX);
        return Err(head.error(header::VERSION, "version", "1, 2 or 3", found));
    }
    let length = head.length(header::HEADER_LENGTH, "header length")?;
    if length != header::SIZE {
        return Err(head.error(header::HEADER_LENGTH, "header length", "128", length));
    }
    let definitions = head.length(header::DEFINITIONS_LENGTH, "length of the definitions")?;
    if definitions > MAX_DEFINITIONS {
        let what = "length of the definitions";
        return Err(head.error(header::DEFINITIONS_LENGTH, what, "at most 1048576", definitions));
    }
    let flags = head.u32(header::FLAGS, "flags")?;
    Ok(Head {
        version,
        keep: version >= VERSION_2 && flags & header::KEEP != 0,
        pid: head.u32(header::PID, "process")?,
        start: head.u64(header::START_TIME, "start time")?,
        definitions,
        objects: head.u32(header::OBJECTS, "number of objects")?,
        used: head.long(header::USED, "used length")?,
    })
}

/// The extent whose head is at the start of `part`, which is at `at` in the file and has `left` bytes behind
/// it.
pub(super) fn parse_extent(
    part: Part<'_>,
    at: usize,
    left: usize,
    objects: &[ObjectDefinition],
    n_known: impl Fn(usize) -> Option<usize>,
) -> Result<Extent, FormatError> {
    let magic = part.u32(extent::MAGIC, "magic of an extent")?;
    if magic != extent::MAGIC_NUMBER {
        let found = usize::try_from(magic).unwrap_or(usize::MAX);
        return Err(part.error(extent::MAGIC, "magic of an extent", "EXT1", found));
    }
    let object = part.length(extent::OBJECT, "object of an extent")?;
    let slots = part.length(extent::SLOTS, "slots of an extent")?;
    let stride = part.length(extent::STRIDE, "slot length of an extent")?;
    let length = part.long(extent::LENGTH, "length of an extent")?;
    let (Some(definition), Some(before)) = (objects.get(object), n_known(object)) else {
        return Err(part.error(extent::OBJECT, "object of an extent", "one that is defined", object));
    };
    if stride != definition.stride {
        return Err(part.error(extent::STRIDE, "slot length of an extent", "that of its object", stride));
    }
    if slots == 0 || (!definition.has_instances && (slots > 1 || before > 0)) {
        return Err(part.error(extent::SLOTS, "slots of an extent", "one at least, or just one", slots));
    }
    let names = extent::VALUES.saturating_add(stride.saturating_mul(slots)).next_multiple_of(extent::VALUES);
    let needed = names.saturating_add(slots.saturating_mul(instance::SIZE));
    if length != needed || length > left {
        return Err(part.error(extent::LENGTH, "length of an extent", "that of its slots", length));
    }
    Ok(Extent {
        object,
        first: before,
        slots,
        stride,
        values: at.saturating_add(extent::VALUES),
        names: at.saturating_add(names),
        end: at.saturating_add(length),
    })
}

/// The instance with a use number; `None` when the record is of another use or has no usable name.
pub(super) fn parse_instance(
    record: Part<'_>,
    number: u64,
    named: bool,
) -> Result<Option<Slot>, FormatError> {
    let first = record.u64(instance::USE, "use of an instance")?;
    let last = record.u64(instance::USE_AGAIN, "use of an instance")?;
    if first != number || last != number {
        return Ok(None);
    }
    let length = record.length(instance::NAME_LENGTH, "length of an instance name")?;
    let name = record.part(instance::NAME, length.min(instance::MAX_NAME), "instance name")?;
    let name = match name.text("instance name") {
        Ok(name) if length <= instance::MAX_NAME && !name.contains(char::is_control) => name,
        _ => return Ok(None),
    };
    if named == name.is_empty() {
        return Ok(None);
    }
    let id = record.u32(instance::ID, "id of an instance")?.cast_signed();
    let object = record.u32(instance::PARENT_OBJECT, "parent of an instance")?;
    let slot = record.length(instance::PARENT_SLOT, "parent of an instance")?;
    let parent_use = record.u64(instance::PARENT_USE, "parent of an instance")?;
    let parent = (object != instance::NO_PARENT)
        .then(|| (usize::try_from(object).unwrap_or(usize::MAX), slot, parent_use));
    Ok(Some(Slot { number, name: name.to_string(), id: (id != -1).then_some(id), parent }))
}

/// Room for instances of one object, and where it is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Extent {
    pub(super) object: usize,
    /// Number of its first slot.
    pub(super) first: usize,
    pub(super) slots: usize,
    pub(super) stride: usize,
    pub(super) values: usize,
    pub(super) names: usize,
    pub(super) end: usize,
}

impl Extent {
    /// Numbers of its slots.
    pub(super) const fn numbers(&self) -> Range<usize> {
        self.first..self.first.saturating_add(self.slots)
    }

    /// Where its values end.
    pub(super) const fn values_end(&self) -> usize {
        self.values.saturating_add(self.slots.saturating_mul(self.stride))
    }
}

// The slot of values begins with its use number, as `settled_use` takes it.
const _: () = assert!(slot::USE == 0);
