//! What several of the tests need.

use std::path::Path;

use tallymon_provider::shm::{InstanceRef, Published, Reader};

/// A reader of what is published in a folder.
pub(crate) fn reader_of(folder: &Path) -> Reader {
    Reader::new([folder.to_path_buf()])
}

/// The number of the counter at a position.
pub(crate) fn number(instance: InstanceRef<'_>, counter: usize) -> u64 {
    match instance.value(counter) {
        Some(Published::Number(number)) => number,
        other => panic!("no number at {counter}: {other:?}"),
    }
}
