//! Job control: a shell may stop the program and continue it later.
//!
//! In raw mode Ctrl-Z is a key, and in the monitor it undoes, as on Windows: there `Z` suspends, and so does
//! the signal from another program.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGCONT, SIGTSTP};

/// The received signals.
pub(crate) struct JobControl {
    stop: Arc<AtomicBool>,
    go_on: Arc<AtomicBool>,
}

impl JobControl {
    /// Catches the signals from now on.
    pub(crate) fn watch() -> io::Result<JobControl> {
        let job = JobControl { stop: Arc::default(), go_on: Arc::default() };
        signal_hook::flag::register(SIGTSTP, Arc::clone(&job.stop))?;
        signal_hook::flag::register(SIGCONT, Arc::clone(&job.go_on))?;
        Ok(job)
    }

    /// Whether a signal asked to stop, once.
    pub(crate) fn is_to_stop(&self) -> bool {
        self.stop.swap(false, Ordering::Relaxed)
    }

    /// Whether the program was stopped and continued, once: the terminal may be in any state.
    pub(crate) fn went_on(&self) -> bool {
        self.go_on.swap(false, Ordering::Relaxed)
    }

    /// Stops until the shell continues the program.
    pub(crate) fn stop(&self) -> io::Result<()> {
        signal_hook::low_level::emulate_default_handler(SIGTSTP)
    }
}
