//! Recording several hosts, and perhaps this machine, into one log, without a session.

use std::collections::HashSet;
use std::fmt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::Recorder;
use super::session::remotes::{HostFailure, Remotes};
use super::session::{SessionError, SessionHost, SessionSettings};
use crate::clock::{LocalZone, now};
use crate::names::InstanceNames;
use crate::query::Query;

/// Samples of several hosts on their way into one [`Recorder`]. Each host has a thread of its own, so that
/// one that is slow or gone delays no record. The records have no values of such a host: a log never repeats
/// an old value.
pub struct HostsRecorder {
    recorder: Recorder,
    remotes: Option<Remotes>,
    own: Option<Query>,
    interval: Duration,
    zone: LocalZone,
    /// The hosts that failed at the last call of [`HostsRecorder::changes`].
    known: Vec<Known>,
    /// The hosts that have given a sample.
    answered: HashSet<String>,
}

/// A host that failed.
struct Known {
    name: String,
    /// It does not answer; else it only lacks counters.
    is_gone: bool,
    since: Instant,
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
        Ok(HostsRecorder {
            recorder,
            remotes,
            own,
            interval,
            zone: LocalZone::system(),
            known: Vec::new(),
            answered: HashSet::new(),
        })
    }

    /// Takes a sample of all hosts, and writes what comes in time. Returns whether anything came. The first
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
        for sample in &others {
            if !self.answered.contains(&sample.host) {
                self.answered.insert(sample.host.clone());
            }
        }
        let own = self.own.as_ref().and_then(Query::snapshot).zip(window);
        if own.is_none() && others.is_empty() {
            return Ok(false);
        }
        self.recorder.record_all(begin, self.zone.minutes(begin), own, &others)?;
        Ok(true)
    }

    /// What changed of hosts since the last call. A host that lacks a counter and then does not answer fails
    /// twice.
    pub fn changes(&mut self) -> Vec<HostChange> {
        let failures = self.remotes.as_ref().map(Remotes::failures).unwrap_or_default();
        changes(&mut self.known, failures)
    }

    /// Whether a host has given a sample.
    pub fn has_answered(&self, host: &str) -> bool {
        self.answered.contains(host)
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

/// What is new in the failures of hosts; `known` has those of the last look.
fn changes(known: &mut Vec<Known>, failures: Vec<HostFailure>) -> Vec<HostChange> {
    let mut changes = Vec::new();
    known.retain(|host| {
        let still_fails = failures.iter().any(|failing| failing.name == host.name);
        if !still_fails {
            changes.push(HostChange::Answers(host.name.clone(), host.since.elapsed()));
        }
        still_fails
    });
    for HostFailure { name, is_gone, why } in failures {
        match known.iter_mut().find(|host| host.name == name) {
            Some(host) => {
                let is_worse = is_gone && !host.is_gone;
                host.is_gone = is_gone;
                if !is_worse {
                    continue;
                }
                host.since = Instant::now();
            }
            None => known.push(Known { name: name.clone(), is_gone, since: Instant::now() }),
        }
        changes.push(HostChange::Failed(name, why));
    }
    changes
}

impl fmt::Debug for HostsRecorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostsRecorder").field("recorder", &self.recorder).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(is_gone: bool) -> HostFailure {
        HostFailure { name: "web1".into(), is_gone, why: if is_gone { "gone" } else { "lacks" }.into() }
    }

    /// The kinds of changes, with what they say.
    fn look(known: &mut Vec<Known>, failures: Vec<HostFailure>) -> Vec<String> {
        let said = |change: HostChange| match change {
            HostChange::Failed(_, why) => why,
            HostChange::Answers(..) => "answers".to_string(),
        };
        changes(known, failures).into_iter().map(said).collect()
    }

    #[test]
    fn a_host_that_lacks_a_counter_is_also_said_to_be_gone() {
        let mut known = Vec::new();
        assert_eq!(look(&mut known, vec![failure(false)]), ["lacks"]);
        assert!(look(&mut known, vec![failure(false)]).is_empty());
        assert_eq!(look(&mut known, vec![failure(true)]), ["gone"]);
        assert!(look(&mut known, vec![failure(true)]).is_empty());
        // It answers again, and still lacks the counter.
        assert!(look(&mut known, vec![failure(false)]).is_empty());
        assert_eq!(look(&mut known, vec![failure(true)]), ["gone"], "and is gone again");
        assert_eq!(look(&mut known, Vec::new()), ["answers"]);
        assert_eq!(look(&mut known, vec![failure(true)]), ["gone"]);
    }
}
