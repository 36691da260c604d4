//! An upload on its way: how much of it has come, and who reads that.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use serde_json::{Value, json};
use tallymon::core::visible::visible;

/// An upload on its way.
#[derive(Debug, Default)]
pub(crate) struct Arrival {
    /// What the page calls it, until it knows its name here.
    tag: String,
    /// How long it will be, as far as the page said it.
    announced: u64,
    come: AtomicU64,
    is_whole: AtomicBool,
    is_read: AtomicBool,
}

impl Arrival {
    /// An upload with what the page calls it and its announced length.
    pub(crate) fn new(tag: String, announced: u64) -> Arrival {
        Arrival { tag, announced, ..Arrival::default() }
    }

    /// Says how many bytes have come.
    pub(crate) fn came(&self, bytes: u64) {
        self.come.store(bytes, Ordering::Relaxed);
    }

    /// All of it has come.
    pub(crate) fn end(&self) {
        self.is_whole.store(true, Ordering::Relaxed);
    }

    /// Whether some of it is still to come.
    pub(crate) fn goes_on(&self) -> bool {
        !self.is_whole.load(Ordering::Relaxed)
    }

    /// Reads what has come, unless somebody does already: a part that is larger comes later.
    pub(crate) fn read_once(&self, read: impl FnOnce()) {
        if !self.is_read.swap(true, Ordering::Relaxed) {
            read();
            self.is_read.store(false, Ordering::Relaxed);
        }
    }

    /// What the page has to know of it.
    pub(crate) fn describe(&self, about: &mut Value) {
        let come = self.come.load(Ordering::Relaxed);
        about["tag"] = json!(visible(&self.tag));
        about["bytes"] = json!(self.announced.max(come));
        about["read"] = json!(come);
    }
}
