//! A log whose compressed file was damaged: it is read as far as it was unpacked, and says so.

use std::ops::ControlFlow;

use crate::error::{Damage, LogError, Notes};
use crate::reader::{About, LogReader, Record, ScannedRecord, pass_record_on};

struct Noted {
    inner: Box<dyn LogReader>,
    damage: Damage,
    about: About,
}

/// The log with the damage of its compressed file, if there is one.
pub(crate) fn noted(inner: Box<dyn LogReader>, damage: Option<Damage>) -> Box<dyn LogReader> {
    let Some(damage) = damage else { return inner };
    let about = with_damage(inner.about(), &damage);
    Box::new(Noted { inner, damage, about })
}

/// What is known of a log, and the damage before its own.
fn with_damage(about: &About, damage: &Damage) -> About {
    let mut notes = Notes::default();
    notes.damage(damage.clone());
    notes.extend(&about.notes);
    About { notes, ..about.clone() }
}

impl Noted {
    /// Takes over what is known of the log.
    fn follow(&mut self, all: bool) {
        let inner = self.inner.about();
        let counts =
            |about: &About| (about.columns.len(), about.notes.damage_count, about.notes.remarks.len());
        let (columns, damages, remarks) = counts(&self.about);
        if all
            || counts(inner) != (columns, damages.saturating_sub(1), remarks)
            || self.about.zone != inner.zone
        {
            self.about = with_damage(inner, &self.damage);
            return;
        }
        // Most records change nothing else.
        (self.about.records, self.about.records_promised) = (inner.records, inner.records_promised);
        self.about.value_bits.clone_from(&inner.value_bits);
    }
}

impl LogReader for Noted {
    fn about(&self) -> &About {
        &self.about
    }

    fn next_record(&mut self) -> Result<Option<Record>, LogError> {
        let record = self.inner.next_record()?;
        self.follow(record.is_none());
        Ok(record)
    }

    pass_record_on!();

    fn scan(&mut self, each: &mut dyn FnMut(ScannedRecord) -> ControlFlow<()>) -> Result<(), LogError> {
        let scanned = self.inner.scan(each);
        self.follow(true);
        scanned
    }
}
