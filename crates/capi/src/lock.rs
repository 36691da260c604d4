//! Locking data that threads of the program share.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks, even after a panic: every single change leaves the data whole.
pub(crate) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
