//! Recording several hosts, and perhaps this machine, into one log, without a session.

use std::fmt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::Recorder;
use super::session::remotes::Remotes;
use super::session::{SessionError, SessionHost, SessionSettings};
use crate::clock::{LocalZone, now};
use crate::names::InstanceNames;
use crate::query::Query;

/// Samples of several hosts on their way into one [`Recorder`]. Each host has a thread of its own, so that
/// one that is slow or gone delays no record. Such a host lacks in the records: a log never repeats an old
/// value.
pub struct HostsRecorder {
    recorder: Recorder,
    remotes: Option<Remotes>,
    own: Option<Query>,
    interval: Duration,
    zone: LocalZone,
    /// The hosts that failed at the last call of [`HostsRecorder::changes`], each since when.
    known: Vec<(String, Instant)>,
}

/// What is new about a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostChange {
    /// The name of a host, and what is wrong with it now.
    Failed(String, String),
    /// The name of a host with which nothing is wrong any more, and how long something was.
    Answers(String, Duration),
}

impl HostsRecorder {
    /// Begins to open the hosts. `own` has the counters of this machine; `timeout` is how long a host may
    /// take for an answer.
    ///
    /// # Errors
    ///
    /// There is no thread for a host, in words.
    pub fn start(
        mut recorder: Recorder,
        (hosts, own): (Vec<SessionHost>, Option<Query>),
        (timeout, instances): (Option<Duration>, InstanceNames),
        interval: Duration,
    ) -> Result<HostsRecorder, String> {
        let usual = SessionSettings::new("", PathBuf::new());
        let remotes = Remotes::start(&SessionSettings { hosts, timeout, instances, interval, ..usual })?;
        own.iter().for_each(|query| recorder.choose(query));
        Ok(HostsRecorder { recorder, remotes, own, interval, zone: LocalZone::system(), known: Vec::new() })
    }

    /// Takes a sample of everybody, and writes what comes in time. Returns whether anything came. The first
    /// call waits longer, because hosts are being opened.
    ///
    /// # Errors
    ///
    /// This machine cannot be read, or the file cannot be written.
    pub fn record(&mut self) -> Result<bool, SessionError> {
        let begin = now();
        if let Some(remotes) = &mut self.remotes {
            remotes.tick();
        }
        let mut window = None;
        if let Some(query) = &mut self.own {
            if !query.add_awaited().is_empty() {
                self.recorder.choose(query);
            }
            query.collect()?;
            window = Some((begin, now()));
        }
        let mut others = Vec::new();
        if let Some(remotes) = &mut self.remotes {
            remotes.gather(self.interval);
            for choice in remotes.take_choices() {
                self.recorder.choose_of_host(&choice);
            }
            others = remotes.take_samples();
        }
        let own = self.own.as_ref().and_then(Query::snapshot).zip(window);
        if own.is_none() && others.is_empty() {
            return Ok(false);
        }
        self.recorder.record_all(begin, self.zone.minutes(begin), own, &others)?;
        Ok(true)
    }

    /// What changed of hosts since the last call.
    pub fn changes(&mut self) -> Vec<HostChange> {
        let failures = self.remotes.as_ref().map(Remotes::failures).unwrap_or_default();
        let mut changes = Vec::new();
        self.known.retain(|(name, since)| {
            let still_fails = failures.iter().any(|(failing, _)| failing == name);
            if !still_fails {
                changes.push(HostChange::Answers(name.clone(), since.elapsed()));
            }
            still_fails
        });
        for (name, why) in failures {
            if !self.known.iter().any(|(known, _)| *known == name) {
                self.known.push((name.clone(), Instant::now()));
                changes.push(HostChange::Failed(name, why));
            }
        }
        changes
    }

    /// How many records there are.
    pub const fn records(&self) -> u64 {
        self.recorder.records()
    }

    /// The log, without more records, and how many hosts failed at the end.
    pub fn end(self) -> (Recorder, usize) {
        let failures = self.remotes.as_ref().map(Remotes::failures).unwrap_or_default();
        (self.recorder, failures.len())
    }
}

impl fmt::Debug for HostsRecorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostsRecorder").field("recorder", &self.recorder).finish_non_exhaustive()
    }
}
