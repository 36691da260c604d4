//! How much collecting an object costs, and whether it works.

use std::time::Duration;

use tallymon_provider::{Absence, Health, SourceName, SourceStatus, TitleIndex, WriteCounts};

/// Statistics about the collections of one object.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Meter {
    collections: u64,
    busy: Duration,
    last: Duration,
    errors: u64,
    /// The values written by the last collection.
    written: WriteCounts,
}

impl Meter {
    /// Adds a collection: how long it took, and what it wrote.
    pub(crate) fn note(&mut self, time: Duration, written: WriteCounts) {
        self.collections = self.collections.saturating_add(1);
        self.busy = self.busy.saturating_add(time);
        self.last = time;
        self.errors = self.errors.saturating_add(u64::from(written.absent(Absence::ReadFailed) > 0));
        self.written = written;
    }

    /// The health of the object. Texts are only built here, when they are requested.
    pub(crate) fn status(&self, object: TitleIndex) -> SourceStatus {
        let new = SourceStatus::new(SourceName::Object(object));
        if self.collections == 0 {
            return new;
        }
        let (health, reason) = Health::of(&self.written);
        let Meter { collections, busy, last, errors, .. } = *self;
        SourceStatus { collections, busy, last, errors, health, reason, ..new }
    }
}
