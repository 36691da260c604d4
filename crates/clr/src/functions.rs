//! The table from the runtime's `FunctionID` to the number of our method record, readable without a lock.
//!
//! Exception callbacks name functions by their ids while the garbage collector may wait for them, so a
//! look-up must never wait. There is one writer at a time (its caller holds a lock); entries are never moved
//! or removed. The place of a function that has been unloaded is given to another one.

use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

/// One place of the table; zeros are an empty one.
#[derive(Debug, Default)]
#[repr(C)]
pub(crate) struct Slot {
    id: AtomicUsize,
    value: AtomicU32,
}

/// The entry of a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Function {
    /// It was never met, or its id belonged to a function that has been unloaded.
    Unknown,
    /// It gets no hooks.
    Ignored,
    /// It has the method record of this number, which is not 0.
    Method(u32),
}

/// A table of fixed size.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Functions<'a> {
    slots: &'a [Slot],
}

/// The stored form of [`Function::Ignored`].
const IGNORED: u32 = u32::MAX;

impl<'a> Functions<'a> {
    /// A table over empty slots.
    pub(crate) fn new(slots: &'a [Slot]) -> Functions<'a> {
        Functions { slots }
    }

    /// The entry of the function `id`.
    pub(crate) fn get(&self, id: usize) -> Function {
        match self.find(id) {
            Some((slot, true)) => match slot.value.load(Ordering::Acquire) {
                0 => Function::Unknown,
                IGNORED => Function::Ignored,
                number => Function::Method(number),
            },
            _ => Function::Unknown,
        }
    }

    /// Remembers a function; false when the table is full. No other thread may write meanwhile.
    pub(crate) fn set(&self, id: usize, function: Function) -> bool {
        let Some((slot, known)) = self.find(id) else { return false };
        let value = match function {
            Function::Unknown => 0,
            Function::Ignored => IGNORED,
            Function::Method(number) => number,
        };
        if !known && function == Function::Unknown {
            return true;
        }
        if !known {
            // Until it has a value it is unknown, whoever had the place before.
            slot.id.store(id, Ordering::Release);
        }
        slot.value.store(value, Ordering::Release);
        true
    }

    /// The slot of `id` and true, or a free slot for it and false; `None` when the table is full.
    fn find(&self, id: usize) -> Option<(&'a Slot, bool)> {
        let n_slots = self.slots.len();
        // Ids are addresses: their low bits are alike, so they are multiplied by 2^64 over the golden ratio
        // first.
        let hash = (id as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 20;
        let start = (hash as usize).checked_rem(n_slots)?;
        let (before, from) = self.slots.split_at_checked(start)?;
        // Id 0 is no function: it marks an empty slot.
        let mut free = None;
        for slot in from.iter().chain(before) {
            let found = slot.id.load(Ordering::Acquire);
            if found == id && id != 0 {
                return Some((slot, true));
            }
            if found == 0 {
                return (id != 0).then_some((free.unwrap_or(slot), false));
            }
            if free.is_none() && slot.value.load(Ordering::Acquire) == 0 {
                free = Some(slot);
            }
        }
        free.map(|slot| (slot, false))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_found_again_until_the_table_is_full() {
        let slots: Vec<Slot> = (0..8).map(|_| Slot::default()).collect();
        let table = Functions::new(&slots);
        for id in 1..=8usize {
            assert_eq!(table.get(id * 16), Function::Unknown);
            assert!(table.set(id * 16, Function::Method(id as u32)));
        }
        assert!(!table.set(999, Function::Ignored));
        assert_eq!(table.get(999), Function::Unknown);
        for id in 1..=8usize {
            assert_eq!(table.get(id * 16), Function::Method(id as u32));
        }
        assert!(table.set(16, Function::Ignored));
        assert_eq!(table.get(16), Function::Ignored);
        assert!(table.set(16, Function::Unknown));
        assert_eq!(table.get(16), Function::Unknown);
        // Its place goes to another one, also in a table that was full.
        assert!(table.set(999, Function::Method(9)));
        assert_eq!((table.get(999), table.get(16)), (Function::Method(9), Function::Unknown));
        assert!(!table.set(16, Function::Ignored));
    }

    #[test]
    fn zero_and_an_empty_table_hold_nothing() {
        let slots = [Slot::default()];
        assert!(!Functions::new(&slots).set(0, Function::Ignored));
        assert_eq!(Functions::new(&[]).get(5), Function::Unknown);
        assert!(!Functions::new(&[]).set(5, Function::Ignored));
    }
}
