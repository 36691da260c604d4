//! Samples of this machine that are written into a log: into native files until the log is closed.

use std::collections::BTreeSet;
use std::path::PathBuf;

use tallymon::Recorder;
use tallymon::clock::now;
use tallymon::log::LogError;
use tallymon::log::native::WriteOptions;
use tallymon::record::{while_recording, write_options};

use super::complete::Target;
use super::of_write;
use crate::clock;
use crate::handles::Handle;
use crate::query::{OpenQuery, Origin};
use crate::status::{self, Done};

/// What was recorded up to now.
pub(super) struct Samples {
    recorder: Recorder,
    /// Where records go that come next; a circular log changes it.
    options: WriteOptions,
    files: u32,
    /// The file before, of a circular log.
    before: Option<PathBuf>,
    /// The counters that the recorder knows.
    counters: BTreeSet<Handle>,
}

impl Samples {
    pub(super) fn create(target: &Target) -> Result<Samples, LogError> {
        let options = write_options(clock::zone(), now());
        let file = while_recording(&target.beside(), target.format);
        let recorder = Recorder::create(&file, options.clone())?;
        Ok(Samples { recorder, options, files: 1, before: None, counters: BTreeSet::new() })
    }

    /// Records in the file that is written now.
    pub(super) const fn records(&self) -> u64 {
        self.recorder.records()
    }

    /// Bytes of the file that is written now.
    pub(super) fn bytes(&mut self) -> u64 {
        self.recorder.bytes()
    }

    /// Goes on in a new file; the one before the last is not needed any more.
    pub(super) fn turn(&mut self, target: &Target) -> Result<(), LogError> {
        self.files = self.files.saturating_add(1);
        let mut name = target.beside().into_os_string();
        name.push(format!(".{}", self.files));
        let next =
            Recorder::create(&while_recording(&PathBuf::from(name), target.format), self.options.clone())?;
        let full = std::mem::replace(&mut self.recorder, next);
        let path = full.path().to_path_buf();
        full.seal()?;
        if let Some(oldest) = self.before.replace(path) {
            // A file that stays takes room, and is in nobody's way.
            let _ = std::fs::remove_file(oldest);
        }
        self.counters.clear();
        Ok(())
    }

    /// Takes a sample of a query and writes it.
    pub(super) fn take(&mut self, open: &mut OpenQuery) -> Done {
        let begin = now();
        // That nothing has a value now is a record too.
        open.advance()?;
        if self.counters != *open.counters() {
            self.counters.clone_from(open.counters());
            if let Origin::Live(query) = &open.origin {
                self.recorder.choose(query);
            }
        }
        let Origin::Live(query) = &open.origin else { return Err(status::INVALID_HANDLE) };
        let snapshot = query.snapshot().ok_or(status::NO_DATA)?;
        self.recorder
            .record(snapshot, clock::zone().minutes(begin), (begin, now()))
            .map_err(|error| of_write(&error))
    }

    /// The files that have the newest records, oldest first.
    pub(super) fn finish(self) -> Result<Vec<PathBuf>, LogError> {
        let last = self.recorder.path().to_path_buf();
        self.recorder.seal()?;
        Ok(self.before.into_iter().chain([last]).collect())
    }
}
