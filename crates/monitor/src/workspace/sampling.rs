//! Live samples: requested, taken, or missed.

use std::time::Duration;

use tallymon::core::flow::{Absence, NoValue, SourceError, SourceErrorKind};
use tallymon::core::time::FileTime;

use crate::model::Top;
use crate::workspace::state::Workspace;
use crate::workspace::time::now;

/// The longest pause between two tries of a failing source.
const LONGEST_RETRY: Duration = Duration::from_secs(30);
/// An answer is late after this time, also with a shorter interval.
const LATE: Duration = Duration::from_secs(1);

impl Workspace {
    /// Takes a sample of everything in view, and waits for it.
    pub(crate) fn sample(&mut self) {
        let collected = self.query.collect();
        self.take(collected);
    }

    /// Requests a sample; whether it was taken at once, by a source without a thread of its own. A request
    /// that has no answer yet leaves a gap for this time.
    pub(crate) fn begin_sample(&mut self) -> bool {
        if self.replay.is_some() {
            self.play();
            return false;
        }
        match (&self.options.source, &self.pending) {
            (None, _) => {
                self.sample();
                return true;
            }
            (Some(source), None) => self.pending = Some(source.ask(self.query.request())),
            (Some(_), Some(_)) => self.gap(NoValue::NoData(Absence::ReadFailed)),
        }
        false
    }

    /// Takes the requested sample, if it arrives within a time; whether it arrived.
    pub(crate) fn sample_comes(&mut self, patience: Duration) -> bool {
        let Some(pending) = &self.pending else { return false };
        let Some(answer) = pending.wait(patience) else { return false };
        let request = self.query.request();
        if answer.is_ok()
            && *pending.request() != request
            && let Some(source) = &self.options.source
        {
            // A counter was added meanwhile and would have a gap.
            self.pending = Some(source.ask(request));
            return false;
        }
        self.pending = None;
        let collected = answer.map(|snapshot| self.query.accept(snapshot));
        self.take(collected);
        true
    }

    /// Whether a requested sample has not arrived yet.
    pub(crate) const fn is_waiting(&self) -> bool {
        self.pending.is_some()
    }

    /// How late the requested sample is; `None` while it is not late.
    pub(crate) fn late(&self) -> Option<Duration> {
        let age = self.pending.as_ref()?.age();
        (age >= LATE.max(self.options.interval)).then_some(age)
    }

    /// How long to wait for the next sample: longer and longer while the source fails.
    pub(crate) fn pause(&self) -> Duration {
        let doublings = self.failures.min(16);
        let pause = self.options.interval.saturating_mul(1 << doublings);
        if self.failures == 0 { pause } else { pause.min(LONGEST_RETRY.max(self.options.interval)) }
    }

    /// Notes how long it is until a failed source is tried again; whether the shown seconds change.
    pub(crate) fn count_down(&mut self, left: Duration) -> bool {
        // Round up: the last second is shown until it is over.
        let seconds = left.as_secs().saturating_add(u64::from(left.subsec_nanos() > 0));
        let countdown = self.failure.as_ref().map(|_| seconds.max(1));
        std::mem::replace(&mut self.countdown, countdown) != countdown
    }

    fn take(&mut self, collected: Result<FileTime, SourceError>) {
        match collected {
            Ok(time) => {
                self.failure = None;
                self.failures = 0;
                self.readings = Top::readings(&self.query);
                self.monitor.take(time, &self.query, &self.readings);
            }
            Err(error) => {
                let why = match error.kind {
                    SourceErrorKind::Unreachable => NoValue::NoMachine,
                    _ => NoValue::NoData(Absence::ReadFailed),
                };
                self.gap(why);
                self.failures = self.failures.saturating_add(1);
                self.failure = Some(error);
            }
        }
        self.forget_steps();
        self.watch_top();
        self.change_query();
        self.choose_what_was_added();
    }

    /// Records a gap of all series at the time of the missing sample.
    fn gap(&mut self, why: NoValue) {
        let pause = u64::try_from(self.pause().as_nanos() / 100).unwrap_or(0);
        let newest = self.monitor.next().checked_sub(1).and_then(|row| self.monitor.time(row));
        let time = newest.map_or_else(now, |time| FileTime(time.0.saturating_add(pause)));
        self.monitor.miss(time, why);
    }

    /// Replaces the query by the one without removed counters after its second sample, so that rates have no
    /// gap. It collects by itself, and the screen waits for that.
    fn change_query(&mut self) {
        let Some(mut successor) = self.successor.take() else { return };
        let had_one = successor.snapshot().is_some();
        if successor.collect().is_ok() {
            if had_one {
                self.query = successor;
            } else {
                self.successor = Some(successor);
            }
        }
    }
}
