//! The recording sessions of `tally log`, which the monitor lists, starts and stops.

use std::fs;
use std::path::PathBuf;

use tallymon::record::session::{SessionSettings, SessionState as State, SessionStore};
use tallymon_monitor::sessions::{Session, SessionState, Sessions};

use crate::arguments::Common;
use crate::exit::Failure;
use crate::session;

/// The sessions of this user, or of the system.
pub(super) struct StoredSessions {
    pub(super) common: Common,
    pub(super) store: SessionStore,
}

impl StoredSessions {
    fn read(&self, name: &str) -> Result<SessionSettings, String> {
        self.store.read(name).map_err(|error| words(error.into()))
    }

    fn session(&self, settings: SessionSettings) -> Session {
        let status = self.store.status(&settings.name);
        let logs = settings.logs();
        let bytes = logs.iter().filter_map(|(_, path)| fs::metadata(path).ok()).map(|file| file.len());
        Session {
            state: match self.store.state(&settings.name) {
                State::Recording => SessionState::Recording,
                State::Waiting => SessionState::Waiting,
                State::Stopped => SessionState::Stopped,
                State::Killed => SessionState::Killed,
            },
            interval: settings.interval,
            bytes: bytes.sum(),
            logs: logs.len(),
            records: status.records,
            last: status.last,
            errors: status.errors,
            last_error: status.last_error,
            name: settings.name,
            counters: settings.counters,
            folder: settings.folder,
        }
    }
}

impl Sessions for StoredSessions {
    fn list(&self) -> Result<Vec<Session>, String> {
        let names = self.store.names().map_err(|error| words(error.into()))?;
        let session = |name: String| match self.read(&name) {
            Ok(settings) => self.session(settings),
            // A session that can not be read is listed with its error; the others are not affected.
            Err(error) => Session {
                last_error: Some(error),
                errors: 1,
                ..self.session(SessionSettings::new(&name, PathBuf::new()))
            },
        };
        Ok(names.into_iter().map(session).collect())
    }

    fn start(&self, name: &str) -> Result<(), String> {
        let settings = self.read(name)?;
        session::start(&self.common, &self.store, &settings).map_err(words)
    }

    fn stop(&self, name: &str) -> Result<(), String> {
        self.store.stop(name).map(drop).map_err(|error| words(error.into()))
    }

    fn logs(&self, name: &str) -> Result<Vec<PathBuf>, String> {
        let settings = self.read(name)?;
        self.store.logs(&settings).map_err(|error| words(error.into()))
    }
}

fn words(failure: Failure) -> String {
    failure.message.unwrap_or_default()
}
