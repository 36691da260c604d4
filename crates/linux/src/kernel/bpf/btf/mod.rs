//! The kernel's description of its own types (BTF), `/sys/kernel/btf/vmlinux`, as far as reading fields needs
//! it.
//!
//! ```text
//! 0         hdr_len          + type_off            + str_off
//! | header  |  ...           | types ...           | strings, each ended by 0 ... |
//!
//! type:  name u32 | info u32: count 16, -, kind 5, -, flag 1 | size or type u32 | what the kind adds
//! ```
//!
//! Types are numbered from 1 in the order of the file; 0 is void. The input may be any bytes: inconsistencies
//! are errors, every walk is bounded, and no allocation has a size from the input.

use std::fmt;

/// The types of a kernel.
#[derive(Debug)]
pub struct Btf<'a> {
    types: &'a [u8],
    strings: &'a [u8],
    /// The position of each [`STEP`]th type in `types`, from type 1 on.
    steps: Vec<u32>,
    count: usize,
}

/// A type, by its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TypeId(pub u32);

/// The kinds of names that can be looked up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Named {
    /// A structure.
    Struct,
    /// A function.
    Function,
    /// A typedef.
    Alias,
    /// A per-CPU variable; others are not described.
    Variable,
    /// A section of the kernel's memory with variables.
    Section,
    /// An enumeration.
    Enumeration,
    /// An enumeration without a name, found by the name of its first value.
    Values,
}

/// The position of a field in its structure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field {
    /// Bytes from the start of the structure.
    pub offset: u32,
    /// Bytes; 0 for an array without a length.
    pub size: u32,
    /// Its type, without typedefs and qualifiers.
    pub of: TypeId,
}

/// Why a type description cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum BtfError {
    /// The magic number of this byte order is missing.
    NotBtf,
    /// Something reaches beyond the end of its section.
    Truncated {
        /// What was being read.
        what: &'static str,
        /// The byte where it begins, from the start of the section.
        at: usize,
    },
    /// A type of unknown kind, after which the next type cannot be found.
    UnknownKind {
        /// The kind.
        kind: u32,
        /// The byte where the type begins, from the start of the section.
        at: usize,
    },
    /// There is no field, or no enumeration value, of this name.
    NoField {
        /// The path that was looked up.
        path: String,
    },
    /// Types refer to each other in a circle, or are nested deeper than in any kernel.
    TooDeep,
    /// A field that is not a whole number of bytes.
    BitField {
        /// The path that was looked up.
        path: String,
    },
}

impl fmt::Display for BtfError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BtfError::NotBtf => f.write_str("no type information of this machine's byte order"),
            BtfError::Truncated { what, at } => {
                write!(f, "type information is truncated in {what} at byte {at}")
            }
            BtfError::UnknownKind { kind, at } => write!(f, "type of unknown kind {kind} at byte {at}"),
            BtfError::NoField { path } => write!(f, "this kernel has no field {path}"),
            BtfError::TooDeep => f.write_str("types are nested too deep"),
            BtfError::BitField { path } => write!(f, "the field {path} is not a whole number of bytes"),
        }
    }
}

impl std::error::Error for BtfError {}

/// At most so many types are walked to find one by its number; an index of all types would take half a
/// megabyte.
const STEP: usize = 16;
/// No chain of typedefs and qualifiers is longer.
const DEPTH: usize = 32;
/// No lookup visits more members; `task_struct` has 270.
const MEMBERS: usize = 100_000;

/// No name in the kernel is longer.
const NAME: usize = 512;

const MAGIC: [u8; 2] = [0x9f, 0xeb];

const INT: u32 = 1;
const PTR: u32 = 2;
const ARRAY: u32 = 3;
const STRUCT: u32 = 4;
const UNION: u32 = 5;
const ENUM: u32 = 6;
const TYPEDEF: u32 = 8;
const FUNC: u32 = 12;
const VAR: u32 = 14;
const DATASEC: u32 = 15;
const FLOAT: u32 = 16;
const ENUM64: u32 = 19;

impl<'a> Btf<'a> {
    /// Parses the header and indexes the types.
    ///
    /// # Errors
    ///
    /// The bytes are not a little-endian type description, or are truncated.
    pub fn parse(bytes: &'a [u8]) -> Result<Btf<'a>, BtfError> {
        if bytes.get(..2) != Some(&MAGIC) {
            return Err(BtfError::NotBtf);
        }
        let header = |at: usize| number(bytes, at, "the header");
        let length = header(4)?;
        let section = |offset: u32, size: u32, what| {
            let start = size_of(length).checked_add(size_of(offset));
            let end = start.and_then(|start| start.checked_add(size_of(size)));
            let found = start.zip(end).and_then(|(start, end)| bytes.get(start..end));
            found.ok_or(BtfError::Truncated { what, at: size_of(offset) })
        };
        let types = section(header(8)?, header(12)?, "the types")?;
        let strings = section(header(16)?, header(20)?, "the strings")?;
        let mut steps = Vec::new();
        let (mut at, mut count) = (0_usize, 0_usize);
        while at < types.len() {
            if count.is_multiple_of(STEP) {
                steps.push(u32::try_from(at).map_err(|_| BtfError::TooDeep)?);
            }
            at = behind(types, at)?;
            count = count.saturating_add(1);
        }
        if at != types.len() {
            return Err(BtfError::Truncated { what: "a type", at: types.len() });
        }
        Ok(Btf { types, strings, steps, count })
    }

    /// The number of types, without void.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The types with these names, in the order of the names.
    ///
    /// One walk over all types, however many names there are.
    pub fn find<const N: usize>(&self, wanted: [(Named, &str); N]) -> [Option<TypeId>; N] {
        let mut found = [None; N];
        self.find_all(&wanted, &mut found);
        found
    }

    /// As [`Btf::find`], for a variable number of names; names beyond the length of `found` are ignored.
    pub fn find_all(&self, wanted: &[(Named, &str)], found: &mut [Option<TypeId>]) {
        let mut next = 0;
        for id in 1_u32.. {
            let at = next;
            let Ok(end) = behind(self.types, at) else { return };
            next = end;
            let word = |skip: usize| number(self.types, at.saturating_add(skip), "a type").ok();
            let (Some(name), Some(info)) = (word(0), word(4)) else { continue };
            let named = match kind(info) {
                ENUM | ENUM64 if name == 0 && info & 0xffff > 0 => Named::Values,
                STRUCT => Named::Struct,
                FUNC => Named::Function,
                TYPEDEF => Named::Alias,
                VAR => Named::Variable,
                DATASEC => Named::Section,
                ENUM | ENUM64 => Named::Enumeration,
                _ => continue,
            };
            let name = if named == Named::Values { word(12) } else { Some(name) };
            let Some(name) = name.and_then(|name| self.string(name)) else { continue };
            for ((kind, wanted), found) in wanted.iter().zip(&mut *found) {
                // Names are long and mostly differ in their first bytes.
                if *kind == named && found.is_none() && starts_as(name, wanted.as_bytes()) {
                    *found = Some(TypeId(id));
                }
            }
        }
    }

    /// The field with this path in a structure or a variable, for example `se.sum_exec_runtime`,
    /// `rss_stat[1].count` or a field of an unnamed member.
    ///
    /// # Errors
    ///
    /// There is no such field, it is a bit field, or the types are inconsistent.
    pub fn field(&self, structure: TypeId, path: &str) -> Result<Field, BtfError> {
        let missing = || BtfError::NoField { path: path.to_string() };
        let mut field = Field { offset: 0, size: 0, of: self.plain(structure)? };
        for step in path.split('.') {
            let (name, index) = match step.split_once('[') {
                Some((name, rest)) => {
                    let index = rest.strip_suffix(']').and_then(|index| index.parse::<u32>().ok());
                    (name, Some(index.ok_or_else(missing)?))
                }
                None => (step, None),
            };
            let member = self.member(field.of, name, path)?.ok_or_else(missing)?;
            let of = self.plain(member.of)?;
            let offset = field.offset.checked_add(member.offset).ok_or_else(missing)?;
            field = Field { offset, size: self.size(of)?, of };
            if let Some(index) = index {
                let start = self.start(of)?;
                if kind(self.info(of)?) != ARRAY {
                    return Err(missing());
                }
                let element =
                    self.plain(TypeId(number(self.types, start.saturating_add(12), "an array")?))?;
                let size = self.size(element)?;
                let skip = size.checked_mul(index).and_then(|skip| field.offset.checked_add(skip));
                field = Field { offset: skip.ok_or_else(missing)?, size, of: element };
            }
        }
        Ok(field)
    }

    /// The offset of a variable in its section.
    ///
    /// # Errors
    ///
    /// The variable is not in this section, the type is no section, or it is truncated.
    pub fn place(&self, section: TypeId, variable: TypeId) -> Result<u32, BtfError> {
        let info = self.info(section)?;
        if kind(info) == DATASEC {
            let first = self.start(section)?.saturating_add(12);
            for index in 0..size_of(info & 0xffff) {
                let at = first.saturating_add(index.saturating_mul(12));
                if number(self.types, at, "a section")? == variable.0 {
                    return number(self.types, at.saturating_add(4), "a section");
                }
            }
        }
        Err(BtfError::NoField { path: "that stands in this section".to_string() })
    }

    /// The names of all members of a structure or a variable, in order; empty for unnamed members. Overlong
    /// names are cut.
    ///
    /// # Errors
    ///
    /// The type is no structure, or is truncated.
    pub fn members(&self, structure: TypeId) -> Result<Vec<&'a [u8]>, BtfError> {
        let id = self.plain(structure)?;
        let info = self.info(id)?;
        if !matches!(kind(info), STRUCT | UNION) {
            return Err(BtfError::NoField { path: String::new() });
        }
        let first = self.start(id)?.saturating_add(12);
        let name = |index: usize| {
            let at = number(self.types, first.saturating_add(index.saturating_mul(12)), "a member")?;
            let text = self.string(at).unwrap_or_default();
            // Without a terminator, each name could be all strings.
            let text = text.get(..NAME).unwrap_or(text);
            Ok(text.split(|byte| *byte == 0).next().unwrap_or_default())
        };
        (0..size_of(info & 0xffff)).map(name).collect()
    }

    /// A whole type or variable, as a field.
    ///
    /// # Errors
    ///
    /// The types are inconsistent.
    pub fn whole(&self, id: TypeId) -> Result<Field, BtfError> {
        let of = self.plain(id)?;
        Ok(Field { offset: 0, size: self.size(of)?, of })
    }

    /// The value of an enumeration constant, as stored.
    ///
    /// # Errors
    ///
    /// There is no constant of this name, the type is no enumeration, or it is truncated.
    pub fn value(&self, enumeration: TypeId, name: &str) -> Result<u64, BtfError> {
        let missing = || BtfError::NoField { path: name.to_string() };
        let id = self.plain(enumeration)?;
        let info = self.info(id)?;
        let size = match kind(info) {
            ENUM => 8,
            ENUM64 => 12,
            _ => return Err(missing()),
        };
        let start = self.start(id)?.saturating_add(12);
        for index in 0..size_of(info & 0xffff) {
            let at = start.saturating_add(index.saturating_mul(size));
            let found = self.string(number(self.types, at, "a value")?);
            if found.is_some_and(|found| starts_as(found, name.as_bytes())) {
                let low = number(self.types, at.saturating_add(4), "a value")?;
                let high = match size {
                    12 => number(self.types, at.saturating_add(8), "a value")?,
                    _ => 0,
                };
                return Ok(u64::from(high) << 32 | u64::from(low));
            }
        }
        Err(missing())
    }

    /// A member by name, including members of unnamed structures and unions; `None` when there is none.
    fn member(&self, of: TypeId, name: &str, path: &str) -> Result<Option<Field>, BtfError> {
        let mut open = vec![(of, 0_u32)];
        let mut looked = 0_usize;
        while let Some((id, base)) = open.pop() {
            let info = self.info(id)?;
            if !matches!(kind(info), STRUCT | UNION) {
                continue;
            }
            let start = self.start(id)?;
            for index in 0..size_of(info & 0xffff) {
                looked = looked.saturating_add(1);
                if looked > MEMBERS {
                    return Err(BtfError::TooDeep);
                }
                let at = start.saturating_add(12).saturating_add(index.saturating_mul(12));
                let bits = number(self.types, at.saturating_add(8), "a member")?;
                // With the flag, the upper byte is the width in bits, 0 for a member that is no bit field.
                let has_lengths = info >> 31 == 1;
                let (bits, length) = if has_lengths { (bits & 0xff_ffff, bits >> 24) } else { (bits, 0) };
                let Some(offset) = base.checked_add(bits / 8) else { return Err(BtfError::TooDeep) };
                let of = self.plain(TypeId(number(self.types, at.saturating_add(4), "a member")?))?;
                let member = number(self.types, at, "a member")?;
                if member == 0 {
                    open.push((of, offset));
                } else if self.string(member).is_some_and(|found| starts_as(found, name.as_bytes())) {
                    if length != 0 || bits % 8 != 0 {
                        return Err(BtfError::BitField { path: path.to_string() });
                    }
                    return Ok(Some(Field { offset, size: 0, of }));
                }
            }
        }
        Ok(None)
    }

    /// The type without typedefs and qualifiers; for a variable its type.
    fn plain(&self, mut id: TypeId) -> Result<TypeId, BtfError> {
        // TYPEDEF, VOLATILE, CONST, RESTRICT, VAR and TYPE_TAG name the type that they refer to.
        for _ in 0..DEPTH {
            if id == TypeId(0) || !matches!(kind(self.info(id)?), TYPEDEF..=11 | VAR | 18) {
                return Ok(id);
            }
            id = TypeId(number(self.types, self.start(id)?.saturating_add(8), "a type")?);
        }
        Err(BtfError::TooDeep)
    }

    /// The size of a value in bytes; 0 for void and functions.
    fn size(&self, id: TypeId) -> Result<u32, BtfError> {
        let mut id = self.plain(id)?;
        let mut count = 1_u32;
        for _ in 0..DEPTH {
            if id == TypeId(0) {
                return Ok(0);
            }
            let start = self.start(id)?;
            match kind(self.info(id)?) {
                INT | STRUCT | UNION | ENUM | FLOAT | ENUM64 => {
                    let size = number(self.types, start.saturating_add(8), "a type")?;
                    return size.checked_mul(count).ok_or(BtfError::TooDeep);
                }
                PTR => return count.checked_mul(8).ok_or(BtfError::TooDeep),
                ARRAY => {
                    let length = number(self.types, start.saturating_add(20), "an array")?;
                    count = count.checked_mul(length).ok_or(BtfError::TooDeep)?;
                    id = self.plain(TypeId(number(self.types, start.saturating_add(12), "an array")?))?;
                }
                _ => return Ok(0),
            }
        }
        Err(BtfError::TooDeep)
    }

    fn start(&self, id: TypeId) -> Result<usize, BtfError> {
        let none = BtfError::Truncated { what: "a type", at: self.types.len() };
        let index = size_of(id.0).checked_sub(1).filter(|index| *index < self.count);
        let (step, rest) = index.map(|index| (index / STEP, index % STEP)).ok_or_else(|| none.clone())?;
        let start = self.steps.get(step).ok_or(none)?;
        (0..rest).try_fold(size_of(*start), |at, _| behind(self.types, at))
    }

    fn info(&self, id: TypeId) -> Result<u32, BtfError> {
        if id == TypeId(0) {
            return Ok(0);
        }
        number(self.types, self.start(id)?.saturating_add(4), "a type")
    }

    /// The strings from `at` on; each ends with a 0 byte.
    fn string(&self, at: u32) -> Option<&'a [u8]> {
        self.strings.get(size_of(at)..)
    }
}

/// Whether `bytes` begin with this name and its 0 byte.
fn starts_as(bytes: &[u8], name: &[u8]) -> bool {
    bytes.strip_prefix(name).is_some_and(|rest| rest.first() == Some(&0))
}

fn kind(info: u32) -> u32 {
    (info >> 24) & 0x1f
}

/// The position of the type after the one at `at`.
fn behind(types: &[u8], at: usize) -> Result<usize, BtfError> {
    let info = number(types, at.saturating_add(4), "a type")?;
    let size = size_of_type(info).ok_or(BtfError::UnknownKind { kind: kind(info), at })?;
    Ok(at.saturating_add(size))
}

/// The size of a type's description in bytes; `None` for an unknown kind.
fn size_of_type(info: u32) -> Option<usize> {
    let count = size_of(info & 0xffff);
    let more = match kind(info) {
        // An integer has its encoding, a variable its linkage, a tag its component.
        INT | VAR | 17 => 4,
        ARRAY => 12,
        STRUCT | UNION | DATASEC | ENUM64 => count.checked_mul(12)?,
        ENUM | 13 => count.checked_mul(8)?,
        PTR | 7..=FUNC | FLOAT | 18 => 0,
        _ => return None,
    };
    more.checked_add(12)
}

fn number(bytes: &[u8], at: usize, what: &'static str) -> Result<u32, BtfError> {
    let found = at.checked_add(4).and_then(|end| bytes.get(at..end));
    let word = found.and_then(|bytes| bytes.try_into().ok()).ok_or(BtfError::Truncated { what, at })?;
    Ok(u32::from_le_bytes(word))
}

/// Every machine with such a description has at least 32 bits.
fn size_of(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

#[cfg(test)]
pub(super) mod btf_tests;
