//! Events: what `PdhCollectQueryDataEx` sets after every sample, and what a program waits for.

use std::sync::{Condvar, Mutex};
use std::time::{Duration, Instant};

use crate::handles::Object;
use crate::lock::lock;

/// An event of Windows: set, or not set.
pub(crate) struct Event {
    set: Mutex<bool>,
    changed: Condvar,
    /// It stays set until it is reset; otherwise the first waiter resets it.
    manual: bool,
}

impl Object for Event {}

impl Event {
    pub(crate) const fn new(manual: bool, set: bool) -> Event {
        Event { set: Mutex::new(set), changed: Condvar::new(), manual }
    }

    pub(crate) fn set(&self) {
        *lock(&self.set) = true;
        if self.manual { self.changed.notify_all() } else { self.changed.notify_one() }
    }

    pub(crate) fn reset(&self) {
        *lock(&self.set) = false;
    }

    /// Waits until it is set; `false` when that takes longer than `most`. `None` waits for ever.
    pub(crate) fn wait(&self, most: Option<Duration>) -> bool {
        let end = most.and_then(|most| Instant::now().checked_add(most));
        let mut set = lock(&self.set);
        loop {
            if *set {
                *set = self.manual;
                return true;
            }
            // A time beyond the clock's range never comes.
            set = match end {
                Some(end) => {
                    let left = end.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        return false;
                    }
                    let waited = self.changed.wait_timeout(set, left);
                    waited.unwrap_or_else(std::sync::PoisonError::into_inner).0
                }
                None => self.changed.wait(set).unwrap_or_else(std::sync::PoisonError::into_inner),
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::thread;

    use super::*;

    #[test]
    fn an_event_wakes_a_waiter() {
        let event = Arc::new(Event::new(false, false));
        assert!(!event.wait(Some(Duration::ZERO)));
        let waiting = Arc::clone(&event);
        let thread = thread::spawn(move || waiting.wait(None));
        event.set();
        assert!(thread.join().unwrap());
        assert!(!event.wait(Some(Duration::ZERO)), "it was taken");
        let manual = Event::new(true, true);
        assert!(manual.wait(None) && manual.wait(Some(Duration::ZERO)));
        manual.reset();
        assert!(!manual.wait(Some(Duration::from_millis(1))));
    }
}
