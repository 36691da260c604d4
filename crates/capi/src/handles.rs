//! Handles: numbers that a program holds for queries, counters, logs, events and keys.
//!
//! A handle is a position in one table and a generation: how often the position was used before. So closed
//! and invented handles are refused; no handle is ever used as an address.
//!
//! The table knows no kinds of objects: each module implements [`Object`] for the types that it keeps here,
//! and names the type when it looks up a handle. A handle of another type is as invalid as a closed one.

use std::any::Any;
use std::sync::{Arc, Mutex};

use crate::lock::lock;

/// A handle as the program holds it. 0 is no handle.
pub(crate) type Handle = usize;

/// A type whose objects may have handles. Without this trait, any type could be inserted or looked up by
/// mistake, such as an `Arc` of the type that was meant.
pub(crate) trait Object: Any + Send + Sync {}

struct Slot {
    /// How often the position was used, within the bits that a handle has for it.
    generation: usize,
    object: Option<Arc<dyn Any + Send + Sync>>,
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
pub(crate) fn insert<T: Object>(object: Arc<T>) -> Option<Handle> {
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

/// The object behind a handle; `None` for a closed or invalid handle, or an object of another type.
pub(crate) fn get<T: Object>(handle: Handle) -> Option<Arc<T>> {
    let handles = lock(&HANDLES);
    let slot = handles.slots.get((handle & MASK).checked_sub(1)?)?;
    let object = slot.object.as_ref().filter(|_| slot.generation == handle >> BITS)?;
    Arc::clone(object).downcast().ok()
}

/// Closes a handle, and returns its object; `None` for a closed or invalid handle, or an object of another
/// type, whose handle stays open.
pub(crate) fn remove<T: Object>(handle: Handle) -> Option<Arc<T>> {
    let mut handles = lock(&HANDLES);
    let place = (handle & MASK).checked_sub(1)?;
    let slot = handles.slots.get_mut(place).filter(|slot| slot.generation == handle >> BITS)?;
    let object = slot.object.take_if(|object| (**object).is::<T>())?;
    slot.generation = slot.generation.wrapping_add(1) & MASK;
    handles.free.push(place);
    object.downcast().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Lamp;
    struct Chair;
    impl Object for Lamp {}
    impl Object for Chair {}

    fn is_open(handle: Handle) -> bool {
        get::<Lamp>(handle).is_some()
    }

    #[test]
    fn refuses_closed_handles() {
        let first = insert(Arc::new(Lamp)).unwrap();
        assert!(is_open(first));
        assert!(remove::<Lamp>(first).is_some());
        assert!(!is_open(first) && remove::<Lamp>(first).is_none());
        // Its position may be used again, under another handle.
        let second = insert(Arc::new(Lamp)).unwrap();
        assert_ne!(first, second);
        assert!(!is_open(first) && is_open(second));
        remove::<Lamp>(second);
        for rubbish in [0, 1 << BITS, usize::MAX, 12_345_678] {
            assert!(!is_open(rubbish) && remove::<Lamp>(rubbish).is_none(), "{rubbish:#x}");
        }
    }

    #[test]
    fn refuses_handles_of_another_type() {
        let lamp = insert(Arc::new(Lamp)).unwrap();
        assert!(get::<Chair>(lamp).is_none() && remove::<Chair>(lamp).is_none());
        assert!(is_open(lamp), "a refused handle stays open");
        assert!(remove::<Lamp>(lamp).is_some());
    }

    #[test]
    fn drops_an_object_when_its_handle_is_closed() {
        let object = Arc::new(Lamp);
        let handle = insert(Arc::clone(&object)).unwrap();
        drop(get::<Lamp>(handle));
        assert_eq!(Arc::strong_count(&object), 2);
        remove::<Lamp>(handle);
        assert_eq!(Arc::strong_count(&object), 1);
    }
}
