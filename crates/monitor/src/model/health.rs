//! How a live machine answers: since when it is awaited, why it failed, when it is tried again.

use std::time::{Duration, Instant};

use tallymon::core::flow::{Absence, NoValue, SourceError};
use tallymon::remote::is_paused;
use tallymon::{ClockOffset, Pause};

use crate::model::HostState;

/// A machine is late when it has not answered for so long, and for the interval.
const GRACE: Duration = Duration::from_secs(1);

/// How a machine answers.
#[derive(Debug, Default)]
pub struct Health {
    /// Since when a question is open.
    pub asked: Option<Instant>,
    /// When its last values came.
    pub heard: Option<Instant>,
    /// Why its last question failed.
    pub failure: Option<SourceError>,
    pause: Pause,
    /// How far its clock is ahead.
    pub clock: Option<ClockOffset>,
}

impl Health {
    /// Of a machine that was asked now for the first time.
    pub fn of_asked() -> Health {
        Health { asked: Some(Instant::now()), ..Health::default() }
    }

    /// It answered, and what that says of its clock.
    pub fn answered(&mut self, clock: Option<ClockOffset>) {
        (self.failure, self.asked) = (None, None);
        self.pause.answered();
        self.heard = Some(Instant::now());
        self.clock = match (self.clock, clock) {
            (Some(known), Some(newer)) => Some(known.or_newer(newer)),
            (known, newer) => newer.or(known),
        };
    }

    /// It failed: it is left alone for a while.
    pub fn failed(&mut self, error: SourceError) {
        (self.failure, self.asked) = (Some(error), None);
        self.pause.failed();
    }

    /// Whether it is left alone now.
    pub fn rests(&self) -> bool {
        self.pause.rests()
    }

    /// Why a row has no value of it.
    pub const fn gap(&self) -> NoValue {
        match self.failure {
            Some(_) => NoValue::NoMachine,
            None => NoValue::NoData(Absence::ReadFailed),
        }
    }

    /// Its state, if it is asked once an interval.
    pub fn state(&self, interval: Duration) -> HostState {
        if let Some(error) = &self.failure {
            let until = self.pause.until().filter(|_| !is_paused(&error.message));
            let retry = until.map(|until| until.saturating_duration_since(Instant::now()));
            return HostState::Failed { why: error.to_string(), retry };
        }
        let open = self.asked.map(|asked| asked.elapsed());
        match open.filter(|open| *open >= GRACE.max(interval)) {
            Some(open) => HostState::Late(self.heard.map_or(open, |heard| heard.elapsed())),
            None if self.heard.is_none() => HostState::Opening,
            None => HostState::Live,
        }
    }
}

#[cfg(test)]
mod tests {
    use tallymon::core::flow::SourceErrorKind;

    use super::*;

    #[test]
    fn a_refused_login_is_not_tried_again_by_itself() {
        for (words, is_retried) in [
            ("logging in: refused; paused after a refused login until /c changes, or for 15 min", false),
            ("no answer within 3s", true),
        ] {
            let mut health = Health::of_asked();
            health.failed(SourceError::new(SourceErrorKind::AccessDenied, words));
            let HostState::Failed { why, retry } = health.state(Duration::from_secs(1)) else { panic!() };
            assert_eq!((why.as_str(), retry.is_some()), (words, is_retried));
        }
    }
}
