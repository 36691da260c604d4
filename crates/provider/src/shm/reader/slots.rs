//! The slots of an object that have an instance, and their properties.

use std::ops::Range;

use super::copy::{agrees, checked, settled_use};
use super::parse::Extent;
use crate::shm::definition::{GroupPlace, ObjectDefinition, Storage};

/// The slots of an object, through all its extents.
#[derive(Debug)]
pub(super) struct Slots {
    /// Bytes of one slot of values.
    pub(super) stride: usize,
    /// The extents of the object, in the order of the file.
    pub(super) extents: Vec<Extent>,
    /// Everything in a slot that must agree.
    pub(super) checked: Vec<GroupPlace>,
    /// For each counter, how many consecutive counters from it on are a single word each.
    pub(super) plain: Vec<usize>,
    /// The use of each slot at the last reading; 0 when unknown. A list of its own, since each reading
    /// compares all of them.
    pub(super) uses: Vec<u64>,
    /// The properties of each slot.
    pub(super) known: Vec<Slot>,
    /// The slots with an instance now, ascending.
    pub(super) live: Vec<Live>,
}

/// A slot with an instance.
#[derive(Debug, Clone, Copy)]
pub(super) struct Live {
    /// Its number.
    pub(super) number: usize,
    /// Offset of its values in the copy of the file.
    pub(super) values: usize,
    /// Whether everything in it agrees that must.
    pub(super) whole: bool,
}

/// The properties of a slot.
#[derive(Debug, Clone, Default)]
pub(super) struct Slot {
    /// The use that the other fields belong to; 0 when unknown.
    pub(super) number: u64,
    pub(super) name: String,
    pub(super) id: Option<i32>,
    /// Object, number of the slot and use of the parent.
    pub(super) parent: Option<(usize, usize, u64)>,
}

impl Slots {
    pub(super) fn new(definition: &ObjectDefinition) -> Slots {
        Slots {
            stride: definition.stride,
            extents: Vec::new(),
            checked: checked(definition).collect(),
            plain: plain(definition),
            uses: Vec::new(),
            known: Vec::new(),
            live: Vec::new(),
        }
    }

    /// Adds the slots of a new extent.
    pub(super) fn add(&mut self, extent: Extent) {
        self.extents.push(extent);
        let all = self.known.len().saturating_add(extent.slots);
        self.uses.resize(all, 0);
        self.known.resize_with(all, Slot::default);
    }

    /// Whether each slot in the copy of a file is complete and has the same use as at the last reading.
    pub(super) fn all_as_before(&self, image: &[u8]) -> bool {
        self.live.iter().all(|live| live.whole)
            && self.extents.iter().all(|extent| {
                let values = image.get(extent.values..extent.values_end()).unwrap_or_default();
                self.are_as_before(extent.numbers(), values)
            })
    }

    /// Whether each slot of an extent is complete and has the same use as at the last reading: most of the
    /// time there is nothing more to check.
    fn are_as_before(&self, slots: Range<usize>, values: &[u8]) -> bool {
        let uses = self.uses.get(slots).unwrap_or_default();
        let rows = values.chunks_exact(self.stride.max(1));
        rows.len() == uses.len()
            && rows.zip(uses).all(|(row, number)| {
                settled_use(row) == Some(*number)
                    && (number % 2 == 0 || self.checked.iter().all(|group| agrees(row, *group)))
            })
    }
}

/// For each counter, how many consecutive counters from it on are a single word each.
fn plain(definition: &ObjectDefinition) -> Vec<usize> {
    let mut plain = vec![0usize; definition.counters.len()];
    // Offset of the next counter, and how many follow from it on.
    let mut behind = (usize::MAX, 0usize);
    for (counter, n) in definition.counters.iter().zip(&mut plain).rev() {
        if counter.storage == Storage::Number && counter.group.is_none() {
            let follow = if counter.offset.checked_add(8) == Some(behind.0) { behind.1 } else { 0 };
            *n = follow.saturating_add(1);
        }
        behind = (counter.offset, *n);
    }
    plain
}
