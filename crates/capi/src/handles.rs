//! Handles: numbers that a program holds for queries, counters, logs, events and keys.
//!
//! A handle is a position in one table and a generation: how often the position was used before. So closed
//! and invented handles are refused; no handle is ever used as an address.

use std::sync::Mutex;

use crate::events::Event;
use crate::lock::lock;
use crate::logs::DataSource;
use crate::query::{Counter, OpenQuery};
use crate::recordings::Recording;
use crate::registry::Key;
use std::sync::Arc;

/// A handle as the program holds it. 0 is no handle.
pub(crate) type Handle = usize;

/// The object behind a handle.
#[derive(Clone)]
pub(crate) enum Object {
    Query(Arc<Mutex<OpenQuery>>),
    Counter(Arc<Counter>),
    Source(Arc<DataSource>),
    Recording(Arc<Mutex<Option<Recording>>>),
    Event(Arc<Event>),
    Key(Arc<Key>),
}

struct Slot {
    /// How often the position was used, within the bits that a handle has for it.
    generation: usize,
    object: Option<Object>,
}

struct Handles {
    slots: Vec<Slot>,
    free: Vec<usize>,
}

/// Half of the bits are the position, the other half the generation.
const BITS: u32 = usize::BITS / 2;
const MASK: usize = (1 << BITS) - 1;

static HANDLES: Mutex<Handles> = Mutex::new(Handles { slots: Vec::new(), free: Vec::new() });

/// Gives an object a handle; `None` when there are no more.
pub(crate) fn insert(object: Object) -> Option<Handle> {
    let mut handles = lock(&HANDLES);
    let place = match handles.free.pop() {
        Some(place) => place,
        None => {
            handles.slots.push(Slot { generation: 0, object: None });
            handles.slots.len().checked_sub(1)?
        }
    };
    let number = place.checked_add(1).filter(|number| *number < MASK)?;
    let slot = handles.slots.get_mut(place)?;
    slot.object = Some(object);
    Some(slot.generation << BITS | number)
}

/// The object behind a handle; `None` for a closed or invalid one.
pub(crate) fn get(handle: Handle) -> Option<Object> {
    let handles = lock(&HANDLES);
    let slot = handles.slots.get((handle & MASK).checked_sub(1)?)?;
    slot.object.clone().filter(|_| slot.generation == handle >> BITS)
}

/// Closes a handle, and returns its object; `None` for a closed or invalid one.
pub(crate) fn remove(handle: Handle) -> Option<Object> {
    let mut handles = lock(&HANDLES);
    let place = (handle & MASK).checked_sub(1)?;
    let slot = handles.slots.get_mut(place).filter(|slot| slot.generation == handle >> BITS)?;
    let object = slot.object.take()?;
    slot.generation = slot.generation.wrapping_add(1) & MASK;
    handles.free.push(place);
    Some(object)
}

/// The query of a handle.
pub(crate) fn query(handle: Handle) -> Option<Arc<Mutex<OpenQuery>>> {
    match get(handle)? {
        Object::Query(query) => Some(query),
        _ => None,
    }
}

/// The counter of a handle.
pub(crate) fn counter(handle: Handle) -> Option<Arc<Counter>> {
    match get(handle)? {
        Object::Counter(counter) => Some(counter),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_closed_handles() {
        let event = || Object::Event(Arc::new(Event::new(false, false)));
        let first = insert(event()).unwrap();
        assert!(get(first).is_some() && query(first).is_none() && counter(first).is_none());
        assert!(remove(first).is_some());
        assert!(get(first).is_none() && remove(first).is_none());
        // Its position may be used again, under another handle.
        let second = insert(event()).unwrap();
        assert_ne!(first, second);
        assert!(get(first).is_none() && get(second).is_some());
        remove(second);
        for rubbish in [0, 1 << BITS, usize::MAX, 12_345_678] {
            assert!(get(rubbish).is_none() && remove(rubbish).is_none(), "{rubbish:#x}");
        }
    }
}
