//! Keeps what the runtime may free while our own thread uses it: a module until that thread is done with it,
//! and everything until the runtime ends.
//!
//! The runtime checks neither: with the id of a module that has been unloaded, or after its end, its
//! functions read memory that is gone. Callbacks need no gate: what they are about stays until they return.

use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

/// How often a wait looks again.
const LOOK: Duration = Duration::from_millis(1);

/// The gate of a process. One thread goes through it again and again; callbacks wait until it is out.
#[derive(Debug, Default)]
pub(super) struct Gate {
    inside: Mutex<()>,
    /// How often somebody has entered.
    entered: AtomicU64,
    closed: AtomicBool,
}

impl Gate {
    /// Enters, until the returned value is dropped; `None` when the runtime has ended.
    pub(super) fn enter(&self) -> Option<MutexGuard<'_, ()>> {
        let inside = self.inside.lock().unwrap_or_else(PoisonError::into_inner);
        self.entered.fetch_add(1, SeqCst);
        (!self.is_closed()).then_some(inside)
    }

    /// Waits until who is inside now has left; false when `patience` is over before. Who enters afterwards
    /// sees what the caller did before, and may be inside when this returns.
    pub(super) fn wait(&self, patience: Duration) -> bool {
        let deadline = Instant::now().checked_add(patience);
        let before = self.entered.load(SeqCst);
        loop {
            // A thread that goes in again and again leaves no gap that a look would meet.
            if self.entered.load(SeqCst) != before {
                return true;
            }
            match self.inside.try_lock() {
                Ok(_) | Err(TryLockError::Poisoned(_)) => return true,
                Err(TryLockError::WouldBlock) => {}
            }
            if deadline.is_none_or(|deadline| Instant::now() >= deadline) {
                return false;
            }
            std::thread::sleep(LOOK);
        }
    }

    /// Lets nobody enter any more.
    pub(super) fn close(&self) {
        self.closed.store(true, SeqCst);
    }

    /// Whether the runtime has ended.
    pub(super) fn is_closed(&self) -> bool {
        self.closed.load(SeqCst)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_ends_when_nobody_is_inside_and_a_closed_gate_lets_nobody_in() {
        let gate = Gate::default();
        assert!(gate.wait(Duration::ZERO));
        let inside = gate.enter().unwrap();
        assert!(!gate.wait(Duration::from_millis(5)), "somebody is inside");
        gate.close();
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| gate.wait(Duration::from_secs(600)));
            drop(inside);
            assert!(waits.join().unwrap());
        });
        assert!(gate.is_closed() && gate.enter().is_none());
        assert!(gate.wait(Duration::ZERO), "who was refused is not inside");
        // Who goes in again at once was out in between.
        let gate = Gate::default();
        std::thread::scope(|scope| {
            let mut inside = gate.enter().unwrap();
            let waits = scope.spawn(|| gate.wait(Duration::from_secs(600)));
            while !waits.is_finished() {
                drop(inside);
                inside = gate.enter().unwrap();
            }
            assert!(waits.join().unwrap());
        });
    }
}
