//! What a sum lacks.

use tallymon_provider::{Absence, PartialSum};

/// How many parts a sum lacks, and why it lacks the first of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Missing {
    count: u32,
    reason: Option<Absence>,
}

impl Missing {
    /// Notes an unreadable part.
    pub(crate) fn note(&mut self, reason: Absence) {
        self.count = self.count.saturating_add(1);
        self.reason.get_or_insert(reason);
    }

    pub(crate) fn merge(&mut self, other: Missing) {
        self.count = self.count.saturating_add(other.count);
        self.reason = self.reason.or(other.reason);
    }

    /// What a sum over `whole` parts lacks. `None` if nothing is missing.
    ///
    /// # Errors
    ///
    /// All of the parts are missing, for this reason.
    pub(crate) fn of(self, whole: u32) -> Result<Option<PartialSum>, Absence> {
        let Some(reason) = self.reason else { return Ok(None) };
        if self.count >= whole { Err(reason) } else { Ok(PartialSum::new(self.count, whole, reason)) }
    }

    /// What `value`, a sum over `whole` parts, lacks. If all of them are missing, the value becomes absent.
    pub(crate) fn mark<T>(self, value: &mut Result<T, Absence>, whole: u32) -> Option<PartialSum> {
        if value.is_err() {
            return None;
        }
        self.of(whole).unwrap_or_else(|absence| {
            *value = Err(absence);
            None
        })
    }
}

/// Whether a part is there, but could not be read. A part that has no such value is missing in no sum.
pub(crate) const fn is_unread(absence: Absence) -> bool {
    matches!(absence, Absence::AccessDenied | Absence::Vanished | Absence::ReadFailed)
}
