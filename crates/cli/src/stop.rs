//! Ctrl-C and requests to end: the normal end of commands that run until stopped. Other commands end
//! without leaving half a file.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

pub(crate) use tallymon::Ticks;
use tallymon::log::new_file::remove_unfinished;

use crate::exit::{Failure, Kind};

/// Waits, until a time or until the user stops the command.
pub(crate) struct Stop {
    signals: Receiver<()>,
}

impl Stop {
    /// From now on Ctrl-C ends a wait instead of the program.
    pub(crate) fn on_signals() -> Result<Stop, Failure> {
        let (sender, signals) = channel();
        let handler = move || {
            // No one waits when the command is ending already.
            let _ = sender.send(());
        };
        ctrlc::set_handler(handler)
            .map_err(|error| Failure::new(Kind::Other, format_args!("catching Ctrl-C: {error}")))?;
        Ok(Stop { signals })
    }

    /// Whether the user asked to stop.
    pub(crate) fn is_wanted(&self) -> bool {
        self.signals.try_recv().is_ok()
    }

    /// Waits until a time; `false` when the user asked to stop.
    pub(crate) fn wait_until(&self, time: Instant) -> bool {
        let left = time.saturating_duration_since(Instant::now());
        matches!(self.signals.recv_timeout(left), Err(RecvTimeoutError::Timeout))
    }
}

/// From now on Ctrl-C ends the program and removes the files that are not complete.
pub(crate) fn without_half_files() -> Result<(), Failure> {
    let end = || {
        remove_unfinished();
        // The exit code that shells use for a program that a signal ended.
        std::process::exit(130);
    };
    ctrlc::set_handler(end)
        .map_err(|error| Failure::new(Kind::Other, format_args!("catching Ctrl-C: {error}")))
}

/// How long a program on the full screen may take to end by itself after a signal.
const PATIENCE: Duration = Duration::from_secs(2);

/// From now on a signal sets the flag that is returned. A program on the full screen that does not end soon
/// is ended, and the terminal is restored: reads of a terminal that was closed never return and would burn a
/// processor for ever, and a source may hang.
pub(crate) fn with_full_screen() -> Result<Arc<AtomicBool>, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    let handler_stop = Arc::clone(&stop);
    let end = move || {
        handler_stop.store(true, Ordering::Relaxed);
        thread::sleep(PATIENCE);
        tallymon_monitor::put_back();
        std::process::exit(0);
    };
    ctrlc::set_handler(end)
        .map_err(|error| Failure::new(Kind::Other, format_args!("catching signals: {error}")))?;
    Ok(stop)
}
