//! Pauses between attempts to reach a host that failed.

use std::time::{Duration, Instant};

use tallymon_core::flow::SourceError;

/// The pause after the first failure. Each further failure doubles it.
const FIRST: Duration = Duration::from_secs(1);

/// The longest pause.
const LONGEST: Duration = Duration::from_secs(30);

/// When a host that failed may be tried again.
#[derive(Debug)]
pub(crate) struct Backoff {
    pause: Duration,
    /// Until when, and why.
    closed: Option<(Instant, SourceError)>,
}

impl Default for Backoff {
    fn default() -> Backoff {
        Backoff { pause: FIRST, closed: None }
    }
}

impl Backoff {
    /// Whether the host may be tried now.
    ///
    /// # Errors
    ///
    /// The last failure, as long as its pause lasts.
    pub(crate) fn check(&mut self) -> Result<(), SourceError> {
        match &self.closed {
            Some((until, why)) if Instant::now() < *until => Err(why.clone()),
            _ => {
                self.closed = None;
                Ok(())
            }
        }
    }

    /// The host answered.
    pub(crate) fn succeeded(&mut self) {
        *self = Backoff::default();
    }

    /// The host failed: a pause begins.
    pub(crate) fn failed(&mut self, why: &SourceError) {
        self.closed = Instant::now().checked_add(self.pause).map(|until| (until, why.clone()));
        self.pause = self.pause.saturating_mul(2).min(LONGEST);
    }

    /// Why the host is left alone now.
    pub(crate) fn why(&self) -> Option<&SourceError> {
        self.closed.as_ref().map(|(_, why)| why)
    }
}
