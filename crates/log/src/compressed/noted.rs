//! A log whose compressed file was damaged: it is read as far as it was unpacked, and says so.

use std::ops::ControlFlow;

use tallymon_core::flow::PartialSum;

use crate::error::{Damage, LogError, Notes};
use crate::reader::{About, LogReader, Record, RecordPosition, ScannedRecord};

struct Noted {
    inner: Box<dyn LogReader>,
    damage: Damage,
    about: About,
}

/// The log with the damage of its compressed file, if there is one.
pub(crate) fn noted(inner: Box<dyn LogReader>, damage: Option<Damage>) -> Box<dyn LogReader> {
    let Some(damage) = damage else { return inner };
    let about = inner.about().clone();
    let mut noted = Noted { inner, damage, about };
    noted.follow();
    Box::new(noted)
}

impl Noted {
    /// Takes over what is known of the log.
    fn follow(&mut self) {
        self.about = self.inner.about().clone();
        let mut notes = Notes::default();
        notes.damage(self.damage.clone());
        notes.extend(&self.about.notes);
        self.about.notes = notes;
    }
}

impl LogReader for Noted {
    fn about(&self) -> &About {
        &self.about
    }

    fn next_record(&mut self) -> Result<Option<Record>, LogError> {
        let record = self.inner.next_record();
        self.follow();
        record
    }

    fn raw_record(&self) -> Option<&[u8]> {
        self.inner.raw_record()
    }

    fn text(&self, column: usize) -> Option<&str> {
        self.inner.text(column)
    }

    fn is_stale(&self, column: usize) -> bool {
        self.inner.is_stale(column)
    }

    fn partial(&self, column: usize) -> Option<PartialSum> {
        self.inner.partial(column)
    }

    fn position(&self) -> Option<RecordPosition> {
        self.inner.position()
    }

    fn seek_to(&mut self, position: RecordPosition) -> Result<bool, LogError> {
        self.inner.seek_to(position)
    }

    fn scan(&mut self, each: &mut dyn FnMut(ScannedRecord) -> ControlFlow<()>) -> Result<(), LogError> {
        let scanned = self.inner.scan(each);
        self.follow();
        scanned
    }
}
