//! What an object looks like, as its provider declares it, and where its counters go.

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
    /// Any number of instances, none included.
    Many,
}

/// An object, declared once.
#[derive(Debug, Clone, Copy)]
pub struct ObjectSpec<'s> {
    /// Name.
    pub name: TitleIndex,
    /// Help text.
    pub help: HelpIndex,
    /// How much a user has to know.
    pub detail: DetailLevel,
    /// Position in `counters` of the one that a viewer shows first.
    pub default_counter: u16,
    /// Whether it has instances.
    pub instances: InstanceKind,
    /// Whether a hidden status counter says for each value if it is there. It costs one byte a value.
    pub status: bool,
    /// The counters in order; a base counter directly behind the counter that needs it.
    pub counters: &'s [CounterSpec],
}

impl<'s> ObjectSpec<'s> {
    /// An object for everybody whose values are always there. Its help text has the next number, and its first counter is
    /// shown first; other fields are set with `..`.
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

/// A counter, declared once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CounterSpec {
    /// Name; a base counter repeats the name of its numerator.
    pub name: TitleIndex,
    /// Help text; a base counter repeats that of its numerator.
    pub help: HelpIndex,
    /// Type.
    pub counter_type: CounterType,
    /// Power of ten for charts, -7 to 7.
    pub scale: i32,
    /// How much a user has to know.
    pub detail: DetailLevel,
    /// Size of the data in bytes when it is not what the type says: text, or an average timer, which is 8 bytes in
    /// practice although its type says 4.
    pub size: Option<u32>,
    /// Position of an earlier counter whose data this one shares, as the disk counters share one time stamp.
    pub shares: Option<u16>,
}

impl CounterSpec {
    /// A counter for everybody, drawn as it is, with the size of its type. Its help text has the next number; other fields
    /// are set with `..`.
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

/// Where the counters of an object go in a counter block: made once from an [`ObjectSpec`], used for every block.
#[derive(Debug, Clone)]
pub struct ObjectLayout<'s> {
    pub(super) spec: ObjectSpec<'s>,
    pub(super) slots: Vec<Slot>,
    /// Length of a counter block, a multiple of `alignment`.
    pub(super) block_length: usize,
    /// Of counter blocks and of definitions of instances.
    pub(super) alignment: usize,
    /// Offset and size of the status bytes.
    pub(super) status: Option<(usize, usize)>,
    /// Length of header and definitions.
    pub(super) definition_length: usize,
}

/// Place of one counter in a counter block.
#[derive(Debug, Clone, Copy)]
pub(super) struct Slot {
    pub(super) offset: usize,
    pub(super) size: usize,
    /// Whether a number that is too large wraps around, as differences do not mind, or can not be shown.
    pub(super) wraps: bool,
}

impl<'s> ObjectLayout<'s> {
    /// Lays the counters out in their order, 8-byte values at multiples of 8.
    pub fn new(spec: ObjectSpec<'s>) -> ObjectLayout<'s> {
        ObjectLayout::aligned(spec, ALIGNMENT)
    }

    /// The same with nothing behind names and values; only the object has a length that is a multiple of 8. Programs of
    /// the time of NT write such objects: they are shorter, and their 8-byte values may begin anywhere.
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
                    // Text is made of 2-byte units, but a multiple of 4 costs nothing.
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

    /// What it was made from.
    pub const fn spec(&self) -> &ObjectSpec<'s> {
        &self.spec
    }

    /// Position of the counter with a name; the first of several, so never a base counter.
    pub fn position(&self, name: TitleIndex) -> Option<usize> {
        self.spec.counters.iter().position(|counter| counter.name == name)
    }
}

/// The next multiple of `alignment`, a power of two.
pub(super) const fn align(length: usize, alignment: usize) -> usize {
    let mask = alignment.saturating_sub(1);
    length.saturating_add(mask) & !mask
}
