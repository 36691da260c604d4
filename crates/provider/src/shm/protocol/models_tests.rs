//! Tests: a writer and a reader in every order in which their words can become visible to each other: `cargo
//! xtask loom`.
//!
//! A reader of a file copies in the kernel, in an order that the processor chooses. Here it loads each word
//! without any ordering, so each word can be older than every other: at least as bad.

use loom::sync::Arc;
use loom::sync::atomic::{AtomicU64, Ordering, fence};

use super::*;
use crate::shm::check::check;
use crate::shm::definition::GroupPlace;
use crate::shm::reader::{agrees, settled_use};

impl SharedWord for AtomicU64 {
    fn get(&self) -> u64 {
        self.load(Ordering::Relaxed)
    }

    fn put(&self, number: u64) {
        self.store(number, Ordering::Relaxed);
    }
}

/// Words that loom watches, at some of the offsets; the others are always 0, so that there are not too many
/// orders.
struct Watched(Vec<(usize, AtomicU64)>);

impl Watched {
    fn new(offsets: &[usize]) -> Watched {
        Watched(offsets.iter().map(|at| (*at, AtomicU64::new(0))).collect())
    }

    fn word(&self, at: usize) -> Option<&AtomicU64> {
        self.0.iter().find(|(offset, _)| *offset == at).map(|(_, word)| word)
    }
}

impl SharedMemory for Watched {
    fn get(&self, at: usize) -> u64 {
        self.word(at).map_or(0, SharedWord::get)
    }

    fn put(&self, at: usize, number: u64) {
        if let Some(word) = self.word(at) {
            word.put(number);
        }
    }

    fn put_last(&self, at: usize, number: u64) {
        if let Some(word) = self.word(at) {
            word.store(number, Ordering::Release);
        }
    }

    fn fence(&self) {
        fence(Ordering::Release);
    }
}

/// Bytes of words, as a reader has them in its copy.
fn bytes(words: impl IntoIterator<Item = u64>) -> Vec<u8> {
    words.into_iter().flat_map(u64::to_le_bytes).collect()
}

/// The check word needs no order at all: what agrees was written, one by one or at once.
#[test]
fn group_copy_with_right_check_word_was_written() {
    loom::model(|| {
        let words: Arc<[AtomicU64; 2]> = Arc::new(std::array::from_fn(|_| AtomicU64::new(0)));
        let check_word = Arc::new(AtomicU64::new(0));
        let (writer, last) = (Arc::clone(&words), Arc::clone(&check_word));
        let writing = loom::thread::spawn(move || {
            let sum = Cell::new(0);
            add_in_group(&*writer, &sum, 0, 1 << 40);
            add_in_group(&*writer, &sum, 1, 3);
            last.put(sum.get());
            assert!(add_each(&*writer, &sum, &[5, 7]));
            last.put(sum.get());
        });
        // The check word first: a sequence count read in this order would prove nothing.
        let copied = [&*check_word, &words[1], &words[0]].map(SharedWord::get);
        let copy = bytes(copied.into_iter().rev());
        if agrees(&copy, GroupPlace { first: 0, check: 16 }) {
            let whole = [[0, 0], [3, 1 << 40], [10, (1 << 40) + 5]];
            assert!(whole.contains(&[copied[1], copied[2]]), "{copied:?}");
        }
        writing.join().unwrap();
        assert_eq!(check_word.get(), check([words[0].get(), words[1].get()]));
    });
}

/// A slot that changes from one instance to another. The reader takes its words in their order here; a real
/// copy does so over the distance of a whole slot, because slots wait a millisecond between two uses.
#[test]
fn equal_use_numbers_at_both_ends_mean_one_use() {
    const VALUES: usize = 0;
    const STRIDE: usize = 24;
    const NAMES: usize = 64;
    loom::model(|| {
        let offsets = [VALUES, VALUES + 8, VALUES + 16];
        let memory = Arc::new(Watched::new(&offsets));
        let new = NewUse { values: VALUES, stride: STRIDE, names: NAMES, name: "Ada", id: 1, parent: None };
        let first = begin_use(&*memory, &new);
        memory.put(VALUES + 8, 41);
        let writer = Arc::clone(&memory);
        let writing = loom::thread::spawn(move || {
            end_use(&*writer, VALUES, STRIDE, first);
            let second = begin_use(&*writer, &NewUse { name: "Eva", ..new });
            assert_eq!(second, first + 2);
            writer.put(VALUES + 8, 42);
        });
        let copied = offsets.map(|at| memory.word(at).unwrap().load(Ordering::Acquire));
        if let Some(number) = settled_use(&bytes(copied)) {
            match number {
                1 => assert_eq!(copied[1], 41),
                2 => {}
                3 => assert!(matches!(copied[1], 0 | 42), "{copied:?}"),
                other => panic!("use {other}"),
            }
        }
        writing.join().unwrap();
    });
}
