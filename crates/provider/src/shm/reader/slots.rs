//! Which slots of an object have an instance, and what is known about it.

use std::ops::Range;

use super::copy::{agrees, checked, settled_use};
use crate::shm::definition::{GroupPlace, ObjectDefinition, Storage};

/// The slots of an object, through all its extents.
#[derive(Debug)]
pub(super) struct Slots {
    /// Bytes of one slot of values.
    pub(super) stride: usize,
    /// Everything in a slot that must agree.
    pub(super) checked: Vec<GroupPlace>,
    /// For each counter how many from it on are one word each by itself, one behind the other.
    pub(super) plain: Vec<usize>,
    /// The use of each slot that was seen last; 0 when nothing is known. Apart from the rest, since all of
    /// them are looked at in each reading.
    pub(super) uses: Vec<u64>,
    /// What is known about each slot.
    pub(super) known: Vec<Slot>,
    /// The slots with an instance now, ascending.
    pub(super) live: Vec<Live>,
}

/// A slot with an instance.
#[derive(Debug, Clone, Copy)]
pub(super) struct Live {
    /// Its number.
    pub(super) number: usize,
    /// Where its values stand in the copy of the file.
    pub(super) values: usize,
    /// Whether everything in it agrees that must.
    pub(super) whole: bool,
}

/// What is known about a slot.
#[derive(Debug, Clone, Default)]
pub(super) struct Slot {
    /// The use that the rest belongs to; 0 when nothing is known.
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
            checked: checked(definition).collect(),
            plain: plain(definition),
            uses: Vec::new(),
            known: Vec::new(),
            live: Vec::new(),
        }
    }

    /// Takes up slots of a new extent.
    pub(super) fn add(&mut self, n: usize) {
        let all = self.known.len().saturating_add(n);
        self.uses.resize(all, 0);
        self.known.resize_with(all, Slot::default);
    }

    /// Whether each slot of an extent has the same use as when it was looked at last, and is whole: most of
    /// the time there is nothing more to look at.
    pub(super) fn are_as_before(&self, slots: Range<usize>, values: &[u8]) -> bool {
        let uses = self.uses.get(slots).unwrap_or_default();
        let rows = values.chunks_exact(self.stride.max(1));
        rows.len() == uses.len()
            && rows.zip(uses).all(|(row, number)| {
                settled_use(row) == Some(*number)
                    && (number % 2 == 0 || self.checked.iter().all(|group| agrees(row, *group)))
            })
    }
}

/// For each counter how many from it on are one word each by itself, one behind the other.
fn plain(definition: &ObjectDefinition) -> Vec<usize> {
    let mut plain = vec![0usize; definition.counters.len()];
    // Where the counter behind stands, and how many follow from it on.
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
