//! The declaration of an object by its provider, and the layout of its counters.

use alloc::vec::Vec;

use super::DetailLevel;
use super::layout::{ALIGNMENT, counter_block, counter_definition, object_type};
use crate::counter::CounterType;
use crate::title::{HelpIndex, TitleIndex};

/// Whether an object has instances.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum InstanceKind {
    /// Exactly one set of values.
    None,
    /// Any number of instances, including none.
    Many,
}

/// The declaration of an object.
#[derive(Debug, Clone, Copy)]
pub struct ObjectSpec<'s> {
    /// Name.
    pub name: TitleIndex,
    /// Help text.
    pub help: HelpIndex,
    /// How much a user must know.
    pub detail: DetailLevel,
    /// Position in `counters` of the default counter.
    pub default_counter: u16,
    /// Whether the object has instances.
    pub instances: InstanceKind,
    /// Whether a hidden status counter says for each value if it is present. It costs one byte per value.
    pub status: bool,
    /// The counters in order. A base counter directly follows the counter that needs it.
    pub counters: &'s [CounterSpec],
}

impl<'s> ObjectSpec<'s> {
    /// An object for all users whose values are always present. Its help index is the name index plus 1, and
    /// its first counter is the default; set other fields with `..`.
    pub const fn new(
        name: TitleIndex,
        instances: InstanceKind,
        counters: &'s [CounterSpec],
    ) -> ObjectSpec<'s> {
        ObjectSpec {
            name,
            help: name.help(),
            detail: DetailLevel::NOVICE,
            default_counter: 0,
            instances,
            status: false,
            counters,
        }
    }
}

/// The declaration of a counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CounterSpec {
    /// Name; a base counter repeats the name of its numerator.
    pub name: TitleIndex,
    /// Help text; a base counter repeats the help of its numerator.
    pub help: HelpIndex,
    /// Type.
    pub counter_type: CounterType,
    /// Default scale for charts, a power of ten, -7 to 7.
    pub scale: i32,
    /// How much a user must know.
    pub detail: DetailLevel,
    /// Size of the data in bytes if it differs from the type's: for text, or for an average timer, which has
    /// 8 bytes in practice although its type says 4.
    pub size: Option<u32>,
    /// Position of an earlier counter whose data this one shares. The disk counters share one time stamp in
    /// this way.
    pub shares: Option<u16>,
}

impl CounterSpec {
    /// A counter for all users, with scale 0 and the size of its type. Its help index is the name index plus
    /// 1; set other fields with `..`.
    pub const fn new(name: TitleIndex, counter_type: CounterType) -> CounterSpec {
        CounterSpec {
            name,
            help: name.help(),
            counter_type,
            scale: 0,
            detail: DetailLevel::NOVICE,
            size: None,
            shares: None,
        }
    }
}

/// Where the counters of an object are in a counter block. Built once from an [`ObjectSpec`], used for every
/// block.
#[derive(Debug, Clone)]
pub struct ObjectLayout<'s> {
    pub(super) spec: ObjectSpec<'s>,
    pub(super) slots: Vec<Slot>,
    /// Length of a counter block, a multiple of `alignment`.
    pub(super) block_length: usize,
    /// Alignment of counter blocks and instance definitions.
    pub(super) alignment: usize,
    /// Offset and size of the status bytes.
    pub(super) status: Option<(usize, usize)>,
    /// Length of the object header and counter definitions.
    pub(super) definition_length: usize,
}

/// Offset and size of one counter in a counter block.
#[derive(Debug, Clone, Copy)]
pub(super) struct Slot {
    pub(super) offset: usize,
    pub(super) size: usize,
    /// Whether a number that is too large wraps around (harmless if only differences matter), or counts as
    /// out of range.
    pub(super) wraps: bool,
}

impl<'s> ObjectLayout<'s> {
    /// Lays the counters out in order, with 8-byte values at multiples of 8.
    pub fn new(spec: ObjectSpec<'s>) -> ObjectLayout<'s> {
        ObjectLayout::aligned(spec, ALIGNMENT)
    }

    /// The same without padding after names and values; only the length of the object is a multiple of 8.
    /// Programs of the time of NT write such objects: they are shorter, and 8-byte values may be unaligned.
    pub fn packed(spec: ObjectSpec<'s>) -> ObjectLayout<'s> {
        ObjectLayout::aligned(spec, 1)
    }

    fn aligned(spec: ObjectSpec<'s>, alignment: usize) -> ObjectLayout<'s> {
        let mut slots: Vec<Slot> = Vec::new();
        let mut end = counter_block::SIZE;
        for counter in spec.counters {
            let size = counter.size.or(counter.counter_type.default_size()).unwrap_or(0);
            let size = usize::try_from(size).unwrap_or(0);
            let wraps = counter.counter_type.needs_two_samples() || counter.counter_type.is_base();
            let shared = counter.shares.and_then(|position| slots.get(usize::from(position)).copied());
            let slot = match shared {
                Some(slot) => Slot { wraps, ..slot },
                None => {
                    // Text consists of 2-byte units, but a multiple of 4 costs nothing.
                    let offset = align(end, if size == 8 { alignment } else { alignment.min(4) });
                    end = offset.saturating_add(size);
                    Slot { offset, size, wraps }
                }
            };
            slots.push(slot);
        }
        let mut definitions = slots.len();
        let status = spec.status.then(|| {
            let place = (end, definitions);
            end = end.saturating_add(definitions);
            definitions = definitions.saturating_add(1);
            place
        });
        ObjectLayout {
            spec,
            slots,
            block_length: align(end, alignment),
            alignment,
            status,
            definition_length: object_type::SIZE
                .saturating_add(definitions.saturating_mul(counter_definition::SIZE)),
        }
    }

    /// The declaration that the layout was built from.
    pub const fn spec(&self) -> &ObjectSpec<'s> {
        &self.spec
    }

    /// Position of the first counter with this name, which is never a base counter.
    pub fn position(&self, name: TitleIndex) -> Option<usize> {
        self.spec.counters.iter().position(|counter| counter.name == name)
    }
}

/// `length` rounded up to a multiple of `alignment`, a power of two.
pub(super) const fn align(length: usize, alignment: usize) -> usize {
    let mask = alignment.saturating_sub(1);
    length.saturating_add(mask) & !mask
}
