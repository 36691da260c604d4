//! The order of writes: the steps that other processes see, for any kind of memory.
//!
//! The memory is a mapped file, see [`super::map`], or words that a test watches: `cargo xtask loom` runs
//! these functions in every order in which the words of two threads can become visible.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

use super::check::FACTORS;
use super::layout::{instance, slot};

/// A word of 8 bytes that others read at any time, as a whole.
pub(crate) trait SharedWord {
    /// The number in it.
    fn get(&self) -> u64;

    /// Changes it; readers may see that at any later time.
    fn put(&self, number: u64);
}

impl SharedWord for AtomicU64 {
    #[inline(always)]
    fn get(&self) -> u64 {
        self.load(Ordering::Relaxed)
    }

    #[inline(always)]
    fn put(&self, number: u64) {
        self.store(number, Ordering::Relaxed);
    }
}

/// Words at offsets that are multiples of 8. Outside of the memory, reads return 0 and writes have no effect.
pub(crate) trait SharedMemory {
    /// The word at an offset.
    fn get(&self, at: usize) -> u64;

    /// Changes a word; readers may see that at any later time.
    fn put(&self, at: usize, number: u64);

    /// Changes a word after everything that was changed before.
    fn put_last(&self, at: usize, number: u64);

    /// Readers see all earlier changes before any later one.
    fn fence(&self);
}

/// Adds in one word as its only writer.
#[inline(always)]
pub(crate) fn add(word: &impl SharedWord, n: u64) {
    // The sum wraps, as counters do; readers take differences.
    word.put(word.get().wrapping_add(n));
}

/// Adds to a number of a group, and to its check word as it will be.
#[inline(always)]
pub(crate) fn add_in_group(words: &[impl SharedWord], sum: &Cell<u64>, position: usize, n: u64) {
    if let (Some(word), Some(factor)) = (words.get(position), FACTORS.get(position)) {
        add(word, n);
        sum.set(sum.get().wrapping_add(n.wrapping_mul(*factor)));
    }
}

/// Adds to the first `N` numbers of a group. False when the group has fewer; then it adds nothing.
///
/// As [`add_in_group`] for each of them, with one check of their number.
#[inline(always)]
pub(crate) fn add_each<const N: usize>(words: &[impl SharedWord], sum: &Cell<u64>, each: &[u64; N]) -> bool {
    let (Some(words), Some(factors)) = (words.first_chunk::<N>(), FACTORS.first_chunk::<N>()) else {
        return false;
    };
    let mut check = sum.get();
    for ((word, factor), n) in words.iter().zip(factors).zip(each) {
        add(word, *n);
        check = check.wrapping_add(n.wrapping_mul(*factor));
    }
    sum.set(check);
    true
}

/// An instance in a slot: its position and its name.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NewUse<'a> {
    /// Where the slot of values starts.
    pub(crate) values: usize,
    /// Bytes of the slot of values.
    pub(crate) stride: usize,
    /// Where the slot of names starts.
    pub(crate) names: usize,
    /// Name, at most 216 bytes.
    pub(crate) name: &'a str,
    /// Unique id; -1 = none.
    pub(crate) id: i32,
    /// Object, number of the slot and use of the parent.
    pub(crate) parent: Option<(u32, u32, u64)>,
}

/// Fills a slot for a new instance, and returns the number of the use. It writes the words from the last to
/// the first, and readers read from the first to the last: the same use number at both ends means that
/// everything between them belongs to that use.
pub(crate) fn begin_use(memory: &impl SharedMemory, new: &NewUse<'_>) -> u64 {
    let number = memory.get(new.values).wrapping_add(1) | 1;
    let last = new.values.saturating_add(new.stride.saturating_sub(8));
    let at = |offset: usize| new.names.saturating_add(offset);
    memory.put(last, number);
    memory.put(at(instance::USE_AGAIN), number);
    memory.fence();
    for offset in (slot::VALUES..new.stride.saturating_sub(8)).step_by(8) {
        memory.put(new.values.saturating_add(offset), 0);
    }
    let length = u32::try_from(new.name.len()).unwrap_or(0);
    memory.put(at(instance::ID), both(new.id.cast_unsigned(), length));
    let (object, slot, use_number) = new.parent.unwrap_or((instance::NO_PARENT, 0, 0));
    memory.put(at(instance::PARENT_OBJECT), both(object, slot));
    memory.put(at(instance::PARENT_USE), use_number);
    let words = words_of(new.name.as_bytes()).chain(std::iter::repeat(0));
    for (offset, word) in (0..instance::MAX_NAME).step_by(8).zip(words) {
        memory.put(at(instance::NAME.saturating_add(offset)), word);
    }
    memory.put_last(new.names, number);
    memory.put_last(new.values, number);
    number
}

/// Marks a slot as unused.
pub(crate) fn end_use(memory: &impl SharedMemory, values: usize, stride: usize, number: u64) {
    let ended = number.wrapping_add(1);
    memory.put_last(values.saturating_add(stride.saturating_sub(8)), ended);
    memory.put_last(values, ended);
}

/// Two numbers in one word.
pub(crate) fn both(low: u32, high: u32) -> u64 {
    u64::from(low) | u64::from(high) << 32
}

/// Bytes as whole words, the last one filled up with zeros.
pub(crate) fn words_of(bytes: &[u8]) -> impl Iterator<Item = u64> {
    bytes.chunks(8).map(|chunk| {
        let mut word = [0u8; 8];
        for (to, from) in word.iter_mut().zip(chunk) {
            *to = *from;
        }
        u64::from_le_bytes(word)
    })
}

#[cfg(all(test, loom))]
mod models_tests;
