//! Borrowed views over the bytes of a data block.
//!
//! Creating a view checks its header. Its iterators check one structure per step and end after the first
//! error.

use core::iter::FusedIterator;

use super::DetailLevel;
use super::layout::{counter_block, counter_definition, data_block, instance_definition, object_type};
use crate::bytes::{ByteOrder, Bytes};
use crate::counter::CounterType;
use crate::error::Error;
use crate::text::{CodePage, Name};
use crate::time::{FileTime, Frequency, PerfTime, SystemTime};
use crate::title::{HelpIndex, TitleIndex};

/// A `PERF_DATA_BLOCK`: the header and the objects after it.
#[derive(Debug, Clone, Copy)]
pub struct DataBlock<'a> {
    /// Everything from the header to the end of the last object, and nothing after it.
    bytes: Bytes<'a>,
    header: Header,
}

/// The fields of a `PERF_DATA_BLOCK`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Byte order of every number in the block.
    pub byte_order: ByteOrder,
    /// Version of the structures, 1.
    pub version: u32,
    /// Revision of the structures, 0 or more.
    pub revision: u32,
    /// Length of the block in bytes according to its writer: with the header (Windows) or without it (Samba).
    pub total_byte_length: u32,
    /// Offset of the first object.
    pub header_length: u32,
    /// How many objects follow according to the writer. There may be fewer; see [`DataBlock::objects`].
    pub num_object_types: u32,
    /// The default object of a viewer; -1 for none.
    pub default_object: i32,
    /// Civil time of the sample: UTC according to the documentation, local time in blocks inside Windows'
    /// logs.
    pub system_time: SystemTime,
    /// Performance clock at the sample.
    pub perf_time: PerfTime,
    /// Ticks per second of the performance clock.
    pub perf_freq: Frequency,
    /// UTC at the sample.
    pub perf_time_100ns: FileTime,
    /// Length of the system name in bytes, including the terminator.
    pub system_name_length: u32,
    /// Offset of the system name.
    pub system_name_offset: u32,
}

/// A `PERF_OBJECT_TYPE`: its header, counter definitions, and instances or single counter block.
#[derive(Debug, Clone, Copy)]
pub struct Object<'a> {
    /// The whole object, and nothing after it.
    bytes: Bytes<'a>,
    header: ObjectHeader,
}

/// The fields of a `PERF_OBJECT_TYPE`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ObjectHeader {
    /// Length, which is the distance to the next object.
    pub total_byte_length: u32,
    /// Length of header and counter definitions; instances or data follow.
    pub definition_length: u32,
    /// Offset of the first counter definition.
    pub header_length: u32,
    /// Name.
    pub name: TitleIndex,
    /// Help text; not always the name's index plus 1.
    pub help: HelpIndex,
    /// Detail level.
    pub detail_level: DetailLevel,
    /// Number of counter definitions, including base counters.
    pub num_counters: u32,
    /// Position of the default counter, -1 for none. On real systems the disk objects point to a base
    /// counter; step back one then, as [`Object::default_counter`] does.
    pub default_counter: i32,
    /// Number of instances, or the meaning of -1, -2 and -3.
    pub num_instances: NumInstances,
    /// Code page of the instance names; 0 for UTF-16.
    pub code_page: CodePage,
    /// The object's own clock, 0 if it has none.
    pub perf_time: PerfTime,
    /// Ticks per second of that clock, 0 if it has none.
    pub perf_freq: Frequency,
}

/// `NumInstances` of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NumInstances {
    /// The object has instances, and this is their current number, possibly 0.
    Many(u32),
    /// -1: the object has no instances; one counter block follows the definitions.
    None,
    /// -2: only the definitions of an object with instances.
    MetadataMany,
    /// -3: only the definitions of an object without instances.
    MetadataNone,
}

impl NumInstances {
    /// Converts the number in the block; `None` below -3.
    pub const fn from_raw(raw: i32) -> Option<NumInstances> {
        match raw {
            -1 => Some(NumInstances::None),
            -2 => Some(NumInstances::MetadataMany),
            -3 => Some(NumInstances::MetadataNone),
            0.. => Some(NumInstances::Many(raw.cast_unsigned())),
            _ => None,
        }
    }

    /// The number as stored in the block.
    pub const fn to_raw(self) -> i32 {
        match self {
            NumInstances::Many(n) => n.cast_signed(),
            NumInstances::None => -1,
            NumInstances::MetadataMany => -2,
            NumInstances::MetadataNone => -3,
        }
    }
}

/// A `PERF_COUNTER_DEFINITION`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CounterDefinition {
    /// Name. Base counters repeat the name of their numerator, or have 0.
    pub name: TitleIndex,
    /// Help text; not always the name's index plus 1.
    pub help: HelpIndex,
    /// Default scale for charts, a power of ten.
    pub default_scale: i32,
    /// Detail level.
    pub detail_level: DetailLevel,
    /// Type.
    pub counter_type: CounterType,
    /// Size of the data in bytes. Use this size, not the size bits of the type.
    pub counter_size: u32,
    /// Offset of the data from the start of the counter block.
    pub counter_offset: u32,
}

/// A `PERF_INSTANCE_DEFINITION` and the counter block after it.
#[derive(Debug, Clone, Copy)]
pub struct Instance<'a> {
    /// The parent instance, such as the process of a thread.
    pub parent: Option<Parent>,
    /// An identity that does not change during the life of the instance; `None` if the name is the identity.
    pub unique_id: Option<i32>,
    /// Name without its terminator; empty if there is none.
    pub name: Name<'a>,
    /// Raw values.
    pub counter_block: CounterBlock<'a>,
    /// Offset of the definition from the start of the data block.
    pub at: usize,
    /// Offset of the name from the start of the data block.
    pub(super) name_at: usize,
    pub(super) name_length: usize,
}

/// The parent of an instance: an object of the same block, and a position in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Parent {
    /// Name of the parent object.
    pub object: TitleIndex,
    /// Position in that object's list of instances, from 0.
    pub instance: u32,
}

/// A `PERF_COUNTER_BLOCK`: the raw values of one instance.
#[derive(Debug, Clone, Copy)]
pub struct CounterBlock<'a> {
    bytes: Bytes<'a>,
}

/// The data of one counter in a counter block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RawValue<'a> {
    /// A number of at most 8 bytes, zero-extended.
    Number(u64),
    /// Anything else: text, or a size that is not a number's.
    Bytes(&'a [u8]),
    /// A counter of size 0.
    Nothing,
}

impl<'a> DataBlock<'a> {
    /// Checks the header and the lengths of the objects.
    ///
    /// # Errors
    ///
    /// The signature is missing, the bytes end before the header or before the length in it, or the header
    /// length points outside the block.
    pub fn parse(data: &'a [u8]) -> Result<DataBlock<'a>, Error> {
        use data_block as field;
        const SIGNATURE_LITTLE: &[u8] = b"P\0E\0R\0F\0";
        const SIGNATURE_BIG: &[u8] = b"\0P\0E\0R\0F";
        let whole = Bytes::new(data, ByteOrder::Little);
        let signature = whole.slice(field::SIGNATURE, 8, "PERF_DATA_BLOCK.Signature")?;
        let order = match signature.data() {
            SIGNATURE_LITTLE => ByteOrder::Little,
            SIGNATURE_BIG => ByteOrder::Big,
            _ => {
                let found = signature.u64(0, "PERF_DATA_BLOCK.Signature")?;
                return Err(Error::value("PERF_DATA_BLOCK.Signature", 0, "\"PERF\" in UTF-16", found));
            }
        };
        let whole = Bytes::new(data, order);
        let b = whole.slice(0, field::SIZE, "PERF_DATA_BLOCK")?;
        let time = |n: usize| b.u16(field::SYSTEM_TIME.saturating_add(n), "PERF_DATA_BLOCK.SystemTime");
        let header = Header {
            byte_order: order,
            version: b.u32(field::VERSION, "PERF_DATA_BLOCK.Version")?,
            revision: b.u32(field::REVISION, "PERF_DATA_BLOCK.Revision")?,
            total_byte_length: b.u32(field::TOTAL_BYTE_LENGTH, "PERF_DATA_BLOCK.TotalByteLength")?,
            header_length: b.u32(field::HEADER_LENGTH, "PERF_DATA_BLOCK.HeaderLength")?,
            num_object_types: b.u32(field::NUM_OBJECT_TYPES, "PERF_DATA_BLOCK.NumObjectTypes")?,
            default_object: b.i32(field::DEFAULT_OBJECT, "PERF_DATA_BLOCK.DefaultObject")?,
            system_time: SystemTime {
                year: time(0)?,
                month: time(2)?,
                day_of_week: time(4)?,
                day: time(6)?,
                hour: time(8)?,
                minute: time(10)?,
                second: time(12)?,
                milliseconds: time(14)?,
            },
            perf_time: PerfTime(b.i64(field::PERF_TIME, "PERF_DATA_BLOCK.PerfTime")?),
            perf_freq: Frequency(b.i64(field::PERF_FREQ, "PERF_DATA_BLOCK.PerfFreq")?),
            perf_time_100ns: FileTime(b.u64(field::PERF_TIME_100NS, "PERF_DATA_BLOCK.PerfTime100nSec")?),
            system_name_length: b.u32(field::SYSTEM_NAME_LENGTH, "PERF_DATA_BLOCK.SystemNameLength")?,
            system_name_offset: b.u32(field::SYSTEM_NAME_OFFSET, "PERF_DATA_BLOCK.SystemNameOffset")?,
        };
        let header_length = b.length(field::HEADER_LENGTH, "PERF_DATA_BLOCK.HeaderLength")?;
        if header_length < field::SIZE || header_length > data.len() {
            return Err(Error::outside(
                "PERF_DATA_BLOCK.HeaderLength",
                field::HEADER_LENGTH,
                header_length as u64,
                field::SIZE as u64,
                data.len() as u64,
            ));
        }
        let total = b.length(field::TOTAL_BYTE_LENGTH, "PERF_DATA_BLOCK.TotalByteLength")?;
        let end = objects_end(whole, header_length, total, header.num_object_types)?;
        Ok(DataBlock { bytes: whole.slice(0, end, "PERF_DATA_BLOCK.TotalByteLength")?, header })
    }

    /// The fields of the header.
    pub const fn header(&self) -> &Header {
        &self.header
    }

    /// The bytes from the header to the end of the last object.
    pub const fn bytes(&self) -> &'a [u8] {
        self.bytes.data()
    }

    /// Name of the machine that the block came from; empty if the block has none.
    ///
    /// # Errors
    ///
    /// The name is not inside the block.
    pub fn system_name(&self) -> Result<Name<'a>, Error> {
        let at = usize::try_from(self.header.system_name_offset).unwrap_or(usize::MAX);
        let length = usize::try_from(self.header.system_name_length).unwrap_or(usize::MAX);
        if length == 0 {
            return Ok(Name::new(&[], CodePage::UTF_16, self.header.byte_order));
        }
        let name = self.bytes.slice(at, length, "PERF_DATA_BLOCK.SystemName")?;
        Ok(Name::new(name.data(), CodePage::UTF_16, self.header.byte_order))
    }

    /// The objects. A block may hold fewer objects than it promises; this is not an error, since some
    /// providers do that.
    pub fn objects(&self) -> Objects<'a> {
        Objects {
            bytes: self.bytes,
            at: usize::try_from(self.header.header_length).unwrap_or(usize::MAX),
            left: self.header.num_object_types,
        }
    }
}

/// The end of the objects: at `TotalByteLength`, unless its writer excluded the header from it, as Samba
/// does.
fn objects_end(whole: Bytes<'_>, header_length: usize, total: usize, objects: u32) -> Result<usize, Error> {
    const WHAT: &str = "PERF_DATA_BLOCK.TotalByteLength";
    // The only sign of a length without the header: the objects end exactly there.
    let without_header = header_length.checked_add(total);
    if objects > 0
        && let Some(end) = without_header.filter(|end| *end <= whole.len())
    {
        let mut at = header_length;
        let mut left = objects;
        while left > 0 && at < end {
            let Ok(length) = whole.length(at.saturating_add(object_type::TOTAL_BYTE_LENGTH), WHAT) else {
                break;
            };
            if length < object_type::SIZE {
                break;
            }
            at = at.saturating_add(length);
            left = left.saturating_sub(1);
        }
        if at == end && left == 0 {
            return Ok(end);
        }
    }
    if total > whole.len() {
        return Err(Error::truncated("PERF_DATA_BLOCK", 0, total as u64, whole.len() as u64));
    }
    if total < header_length {
        return Err(Error::outside(
            WHAT,
            data_block::TOTAL_BYTE_LENGTH,
            total as u64,
            header_length as u64,
            whole.len() as u64,
        ));
    }
    Ok(total)
}

/// The objects of a data block.
#[derive(Debug, Clone)]
pub struct Objects<'a> {
    bytes: Bytes<'a>,
    at: usize,
    left: u32,
}

impl<'a> Objects<'a> {
    /// `count` consecutive objects without the header of a data block: the answer of a provider library.
    pub const fn bare(objects: &'a [u8], count: u32) -> Objects<'a> {
        Objects { bytes: Bytes::new(objects, ByteOrder::Little), at: 0, left: count }
    }
}

impl<'a> Iterator for Objects<'a> {
    type Item = Result<Object<'a>, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.left == 0 || self.at >= self.bytes.len() {
            self.left = 0;
            return None;
        }
        let object = Object::parse(self.bytes, self.at);
        match &object {
            Ok(object) => {
                self.at = self.at.saturating_add(object.bytes.len());
                self.left = self.left.saturating_sub(1);
            }
            Err(_) => self.left = 0,
        }
        Some(object)
    }
}

impl FusedIterator for Objects<'_> {}

impl<'a> Object<'a> {
    /// The object at offset `at` of `whole`.
    fn parse(whole: Bytes<'a>, at: usize) -> Result<Object<'a>, Error> {
        use object_type as field;
        let b = whole.slice(at, field::SIZE, "PERF_OBJECT_TYPE")?;
        let raw_instances = b.i32(field::NUM_INSTANCES, "PERF_OBJECT_TYPE.NumInstances")?;
        let header = ObjectHeader {
            total_byte_length: b.u32(field::TOTAL_BYTE_LENGTH, "PERF_OBJECT_TYPE.TotalByteLength")?,
            definition_length: b.u32(field::DEFINITION_LENGTH, "PERF_OBJECT_TYPE.DefinitionLength")?,
            header_length: b.u32(field::HEADER_LENGTH, "PERF_OBJECT_TYPE.HeaderLength")?,
            name: TitleIndex(b.u32(field::NAME_TITLE_INDEX, "PERF_OBJECT_TYPE.ObjectNameTitleIndex")?),
            help: HelpIndex(b.u32(field::HELP_TITLE_INDEX, "PERF_OBJECT_TYPE.ObjectHelpTitleIndex")?),
            detail_level: DetailLevel(b.u32(field::DETAIL_LEVEL, "PERF_OBJECT_TYPE.DetailLevel")?),
            num_counters: b.u32(field::NUM_COUNTERS, "PERF_OBJECT_TYPE.NumCounters")?,
            default_counter: b.i32(field::DEFAULT_COUNTER, "PERF_OBJECT_TYPE.DefaultCounter")?,
            num_instances: NumInstances::from_raw(raw_instances).ok_or(Error::value(
                "PERF_OBJECT_TYPE.NumInstances",
                b.base().saturating_add(field::NUM_INSTANCES),
                "-3 or more",
                u64::from(raw_instances.cast_unsigned()),
            ))?,
            code_page: CodePage(b.u32(field::CODE_PAGE, "PERF_OBJECT_TYPE.CodePage")?),
            perf_time: PerfTime(b.i64(field::PERF_TIME, "PERF_OBJECT_TYPE.PerfTime")?),
            perf_freq: Frequency(b.i64(field::PERF_FREQ, "PERF_OBJECT_TYPE.PerfFreq")?),
        };
        let total = b.length(field::TOTAL_BYTE_LENGTH, "PERF_OBJECT_TYPE.TotalByteLength")?;
        let definitions = b.length(field::DEFINITION_LENGTH, "PERF_OBJECT_TYPE.DefinitionLength")?;
        let own = b.length(field::HEADER_LENGTH, "PERF_OBJECT_TYPE.HeaderLength")?;
        let check = |what, offset: usize, value: usize, least: usize, most: usize| {
            if value < least || value > most {
                let at = b.base().saturating_add(offset);
                Err(Error::outside(what, at, value as u64, least as u64, most as u64))
            } else {
                Ok(())
            }
        };
        let left = whole.len().saturating_sub(at);
        check("PERF_OBJECT_TYPE.TotalByteLength", field::TOTAL_BYTE_LENGTH, total, field::SIZE, left)?;
        check("PERF_OBJECT_TYPE.HeaderLength", field::HEADER_LENGTH, own, field::SIZE, total)?;
        check("PERF_OBJECT_TYPE.DefinitionLength", field::DEFINITION_LENGTH, definitions, own, total)?;
        Ok(Object { bytes: whole.slice(at, total, "PERF_OBJECT_TYPE")?, header })
    }

    /// The fields of the header.
    pub const fn header(&self) -> &ObjectHeader {
        &self.header
    }

    /// Offset of the object from the start of the data block.
    pub const fn at(&self) -> usize {
        self.bytes.base()
    }

    /// The bytes of the object.
    pub const fn bytes(&self) -> &'a [u8] {
        self.bytes.data()
    }

    /// The counter definitions, including base counters.
    pub fn counters(&self) -> CounterDefinitions<'a> {
        let definitions = usize::try_from(self.header.definition_length).unwrap_or(usize::MAX);
        CounterDefinitions {
            // The constructor has checked this length.
            bytes: self
                .bytes
                .slice(0, definitions, "PERF_OBJECT_TYPE.DefinitionLength")
                .unwrap_or(self.bytes),
            at: usize::try_from(self.header.header_length).unwrap_or(usize::MAX),
            left: self.header.num_counters,
        }
    }

    /// The default counter, never a base counter. `None` if the object names none, or one that does not
    /// exist.
    pub fn default_counter(&self) -> Option<CounterDefinition> {
        let position = usize::try_from(self.header.default_counter).ok()?;
        let mut last = None;
        for definition in self.counters().take(position.saturating_add(1)) {
            let definition = definition.ok()?;
            if !definition.counter_type.is_base() {
                last = Some(definition);
            }
        }
        last
    }

    /// The instances; empty for an object without instances.
    pub fn instances(&self) -> Instances<'a> {
        let left = match self.header.num_instances {
            NumInstances::Many(n) => n,
            _ => 0,
        };
        Instances {
            bytes: self.bytes,
            at: usize::try_from(self.header.definition_length).unwrap_or(usize::MAX),
            left,
            code_page: self.header.code_page,
        }
    }

    /// The counter block of an object without instances; `None` for an object with instances or with
    /// definitions only.
    pub fn counter_block(&self) -> Option<Result<CounterBlock<'a>, Error>> {
        (self.header.num_instances == NumInstances::None).then(|| {
            let at = usize::try_from(self.header.definition_length).unwrap_or(usize::MAX);
            CounterBlock::parse(self.bytes, at)
        })
    }
}

/// The counter definitions of an object.
#[derive(Debug, Clone)]
pub struct CounterDefinitions<'a> {
    bytes: Bytes<'a>,
    at: usize,
    left: u32,
}

impl CounterDefinitions<'_> {
    fn step(&mut self) -> Result<CounterDefinition, Error> {
        use counter_definition as field;
        let b = self.bytes.slice(self.at, field::SIZE, "PERF_COUNTER_DEFINITION")?;
        let length = b.length(field::BYTE_LENGTH, "PERF_COUNTER_DEFINITION.ByteLength")?;
        let left = self.bytes.len().saturating_sub(self.at);
        if length < field::SIZE || length > left {
            let at = b.base().saturating_add(field::BYTE_LENGTH);
            return Err(Error::outside(
                "PERF_COUNTER_DEFINITION.ByteLength",
                at,
                length as u64,
                field::SIZE as u64,
                left as u64,
            ));
        }
        self.at = self.at.saturating_add(length);
        Ok(CounterDefinition {
            name: TitleIndex(
                b.u32(field::NAME_TITLE_INDEX, "PERF_COUNTER_DEFINITION.CounterNameTitleIndex")?,
            ),
            help: HelpIndex(b.u32(field::HELP_TITLE_INDEX, "PERF_COUNTER_DEFINITION.CounterHelpTitleIndex")?),
            default_scale: b.i32(field::DEFAULT_SCALE, "PERF_COUNTER_DEFINITION.DefaultScale")?,
            detail_level: DetailLevel(b.u32(field::DETAIL_LEVEL, "PERF_COUNTER_DEFINITION.DetailLevel")?),
            counter_type: CounterType(b.u32(field::COUNTER_TYPE, "PERF_COUNTER_DEFINITION.CounterType")?),
            counter_size: b.u32(field::COUNTER_SIZE, "PERF_COUNTER_DEFINITION.CounterSize")?,
            counter_offset: b.u32(field::COUNTER_OFFSET, "PERF_COUNTER_DEFINITION.CounterOffset")?,
        })
    }
}

impl Iterator for CounterDefinitions<'_> {
    type Item = Result<CounterDefinition, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let definition = self.step();
        if definition.is_err() {
            self.left = 0;
        }
        Some(definition)
    }
}

impl FusedIterator for CounterDefinitions<'_> {}

/// The instances of an object, each with its counter block.
#[derive(Debug, Clone)]
pub struct Instances<'a> {
    bytes: Bytes<'a>,
    at: usize,
    left: u32,
    code_page: CodePage,
}

impl<'a> Instances<'a> {
    /// Offset of the next instance in the whole block.
    pub(super) fn at(&self) -> usize {
        self.bytes.base().saturating_add(self.at)
    }

    /// Skips `count` instances, which are `length` bytes long.
    pub(super) fn skip_bytes(&mut self, count: usize, length: usize) {
        self.left = self.left.saturating_sub(u32::try_from(count).unwrap_or(u32::MAX));
        self.at = self.at.saturating_add(length);
    }

    #[inline]
    fn step(&mut self) -> Result<Instance<'a>, Error> {
        use instance_definition as field;
        let b = self.bytes.slice(self.at, field::SIZE, "PERF_INSTANCE_DEFINITION")?;
        let length = b.length(field::BYTE_LENGTH, "PERF_INSTANCE_DEFINITION.ByteLength")?;
        if length < field::SIZE {
            let at = b.base().saturating_add(field::BYTE_LENGTH);
            let left = self.bytes.len().saturating_sub(self.at);
            return Err(Error::outside(
                "PERF_INSTANCE_DEFINITION.ByteLength",
                at,
                length as u64,
                field::SIZE as u64,
                left as u64,
            ));
        }
        let b = self.bytes.slice(self.at, length, "PERF_INSTANCE_DEFINITION.ByteLength")?;
        let name_length = b.length(field::NAME_LENGTH, "PERF_INSTANCE_DEFINITION.NameLength")?;
        let name_offset = b.length(field::NAME_OFFSET, "PERF_INSTANCE_DEFINITION.NameOffset")?;
        let name = if name_length == 0 {
            b.slice(0, 0, "PERF_INSTANCE_DEFINITION.Name")?
        } else {
            b.slice(name_offset, name_length, "PERF_INSTANCE_DEFINITION.Name")?
        };
        let parent_object =
            b.u32(field::PARENT_OBJECT_TITLE_INDEX, "PERF_INSTANCE_DEFINITION.ParentObjectTitleIndex")?;
        let parent_instance =
            b.u32(field::PARENT_OBJECT_INSTANCE, "PERF_INSTANCE_DEFINITION.ParentObjectInstance")?;
        let unique_id = b.i32(field::UNIQUE_ID, "PERF_INSTANCE_DEFINITION.UniqueID")?;
        let block_at = self.at.saturating_add(length);
        let counter_block = CounterBlock::parse(self.bytes, block_at)?;
        self.at = block_at.saturating_add(counter_block.bytes.len());
        Ok(Instance {
            parent: (parent_object != 0)
                .then_some(Parent { object: TitleIndex(parent_object), instance: parent_instance }),
            unique_id: (unique_id != -1).then_some(unique_id),
            name: Name::new(name.data(), self.code_page, b.order()),
            counter_block,
            at: b.base(),
            name_at: name.base(),
            name_length: name.len(),
        })
    }
}

impl<'a> Iterator for Instances<'a> {
    type Item = Result<Instance<'a>, Error>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let instance = self.step();
        if instance.is_err() {
            self.left = 0;
        }
        Some(instance)
    }
}

impl FusedIterator for Instances<'_> {}

impl<'a> CounterBlock<'a> {
    fn parse(bytes: Bytes<'a>, at: usize) -> Result<CounterBlock<'a>, Error> {
        use counter_block as field;
        let length = bytes.length(at.saturating_add(field::BYTE_LENGTH), "PERF_COUNTER_BLOCK.ByteLength")?;
        if length < field::SIZE {
            let left = bytes.len().saturating_sub(at);
            return Err(Error::outside(
                "PERF_COUNTER_BLOCK.ByteLength",
                bytes.base().saturating_add(at),
                length as u64,
                field::SIZE as u64,
                left as u64,
            ));
        }
        Ok(CounterBlock { bytes: bytes.slice(at, length, "PERF_COUNTER_BLOCK.ByteLength")? })
    }

    /// A counter block from bytes whose place is already checked.
    pub(super) const fn from_bytes(bytes: Bytes<'a>) -> CounterBlock<'a> {
        CounterBlock { bytes }
    }

    /// Offset of the block from the start of the data block.
    pub const fn at(&self) -> usize {
        self.bytes.base()
    }

    /// The bytes of the block, including its length field.
    pub const fn bytes(&self) -> &'a [u8] {
        self.bytes.data()
    }

    /// The data of a counter.
    ///
    /// # Errors
    ///
    /// The counter's offset and size point outside the block.
    #[inline]
    pub fn raw(&self, definition: &CounterDefinition) -> Result<RawValue<'a>, Error> {
        const WHAT: &str = "PERF_COUNTER_DEFINITION.CounterOffset";
        let at = usize::try_from(definition.counter_offset).unwrap_or(usize::MAX);
        // A text or our status bytes may be 4 or 8 bytes long by coincidence.
        let counter_type = definition.counter_type;
        // The size bits of a label say nothing, although some providers give it a number.
        let number =
            counter_type.default_size().is_some() || counter_type == CounterType::PERF_COUNTER_NODATA;
        match definition.counter_size {
            8 if number => Ok(RawValue::Number(self.bytes.u64(at, WHAT)?)),
            4 if number => Ok(RawValue::Number(u64::from(self.bytes.u32(at, WHAT)?))),
            0 => Ok(RawValue::Nothing),
            2 if number => Ok(RawValue::Number(u64::from(self.bytes.u16(at, WHAT)?))),
            1 if number => {
                let byte = self.bytes.slice(at, 1, WHAT)?.data();
                Ok(RawValue::Number(byte.first().copied().map_or(0, u64::from)))
            }
            size => {
                let size = usize::try_from(size).unwrap_or(usize::MAX);
                Ok(RawValue::Bytes(self.bytes.slice(at, size, WHAT)?.data()))
            }
        }
    }

    /// The 32-bit number at an offset of the block: the count that may directly follow a multi timer.
    pub(super) fn u32_at(&self, offset: usize) -> Result<u32, Error> {
        self.bytes.u32(offset, "multi count after a counter")
    }
}
