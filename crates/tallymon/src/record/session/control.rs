//! What people do with sessions: estimate, start, stop, and copy what was recorded.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use tallymon_core::time::{FileTime, UNITS_PER_SECOND};
use tallymon_log::new_file::Overwrite;
use tallymon_log::relog::{Options, relog};
use tallymon_log::{Format, LogTime, ReadOptions, Report, Selection};

use super::SessionError;
use super::settings::SessionSettings;
use super::store::SessionStore;
use crate::clock::now;
use crate::query::Query;
use crate::record::{estimate, format_of, while_recording};

#[cfg(feature = "parquet")]
use tallymon_log::lake::has_table as has_lake;

#[cfg(not(feature = "parquet"))]
const fn has_lake(_: &Path) -> Result<bool, SessionError> {
    Ok(false)
}

/// How long a recorder may take to begin.
const BEGINNING: Duration = Duration::from_secs(20);

/// How long a recorder may take to end: it converts its last log then.
const ENDING: Duration = Duration::from_secs(600);

impl SessionSettings {
    /// Bytes that an hour of the session takes at most, by two samples of a query with its counters. This
    /// waits for the second sample, at most 0.5 s.
    ///
    /// # Errors
    ///
    /// The source does not answer.
    pub fn bytes_an_hour(&self, query: &mut Query) -> Result<f64, SessionError> {
        let mut samples = Vec::new();
        for nth in 0..2 {
            if nth > 0 {
                thread::sleep(self.interval.min(Duration::from_millis(500)));
            }
            if self.all_objects {
                query.collect_everything()?
            } else {
                query.collect()?
            };
            samples.extend(query.snapshot().cloned());
        }
        let [first, second] = samples.as_slice() else { return Ok(0.0) };
        Ok(estimate(query, [first, second], 3600.0 / self.interval.as_secs_f64())?)
    }

    /// The logs, each once. A log that is there is complete; else there is its recording.
    fn inputs(&self) -> Result<Vec<PathBuf>, SessionError> {
        let mut numbers: Vec<u32> = self.logs().iter().map(|(number, _)| *number).collect();
        numbers.dedup();
        let input = |number| {
            let log = self.segment(number);
            if log.exists() { log } else { while_recording(&log, self.format) }
        };
        // A lake has what is complete, of this session and maybe of others.
        let lake =
            (self.format == Format::Lake && has_lake(self.place())?).then(|| self.place().to_path_buf());
        Ok(lake.into_iter().chain(numbers.into_iter().map(input)).collect())
    }

    fn check_readable(&self) -> Result<(), SessionError> {
        if self.format.info().reads { Ok(()) } else { Err(SessionError::NotRead(self.format)) }
    }
}

impl SessionStore {
    /// Whether the recorder of a session can be started now.
    ///
    /// # Errors
    ///
    /// The session is recording already, or its end has passed; others can change the folder of its state.
    pub fn check_startable(&self, settings: &SessionSettings) -> Result<(), SessionError> {
        self.check_lock(&settings.name)?;
        if self.is_running(&settings.name) {
            return Err(SessionError::Recording(settings.name.clone()));
        }
        if settings.is_over(now()) {
            return Err(SessionError::Over(settings.name.clone()));
        }
        Ok(())
    }

    /// Starts a command that [records](super::record) a session, and waits until it does, or waits for its
    /// begin.
    ///
    /// # Errors
    ///
    /// The command cannot be started, or the recorder ended or met an error.
    pub fn start(&self, settings: &SessionSettings, mut recorder: Command) -> Result<(), SessionError> {
        let name = &settings.name;
        self.check_startable(settings)?;
        let before = self.status(name).started;
        let spawned = recorder.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let mut child = spawned.map_err(SessionError::Start)?;
        let id = child.id();
        let begun = self.wait_for_records(name, before, || match child.try_wait() {
            Ok(Some(exit)) => {
                let status = self.status(name);
                let failed = (!exit.success()).then(|| format!("its recorder ended with {exit}"));
                let words = status.last_error.filter(|_| status.process == id).or(failed);
                // A session that had nothing left to do has ended well.
                Some(words.map_or(Ok(()), |words| Err(SessionError::Recorder(name.clone(), words))))
            }
            Ok(None) => None,
            Err(error) => Some(Err(SessionError::Start(error))),
        });
        // A program that goes on, as the monitor does, has to take the child's end.
        let _ = thread::Builder::new().spawn(move || child.wait());
        begun
    }

    /// Starts a recorder by other means, as a service, and waits until it records, or waits for its begin.
    ///
    /// # Errors
    ///
    /// Those of `launch`, the recorder met an error, or it did not begin in time.
    pub fn start_by<E: From<SessionError>>(
        &self,
        settings: &SessionSettings,
        launch: impl FnOnce() -> Result<(), E>,
    ) -> Result<(), E> {
        self.check_startable(settings)?;
        let before = self.status(&settings.name).started;
        launch()?;
        Ok(self.wait_for_records(&settings.name, before, || None)?)
    }

    /// Waits until a session has begun. `before` is when its last run began: a recorder has the lock a
    /// moment before it writes its own status. `ended` returns how its process ended, if it did.
    fn wait_for_records(
        &self,
        name: &str,
        before: Option<FileTime>,
        mut ended: impl FnMut() -> Option<Result<(), SessionError>>,
    ) -> Result<(), SessionError> {
        let asked = Instant::now();
        let begin = self.read(name).ok().and_then(|settings| settings.begin);
        let begins_later = begin.is_some_and(|begin| begin > now());
        loop {
            if let Some(result) = ended() {
                return result;
            }
            let status = self.status(name);
            let is_busy = status.records > 0 || begins_later || status.errors > 0;
            if self.is_running(name) && !status.ended && is_busy && status.started != before {
                let error = |words| SessionError::Recorder(name.to_owned(), words);
                return status.last_error.map_or(Ok(()), |words| Err(error(words)));
            }
            if asked.elapsed() > BEGINNING {
                return Err(SessionError::NotBegun(name.to_owned()));
            }
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Stops a session and waits until its logs are complete; `false` when it was not recording.
    ///
    /// # Errors
    ///
    /// There is no such session, or its recorder does not answer.
    pub fn stop(&self, name: &str) -> Result<bool, SessionError> {
        self.read(name)?;
        if !self.is_running(name) {
            return Ok(false);
        }
        self.ask_to_stop(name, ENDING).map(|()| true)
    }

    /// The logs of a session, oldest first, with everything in them that was recorded so far.
    ///
    /// # Errors
    ///
    /// Logs of its format are not read here, or the server of its lake cannot be asked.
    pub fn logs(&self, settings: &SessionSettings) -> Result<Vec<PathBuf>, SessionError> {
        settings.check_readable()?;
        settings.inputs()
    }

    /// Prepares a copy of what a session has recorded, or of the last of it, in one log that no ring
    /// removes. Without a name it is beside the other logs, with the time in its name.
    ///
    /// # Errors
    ///
    /// There is no such session, or its format is not read, or that of the copy not written here.
    pub fn copy(
        &self,
        name: &str,
        output: Option<&Path>,
        last: Option<Duration>,
        overwrite: Overwrite,
    ) -> Result<SessionCopy<'_>, SessionError> {
        let settings = self.read(name)?;
        settings.check_readable()?;
        let time = now();
        let from = last.map(|last| {
            let units = last.as_secs_f64() * UNITS_PER_SECOND as f64;
            FileTime(time.0.saturating_sub(units as u64))
        });
        let output = output.map_or_else(
            || {
                let extension = settings.format.info().extension;
                settings.folder.join(format!("{name}-{}.{extension}", stamp(time)))
            },
            Path::to_path_buf,
        );
        let format = format_of(None, &output, Format::Tally)?;
        let select = Selection { from: from.map(LogTime::Utc), ..Selection::default() };
        let options = Options { format, select, overwrite, ..Options::default() };
        Ok(SessionCopy { store: self, settings, output, options })
    }
}

/// A copy of the logs of a session, which is to be made.
#[derive(Debug)]
pub struct SessionCopy<'s> {
    store: &'s SessionStore,
    settings: SessionSettings,
    output: PathBuf,
    options: Options,
}

impl SessionCopy<'_> {
    /// The log that it makes.
    pub fn output(&self) -> &Path {
        &self.output
    }

    /// How the logs are read; they are read twice.
    pub const fn reading(&self) -> &ReadOptions {
        &self.options.read
    }

    /// Makes the copy. `watch` gets the logs before they are read; what it returns, as a bar of progress,
    /// is dropped when they are.
    ///
    /// # Errors
    ///
    /// Those of the logs, or the recorder does not answer.
    pub fn make<T>(&self, mut watch: impl FnMut(&[PathBuf]) -> T) -> Result<Report, SessionError> {
        let mut make = || -> Result<Report, SessionError> {
            let inputs = self.store.logs(&self.settings)?;
            if inputs.is_empty() {
                return Err(SessionError::NoLogs(self.settings.name.clone()));
            }
            let _watch = watch(&inputs);
            Ok(relog(&inputs, &self.output, &self.options)?)
        };
        // A ring may remove its oldest log meanwhile, or a recording become a log: then it works the second
        // time.
        make().or_else(|error| if matches!(error, SessionError::Log(_)) { make() } else { Err(error) })
    }
}

/// A time in UTC as part of the name of a file.
fn stamp(time: FileTime) -> String {
    let at = time.system_time();
    format!("{:04}{:02}{:02}-{:02}{:02}{:02}", at.year, at.month, at.day, at.hour, at.minute, at.second)
}
