//! A snapshot that several queries hold.

use std::ops::Deref;
use std::sync::Arc;
use std::sync::mpsc::Sender;

use tallymon_core::block::Snapshot;

use super::question::Question;

/// A snapshot that several queries read. The last query that needs it gives its memory back to the source.
#[derive(Debug, Clone)]
pub struct SharedSnapshot {
    snapshot: Arc<Snapshot>,
    /// The thread of the source that it came from; `None` for a snapshot that no sampler took.
    owner: Option<Sender<Question>>,
}

impl SharedSnapshot {
    pub(super) fn lent(snapshot: Snapshot, owner: Sender<Question>) -> SharedSnapshot {
        SharedSnapshot { snapshot: Arc::new(snapshot), owner: Some(owner) }
    }

    /// Lets go of it. The last holder gives its memory back to the sampler that took it; without a sampler
    /// the last holder gets the snapshot.
    pub(crate) fn release(self) -> Option<Snapshot> {
        let snapshot = Arc::into_inner(self.snapshot)?;
        match self.owner {
            Some(owner) => {
                // A thread that has ended needs no memory.
                let _ = owner.send(Question::GiveBack(snapshot));
                None
            }
            None => Some(snapshot),
        }
    }
}

impl Deref for SharedSnapshot {
    type Target = Snapshot;

    fn deref(&self) -> &Snapshot {
        &self.snapshot
    }
}

impl From<Snapshot> for SharedSnapshot {
    fn from(snapshot: Snapshot) -> SharedSnapshot {
        SharedSnapshot { snapshot: Arc::new(snapshot), owner: None }
    }
}
