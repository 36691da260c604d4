//! Job control, on systems that have none.

use std::io;

/// Nothing ever comes.
pub(crate) struct JobControl;

impl JobControl {
    /// There is nothing to note.
    pub(crate) const fn watch() -> io::Result<JobControl> {
        Ok(JobControl)
    }

    /// Nobody can stop us.
    pub(crate) const fn is_to_stop(&self) -> bool {
        false
    }

    /// Nor let us go on.
    pub(crate) const fn went_on(&self) -> bool {
        false
    }

    /// Goes on at once.
    pub(crate) const fn stop(&self) -> io::Result<()> {
        Ok(())
    }
}
