//! What an object costs, and what came of it.

use std::time::Duration;

use tallymon_provider::{Absence, Health, SourceName, SourceStatus, TitleIndex, WriteCounts};

/// The collections of one object so far.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Meter {
    collections: u64,
    busy: Duration,
    last: Duration,
    errors: u64,
    /// What was written the last time.
    written: WriteCounts,
}

impl Meter {
    /// One more collection: how long it took, and what it wrote.
    pub(crate) fn note(&mut self, time: Duration, written: WriteCounts) {
        self.collections = self.collections.saturating_add(1);
        self.busy = self.busy.saturating_add(time);
        self.last = time;
        self.errors = self.errors.saturating_add(u64::from(written.absent(Absence::ReadFailed) > 0));
        self.written = written;
    }

    /// How the object is. Words are made only here, when somebody wants to read them.
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
