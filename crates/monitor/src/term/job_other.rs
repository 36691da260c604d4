//! Job control on systems without it.

use std::io;

/// There are no signals.
pub(crate) struct JobControl;

impl JobControl {
    /// Does nothing.
    pub(crate) const fn watch() -> io::Result<JobControl> {
        Ok(JobControl)
    }

    /// No signal stops the program.
    pub(crate) const fn is_to_stop(&self) -> bool {
        false
    }

    /// The program was never stopped.
    pub(crate) const fn went_on(&self) -> bool {
        false
    }

    /// Continues at once.
    pub(crate) const fn stop(&self) -> io::Result<()> {
        Ok(())
    }
}
