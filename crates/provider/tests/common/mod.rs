//! What several of the tests need.

use std::path::PathBuf;

use tallymon_provider::shm::{InstanceRef, Published, Reader};

/// A directory of its own for each test, removed at the end.
pub(crate) struct Scratch(pub(crate) PathBuf);

impl Scratch {
    pub(crate) fn new(name: &str) -> Scratch {
        let path = std::env::temp_dir().join(format!("tallymon-publish-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Scratch(path)
    }

    pub(crate) fn reader(&self) -> Reader {
        Reader::new([self.0.clone()])
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The number of the counter at a position.
pub(crate) fn number(instance: InstanceRef<'_>, counter: usize) -> u64 {
    match instance.value(counter) {
        Some(Published::Number(number)) => number,
        other => panic!("no number at {counter}: {other:?}"),
    }
}
