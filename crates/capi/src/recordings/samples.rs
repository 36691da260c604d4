//! Samples of this machine for a log: in native files until the log is closed.

use std::collections::BTreeSet;
use std::path::PathBuf;

use tallymon::clock::now;
use tallymon::log::LogError;
use tallymon::record::{Existing, HostSnapshot, RollingRecorder, Rotation, while_recording};

use super::complete::Target;
use crate::clock;
use crate::handles::Handle;
use crate::logs::Origin;
use crate::other_hosts::HostQuery;
use crate::query::OpenQuery;
use crate::status::{self, Done};

/// A circular log is recorded into two files in turn: the full one and the next have all records that fit.
const RING: u32 = 2;

/// What is recorded until the log is closed.
pub(super) struct Samples {
    recorder: RollingRecorder,
    /// The counters that the recorder writes.
    counters: BTreeSet<Handle>,
}

impl Samples {
    /// Begins the first file. `maximum` is bytes, or records of a log set; 0 means no limit.
    pub(super) fn create(target: &Target, maximum: u64) -> Result<Samples, LogError> {
        let limit = (maximum != 0).then_some(maximum);
        let is_set = target.set.is_some();
        let rotation = Rotation {
            size: limit.filter(|_| !is_set),
            records: limit.filter(|_| is_set),
            segments: target.newest.map(|_| RING),
            ..Rotation::default()
        };
        let (beside, format) = (target.beside(), target.format);
        let path_of = move |number: u32| {
            let mut name = beside.clone().into_os_string();
            if number > 1 {
                name.push(format!(".{number}"));
            }
            while_recording(&PathBuf::from(name), format)
        };
        let mut recorder =
            RollingRecorder::new(path_of, 1, Existing::Replace, rotation, clock::zone().clone());
        recorder.open()?;
        Ok(Samples { recorder, counters: BTreeSet::new() })
    }

    /// Records in the file that is written now.
    pub(super) fn records(&self) -> u64 {
        self.recorder.records()
    }

    /// Bytes of the file that is written now.
    pub(super) fn bytes(&mut self) -> u64 {
        self.recorder.bytes()
    }

    /// Whether the file that is written now is as large as the log may be.
    pub(super) fn is_full(&mut self) -> bool {
        self.recorder.is_full()
    }

    /// Goes on in a new file, and removes the one that the ring no longer keeps.
    pub(super) fn turn(&mut self) -> Result<(), LogError> {
        if let Some(closed) = self.recorder.close() {
            closed.sealed?;
        }
        let dropped = self.recorder.first_kept().saturating_sub(1);
        if dropped > 0 {
            // A file that stays takes room and does no other harm.
            let _ = std::fs::remove_file(self.recorder.path_of(dropped));
        }
        self.recorder.open()
    }

    /// Takes a sample of a query and writes it.
    pub(super) fn take(&mut self, open: &mut OpenQuery) -> Done {
        let begin = now();
        // A record in which nothing has a value is a record too.
        open.advance()?;
        if self.counters != *open.counters() {
            self.counters.clone_from(open.counters());
            if let Origin::Live(query) = &open.origin {
                self.recorder.choose(query);
            }
            for host in open.hosts() {
                self.recorder.choose_host(&host.name, &host.query);
            }
        }
        let Origin::Live(query) = &open.origin else { return Err(status::INVALID_HANDLE) };
        let window = (begin, now());
        let answered = open.hosts().iter().filter(|host| !host.has_failed && !host.query.chosen().is_empty());
        let of_host = |host: &HostQuery| {
            let snapshot = host.query.snapshot()?.clone();
            Some(HostSnapshot { host: host.name.clone(), snapshot, window })
        };
        let others: Vec<HostSnapshot> = answered.filter_map(of_host).collect();
        // Without a path of this machine everything of it would be written.
        let own = match query.snapshot().filter(|_| open.has_counters_here()) {
            None if others.is_empty() => return Err(status::NO_DATA),
            own => own.map(|snapshot| (snapshot, window)),
        };
        self.recorder.record_all(begin, own, &others).map_err(|error| status::of_log_write(&error))
    }

    /// The files with the newest records, oldest first.
    pub(super) fn finish(mut self) -> Result<Vec<PathBuf>, LogError> {
        let first = self.recorder.first_kept().max(1);
        let Some(closed) = self.recorder.close() else { return Ok(Vec::new()) };
        closed.sealed?;
        Ok((first..=closed.number).map(|number| self.recorder.path_of(number)).collect())
    }
}
