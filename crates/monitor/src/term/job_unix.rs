//! Job control: a shell may stop the monitor and let it go on later.
//!
//! In raw mode Ctrl-Z is a key, and it undoes as on Windows; `Z` stops, as does the signal from elsewhere.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGCONT, SIGTSTP};

/// Signals that came.
pub(crate) struct JobControl {
    stop: Arc<AtomicBool>,
    go_on: Arc<AtomicBool>,
}

impl JobControl {
    /// Notes the signals from now on.
    pub(crate) fn watch() -> io::Result<JobControl> {
        let job = JobControl { stop: Arc::default(), go_on: Arc::default() };
        signal_hook::flag::register(SIGTSTP, Arc::clone(&job.stop))?;
        signal_hook::flag::register(SIGCONT, Arc::clone(&job.go_on))?;
        Ok(job)
    }

    /// Whether somebody wants us to stop, once.
    pub(crate) fn is_to_stop(&self) -> bool {
        self.stop.swap(false, Ordering::Relaxed)
    }

    /// Whether we were stopped and go on, once: the terminal may be anything by now.
    pub(crate) fn went_on(&self) -> bool {
        self.go_on.swap(false, Ordering::Relaxed)
    }

    /// Stops until somebody lets us go on.
    pub(crate) fn stop(&self) -> io::Result<()> {
        signal_hook::low_level::emulate_default_handler(SIGTSTP)
    }
}
