//! A progress bar on the terminal for work on logs that takes longer than half a second.

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tallymon::Log;
use tallymon::log::{BytesRead, LogError, ReadOptions};

use crate::border;

/// Work that takes less time shows no bar.
const PATIENCE: Duration = Duration::from_millis(500);

/// Time between two updates of the bar.
const PERIOD: Duration = Duration::from_millis(100);

/// Width of the bar in columns.
const WIDTH: u64 = 30;

/// Opens one log, or several joined, with a progress bar.
pub(crate) fn open_logs(paths: &[PathBuf], options: &ReadOptions) -> Result<Log, LogError> {
    let _progress = Progress::of(&options.bytes_read, paths, 1);
    Log::open_all(paths, options)
}

/// A progress bar; dropping it removes it.
pub(crate) struct Progress {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Progress {
    /// Shows how much of the logs was read, if standard error is a terminal. `times` is how often each log is
    /// read.
    pub(crate) fn of<P: AsRef<Path>>(read: &BytesRead, logs: &[P], times: u64) -> Progress {
        let nothing = Progress { stop: None, thread: None };
        if !io::stderr().is_terminal() {
            return nothing;
        }
        let sizes = logs.iter().filter_map(|log| Some(std::fs::metadata(log).ok()?.len()));
        let total = sizes.fold(0, u64::saturating_add).saturating_mul(times);
        let read = read.clone();
        let (stop, stopped) = channel();
        let draw = move || {
            let mut wait = PATIENCE;
            while stopped.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
                wait = PERIOD;
                border::progress(&bar(read.count(), total));
            }
            if wait == PERIOD {
                border::progress("");
            }
        };
        // Without a thread the work goes on without a bar.
        match thread::Builder::new().name("progress".into()).spawn(draw) {
            Ok(thread) => Progress { stop: Some(stop), thread: Some(thread) },
            Err(_) => nothing,
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // If the thread panicked, there is only no bar.
            let _ = thread.join();
        }
    }
}

/// The line of the bar. Formats that do not count bytes, such as SQLite, leave the bar at 0 %.
fn bar(done: u64, total: u64) -> String {
    let share = |of: u64| {
        let share = u128::from(done.min(total)) * u128::from(of) / u128::from(total.max(1));
        usize::try_from(share).unwrap_or_default()
    };
    let full = share(WIDTH);
    let rest = usize::try_from(WIDTH).unwrap_or_default().saturating_sub(full);
    format!("[{}{}] {:>3} %", "=".repeat(full), " ".repeat(rest), share(100))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bar_goes_from_0_to_100_percent() {
        assert_eq!(bar(0, 10), format!("[{}]   0 %", " ".repeat(30)));
        assert_eq!(bar(5, 10), format!("[{}{}]  50 %", "=".repeat(15), " ".repeat(15)));
        assert_eq!(bar(u64::MAX, u64::MAX), format!("[{}] 100 %", "=".repeat(30)));
        // An index is read twice, so more than the total may be read. An empty file has a total of 0.
        assert_eq!(bar(11, 10), bar(10, 10));
        assert_eq!(bar(0, 0), bar(0, 10));
    }
}
