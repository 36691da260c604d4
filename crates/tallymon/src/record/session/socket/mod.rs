//! The socket of a session that records: its status is asked there, and it is stopped there, so that both
//! work when the disk is full.
//!
//! A request is one word and a line end. The answer to `status` is the status as JSON; that to `stop` is
//! `ok`.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::status::SessionStatus;

#[cfg_attr(target_os = "linux", path = "linux.rs")]
#[cfg_attr(not(target_os = "linux"), path = "other.rs")]
mod system;

pub(super) use system::{Listener, ask, listen};

/// What a recorder and the thread that answers for it share.
#[derive(Debug, Clone, Default)]
pub(super) struct Shared {
    status: Arc<Mutex<SessionStatus>>,
    stop: Arc<AtomicBool>,
}

impl Shared {
    /// Sets the status that is answered from now on.
    pub(super) fn set(&self, status: &SessionStatus) {
        self.status.lock().unwrap_or_else(PoisonError::into_inner).clone_from(status);
    }

    /// Whether somebody asked the recorder to stop.
    pub(super) fn is_asked_to_stop(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }

    /// The answer to a request; `None` if it is not known.
    fn answer(&self, request: &str) -> Option<String> {
        match request.trim_end() {
            "status" => {
                let status = self.status.lock().unwrap_or_else(PoisonError::into_inner);
                Some(status.to_json().to_string())
            }
            "stop" => {
                self.stop.store(true, Ordering::Release);
                Some("ok".to_owned())
            }
            _ => None,
        }
    }
}
