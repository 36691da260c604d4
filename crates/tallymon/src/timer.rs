//! Samples at a steady pace: on a thread of their own, or as times to wait for.

use std::io;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// A thread that does something at a steady pace until the timer is dropped.
///
/// ```
/// use std::sync::mpsc;
/// use std::time::Duration;
///
/// let (samples, taken) = mpsc::channel();
/// let send = move || samples.send("a sample").unwrap_or(());
/// let timer = tallymon::Timer::start(Duration::from_millis(1), send)?;
/// assert_eq!(taken.recv(), Ok("a sample"));
/// drop(timer);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct Timer {
    stop: Arc<Stop>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Stop {
    wanted: Mutex<bool>,
    changed: Condvar,
}

impl Timer {
    /// Starts the thread; the first turn is one period from now. A turn that takes longer than the period
    /// makes the turns that it overlaps fall out; the others keep their times.
    ///
    /// # Errors
    ///
    /// The system has no more threads.
    pub fn start(period: Duration, mut turn: impl FnMut() + Send + 'static) -> io::Result<Timer> {
        let stop = Arc::new(Stop::default());
        let stops = Arc::clone(&stop);
        // A period of 0 would use a whole processor.
        let period = period.max(Duration::from_micros(100));
        let thread = thread::Builder::new().name("tallymon-timer".into()).spawn(move || {
            let mut due = Instant::now();
            loop {
                let now = Instant::now();
                while due <= now {
                    let Some(next) = due.checked_add(period) else { return };
                    due = next;
                }
                if stops.within(due) {
                    return;
                }
                turn();
            }
        })?;
        Ok(Timer { stop, thread: Some(thread) })
    }
}

impl Stop {
    /// Waits until a time, and returns whether the timer is to stop.
    fn within(&self, due: Instant) -> bool {
        let mut wanted = self.wanted.lock().unwrap_or_else(PoisonError::into_inner);
        while !*wanted {
            let left = due.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            let waited = self.changed.wait_timeout(wanted, left);
            wanted = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        *wanted
    }
}

impl Drop for Timer {
    /// Waits for a turn that is running, unless that turn itself drops the timer.
    fn drop(&mut self) {
        *self.stop.wanted.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.stop.changed.notify_all();
        if let Some(thread) = self.thread.take()
            && thread.thread().id() != thread::current().id()
        {
            // A turn that panicked has ended too.
            let _ = thread.join();
        }
    }
}

/// The longest time between two samples, over 100 years.
const LONGEST: Duration = Duration::from_secs(u32::MAX as u64);

/// The times of samples: fixed multiples of an interval, so that a slow sample does not shift those after it.
#[derive(Debug, Clone, Copy)]
pub struct Ticks {
    next: Instant,
    interval: Duration,
}

impl Ticks {
    /// The first sample is now.
    pub fn start(interval: Duration) -> Ticks {
        Ticks { next: Instant::now(), interval }
    }

    /// The time of the next sample; times that have passed are left out.
    #[expect(clippy::should_implement_trait, reason = "it never ends")]
    pub fn next(&mut self) -> Instant {
        let now = Instant::now();
        // With an interval of 0 the loop would not end; an interval of ages has no next time.
        let interval = self.interval.clamp(Duration::from_micros(100), LONGEST);
        self.next += interval;
        while self.next < now {
            self.next += interval;
        }
        self.next
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn no_turn_starts_after_drop() {
        let (turns, taken) = mpsc::channel();
        let timer = Timer::start(Duration::ZERO, move || turns.send(()).unwrap()).unwrap();
        assert!(taken.iter().take(3).count() == 3);
        drop(timer);
        // This ends because the thread dropped the sender.
        taken.iter().for_each(drop);
    }
}
