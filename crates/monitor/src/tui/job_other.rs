//! Job control, on systems that have none.

use std::io;

/// Nothing ever comes.
pub(super) struct Job;

impl Job {
    /// There is nothing to note.
    pub(super) const fn watch() -> io::Result<Job> {
        Ok(Job)
    }

    /// Nobody can stop us.
    pub(super) const fn is_to_stop(&self) -> bool {
        false
    }

    /// Nor let us go on.
    pub(super) const fn went_on(&self) -> bool {
        false
    }

    /// Goes on at once.
    pub(super) const fn stop(&self) -> io::Result<()> {
        Ok(())
    }
}
